/* SPDX-License-Identifier: MIT */
/* Where a reader stopped: positions, their list, and what changed since. */
#include "contract/stories.h"

static struct tidings_op stop_op(uint64_t user, uint64_t story_id, uint64_t scene_id,
                                 uint64_t message_id, int64_t at)
{
    return (struct tidings_op){.kind = TIDINGS_OP_READING_SET,
                               .user_id = user,
                               .u.reading = {story_id, scene_id, message_id, at}};
}

static bool stop_at(uint64_t user, uint64_t story_id, uint64_t scene_id, uint64_t message_id,
                    int64_t at)
{
    must(stop_op(user, story_id, scene_id, message_id, at));
    return answer.u.reading.changed;
}

static void erase(uint64_t user, uint64_t story_id, int64_t at)
{
    must(
        (struct tidings_op){.kind = story_id ? TIDINGS_OP_READING_DELETE : TIDINGS_OP_READING_CLEAR,
                            .user_id = user,
                            .u.reading = {.story_id = story_id, .modified_at = at}});
}

static void list_reading(uint64_t user, struct ids *ids)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_READING, .user_id = user, .u.readings.page.limit = PAGE};
    ids->n = 0;
    do {
        must(op);
        for (size_t i = 0; i < answer.u.readings.n; i++)
            add(ids, answer.u.readings.rows[i].story_id);
        op.u.readings.page.after = answer.u.readings.next;
    } while (answer.u.readings.next.a);
}

static void a_position_is_made_by_entering_and_moved_by_reading_on(void **state)
{
    (void)state;
    uint64_t s = story(ANN, "Tale"), id = scene(ANN, s, "One");
    uint64_t message = answer.u.scene.messages[1].id;
    assert_true(stop_at(BOB, s, 0, 0, 0));
    assert_int_equal(answer.u.reading.record.story_id, s);
    assert_int_equal(answer.u.reading.record.scene_id, 0);
    assert_int_equal(answer.u.reading.record.modified_at, START_MS);
    assert_string_equal(answer.u.reading.record.title.p, "Tale");
    assert_false(stop_at(BOB, s, 0, 0, 0));
    atomic_fetch_add(&clock_ms, 10);
    assert_true(stop_at(BOB, s, id, message, 0));
    assert_int_equal(answer.u.reading.record.scene_id, id);
    assert_int_equal(answer.u.reading.record.message_id, message);
    assert_int_equal(answer.u.reading.record.modified_at, START_MS + 10);
    atomic_fetch_add(&clock_ms, 10);
    assert_false(stop_at(BOB, s, 0, 0, 0)); /* opened, and not read on */
    assert_int_equal(answer.u.reading.record.message_id, message);
    assert_int_equal(answer.u.reading.record.modified_at, START_MS + 10);
    assert_true(stop_at(BOB, s, id, 0, START_MS + 999999)); /* cut to the clock */
    assert_int_equal(answer.u.reading.record.modified_at, START_MS + 20);
    ASSERT_LIST(list_reading, BOB, s);
    ASSERT_LIST(list_reading, CID);
    delete_post(ANN, s);
    ASSERT_LIST(list_reading, BOB, s);
    assert_true(answer.u.readings.rows[0].is_deleted);
    assert_int_equal(run(stop_op(BOB, s, id, 0, 0)), TIDINGS_DELETED);
    erase(BOB, s, 0);
    ASSERT_LIST(list_reading, BOB);
    assert_verifies();
}

static void a_position_is_a_place_in_the_story(void **state)
{
    (void)state;
    uint64_t s = story(ANN, "Tale"), other = story(ANN, "Other"), note = publish(ANN, "n", "");
    uint64_t id = scene(ANN, s, "One");
    uint64_t one = answer.u.scene.messages[0].id, two = answer.u.scene.messages[1].id;
    uint64_t foreign = scene(ANN, other, "One"), theirs = answer.u.scene.messages[0].id;
    const struct tidings_message fresh[] = {{0, text_of("new")}};
    must(edit_op(ANN, id, NULL, fresh, 1));
    uint64_t three = answer.u.scene.messages[0].id;

    assert_int_equal(run(stop_op(BOB, note, 0, 0, 0)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(stop_op(BOB, 12345, 0, 0, 0)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(stop_op(BOB, s, foreign, 0, 0)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(stop_op(BOB, s, id, theirs, 0)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(stop_op(BOB, s, id, one + 1, 0)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(stop_op(BOB, s, id, two + 16, 0)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(stop_op(BOB, s, id, three + 16, 0)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(stop_op(BOB, s, id, id, 0)), TIDINGS_NOT_FOUND);
    stop_at(BOB, s, id, one, 1); /* it had it */
    stop_at(BOB, s, id, two, 2);
    stop_at(BOB, s, id, three, 3);
    assert_int_equal(delete_scene(ANN, TIDINGS_ROLE_USER, id), TIDINGS_OK);
    assert_true(stop_at(BOB, s, id, two, 4)); /* deleted, and still a place */
    assert_verifies();
}

static void the_list_is_latest_first(void **state)
{
    (void)state;
    uint64_t s[8];
    for (int i = 0; i < 8; i++)
        s[i] = story(ANN, "Tale");
    for (int i = 0; i < 8; i++)
        stop_at(BOB, s[i], 0, 0, i / 2 + 1); /* two share a time */
    ASSERT_LIST(list_reading, BOB, s[7], s[6], s[5], s[4], s[3], s[2], s[1], s[0]);
    stop_at(BOB, s[2], 0, 0, 9);
    erase(BOB, s[6], 4);
    ASSERT_LIST(list_reading, BOB, s[2], s[7], s[5], s[4], s[3], s[1], s[0]);
    erase(BOB, 0, 3);
    ASSERT_LIST(list_reading, BOB, s[2], s[7]);
    assert_verifies();
}

/* What a device knows: its own copy, brought up to date by deltas alone. */
struct copy {
    uint64_t version;
    size_t n;
    struct tidings_reading at[64];
};

static void copy_remove(struct copy *copy, uint64_t story_id)
{
    for (size_t i = 0; i < copy->n; i++)
        if (copy->at[i].story_id == story_id)
            copy->at[i--] = copy->at[--copy->n];
}

static void copy_update(struct copy *copy, uint64_t user, uint32_t limit)
{
    do {
        must((struct tidings_op){
            .kind = TIDINGS_OP_READING,
            .user_id = user,
            .u.readings = {.delta = true, .since = copy->version, .page.limit = limit}});
        assert_true(answer.u.readings.version >= copy->version);
        for (size_t i = 0; i < answer.u.readings.n_deleted; i++)
            copy_remove(copy, answer.u.readings.deleted[i]);
        for (size_t i = 0; i < answer.u.readings.n; i++) {
            copy_remove(copy, answer.u.readings.rows[i].story_id);
            assert_true(copy->n < COUNT_OF(copy->at));
            copy->at[copy->n++] = answer.u.readings.rows[i];
        }
        copy->version = answer.u.readings.version;
    } while (answer.u.readings.more);
}

static void assert_copy_is_whole(const struct copy *copy, uint64_t user)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_READING, .user_id = user, .u.readings.page.limit = 64});
    assert_int_equal(answer.u.readings.n, copy->n);
    for (size_t i = 0; i < copy->n; i++) {
        const struct tidings_reading *row = &answer.u.readings.rows[i];
        size_t k = 0;
        while (k < copy->n && copy->at[k].story_id != row->story_id)
            k++;
        assert_true(k < copy->n);
        assert_int_equal(copy->at[k].scene_id, row->scene_id);
        assert_int_equal(copy->at[k].message_id, row->message_id);
        assert_int_equal(copy->at[k].modified_at, row->modified_at);
    }
}

static void a_delta_says_what_changed_and_what_went(void **state)
{
    (void)state;
    uint64_t s[4];
    for (int i = 0; i < 4; i++)
        s[i] = story(ANN, "Tale");
    for (int i = 0; i < 4; i++)
        stop_at(BOB, s[i], 0, 0, 10 + i);
    struct copy copy = {0};
    copy_update(&copy, BOB, 2);
    assert_copy_is_whole(&copy, BOB);
    assert_int_equal(copy.n, 4);

    erase(BOB, s[1], 50);
    stop_at(BOB, s[0], 0, 0, 60);
    must((struct tidings_op){.kind = TIDINGS_OP_READING,
                             .user_id = BOB,
                             .u.readings = {.delta = true, .since = copy.version}});
    assert_int_equal(answer.u.readings.n, 1);
    assert_int_equal(answer.u.readings.rows[0].story_id, s[0]);
    assert_int_equal(answer.u.readings.n_deleted, 1);
    assert_int_equal(answer.u.readings.deleted[0], s[1]);
    assert_false(answer.u.readings.more);
    copy_update(&copy, BOB, 1);
    assert_copy_is_whole(&copy, BOB);

    /* What came and went meanwhile is no news. */
    uint64_t brief = story(ANN, "Brief");
    stop_at(BOB, brief, 0, 0, 70);
    erase(BOB, brief, 70);
    must((struct tidings_op){.kind = TIDINGS_OP_READING,
                             .user_id = BOB,
                             .u.readings = {.delta = true, .since = copy.version}});
    assert_int_equal(answer.u.readings.n + answer.u.readings.n_deleted, 0);

    /* A clearing takes many in one step, and no page tears it apart. */
    stop_at(BOB, s[1], 0, 0, 80);
    erase(BOB, 0, 65);
    copy_update(&copy, BOB, 1);
    assert_copy_is_whole(&copy, BOB);
    assert_int_equal(copy.n, 1);
    must((struct tidings_op){
        .kind = TIDINGS_OP_READING, .user_id = BOB, .u.readings = {.delta = true}});
    assert_int_equal(answer.u.readings.n, 1);
    assert_int_equal(answer.u.readings.n_deleted, 0); /* a new device has seen none of them */
    assert_verifies();
}

static void an_old_write_does_not_bring_a_record_back(void **state)
{
    (void)state;
    uint64_t s = story(ANN, "Tale"), late = story(ANN, "Late"), id = scene(ANN, s, "One");
    stop_at(BOB, s, id, 0, 5);
    erase(BOB, s, 7);
    assert_false(stop_at(BOB, s, id, 0, 6));
    assert_int_equal(answer.u.reading.record.story_id, 0);
    assert_false(stop_at(BOB, s, 0, 0, 7));
    assert_true(stop_at(BOB, s, 0, 0, 8));
    erase(BOB, 0, 20);
    assert_false(stop_at(BOB, late, 0, 0, 20)); /* never seen before, and cleared all the same */
    assert_true(stop_at(BOB, late, 0, 0, 21));
    erase(BOB, 0, 10); /* an older clearing changes nothing */
    ASSERT_LIST(list_reading, BOB, late);
    assert_verifies();
}

static void only_so_many_positions_are_kept(void **state)
{
    (void)state;
    options.settings.reading_max = 2;
    reopen_engine();
    uint64_t a = story(ANN, "a"), b = story(ANN, "b"), c = story(ANN, "c");
    stop_at(BOB, a, 0, 0, 1);
    stop_at(BOB, b, 0, 0, 2);
    assert_int_equal(run(stop_op(BOB, c, 0, 0, 3)), TIDINGS_READING_LIMIT);
    assert_true(stop_at(BOB, a, 0, 0, 3));
    erase(BOB, b, 4);
    assert_true(stop_at(BOB, c, 0, 0, 5));
    assert_int_equal(run(stop_op(BOB, b, 0, 0, 6)), TIDINGS_READING_LIMIT);
    erase(BOB, 0, 7);
    assert_true(stop_at(BOB, b, 0, 0, 8));
    assert_verifies();
}

/* The same news from several devices, in several orders, each order to another user. */
static void the_order_of_delivery_does_not_matter(void **state)
{
    (void)state;
    enum { STORIES = 3, NEWS = 12, ORDERS = 8, ROUNDS = 12 };
    struct rng rng = test_rng();
    uint64_t s[STORIES], scenes[STORIES][2], messages[STORIES][2];
    for (int i = 0; i < STORIES; i++) {
        s[i] = story(ANN, "Tale");
        for (int k = 0; k < 2; k++) {
            scenes[i][k] = scene(ANN, s[i], "One");
            messages[i][k] = answer.u.scene.messages[1].id;
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct tidings_op news[NEWS];
        struct copy expected = {0};
        for (int i = 0; i < NEWS; i++) {
            uint64_t kind = rng_below(&rng, 8), which = rng_below(&rng, STORIES);
            uint64_t place = rng_below(&rng, 2);
            int64_t at = 1 + (int64_t)rng_below(&rng, 6);
            news[i] = stop_op(0, s[which], kind > 2 ? scenes[which][place] : 0,
                              kind > 5 ? messages[which][place] : 0, at);
            if (kind == 0)
                news[i].kind = TIDINGS_OP_READING_DELETE;
            if (kind == 1 && at < 4)
                news[i].kind = TIDINGS_OP_READING_CLEAR;
        }
        for (int order = 0; order < ORDERS; order++) {
            uint64_t user = 1000 + (uint64_t)(round * ORDERS + order);
            struct copy followed = {0};
            for (int i = 0; i < NEWS; i++) {
                struct tidings_op op = news[i];
                op.user_id = user;
                must(op);
                if (rng_below(&rng, 3) == 0)
                    copy_update(&followed, user, 1);
            }
            copy_update(&followed, user, 1);
            assert_copy_is_whole(&followed, user);
            if (order == 0)
                copy_update(&expected, user, 64);
            assert_copy_is_whole(&expected, user);
            for (int i = NEWS - 1; i > 0; i--) { /* another order for the next */
                uint64_t k = rng_below(&rng, (uint64_t)i + 1);
                struct tidings_op moved = news[i];
                news[i] = news[k];
                news[k] = moved;
            }
        }
    }
    assert_verifies();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(a_position_is_made_by_entering_and_moved_by_reading_on),
        TEST(a_position_is_a_place_in_the_story),
        TEST(the_list_is_latest_first),
        TEST(a_delta_says_what_changed_and_what_went),
        TEST(an_old_write_does_not_bring_a_record_back),
        TEST(only_so_many_positions_are_kept),
        TEST(the_order_of_delivery_does_not_matter),
    };
#undef TEST
    return RUN_TESTS(tests);
}

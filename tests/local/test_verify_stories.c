/* SPDX-License-Identifier: MIT */
/*
 * Verify, against damage done to rows about stories, as test_verify.c does it to the others: what
 * can be recomputed is mended, and what cannot is found and left alone.
 */
#include <string.h>

#include "contract/harness.h"
#include "engine/records/stories.h"
#include "local/damage.h"

enum { ANN = 1, BOB, CID, DAN, EVE, USERS = EVE };
enum { SCENES = 70 };

static uint64_t tale, gone, other; /* stories; `gone` is deleted */
static uint64_t scenes[SCENES];    /* of the tale; number 3 is deleted, number 5 was edited */
static char *before;               /* every public answer, while all was well */

/* ---- Every public answer as text ------------------------------------------------------------ */

static void write_scenes(FILE *to)
{
    for (size_t i = 0; i < SCENES; i++) {
        run((struct tidings_op){
            .kind = TIDINGS_OP_SCENE, .user_id = EVE, .u.scene_id.scene_id = scenes[i]});
        fprintf(to, "scene %d", (int)answer.err);
        for (size_t k = 0; !answer.err && k < answer.u.scene.n_messages; k++)
            fprintf(to, " %" PRIu64 "%s", answer.u.scene.messages[k].id,
                    answer.u.scene.messages[k].text.p);
    }
    must((struct tidings_op){
        .kind = TIDINGS_OP_SCENES, .user_id = EVE, .u.scenes = {tale, {100, {0, 0}}}});
    for (size_t i = 0; i < answer.u.scenes.n; i++)
        fprintf(to, " %" PRIu64 ":%zu", answer.u.scenes.rows[i].id,
                answer.u.scenes.rows[i].n_messages);
    must((struct tidings_op){.kind = TIDINGS_OP_SUBSCRIBERS,
                             .role = TIDINGS_ROLE_ADMIN,
                             .user_id = EVE,
                             .u.scenes.story_id = tale});
    for (size_t i = 0; i < answer.u.users.n; i++)
        fprintf(to, " %" PRIu64 "@%" PRId64, answer.u.users.rows[i].user_id,
                answer.u.users.rows[i].since);
}

static void write_user(FILE *to, uint64_t user)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_NOTIFICATIONS, .user_id = user, .u.page.limit = 100});
    fprintf(to, "\nuser %" PRIu64 " unread %" PRIu64, user, answer.u.notifications.unread);
    for (size_t i = 0; i < answer.u.notifications.n; i++)
        fprintf(to, " %" PRIu64 "%d", answer.u.notifications.rows[i].id,
                answer.u.notifications.rows[i].is_read);
    must((struct tidings_op){.kind = TIDINGS_OP_SUBSCRIPTIONS, .user_id = user});
    for (size_t i = 0; i < answer.u.subscriptions.n; i++)
        fprintf(to, " s%" PRIu64, answer.u.subscriptions.rows[i].story_id);
    for (int delta = 0; delta < 2; delta++) {
        must((struct tidings_op){.kind = TIDINGS_OP_READING,
                                 .user_id = user,
                                 .u.readings = {.delta = delta, .since = delta ? tale : 0}});
        for (size_t i = 0; i < answer.u.readings.n; i++)
            fprintf(to, " r%" PRIu64 ":%" PRIu64 "@%" PRId64, answer.u.readings.rows[i].story_id,
                    answer.u.readings.rows[i].scene_id, answer.u.readings.rows[i].modified_at);
        for (size_t i = 0; i < answer.u.readings.n_deleted; i++)
            fprintf(to, " d%" PRIu64, answer.u.readings.deleted[i]);
    }
}

static char *all_answers(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    assert_non_null(to);
    write_scenes(to);
    for (uint64_t user = 1; user <= USERS; user++)
        write_user(to, user);
    fclose(to);
    return text;
}

/* ---- The community -------------------------------------------------------------------------- */

static uint64_t new_story(const char *title)
{
    must((struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                             .user_id = ANN,
                             .u.publish = {TIDINGS_STORY, text_of(title), text_of("")}});
    return answer.u.post.id;
}

static uint64_t new_scene(uint64_t story)
{
    const struct tidings_message messages[] = {{0, text_of("one")}, {0, text_of("two")}};
    must((struct tidings_op){
        .kind = TIDINGS_OP_SCENE_PUBLISH,
        .user_id = ANN,
        .u.scene = {
            .story_id = story, .title = text_of("s"), .messages = messages, .n_messages = 2}});
    return answer.u.scene.id;
}

static void subscribe(uint64_t user, uint64_t story)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_SUBSCRIBE, .user_id = user, .u.post.post_id = story});
}

static void stop_at(uint64_t user, uint64_t story, uint64_t scene, int64_t at)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_READING_SET, .user_id = user, .u.reading = {story, scene, 0, at}});
}

static int set_up(void **state)
{
    if (harness_begin(state))
        return -1;
    tale = new_story("Tale");
    gone = new_story("Gone");
    other = new_story("Other");
    for (uint64_t user = BOB; user <= DAN; user++)
        subscribe(user, tale);
    subscribe(BOB, gone);
    for (size_t i = 0; i < SCENES; i++)
        scenes[i] = new_scene(tale);
    const struct tidings_message fresh[] = {{0, text_of("three")}};
    must((struct tidings_op){
        .kind = TIDINGS_OP_SCENE_EDIT,
        .user_id = ANN,
        .u.scene = {.scene_id = scenes[5], .messages = fresh, .n_messages = 1}});
    must((struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS_MARK,
                             .user_id = BOB,
                             .u.mark = {.post_ids = scenes, .n_post_ids = 10}});
    must((struct tidings_op){
        .kind = TIDINGS_OP_SCENE_DELETE, .user_id = ANN, .u.scene_id.scene_id = scenes[3]});
    must((struct tidings_op){.kind = TIDINGS_OP_PREFERENCES_SET, .user_id = CID});
    new_scene(gone);
    stop_at(BOB, tale, scenes[5], 10);
    stop_at(BOB, gone, 0, 20);
    stop_at(BOB, other, 0, 5);
    stop_at(CID, tale, scenes[6], 10);
    must((struct tidings_op){
        .kind = TIDINGS_OP_READING_CLEAR, .user_id = BOB, .u.reading.modified_at = 5});
    delete_post(ANN, gone);
    assert_verifies();
    before = all_answers();
    return 0;
}

static int tear_down(void **state)
{
    free(before);
    before = NULL;
    return harness_end(state);
}

/* ---- Verdicts ------------------------------------------------------------------------------- */

static uint64_t verify(bool repair)
{
    struct tidings_verify result = {.repair = repair};
    result.report = getenv("TEST_REPORT") ? stderr : NULL;
    assert_int_equal(tidings_verify(engine, &result), TIDINGS_OK);
    return result.differences;
}

static void assert_as_before(void)
{
    char *after = all_answers();
    assert_int_equal(verify(false), 0);
    assert_string_equal(after, before);
    free(after);
}

/* The damage is found, looking changes nothing, and repairing makes everything as it was. */
static void assert_mended(void)
{
    open_engine();
    uint64_t found = verify(false);
    assert_true(found >= 1);
    assert_int_equal(verify(true), found);
    assert_as_before();
    reopen_engine();
    assert_as_before();
}

/* The damage is found; repairing touches nothing that hangs on it, so that with the row back all is
 * as it was. */
static void assert_left_alone(enum table table, struct key key, size_t cut)
{
    static uint8_t whole[1 << 16];
    struct bytes value = row_get(table, key);
    assert_non_null(value.p);
    assert_true(value.n <= sizeof whole);
    memcpy(whole, value.p, value.n);
    row_cut(table, key, cut);
    open_engine();
    assert_true(verify(true) >= 1);
    assert_true(verify(false) >= 1);
    row_put(table, key, (struct bytes){whole, value.n});
    open_engine();
    assert_as_before();
}

static const struct bytes nothing = {(const uint8_t *)"", 0};

static struct position_record position_get(uint64_t user, uint64_t story)
{
    struct position_record position;
    assert_true(
        position_decode(row_get(TABLE_USER, key_pair(user, ROW_POSITION, story)), &position));
    return position;
}

/* ---- Mended --------------------------------------------------------------------------------- */

static void the_subscribers_are_mended(void **state)
{
    (void)state;
    struct pair pair;
    uint8_t user[ID_BYTES];
    put_id(user, EVE);
    pair_get(BOB, ROW_NOTIFICATIONS, tale, &pair);
    row_delete(TABLE_SUBSCRIBER, key_follower(tale, pair.rank));
    assert_mended();
    row_cut(TABLE_SUBSCRIBER, key_follower(tale, pair.rank), 3);
    assert_mended();
    row_put(TABLE_SUBSCRIBER, key_follower(tale, 12345), (struct bytes){user, sizeof user});
    assert_mended();
    pair_get(CID, ROW_NOTIFICATIONS, tale, &pair); /* paused: not to be told */
    assert_true(pair.paused);
    put_id(user, CID);
    row_put(TABLE_SUBSCRIBER, key_follower(tale, pair.rank), (struct bytes){user, sizeof user});
    assert_mended();
}

static void the_counts_of_a_subscription_are_mended(void **state)
{
    (void)state;
    struct pair pair;
    pair_get(BOB, ROW_NOTIFICATIONS, tale, &pair);
    pair.reads_in -= 2;
    pair_put(BOB, ROW_NOTIFICATIONS, tale, &pair);
    assert_mended();
    pair_get(BOB, ROW_NOTIFICATIONS, tale, &pair);
    pair.reads_in = pair.dead_in = 0;
    pair_put(BOB, ROW_NOTIFICATIONS, tale, &pair);
    assert_mended();
}

static void the_shelf_is_mended(void **state)
{
    (void)state;
    uint8_t bytes[SHELF_RECORD_MAX];
    struct shelf_record shelf;
    assert_true(shelf_decode(row_get(TABLE_USER, key_row(BOB, ROW_SHELF)), &shelf));
    shelf.subscriptions++;
    shelf.positions = 0;
    row_put(TABLE_USER, key_row(BOB, ROW_SHELF),
            (struct bytes){bytes, shelf_encode(&shelf, bytes)});
    assert_mended();
    row_delete(TABLE_USER, key_row(DAN, ROW_SHELF)); /* has nothing but a subscription */
    assert_mended();
}

static void the_indexes_of_positions_are_mended(void **state)
{
    (void)state;
    uint64_t changed = position_get(BOB, tale).changed;
    row_delete(TABLE_USER, key_latest(BOB, 10, tale));
    assert_mended();
    row_put(TABLE_USER, key_latest(BOB, 11, tale), nothing);
    assert_mended();
    row_put(TABLE_USER, key_latest(BOB, 5, other), nothing); /* cleared */
    assert_mended();
    row_put(TABLE_USER, key_latest(EVE, 5, other), nothing); /* never made */
    assert_mended();
    row_delete(TABLE_USER, key_changed(BOB, changed, tale));
    assert_mended();
    row_delete(TABLE_USER, key_changed(BOB, position_get(BOB, other).changed, other));
    assert_mended();
    row_put(TABLE_USER, key_changed(BOB, changed + 16, tale), nothing);
    assert_mended();
}

static void the_rows_of_scenes_are_mended(void **state)
{
    (void)state;
    struct arena arena;
    struct scene_record scene;
    const struct tidings_message message = {scenes[3] + 16, text_of("back again")};
    const uint8_t one[] = {0, 0, 0, 1};
    arena_init(&arena, 1 << 16);
    struct bytes messages = messages_encode(&message, 1, &arena);
    row_put(TABLE_SCENE, key_row(scenes[3], ROW_MESSAGES), messages); /* of a deleted scene */
    assert_mended();
    row_put(TABLE_SCENE, key_row(tale, ROW_MESSAGES), messages); /* of no scene */
    assert_mended();
    row_put(TABLE_SCENE, key_given(tale, tale + 16), (struct bytes){one, sizeof one});
    assert_mended();
    row_delete(TABLE_SCENE, key_given(scenes[6], scenes[6] + 16));
    assert_mended();
    assert_true(scene_decode(row_get(TABLE_SCENE, key_id(scenes[6])), &scene));
    scene.n_messages = 7;
    row_put(TABLE_SCENE, key_id(scenes[6]), scene_encode(&scene, &arena));
    assert_mended();
    arena_release(&arena);
}

static void texts_of_a_deleted_story_are_swept(void **state)
{
    (void)state;
    struct arena arena;
    uint64_t doomed = new_story("Doomed");
    static uint64_t ids[200];
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        ids[i] = new_scene(doomed);
    delete_post(ANN, doomed);
    assert_int_equal(verify(false), 0); /* also while they are half swept */
    for (int i = 0; i < 4; i++)
        stop_at(EVE, tale, 0, 100 + i); /* each batch sweeps some */
    assert_int_equal(verify(false), 0);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        assert_null(row_get(TABLE_SCENE, key_row(ids[i], ROW_MESSAGES)).p);
    assert_null(row_get(TABLE_UNSWEPT, key_id(doomed)).p);

    const struct tidings_message message = {ids[7] + 16, text_of("left over")};
    arena_init(&arena, 1 << 16);
    row_put(TABLE_SCENE, key_row(ids[7], ROW_MESSAGES), messages_encode(&message, 1, &arena));
    arena_release(&arena);
    open_engine();
    assert_true(verify(false) >= 1);
    verify(true);
    for (int i = 0; i < 4; i++)
        stop_at(EVE, tale, 0, 200 + i);
    assert_int_equal(verify(false), 0);
    assert_null(row_get(TABLE_SCENE, key_row(ids[7], ROW_MESSAGES)).p);
    open_engine();
}

static void damaged_lists_are_made_anew(void **state)
{
    (void)state;
    const struct key rows[] = {
        key_author(tale, ROW_POSTS, 0),
        key_author(tale, ROW_POSTS, 1),
        key_author(tale, ROW_DELETED, 0),
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bytes value = row_get(TABLE_STORY, rows[i]);
        row_cut(TABLE_STORY, rows[i], value.n - 1);
        assert_int_equal(try_open(), TIDINGS_CORRUPT);
        options.rebuild = true;
        open_engine();
        assert_as_before();
        options.rebuild = false;
        reopen_engine();
        assert_as_before();
    }
}

/* ---- Only found ----------------------------------------------------------------------------- */

static void a_list_that_lacks_something_is_found(void **state)
{
    (void)state;
    row_delete(TABLE_STORY, key_author(tale, ROW_DELETED, 0));
    open_engine();
    assert_true(verify(false) >= 1);
    row_delete(TABLE_STORY, key_author(tale, ROW_POSTS, 1));
    open_engine();
    assert_true(verify(false) >= SCENES - 64);
}

static void unreadable_rows_are_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_SCENE, key_id(scenes[6]), 9);
    assert_left_alone(TABLE_SCENE, key_row(scenes[6], ROW_MESSAGES), 9);
    assert_left_alone(TABLE_SCENE, key_given(scenes[6], scenes[6] + 16), 3);
    assert_left_alone(TABLE_USER, key_pair(BOB, ROW_NOTIFICATIONS, tale), 9);
    assert_left_alone(TABLE_USER, key_pair(BOB, ROW_POSITION, tale), 9);
    assert_left_alone(TABLE_USER, key_map(BOB, ROW_NOTIFICATION_MAP, tale, 0), 9);
    assert_left_alone(TABLE_USER, key_row(BOB, ROW_SHELF), 2);
    assert_left_alone(TABLE_POST, key_id(tale), 9);
}

static void what_cannot_be_is_found(void **state)
{
    (void)state;
    struct pair pair;
    uint8_t bytes[SHELF_RECORD_MAX];
    struct shelf_record shelf;
    assert_true(shelf_decode(row_get(TABLE_USER, key_row(CID, ROW_SHELF)), &shelf));
    shelf.quiet = 0; /* and yet the subscription is paused */
    row_put(TABLE_USER, key_row(CID, ROW_SHELF),
            (struct bytes){bytes, shelf_encode(&shelf, bytes)});
    open_engine();
    assert_int_equal(verify(false), 1);

    pair_get(BOB, ROW_NOTIFICATIONS, tale, &pair); /* a follower of a user cannot be paused */
    pair.following = false;
    pair.paused = true;
    pair.n_spans = 0;
    pair.reads_in = pair.dead_in = 0;
    pair.skips.n = 0;
    pair_put(EVE, ROW_INBOX, ANN, &pair);
    open_engine();
    assert_int_equal(verify(false), 2);
    row_delete(TABLE_SCENE, key_row(scenes[6], ROW_MESSAGES));
    open_engine();
    assert_int_equal(verify(false), 3);
    row_put(TABLE_USER, key_row(EVE, 'X'), nothing);
    row_put(TABLE_SCENE, key_row(scenes[6], 'x'), nothing);
    open_engine();
    assert_int_equal(verify(true), 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_subscribers_are_mended),
        TEST(the_counts_of_a_subscription_are_mended),
        TEST(the_shelf_is_mended),
        TEST(the_indexes_of_positions_are_mended),
        TEST(the_rows_of_scenes_are_mended),
        TEST(texts_of_a_deleted_story_are_swept),
        TEST(damaged_lists_are_made_anew),
        TEST(a_list_that_lacks_something_is_found),
        TEST(unreadable_rows_are_left_alone),
        TEST(what_cannot_be_is_found),
    };
#undef TEST
    return RUN_TESTS(tests);
}

/* SPDX-License-Identifier: MIT */
/* Stories through the public calls: scenes, reading positions, subscriptions, notifications. */
#include <string.h>

#include "engine/harness.h"
#include "support/local.h"

enum { ANN = 1, BOB = 2, CID = 3, DAN = 4 };

/* ---- Operations as calls -------------------------------------------------------------------- */

static uint64_t story(uint64_t author, const char *title)
{
    must((struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                             .user_id = author,
                             .u.publish = {TIDINGS_STORY, text_of(title), text_of("")}});
    return answer.u.post.id;
}

static struct tidings_op scene_op(uint64_t author, uint64_t story_id, const char *title,
                                  const struct tidings_message *messages, size_t n)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_SCENE_PUBLISH,
        .user_id = author,
        .u.scene = {
            .story_id = story_id, .title = text_of(title), .messages = messages, .n_messages = n}};
}

static uint64_t scene(uint64_t author, uint64_t story_id, const char *title)
{
    const struct tidings_message messages[] = {{0, text_of("one")}, {0, text_of("two")}};
    must(scene_op(author, story_id, title, messages, 2));
    return answer.u.scene.id;
}

static struct tidings_op edit_op(uint64_t author, uint64_t id, const char *title,
                                 const struct tidings_message *messages, size_t n)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_SCENE_EDIT,
        .user_id = author,
        .u.scene = {
            .scene_id = id, .title = text_of(title), .messages = messages, .n_messages = n}};
}

static enum tidings_err look(uint64_t id)
{
    return run(
        (struct tidings_op){.kind = TIDINGS_OP_SCENE, .user_id = DAN, .u.scene_id.scene_id = id});
}

static enum tidings_err delete_scene(uint64_t user, enum tidings_role role, uint64_t id)
{
    return run((struct tidings_op){
        .kind = TIDINGS_OP_SCENE_DELETE, .role = role, .user_id = user, .u.scene_id.scene_id = id});
}

static bool subscribe(uint64_t user, uint64_t story_id)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_SUBSCRIBE, .user_id = user, .u.post.post_id = story_id});
    assert_true(answer.u.subscription.subscribed);
    return answer.u.subscription.changed;
}

static bool unsubscribe(uint64_t user, uint64_t story_id)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_UNSUBSCRIBE, .user_id = user, .u.post.post_id = story_id});
    assert_false(answer.u.subscription.subscribed);
    return answer.u.subscription.changed;
}

static void want_updates(uint64_t user, bool wanted)
{
    must((struct tidings_op){.kind = TIDINGS_OP_PREFERENCES_SET,
                             .user_id = user,
                             .u.preferences.story_updates = wanted});
    assert_int_equal(answer.u.preferences.story_updates, wanted);
}

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

static uint64_t mark_notifications(uint64_t user, const uint64_t *ids, size_t n)
{
    must((struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS_MARK,
                             .user_id = user,
                             .u.mark = {.post_ids = ids, .n_post_ids = n}});
    return answer.u.notifications_mark.marked;
}

static uint64_t mark_notifications_up_to(uint64_t user, struct tidings_moment up_to)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_NOTIFICATIONS_MARK, .user_id = user, .u.mark.up_to = up_to});
    return answer.u.notifications_mark.marked;
}

/* ---- Lists, put together from small pages --------------------------------------------------- */

enum { PAGE = 3 };

static void add(struct ids *ids, uint64_t id)
{
    assert_true(ids->n < IDS_MAX);
    ids->at[ids->n++] = id;
}

static void list_notifications(uint64_t user, struct ids *ids)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_NOTIFICATIONS, .user_id = user, .u.page.limit = PAGE};
    uint64_t unread = 0;
    ids->n = 0;
    do {
        must(op);
        for (size_t i = 0; i < answer.u.notifications.n; i++) {
            add(ids, answer.u.notifications.rows[i].id);
            unread += !answer.u.notifications.rows[i].is_read;
        }
        op.u.page.after = answer.u.notifications.next;
    } while (answer.u.notifications.next.a);
    assert_int_equal(answer.u.notifications.unread, unread);
}

static void list_scenes(uint64_t story_id, struct ids *ids)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_SCENES, .user_id = DAN, .u.scenes = {story_id, {PAGE, {0, 0}}}};
    ids->n = 0;
    do {
        must(op);
        for (size_t i = 0; i < answer.u.scenes.n; i++)
            add(ids, answer.u.scenes.rows[i].id);
        op.u.scenes.page.after = answer.u.scenes.next;
    } while (answer.u.scenes.next.a);
}

static void list_subscriptions(uint64_t user, struct ids *ids)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_SUBSCRIPTIONS, .user_id = user, .u.page.limit = PAGE};
    ids->n = 0;
    do {
        must(op);
        for (size_t i = 0; i < answer.u.subscriptions.n; i++)
            add(ids, answer.u.subscriptions.rows[i].story_id);
        op.u.page.after = answer.u.subscriptions.next;
    } while (answer.u.subscriptions.next.a);
}

static void list_subscribers(uint64_t story_id, struct ids *ids)
{
    struct tidings_op op = {.kind = TIDINGS_OP_SUBSCRIBERS,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = DAN,
                            .u.scenes = {story_id, {PAGE, {0, 0}}}};
    ids->n = 0;
    do {
        must(op);
        for (size_t i = 0; i < answer.u.users.n; i++)
            add(ids, answer.u.users.rows[i].user_id);
        op.u.scenes.page.after = answer.u.users.next;
    } while (answer.u.users.next.a);
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

#define ASSERT_LIST(list, of, ...)                                                    \
    do {                                                                              \
        const uint64_t expected_[] = {0, ##__VA_ARGS__};                              \
        static struct ids found_;                                                     \
        list((of), &found_);                                                          \
        assert_ids(&found_, expected_ + 1, sizeof expected_ / sizeof *expected_ - 1); \
    } while (0)

static uint64_t unread(uint64_t user)
{
    static struct ids notifications;
    list_notifications(user, &notifications);
    return answer.u.notifications.unread;
}

/* ---- Scenes --------------------------------------------------------------------------------- */

static void a_scene_comes_back_as_it_was_written(void **state)
{
    (void)state;
    uint64_t s = story(ANN, "Tale");
    const struct tidings_message messages[] = {{0, text_of("first")}, {0, text_of("[img]a[/img]")}};
    must(scene_op(ANN, s, "One", messages, 2));
    uint64_t id = answer.u.scene.id;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(answer.u.scene.story_id, s);
        assert_int_equal(answer.u.scene.author_id, ANN);
        assert_int_equal(answer.u.scene.number, 1);
        assert_string_equal(answer.u.scene.title.p, "One");
        assert_int_equal(answer.u.scene.n_messages, 2);
        assert_string_equal(answer.u.scene.messages[0].text.p, "first");
        assert_string_equal(answer.u.scene.messages[1].text.p, "[img]a[/img]");
        assert_true(id < answer.u.scene.messages[0].id);
        assert_true(answer.u.scene.messages[0].id < answer.u.scene.messages[1].id);
        assert_int_equal(answer.u.scene.created_at, START_MS);
        assert_int_equal(answer.u.scene.edited_at, 0);
        reopen_engine();
        assert_int_equal(look(id), TIDINGS_OK);
    }
    must(scene_op(ANN, s, "Empty", NULL, 0));
    assert_int_equal(answer.u.scene.n_messages, 0);
    assert_int_equal(answer.u.scene.number, 2);
    assert_verifies();
}

static void scenes_are_for_the_storys_author(void **state)
{
    (void)state;
    uint64_t s = story(ANN, "Tale"), note = publish(ANN, "note", "");
    assert_int_equal(run(scene_op(ANN, 12345, "x", NULL, 0)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(scene_op(ANN, note, "x", NULL, 0)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(scene_op(BOB, s, "x", NULL, 0)), TIDINGS_FORBIDDEN);
    uint64_t a = scene(ANN, s, "a");
    assert_int_equal(run(edit_op(BOB, a, "mine", NULL, 0)), TIDINGS_FORBIDDEN);
    assert_int_equal(delete_scene(BOB, TIDINGS_ROLE_USER, a), TIDINGS_FORBIDDEN);
    assert_int_equal(delete_scene(BOB, TIDINGS_ROLE_ADMIN, a), TIDINGS_OK);
    assert_int_equal(delete_scene(ANN, TIDINGS_ROLE_USER, a), TIDINGS_DELETED);
    assert_string_equal(answer.title.p, "a");
    assert_int_equal(look(a), TIDINGS_DELETED);
    assert_string_equal(answer.title.p, "a");
    assert_int_equal(run(edit_op(ANN, a, "b", NULL, 0)), TIDINGS_DELETED);
    assert_int_equal(look(s), TIDINGS_NOT_FOUND);
    delete_post(ANN, s);
    assert_int_equal(run(scene_op(ANN, s, "x", NULL, 0)), TIDINGS_DELETED);
    assert_string_equal(answer.title.p, "Tale");
    assert_verifies();
}

static void an_edit_keeps_the_ids_that_it_names(void **state)
{
    (void)state;
    uint64_t s = story(ANN, "Tale"), id = scene(ANN, s, "One");
    uint64_t one = answer.u.scene.messages[0].id, two = answer.u.scene.messages[1].id;
    must(
        (struct tidings_op){.kind = TIDINGS_OP_EVENTS, .role = TIDINGS_ROLE_ADMIN, .user_id = DAN});
    size_t events = answer.u.events.n;

    const struct tidings_message as_it_is[] = {{one, text_of("one")}, {two, text_of("two")}};
    must(edit_op(ANN, id, "One", as_it_is, 2));
    assert_int_equal(answer.u.scene.edited_at, 0); /* nothing changed */
    atomic_fetch_add(&clock_ms, 1000);
    const struct tidings_message turned[] = {
        {two, text_of("two")}, {0, text_of("new")}, {one, text_of("ONE")}};
    must(edit_op(ANN, id, NULL, turned, 3));
    assert_int_equal(answer.u.scene.n_messages, 3);
    assert_int_equal(answer.u.scene.messages[0].id, two);
    assert_true(answer.u.scene.messages[1].id > two);
    assert_int_equal(answer.u.scene.messages[2].id, one);
    assert_string_equal(answer.u.scene.messages[2].text.p, "ONE");
    assert_string_equal(answer.u.scene.title.p, "One");
    assert_int_equal(answer.u.scene.edited_at, START_MS + 1000);

    const struct tidings_message twice[] = {{one, text_of("x")}, {one, text_of("y")}};
    assert_int_equal(run(edit_op(ANN, id, NULL, twice, 2)), TIDINGS_NOT_FOUND);
    const struct tidings_message foreign[] = {{id, text_of("x")}};
    assert_int_equal(run(edit_op(ANN, id, NULL, foreign, 1)), TIDINGS_NOT_FOUND);
    must(edit_op(ANN, id, NULL, as_it_is, 0)); /* given, and empty */
    assert_int_equal(answer.u.scene.n_messages, 0);
    assert_int_equal(run(edit_op(ANN, id, NULL, as_it_is, 1)), TIDINGS_NOT_FOUND);

    must(
        (struct tidings_op){.kind = TIDINGS_OP_EVENTS, .role = TIDINGS_ROLE_ADMIN, .user_id = DAN});
    assert_int_equal(answer.u.events.n, events + 2);
    const struct tidings_event *event = &answer.u.events.rows[events];
    assert_int_equal(event->type, TIDINGS_EVENT_SCENE_EDITED);
    assert_int_equal(event->target_id, id);
    assert_int_equal(event->post_id, s);
    assert_int_equal(event->author_id, ANN);
    assert_int_equal(event[-1].type, TIDINGS_EVENT_SCENE_PUBLISHED);
    assert_int_equal(event[-1].event_id, id);
    assert_int_equal(event[-1].delta, 1);
    assert_verifies();
}

static void scenes_are_listed_in_order_without_the_deleted(void **state)
{
    (void)state;
    static struct ids found;
    uint64_t s = story(ANN, "Tale"), ids[200], left[200];
    size_t n = 0;
    for (int i = 0; i < 200; i++)
        ids[i] = scene(ANN, s, "s");
    for (int i = 0; i < 200; i++) {
        if (i % 5 && i / 64 != 1)
            left[n++] = ids[i];
        else
            assert_int_equal(delete_scene(ANN, TIDINGS_ROLE_USER, ids[i]), TIDINGS_OK);
    }
    list_scenes(s, &found);
    assert_ids(&found, left, n);
    reopen_engine();
    list_scenes(s, &found);
    assert_ids(&found, left, n);
    assert_int_equal(look(ids[199]), TIDINGS_OK);
    assert_int_equal(answer.u.scene.number, 200);
    assert_verifies();

    delete_post(ANN, s);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run((struct tidings_op){
                             .kind = TIDINGS_OP_SCENES, .user_id = BOB, .u.scenes.story_id = s}),
                         TIDINGS_DELETED);
        assert_string_equal(answer.title.p, "Tale");
        assert_int_equal(look(ids[199]), TIDINGS_DELETED);
        assert_verifies();
        reopen_engine();
    }
}

static void a_story_has_so_many_scenes_at_most(void **state)
{
    (void)state;
    options.settings.scenes_max = 2;
    reopen_engine();
    uint64_t s = story(ANN, "Tale"), other = story(ANN, "Other");
    scene(ANN, s, "1");
    scene(ANN, s, "2");
    assert_int_equal(run(scene_op(ANN, s, "3", NULL, 0)), TIDINGS_STORY_LIMIT);
    scene(ANN, other, "1");
}

/* ---- Reading positions ---------------------------------------------------------------------- */

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

/* ---- Subscriptions -------------------------------------------------------------------------- */

static void subscribing_is_idempotent_and_listed(void **state)
{
    (void)state;
    uint64_t a = story(ANN, "a"), b = story(ANN, "b"), note = publish(ANN, "n", "");
    assert_true(subscribe(BOB, a));
    assert_false(subscribe(BOB, a));
    assert_true(subscribe(BOB, b));
    assert_true(subscribe(CID, a));
    ASSERT_LIST(list_subscriptions, BOB, b, a);
    ASSERT_LIST(list_subscribers, a, CID, BOB);
    assert_int_equal(run((struct tidings_op){
                         .kind = TIDINGS_OP_SUBSCRIBE, .user_id = BOB, .u.post.post_id = note}),
                     TIDINGS_NOT_FOUND);
    assert_true(unsubscribe(BOB, a));
    assert_false(unsubscribe(BOB, a));
    assert_true(subscribe(BOB, a)); /* anew: on top again */
    ASSERT_LIST(list_subscriptions, BOB, a, b);
    ASSERT_LIST(list_subscribers, a, BOB, CID);
    assert_int_equal(run((struct tidings_op){
                         .kind = TIDINGS_OP_SUBSCRIBERS, .user_id = BOB, .u.scenes.story_id = a}),
                     TIDINGS_FORBIDDEN);
    delete_post(ANN, a);
    ASSERT_LIST(list_subscriptions, BOB, a, b);
    assert_true(answer.u.subscriptions.rows[0].is_deleted);
    assert_int_equal(
        run((struct tidings_op){.kind = TIDINGS_OP_SUBSCRIBE, .user_id = DAN, .u.post.post_id = a}),
        TIDINGS_DELETED);
    assert_string_equal(answer.title.p, "a");
    assert_true(unsubscribe(CID, a));
    assert_verifies();
}

static void only_so_many_subscriptions(void **state)
{
    (void)state;
    options.settings.subscriptions_max = 1;
    reopen_engine();
    uint64_t a = story(ANN, "a"), b = story(ANN, "b");
    subscribe(BOB, a);
    assert_int_equal(
        run((struct tidings_op){.kind = TIDINGS_OP_SUBSCRIBE, .user_id = BOB, .u.post.post_id = b}),
        TIDINGS_SUBSCRIPTION_LIMIT);
    assert_false(subscribe(BOB, a));
    unsubscribe(BOB, a);
    subscribe(BOB, b);
    assert_verifies();
}

static void those_among_are_found_from_both_sides(void **state)
{
    (void)state;
    uint64_t a = story(ANN, "a");
    for (uint64_t user = 10; user < 30; user += 2)
        subscribe(user, a);
    want_updates(14, false);
    uint64_t all[40];
    for (uint64_t i = 0; i < 40; i++)
        all[i] = i + 1;
    for (size_t n = 12; n <= 40; n += 14) { /* fewer than subscribers, and more */
        must((struct tidings_op){
            .kind = TIDINGS_OP_SUBSCRIBERS_AMONG,
            .user_id = DAN,
            .u.among = {.author_id = a, .user_ids = all + 8, .n_user_ids = n - 8}});
        size_t k = 0;
        for (uint64_t user = 10; user <= n && user < 30; user += 2)
            if (user != 14)
                assert_int_equal(answer.u.among.user_ids[k++], user);
        assert_int_equal(answer.u.among.n, k);
    }
}

/* ---- Notifications -------------------------------------------------------------------------- */

static void what_is_published_while_subscribed_is_notified(void **state)
{
    (void)state;
    uint64_t a = story(ANN, "a"), b = story(CID, "b");
    scene(ANN, a, "before");
    subscribe(BOB, a);
    subscribe(BOB, b);
    subscribe(ANN, a); /* one's own, too */
    uint64_t a1 = scene(ANN, a, "a1"), b1 = scene(CID, b, "b1"), a2 = scene(ANN, a, "a2");
    unsubscribe(BOB, a);
    scene(ANN, a, "missed");
    subscribe(BOB, a);
    uint64_t a3 = scene(ANN, a, "a3");

    ASSERT_LIST(list_notifications, BOB, a3, a2, b1, a1);
    assert_int_equal(unread(BOB), 4);
    assert_int_equal(unread(CID), 0);
    assert_int_equal(unread(ANN), 4);
    must((struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS, .user_id = BOB});
    const struct tidings_notification *row = &answer.u.notifications.rows[2];
    assert_int_equal(row->story_id, b);
    assert_int_equal(row->author_id, CID);
    assert_string_equal(row->story_title.p, "b");
    assert_string_equal(row->scene_title.p, "b1");
    reopen_engine();
    ASSERT_LIST(list_notifications, BOB, a3, a2, b1, a1);
    assert_verifies();
}

static void those_who_turned_it_off_are_not_told(void **state)
{
    (void)state;
    uint64_t a = story(ANN, "a"), b = story(ANN, "b");
    must((struct tidings_op){.kind = TIDINGS_OP_PREFERENCES, .user_id = BOB});
    assert_true(answer.u.preferences.story_updates);
    subscribe(BOB, a);
    uint64_t first = scene(ANN, a, "first");
    want_updates(BOB, false);
    want_updates(BOB, false);
    subscribe(BOB, b); /* while it is off */
    scene(ANN, a, "unheard");
    scene(ANN, b, "unheard");
    ASSERT_LIST(list_notifications, BOB, first);
    ASSERT_LIST(list_subscriptions, BOB, b, a);
    ASSERT_LIST(list_subscribers, a);
    assert_verifies();
    want_updates(BOB, true);
    ASSERT_LIST(list_subscribers, a, BOB);
    uint64_t second = scene(ANN, b, "second"), third = scene(ANN, a, "third");
    ASSERT_LIST(list_notifications, BOB, third, second, first);
    want_updates(BOB, false);
    unsubscribe(BOB, a); /* while it is off */
    want_updates(BOB, true);
    scene(ANN, a, "gone");
    ASSERT_LIST(list_notifications, BOB, third, second, first);
    ASSERT_LIST(list_subscriptions, BOB, b);
    assert_verifies();
}

/* A toggle touches every subscription of the user: it was free, and thousands of them held up the writer. */
static void turning_updates_on_and_off_takes_tokens(void **state)
{
    (void)state;
    struct tidings_op off = {.kind = TIDINGS_OP_PREFERENCES_SET, .user_id = BOB};
    uint64_t a = story(ANN, "a");
    close_engine();
    options.settings.follow_burst = 3;
    open_engine();
    subscribe(BOB, a);
    want_updates(BOB, false);
    want_updates(BOB, true);
    for (int i = 0; i < 5; i++)
        want_updates(BOB, true); /* what changes nothing costs nothing */
    must((struct tidings_op){.kind = TIDINGS_OP_FOLLOW, .user_id = BOB, .u.relation.user_id = ANN});
    assert_int_equal(run(off), TIDINGS_RATE_LIMITED);
    assert_int_equal(answer.retry_after_ms, 1000);
    ASSERT_LIST(list_subscribers, a, BOB);
    want_updates(BOB, true);
    want_updates(CID, false); /* another user's is another bucket */
    off.role = TIDINGS_ROLE_SERVICE;
    must(off);
    off.role = TIDINGS_ROLE_USER;
    off.u.preferences.story_updates = true;
    assert_int_equal(run(off), TIDINGS_RATE_LIMITED);
    atomic_fetch_add(&clock_ms, 1000);
    must(off);
    ASSERT_LIST(list_subscribers, a, BOB);
    assert_verifies();
}

static void what_is_deleted_leaves_the_list(void **state)
{
    (void)state;
    uint64_t a = story(ANN, "a"), b = story(ANN, "b");
    subscribe(BOB, a);
    subscribe(BOB, b);
    uint64_t a1 = scene(ANN, a, "a1"), a2 = scene(ANN, a, "a2"), a3 = scene(ANN, a, "a3");
    uint64_t b1 = scene(ANN, b, "b1");
    const uint64_t two[] = {a1, a2};
    assert_int_equal(mark_notifications(BOB, two, 2), 2);
    assert_int_equal(answer.u.notifications_mark.unread, 2);
    assert_int_equal(delete_scene(ANN, TIDINGS_ROLE_USER, a2), TIDINGS_OK);
    ASSERT_LIST(list_notifications, BOB, b1, a3, a1);
    assert_int_equal(unread(BOB), 2);
    assert_int_equal(delete_scene(ANN, TIDINGS_ROLE_USER, a3), TIDINGS_OK);
    ASSERT_LIST(list_notifications, BOB, b1, a1);
    assert_int_equal(unread(BOB), 1);
    assert_int_equal(mark_notifications(BOB, &a3, 1), 0); /* it was there */
    delete_post(ANN, b);
    for (int i = 0; i < 2; i++) {
        ASSERT_LIST(list_notifications, BOB, a1);
        assert_int_equal(unread(BOB), 0);
        assert_int_equal(mark_notifications(BOB, &b1, 1), 0);
        reopen_engine();
    }
    ASSERT_LIST(list_subscriptions, BOB, b, a);
    assert_true(unsubscribe(BOB, b));
    assert_verifies();
}

static void notifications_are_marked_all_or_none(void **state)
{
    (void)state;
    uint64_t a = story(ANN, "a"), missed = scene(ANN, a, "missed");
    subscribe(BOB, a);
    uint64_t a1 = scene(ANN, a, "a1"), a2 = scene(ANN, a, "a2");
    const uint64_t wrong[] = {a1, missed};
    struct tidings_op op = {.kind = TIDINGS_OP_NOTIFICATIONS_MARK,
                            .user_id = BOB,
                            .u.mark = {.post_ids = wrong, .n_post_ids = 2}};
    assert_int_equal(run(op), TIDINGS_NOT_FOUND);
    const uint64_t story_id[] = {a};
    op.u.mark.post_ids = story_id;
    op.u.mark.n_post_ids = 1;
    assert_int_equal(run(op), TIDINGS_NOT_FOUND);
    assert_int_equal(unread(BOB), 2);
    const uint64_t twice[] = {a1, a1};
    assert_int_equal(mark_notifications(BOB, twice, 2), 1);
    assert_int_equal(mark_notifications(BOB, &a1, 1), 0);

    must((struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS, .user_id = BOB});
    assert_int_equal(answer.u.notifications.unread, 1);
    assert_false(answer.u.notifications.rows[0].is_read);
    assert_true(answer.u.notifications.rows[1].is_read);
    struct tidings_moment seen = answer.u.notifications.as_of;
    uint64_t a3 = scene(ANN, a, "a3");
    assert_int_equal(mark_notifications_up_to(BOB, seen), 1);
    assert_int_equal(answer.u.notifications_mark.unread, 1);
    ASSERT_LIST(list_notifications, BOB, a3, a2, a1);
    op.u.mark.post_ids = NULL;
    op.u.mark.n_post_ids = 0;
    op.u.mark.up_to = local_moment(local_newest(&seen) + (UINT64_C(1) << 40));
    assert_int_equal(run(op), TIDINGS_INVALID);
    assert_string_equal(answer.field, "up_to");
    assert_verifies();
}

/* The same at random, against lists that a naive model keeps; also that inboxes are left alone. */
static void notifications_are_exact_whatever_happens(void **state)
{
    (void)state;
    enum { STORIES = 4, SCENES = 400, STEPS = 1500, USERS = 3 };
    struct rng rng = test_rng();
    static uint64_t ids[SCENES];
    static struct tidings_moment seen[SCENES]; /* when that scene was the newest */
    static uint8_t told[USERS][SCENES], is_read[USERS][SCENES], gone[SCENES], of[SCENES];
    bool subscribed[USERS][STORIES] = {{false}}, quiet[USERS] = {false}, dead[STORIES] = {false};
    uint64_t s[STORIES];
    size_t n = 0;
    memset(told, 0, sizeof told);
    memset(is_read, 0, sizeof is_read);
    memset(gone, 0, sizeof gone);
    for (int i = 0; i < STORIES; i++)
        s[i] = story(ANN, "Tale");
    follow(BOB, ANN);
    for (int step = 0; step < STEPS; step++) {
        uint64_t u = rng_below(&rng, USERS), which = rng_below(&rng, STORIES);
        uint64_t user = BOB + u, kind = rng_below(&rng, 100);
        size_t k = n ? rng_below(&rng, n) : 0;
        if (kind < 30 && n < SCENES && !dead[which]) {
            ids[n] = scene(ANN, s[which], "s");
            must((struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS, .user_id = BOB});
            seen[n] = answer.u.notifications.as_of;
            of[n] = (uint8_t)which;
            for (int i = 0; i < USERS; i++)
                told[i][n] = subscribed[i][which] && !quiet[i];
            n++;
        } else if (kind < 40 && !dead[which]) {
            assert_int_equal(subscribe(user, s[which]), !subscribed[u][which]);
            subscribed[u][which] = true;
        } else if (kind < 47) {
            assert_int_equal(unsubscribe(user, s[which]), subscribed[u][which]);
            subscribed[u][which] = false;
        } else if (kind < 53) {
            quiet[u] = rng_below(&rng, 2);
            want_updates(user, !quiet[u]);
        } else if (kind < 78 && n && told[u][k]) {
            bool fresh = !is_read[u][k] && !gone[k] && !dead[of[k]];
            assert_int_equal(mark_notifications(user, &ids[k], 1), fresh);
            is_read[u][k] |= fresh;
        } else if (kind < 80 && n) {
            uint64_t marked = 0;
            for (size_t i = 0; i <= k; i++) {
                bool fresh = told[u][i] && !is_read[u][i] && !gone[i] && !dead[of[i]];
                marked += fresh;
                is_read[u][i] |= fresh;
            }
            assert_int_equal(mark_notifications_up_to(user, seen[k]), marked);
        } else if (kind < 90 && n && !gone[k] && !dead[of[k]]) {
            assert_int_equal(delete_scene(ANN, TIDINGS_ROLE_USER, ids[k]), TIDINGS_OK);
            gone[k] = true;
        } else if (kind == 99 && step > STEPS / 2 && rng_below(&rng, 5) == 0 && !dead[which]) {
            delete_post(ANN, s[which]);
            dead[which] = true;
        }
        if (step % 50 == 49) {
            for (uint64_t i = 0; i < USERS; i++) {
                static struct ids found, expected;
                uint64_t count = 0;
                expected.n = 0;
                for (size_t j = n; j--;)
                    if (told[i][j] && !gone[j] && !dead[of[j]]) {
                        add(&expected, ids[j]);
                        count += !is_read[i][j];
                    }
                list_notifications(BOB + i, &found);
                assert_ids(&found, expected.at, expected.n);
                assert_int_equal(answer.u.notifications.unread, count);
            }
            assert_int_equal(badge(BOB), 0);
        }
        if (step % 500 == 499) {
            assert_verifies();
            reopen_engine();
        }
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(a_scene_comes_back_as_it_was_written),
        TEST(scenes_are_for_the_storys_author),
        TEST(an_edit_keeps_the_ids_that_it_names),
        TEST(scenes_are_listed_in_order_without_the_deleted),
        TEST(a_story_has_so_many_scenes_at_most),
        TEST(a_position_is_made_by_entering_and_moved_by_reading_on),
        TEST(a_position_is_a_place_in_the_story),
        TEST(the_list_is_latest_first),
        TEST(a_delta_says_what_changed_and_what_went),
        TEST(an_old_write_does_not_bring_a_record_back),
        TEST(only_so_many_positions_are_kept),
        TEST(the_order_of_delivery_does_not_matter),
        TEST(subscribing_is_idempotent_and_listed),
        TEST(only_so_many_subscriptions),
        TEST(those_among_are_found_from_both_sides),
        TEST(what_is_published_while_subscribed_is_notified),
        TEST(those_who_turned_it_off_are_not_told),
        TEST(turning_updates_on_and_off_takes_tokens),
        TEST(what_is_deleted_leaves_the_list),
        TEST(notifications_are_marked_all_or_none),
        TEST(notifications_are_exact_whatever_happens),
    };
#undef TEST
    return RUN_TESTS(tests);
}

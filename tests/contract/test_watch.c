/* SPDX-License-Identifier: MIT */
/* Watching: who watches hears of every change once, in order, before the call is done; kept or not. */
#include <pthread.h>
#include <string.h>

#include "contract/stories.h"

enum { HEARD_MAX = 20000 };

/* What one watcher has heard. */
struct ear {
    struct tidings_watcher watcher;
    pthread_mutex_t mutex;
    size_t n, lost;
    struct tidings_event heard[HEARD_MAX];
};

static struct ear ear, other;

static void tell(struct tidings_watcher *watcher, const struct tidings_event *events, size_t n)
{
    struct ear *to = (struct ear *)watcher;
    pthread_mutex_lock(&to->mutex);
    to->lost += !n;
    for (size_t i = 0; i < n && to->n < HEARD_MAX; i++)
        to->heard[to->n++] = events[i];
    pthread_mutex_unlock(&to->mutex);
}

static void watch(struct ear *by)
{
    by->watcher.tell = tell;
    by->n = by->lost = 0;
    pthread_mutex_init(&by->mutex, NULL);
    tidings_watch(engine, &by->watcher);
}

static const char *heard(const struct ear *by)
{
    static char text[4096];
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < by->n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? " " : "",
                               tidings_event_name(by->heard[i].type));
    return text;
}

static void every_change_is_told_when_its_call_is_done(void **state)
{
    (void)state;
    watch(&ear);
    follow(BOB, ANN);
    assert_string_equal(heard(&ear), "FollowCreated");
    uint64_t post = publish(ANN, "t", "b");
    assert_string_equal(heard(&ear), "FollowCreated PostPublished");
    assert_int_equal(ear.heard[1].actor_user_id, ANN);
    assert_int_equal(ear.heard[1].target_id, post);
    assert_int_equal(ear.heard[1].author_id, ANN);
    assert_int_equal(ear.heard[1].happened_at, START_MS);
    react(BOB, LIKE, POST, post);
    comment(BOB, post, 0, "c");
    delete_post(ANN, post);
    unfollow(BOB, ANN, true);
    assert_string_equal(heard(&ear), "FollowCreated PostPublished ReactionCreated CommentCreated "
                                     "PostDeleted FollowCanceled InboxPurged");
    tidings_unwatch(engine, &ear.watcher);
}

static void what_is_kept_has_the_position_that_events_have(void **state)
{
    (void)state;
    watch(&ear);
    uint64_t after = events_end();
    follow(BOB, ANN);
    publish(ANN, "t", "b");
    must((struct tidings_op){.kind = TIDINGS_OP_EVENTS,
                             .role = TIDINGS_ROLE_SERVICE,
                             .user_id = DAN,
                             .u.page.after.a = after});
    assert_int_equal(answer.u.events.n, ear.n);
    for (size_t i = 0; i < ear.n; i++) {
        const struct tidings_event *kept = &answer.u.events.rows[i], *told = &ear.heard[i];
        assert_int_equal(kept->event_id, told->event_id);
        assert_int_equal(kept->type, told->type);
        assert_int_equal(kept->happened_at, told->happened_at);
        assert_int_equal(kept->actor_user_id, told->actor_user_id);
        assert_int_equal(kept->target_id, told->target_id);
        assert_int_equal(kept->author_id, told->author_id);
        assert_int_equal(kept->delta, told->delta);
    }
    tidings_unwatch(engine, &ear.watcher);
}

static void reading_is_told_and_not_kept(void **state)
{
    (void)state;
    follow(BOB, ANN);
    uint64_t first = publish(ANN, "1", ""), second = publish(ANN, "2", "");
    publish(ANN, "3", "");
    uint64_t after = events_end();
    watch(&ear);
    open_post(BOB, first);
    mark_one(BOB, second);
    unmark_one(BOB, second);
    assert_int_equal(mark_up_to(BOB, 0, as_of(BOB)), 2);
    assert_string_equal(heard(&ear), "PostRead PostRead PostUnread InboxRead");
    for (size_t i = 0; i < ear.n; i++) {
        assert_int_equal(ear.heard[i].event_id, 0);
        assert_int_equal(ear.heard[i].actor_user_id, BOB);
    }
    assert_string_equal(events_after(after), "");
    tidings_unwatch(engine, &ear.watcher);
}

static void stories_tell_what_moves_the_bell(void **state)
{
    (void)state;
    uint64_t id = story(ANN, "s");
    subscribe(BOB, id);
    uint64_t one = scene(ANN, id, "1");
    scene(ANN, id, "2");
    watch(&ear);
    must((struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS_MARK,
                             .user_id = BOB,
                             .u.mark = {.post_ids = &one, .n_post_ids = 1}});
    assert_string_equal(heard(&ear), "NotificationsRead");
    assert_int_equal(delete_scene(ANN, TIDINGS_ROLE_USER, one), TIDINGS_OK);
    delete_post(ANN, id);
    assert_string_equal(heard(&ear), "NotificationsRead SceneDeleted PostDeleted StoryClosed");
    assert_int_equal(ear.heard[1].post_id, id);
    assert_int_equal(ear.heard[3].target_id, id);
    tidings_unwatch(engine, &ear.watcher);
}

static void what_changes_nothing_tells_nothing(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b");
    follow(BOB, ANN);
    open_post(BOB, post);
    watch(&ear);
    follow(BOB, ANN);
    open_post(BOB, post);
    assert_int_equal(
        run((struct tidings_op){.kind = TIDINGS_OP_DELETE, .user_id = BOB, .u.post.post_id = post}),
        TIDINGS_FORBIDDEN);
    badge(BOB);
    assert_string_equal(heard(&ear), "");
    tidings_unwatch(engine, &ear.watcher);
}

static void any_number_may_watch_and_stop(void **state)
{
    (void)state;
    watch(&ear);
    watch(&other);
    follow(BOB, ANN);
    tidings_unwatch(engine, &ear.watcher);
    follow(CID, ANN);
    assert_string_equal(heard(&ear), "FollowCreated");
    assert_string_equal(heard(&other), "FollowCreated FollowCreated");
    tidings_unwatch(engine, &other.watcher);
    tidings_unwatch(engine, &other.watcher); /* again: nothing */
    follow(DAN, ANN);
    assert_int_equal(other.n, 2);
}

/* In one batch or many, each author's posts are told in the order of their ids, and none is missing or told twice. */
static void many_at_once_are_told_in_order(void **state)
{
    enum { POSTS = 3000, AUTHORS = 7 };
    (void)state;
    static struct tidings_op ops[POSTS];
    for (size_t i = 0; i < POSTS; i++)
        ops[i] = (struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                                     .role = TIDINGS_ROLE_SERVICE,
                                     .user_id = 1 + i % AUTHORS,
                                     .u.publish = {TIDINGS_NOTE, text_of("t"), text_of("")}};
    watch(&ear);
    must_all(ops, POSTS);
    assert_int_equal(ear.lost, 0);
    assert_int_equal(ear.n, POSTS);
    for (size_t i = 1; i < POSTS; i++)
        assert_true(ear.heard[i].event_id > ear.heard[i - 1].event_id);
    tidings_unwatch(engine, &ear.watcher);
}

static void an_engine_needs_to_know_where_its_data_is(void **state)
{
    (void)state;
    struct tidings_options nowhere = options;
    struct tidings *none = NULL;
    const char *message = NULL;
    nowhere.dir = nowhere.mysql = NULL;
    assert_int_equal(tidings_open(&nowhere, &none, &message), TIDINGS_INVALID);
    assert_string_equal(message, "dir");
    assert_null(none);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(every_change_is_told_when_its_call_is_done),
        TEST(what_is_kept_has_the_position_that_events_have),
        TEST(reading_is_told_and_not_kept),
        TEST(stories_tell_what_moves_the_bell),
        TEST(what_changes_nothing_tells_nothing),
        TEST(any_number_may_watch_and_stop),
        TEST(many_at_once_are_told_in_order),
        TEST(an_engine_needs_to_know_where_its_data_is),
    };
#undef TEST
    return RUN_TESTS(tests);
}

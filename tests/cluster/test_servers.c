/* SPDX-License-Identifier: MIT */
/* Several servers on one database: what one has done another shows, at once and exactly, and tells of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/engine.h"

enum { SERVERS = 3, ANN = 1, BOB, CID };

static struct tidings *servers[SERVERS];
static struct tidings_answer answer;
static struct tidings_options options;
static char dir[64];

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/tidings-servers-XXXXXX");
    tidings_options_init(&options);
    options.dir = mkdtemp(dir);
    options.settings.publish_burst = options.settings.follow_burst = 100000;
    tidings_answer_init(&answer);
    for (int i = 0; i < SERVERS; i++)
        if (engine_open(&options, &servers[i], NULL))
            return -1;
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (int i = 0; i < SERVERS; i++)
        tidings_close(servers[i]);
    tidings_answer_release(&answer);
    return rmdir(dir);
}

static void must(int server, struct tidings_op op)
{
    assert_int_equal(tidings_run(servers[server], &op, &answer), TIDINGS_OK);
}

static struct tidings_op follow_op(uint64_t fan, uint64_t author)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_FOLLOW, .user_id = fan, .u.relation.user_id = author};
}

static uint64_t publish(int server, uint64_t author)
{
    must(server, (struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                                     .user_id = author,
                                     .u.publish = {TIDINGS_NOTE, {"t", 1}, {"b", 1}, {NULL, 0}}});
    return answer.u.post.id;
}

static uint64_t badge(int server, uint64_t user)
{
    must(server, (struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = user});
    return answer.u.badge.total;
}

static void verify(void)
{
    struct tidings_verify found = {.report = stderr};
    assert_int_equal(tidings_verify(servers[0], &found), TIDINGS_OK);
    assert_int_equal(found.differences, 0);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void any_server_shows_what_another_has_done(void **state)
{
    (void)state;
    must(0, follow_op(BOB, ANN));
    for (int i = 0; i < 30; i++) {
        publish(i % SERVERS, ANN);
        assert_int_equal(badge((i + 1) % SERVERS, BOB), i + 1);
    }
    struct tidings_op counters = {
        .kind = TIDINGS_OP_COUNTERS, .user_id = BOB, .u.user.user_id = ANN};
    must(2, counters);
    assert_int_equal(answer.u.counters.posts, 30);
    assert_int_equal(answer.u.counters.followers, 1);
    verify();
}

/* What one server gave out as a moment is one for all of them, and swallows nothing that came later. */
/* Each keeps copies of what users follow and have read. */
static void what_is_read_on_one_server_is_read_on_all(void **state)
{
    enum { POSTS = 12 };
    uint64_t posts[POSTS];
    (void)state;
    must(0, follow_op(BOB, ANN));
    for (int i = 0; i < POSTS; i++)
        posts[i] = publish(i % SERVERS, ANN);
    for (uint64_t i = 0; i < POSTS; i++) {
        for (int server = 0; server < SERVERS; server++)
            assert_int_equal(badge(server, BOB), POSTS - i);
        must((int)(i % SERVERS),
             (struct tidings_op){.kind = TIDINGS_OP_MARK_READ,
                                 .user_id = BOB,
                                 .u.mark = {.post_ids = &posts[i], .n_post_ids = 1}});
        assert_int_equal(answer.u.mark.total, POSTS - i - 1);
    }
    must(1, (struct tidings_op){.kind = TIDINGS_OP_UNFOLLOW,
                                .user_id = BOB,
                                .u.relation = {.user_id = ANN, .purge_inbox = true}});
    publish(2, ANN);
    for (int server = 0; server < SERVERS; server++)
        assert_int_equal(badge(server, BOB), 0);
    verify();
}

static void a_moment_is_the_same_everywhere(void **state)
{
    (void)state;
    must(1, follow_op(BOB, ANN));
    publish(0, ANN);
    publish(1, ANN);
    badge(2, BOB);
    struct tidings_op mark = {
        .kind = TIDINGS_OP_MARK_READ, .user_id = BOB, .u.mark.up_to = answer.u.badge.as_of};
    publish(0, ANN);
    must(1, mark);
    assert_int_equal(answer.u.mark.marked, 2);
    assert_int_equal(badge(0, BOB), 1);
    mark.u.mark.up_to = engine_beyond(&answer.u.badge.as_of, 1000);
    assert_int_equal(tidings_run(servers[2], &mark, &answer), TIDINGS_INVALID);
    verify();
}

/* Ids of one author's posts grow whichever server makes them. */
static void ids_grow_with_the_numbers(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (int i = 0; i < 60; i++) {
        uint64_t id = publish(i % SERVERS, ANN);
        assert_true(id > last);
        last = id;
    }
    verify();
}

static struct {
    struct tidings_watcher watcher;
    _Atomic unsigned posts, follows, reads, lost;
} heard;

static void hear(struct tidings_watcher *watcher, const struct tidings_event *events, size_t n)
{
    (void)watcher;
    atomic_fetch_add(&heard.lost, !events);
    for (size_t i = 0; i < n; i++) {
        atomic_fetch_add(&heard.reads, events[i].type == TIDINGS_EVENT_POST_READ &&
                                           events[i].actor_user_id == CID &&
                                           events[i].author_id == ANN);
        atomic_fetch_add(&heard.posts, events[i].type == TIDINGS_EVENT_POST_PUBLISHED);
        atomic_fetch_add(&heard.follows, events[i].type == TIDINGS_EVENT_FOLLOW_CREATED);
    }
}

/* Also of what is not kept. */
static void those_who_watch_one_server_hear_of_all(void **state)
{
    (void)state;
    enum { PATIENCE_MS = 20000, POSTS = 12 };
    heard.watcher.tell = hear;
    tidings_watch(servers[0], &heard.watcher);
    must(1, follow_op(CID, ANN));
    for (int i = 0; i < POSTS; i++) {
        uint64_t post = publish(i % SERVERS, ANN);
        must(i % SERVERS, (struct tidings_op){.kind = TIDINGS_OP_OPEN,
                                              .user_id = CID,
                                              .u.post.post_id = post}); /* is not kept */
    }
    for (int i = 0; i < PATIENCE_MS &&
                    (atomic_load(&heard.posts) < POSTS || atomic_load(&heard.reads) < POSTS);
         i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    /* And nothing twice: what comes later would have come by now. */
    badge(1, CID);
    nanosleep(&(struct timespec){0, 200000000}, NULL);
    tidings_unwatch(servers[0], &heard.watcher);
    assert_int_equal(atomic_load(&heard.posts), POSTS);
    assert_int_equal(atomic_load(&heard.reads), POSTS);
    assert_int_equal(atomic_load(&heard.follows), 1);
}

/* Others may not have known of it when it began to listen: whoever watches is told to look. */
static void one_that_has_just_come_has_its_watchers_look(void **state)
{
    (void)state;
    enum { PATIENCE_MS = 20000 };
    atomic_store(&heard.lost, 0);
    tidings_watch(servers[0], &heard.watcher);
    for (int i = 0; i < PATIENCE_MS && !atomic_load(&heard.lost); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    tidings_unwatch(servers[0], &heard.watcher);
    assert_int_equal(atomic_load(&heard.lost), 1);
}

static void a_secret_is_shared(void **state)
{
    (void)state;
    uint8_t a[TIDINGS_SECRET_BYTES], b[TIDINGS_SECRET_BYTES];
    assert_int_equal(tidings_secret(servers[0], a), TIDINGS_OK);
    assert_int_equal(tidings_secret(servers[1], b), TIDINGS_OK);
    assert_memory_equal(a, b, sizeof a);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(any_server_shows_what_another_has_done),
        TEST(what_is_read_on_one_server_is_read_on_all),
        TEST(a_moment_is_the_same_everywhere),
        TEST(ids_grow_with_the_numbers),
        TEST(those_who_watch_one_server_hear_of_all),
        TEST(one_that_has_just_come_has_its_watchers_look),
        TEST(a_secret_is_shared),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}

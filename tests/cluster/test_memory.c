/* SPDX-License-Identifier: MIT */
/*
 * What servers remember with a Redis: two of them on one database and one Redis Cluster. Users always see their own changes, on any
 * server, at once; what others have done a moment later; and all the same while Redis stands still, is killed or emptied.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/wait.h"
#include "cluster/failing.h"
#include "model/random.h"
#include "redis/redis.h"

enum { AUTHORS = 12, FIRST_AUTHOR = 100, ROUNDS = 150 };

static struct rng rng;

static struct tidings_cluster status_of(unsigned i)
{
    struct tidings_cluster status;
    assert_int_equal(tidings_cluster_status(engines[i], &status), TIDINGS_OK);
    return status;
}

static bool both_remember(void)
{
    return status_of(0).redis.remembers && status_of(1).redis.remembers;
}

static bool nobody_remembers(void)
{
    return !status_of(0).redis.remembers && !status_of(1).redis.remembers;
}

static enum tidings_err run_on(unsigned i, struct tidings_op op)
{
    return tidings_run(engines[i], &op, &answer);
}

static uint64_t badge_on(unsigned i, uint64_t user, bool exact)
{
    struct tidings_op op = badge_op(user);
    op.exact = exact;
    assert_int_equal(run_on(i, op), TIDINGS_OK);
    return answer.u.badge.total;
}

/* All that there is of an author. */
static enum tidings_err mark_on(unsigned i, uint64_t user, uint64_t author)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_MARK_READ, .user_id = user, .u.mark.author_id = author};
    badge_on(i, user, true);
    op.u.mark.up_to = answer.u.badge.as_of;
    return run_on(i, op);
}

static int begin(void **state)
{
    if (failing_begin(state))
        return -1;
    rng_seed(&rng, getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1);
    engine_start(1);
    for (uint64_t i = 0; i < AUTHORS; i++) {
        assert_int_equal(run_on(0, publish_op(FIRST_AUTHOR + i)), TIDINGS_OK);
        assert_int_equal(run_on(0, follow_op(ANN, FIRST_AUTHOR + i)), TIDINGS_OK);
        assert_int_equal(run_on(0, publish_op(FIRST_AUTHOR + i)), TIDINGS_OK);
    }
    assert_true(in_time(both_remember));
    return 0;
}

static int end(void **state)
{
    engine_stop(1);
    return failing_end(state);
}

/* What others did is old enough to be known everywhere. */
static bool agrees(void)
{
    return badge_on(0, ANN, false) == badge_on(0, ANN, true) &&
           badge_on(1, ANN, false) == badge_on(1, ANN, true);
}

static bool recalls(void)
{
    uint64_t before = status_of(1).redis.recalled;
    badge_on(1, ANN, false);
    return status_of(1).redis.recalled > before;
}

static void a_badge_is_remembered(void **state)
{
    (void)state;
    assert_true(in_time(recalls));
    assert_int_equal(badge_on(1, ANN, false), AUTHORS);
    uint64_t before = status_of(1).redis.recalled;
    badge_on(1, ANN, true);
    assert_int_equal(status_of(1).redis.recalled, before);
}

/* Of an author who has deleted something it takes more than the number of posts to count. Nothing of theirs is read, so no read map is needed either. */
static void what_is_deleted_is_not_counted_from_memory(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(run_on(0, publish_op(FIRST_AUTHOR + i)), TIDINGS_OK);
        struct tidings_op gone = {.kind = TIDINGS_OP_DELETE,
                                  .user_id = FIRST_AUTHOR + i,
                                  .u.post.post_id = answer.u.post.id};
        assert_int_equal(run_on(0, gone), TIDINGS_OK);
    }
    assert_true(in_time(agrees));
    assert_true(in_time(recalls));
    uint64_t before = status_of(1).redis.recalled;
    assert_int_equal(badge_on(1, ANN, false), AUTHORS);
    assert_int_equal(status_of(1).redis.recalled, before + 1);
}

static void change_something(unsigned i)
{
    uint64_t author = FIRST_AUTHOR + rng_below(&rng, AUTHORS);
    struct tidings_op unfollow = follow_op(ANN, author);
    unfollow.kind = TIDINGS_OP_UNFOLLOW;
    unfollow.u.relation.purge_inbox = rng_below(&rng, 2);
    switch (rng_below(&rng, 3)) {
    case 0:
        assert_int_equal(mark_on(i, ANN, author), TIDINGS_OK);
        break;
    case 1:
        assert_int_equal(run_on(i, unfollow), TIDINGS_OK);
        break;
    default:
        assert_int_equal(run_on(i, follow_op(ANN, author)), TIDINGS_OK);
    }
}

/* Some posts do not stay, read or unread: then it takes more than their author's number of posts to count. */
static void publish_something(void)
{
    uint64_t author = FIRST_AUTHOR + rng_below(&rng, AUTHORS);
    unsigned i = (unsigned)rng_below(&rng, 2);
    assert_int_equal(run_on(i, publish_op(author)), TIDINGS_OK);
    struct tidings_op gone = {
        .kind = TIDINGS_OP_DELETE, .user_id = author, .u.post.post_id = answer.u.post.id};
    if (!rng_below(&rng, 2))
        assert_int_equal(mark_on(i, ANN, author), TIDINGS_OK);
    if (!rng_below(&rng, 3))
        assert_int_equal(run_on(i, gone), TIDINGS_OK);
}

/* Others do something, too, and nothing is asked until that is known; then the user's own change is seen at once by all servers. */
static void change_and_look(void)
{
    unsigned i = (unsigned)rng_below(&rng, 2);
    for (uint64_t n = rng_below(&rng, 3); n; n--)
        publish_something();
    assert_true(in_time(agrees));
    change_something(i);
    uint64_t exact = badge_on(i, ANN, true);
    assert_int_equal(badge_on(1 - i, ANN, false), exact);
    assert_int_equal(badge_on(i, ANN, false), exact);
}

static void own_changes_are_seen_at_once_everywhere(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        change_and_look();
        if (round % 10)
            continue;
        assert_true(in_time(recalls));
        assert_true(agrees());
    }
}

static void what_others_do_is_seen_soon(void **state)
{
    (void)state;
    for (int round = 0; round < 30; round++) {
        assert_int_equal(run_on(0, publish_op(FIRST_AUTHOR + (uint64_t)round % AUTHORS)),
                         TIDINGS_OK);
        int64_t began_ms = now_ms();
        assert_true(in_time(agrees));
        assert_true(now_ms() - began_ms < PATIENCE_MS / 2);
    }
    assert_int_equal(badge_on(1, ANN, false), AUTHORS + 30);
}

static bool one_is_recalled_by(uint64_t seen)
{
    uint64_t before = status_of(1).redis.recalled;
    struct tidings_op op = badge_op(ANN);
    op.seen = seen;
    assert_int_equal(run_on(1, op), TIDINGS_OK);
    return status_of(1).redis.recalled > before;
}

/* Whoever brings along what another server showed is shown nothing older. */
static void what_was_seen_is_shown_by_any_server(void **state)
{
    (void)state;
    assert_true(in_time(recalls));
    for (uint64_t round = 1; round <= 30; round++) {
        assert_int_equal(run_on(0, publish_op(FIRST_AUTHOR)), TIDINGS_OK);
        struct tidings_op op = badge_op(ANN);
        op.seen = answer.seen;
        assert_true(op.seen > 0);
        assert_int_equal(run_on(1, op), TIDINGS_OK);
        assert_int_equal(answer.u.badge.total, AUTHORS + round);
        assert_true(answer.seen >= op.seen);
    }
    assert_true(in_time(recalls));
    assert_false(one_is_recalled_by(TIDINGS_ID_MAX));
}

/* ---- Redis ---------------------------------------------------------------------------------- */

static void redis_do(const char *word, unsigned node)
{
    char line[64];
    snprintf(line, sizeof line, "%s %u", word, node);
    control_do("TIDINGS_TEST_REDIS_CONTROL", line);
}

static void redis_do_all(const char *word)
{
    for (unsigned node = 0; node < 6; node++)
        redis_do(word, node);
}

static void a_redis_that_stands_still_is_done_without(void **state)
{
    (void)state;
    redis_do_all("pause");
    for (int round = 0; round < 10; round++)
        change_and_look();
    assert_true(in_time(nobody_remembers));
    redis_do_all("resume");
    assert_true(in_time(both_remember));
    for (int round = 0; round < 10; round++)
        change_and_look();
    assert_true(in_time(recalls));
}

static void a_master_that_is_killed_is_replaced(void **state)
{
    (void)state;
    for (unsigned node = 0; node < 3; node++) {
        redis_do("kill", node);
        for (int round = 0; round < 20; round++)
            change_and_look();
        redis_do("start", node);
        assert_true(in_time(both_remember));
        assert_true(in_time(recalls));
    }
}

static struct bytes text_of(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

/* Keys of so many tags are on all nodes. */
static void flush_all(struct redis *redis)
{
    for (int i = 0; i < 32; i++) {
        char key[32];
        snprintf(key, sizeof key, "{%d}", i);
        const struct bytes args[] = {text_of("EVAL"), text_of("return redis.call('FLUSHALL')"),
                                     text_of("1"), text_of(key)};
        struct redis_call call = {.args = args, .n_args = 4, .key = 3};
        redis_run(redis, &call, 1, now_ms() + PATIENCE_MS);
        assert_int_equal(call.outcome, REDIS_DONE);
    }
}

static void an_emptied_redis_is_filled_again(void **state)
{
    const char *message;
    struct redis_options redis_options = {.nodes = getenv("TIDINGS_TEST_REDIS")};
    struct redis *redis = redis_new(&redis_options, &message);
    (void)state;
    for (int round = 0; round < 20; round++) {
        flush_all(redis);
        change_and_look();
    }
    redis_free(redis);
    assert_true(in_time(recalls));
}

/* One that cannot say in Redis what it changes keeps all others from answering out of it. */
static void a_server_without_redis_keeps_others_from_remembering(void **state)
{
    (void)state;
    engine_stop(1);
    options.redis = NULL;
    engine_start(1);
    assert_int_equal(mark_on(1, ANN, FIRST_AUTHOR), TIDINGS_OK);
    assert_int_equal(badge_on(0, ANN, false), AUTHORS - 1);
    assert_false(status_of(0).redis.remembers);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_badge_is_remembered),
        TEST(what_is_deleted_is_not_counted_from_memory),
        TEST(own_changes_are_seen_at_once_everywhere),
        TEST(what_others_do_is_seen_soon),
        TEST(what_was_seen_is_shown_by_any_server),
        TEST(a_redis_that_stands_still_is_done_without),
        TEST(a_master_that_is_killed_is_replaced),
        TEST(an_emptied_redis_is_filled_again),
        TEST(a_server_without_redis_keeps_others_from_remembering),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

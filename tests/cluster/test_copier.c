/* SPDX-License-Identifier: MIT */
/*
 * Keys in Redis that others read: two servers, one database, one Redis Cluster. Whatever users do, whoever keeps the keys, and whatever
 * becomes of Redis: when all events have been gone through, every key says what the database has. That the database counts
 * right itself is verified when each test ends.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/wait.h"
#include "cluster/failing.h"
#include "domain/ids.h"
#include "model/random.h"
#include "redis/redis.h"

enum { FIRST = 2, USERS = 8, POSTS = 32, KINDS = 3, OPS = 400 };

static struct rng rng;
static struct redis *redis;
static struct sql *sql;
static uint64_t posts[POSTS];

static const char *const starts[KINDS] = {"ucnt:", "uf:flws:", "uf:fans:"};

/* ---- Redis -------------------------------------------------------------------------------------- */

static struct bytes text_of(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

static const struct redisReply *redis_do(const char *const words[], unsigned n, unsigned key)
{
    static struct bytes args[6];
    static struct redis_call call;
    int64_t until_ms = now_ms() + PATIENCE_MS;
    for (unsigned i = 0; i < n; i++)
        args[i] = text_of(words[i]);
    do {
        call = (struct redis_call){.args = args, .n_args = n, .key = key};
        redis_run(redis, &call, 1, until_ms);
    } while (call.outcome != REDIS_DONE && now_ms() < until_ms);
    assert_int_equal(call.outcome, REDIS_DONE);
    return call.reply;
}

static const struct redisReply *ask_key(const char *word, const char *key)
{
    return redis_do((const char *[]){word, key}, 2, 1);
}

/* Keys of so many tags are on all nodes. */
static void flush_all(void)
{
    for (int i = 0; i < 32; i++) {
        char key[32];
        snprintf(key, sizeof key, "{%d}", i);
        redis_do((const char *[]){"EVAL", "return redis.call('FLUSHALL')", "1", key}, 4, 3);
    }
}

static void node_do(const char *word, unsigned node)
{
    char line[64];
    snprintf(line, sizeof line, "%s %u", word, node);
    control_do("TIDINGS_TEST_REDIS_CONTROL", line);
}

static const char *key_of(unsigned kind, uint64_t user)
{
    static char key[64];
    snprintf(key, sizeof key, "%s%" PRIu64, starts[kind], user);
    return key;
}

static bool is_there(unsigned kind, uint64_t user)
{
    return ask_key("EXISTS", key_of(kind, user))->integer;
}

/* ---- What keys must say --------------------------------------------------------------------------- */

static uint64_t number(const char *form, uint64_t user)
{
    char text[512];
    snprintf(text, sizeof text, form, user);
    return asked(sql, text);
}

/* In the order of the key. */
static const char *const counts[] = {
    "SELECT COALESCE(SUM(following),0) FROM user WHERE user_id=%" PRIu64,
    "SELECT COALESCE(SUM(followers),0) FROM user_counter WHERE user_id=%" PRIu64,
    "SELECT COALESCE(SUM(posts),0) FROM user_counter WHERE user_id=%" PRIu64,
    "SELECT COALESCE(SUM(liked_posts),0) FROM user WHERE user_id=%" PRIu64,
    "SELECT COALESCE(SUM(faved_posts),0) FROM user WHERE user_id=%" PRIu64,
    "SELECT COALESCE(SUM(likes_received),0) FROM user_counter WHERE user_id=%" PRIu64,
    "SELECT COALESCE(SUM(favs_received),0) FROM user_counter WHERE user_id=%" PRIu64,
};

static void assert_counts(uint64_t user)
{
    const struct redisReply *reply = ask_key("GET", key_of(0, user));
    if (reply->type == REDIS_REPLY_NIL)
        return;
    assert_int_equal(reply->len, 36);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct decoder from = decoder_of(reply->str + 4 * i, 4);
        const uint8_t *b = read_bytes(&from, 4);
        uint64_t shown = (uint64_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
        uint64_t wanted = number(counts[i], user);
        if (shown != wanted)
            fail_msg("count %zu of user %" PRIu64 " is %" PRIu64 " instead of %" PRIu64, i, user,
                     shown, wanted);
    }
}

static void assert_list(unsigned kind, uint64_t user)
{
    static const char *const lists[] = {
        [1] = "SELECT to_user_id, rank_id FROM following WHERE from_user_id=%" PRIu64
              " AND rel_status=2 ORDER BY rank_id DESC LIMIT 1000",
        [2] = "SELECT from_user_id, rank_id FROM follower WHERE to_user_id=%" PRIu64
              " ORDER BY rank_id DESC LIMIT 1000"};
    char text[512];
    bool more;
    size_t n = 0;
    const struct redisReply *reply =
        redis_do((const char *[]){"ZREVRANGE", key_of(kind, user), "0", "-1", "WITHSCORES"}, 5, 1);
    if (!reply->elements)
        return;
    snprintf(text, sizeof text, lists[kind], user);
    assert_int_equal(send_text(sql, text), SQL_DONE);
    for (; sql_row(sql); n++) {
        char score[24];
        assert_true(2 * n + 1 < reply->elements);
        snprintf(score, sizeof score, "%" PRId64, id_time_ms(sql_u64(sql, 1)));
        assert_string_equal(reply->element[2 * n + 1]->str, score);
    }
    assert_int_equal(reply->elements, 2 * n);
    assert_int_equal(sql_next(sql, &more), SQL_DONE);
}

/* Members of one millisecond are in the order of their names in Redis: so they are looked for. */
static void assert_members(unsigned kind, uint64_t user)
{
    static const char *const is_one[] = {
        [1] = "SELECT COUNT(*) FROM following WHERE from_user_id=%" PRIu64 " AND to_user_id=%s AND "
              "rel_status=2",
        [2] = "SELECT COUNT(*) FROM follower WHERE to_user_id=%" PRIu64 " AND from_user_id=%s"};
    char text[512], members[64][24];
    const struct redisReply *reply =
        redis_do((const char *[]){"ZRANGE", key_of(kind, user), "0", "63"}, 4, 1);
    size_t n = reply->elements;
    for (size_t i = 0; i < n; i++)
        snprintf(members[i], sizeof members[i], "%s", reply->element[i]->str);
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, is_one[kind], user, members[i]);
        assert_int_equal(asked(sql, text), 1);
    }
}

static void assert_all_right(void)
{
    for (uint64_t user = FIRST; user < FIRST + USERS; user++) {
        assert_counts(user);
        for (unsigned kind = 1; kind < KINDS; kind++) {
            assert_list(kind, user);
            assert_members(kind, user);
        }
    }
}

/* ---- Waiting -------------------------------------------------------------------------------------- */

static void await_gone_through(void)
{
    await(sql,
          "SELECT position >= (SELECT COALESCE(MAX(position),0) FROM outbox_event) FROM relay "
          "WHERE id=2",
          1);
}

static void ask_about(unsigned i, unsigned kind, uint64_t user)
{
    static const enum tidings_op_kind kinds[] = {TIDINGS_OP_COUNTERS, TIDINGS_OP_FOLLOWING,
                                                 TIDINGS_OP_FOLLOWERS};
    struct tidings_op op = {.kind = kinds[kind], .user_id = user};
    if (kind)
        op.u.users.user_id = user;
    else
        op.u.user.user_id = user;
    assert_int_equal(tidings_run(engines[i], &op, &answer), TIDINGS_OK);
}

/* All keys that there can be. */
static bool all_are_there(void)
{
    bool all = true;
    for (uint64_t user = FIRST; user < FIRST + USERS; user++)
        for (unsigned kind = 0; kind < KINDS; kind++) {
            bool there = is_there(kind, user) || (kind && !number(counts[kind - 1], user));
            if (!there)
                ask_about((unsigned)rng_below(&rng, 2), kind, user);
            all &= there;
        }
    return all;
}

static void finish(void)
{
    await_gone_through();
    assert_all_right();
    assert_true(in_time(all_are_there));
    assert_all_right();
}

/* ---- What happens --------------------------------------------------------------------------------- */

static uint64_t some_user(void)
{
    return FIRST + rng_below(&rng, USERS);
}

static void do_something(void)
{
    static const enum tidings_op_kind kinds[] = {
        TIDINGS_OP_FOLLOW, TIDINGS_OP_FOLLOW, TIDINGS_OP_UNFOLLOW, TIDINGS_OP_PUBLISH,
        TIDINGS_OP_DELETE, TIDINGS_OP_REACT,  TIDINGS_OP_REACT,    TIDINGS_OP_UNREACT};
    uint64_t *post = &posts[rng_below(&rng, POSTS)];
    struct tidings_op op = {.kind = kinds[rng_below(&rng, sizeof kinds / sizeof *kinds)],
                            .user_id = some_user()};
    if (op.kind == TIDINGS_OP_FOLLOW || op.kind == TIDINGS_OP_UNFOLLOW) {
        op.u.relation.user_id = some_user();
    } else if (op.kind == TIDINGS_OP_PUBLISH) {
        op = publish_op(op.user_id);
    } else if (op.kind == TIDINGS_OP_DELETE) {
        op.role = TIDINGS_ROLE_ADMIN;
        op.u.post.post_id = *post;
    } else {
        op.u.react.reaction = rng_below(&rng, 2) ? TIDINGS_LIKE : TIDINGS_FAV;
        op.u.react.target = TIDINGS_TARGET_POST;
        op.u.react.id = *post;
    }
    enum tidings_err err = tidings_run(engines[rng_below(&rng, 2)], &op, &answer);
    if (!err && op.kind == TIDINGS_OP_PUBLISH)
        *post = answer.u.post.id;
}

static void look_at_something(void)
{
    ask_about((unsigned)rng_below(&rng, 2), (unsigned)rng_below(&rng, KINDS), some_user());
}

static void evict_something(void)
{
    ask_key("UNLINK", key_of((unsigned)rng_below(&rng, KINDS), some_user()));
}

static void send_back(void)
{
    uint64_t first, positions;
    assert_int_equal(
        tidings_cluster_replay(&options, TIDINGS_CONSUMER_COPIES, 1, 0, &first, &positions, NULL),
        TIDINGS_OK);
}

/* The other server takes over, while this one thinks that it has it. */
static void pass_on(void)
{
    assert_run(sql, "UPDATE relay SET held_until='1971-01-01' WHERE id=2");
}

static bool stands_still;

static void live(unsigned ops, void (*trouble)(void))
{
    for (unsigned i = 0; i < ops; i++) {
        do_something();
        if (!rng_below(&rng, 2))
            look_at_something();
        if (!stands_still && !rng_below(&rng, 20))
            evict_something();
        if (trouble && !rng_below(&rng, 50))
            trouble();
    }
}

/* ---- Tests ---------------------------------------------------------------------------------------- */

static int begin(void **state)
{
    const char *message;
    struct redis_options redis_options = {.nodes = getenv("TIDINGS_TEST_REDIS")};
    redis = redis_new(&redis_options, &message);
    flush_all(); /* keys have no database in their names */
    if (failing_begin(state))
        return -1;
    rng_seed(&rng, getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1);
    engine_start(1);
    sql = foreign();
    for (size_t i = 0; i < POSTS; i++) {
        must(publish_op(some_user()));
        posts[i] = answer.u.post.id;
    }
    return 0;
}

static int end(void **state)
{
    sql_close(sql);
    redis_free(redis);
    engine_stop(1);
    return failing_end(state);
}

static void keys_say_what_the_database_has(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        live(OPS, NULL);
        finish();
    }
}

static void events_gone_through_again_change_nothing(void **state)
{
    (void)state;
    live(OPS, send_back);
    finish();
    send_back();
    finish();
}

static void whoever_keeps_them(void **state)
{
    (void)state;
    live(OPS, pass_on);
    finish();
}

static void an_emptied_redis_is_filled_again(void **state)
{
    (void)state;
    live(OPS, flush_all);
    finish();
}

static void a_server_that_dies_is_followed_by_another(void **state)
{
    (void)state;
    live(OPS / 4, NULL);
    engine_stop(1);
    engine_start(1);
    live(OPS / 4, NULL);
    finish();
}

/* What was written last is lost with it; the events of that time are gone through again. */
static void a_master_that_is_killed_takes_nothing_along(void **state)
{
    (void)state;
    for (unsigned node = 0; node < 3; node++) {
        live(OPS / 4, NULL);
        node_do("kill", node);
        live(OPS / 4, NULL);
        finish();
        node_do("start", node);
    }
    finish();
}

static void a_redis_that_stands_still_holds_up_nobody(void **state)
{
    (void)state;
    live(OPS / 4, NULL);
    for (unsigned node = 0; node < 6; node++)
        node_do("pause", node);
    stands_still = true;
    live(OPS / 8, NULL);
    stands_still = false;
    for (unsigned node = 0; node < 6; node++)
        node_do("resume", node);
    finish();
}

/* Lost writes: what a replica has that lacks them is an older value, of an older position. */
static void an_older_value_is_replaced_when_events_are_gone_through_again(void **state)
{
    char old[36];
    (void)state;
    assert_true(in_time(all_are_there));
    memcpy(old, ask_key("GET", key_of(0, FIRST))->str, sizeof old);
    must(publish_op(FIRST));
    await_gone_through();
    const struct bytes args[] = {text_of("SET"), text_of("ucnt:2"), {(uint8_t *)old, sizeof old}};
    struct redis_call call = {.args = args, .n_args = 3, .key = 1};
    redis_run(redis, &call, 1, now_ms() + PATIENCE_MS);
    assert_int_equal(call.outcome, REDIS_DONE);
    send_back();
    finish();
}

static void lists_have_the_newest_thousand(void **state)
{
    enum { FANS = 1040, STAR = FIRST };
    char text[512];
    (void)state;
    for (uint64_t fan = 10000; fan < 10000 + FANS; fan++)
        must(follow_op(fan, STAR));
    await_gone_through();
    ask_about(0, 2, STAR);
    snprintf(text, sizeof text, "uf:fans:%d", STAR);
    int64_t until_ms = now_ms() + PATIENCE_MS;
    while (ask_key("ZCARD", text)->integer != 1000 && now_ms() < until_ms)
        usleep(5000);
    assert_int_equal(ask_key("ZCARD", text)->integer, 1000);
    assert_list(2, STAR);
    assert_int_equal(redis_do((const char *[]){"ZSCORE", text, "10000"}, 3, 1)->type,
                     REDIS_REPLY_NIL);
    struct tidings_op unfollow = follow_op(10000 + FANS - 1, STAR);
    unfollow.kind = TIDINGS_OP_UNFOLLOW;
    must(unfollow);
    await_gone_through();
    finish();
}

/* As others read it: S3's bucket has none left as long as the key is there. */
static void who_may_not_follow_any_more_is_told(void **state)
{
    enum tidings_err err = TIDINGS_OK;
    (void)state;
    engine_stop(0);
    options.settings.follow_burst = 5;
    options.settings.follow_refill_ms = 3600 * 1000;
    engine_start(0);
    for (uint64_t i = 0; i < 10 && !err; i++)
        err = run(follow_op(500, 600 + i));
    assert_int_equal(err, TIDINGS_RATE_LIMITED);
    int64_t retry_ms = answer.retry_after_ms, until_ms = now_ms() + PATIENCE_MS;
    assert_true(retry_ms > 0);
    while (!ask_key("EXISTS", "rl:follow:500")->integer && now_ms() < until_ms)
        usleep(5000);
    assert_in_range(ask_key("PTTL", "rl:follow:500")->integer, 1, retry_ms);
    assert_int_equal(ask_key("EXISTS", "rl:follow:600")->integer, 0);
}

/* ---- Making everything anew ------------------------------------------------------------------------ */

static uint64_t wish;

static bool is_rebuilt(void)
{
    struct tidings_cluster status;
    assert_int_equal(tidings_cluster_look(&options, &status, NULL), TIDINGS_OK);
    return status.rebuild.done >= wish && !status.rebuild.under_way;
}

static void set(const char *key, const char *value)
{
    redis_do((const char *[]){"SET", key, value}, 3, 1);
}

static void everything_is_made_anew_but_what_is_not_ours(void **state)
{
    static const char *const foreign_keys[] = {"ucnt:abc", "ucnt:007", "else:1",
                                               "tidings:other:1:{2}"};
    static const char *const ours[] = {"rl:follow:7", "ucnt:99999"};
    char of_old_epoch[128];
    (void)state;
    live(OPS / 4, NULL);
    finish();
    for (size_t i = 0; i < sizeof foreign_keys / sizeof *foreign_keys; i++)
        set(foreign_keys[i], "x");
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        set(ours[i], "x");
    assert_int_equal(send_text(sql, "SELECT CONCAT('tidings:', DATABASE(), ':1:{2}')"), SQL_DONE);
    assert_true(sql_row(sql));
    snprintf(of_old_epoch, sizeof of_old_epoch, "%.*s", (int)sql_bytes(sql, 0).n,
             (const char *)sql_bytes(sql, 0).p);
    set(of_old_epoch, "x");
    /* A position that nobody has reached: no event would ever mend it. */
    char wrong[36];
    memset(wrong, 1, sizeof wrong);
    const struct bytes args[] = {
        text_of("SET"), text_of("ucnt:2"), {(uint8_t *)wrong, sizeof wrong}};
    struct redis_call call = {.args = args, .n_args = 3, .key = 1};
    redis_run(redis, &call, 1, now_ms() + PATIENCE_MS);
    assert_int_equal(call.outcome, REDIS_DONE);

    assert_int_equal(tidings_cluster_rebuild(&options, &wish, NULL), TIDINGS_OK);
    assert_true(in_time(is_rebuilt));
    assert_all_right();
    assert_true(is_there(0, FIRST)); /* without being asked about */
    for (size_t i = 0; i < sizeof foreign_keys / sizeof *foreign_keys; i++)
        assert_int_equal(ask_key("EXISTS", foreign_keys[i])->integer, 1);
    assert_int_equal(ask_key("EXISTS", ours[0])->integer, 0);
    assert_int_equal(ask_key("STRLEN", ours[1])->integer, 36);
    assert_int_equal(ask_key("EXISTS", of_old_epoch)->integer, 0);
}

/* A word to each of many keys, at once. */
enum { MANY = 12000, MANY_FROM = 20000 };
static struct redis_call many[MANY];
static struct bytes many_args[MANY][3];
static char many_keys[MANY][24];

static void do_many(const char *word, const char *value)
{
    for (int i = 0; i < MANY; i++) {
        snprintf(many_keys[i], sizeof many_keys[i], "ucnt:%d", MANY_FROM + i);
        many_args[i][0] = text_of(word);
        many_args[i][1] = text_of(many_keys[i]);
        many_args[i][2] = text_of(value);
        many[i] = (struct redis_call){.args = many_args[i], .n_args = *value ? 3 : 2, .key = 1};
    }
    redis_run(redis, many, MANY, now_ms() + PATIENCE_MS);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(many[i].outcome, REDIS_DONE);
}

static bool has_begun(void)
{
    struct tidings_cluster status;
    assert_int_equal(tidings_cluster_look(&options, &status, NULL), TIDINGS_OK);
    return status.rebuild.looked_at > 0;
}

/* The first master that is gone through is replaced meanwhile: it is begun again. */
static void a_master_that_is_killed_meanwhile_leaves_nothing_out(void **state)
{
    (void)state;
    do_many("SET", "x");
    assert_run(sql, "UPDATE rebuild SET looked_at=0");
    assert_int_equal(tidings_cluster_rebuild(&options, &wish, NULL), TIDINGS_OK);
    assert_true(in_time(has_begun));
    node_do("kill", 0);
    assert_true(in_time(is_rebuilt));
    do_many("STRLEN", "");
    for (int i = 0; i < MANY; i++)
        assert_int_not_equal(many[i].reply->integer, 1);
    node_do("start", 0);
}

/* What verify mends no event tells of. */
static void what_was_mended_is_made_anew(void **state)
{
    struct tidings_verify verify = {.repair = true};
    (void)state;
    assert_true(in_time(all_are_there));
    assert_run(sql, "UPDATE user_counter SET posts=posts+7 WHERE user_id=2");
    ask_key("UNLINK", "ucnt:2");
    assert_true(in_time(all_are_there));
    wish = asked(sql, "SELECT wanted FROM rebuild") + 1;
    assert_int_equal(tidings_verify(engines[0], &verify), TIDINGS_OK);
    assert_true(verify.repaired > 0);
    assert_true(in_time(is_rebuilt));
    assert_true(is_there(0, FIRST));
    assert_all_right();
}

int main(void)
{
    if (getenv("TEST_ONLY"))
        cmocka_set_test_filter(getenv("TEST_ONLY"));
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(keys_say_what_the_database_has),
        TEST(events_gone_through_again_change_nothing),
        TEST(whoever_keeps_them),
        TEST(an_emptied_redis_is_filled_again),
        TEST(a_server_that_dies_is_followed_by_another),
        TEST(a_master_that_is_killed_takes_nothing_along),
        TEST(a_redis_that_stands_still_holds_up_nobody),
        TEST(an_older_value_is_replaced_when_events_are_gone_through_again),
        TEST(lists_have_the_newest_thousand),
        TEST(who_may_not_follow_any_more_is_told),
        TEST(everything_is_made_anew_but_what_is_not_ours),
        TEST(what_was_mended_is_made_anew),
        TEST(a_master_that_is_killed_meanwhile_leaves_nothing_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Calls of a cluster that is well, or of a single Redis: all of these run on either, with passwords, users and TLS, too. */
#include "redis/support.h"

enum { LONG_MS = 20000 };

static void ten_thousand_calls_go_to_all_nodes_at_once(void **state)
{
    (void)state;
    enum { N = 10000 };
    struct redis *redis = client_new();
    struct batch batch;
    char key[32], value[32];
    batch_init(&batch);
    for (unsigned i = 0; i < N; i++) {
        snprintf(key, sizeof key, "many:%u", i);
        snprintf(value, sizeof value, "value of %u", i);
        batch_add(&batch, "SET", key, value, NULL);
    }
    batch_run(redis, &batch, LONG_MS);
    assert_done(&batch);
    batch_clear(&batch);
    for (unsigned i = 0; i < N; i++) {
        snprintf(key, sizeof key, "many:%u", i);
        batch_add(&batch, "GET", key, NULL);
    }
    batch_run(redis, &batch, LONG_MS);
    for (unsigned i = 0; i < N; i++) {
        snprintf(value, sizeof value, "value of %u", i);
        assert_text(&batch.calls[i], value);
    }
    struct redis_health health = health_of(redis);
    assert_true(health.known);
    assert_int_equal(health.slots, REDIS_SLOTS);
    assert_int_equal(health.masters, health.single ? 1 : MASTERS);
    assert_int_equal(health.connected, health.masters);
    assert_int_equal(health.maps, 1);
    assert_int_equal(health.moved + health.failures + health.lost + health.unreached, 0);
    assert_int_equal(health.calls, 2 * N);
    batch_release(&batch);
    redis_free(redis);
}

/* Bytes of all kinds, and nothing at all; large enough that a socket does not take it at once. */
static void values_of_any_bytes_and_size_come_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 15, 16383, 16384, 16385, 1 << 20, 5 << 20};
    struct redis *redis = client_new();
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        uint8_t *bytes = malloc(sizes[k] + 1);
        for (size_t i = 0; i < sizes[k]; i++)
            bytes[i] = (uint8_t)(i * 7 + k);
        struct bytes key = {(const uint8_t *)"\0\r\n$", 4};
        struct bytes set[] = {{(const uint8_t *)"SET", 3}, key, {bytes, sizes[k]}};
        struct bytes get[] = {{(const uint8_t *)"GET", 3}, key};
        struct redis_call call = {.args = set, .n_args = 3, .key = 1};
        redis_run(redis, &call, 1, wait_now_ms() + LONG_MS);
        assert_int_equal(call.outcome, REDIS_DONE);
        call = (struct redis_call){.args = get, .n_args = 2, .key = 1};
        redis_run(redis, &call, 1, wait_now_ms() + LONG_MS);
        assert_int_equal(call.outcome, REDIS_DONE);
        assert_int_equal(call.reply->len, sizes[k]);
        assert_memory_equal(call.reply->str, bytes, sizes[k]);
        free(bytes);
    }
    redis_free(redis);
}

static void what_is_too_large_is_not_sent(void **state)
{
    (void)state;
    struct redis *redis = client_new();
    size_t n = 17 << 20;
    uint8_t *bytes = calloc(1, n);
    struct bytes set[] = {{(const uint8_t *)"SET", 3}, {(const uint8_t *)"large", 5}, {bytes, n}};
    struct redis_call call = {.args = set, .n_args = 3, .key = 1};
    redis_run(redis, &call, 1, wait_now_ms() + LONG_MS);
    assert_int_equal(call.outcome, REDIS_AWAY);
    assert_non_null(strstr(call.message, "too large"));
    free(bytes);
    redis_free(redis);
}

static void errors_are_refusals_wherever_they_stand(void **state)
{
    (void)state;
    static struct redis_script nested = {
        .text = "#!lua\nreturn {1, {redis.error_reply('DEEP in it')}, 3}"};
    static struct redis_script broken = {.text = "#!lua\nthis is no Lua"};
    redis_script_init(&nested);
    redis_script_init(&broken);
    struct redis *redis = client_new();
    struct batch batch;
    batch_init(&batch);
    batch_add(&batch, "SET", "{e}text", "abc", NULL);
    batch_run(redis, &batch, LONG_MS);
    batch_clear(&batch);
    batch_add(&batch, "INCR", "{e}text", NULL);
    batch_add(&batch, "NOSUCHCOMMAND", "{e}text", NULL);
    batch_add(&batch, "GET", "{e}text", NULL);
    batch_script(&batch, &nested, 1, "{e}text", NULL);
    batch_script(&batch, &broken, 1, "{e}text", NULL);
    batch_add(&batch, "GET", "{e}text", NULL);
    batch_run(redis, &batch, LONG_MS);
    static const enum redis_outcome expected[] = {REDIS_REFUSED, REDIS_REFUSED, REDIS_DONE,
                                                  REDIS_REFUSED, REDIS_REFUSED, REDIS_DONE};
    for (size_t i = 0; i < batch.n; i++)
        assert_int_equal(batch.calls[i].outcome, expected[i]);
    assert_non_null(strstr(batch.calls[0].message, "not an integer"));
    assert_non_null(strstr(batch.calls[1].message, "unknown command"));
    assert_non_null(strstr(batch.calls[3].message, "DEEP in it"));
    assert_text(&batch.calls[2], "abc");
    assert_text(&batch.calls[5], "abc");
    batch_release(&batch);
    redis_free(redis);
}

static struct redis_script add_up = {.text = "#!lua\nreturn redis.call('INCRBY', KEYS[1], ARGV[1]) "
                                             "+ redis.call('INCRBY', KEYS[2], ARGV[1])"};

/* Each user's two keys have one hash tag. */
static void add_scripts(struct batch *batch, unsigned n)
{
    char a[32], b[32];
    for (unsigned i = 0; i < n; i++) {
        snprintf(a, sizeof a, "script:{%u}:a", i);
        snprintf(b, sizeof b, "script:{%u}:b", i);
        batch_script(batch, &add_up, 2, a, b, "1", NULL);
    }
}

static void scripts_are_loaded_where_they_are_missing(void **state)
{
    (void)state;
    enum { N = 600 };
    struct redis *redis = client_new();
    struct batch batch;
    batch_init(&batch);
    add_scripts(&batch, N);
    batch_run(redis, &batch, LONG_MS);
    assert_done(&batch);
    struct redis_health health = health_of(redis);
    assert_in_range(health.scripts_sent, 1,
                    health.masters); /* once a node, however many calls found it missing */
    batch_run(redis, &batch, LONG_MS);
    assert_done(&batch);
    for (size_t i = 0; i < batch.n; i++)
        assert_int_equal(batch.calls[i].reply->integer, 4);
    assert_int_equal(health_of(redis).scripts_sent, health.scripts_sent);
    batch_release(&batch);
    redis_free(redis);
}

static void a_run_id_is_that_of_the_process_that_runs_the_call(void **state)
{
    (void)state;
    enum { N = 60 };
    /* INFO is not allowed in scripts: it is compared with what INFO says below. */
    static struct redis_script store = {.text =
                                            "#!lua\nreturn redis.call('SET', KEYS[1], ARGV[1])"};
    redis_script_init(&store);
    struct redis *redis = client_new();
    struct batch batch;
    char key[32];
    batch_init(&batch);
    for (unsigned i = 0; i < N; i++) {
        snprintf(key, sizeof key, "run:%u", i);
        batch_script(&batch, &store, 1, key, RUN_ID, NULL);
    }
    batch_run(redis, &batch, LONG_MS);
    assert_done(&batch);
    batch_clear(&batch);
    for (unsigned i = 0; i < N; i++) {
        snprintf(key, sizeof key, "run:%u", i);
        batch_add(&batch, "GET", key, NULL);
    }
    batch_run(redis, &batch, LONG_MS);
    size_t found = 0;
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(batch.calls[i].outcome, REDIS_DONE);
        assert_int_equal(batch.calls[i].reply->len, 40);
        for (unsigned k = 0; k < i; k++)
            found += !strcmp(batch.calls[i].reply->str, batch.calls[k].reply->str);
    }
    assert_true(found); /* of few processes */
    struct redis_health health = health_of(redis);
    bool differ = false;
    for (unsigned i = 1; i < N; i++)
        differ |= strcmp(batch.calls[i].reply->str, batch.calls[0].reply->str);
    assert_int_equal(differ, health.masters > 1);
    batch_release(&batch);
    redis_free(redis);
}

static void a_time_that_is_over_sends_nothing(void **state)
{
    (void)state;
    struct redis *redis = client_new();
    struct batch batch;
    batch_init(&batch);
    batch_add(&batch, "SET", "over", "1", NULL);
    assert_int_equal(run_one(redis, &batch, -1), REDIS_AWAY);
    batch_clear(&batch);
    batch_add(&batch, "GET", "over", NULL);
    assert_int_equal(run_one(redis, &batch, LONG_MS), REDIS_DONE);
    assert_int_equal(batch.calls[0].reply->type, REDIS_REPLY_NIL);
    batch_clear(&batch); /* with a connection, too */
    batch_add(&batch, "SET", "over", "1", NULL);
    assert_int_equal(run_one(redis, &batch, -1), REDIS_AWAY);
    batch_clear(&batch);
    batch_add(&batch, "GET", "over", NULL);
    assert_int_equal(run_one(redis, &batch, LONG_MS), REDIS_DONE);
    assert_int_equal(batch.calls[0].reply->type, REDIS_REPLY_NIL);
    assert_int_equal(health_of(redis).failures, 0);
    redis_run(redis, NULL, 0, wait_now_ms());
    batch_release(&batch);
    redis_free(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_calls_go_to_all_nodes_at_once),
        cmocka_unit_test(values_of_any_bytes_and_size_come_back),
        cmocka_unit_test(what_is_too_large_is_not_sent),
        cmocka_unit_test(errors_are_refusals_wherever_they_stand),
        cmocka_unit_test(scripts_are_loaded_where_they_are_missing),
        cmocka_unit_test(a_run_id_is_that_of_the_process_that_runs_the_call),
        cmocka_unit_test(a_time_that_is_over_sends_nothing),
    };
    redis_script_init(&add_up);
    return RUN_TESTS(tests);
}

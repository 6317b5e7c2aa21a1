/* SPDX-License-Identifier: MIT */
/* Nodes that die, stand still, come back and forget: what was done is there, others are not held up, and calls go on without a hand. */
#include "redis/support.h"

enum { LONG_MS = 20000, KEYS = 300, WAIT_SECONDS = 60 };

/* Which of the first masters has it, as the cluster was made. */
static int master_of(unsigned i)
{
    char key[32];
    int n = snprintf(key, sizeof key, "f:%u", i);
    unsigned slot = redis_slot((struct bytes){(const uint8_t *)key, (size_t)n});
    for (int k = 1; k <= MASTERS; k++)
        if (slot < REDIS_SLOTS * (unsigned)k / MASTERS)
            return k - 1;
    return -1;
}

static void add_all(struct batch *batch, const char *command, unsigned value)
{
    char key[32], text[32];
    batch_clear(batch);
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "f:%u", i);
        snprintf(text, sizeof text, "%u of %u", value, i);
        batch_add(batch, command, key, *command == 'S' ? text : NULL, NULL);
    }
}

/* What is read of a key is what was written to that key, in a round from `least` on. */
static void assert_own_value(const struct redis_call *call, unsigned i, unsigned least,
                             unsigned most)
{
    unsigned value = 0, of = KEYS;
    assert_int_equal(call->reply->type, REDIS_REPLY_STRING);
    assert_int_equal(sscanf(call->reply->str, "%u of %u", &value, &of), 2);
    assert_int_equal(of, i);
    assert_in_range(value, least, most);
}

/* Writes round after round until all is done again. The node's calls may fail, others may not. */
static unsigned write_until_all_is_well(struct redis *redis, struct batch *batch, int without,
                                        unsigned round, unsigned last_done[KEYS])
{
    int64_t end = wait_now_ms() + WAIT_SECONDS * 1000;
    unsigned away_rounds = 0;
    for (size_t done = 0; done < KEYS; round++) {
        assert_true(wait_now_ms() < end);
        add_all(batch, "SET", round);
        int64_t began = wait_now_ms();
        batch_run(redis, batch, LONG_MS);
        assert_true(wait_now_ms() - began < LONG_MS / 2); /* nobody waits for who is away */
        for (unsigned i = 0; i < KEYS; i++) {
            if (batch->calls[i].outcome == REDIS_DONE)
                last_done[i] = round;
            else if (master_of(i) != without)
                fail_msg("f:%u: outcome %d: %s", i, batch->calls[i].outcome,
                         batch->calls[i].message);
        }
        done = batch_count(batch, REDIS_DONE);
        away_rounds += batch_count(batch, REDIS_AWAY) > 0;
    }
    print_message("%u rounds, %u of them without node %d\n", round, away_rounds, without);
    assert_true(away_rounds > 0);
    return round;
}

static void read_all(struct redis *redis, struct batch *batch, int without, unsigned round,
                     const unsigned last_done[KEYS])
{
    add_all(batch, "GET", 0);
    batch_run(redis, batch, LONG_MS);
    assert_done(batch);
    for (unsigned i = 0; i < KEYS; i++) {
        bool may_be_older = master_of(i) == without; /* Redis may lose its last second of writes */
        assert_own_value(&batch->calls[i], i, may_be_older ? 0 : last_done[i],
                         may_be_older ? round : last_done[i]);
    }
}

/* Who was away believes for a moment that nothing has happened: it says so to whoever asks for the slots, or that the cluster is down. */
static void await_as_replica(int node)
{
    int64_t end = wait_now_ms() + WAIT_SECONDS * 1000;
    while (!strstr(cli(node, "INFO replication"), "master_link_status:up") ||
           !strstr(cli(node, "CLUSTER INFO"), "cluster_state:ok"))
        assert_true(wait_now_ms() < end);
}

static void a_master_dies_and_its_replica_takes_over(void **state)
{
    (void)state;
    unsigned last_done[KEYS] = {0};
    struct redis *redis = client_new();
    struct batch batch;
    batch_init(&batch);
    add_all(&batch, "SET", 0);
    batch_run(redis, &batch, LONG_MS);
    assert_done(&batch);
    control("kill 0");
    unsigned round = write_until_all_is_well(redis, &batch, 0, 1, last_done);
    read_all(redis, &batch, 0, round, last_done);
    struct redis_health health = health_of(redis);
    assert_int_equal(health.masters, MASTERS);
    assert_int_equal(health.away, 0);
    assert_true(health.failures > 0 && health.problem[0]);
    control("start 0");
    await_as_replica(0);
    batch_release(&batch);
    redis_free(redis);
}

/* Node 1 stands still: the kernel takes what is sent to it, and connections, too. */
static void a_node_that_stands_still_holds_up_nobody_for_long(void **state)
{
    (void)state;
    unsigned last_done[KEYS] = {0};
    struct redis *redis = client_new();
    struct batch batch;
    batch_init(&batch);
    add_all(&batch, "SET", 0);
    batch_run(redis, &batch, LONG_MS);
    assert_done(&batch);
    control("pause 1");
    add_all(&batch, "GET", 0);
    batch_run(redis, &batch, 300);
    for (unsigned i = 0; i < KEYS; i++) {
        assert_int_equal(batch.calls[i].outcome, master_of(i) == 1 ? REDIS_LOST : REDIS_DONE);
        if (master_of(i) != 1)
            assert_own_value(&batch.calls[i], i, 0, 0);
    }
    unsigned round = write_until_all_is_well(redis, &batch, 1, 1, last_done); /* by its replica */
    control("resume 1");
    read_all(redis, &batch, 1, round, last_done);
    await_as_replica(1);
    batch_release(&batch);
    redis_free(redis);
}

static struct redis_script own = {.text = "#!lua\nreturn KEYS[1]"};

static void add_scripts(struct batch *batch)
{
    char key[32];
    batch_clear(batch);
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "f:%u", i);
        batch_script(batch, &own, 1, key, NULL);
    }
}

static void what_is_flushed_is_made_again(void **state)
{
    (void)state;
    struct redis *redis = client_new();
    struct batch batch;
    char key[32];
    batch_init(&batch);
    for (unsigned round = 0; round < 3; round++) {
        add_scripts(&batch);
        batch_run(redis, &batch, LONG_MS);
        for (unsigned i = 0; i < KEYS; i++) {
            snprintf(key, sizeof key, "f:%u", i);
            assert_text(&batch.calls[i], key);
        }
        for (int node = 0; node < NODES; node++) {
            cli(node, "FLUSHALL");
            assert_string_equal(cli(node, "SCRIPT FLUSH"), "OK");
        }
    }
    assert_int_equal(health_of(redis).scripts_sent, 3 * MASTERS);
    batch_release(&batch);
    redis_free(redis);
}

/* Somebody else has closed all connections, or an idle one was closed: nothing is lost. */
static void connections_that_were_closed_meanwhile_are_made_again(void **state)
{
    (void)state;
    struct redis *redis = client_new();
    struct batch batch;
    batch_init(&batch);
    for (unsigned round = 0; round < 5; round++) {
        add_all(&batch, "SET", round);
        batch_run(redis, &batch, LONG_MS);
        assert_done(&batch);
        for (int node = 0; node < NODES; node++)
            cli(node, "CLIENT KILL TYPE normal SKIPME yes");
    }
    assert_int_equal(health_of(redis).failures, 0);
    batch_release(&batch);
    redis_free(redis);
}

/* The last of the tests: nothing is left. */
static void without_any_redis_calls_are_away_at_once_until_it_is_back(void **state)
{
    (void)state;
    struct redis *redis = client_new();
    struct batch batch;
    batch_init(&batch);
    add_all(&batch, "SET", 0);
    batch_run(redis, &batch, LONG_MS);
    assert_done(&batch);
    for (int node = 0; node < NODES; node++)
        control("kill %d", node);
    int64_t began = wait_now_ms();
    for (unsigned round = 0; round < 20; round++) {
        add_all(&batch, "SET", round);
        batch_run(redis, &batch, LONG_MS);
        assert_int_equal(batch_count(&batch, REDIS_DONE), 0);
        if (round)
            assert_int_equal(batch_count(&batch, REDIS_AWAY), KEYS);
    }
    assert_true(wait_now_ms() - began < LONG_MS / 2);
    assert_non_null(strstr(batch.calls[0].message, "127.0.0.1:"));
    assert_int_equal(health_of(redis).away, MASTERS);
    for (int node = 0; node < NODES; node++)
        control("start %d", node);
    int64_t end = wait_now_ms() + WAIT_SECONDS * 1000;
    do {
        assert_true(wait_now_ms() < end);
        add_all(&batch, "SET", 1);
        batch_run(redis, &batch, LONG_MS);
    } while (batch_count(&batch, REDIS_DONE) != KEYS);
    batch_release(&batch);
    redis_free(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_flushed_is_made_again),
        cmocka_unit_test(connections_that_were_closed_meanwhile_are_made_again),
        cmocka_unit_test(a_master_dies_and_its_replica_takes_over),
        cmocka_unit_test(a_node_that_stands_still_holds_up_nobody_for_long),
        cmocka_unit_test(without_any_redis_calls_are_away_at_once_until_it_is_back),
    };
    redis_script_init(&own);
    return RUN_TESTS(tests);
}

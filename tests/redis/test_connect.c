/* SPDX-License-Identifier: MIT */
/* Who is connected to and who is not: certificates, names, passwords; and a single Redis with TLS that stands still or is another process. */
#include "redis/support.h"

enum { LONG_MS = 20000, KEYS = 50, WAIT_SECONDS = 60 };

static const char password[] = "a secret"; /* as meson.build says */

/* What becomes of a call with these options; the message is in `said`. */
static enum redis_outcome try_with(struct redis_options options, char said[256], bool *unwelcome)
{
    const char *message = NULL;
    struct batch batch;
    struct redis *redis = redis_new(&options, &message);
    if (!redis)
        fail_msg("%s", message);
    batch_init(&batch);
    batch_add(&batch, "SET", "connect", "1", NULL);
    int64_t began = wait_now_ms();
    enum redis_outcome outcome = run_one(redis, &batch, LONG_MS);
    assert_true(wait_now_ms() - began < LONG_MS / 2);
    snprintf(said, 256, "%s", outcome == REDIS_DONE ? "" : batch.calls[0].message);
    assert_null(options.password ? strstr(said, options.password) : NULL);
    assert_null(options.password ? strstr(health_of(redis).problem, options.password) : NULL);
    *unwelcome = health_of(redis).unwelcome;
    batch_release(&batch);
    redis_free(redis);
    return outcome;
}

static struct redis_options right_options(char nodes[32], const char *host)
{
    snprintf(nodes, 32, "%s:%d", host, node_port(0));
    return (struct redis_options){.nodes = nodes,
                                  .password = password,
                                  .tls = true,
                                  .ca_file = getenv("TIDINGS_TEST_REDIS_CA")};
}

/* `unwelcome`: and waiting for it would be of no use. */
static void assert_away(struct redis_options options, bool unwelcome, const char *word)
{
    char said[256];
    bool is_unwelcome;
    enum redis_outcome outcome = try_with(options, said, &is_unwelcome);
    assert_int_equal(is_unwelcome, unwelcome);
    if (outcome != REDIS_AWAY || !strstr(said, word))
        fail_msg("outcome %d: \"%s\" does not say \"%s\"", outcome, said, word);
}

static void who_proves_to_be_the_host_is_talked_to(void **state)
{
    (void)state;
    char nodes[32], said[256];
    bool unwelcome;
    assert_int_equal(try_with(right_options(nodes, "127.0.0.1"), said, &unwelcome), REDIS_DONE);
    assert_int_equal(try_with(right_options(nodes, "localhost"), said, &unwelcome), REDIS_DONE);
}

static void who_does_not_is_not(void **state)
{
    (void)state;
    char nodes[32], other[256];
    struct redis_options options = right_options(nodes, "127.0.0.1");
    snprintf(other, sizeof other, "%s/other.pem", getenv("TIDINGS_TEST_REDIS_DIR"));
    options.ca_file = other;
    assert_away(options, true, "certificate");
    options.ca_file = NULL; /* whom the system trusts */
    assert_away(options, true, "certificate");
    assert_away(right_options(nodes, "127.0.0.2"), true, "IP address mismatch");
}

static void without_tls_nothing_is_said(void **state)
{
    (void)state;
    char nodes[32];
    struct redis_options options = right_options(nodes, "127.0.0.1");
    options.tls = false;
    assert_away(options, false, "127.0.0.1");
}

static void who_has_the_wrong_password_is_told_so(void **state)
{
    (void)state;
    char nodes[32];
    struct redis_options options = right_options(nodes, "127.0.0.1");
    options.password = NULL;
    assert_away(options, true, "wants a password");
    options.password = "not that secret";
    assert_away(options, true, "refuses the user or password");
    options = right_options(nodes, "127.0.0.1");
    options.user = "nobody";
    assert_away(options, true, "refuses the user or password");
}

static void a_host_that_is_none_is_away(void **state)
{
    (void)state;
    char nodes[32];
    struct redis_options options = right_options(nodes, "127.0.0.1");
    options.nodes = "there-is-none.invalid:1";
    assert_away(options, false, "there-is-none.invalid:1");
}

/* One that is away among those given does not matter. */
static void one_node_that_is_there_is_enough(void **state)
{
    (void)state;
    char nodes[32], all[128], said[256];
    bool unwelcome;
    struct redis_options options = right_options(nodes, "127.0.0.1");
    snprintf(all, sizeof all, "127.0.0.1:1,there-is-none.invalid:1,%s", nodes);
    options.nodes = all;
    assert_int_equal(try_with(options, said, &unwelcome), REDIS_DONE);
}

static void add_all(struct batch *batch, const char *command)
{
    char key[32];
    batch_clear(batch);
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "c:%u", i);
        batch_add(batch, command, key, *command == 'S' ? key : NULL, NULL);
    }
}

/* The answers of before come when the server goes on, and are nobody's. */
static void answers_that_come_too_late_are_not_taken_for_others(void **state)
{
    (void)state;
    struct redis *redis = client_new();
    struct batch batch;
    char key[32];
    batch_init(&batch);
    add_all(&batch, "SET");
    batch_run(redis, &batch, LONG_MS);
    assert_done(&batch);
    for (unsigned round = 0; round < 5; round++) {
        control("pause 0");
        add_all(&batch, "GET");
        batch_run(redis, &batch, 100);
        assert_int_equal(batch_count(&batch, REDIS_LOST), KEYS);
        batch_run(redis, &batch, LONG_MS);
        assert_int_equal(batch_count(&batch, REDIS_AWAY), KEYS);
        control("resume 0");
        int64_t end = wait_now_ms() + WAIT_SECONDS * 1000;
        do { /* the other way round */
            assert_true(wait_now_ms() < end);
            batch_clear(&batch);
            for (unsigned i = KEYS; i--;) {
                snprintf(key, sizeof key, "c:%u", i);
                batch_add(&batch, "GET", key, NULL);
            }
            batch_run(redis, &batch, LONG_MS);
            for (unsigned i = 0; i < KEYS; i++) {
                snprintf(key, sizeof key, "c:%u", KEYS - 1 - i);
                if (batch.calls[i].outcome == REDIS_DONE)
                    assert_text(&batch.calls[i], key);
            }
        } while (batch_count(&batch, REDIS_DONE) != KEYS);
    }
    batch_release(&batch);
    redis_free(redis);
}

static struct redis_script say = {
    .text = "#!lua\nreturn ARGV[1] .. (redis.call('GET', KEYS[1]) or '')"};

/* The run id that the server was told, as often as it takes to reach it. */
static void told_run_id_of(struct redis *redis, struct batch *batch, char id[64])
{
    int64_t end = wait_now_ms() + WAIT_SECONDS * 1000;
    batch_clear(batch);
    batch_script(batch, &say, 1, "no such key", RUN_ID, NULL);
    while (run_one(redis, batch, LONG_MS) != REDIS_DONE)
        assert_true(wait_now_ms() < end);
    snprintf(id, 64, "%s", batch->calls[0].reply->str);
}

static void another_process_has_another_run_id(void **state)
{
    (void)state;
    struct redis *redis = client_new();
    struct batch batch;
    char before[64], same[64], after[64];
    batch_init(&batch);
    told_run_id_of(redis, &batch, before);
    told_run_id_of(redis, &batch, same);
    assert_string_equal(before, same);
    control("kill 0");
    control("start 0");
    told_run_id_of(redis, &batch, after);
    assert_int_equal(strlen(after), strlen(before));
    assert_string_not_equal(before, after);
    batch_release(&batch);
    redis_free(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_proves_to_be_the_host_is_talked_to),
        cmocka_unit_test(who_does_not_is_not),
        cmocka_unit_test(without_tls_nothing_is_said),
        cmocka_unit_test(who_has_the_wrong_password_is_told_so),
        cmocka_unit_test(a_host_that_is_none_is_away),
        cmocka_unit_test(one_node_that_is_there_is_enough),
        cmocka_unit_test(answers_that_come_too_late_are_not_taken_for_others),
        cmocka_unit_test(another_process_has_another_run_id),
    };
    redis_script_init(&say);
    return RUN_TESTS(tests);
}

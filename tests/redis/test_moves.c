/* SPDX-License-Identifier: MIT */
/* Slots that move from node to node, by hand and by redis-cli, while calls go on: nothing is lost, done twice or answered wrongly. */
#include <pthread.h>
#include <stdatomic.h>

#include "redis/support.h"

enum { LONG_MS = 20000, KEYS = 500 };

static char ids[NODES + 1][64];

static void learn_id(int node)
{
    snprintf(ids[node], sizeof ids[node], "%s", cli(node, "CLUSTER MYID"));
}

static uint16_t slot_of(const char *key)
{
    return redis_slot((struct bytes){(const uint8_t *)key, strlen(key)});
}

/* Of the first masters, as the cluster was made. */
static int owner_of(uint16_t slot)
{
    char range[32];
    for (int node = 0; node < MASTERS; node++) {
        const char *line = strstr(cli(node, "CLUSTER NODES"), "myself");
        unsigned first, last;
        const char *at = line ? strstr(line, "connected ") : NULL;
        for (at = at ? at + 10 : NULL; at && *at && *at != '\n';
             at += strcspn(at, " \n"), at += *at == ' ') {
            snprintf(range, sizeof range, "%.20s", at);
            int n = sscanf(range, "%u-%u", &first, &last);
            if (n >= 1 && slot >= first && slot <= (n == 2 ? last : first))
                return node;
        }
    }
    fail_msg("nobody has slot %u", slot);
    return -1;
}

static void begin_move(uint16_t slot, int from, int to)
{
    assert_string_equal(cli(to, "CLUSTER SETSLOT %u IMPORTING %s", slot, ids[from]), "OK");
    assert_string_equal(cli(from, "CLUSTER SETSLOT %u MIGRATING %s", slot, ids[to]), "OK");
}

static void end_move(uint16_t slot, int to)
{
    assert_string_equal(cli(to, "CLUSTER SETSLOT %u NODE %s", slot, ids[to]), "OK");
    for (int node = 0; node < MASTERS; node++)
        if (node != to)
            assert_string_equal(cli(node, "CLUSTER SETSLOT %u NODE %s", slot, ids[to]), "OK");
}

static struct redis_script both = {
    .text =
        "#!lua\nreturn (redis.call('GET', KEYS[1]) or '-') .. (redis.call('GET', KEYS[2]) or '-')"};

static void run_both(struct redis *redis, struct batch *batch, int64_t for_ms)
{
    batch_clear(batch);
    batch_script(batch, &both, 2, "{moves}a", "{moves}b", NULL);
    run_one(redis, batch, for_ms);
}

/* TRYAGAIN, ASK and MOVED in turn; each is seen to have been answered. */
static void a_slot_that_moves_is_followed(void **state)
{
    (void)state;
    struct redis *redis = client_new();
    struct batch batch;
    uint16_t slot = slot_of("{moves}");
    int from = owner_of(slot), to = (from + 1) % MASTERS;
    batch_init(&batch);
    batch_add(&batch, "SET", "{moves}a", "A", NULL);
    run_one(redis, &batch, LONG_MS);
    run_both(redis, &batch, LONG_MS);
    assert_text(&batch.calls[0], "A-");

    begin_move(slot, from, to);
    run_both(redis, &batch,
             LONG_MS); /* a is here, b is not: nobody can say, and that is not waited for */
    assert_int_equal(batch.calls[0].outcome, REDIS_AWAY);
    assert_non_null(strstr(batch.calls[0].message, "TRYAGAIN"));
    assert_true(health_of(redis).tried_again > 1);

    cli(from, "MIGRATE 127.0.0.1 %d '{moves}a' 0 5000", node_port(to));
    batch_clear(&batch);
    batch_add(&batch, "SET", "{moves}b", "B", NULL);
    run_one(redis, &batch, LONG_MS);
    assert_text(&batch.calls[0], "OK");
    run_both(redis, &batch, LONG_MS); /* where the script is not known, either */
    assert_text(&batch.calls[0], "AB");
    assert_true(health_of(redis).asked >= 2);
    assert_int_equal(health_of(redis).moved, 0);

    end_move(slot, to);
    uint64_t maps = health_of(redis).maps;
    run_both(redis, &batch, LONG_MS);
    assert_text(&batch.calls[0], "AB");
    assert_true(health_of(redis).moved >= 1);
    run_both(redis, &batch, LONG_MS);
    assert_int_equal(health_of(redis).moved, 1); /* the second knows */
    while (health_of(redis).maps ==
           maps) /* and all of the map is asked for again, beside the calls */
        run_both(redis, &batch, LONG_MS);
    batch_release(&batch);
    redis_free(redis);
}

/* ---- Under load -------------------------------------------------------------------------------------- */

static _Atomic bool moved;

static void *reshard(void *command)
{
    char line[1024];
    const char *program = getenv("TIDINGS_REDIS_CLI");
    snprintf(line, sizeof line, "%s %s 2>&1", program ? program : "redis-cli",
             (const char *)command);
    FILE *pipe = popen(line, "re");
    char output[4096], wrong[sizeof output] = "";
    while (pipe && fgets(output, sizeof output, pipe))
        if (strstr(output, "ERR") || strstr(output, "***"))
            memcpy(wrong, output, sizeof wrong);
    int status = pipe ? pclose(pipe) : -1;
    if (status)
        print_message("%s: %d: %s\n", line, status, wrong);
    atomic_store(&moved, true);
    return status ? command : NULL;
}

/* Every key counts how often it was asked to: more would be twice, less would be lost. */
static void count_while(struct redis *redis, char *command)
{
    static unsigned rounds;
    struct batch batch;
    pthread_t thread;
    char key[32];
    unsigned before = rounds;
    atomic_store(&moved, false);
    assert_int_equal(pthread_create(&thread, NULL, reshard, command), 0);
    batch_init(&batch);
    while (!atomic_load(&moved) || rounds == before) {
        batch_clear(&batch);
        for (unsigned i = 0; i < KEYS; i++) {
            snprintf(key, sizeof key, "load:%u", i);
            batch_add(&batch, "INCR", key, NULL);
        }
        batch_run(redis, &batch, LONG_MS);
        assert_done(&batch);
        rounds++;
        for (unsigned i = 0; i < KEYS; i++)
            assert_int_equal(batch.calls[i].reply->integer, rounds);
    }
    void *failed;
    pthread_join(thread, &failed);
    assert_null(failed);
    print_message("%u rounds\n", rounds - before);
    batch_release(&batch);
}

static void slots_move_under_load_and_every_call_counts_once(void **state)
{
    (void)state;
    char command[512];
    struct redis *redis = client_new();
    snprintf(command, sizeof command,
             "--cluster reshard 127.0.0.1:%d --cluster-from %s --cluster-to %s --cluster-slots 800 "
             "--cluster-yes",
             node_port(0), ids[0], ids[1]);
    count_while(redis, command);
    struct redis_health health = health_of(redis);
    assert_true(health.moved > 0);
    assert_int_equal(health.lost, 0);
    print_message("moved %" PRIu64 " asked %" PRIu64 " maps %" PRIu64 "\n", health.moved,
                  health.asked, health.maps);
    redis_free(redis);
}

static void a_node_is_added_under_load_and_gets_slots(void **state)
{
    (void)state;
    char command[512];
    struct redis *redis = client_new();
    int added = control("add");
    learn_id(added);
    while (strstr(cli(0, "--cluster check 127.0.0.1:%d", node_port(0)), "ERR"))
        ;
    snprintf(command, sizeof command,
             "--cluster reshard 127.0.0.1:%d --cluster-from all --cluster-to %s --cluster-slots "
             "1000 --cluster-yes",
             node_port(0), ids[added]);
    count_while(redis, command);
    assert_int_equal(health_of(redis).lost, 0);
    struct batch batch;
    char key[32];
    batch_init(&batch);
    while (health_of(redis).masters != MASTERS + 1 || health_of(redis).connected != MASTERS + 1) {
        batch_clear(&batch);
        for (unsigned i = 0; i < KEYS; i++) {
            snprintf(key, sizeof key, "load:%u", i);
            batch_add(&batch, "GET", key, NULL);
        }
        batch_run(redis, &batch, LONG_MS);
        assert_done(&batch);
    }
    batch_release(&batch);
    redis_free(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_that_moves_is_followed),
        cmocka_unit_test(slots_move_under_load_and_every_call_counts_once),
        cmocka_unit_test(a_node_is_added_under_load_and_gets_slots),
    };
    redis_script_init(&both);
    for (int node = 0; node < NODES; node++)
        learn_id(node);
    return RUN_TESTS(tests);
}

/* SPDX-License-Identifier: MIT */
/*
 * The protocol of versions in Redis, step by step: writers and readers of one user, in any order that a seed gives, against a real
 * Redis, while writers die, replies are lost, keys are evicted, everything is emptied, and a master is replaced by one that lacks the last writes.
 * Whatever happens, nobody is told of an older version than the last that was acknowledged before the question.
 *
 * tests/protocols/versions.py goes through all orders of few; here are some of many, with the code that runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/wait.h"
#include "engine/cluster/versions.h"
#include "model/random.h"
#include "redis/redis.h"

enum { WRITERS = 3, READERS = 2, ROUNDS = 400, STEPS = 40, USER = 42, LIFE_MS = 60000, OLD = 4 };

enum pc { IDLE, MARKED, UNMARKED, COMMITTED, WAITING, LOOKING, LOOKED };

struct actor {
    enum pc pc;
    struct versions *versions;
    struct version version;
    uint64_t since; /* what had been acknowledged when a reader asked */
    uint64_t epoch;
};

static struct rng rng;
static struct redis *redis;
static struct actor writers[WRITERS], readers[READERS];
static uint64_t committed, acknowledged, epoch, told;
static char old_values[OLD][256]; /* of the key, as a replica may have it */
static size_t n_old;

static const char *run_raw(const char *const words[], unsigned n)
{
    static char text[256];
    struct bytes args[6];
    for (unsigned i = 0; i < n; i++)
        args[i] = (struct bytes){(const uint8_t *)words[i], strlen(words[i])};
    struct redis_call call = {.args = args, .n_args = n, .key = n > 1 ? 1 : 0};
    redis_run(redis, &call, 1, wait_now_ms() + 5000);
    assert_int_equal(call.outcome, REDIS_DONE);
    *text = '\0';
    if (call.reply->type == REDIS_REPLY_STRING)
        snprintf(text, sizeof text, "%s", call.reply->str);
    return text;
}

static const char *key(void)
{
    static char text[64];
    snprintf(text, sizeof text, "tidings:test:%llu:{%d}", (unsigned long long)epoch, USER);
    return text;
}

static const char *get_raw(void)
{
    const char *words[] = {"GET", key()};
    return run_raw(words, 2);
}

static void put_raw(const char *value)
{
    const char *set[] = {"SET", key(), value, "PX", "60000"}, *del[] = {"DEL", key()};
    if (*value)
        run_raw(set, 5);
    else
        run_raw(del, 2);
}

/* ---- What goes wrong ------------------------------------------------------------------------ */

static void remember_as_replica(void)
{
    snprintf(old_values[n_old++ % OLD], sizeof *old_values, "%s", get_raw());
}

/* A process with another run id has what some replica had: in it everything is of another run. */
static void fail_over(void)
{
    char value[256];
    snprintf(value, sizeof value, "%s",
             n_old ? old_values[rng_below(&rng, n_old < OLD ? n_old : OLD)] : "");
    if (*value && value[1] == ' ' && strlen(value) > 42)
        memset(value + 2, 'x', 40);
    put_raw(value);
}

/* All that was remembered is gone, and so is who waited for an answer to it. */
static void raise_epoch(void)
{
    epoch += 2;
    n_old = 0;
}

/* ---- Steps ---------------------------------------------------------------------------------- */

static void acknowledge(struct actor *writer)
{
    if (writer->version.version > acknowledged)
        acknowledged = writer->version.version;
    writer->pc = IDLE;
}

/* Whoever is not marked any more, since the epoch is another one, begins again, as a lane does that reads it under its lock. */
static void step_writer(struct actor *writer, bool faults)
{
    bool loses = faults && rng_below(&rng, 12) == 0;
    if (writer->pc == MARKED && writer->epoch != epoch)
        writer->pc = IDLE;
    switch (writer->pc) {
    case IDLE:
        writer->epoch = epoch;
        writer->version = (struct version){.user = USER};
        if (!loses || rng_below(&rng, 2))
            assert_true(versions_mark(writer->versions, epoch, &writer->version, 1, LIFE_MS));
        if (loses) /* it was not confirmed, whether or not it happened: nothing is committed */
            raise_epoch();
        else
            writer->pc = MARKED;
        break;
    case MARKED:
        writer->version.version = ++committed;
        writer->version.position = 1;
        writer->pc = COMMITTED;
        break;
    case COMMITTED:
        if (faults && rng_below(&rng, 12) == 0) { /* dies; its mark stands, nobody was told */
            writer->pc = IDLE;
            break;
        }
        if (!loses || rng_below(&rng, 2))
            assert_true(versions_tell(writer->versions, writer->epoch, &writer->version, 1));
        if (loses)
            raise_epoch();
        acknowledge(writer);
        break;
    default:
        fail();
    }
}

static void step_reader(struct actor *reader)
{
    switch (reader->pc) {
    case IDLE:
        reader->since = acknowledged;
        reader->epoch = epoch;
        reader->version = (struct version){.user = USER};
        versions_get(reader->versions, epoch, &reader->version, 1);
        if (reader->version.state == VERSION_KNOWN) {
            told++;
            assert_true(reader->version.version >= reader->since);
        } else if (reader->version.state == VERSION_WANTED) {
            reader->pc = LOOKING;
        }
        break;
    case LOOKING:
        reader->version.version = committed;
        reader->version.position = 1;
        reader->pc = LOOKED;
        break;
    case LOOKED:
        versions_fill(reader->versions, reader->epoch, &reader->version, 1);
        reader->pc = IDLE;
        break;
    default:
        fail();
    }
}

static void go_wrong(void)
{
    const char *flush[] = {"DEL", key()};
    switch (rng_below(&rng, 3)) {
    case 0:
        run_raw(flush, 2); /* emptied, or evicted */
        break;
    case 1:
        remember_as_replica();
        break;
    default:
        fail_over();
    }
}

static void begin_round(void)
{
    epoch += 2;
    n_old = 0;
    committed = acknowledged = 1;
    for (int i = 0; i < WRITERS; i++)
        writers[i].pc = IDLE;
    for (int i = 0; i < READERS; i++)
        readers[i].pc = IDLE;
}

/* Mostly one that has begun: two at once are seldom, and nothing is remembered of their user then. */
static uint64_t choose_writer(uint64_t who)
{
    for (uint64_t i = 0; i < WRITERS && rng_below(&rng, 8); i++)
        if (writers[i].pc != IDLE)
            return i;
    return who;
}

/* What a dead writer has committed and nobody acknowledged may or may not be told of. */
static void nobody_hears_of_what_was_before(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        bool faults = round % 4 != 0;
        begin_round();
        for (int step = 0; step < STEPS; step++) {
            uint64_t who = rng_below(&rng, WRITERS + READERS * 2 + 1);
            if (who < WRITERS)
                step_writer(&writers[choose_writer(who)], faults);
            else if (who < WRITERS + READERS * 2)
                step_reader(&readers[(who - WRITERS) / 2]);
            else if (faults)
                go_wrong();
        }
    }
    print_message("%llu were told\n", (unsigned long long)told);
    assert_true(told > ROUNDS); /* it is of some use */
}

/* One after the other: the writer's word is heard by everybody at once. */
static void what_was_told_is_known(void **state)
{
    struct version version = {.user = USER, .version = 7, .position = 3}, seen = {.user = USER};
    (void)state;
    begin_round();
    versions_get(readers[0].versions, epoch, &seen, 1);
    assert_int_equal(seen.state, VERSION_WANTED);
    assert_true(versions_mark(writers[0].versions, epoch, &version, 1, LIFE_MS));
    seen.version = 6;
    versions_fill(readers[0].versions, epoch, &seen, 1); /* too late */
    versions_get(readers[0].versions, epoch, &seen, 1);
    assert_int_equal(seen.state, VERSION_UNKNOWN);
    assert_true(versions_tell(writers[0].versions, epoch, &version, 1));
    versions_get(readers[1].versions, epoch, &seen, 1);
    assert_int_equal(seen.state, VERSION_KNOWN);
    assert_int_equal(seen.version, 7);
    assert_int_equal(seen.position, 3);
}

static void of_two_who_change_at_once_neither_is_believed(void **state)
{
    struct version first = {.user = USER, .version = 8, .position = 1};
    struct version second = {.user = USER, .version = 9, .position = 1}, seen = {.user = USER};
    (void)state;
    begin_round();
    assert_true(versions_mark(writers[0].versions, epoch, &first, 1, LIFE_MS));
    assert_true(versions_mark(writers[1].versions, epoch, &second, 1, LIFE_MS));
    assert_true(versions_tell(writers[1].versions, epoch, &second, 1));
    versions_get(readers[0].versions, epoch, &seen, 1);
    assert_int_equal(seen.state, VERSION_UNKNOWN);
    assert_true(versions_tell(writers[0].versions, epoch, &first, 1));
    versions_get(readers[0].versions, epoch, &seen, 1);
    assert_int_equal(seen.state, VERSION_UNKNOWN);
}

static void marks_and_rights_end_by_themselves(void **state)
{
    struct version version = {.user = USER, .version = 8}, seen = {.user = USER};
    (void)state;
    begin_round();
    assert_true(versions_mark(writers[0].versions, epoch, &version, 1, 50));
    for (int i = 0; i < 200 && seen.state != VERSION_WANTED; i++) {
        usleep(10000);
        versions_get(readers[0].versions, epoch, &seen, 1);
    }
    assert_int_equal(seen.state, VERSION_WANTED);
}

static void what_others_wrote_there_is_no_version(void **state)
{
    static const char *const values[] = {"C", "C ", "C x 7 1", "hello", "M", "S", "C  7"};
    struct version seen = {.user = USER};
    (void)state;
    begin_round();
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        put_raw(values[i]);
        versions_get(readers[0].versions, epoch, &seen, 1);
        assert_int_not_equal(seen.state, VERSION_KNOWN);
    }
}

static int begin(void **state)
{
    const char *message = NULL, *seed = getenv("SEED");
    struct redis_options options = {.nodes = getenv("TIDINGS_TEST_REDIS")};
    (void)state;
    assert_non_null(options.nodes);
    rng_seed(&rng, seed ? strtoull(seed, NULL, 10) : 1);
    redis = redis_new(&options, &message);
    assert_non_null(redis);
    for (int i = 0; i < WRITERS; i++)
        assert_non_null(writers[i].versions = versions_open(&options, "test", &message));
    for (int i = 0; i < READERS; i++)
        assert_non_null(readers[i].versions = versions_open(&options, "test", &message));
    epoch = 1;
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (int i = 0; i < WRITERS; i++)
        versions_close(writers[i].versions);
    for (int i = 0; i < READERS; i++)
        versions_close(readers[i].versions);
    redis_free(redis);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_told_is_known),
        cmocka_unit_test(of_two_who_change_at_once_neither_is_believed),
        cmocka_unit_test(marks_and_rights_end_by_themselves),
        cmocka_unit_test(what_others_wrote_there_is_no_version),
        cmocka_unit_test(nobody_hears_of_what_was_before),
    };
    return cmocka_run_group_tests(tests, begin, end);
}

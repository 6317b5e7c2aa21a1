/* SPDX-License-Identifier: MIT */
/*
 * Keys for others in Redis, step by step: some who fill and some who renew, in any order that a seed gives, against a real Redis, while each
 * may die between any two steps, pages are gone through twice and by two at once, and keys are evicted. When all events have been gone
 * through by somebody, no key says anything old, whatever those do who are still under way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/wait.h"
#include "engine/cluster/mirror.h"
#include "model/random.h"
#include "redis/redis.h"

enum { FILLERS = 3, RENEWERS = 2, ROUNDS = 300, STEPS = 60, LATER = 20, USER = 42, COPIES = 2 };

/* What the database has: a count and one member that are the position itself, so that it shows which state a key is of. */
static uint64_t committed;
/* How far the events were gone through. */
static uint64_t gone_through;

enum pc { IDLE, FOUND, CLAIMED, READ, CANCELED, LOOKED, READ_AGAIN, RENEWED };

struct actor {
    enum pc pc;
    struct mirror *mirror;
    uint64_t from, to; /* the page that is being gone through */
    struct mirror_copy copies[COPIES];
    struct mirror_member member;
};

static struct rng rng;
static struct redis *redis;
static struct actor fillers[FILLERS], renewers[RENEWERS];

/* ---- Redis -------------------------------------------------------------------------------------- */

static struct bytes text_of(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

static const struct redisReply *run(const char *const words[], unsigned n)
{
    static struct bytes args[6];
    static struct redis_call call;
    for (unsigned i = 0; i < n; i++)
        args[i] = text_of(words[i]);
    call = (struct redis_call){.args = args, .n_args = n, .key = 1};
    redis_run(redis, &call, 1, wait_now_ms() + 5000);
    assert_int_equal(call.outcome, REDIS_DONE);
    return call.reply;
}

static const char *const keys[] = {"ucnt:42", "uf:fans:42", "{ucnt:42}:fill", "{uf:fans:42}:fill"};

static void evict(const char *key)
{
    run((const char *[]){"DEL", key}, 2);
}

static void evict_all(void)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        evict(keys[i]);
}

/* Which state the key shows; 0: none. */
static uint64_t count_shown(void)
{
    const struct redisReply *reply = run((const char *[]){"GET", keys[0]}, 2);
    if (reply->type == REDIS_REPLY_NIL)
        return 0;
    assert_int_equal(reply->len, MIRROR_BYTES);
    const uint8_t *bytes = (const uint8_t *)reply->str;
    uint64_t count = (uint64_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
    return count;
}

static uint64_t member_shown(void)
{
    const struct redisReply *reply = run((const char *[]){"ZRANGE", keys[1], "0", "-1"}, 4);
    assert_true(reply->elements <= 1);
    return reply->elements ? strtoull(reply->element[0]->str, NULL, 10) : 0;
}

static void assert_nothing_is_old(void)
{
    uint64_t count = count_shown(), member = member_shown();
    if ((count && count != committed) || (member && member != committed))
        fail_msg("the count is of %llu, the list of %llu, the database at %llu",
                 (unsigned long long)count, (unsigned long long)member,
                 (unsigned long long)committed);
}

/* ---- Those who write ----------------------------------------------------------------------------- */

static void begin(struct actor *actor)
{
    actor->copies[0] = (struct mirror_copy){.kind = MIRROR_COUNTS, .user = USER};
    actor->copies[1] = (struct mirror_copy){.kind = MIRROR_FOLLOWERS, .user = USER};
}

static void read_database(struct actor *actor)
{
    actor->member = (struct mirror_member){committed, 1000};
    for (int i = 0; i < COPIES; i++) {
        actor->copies[i].position = committed;
        actor->copies[i].counts[0] = committed;
        actor->copies[i].members = &actor->member;
        actor->copies[i].n_members = 1;
    }
}

static void step_filler(struct actor *actor)
{
    switch (actor->pc) {
    case IDLE:
        begin(actor);
        mirror_find_missing(actor->mirror, actor->copies, COPIES);
        actor->pc = FOUND;
        break;
    case FOUND:
        mirror_claim(actor->mirror, actor->copies, COPIES);
        actor->pc = CLAIMED;
        break;
    case CLAIMED:
        read_database(actor);
        actor->pc = READ;
        break;
    default:
        mirror_store(actor->mirror, actor->copies, COPIES);
        actor->pc = IDLE;
    }
}

/* The last step moves on, if nobody else has meanwhile. */
static void step_renewer(struct actor *actor)
{
    switch (actor->pc) {
    case IDLE:
        begin(actor);
        actor->from = gone_through;
        actor->to = committed;
        actor->pc = FOUND;
        break;
    case FOUND:
        assert_true(mirror_cancel(actor->mirror, actor->copies, COPIES));
        actor->pc = CANCELED;
        break;
    case CANCELED:
        assert_true(mirror_look(actor->mirror, actor->copies, 1, actor->to));
        actor->pc = LOOKED;
        break;
    case LOOKED:
        read_database(actor);
        actor->pc = READ_AGAIN;
        break;
    case READ_AGAIN:
        assert_true(mirror_renew(actor->mirror, actor->copies, 1));
        actor->pc = RENEWED;
        break;
    default:
        assert_true(mirror_remove(actor->mirror, actor->copies + 1, 1));
        gone_through = gone_through == actor->from ? actor->to : gone_through;
        actor->pc = IDLE;
    }
}

static void step_somebody(void)
{
    uint64_t who = rng_below(&rng, FILLERS + RENEWERS);
    struct actor *actor = who < FILLERS ? &fillers[who] : &renewers[who - FILLERS];
    if (!rng_below(&rng, 12))
        actor->pc = IDLE; /* it dies, and another begins */
    else if (who < FILLERS)
        step_filler(actor);
    else
        step_renewer(actor);
}

static void step(void)
{
    switch (rng_below(&rng, 16)) {
    case 0:
    case 1:
        committed++;
        break;
    case 2:
        evict(keys[rng_below(&rng, sizeof keys / sizeof *keys)]);
        break;
    case 3:
        if (gone_through)
            gone_through -= rng_below(&rng, 3) ? 1 : gone_through; /* sent back */
        break;
    default:
        step_somebody();
    }
}

static void finish_events(void)
{
    struct actor *last = &renewers[rng_below(&rng, RENEWERS)];
    while (gone_through < committed)
        step_renewer(last);
}

static void nothing_is_old_when_all_was_gone_through(void **state)
{
    uint64_t shown = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        evict_all();
        committed = 1;
        gone_through = 0;
        for (int i = 0; i < STEPS; i++)
            step();
        finish_events();
        assert_nothing_is_old();
        for (int i = 0; i < LATER; i++) {
            step_somebody();
            assert_nothing_is_old();
        }
        shown += count_shown() && member_shown();
    }
    assert_true(shown > ROUNDS / 10); /* it is not for lack of keys */
}

/* ---- One by one --------------------------------------------------------------------------------- */

static void fill_alone(struct actor *actor)
{
    while (actor->pc != IDLE || !count_shown())
        step_filler(actor);
}

static void older_counts_are_refused(void **state)
{
    (void)state;
    struct actor *actor = &renewers[0];
    evict_all();
    committed = 5;
    fill_alone(&fillers[0]);
    begin(actor);
    actor->copies[0].wanted = true;
    for (uint64_t position = 3; position <= 7; position++) {
        committed = position;
        read_database(actor);
        assert_true(mirror_renew(actor->mirror, actor->copies, 1));
        assert_int_equal(count_shown(), position < 5 ? 5 : position);
    }
}

static void counts_that_are_gone_are_not_renewed(void **state)
{
    (void)state;
    struct actor *actor = &renewers[0];
    evict_all();
    begin(actor);
    actor->copies[0].wanted = true;
    read_database(actor);
    assert_true(mirror_renew(actor->mirror, actor->copies, 1));
    assert_int_equal(count_shown(), 0);
}

static void lives_are_between_one_and_six_hours(void **state)
{
    (void)state;
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < 40; i++) {
        evict_all();
        fill_alone(&fillers[0]);
        for (int k = 0; k < 2; k++) {
            int64_t left = run((const char *[]){"PTTL", keys[k]}, 2)->integer;
            least = left < least ? left : least;
            most = left > most ? left : most;
        }
    }
    assert_true(least > 3590 * 1000 && most <= 6 * 3600 * 1000);
    assert_true(most - least > 3600 * 1000);
}

/* Renewing leaves the time that is left: what is wrong all the same ends some day. */
static void renewing_makes_no_key_last_longer(void **state)
{
    (void)state;
    struct actor *actor = &renewers[0];
    evict_all();
    fill_alone(&fillers[0]);
    run((const char *[]){"PEXPIRE", keys[0], "60000"}, 3);
    committed++;
    begin(actor);
    actor->copies[0].wanted = true;
    read_database(actor);
    assert_true(mirror_renew(actor->mirror, actor->copies, 1));
    assert_int_equal(count_shown(), committed);
    assert_in_range(run((const char *[]){"PTTL", keys[0]}, 2)->integer, 1, 60000);
}

/* Somebody else's key of that name is no reason to stand still. */
static void what_is_something_else_is_removed(void **state)
{
    (void)state;
    struct actor *actor = &renewers[0];
    evict_all();
    run((const char *[]){"HSET", keys[0], "a", "b"}, 4);
    begin(actor);
    assert_true(mirror_look(actor->mirror, actor->copies, 1, 100));
    assert_int_equal(count_shown(), 0);
}

static void names_are_known(void **state)
{
    static const struct {
        const char *name;
        bool ours;
    } names[] = {{"ucnt:42", true},  {"uf:flws:1", true}, {"uf:fans:9007199254740991", true},
                 {"ucnt:", false},   {"ucnt:042", false}, {"ucnt:42:x", false},
                 {"ucnt:-1", false}, {"uf:42", false},    {"{ucnt:42}:fill", false}};
    enum mirror_kind kind;
    uint64_t user;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(mirror_parse(text_of(names[i].name), &kind, &user), names[i].ours);
    assert_false(mirror_parse((struct bytes){(const uint8_t *)"ucnt:42\0x", 9}, &kind, &user));
}

static struct mirror *open_mirror(const struct redis_options *options)
{
    const char *message = NULL;
    struct mirror *mirror = mirror_open(options, &message);
    if (!mirror)
        fail_msg("%s", message);
    return mirror;
}

static int begin_all(void **state)
{
    struct redis_options options = {.nodes = getenv("TIDINGS_TEST_REDIS")};
    const char *message;
    (void)state;
    rng_seed(&rng, getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1);
    redis = redis_new(&options, &message);
    for (int i = 0; i < FILLERS; i++)
        fillers[i].mirror = open_mirror(&options);
    for (int i = 0; i < RENEWERS; i++)
        renewers[i].mirror = open_mirror(&options);
    return 0;
}

static int end_all(void **state)
{
    (void)state;
    redis_free(redis);
    for (int i = 0; i < FILLERS; i++)
        mirror_close(fillers[i].mirror);
    for (int i = 0; i < RENEWERS; i++)
        mirror_close(renewers[i].mirror);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_old_when_all_was_gone_through),
        cmocka_unit_test(older_counts_are_refused),
        cmocka_unit_test(counts_that_are_gone_are_not_renewed),
        cmocka_unit_test(lives_are_between_one_and_six_hours),
        cmocka_unit_test(renewing_makes_no_key_last_longer),
        cmocka_unit_test(what_is_something_else_is_removed),
        cmocka_unit_test(names_are_known),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}

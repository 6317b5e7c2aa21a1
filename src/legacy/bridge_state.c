/* SPDX-License-Identifier: MIT */
/*
 * Who keeps the keys, and how far that has come, in the Redis that has them: when it is emptied, that is gone with them. Of the servers of one
 * log the writer alone comes here, and it takes a lease besides: a server of another history, set up for the same Redis by mistake, waits, and so
 * does the next writer until what the last one sent has had its time. A server that slept past both can do no harm to users that the next one
 * has gone on with: their companions say so.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "legacy/bridge_internal.h"

enum { LEASE_MS = 3000 };

/* Events may be gone after a day: event_days is one at least. */
#define AWAY_MS ((uint64_t)20 * 3600 * 1000)

/* KEYS: state, lease. ARGV: token, ms. */
static struct redis_script take_script = {.text =
                                              "local holder = redis.call('GET', KEYS[2])\n"
                                              "if holder and holder ~= ARGV[1] then return 0 end\n"
                                              "redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])\n"
                                              "return redis.call('GET', KEYS[1]) or ''\n"};

/* ARGV: token, ms, state. */
static struct redis_script save_script = {
    .text = "if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end\n"
            "redis.call('SET', KEYS[1], ARGV[3])\n"
            "redis.call('PEXPIRE', KEYS[2], ARGV[2])\n"
            "return 1\n"};

static struct redis_script let_go_script = {
    .text = "if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end\n"
            "return redis.call('DEL', KEYS[2])\n"};

void state_init(void)
{
    redis_script_init(&take_script);
    redis_script_init(&save_script);
    redis_script_init(&let_go_script);
}

/* ---- As text ---------------------------------------------------------------------------------- */

enum { STATE_MAX = 512, STATE_NUMBERS = 19, STATE_FORM = 3 };

static void list_numbers(struct bridge_state *state, uint64_t *numbers[STATE_NUMBERS])
{
    uint64_t *all[STATE_NUMBERS] = {
        &state->generation,
        &state->share,
        &state->schemes,
        &state->position,
        &state->fresh_at,
        &state->phase,
        &state->filled_to,
        &state->fan_event,
        &state->fan_stage,
        &state->fan.a,
        &state->fan.b,
        &state->passing,
        &state->processes,
        &state->turn,
        &state->row,
        &state->era,
        &state->last_event,
        &state->last_at,
        NULL,
    };
    memcpy(numbers, all, sizeof all);
}

static void print_state(struct bridge_state *state, char text[STATE_MAX])
{
    uint64_t *numbers[STATE_NUMBERS];
    list_numbers(state, numbers);
    int n = snprintf(text, STATE_MAX, "%d", STATE_FORM);
    for (size_t i = 0; numbers[i]; i++)
        n += snprintf(text + n, (size_t)(STATE_MAX - n), " %" PRIu64, *numbers[i]);
}

static bool parse_state(const char *text, struct bridge_state *state)
{
    uint64_t *numbers[STATE_NUMBERS];
    char *end;
    list_numbers(state, numbers);
    if (strtoull(text, &end, 10) != STATE_FORM)
        return false;
    for (size_t i = 0; numbers[i]; i++) {
        if (*end != ' ')
            return false;
        *numbers[i] = strtoull(end, &end, 10);
    }
    return !*end;
}

/* ---- Keeping it ------------------------------------------------------------------------------- */

uint64_t state_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static const struct redisReply *run_script(struct bridge *bridge, const struct redis_script *script,
                                           const char *state)
{
    struct bundle *bundle = &bridge->others;
    bundle_clear(bundle);
    bundle_script(bundle, script, 2);
    bundle_text(bundle, BRIDGE_STATE);
    bundle_text(bundle, BRIDGE_LEASE);
    bundle_text(bundle, bridge->token);
    bundle_u64(bundle, LEASE_MS);
    bundle_text(bundle, state);
    return old_run(bridge->old, bundle, OLD_NONE) ? bundle->calls[0].reply : NULL;
}

static bool keeps_reads(const struct bridge *bridge)
{
    struct tidings_settings settings;
    return !tidings_settings_of(bridge->options.tidings, &settings) && settings.read_events;
}

static uint64_t era_of(const struct bridge *bridge)
{
    struct tidings_replica replica;
    return tidings_replica_status(bridge->options.tidings, &replica) ? 0 : replica.era;
}

static bool find_newest(struct bridge *bridge, uint64_t *position)
{
    const struct tidings_answer *answer;
    struct tidings_op op = {.kind = TIDINGS_OP_EVENTS, .u.page = {1, {TIDINGS_ID_MAX, 0}}};
    enum tidings_err err = ask_engine_run(bridge->ask, &op, &answer);
    if (err)
        return fail_tidings(bridge, err);
    *position = answer->u.events.newest;
    return true;
}

/* Whether the last event that was gone through has happened: not so in a directory that was restored to a moment before it. */
static bool has_happened(struct bridge *bridge, const struct bridge_state *state, bool *happened)
{
    const struct tidings_answer *answer;
    struct tidings_op op = {.kind = TIDINGS_OP_EVENTS, .u.page = {1, {state->last_event - 1, 0}}};
    *happened = true;
    if (!state->last_event || state_now_ms() - state->last_at >= AWAY_MS)
        return true;
    enum tidings_err err = ask_engine_run(bridge->ask, &op, &answer);
    if (err)
        return fail_tidings(bridge, err);
    *happened = answer->u.events.n && answer->u.events.rows[0].event_id == state->last_event;
    return true;
}

/* What was read while nobody listened is known from events alone. */
static bool has_heard_all(const struct bridge *bridge, const struct bridge_state *state)
{
    return bridge->has_held || (!state->passing && keeps_reads(bridge));
}

static bool is_in_step(const struct bridge *bridge, const struct bridge_state *state,
                       uint64_t newest)
{
    return state->share == bridge->options.share && state->schemes == bridge->options.schemes &&
           state_now_ms() - state->fresh_at < AWAY_MS && state->position <= newest &&
           state->processes == bridge->old->processes && state->era == era_of(bridge) &&
           state->generation >= bridge->newer && has_heard_all(bridge, state);
}

bool state_take(struct bridge *bridge, bool *anew)
{
    struct bridge_state state = {0};
    uint64_t newest = 0;
    bool happened;
    if (!find_newest(bridge, &newest))
        return false;
    if (!*bridge->token) {
        uint64_t random[2];
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
            return false;
        snprintf(bridge->token, sizeof bridge->token, "%016" PRIx64 "%016" PRIx64, random[0],
                 random[1]);
    }
    /* Before the state is read: who is replaced behind that is noticed as usual. */
    const struct redisReply *reply =
        old_look(bridge->old) ? run_script(bridge, &take_script, "") : NULL;
    if (!reply)
        return fail_old(bridge);
    if (reply->type == REDIS_REPLY_INTEGER) {
        snprintf(bridge->trouble, sizeof bridge->trouble, "another server keeps its keys: waiting");
        return false;
    }
    bool known = reply->type == REDIS_REPLY_STRING && parse_state(reply->str, &state);
    if (!has_happened(bridge, &state, &happened))
        return false;
    *anew = !known || !happened || !is_in_step(bridge, &state, newest);
    state.turn++;
    bridge->n_fills = 0;
    bridge->state = state;
    bridge->horizon =
        newest; /* not the position: fills of the server before may claim more than that */
    bridge->holds = true;
    return *anew || state_save(bridge);
}

bool state_save(struct bridge *bridge)
{
    char text[STATE_MAX];
    print_state(&bridge->state, text);
    const struct redisReply *reply = run_script(bridge, &save_script, text);
    if (!reply)
        return fail_old(bridge);
    bridge->holds = reply_number(reply, 0) == 1;
    if (!bridge->holds)
        snprintf(
            bridge->trouble, sizeof bridge->trouble,
            "the old Redis: the lease is gone; it was emptied, or another server keeps its keys");
    return bridge->holds;
}

void state_let_go(struct bridge *bridge)
{
    if (bridge->holds && state_save(bridge))
        run_script(bridge, &let_go_script, "");
    bridge->holds = false;
}

/* Later than all that is known of. */
static uint64_t next_generation(const struct bridge *bridge)
{
    uint64_t last = bridge->state.generation, now = state_now_ms();
    last = last < bridge->newer ? bridge->newer : last;
    return now > last ? now : last + 1;
}

/* Everything that has happened is in what is filled from now on. */
bool state_begin(struct bridge *bridge)
{
    struct bridge_state state = {.generation = next_generation(bridge),
                                 .share = bridge->options.share,
                                 .schemes = bridge->options.schemes,
                                 .fresh_at = state_now_ms(),
                                 .phase = PHASE_WALK,
                                 .passing = !keeps_reads(bridge),
                                 .turn = bridge->state.turn,
                                 .row = bridge->row,
                                 .era = era_of(bridge)};
    if (!find_newest(bridge, &state.position))
        return false;
    if (!old_accept(bridge->old))
        return fail_old(bridge);
    state.processes = bridge->old->processes;
    bridge->state = state;
    bridge->horizon = state.position;
    bridge->event_at = 0;
    bridge->walk = (struct walk){0};
    memset(bridge->told_posts, 0, sizeof bridge->told_posts);
    return state_save(bridge);
}

/* SPDX-License-Identifier: MIT */
#include "legacy/old.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/wait.h"

enum { WAIT_MS = 5000, NUMBER_MAX = 24 };
#define TEXTS_MAX   ((size_t)256 << 20)
#define KEYS_A_STEP "1000"

struct old *old_open(const struct redis_options *options, const struct legacy_names *names,
                     const char **message)
{
    struct old *old = calloc(1, sizeof *old);
    *message = "memory is short";
    if (!old)
        return NULL;
    old->names = *names;
    old->redis = redis_new(options, message);
    if (old->redis)
        return old;
    free(old);
    return NULL;
}

void old_close(struct old *old)
{
    if (!old)
        return;
    redis_free(old->redis);
    free(old);
}

/* ---- Putting calls together ------------------------------------------------------------------ */

void bundle_init(struct bundle *bundle)
{
    *bundle = (struct bundle){0};
    arena_init(&bundle->texts, TEXTS_MAX);
}

void bundle_release(struct bundle *bundle)
{
    arena_release(&bundle->texts);
    free(bundle->args);
    free(bundle->calls);
    free(bundle->firsts);
    *bundle = (struct bundle){0};
}

void bundle_clear(struct bundle *bundle)
{
    arena_clear(&bundle->texts);
    bundle->n = bundle->n_args = 0;
    bundle->failed = false;
}

static bool make_room(void **array, size_t size, size_t room)
{
    void *more = realloc(*array, room * size);
    if (more)
        *array = more;
    return more;
}

static void begin(struct bundle *bundle, struct redis_call call)
{
    if (bundle->n == bundle->room) {
        size_t room = bundle->room ? 2 * bundle->room : 64;
        if (!make_room((void **)&bundle->calls, sizeof *bundle->calls, room) ||
            !make_room((void **)&bundle->firsts, sizeof *bundle->firsts, room)) {
            bundle->failed = true;
            return;
        }
        bundle->room = room;
    }
    bundle->firsts[bundle->n] = bundle->n_args;
    bundle->calls[bundle->n++] = call;
}

void bundle_bytes(struct bundle *bundle, const char *text, size_t n)
{
    if (bundle->n_args == bundle->args_room) {
        size_t room = bundle->args_room ? 2 * bundle->args_room : 512;
        if (!make_room((void **)&bundle->args, sizeof *bundle->args, room)) {
            bundle->failed = true;
            return;
        }
        bundle->args_room = room;
    }
    const char *copy = arena_text(&bundle->texts, text, n);
    bundle->failed |= !copy;
    bundle->args[bundle->n_args++] = (struct bytes){(const uint8_t *)copy, copy ? n : 0};
}

void bundle_text(struct bundle *bundle, const char *text)
{
    bundle_bytes(bundle, text, strlen(text));
}

void bundle_command(struct bundle *bundle, const char *command)
{
    begin(bundle, (struct redis_call){.key = 1});
    bundle_text(bundle, command);
}

void bundle_script(struct bundle *bundle, const struct redis_script *script, unsigned n_keys)
{
    begin(bundle, (struct redis_call){.script = script, .n_keys = n_keys});
}

void bundle_u64(struct bundle *bundle, uint64_t number)
{
    char text[NUMBER_MAX];
    bundle_bytes(bundle, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, number));
}

void bundle_i64(struct bundle *bundle, int64_t number)
{
    char text[NUMBER_MAX];
    bundle_bytes(bundle, text, (size_t)snprintf(text, sizeof text, "%" PRId64, number));
}

void bundle_key(struct bundle *bundle, const struct old *old, enum legacy_key key, uint64_t first,
                uint64_t second)
{
    char text[LEGACY_KEY_MAX];
    bundle_bytes(bundle, text, legacy_key(&old->names, key, first, second, text));
}

/* ---- Running them ---------------------------------------------------------------------------- */

static uint32_t digest(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash | 1;
}

static void note_run(struct old *old, uint16_t slot, const char *run_id)
{
    uint32_t run = digest(run_id);
    old->replaced |= old->runs[slot] && old->runs[slot] != run;
    old->runs[slot] = run;
}

static void note_trouble(struct old *old, const char *message)
{
    snprintf(old->trouble, sizeof old->trouble, "the old Redis: %s", message ? message : "failed");
}

/* Whose slots are whose is learnt with the first call: from then on it is known whether keys need a hash tag. */
static void run(struct old *old, struct redis_call *calls, size_t n)
{
    struct redis_health health;
    redis_run(old->redis, calls, n, wait_now_ms() + WAIT_MS);
    redis_health(old->redis, &health);
    if (health.known)
        old->names.tagged = !health.single;
}

static bool is_allowed(const struct redis_call *call, enum old_refusals refusals)
{
    return call->outcome == REDIS_REFUSED &&
           (refusals == OLD_ANY ||
            (refusals == OLD_KIND && !strncmp(call->message, "WRONGTYPE", 9)));
}

bool old_run(struct old *old, struct bundle *bundle, enum old_refusals refusals)
{
    bool fine = !bundle->failed;
    if (bundle->failed)
        note_trouble(old, "memory is short");
    for (size_t i = 0; fine && i < bundle->n; i++) {
        struct redis_call *call = &bundle->calls[i];
        size_t end = i + 1 < bundle->n ? bundle->firsts[i + 1] : bundle->n_args;
        call->args = bundle->args + bundle->firsts[i];
        call->n_args = (unsigned)(end - bundle->firsts[i]);
    }
    if (!fine || !bundle->n)
        return fine;
    run(old, bundle->calls, bundle->n);
    for (size_t i = 0; i < bundle->n; i++) {
        struct redis_call *call = &bundle->calls[i];
        if (call->outcome == REDIS_DONE)
            note_run(old, redis_slot(call->args[call->key]), call->run_id);
        else
            note_trouble(old, call->message);
        fine = fine && (call->outcome == REDIS_DONE || is_allowed(call, refusals));
    }
    return fine;
}

bool old_look(struct old *old)
{
    static const struct bytes args[] = {{(const uint8_t *)"PING", 4}};
    uint64_t processes = 14695981039346656037u;
    for (unsigned slot = 0; slot < REDIS_SLOTS; slot = redis_next_owner(old->redis, slot)) {
        struct redis_call call = {
            .args = args, .n_args = 1, .to_slot = true, .slot = (uint16_t)slot};
        run(old, &call, 1);
        if (call.outcome != REDIS_DONE) {
            note_trouble(old, call.message);
            return false;
        }
        note_run(old, (uint16_t)slot, call.run_id);
        processes = (processes ^ old->runs[slot]) * 1099511628211u;
    }
    old->processes = processes;
    return true;
}

/* Slots that nobody asks for remember who had them long ago: otherwise each would tell of the same failover when it is its turn. */
bool old_accept(struct old *old)
{
    memset(old->runs, 0, sizeof old->runs);
    bool fine = old_look(old);
    old->replaced = !fine;
    return fine;
}

bool old_is_unwelcome(const struct old *old)
{
    struct redis_health health;
    redis_health(old->redis, &health);
    return health.unwelcome;
}

int64_t reply_number(const struct redisReply *reply, int64_t otherwise)
{
    if (reply && reply->type == REDIS_REPLY_INTEGER)
        return reply->integer;
    if (!reply || reply->type != REDIS_REPLY_STRING)
        return otherwise;
    char *end;
    long long number = strtoll(reply->str, &end, 10);
    return *reply->str && !*end ? number : otherwise;
}

/* ---- All keys -------------------------------------------------------------------------------- */

static bool is_page(const struct redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           (size_t)reply->element[0]->len < sizeof((struct walk *)0)->cursor &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

static bool was_seen(const struct walk *walk, uint32_t run)
{
    for (unsigned i = 0; i < walk->n_seen; i++)
        if (walk->seen[i] == run)
            return true;
    return false;
}

static void set_cursor(struct walk *walk, const char *cursor)
{
    snprintf(walk->cursor, sizeof walk->cursor, "%s", cursor);
}

static void leave_node(struct old *old, struct walk *walk)
{
    if (walk->n_seen < WALK_NODES && !was_seen(walk, walk->run))
        walk->seen[walk->n_seen++] = walk->run;
    set_cursor(walk, "0");
    walk->slot = redis_next_owner(old->redis, walk->slot);
    walk->done = walk->slot >= REDIS_SLOTS;
}

static bool ask_page(struct old *old, const struct walk *walk, struct redis_call *call)
{
    const struct bytes args[] = {
        {(const uint8_t *)"SCAN", 4},
        {(const uint8_t *)walk->cursor, strlen(walk->cursor)},
        {(const uint8_t *)"COUNT", 5},
        {(const uint8_t *)KEYS_A_STEP, sizeof KEYS_A_STEP - 1},
    };
    *call = (struct redis_call){
        .args = args, .n_args = 4, .to_slot = true, .slot = (uint16_t)walk->slot};
    run(old, call, 1);
    bool fine = call->outcome == REDIS_DONE && is_page(call->reply);
    if (!fine)
        note_trouble(old, call->message);
    return fine;
}

bool old_walk(struct old *old, struct walk *walk,
              void (*tell)(void *ctx, const char *key, size_t n), void *ctx)
{
    struct redis_call call;
    if (!*walk->cursor)
        set_cursor(walk, "0");
    if (!ask_page(old, walk, &call))
        return false;
    bool begins = !strcmp(walk->cursor, "0");
    uint32_t run = digest(call.run_id);
    if (!begins && run != walk->run) {
        set_cursor(walk, "0"); /* a cursor is of whoever gave it */
        return true;
    }
    walk->run = run;
    if (begins && was_seen(walk, run)) {
        leave_node(old, walk);
        return true;
    }
    const struct redisReply *keys = call.reply->element[1];
    for (size_t i = 0; i < keys->elements; i++)
        if (keys->element[i]->type == REDIS_REPLY_STRING)
            tell(ctx, keys->element[i]->str, (size_t)keys->element[i]->len);
    set_cursor(walk, call.reply->element[0]->str);
    if (!strcmp(walk->cursor, "0"))
        leave_node(old, walk);
    return true;
}

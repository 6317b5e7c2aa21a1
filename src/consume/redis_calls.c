/* SPDX-License-Identifier: MIT */
#include "consume/redis_calls.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/wait.h"

enum {
    NUMBER_MAX = 24,
    BUILD_NAME_MAX = REDIS_NAME_MAX + 64,
    REFUSED_BATCH = 512,
    CALLS_A_KEY = 2 /* a list that is compared: its members, and how many */
};

/* What waits to be sent takes no more, and one more key never as much. */
#define CALLS_MEMORY_MAX  ((size_t)32 << 20)
#define CALLS_MEMORY_FULL ((size_t)8 << 20)

/* Positions are compared as numbers, which are exact below 2^53: strings would be, by the locale of the server. */
#define NOT_NEWER(key)                        \
    "local at = redis.call('GET', " key ")\n" \
    "if at and tonumber(at) > tonumber(ARGV[1]) then return 0 end\n"

static struct redis_script counts_script = {
    .text = "#!lua\n"
            "local v = redis.call('GET', KEYS[1])\n"
            "if v and #v == 36 and\n"
            "   struct.unpack('>I8', v, 29) > struct.unpack('>I8', ARGV[1], 29) then\n"
            "  return 0\n"
            "end\n"
            "redis.call('SET', KEYS[1], ARGV[1])\n"
            "return 1\n"};

static struct redis_script number_script = {
    .text = "#!lua\n" NOT_NEWER(
        "KEYS[2]") "if ARGV[2] == '0' then redis.call('DEL', KEYS[1])\n"
                   "else redis.call('SET', KEYS[1], ARGV[2]) end\n"
                   "redis.call('SET', KEYS[2], ARGV[1], 'PX', " REDIS_COMPANION_MS ")\n"
                   "return 1\n"};

/* A list that is not there has nothing that the change could be one of; and one that was cut off, and has room now, lacks what comes next. */
static struct redis_script change_script = {
    .text = "#!lua\n" NOT_NEWER(
        "KEYS[2]") "local before, max = redis.call('ZCARD', KEYS[1]), tonumber(ARGV[2])\n"
                   "if before == 0 then return 2 end\n"
                   "for i = 3, #ARGV, 2 do\n"
                   "  if ARGV[i] == '-' then redis.call('ZREM', KEYS[1], ARGV[i + 1])\n"
                   "  else redis.call('ZADD', KEYS[1], ARGV[i], ARGV[i + 1]) end\n"
                   "end\n"
                   "local n = redis.call('ZCARD', KEYS[1])\n"
                   "if max > 0 and before >= max and n < max then return 2 end\n"
                   "if max > 0 and n > max then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, n - max "
                   "- 1) end\n"
                   "redis.call('SET', KEYS[2], ARGV[1], 'PX', " REDIS_COMPANION_MS ")\n"
                   "return 1\n"};

static struct redis_script list_script = {
    .text = "#!lua\n" NOT_NEWER(
        "KEYS[2]") "redis.call('DEL', KEYS[1])\n"
                   "if #ARGV > 1 then redis.call('ZADD', KEYS[1], unpack(ARGV, 2)) end\n"
                   "redis.call('SET', KEYS[2], ARGV[1], 'PX', " REDIS_COMPANION_MS ")\n"
                   "return 1\n"};

/* One that nobody puts in place goes by itself. */
static struct redis_script part_script = {.text = "#!lua\n"
                                                  "redis.call('ZADD', KEYS[1], unpack(ARGV, 1))\n"
                                                  "redis.call('PEXPIRE', KEYS[1], 600000)\n"
                                                  "return 1\n"};

static struct redis_script built_script = {
    .text = "#!lua\n" NOT_NEWER(
        "KEYS[2]") "if redis.call('EXISTS', KEYS[3]) == 0 then return 2 end\n"
                   "redis.call('RENAME', KEYS[3], KEYS[1])\n"
                   "redis.call('PERSIST', KEYS[1])\n"
                   "redis.call('SET', KEYS[2], ARGV[1], 'PX', " REDIS_COMPANION_MS ")\n"
                   "return 1\n"};

/* What is of another type differs, too. A position that is put may be behind what is there. */
static struct redis_script check_counts_script = {
    .text = "#!lua\n"
            "local v = redis.pcall('GET', KEYS[1])\n"
            "if type(v) ~= 'string' or #v ~= 36 or\n"
            "   string.sub(v, 1, 28) ~= string.sub(ARGV[1], 1, 28) then\n"
            "  return 3\n"
            "end\n"
            "return 1\n"};

static struct redis_script check_number_script = {
    .text = "#!lua\n"
            "local v = redis.pcall('GET', KEYS[1])\n"
            "if v == false and ARGV[1] == '0' then return 1 end\n"
            "return v == ARGV[1] and 1 or 3\n"};

static struct redis_script check_size_script = {
    .text = "#!lua\n"
            "return redis.pcall('ZCARD', KEYS[1]) == tonumber(ARGV[1]) and 1 or 3\n"};

/* Some members of a list. */
static struct redis_script check_part_script = {
    .text = "#!lua\n"
            "if type(redis.pcall('ZCARD', KEYS[1])) ~= 'number' then return 3 end\n"
            "for i = 1, #ARGV, 2 do\n"
            "  local score = redis.call('ZSCORE', KEYS[1], ARGV[i + 1])\n"
            "  if not score or tonumber(score) ~= tonumber(ARGV[i]) then return 3 end\n"
            "end\n"
            "return 1\n"};

static void init_redis_scripts(void)
{
    redis_script_init(&counts_script);
    redis_script_init(&number_script);
    redis_script_init(&change_script);
    redis_script_init(&list_script);
    redis_script_init(&part_script);
    redis_script_init(&built_script);
    redis_script_init(&check_counts_script);
    redis_script_init(&check_number_script);
    redis_script_init(&check_size_script);
    redis_script_init(&check_part_script);
}

struct redis_calls *redis_calls_new(const struct redis_options *options, const char **message)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct redis_calls *calls = calloc(1, sizeof *calls);
    uint64_t random;
    *message = "out of memory";
    if (!calls)
        return NULL;
    pthread_once(&once, init_redis_scripts);
    arena_init(&calls->memory, CALLS_MEMORY_MAX);
    calls->redis = redis_new(options, message);
    if (!calls->redis || getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
        redis_calls_free(calls);
        return NULL;
    }
    snprintf(calls->token, sizeof calls->token, "%016" PRIx64, random);
    return calls;
}

void redis_calls_free(struct redis_calls *calls)
{
    if (!calls)
        return;
    redis_free(calls->redis);
    arena_release(&calls->memory);
    free(calls);
}

/* ---- Arguments -------------------------------------------------------------------------------- */

bool redis_calls_full(const struct redis_calls *calls)
{
    return calls->n + CALLS_A_KEY > REDIS_CALLS_MAX || calls->memory.total > CALLS_MEMORY_FULL;
}

static struct bytes call_text(struct redis_calls *calls, const char *text)
{
    size_t n = strlen(text);
    char *copy = arena_text(&calls->memory, text, n);
    calls->short_of_memory |= !copy;
    return (struct bytes){(const uint8_t *)copy, copy ? n : 0};
}

static struct bytes call_number(struct redis_calls *calls, uint64_t number)
{
    char text[NUMBER_MAX];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return call_text(calls, text);
}

static struct bytes call_key(struct redis_calls *calls, enum redis_kind kind, uint64_t id)
{
    char name[REDIS_NAME_MAX];
    redis_key_name(kind, id, name);
    return call_text(calls, name);
}

static struct bytes call_companion(struct redis_calls *calls, enum redis_kind kind, uint64_t id)
{
    char name[REDIS_NAME_MAX];
    redis_key_companion(kind, id, name);
    return call_text(calls, name);
}

/* In the slot of the list that it becomes. */
static struct bytes call_build(struct redis_calls *calls, enum redis_kind kind, uint64_t id)
{
    char name[REDIS_NAME_MAX], text[BUILD_NAME_MAX];
    redis_key_name(kind, id, name);
    snprintf(text, sizeof text, "{%s}:new:%s:%" PRIu64, name, calls->token, calls->n_builds);
    return call_text(calls, text);
}

/* Room for the arguments of the next call; NULL if memory is short. */
static struct bytes *call_begin(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                                struct redis_script *script, unsigned n_keys, size_t n_args)
{
    struct bytes *args = arena_array(&calls->memory, n_args, sizeof *args);
    calls->short_of_memory |= !args || calls->n == REDIS_CALLS_MAX;
    if (calls->short_of_memory)
        return NULL;
    calls->about[calls->n] = (struct redis_about){kind, id};
    calls->calls[calls->n++] = (struct redis_call){
        .script = script, .args = args, .n_args = (unsigned)n_args, .n_keys = n_keys};
    return args;
}

static void call_members(struct redis_calls *calls, struct bytes *args,
                         const struct redis_member *members, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        args[2 * i] = members[i].is_removed ? call_text(calls, "-")
                                            : call_number(calls, (uint64_t)members[i].at_ms);
        args[2 * i + 1] = call_number(calls, members[i].id);
    }
}

/* ---- Comparing -------------------------------------------------------------------------------- */

static void call_check_one(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                           struct redis_script *script, uint64_t number)
{
    struct bytes *args = call_begin(calls, kind, id, script, 1, 2);
    if (!args)
        return;
    args[0] = call_key(calls, kind, id);
    args[1] = call_number(calls, number);
}

static void call_check_part(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                            const struct redis_member *members, size_t n)
{
    struct bytes *args = n ? call_begin(calls, kind, id, &check_part_script, 1, 1 + 2 * n) : NULL;
    if (!args)
        return;
    args[0] = call_key(calls, kind, id);
    call_members(calls, args + 1, members, n);
}

/* ---- Putting ---------------------------------------------------------------------------------- */

void redis_calls_put_counts(struct redis_calls *calls, uint64_t user,
                            const struct tidings_counters *counters, uint64_t position)
{
    struct redis_script *script = calls->compares ? &check_counts_script : &counts_script;
    struct bytes *args = call_begin(calls, REDIS_KIND_COUNTS, user, script, 1, 2);
    uint8_t *value = arena_alloc(&calls->memory, REDIS_COUNTS_BYTES);
    calls->short_of_memory |= !value;
    if (!args || !value)
        return;
    redis_counts_encode(counters, position, value);
    args[0] = call_key(calls, REDIS_KIND_COUNTS, user);
    args[1] = (struct bytes){value, REDIS_COUNTS_BYTES};
}

void redis_calls_put_number(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                            uint64_t number, uint64_t position)
{
    if (calls->compares) {
        call_check_one(calls, kind, id, &check_number_script, number);
        return;
    }
    struct bytes *args = call_begin(calls, kind, id, &number_script, 2, 4);
    if (!args)
        return;
    args[0] = call_key(calls, kind, id);
    args[1] = call_companion(calls, kind, id);
    args[2] = call_number(calls, position);
    args[3] = call_number(calls, number);
}

void redis_calls_put_bucket(struct redis_calls *calls, uint64_t user, int64_t left_ms)
{
    struct bytes *args = call_begin(calls, REDIS_KIND_BUCKET, user, NULL, 0, 5);
    if (!args)
        return;
    calls->calls[calls->n - 1].key = 1;
    args[0] = call_text(calls, "SET");
    args[1] = call_key(calls, REDIS_KIND_BUCKET, user);
    args[2] = call_text(calls, "0");
    args[3] = call_text(calls, "PX");
    args[4] = call_number(calls, (uint64_t)left_ms);
}

void redis_calls_put_change(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                            const struct redis_member *members, size_t n, uint64_t position)
{
    struct bytes *args = call_begin(calls, kind, id, &change_script, 2, 4 + 2 * n);
    if (!args)
        return;
    args[0] = call_key(calls, kind, id);
    args[1] = call_companion(calls, kind, id);
    args[2] = call_number(calls, position);
    args[3] = call_number(calls, redis_kind_max(kind));
    call_members(calls, args + 4, members, n);
}

void redis_calls_put_list(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                          const struct redis_member *members, size_t n, uint64_t position)
{
    if (calls->compares) {
        call_check_one(calls, kind, id, &check_size_script, n);
        call_check_part(calls, kind, id, members, n);
        return;
    }
    struct bytes *args = call_begin(calls, kind, id, &list_script, 2, 3 + 2 * n);
    if (!args)
        return;
    args[0] = call_key(calls, kind, id);
    args[1] = call_companion(calls, kind, id);
    args[2] = call_number(calls, position);
    call_members(calls, args + 3, members, n);
}

void redis_calls_begin_build(struct redis_calls *calls)
{
    calls->n_builds++;
    calls->n_built = 0;
}

void redis_calls_put_part(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                          const struct redis_member *members, size_t n)
{
    calls->n_built += n;
    if (calls->compares) {
        call_check_part(calls, kind, id, members, n);
        return;
    }
    struct bytes *args = call_begin(calls, kind, id, &part_script, 1, 1 + 2 * n);
    if (!args)
        return;
    args[0] = call_build(calls, kind, id);
    call_members(calls, args + 1, members, n);
}

void redis_calls_put_built(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                           uint64_t position)
{
    if (calls->compares) {
        call_check_one(calls, kind, id, &check_size_script, calls->n_built);
        return;
    }
    struct bytes *args = call_begin(calls, kind, id, &built_script, 3, 4);
    if (!args)
        return;
    args[0] = call_key(calls, kind, id);
    args[1] = call_companion(calls, kind, id);
    args[2] = call_build(calls, kind, id);
    args[3] = call_number(calls, position);
}

void redis_calls_put_remove(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                            struct bytes name)
{
    struct bytes *args = call_begin(calls, kind, id, NULL, 0, 2);
    char *copy = arena_text(&calls->memory, name.p, name.n);
    calls->short_of_memory |= !copy;
    if (!args || !copy)
        return;
    calls->calls[calls->n - 1].key = 1;
    args[0] = call_text(calls, "UNLINK");
    args[1] = (struct bytes){(const uint8_t *)copy, name.n};
}

/* ---- Running ---------------------------------------------------------------------------------- */

static void note_call(struct redis_calls *calls, size_t i, bool *all)
{
    const struct redis_call *call = &calls->calls[i];
    if (call->outcome == REDIS_DONE) {
        bool number = call->reply->type == REDIS_REPLY_INTEGER;
        if (number && call->reply->integer == 2)
            calls->missing[calls->n_missing++] = calls->about[i];
        if (number && call->reply->integer == 3)
            calls->different[calls->n_different++] = calls->about[i];
        return;
    }
    snprintf(calls->trouble, sizeof calls->trouble, "Redis: %s", call->message);
    if (call->outcome == REDIS_REFUSED)
        calls->refused[calls->n_refused++] = calls->about[i];
    else
        *all = false;
}

static bool remove_some_refused(struct redis_calls *calls, size_t from, size_t n)
{
    calls->n = 0;
    arena_clear(&calls->memory);
    for (size_t i = from; i < from + n; i++) {
        struct redis_about about = calls->refused[i];
        struct bytes *args = call_begin(calls, about.kind, about.id, NULL, 0, 2);
        if (!args)
            return false;
        calls->calls[calls->n - 1].key = 1;
        args[0] = call_text(calls, "UNLINK");
        args[1] = call_key(calls, about.kind, about.id);
    }
    bool all = !calls->short_of_memory;
    if (all)
        redis_run(calls->redis, calls->calls, calls->n, wait_now_ms() + REDIS_CALLS_WAIT_MS);
    for (size_t i = 0; all && i < calls->n; i++)
        all = calls->calls[i].outcome == REDIS_DONE;
    return all;
}

/* It is something else, or there is no room for it. */
static bool remove_refused_keys(struct redis_calls *calls)
{
    bool all = true;
    for (size_t i = 0; all && i < calls->n_refused; i += REFUSED_BATCH) {
        size_t left = calls->n_refused - i;
        all = remove_some_refused(calls, i, left < REFUSED_BATCH ? left : REFUSED_BATCH);
    }
    return all;
}

bool redis_calls_run(struct redis_calls *calls)
{
    bool all = !calls->short_of_memory;
    calls->n_missing = calls->n_refused = calls->n_different = 0;
    *calls->trouble = '\0';
    if (!all)
        snprintf(calls->trouble, sizeof calls->trouble, "memory is short");
    else if (calls->n)
        redis_run(calls->redis, calls->calls, calls->n, wait_now_ms() + REDIS_CALLS_WAIT_MS);
    for (size_t i = 0; !calls->short_of_memory && i < calls->n; i++)
        note_call(calls, i, &all);
    if (!calls->compares)
        all &= remove_refused_keys(calls);
    calls->n = 0;
    calls->short_of_memory = false;
    arena_clear(&calls->memory);
    return all;
}

/* SPDX-License-Identifier: MIT */
#include "engine/cluster/mirror.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/arena.h"
#include "base/wait.h"
#include "engine/cluster/memory.h"
#include "redis/redis.h"

/* Keys last between these. Drawn, so that those that were filled together do not end together. */
enum { LIFE_LEAST_MS = 3600 * 1000, LIFE_MOST_MS = 6 * 3600 * 1000 };

/* How long somebody may take to fill. One that was taken for nothing keeps others from trying for so long. */
enum { RIGHT_MS = 10000 };

enum { ARGS_MAX = 6, NUMBER_MAX = 24, TOKEN_MAX = 40, TROUBLE_MAX = 256 };
#define LISTS_MEMORY_MAX ((size_t)16 << 20)

static const char *const names[MIRROR_KINDS] = {
    [MIRROR_COUNTS] = "ucnt:",
    [MIRROR_FOLLOWING] = "uf:flws:",
    [MIRROR_FOLLOWERS] = "uf:fans:",
};

static struct redis_script claim_script = {
    .text = "#!lua\n"
            "if redis.call('SET', KEYS[1], ARGV[2]..' '..ARGV[1], 'NX', 'PX', ARGV[3]) then\n"
            "  return 1\n"
            "end\n"
            "return 0\n"};

/* The right is used up. What is there by now is kept up by whoever renews. */
#define TAKE_RIGHT                                                               \
    "#!lua\n"                                                                    \
    "if redis.call('GET', KEYS[1]) ~= ARGV[2]..' '..ARGV[1] then return 0 end\n" \
    "redis.call('DEL', KEYS[1])\n"                                               \
    "if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end\n"

static struct redis_script store_script = {.text = TAKE_RIGHT
                                           "redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[3])\n"
                                           "return 1\n"};

static struct redis_script store_list_script = {.text = TAKE_RIGHT
                                                "redis.call('ZADD', KEYS[2], unpack(ARGV, 4))\n"
                                                "redis.call('PEXPIRE', KEYS[2], ARGV[3])\n"
                                                "return 1\n"};

/* Positions are compared as numbers: strings would be, by the locale of the server. */
static struct redis_script renew_script = {
    .text = "#!lua\n"
            "local v = redis.call('GET', KEYS[1])\n"
            "if not v then return 0 end\n"
            "if #v == 36 and struct.unpack('>I8', v, 29) > struct.unpack('>I8', ARGV[1], 29) then\n"
            "  return 0\n"
            "end\n"
            "redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL')\n"
            "return 1\n"};

static void init_scripts(void)
{
    redis_script_init(&claim_script);
    redis_script_init(&store_script);
    redis_script_init(&store_list_script);
    redis_script_init(&renew_script);
}

struct mirror {
    struct redis *redis;
    char token[TOKEN_MAX]; /* another one for each claim */
    uint64_t process, n_tokens;
    char trouble[TROUBLE_MAX];
    bool replaced;
    uint32_t runs
        [REDIS_SLOTS]; /* a digest of the run id of the process that had the slot last; 0: not known */
    struct arena lists;
    size_t n; /* calls that are being put together, and what each is about */
    size_t about[MIRROR_MAX];
    struct redis_call calls[MIRROR_MAX];
    struct bytes args[MIRROR_MAX][ARGS_MAX];
    char keys[MIRROR_MAX][MIRROR_NAME_MAX], rights[MIRROR_MAX][MIRROR_NAME_MAX];
    uint8_t values[MIRROR_MAX][MIRROR_BYTES];
    char numbers[MIRROR_MAX][NUMBER_MAX];
};

struct mirror *mirror_open(const struct redis_options *options, const char **message)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct mirror *mirror = calloc(1, sizeof *mirror);
    *message = "memory is short";
    if (!mirror)
        return NULL;
    pthread_once(&once, init_scripts);
    arena_init(&mirror->lists, LISTS_MEMORY_MAX);
    mirror->redis = redis_new(options, message);
    if (mirror->redis &&
        getrandom(&mirror->process, sizeof mirror->process, 0) == (ssize_t)sizeof mirror->process)
        return mirror;
    mirror_close(mirror);
    return NULL;
}

void mirror_close(struct mirror *mirror)
{
    if (!mirror)
        return;
    redis_free(mirror->redis);
    arena_release(&mirror->lists);
    free(mirror);
}

struct redis *mirror_redis(struct mirror *mirror)
{
    return mirror->redis;
}

const char *mirror_trouble(const struct mirror *mirror)
{
    return mirror->trouble;
}

bool mirror_was_replaced(struct mirror *mirror)
{
    bool replaced = mirror->replaced;
    mirror->replaced = false;
    return replaced;
}

/* ---- Names ------------------------------------------------------------------------------------ */

void mirror_name(enum mirror_kind kind, uint64_t user, char name[MIRROR_NAME_MAX])
{
    snprintf(name, MIRROR_NAME_MAX, "%s%" PRIu64, names[kind], user);
}

/* Numbers as we write them, and no others. */
bool mirror_parse(struct bytes name, enum mirror_kind *kind, uint64_t *user)
{
    char own[MIRROR_NAME_MAX], text[MIRROR_NAME_MAX];
    if (name.n >= sizeof text)
        return false;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    for (unsigned i = 0; i < MIRROR_KINDS; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(text, names[i], n) != 0)
            continue;
        *kind = (enum mirror_kind)i;
        *user = strtoull(text + n, NULL, 10);
        mirror_name(*kind, *user, own);
        return strlen(own) == name.n && !memcmp(own, name.p, name.n);
    }
    return false;
}

static struct bytes text_of(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

static struct bytes key_of(struct mirror *mirror, const struct mirror_copy *copy)
{
    mirror_name(copy->kind, copy->user, mirror->keys[mirror->n]);
    return text_of(mirror->keys[mirror->n]);
}

/* In the same slot as the key. */
static struct bytes right_of(struct mirror *mirror, const struct mirror_copy *copy)
{
    snprintf(mirror->rights[mirror->n], MIRROR_NAME_MAX, "{%s%" PRIu64 "}:fill", names[copy->kind],
             copy->user);
    return text_of(mirror->rights[mirror->n]);
}

static struct bytes number_of(struct mirror *mirror, int64_t number)
{
    snprintf(mirror->numbers[mirror->n], NUMBER_MAX, "%" PRId64, number);
    return text_of(mirror->numbers[mirror->n]);
}

static struct bytes token_of(const struct mirror *mirror)
{
    return text_of(mirror->token);
}

static int64_t draw_life_ms(void)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        random = (uint32_t)wait_now_us();
    return LIFE_LEAST_MS + random % (LIFE_MOST_MS - LIFE_LEAST_MS);
}

/* ---- Calls ------------------------------------------------------------------------------------ */

/* The arguments of the next call, which is about the i-th copy. */
static struct bytes *begin_call(struct mirror *mirror, size_t i, struct redis_call call)
{
    mirror->about[mirror->n] = i;
    mirror->calls[mirror->n] = call;
    mirror->calls[mirror->n].args = mirror->args[mirror->n];
    return mirror->args[mirror->n];
}

static void put_command(struct mirror *mirror, size_t i, const char *word, struct bytes key)
{
    struct bytes *args = begin_call(mirror, i, (struct redis_call){.n_args = 2, .key = 1});
    args[0] = text_of(word);
    args[1] = key;
    mirror->n++;
}

static uint32_t digest_of(const char *run_id)
{
    uint32_t digest = 2166136261u;
    for (; *run_id; run_id++)
        digest = (digest ^ (uint8_t)*run_id) * 16777619u;
    return digest ? digest : 1;
}

static void note_process(struct mirror *mirror, const struct redis_call *call)
{
    uint32_t *run = &mirror->runs[redis_slot(call->args[call->key])];
    uint32_t digest = digest_of(call->run_id);
    mirror->replaced |= *run && *run != digest;
    *run = digest;
}

/* Runs what was put together. False if any of it may not have been done, whatever the server says of others. */
static bool run(struct mirror *mirror)
{
    bool all = true;
    redis_run(mirror->redis, mirror->calls, mirror->n, wait_now_ms() + MEMORY_WAIT_MS);
    for (size_t i = 0; i < mirror->n; i++) {
        const struct redis_call *call = &mirror->calls[i];
        if (call->outcome == REDIS_DONE) {
            note_process(mirror, call);
            continue;
        }
        snprintf(mirror->trouble, sizeof mirror->trouble, "Redis: %s", call->message);
        all &= call->outcome == REDIS_REFUSED;
    }
    return all;
}

static bool is_one(const struct redis_call *call)
{
    return call->outcome == REDIS_DONE && call->reply->type == REDIS_REPLY_INTEGER &&
           call->reply->integer == 1;
}

/* A key that Redis refuses to let us use, since it is something else or there is no room: better gone than old. */
static bool remove_refused(struct mirror *mirror, const struct mirror_copy *all)
{
    size_t refused[MIRROR_MAX], n = 0;
    for (size_t i = 0; i < mirror->n; i++)
        if (mirror->calls[i].outcome == REDIS_REFUSED)
            refused[n++] = mirror->about[i];
    mirror->n = 0;
    for (size_t i = 0; i < n; i++)
        put_command(mirror, refused[i], "UNLINK", key_of(mirror, &all[refused[i]]));
    if (!n)
        return true;
    bool fine = run(mirror);
    for (size_t i = 0; i < n; i++)
        fine &= mirror->calls[i].outcome == REDIS_DONE;
    return fine;
}

/* ---- Renewing ---------------------------------------------------------------------------------- */

bool mirror_cancel(struct mirror *mirror, const struct mirror_copy *all, size_t n)
{
    mirror->n = 0;
    *mirror->trouble = '\0';
    for (size_t i = 0; i < n; i++)
        put_command(mirror, i, "DEL", right_of(mirror, &all[i]));
    bool fine = run(mirror);
    for (size_t i = 0; i < n; i++)
        fine &= mirror->calls[i].outcome == REDIS_DONE;
    return fine;
}

static uint64_t position_in(const struct redisReply *reply)
{
    struct decoder from = decoder_of(reply->str, (size_t)reply->len);
    read_bytes(&from, MIRROR_BYTES - 8);
    uint64_t position = read_u64(&from);
    return from.bad ? 0 : position;
}

bool mirror_look(struct mirror *mirror, struct mirror_copy *all, size_t n, uint64_t position)
{
    mirror->n = 0;
    for (size_t i = 0; i < n; i++)
        put_command(mirror, i, "GET", key_of(mirror, &all[i]));
    if (!run(mirror))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct redis_call *call = &mirror->calls[i];
        all[i].wanted = call->outcome == REDIS_DONE && call->reply->type == REDIS_REPLY_STRING &&
                        position_in(call->reply) < position;
    }
    return remove_refused(mirror, all);
}

/* What does not fit into 32 bits is the most that does. */
static struct bytes value_of(struct mirror *mirror, const struct mirror_copy *copy)
{
    uint8_t *value = mirror->values[mirror->n];
    for (size_t i = 0; i < MIRROR_NUMBERS; i++)
        put_u32(value + 4 * i,
                copy->counts[i] < UINT32_MAX ? (uint32_t)copy->counts[i] : UINT32_MAX);
    put_u64(value + (size_t)4 * MIRROR_NUMBERS, copy->position);
    return (struct bytes){value, MIRROR_BYTES};
}

bool mirror_renew(struct mirror *mirror, const struct mirror_copy *all, size_t n)
{
    mirror->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (!all[i].wanted)
            continue;
        struct bytes *args = begin_call(
            mirror, i, (struct redis_call){.script = &renew_script, .n_args = 2, .n_keys = 1});
        args[0] = key_of(mirror, &all[i]);
        args[1] = value_of(mirror, &all[i]);
        mirror->n++;
    }
    return !mirror->n || (run(mirror) && remove_refused(mirror, all));
}

bool mirror_remove(struct mirror *mirror, struct mirror_copy *all, size_t n)
{
    mirror->n = 0;
    for (size_t i = 0; i < n; i++)
        put_command(mirror, i, "UNLINK", key_of(mirror, &all[i]));
    bool fine = run(mirror);
    for (size_t i = 0; i < n; i++) {
        all[i].wanted = is_one(&mirror->calls[i]);
        fine &= mirror->calls[i].outcome == REDIS_DONE;
    }
    return fine;
}

/* ---- Filling ----------------------------------------------------------------------------------- */

void mirror_find_missing(struct mirror *mirror, struct mirror_copy *all, size_t n)
{
    mirror->n = 0;
    for (size_t i = 0; i < n; i++)
        put_command(mirror, i, "EXISTS", key_of(mirror, &all[i]));
    run(mirror);
    for (size_t i = 0; i < n; i++) {
        const struct redis_call *call = &mirror->calls[i];
        all[i].wanted = call->outcome == REDIS_DONE && !is_one(call);
    }
}

void mirror_claim(struct mirror *mirror, struct mirror_copy *all, size_t n)
{
    mirror->n = 0;
    snprintf(mirror->token, sizeof mirror->token, "%016" PRIx64 "%016" PRIx64, mirror->process,
             ++mirror->n_tokens);
    for (size_t i = 0; i < n; i++) {
        if (!all[i].wanted)
            continue;
        struct bytes *args = begin_call(
            mirror, i, (struct redis_call){.script = &claim_script, .n_args = 4, .n_keys = 1});
        args[0] = right_of(mirror, &all[i]);
        args[1] = token_of(mirror);
        args[2] = redis_run_id;
        args[3] = number_of(mirror, RIGHT_MS);
        mirror->n++;
    }
    if (mirror->n)
        run(mirror);
    for (size_t i = 0; i < mirror->n; i++)
        all[mirror->about[i]].wanted = is_one(&mirror->calls[i]);
}

/* Times and users behind the first arguments; false if memory is short. */
static bool put_members(struct mirror *mirror, const struct mirror_copy *copy,
                        struct redis_call *call)
{
    size_t n = copy->n_members;
    struct bytes *args = arena_array(&mirror->lists, call->n_args + 2 * n, sizeof *args);
    char *texts = arena_array(&mirror->lists, 2 * n, NUMBER_MAX);
    if (!args || !texts)
        return false;
    memcpy(args, call->args, call->n_args * sizeof *args);
    call->args = args;
    args += call->n_args;
    call->n_args += (unsigned)(2 * n);
    for (size_t i = 0; i < n; i++) {
        char *text = texts + 2 * i * NUMBER_MAX;
        snprintf(text, NUMBER_MAX, "%" PRId64, copy->members[i].since_ms);
        snprintf(text + NUMBER_MAX, NUMBER_MAX, "%" PRIu64, copy->members[i].user);
        args[2 * i] = text_of(text);
        args[2 * i + 1] = text_of(text + NUMBER_MAX);
    }
    return true;
}

/* An empty list is no key. */
static void put_store(struct mirror *mirror, const struct mirror_copy *copy, size_t i)
{
    bool is_list = copy->kind != MIRROR_COUNTS;
    struct redis_call *call = &mirror->calls[mirror->n];
    struct bytes *args = begin_call(
        mirror, i,
        (struct redis_call){.script = is_list ? &store_list_script : &store_script, .n_keys = 2});
    if (is_list && !copy->n_members)
        return;
    args[call->n_args++] = right_of(mirror, copy);
    args[call->n_args++] = key_of(mirror, copy);
    args[call->n_args++] = token_of(mirror);
    args[call->n_args++] = redis_run_id;
    args[call->n_args++] = number_of(mirror, draw_life_ms());
    if (!is_list)
        args[call->n_args++] = value_of(mirror, copy);
    mirror->n += !is_list || put_members(mirror, copy, call);
}

size_t mirror_store(struct mirror *mirror, const struct mirror_copy *all, size_t n)
{
    size_t stored = 0;
    mirror->n = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i].wanted)
            put_store(mirror, &all[i], i);
    if (mirror->n)
        run(mirror);
    for (size_t i = 0; i < mirror->n; i++)
        stored += is_one(&mirror->calls[i]);
    arena_clear(&mirror->lists);
    return stored;
}

/* ---- The bucket of follows --------------------------------------------------------------------- */

void mirror_refuse(struct mirror *mirror, const uint64_t *users, const int64_t *left_ms, size_t n)
{
    mirror->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct bytes *args = begin_call(mirror, i, (struct redis_call){.n_args = 5, .key = 1});
        snprintf(mirror->keys[i], MIRROR_NAME_MAX, "rl:follow:%" PRIu64, users[i]);
        args[0] = text_of("SET");
        args[1] = text_of(mirror->keys[i]);
        args[2] = text_of("0");
        args[3] = text_of("PX");
        args[4] = number_of(mirror, left_ms[i]);
        mirror->n++;
    }
    if (n)
        run(mirror);
}

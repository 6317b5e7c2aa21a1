/* SPDX-License-Identifier: MIT */
#include "engine/cluster/versions.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/wait.h"
#include "engine/cluster/memory.h"
#include "redis/redis.h"

enum { KEY_MAX = 160, VALUE_MAX = 96, TOKEN_MAX = 40, ARGS_MAX = 5, RUN_MAX = 64 };

/* How long a version is remembered at most, and how long somebody may take to look it up. */
enum { REMEMBER_MS = 60000, LOOK_MS = 10000 };

static struct redis_script mark_script = {
    .text = "#!lua\n"
            "local v = redis.call('GET', KEYS[1])\n"
            "local k = v and string.sub(v, 1, 1)\n"
            "if k == 'M' or k == 'S' then v = 'S' else v = 'M '..ARGV[2]..' '..ARGV[1] end\n"
            "redis.call('SET', KEYS[1], v, 'PX', ARGV[3])\n"
            "return 1\n"};

/* Somebody else's mark stays, without the right to say anything: it was put when ours was lost. */
static struct redis_script tell_script = {
    .text = "#!lua\n"
            "local v = redis.call('GET', KEYS[1])\n"
            "local k = v and string.sub(v, 1, 1)\n"
            "if not v or k == 'S' then return 0 end\n"
            "if v == 'M '..ARGV[2]..' '..ARGV[1] and ARGV[3] ~= '' then\n"
            "  redis.call('SET', KEYS[1], 'C '..ARGV[2]..' '..ARGV[3], 'PX', ARGV[4])\n"
            "  return 1\n"
            "end\n"
            "if k == 'M' and string.sub(v, -#ARGV[1]) ~= ARGV[1] then\n"
            "  redis.call('SET', KEYS[1], 'S', 'KEEPTTL')\n"
            "else\n"
            "  redis.call('DEL', KEYS[1])\n"
            "end\n"
            "return 0\n"};

static struct redis_script want_script = {
    .text = "#!lua\n"
            "local v = redis.call('GET', KEYS[1])\n"
            "local k = v and string.sub(v, 1, 1)\n"
            "if k == 'M' or k == 'S' then return 0 end\n"
            "redis.call('SET', KEYS[1], 'R '..ARGV[2]..' '..ARGV[1], 'PX', ARGV[3])\n"
            "return 1\n"};

static struct redis_script fill_script = {
    .text = "#!lua\n"
            "if redis.call('GET', KEYS[1]) ~= 'R '..ARGV[2]..' '..ARGV[1] then return 0 end\n"
            "redis.call('SET', KEYS[1], 'C '..ARGV[2]..' '..ARGV[3], 'PX', ARGV[4])\n"
            "return 1\n"};

static void init_scripts(void)
{
    redis_script_init(&mark_script);
    redis_script_init(&tell_script);
    redis_script_init(&want_script);
    redis_script_init(&fill_script);
}

struct versions {
    struct redis *redis;
    char database[64 + 1];
    char token[TOKEN_MAX]; /* another one for each mark and each right */
    size_t token_n;
    uint64_t process, n_tokens;
    char ms[24];
    struct redis_call calls[VERSIONS_MAX];
    struct bytes args[VERSIONS_MAX][ARGS_MAX];
    char keys[VERSIONS_MAX][KEY_MAX];
    char values[VERSIONS_MAX][VALUE_MAX];
};

struct versions *versions_open(const struct redis_options *options, const char *database,
                               const char **message)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct versions *versions = calloc(1, sizeof *versions);
    *message = "memory is short";
    if (!versions)
        return NULL;
    pthread_once(&once, init_scripts);
    versions->redis = redis_new(options, message);
    if (!versions->redis || getrandom(&versions->process, sizeof versions->process, 0) !=
                                (ssize_t)sizeof versions->process) {
        versions_close(versions);
        return NULL;
    }
    snprintf(versions->database, sizeof versions->database, "%s", database);
    return versions;
}

void versions_close(struct versions *versions)
{
    if (!versions)
        return;
    redis_free(versions->redis);
    free(versions);
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static struct bytes text_of(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

static struct bytes put_key(struct versions *versions, size_t i, uint64_t epoch, uint64_t user)
{
    snprintf(versions->keys[i], KEY_MAX, "tidings:%s:%" PRIu64 ":{%" PRIu64 "}", versions->database,
             epoch, user);
    return text_of(versions->keys[i]);
}

static struct bytes put_value(struct versions *versions, size_t i, const struct version *version)
{
    *versions->values[i] = '\0';
    if (version->version)
        snprintf(versions->values[i], VALUE_MAX, "%" PRIu64 " %" PRIu64, version->version,
                 version->position);
    return text_of(versions->values[i]);
}

static void new_token(struct versions *versions)
{
    int n = snprintf(versions->token, sizeof versions->token, "%016" PRIx64 "%016" PRIx64,
                     versions->process, ++versions->n_tokens);
    versions->token_n = (size_t)n;
}

static struct bytes put_ms(struct versions *versions, int64_t ms)
{
    snprintf(versions->ms, sizeof versions->ms, "%" PRId64, ms);
    return text_of(versions->ms);
}

/* The i-th call: a script on its user's key, with the token, the run, and what else it takes. */
static void put_script(struct versions *versions, size_t i, const struct redis_script *script,
                       struct bytes key, struct bytes a, struct bytes b)
{
    struct bytes *args = versions->args[i];
    unsigned n = 0;
    args[n++] = key;
    args[n++] = (struct bytes){(const uint8_t *)versions->token, versions->token_n};
    args[n++] = redis_run_id;
    args[n++] = a;
    if (b.p)
        args[n++] = b;
    versions->calls[i] =
        (struct redis_call){.script = script, .args = args, .n_args = n, .n_keys = 1};
}

static void run(struct versions *versions, size_t n)
{
    redis_run(versions->redis, versions->calls, n, wait_now_ms() + MEMORY_WAIT_MS);
}

static const struct bytes none = {NULL, 0};

/* ---- Reading -------------------------------------------------------------------------------- */

static bool parse_number(const char **at, uint64_t *number)
{
    char *end;
    if (**at != ' ' || (*at)[1] < '0' || (*at)[1] > '9')
        return false;
    *number = strtoull(*at + 1, &end, 10);
    *at = end;
    return true;
}

bool version_parse(struct bytes value, const char *run_id, struct version *version)
{
    char text[VALUE_MAX + RUN_MAX];
    size_t n = strlen(run_id);
    if (value.n >= sizeof text || !n || value.n < 2 + n)
        return false;
    memcpy(text, value.p, value.n);
    text[value.n] = '\0';
    const char *at = text + 2 + n;
    return !strncmp(text, "C ", 2) && !strncmp(text + 2, run_id, n) &&
           parse_number(&at, &version->version) && parse_number(&at, &version->position) &&
           at == text + value.n && version->version;
}

static bool is_version(const struct redis_call *call, struct version *version)
{
    const struct redisReply *reply = call->reply;
    return reply->type == REDIS_REPLY_STRING && call->run_id &&
           version_parse((struct bytes){(const uint8_t *)reply->str, (size_t)reply->len},
                         call->run_id, version);
}

static void want(struct versions *versions, uint64_t epoch, struct version *all, size_t n)
{
    size_t asked[VERSIONS_MAX], n_asked = 0;
    struct bytes look_ms = put_ms(versions, LOOK_MS);
    for (size_t i = 0; i < n; i++) {
        if (all[i].state != VERSION_WANTED)
            continue;
        all[i].state = VERSION_UNKNOWN;
        put_script(versions, n_asked, &want_script, put_key(versions, n_asked, epoch, all[i].user),
                   look_ms, none);
        asked[n_asked++] = i;
    }
    if (n_asked)
        run(versions, n_asked);
    for (size_t i = 0; i < n_asked; i++) {
        const struct redis_call *call = &versions->calls[i];
        if (call->outcome == REDIS_DONE && call->reply->type == REDIS_REPLY_INTEGER &&
            call->reply->integer == 1)
            all[asked[i]].state = VERSION_WANTED;
    }
}

void versions_get(struct versions *versions, uint64_t epoch, struct version *all, size_t n)
{
    new_token(versions);
    for (size_t i = 0; i < n; i++) {
        struct bytes *args = versions->args[i];
        args[0] = text_of("GET");
        args[1] = put_key(versions, i, epoch, all[i].user);
        versions->calls[i] = (struct redis_call){.args = args, .n_args = 2, .key = 1};
    }
    run(versions, n);
    for (size_t i = 0; i < n; i++) {
        const struct redis_call *call = &versions->calls[i];
        all[i].state = VERSION_UNKNOWN;
        if (call->outcome == REDIS_DONE)
            all[i].state = is_version(call, &all[i]) ? VERSION_KNOWN : VERSION_WANTED;
    }
    want(versions, epoch, all, n);
}

void versions_fill(struct versions *versions, uint64_t epoch, const struct version *all, size_t n)
{
    size_t n_calls = 0;
    struct bytes remember_ms = put_ms(versions, REMEMBER_MS);
    for (size_t i = 0; i < n; i++) {
        if (all[i].state != VERSION_WANTED || !all[i].version)
            continue;
        put_script(versions, n_calls, &fill_script, put_key(versions, n_calls, epoch, all[i].user),
                   put_value(versions, n_calls, &all[i]), remember_ms);
        n_calls++;
    }
    if (n_calls)
        run(versions, n_calls);
}

/* ---- Changing ------------------------------------------------------------------------------- */

static bool all_done(const struct versions *versions, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (versions->calls[i].outcome != REDIS_DONE)
            return false;
    return true;
}

bool versions_mark(struct versions *versions, uint64_t epoch, const struct version *all, size_t n,
                   int64_t life_ms)
{
    struct bytes life = put_ms(versions, life_ms);
    new_token(versions);
    for (size_t i = 0; i < n; i++)
        put_script(versions, i, &mark_script, put_key(versions, i, epoch, all[i].user), life, none);
    run(versions, n);
    return all_done(versions, n);
}

bool versions_tell(struct versions *versions, uint64_t epoch, const struct version *all, size_t n)
{
    struct bytes remember_ms = put_ms(versions, REMEMBER_MS);
    for (size_t i = 0; i < n; i++)
        put_script(versions, i, &tell_script, put_key(versions, i, epoch, all[i].user),
                   put_value(versions, i, &all[i]), remember_ms);
    run(versions, n);
    return all_done(versions, n);
}

/* ---- How it is doing ------------------------------------------------------------------------ */

/* Keys all over the cluster. */
bool versions_probe(struct versions *versions)
{
    for (size_t i = 0; i < VERSIONS_MAX; i++) {
        struct bytes *args = versions->args[i];
        args[0] = text_of("GET");
        args[1] = put_key(versions, i, 0, i);
        versions->calls[i] = (struct redis_call){.args = args, .n_args = 2, .key = 1};
    }
    run(versions, VERSIONS_MAX);
    return all_done(versions, VERSIONS_MAX);
}

void versions_health(const struct versions *versions, struct redis_health *health)
{
    redis_health(versions->redis, health);
}

/* SPDX-License-Identifier: MIT */
/*
 * Keys by SCAN, node by node, and what they hold in pages: ZSCAN, SSCAN, HSCAN, and the beginning of a string. Never KEYS, and never a
 * whole set. A cursor is of the process that gave it: when another one answers, its keys are looked at from the beginning.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/wait.h"
#include "legacy/inside.h"

enum {
    CURSOR_MAX = 24,
    RUN_ID_BYTES = 64,
    NODES_MAX = 1024,
    JOBS_MAX = 32,       /* keys at once */
    MEMBERS_MAX = 200,   /* of each, about */
    KEYS_A_STEP = 200,   /* about */
    CALL_MS = 10000,     /* for an answer */
    PATIENCE_MS = 10000, /* as long as a node is away or lost, in all */
    RETRY_MS = 100,
};

enum held { HELD_STRING, HELD_SET, HELD_SORTED, HELD_HASH, HELD_INFO };

static const enum held held[LEGACY_KEY_COUNT] = {
    [LEGACY_FEED] = HELD_SORTED,         [LEGACY_READ] = HELD_SORTED,
    [LEGACY_TOTAL_UNREAD] = HELD_STRING, [LEGACY_AUTHOR_UNREAD] = HELD_STRING,
    [LEGACY_BLOG_AUTHOR] = HELD_STRING,  [LEGACY_DELETED] = HELD_SET,
    [LEGACY_LIKED] = HELD_SORTED,        [LEGACY_FOLLOWS] = HELD_SET,
    [LEGACY_USER_READ] = HELD_SET,       [LEGACY_USER_UNREAD] = HELD_SET,
    [LEGACY_UNREAD_COUNT] = HELD_HASH,   [LEGACY_AUTHOR_BLOGS] = HELD_SET,
    [LEGACY_BLOG_INFO] = HELD_INFO,      [LEGACY_UCNT] = HELD_STRING,
    [LEGACY_FOLLOWING] = HELD_SORTED,    [LEGACY_FANS] = HELD_SORTED,
};

/* A key under way. */
struct job {
    struct found_key key;
    char text[LEGACY_KEY_MAX];
    size_t n_text;
    char cursor[CURSOR_MAX], run_id[RUN_ID_BYTES];
    bool done;
};

struct scan {
    struct source *source;
    const bool *wanted;
    void (*take)(struct source *source, const struct found_key *key,
                 const struct bytes values[VALUES_MAX], void *ctx);
    void *ctx;
    char cursor[CURSOR_MAX], run_id[RUN_ID_BYTES];
    char done[NODES_MAX][RUN_ID_BYTES]; /* nodes that were looked at */
    size_t n_done;
    struct found_key *keys; /* of one step */
    size_t n_keys, room;
    int64_t away_since_ms; /* 0: all answer */
};

const char *key_name(enum legacy_key kind)
{
    static const char *const names[] = {
#define X(name, prefix, numbers, what) prefix,
        LEGACY_KEYS(X)
#undef X
    };
    return names[kind];
}

struct drift_example key_example(const struct found_key *key)
{
    bool of_post = key->kind == LEGACY_LIKED || key->kind == LEGACY_BLOG_AUTHOR ||
                   key->kind == LEGACY_BLOG_INFO;
    return (struct drift_example){.user_id = of_post ? 0 : key->first,
                                  .author_id = key->second,
                                  .post = of_post ? key->first : 0,
                                  .where = key_name(key->kind)};
}

static struct bytes word(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

static struct bytes reply_bytes(const struct redisReply *reply)
{
    bool is_text = reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS;
    return is_text ? (struct bytes){(const uint8_t *)reply->str, reply->len}
                   : (struct bytes){NULL, 0};
}

/* ---- Calls ---------------------------------------------------------------------------------- */

/* A call that was not answered is safe to repeat, since it only reads; but not for ever, and not where it is of no use. */
static void note_away(struct scan *scan, const struct redis_call *call)
{
    struct timespec nap = {.tv_nsec = RETRY_MS * 1000000L};
    struct redis_health health;
    int64_t now_ms = wait_now_ms();
    if (!scan->away_since_ms)
        scan->away_since_ms = now_ms;
    redis_health(scan->source->redis, &health);
    if (health.unwelcome || now_ms - scan->away_since_ms > PATIENCE_MS)
        source_fail(scan->source, "the source's Redis: %s", call->message);
    else
        nanosleep(&nap, NULL);
}

/* Whether there is a reply to look at. */
static bool is_answered(struct scan *scan, const struct redis_call *call)
{
    if (call->outcome == REDIS_DONE) {
        scan->away_since_ms = 0;
        return true;
    }
    if (call->outcome == REDIS_REFUSED)
        source_fail(scan->source, "the source's Redis: %s", call->message);
    else
        note_away(scan, call);
    return false;
}

static bool is_page(const struct redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->type == REDIS_REPLY_STRING && reply->element[0]->len < CURSOR_MAX &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

/* ---- What a key holds ----------------------------------------------------------------------- */

enum { ARGS_MAX = 5 };

static unsigned put_args(struct job *job, const char *count, struct bytes args[ARGS_MAX])
{
    struct bytes key = {(const uint8_t *)job->text, job->n_text};
    enum held what = held[job->key.kind];
    static const char *const pages[] = {
        [HELD_SET] = "SSCAN", [HELD_SORTED] = "ZSCAN", [HELD_HASH] = "HSCAN"};
    args[1] = key;
    switch (what) {
    case HELD_STRING:
        args[0] = word("GETRANGE");
        args[2] = word("0");
        args[3] = word("63");
        return 4;
    case HELD_INFO:
        args[0] = word("HMGET");
        args[2] = word("userId");
        args[3] = word("title");
        args[4] = word("createTime");
        return 5;
    case HELD_SET:
    case HELD_SORTED:
    case HELD_HASH:
        args[0] = word(pages[what]);
        args[2] = word(job->cursor);
        args[3] = word("COUNT");
        args[4] = word(count);
        return 5;
    }
    return 0;
}

static void take_page(struct scan *scan, struct job *job, const struct redisReply *reply,
                      const char *run_id)
{
    size_t step = held[job->key.kind] == HELD_SET ? 1 : 2;
    if (!is_page(reply)) {
        source_fail(scan->source, "the source's Redis: %s is answered in a form that is not known",
                    job->text);
        return;
    }
    if (strcmp(job->cursor, "0") != 0 && strcmp(job->run_id, run_id) != 0) {
        snprintf(job->cursor, sizeof job->cursor, "0");
        return;
    }
    snprintf(job->run_id, sizeof job->run_id, "%s", run_id);
    const struct redisReply *members = reply->element[1];
    for (size_t i = 0; i + step <= members->elements; i += step) {
        struct bytes values[VALUES_MAX] = {reply_bytes(members->element[i])};
        if (step == 2)
            values[1] = reply_bytes(members->element[i + 1]);
        scan->take(scan->source, &job->key, values, scan->ctx);
    }
    snprintf(job->cursor, sizeof job->cursor, "%s", reply->element[0]->str);
    job->done = !strcmp(job->cursor, "0");
    source_took(scan->source, key_name(job->key.kind), members->elements / step);
}

/* A string, or the fields of blog:info. An empty one was removed since it was seen. */
static void take_whole(struct scan *scan, struct job *job, const struct redisReply *reply)
{
    struct bytes values[VALUES_MAX] = {{NULL, 0}};
    size_t n = reply->type == REDIS_REPLY_ARRAY ? reply->elements : 0;
    bool any = false;
    if (reply->type == REDIS_REPLY_STRING)
        values[0] = reply_bytes(reply);
    for (size_t i = 0; i < n && i < VALUES_MAX; i++)
        values[i] = reply_bytes(reply->element[i]);
    for (size_t i = 0; i < VALUES_MAX; i++)
        any |= values[i].n > 0;
    if (any)
        scan->take(scan->source, &job->key, values, scan->ctx);
    job->done = true;
    source_took(scan->source, key_name(job->key.kind), 1);
}

static void take_reply(struct scan *scan, struct job *job, const struct redis_call *call)
{
    if (call->outcome == REDIS_REFUSED && !strncmp(call->message, "WRONGTYPE", 9)) {
        source_found(scan->source, DRIFT_bad_key, key_example(&job->key));
        source_took(scan->source, key_name(job->key.kind), 1);
        job->done = true;
    } else if (!is_answered(scan, call)) {
        return;
    } else if (held[job->key.kind] == HELD_STRING || held[job->key.kind] == HELD_INFO) {
        take_whole(scan, job, call->reply);
    } else {
        take_page(scan, job, call->reply, call->run_id);
    }
}

/* With a low pace few at once, so that it is kept within a second, too. */
static size_t jobs_at_once(const struct source *source)
{
    uint64_t load = source->how->max_load, most = load / (5 * MEMBERS_MAX);
    if (!load || most >= JOBS_MAX)
        return JOBS_MAX;
    return most ? (size_t)most : 1;
}

/* The next pages of all that are not done. False: they all are. */
static bool run_jobs(struct scan *scan, struct job *jobs, size_t n)
{
    struct redis_call calls[JOBS_MAX];
    struct bytes args[JOBS_MAX][ARGS_MAX];
    struct job *asked[JOBS_MAX];
    size_t n_calls = 0;
    char count[16];
    snprintf(count, sizeof count, "%u", source_at_once(scan->source, MEMBERS_MAX));
    for (size_t i = 0; i < n; i++) {
        if (jobs[i].done)
            continue;
        unsigned n_args = put_args(&jobs[i], count, args[n_calls]);
        calls[n_calls] = (struct redis_call){.args = args[n_calls], .n_args = n_args, .key = 1};
        asked[n_calls++] = &jobs[i];
    }
    if (!n_calls || !source_goes_on(scan->source))
        return false;
    redis_run(scan->source->redis, calls, n_calls, wait_now_ms() + CALL_MS);
    for (size_t i = 0; i < n_calls && !scan->source->failed; i++)
        take_reply(scan, asked[i], &calls[i]);
    return true;
}

static void take_keys(struct scan *scan)
{
    struct job jobs[JOBS_MAX];
    size_t most = jobs_at_once(scan->source);
    for (size_t at = 0; at < scan->n_keys;) {
        size_t n = 0;
        for (; n < most && at < scan->n_keys; n++, at++) {
            jobs[n] = (struct job){.key = scan->keys[at], .cursor = "0"};
            jobs[n].n_text = legacy_key(&scan->source->how->names, scan->keys[at].kind,
                                        scan->keys[at].first, scan->keys[at].second, jobs[n].text);
        }
        while (run_jobs(scan, jobs, n))
            ;
    }
}

/* ---- Keys ----------------------------------------------------------------------------------- */

static bool is_wanted(const struct scan *scan, struct bytes text, struct found_key *key)
{
    for (int kind = 0; kind < LEGACY_KEY_COUNT; kind++)
        if (scan->wanted[kind] &&
            legacy_key_read(&scan->source->how->names, (enum legacy_key)kind, (const char *)text.p,
                            text.n, &key->first, &key->second)) {
            key->kind = (enum legacy_key)kind;
            return true;
        }
    return false;
}

/* The reply is gone with the next call: what is wanted of it is kept. */
static void keep_keys(struct scan *scan, const struct redisReply *keys)
{
    scan->n_keys = 0;
    if (keys->elements > scan->room) {
        struct found_key *grown = realloc(scan->keys, keys->elements * sizeof *grown);
        if (!grown) {
            source_failed_with(scan->source, "keys", TIDINGS_NO_MEMORY);
            return;
        }
        scan->keys = grown;
        scan->room = keys->elements;
    }
    for (size_t i = 0; i < keys->elements; i++) {
        struct bytes text = reply_bytes(keys->element[i]);
        if (text.n && is_wanted(scan, text, &scan->keys[scan->n_keys]))
            scan->source->seen[scan->keys[scan->n_keys++].kind] = true;
    }
}

static bool is_done(const struct scan *scan, const char *run_id)
{
    for (size_t i = 0; i < scan->n_done; i++)
        if (!strcmp(scan->done[i], run_id))
            return true;
    return false;
}

/* A step of a node. True: it is done with. */
static bool scan_step(struct scan *scan, unsigned slot)
{
    char count[16], cursor[CURSOR_MAX];
    snprintf(count, sizeof count, "%u", source_at_once(scan->source, KEYS_A_STEP));
    const struct bytes args[] = {word("SCAN"), word(scan->cursor), word("COUNT"), word(count)};
    struct redis_call call = {.args = args, .n_args = 4, .to_slot = true, .slot = (uint16_t)slot};
    redis_run(scan->source->redis, &call, 1, wait_now_ms() + CALL_MS);
    if (!is_answered(scan, &call))
        return false;
    if (!is_page(call.reply)) {
        source_fail(scan->source,
                    "the source's Redis: SCAN is answered in a form that is not known");
        return true;
    }
    bool begins = !strcmp(scan->cursor, "0");
    if (!begins && strcmp(call.run_id, scan->run_id) != 0) {
        snprintf(scan->cursor, sizeof scan->cursor, "0");
        return false;
    }
    snprintf(scan->run_id, sizeof scan->run_id, "%s", call.run_id);
    if (begins && is_done(scan, scan->run_id))
        return true; /* by another of its slots */
    snprintf(cursor, sizeof cursor, "%s", call.reply->element[0]->str);
    size_t n = call.reply->element[1]->elements;
    keep_keys(scan, call.reply->element[1]);
    source_took(scan->source, "keys", n);
    take_keys(scan);
    memcpy(scan->cursor, cursor, sizeof cursor);
    return !strcmp(cursor, "0");
}

static void end_node(struct scan *scan)
{
    if (scan->n_done < NODES_MAX)
        memcpy(scan->done[scan->n_done++], scan->run_id, RUN_ID_BYTES);
    snprintf(scan->cursor, sizeof scan->cursor, "0");
}

void scan_keys(struct source *source, const bool wanted[LEGACY_KEY_COUNT],
               void (*take)(struct source *source, const struct found_key *key,
                            const struct bytes values[VALUES_MAX], void *ctx),
               void *ctx)
{
    struct scan *scan = source->redis && !source->failed ? calloc(1, sizeof *scan) : NULL;
    if (!source->redis || source->failed)
        return;
    if (!scan) {
        source_failed_with(source, "keys", TIDINGS_NO_MEMORY);
        return;
    }
    scan->source = source;
    scan->wanted = wanted;
    scan->take = take;
    scan->ctx = ctx;
    scan->cursor[0] = '0';
    source->part_done = 0;
    for (unsigned slot = 0; slot < REDIS_SLOTS && source_goes_on(source);
         slot = redis_next_owner(source->redis, slot)) {
        while (source_goes_on(source) && !scan_step(scan, slot))
            ;
        end_node(scan);
    }
    free(scan->keys);
    free(scan);
}

/* SPDX-License-Identifier: MIT */
/*
 * Making everything in Redis anew, when somebody has asked for it: the copier goes through all keys of all masters, some at a time, between
 * pages of events. Keys for others are removed and those that were there filled again; versions of users that count no more, by their epoch, are
 * removed. Keys of other names are nobody's business.
 *
 * Who begins it and dies leaves it to whoever keeps the keys next, who begins from the start.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/wait.h"
#include "engine/cluster/cluster.h"
#include "redis/redis.h"

enum { ASK_MS = 1000, TELL_MS = 1000, PASSES_MAX = 3 };
#define KEYS_A_STEP "1000"

/* ---- What is asked for -------------------------------------------------------------------------- */

static enum sql_outcome run(struct consumer *consumer)
{
    enum sql_outcome outcome = sql_run(consumer->desk.sql, &consumer->desk.text);
    buf_clear(&consumer->desk.text);
    return outcome;
}

static enum sql_outcome ask(struct copier *copier)
{
    struct desk *desk = &copier->consumer.desk;
    buf_literal(&desk->text,
                "SELECT wanted, done, (SELECT epoch FROM memory_epoch WHERE id=1) FROM "
                "rebuild WHERE id=1");
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    if (!outcome && sql_row(desk->sql) && sql_u64(desk->sql, 0) > sql_u64(desk->sql, 1))
        copier->rebuild = (struct rebuild){
            .wish = sql_u64(desk->sql, 0), .cursor = "0", .epoch = sql_u64(desk->sql, 2)};
    buf_clear(&desk->text);
    return outcome;
}

static enum sql_outcome tell(struct copier *copier, bool done)
{
    const struct rebuild *rebuild = &copier->rebuild;
    buf_printf(&copier->consumer.desk.text,
               "UPDATE rebuild SET looked_at=%llu, removed=%llu, done=GREATEST(done, %llu) WHERE "
               "id=1",
               (unsigned long long)rebuild->looked_at, (unsigned long long)rebuild->removed,
               (unsigned long long)(done ? rebuild->wish : 0));
    return run(&copier->consumer);
}

/* Whether one is under way. */
static bool begin(struct copier *copier)
{
    struct consumer *consumer = &copier->consumer;
    struct redis_health health;
    int64_t now_ms = wait_now_ms();
    if (copier->rebuild.wish)
        return true;
    if (now_ms - copier->asked_ms < ASK_MS)
        return false;
    copier->asked_ms = now_ms;
    if (!consumer_connect(consumer) || ask(copier))
        consumer_fail(consumer);
    redis_health(mirror_redis(copier->mirror), &health);
    copier->rebuild.moves = health.moved + health.asked;
    return copier->rebuild.wish != 0;
}

/* ---- Some keys ---------------------------------------------------------------------------------- */

static bool has_start(struct bytes name, const char *start)
{
    size_t n = strlen(start);
    return name.n > n && !memcmp(name.p, start, n);
}

/* tidings:<database>:<epoch>:{<user>} of another epoch; or of a bucket. */
static bool is_to_go(const struct copier *copier, struct bytes name)
{
    char start[128];
    if (has_start(name, "rl:follow:"))
        return true;
    const char *database = copier->consumer.cluster->url.database;
    snprintf(start, sizeof start, "tidings:%s:%" PRIu64 ":", database, copier->rebuild.epoch);
    if (has_start(name, start))
        return false;
    snprintf(start, sizeof start, "tidings:%s:", database);
    return has_start(name, start);
}

static bool remove_some(struct copier *copier, const struct bytes *keys, size_t n)
{
    struct redis_call calls[MIRROR_MAX];
    struct bytes args[MIRROR_MAX][2];
    for (size_t i = 0; i < n; i++) {
        args[i][0] = (struct bytes){(const uint8_t *)"UNLINK", 6};
        args[i][1] = keys[i];
        calls[i] = (struct redis_call){.args = args[i], .n_args = 2, .key = 1};
    }
    redis_run(mirror_redis(copier->mirror), calls, n, wait_now_ms() + MEMORY_WAIT_MS);
    for (size_t i = 0; i < n; i++)
        if (calls[i].outcome != REDIS_DONE)
            return false;
    copier->rebuild.removed += n;
    return true;
}

/* What was found is the client's until it runs other calls. */
struct batch {
    size_t n_copies, n_others;
    struct mirror_copy copies[MIRROR_MAX];
    struct bytes others[MIRROR_MAX];
    char names[MIRROR_MAX][160];
};

static bool do_batch(struct copier *copier, struct batch *batch)
{
    bool fine = !batch->n_others || remove_some(copier, batch->others, batch->n_others);
    if (fine && batch->n_copies)
        fine = copier_remake(copier, batch->copies, batch->n_copies);
    if (fine)
        copier->rebuild.removed += batch->n_copies;
    return fine;
}

static void put_key(const struct copier *copier, struct batch *batch, struct bytes name)
{
    struct mirror_copy copy = {0};
    if (mirror_parse(name, &copy.kind, &copy.user)) {
        batch->copies[batch->n_copies++] = copy;
    } else if (name.n <= sizeof batch->names[0] && is_to_go(copier, name)) {
        memcpy(batch->names[batch->n_others], name.p, name.n);
        batch->others[batch->n_others] =
            (struct bytes){(const uint8_t *)batch->names[batch->n_others], name.n};
        batch->n_others++;
    }
}

/* Copied out of the answer first, since every call of the client's ends it. */
static bool do_keys(struct copier *copier, const struct redisReply *keys)
{
    size_t n_batches = (keys->elements + MIRROR_MAX - 1) / MIRROR_MAX;
    struct batch *batches = calloc(n_batches ? n_batches : 1, sizeof *batches);
    bool fine = batches;
    for (size_t i = 0; fine && i < keys->elements; i++)
        if (keys->element[i]->type == REDIS_REPLY_STRING)
            put_key(copier, &batches[i / MIRROR_MAX],
                    (struct bytes){(const uint8_t *)keys->element[i]->str,
                                   (size_t)keys->element[i]->len});
    for (size_t i = 0; fine && i < n_batches; i++)
        fine = do_batch(copier, &batches[i]);
    free(batches);
    return fine;
}

static void set_cursor(struct rebuild *rebuild, const char *cursor)
{
    snprintf(rebuild->cursor, sizeof rebuild->cursor, "%s", cursor);
}

/* ---- All of them -------------------------------------------------------------------------------- */

static bool is_done(struct rebuild *rebuild, const char *run_id)
{
    for (size_t i = 0; i < rebuild->n_done; i++)
        if (!strcmp(rebuild->done[i], run_id))
            return true;
    return false;
}

/* The node is done: the next one, or all are. A node has many ranges of slots. */
static bool go_on(struct copier *copier)
{
    struct rebuild *rebuild = &copier->rebuild;
    struct redis_health health;
    if (rebuild->n_done < REBUILD_NODES && !is_done(rebuild, rebuild->run_id))
        snprintf(rebuild->done[rebuild->n_done++], sizeof rebuild->run_id, "%s", rebuild->run_id);
    rebuild->slot = redis_next_owner(mirror_redis(copier->mirror), rebuild->slot);
    set_cursor(rebuild, "0");
    if (rebuild->slot < REDIS_SLOTS)
        return true;
    redis_health(mirror_redis(copier->mirror), &health);
    uint64_t moves = health.moved + health.asked;
    if (moves == rebuild->moves || ++rebuild->passes == PASSES_MAX)
        return false;
    rebuild->moves = moves; /* a key may have gone where nobody looked any more */
    rebuild->slot = 0;
    rebuild->n_done = 0;
    return true;
}

static bool is_answer(const struct redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           (size_t)reply->element[0]->len < sizeof((struct rebuild *)0)->cursor &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

/* A node is done when its cursor is "0" again. */
enum scanned { SCANNED_NOT_NOW, SCANNED_SOME, SCANNED_NODE };

static enum scanned scan(struct copier *copier)
{
    struct rebuild *rebuild = &copier->rebuild;
    char cursor[sizeof rebuild->cursor];
    const struct bytes args[] = {
        {(const uint8_t *)"SCAN", 4},
        {(const uint8_t *)rebuild->cursor, strlen(rebuild->cursor)},
        {(const uint8_t *)"COUNT", 5},
        {(const uint8_t *)KEYS_A_STEP, sizeof KEYS_A_STEP - 1},
    };
    struct redis_call call = {
        .args = args, .n_args = 4, .to_slot = true, .slot = (uint16_t)rebuild->slot};
    redis_run(mirror_redis(copier->mirror), &call, 1, wait_now_ms() + MEMORY_WAIT_MS);
    if (call.outcome != REDIS_DONE || !is_answer(call.reply))
        return SCANNED_NOT_NOW;
    bool begins = !strcmp(rebuild->cursor, "0");
    if (!begins && strcmp(call.run_id, rebuild->run_id) != 0) {
        set_cursor(rebuild, "0"); /* a cursor is of the process that gave it */
        return SCANNED_SOME;
    }
    snprintf(rebuild->run_id, sizeof rebuild->run_id, "%s", call.run_id);
    snprintf(cursor, sizeof cursor, "%s", call.reply->element[0]->str);
    if (begins && is_done(rebuild, rebuild->run_id))
        return SCANNED_NODE; /* by another of its slots */
    size_t n = call.reply->element[1]->elements;
    if (!do_keys(copier, call.reply->element[1]))
        return SCANNED_NOT_NOW;
    rebuild->looked_at += n;
    set_cursor(rebuild, cursor);
    return strcmp(cursor, "0") ? SCANNED_SOME : SCANNED_NODE;
}

bool rebuild_step(struct copier *copier)
{
    struct rebuild *rebuild = &copier->rebuild;
    struct consumer *consumer = &copier->consumer;
    if (!begin(copier))
        return false;
    enum scanned scanned = scan(copier);
    if (scanned == SCANNED_NOT_NOW)
        return false;
    bool more = scanned == SCANNED_SOME || go_on(copier);
    int64_t now_ms = wait_now_ms();
    if (more && now_ms - rebuild->told_ms < TELL_MS)
        return true;
    rebuild->told_ms = now_ms;
    if (!consumer_connect(consumer) || tell(copier, !more)) {
        consumer_fail(consumer);
        return more;
    }
    if (!more)
        *rebuild = (struct rebuild){0};
    return more;
}

/* ---- Asking for it ------------------------------------------------------------------------------ */

enum tidings_err engine_cluster_rebuild(const struct tidings_options *options, uint64_t *wish,
                                        const char **message)
{
    enum tidings_err err;
    struct buf text;
    struct sql *sql = cluster_connect(options, &err, message);
    if (!sql)
        return err;
    buf_init(&text, 1 << 10);
    buf_literal(&text, "SELECT wanted FROM rebuild WHERE id=1");
    enum sql_outcome outcome = memory_forget(sql);
    if (!outcome)
        outcome = sql_send(sql, &text);
    if (!outcome && sql_row(sql))
        *wish = sql_u64(sql, 0);
    buf_release(&text);
    err = cluster_refused(sql, outcome, message);
    sql_close(sql);
    return err;
}

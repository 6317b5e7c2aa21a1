/* SPDX-License-Identifier: MIT */
/*
 * All keys held against what the engine answers. First those that are there: what differs or is too many is made what it is to be. Then all users are gone through as
 * for filling: what is missing is written. Nobody misses a key meanwhile. Keys are mended by what the engine answers then, with the position of a fill, so what is newer
 * stays.
 *
 * The engine may be ahead of what was told. So a key that is being changed may count as one that differs; mending it does no harm.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "consume/redis_parts.h"

/* Of consumer_fill.step. */
enum { RECONCILE_BEGINS, RECONCILE_KEYS, RECONCILE_USERS };

/* Puts a key as it is to be. */
static bool reconcile_put(struct redis_target *target, struct consumer *consumer,
                          struct redis_about about)
{
    uint64_t position = consume_position(consumer);
    switch (about.kind) {
    case REDIS_KIND_BUCKET: /* it ends by itself */
        return true;
    case REDIS_KIND_COUNTS:
        return redis_read_counts(target, consumer, &about.id, 1, position);
    case REDIS_KIND_STORY_LIKES:
        return redis_read_story_likes(target, consumer, &about.id, 1, position);
    case REDIS_KIND_COMMENT_LIKES:
        return redis_read_comment_likes(target, consumer, about.id, position);
    default:
        return redis_read_list(target, consumer, about.kind, about.id, position);
    }
}

static bool reconcile_put_all(struct redis_target *target, struct consumer *consumer,
                              const struct redis_about *about, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!reconcile_put(target, consumer, about[i]))
            return false;
    return redis_target_run(target, consumer);
}

/* Those that others read. */
static size_t reconcile_names(const struct redisReply *keys, struct redis_about *about)
{
    size_t n = 0;
    for (size_t i = 0; i < keys->elements; i++) {
        const struct redisReply *key = keys->element[i];
        struct bytes name = {(const uint8_t *)key->str, key->len};
        if (key->type == REDIS_REPLY_STRING && name.n && *name.p != '{' &&
            redis_key_parse(name, &about[n].kind, &about[n].id))
            n++;
    }
    return n;
}

/* They are copied: a run ends the answer. */
static bool reconcile_take(struct redis_target *target, struct consumer *consumer,
                           const struct redisReply *keys, bool *some)
{
    struct redis_about *about = keys->elements ? calloc(keys->elements, sizeof *about) : NULL;
    *some = false;
    if (!about) {
        if (keys->elements)
            consume_note(consumer, "there is no memory to compare keys");
        return !keys->elements;
    }
    size_t n = reconcile_names(keys, about);
    bool fine = reconcile_put_all(target, consumer, about, n);
    target->comparison.keys += fine ? n : 0;
    free(about);
    return fine;
}

static bool reconcile_compare(struct redis_target *target, struct consumer *consumer,
                              struct consumer_fill *fill, bool *done)
{
    bool part_done = false;
    switch (fill->step) {
    case RECONCILE_BEGINS:
        redis_scan_begin(target);
        target->walk = (struct redis_walk){0};
        target->comparison = (struct redis_comparison){0};
        fill->step = RECONCILE_KEYS;
        return true;
    case RECONCILE_KEYS:
        if (!redis_scan_step(target, consumer, reconcile_take, &part_done))
            return false;
        fill->step = part_done ? RECONCILE_USERS : RECONCILE_KEYS;
        return true;
    default:
        return redis_fill_walk(target, consumer, fill, done);
    }
}

static const char *reconcile_outcome(const struct redis_comparison *found)
{
    if (found->left)
        return "some keys in Redis could not be compared";
    return found->different ? "keys in Redis differed and are mended"
                            : "the keys in Redis are as the server has it";
}

static void reconcile_log(const struct redis_target *target)
{
    const struct redis_comparison *found = &target->comparison;
    struct log_line line;
    log_begin(&line,
              found->left        ? LOG_ERROR
              : found->different ? LOG_WARN
                                 : LOG_INFO,
              reconcile_outcome(found));
    log_text(&line, "consumer", redis_target.name + 1);
    log_u64(&line, "keys", found->keys);
    log_u64(&line, "differed", found->different);
    if (found->left)
        log_u64(&line, "left", found->left);
    if (*found->error)
        log_text(&line, "error", found->error);
    log_end(&line);
}

/* Those of a step that failed are mended first: they would not all be found again. */
static bool reconcile_mend(struct redis_target *target, struct consumer *consumer)
{
    if (!reconcile_put_all(target, consumer, target->different, target->n_different))
        return false;
    target->n_different = 0;
    return true;
}

enum consumer_filled redis_reconcile_step(void *ctx, struct consumer *consumer,
                                          struct consumer_fill *fill)
{
    struct redis_target *target = ctx;
    bool done = false;
    target->n_missing = 0;
    if (fill->step == RECONCILE_BEGINS)
        target->n_different = 0;
    if (!reconcile_mend(target, consumer))
        return CONSUMER_FILL_FAILED;
    target->calls->compares = true;
    bool fine = reconcile_compare(target, consumer, fill, &done);
    target->calls->compares = false;
    if (!fine || !reconcile_mend(target, consumer))
        return CONSUMER_FILL_FAILED;
    if (!done)
        return CONSUMER_FILL_MORE;
    reconcile_log(target);
    return CONSUMER_FILL_DONE;
}

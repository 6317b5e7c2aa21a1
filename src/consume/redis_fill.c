/* SPDX-License-Identifier: MIT */
/*
 * All keys anew. First what is there is removed, on every master, so that no key stays of which nobody knows; then all users are gone through, with their lists,
 * their posts, and the comments on these. Events are told between the steps, so what is there is kept up while the rest is filled.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/wait.h"
#include "consume/redis_parts.h"

enum {
    USERS_A_STEP = 64,
    COMMENTS_A_PAGE = 50,
    SCAN_ARGS = 4,
    READER = 1,
};

/* Of consumer_fill.step. */
enum { FILL_BEGINS, FILL_REMOVES, FILL_USERS };

/* ---- Removing what is there ------------------------------------------------------------------- */

static bool scan_is_done(const struct redis_scan *scan, const char *run_id)
{
    for (size_t i = 0; i < scan->n_done; i++)
        if (!strcmp(scan->done[i], run_id))
            return true;
    return false;
}

static void scan_set_cursor(struct redis_scan *scan, const char *cursor)
{
    snprintf(scan->cursor, sizeof scan->cursor, "%s", cursor);
}

static bool scan_is_answer(const struct redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->type == REDIS_REPLY_STRING && reply->element[0]->len > 0 &&
           reply->element[0]->len < sizeof((struct redis_scan *)0)->cursor &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

/* Those are copied: another run ends the answer. Buckets end by themselves. *some: there were more than can be removed at once. */
static bool scan_remove(struct redis_target *target, struct consumer *consumer,
                        const struct redisReply *keys, bool *some)
{
    for (size_t i = 0; i < keys->elements; i++) {
        const struct redisReply *key = keys->element[i];
        struct bytes name = {(const uint8_t *)key->str, key->len};
        enum redis_kind kind;
        uint64_t id;
        if (key->type != REDIS_REPLY_STRING || !redis_key_parse(name, &kind, &id) ||
            kind == REDIS_KIND_BUCKET)
            continue;
        *some = redis_calls_full(target->calls);
        if (*some)
            break;
        redis_calls_put_remove(target->calls, kind, id, name);
        target->scan.removed++;
    }
    return redis_target_run(target, consumer);
}

/* The node is done: the next one, or *done. */
static void scan_next_node(struct redis_target *target, bool *done)
{
    struct redis_scan *scan = &target->scan;
    if (scan->n_done < REDIS_NODES_MAX && !scan_is_done(scan, scan->run_id))
        memcpy(scan->done[scan->n_done++], scan->run_id, sizeof scan->run_id);
    scan->slot = redis_next_owner(target->calls->redis, scan->slot);
    scan_set_cursor(scan, "0");
    *done = scan->slot >= REDIS_SLOTS;
}

static bool scan_ask(struct redis_target *target, struct consumer *consumer,
                     struct redis_call *call, struct bytes args[SCAN_ARGS])
{
    struct redis_scan *scan = &target->scan;
    char text[CONSUMER_TROUBLE_MAX];
    args[0] = (struct bytes){(const uint8_t *)"SCAN", 4};
    args[1] = (struct bytes){(const uint8_t *)scan->cursor, strlen(scan->cursor)};
    args[2] = (struct bytes){(const uint8_t *)"COUNT", 5};
    args[3] = (struct bytes){(const uint8_t *)"500", 3};
    *call = (struct redis_call){
        .args = args, .n_args = SCAN_ARGS, .to_slot = true, .slot = (uint16_t)scan->slot};
    if (!consume_goes_on(consumer))
        return false;
    redis_run(target->calls->redis, call, 1, wait_now_ms() + REDIS_CALLS_WAIT_MS);
    if (call->outcome == REDIS_DONE && scan_is_answer(call->reply))
        return true;
    snprintf(text, sizeof text, "Redis: %.180s",
             call->outcome == REDIS_DONE ? "it answers nonsense" : call->message);
    consume_note(consumer, text);
    return false;
}

void redis_scan_begin(struct redis_target *target)
{
    memset(&target->scan, 0, sizeof target->scan);
    scan_set_cursor(&target->scan, "0");
}

bool redis_scan_step(struct redis_target *target, struct consumer *consumer, redis_scan_take *take,
                     bool *done)
{
    struct redis_scan *scan = &target->scan;
    struct redis_call call;
    struct bytes args[SCAN_ARGS];
    char cursor[sizeof scan->cursor];
    if (!scan_ask(target, consumer, &call, args))
        return false;
    bool begins = !strcmp(scan->cursor, "0");
    if (!begins && strcmp(call.run_id, scan->run_id) != 0) {
        scan_set_cursor(scan, "0"); /* a cursor is of the process that gave it */
        return true;
    }
    snprintf(scan->run_id, sizeof scan->run_id, "%s", call.run_id);
    if (begins && scan_is_done(scan, scan->run_id)) { /* by another of its slots */
        scan_next_node(target, done);
        return true;
    }
    snprintf(cursor, sizeof cursor, "%s", call.reply->element[0]->str);
    bool some = false;
    if (!take(target, consumer, call.reply->element[1], &some))
        return false;
    if (some)
        return true; /* the same again, without those */
    scan_set_cursor(scan, cursor);
    if (!strcmp(cursor, "0"))
        scan_next_node(target, done);
    return true;
}

/* ---- Comments --------------------------------------------------------------------------------- */

/* A level of replies that is gone through. */
struct fill_level {
    uint64_t parent;
    struct tidings_cursor next;
};

struct fill_levels {
    size_t n, cap;
    struct fill_level *levels;
};

static bool levels_push(struct fill_levels *levels, uint64_t parent)
{
    if (levels->n == levels->cap) {
        size_t cap = levels->cap ? 2 * levels->cap : 16;
        struct fill_level *grown = realloc(levels->levels, cap * sizeof *grown);
        if (!grown)
            return false;
        levels->levels = grown;
        levels->cap = cap;
    }
    levels->levels[levels->n++] = (struct fill_level){.parent = parent};
    return true;
}

static bool fill_comment_likes(struct redis_target *target, struct consumer *consumer,
                               const struct tidings_comment *comment)
{
    uint64_t position = consume_position(consumer);
    if (!comment->counts.like_count)
        return true;
    return redis_read_comment_likes(target, consumer, comment->id, position) &&
           redis_read_list(target, consumer, REDIS_KIND_COMMENT_LIKERS, comment->id, position);
}

/* A page of the deepest level; replies to what is on it are further levels, which come first. */
static bool fill_comments_page(struct redis_target *target, struct consumer *consumer,
                               uint64_t post, struct fill_levels *levels)
{
    struct fill_level *level = &levels->levels[levels->n - 1];
    uint32_t limit = target->page < COMMENTS_A_PAGE ? target->page : COMMENTS_A_PAGE;
    struct tidings_op op = {.kind = TIDINGS_OP_COMMENTS,
                            .role = TIDINGS_ROLE_ADMIN,
                            .user_id = READER,
                            .u.comments = {.post_id = post,
                                           .parent_id = level->parent,
                                           .sort = TIDINGS_OLD,
                                           .include_hidden = true,
                                           .page = {.limit = limit, .after = level->next}}};
    bool found;
    if (!redis_target_ask(target, consumer, &op, &target->answer, &found))
        return false;
    level->next = found ? target->answer.u.comments.next : (struct tidings_cursor){0};
    if (!level->next.a && !level->next.b)
        levels->n--;
    for (size_t i = 0; found && i < target->answer.u.comments.n; i++) {
        const struct tidings_comment *comment = &target->answer.u.comments.rows[i];
        if (!fill_comment_likes(target, consumer, comment) || !levels_push(levels, comment->id))
            return false;
    }
    return true;
}

static bool fill_comments(struct redis_target *target, struct consumer *consumer, uint64_t post)
{
    struct fill_levels levels = {0};
    bool fine = levels_push(&levels, 0);
    while (fine && levels.n)
        fine = fill_comments_page(target, consumer, post, &levels);
    free(levels.levels);
    return fine;
}

/* ---- Posts ------------------------------------------------------------------------------------ */

static bool fill_likes(struct redis_target *target, struct consumer *consumer,
                       const uint64_t *posts, size_t n)
{
    uint64_t position = consume_position(consumer);
    struct tidings_op op = {.kind = TIDINGS_OP_STATS_MANY,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = READER,
                            .u.posts = {.post_ids = posts, .n_post_ids = n}};
    if (!n)
        return true;
    if (!redis_target_ask(target, consumer, &op, &target->answer, NULL))
        return false;
    for (size_t i = 0; i < target->answer.u.stats_many.n; i++) {
        const struct tidings_stats_row *row = &target->answer.u.stats_many.rows[i];
        if (row->err || !row->stats.counts.like_count)
            continue;
        if (!redis_target_make_room(target, consumer))
            return false;
        redis_calls_put_number(target->calls, REDIS_KIND_STORY_LIKES, posts[i],
                               row->stats.counts.like_count, position);
        if (!redis_read_list(target, consumer, REDIS_KIND_STORY_LIKERS, posts[i], position))
            return false;
    }
    return true;
}

/* A page of the posts of the user who is gone through. */
static bool fill_posts(struct redis_target *target, struct consumer *consumer)
{
    struct redis_walk *walk = &target->walk;
    uint32_t limit = target->page < target->ids_max ? target->page : target->ids_max;
    struct tidings_op op = {
        .kind = TIDINGS_OP_AUTHOR_PAGE,
        .role = TIDINGS_ROLE_SERVICE,
        .user_id = walk->user,
        .u.feed = {.author_id = walk->user, .page = {.limit = limit, .after = walk->posts}}};
    bool found;
    size_t n = 0;
    if (!redis_target_ask(target, consumer, &op, &target->answer, &found))
        return false;
    struct tidings_cursor next = {0};
    if (found)
        next = target->answer.u.feed.next;
    for (size_t i = 0; found && i < target->answer.u.feed.n; i++)
        if (!target->answer.u.feed.rows[i].is_deleted)
            target->ids[n++] = target->answer.u.feed.rows[i].post_id;
    if (!fill_likes(target, consumer, target->ids, n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!fill_comments(target, consumer, target->ids[i]))
            return false;
    if (!redis_target_run(target, consumer))
        return false;
    walk->posts = next;
    if (!next.a && !next.b)
        walk->user = 0;
    return true;
}

/* ---- Users ------------------------------------------------------------------------------------ */

/* Lists that the counts say are empty are not asked for. */
static bool fill_user(struct redis_target *target, struct consumer *consumer, uint64_t user,
                      const struct tidings_counters *counters)
{
    uint64_t position = consume_position(consumer);
    const struct {
        enum redis_kind kind;
        bool any;
    } lists[] = {
        {REDIS_KIND_FOLLOWING, counters->following > 0},
        {REDIS_KIND_FOLLOWERS, counters->followers > 0},
        {REDIS_KIND_STORIES_LIKED, true}, /* of deleted posts, too, which do not count */
        {REDIS_KIND_COMMENTS_LIKED, true},
    };
    if (!redis_target_make_room(target, consumer))
        return false;
    redis_calls_put_counts(target->calls, user, counters, position);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lists[i].any && !redis_read_list(target, consumer, lists[i].kind, user, position))
            return false;
    return true;
}

/* One who has posts ends the step: these are next. */
static bool fill_users(struct redis_target *target, struct consumer *consumer,
                       struct consumer_fill *fill, bool *done)
{
    uint64_t users[USERS_A_STEP], last = fill->after;
    size_t max = target->ids_max < USERS_A_STEP ? target->ids_max : USERS_A_STEP, n = 0, i = 0;
    if (tidings_users(target->tidings, fill->after, users, max, &n)) {
        consume_note(consumer, "the engine does not say which users there are");
        return false;
    }
    struct tidings_op op = {.kind = TIDINGS_OP_COUNTERS_MANY,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = READER,
                            .u.many = {.user_ids = users, .n_user_ids = n}};
    if (n && !redis_target_ask(target, consumer, &op, &target->answer, NULL))
        return false;
    uint64_t author = 0;
    for (; i < n && !author; i++) {
        const struct tidings_counters *counters = &target->answer.u.counters_many.rows[i];
        if (!fill_user(target, consumer, users[i], counters))
            return false;
        last = users[i];
        author = counters->posts ? last : 0;
    }
    if (!redis_target_run(target, consumer))
        return false;
    target->walk = (struct redis_walk){.user = author};
    fill->after = last;
    fill->done += i;
    *done = !n;
    return true;
}

bool redis_fill_walk(struct redis_target *target, struct consumer *consumer,
                     struct consumer_fill *fill, bool *done)
{
    if (target->walk.user)
        return fill_posts(target, consumer);
    return fill_users(target, consumer, fill, done);
}

/* ---- Steps ------------------------------------------------------------------------------------ */

static void fill_log_removed(const struct redis_target *target)
{
    struct log_line line;
    log_begin(&line, LOG_INFO, "keys in Redis were removed");
    log_u64(&line, "keys", target->scan.removed);
    log_end(&line);
}

/* The marks say that keys are missing before any is removed; if they are gone in the end, so may be what was filled. */
static bool fill_step_of(struct redis_target *target, struct consumer *consumer,
                         struct consumer_fill *fill, bool *done)
{
    bool part_done = false;
    switch (fill->step) {
    case FILL_BEGINS:
        if (!redis_marks_write(target, consumer, true, false))
            return false;
        redis_scan_begin(target);
        target->walk = (struct redis_walk){0};
        fill->step = FILL_REMOVES;
        return true;
    case FILL_REMOVES:
        if (!redis_scan_step(target, consumer, scan_remove, &part_done))
            return false;
        if (part_done) {
            fill_log_removed(target);
            fill->step = FILL_USERS;
        }
        return true;
    default:
        return redis_fill_walk(target, consumer, fill, done);
    }
}

enum consumer_filled redis_fill_step(void *ctx, struct consumer *consumer,
                                     struct consumer_fill *fill)
{
    struct redis_target *target = ctx;
    bool done = false, all = false;
    target->n_missing = 0;
    if (!fill_step_of(target, consumer, fill, &done))
        return CONSUMER_FILL_FAILED;
    if (!done)
        return CONSUMER_FILL_MORE;
    if (!redis_marks_check(target, consumer, true, &all))
        return CONSUMER_FILL_FAILED;
    if (!all) {
        *fill = (struct consumer_fill){0};
        consume_note(consumer, "Redis was emptied while its keys were made");
        return CONSUMER_FILL_FAILED;
    }
    return redis_marks_write(target, consumer, false, true) ? CONSUMER_FILL_DONE
                                                            : CONSUMER_FILL_FAILED;
}

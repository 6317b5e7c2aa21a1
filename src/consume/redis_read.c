/* SPDX-License-Identifier: MIT */
/* What the engine answers now, as keys. It is of the position given or of a later one: what happened behind that is told later, and changes the key again. */
#include <string.h>

#include "consume/redis_parts.h"

enum { READER = 1 /* somebody has to ask; it does not matter who */ };

static size_t redis_read_next_ids(const struct redis_target *target, size_t left)
{
    return left < target->ids_max ? left : target->ids_max;
}

/* ---- Counts ----------------------------------------------------------------------------------- */

bool redis_read_counts(struct redis_target *target, struct consumer *consumer,
                       const uint64_t *users, size_t n, uint64_t position)
{
    for (size_t i = 0, taken; i < n; i += taken) {
        taken = redis_read_next_ids(target, n - i);
        struct tidings_op op = {.kind = TIDINGS_OP_COUNTERS_MANY,
                                .role = TIDINGS_ROLE_SERVICE,
                                .user_id = READER,
                                .u.many = {.user_ids = users + i, .n_user_ids = taken}};
        if (!redis_target_ask(target, consumer, &op, &target->answer, NULL))
            return false;
        for (size_t k = 0; k < target->answer.u.counters_many.n; k++) {
            if (!redis_target_make_room(target, consumer))
                return false;
            redis_calls_put_counts(target->calls, users[i + k],
                                   &target->answer.u.counters_many.rows[k], position);
        }
    }
    return true;
}

/* A post that is deleted has no likes that anybody may see. */
bool redis_read_story_likes(struct redis_target *target, struct consumer *consumer,
                            const uint64_t *posts, size_t n, uint64_t position)
{
    for (size_t i = 0, taken; i < n; i += taken) {
        taken = redis_read_next_ids(target, n - i);
        struct tidings_op op = {.kind = TIDINGS_OP_STATS_MANY,
                                .role = TIDINGS_ROLE_SERVICE,
                                .user_id = READER,
                                .u.posts = {.post_ids = posts + i, .n_post_ids = taken}};
        if (!redis_target_ask(target, consumer, &op, &target->answer, NULL))
            return false;
        for (size_t k = 0; k < target->answer.u.stats_many.n; k++) {
            const struct tidings_stats_row *row = &target->answer.u.stats_many.rows[k];
            if (!redis_target_make_room(target, consumer))
                return false;
            redis_calls_put_number(target->calls, REDIS_KIND_STORY_LIKES, posts[i + k],
                                   row->err ? 0 : row->stats.counts.like_count, position);
        }
    }
    return true;
}

bool redis_read_comment_likes(struct redis_target *target, struct consumer *consumer,
                              uint64_t comment, uint64_t position)
{
    struct tidings_op op = {.kind = TIDINGS_OP_STATS,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = READER,
                            .u.react = {.target = TIDINGS_TARGET_COMMENT, .id = comment}};
    bool found;
    if (!redis_target_ask(target, consumer, &op, &target->nested, &found) ||
        !redis_target_make_room(target, consumer))
        return false;
    redis_calls_put_number(target->calls, REDIS_KIND_COMMENT_LIKES, comment,
                           found ? target->nested.u.stats.counts.like_count : 0, position);
    return true;
}

/* Somebody who has a token left has no key, or one that ends when there was to be one. */
bool redis_read_bucket(struct redis_target *target, struct consumer *consumer, uint64_t user)
{
    struct tidings_limit limit;
    if (tidings_follow_limit(target->tidings, user, &limit) || limit.left > 0 || limit.next_ms <= 0)
        return true;
    if (!redis_target_make_room(target, consumer))
        return false;
    redis_calls_put_bucket(target->calls, user, limit.next_ms);
    return true;
}

/* ---- Lists ------------------------------------------------------------------------------------ */

static struct tidings_op redis_list_op(enum redis_kind kind, uint64_t id, struct tidings_page page)
{
    bool of_comment = kind == REDIS_KIND_COMMENT_LIKERS || kind == REDIS_KIND_COMMENTS_LIKED;
    struct tidings_op op = {.role = TIDINGS_ROLE_SERVICE, .user_id = READER};
    switch (kind) {
    case REDIS_KIND_FOLLOWING:
    case REDIS_KIND_FOLLOWERS:
        op.kind = kind == REDIS_KIND_FOLLOWING ? TIDINGS_OP_FOLLOWING : TIDINGS_OP_FOLLOWERS;
        op.u.users.user_id = id;
        op.u.users.page = page;
        break;
    case REDIS_KIND_STORIES_LIKED:
    case REDIS_KIND_COMMENTS_LIKED:
        op.kind = TIDINGS_OP_REACTED;
        op.user_id = id;
        break;
    default:
        op.kind = TIDINGS_OP_REACTORS;
        op.u.reactors.id = id;
        break;
    }
    if (op.kind == TIDINGS_OP_REACTED || op.kind == TIDINGS_OP_REACTORS) {
        op.u.reactors.reaction = TIDINGS_LIKE;
        op.u.reactors.target = of_comment ? TIDINGS_TARGET_COMMENT : TIDINGS_TARGET_POST;
        op.u.reactors.page = page;
    }
    return op;
}

static size_t redis_list_rows(const struct tidings_op *op, const struct tidings_answer *answer,
                              struct redis_member *members, struct tidings_cursor *next)
{
    bool reacted = op->kind == TIDINGS_OP_REACTED;
    size_t n = reacted ? answer->u.reacted.n : answer->u.users.n;
    *next = reacted ? answer->u.reacted.next : answer->u.users.next;
    for (size_t i = 0; i < n; i++)
        members[i] = reacted ? (struct redis_member){.id = answer->u.reacted.rows[i].id,
                                                     .at_ms = answer->u.reacted.rows[i].at}
                             : (struct redis_member){.id = answer->u.users.rows[i].user_id,
                                                     .at_ms = answer->u.users.rows[i].since};
    return n;
}

/* The next members, as many as go into one call; *next is {0, 0} at the end. */
static bool redis_list_read(struct redis_target *target, struct consumer *consumer,
                            enum redis_kind kind, uint64_t id, struct tidings_cursor *next,
                            size_t *n)
{
    *n = 0;
    do {
        size_t room = REDIS_MEMBERS - *n;
        uint32_t limit = room < target->page ? (uint32_t)room : target->page;
        struct tidings_op op =
            redis_list_op(kind, id, (struct tidings_page){.limit = limit, .after = *next});
        bool found;
        if (!redis_target_ask(target, consumer, &op, &target->nested, &found))
            return false;
        *next = (struct tidings_cursor){0};
        if (found)
            *n += redis_list_rows(&op, &target->nested, target->members + *n, next);
    } while ((next->a || next->b) && *n < REDIS_MEMBERS);
    return true;
}

/* More than go into one call. */
static bool redis_list_build(struct redis_target *target, struct consumer *consumer,
                             enum redis_kind kind, uint64_t id, uint64_t position,
                             struct tidings_cursor next, size_t n)
{
    redis_calls_begin_build(target->calls);
    for (;;) {
        if (n)
            redis_calls_put_part(target->calls, kind, id, target->members, n);
        if (!redis_target_run(target, consumer))
            return false;
        if (!next.a && !next.b)
            break;
        if (!redis_list_read(target, consumer, kind, id, &next, &n))
            return false;
    }
    redis_calls_put_built(target->calls, kind, id, position);
    if (!redis_target_run(target, consumer))
        return false;
    if (!target->calls->n_missing)
        return true;
    consume_note(consumer, "Redis: what was written is gone");
    return false;
}

bool redis_read_list(struct redis_target *target, struct consumer *consumer, enum redis_kind kind,
                     uint64_t id, uint64_t position)
{
    struct tidings_cursor next = {0};
    size_t n, max = redis_kind_max(kind);
    if (!redis_target_make_room(target, consumer) ||
        !redis_list_read(target, consumer, kind, id, &next, &n))
        return false;
    if (!max && (next.a || next.b))
        return redis_target_run(target, consumer) &&
               redis_list_build(target, consumer, kind, id, position, next, n);
    redis_calls_put_list(target->calls, kind, id, target->members, n, position);
    return true;
}

bool redis_read_missing(struct redis_target *target, struct consumer *consumer, uint64_t position)
{
    size_t n = target->n_missing;
    for (size_t i = 0; i < n; i++)
        if (!redis_read_list(target, consumer, target->missing[i].kind, target->missing[i].id,
                             position))
            return false;
    target->n_missing = 0;
    return redis_target_run(target, consumer);
}

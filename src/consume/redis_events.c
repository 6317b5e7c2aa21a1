/* SPDX-License-Identifier: MIT */
/*
 * Which keys a page of events changes. Lists are changed by what the events say; counts, of which an event says too little, are what the engine answers once
 * the page is read, which is no older. Each key is changed once a page.
 */
#include <stdlib.h>
#include <string.h>

#include "consume/redis_parts.h"
#include "domain/events.h"

/* ---- Touches ---------------------------------------------------------------------------------- */

static void touch(struct redis_target *target, enum redis_kind kind, uint64_t id, uint32_t order)
{
    if (id)
        target->touches[target->n_touches++] =
            (struct redis_touch){.kind = kind, .id = id, .order = order};
}

static void touch_anew(struct redis_target *target, enum redis_kind kind, uint64_t id,
                       uint32_t order)
{
    touch(target, kind, id, order);
    if (id)
        target->touches[target->n_touches - 1].anew = true;
}

static void touch_member(struct redis_target *target, enum redis_kind kind, uint64_t id,
                         uint32_t order, struct redis_member member)
{
    touch(target, kind, id, order);
    if (id)
        target->touches[target->n_touches - 1].member = member;
}

static struct redis_member member_of(const struct tidings_event *event, uint64_t id, bool removed)
{
    return (struct redis_member){.id = id, .at_ms = event->happened_at, .is_removed = removed};
}

static void touch_follow(struct redis_target *target, const struct tidings_event *event,
                         uint32_t order)
{
    bool removed = event->type == TIDINGS_EVENT_FOLLOW_CANCELED;
    uint64_t fan = event->actor_user_id, author = event->target_id;
    touch(target, REDIS_KIND_COUNTS, fan, order);
    touch(target, REDIS_KIND_COUNTS, author, order);
    touch(target, REDIS_KIND_BUCKET, fan, order);
    touch_member(target, REDIS_KIND_FOLLOWING, fan, order, member_of(event, author, removed));
    touch_member(target, REDIS_KIND_FOLLOWERS, author, order, member_of(event, fan, removed));
}

static void touch_reaction(struct redis_target *target, const struct tidings_event *event,
                           uint32_t order)
{
    bool removed = event->type == TIDINGS_EVENT_REACTION_DELETED;
    uint64_t user = event->actor_user_id, post = event->target_id;
    touch(target, REDIS_KIND_COUNTS, user, order);
    touch(target, REDIS_KIND_COUNTS, event->author_id, order);
    if (event->reaction != TIDINGS_LIKE)
        return;
    touch(target, REDIS_KIND_STORY_LIKES, post, order);
    touch_member(target, REDIS_KIND_STORY_LIKERS, post, order, member_of(event, user, removed));
    touch_member(target, REDIS_KIND_STORIES_LIKED, user, order, member_of(event, post, removed));
}

static void touch_vote(struct redis_target *target, const struct tidings_event *event,
                       uint32_t order)
{
    bool removed = event->type == TIDINGS_EVENT_VOTE_DELETED;
    uint64_t user = event->actor_user_id, comment = event->target_id;
    if (event->reaction != TIDINGS_LIKE)
        return;
    touch(target, REDIS_KIND_COMMENT_LIKES, comment, order);
    touch_member(target, REDIS_KIND_COMMENT_LIKERS, comment, order,
                 member_of(event, user, removed));
    touch_member(target, REDIS_KIND_COMMENTS_LIKED, user, order,
                 member_of(event, comment, removed));
}

static void touch_all(struct redis_target *target, const struct tidings_event *event,
                      uint32_t order)
{
    switch (event->type) {
    case TIDINGS_EVENT_FOLLOW_CREATED:
    case TIDINGS_EVENT_FOLLOW_CANCELED:
        touch_follow(target, event, order);
        break;
    case TIDINGS_EVENT_PREFERENCES_CHANGED: /* takes tokens of the same bucket */
        touch(target, REDIS_KIND_BUCKET, event->actor_user_id, order);
        break;
    case TIDINGS_EVENT_POST_PUBLISHED:
        touch(target, REDIS_KIND_COUNTS, event->author_id, order);
        break;
    case TIDINGS_EVENT_POST_DELETED:
        touch(target, REDIS_KIND_COUNTS, event->author_id, order);
        touch(target, REDIS_KIND_STORY_LIKES, event->target_id, order);
        touch_anew(target, REDIS_KIND_STORY_LIKERS, event->target_id, order);
        break;
    case TIDINGS_EVENT_REACTION_CREATED:
    case TIDINGS_EVENT_REACTION_DELETED:
        touch_reaction(target, event, order);
        break;
    case TIDINGS_EVENT_VOTE_CREATED:
    case TIDINGS_EVENT_VOTE_DELETED:
        touch_vote(target, event, order);
        break;
    case TIDINGS_EVENT_COMMENT_DELETED:
        touch(target, REDIS_KIND_COMMENT_LIKES, event->target_id, order);
        touch_anew(target, REDIS_KIND_COMMENT_LIKERS, event->target_id, order);
        break;
    default:
        break;
    }
}

static int compare_touches(const void *a, const void *b)
{
    const struct redis_touch *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* What cannot be read is about nobody. */
static void collect_touches(struct redis_target *target, const struct consumer_page *page)
{
    target->n_touches = 0;
    for (size_t i = 0; i < page->n; i++)
        if (event_is_sound(&page->events[i]))
            touch_all(target, &page->events[i], (uint32_t)i);
    qsort(target->touches, target->n_touches, sizeof *target->touches, compare_touches);
}

/* ---- Changes ---------------------------------------------------------------------------------- */

/* The different ids of a kind. */
static size_t ids_of_kind(struct redis_target *target, enum redis_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < target->n_touches; i++)
        if (target->touches[i].kind == kind && (!n || target->ids[n - 1] != target->touches[i].id))
            target->ids[n++] = target->touches[i].id;
    return n;
}

/* Those from `at` on that are about one key; *n: how many. */
static bool change_list(struct redis_target *target, struct consumer *consumer, size_t at,
                        size_t *n, uint64_t position)
{
    const struct redis_touch *first = &target->touches[at];
    bool anew = false;
    size_t room = REDIS_MEMBERS;
    for (*n = 0; at + *n < target->n_touches; ++*n) {
        const struct redis_touch *next = first + *n;
        if (next->kind != first->kind || next->id != first->id)
            break;
        anew |= next->anew || *n == room; /* with so many changes reading it is as quick */
        if (*n < room)
            target->members[*n] = next->member;
    }
    if (anew)
        return redis_read_list(target, consumer, first->kind, first->id, position);
    if (!redis_target_make_room(target, consumer))
        return false;
    redis_calls_put_change(target->calls, first->kind, first->id, target->members, *n, position);
    return true;
}

static bool change_lists(struct redis_target *target, struct consumer *consumer, uint64_t position)
{
    for (size_t i = 0, n = 1; i < target->n_touches; i += n) {
        n = 1;
        if (redis_kind_value(target->touches[i].kind) == REDIS_VALUE_LIST &&
            !change_list(target, consumer, i, &n, position))
            return false;
    }
    return true;
}

static bool change_others(struct redis_target *target, struct consumer *consumer, uint64_t position)
{
    size_t n = ids_of_kind(target, REDIS_KIND_COUNTS);
    if (!redis_read_counts(target, consumer, target->ids, n, position))
        return false;
    n = ids_of_kind(target, REDIS_KIND_STORY_LIKES);
    if (!redis_read_story_likes(target, consumer, target->ids, n, position))
        return false;
    n = ids_of_kind(target, REDIS_KIND_COMMENT_LIKES);
    for (size_t i = 0; i < n; i++)
        if (!redis_read_comment_likes(target, consumer, target->ids[i], position))
            return false;
    n = ids_of_kind(target, REDIS_KIND_BUCKET);
    for (size_t i = 0; i < n; i++)
        if (!redis_read_bucket(target, consumer, target->ids[i]))
            return false;
    return true;
}

bool redis_events_tell(void *ctx, struct consumer *consumer, struct consumer_page *page)
{
    struct redis_target *target = ctx;
    uint64_t position = page->events[page->n - 1].event_id;
    target->n_missing = 0;
    collect_touches(target, page);
    if (!change_others(target, consumer, position) || !change_lists(target, consumer, position) ||
        !redis_target_run(target, consumer) || !redis_read_missing(target, consumer, position))
        return false;
    page->done = page->n;
    return true;
}

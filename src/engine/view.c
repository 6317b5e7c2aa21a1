/* SPDX-License-Identifier: MIT */
#include "engine/view.h"

#include <stdlib.h>

#include "domain/events.h"
#include "domain/ids.h"

/* News of one batch that are remembered at most; whoever watches is told that there were more. */
enum { NEWS_MAX = 1 << 16 };

/* ---- Memory --------------------------------------------------------------------------------- */

struct tidings_text view_text(struct view *view, struct arena *arena, struct bytes bytes)
{
    char *copy = arena_text(arena, bytes.p, bytes.n);
    if (!copy) {
        view_fail(view, TIDINGS_NO_MEMORY);
        return (struct tidings_text){"", 0};
    }
    return (struct tidings_text){copy, bytes.n};
}

struct bytes view_keep(struct view *view, struct bytes bytes)
{
    return bytes_of(view_text(view, view->scratch, bytes));
}

void *view_array(struct view *view, struct arena *arena, size_t count, size_t size)
{
    void *array = arena_array(arena, count, size);
    if (!array)
        view_fail(view, TIDINGS_NO_MEMORY);
    return array;
}

/* ---- For answers ---------------------------------------------------------------------------- */

void view_profile(struct view *view, uint64_t user, struct arena *arena, struct tidings_text *name,
                  struct tidings_text *avatar)
{
    struct profile_record profile = view->rows->get_profile(view, user);
    *name = view_text(view, arena, profile.name);
    if (avatar)
        *avatar = view_text(view, arena, profile.avatar);
}

size_t view_limit(const struct view *view, const struct tidings_page *page)
{
    size_t most = view->settings->page_max;
    size_t standard = view->settings->page_default;
    if (page->limit)
        return page->limit;
    return standard < most ? standard : most;
}

size_t view_page(struct view *view, const struct list *list, const struct tidings_page *page,
                 struct place **places, struct tidings_cursor *next)
{
    size_t limit = view_limit(view, page);
    *places = view_array(view, view->scratch, limit + 1, sizeof **places);
    if (!*places)
        return 0;
    size_t n = view->rows->get_list(view, list, page->after, limit + 1, *places);
    if (n <= limit)
        return n;
    *next = (*places)[limit - 1].at;
    return limit;
}

int64_t view_time(struct view *view, uint64_t id)
{
    int64_t ms;
    if (id < ID_EARLY_END && view->rows->get_time && view->rows->get_time(view, id, &ms))
        return ms;
    return id_time_ms(id);
}

void view_user_row(struct view *view, struct reply *reply, uint64_t user, uint64_t stamp)
{
    struct tidings_user_row *row = &reply->answer->u.users.rows[reply->answer->u.users.n++];
    *row = (struct tidings_user_row){.user_id = user, .since = view_time(view, stamp)};
    view_profile(view, user, reply->arena, &row->name, &row->avatar);
}

/* ---- For changes ---------------------------------------------------------------------------- */

static struct bucket_rule rule_of(const struct tidings_settings *settings, enum bucket bucket)
{
    switch (bucket) {
#define X(name, lower)                                                \
    case BUCKET_##name:                                               \
        return (struct bucket_rule){(int64_t)settings->lower##_burst, \
                                    (int64_t)settings->lower##_refill_ms};
        BUCKETS(X)
#undef X
    }
    abort();
}

static uint64_t *full_at_of(struct user_record *user, enum bucket bucket)
{
    switch (bucket) {
#define X(name, lower)  \
    case BUCKET_##name: \
        return &user->lower##_full_at;
        BUCKETS(X)
#undef X
    }
    abort();
}

static struct tidings_limit limit_of(const struct view *view, enum bucket bucket, int64_t full_at)
{
    static const char *const names[] = {
#define X(name, lower) [BUCKET_##name] = #lower,
        BUCKETS(X)
#undef X
    };
    struct bucket_rule rule = rule_of(view->settings, bucket);
    struct tidings_limit limit = {
        .name = names[bucket], .burst = rule.burst, .refill_ms = rule.refill_ms};
    limit.left = bucket_left(&rule, view->elapsed_ms, full_at, &limit.next_ms);
    return limit;
}

void view_bucket_left(struct view *view, uint64_t user, enum bucket bucket,
                      struct tidings_limit *limit)
{
    struct user_record record = view_user(view, user);
    *limit = limit_of(view, bucket, (int64_t)*full_at_of(&record, bucket));
}

enum tidings_err view_take_tokens(struct view *view, struct reply *reply, enum bucket bucket,
                                  uint64_t tokens, struct user_record *user)
{
    struct bucket_rule rule = rule_of(view->settings, bucket);
    uint64_t *full_at = full_at_of(user, bucket);
    int64_t at = (int64_t)*full_at;
    if (reply->op->role != TIDINGS_ROLE_USER)
        return TIDINGS_OK;
    bool taken =
        bucket_take(&rule, (int64_t)tokens, view->elapsed_ms, &at, &reply->answer->retry_after_ms);
    reply->answer->limit = limit_of(view, bucket, at);
    if (!taken)
        return TIDINGS_RATE_LIMITED;
    *full_at = (uint64_t)at;
    return TIDINGS_OK;
}

enum tidings_err view_take_token(struct view *view, struct reply *reply, enum bucket bucket,
                                 struct user_record *user)
{
    return view_take_tokens(view, reply, bucket, 1, user);
}

uint64_t *counter_of(struct user_record *user, enum counter counter)
{
    uint64_t *const counters[] = {
        [COUNTER_FOLLOWING] = &user->following,
        [COUNTER_FOLLOWERS] = &user->followers,
        [COUNTER_POSTS] = &user->posts,
        [COUNTER_LIKED_POSTS] = &user->liked_posts,
        [COUNTER_FAVED_POSTS] = &user->faved_posts,
        [COUNTER_LIKES_RECEIVED] = &user->likes_received,
        [COUNTER_FAVS_RECEIVED] = &user->favs_received,
    };
    return counters[counter];
}

void view_add(struct view *view, uint64_t *count, int64_t delta)
{
    if (delta < 0 && *count < (uint64_t)-delta) {
        view->fault = true;
        view_corrupt(view);
    } else {
        *count += (uint64_t)delta;
    }
}

static bool news_grow(struct news *news)
{
    size_t room = news->room ? news->room * 2 : 64;
    struct tidings_event *grown =
        room <= NEWS_MAX ? realloc(news->events, room * sizeof *grown) : NULL;
    if (!grown)
        return false;
    news->events = grown;
    news->room = room;
    return true;
}

void news_add(struct news *news, const struct tidings_event *event)
{
    if (news->n < news->room || news_grow(news))
        news->events[news->n++] = *event;
    else
        news->lost = true;
}

void view_tell(struct view *view, struct tidings_event event)
{
    event.happened_at = view->now_ms;
    if (event_is_kept(event.type, view->settings))
        view->rows->add_event(view, &event);
    else if (view->rows->tell_event)
        view->rows->tell_event(view, &event);
    if (view->news)
        news_add(view->news, &event);
}

void view_event(struct view *view, enum tidings_event_type type, uint64_t actor, uint64_t target,
                uint64_t author, int64_t delta)
{
    view_tell(view, (struct tidings_event){
                        .type = type,
                        .actor_user_id = actor,
                        .target_id = target,
                        .author_id = author,
                        .delta = delta,
                    });
}

/* SPDX-License-Identifier: MIT */
#include "engine/view.h"

#include "domain/ids.h"

struct user_record view_user(struct view *view, uint64_t user)
{
    struct user_record record = {0};
    struct key key = key_row(user, ROW_USER);
    struct bytes value;
    if (kv_get(view->txn, TABLE_USER, &key, &value) && !user_decode(value, &record))
        view_corrupt(view);
    return record;
}

struct tidings_text view_text(struct view *view, struct arena *arena, struct bytes bytes)
{
    char *copy = arena_text(arena, bytes.p, bytes.n);
    if (!copy) {
        kv_fail(view->txn, TIDINGS_NO_MEMORY);
        return (struct tidings_text){"", 0};
    }
    return (struct tidings_text){copy, bytes.n};
}

void *view_array(struct view *view, struct arena *arena, size_t count, size_t size)
{
    void *array = arena_array(arena, count, size);
    if (!array)
        kv_fail(view->txn, TIDINGS_NO_MEMORY);
    return array;
}

void view_profile(struct view *view, uint64_t user, struct arena *arena, struct tidings_text *name,
                  struct tidings_text *avatar)
{
    struct profile_record profile = {0};
    struct key key = key_id(user);
    struct bytes value;
    if (kv_get(view->txn, TABLE_PROFILE, &key, &value) && !profile_decode(value, &profile))
        view_corrupt(view);
    *name = view_text(view, arena, profile.name);
    if (avatar)
        *avatar = view_text(view, arena, profile.avatar);
}

bool view_post(struct view *view, uint64_t id, struct post_record *post)
{
    struct key key = key_id(id);
    struct bytes value;
    if (!kv_get(view->txn, TABLE_POST, &key, &value))
        return false;
    if (!post_decode(value, post)) {
        view_corrupt(view);
        return false;
    }
    return true;
}

uint64_t view_oldest_id(const struct view *view, int64_t age_ms)
{
    return id_floor(view->now_ms - age_ms + 1);
}

size_t view_limit(const struct view *view, const struct tidings_page *page)
{
    size_t most = view->settings->page_max;
    size_t standard = view->settings->page_default;
    if (page->limit)
        return page->limit;
    return standard < most ? standard : most;
}

void view_put_user(struct view *view, uint64_t user, const struct user_record *record)
{
    uint8_t bytes[USER_RECORD_MAX];
    struct key key = key_row(user, ROW_USER);
    kv_put(view->txn, TABLE_USER, &key, bytes, user_encode(record, bytes));
}

enum tidings_err view_take_token(struct view *view, struct tidings_call *call,
                                 const struct bucket_rule *rule, uint64_t *full_at)
{
    int64_t at = (int64_t)*full_at, wait;
    if (call->op->role != TIDINGS_ROLE_USER)
        return TIDINGS_OK;
    if (!bucket_take(rule, view->now_ms, &at, &wait)) {
        call->result[0] = (uint64_t)wait;
        return TIDINGS_RATE_LIMITED;
    }
    *full_at = (uint64_t)at;
    return TIDINGS_OK;
}

enum tidings_err view_take_follow_token(struct view *view, struct tidings_call *call,
                                        struct user_record *user)
{
    struct bucket_rule rule = {
        .burst = (int64_t)view->settings->follow_burst,
        .refill_ms = (int64_t)view->settings->follow_refill_ms,
    };
    return view_take_token(view, call, &rule, &user->follow_full_at);
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

uint64_t view_next_id(struct view *view)
{
    uint64_t next = id_next(view->last_id, view->now_ms);
    if (!next) {
        kv_fail(view->txn, TIDINGS_NO_SPACE);
        return 0;
    }
    return view->last_id = next;
}

void view_write_event(struct view *view, const struct tidings_event *event)
{
    if (view->events++)
        view_next_id(view);
    struct key key = key_id(view->last_id);
    uint8_t bytes[EVENT_RECORD_MAX];
    kv_put(view->txn, TABLE_EVENT, &key, bytes, event_encode(event, bytes));
}

void view_event(struct view *view, enum tidings_event_type type, uint64_t actor, uint64_t target,
                uint64_t author, int64_t delta)
{
    view_write_event(view, &(struct tidings_event){
                               .type = type,
                               .actor_user_id = actor,
                               .target_id = target,
                               .author_id = author,
                               .delta = delta,
                           });
}

/* SPDX-License-Identifier: MIT */
/*
 * What concerns all fans of an author: a post that was published, and one that was deleted. Fans are asked for by pages, and how far it has come is
 * kept with the position. Who follows is asked now, not as of then:
 *
 *   - who followed since then was not delivered the post, and is not among those who were (ask_engine_fans)
 *   - who left since then has an event of that behind this one, which fills all
 *
 * A deletion also concerns those who left and kept what they had: they stand in a set of the author's.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "legacy/bridge_internal.h"

enum { STAGE_POST, STAGE_FANS, STAGE_LEFT };
enum { INFO_DAYS_S = 7 * 24 * 3600 };
#define LEFT_A_STEP "1000"

static void left_key(uint64_t author, char key[LEGACY_KEY_MAX])
{
    snprintf(key, LEGACY_KEY_MAX, "tidings:bridge:left:%" PRIu64, author);
}

void put_left(struct bundle *bundle, uint64_t author, uint64_t user)
{
    char key[LEGACY_KEY_MAX];
    left_key(author, key);
    bundle_command(bundle, "SADD");
    bundle_text(bundle, key);
    bundle_u64(bundle, user);
}

/* ---- The post itself -------------------------------------------------------------------------- */

static void put_command(struct bridge *bridge, const char *command, enum legacy_key key,
                        uint64_t of)
{
    bundle_command(&bridge->others, command);
    bundle_key(&bridge->others, bridge->old, key, of, 0);
}

static void put_info(struct bridge *bridge, const struct legacy_item *item, const char *title)
{
    struct bundle *others = &bridge->others;
    put_command(bridge, "HSET", LEGACY_BLOG_INFO, item->member);
    bundle_text(others, "id");
    bundle_u64(others, item->member);
    bundle_text(others, "userId");
    bundle_u64(others, item->author);
    bundle_text(others, "title");
    bundle_text(others, title);
    bundle_text(others, "createTime");
    bundle_i64(others, item->at);
    put_command(bridge, "EXPIRE", LEGACY_BLOG_INFO, item->member);
    bundle_u64(others, INFO_DAYS_S);
}

static bool write_post(struct bridge *bridge, const struct legacy_item *item, const char *title,
                       bool deleted)
{
    struct bundle *others = &bridge->others;
    bundle_clear(others);
    put_command(bridge, "SET", LEGACY_BLOG_AUTHOR, item->member);
    bundle_u64(others, item->author);
    if (bridge->state.schemes & SCHEME_2) {
        put_command(bridge, deleted ? "SREM" : "SADD", LEGACY_AUTHOR_BLOGS, item->author);
        bundle_u64(others, item->member);
        if (!deleted)
            put_info(bridge, item, title);
    }
    if (deleted) {
        put_command(bridge, "SADD", LEGACY_DELETED, 0);
        bundle_u64(others, item->member);
    }
    return old_run(bridge->old, others, OLD_NONE) || fail_old(bridge);
}

/* ---- Its fans --------------------------------------------------------------------------------- */

static void keep_share(const struct bridge *bridge, struct id_set *users)
{
    size_t kept = 0;
    id_set_sort(users);
    for (size_t i = 0; i < users->n; i++)
        if (in_share(bridge, users->at[i]))
            users->at[kept++] = users->at[i];
    users->n = kept;
}

static bool touch_all(struct bridge *bridge, const struct tidings_event *event,
                      const struct legacy_item *item, const struct id_set *users)
{
    bool push = event->type == TIDINGS_EVENT_POST_PUBLISHED, fine = !users->failed;
    for (size_t i = 0; i < users->n && fine; i++)
        fine =
            touch_put(bridge, users->at[i], push ? TOUCH_PUSH : TOUCH_GONE, event->event_id, item);
    return fine && touch_flush(bridge) && fill_wanted(bridge);
}

static bool page_of_fans(struct bridge *bridge, const struct tidings_event *event,
                         const struct legacy_item *item, struct id_set *users,
                         struct tidings_cursor *next)
{
    const struct tidings_answer *answer;
    struct tidings_op op = {.kind = TIDINGS_OP_FOLLOWERS,
                            .u.users = {.user_id = item->author,
                                        .page = {ask_engine_page(bridge->ask), bridge->state.fan}}};
    enum tidings_err err = ask_engine_run(bridge->ask, &op, &answer);
    if (err)
        return fail_tidings(bridge, err);
    *next = answer->u.users.next;
    for (size_t i = 0; i < answer->u.users.n; i++)
        id_set_add(users, answer->u.users.rows[i].user_id);
    keep_share(bridge, users);
    return event->type != TIDINGS_EVENT_POST_PUBLISHED ||
           ask_engine_fans(bridge->ask, item->author, item->post, users->at, &users->n) ||
           fail_ask(bridge);
}

/* The cursor is Redis's. A page of a small set is the whole of it, whatever was asked for. */
static bool page_of_left(struct bridge *bridge, const struct legacy_item *item,
                         struct id_set *users, struct tidings_cursor *next)
{
    char key[LEGACY_KEY_MAX];
    left_key(item->author, key);
    bundle_clear(&bridge->others);
    bundle_command(&bridge->others, "SSCAN");
    bundle_text(&bridge->others, key);
    bundle_u64(&bridge->others, bridge->state.fan.a);
    bundle_text(&bridge->others, "COUNT");
    bundle_text(&bridge->others, LEFT_A_STEP);
    if (!old_run(bridge->old, &bridge->others, OLD_NONE))
        return fail_old(bridge);
    const struct redisReply *reply = bridge->others.calls[0].reply;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_STRING)
        return true;
    const struct redisReply *rows = reply->element[1];
    *next = (struct tidings_cursor){strtoull(reply->element[0]->str, NULL, 10), 0};
    for (size_t i = 0; i < rows->elements; i++)
        id_set_add(users, (uint64_t)reply_number(rows->element[i], 0));
    keep_share(bridge, users);
    return true;
}

/* ---- All of it -------------------------------------------------------------------------------- */

/* One after the other; from where it was, if that has begun. */
static bool go_on(struct bridge *bridge, const struct tidings_event *event,
                  const struct legacy_item *item)
{
    struct bridge_state *state = &bridge->state;
    bool deleted = event->type == TIDINGS_EVENT_POST_DELETED;
    unsigned last = deleted ? STAGE_LEFT : STAGE_FANS;
    while (state->fan_stage <= last) {
        struct tidings_cursor next = {0, 0};
        if (is_stopped(bridge))
            return false;
        struct id_set users = {0};
        bool fine = state->fan_stage == STAGE_FANS
                        ? page_of_fans(bridge, event, item, &users, &next)
                        : page_of_left(bridge, item, &users, &next);
        fine = fine && touch_all(bridge, event, item, &users);
        id_set_release(&users);
        if (!fine)
            return false;
        state->fan_stage += !next.a && !next.b;
        state->fan = next;
        if (!state_save(bridge))
            return false;
    }
    return true;
}

bool fan_out(struct bridge *bridge, const struct tidings_event *event)
{
    struct bridge_state *state = &bridge->state;
    struct legacy_item item;
    char title[TITLE_ROOM];
    if (!ask_engine_post(bridge->ask, event->target_id, &item, title))
        return fail_ask(bridge);
    item.author = event->author_id;
    item.at = item.at ? item.at : event->happened_at;
    item.read_at = event->happened_at;
    if (state->fan_event != event->event_id) {
        state->fan_event = event->event_id;
        state->fan_stage = STAGE_POST;
        state->fan = (struct tidings_cursor){0, 0};
    }
    if (state->fan_stage == STAGE_POST) {
        bool deleted = event->type == TIDINGS_EVENT_POST_DELETED;
        if (!write_post(bridge, &item, title, deleted))
            return false;
        state->fan_stage = STAGE_FANS;
    }
    if (!go_on(bridge, event, &item))
        return false;
    state->fan_event = 0;
    return true;
}

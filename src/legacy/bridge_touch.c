/* SPDX-License-Identifier: MIT */
/*
 * One event in one user's keys. A post is unread for a fan if it is in FEED and not in READ (second scheme: if it is in USER_UNREAD); each script changes
 * that, and counts what it has changed, so that counters and lists agree whatever is done twice. A count that would go below zero shows that
 * somebody else has written: the user is filled.
 */
#include <stdlib.h>

#include "legacy/bridge_internal.h"

/* Without `#!lua`, which an old Redis does not know. KEYS: companion, FEED, READ, TOTAL_UNREAD, AUTHOR_UNREAD, USER_READ, USER_UNREAD, UNREAD_COUNT.
 * ARGV: generation, position, schemes, what, member, time, author. */
static struct redis_script touch_script = {
    .text =
        "local known = redis.call('HMGET', KEYS[1], 'generation', 'position')\n"
        "if known[1] ~= ARGV[1] then return -1 end\n"
        "if tonumber(known[2]) >= tonumber(ARGV[2]) then return 0 end\n"
        "redis.call('HSET', KEYS[1], 'position', ARGV[2])\n"
        "local what, member, time, author = ARGV[4], ARGV[5], ARGV[6], ARGV[7]\n"
        "local function count(by)\n"
        "  local total = redis.call('INCRBY', KEYS[4], by)\n"
        "  local left = redis.call('INCRBY', KEYS[5], by)\n"
        "  if left == 0 then redis.call('DEL', KEYS[5]) end\n"
        "  return total >= left and left >= 0\n"
        "end\n"
        "local function first()\n"
        "  local fed = redis.call('ZSCORE', KEYS[2], member)\n"
        "  local read = redis.call('ZSCORE', KEYS[3], member)\n"
        "  if what == 'push' then\n"
        "    if fed then return true end\n"
        "    redis.call('ZADD', KEYS[2], time, member)\n"
        "    return read or count(1)\n"
        "  elseif what == 'unread' then\n"
        "    if not read then return true end\n"
        "    redis.call('ZREM', KEYS[3], member)\n"
        "    return not fed or count(1)\n"
        "  elseif read or (what == 'gone' and not fed) then\n"
        "    return true\n"
        "  end\n"
        "  redis.call('ZADD', KEYS[3], time, member)\n"
        "  return not fed or count(-1)\n"
        "end\n"
        "local function add()\n"
        "  if redis.call('SADD', KEYS[7], member) == 0 then return true end\n"
        "  return redis.call('HINCRBY', KEYS[8], author, 1) > 0\n"
        "end\n"
        "local function second()\n"
        "  if what == 'push' then\n"
        "    return redis.call('SISMEMBER', KEYS[6], member) == 1 or add()\n"
        "  elseif what == 'unread' then\n"
        "    redis.call('SREM', KEYS[6], member)\n"
        "    return add()\n"
        "  end\n"
        "  redis.call('SADD', KEYS[6], member)\n"
        "  if redis.call('SREM', KEYS[7], member) == 0 then return true end\n"
        "  local left = redis.call('HINCRBY', KEYS[8], author, -1)\n"
        "  if left == 0 then redis.call('HDEL', KEYS[8], author) end\n"
        "  return left >= 0\n"
        "end\n"
        "local schemes = tonumber(ARGV[3])\n"
        "if what == 'push' or what == 'unread' then redis.call('HSET', KEYS[1], author, '') end\n"
        "if schemes % 2 == 1 and not first() then return -1 end\n"
        "if schemes >= 2 and not second() then return -1 end\n"
        "return 1\n"};

static const char *const words[] = {
    [TOUCH_PUSH] = "push",
    [TOUCH_READ] = "read",
    [TOUCH_UNREAD] = "unread",
    [TOUCH_GONE] = "gone",
};

void touch_init(void)
{
    redis_script_init(&touch_script);
}

void companion_key(uint64_t user, char key[LEGACY_KEY_MAX])
{
    snprintf(key, LEGACY_KEY_MAX, "tidings:bridge:{%llu}", (unsigned long long)user);
}

static void put_keys(struct bridge *bridge, uint64_t user, uint64_t author)
{
    static const enum legacy_key keys[] = {
        LEGACY_FEED,      LEGACY_READ,        LEGACY_TOTAL_UNREAD, LEGACY_AUTHOR_UNREAD,
        LEGACY_USER_READ, LEGACY_USER_UNREAD, LEGACY_UNREAD_COUNT};
    char companion[LEGACY_KEY_MAX];
    companion_key(user, companion);
    bundle_text(&bridge->bundle, companion);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        bundle_key(&bridge->bundle, bridge->old, keys[i], user, author);
}

static bool is_put(const struct bridge *bridge, uint64_t user)
{
    for (size_t i = 0; i < bridge->n_about; i++)
        if (bridge->about[i] == user)
            return true;
    return false;
}

/* Calls of a bundle have no order: a user is in it once. Fans of one event are, and there is no need to look. */
bool touch_put(struct bridge *bridge, uint64_t user, enum touch touch, uint64_t position,
               const struct legacy_item *item)
{
    struct bundle *bundle = &bridge->bundle;
    bool one_by_one = touch == TOUCH_READ || touch == TOUCH_UNREAD;
    if ((bridge->n_about == BRIDGE_FANS || (one_by_one && is_put(bridge, user))) &&
        !touch_flush(bridge))
        return false;
    bundle_script(bundle, &touch_script, 8);
    put_keys(bridge, user, item->author);
    bundle_u64(bundle, bridge->state.generation);
    bundle_u64(bundle, position);
    bundle_u64(bundle, bridge->state.schemes);
    bundle_text(bundle, words[touch]);
    bundle_u64(bundle, item->member);
    bundle_i64(bundle, touch == TOUCH_PUSH ? item->at : item->read_at);
    bundle_u64(bundle, item->author);
    bridge->about[bridge->n_about++] = user;
    return true;
}

/* A script that was refused met a key of another kind, which filling replaces; or there is no room, and filling says so. */
static bool take(struct bridge *bridge, const struct redis_call *call, uint64_t user)
{
    int64_t done = call->outcome == REDIS_DONE ? reply_number(call->reply, -1) : -1;
    return done >= 0 || fill_want(bridge, user);
}

bool touch_flush(struct bridge *bridge)
{
    bool fine = old_run(bridge->old, &bridge->bundle, OLD_ANY);
    /* Filling uses the client, which then has the answers no more: wanted are counted first. */
    for (size_t i = 0; fine && i < bridge->n_about; i++)
        fine = take(bridge, &bridge->bundle.calls[i], bridge->about[i]);
    bundle_clear(&bridge->bundle);
    bridge->n_about = 0;
    return fine || fail_old(bridge);
}

/* SPDX-License-Identifier: MIT */
/*
 * A user's keys, all of them, as Tidings has the inbox: replaced by one script. What is read may be newer than the position that it is said to be of, in some
 * of its parts: events up to the horizon are in it all, and those behind it are applied again, each to what it is about, so that the
 * last one decides.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "legacy/bridge_internal.h"

enum { GROUP = ASK_MANY, USERS_PAGE = 256 };

/* KEYS: companion, FEED, READ, TOTAL_UNREAD, USER_READ, UNREAD_COUNT; then AUTHOR_UNREAD and USER_UNREAD of each author.
 * ARGV: generation, position, number of the fill, schemes, number of authors; these; then of each post: member, when it came (0: never),
 * when it was read or removed (0: unread), the author's place. Answers with the generation if that is newer. */
static struct redis_script fill_script = {
    .text = "local known = redis.call('HMGET', KEYS[1], 'generation', 'position', 'fill')\n"
            "local generation = tonumber(known[1]) or 0\n"
            "if generation > tonumber(ARGV[1]) then return known[1] end\n"
            "if generation == tonumber(ARGV[1]) and (tonumber(known[2]) > tonumber(ARGV[2]) or\n"
            "    tonumber(known[3]) > tonumber(ARGV[3])) then return 0 end\n"
            "local schemes, authors = tonumber(ARGV[4]), tonumber(ARGV[5])\n"
            "local first, second = schemes % 2 == 1, schemes >= 2\n"
            "redis.call('DEL', KEYS[1])\n"
            "if first then redis.call('DEL', KEYS[2], KEYS[3]) end\n"
            "if second then redis.call('DEL', KEYS[5], KEYS[6]) end\n"
            "for a = 1, authors do\n"
            "  if first then redis.call('DEL', KEYS[5 + 2 * a]) end\n"
            "  if second then redis.call('DEL', KEYS[6 + 2 * a]) end\n"
            "end\n"
            "local total, unread = 0, {}\n"
            "for i = 6 + authors, #ARGV, 4 do\n"
            "  local member, at, read = ARGV[i], ARGV[i + 1], ARGV[i + 2]\n"
            "  local a = tonumber(ARGV[i + 3])\n"
            "  if first and at ~= '0' then redis.call('ZADD', KEYS[2], at, member) end\n"
            "  if read ~= '0' then\n"
            "    if first then redis.call('ZADD', KEYS[3], read, member) end\n"
            "    if second then redis.call('SADD', KEYS[5], member) end\n"
            "  else\n"
            "    total = total + 1\n"
            "    unread[a] = (unread[a] or 0) + 1\n"
            "    if second then redis.call('SADD', KEYS[6 + 2 * a], member) end\n"
            "  end\n"
            "end\n"
            "redis.call('HSET', KEYS[1], 'generation', ARGV[1])\n"
            "redis.call('HSET', KEYS[1], 'position', ARGV[2])\n"
            "redis.call('HSET', KEYS[1], 'fill', ARGV[3])\n"
            "if first then redis.call('SET', KEYS[4], total) end\n"
            "for a, n in pairs(unread) do\n"
            "  redis.call('HSET', KEYS[1], ARGV[5 + a], '')\n"
            "  if first then redis.call('SET', KEYS[5 + 2 * a], n) end\n"
            "  if second then redis.call('HSET', KEYS[6], ARGV[5 + a], n) end\n"
            "end\n"
            "return 1\n"};

void fill_init(void)
{
    redis_script_init(&fill_script);
}

/* ---- Whose counts there are ------------------------------------------------------------------- */

/* Authors of what is in the inbox, and those whom the companion knows of. */
static bool find_authors(const struct legacy_inbox *inbox, const struct redisReply *fields,
                         struct id_set *authors)
{
    for (size_t i = 0; i < inbox->n; i++)
        id_set_add(authors, inbox->items[i].author);
    for (size_t i = 0; fields->type == REDIS_REPLY_ARRAY && i < fields->elements; i++) {
        int64_t author = reply_number(fields->element[i], 0);
        if (author > 0)
            id_set_add(authors, (uint64_t)author);
    }
    id_set_sort(authors);
    return !authors->failed;
}

/* ---- One user --------------------------------------------------------------------------------- */

static void put_keys(struct bridge *bridge, uint64_t user, const struct id_set *authors)
{
    static const enum legacy_key keys[] = {LEGACY_FEED, LEGACY_READ, LEGACY_TOTAL_UNREAD,
                                           LEGACY_USER_READ, LEGACY_UNREAD_COUNT};
    struct bundle *bundle = &bridge->others;
    char companion[LEGACY_KEY_MAX];
    companion_key(user, companion);
    bundle_text(bundle, companion);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        bundle_key(bundle, bridge->old, keys[i], user, 0);
    for (size_t i = 0; i < authors->n; i++) {
        bundle_key(bundle, bridge->old, LEGACY_AUTHOR_UNREAD, user, authors->at[i]);
        bundle_key(bundle, bridge->old, LEGACY_USER_UNREAD, user, authors->at[i]);
    }
}

static void put_item(struct bundle *bundle, const struct legacy_item *item,
                     const struct id_set *authors)
{
    int64_t done = item->read_at ? item->read_at : item->is_deleted ? item->at : 0;
    bundle_u64(bundle, item->member);
    bundle_i64(bundle, item->delivered ? item->at : 0);
    bundle_i64(bundle, done);
    bundle_u64(bundle, id_set_find(authors, item->author) + 1);
}

/* Scripts reckon with 53 bits. */
static uint64_t fill_number(struct bridge *bridge)
{
    return (bridge->state.turn & 0xfffff) << 32 | (++bridge->n_fills & 0xffffffff);
}

static void put_fill(struct bridge *bridge, const struct legacy_inbox *inbox,
                     const struct id_set *authors)
{
    struct bundle *bundle = &bridge->others;
    bundle_script(bundle, &fill_script, (unsigned)(6 + 2 * authors->n));
    put_keys(bridge, inbox->user, authors);
    bundle_u64(bundle, bridge->state.generation);
    bundle_u64(bundle, bridge->horizon);
    bundle_u64(bundle, fill_number(bridge));
    bundle_u64(bundle, bridge->state.schemes);
    bundle_u64(bundle, authors->n);
    for (size_t i = 0; i < authors->n; i++)
        bundle_u64(bundle, authors->at[i]);
    for (size_t i = 0; i < inbox->n; i++)
        put_item(bundle, &inbox->items[i], authors);
}

/* What is known of posts is the same for all of their fans: it is written for one of them. */
static void put_post(struct bridge *bridge, const struct legacy_item *item)
{
    struct bundle *bundle = &bridge->others;
    uint64_t *told = &bridge->told_posts[legacy_place(item->post, BRIDGE_TOLD_BITS)];
    uint64_t state = item->post * 2 + item->is_deleted;
    if (*told == state)
        return;
    *told = state;
    bundle_command(bundle, "SET");
    bundle_key(bundle, bridge->old, LEGACY_BLOG_AUTHOR, item->member, 0);
    bundle_u64(bundle, item->author);
    if (bridge->state.schemes & SCHEME_2) {
        bundle_command(bundle, item->is_deleted ? "SREM" : "SADD");
        bundle_key(bundle, bridge->old, LEGACY_AUTHOR_BLOGS, item->author, 0);
        bundle_u64(bundle, item->member);
    }
    if (item->is_deleted) {
        bundle_command(bundle, "SADD");
        bundle_key(bundle, bridge->old, LEGACY_DELETED, 0, 0);
        bundle_u64(bundle, item->member);
    }
}

static bool put_user(struct bridge *bridge, const struct legacy_inbox *inbox,
                     const struct redisReply *fields)
{
    struct id_set authors = {0};
    bool fine = find_authors(inbox, fields, &authors);
    if (fine)
        put_fill(bridge, inbox, &authors);
    for (size_t i = 0; fine && i < inbox->n; i++)
        put_post(bridge, &inbox->items[i]);
    for (size_t i = 0; fine && i < inbox->n_counts; i++)
        if (!inbox->counts[i].following)
            put_left(&bridge->others, inbox->counts[i].author, inbox->user);
    id_set_release(&authors);
    return fine;
}

/* ---- Some users ------------------------------------------------------------------------------- */

static bool ask_companions(struct bridge *bridge, const uint64_t *users, size_t n)
{
    char key[LEGACY_KEY_MAX];
    bundle_clear(&bridge->bundle);
    for (size_t i = 0; i < n; i++) {
        companion_key(users[i], key);
        bundle_command(&bridge->bundle, "HKEYS");
        bundle_text(&bridge->bundle, key);
    }
    return old_run(bridge->old, &bridge->bundle, OLD_NONE);
}

/* False: keys are of a generation that began later than this server's. Where things stand is learnt anew. */
static bool is_newest(struct bridge *bridge)
{
    for (size_t i = 0; i < bridge->others.n; i++) {
        const struct redis_call *call = &bridge->others.calls[i];
        int64_t newer = call->script ? reply_number(call->reply, 0) : 0;
        if (newer > (int64_t)bridge->state.generation && (uint64_t)newer > bridge->newer)
            bridge->newer = (uint64_t)newer;
    }
    if (bridge->newer <= bridge->state.generation)
        return true;
    bridge->holds = false;
    snprintf(bridge->trouble, sizeof bridge->trouble,
             "the old Redis: keys there are of a later beginning than this one");
    return false;
}

static bool write_group(struct bridge *bridge, const struct legacy_inbox *inboxes,
                        const uint64_t *users, size_t n)
{
    bool fine = ask_companions(bridge, users, n);
    bundle_clear(&bridge->others);
    for (size_t i = 0; i < n && fine; i++)
        fine = put_user(bridge, &inboxes[i], bridge->bundle.calls[i].reply);
    fine = fine && old_run(bridge->old, &bridge->others, OLD_NONE);
    bundle_clear(&bridge->bundle);
    if (!fine)
        memset(bridge->told_posts, 0, sizeof bridge->told_posts);
    return fine ? is_newest(bridge) : fail_old(bridge);
}

static bool fill_group(struct bridge *bridge, const uint64_t *users, size_t n)
{
    struct legacy_inbox inboxes[GROUP];
    bool fine = ask_inboxes(bridge->ask, users, n, inboxes) ? write_group(bridge, inboxes, users, n)
                                                            : fail_ask(bridge);
    for (size_t i = 0; i < n; i++)
        legacy_inbox_release(&inboxes[i]);
    return fine;
}

/* Called where no touch waits to be run: they share what calls are put together in. */
static bool fill_all(struct bridge *bridge, const uint64_t *users, size_t n)
{
    for (size_t i = 0; i < n; i += GROUP)
        if (is_stopped(bridge) || !fill_group(bridge, users + i, n - i < GROUP ? n - i : GROUP) ||
            (i + GROUP < n && !state_save(bridge)))
            return false;
    return true;
}

bool fill_want(struct bridge *bridge, uint64_t user)
{
    for (size_t i = 0; i < bridge->n_wants; i++)
        if (bridge->wants[i] == user)
            return true;
    if (bridge->n_wants == BRIDGE_WANTS)
        return false;
    bridge->wants[bridge->n_wants++] = user;
    return true;
}

bool fill_wanted(struct bridge *bridge)
{
    bool fine = fill_all(bridge, bridge->wants, bridge->n_wants);
    if (fine)
        bridge->n_wants = 0;
    return fine;
}

/* ---- Everybody -------------------------------------------------------------------------------- */

/* Counts of authors that an application has left there: the companion learns of them, so that filling replaces them. */
static void adopt(void *ctx, const char *key, size_t n)
{
    struct bridge *bridge = ctx;
    uint64_t user, author;
    char companion[LEGACY_KEY_MAX];
    const struct legacy_names *names = &bridge->old->names;
    bool found = legacy_key_read(names, LEGACY_AUTHOR_UNREAD, key, n, &user, &author) ||
                 legacy_key_read(names, LEGACY_USER_UNREAD, key, n, &user, &author);
    if (!found || !in_share(bridge, user))
        return;
    companion_key(user, companion);
    bundle_command(&bridge->others, "HSETNX");
    bundle_text(&bridge->others, companion);
    bundle_u64(&bridge->others, author);
    bundle_text(&bridge->others, "");
}

static bool walk_step(struct bridge *bridge)
{
    bundle_clear(&bridge->others);
    if (!old_walk(bridge->old, &bridge->walk, adopt, bridge) ||
        !old_run(bridge->old, &bridge->others, OLD_NONE))
        return fail_old(bridge);
    if (bridge->walk.done)
        bridge->state.phase = PHASE_FILL;
    return true;
}

static bool users_step(struct bridge *bridge)
{
    uint64_t users[USERS_PAGE];
    size_t n, kept = 0;
    if (!ask_users(bridge->ask, bridge->state.filled_to, USERS_PAGE, users, &n))
        return fail_ask(bridge);
    uint64_t last = n ? users[n - 1] : bridge->state.filled_to;
    for (size_t i = 0; i < n; i++)
        if (in_share(bridge, users[i]))
            users[kept++] = users[i];
    if (!fill_all(bridge, users, kept))
        return false;
    bridge->state.filled_to = last;
    if (!n) {
        bridge->state.phase = PHASE_DONE;
        say(bridge, "everybody's keys are filled");
    }
    return true;
}

bool fill_step(struct bridge *bridge)
{
    return bridge->state.phase == PHASE_WALK ? walk_step(bridge) : users_step(bridge);
}

/* SPDX-License-Identifier: MIT */
/*
 * One row from a view to another, by its name: there it becomes what it is here, or goes if it is not here. What is there is looked at first, for indexes and counts
 * that have to follow. It may be run on a view that lacks rows, and is then run again.
 */
#include "domain/ids.h"
#include "engine/inbox/tie.h"
#include "engine/move/move.h"

struct carrying {
    struct view *from, *to;
    const struct rows *get, *put; /* of the two */
    const struct move_target *target;
    enum realm realm; /* of those kinds that there are two of */
};

/* ---- What is published ---------------------------------------------------------------------- */

static void carry_post(struct carrying *c, const struct moved *moved)
{
    uint64_t id = moved->a;
    struct post_record post, before;
    if (!c->get->get_post(c->from, id, &post)) {
        view_corrupt(c->from); /* posts stay for good */
        return;
    }
    struct counts_record counts = c->get->get_counts(c->from, id);
    c->put->get_post(c->to, id, &before);
    c->put->put_post(c->to, id, &post);
    c->put->put_counts(c->to, id, &post, &counts, &counts);
    if (post.kind == TIDINGS_STORY && post.deleted)
        c->put->close_story(c->to, id);
}

static void carry_scene(struct carrying *c, const struct moved *moved)
{
    uint64_t id = moved->a;
    struct scene_record scene, before;
    if (!c->get->get_scene(c->from, id, &scene)) {
        view_corrupt(c->from);
        return;
    }
    c->put->get_scene(c->to, id, &before);
    c->put->put_scene(c->to, id, &scene);
}

static void carry_head(struct carrying *c, const struct moved *moved)
{
    c->target->put_head(c->to, c->realm, moved->a, view_head(c->from, c->realm, moved->a));
}

static void carry_deletions(struct carrying *c, const struct moved *moved)
{
    const struct head *head = view_head(c->from, c->realm, moved->a);
    uint64_t left = moved->b < head->n_deleted ? head->n_deleted - moved->b : 0;
    uint32_t first = (uint32_t)moved->b, n = (uint32_t)(left < moved->c ? left : moved->c);
    carry_head(c, moved);
    if (n)
        c->target->put_deletions(c->to, c->realm, moved->a, head->deleted + first, first, n);
}

static void carry_body(struct carrying *c, const struct moved *moved)
{
    c->put->put_body(c->to, moved->a, c->get->get_body(c->from, moved->a));
}

static void carry_key(struct carrying *c, const struct moved *moved)
{
    uint64_t post = moved->a;
    struct bytes key = c->get->get_post_key(c->from, post);
    if (key.n)
        c->put->put_key(c->to, KEY_POST, key, post);
}

static void carry_messages(struct carrying *c, const struct moved *moved)
{
    uint64_t scene = moved->a;
    struct tidings_message *messages = NULL;
    size_t n = 0;
    if (!c->get->get_messages(c->from, scene, &messages, &n))
        n = 0;
    c->put->put_messages(c->to, scene, messages, n);
}

static void carry_given(struct carrying *c, const struct moved *moved)
{
    for (uint64_t i = 0; i < moved->c; i++) {
        uint64_t id = moved->b + i * ID_STEP;
        c->put->give_ids(c->to, moved->a, &id, 1);
    }
}

static void carry_comment(struct carrying *c, const struct moved *moved)
{
    uint64_t id = moved->a;
    struct comment_record comment, before;
    if (!c->get->get_comment(c->from, id, &comment)) {
        view_corrupt(c->from);
        return;
    }
    bool there = c->put->get_comment(c->to, id, &before);
    c->put->put_comment(c->to, id, there ? &before : NULL, &comment);
}

static void carry_comment_body(struct carrying *c, const struct moved *moved)
{
    uint64_t id = moved->a;
    struct bytes body;
    if (!c->get->get_comment_body(c->from, id, &body))
        body = (struct bytes){NULL, 0};
    c->put->put_comment_body(c->to, id, body);
}

/* ---- Users ---------------------------------------------------------------------------------- */

static void carry_user(struct carrying *c, const struct moved *moved)
{
    uint64_t user = moved->a;
    struct user_record record = c->get->get_user(c->from, user);
    struct user_record before = c->put->get_user(c->to, user);
    struct shelf_record shelf = c->get->get_shelf(c->from, user);
    if (record.history_cleared > before.history_cleared)
        c->put->forget_history(c->to, user);
    c->put->put_user(c->to, user, &record);
    c->put->put_shelf(c->to, user, &shelf);
}

static void carry_profile(struct carrying *c, const struct moved *moved)
{
    uint64_t user = moved->a;
    struct profile_record profile = c->get->get_profile(c->from, user);
    c->put->put_profile(c->to, user, &profile);
}

/* The tie with the pair of the one, listed where the other has it. */
static void carry_pair(struct carrying *c, const struct moved *moved)
{
    struct tie before = {.realm = c->realm, .fan = moved->a, .author = moved->b};
    struct tie tie = {.realm = c->realm, .fan = moved->a, .author = moved->b};
    if (!c->get->get_pair(c->from, &tie))
        tie.pair = (struct pair){.spans = tie.pair.inline_spans};
    bool there = c->put->get_pair(c->to, &before);
    tie.stored = there ? before.stored : TIE_NOWHERE;
    tie.listed = there ? before.listed : 0;
    c->put->put_pair(c->to, &tie);
}

/* An entry of the history: the stamp, or 0 if it is none. */
static uint64_t entered(const struct readmap *map, unsigned i, uint64_t cleared)
{
    uint64_t stamp = readmap_has(map->history, i) ? readmap_history_stamp(map, i) : 0;
    return stamp > cleared ? stamp : 0;
}

/* The history is an index on the read maps: entries go and come with them. What was cleared is not there, or is removed in time. */
static void carry_history(struct carrying *c, const struct moved *moved,
                          const struct readmap *before, const struct readmap *now)
{
    const struct head *head = view_head(c->from, REALM_POSTS, moved->b);
    uint64_t cleared = c->get->get_user(c->from, moved->a).history_cleared;
    uint64_t first = moved->c * READMAP_POSTS;
    struct history_entry gone[READMAP_POSTS], come[READMAP_POSTS];
    size_t n_gone = 0, n_come = 0;
    for (unsigned i = 0; i < READMAP_POSTS; i++) {
        uint64_t was = entered(before, i, 0), is = entered(now, i, cleared);
        if (was == is)
            continue;
        if (first + i >= head->n_posts) {
            view_corrupt(c->from);
            return;
        }
        if (was)
            gone[n_gone++] = (struct history_entry){was, head->ids[first + i]};
        if (is)
            come[n_come++] = (struct history_entry){is, head->ids[first + i]};
    }
    if (n_gone)
        c->put->remove_history(c->to, moved->a, gone, n_gone);
    if (n_come)
        c->put->add_history(c->to, moved->a, come, n_come);
}

static void carry_read_map(struct carrying *c, const struct moved *moved)
{
    struct tie tie = {.realm = c->realm, .fan = moved->a, .author = moved->b};
    uint32_t chunk = (uint32_t)moved->c;
    struct readmap before = {0}, now = {0};
    if (!c->get->get_readmap(c->from, &tie, chunk, &now))
        now = (struct readmap){0};
    if (!c->put->get_readmap(c->to, &tie, chunk, &before))
        before = (struct readmap){0};
    c->put->put_readmap(c->to, &tie, chunk, &now);
    if (c->realm == REALM_POSTS)
        carry_history(c, moved, &before, &now);
}

static void carry_reaction(struct carrying *c, const struct moved *moved)
{
    struct reaction_record now = c->get->get_reaction(c->from, moved->a, moved->b);
    struct reaction_record before = c->put->get_reaction(c->to, moved->a, moved->b);
    c->put->put_reaction(c->to, moved->a, moved->b, &before, &now);
}

/* Positions stay for good, deleted ones as marks. */
static void carry_position(struct carrying *c, const struct moved *moved)
{
    struct position_record position = c->get->get_position(c->from, moved->a, moved->b);
    struct shelf_record shelf = c->get->get_shelf(c->from, moved->a);
    struct reading_shown none = {.any = false};
    struct reading_shown now = reading_show(&position.reading, (int64_t)shelf.cleared);
    c->put->put_position(c->to, moved->a, moved->b, &position, 0, &none, &now);
}

/* ---- What is about requests ----------------------------------------------------------------- */

/* One that is forgotten here is soon forgotten there, by its age. */
static void carry_once(struct carrying *c, const struct moved *moved)
{
    uint8_t key[ONCE_BYTES];
    struct once_record once;
    put_u64(key, moved->b);
    put_u64(key + 8, moved->c);
    if (c->get->get_once(c->from, moved->a, key, &once))
        c->put->put_once(c->to, moved->a, key, &once);
}

static void carry_event(struct carrying *c, const struct moved *moved)
{
    uint64_t id = moved->a;
    struct tidings_event event;
    if (c->get->get_events(c->from, id - 1, 1, &event) && event.event_id == id)
        c->target->put_event(c->to, &event);
}

static struct tidings_text name_of(const struct webhook_row *row)
{
    return (struct tidings_text){(const char *)row->name.p, row->name.n};
}

/* Few: all of them. One that was made anew under its name is another. */
static void carry_webhooks(struct carrying *c, const struct moved *moved)
{
    (void)moved;
    struct webhook_row *now, *before;
    size_t n_now = c->get->get_webhooks(c->from, &now);
    size_t n_before = c->put->get_webhooks(c->to, &before);
    for (size_t i = 0; i < n_before; i++) {
        struct tidings_text name = name_of(&before[i]);
        struct webhook_record stays;
        if (!c->get->get_webhook(c->from, name, &stays) ||
            stays.created != before[i].record.created)
            c->put->remove_webhook(c->to, name);
    }
    for (size_t i = 0; i < n_now; i++)
        c->put->put_webhook(c->to, name_of(&now[i]), &now[i].record);
}

/* ---- By name -------------------------------------------------------------------------------- */

static const struct {
    void (*carry)(struct carrying *c, const struct moved *moved); /* NULL: there is no row */
    enum realm realm;
} kinds[] = {
    [MOVED_AUTHOR] = {carry_head, REALM_POSTS},
    [MOVED_STORY] = {carry_head, REALM_SCENES},
    [MOVED_POST_DELETIONS] = {carry_deletions, REALM_POSTS},
    [MOVED_SCENE_DELETIONS] = {carry_deletions, REALM_SCENES},
    [MOVED_POST] = {.carry = carry_post},
    [MOVED_SCENE] = {.carry = carry_scene},
    [MOVED_BODY] = {.carry = carry_body},
    [MOVED_POST_KEY] = {.carry = carry_key},
    [MOVED_MESSAGES] = {.carry = carry_messages},
    [MOVED_GIVEN] = {.carry = carry_given},
    [MOVED_COMMENT] = {.carry = carry_comment},
    [MOVED_COMMENT_BODY] = {.carry = carry_comment_body},
    [MOVED_USER] = {.carry = carry_user},
    [MOVED_PROFILE] = {.carry = carry_profile},
    [MOVED_PAIR] = {carry_pair, REALM_POSTS},
    [MOVED_SUBSCRIPTION] = {carry_pair, REALM_SCENES},
    [MOVED_READ_MAP] = {carry_read_map, REALM_POSTS},
    [MOVED_SCENE_READ_MAP] = {carry_read_map, REALM_SCENES},
    [MOVED_REACTION] = {.carry = carry_reaction},
    [MOVED_POSITION] = {.carry = carry_position},
    [MOVED_ONCE] = {.carry = carry_once},
    [MOVED_EVENT] = {.carry = carry_event},
    [MOVED_WEBHOOKS] = {.carry = carry_webhooks},
    [MOVED_RULES] = {.carry = NULL},
};

void carry(struct view *from, struct view *to, const struct move_target *target,
           const struct moved *moved)
{
    struct carrying carrying = {
        from, to, from->rows, to->rows, target, kinds[moved->kind].realm,
    };
    if (kinds[moved->kind].carry)
        kinds[moved->kind].carry(&carrying, moved);
    arena_clear(from->scratch);
}

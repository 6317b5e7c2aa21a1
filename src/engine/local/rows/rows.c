/* SPDX-License-Identifier: MIT */
#include "engine/local/rows/rows.h"

#include "domain/ids.h"
#include "engine/local/rows/journal.h"
#include "engine/local/rows/told.h"
#include "engine/ops/ops.h"

/* ---- Users ---------------------------------------------------------------------------------- */

static struct user_record get_user(struct view *view, uint64_t user)
{
    struct user_record record = {0};
    struct key key = key_row(user, ROW_USER);
    struct bytes value;
    if (kv_get(txn_of(view), TABLE_USER, &key, &value) && !user_decode(value, &record))
        view_corrupt(view);
    return record;
}

static void put_user(struct view *view, uint64_t user, const struct user_record *record)
{
    uint8_t bytes[USER_RECORD_MAX];
    struct key key = key_row(user, ROW_USER);
    kv_put(txn_of(view), TABLE_USER, &key, bytes, user_encode(record, bytes));
}

static void count(struct view *view, uint64_t user, enum counter counter, int64_t delta)
{
    struct user_record record = get_user(view, user);
    view_add(view, counter_of(&record, counter), delta);
    put_user(view, user, &record);
}

static struct profile_record get_profile(struct view *view, uint64_t user)
{
    struct profile_record profile = {0};
    struct key key = key_id(user);
    struct bytes value;
    if (kv_get(txn_of(view), TABLE_PROFILE, &key, &value) && !profile_decode(value, &profile))
        view_corrupt(view);
    return profile;
}

static void put_profile(struct view *view, uint64_t user, const struct profile_record *profile)
{
    struct key key = key_id(user);
    bool any = profile->name.n || profile->avatar.n || profile->extra.n;
    /* Before the first put: what is kept of the profile lies where it was read. */
    struct bytes value = any ? profile_encode(profile, view->scratch) : (struct bytes){NULL, 0};
    local_rename(view, user, get_profile(view, user).name, profile->name);
    if (any)
        put_value(view, TABLE_PROFILE, &key, value);
    else
        kv_del(txn_of(view), TABLE_PROFILE, &key);
}

/* ---- Posts ---------------------------------------------------------------------------------- */

static bool get_post(struct view *view, uint64_t id, struct post_record *post)
{
    struct key key = key_id(id);
    struct bytes value;
    if (!kv_get(txn_of(view), TABLE_POST, &key, &value))
        return false;
    if (!post_decode(value, post)) {
        view_corrupt(view);
        return false;
    }
    return true;
}

static void put_post(struct view *view, uint64_t id, const struct post_record *post)
{
    struct key key = key_id(id);
    put_value(view, TABLE_POST, &key, post_encode(post, view->scratch));
}

static struct bytes get_body(struct view *view, uint64_t id)
{
    struct key key = key_id(id);
    struct bytes body = {NULL, 0};
    kv_get(txn_of(view), TABLE_BODY, &key, &body);
    return body;
}

static void put_body(struct view *view, uint64_t id, struct bytes body)
{
    struct key key = key_id(id);
    if (body.n)
        kv_put(txn_of(view), TABLE_BODY, &key, body.p, body.n);
    else
        kv_del(txn_of(view), TABLE_BODY, &key);
}

/* What is cleared is removed a few rows at a time: see sweep.c. */
static void forget_history(struct view *view, uint64_t reader)
{
    struct key key = key_id(reader);
    put_mark(view, TABLE_TODO, &key);
}

/* ---- Webhooks ------------------------------------------------------------------------------- */

static bool get_webhook(struct view *view, struct tidings_text name, struct webhook_record *record)
{
    struct key key = key_webhook(name);
    struct bytes value;
    if (!kv_get(txn_of(view), TABLE_WEBHOOK, &key, &value))
        return false;
    if (webhook_decode(value, record))
        return true;
    view_corrupt(view);
    return false;
}

static void put_webhook(struct view *view, struct tidings_text name,
                        const struct webhook_record *record)
{
    struct key key = key_webhook(name);
    put_value(view, TABLE_WEBHOOK, &key, webhook_encode(record, view->scratch));
}

static bool remove_webhook(struct view *view, struct tidings_text name, uint64_t *created)
{
    struct key key = key_webhook(name);
    struct webhook_record record;
    struct bytes value;
    bool found = kv_get(txn_of(view), TABLE_WEBHOOK, &key, &value);
    *created = found && webhook_decode(value, &record) ? record.created : 0;
    if (found)
        kv_del(txn_of(view), TABLE_WEBHOOK, &key);
    return found;
}

static size_t get_webhooks(struct view *view, struct webhook_row **rows)
{
    struct key first = {.n = 1};
    struct bytes key, value;
    size_t room = kv_rows(txn_of(view), TABLE_WEBHOOK), n = 0;
    *rows = view_array(view, view->scratch, room, sizeof **rows);
    bool found = *rows && kv_seek(txn_of(view), TABLE_WEBHOOK, &first, &key, &value);
    for (; found && n < room; found = kv_next(txn_of(view), TABLE_WEBHOOK, &key, &value)) {
        struct webhook_row *row = &(*rows)[n++];
        row->name = view_keep(view, key);
        if (key.n > KEY_MAX || !webhook_decode(view_keep(view, value), &row->record)) {
            view_corrupt(view);
            return 0;
        }
    }
    return view_failed(view) ? 0 : n;
}

/* ---- Dead letters --------------------------------------------------------------------------- */

static bool get_letter(struct view *view, uint64_t target, uint64_t event, struct bytes *letter)
{
    struct key key = key_letter(target, event);
    struct bytes value;
    if (!kv_get(txn_of(view), TABLE_LETTER, &key, &value))
        return false;
    *letter = view_keep(view, value);
    return true;
}

static void put_letter(struct view *view, uint64_t target, uint64_t event, struct bytes letter)
{
    struct key key = key_letter(target, event);
    struct bytes value;
    if (letter.n)
        kv_put(txn_of(view), TABLE_LETTER, &key, letter.p, letter.n);
    else if (kv_get(txn_of(view), TABLE_LETTER, &key, &value))
        kv_del(txn_of(view), TABLE_LETTER, &key);
}

static size_t get_letters(struct view *view, uint64_t target, uint64_t after, size_t most,
                          struct letter_row *rows)
{
    struct key first = key_letter(target, after + 1);
    struct bytes key, value;
    size_t n = 0;
    bool found = kv_seek(txn_of(view), TABLE_LETTER, &first, &key, &value);
    for (; found && n < most; found = kv_next(txn_of(view), TABLE_LETTER, &key, &value)) {
        if (key.n != 2 * ID_BYTES || get_id(key.p) != target)
            break;
        rows[n].event = get_id(key.p + ID_BYTES);
        if (!letter_decode(view_keep(view, value), &rows[n].record)) {
            view_corrupt(view);
            return 0;
        }
        n++;
    }
    return view_failed(view) ? 0 : n;
}

/* ---- What happened once --------------------------------------------------------------------- */

static bool get_once(struct view *view, uint64_t user, const uint8_t name[ONCE_BYTES],
                     struct once_record *once)
{
    struct key key = key_once(user, name);
    struct bytes value;
    if (!kv_get(txn_of(view), TABLE_ONCE, &key, &value))
        return false;
    if (!once_decode(value, once)) {
        view_corrupt(view);
        return false;
    }
    return true;
}

/* A second table orders them by age, so that they can be forgotten. Where a key is used again, the age that it had goes. */
static void put_once(struct view *view, uint64_t user, const uint8_t name[ONCE_BYTES],
                     const struct once_record *once)
{
    struct key key = key_once(user, name), age = key_id(once->stamp);
    struct once_record before;
    struct bytes value;
    if (kv_get(txn_of(view), TABLE_ONCE, &key, &value) && once_decode(value, &before)) {
        struct key old = key_id(before.stamp);
        kv_del(txn_of(view), TABLE_ONCE_AGE, &old);
    }
    put_value(view, TABLE_ONCE, &key, once_encode(once, view->scratch));
    kv_put(txn_of(view), TABLE_ONCE_AGE, &age, key.bytes, key.n);
}

/* ---- Events: their positions are ids --------------------------------------------------------- */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static size_t get_events(struct view *view, uint64_t after, size_t most,
                         struct tidings_event *events)
{
    struct key from = key_id(later(after + 1, event_oldest_kept(view)));
    struct bytes key, value;
    size_t n = 0;
    bool found = kv_seek(txn_of(view), TABLE_EVENT, &from, &key, &value);
    for (; found && n < most; found = kv_next(txn_of(view), TABLE_EVENT, &key, &value)) {
        if (key.n != ID_BYTES || !event_decode(value, &events[n])) {
            view_corrupt(view);
            return 0;
        }
        events[n].event_id = get_id(key.p);
        events[n].happened_at = id_time_ms(events[n].event_id);
        n++;
    }
    return n;
}

static bool is_wanted(struct bytes value, uint64_t wanted)
{
    struct tidings_event event;
    return event_decode(value, &event) && tidings_webhook_wants(wanted, &event);
}

static uint64_t count_old_events(struct view *view, uint64_t after, uint64_t up_to, uint64_t wanted)
{
    struct key from = key_id(after + 1);
    uint64_t limit = event_oldest_kept(view), n = 0;
    struct bytes key, value;
    if (after >= limit)
        return 0;
    bool found = kv_seek(txn_of(view), TABLE_EVENT, &from, &key, &value);
    for (; found && key.n == ID_BYTES && get_id(key.p) < limit && get_id(key.p) <= up_to;
         found = kv_next(txn_of(view), TABLE_EVENT, &key, &value))
        n += is_wanted(value, wanted);
    return n;
}

static uint64_t next_id(struct view *view)
{
    struct local_view *local = local_of(view);
    uint64_t next = id_next(local->last_id, view->now_ms);
    if (!next) {
        view_fail(view, TIDINGS_NO_SPACE);
        return 0;
    }
    return local->last_id = next;
}

/* The first takes the operation's own id, if no further one was taken before. */
static void add_event(struct view *view, struct tidings_event *event)
{
    struct local_view *local = local_of(view);
    if (local->spent)
        next_id(view);
    local->spent = true;
    struct key key = key_id(local->last_id);
    uint8_t bytes[EVENT_RECORD_MAX];
    kv_put(txn_of(view), TABLE_EVENT, &key, bytes, event_encode(event, bytes));
    event->event_id = local->last_id;
    event->happened_at = id_time_ms(local->last_id);
}

static void tell_event(struct view *view, const struct tidings_event *event)
{
    uint8_t bytes[TOLD_BYTES_MAX];
    if (local_of(view)->followed)
        kv_tell(txn_of(view), CHANGE_TOLD, (struct bytes){bytes, told_encode(event, bytes)});
}

static uint64_t newest_position(struct view *view)
{
    return view->stamp ? view->stamp : local_of(view)->last_id;
}

static uint64_t newest_event(struct view *view)
{
    struct key beyond = key_id(TIDINGS_ID_MAX);
    struct bytes key, value;
    bool found = kv_seek_below(txn_of(view), TABLE_EVENT, &beyond, &key, &value);
    return found && key.n == ID_BYTES ? get_id(key.p) : 0;
}

static bool has_position(struct view *view, uint64_t position)
{
    return position <= local_of(view)->before;
}

static uint64_t oldest_id(const struct view *view, int64_t age_ms)
{
    struct clock *clock = local_of(view)->clock;
    return id_floor(clock_limit(clock, view->elapsed_ms, age_ms) + 1);
}

/* ---- Moments: the newest id ------------------------------------------------------------------ */

static uint64_t version(struct view *view)
{
    return local_of(view)->last_id;
}

static struct tidings_moment moment(struct view *view)
{
    return (struct tidings_moment){{local_of(view)->last_id}};
}

static bool has_been(struct view *view, const struct tidings_moment *at)
{
    for (int i = 1; i < TIDINGS_MOMENT_PARTS; i++)
        if (at->part[i])
            return false;
    return at->part[0] && at->part[0] <= local_of(view)->before;
}

static uint32_t posts_by(struct view *view, const struct head *head,
                         const struct tidings_moment *at)
{
    (void)view;
    return head_posts_below(head, at->part[0] + 1);
}

/* ---- The table ------------------------------------------------------------------------------ */

const struct rows local_rows = {
    .get_user = get_user,
    .put_user = put_user,
    .count = count,
    .get_profile = get_profile,
    .put_profile = put_profile,
    .find_names = local_find_names,
    .get_post = get_post,
    .put_post = put_post,
    .get_body = get_body,
    .put_body = put_body,
    .get_key = local_get_key,
    .put_key = local_put_key,
    .get_post_key = local_key_of,
    .get_time = local_get_time,
    .put_time = local_put_time,
    .get_head = local_get_head,
    .add_number = local_add_number,
    .add_deletion = local_add_deletion,
    .close_story = local_close_story,
    .get_pair = local_get_pair,
    .put_pair = local_put_pair,
    .get_pairs = local_get_pairs,
    .sum_unread = local_sum_unread,
    .get_readmap = local_get_readmap,
    .get_read_bits = local_get_read_bits,
    .put_readmap = local_put_readmap,
    .last_read_bits = local_last_read_bits,
    .add_history = journal_add,
    .remove_history = journal_remove,
    .forget_history = forget_history,
    .get_reaction = local_get_reaction,
    .put_reaction = local_put_reaction,
    .get_counts = local_get_counts,
    .put_counts = local_put_counts,
    .get_comment = local_get_comment,
    .put_comment = local_put_comment,
    .get_comment_body = local_get_comment_body,
    .put_comment_body = local_put_comment_body,
    .get_scene = local_get_scene,
    .put_scene = local_put_scene,
    .get_messages = local_get_messages,
    .put_messages = local_put_messages,
    .give_ids = local_give_ids,
    .was_given = local_was_given,
    .get_shelf = local_get_shelf,
    .put_shelf = local_put_shelf,
    .get_position = local_get_position,
    .put_position = local_put_position,
    .get_webhook = get_webhook,
    .put_webhook = put_webhook,
    .remove_webhook = remove_webhook,
    .get_webhooks = get_webhooks,
    .get_letter = get_letter,
    .put_letter = put_letter,
    .get_letters = get_letters,
    .get_once = get_once,
    .put_once = put_once,
    .get_list = local_get_list,
    .has_stamp = local_has_stamp,
    .newest_history = local_newest_history,
    .get_events = get_events,
    .count_old_events = count_old_events,
    .add_event = add_event,
    .tell_event = tell_event,
    .newest_position = newest_position,
    .newest_event = newest_event,
    .has_position = has_position,
    .next_id = next_id,
    .oldest_id = oldest_id,
    .version = version,
    .moment = moment,
    .has_been = has_been,
    .posts_by = posts_by,
};

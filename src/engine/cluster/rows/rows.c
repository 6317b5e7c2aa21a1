/* SPDX-License-Identifier: MIT */
/* The rows of engine/rows.h as rows of the tables. */
#include <stdlib.h>

#include "domain/ids.h"
#include "domain/name.h"
#include "engine/cluster/rows/desk.h"
#include "engine/move/move.h"
#include "engine/ops/ops.h"
#include "engine/ops/target.h"

const struct value *desk_get(struct view *view, enum kind kind, uint64_t a, uint64_t b, uint64_t c)
{
    static const struct value absent;
    struct desk_view *own = desk_view(view);
    const uint64_t key[ROW_KEYS] = {a, b, c};
    if (own->importing && own->incomplete)
        own->err = TIDINGS_OK;
    if (!a) /* nobody, or what an operation makes of a row that is not at hand */
        return &absent;
    const struct value *value = sheet_get(&own->desk->sheet, kind, key);
    own->incomplete |= !value;
    return value;
}

void desk_put(struct view *view, enum kind kind, uint64_t a, uint64_t b, uint64_t c,
              const struct value *value)
{
    const uint64_t key[ROW_KEYS] = {a, b, c};
    struct sheet *sheet = &desk_view(view)->desk->sheet;
    if (view_failed(view))
        return;
    sheet_put(sheet, kind, key, value);
    if (sheet->failed)
        view_fail(view, TIDINGS_NO_MEMORY);
}

static struct bytes bytes_at(const struct value *row, unsigned text)
{
    return row && row->exists ? row->texts[text] : (struct bytes){(const uint8_t *)"", 0};
}

/* One of an enumeration, which is from 1 to its last; anything else is damage. */
static unsigned word_at(struct view *view, const struct value *row, unsigned number, unsigned last)
{
    uint64_t word = row->numbers[number];
    if (word >= 1 && word <= last)
        return (unsigned)word;
    view_corrupt(view);
    return 1;
}

/* ---- Users ---------------------------------------------------------------------------------- */

/* Which counters of a user others change, and where they stand. */
static const struct {
    enum counter counter;
    unsigned number;
} others_change[] = {
    {COUNTER_FOLLOWERS, COUNT_FOLLOWERS},
    {COUNTER_POSTS, COUNT_POSTS},
    {COUNTER_LIKES_RECEIVED, COUNT_LIKES_RECEIVED},
    {COUNTER_FAVS_RECEIVED, COUNT_FAVS_RECEIVED},
};
enum { OTHERS_CHANGE = sizeof others_change / sizeof *others_change };

/* What this batch adds to the counters. */
static struct value change_of(struct view *view, uint64_t user)
{
    const uint64_t key[ROW_KEYS] = {user};
    const struct value *change =
        sheet_peek(&desk_view(view)->desk->sheet, KIND_COUNTER_CHANGE, key);
    return change ? *change : (struct value){.exists = true};
}

static struct user_record get_user(struct view *view, uint64_t user)
{
    struct user_record record = {0};
    const struct value *row = desk_get(view, KIND_USER, user, 0, 0);
    const struct value *counters = desk_get(view, KIND_COUNTER, user, 0, 0);
    if (!row || !counters)
        return record;
    record = (struct user_record){
        .following = row->numbers[USER_FOLLOWING],
        .liked_posts = row->numbers[USER_LIKED_POSTS],
        .faved_posts = row->numbers[USER_FAVED_POSTS],
        .follow_full_at = row->numbers[USER_FOLLOW_FULL_AT],
        .react_full_at = row->numbers[USER_REACT_FULL_AT],
        .comment_full_at = row->numbers[USER_COMMENT_FULL_AT],
        .publish_full_at = row->numbers[USER_PUBLISH_FULL_AT],
        .history_cleared = row->numbers[USER_HISTORY_CLEARED],
    };
    struct value change = change_of(view, user);
    for (int i = 0; i < OTHERS_CHANGE; i++)
        *counter_of(&record, others_change[i].counter) =
            counters->numbers[others_change[i].number] + change.numbers[others_change[i].number];
    return record;
}

static void count(struct view *view, uint64_t user, enum counter counter, int64_t delta)
{
    struct value change = change_of(view, user);
    for (int i = 0; i < OTHERS_CHANGE; i++)
        if (others_change[i].counter == counter)
            change.numbers[others_change[i].number] += (uint64_t)delta;
    desk_put(view, KIND_COUNTER_CHANGE, user, 0, 0, &change);
}

/* The row that is there, or a new one. */
static struct value user_row(struct view *view, uint64_t user)
{
    const struct value *row = desk_get(view, KIND_USER, user, 0, 0);
    struct value value = row ? *row : (struct value){0};
    value.exists = true;
    return value;
}

/* Counters that others change are added to; all else is the user's own, whose row is locked. */
static void put_user(struct view *view, uint64_t user, const struct user_record *record)
{
    struct user_record now = *record, before = get_user(view, user);
    for (int i = 0; i < OTHERS_CHANGE; i++) {
        uint64_t delta = *counter_of(&now, others_change[i].counter) -
                         *counter_of(&before, others_change[i].counter);
        if (delta)
            count(view, user, others_change[i].counter, (int64_t)delta);
    }
    if (user != desk_view(view)->actor && !desk_view(view)->importing)
        return;
    struct value row = user_row(view, user);
    row.numbers[USER_FOLLOWING] = now.following;
    row.numbers[USER_LIKED_POSTS] = now.liked_posts;
    row.numbers[USER_FAVED_POSTS] = now.faved_posts;
    row.numbers[USER_FOLLOW_FULL_AT] = now.follow_full_at;
    row.numbers[USER_REACT_FULL_AT] = now.react_full_at;
    row.numbers[USER_COMMENT_FULL_AT] = now.comment_full_at;
    row.numbers[USER_PUBLISH_FULL_AT] = now.publish_full_at;
    row.numbers[USER_HISTORY_CLEARED] = now.history_cleared;
    desk_put(view, KIND_USER, user, 0, 0, &row);
}

static struct profile_record get_profile(struct view *view, uint64_t user)
{
    const struct value *row = desk_get(view, KIND_PROFILE, user, 0, 0);
    return (struct profile_record){bytes_at(row, 0), bytes_at(row, 1), bytes_at(row, 2)};
}

static void put_profile(struct view *view, uint64_t user, const struct profile_record *profile)
{
    struct value row = {.exists = true, .texts = {profile->name, profile->avatar, profile->extra}};
    bool any = profile->name.n || profile->avatar.n || profile->extra.n;
    uint8_t folded[NAME_FOLDED_MAX];
    struct value name = {.exists = true, .texts = {{folded, name_fold(profile->name, folded)}}};
    desk_put(view, KIND_PROFILE, user, 0, 0, any ? &row : NULL);
    desk_put(view, KIND_NAME, user, 0, 0, profile->name.n ? &name : NULL);
}

static struct shelf_record get_shelf(struct view *view, uint64_t user)
{
    const struct value *row = desk_get(view, KIND_USER, user, 0, 0);
    if (!row)
        return (struct shelf_record){0};
    return (struct shelf_record){
        .subscriptions = row->numbers[USER_SUBSCRIPTIONS],
        .positions = row->numbers[USER_POSITIONS],
        .cleared = row->numbers[USER_READING_CLEARED],
        .quiet = row->numbers[USER_QUIET],
    };
}

static void put_shelf(struct view *view, uint64_t user, const struct shelf_record *shelf)
{
    struct value row = user_row(view, user);
    row.numbers[USER_SUBSCRIPTIONS] = shelf->subscriptions;
    row.numbers[USER_POSITIONS] = shelf->positions;
    row.numbers[USER_READING_CLEARED] = shelf->cleared;
    row.numbers[USER_QUIET] = shelf->quiet;
    desk_put(view, KIND_USER, user, 0, 0, &row);
}

/* ---- Posts ---------------------------------------------------------------------------------- */

static bool get_post(struct view *view, uint64_t id, struct post_record *post)
{
    const struct value *row = desk_get(view, KIND_POST, id, 0, 0);
    *post = (struct post_record){.kind = TIDINGS_STORY};
    if (!row)
        return true; /* whatever is asked for next is wanted, too; then it is run again */
    if (!row->exists)
        return false;
    *post = (struct post_record){
        .deleted = row->numbers[POST_REMOVED] != 0,
        .kind = (enum tidings_post_kind)word_at(view, row, POST_KIND, TIDINGS_STORY),
        .author = row->numbers[POST_AUTHOR],
        .seq = (uint32_t)row->numbers[POST_NUMBER],
        .edited = row->numbers[POST_EDITED],
        .removed = row->numbers[POST_REMOVED],
        .title = row->texts[POST_TITLE],
        .excerpt = row->texts[POST_EXCERPT],
        .extra = row->texts[POST_OWN_DATA],
    };
    return true;
}

/*
 * What was published elsewhere has its id, less one, for a position: so it is in a moment of there if its id was in it, and positions go on behind the newest id that was
 * brought. Otherwise it keeps the one it has; a new one gets it from add_number.
 */
static uint64_t position_of(struct view *view, enum kind kind, uint64_t id, unsigned number)
{
    const uint64_t key[ROW_KEYS] = {id};
    const struct value *before = sheet_peek(&desk_view(view)->desk->sheet, kind, key);
    if (desk_view(view)->importing)
        return id - 1;
    return before ? before->numbers[number] : 0;
}

static void put_post(struct view *view, uint64_t id, const struct post_record *post)
{
    struct value row = {
        .exists = true,
        .numbers =
            {
                [POST_AUTHOR] = post->author,
                [POST_NUMBER] = post->seq,
                [POST_KIND] = post->kind,
                [POST_EDITED] = post->edited,
                [POST_REMOVED] = post->removed,
                [POST_POSITION] = position_of(view, KIND_POST, id, POST_POSITION),
            },
        .texts = {[POST_TITLE] = post->title,
                  [POST_EXCERPT] = post->excerpt,
                  [POST_OWN_DATA] = post->extra},
    };
    desk_put(view, KIND_POST, id, 0, 0, &row);
}

static struct bytes get_body(struct view *view, uint64_t id)
{
    return bytes_at(desk_get(view, KIND_BODY, id, 0, 0), 0);
}

static void put_text(struct view *view, enum kind kind, uint64_t id, struct bytes text)
{
    struct value row = {.exists = true, .texts = {text}};
    desk_put(view, kind, id, 0, 0, text.n ? &row : NULL);
}

static void put_body(struct view *view, uint64_t id, struct bytes body)
{
    put_text(view, KIND_BODY, id, body);
}

/* ---- The reading history -------------------------------------------------------------------- */

static void put_history(struct view *view, uint64_t reader, const struct history_entry *entries,
                        size_t n, const struct value *value)
{
    for (size_t i = 0; i < n; i++)
        desk_put(view, KIND_HISTORY, reader, entries[i].stamp, entries[i].post, value);
}

static void add_history(struct view *view, uint64_t reader, struct history_entry *entries, size_t n)
{
    put_history(view, reader, entries, n, &(struct value){.exists = true});
}

static void remove_history(struct view *view, uint64_t reader, struct history_entry *entries,
                           size_t n)
{
    put_history(view, reader, entries, n, NULL);
}

/* What lies before the user's mark is found by it, and removed in time. */
static void forget_history(struct view *view, uint64_t reader)
{
    desk_put(view, KIND_HISTORY_CLEARED, reader, 0, 0, &(struct value){.exists = true});
}

/* Rows are named by stamp and post: their order is the table's. */
static struct history_entry newest_history(struct view *view, uint64_t reader)
{
    (void)view;
    (void)reader;
    return (struct history_entry){0};
}

/* ---- Reactions and counts ------------------------------------------------------------------- */

/* A list has a row for each of those who are in it. */
static bool has_stamp(struct view *view, const struct list *list, uint64_t stamp)
{
    (void)view;
    (void)list;
    (void)stamp;
    return false;
}

static struct reaction_record get_reaction(struct view *view, uint64_t user, uint64_t target)
{
    struct reaction_record record = {0};
    for (int i = TIDINGS_LIKE; i < REACTIONS; i++) {
        const struct value *row = desk_get(view, KIND_REACTION, user, target, (uint64_t)i);
        if (!row || !row->exists)
            continue;
        record.target =
            (enum tidings_target)word_at(view, row, REACTION_TARGET, TIDINGS_TARGET_COMMENT);
        record.stamp[i] = row->numbers[REACTION_STAMP];
    }
    return record;
}

static void put_reaction(struct view *view, uint64_t user, uint64_t target,
                         const struct reaction_record *old, const struct reaction_record *now)
{
    for (int i = TIDINGS_LIKE; i < REACTIONS; i++) {
        struct value row = {.exists = true, .numbers = {now->target, now->stamp[i]}};
        if (now->stamp[i] != old->stamp[i])
            desk_put(view, KIND_REACTION, user, target, (uint64_t)i, now->stamp[i] ? &row : NULL);
    }
}

static struct counts_record get_counts(struct view *view, uint64_t post)
{
    const struct value *row = desk_get(view, KIND_STATS, post, 0, 0);
    if (!row)
        return (struct counts_record){0};
    return (struct counts_record){row->numbers[STATS_LIKES], row->numbers[STATS_FAVS],
                                  row->numbers[STATS_COMMENTS]};
}

/* The hot list is by kind and heat; kind 0 is none. */
static void put_counts(struct view *view, uint64_t id, const struct post_record *post,
                       const struct counts_record *old, const struct counts_record *now)
{
    const struct counts_record *counts = now ? now : old;
    bool listed = now && !post->deleted;
    struct value row = {
        .exists = true,
        .numbers =
            {
                [STATS_KIND] = listed ? post->kind : 0,
                [STATS_LIKES] = counts->likes,
                [STATS_FAVS] = counts->favs,
                [STATS_COMMENTS] = counts->comments,
                [STATS_HEAT] = listed ? post_heat(view, id, counts) : 0,
            },
    };
    desk_put(view, KIND_STATS, id, 0, 0, &row);
}

/* ---- Comments ------------------------------------------------------------------------------- */

static bool get_comment(struct view *view, uint64_t id, struct comment_record *comment)
{
    const struct value *row = desk_get(view, KIND_COMMENT, id, 0, 0);
    *comment = (struct comment_record){0};
    if (!row)
        return true; /* as above */
    if (!row->exists)
        return false;
    *comment = (struct comment_record){
        .status = (enum tidings_comment_status)word_at(view, row, COMMENT_STATUS,
                                                       TIDINGS_COMMENT_DELETED),
        .moderated = row->numbers[COMMENT_MODERATED],
        .post = row->numbers[COMMENT_POST],
        .parent = row->numbers[COMMENT_PARENT],
        .user = row->numbers[COMMENT_USER],
        .likes = row->numbers[COMMENT_LIKES],
        .downs = row->numbers[COMMENT_DOWNS],
        .replies = row->numbers[COMMENT_REPLIES],
        .listed = row->numbers[COMMENT_LISTED],
    };
    return true;
}

static void put_comment(struct view *view, uint64_t id, const struct comment_record *old,
                        const struct comment_record *now)
{
    struct value row = {
        .exists = true,
        .numbers =
            {
                [COMMENT_POST] = now->post,
                [COMMENT_PARENT] = now->parent,
                [COMMENT_USER] = now->user,
                [COMMENT_STATUS] = now->status,
                [COMMENT_MODERATED] = now->moderated,
                [COMMENT_LIKES] = now->likes,
                [COMMENT_DOWNS] = now->downs,
                [COMMENT_REPLIES] = now->replies,
                [COMMENT_LISTED] = now->listed,
                [COMMENT_LIST] = comment_is_listed(now) ? comment_parent(now) : 0,
                [COMMENT_HEAT] = comment_heat(view, now),
            },
    };
    (void)old;
    desk_put(view, KIND_COMMENT, id, 0, 0, &row);
}

static bool get_comment_body(struct view *view, uint64_t id, struct bytes *body)
{
    const struct value *row = desk_get(view, KIND_COMMENT_BODY, id, 0, 0);
    *body = bytes_at(row, 0);
    return !row || row->exists;
}

static void put_comment_body(struct view *view, uint64_t id, struct bytes body)
{
    put_text(view, KIND_COMMENT_BODY, id, body);
}

/* ---- Scenes --------------------------------------------------------------------------------- */

static bool get_scene(struct view *view, uint64_t id, struct scene_record *scene)
{
    const struct value *row = desk_get(view, KIND_SCENE, id, 0, 0);
    *scene = (struct scene_record){0};
    if (!row)
        return true; /* as above */
    *scene = (struct scene_record){
        .deleted = row->numbers[SCENE_REMOVED] != 0,
        .story = row->numbers[SCENE_STORY],
        .seq = (uint32_t)row->numbers[SCENE_NUMBER],
        .n_messages = (uint32_t)row->numbers[SCENE_MESSAGES],
        .edited = row->numbers[SCENE_EDITED],
        .removed = row->numbers[SCENE_REMOVED],
        .title = row->texts[0],
    };
    return row->exists;
}

static void put_scene(struct view *view, uint64_t id, const struct scene_record *scene)
{
    struct value row = {
        .exists = true,
        .numbers =
            {
                [SCENE_STORY] = scene->story,
                [SCENE_NUMBER] = scene->seq,
                [SCENE_MESSAGES] = scene->n_messages,
                [SCENE_EDITED] = scene->edited,
                [SCENE_REMOVED] = scene->removed,
                [SCENE_POSITION] = position_of(view, KIND_SCENE, id, SCENE_POSITION),
            },
        .texts = {scene->title},
    };
    desk_put(view, KIND_SCENE, id, 0, 0, &row);
}

static bool get_messages(struct view *view, uint64_t scene, struct tidings_message **messages,
                         size_t *n)
{
    const struct value *row = desk_get(view, KIND_MESSAGES, scene, 0, 0);
    return row && row->exists && messages_decode(row->texts[0], view->scratch, messages, n);
}

static void put_messages(struct view *view, uint64_t scene, const struct tidings_message *messages,
                         size_t n)
{
    struct bytes none = {NULL, 0};
    struct bytes packed = n ? messages_encode(messages, n, view->scratch) : none;
    if (n && !packed.p)
        view_fail(view, TIDINGS_NO_MEMORY);
    put_text(view, KIND_MESSAGES, scene, packed);
}

static void give_ids(struct view *view, uint64_t scene, const uint64_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        desk_put(view, KIND_MESSAGE_ID, scene, ids[i], 0, &(struct value){.exists = true});
}

static bool was_given(struct view *view, uint64_t scene, uint64_t message)
{
    const struct value *row = desk_get(view, KIND_MESSAGE_ID, scene, message, 0);
    return !row || row->exists;
}

/* ---- Reading positions ---------------------------------------------------------------------- */

static struct position_record get_position(struct view *view, uint64_t reader, uint64_t story)
{
    const struct value *row = desk_get(view, KIND_READING, reader, story, 0);
    if (!row) /* one that is shown: a list goes on with the next */
        return (struct position_record){.reading = {.read_at = INT64_MAX, .scene = 1}};
    return (struct position_record){
        .reading =
            {
                .read_at = (int64_t)row->numbers[READING_READ_AT],
                .scene = row->numbers[READING_SCENE],
                .message = row->numbers[READING_MESSAGE],
                .entered_at = (int64_t)row->numbers[READING_ENTERED_AT],
                .erased_at = (int64_t)row->numbers[READING_ERASED_AT],
            },
        .first = row->numbers[READING_FIRST],
        .changed = row->numbers[READING_CHANGED],
    };
}

static void put_position(struct view *view, uint64_t reader, uint64_t story,
                         const struct position_record *position, uint64_t version_before,
                         const struct reading_shown *before, const struct reading_shown *now)
{
    struct value row = {
        .exists = true,
        .numbers =
            {
                [READING_READ_AT] = (uint64_t)position->reading.read_at,
                [READING_SCENE] = position->reading.scene,
                [READING_MESSAGE] = position->reading.message,
                [READING_ENTERED_AT] = (uint64_t)position->reading.entered_at,
                [READING_ERASED_AT] = (uint64_t)position->reading.erased_at,
                [READING_FIRST] = position->first,
                [READING_CHANGED] = position->changed,
                [READING_SHOWN_AT] = now->any ? (uint64_t)now->modified_at : 0,
            },
    };
    (void)version_before;
    (void)before;
    desk_put(view, KIND_READING, reader, story, 0, &row);
}

/* ---- Webhooks: few, so all of them are looked at -------------------------------------------- */

/* The first one at or behind the row; NULL if there is none. */
static const struct row *find_webhook(const struct row *row)
{
    while (row && row->kind == KIND_WEBHOOK &&
           (row->is_range || !row->value || !row->value->exists))
        row = sheet_next(row);
    return row && row->kind == KIND_WEBHOOK ? row : NULL;
}

static const struct row *first_webhook(struct view *view)
{
    static const uint64_t key[ROW_KEYS];
    struct desk_view *own = desk_view(view);
    bool here = sheet_has_range(&own->desk->sheet, KIND_WEBHOOK, key);
    own->incomplete |= !here;
    return here ? find_webhook(sheet_from(&own->desk->sheet, KIND_WEBHOOK, key)) : NULL;
}

static const struct row *webhook_named(struct view *view, struct tidings_text name)
{
    const struct row *row = first_webhook(view);
    while (row && !bytes_same(row->value->texts[0], bytes_of(name)))
        row = find_webhook(sheet_next(row));
    return row;
}

static bool get_webhook(struct view *view, struct tidings_text name, struct webhook_record *record)
{
    const struct row *row = webhook_named(view, name);
    if (!row)
        return false;
    if (webhook_decode(row->value->texts[1], record))
        return true;
    view_corrupt(view);
    return false;
}

static void put_webhook(struct view *view, struct tidings_text name,
                        const struct webhook_record *record)
{
    const struct row *there = webhook_named(view, name);
    struct value row = {.exists = true,
                        .texts = {bytes_of(name), webhook_encode(record, view->scratch)}};
    if (!row.texts[1].p)
        view_fail(view, TIDINGS_NO_MEMORY);
    desk_put(view, KIND_WEBHOOK, there ? there->key[0] : record->created, 0, 0, &row);
}

static bool remove_webhook(struct view *view, struct tidings_text name)
{
    const struct row *there = webhook_named(view, name);
    if (there)
        desk_put(view, KIND_WEBHOOK, there->key[0], 0, 0, NULL);
    return there;
}

static int by_name(const void *a, const void *b)
{
    const struct webhook_row *x = a, *y = b;
    size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
    int order = memcmp(x->name.p, y->name.p, n);
    return order ? order : (x->name.n > y->name.n) - (x->name.n < y->name.n);
}

static size_t get_webhooks(struct view *view, struct webhook_row **rows)
{
    size_t room = 0, n = 0;
    const struct row *first = first_webhook(view), *row;
    for (row = first; row; row = find_webhook(sheet_next(row)))
        room++;
    *rows = view_array(view, view->scratch, room, sizeof **rows);
    for (row = first; *rows && row; row = find_webhook(sheet_next(row))) {
        struct webhook_row *out = &(*rows)[n++];
        out->name = row->value->texts[0];
        if (!webhook_decode(row->value->texts[1], &out->record)) {
            view_corrupt(view);
            return 0;
        }
    }
    if (n)
        qsort(*rows, n, sizeof **rows, by_name);
    return n;
}

/* ---- What happened once --------------------------------------------------------------------- */

static uint64_t half(const uint8_t name[ONCE_BYTES], int which)
{
    struct decoder r = decoder_of(name + 8 * which, 8);
    return read_u64(&r);
}

static bool get_once(struct view *view, uint64_t user, const uint8_t name[ONCE_BYTES],
                     struct once_record *once)
{
    const struct value *row = desk_get(view, KIND_ONCE, user, half(name, 0), half(name, 1));
    if (!row || !row->exists)
        return false;
    if (once_decode(row->texts[0], once))
        return true;
    view_corrupt(view);
    return false;
}

static void put_once(struct view *view, uint64_t user, const uint8_t name[ONCE_BYTES],
                     const struct once_record *once)
{
    struct value row = {
        .exists = true, .numbers = {once->stamp}, .texts = {once_encode(once, view->scratch)}};
    if (!row.texts[0].p)
        view_fail(view, TIDINGS_NO_MEMORY);
    desk_put(view, KIND_ONCE, user, half(name, 0), half(name, 1), &row);
}

/* ---- Ids and events ------------------------------------------------------------------------- */

static uint64_t next_id(struct view *view)
{
    struct desk_view *own = desk_view(view);
    uint64_t id = ids_next(own->desk->ids, view->now_ms, own->last_id);
    if (!id) {
        view_fail(view, TIDINGS_NO_SPACE);
        return 0;
    }
    own->n_ids++;
    return own->last_id = id;
}

static void put_event(struct view *view, const struct tidings_event *event)
{
    enum { FIRST = 64 };
    struct desk *desk = desk_view(view)->desk;
    if (view_failed(view))
        return;
    if (desk->n_events == desk->events_room) {
        size_t room = desk->events_room ? desk->events_room * 2 : FIRST;
        struct tidings_event *grown = realloc(desk->events, room * sizeof *grown);
        if (!grown) {
            view_fail(view, TIDINGS_NO_MEMORY);
            return;
        }
        desk->events = grown;
        desk->events_room = room;
    }
    desk->events[desk->n_events++] = *event;
}

/* Its position is given with the commit. */
static void add_event(struct view *view, struct tidings_event *event)
{
    if (view_failed(view))
        return;
    event->event_id = POSITION_LATER + ++desk_view(view)->desk->n_positions;
    put_event(view, event);
}

/* ---- Moments: how far positions have come --------------------------------------------------- */

static uint64_t newest_position(struct view *view)
{
    const struct value *row = desk_get(view, KIND_POSITION, 1, 0, 0);
    return row ? row->numbers[0] : 0;
}

static bool has_position(struct view *view, uint64_t at)
{
    return at <= newest_position(view);
}

static uint64_t oldest_id(const struct view *view, int64_t age_ms)
{
    const struct desk *desk = ((const struct desk_view *)view)->desk;
    return id_floor(clock_limit(desk->clock, view->elapsed_ms, age_ms) - desk->clocks_apart_ms + 1);
}

/* A reader's changes have stamps that increase. Devices may know a version of where facts were imported from. */
static uint64_t version(struct view *view)
{
    const struct value *row = desk_get(view, KIND_USER, desk_view(view)->actor, 0, 0);
    uint64_t least = desk_view(view)->desk->least_version;
    return row && row->numbers[USER_VERSION] > least ? row->numbers[USER_VERSION] : least;
}

static struct tidings_moment moment(struct view *view)
{
    return (struct tidings_moment){{newest_position(view) + 1}};
}

static bool has_been(struct view *view, const struct tidings_moment *at)
{
    for (int i = 1; i < TIDINGS_MOMENT_PARTS; i++)
        if (at->part[i])
            return false;
    return at->part[0] && at->part[0] - 1 <= newest_position(view);
}

/* ---- The table ------------------------------------------------------------------------------ */

const struct rows cluster_rows = {
    .get_user = get_user,
    .put_user = put_user,
    .count = count,
    .get_profile = get_profile,
    .put_profile = put_profile,
    .find_names = cluster_find_names,
    .get_post = get_post,
    .put_post = put_post,
    .get_body = get_body,
    .put_body = put_body,
    .get_key = cluster_get_key,
    .put_key = cluster_put_key,
    .get_post_key = cluster_get_post_key,
    .get_head = cluster_get_head,
    .add_number = cluster_add_number,
    .add_deletion = cluster_add_deletion,
    .close_story = cluster_close_story,
    .get_pair = cluster_get_pair,
    .put_pair = cluster_put_pair,
    .get_pairs = cluster_get_pairs,
    .sum_unread = cluster_sum_unread,
    .get_readmap = cluster_get_readmap,
    .get_read_bits = cluster_get_read_bits,
    .put_readmap = cluster_put_readmap,
    .last_read_bits = cluster_last_read_bits,
    .add_history = add_history,
    .remove_history = remove_history,
    .forget_history = forget_history,
    .get_reaction = get_reaction,
    .put_reaction = put_reaction,
    .get_counts = get_counts,
    .put_counts = put_counts,
    .get_comment = get_comment,
    .put_comment = put_comment,
    .get_comment_body = get_comment_body,
    .put_comment_body = put_comment_body,
    .get_scene = get_scene,
    .put_scene = put_scene,
    .get_messages = get_messages,
    .put_messages = put_messages,
    .give_ids = give_ids,
    .was_given = was_given,
    .get_shelf = get_shelf,
    .put_shelf = put_shelf,
    .get_position = get_position,
    .put_position = put_position,
    .get_webhook = get_webhook,
    .put_webhook = put_webhook,
    .remove_webhook = remove_webhook,
    .get_webhooks = get_webhooks,
    .get_once = get_once,
    .put_once = put_once,
    .get_list = cluster_get_list,
    .has_stamp = has_stamp,
    .newest_history = newest_history,
    .get_events = cluster_get_events,
    .count_old_events = cluster_count_old_events,
    .add_event = add_event,
    .newest_position = newest_position,
    .has_position = has_position,
    .next_id = next_id,
    .oldest_id = oldest_id,
    .version = version,
    .moment = moment,
    .has_been = has_been,
    .posts_by = cluster_posts_by,
};

const struct move_target cluster_target = {
    .put_head = cluster_put_head,
    .put_deletions = cluster_put_deletions,
    .put_event = put_event,
};

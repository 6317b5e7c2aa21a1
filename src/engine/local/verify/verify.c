/* SPDX-License-Identifier: MIT */
/*
 * Verify: everything that is stored twice is computed again from what it was made of, and every
 * index is checked against its table in both directions. It looks at one snapshot while writing
 * stands still. What it can mend it notes down and, if asked to, writes in one transaction at the
 * end.
 *
 *     truth                       made of it
 *     pairs: spans, following     follower index, counters following and followers
 *     posts                       authors' lists and deletions, counter posts, bodies
 *     read maps                   pairs' counts and skips, history index
 *     what happened once          its order by age
 *     profiles                    the index of names
 *     votes, comments             lists of reactions and comments, counts, hot lists, counters
 *     scenes                      stories' lists and deletions
 *     subscriptions, positions    their indexes, counts on the shelf
 *
 * The parts about inboxes, votes, comments, stories and names have files of their own.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "domain/json.h"
#include "engine/local/local.h"
#include "engine/local/memory/recent.h"
#include "engine/local/verify/verify.h"

enum { STEPS_UNTOLD = 1024 };

/* ---- Findings ------------------------------------------------------------------------------- */

void verify_differ(struct check *check, const char *format, ...)
{
    check->out->differences++;
    if (!check->out->report)
        return;
    va_list args;
    va_start(args, format);
    fprintf(check->out->report, "%s: ", check->part);
    vfprintf(check->out->report, format, args);
    fputc('\n', check->out->report);
    va_end(args);
}

static struct bytes copy(struct check *check, struct bytes bytes)
{
    uint8_t *own = arena_alloc(&check->notes, bytes.n + 1);
    if (!own)
        kv_fail(txn_of(check->view), TIDINGS_NO_MEMORY);
    else if (bytes.n)
        memcpy(own, bytes.p, bytes.n);
    return (struct bytes){own, bytes.n};
}

void verify_mend_long(struct check *check, enum table table, struct bytes key, struct bytes value)
{
    struct mend *mend = arena_alloc(&check->notes, sizeof *mend);
    struct bytes own_key = copy(check, key), own_value = value.p ? copy(check, value) : value;
    if (!mend || !own_key.p || (value.p && !own_value.p)) {
        kv_fail(txn_of(check->view), TIDINGS_NO_MEMORY);
        return;
    }
    *mend = (struct mend){NULL, table, own_key, own_value};
    *check->last_mend = mend;
    check->last_mend = &mend->next;
}

void verify_mend(struct check *check, enum table table, const struct key *key, struct bytes value)
{
    verify_mend_long(check, table, key_bytes(key), value);
}

void verify_mend_delete(struct check *check, enum table table, const struct key *key)
{
    verify_mend(check, table, key, (struct bytes){NULL, 0});
}

void verify_step(struct check *check)
{
    check->out->checked++;
    arena_clear(check->view->scratch);
    /* Damage is what we are looking for: note it and go on. */
    if (txn_of(check->view)->err == TIDINGS_CORRUPT) {
        verify_differ(check, "a record cannot be decoded, or contradicts others");
        txn_of(check->view)->err = TIDINGS_OK;
        /* From the failure on nothing was found any more: what it would mend rests on nothing. */
        *check->row_mend = NULL;
        check->last_mend = check->row_mend;
    }
    check->row_mend = check->last_mend;
    if (check->part_steps < check->part_rows)
        check->part_steps++;
    if (check->part_steps % STEPS_UNTOLD == 0)
        progress_tell(&check->progress, check->part_steps);
}

void verify_part(struct check *check, const char *part, enum table table)
{
    check->part = check->progress.what = part;
    check->progress.before += check->part_rows;
    check->part_rows = kv_rows(txn_of(check->view), table);
    check->part_steps = 0;
    progress_tell(&check->progress, 0);
}

/* Every table is passed through once, four of them by the parts that count, and all once more if it is to be deep. */
static uint64_t rows_of_all_parts(struct kv_txn *txn, bool deep)
{
    uint64_t rows =
        kv_rows(txn, TABLE_POST) + kv_rows(txn, TABLE_TARGET) + 2 * kv_rows(txn, TABLE_USER);
    for (enum table table = 0; table < TABLE_COUNT; table++)
        rows += kv_rows(txn, table) * (deep ? 2 : 1);
    return rows;
}

void verify_each_row(struct check *check, enum table table,
                     void (*visit)(struct check *, struct bytes key, struct bytes value))
{
    size_t longest = table_key_max(table);
    uint8_t at[LONG_KEY_MAX + 1] = {0};
    struct bytes from = {at, 1}, key, value;
    while (!view_failed(check->view) &&
           kv_seek_long(txn_of(check->view), table, from, &key, &value)) {
        if (key.n >= longest) {
            verify_differ(check, "a key of %zu bytes", key.n);
            return;
        }
        /* The visitor may move the scanner: remember where to go on, just behind this key. */
        memcpy(at, key.p, key.n);
        visit(check, (struct bytes){at, key.n}, value);
        at[key.n] = 0;
        from.n = key.n + 1;
        verify_step(check);
    }
}

/* ---- Tallies -------------------------------------------------------------------------------- */

static struct tally *find_tally(const struct tallies *tallies, uint64_t name)
{
    size_t i = (size_t)(name * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (tallies->room - 1);
    while (tallies->at[i].name && tallies->at[i].name != name)
        i = (i + 1) & (tallies->room - 1);
    return &tallies->at[i];
}

static bool grow_tallies(struct tallies *tallies)
{
    struct tallies bigger = {.n = tallies->n, .room = tallies->room ? tallies->room * 2 : 1024};
    bigger.at = calloc(bigger.room, sizeof *bigger.at);
    if (!bigger.at)
        return false;
    for (size_t i = 0; i < tallies->room; i++)
        if (tallies->at[i].name)
            *find_tally(&bigger, tallies->at[i].name) = tallies->at[i];
    free(tallies->at);
    *tallies = bigger;
    return true;
}

/* The kind is never 0, so that no name is. */
static uint64_t tally_name(enum tally_kind kind, uint64_t id)
{
    return id << 4 | kind;
}

void verify_tally_add(struct check *check, enum tally_kind kind, uint64_t id, int64_t delta)
{
    struct tallies *tallies = &check->tallies;
    if (!delta)
        return;
    if (tallies->n * 2 >= tallies->room && !grow_tallies(tallies)) {
        kv_fail(txn_of(check->view), TIDINGS_NO_MEMORY);
        return;
    }
    struct tally *tally = find_tally(tallies, tally_name(kind, id));
    tallies->n += !tally->name;
    tally->name = tally_name(kind, id);
    tally->value += delta;
}

int64_t verify_tally_of(const struct check *check, enum tally_kind kind, uint64_t id)
{
    return check->tallies.n ? find_tally(&check->tallies, tally_name(kind, id))->value : 0;
}

/* ---- Users' rows ---------------------------------------------------------------------------- */

static void check_user_row(struct check *check, struct bytes key, struct bytes value)
{
    struct user_record user;
    if (key.n < ID_BYTES + 1) {
        verify_differ(check, "a key of %zu bytes", key.n);
        return;
    }
    uint64_t id = get_id(key.p);
    uint8_t row = key.p[ID_BYTES];
    switch (row) {
    case ROW_HISTORY:
        verify_history(check, id, key, value);
        break;
    case ROW_READMAP:
        verify_readmap(check, id, key, value);
        break;
    case ROW_USER:
        if (!user_decode(value, &user))
            verify_differ(check, "user %" PRIu64 ": the record cannot be decoded", id);
        break;
    case ROW_INBOX:
    case ROW_OUTSIDE:
        verify_pair(check, id, key);
        break;
    case ROW_VOTE:
        verify_vote(check, id, key, value);
        break;
    case ROW_REACTED:
        verify_reacted(check, id, key, value);
        break;
    default:
        if (!verify_story_row(check, id, key, value))
            verify_differ(check, "user %" PRIu64 ": a row of unknown kind %u", id, row);
    }
}

/* ---- Counters ------------------------------------------------------------------------------- */

/* Rows of the index as they will be: with those that are missing, without those that are wrong. */
static uint64_t count_followers(struct check *check, uint64_t author)
{
    struct view *view = check->view;
    struct key prefix = key_id(author);
    struct bytes key, value;
    uint64_t n = 0;
    for (const struct mend *mend = check->mends; mend; mend = mend->next) {
        if (mend->table == TABLE_FOLLOWER && key_has_prefix(mend->key, &prefix))
            n += mend->value.p ? 1 : (uint64_t)-1;
    }
    bool found = kv_seek(txn_of(view), TABLE_FOLLOWER, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(txn_of(view), TABLE_FOLLOWER, &key, &value))
        n++;
    return n;
}

static uint64_t count_following(struct view *view, uint64_t fan)
{
    struct tie *ties;
    uint64_t count = 0;
    size_t n = tie_list(view, REALM_POSTS, fan, &ties);
    for (size_t i = 0; i < n; i++)
        count += ties[i].pair.following;
    return count;
}

static bool compare(struct check *check, uint64_t user, const char *name, uint64_t *stored,
                    uint64_t counted)
{
    if (*stored == counted)
        return true;
    verify_differ(check, "user %" PRIu64 ": %s is %" PRIu64 ", counted %" PRIu64, user, name,
                  *stored, counted);
    *stored = counted;
    return false;
}

static void check_counters(struct check *check, uint64_t id)
{
    struct view *view = check->view;
    struct user_record user = view_user(view, id);
    const struct head *head = view_head(view, REALM_POSTS, id);
    uint64_t following = count_following(view, id), followers = count_followers(check, id);
    struct user_record counted = {0};
    verify_count_reactions(check, id, head, &counted);
    if (view_failed(view))
        return; /* damaged pairs: what could be counted is not all there is */
    bool right = compare(check, id, "following", &user.following, following);
    right &= compare(check, id, "followers", &user.followers, followers);
    right &= compare(check, id, "posts", &user.posts, head->n_posts - head->n_deleted);
    right &= compare(check, id, "liked_posts", &user.liked_posts, counted.liked_posts);
    right &= compare(check, id, "faved_posts", &user.faved_posts, counted.faved_posts);
    right &= compare(check, id, "likes_received", &user.likes_received, counted.likes_received);
    right &= compare(check, id, "favs_received", &user.favs_received, counted.favs_received);
    if (right)
        return;
    uint8_t bytes[USER_RECORD_MAX];
    struct key key = key_row(id, ROW_USER);
    verify_mend(check, TABLE_USER, &key, (struct bytes){bytes, user_encode(&user, bytes)});
}

/* Once a user: those with rows of their own, then those who only have followers or posts. */
static void check_users(struct check *check)
{
    enum table tables[] = {TABLE_USER, TABLE_FOLLOWER, TABLE_AUTHOR};
    struct bytes key, value, found;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct key at = key_id(0);
        while (!view_failed(check->view) &&
               kv_seek(txn_of(check->view), tables[i], &at, &key, &value) && key.n >= ID_BYTES) {
            uint64_t user = get_id(key.p);
            struct key record = key_row(user, ROW_USER);
            if (i == 0 || !kv_get(txn_of(check->view), TABLE_USER, &record, &found))
                check_counters(check, user);
            if (user >= ID_MASK)
                break;
            at = key_id(user + 1);
            verify_step(check);
        }
    }
}

/* ---- The other tables ----------------------------------------------------------------------- */

static void check_follower(struct check *check, struct bytes key, struct bytes value)
{
    struct tie tie;
    struct key row = {.n = (uint8_t)key.n};
    if (key.n != 2 * ID_BYTES || value.n != ID_BYTES) {
        verify_differ(check, "a row of %zu and %zu bytes", key.n, value.n);
        return;
    }
    memcpy(row.bytes, key.p, key.n);
    uint64_t author = get_id(key.p), rank = get_id_descending(key.p + ID_BYTES);
    uint64_t fan = get_id(value.p);
    tie_load(check->view, REALM_POSTS, fan, author, &tie);
    if (view_failed(check->view) || (tie.pair.following && tie.pair.rank == rank))
        return;
    verify_differ(check, "%" PRIu64 " has follower %" PRIu64 ", who does not follow so", author,
                  fan);
    verify_mend_delete(check, TABLE_FOLLOWER, &row);
}

/* It goes into answers as it is. */
static bool is_own_data(struct bytes extra)
{
    return !extra.n || json_holds_object((const char *)extra.p, extra.n);
}

static void check_post(struct check *check, struct bytes key, struct bytes value)
{
    struct post_record post;
    if (key.n != ID_BYTES || !post_decode(value, &post)) {
        verify_differ(check, "a post cannot be decoded");
        return;
    }
    uint64_t id = get_id(key.p);
    const struct head *head = view_head(check->view, REALM_POSTS, post.author);
    if (post.seq >= head->n_posts || head->ids[post.seq] != id)
        verify_differ(check, "%" PRIu64 " is not in its author's list", id);
    else if (post.deleted != head_is_deleted(head, post.seq))
        verify_differ(check, "%" PRIu64 " is deleted in one place only", id);
    if (id > local_of(check->view)->last_id || post.removed > local_of(check->view)->last_id)
        verify_differ(check, "%" PRIu64 " is newer than the newest id", id);
    if (!is_own_data(post.extra) || (post.deleted && post.extra.n))
        verify_differ(check, "%" PRIu64 " has own data that it cannot have", id);
}

static void check_list(struct check *check, struct bytes key, struct bytes value)
{
    struct post_record post;
    if (key.n != ID_BYTES + 1 + 4 || key.p[ID_BYTES] != ROW_POSTS)
        return;
    uint64_t author = get_id(key.p);
    uint32_t first = get_u32(key.p + ID_BYTES + 1) * READMAP_POSTS;
    for (uint32_t i = 0; i < value.n / ID_BYTES; i++) {
        uint64_t id = get_id(value.p + i * ID_BYTES);
        if (!view_post(check->view, id, &post) || post.author != author || post.seq != first + i)
            verify_differ(check, "%" PRIu64 " lists %" PRIu64 ", which is no post of theirs",
                          author, id);
    }
}

static void check_body(struct check *check, struct bytes key, struct bytes value)
{
    struct post_record post;
    (void)value;
    uint64_t id = key.n == ID_BYTES ? get_id(key.p) : 0;
    struct key row = key_id(id);
    bool alive = id && view_post(check->view, id, &post) && !post.deleted;
    if (alive || view_failed(check->view))
        return;
    verify_differ(check, "a body without its post %" PRIu64, id);
    verify_mend_delete(check, TABLE_BODY, &row);
}

static void check_event(struct check *check, struct bytes key, struct bytes value)
{
    struct tidings_event event;
    if (key.n != ID_BYTES || !event_decode(value, &event))
        verify_differ(check, "an event cannot be decoded");
    else if (get_id(key.p) > local_of(check->view)->last_id)
        verify_differ(check, "%" PRIu64 " is newer than the newest id", get_id(key.p));
}

static void check_profile(struct check *check, struct bytes key, struct bytes value)
{
    struct profile_record profile;
    if (key.n != ID_BYTES || !profile_decode(value, &profile))
        verify_differ(check, "a profile cannot be decoded");
    else if (!is_own_data(profile.extra))
        verify_differ(check, "%" PRIu64 " has own data that it cannot have", get_id(key.p));
    else
        verify_named(check, get_id(key.p), profile.name);
}

static void check_once(struct check *check, struct bytes key, struct bytes value)
{
    struct once_record record;
    if (key.n != ID_BYTES + ONCE_BYTES || !once_decode(value, &record)) {
        verify_differ(check, "a kept answer cannot be decoded");
        return;
    }
    struct spent_record spent;
    if (once_is_tickets(key.p + ID_BYTES) && !spent_decode(record.answer, &spent))
        verify_differ(check, "the tickets that %" PRIu64 " has used cannot be decoded",
                      get_id(key.p));
    struct key age = key_id(record.stamp);
    struct bytes name;
    if (kv_get(txn_of(check->view), TABLE_ONCE_AGE, &age, &name) && name.n == key.n &&
        !memcmp(name.p, key.p, key.n))
        return;
    verify_differ(check, "an answer of user %" PRIu64 " is kept for ever", get_id(key.p));
    verify_mend(check, TABLE_ONCE_AGE, &age, key);
}

/* An age whose key was used again is normal; one without any answer is not. */
static void check_once_age(struct check *check, struct bytes key, struct bytes value)
{
    struct key name = {.n = (uint8_t)value.n};
    struct bytes found;
    uint64_t stamp = key.n == ID_BYTES ? get_id(key.p) : 0;
    struct key age = key_id(stamp);
    if (value.n == ID_BYTES + ONCE_BYTES)
        memcpy(name.bytes, value.p, value.n);
    else
        name.n = 0;
    if (stamp && name.n && kv_get(txn_of(check->view), TABLE_ONCE, &name, &found))
        return;
    verify_differ(check, "an age without an answer");
    verify_mend_delete(check, TABLE_ONCE_AGE, &age);
}

static void check_webhook(struct check *check, struct bytes key, struct bytes value)
{
    struct webhook_record record;
    if (!webhook_decode(value, &record))
        verify_differ(check, "%.*s cannot be decoded", (int)key.n, (const char *)key.p);
    else if (record.generation > local_of(check->view)->last_id ||
             record.position > local_of(check->view)->last_id)
        verify_differ(check, "%.*s is newer than the newest id", (int)key.n, (const char *)key.p);
}

/* Each letter is of an event; what they have in common counts them. */
static void check_letter(struct check *check, struct bytes key, struct bytes value)
{
    struct letter_record letter;
    struct letters_record letters;
    bool is_sound =
        key.n == 2 * ID_BYTES && (get_id(key.p + ID_BYTES) ? letter_decode(value, &letter)
                                                           : letters_decode(value, &letters));
    if (!is_sound)
        verify_differ(check, "a dead letter cannot be decoded");
}

/* ---- All together --------------------------------------------------------------------------- */

static void check_everything(struct check *check)
{
    static const struct {
        const char *part;
        enum table table;
        void (*visit)(struct check *, struct bytes key, struct bytes value);
    } parts[] = {
        /* An index comes before what it is made of: if a row of it names the wrong one, it is first
         * deleted and then written. */
        {"posts", TABLE_POST, check_post},
        {"authors", TABLE_AUTHOR, check_list},
        {"bodies", TABLE_BODY, check_body},
        {"followers", TABLE_FOLLOWER, check_follower},
        {"targets", TABLE_TARGET, verify_target_row},
        {"users", TABLE_USER, check_user_row},
        {"names", TABLE_NAME, verify_name},
        {"profiles", TABLE_PROFILE, check_profile},
        {"keys", TABLE_KEY, verify_key},
        {"events", TABLE_EVENT, check_event},
        {"answers", TABLE_ONCE, check_once},
        {"ages", TABLE_ONCE_AGE, check_once_age},
        {"webhooks", TABLE_WEBHOOK, check_webhook},
        {"letters", TABLE_LETTER, check_letter},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        verify_part(check, parts[i].part, parts[i].table);
        verify_each_row(check, parts[i].table, parts[i].visit);
    }
    verify_interactions(check);
    verify_stories(check);
    verify_part(check, "counters", TABLE_USER);
    check_users(check);
}

/* At this time: a restore to a moment before must not have them. */
static enum tidings_err write_mends(struct local *local, struct check *check, int64_t now_ms)
{
    struct kv_txn txn;
    enum tidings_err err = check->mends ? kv_begin(local->kv, &txn) : TIDINGS_OK;
    if (err || !check->mends)
        return err;
    uint64_t n = 0;
    txn.time_ms = now_ms;
    for (struct mend *mend = check->mends; mend; mend = mend->next, n++) {
        if (mend->value.p)
            kv_put_long(&txn, mend->table, mend->key, mend->value.p, mend->value.n);
        else
            kv_del_long(&txn, mend->table, mend->key);
    }
    err = kv_commit(&txn);
    if (!err) {
        recent_forget(local->recent);
        check->out->repaired = n;
        local->writer.no_sweeping = false;
    }
    return err;
}

enum tidings_err local_verify(struct engine *engine, struct tidings_verify *out)
{
    struct local *local = (struct local *)engine;
    struct snapshot *snapshot;
    out->checked = out->differences = out->repaired = out->spoiled = 0;
    /* Whoever follows must not have a history of its own. */
    if (out->repair && atomic_load(&local->role) != TIDINGS_WRITER)
        return TIDINGS_STANDBY;

    pthread_mutex_lock(&local->writer.turn);
    /* This may take long, and the writer cannot do it meanwhile. */
    redo_sync(local->store->redo, true);
    enum tidings_err err = snapshot_take(local, NULL, &snapshot);
    if (!err) {
        struct check check = {.view = &snapshot->view.view, .out = out};
        snapshot->view.recent = NULL;
        check.progress.to = out->progress;
        check.progress.total = rows_of_all_parts(&snapshot->txn, out->deep);
        arena_init(&check.notes, SCRATCH_MEMORY_MAX);
        check.last_mend = check.row_mend = &check.mends;
        err = out->deep ? verify_deep(local, &check) : TIDINGS_OK;
        if (!err && !out->spoiled) {
            check_everything(&check);
            err = snapshot->txn.err;
        }
        int64_t now_ms = snapshot->view.view.now_ms;
        snapshot_return(local, snapshot);
        if (!err && out->repair && !out->spoiled)
            err = write_mends(local, &check, now_ms);
        arena_release(&check.notes);
        free(check.tallies.at);
        progress_end(&check.progress);
    }
    pthread_mutex_unlock(&local->writer.turn);
    return err;
}

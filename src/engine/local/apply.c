/* SPDX-License-Identifier: MIT */
/*
 * Records that another server's log has decided, onto this directory: rows as they are written there, and with them all that
 * is kept in memory beside the rows, as the writer would have changed it. Several records are one transaction: whoever reads
 * sees all of them or none, under the number of the last.
 */
#include <stdlib.h>

#include "engine/local/ahead.h"
#include "engine/local/local.h"
#include "engine/local/memory/recent.h"
#include "engine/local/rows/told.h"
#include "engine/ops/rules.h"

/* Authors whose lists were not only added to: their heads are loaded anew from the table. */
struct remade {
    struct remade_author {
        enum realm realm;
        uint64_t author;
    } * at;
    size_t n, room;
};

struct applying {
    struct local *local;
    struct local_view view;
    struct remade remade;
    bool settings_changed;
    struct tidings_settings settings;
    bool clock_changed;
    struct clock_row clock;
    uint64_t era;
    struct newest newest;
    struct {
        struct bytes *at;
        size_t n, room;
    } marks; /* of changes that were handed over */
};

/* ---- Heads ---------------------------------------------------------------------------------- */

static void remake_head(struct applying *applying, enum realm realm, uint64_t author)
{
    struct remade *remade = &applying->remade;
    if (remade->n && remade->at[remade->n - 1].author == author &&
        remade->at[remade->n - 1].realm == realm)
        return;
    if (remade->n == remade->room) {
        size_t room = remade->room ? remade->room * 2 : 64;
        struct remade_author *more = realloc(remade->at, room * sizeof *more);
        if (!more) {
            kv_fail(applying->view.txn, TIDINGS_NO_MEMORY);
            return;
        }
        remade->at = more;
        remade->room = room;
    }
    remade->at[remade->n++] = (struct remade_author){realm, author};
}

/* What the chunk has behind what the head knows; false if it is not an addition. */
static bool add_posts(struct applying *applying, uint64_t author, uint32_t first,
                      struct bytes value)
{
    struct heads *heads = applying->local->heads;
    uint64_t version = applying->view.version;
    const struct head *head = heads_get(heads, author, version);
    uint32_t n = (uint32_t)(value.n / ID_BYTES), known = head->n_posts;
    if (value.n % ID_BYTES || first > known || first + n < known)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t id = get_id(value.p + (size_t)i * ID_BYTES);
        if (first + i < known ? head->ids[first + i] != id
                              : !heads_add_post(heads, author, version, id))
            return false;
    }
    return true;
}

static bool add_deletions(struct applying *applying, uint64_t author, uint32_t first,
                          struct bytes value)
{
    struct heads *heads = applying->local->heads;
    uint64_t version = applying->view.version;
    const struct head *head = heads_get(heads, author, version);
    uint32_t n = (uint32_t)(value.n / 4), known = head->n_deleted;
    if (value.n % 4 || first > known || first + n < known)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = get_u32(value.p + (size_t)i * 4);
        if (first + i < known
                ? head->deleted[first + i] != number
                : number >= head->n_posts || !heads_add_deletion(heads, author, version, number))
            return false;
    }
    return true;
}

/* A chunk of an author's list. Scenes of a story that is closed are swept from the table; the head goes on without them. */
static void apply_list(struct applying *applying, enum realm realm, const struct change *change)
{
    if (change->key.n != ID_BYTES + 1 + 4) {
        kv_fail(applying->view.txn, TIDINGS_CORRUPT);
        return;
    }
    uint64_t author = get_id(change->key.p), marked = author | realm_rows[realm].mark;
    uint32_t first = get_u32(change->key.p + ID_BYTES + 1) * READMAP_POSTS;
    const struct head *head = heads_get(applying->local->heads, marked, applying->view.version);
    bool added = false;
    if (head_is_closed(head))
        return;
    if (change->is_put && change->key.p[ID_BYTES] == ROW_POSTS)
        added = add_posts(applying, marked, first, change->value);
    else if (change->is_put)
        added = add_deletions(applying, marked, first, change->value);
    if (!added)
        remake_head(applying, realm, author);
}

/* The row is put when a story is deleted, and again while its scenes are swept. */
static void close_story(struct applying *applying, const struct change *change)
{
    struct heads *heads = applying->local->heads;
    if (!change->is_put || change->key.n != ID_BYTES)
        return;
    uint64_t story = get_id(change->key.p) | HEAD_STORY;
    const struct head *head = heads_get(heads, story, applying->view.version);
    if (!head_is_closed(head) && !heads_close(heads, story, applying->view.version))
        kv_fail(applying->view.txn, TIDINGS_NO_MEMORY);
}

/* ---- Pairs, and what the log says of the whole -------------------------------------------------- */

/* A pair that a badge counts. */
static void apply_pair(struct applying *applying, const struct change *change)
{
    if (change->key.n != 2 * ID_BYTES + 1)
        return;
    uint8_t row = change->key.p[ID_BYTES];
    uint64_t fan = get_id(change->key.p), author = get_id(change->key.p + ID_BYTES + 1);
    for (enum realm realm = REALM_POSTS; realm <= REALM_SCENES; realm++)
        if (row == realm_rows[realm].inside)
            recent_change(&applying->view, fan | realm_rows[realm].mark, author,
                          change->is_put ? change->value : (struct bytes){NULL, 0});
}

static bool is_meta(const struct change *change, const char *name)
{
    struct key key = key_meta(name);
    return change->is_put && bytes_same(change->key, key_bytes(&key));
}

static void apply_meta(struct applying *applying, const struct change *change)
{
    struct rules_record rules;
    if (is_meta(change, "rules") && rules_decode(change->value, &rules)) {
        rules_adopt(&rules, &applying->settings);
        applying->settings_changed = true;
    }
    if (is_meta(change, "limits"))
        applying->settings_changed |= limits_adopt(change->value, &applying->settings);
    if (is_meta(change, "era") && change->value.n == 8) {
        struct decoder r = decoder_of(change->value.p, change->value.n);
        applying->era = read_u64(&r);
    }
    if (is_meta(change, "clock"))
        applying->clock_changed = clock_row_decode(change->value, &applying->clock);
}

static void apply_memory(struct applying *applying, const struct change *change)
{
    switch (change->table) {
    case TABLE_AUTHOR:
        apply_list(applying, REALM_POSTS, change);
        break;
    case TABLE_STORY:
        apply_list(applying, REALM_SCENES, change);
        break;
    case TABLE_UNSWEPT:
        close_story(applying, change);
        break;
    case TABLE_USER:
        apply_pair(applying, change);
        break;
    case TABLE_META:
        apply_meta(applying, change);
        break;
    default:
        break;
    }
}

/* ---- Records -------------------------------------------------------------------------------- */

static void note_mark(struct applying *applying, struct bytes mark)
{
    if (!applying->local->forward)
        return;
    if (applying->marks.n == applying->marks.room) {
        size_t room = applying->marks.room ? applying->marks.room * 2 : 64;
        struct bytes *more = realloc(applying->marks.at, room * sizeof *more);
        if (!more) {
            kv_fail(applying->view.txn, TIDINGS_NO_MEMORY);
            return;
        }
        applying->marks.at = more;
        applying->marks.room = room;
    }
    applying->marks.at[applying->marks.n++] = mark;
}

static void apply_record(struct applying *applying, const struct redo_record *record)
{
    struct decoder r = decoder_of(record->changes.p, record->changes.n);
    struct news *news = applying->view.view.news;
    struct tidings_event event;
    struct change change;
    while (change_decode(&r, &change)) {
        change_apply(applying->view.txn, &change);
        apply_memory(applying, &change);
        if (change.table == CHANGE_ANSWER)
            note_mark(applying, change.value);
        if (news && told_event(&change, &event))
            news_add(news, &event);
    }
    if (r.bad)
        kv_fail(applying->view.txn, TIDINGS_CORRUPT);
}

static void remake_heads(struct applying *applying)
{
    struct kv_txn *txn = applying->view.txn;
    for (size_t i = 0; i < applying->remade.n && !txn->err; i++) {
        const struct remade_author *at = &applying->remade.at[i];
        enum tidings_err err =
            load_head(applying->local, txn, at->realm, at->author, applying->view.version);
        if (err)
            kv_fail(txn, err);
    }
}

/* Each record must follow the one before it. */
static enum tidings_err check_chains(struct local *local, const struct redo_record *records,
                                     size_t n)
{
    struct chain before = kv_chain(local->kv), expected;
    uint64_t number = kv_applied(local->kv);
    for (size_t i = 0; i < n; i++) {
        if (!chain_next(local->follower.chainer, &before, &records[i], &expected))
            return TIDINGS_NO_MEMORY;
        if (records[i].number != ++number || !chain_same(&expected, &records[i].chain))
            return TIDINGS_CORRUPT;
        before = expected;
    }
    return TIDINGS_OK;
}

static void begin(struct local *local, struct kv_txn *txn, uint64_t version,
                  struct applying *applying)
{
    struct news *news = &local->writer.news;
    news->n = 0;
    news->lost = false;
    *applying = (struct applying){
        .local = local,
        .settings = *local_in_force(local),
        .era = atomic_load(&local->era),
        .view = {.view = {.rows = &local_rows,
                          .err = &txn->err,
                          .settings = local_in_force(local),
                          .news = engine_is_watched(&local->engine) ? news : NULL},
                 .txn = txn,
                 .heads = local->heads,
                 .clock = &local->clock,
                 .recent = local->recent,
                 .version = version,
                 .age = recent_age(local->recent)},
    };
}

/* It is committed: whoever reads may see it. */
static void show(struct applying *applying)
{
    struct local *local = applying->local;
    atomic_store(&local->committed, applying->view.version);
    atomic_store(&local->era, applying->era);
    if (applying->settings_changed && !limits_change(local, &applying->settings) && local->fault)
        local->fault(local->fault_ctx, "no memory for the limits that are in force now");
    if (applying->clock_changed)
        clock_share(&local->clock, &applying->clock.ages);
    clock_raise(&local->clock, applying->newest.elapsed_ms);
    heads_commit(local->heads);
    writer_tell(local, &local->writer.news);
}

/* Before others hear how far this replica is: whoever waits for that takes what is not answered for not made. */
static struct tidings_call *take_answered(struct applying *applying)
{
    struct tidings_call *calls = NULL, **end = &calls;
    for (size_t i = 0; i < applying->marks.n; i++) {
        struct tidings_call *call = forward_answered(applying->local, applying->marks.at[i]);
        if (!call)
            continue;
        call->next = NULL;
        *end = call;
        end = &call->next;
    }
    return calls;
}

static enum tidings_err apply(struct local *local, const struct redo_record *records, size_t n,
                              struct tidings_call **answered)
{
    struct applying applying;
    struct kv_txn txn;
    enum tidings_err err = kv_begin_records(local->kv, &txn);
    if (err)
        return err;
    begin(local, &txn, records[n - 1].number, &applying);
    for (size_t i = 0; i < n && !txn.err; i++)
        apply_record(&applying, &records[i]);
    remake_heads(&applying);
    applying.newest = load_newest(&txn);
    if (applying.newest.version != applying.view.version)
        kv_fail(&txn, TIDINGS_CORRUPT); /* every batch says its number; heads go by it */
    free(applying.remade.at);
    err = kv_commit_records(&txn, records, n);
    if (err) {
        free(applying.marks.at);
        heads_abort(local->heads);
        recent_forget(local->recent);
        return err;
    }
    show(&applying);
    *answered = take_answered(&applying);
    free(applying.marks.at);
    for (size_t i = 0; local->tail && i < n; i++)
        tail_put(local->tail, &records[i]);
    local_end_note(local);
    return TIDINGS_OK;
}

/* How many changes the records are of, about: what is waited for the disk is compared with that. */
enum { APPLY_CHANGE_BYTES = 128 };

static size_t apply_changes(const struct redo_record *records, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += records[i].changes.n;
    return n + bytes / APPLY_CHANGE_BYTES;
}

enum tidings_err apply_records(struct local *local, const struct redo_record *records, size_t n)
{
    struct tidings_call *answered = NULL;
    pthread_mutex_lock(&local->writer.turn);
    for (; n && records->number <= kv_applied(local->kv); n--)
        records++;
    bool follows = atomic_load(&local->role) == TIDINGS_FOLLOWER;
    enum tidings_err err = follows ? check_chains(local, records, n) : TIDINGS_STANDBY;
    if (!err && n && ahead_begin_records(local->ahead, records, n))
        ahead_end(local->ahead);
    if (!err && n) {
        size_t changes = apply_changes(records, n);
        struct ahead_watch watch = ahead_watch_begin(local->ahead, changes);
        do
            err = apply(local, records, n, &answered);
        while (err == TIDINGS_NO_SPACE && kv_can_grow(local->kv));
        ahead_watch_end(local->ahead, &watch, changes);
    }
    if (!err && n && local->replica)
        replica_applied(local, records, n);
    if (!err)
        redo_sync(local->store->redo, false);
    pthread_mutex_unlock(&local->writer.turn);
    while (answered) {
        struct tidings_call *call = answered;
        answered = call->next;
        call->done(call);
    }
    return err;
}

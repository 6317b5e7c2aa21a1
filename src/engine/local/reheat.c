/* SPDX-License-Identifier: MIT */
/*
 * Weights, the fold rule and the half-life are settings, but lists are stored in the order they
 * give, and comments in the state. So the row `rules` says which of them are in force. If others are
 * wanted at opening, states and lists are made anew before anyone sees them:
 *
 *     CLEAR     all rows of the hot lists of posts go
 *     FOLD      each post or comment: the rows of the comments on it by heat go; a comment that the
 *               rule folds or not any more changes as it would by a vote, events included
 *     COMMENTS  each comment is put into the list of its parent
 *     POSTS     each post is put into the hot list of its kind
 *
 * Each transaction does a bounded piece and writes down how far it came. After an interruption it
 * goes on from there, or begins again if the settings differ once more. A change made in FOLD enters
 * what it moves with the new order; entering it again in COMMENTS changes nothing.
 */
#include "domain/ids.h"
#include "engine/local/local.h"
#include "engine/ops/rules.h"
#include "engine/ops/target.h"

enum { PIECE = 4096 };

enum stage { DONE, CLEAR, FOLD, COMMENTS, POSTS };

/* The rules in force. A row that is missing or damaged changes nothing. */
enum tidings_err reheat_adopt(struct local *local)
{
    struct key key = key_meta("rules");
    struct rules_record stored;
    struct bytes bytes;
    struct kv_txn txn;
    enum tidings_err err = kv_begin(local->kv, &txn);
    if (err)
        return err;
    if (kv_get(&txn, TABLE_META, &key, &bytes) && rules_decode(bytes, &stored))
        rules_adopt(&stored, &local->settings);
    kv_abort(&txn);
    return TIDINGS_OK;
}

/* What there is to do: a new directory has no row, and nothing to do. */
static struct rules_record load_rules(struct kv_txn *txn, const struct tidings_settings *settings)
{
    struct rules_record wanted = {.stage = CLEAR}, stored;
    struct key key = key_meta("rules");
    struct bytes value;
    rules_of(settings, wanted.value);
    bool known = kv_get(txn, TABLE_META, &key, &value) && rules_decode(value, &stored) &&
                 stored.stage <= POSTS && stored.place <= TIDINGS_ID_MAX;
    return known && !memcmp(wanted.value, stored.value, sizeof wanted.value) ? stored : wanted;
}

static void save_rules(struct kv_txn *txn, const struct rules_record *rules)
{
    struct key key = key_meta("rules");
    uint8_t bytes[RULES_RECORD_MAX];
    kv_put(txn, TABLE_META, &key, bytes, rules_encode(rules, bytes));
}

void reheat_begin(struct kv_txn *txn, const struct tidings_settings *settings)
{
    struct rules_record rules = {.stage = DONE};
    rules_of(settings, rules.value);
    save_rules(txn, &rules);
}

/* Removes rows with the prefix; false if some may be left. */
static bool remove_rows(struct view *view, enum table table, const struct key *prefix,
                        size_t *budget)
{
    struct bytes key, value;
    while (kv_seek(txn_of(view), table, prefix, &key, &value) && key_has_prefix(key, prefix)) {
        if (!*budget || key.n > KEY_MAX)
            return false;
        struct key gone = {.n = (uint8_t)key.n};
        memcpy(gone.bytes, key.p, key.n);
        kv_del(txn_of(view), table, &gone);
        --*budget;
    }
    return true;
}

static bool clear_kinds(struct view *view, size_t *budget)
{
    for (int kind = TIDINGS_NOTE; kind <= TIDINGS_STORY; kind++) {
        struct key prefix = key_hot_list((enum tidings_post_kind)kind);
        if (!remove_rows(view, TABLE_HOT, &prefix, budget))
            return false;
    }
    return true;
}

static void fold(struct view *view, uint64_t id)
{
    struct target target;
    struct key row = key_row(id, ROW_COMMENT);
    struct bytes value;
    if (!kv_get(txn_of(view), TABLE_TARGET, &row, &value) ||
        !target_find(view, TIDINGS_TARGET_COMMENT, id, &target))
        return;
    struct comment_record now = target.comment;
    if (comment_folded(view, &now) != now.status)
        comment_judge(view, 0, &target, &now);
}

static bool fold_one(struct view *view, uint64_t id, size_t *budget)
{
    struct key prefix = key_row(id, ROW_HOT);
    if (!remove_rows(view, TABLE_TARGET, &prefix, budget))
        return false;
    fold(view, id);
    return true;
}

static bool enter_comment(struct view *view, uint64_t id, size_t *budget)
{
    struct comment_record comment;
    (void)budget;
    if (view_comment(view, id, &comment) && comment_is_listed(&comment)) {
        struct key key = comment_hot_key(view, id, &comment);
        put_mark(view, TABLE_TARGET, &key);
    }
    return true;
}

static bool enter_post(struct view *view, uint64_t id, size_t *budget)
{
    struct post_record post;
    (void)budget;
    if (view_post(view, id, &post) && !post.deleted) {
        struct counts_record counts = local_get_counts(view, id);
        struct key key = post_hot_key(view, id, &post, &counts);
        put_mark(view, TABLE_HOT, &key);
    }
    return true;
}

/* Each id of the table once, from the place on; true at the end. */
static bool each_id(struct view *view, enum table table, uint64_t *place,
                    bool (*visit)(struct view *view, uint64_t id, size_t *budget), size_t *budget)
{
    struct bytes key, value;
    while (*budget && !view_failed(view)) {
        struct key from = key_id(*place + 1);
        if (!kv_seek(txn_of(view), table, &from, &key, &value))
            return true;
        uint64_t id = key.n >= ID_BYTES ? get_id(key.p) : 0;
        if (id <= *place || id > TIDINGS_ID_MAX)
            return true; /* no such key is ours; verify tells */
        --*budget;
        if (!visit(view, id, budget))
            return false;
        *place = id;
    }
    return false;
}

static bool work(struct view *view, struct rules_record *rules)
{
    size_t budget = PIECE;
    switch ((enum stage)rules->stage) {
    case CLEAR:
        return clear_kinds(view, &budget);
    case FOLD:
        return each_id(view, TABLE_TARGET, &rules->place, fold_one, &budget);
    case COMMENTS:
        return each_id(view, TABLE_TARGET, &rules->place, enter_comment, &budget);
    case POSTS:
        return each_id(view, TABLE_POST, &rules->place, enter_post, &budget);
    case DONE:
        break;
    }
    return true;
}

/* One transaction. *done is whether there is nothing left. */
static enum tidings_err do_piece(struct local *local, struct arena *scratch, bool *done)
{
    struct kv_txn txn;
    enum tidings_err err = kv_begin(local->kv, &txn);
    if (err)
        return err;
    struct rules_record rules = load_rules(&txn, &local->settings);
    struct newest newest = load_newest(&txn);
    struct moment at = clock_at(&local->clock, 0, id_time_ms(newest.id), newest.elapsed_ms);
    struct local_view view = {
        .view = {.rows = &local_rows,
                 .err = &txn.err,
                 .settings = local_in_force(local),
                 .scratch = scratch,
                 .now_ms = at.wall_ms,
                 .elapsed_ms = at.elapsed_ms},
        .txn = &txn,
        .heads = local->heads,
        .clock = &local->clock,
        .version = kv_applied(local->kv) + 1,
        .last_id = newest.id,
        .spent = true, /* there is no operation whose id the first event could take */
    };
    /* In a new directory there is nothing to do; the first batch brings the row. */
    *done = rules.stage == DONE || !newest.version;
    if (*done) {
        kv_abort(&txn);
        return TIDINGS_OK;
    }
    while (rules.stage != DONE && work(&view.view, &rules)) {
        rules.stage = rules.stage == POSTS ? DONE : rules.stage + 1;
        rules.place = 0;
    }
    save_rules(&txn, &rules);
    struct clock_change time = clock_next(&local->clock, &at, newest.id, view.last_id);
    bool told = view.last_id != newest.id;
    save_newest(&txn, (struct newest){view.last_id, view.version,
                                      told ? at.elapsed_ms : newest.elapsed_ms});
    if (time.stores)
        save_clock(&txn, &time.row);
    txn.time_ms = time.record_ms;
    err = kv_commit(&txn);
    if (err)
        return err;
    clock_commit(&local->clock, &time);
    atomic_store(&local->committed, view.version);
    return TIDINGS_OK;
}

enum tidings_err reheat(struct local *local, bool as_stored)
{
    struct arena scratch;
    bool done = false;
    enum tidings_err err = as_stored ? reheat_adopt(local) : TIDINGS_OK;
    arena_init(&scratch, SCRATCH_MEMORY_MAX);
    while (!err && !done)
        err = do_piece(local, &scratch, &done);
    arena_release(&scratch);
    /* Damage must not keep the directory shut: verify wants in. The next opening tries again. */
    return err == TIDINGS_CORRUPT ? TIDINGS_OK : err;
}

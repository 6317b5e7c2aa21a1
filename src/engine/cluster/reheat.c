/* SPDX-License-Identifier: MIT */
/*
 * Weights, the fold rule and the half-life are settings, but lists are stored in the order they give, and comments in the state. So
 * the row of `rules` says which of them are in force, and a server that is started with others makes all of it anew: comments
 * first, then posts, a piece a transaction, under the lock of that row, which says how far it came. Servers that run meanwhile
 * with other settings go on with theirs for what they change.
 */
#include "domain/ids.h"
#include "engine/cluster/cluster.h"
#include "engine/ops/rules.h"
#include "engine/ops/target.h"

enum { PIECE = 256 };

enum stage { DONE, COMMENTS, POSTS };

/* ---- One row -------------------------------------------------------------------------------- */

/* As a vote would change it, events included. */
static void judge(struct view *view, uint64_t id)
{
    struct target target;
    if (!target_find(view, TIDINGS_TARGET_COMMENT, id, &target))
        return;
    struct comment_record now = target.comment;
    if (comment_folded(view, &now) != now.status)
        comment_judge(view, 0, &target, &now);
    else
        view->rows->put_comment(view, id, &target.comment, &now);
}

static void enter_post(struct view *view, uint64_t id)
{
    struct post_record post;
    struct counts_record counts = view->rows->get_counts(view, id);
    if (view_post(view, id, &post) && !post.deleted)
        view->rows->put_counts(view, id, &post, &counts, &counts);
}

/* False if something is not at hand yet, or it must wait for one that is before it: events are in the order of ids. */
static bool visit(struct cluster *cluster, enum stage stage, uint64_t id, bool waits)
{
    static const struct tidings_op nobody;
    struct desk *desk = &cluster->lanes[0].desk;
    struct desk_view own = desk_view_of(cluster, desk, &nobody, 0);
    own.view.err = &own.err;
    if (stage == COMMENTS)
        judge(&own.view, id);
    else
        enter_post(&own.view, id);
    arena_clear(&desk->scratch);
    if (own.incomplete || waits || own.err) { /* damage is verify's business */
        sheet_undo(&desk->sheet);
        desk->n_events = own.n_events;
        desk->n_positions = own.n_positions;
    }
    sheet_keep(&desk->sheet);
    return !own.incomplete && !waits;
}

/* ---- A piece -------------------------------------------------------------------------------- */

static enum sql_outcome read_rules(struct cluster *cluster, struct rules_record *stored,
                                   bool *known)
{
    struct desk *desk = &cluster->lanes[0].desk;
    buf_literal(&desk->text, "BEGIN;SELECT record FROM rules WHERE id=1 FOR UPDATE");
    bool more = false;
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    if (!outcome)
        outcome = sql_next(desk->sql, &more);
    *known = !outcome && sql_row(desk->sql) && rules_decode(sql_bytes(desk->sql, 0), stored);
    buf_clear(&desk->text);
    return outcome;
}

/* The next ids of the stage; how many. */
static enum sql_outcome list_ids(struct desk *desk, const struct rules_record *rules,
                                 uint64_t ids[PIECE], size_t *n)
{
    const char *table = rules->stage == COMMENTS ? "comment" : "post";
    buf_printf(&desk->text, "SELECT %s_id FROM %s WHERE %s_id > %llu ORDER BY 1 LIMIT %d", table,
               table, table, (unsigned long long)rules->place, PIECE);
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    for (*n = 0; !outcome && *n < PIECE && sql_row(desk->sql);)
        ids[(*n)++] = sql_u64(desk->sql, 0);
    buf_clear(&desk->text);
    return outcome;
}

static enum sql_outcome visit_all(struct cluster *cluster, enum stage stage, const uint64_t *ids,
                                  size_t n)
{
    enum sql_outcome outcome = SQL_DONE;
    for (size_t done = 0; done < n && !outcome;) {
        for (size_t i = done; i < n; i++)
            done += visit(cluster, stage, ids[i], i > done);
        outcome = done < n ? desk_load(&cluster->lanes[0].desk, 0) : SQL_DONE;
    }
    return outcome;
}

static enum sql_outcome save_rules(struct desk *desk, const struct rules_record *rules)
{
    uint8_t bytes[RULES_RECORD_MAX];
    desk_write(desk);
    buf_literal(&desk->text, "UPDATE rules SET record=");
    sql_put_bytes(&desk->text, (struct bytes){bytes, rules_encode(rules, bytes)});
    buf_literal(&desk->text, " WHERE id=1;COMMIT");
    return desk->sheet.failed ? SQL_FULL : sql_run(desk->sql, &desk->text);
}

/* Goes on with what is to be done. A database without rules is new, and has nothing to do. */
static enum sql_outcome do_piece(struct cluster *cluster, bool *done)
{
    struct desk *desk = &cluster->lanes[0].desk;
    struct rules_record rules = {.stage = COMMENTS}, stored;
    uint64_t ids[PIECE];
    size_t n = 0;
    bool known;
    enum sql_outcome outcome = read_rules(cluster, &stored, &known);
    rules_of(&cluster->settings, rules.value);
    if (known && !memcmp(rules.value, stored.value, sizeof rules.value))
        rules = stored;
    if (!known)
        rules.stage = DONE;
    if (!outcome && rules.stage != DONE)
        outcome = list_ids(desk, &rules, ids, &n);
    if (!outcome && n)
        outcome = visit_all(cluster, (enum stage)rules.stage, ids, n);
    *done = rules.stage == DONE;
    rules.place = n ? ids[n - 1] : 0;
    if (n < PIECE && rules.stage != DONE) {
        rules.stage = rules.stage == COMMENTS ? POSTS : DONE;
        rules.place = 0;
    }
    if (!outcome)
        outcome = save_rules(desk, &rules);
    desk_clear(desk);
    return outcome;
}

/* ---- All of it ------------------------------------------------------------------------------ */

static enum sql_outcome adopt(struct cluster *cluster)
{
    struct rules_record stored;
    bool known;
    enum sql_outcome outcome = read_rules(cluster, &stored, &known);
    if (!outcome && known)
        rules_adopt(&stored, &cluster->settings);
    return outcome ? outcome : sql_run_text(cluster->lanes[0].desk.sql, "ROLLBACK");
}

bool cluster_rules_are_own(struct cluster *cluster, struct desk *desk)
{
    struct rules_record rules = {.stage = DONE}, stored;
    rules_of(&cluster->settings, rules.value);
    buf_literal(&desk->text, "SELECT record FROM rules WHERE id=1");
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    bool known = !outcome && sql_row(desk->sql) && rules_decode(sql_bytes(desk->sql, 0), &stored);
    buf_clear(&desk->text);
    return known && stored.stage == DONE && !memcmp(rules.value, stored.value, sizeof rules.value);
}

enum tidings_err cluster_reheat(struct cluster *cluster, bool as_stored)
{
    struct desk *desk = &cluster->lanes[0].desk;
    bool done = as_stored;
    if (!desk_connect(cluster, desk, 0))
        return TIDINGS_UNREACHABLE;
    desk->hold = HOLD_SHARED;
    desk->slot = cluster->slot;
    enum sql_outcome outcome = as_stored ? adopt(cluster) : SQL_DONE;
    while (!done && (!outcome || outcome == SQL_AGAIN || outcome == SQL_LOCKED))
        outcome = do_piece(cluster, &done);
    return sql_err(outcome);
}

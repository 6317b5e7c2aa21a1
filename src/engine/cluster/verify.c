/* SPDX-License-Identifier: MIT */
/*
 * Verify: everything that is stored twice, recomputed from what it follows from. Some of it in SQL, in a table of questions that
 * each answer with the rows that differ; what is packed, or follows from rules in C, row by row.
 *
 * It goes through the tables page by page, each looked at in a snapshot of its own: what belongs together is right in every one of
 * them, while servers go on, and none is held for long. A stage is repeated as long as it mends anything, since one count may
 * follow from another. A difference is mended in a transaction of its own: the row that holds the count is locked, as whoever
 * changes it has to lock it, and everything is counted anew under that lock. So it is right whatever servers have done since the
 * snapshot, and doing it twice does no harm: it may be stopped anywhere.
 */
#include "engine/cluster/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/wait.h"

enum { AGAIN_MAX = 64, GUESS_EVERY_MS = 60 * 1000, TELL_EVERY_MS = 250, LINE_BYTES = 256 };
enum { PATIENCE_MS = 600 * 1000 }; /* of one key that has very many rows */

void check_differ(struct check *check, const char *what, uint64_t id, int64_t is, int64_t should)
{
    char line[LINE_BYTES];
    check->found++;
    if (check->silent || check->repeats)
        return;
    check->out->differences++;
    snprintf(line, sizeof line, "%s: of %" PRIu64 " it is %" PRId64 ", and should be %" PRId64,
             what, id, is, should);
    if (check->tell)
        check->tell(check, line);
}

/* ---- The round ------------------------------------------------------------------------------ */

const char *check_kind(unsigned stage)
{
    static const char *const names[STAGES] = {
        [STAGE_LISTS] = "lists",         [STAGE_INBOXES] = "inboxes",
        [STAGE_RELATIONS] = "relations", [STAGE_VOTES] = "votes",
        [STAGE_COMMENTS] = "comments",   [STAGE_POSTS] = "posts",
        [STAGE_COUNTERS] = "counters",   [STAGE_SCENES] = "scenes",
        [STAGE_OTHERS] = "others",
    };
    return stage < STAGES ? names[stage] : NULL;
}

const struct walk *check_walk(unsigned stage, unsigned walk)
{
    if (stage >= STAGES)
        return NULL;
    const struct walks *rules = &rule_walks[stage], *rows = &row_walks[stage];
    if (walk < rules->n)
        return &rules->at[walk];
    return walk - rules->n < rows->n ? &rows->at[walk - rules->n] : NULL;
}

/* Behind the walk; true if that was the last of the round. Repeated, a stage finds what follows from what was mended, which was no
 * difference before, and what cannot be mended. */
static bool next_walk(struct place_in_round *place)
{
    memset(place->key, 0, sizeof place->key);
    if (check_walk(place->stage, ++place->walk))
        return false;
    place->walk = 0;
    if (place->mended && place->again < AGAIN_MAX) {
        place->again++;
    } else {
        place->stage++;
        place->again = 0;
    }
    place->mended = false;
    return place->stage >= STAGES;
}

/* ---- How much there is ---------------------------------------------------------------------- */

static enum sql_outcome guess_rows(struct desk *desk, struct guesses *to)
{
    if (to->made_ms && wait_now_ms() - to->made_ms < GUESS_EVERY_MS)
        return SQL_DONE;
    buf_literal(&desk->text, "SELECT TABLE_NAME, TABLE_ROWS FROM information_schema.TABLES WHERE "
                             "TABLE_SCHEMA = DATABASE()");
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    for (to->n = 0; !outcome && to->n < TABLES_MAX && sql_row(desk->sql); to->n++) {
        struct bytes name = sql_bytes(desk->sql, 0);
        memset(to->at[to->n].table, 0, TABLE_BYTES);
        if (name.n < TABLE_BYTES)
            memcpy(to->at[to->n].table, name.p, name.n);
        to->at[to->n].rows = sql_u64(desk->sql, 1);
    }
    to->made_ms = wait_now_ms();
    buf_clear(&desk->text);
    return outcome;
}

/* Nobody need go through all of what is one page. */
static uint64_t guessed(const struct guesses *guesses, const struct walk *walk)
{
    for (size_t i = 0; walk->keys[0] && i < guesses->n; i++)
        if (!strcmp(guesses->at[i].table, walk->table))
            return guesses->at[i].rows + 1;
    return 1;
}

/* At the beginning of a walk: how far that is, which never goes back. */
static enum sql_outcome guess_total(struct check *check, const struct place_in_round *place)
{
    const struct walk *walk;
    uint64_t before = 0, total = 0;
    enum sql_outcome outcome = guess_rows(&check->desk, &check->guesses);
    for (unsigned stage = 0; !outcome && stage < STAGES; stage++) {
        for (unsigned i = 0; (walk = check_walk(stage, i)); i++) {
            if (stage == place->stage && i == place->walk)
                before = total;
            total += guessed(&check->guesses, walk);
        }
    }
    if (check->done < before)
        check->done = before;
    check->total = total > check->done ? total : check->done + 1;
    return outcome;
}

static void count_page(struct check *check, const struct range *range)
{
    if (check->repeats)
        return;
    check->out->checked += range->rows;
    check->done += range->rows + range->is_last;
    if (check->total < check->done)
        check->total = check->done;
}

/* ---- Mending -------------------------------------------------------------------------------- */

static bool may_try_again(enum sql_outcome outcome)
{
    return outcome == SQL_AGAIN || outcome == SQL_LOCKED || outcome == SQL_LOST;
}

/* Whoever holds a lock for longer is not waited for: it is asked for again. Comments answer each other as deep as they like. */
bool check_connect(struct check *check, struct desk *desk)
{
    if (desk->sql)
        return true;
    if (!desk_connect(check->cluster, desk, 0))
        return false;
    if (!sql_run_text(desk->sql, "SET SESSION innodb_lock_wait_timeout=2 "
                                 "/*M!100202 , max_recursive_iterations=4294967295*/ "
                                 "/*!80003 , cte_max_recursion_depth=4294967295*/"))
        return true;
    desk_disconnect(desk);
    return false;
}

/* What was undone, or may have been done, is simply done again: it says what is right, not what to add. */
enum sql_outcome check_mend(struct check *check, mend_fn *mend, const void *what)
{
    struct desk *desk = &check->mender;
    enum sql_outcome outcome = SQL_AGAIN;
    uint64_t rows = 0;
    check->silent = true;
    for (int i = 0; i < MENDS_MAX && may_try_again(outcome); i++) {
        outcome = check_connect(check, desk) ? mend(check, what, &rows) : SQL_LOST;
        desk_clear(desk);
        desk_tell_refusal(check->cluster, desk, outcome);
        if (outcome && (outcome == SQL_LOST || sql_run_text(desk->sql, "ROLLBACK")))
            desk_disconnect(desk);
    }
    check->silent = false;
    if (!outcome)
        check->out->repaired += rows;
    return outcome;
}

/* What was found and mended in a page is counted by its kind, and what servers remember was so before. */
static enum sql_outcome note_drift(struct check *check, unsigned stage, uint64_t found,
                                   uint64_t mended)
{
    struct desk *desk = &check->mender;
    if (!check->out->repair || !(found || mended))
        return SQL_DONE;
    if (!check_connect(check, desk))
        return SQL_LOST;
    buf_printf(
        &desk->text,
        "INSERT INTO drift (kind, found, mended, found_at) VALUES ('%s', %llu, %llu, NOW(3)) "
        "ON DUPLICATE KEY UPDATE found=found+VALUES(found), mended=mended+VALUES(mended), "
        "found_at=VALUES(found_at)",
        check_kind(stage), (unsigned long long)found, (unsigned long long)mended);
    enum sql_outcome outcome = sql_run(desk->sql, &desk->text);
    buf_clear(&desk->text);
    if (!outcome && mended)
        outcome = memory_forget(desk->sql);
    if (outcome)
        desk_disconnect(desk);
    return outcome;
}

/* ---- A page --------------------------------------------------------------------------------- */

enum sql_outcome check_look_anew(struct check *check)
{
    return sql_run_text(check->desk.sql,
                        "COMMIT;START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
}

static enum sql_outcome look_at_page(struct check *check, const struct place_in_round *place,
                                     struct range *range)
{
    const struct walk *walk = check_walk(place->stage, place->walk);
    bool is_first = !(place->key[0] | place->key[1] | place->key[2]);
    enum sql_outcome outcome = SQL_DONE;
    if (is_first && !check->repeats)
        outcome = guess_total(check, place);
    if (!outcome)
        outcome = check_look_anew(check);
    if (!outcome)
        outcome = page_measure(check, walk, place->key, range);
    if (!outcome)
        outcome = walk->rules ? check_rules(check, walk) : check_rows(check, walk);
    return outcome ? outcome : sql_run_text(check->desk.sql, "COMMIT");
}

static enum sql_outcome try_page(struct check *check, const struct place_in_round *place,
                                 struct range *range)
{
    if (!check_connect(check, &check->desk))
        return SQL_LOST;
    enum sql_outcome outcome = look_at_page(check, place, range);
    desk_clear(&check->desk);
    desk_tell_refusal(check->cluster, &check->desk, outcome);
    if (outcome)
        desk_disconnect(&check->desk);
    return outcome;
}

enum sql_outcome check_step(struct check *check, struct place_in_round *place, bool *over)
{
    struct range range;
    const struct tidings_verify before = *check->out, *now = check->out;
    *over = false;
    check->repeats = place->again > 0;
    enum sql_outcome outcome = try_page(check, place, &range);
    place->mended |= now->repaired > before.repaired;
    enum sql_outcome noted = note_drift(check, place->stage, now->differences - before.differences,
                                        now->repaired - before.repaired);
    if (outcome || noted)
        return outcome ? outcome : noted;
    count_page(check, &range);
    memcpy(place->key, range.up_to, sizeof place->key);
    *over = range.is_last && next_walk(place);
    return SQL_DONE;
}

void check_start(struct check *check, struct cluster *cluster, struct tidings_verify *out,
                 size_t heads_bytes)
{
    *check = (struct check){.cluster = cluster, .out = out};
    check->page = out->page && out->page < PAGE_ROWS ? out->page : PAGE_ROWS;
    known_init(&check->known, heads_bytes);
    struct desk *desks[] = {&check->desk, &check->mender};
    for (int i = 0; i < 2; i++) {
        desk_init(cluster, desks[i], desks[i] == &check->desk);
        known_part(desks[i]->known, &desks[i]->guest);
        desks[i]->known = &check->known;
        known_join(desks[i]->known, &desks[i]->guest);
        desks[i]->silent_ms = PATIENCE_MS;
    }
}

void check_end(struct check *check)
{
    desk_release(&check->desk);
    desk_release(&check->mender);
    known_release(&check->known);
}

/* ---- All of it at once ---------------------------------------------------------------------- */

static void print_difference(struct check *check, const char *difference)
{
    if (check->out->report)
        fprintf(check->out->report, "%s\n", difference);
}

static void tell_progress(struct check *check, const char *part)
{
    const struct tidings_progress *to = &check->out->progress;
    if (to->tell)
        to->tell(to->ctx, part, check->done, check->total);
    check->told_ms = wait_now_ms();
}

static enum sql_outcome check_all(struct check *check)
{
    struct place_in_round place = {0};
    struct tidings_verify *out = check->out;
    enum sql_outcome outcome = SQL_DONE;
    bool over = false;
    for (unsigned i = 0; i < STAGES; i++)
        out->kinds[out->n_kinds++] = (struct tidings_verify_kind){.name = check_kind(i)};
    while (!outcome && !over) {
        struct tidings_verify_kind *kind = &out->kinds[place.stage];
        uint64_t before = out->differences;
        if (!check->told_ms || wait_now_ms() - check->told_ms >= TELL_EVERY_MS)
            tell_progress(check, kind->name);
        outcome = check_step(check, &place, &over);
        kind->differences += out->differences - before;
    }
    check->done = check->total;
    tell_progress(check, check_kind(STAGES - 1));
    return outcome;
}

/* What `deep` compares, a data file with its log, is the database's own business. */
enum tidings_err cluster_verify(struct engine *engine, struct tidings_verify *verify)
{
    struct check check;
    if (verify->deep)
        return TIDINGS_UNSUPPORTED;
    verify->checked = verify->differences = verify->repaired = verify->spoiled = 0;
    verify->n_kinds = 0;
    struct cluster *cluster = (struct cluster *)engine;
    check_start(&check, cluster, verify, (size_t)cluster->settings.heads_mb << 20);
    check.tell = print_difference;
    enum sql_outcome outcome = check_all(&check);
    check_end(&check);
    return sql_err(outcome);
}

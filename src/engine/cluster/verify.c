/* SPDX-License-Identifier: MIT */
/*
 * Verify: everything that is stored twice, recomputed from what it follows from. Some of it in SQL, in a table of questions that
 * each answer with the rows that differ; what is packed, or follows from rules in C, row by row.
 *
 * It only looks: then at one snapshot, while servers go on. To mend, each question is asked of a snapshot of its own, so that it
 * sees what was mended before, and a stage is repeated as long as it mends anything, since one count may follow from another. A
 * difference is mended in a transaction of its own: the row that holds the count is locked, as whoever changes it has to lock it,
 * and everything is counted anew under that lock. So it is right whatever servers have done since the snapshot, and doing it twice
 * does no harm.
 */
#include "engine/cluster/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TABLES_MAX = 64, NAME_BYTES = 65, ROUNDS_MAX = 64, TELL_EVERY_MS = 250 };
enum { PATIENCE_MS = 3600 * 1000 }; /* a question about a whole table takes long */

void check_differ(struct check *check, const char *what, uint64_t id, int64_t is, int64_t should)
{
    check->found++;
    if (check->silent || check->repeats)
        return;
    check->out->differences++;
    if (check->out->report)
        fprintf(check->out->report,
                "%s: of %" PRIu64 " it is %" PRId64 ", and should be %" PRId64 "\n", what, id, is,
                should);
}

/* ---- How far it has come -------------------------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void tell(struct check *check)
{
    const struct tidings_progress *to = &check->out->progress;
    if (check->total < check->done)
        check->total = check->done;
    if (to->tell)
        to->tell(to->ctx, check->stage, check->done, check->total);
    check->told_ms = now_ms();
}

void check_progress(struct check *check, uint64_t rows)
{
    if (check->repeats)
        return;
    check->done += rows;
    check->out->checked += rows;
    if (now_ms() - check->told_ms >= TELL_EVERY_MS)
        tell(check);
}

/* The server's guess at the rows of all tables. */
struct guess {
    char table[NAME_BYTES];
    uint64_t rows;
};

static enum sql_outcome guess_rows(struct desk *desk, struct guess guesses[TABLES_MAX], size_t *n)
{
    buf_literal(&desk->text, "SELECT TABLE_NAME, TABLE_ROWS FROM information_schema.TABLES WHERE "
                             "TABLE_SCHEMA = DATABASE()");
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    for (*n = 0; !outcome && *n < TABLES_MAX && sql_row(desk->sql); ++*n) {
        struct bytes name = sql_bytes(desk->sql, 0);
        guesses[*n] = (struct guess){.rows = sql_u64(desk->sql, 1)};
        if (name.n < NAME_BYTES)
            memcpy(guesses[*n].table, name.p, name.n);
    }
    buf_clear(&desk->text);
    return outcome;
}

static uint64_t guessed(const struct guess *guesses, size_t n, const char *table)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(guesses[i].table, table))
            return guesses[i].rows;
    return 0;
}

/* A rule counts as one, since nobody knows how far it is. */
static enum sql_outcome guess_total(struct check *check)
{
    struct guess guesses[TABLES_MAX];
    const char *table;
    size_t n;
    enum sql_outcome outcome = guess_rows(&check->desk, guesses, &n);
    for (int stage = 0; stage < STAGES; stage++) {
        for (size_t i = 0; check_rule_table((enum stage)stage, i); i++)
            check->total++;
        for (size_t i = 0; (table = check_row_table((enum stage)stage, i)); i++)
            check->total += guessed(guesses, n, table);
    }
    return outcome;
}

/* ---- Mending -------------------------------------------------------------------------------- */

/* What was undone, or may have been done, is simply done again: it says what is right, not what to add. */
enum sql_outcome check_mend(struct check *check, mend_fn *mend, const void *what)
{
    struct desk *desk = &check->mender;
    enum sql_outcome outcome = SQL_AGAIN;
    uint64_t rows = 0;
    check->silent = true;
    for (int i = 0; i < MENDS_MAX && (outcome == SQL_AGAIN || outcome == SQL_LOST); i++) {
        outcome = desk_connect(check->cluster, desk, 0) ? mend(check, what, &rows) : SQL_LOST;
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

/* ---- All of it ------------------------------------------------------------------------------ */

#define SNAPSHOT "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"

enum sql_outcome check_look_anew(struct check *check)
{
    return check->out->repair ? sql_run_text(check->desk.sql, "COMMIT;" SNAPSHOT) : SQL_DONE;
}

/* Repeated, it finds what follows from what was mended, which was no difference before, and what cannot be mended. */
static enum sql_outcome check_stage(struct check *check, enum stage stage)
{
    enum sql_outcome outcome;
    uint64_t repaired;
    int round = 0;
    do {
        repaired = check->out->repaired;
        check->repeats = round > 0;
        outcome = check_rules(check, stage);
        if (!outcome)
            outcome = check_rows(check, stage);
    } while (!outcome && check->out->repaired > repaired && ++round < ROUNDS_MAX);
    check->repeats = false;
    return outcome;
}

static void put_kind(struct check *check, uint64_t differences)
{
    struct tidings_verify *out = check->out;
    out->kinds[out->n_kinds++] =
        (struct tidings_verify_kind){.name = check->stage, .differences = differences};
}

/* What servers remember was so before. */
static enum sql_outcome forget_mended(struct check *check)
{
    if (!check->out->repaired)
        return SQL_DONE;
    enum sql_outcome outcome = sql_run_text(check->desk.sql, "COMMIT");
    return outcome ? outcome : memory_forget(check->desk.sql);
}

static enum sql_outcome check_all(struct check *check)
{
    static const char *const names[STAGES] = {
        [STAGE_LISTS] = "lists",         [STAGE_INBOXES] = "inboxes",
        [STAGE_RELATIONS] = "relations", [STAGE_VOTES] = "votes",
        [STAGE_COMMENTS] = "comments",   [STAGE_POSTS] = "posts",
        [STAGE_COUNTERS] = "counters",   [STAGE_SCENES] = "scenes",
        [STAGE_OTHERS] = "others",
    };
    enum sql_outcome outcome = guess_total(check);
    if (!outcome)
        outcome = sql_run_text(check->desk.sql, SNAPSHOT);
    for (int stage = 0; !outcome && stage < STAGES; stage++) {
        check->stage = names[stage];
        tell(check);
        uint64_t before = check->out->differences;
        outcome = check_stage(check, (enum stage)stage);
        put_kind(check, check->out->differences - before);
    }
    check->done = check->total;
    tell(check);
    return outcome ? outcome : forget_mended(check);
}

static void begin_desk(struct check *check, struct desk *desk, bool reads)
{
    desk_init(check->cluster, desk, reads);
    known_part(desk->known, &desk->guest);
    desk->known = &check->known;
    known_join(desk->known, &desk->guest);
    desk->silent_ms = PATIENCE_MS;
}

/* What `deep` compares, a data file with its log, is the database's own business. */
enum tidings_err cluster_verify(struct engine *engine, struct tidings_verify *verify)
{
    struct check check = {.cluster = (struct cluster *)engine, .out = verify, .stage = ""};
    if (verify->deep)
        return TIDINGS_UNSUPPORTED;
    verify->checked = verify->differences = verify->repaired = verify->spoiled = 0;
    verify->n_kinds = 0;
    known_init(&check.known, (size_t)check.cluster->settings.heads_mb << 20);
    begin_desk(&check, &check.desk, true);
    begin_desk(&check, &check.mender, false);
    enum sql_outcome outcome =
        desk_connect(check.cluster, &check.desk, 0) ? check_all(&check) : SQL_LOST;
    if (check.desk.sql && *sql_message(check.desk.sql))
        desk_tell_refusal(check.cluster, &check.desk, outcome);
    desk_release(&check.desk);
    desk_release(&check.mender);
    known_release(&check.known);
    return sql_err(outcome);
}

/* SPDX-License-Identifier: MIT */
/*
 * What operators do with the log in MySQL while no server runs here: making its tables, looking at them, and putting another
 * history in its place.
 *
 * The last one writes a record with a new era into the directory first, so that its chain is that of no other directory from there
 * on, and then lets the log begin behind it. Whoever has records of the former history finds another chain, or no log behind its
 * own end, puts its directory aside and joins anew; without the record a server with a longer tail of the same history would append
 * that again. Interrupted between the two, the directory has a record more, and the log is as before.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "engine/local/local.h"
#include "engine/local/rows/keys.h"
#include "engine/local/storage/redo.h"
#include "engine/log/mysql_log.h"

enum { OPERATOR_MS = 10000, OPERATOR_TEXT_BYTES = 200 };

static enum tidings_err operator_fail(struct log_mysql *log, enum log_outcome outcome,
                                      const char **message)
{
    enum tidings_err err = outcome == LOG_REFUSED   ? TIDINGS_INVALID
                           : outcome == LOG_EMPTY   ? TIDINGS_NOT_FOUND
                           : outcome == LOG_CORRUPT ? TIDINGS_CORRUPT
                                                    : TIDINGS_UNREACHABLE;
    return store_fail(err, message, log_mysql_message(log), false);
}

static enum tidings_err operator_open(const struct tidings_options *options, struct log_mysql **log,
                                      const char **message)
{
    const char *why = NULL;
    if (log_mysql_open(options->mysql, options->mysql_password, log, &why))
        return store_fail(TIDINGS_INVALID, message, why ? why : "out of memory", false);
    log_mysql_set_deadline(*log, OPERATOR_MS);
    return TIDINGS_OK;
}

enum tidings_err tidings_log_init(const struct tidings_options *options, bool *has_log,
                                  const char **message)
{
    struct log_mysql *log;
    enum tidings_err err = operator_open(options, &log, message);
    if (err)
        return err;
    enum log_outcome outcome = log_mysql_prepare(log, has_log);
    if (outcome)
        err = operator_fail(log, outcome, message);
    log_mysql_close(log);
    return err;
}

/* ---- Looking -------------------------------------------------------------------------------- */

static void operator_take_writer(const struct log_writer *from, struct tidings_log *to)
{
    to->position = from->position;
    to->era = from->era;
    to->writer_id = from->holder;
    snprintf(to->writer_address, sizeof to->writer_address, "%s", from->address);
    to->fence = from->fence;
    to->lease_left_ms = from->lease_left_ms;
    to->ready = from->ready && from->server == from->asked;
    to->writable = from->writable;
    to->clock_ms = from->clock_ms;
}

static void operator_take_survey(const struct log_survey *from, struct tidings_log *to)
{
    snprintf(to->version, sizeof to->version, "%s", from->version);
    to->server_id = from->server_id;
    to->max_allowed_packet = from->packet;
    to->unfit = from->refusal;
    to->kept_after = from->kept.after;
    to->records = from->kept.records;
    to->bytes = from->kept.bytes;
    to->first_ms = from->first_ms;
    to->last_ms = from->last_ms;
    to->images = from->images;
    to->has_image = from->has_image;
    if (!from->has_image)
        return;
    to->image_position = from->image.position;
    to->image_era = from->image.era;
    to->image_bytes = from->image.bytes;
    to->image_ms = from->image.at_ms;
}

static enum log_outcome operator_take_replicas(struct log_mysql *log, struct tidings_log *to)
{
    struct log_replica *rows = calloc(LOG_REPLICAS_MAX, sizeof *rows);
    size_t n = 0;
    enum log_outcome outcome =
        rows ? log_mysql_replicas(log, rows, LOG_REPLICAS_MAX, &n) : LOG_FAILED;
    to->n_all_replicas = outcome ? 0 : n;
    for (size_t i = 0; !outcome && i < n && i < TIDINGS_LOG_REPLICAS_MAX; i++) {
        struct tidings_log_replica *replica = &to->replicas[to->n_replicas++];
        *replica = (struct tidings_log_replica){.id = rows[i].id,
                                                .position = rows[i].position,
                                                .era = rows[i].era,
                                                .image_position = rows[i].image_position,
                                                .silent_ms = rows[i].silent_ms};
        snprintf(replica->address, sizeof replica->address, "%s", rows[i].address);
    }
    free(rows);
    return outcome;
}

enum tidings_err tidings_log_look(const struct tidings_options *options, struct tidings_log *to,
                                  const char **message)
{
    struct log_mysql *log;
    struct log_survey survey;
    struct tidings_log *found = calloc(1, sizeof *found);
    enum tidings_err err = found ? operator_open(options, &log, message) : TIDINGS_NO_MEMORY;
    if (err) {
        free(found);
        return err;
    }
    enum log_outcome outcome = log_mysql_survey(log, &survey);
    if (!outcome)
        outcome = operator_take_replicas(log, found);
    if (outcome) {
        err = operator_fail(log, outcome, message);
    } else {
        operator_take_writer(&survey.kept.writer, found);
        operator_take_survey(&survey, found);
        *to = *found;
    }
    log_mysql_close(log);
    free(found);
    return err;
}

/* ---- The end of a directory ----------------------------------------------------------------- */

struct operator_end {
    uint64_t position; /* 0: the directory has no batch */
    int64_t time_ms;
    struct chain chain;
};

static bool operator_note_end(void *ctx, const struct redo_record *record)
{
    *(struct operator_end *)ctx = (struct operator_end){
        .position = record->number, .time_ms = record->time_ms, .chain = record->chain};
    return true;
}

/* Where it ends, without opening it: an operator who says no has changed nothing. */
static enum tidings_err operator_peek_base(const char *base_dir, struct operator_end *end,
                                           const char **message)
{
    char name[BASE_NAME_BYTES], path[PATH_BYTES];
    struct key era = key_meta("era");
    struct kv_summary summary;
    struct base *bases = NULL, newest = {0};
    size_t n = 0;
    if (!base_list(base_dir, &bases, &n) && n)
        newest = bases[n - 1];
    free(bases);
    if (!n)
        return TIDINGS_OK;
    base_name(&newest, name);
    if (!path_join(path, base_dir, name) || kv_peek(path, &era, &summary))
        return store_fail(TIDINGS_CORRUPT, message, "its newest base image cannot be read", false);
    *end = (struct operator_end){newest.number, newest.time_ms, summary.chain};
    return TIDINGS_OK;
}

static enum tidings_err operator_peek(const char *dir, const uint8_t id[REDO_ID_BYTES],
                                      struct operator_end *end, const char **message)
{
    char log_dir[PATH_BYTES], base_dir[PATH_BYTES];
    *end = (struct operator_end){0};
    if (!path_join(log_dir, dir, "log") || !path_join(base_dir, dir, "snapshots"))
        return store_fail(TIDINGS_INVALID, message, "the path of the directory is too long", false);
    enum tidings_err err = operator_peek_base(base_dir, end, message);
    if (err)
        return err;
    struct redo_scan scan = {
        .dir = log_dir, .id = id, .after = end->position, .visit = operator_note_end, .ctx = end};
    err = redo_scan(&scan);
    return err ? store_fail(err, message, scan.message, false) : TIDINGS_OK;
}

/* Whether the directory is what the log was at that position. */
static enum tidings_log_shared operator_compare(struct log_mysql *log,
                                                const struct operator_end *end)
{
    struct log_batch batch;
    if (!end->position)
        return TIDINGS_LOG_OTHER;
    enum log_outcome outcome = log_mysql_read(log, end->position - 1, 1, 0, &batch);
    if (outcome)
        return TIDINGS_LOG_UNKNOWN;
    if (!batch.n && batch.writer.position != end->position)
        return TIDINGS_LOG_OTHER; /* it goes further than the log */
    const uint8_t *chain = batch.n ? batch.records[0].chain : batch.writer.chain;
    return memcmp(chain, end->chain.bytes, CHAIN_BYTES) ? TIDINGS_LOG_OTHER : TIDINGS_LOG_SAME;
}

static enum tidings_err operator_check_dir(struct log_mysql *log, struct tidings_log_begin *begin,
                                           const char **message)
{
    char mark[PATH_BYTES];
    struct state state;
    struct stat stat;
    bool found = false;
    if (store_is_locked(begin->dir))
        return store_fail(TIDINGS_LOCKED, message,
                          "a process uses the directory: stop its server first", false);
    enum tidings_err err = state_read(begin->dir, &state, &found);
    if (err || !found)
        return store_fail(err ? err : TIDINGS_INVALID, message,
                          "it is no data directory that was used or restored", false);
    if (!path_join(mark, begin->dir, "rejoin") || !lstat(mark, &stat))
        return store_fail(TIDINGS_INVALID, message,
                          "the directory is to join the log anew: restore a backup, or begin from "
                          "what was put aside in it",
                          false);
    struct operator_end end;
    err = operator_peek(begin->dir, state.id, &end, message);
    begin->dir_position = end.position;
    begin->dir_ms = end.time_ms;
    if (!err)
        begin->shared = operator_compare(log, &end);
    return err;
}

/* ---- Beginning anew ------------------------------------------------------------------------- */

static enum tidings_err operator_check_lease(const struct log_writer *writer, const char **message)
{
    char text[OPERATOR_TEXT_BYTES];
    if (writer->lease_left_ms <= 0)
        return TIDINGS_OK;
    snprintf(text, sizeof text,
             "the server at %.100s makes changes: stop all servers of this log, and try again",
             writer->address);
    return store_fail(TIDINGS_BUSY, message, text, false);
}

/* One that no directory has seen. */
static enum tidings_err operator_choose_era(struct log_mysql *log, const struct log_writer *writer,
                                            uint64_t *era, const char **message)
{
    struct log_replica *rows = calloc(LOG_REPLICAS_MAX, sizeof *rows);
    size_t n = 0;
    if (!rows)
        return TIDINGS_NO_MEMORY;
    enum log_outcome outcome = log_mysql_replicas(log, rows, LOG_REPLICAS_MAX, &n);
    *era = *era > writer->era ? *era : writer->era;
    for (size_t i = 0; !outcome && i < n; i++)
        *era = *era > rows[i].era ? *era : rows[i].era;
    ++*era;
    free(rows);
    return outcome ? operator_fail(log, outcome, message) : TIDINGS_OK;
}

/* Opens the directory as a lone server would, writes the record of the new era, and ends in order. */
static enum tidings_err operator_write_era(const struct tidings_options *options,
                                           struct log_mysql *log, const struct log_writer *writer,
                                           struct log_beginning *beginning, const char **message)
{
    struct tidings_options alone = *options;
    struct engine *engine;
    uint64_t era;
    alone.mysql = alone.mysql_password = NULL;
    alone.as_stored = true;
    enum tidings_err err = engine_local_open(&alone, &engine, message);
    if (err)
        return err;
    struct local *local = (struct local *)engine;
    era = atomic_load(&local->era);
    err = operator_choose_era(log, writer, &era, message);
    if (!err)
        err = promote_to_era(local, era);
    beginning->era = era;
    memcpy(beginning->cluster, local->store->id, LOG_CLUSTER_BYTES);
    engine->vtable->close(engine);
    if (err)
        return err;
    /* Sweeping may have written records behind it. */
    struct operator_end end;
    err = operator_peek(options->dir, beginning->cluster, &end, message);
    beginning->position = end.position;
    memcpy(beginning->chain, end.chain.bytes, LOG_CHAIN_BYTES);
    return err;
}

static enum tidings_err operator_begin(const struct tidings_options *options, struct log_mysql *log,
                                       struct tidings_log_begin *begin, const char **message)
{
    struct log_writer writer;
    struct log_beginning beginning;
    enum log_outcome outcome = log_mysql_check(log, NULL);
    if (!outcome)
        outcome = log_mysql_look(log, &writer);
    if (outcome)
        return operator_fail(log, outcome, message);
    enum tidings_err err = operator_check_lease(&writer, message);
    if (!err)
        err = operator_check_dir(log, begin, message);
    if (err)
        return err;
    begin->log_position = writer.position;
    begin->log_era = writer.era;
    if (!begin->confirm(begin->ctx, begin))
        return store_fail(TIDINGS_CLOSED, message, "nothing was changed", false);
    err = operator_write_era(options, log, &writer, &beginning, message);
    if (err)
        return err;
    outcome = log_mysql_restart(log, &writer, &beginning);
    begin->position = beginning.position;
    begin->era = beginning.era;
    return outcome ? operator_fail(log, outcome, message) : TIDINGS_OK;
}

enum tidings_err tidings_log_begin(const struct tidings_options *options,
                                   struct tidings_log_begin *begin, const char **message)
{
    struct log_mysql *log;
    enum tidings_err err = operator_open(options, &log, message);
    if (err)
        return err;
    begin->dir = options->dir;
    err = operator_begin(options, log, begin, message);
    log_mysql_close(log);
    return err;
}

/* SPDX-License-Identifier: MIT */
#include "engine/local/storage/image.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Changes replayed in one transaction, about. */
enum { REPLAY_BYTES = 8 << 20 };

/* ---- Base images ---------------------------------------------------------------------------- */

void base_name(const struct base *base, char name[BASE_NAME_BYTES])
{
    snprintf(name, BASE_NAME_BYTES, "%016" PRIu64 "-%013" PRId64 "-%08" PRIx32 ".mdb", base->number,
             base->time_ms, base->crc);
}

/* Whatever it reads, only the name that it would be given itself will do. */
bool base_parse(const char *name, struct base *base)
{
    char expected[BASE_NAME_BYTES], *end;
    base->number = strtoull(name, &end, 10);
    base->time_ms = *end == '-' ? (int64_t)strtoull(end + 1, &end, 10) : 0;
    base->crc = *end == '-' ? (uint32_t)strtoul(end + 1, &end, 16) : 0;
    base_name(base, expected);
    return !strcmp(name, expected);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct base *)a)->number, y = ((const struct base *)b)->number;
    return (x > y) - (x < y);
}

enum tidings_err base_list(const char *dir, struct base **bases, size_t *n)
{
    size_t room = 0;
    struct base base;
    *bases = NULL;
    *n = 0;
    DIR *stream = opendir(dir);
    if (!stream)
        return errno == ENOENT ? TIDINGS_OK : TIDINGS_IO;
    for (struct dirent *entry; (entry = readdir(stream));) {
        if (!base_parse(entry->d_name, &base))
            continue;
        if (*n == room) {
            room = room ? room * 2 : 16;
            struct base *more = realloc(*bases, room * sizeof *more);
            if (!more) {
                free(*bases);
                *bases = NULL;
                closedir(stream);
                return TIDINGS_NO_MEMORY;
            }
            *bases = more;
        }
        (*bases)[(*n)++] = base;
    }
    closedir(stream);
    if (*n)
        qsort(*bases, *n, sizeof **bases, by_number);
    return TIDINGS_OK;
}

/* Copies the base image; CORRUPT if it is not what its name says. */
static enum tidings_err copy_base(const struct image_job *job, const struct base *base)
{
    char name[BASE_NAME_BYTES], path[PATH_BYTES];
    struct progress progress = {
        .to = job->progress, .what = "copying the base image", .cancel = job->cancel};
    struct stat stat;
    uint32_t crc = 0;
    base_name(base, name);
    if (!path_join(path, job->base_dir, name) || lstat(path, &stat))
        return TIDINGS_IO;
    progress.total = (uint64_t)stat.st_size;
    enum tidings_err err = file_copy(path, job->path, 0, &crc, &progress);
    if (!err)
        progress_end(&progress);
    return !err && crc != base->crc ? TIDINGS_CORRUPT : err;
}

/* The newest that is old enough and whole; *base is zeros if there is none. One that is not whole still says how far
 * the data go. */
static enum tidings_err begin_with_base(struct image_job *job, struct base *base)
{
    struct base *bases;
    size_t n;
    *base = (struct base){0};
    enum tidings_err err = base_list(job->base_dir, &bases, &n);
    while (!err && n--) {
        if (bases[n].number > job->number)
            continue;
        err = copy_base(job, &bases[n]);
        if (!err) {
            *base = bases[n];
            break;
        }
        unlink(job->path);
        if (err == TIDINGS_CORRUPT) {
            err = TIDINGS_OK; /* an older one, and more of the log */
            job->reaches = bases[n].number > job->reaches ? bases[n].number : job->reaches;
        }
    }
    free(bases);
    return err;
}

/* ---- Replaying ------------------------------------------------------------------------------ */

struct replay {
    const struct image_job *job;
    struct kv *kv;
    struct kv_txn txn;
    struct chainer *chainer;
    size_t pending;   /* bytes of changes in the transaction; 0: there is none */
    uint64_t applied; /* the newest batch replayed */
    int64_t time_ms;
    uint64_t bytes;
    struct progress progress;
    char message[128]; /* what is wrong with a record */
    enum tidings_err err;
};

static void end_transaction(struct replay *replay)
{
    if (replay->pending && !replay->err)
        replay->err = kv_commit(&replay->txn);
    else if (replay->pending)
        kv_abort(&replay->txn);
    replay->pending = 0;
}

static void apply_changes(struct replay *replay, struct bytes changes)
{
    struct decoder r = decoder_of(changes.p, changes.n);
    struct change change;
    while (change_decode(&r, &change))
        change_apply(&replay->txn, &change);
    if (r.bad)
        kv_fail(&replay->txn, TIDINGS_CORRUPT);
}

/* Whether the record follows the one before it. Of the first one with a chain nobody knows what was before, if there is
 * no base image with one, either. */
static bool follows(struct replay *replay, const struct redo_record *record)
{
    const struct kv_txn *txn = &replay->txn;
    struct chain chain;
    if (!txn->is_chained)
        return true;
    if (!chain_next(replay->chainer, &txn->chain, record, &chain))
        replay->err = TIDINGS_NO_MEMORY;
    return record->is_chained && chain_same(&chain, &record->chain);
}

static bool replay_record(void *ctx, const struct redo_record *record)
{
    struct replay *replay = ctx;
    const struct image_job *job = replay->job;
    if (record->number > job->number)
        return false;
    if (job->cancel && *job->cancel)
        replay->err = TIDINGS_CLOSED;
    else if (!replay->pending)
        replay->err = kv_begin(replay->kv, &replay->txn);
    if (replay->err)
        return false;
    replay->pending += record->changes.n;
    if (!follows(replay, record)) {
        snprintf(replay->message, sizeof replay->message,
                 "record %" PRIu64 " of the log does not follow the one before it", record->number);
        return false;
    }
    apply_changes(replay, record->changes);
    replay->txn.applied = replay->applied = record->number;
    replay->txn.chain = record->chain;
    replay->txn.is_chained = record->is_chained;
    if (record->time_ms > replay->time_ms)
        replay->time_ms = record->time_ms;
    replay->bytes += record->changes.n;
    progress_tell(&replay->progress, replay->bytes);
    if (replay->pending > REPLAY_BYTES)
        end_transaction(replay);
    return !replay->err;
}

static uint64_t log_bytes(const char *dir)
{
    uint64_t *firsts, sum = 0;
    size_t n;
    if (redo_segments(dir, &firsts, &n))
        return 0;
    for (size_t i = 0; i < n; i++) {
        char name[SEGMENT_NAME_BYTES], path[PATH_BYTES];
        struct stat stat;
        segment_name(firsts[i], name);
        if (path_join(path, dir, name) && !lstat(path, &stat))
            sum += (uint64_t)stat.st_size;
    }
    free(firsts);
    return sum;
}

enum tidings_err image_replay(struct kv *kv, struct image_job *job)
{
    struct replay replay = {
        .job = job,
        .kv = kv,
        .applied = kv_applied(kv),
        .chainer = chainer_new(),
        .time_ms = job->made.time_ms,
        .progress = {.to = job->progress, .what = "replaying the log"},
    };
    if (!replay.chainer)
        return TIDINGS_NO_MEMORY;
    /* What a base image holds needs no log. */
    struct redo_scan scan = {.dir = job->log_dir,
                             .id = job->id,
                             .reaches = job->reaches > job->made.number ? job->reaches : 0,
                             .visit = replay_record,
                             .ctx = &replay};
    replay.progress.total = job->progress.tell ? log_bytes(job->log_dir) : 0;
    enum tidings_err err;
    do { /* once more, from what was committed on, if all it lacks is a larger map */
        replay.err = TIDINGS_OK;
        scan.after = kv_applied(kv);
        err = redo_scan(&scan);
        end_transaction(&replay);
    } while (replay.err == TIDINGS_NO_SPACE && kv_can_grow(kv));
    if (replay.bytes && !err)
        progress_end(&replay.progress);
    chainer_free(replay.chainer);
    if (replay.message[0])
        err = TIDINGS_CORRUPT;
    snprintf(job->message, sizeof job->message, "%s",
             replay.message[0] ? replay.message : scan.message);
    job->end = scan.end;
    job->made.number = replay.applied;
    job->made.time_ms = replay.time_ms;
    if (err == TIDINGS_CORRUPT && job->salvage)
        err = TIDINGS_OK;
    return replay.err ? replay.err : err;
}

/* ---- Making one ----------------------------------------------------------------------------- */

/* In place of the file, a copy of its pages in use. Without room for two, the one there is will do. */
static bool pack(const struct image_job *job, struct kv *kv)
{
    char packed[PATH_BYTES];
    int n = snprintf(packed, sizeof packed, "%s" IMAGE_PACKED, job->path);
    if (n < 0 || (size_t)n >= sizeof packed)
        return false;
    bool done = kv_pack(kv, packed) && !rename(packed, job->path);
    if (!done)
        unlink(packed);
    return done;
}

/*
 * A replay of a few large transactions leaves up to twice as many free pages as there are others. Every image is made of the
 * one before and would have them for good; and the next one waits for as much log as this one has bytes.
 */
static enum tidings_err finish(const struct image_job *job, struct kv *kv)
{
    if (kv_is_loose(kv) && pack(job, kv))
        return TIDINGS_OK;
    return kv_finish(kv) ? TIDINGS_OK : TIDINGS_IO;
}

static enum tidings_err fill(struct image_job *job)
{
    struct kv_options options = {.path = job->path, .map_bytes = job->map_bytes};
    const char *message;
    struct kv *kv;
    enum tidings_err err = kv_open(&options, &kv, &message);
    if (err) {
        snprintf(job->message, sizeof job->message, "%s", message);
        return err;
    }
    err = image_replay(kv, job);
    if (!err && job->for_good)
        err = finish(job, kv);
    kv_close(kv);
    return err;
}

enum tidings_err image_make(struct image_job *job)
{
    struct progress progress = {.cancel = job->cancel};
    job->message[0] = '\0';
    unlink(job->path);
    enum tidings_err err = begin_with_base(job, &job->made);
    if (!err)
        err = fill(job);
    if (!err && job->for_good)
        err = file_checksum(job->path, &job->made.crc, &progress);
    if (err)
        unlink(job->path);
    return err;
}

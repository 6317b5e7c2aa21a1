/* SPDX-License-Identifier: MIT */
/*
 * Appending to the redo log. Space is taken ahead by writing zeros, so that a sync has only data to
 * write and a full disk is noticed before a record is begun.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "engine/local/storage/redo_bytes.h"

enum { AHEAD_LEAST = 256 << 10, AHEAD_MOST = 4 << 20, SYNC_EVERY_MS = 1000 };

struct redo {
    struct redo_options options;
    char dir[PATH_BYTES];
    uint8_t id[REDO_ID_BYTES];
    int fd;            /* of the segment; -1 before the first append */
    uint32_t salt;     /* of the segment */
    uint64_t end;      /* where the next record goes */
    uint64_t before;   /* where the newest record begins */
    uint64_t prepared; /* zeros up to here */
    uint64_t number;   /* of the newest record */
    int64_t synced_ms; /* when the last sync was */
    uint8_t *record;   /* the record under way */
    size_t room;
    _Atomic uint64_t synced;
    _Atomic uint64_t sure;
    _Atomic uint64_t bytes;
    _Atomic bool failed;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

enum tidings_err redo_open(const struct redo_options *options, uint64_t number, struct redo **out)
{
    struct redo *redo = calloc(1, sizeof *redo);
    if (!redo)
        return TIDINGS_NO_MEMORY;
    redo->options = *options;
    snprintf(redo->dir, sizeof redo->dir, "%s", options->dir);
    memcpy(redo->id, options->id, sizeof redo->id);
    redo->fd = -1;
    redo->number = number;
    atomic_init(&redo->synced, number);
    atomic_init(&redo->sure, number);
    *out = redo;
    return TIDINGS_OK;
}

uint64_t redo_newest(const struct redo *redo)
{
    return redo->number;
}

uint64_t redo_synced(const struct redo *redo)
{
    return atomic_load(&redo->synced);
}

void redo_set_sure(struct redo *redo, uint64_t number)
{
    atomic_store(&redo->sure, number);
}

uint64_t redo_sure(const struct redo *redo)
{
    return atomic_load(&redo->sure);
}

uint64_t redo_bytes(const struct redo *redo)
{
    return atomic_load(&redo->bytes);
}

bool redo_failed(const struct redo *redo)
{
    return atomic_load(&redo->failed);
}

void redo_give_up(struct redo *redo)
{
    atomic_store(&redo->failed, true);
}

/* A sync that fails may have dropped what it was to write, and the next one would not say so. */
static enum tidings_err sync_segment(struct redo *redo)
{
    if (redo_failed(redo) || (redo->fd >= 0 && fdatasync(redo->fd))) {
        atomic_store(&redo->failed, true);
        return TIDINGS_UNCERTAIN;
    }
    redo->synced_ms = now_ms();
    atomic_store(&redo->synced, redo->number);
    return TIDINGS_OK;
}

enum tidings_err redo_sync(struct redo *redo, bool now)
{
    bool due = now || now_ms() - redo->synced_ms >= SYNC_EVERY_MS;
    return due && redo_synced(redo) != redo->number ? sync_segment(redo) : TIDINGS_OK;
}

/* ---- Segments ------------------------------------------------------------------------------- */

/* Everything in it must be durable before the next one begins: a segment that is followed has no torn end. */
static enum tidings_err end_segment(struct redo *redo)
{
    if (redo->fd < 0)
        return TIDINGS_OK;
    enum tidings_err err = redo_sync(redo, true);
    if (!err && ftruncate(redo->fd, (off_t)redo->end))
        err = file_error();
    if (!err) {
        close(redo->fd);
        redo->fd = -1;
    }
    return err;
}

/* Of this name there may be one that a crash left without a record. */
static enum tidings_err begin_segment(struct redo *redo)
{
    struct redo_header header = {.first = redo->number + 1};
    char name[SEGMENT_NAME_BYTES], path[PATH_BYTES];
    uint8_t bytes[REDO_HEADER_BYTES];
    memcpy(header.id, redo->id, sizeof header.id);
    segment_name(header.first, name);
    if (!path_join(path, redo->dir, name) ||
        getrandom(&header.salt, sizeof header.salt, 0) != sizeof header.salt)
        return TIDINGS_IO;
    redo_header_encode(&header, bytes);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return file_error();
    enum tidings_err err = file_write(fd, bytes, sizeof bytes, 0);
    if (!err && (fdatasync(fd) || dir_sync(redo->dir))) {
        atomic_store(&redo->failed, true);
        err = TIDINGS_IO;
    }
    if (err) {
        int reason = errno;
        close(fd);
        unlink(path);
        errno = reason;
        return err;
    }
    redo->fd = fd;
    redo->salt = header.salt;
    redo->end = redo->prepared = REDO_HEADER_BYTES;
    return TIDINGS_OK;
}

/* Zeros for at least `need` bytes more, or the file as it was. */
static enum tidings_err prepare(struct redo *redo, uint64_t need)
{
    static const uint8_t zeros[64 << 10];
    if (redo->end + need <= redo->prepared)
        return TIDINGS_OK;
    uint64_t ahead = redo->prepared < AHEAD_LEAST  ? AHEAD_LEAST
                     : redo->prepared > AHEAD_MOST ? AHEAD_MOST
                                                   : redo->prepared;
    uint64_t upto = redo->end + need + ahead, at = redo->prepared;
    while (at < upto) {
        size_t n = upto - at < sizeof zeros ? (size_t)(upto - at) : sizeof zeros;
        enum tidings_err err = file_write(redo->fd, zeros, n, at);
        if (err)
            return redo->end + need <= at ? TIDINGS_OK : err;
        at += n;
        redo->prepared = at;
    }
    return TIDINGS_OK;
}

/* ---- Records -------------------------------------------------------------------------------- */

static enum tidings_err make_room(struct redo *redo, size_t n)
{
    bool full = redo->end > REDO_HEADER_BYTES && redo->end + n > redo->options.segment_bytes;
    enum tidings_err err = TIDINGS_OK;
    if (redo->fd >= 0 && full && end_segment(redo))
        err = TIDINGS_IO; /* whatever became of earlier records, this one is not written */
    if (!err && redo->fd < 0)
        err = begin_segment(redo);
    return err ? err : prepare(redo, n);
}

static uint8_t *encode(struct redo *redo, const struct redo_record *record, size_t n)
{
    if (n > redo->room) {
        uint8_t *bigger = realloc(redo->record, n);
        if (!bigger)
            return NULL;
        redo->record = bigger;
        redo->room = n;
    }
    size_t used = RECORD_HEAD_BYTES + record->changes.n;
    redo_head_encode(record, redo->salt, redo->record);
    memcpy(redo->record + RECORD_HEAD_BYTES, record->changes.p, record->changes.n);
    memset(redo->record + used, 0, n - used);
    return redo->record;
}

/* Takes back what a failed write may have left; if that fails too, nobody knows what is there. */
static enum tidings_err take_back(struct redo *redo, enum tidings_err err)
{
    if (ftruncate(redo->fd, (off_t)redo->end) || fdatasync(redo->fd)) {
        atomic_store(&redo->failed, true);
        return TIDINGS_UNCERTAIN;
    }
    redo->prepared = redo->end;
    return err;
}

enum tidings_err redo_append(struct redo *redo, const struct redo_record *given)
{
    if (redo_failed(redo))
        return TIDINGS_IO;
    assert(given->number == redo->number + 1);
    size_t n = record_bytes(given->changes.n);
    enum tidings_err err = make_room(redo, n);
    if (err)
        return err;
    struct redo_record record = *given;
    record.synced = redo_synced(redo);
    const uint8_t *bytes = encode(redo, &record, n);
    if (!bytes)
        return TIDINGS_NO_MEMORY;
    err = file_write(redo->fd, bytes, n, redo->end);
    if (err)
        return take_back(redo, err);
    redo->number++;
    redo->before = redo->end;
    redo->end += n;
    atomic_fetch_add(&redo->bytes, n);
    return redo->options.each_second ? TIDINGS_OK : sync_segment(redo);
}

void redo_take_back(struct redo *redo)
{
    redo->end = redo->before;
    redo->number--;
    if (redo_synced(redo) > redo->number)
        atomic_store(&redo->synced, redo->number);
    take_back(redo, TIDINGS_OK);
}

/* ---- Ending --------------------------------------------------------------------------------- */

enum tidings_err redo_close(struct redo *redo)
{
    if (!redo)
        return TIDINGS_OK;
    enum tidings_err err = redo_failed(redo) ? TIDINGS_IO : end_segment(redo);
    if (redo->fd >= 0)
        close(redo->fd);
    free(redo->record);
    free(redo);
    return err;
}

enum tidings_err redo_rewrite(const char *dir, const struct redo_end *end)
{
    char name[SEGMENT_NAME_BYTES], path[PATH_BYTES], fresh[PATH_BYTES + 4];
    if (!end->segment)
        return TIDINGS_OK;
    segment_name(end->segment, name);
    if (!path_join(path, dir, name))
        return TIDINGS_IO;
    snprintf(fresh, sizeof fresh, "%s.new", path);
    enum tidings_err err = file_copy(path, fresh, end->offset, NULL, NULL);
    if (!err && rename(fresh, path))
        err = file_error();
    if (err) {
        int reason = errno;
        unlink(fresh);
        errno = reason;
    }
    return err ? err : dir_sync(dir);
}

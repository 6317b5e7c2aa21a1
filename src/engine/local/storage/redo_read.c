/* SPDX-License-Identifier: MIT */
/* Reading the redo log, with an eye for what a crash leaves and for what it cannot have left. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "engine/local/storage/redo_bytes.h"

/* ---- Changes -------------------------------------------------------------------------------- */

size_t change_encode(const struct change *change, uint8_t to[CHANGE_HEAD_MAX])
{
    size_t n = 0;
    to[n++] = (uint8_t)((unsigned)change->table << 1 | change->is_put);
    to[n++] = (uint8_t)change->key.n;
    memcpy(to + n, change->key.p, change->key.n);
    n += change->key.n;
    return change->is_put ? n + put_varint(to + n, change->value.n) : n;
}

bool change_decode(struct decoder *r, struct change *change)
{
    if (!decoder_left(r))
        return false;
    uint8_t head = read_u8(r);
    *change = (struct change){.table = head >> 1, .is_put = head & 1};
    change->key.n = read_u8(r);
    bool is_row = change_is_row(change->table);
    size_t longest = is_row ? table_key_max((enum table)change->table) : 0;
    bool known = change->table < TABLE_COUNT || !is_row;
    if (!known || change->key.n > longest) {
        decoder_fail(r);
        return false;
    }
    change->key.p = read_bytes(r, change->key.n);
    if (change->is_put) {
        change->value.n = read_varint(r);
        change->value.p = read_bytes(r, change->value.n);
    }
    return !r->bad;
}

/* ---- Headers -------------------------------------------------------------------------------- */

void redo_header_encode(const struct redo_header *header, uint8_t to[REDO_HEADER_BYTES])
{
    memset(to, 0, REDO_HEADER_BYTES);
    put_u64(to, REDO_MAGIC);
    put_u32(to + 8, REDO_FORMAT);
    put_u32(to + 12, header->salt);
    put_u64(to + 16, header->first);
    memcpy(to + 24, header->id, REDO_ID_BYTES);
    put_u32(to + 40, crc32c(0, to, 40));
}

static enum tidings_err header_decode(struct redo_scan *scan, struct bytes segment,
                                      struct redo_header *header)
{
    const uint8_t *from = segment.p;
    if (segment.n < REDO_HEADER_BYTES)
        return TIDINGS_CORRUPT;
    struct decoder magic = decoder_of(from, 8);
    if (read_u64(&magic) != REDO_MAGIC)
        return TIDINGS_CORRUPT;
    header->format = get_u32(from + 8);
    if (header->format < REDO_FORMAT_OLDEST || header->format > REDO_FORMAT)
        return TIDINGS_VERSION;
    struct decoder r = decoder_of(from + 16, 8);
    header->salt = get_u32(from + 12);
    header->first = read_u64(&r);
    memcpy(header->id, from + 24, REDO_ID_BYTES);
    if (get_u32(from + 40) != crc32c(0, from, 40))
        return TIDINGS_CORRUPT;
    return !scan->id || !memcmp(header->id, scan->id, REDO_ID_BYTES) ? TIDINGS_OK : TIDINGS_LOCKED;
}

void redo_head_encode(const struct redo_record *record, uint32_t salt,
                      uint8_t to[RECORD_HEAD_BYTES])
{
    put_u32(to, (uint32_t)record->changes.n);
    put_u64(to + 8, record->number);
    put_u64(to + 16, record->synced);
    put_u64(to + 24, (uint64_t)record->time_ms);
    put_u64(to + 32, record->sure);
    memcpy(to + 40, record->chain.bytes, CHAIN_BYTES);
    uint32_t crc = crc32c(salt, to, 4);
    crc = crc32c(crc, to + 8, RECORD_HEAD_BYTES - 8);
    put_u32(to + 4, crc32c(crc, record->changes.p, record->changes.n));
}

/* ---- One segment ---------------------------------------------------------------------------- */

static enum tidings_err complain(struct redo_scan *scan, enum tidings_err err, uint64_t segment,
                                 const char *what)
{
    snprintf(scan->message, sizeof scan->message, "log segment %016" PRIu64 ".log: %s", segment,
             what);
    return err;
}

static size_t head_bytes(const struct redo_header *header)
{
    return header->format == REDO_FORMAT ? RECORD_HEAD_BYTES : RECORD_HEAD_BYTES_BEFORE;
}

/* Whether a whole record begins at `at`. */
static bool record_at(struct bytes segment, size_t at, const struct redo_header *header,
                      struct redo_record *record)
{
    size_t head_n = head_bytes(header);
    if (segment.n - at < head_n)
        return false;
    const uint8_t *head = segment.p + at;
    size_t n = get_u32(head);
    if (!n || n > segment.n - at - head_n)
        return false;
    struct decoder r = decoder_of(head + 8, head_n - 8);
    *record = (struct redo_record){.number = read_u64(&r), .changes = {head + head_n, n}};
    record->synced = read_u64(&r);
    record->time_ms = (int64_t)read_u64(&r);
    record->is_chained = header->format == REDO_FORMAT;
    if (record->is_chained) {
        record->sure = read_u64(&r);
        memcpy(record->chain.bytes, read_bytes(&r, CHAIN_BYTES), CHAIN_BYTES);
    }
    uint32_t crc = crc32c(header->salt, head, 4);
    crc = crc32c(crc, head + 8, head_n - 8);
    return get_u32(head + 4) == crc32c(crc, record->changes.p, n);
}

/* Whether a later record says that this one was durable. The salt keeps a text that looks like a
 * record from being taken for one. */
static bool was_durable(struct bytes segment, size_t at, const struct redo_header *header,
                        uint64_t number)
{
    enum { FAR = 1 << 24 };
    struct redo_record record;
    for (at += RECORD_ALIGN; at + head_bytes(header) <= segment.n; at += RECORD_ALIGN) {
        struct decoder r = decoder_of(segment.p + at + 8, 16);
        uint64_t later = read_u64(&r), synced = read_u64(&r);
        if (later <= number || later - number > FAR || synced < number || synced >= later)
            continue;
        if (record_at(segment, at, header, &record))
            return true;
    }
    return false;
}

/* What lies behind the last whole record. */
static bool is_empty(struct bytes segment, size_t at)
{
    for (; at < segment.n; at++)
        if (segment.p[at])
            return false;
    return true;
}

static enum tidings_err end_of_segment(struct redo_scan *scan, const struct redo_header *header,
                                       bool last, struct bytes segment)
{
    struct redo_end *end = &scan->end;
    if (is_empty(segment, end->offset))
        return TIDINGS_OK;
    end->torn = true;
    if (!last)
        return complain(scan, TIDINGS_CORRUPT, header->first,
                        "a record is damaged, and more follow");
    if (was_durable(segment, end->offset, header, end->number + 1))
        return complain(scan, TIDINGS_CORRUPT, header->first,
                        "a record that was complete is damaged");
    return TIDINGS_OK;
}

enum tidings_err redo_scan_segment(struct redo_scan *scan, uint64_t first, bool last,
                                   struct bytes segment)
{
    static const char *const complaints[] = {
        [TIDINGS_CORRUPT] = "its header is damaged",
        [TIDINGS_VERSION] = "it was written by another version of the format",
        [TIDINGS_LOCKED] = "it belongs to another data directory",
    };
    struct redo_header header;
    struct redo_record record;
    struct redo_end *end = &scan->end;
    enum tidings_err err = header_decode(scan, segment, &header);
    /* The header is durable before anything follows it: this one was never begun. */
    if (err == TIDINGS_CORRUPT && last && segment.n <= REDO_HEADER_BYTES)
        return TIDINGS_OK;
    if (err)
        return complain(scan, err == TIDINGS_LOCKED ? TIDINGS_CORRUPT : err, first,
                        complaints[err]);
    if (header.first != first)
        return complain(scan, TIDINGS_CORRUPT, first, "it was renamed");
    end->number = first - 1;
    end->segment = first;
    end->offset = REDO_HEADER_BYTES;
    end->torn = false;
    while (record_at(segment, end->offset, &header, &record)) {
        if (record.number != end->number + 1)
            return complain(scan, TIDINGS_CORRUPT, first, "its records are out of order");
        if (record.number > scan->after && !scan->visit(scan->ctx, &record))
            return TIDINGS_OK;
        end->number = record.number;
        end->time_ms = record.time_ms;
        end->offset += record_align(head_bytes(&header) + record.changes.n);
        if (end->offset > segment.n) /* only padding was cut off */
            end->offset = segment.n;
    }
    return end_of_segment(scan, &header, last, segment);
}

/* ---- All segments --------------------------------------------------------------------------- */

void segment_name(uint64_t first, char name[SEGMENT_NAME_BYTES])
{
    snprintf(name, SEGMENT_NAME_BYTES, "%016" PRIu64 ".log", first);
}

static bool is_segment(const char *name, uint64_t *first)
{
    char expected[SEGMENT_NAME_BYTES];
    *first = strtoull(name, NULL, 10);
    segment_name(*first, expected);
    return *first && !strcmp(name, expected);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

enum tidings_err redo_segments(const char *dir, uint64_t **firsts, size_t *n)
{
    size_t room = 0;
    uint64_t first;
    *firsts = NULL;
    *n = 0;
    DIR *stream = opendir(dir);
    if (!stream)
        return errno == ENOENT ? TIDINGS_OK : TIDINGS_IO;
    for (struct dirent *entry; (entry = readdir(stream));) {
        if (!is_segment(entry->d_name, &first))
            continue;
        if (*n == room) {
            room = room ? room * 2 : 64;
            uint64_t *more = realloc(*firsts, room * sizeof *more);
            if (!more) {
                free(*firsts);
                *firsts = NULL;
                closedir(stream);
                return TIDINGS_NO_MEMORY;
            }
            *firsts = more;
        }
        (*firsts)[(*n)++] = first;
    }
    closedir(stream);
    if (*n)
        qsort(*firsts, *n, sizeof **firsts, by_number);
    return TIDINGS_OK;
}

/* Visits until it is told to stop, and then goes on no further. */
struct watch {
    redo_visit *visit;
    void *ctx;
    bool stopped;
};

static bool watched(void *ctx, const struct redo_record *record)
{
    struct watch *watch = ctx;
    watch->stopped = !watch->visit(watch->ctx, record);
    return !watch->stopped;
}

static enum tidings_err scan_file(struct redo_scan *scan, uint64_t first, bool last)
{
    char name[SEGMENT_NAME_BYTES], path[PATH_BYTES];
    uint8_t *bytes;
    size_t n;
    segment_name(first, name);
    if (!path_join(path, scan->dir, name))
        return TIDINGS_IO;
    enum tidings_err err = file_read(path, SEGMENT_BYTES_MAX, &bytes, &n);
    if (err)
        return complain(scan, err, first, "it cannot be read");
    err = redo_scan_segment(scan, first, last, (struct bytes){bytes, n});
    free(bytes);
    return err;
}

/*
 * A segment that is being written may be read where a record is not yet there, and behind that a moment later, where
 * there is already the next one. Damage is what is still the same at a second look.
 */
static enum tidings_err scan_last(struct redo_scan *scan, uint64_t first)
{
    uint64_t after = scan->after, stuck;
    enum tidings_err err = scan_file(scan, first, true);
    if (err != TIDINGS_CORRUPT)
        return err;
    do {
        stuck = scan->end.number;
        if (scan->after < stuck)
            scan->after = stuck; /* visited already */
        scan->message[0] = '\0';
        err = scan_file(scan, first, true);
    } while (err == TIDINGS_CORRUPT && scan->end.number != stuck);
    scan->after = after;
    return err;
}

static enum tidings_err missing(struct redo_scan *scan, uint64_t from, uint64_t to)
{
    snprintf(scan->message, sizeof scan->message,
             "the log segment with the records %" PRIu64 " to %" PRIu64 " is missing", from, to);
    return TIDINGS_CORRUPT;
}

/* A segment that was cut off between two records, or lost, looks like a shorter log that is whole. */
static enum tidings_err check_end(struct redo_scan *scan)
{
    if (scan->end.number >= scan->reaches)
        return TIDINGS_OK;
    snprintf(scan->message, sizeof scan->message,
             "the end of the log is missing: records %" PRIu64 " to %" PRIu64, scan->end.number + 1,
             scan->reaches);
    return TIDINGS_CORRUPT;
}

static enum tidings_err scan_segments(struct redo_scan *scan, struct watch *watch,
                                      const uint64_t *firsts, size_t n)
{
    size_t i = 0;
    while (i + 1 < n && firsts[i + 1] <= scan->after + 1)
        i++;
    if (n && firsts[i] > scan->after + 1)
        return missing(scan, scan->after + 1, firsts[i] - 1);
    for (; i < n && !watch->stopped; i++) {
        enum tidings_err err =
            i + 1 < n ? scan_file(scan, firsts[i], false) : scan_last(scan, firsts[i]);
        if (err)
            return err;
        if (i + 1 < n && !watch->stopped && firsts[i + 1] != scan->end.number + 1)
            return missing(scan, scan->end.number + 1, firsts[i + 1] - 1);
    }
    return TIDINGS_OK;
}

enum tidings_err redo_scan(struct redo_scan *scan)
{
    uint64_t *firsts;
    size_t n;
    struct watch watch = {scan->visit, scan->ctx, false};
    scan->end = (struct redo_end){.number = scan->after};
    scan->message[0] = '\0';
    enum tidings_err err = redo_segments(scan->dir, &firsts, &n);
    if (err)
        return err;
    scan->visit = watched;
    scan->ctx = &watch;
    err = scan_segments(scan, &watch, firsts, n);
    if (!err && !watch.stopped)
        err = check_end(scan);
    scan->visit = watch.visit;
    scan->ctx = watch.ctx;
    free(firsts);
    return err;
}

/* ---- A moment ------------------------------------------------------------------------------- */

struct until {
    int64_t time_ms;
    uint64_t number;
};

static bool note_until(void *ctx, const struct redo_record *record)
{
    struct until *until = ctx;
    if (record->time_ms <= until->time_ms)
        until->number = record->number;
    return true;
}

uint64_t redo_until(const char *dir, const uint8_t *id, uint64_t after, int64_t time_ms)
{
    struct until until = {.time_ms = time_ms, .number = after};
    struct redo_scan scan = {
        .dir = dir, .id = id, .after = after, .visit = note_until, .ctx = &until};
    redo_scan(&scan);
    return until.number;
}

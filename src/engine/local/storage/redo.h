/* SPDX-License-Identifier: MIT */
/*
 * The redo log: every batch of changes as one record, appended and synced before anybody is told.
 * The log and the base images are the truth; the file that LMDB reads is made of them.
 *
 *     log/0000000000000001.log   a header, then the records 1, 2, 3 ...
 *     log/0000000000004711.log   a segment is named after its first record
 *
 * A record is a batch: its number, the time by the clock, which may have been set back since the one before, and the rows
 * put and deleted, as absolute values, so that replaying one twice does no harm. docs/FORMAT.md has the bytes.
 */
#ifndef LOCAL_REDO_H
#define LOCAL_REDO_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "engine/local/storage/chain.h"
#include "engine/local/storage/files.h"
#include "engine/local/storage/kv.h"

enum { REDO_ID_BYTES = 16 }; /* of the data directory: no segment of another one passes for ours */

struct redo_record {
    uint64_t number;
    uint64_t synced; /* the newest record known to be durable when this one was written */
    /* The newest record known to be decided when this one was written: the record itself where this log decides, which is
     * everywhere but on the writer of a log that is elsewhere. */
    uint64_t sure;
    int64_t time_ms;
    bool is_chained; /* false in segments of the format before: there are neither chain nor sure */
    struct chain chain;
    struct bytes changes;
};

/* ---- Changes: what a record holds ----------------------------------------------------------- */

/* In the place of a table, for those who follow the log: an event that is told and not kept (told.h); the answer to a change
 * that another server has handed over (forward.h). Replaying passes them over. */
enum { CHANGE_ANSWER = 126, CHANGE_TOLD = 127 };

static inline bool change_is_row(unsigned table)
{
    return table != CHANGE_ANSWER && table != CHANGE_TOLD;
}

struct change {
    unsigned table; /* enum table, CHANGE_ANSWER or CHANGE_TOLD */
    bool is_put;
    struct bytes key; /* LONG_KEY_MAX at most */
    struct bytes value;
};

enum { CHANGE_HEAD_MAX = 2 + LONG_KEY_MAX + VARINT_MAX };

/* All of a change but the value's bytes. Answers its length. */
size_t change_encode(const struct change *change, uint8_t to[CHANGE_HEAD_MAX]);

/* Does it to the transaction's rows: nothing, for what is only told. */
void change_apply(struct kv_txn *txn, const struct change *change);

/* The next change; false at the end, or with r->bad set where the bytes are not one. */
bool change_decode(struct decoder *r, struct change *change);

/* ---- Reading -------------------------------------------------------------------------------- */

/* The numbers of the first records of all segments, ascending; from malloc. */
enum tidings_err redo_segments(const char *dir, uint64_t **firsts, size_t *n);

/* "0000000000000001.log" */
enum { SEGMENT_NAME_BYTES = 32 };
void segment_name(uint64_t first, char name[SEGMENT_NAME_BYTES]);

/* Where the log ends. */
struct redo_end {
    uint64_t number;  /* the last record */
    int64_t time_ms;  /* its time */
    uint64_t segment; /* the segment it ends in; 0: there is none */
    uint64_t offset;  /* where the next record would begin in it */
    bool torn;        /* something half-written follows: the normal trace of a crash */
};

/* False: enough. */
typedef bool redo_visit(void *ctx, const struct redo_record *record);

struct redo_scan {
    const char *dir;
    const uint8_t *id; /* NULL: of whatever directory */
    uint64_t after;    /* begin with the record behind it */
    uint64_t reaches;  /* it is known to go to this record: if it ends before, that is damage */
    redo_visit *visit;
    void *ctx;
    struct redo_end end; /* out: as far as it could be read */
    char message[256];   /* out: what is wrong, if something is */
};

/*
 * Visits every record in order. A bad record at the very end is torn, and the end; one that was
 * known to be durable, or is followed by another segment, is damage: CORRUPT, after all records before
 * it were visited. A missing segment is CORRUPT, a segment of a newer format VERSION.
 */
enum tidings_err redo_scan(struct redo_scan *scan);

/* One segment in memory, for redo_scan and its fuzz target: visits from record `first` on, which the
 * header must name. `last`: no segment follows. */
enum tidings_err redo_scan_segment(struct redo_scan *scan, uint64_t first, bool last,
                                   struct bytes segment);

/*
 * The last record behind `after` that was written when the clock said no more than that; `after` if there is none. The
 * clock may have been set back: then all before it is in, too. Damage is an end like any other: whoever replays meets it.
 */
uint64_t redo_until(const char *dir, const uint8_t *id, uint64_t after, int64_t time_ms);

/* ---- Writing -------------------------------------------------------------------------------- */

struct redo;

struct redo_options {
    const char *dir;
    const uint8_t *id;
    uint64_t segment_bytes; /* a new segment begins when one is that long */
    bool each_second;       /* sync once a second instead of every record */
};

/* Goes on behind the record `number` in a segment of its own, made with the first append. */
enum tidings_err redo_open(const struct redo_options *options, uint64_t number, struct redo **redo);

/* Syncs, cuts off what was allocated ahead, frees. OK if everything written is durable. */
enum tidings_err redo_close(struct redo *redo);

/*
 * Appends the next record, whose `synced` is filled in, and, unless it syncs each second, syncs it. On NO_SPACE and IO nothing has
 * happened. UNCERTAIN: it may be in the log or not, and nothing can be appended any more: a
 * sync that failed once may have lost what it was for, and must not be tried again.
 */
enum tidings_err redo_append(struct redo *redo, const struct redo_record *record);

/* Takes the newest record back, which must have been appended last. If that fails nothing can be appended any more. */
void redo_take_back(struct redo *redo);

/* From now on nothing can be appended. */
void redo_give_up(struct redo *redo);

/* Syncs what is not, if it is time to; at once with `now`. */
enum tidings_err redo_sync(struct redo *redo, bool now);

/* The newest record. */
uint64_t redo_newest(const struct redo *redo);

/* The newest record that is decided: what is behind it may be taken back. At first all are. Thread-safe to ask. */
void redo_set_sure(struct redo *redo, uint64_t number);
uint64_t redo_sure(const struct redo *redo);

/* Thread-safe: the newest durable record; bytes appended since opening; whether it has failed for good. */
uint64_t redo_synced(const struct redo *redo);
uint64_t redo_bytes(const struct redo *redo);
bool redo_failed(const struct redo *redo);

/* Makes the segment that the log ends in anew, without what is half-written behind its end, and as a file of its
 * own: of the old one nobody knows which pages reached the disk. */
enum tidings_err redo_rewrite(const char *dir, const struct redo_end *end);

#endif

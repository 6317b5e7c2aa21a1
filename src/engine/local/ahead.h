/* SPDX-License-Identifier: MIT */
/*
 * Reading ahead: where data is larger than memory, whoever changes it would wait for the disk one page after the other.
 * So threads read what the next batch will touch, many pages at the same time, while the batch before it is executed. For
 * the writer they rehearse its operations on snapshots (storage/rehearsal.h); for records of another log they look up the
 * rows that these change. What was read is forgotten: it is about the pages, which are in memory then.
 *
 * It happens only while reads wait for the disk, as the count of the kernel says (setting `read_ahead`), since it costs
 * as much CPU again as the changes themselves.
 */
#ifndef LOCAL_AHEAD_H
#define LOCAL_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ahead;
struct local;
struct redo_record;
struct rehearsal;
struct snapshot;
struct tidings_answer;
struct tidings_call;
struct tidings_op;

/* NULL if memory is short. Threads are made when they are needed. */
struct ahead *ahead_new(struct local *local);

/* Nothing may be under way. */
void ahead_free(struct ahead *ahead);

/*
 * Begins to read what the calls will touch; false if it is not worth it, and then there is nothing to end. The calls
 * stay as they are until ahead_end, which waits until all is read. One at a time: whoever comes meanwhile waits.
 */
bool ahead_begin_calls(struct ahead *ahead, const struct tidings_call *calls);
bool ahead_begin_records(struct ahead *ahead, const struct redo_record *records, size_t n);
void ahead_end(struct ahead *ahead);

/* Runs the change on the snapshot, which is good for nothing else then: the rows that it would put and delete are noted in the
 * rehearsal. */
void ahead_rehearse(struct snapshot *snapshot, const struct tidings_op *op,
                    struct tidings_answer *answer, struct rehearsal *rehearsal);

/*
 * Around the execution of n changes, on the thread that does it: whether it had to wait for the disk. Most times that is
 * not looked at, while nothing is read ahead.
 */
struct ahead_watch {
    bool looks;
    uint64_t faults;
};
struct ahead_watch ahead_watch_begin(struct ahead *ahead, size_t n);
void ahead_watch_end(struct ahead *ahead, const struct ahead_watch *watch, size_t n);

#endif

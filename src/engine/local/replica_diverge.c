/* SPDX-License-Identifier: MIT */
/*
 * A replica compares the log in MySQL with its own. Where the log ends before the own one, and is the own one there, MySQL has
 * lost commits: the replica waits until what is missing is appended again (replica_merge.c), by itself or by another. Where the
 * two differ, the log is right. The replica then says which of its records are dropped, and follows no more.
 */
#include <inttypes.h>
#include <time.h>

#include "engine/local/replica_internal.h"

enum {
    DIVERGE_LINES_MAX = 20,       /* of dropped records, in the server's log; the file has all */
    DIVERGE_BYTES_MAX = 64 << 20, /* of that file */
    DIVERGE_KEYS_MAX = 4,         /* of one record, in a line of the server's log */
    HELD_MS = 2 * LOG_LEASE_MS,   /* the log is gone on with, and not behind the own end */
};

/* ---- What is dropped -------------------------------------------------------------------------- */

struct diverge_report {
    struct replica *replica;
    struct buf lines; /* of the file: one JSON object per record */
    uint64_t n;
};

static void diverge_put_hex(struct buf *to, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(to, "%02x", bytes[i]);
}

/* Operations by their Idempotency-Keys: the user, and 16 bytes of SHA-256 over path, NUL and key. */
static void diverge_put_keys(struct buf *to, const struct redo_record *record, size_t max)
{
    struct decoder r = decoder_of(record->changes.p, record->changes.n);
    struct change change;
    size_t n = 0;
    buf_char(to, '[');
    while (n < max && change_decode(&r, &change)) {
        if (change.table != TABLE_ONCE || !change.is_put || change.key.n != ID_BYTES + ONCE_BYTES ||
            once_is_tickets(change.key.p + ID_BYTES))
            continue;
        buf_printf(to, "%s{\"user_id\":%" PRIu64 ",\"key\":\"", n++ ? "," : "",
                   get_id(change.key.p));
        diverge_put_hex(to, change.key.p + ID_BYTES, ONCE_BYTES);
        buf_literal(to, "\"}");
    }
    buf_char(to, ']');
}

static void diverge_put_time(struct buf *to, int64_t time_ms)
{
    time_t seconds = (time_t)(time_ms / 1000);
    struct tm parts;
    char text[32] = "";
    if (gmtime_r(&seconds, &parts))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    buf_text(to, text);
}

static void diverge_report_record(struct diverge_report *report, const struct redo_record *record)
{
    struct buf *lines = &report->lines;
    buf_printf(lines, "{\"position\":%" PRIu64 ",\"at_ms\":%" PRId64 ",\"chain\":\"",
               record->number, record->time_ms);
    diverge_put_hex(lines, record->chain.bytes, CHAIN_BYTES);
    buf_literal(lines, "\",\"operations\":");
    diverge_put_keys(lines, record, SIZE_MAX);
    buf_literal(lines, "}\n");
    if (report->n++ >= DIVERGE_LINES_MAX)
        return;
    char text[1024];
    struct buf line;
    buf_init_borrowed(&line, text, sizeof text - 1);
    buf_printf(&line, "dropped: position %" PRIu64 " of ", record->number);
    diverge_put_time(&line, record->time_ms);
    buf_literal(&line, ", operations with a key: ");
    diverge_put_keys(&line, record, DIVERGE_KEYS_MAX);
    text[line.len] = '\0';
    replica_tell(report->replica, "%s", text);
}

/* All own records behind the position. Returns their number. */
static uint64_t diverge_report_all(struct diverge_report *report, uint64_t common)
{
    struct local *local = report->replica->local;
    struct redo_record *records = local->follower.records;
    uint64_t end = local_end(local).position, at = common;
    struct buf packed;
    buf_init(&packed, WIRE_MESSAGE_MAX);
    while (at < end) {
        size_t n = replica_own_read(local, at, end, &packed);
        if (!n || replica_unpack(&packed, records) != n)
            break; /* the count says that there are more */
        for (size_t i = 0; i < n; i++)
            diverge_report_record(report, &records[i]);
        at += n;
    }
    buf_release(&packed);
    return end - common;
}

/* What becomes of a directory that has another history behind the position: it is put aside, and the server joins anew. */
static void diverge_put_aside(struct replica *replica, uint64_t common, uint64_t dropped)
{
    char text[COMPLAINT_BYTES];
    snprintf(text, sizeof text,
             "this directory has %" PRIu64 " changes after position %" PRIu64
             " that the log in MySQL does not have, listed in diverged-%" PRIu64 ".log",
             dropped, common, common);
    replica_rejoin(replica, REJOIN_DIVERGED, text);
}

/* ---- Where the two differ ----------------------------------------------------------------------- */

enum diverge_answer { DIVERGE_SAME, DIVERGE_OTHER, DIVERGE_UNKNOWN };

/* Whether the log and the own one are the same up to a position. What one of the two does not keep any more counts as the same:
 * a difference there would have been found long ago. */
static enum diverge_answer diverge_ask(struct replica *replica, uint64_t position)
{
    struct log_batch batch;
    struct chain own;
    if (!replica_own_chain(replica->local, position, &own))
        return DIVERGE_SAME;
    enum log_outcome outcome = log_mysql_read(replica->asking, position - 1, 1, 0, &batch);
    if (outcome == LOG_TRIMMED)
        return DIVERGE_SAME;
    if (outcome != LOG_DONE)
        return DIVERGE_UNKNOWN;
    const uint8_t *chain = batch.n ? batch.records[0].chain : batch.writer.chain;
    bool found = batch.n || batch.writer.position == position;
    if (!found)
        return DIVERGE_UNKNOWN;
    return memcmp(chain, own.bytes, CHAIN_BYTES) ? DIVERGE_OTHER : DIVERGE_SAME;
}

/* The last position at which both have the same. False: MySQL does not answer. */
static bool diverge_find_common(struct replica *replica, uint64_t most, uint64_t *common)
{
    uint64_t same = 0, other = most + 1;
    while (other - same > 1) {
        uint64_t middle = same + (other - same) / 2;
        enum diverge_answer answer = diverge_ask(replica, middle);
        if (answer == DIVERGE_UNKNOWN)
            return false;
        *(answer == DIVERGE_SAME ? &same : &other) = middle;
    }
    *common = same;
    return true;
}

void replica_diverge(struct replica *replica, const struct log_writer *writer)
{
    struct local *local = replica->local;
    struct diverge_report report = {.replica = replica};
    uint64_t own = local_end(local).position, common = 0;
    char name[64];
    if (!diverge_find_common(replica, own < writer->position ? own : writer->position, &common)) {
        replica_say(replica,
                    "this directory and the log in MySQL differ, and MySQL does not answer", false);
        return; /* the next question finds it again */
    }
    buf_init(&report.lines, DIVERGE_BYTES_MAX);
    uint64_t dropped = diverge_report_all(&report, common);
    snprintf(name, sizeof name, "diverged-%" PRIu64 ".log", common);
    if (file_replace(local->store->dir, name, report.lines.data, report.lines.len))
        replica_tell(replica, "%s cannot be written", name);
    buf_release(&report.lines);
    atomic_store(&replica->diverged, true);
    diverge_put_aside(replica, common, dropped);
}

/* ---- Comparing ---------------------------------------------------------------------------------- */

bool replica_disagrees(struct replica *replica, const struct redo_record *next)
{
    struct peer_end end = local_end(replica->local);
    struct chain expected;
    return next->number == end.position + 1 &&
           chain_next(replica->local->follower.chainer, &end.chain, next, &expected) &&
           !chain_same(&expected, &next->chain);
}

/* Whether the log, which ends before the own one, is the own one there. It is asked each time, and ends where it did. */
static bool diverge_agrees_at_end(struct replica *replica, const struct log_writer *writer)
{
    struct chain own;
    if (replica->seen.agreed == writer->position &&
        !memcmp(replica->seen.agreed_chain, writer->chain, CHAIN_BYTES))
        return true;
    if (!replica_own_chain(replica->local, writer->position, &own) ||
        memcmp(own.bytes, writer->chain, CHAIN_BYTES) != 0)
        return false;
    replica->seen.agreed = writer->position;
    memcpy(replica->seen.agreed_chain, writer->chain, CHAIN_BYTES);
    return true;
}

/*
 * The log lacks what this replica has. As long as no writer has confirmed the log on the server of MySQL that answers, or its
 * lease is over, the tail can be appended again. A writer that keeps its lease on a confirmed log has asked everybody before,
 * and makes changes without the tail.
 */
static bool diverge_is_left_behind(struct replica *replica, const struct log_writer *writer)
{
    bool held = writer->ready && writer->server == writer->asked && writer->lease_left_ms > 0;
    int64_t now_ms = wait_now_ms();
    if (!held)
        replica->seen.held_ms = 0;
    else if (!replica->seen.held_ms)
        replica->seen.held_ms = now_ms;
    return held && now_ms - replica->seen.held_ms > HELD_MS;
}

bool replica_compare(struct replica *replica, const struct peer_end *own,
                     const struct log_writer *writer)
{
    char text[COMPLAINT_BYTES];
    if (own->position <= writer->position) {
        replica->seen.ahead_ms = replica->seen.held_ms = 0;
        if (own->position < writer->position ||
            !memcmp(own->chain.bytes, writer->chain, CHAIN_BYTES))
            return true;
        replica_diverge(replica, writer);
        return false;
    }
    if (!diverge_agrees_at_end(replica, writer) || diverge_is_left_behind(replica, writer)) {
        replica_diverge(replica, writer);
        return false;
    }
    if (!replica->seen.ahead_ms)
        replica->seen.ahead_ms = wait_now_ms();
    snprintf(text, sizeof text,
             "the log in MySQL ends at position %" PRIu64 ", before position %" PRIu64
             " of this server: the rest is to be appended again",
             writer->position, own->position);
    replica_say(replica, text, false);
    return true;
}

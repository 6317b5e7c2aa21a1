/* SPDX-License-Identifier: MIT */
/*
 * Completing the log before somebody writes to it. A failover of MySQL may have lost commits, and a database that was restored
 * ends where it was saved. Whoever has taken the fence asks all registered replicas how far they go, takes the longest tail of
 * the newest era (rule 11), and appends it again, behind a log whose chain is the tail's own there (rule 10). Everything goes
 * into MySQL's log first, and from there into this directory, as any record does.
 *
 * A record that was acknowledged is in the log of the replica that made it. So nothing is lost if all replicas that were there
 * answer. Otherwise nobody knows: a new era begins, and a replica that comes back with a tail of its own reports what it drops.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "engine/local/replica_internal.h"

enum {
    MERGE_ASK_MS = 500,               /* for a connection, and for an answer */
    MERGE_PATIENCE_MS = LOG_LEASE_MS, /* with replicas that were there, and do not answer */
    MERGE_AGAIN_MS = 100,
    /* A replica that was silent for so long when the last writer was there was not there any more. */
    MERGE_GONE_MS = 600000,
    MERGE_LATELY_MS = 10000,
    MERGE_MESSAGE_BYTES = 64 << 20, /* more than a record can have */
};

struct merge_peer {
    char address[LOG_ADDRESS_MAX + 1];
    uint64_t position; /* as it has registered */
    int64_t silent_ms;
    bool was_there; /* when the last writer was: it may have records that nobody else has */
    bool answered;
    bool useless; /* its tail is none of this log */
    struct peer_end end;
};

struct merge {
    struct replica *replica;
    uint64_t fence;
    struct log_writer log; /* the end of the log, under that fence */
    struct merge_peer *peers;
    size_t n;
    struct chainer *chainer;
    struct redo_record *records; /* of the message under way */
    struct buf message;
};

/* ---- The log ------------------------------------------------------------------------------------ */

static bool merge_keep_lease(struct merge *merge)
{
    struct replica *replica = merge->replica;
    /* Reads that wait are answered with their age meanwhile. */
    replica_reads_complete(replica, replica_reads_take(replica, &replica->reads), false);
    return !atomic_load(&replica->stopping) &&
           log_mysql_renew(replica->asking, merge->fence, merge->log.position) == LOG_DONE;
}

/* Whether records follow a position and its chain, and each other. */
static bool merge_follows(struct merge *merge, uint64_t position, const struct chain *chain,
                          size_t n)
{
    struct chain before = *chain, expected;
    for (size_t i = 0; i < n; i++) {
        const struct redo_record *record = &merge->records[i];
        if (record->number != position + 1 + i ||
            !chain_next(merge->chainer, &before, record, &expected) ||
            !chain_same(&expected, &record->chain))
            return false;
        before = expected;
    }
    return n > 0;
}

/* Appends the records of the message under way, which follow the log's end. */
static bool merge_append(struct merge *merge, size_t n)
{
    struct replica *replica = merge->replica;
    struct log_end end = {.fence = merge->fence, .position = merge->log.position};
    struct log_record *records = calloc(n, sizeof *records);
    memcpy(end.chain, merge->log.chain, LOG_CHAIN_BYTES);
    for (size_t i = 0; records && i < n; i++) {
        const struct redo_record *from = &merge->records[i];
        records[i] = (struct log_record){
            .position = from->number, .at_ms = from->time_ms, .bytes = from->changes};
        memcpy(records[i].chain, from->chain.bytes, LOG_CHAIN_BYTES);
    }
    enum log_outcome outcome =
        records ? log_mysql_append(replica->asking, &end, merge->log.ready, records, n)
                : LOG_FAILED;
    free(records);
    if (outcome != LOG_DONE)
        return false;
    merge->log.position += n;
    memcpy(merge->log.chain, merge->records[n - 1].chain.bytes, LOG_CHAIN_BYTES);
    atomic_fetch_add(&replica->reappended, n);
    return true;
}

static struct chain merge_log_chain(const struct merge *merge)
{
    struct chain chain;
    memcpy(chain.bytes, merge->log.chain, CHAIN_BYTES);
    return chain;
}

/* What this replica has behind the log's end. */
static bool merge_append_own(struct merge *merge)
{
    struct local *local = merge->replica->local;
    uint64_t end = local_end(local).position;
    while (merge->log.position < end) {
        struct chain chain = merge_log_chain(merge);
        size_t n = replica_own_read(local, merge->log.position, end, &merge->message);
        if (!n || replica_unpack(&merge->message, merge->records) != n ||
            !merge_follows(merge, merge->log.position, &chain, n) || !merge_append(merge, n))
            return false;
    }
    return true;
}

/* ---- The others --------------------------------------------------------------------------------- */

/* Asks one thing; *wire is the caller's if it is answered. */
static bool merge_ask(struct merge *merge, const struct merge_peer *peer,
                      enum peer_message question, struct bytes body, struct wire **wire,
                      uint8_t *type)
{
    struct wire_context *context = merge->replica->local->wire_context;
    const char *why;
    if (wire_connect(context, peer_host(peer->address), MERGE_ASK_MS, wire, &why))
        return false;
    if (!wire_send(*wire, (uint8_t)question, &body, 1) &&
        !wire_receive(*wire, MERGE_ASK_MS, type, &merge->message))
        return true;
    wire_free(*wire);
    return false;
}

static void merge_look(struct merge *merge, struct merge_peer *peer)
{
    struct wire *wire;
    uint8_t type;
    if (!merge_ask(merge, peer, PEER_LOOK, (struct bytes){NULL, 0}, &wire, &type))
        return;
    wire_free(wire);
    struct bytes answer = {(const uint8_t *)merge->message.data, merge->message.len};
    peer->answered = type == PEER_END && peer_read_end(answer, &peer->end);
}

/* Asks all, and those again that do not answer and were there. False: the lease is over. */
static bool merge_look_at_all(struct merge *merge)
{
    int64_t until_ms = wait_now_ms() + MERGE_PATIENCE_MS;
    const struct timespec pause = {.tv_nsec = MERGE_AGAIN_MS * 1000000L};
    for (bool first = true;; first = false) {
        bool is_missed = false;
        for (size_t i = 0; i < merge->n; i++) {
            struct merge_peer *peer = &merge->peers[i];
            if (peer->answered || (!first && !peer->was_there))
                continue;
            if (!merge_keep_lease(merge))
                return false;
            merge_look(merge, peer);
            is_missed |= !peer->answered && peer->was_there;
        }
        if (!is_missed || wait_now_ms() >= until_ms)
            return merge_keep_lease(merge);
        nanosleep(&pause, NULL);
    }
}

/* Whether the end has more than this replica: a newer era, or a later position of the same. */
static bool merge_is_more(const struct peer_end *end, const struct peer_end *than)
{
    return end->era != than->era ? end->era > than->era : end->position > than->position;
}

/* The replica with the most; NULL: nobody has more than this one. */
static struct merge_peer *merge_choose(struct merge *merge)
{
    struct peer_end most = local_end(merge->replica->local);
    struct merge_peer *chosen = NULL;
    for (size_t i = 0; i < merge->n; i++) {
        struct merge_peer *peer = &merge->peers[i];
        if (!peer->answered || peer->useless || !merge_is_more(&peer->end, &most))
            continue;
        most = peer->end;
        chosen = peer;
    }
    return chosen;
}

/* Asks for the tail behind a position. Returns the number of the first records, with *wire open; 0: there are none that follow;
 * -1: it does not answer. */
static int merge_ask_tail(struct merge *merge, const struct merge_peer *peer, uint64_t position,
                          const struct chain *chain, struct wire **wire)
{
    uint8_t body[8], type;
    put_u64(body, position);
    if (!merge_ask(merge, peer, PEER_TAIL, (struct bytes){body, sizeof body}, wire, &type))
        return -1;
    size_t n = type == PEER_RECORDS ? replica_unpack(&merge->message, merge->records) : 0;
    if (n && merge_follows(merge, position, chain, n))
        return (int)n;
    wire_free(*wire);
    return 0;
}

/* The rest of the tail, behind its first n records. */
static bool merge_append_tail(struct merge *merge, struct wire *wire, size_t n)
{
    uint8_t type = PEER_RECORDS;
    while (type == PEER_RECORDS) {
        struct chain chain = merge_log_chain(merge);
        if (!n || !merge_follows(merge, merge->log.position, &chain, n) || !merge_append(merge, n))
            return false;
        if (wire_receive(wire, MERGE_ASK_MS, &type, &merge->message))
            return false;
        n = type == PEER_RECORDS ? replica_unpack(&merge->message, merge->records) : 0;
    }
    return type == PEER_END;
}

enum merge_result { MERGE_DONE, MERGE_USELESS, MERGE_NOT_NOW };

/* The own tail is of a former era: who has the newer one is to take over. */
static enum merge_result merge_leave_to(struct merge *merge, const struct merge_peer *peer)
{
    struct replica *replica = merge->replica;
    replica_tell(replica, "leaves taking over to %s, which has a newer era", peer->address);
    replica->patient_ms = wait_now_ms() + 2 * LOG_LEASE_MS;
    log_mysql_give_back(replica->asking, merge->fence);
    return MERGE_NOT_NOW;
}

/* Takes a tail with more than the own one. */
static enum merge_result merge_take(struct merge *merge, const struct merge_peer *peer)
{
    struct replica *replica = merge->replica;
    struct peer_end own = local_end(replica->local);
    struct chain chain = merge_log_chain(merge);
    struct wire *wire = NULL;
    int n = merge_ask_tail(merge, peer, own.position, &own.chain, &wire);
    if (!n && own.position > merge->log.position) {
        n = merge_ask_tail(merge, peer, merge->log.position, &chain, &wire);
        if (n > 0) {
            wire_free(wire);
            return merge_leave_to(merge, peer);
        }
    }
    if (n <= 0)
        return n ? MERGE_NOT_NOW : MERGE_USELESS;
    wire_free(wire); /* the own tail goes first, with the same memory */
    if (!merge_append_own(merge))
        return MERGE_NOT_NOW;
    n = merge_ask_tail(merge, peer, own.position, &own.chain, &wire);
    if (n <= 0)
        return MERGE_NOT_NOW;
    bool ok = merge_append_tail(merge, wire, (size_t)n);
    wire_free(wire);
    return ok && replica_read_to_end(replica, &merge->log) ? MERGE_DONE : MERGE_NOT_NOW;
}

/* ---- All of it ------------------------------------------------------------------------------------ */

/* Whether the replica has said that it is there since the last writer was, or shortly before. */
static bool merge_was_there(const struct merge *merge, const struct log_writer *seen,
                            int64_t silent_ms)
{
    int64_t now_ms = merge->log.clock_ms;
    int64_t last_ms = seen->until_ms && seen->until_ms < now_ms ? seen->until_ms : now_ms;
    return now_ms - silent_ms + MERGE_GONE_MS >= last_ms;
}

/* A server that was started again has a new row, and its address; the later row counts. */
static struct merge_peer *merge_find(struct merge *merge, const char *address)
{
    for (size_t i = 0; i < merge->n; i++)
        if (!strcmp(merge->peers[i].address, address))
            return &merge->peers[i];
    return &merge->peers[merge->n];
}

static bool merge_list(struct merge *merge, const struct log_writer *seen)
{
    struct replica *replica = merge->replica;
    struct log_replica *rows = calloc(LOG_REPLICAS_MAX, sizeof *rows);
    size_t n = 0;
    merge->peers = calloc(LOG_REPLICAS_MAX, sizeof *merge->peers);
    bool ok = rows && merge->peers &&
              log_mysql_replicas(replica->asking, rows, LOG_REPLICAS_MAX, &n) == LOG_DONE;
    for (size_t i = 0; ok && i < n; i++) {
        if (rows[i].id == replica->id || !rows[i].address[0] ||
            !strcmp(rows[i].address, replica->address))
            continue;
        struct merge_peer *peer = merge_find(merge, rows[i].address);
        bool is_new = peer == &merge->peers[merge->n];
        if (!is_new && peer->silent_ms <= rows[i].silent_ms)
            continue;
        merge->n += is_new;
        *peer = (struct merge_peer){.position = rows[i].position,
                                    .silent_ms = rows[i].silent_ms,
                                    .was_there = merge_was_there(merge, seen, rows[i].silent_ms)};
        memcpy(peer->address, rows[i].address, sizeof peer->address);
    }
    free(rows);
    return ok;
}

/* On a confirmed log: whether it went back, as this replica or another one knows. */
static bool merge_is_needed(const struct merge *merge)
{
    bool needed = local_end(merge->replica->local).position > merge->log.position;
    for (size_t i = 0; i < merge->n; i++)
        needed |= merge->peers[i].silent_ms < MERGE_LATELY_MS &&
                  merge->peers[i].position > merge->log.position;
    return needed;
}

/* The new server of MySQL must be as fit as the one before. */
static bool merge_check(struct merge *merge)
{
    struct replica *replica = merge->replica;
    enum log_outcome outcome = log_mysql_check(replica->asking, replica->local->store->id);
    if (outcome != LOG_DONE)
        replica_say(replica, log_mysql_message(replica->asking), false);
    return outcome == LOG_DONE;
}

static bool merge_complete(struct merge *merge)
{
    uint64_t from = merge->log.position;
    if (!merge_look_at_all(merge))
        return false;
    for (struct merge_peer *peer = merge_choose(merge); peer; peer = merge_choose(merge)) {
        enum merge_result result = merge_take(merge, peer);
        if (result == MERGE_NOT_NOW)
            return false;
        peer->useless = result == MERGE_USELESS;
    }
    if (!merge_append_own(merge) || !replica_read_to_end(merge->replica, &merge->log))
        return false;
    if (merge->log.position > from)
        replica_tell(merge->replica,
                     "MySQL's log ended at position %" PRIu64 ": %" PRIu64
                     " records behind it were appended again",
                     from, merge->log.position - from);
    return true;
}

/* Whether something may be lost: a replica that was there did not answer. */
static bool merge_may_have_lost(const struct merge *merge)
{
    bool lost = false;
    for (size_t i = 0; i < merge->n; i++) {
        const struct merge_peer *peer = &merge->peers[i];
        if (peer->answered || !peer->was_there)
            continue;
        replica_tell(merge->replica,
                     "%s, seen %" PRId64
                     " s ago, does not answer: what it alone has behind position %" PRIu64
                     " is lost, and a new era begins",
                     peer->address, peer->silent_ms / 1000, merge->log.position);
        lost = true;
    }
    return lost;
}

bool replica_merge(struct replica *replica, const struct log_writer *seen, uint64_t fence,
                   uint64_t *era)
{
    struct merge merge = {.replica = replica, .fence = fence, .chainer = chainer_new()};
    bool moved = seen->holder && (!seen->ready || seen->server != seen->asked);
    bool ok = merge.chainer && replica_read_to_end(replica, &merge.log) &&
              merge.log.fence == fence && merge_list(&merge, seen);
    merge.records = calloc(TAIL_READ_RECORDS, sizeof *merge.records);
    buf_init(&merge.message, MERGE_MESSAGE_BYTES);
    uint64_t own_era = local_end(replica->local).era;
    if (ok && (moved || merge_is_needed(&merge))) {
        replica_away_note(replica, true);
        ok = merge.records && (!moved || merge_check(&merge)) && merge_complete(&merge);
        own_era = local_end(replica->local).era + (ok && merge_may_have_lost(&merge));
        replica_away_note(replica, false);
    }
    *era = own_era > merge.log.era ? own_era : merge.log.era;
    buf_release(&merge.message);
    free(merge.records);
    free(merge.peers);
    chainer_free(merge.chainer);
    return ok && merge.log.fence == fence;
}

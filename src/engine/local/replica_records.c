/* SPDX-License-Identifier: MIT */
/* The records that a replica has itself: from the tail in memory or, when they are older, from the files of its log. */
#include "engine/local/replica_internal.h"

struct replica_scan {
    uint64_t after, upto;
    struct buf *packed;
    size_t n;
};

static bool replica_scan_visit(void *ctx, const struct redo_record *record)
{
    struct replica_scan *scan = ctx;
    bool full = scan->n == TAIL_READ_RECORDS ||
                (scan->n && scan->packed->len + record->changes.n > TAIL_READ_BYTES);
    bool is_next = record->number == scan->after + 1 + scan->n;
    if (full || !is_next || record->number > scan->upto || !record->is_chained)
        return false;
    record_pack(record, scan->packed);
    scan->n++;
    return true;
}

size_t replica_own_read(struct local *local, uint64_t after, uint64_t upto, struct buf *packed)
{
    struct store *store = local->store;
    bool too_old;
    size_t n = tail_read(local->tail, after, upto, packed, &too_old);
    if (too_old) {
        struct replica_scan visited = {.after = after, .upto = upto, .packed = packed};
        struct redo_scan scan = {.dir = store->log_dir,
                                 .id = store->id,
                                 .after = after,
                                 .visit = replica_scan_visit,
                                 .ctx = &visited};
        int held = store_hold(store->log_dir);
        buf_clear(packed);
        redo_scan(&scan);
        store_unlock(&held);
        n = visited.n;
    }
    return packed->failed ? 0 : n;
}

size_t replica_unpack(const struct buf *packed, struct redo_record records[TAIL_READ_RECORDS])
{
    struct decoder r = decoder_of(packed->data, packed->len);
    size_t n = 0;
    while (n < TAIL_READ_RECORDS && record_unpack(&r, &records[n]))
        n++;
    return r.bad || decoder_left(&r) ? 0 : n;
}

bool replica_own_chain(struct local *local, uint64_t position, struct chain *chain)
{
    struct peer_end end = local_end(local);
    struct redo_record record;
    struct buf packed;
    if (position == end.position) {
        *chain = end.chain;
        return true;
    }
    if (!position) { /* the chain begins with the directory's id */
        memcpy(chain->bytes, local->store->id, CHAIN_BYTES);
        return true;
    }
    buf_init(&packed, WIRE_MESSAGE_MAX);
    bool found =
        position < end.position && replica_own_read(local, position - 1, position, &packed) == 1;
    struct decoder r = decoder_of(packed.data, packed.len);
    found = found && record_unpack(&r, &record);
    if (found)
        *chain = record.chain;
    buf_release(&packed);
    return found;
}

void replica_serve_tail(struct local *local, struct wire *wire, struct bytes question)
{
    struct decoder r = decoder_of(question.p, question.n);
    uint64_t after = read_u64(&r);
    struct peer_end end = local_end(local);
    struct buf packed;
    enum wire_result result = WIRE_OK;
    if (r.bad || decoder_left(&r)) {
        peer_refuse(wire, false, "the question cannot be read");
        return;
    }
    buf_init(&packed, WIRE_MESSAGE_MAX);
    while (!result && after < end.position) {
        size_t n = replica_own_read(local, after, end.position, &packed);
        if (!n) {
            peer_refuse(wire, false, "its log does not go back that far any more");
            break;
        }
        struct bytes message = {(const uint8_t *)packed.data, packed.len};
        result = wire_send(wire, PEER_RECORDS, &message, 1);
        after += n;
    }
    if (!result && after >= end.position)
        peer_send_end(wire, PEER_END, &end);
    buf_release(&packed);
}

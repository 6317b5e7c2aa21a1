/* SPDX-License-Identifier: MIT */
#include "engine/local/tail.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { TAIL_ROOM_MIN = 64 };

struct entry {
    struct redo_record record; /* its changes are `bytes` */
    uint8_t bytes[];
};

struct tail {
    size_t bytes_max;
    int fds[TAIL_READERS_MAX]; /* of those who are told; -1: free */
    pthread_mutex_t mutex;     /* guards all of it */
    struct entry **ring;       /* `room` places, a power of two; the oldest is at `first` */
    size_t room, first, n;
    size_t bytes;
};

static struct entry *tail_at(const struct tail *tail, size_t i)
{
    return tail->ring[(tail->first + i) & (tail->room - 1)];
}

struct tail *tail_new(size_t bytes_max)
{
    struct tail *tail = calloc(1, sizeof *tail);
    if (!tail)
        return NULL;
    tail->bytes_max = bytes_max;
    for (int i = 0; i < TAIL_READERS_MAX; i++)
        tail->fds[i] = -1;
    pthread_mutex_init(&tail->mutex, NULL);
    return tail;
}

static void drop_oldest(struct tail *tail)
{
    struct entry *entry = tail_at(tail, 0);
    tail->first = (tail->first + 1) & (tail->room - 1);
    tail->n--;
    tail->bytes -= entry->record.changes.n;
    free(entry);
}

void tail_free(struct tail *tail)
{
    if (!tail)
        return;
    while (tail->n)
        drop_oldest(tail);
    free(tail->ring);
    for (int i = 0; i < TAIL_READERS_MAX; i++)
        if (tail->fds[i] >= 0)
            close(tail->fds[i]);
    pthread_mutex_destroy(&tail->mutex);
    free(tail);
}

static struct entry *entry_new(const struct redo_record *record)
{
    struct entry *entry = malloc(sizeof *entry + record->changes.n);
    if (!entry)
        return NULL;
    entry->record = *record;
    entry->record.changes.p = entry->bytes;
    memcpy(entry->bytes, record->changes.p, record->changes.n);
    return entry;
}

static void wake_readers(const struct tail *tail)
{
    const uint64_t one = 1;
    for (int i = 0; i < TAIL_READERS_MAX; i++)
        if (tail->fds[i] >= 0 && write(tail->fds[i], &one, sizeof one) < 0)
            continue; /* it has been told often enough */
}

/* Room for one more. */
static bool tail_grow(struct tail *tail)
{
    if (tail->n < tail->room)
        return true;
    size_t room = tail->room ? 2 * tail->room : TAIL_ROOM_MIN;
    struct entry **ring = malloc(room * sizeof *ring);
    if (!ring)
        return false;
    for (size_t i = 0; i < tail->n; i++)
        ring[i] = tail_at(tail, i);
    free(tail->ring);
    tail->ring = ring;
    tail->room = room;
    tail->first = 0;
    return true;
}

/* Whether the record is the one behind the newest: then its place follows from its number. */
static bool tail_continues(const struct tail *tail, const struct redo_record *record)
{
    return !tail->n || tail_at(tail, tail->n - 1)->record.number + 1 == record->number;
}

void tail_put(struct tail *tail, const struct redo_record *record)
{
    struct entry *entry = entry_new(record);
    pthread_mutex_lock(&tail->mutex);
    bool keeps = entry && tail_continues(tail, record) && tail_grow(tail);
    while (tail->n && (!keeps || tail->bytes + record->changes.n > tail->bytes_max))
        drop_oldest(tail);
    if (entry && tail_grow(tail)) {
        tail->ring[(tail->first + tail->n++) & (tail->room - 1)] = entry;
        tail->bytes += record->changes.n;
    } else {
        free(entry);
    }
    wake_readers(tail);
    pthread_mutex_unlock(&tail->mutex);
}

int tail_join(struct tail *tail)
{
    int reader = 0;
    pthread_mutex_lock(&tail->mutex);
    while (reader < TAIL_READERS_MAX && tail->fds[reader] >= 0)
        reader++;
    if (reader < TAIL_READERS_MAX)
        tail->fds[reader] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bool joined = reader < TAIL_READERS_MAX && tail->fds[reader] >= 0;
    pthread_mutex_unlock(&tail->mutex);
    return joined ? reader : -1;
}

void tail_leave(struct tail *tail, int reader)
{
    pthread_mutex_lock(&tail->mutex);
    close(tail->fds[reader]);
    tail->fds[reader] = -1;
    pthread_mutex_unlock(&tail->mutex);
}

int tail_fd(const struct tail *tail, int reader)
{
    return tail->fds[reader];
}

size_t tail_read(struct tail *tail, uint64_t after, uint64_t upto, struct buf *to, bool *too_old)
{
    size_t n = 0;
    buf_clear(to);
    pthread_mutex_lock(&tail->mutex);
    uint64_t oldest = tail->n ? tail_at(tail, 0)->record.number : 0;
    *too_old = after < upto && (!tail->n || oldest > after + 1);
    size_t i = after >= oldest ? (size_t)(after + 1 - oldest) : 0;
    for (; !*too_old && i < tail->n; i++) {
        const struct redo_record *record = &tail_at(tail, i)->record;
        bool full = n && to->len + record->changes.n > TAIL_READ_BYTES;
        if (record->number > upto || n == TAIL_READ_RECORDS || full)
            break;
        record_pack(record, to);
        n++;
    }
    pthread_mutex_unlock(&tail->mutex);
    return n;
}

/* ---- Records as bytes of a message ------------------------------------------------------------ */

void record_pack(const struct redo_record *record, struct buf *to)
{
    uint8_t head[3 * 8 + CHAIN_BYTES + VARINT_MAX];
    put_u64(head, record->number);
    put_u64(head + 8, (uint64_t)record->time_ms);
    put_u64(head + 16, record->sure);
    memcpy(head + 24, record->chain.bytes, CHAIN_BYTES);
    size_t n = 24 + CHAIN_BYTES;
    n += put_varint(head + n, record->changes.n);
    buf_append(to, head, n);
    buf_append(to, record->changes.p, record->changes.n);
}

bool record_unpack(struct decoder *r, struct redo_record *record)
{
    if (!decoder_left(r))
        return false;
    *record = (struct redo_record){.number = read_u64(r), .is_chained = true};
    record->time_ms = (int64_t)read_u64(r);
    record->sure = read_u64(r);
    const uint8_t *chain = read_bytes(r, CHAIN_BYTES);
    if (chain)
        memcpy(record->chain.bytes, chain, CHAIN_BYTES);
    record->changes.n = read_varint(r);
    record->changes.p = read_bytes(r, record->changes.n);
    if (!record->changes.n)
        decoder_fail(r);
    return !r->bad;
}

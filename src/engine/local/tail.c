/* SPDX-License-Identifier: MIT */
#include "engine/local/tail.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct entry {
    struct entry *next;
    struct redo_record record; /* its changes are `bytes` */
    uint8_t bytes[];
};

struct tail {
    size_t bytes_max;
    int fds[TAIL_READERS_MAX]; /* of those who are told; -1: free */
    pthread_mutex_t mutex;     /* guards all of it */
    struct entry *oldest, *newest;
    size_t bytes;
};

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
    struct entry *entry = tail->oldest;
    tail->oldest = entry->next;
    if (!tail->oldest)
        tail->newest = NULL;
    tail->bytes -= entry->record.changes.n;
    free(entry);
}

void tail_free(struct tail *tail)
{
    if (!tail)
        return;
    while (tail->oldest)
        drop_oldest(tail);
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
    entry->next = NULL;
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

void tail_put(struct tail *tail, const struct redo_record *record)
{
    struct entry *entry = entry_new(record);
    pthread_mutex_lock(&tail->mutex);
    while (tail->oldest && (!entry || tail->bytes + record->changes.n > tail->bytes_max))
        drop_oldest(tail);
    if (entry) {
        if (tail->newest)
            tail->newest->next = entry;
        else
            tail->oldest = entry;
        tail->newest = entry;
        tail->bytes += record->changes.n;
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
    const struct entry *entry = tail->oldest;
    *too_old = after < upto && (!entry || entry->record.number > after + 1);
    while (entry && entry->record.number <= after)
        entry = entry->next;
    for (; !*too_old && entry && entry->record.number <= upto; entry = entry->next) {
        bool full = n && to->len + entry->record.changes.n > TAIL_READ_BYTES;
        if (n == TAIL_READ_RECORDS || full)
            break;
        record_pack(&entry->record, to);
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

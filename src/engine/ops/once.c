/* SPDX-License-Identifier: MIT */
/*
 * Operations that happen once: the answer is kept, in the same step as the change, under the user's
 * key. A second table orders them by age, so that they can be forgotten.
 */
#include "engine/ops/ops.h"

static uint64_t oldest_kept(const struct view *view)
{
    return view_oldest_id(view, (int64_t)view->settings->once_hours * 60 * 60 * 1000);
}

bool once_get(struct view *view, const struct tidings_op *op, struct once_record *record)
{
    struct key key = key_once(op->user_id, op->once->key);
    struct bytes value;
    if (!kv_get(view->txn, TABLE_ONCE, &key, &value))
        return false;
    if (!once_decode(value, record)) {
        view_corrupt(view);
        return false;
    }
    return true;
}

bool once_find(struct view *view, const struct tidings_op *op, struct once_record *record)
{
    return once_get(view, op, record) && record->stamp >= oldest_kept(view);
}

void once_keep(struct view *view, const struct tidings_op *op, struct tidings_text answer)
{
    struct key key = key_once(op->user_id, op->once->key), age = key_id(view->stamp);
    struct once_record record = {
        .stamp = view->stamp,
        .fingerprint = op->once->fingerprint,
        .answer = {(const uint8_t *)answer.p, answer.n},
    };
    struct bytes value = once_encode(&record, view->scratch);
    if (!value.p) {
        kv_fail(view->txn, TIDINGS_NO_MEMORY);
        return;
    }
    kv_put(view->txn, TABLE_ONCE, &key, value.p, value.n);
    kv_put(view->txn, TABLE_ONCE_AGE, &age, key.bytes, key.n);
}

/* The row of that age, unless its key has been used again since. */
static void forget(struct view *view, uint64_t stamp, struct bytes name)
{
    struct key key = {.n = (uint8_t)name.n}, age = key_id(stamp);
    struct once_record record;
    struct bytes value;
    memcpy(key.bytes, name.p, name.n);
    if (kv_get(view->txn, TABLE_ONCE, &key, &value) && once_decode(value, &record) &&
        record.stamp == stamp)
        kv_del(view->txn, TABLE_ONCE, &key);
    kv_del(view->txn, TABLE_ONCE_AGE, &age);
}

void once_sweep(struct view *view, size_t most)
{
    uint64_t limit = oldest_kept(view);
    struct key first = key_id(0);
    struct bytes key, value;
    while (most-- && kv_seek(view->txn, TABLE_ONCE_AGE, &first, &key, &value)) {
        if (key.n != ID_BYTES || value.n != ID_BYTES + ONCE_BYTES) {
            view_corrupt(view);
            return;
        }
        if (get_id(key.p) >= limit)
            return;
        forget(view, get_id(key.p), value);
    }
}

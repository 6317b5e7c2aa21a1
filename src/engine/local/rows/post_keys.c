/* SPDX-License-Identifier: MIT */
/* Keys that posts were imported with: found by the key, and by the post. */
#include "engine/local/rows/rows.h"

/* The row of a key: its kind, and the key. No id begins with such a byte: see key_of_post. */
struct long_key {
    size_t n;
    uint8_t bytes[1 + TIDINGS_KEY_MAX];
};

static struct long_key row_of(enum key_kind kind, struct bytes key)
{
    struct long_key row = {.n = 1 + key.n, .bytes = {(uint8_t)kind}};
    memcpy(row.bytes + 1, key.p, key.n);
    return row;
}

/* Ids are below 2^53, so their first byte is less than any kind. */
static struct key row_of_post(uint64_t post)
{
    return key_id(post);
}

uint64_t local_get_key(struct view *view, enum key_kind kind, struct bytes key)
{
    struct bytes value;
    if (!key.n || key.n > TIDINGS_KEY_MAX)
        return 0;
    struct long_key row = row_of(kind, key);
    if (!kv_get_long(txn_of(view), TABLE_KEY, (struct bytes){row.bytes, row.n}, &value))
        return 0;
    if (value.n != ID_BYTES) {
        view_corrupt(view);
        return 0;
    }
    return get_id(value.p);
}

void local_put_key(struct view *view, enum key_kind kind, struct bytes key, uint64_t id)
{
    struct long_key row = row_of(kind, key);
    uint8_t value[ID_BYTES];
    put_id(value, id);
    kv_put_long(txn_of(view), TABLE_KEY, (struct bytes){row.bytes, row.n}, value, sizeof value);
    if (kind != KEY_POST)
        return;
    struct key post = row_of_post(id);
    kv_put(txn_of(view), TABLE_KEY, &post, key.p, key.n);
}

struct bytes local_key_of(struct view *view, uint64_t post)
{
    struct key row = row_of_post(post);
    struct bytes key = {NULL, 0};
    kv_get(txn_of(view), TABLE_KEY, &row, &key);
    return key;
}

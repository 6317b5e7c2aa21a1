/* SPDX-License-Identifier: MIT */
/* Keys that posts were imported with: found by the key, in a row that is named by a hash of it, and by the post. */
#include <openssl/evp.h>

#include "engine/cluster/rows/desk.h"

/* The first half of a SHA-256: nobody finds two texts that have the same. */
bool cluster_key_row(enum key_kind kind, struct bytes key, uint64_t row[ROW_KEYS])
{
    uint8_t hash[EVP_MAX_MD_SIZE];
    if (!key.n || key.n > TIDINGS_KEY_MAX ||
        !EVP_Digest(key.p, key.n, hash, NULL, EVP_sha256(), NULL))
        return false;
    struct decoder r = decoder_of(hash, 16);
    row[0] = (uint64_t)kind;
    row[1] = read_u64(&r);
    row[2] = read_u64(&r);
    return true;
}

uint64_t cluster_get_key(struct view *view, enum key_kind kind, struct bytes key)
{
    uint64_t at[ROW_KEYS];
    if (!cluster_key_row(kind, key, at))
        return 0;
    const struct value *row = desk_get(view, KIND_KEY, at[0], at[1], at[2]);
    if (!row || !row->exists)
        return 0;
    if (!bytes_same(row->texts[0], key)) {
        view_corrupt(view);
        return 0;
    }
    return row->numbers[0];
}

void cluster_put_key(struct view *view, enum key_kind kind, struct bytes key, uint64_t id)
{
    uint64_t at[ROW_KEYS];
    struct value row = {.exists = true, .numbers = {id}, .texts = {key}};
    struct value of_post = {.exists = true, .texts = {key}};
    if (!cluster_key_row(kind, key, at)) {
        view_fail(view, TIDINGS_INVALID);
        return;
    }
    desk_put(view, KIND_KEY, at[0], at[1], at[2], &row);
    if (kind == KEY_POST)
        desk_put(view, KIND_POST_KEY, id, 0, 0, &of_post);
}

struct bytes cluster_get_post_key(struct view *view, uint64_t post)
{
    const struct value *row = desk_get(view, KIND_POST_KEY, post, 0, 0);
    return row && row->exists ? row->texts[0] : (struct bytes){(const uint8_t *)"", 0};
}

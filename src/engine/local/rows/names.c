/* SPDX-License-Identifier: MIT */
/* Who has which name: a row for each user that has one, all in its key. */
#include "engine/local/rows/rows.h"

void name_key_of(struct bytes name, uint64_t user, struct name_key *key)
{
    key->n = (uint8_t)name_fold(name, key->bytes);
    name_key_end(key, user);
}

void local_rename(struct view *view, uint64_t user, struct bytes before, struct bytes now)
{
    struct name_key from, to;
    name_key_of(before, user, &from);
    name_key_of(now, user, &to);
    if (bytes_same(name_key_bytes(&from), name_key_bytes(&to)))
        return;
    if (before.n)
        kv_del_long(txn_of(view), TABLE_NAME, name_key_bytes(&from));
    if (now.n)
        kv_put_long(txn_of(view), TABLE_NAME, name_key_bytes(&to), "", 0);
}

/* The first row that may be wanted. */
static struct bytes begin_at(struct bytes prefix, const struct name_place *after,
                             struct name_key *key)
{
    if (!after->user)
        return prefix;
    memcpy(key->bytes, after->folded.p, after->folded.n);
    key->n = (uint8_t)after->folded.n;
    name_key_end(key, after->user + 1);
    return name_key_bytes(key);
}

size_t local_find_names(struct view *view, struct bytes prefix, const struct name_place *after,
                        size_t most, uint64_t *users)
{
    struct name_key start;
    struct bytes key, value;
    size_t n = 0;
    bool found =
        kv_seek_long(txn_of(view), TABLE_NAME, begin_at(prefix, after, &start), &key, &value);
    for (; found && n < most && key.n >= prefix.n && !memcmp(key.p, prefix.p, prefix.n);
         found = kv_next(txn_of(view), TABLE_NAME, &key, &value)) {
        if (key.n < ID_BYTES + 2) {
            view_corrupt(view);
            return 0;
        }
        users[n++] = get_id(key.p + key.n - ID_BYTES);
    }
    return n;
}

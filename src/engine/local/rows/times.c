/* SPDX-License-Identifier: MIT */
/* Times before 2020, of ids that cannot have them: imported facts alone have such. */
#include "domain/ids.h"
#include "engine/local/rows/rows.h"

static struct key time_row_key(uint64_t id)
{
    struct key key = {.n = 1, .bytes = {ROW_TIME}};
    key_add_id(&key, id);
    return key;
}

bool time_row_decode(struct bytes key, struct bytes value, int64_t *ms)
{
    struct decoder r = decoder_of(value.p, value.n);
    uint64_t id = key.n == 1 + ID_BYTES ? get_id(key.p + 1) : 0, stored = read_varint(&r);
    *ms = (int64_t)stored;
    return !r.bad && !decoder_left(&r) && id && id < ID_EARLY_END &&
           stored < (uint64_t)EARLY_END_MS && *ms != id_time_ms(id);
}

bool local_get_time(struct view *view, uint64_t id, int64_t *ms)
{
    struct key key = time_row_key(id);
    struct bytes value;
    if (!kv_get(txn_of(view), TABLE_KEY, &key, &value))
        return false;
    if (!time_row_decode(key_bytes(&key), value, ms))
        view_corrupt(view);
    return !view_failed(view);
}

void local_put_time(struct view *view, uint64_t id, int64_t ms)
{
    struct key key = time_row_key(id);
    uint8_t value[VARINT_MAX];
    kv_put(txn_of(view), TABLE_KEY, &key, value, put_varint(value, (uint64_t)ms));
}

/* SPDX-License-Identifier: MIT */
/*
 * What is nobody's any more is removed a few rows at a time, with each batch: history up to a clearing, events past their
 * time, idempotency keys likewise, messages of deleted stories' scenes.
 */
#include "engine/local/local.h"
#include "engine/local/rows/journal.h"
#include "engine/ops/ops.h"

static void sweep_history(struct view *view, size_t most)
{
    struct key first = {.n = 1}, done;
    struct bytes key, value;
    while (most && kv_seek(txn_of(view), TABLE_TODO, &first, &key, &value)) {
        if (key.n != ID_BYTES) {
            view_corrupt(view);
            return;
        }
        uint64_t reader = get_id(key.p);
        uint64_t cleared = view_user(view, reader).history_cleared;
        while (most && journal_sweep(view, reader, cleared))
            most--;
        if (!most)
            return;
        done = key_id(reader);
        kv_del(txn_of(view), TABLE_TODO, &done);
        most--;
    }
}

static void sweep_events(struct view *view, size_t most)
{
    uint64_t limit = event_oldest_kept(view);
    struct key first = key_id(0);
    struct bytes key, value;
    while (most-- && kv_seek(txn_of(view), TABLE_EVENT, &first, &key, &value)) {
        struct tidings_event event;
        uint64_t id = key.n == ID_BYTES ? get_id(key.p) : limit;
        if (key.n != ID_BYTES)
            view_corrupt(view);
        if (id >= limit)
            return;
        if (event_decode(value, &event))
            webhook_forget_event(view, id, &event);
        struct key gone = key_id(id);
        kv_del(txn_of(view), TABLE_EVENT, &gone);
    }
}

/* The row of that age, unless its key has been used again since. */
static void forget_once(struct view *view, uint64_t stamp, struct bytes name)
{
    struct key key = {.n = (uint8_t)name.n}, age = key_id(stamp);
    struct once_record record;
    struct bytes value;
    memcpy(key.bytes, name.p, name.n);
    if (kv_get(txn_of(view), TABLE_ONCE, &key, &value) && once_decode(value, &record) &&
        record.stamp == stamp)
        kv_del(txn_of(view), TABLE_ONCE, &key);
    kv_del(txn_of(view), TABLE_ONCE_AGE, &age);
}

static void sweep_once(struct view *view, size_t most)
{
    uint64_t limit = once_oldest_kept(view);
    struct key first = key_id(0);
    struct bytes key, value;
    while (most-- && kv_seek(txn_of(view), TABLE_ONCE_AGE, &first, &key, &value)) {
        if (key.n != ID_BYTES || value.n != ID_BYTES + ONCE_BYTES) {
            view_corrupt(view);
            return;
        }
        if (get_id(key.p) >= limit)
            return;
        forget_once(view, get_id(key.p), value);
    }
}

/* How many of the story's scenes are swept already; all of them: the row goes. */
static void put_swept(struct view *view, uint64_t story, uint32_t swept, uint32_t scenes)
{
    struct key key = key_id(story);
    uint8_t bytes[4];
    put_u32(bytes, swept);
    if (swept < scenes)
        kv_put(txn_of(view), TABLE_UNSWEPT, &key, bytes, sizeof bytes);
    else
        kv_del(txn_of(view), TABLE_UNSWEPT, &key);
}

static void sweep_scenes(struct view *view, size_t most)
{
    struct key first = key_id(0);
    struct bytes key, value;
    while (most && kv_seek(txn_of(view), TABLE_UNSWEPT, &first, &key, &value)) {
        if (key.n != ID_BYTES || value.n != 4) {
            view_corrupt(view);
            return;
        }
        uint64_t story = get_id(key.p);
        uint32_t swept = get_u32(value.p);
        const struct head *head = view_head(view, REALM_SCENES, story);
        for (; most && swept < head->n_posts; swept++, most--) {
            struct key messages = key_row(head->ids[swept], ROW_MESSAGES);
            kv_del(txn_of(view), TABLE_SCENE, &messages);
        }
        put_swept(view, story, swept, head->n_posts);
        most -= most ? 1 : 0;
    }
}

void local_sweep(struct view *view, size_t most)
{
    sweep_history(view, most);
    sweep_events(view, most);
    sweep_once(view, most);
    sweep_scenes(view, most);
}

/* SPDX-License-Identifier: MIT */
/*
 * The reading history: an index, latest first, on the read maps. Clearing sets one mark, whatever
 * the length: entries up to it count as gone from that moment, and their rows are swept away a few
 * at a time.
 */
#include "domain/ids.h"
#include "engine/local/ops.h"
#include "engine/local/tie.h"

enum tidings_err apply_history_delete(struct view *view, struct tidings_call *call)
{
    uint64_t reader = call->op->user_id, post_id = call->op->u.post.post_id;
    struct post_record post;
    struct readmap map;
    struct tie tie;
    if (!view_post(view, post_id, &post))
        return TIDINGS_NOT_FOUND;
    tie_load(view, reader, post.author, &tie);
    tie_readmap(view, &tie, post.seq, &map);
    unsigned i = post.seq % READMAP_POSTS;
    if (!readmap_has(map.history, i))
        return TIDINGS_OK;
    struct key key = key_history(reader, readmap_history_stamp(&map, i), post_id);
    kv_del(view->txn, TABLE_USER, &key);
    readmap_leave_history(&map, i);
    tie_put_readmap(view, &tie, post.seq, &map, map.read);
    return TIDINGS_OK;
}

enum tidings_err apply_history_clear(struct view *view, struct tidings_call *call)
{
    uint64_t reader = call->op->user_id;
    struct user_record user = view_user(view, reader);
    struct key key = key_id(reader);
    user.history_cleared = view->stamp;
    view_put_user(view, reader, &user);
    kv_put(view->txn, TABLE_TODO, &key, "", 0);
    return TIDINGS_OK;
}

/* Removes one row at or behind the mark; false if there is none. */
static bool sweep_one(struct view *view, uint64_t reader, uint64_t cleared)
{
    struct key prefix = key_row(reader, ROW_HISTORY);
    struct key from = key_history(reader, cleared, ID_MASK);
    struct bytes key, value;
    if (!kv_seek(view->txn, TABLE_USER, &from, &key, &value) || !key_has_prefix(key, &prefix))
        return false;
    if (key.n > KEY_MAX) {
        view_corrupt(view);
        return false;
    }
    struct key found = {.n = (uint8_t)key.n};
    memcpy(found.bytes, key.p, key.n);
    kv_del(view->txn, TABLE_USER, &found);
    return true;
}

void history_sweep(struct view *view, size_t most)
{
    struct key first = {.n = 0}, done;
    struct bytes key, value;
    first.bytes[first.n++] = 0;
    while (most && kv_seek(view->txn, TABLE_TODO, &first, &key, &value)) {
        if (key.n != ID_BYTES) {
            view_corrupt(view);
            return;
        }
        uint64_t reader = get_id(key.p);
        uint64_t cleared = view_user(view, reader).history_cleared;
        while (most && sweep_one(view, reader, cleared))
            most--;
        if (!most)
            return;
        done = key_id(reader);
        kv_del(view->txn, TABLE_TODO, &done);
        most--;
    }
}

static bool fill_row(struct view *view, struct reply *reply, uint64_t stamp, uint64_t post_id)
{
    struct post_record post;
    if (!view_post(view, post_id, &post)) {
        view_corrupt(view);
        return false;
    }
    struct tidings_history_row *row = &reply->answer->u.history.rows[reply->answer->u.history.n++];
    *row = (struct tidings_history_row){
        .post_id = post_id,
        .author_id = post.author,
        .title = view_text(view, reply->arena, post.title),
        .read_at = id_time_ms(stamp),
        .is_deleted = post.deleted,
    };
    return true;
}

enum tidings_err answer_history(struct view *view, struct reply *reply)
{
    const struct tidings_page *page = &reply->op->u.page;
    uint64_t reader = reply->op->user_id;
    uint64_t cleared = view_user(view, reader).history_cleared;
    size_t limit = view_limit(view, page);
    struct key prefix = key_row(reader, ROW_HISTORY), from = prefix;
    struct bytes key, value;
    struct tidings_cursor last = {0, 0};

    reply->answer->u.history.rows =
        view_array(view, reply->arena, limit, sizeof *reply->answer->u.history.rows);
    if (page->after.a)
        from = page->after.b ? key_history(reader, page->after.a, page->after.b - 1)
                             : key_history(reader, page->after.a - 1, ID_MASK);
    bool found = kv_seek(view->txn, TABLE_USER, &from, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(view->txn, TABLE_USER, &key, &value)) {
        if (key.n != (size_t)prefix.n + 2 * ID_BYTES) {
            view_corrupt(view);
            break;
        }
        uint64_t stamp = get_id_descending(key.p + prefix.n);
        uint64_t post_id = get_id_descending(key.p + prefix.n + ID_BYTES);
        if (stamp <= cleared)
            break;
        if (reply->answer->u.history.n == limit) {
            reply->answer->u.history.next = last;
            break;
        }
        if (!fill_row(view, reply, stamp, post_id))
            break;
        last = (struct tidings_cursor){stamp, post_id};
    }
    return TIDINGS_OK;
}

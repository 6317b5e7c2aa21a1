/* SPDX-License-Identifier: MIT */
/*
 * The reading history: an index, latest first, on the read maps. Clearing sets one mark, whatever
 * the length: entries up to it count as gone from that moment, and are swept away a few rows at a
 * time. The rows are journal.c's.
 */
#include "domain/ids.h"
#include "engine/local/rows/journal.h"
#include "engine/ops/ops.h"
#include "engine/inbox/tie.h"

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
    struct history_entry entry = {readmap_history_stamp(&map, i), post_id};
    journal_remove(view, reader, &entry, 1);
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
        while (most && journal_sweep(view, reader, cleared))
            most--;
        if (!most)
            return;
        done = key_id(reader);
        kv_del(view->txn, TABLE_TODO, &done);
        most--;
    }
}

static bool fill_row(struct view *view, struct reply *reply, struct history_entry entry)
{
    struct post_record post;
    if (!view_post(view, entry.post, &post)) {
        view_corrupt(view);
        return false;
    }
    struct tidings_history_row *row = &reply->answer->u.history.rows[reply->answer->u.history.n++];
    *row = (struct tidings_history_row){
        .post_id = entry.post,
        .author_id = post.author,
        .title = view_text(view, reply->arena, post.title),
        .read_at = id_time_ms(entry.stamp),
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
    struct tidings_cursor last = {0, 0};
    struct journal_walk walk;
    struct history_entry entry;

    reply->answer->u.history.rows =
        view_array(view, reply->arena, limit, sizeof *reply->answer->u.history.rows);
    journal_walk(&walk, view, reader, (struct history_entry){page->after.a, page->after.b});
    while (journal_next(&walk, &entry) && entry.stamp > cleared) {
        if (reply->answer->u.history.n == limit) {
            reply->answer->u.history.next = last;
            break;
        }
        if (!fill_row(view, reply, entry))
            break;
        last = (struct tidings_cursor){entry.stamp, entry.post};
    }
    return TIDINGS_OK;
}

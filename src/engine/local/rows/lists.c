/* SPDX-License-Identifier: MIT */
#include "engine/local/rows/lists.h"

#include "engine/local/memory/heads.h"

const struct realm realm_posts = {
    .lists = TABLE_AUTHOR,
    .followers = TABLE_FOLLOWER,
    .inside = ROW_INBOX,
    .outside = ROW_OUTSIDE,
    .map = ROW_READMAP,
};

/* Nothing is marked read that was not delivered, and nothing is purged: no pair is outside. */
const struct realm realm_scenes = {
    .mark = HEAD_STORY,
    .lists = TABLE_STORY,
    .followers = TABLE_SUBSCRIBER,
    .inside = ROW_NOTIFICATIONS,
    .map = ROW_NOTIFICATION_MAP,
};

/* The last chunk of an author's list, written from the head in memory. */
static void put_posts_chunk(struct view *view, const struct realm *realm, uint64_t author,
                            const struct head *head)
{
    uint32_t chunk = (head->n_posts - 1) / READMAP_POSTS;
    uint8_t bytes[READMAP_POSTS * ID_BYTES];
    size_t n = 0;
    for (uint32_t i = chunk * READMAP_POSTS; i < head->n_posts; i++, n += ID_BYTES)
        put_id(bytes + n, head->ids[i]);
    struct key key = key_author(author, ROW_POSTS, chunk);
    kv_put(view->txn, realm->lists, &key, bytes, n);
}

static void put_deleted_chunk(struct view *view, const struct realm *realm, uint64_t author,
                              const struct head *head)
{
    uint32_t chunk = (head->n_deleted - 1) / READMAP_POSTS;
    uint8_t bytes[READMAP_POSTS * 4];
    size_t n = 0;
    for (uint32_t i = chunk * READMAP_POSTS; i < head->n_deleted; i++, n += 4)
        put_u32(bytes + n, head->deleted[i]);
    struct key key = key_author(author, ROW_DELETED, chunk);
    kv_put(view->txn, realm->lists, &key, bytes, n);
}

void list_add(struct view *view, const struct realm *realm, uint64_t author, uint64_t id)
{
    if (heads_add_post(view->heads, author | realm->mark, view->version, id))
        put_posts_chunk(view, realm, author, view_head_in(view, realm, author));
    else
        kv_fail(view->txn, TIDINGS_NO_MEMORY);
}

void list_delete(struct view *view, const struct realm *realm, uint64_t author, uint32_t number)
{
    if (heads_add_deletion(view->heads, author | realm->mark, view->version, number))
        put_deleted_chunk(view, realm, author, view_head_in(view, realm, author));
    else
        kv_fail(view->txn, TIDINGS_NO_MEMORY);
}

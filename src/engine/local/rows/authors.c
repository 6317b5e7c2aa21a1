/* SPDX-License-Identifier: MIT */
/* The authors' lists, and those of stories: in memory, where they are read, and in their table. */
#include "engine/local/rows/rows.h"

const struct realm_rows realm_rows[] = {
    [REALM_POSTS] =
        {
            .lists = TABLE_AUTHOR,
            .followers = TABLE_FOLLOWER,
            .inside = ROW_INBOX,
            .outside = ROW_OUTSIDE,
            .map = ROW_READMAP,
        },
    /* Nothing is marked read that was not delivered, and nothing is purged: no pair is outside. */
    [REALM_SCENES] =
        {
            .mark = HEAD_STORY,
            .lists = TABLE_STORY,
            .followers = TABLE_SUBSCRIBER,
            .inside = ROW_NOTIFICATIONS,
            .map = ROW_NOTIFICATION_MAP,
        },
};

const struct head *local_get_head(struct view *view, enum realm realm, uint64_t author)
{
    const struct local_view *local = local_of(view);
    if (local->heads_differ)
        view_fail(view, TIDINGS_UNSUPPORTED);
    return heads_get(local->heads, author | realm_rows[realm].mark, local->version);
}

/* The last chunk of an author's list, written from the head in memory. */
static void put_posts_chunk(struct view *view, enum realm realm, uint64_t author,
                            const struct head *head)
{
    uint32_t chunk = (head->n_posts - 1) / READMAP_POSTS;
    uint8_t bytes[READMAP_POSTS * ID_BYTES];
    size_t n = 0;
    for (uint32_t i = chunk * READMAP_POSTS; i < head->n_posts; i++, n += ID_BYTES)
        put_id(bytes + n, head->ids[i]);
    struct key key = key_author(author, ROW_POSTS, chunk);
    kv_put(txn_of(view), realm_rows[realm].lists, &key, bytes, n);
}

static void put_deleted_chunk(struct view *view, enum realm realm, uint64_t author,
                              const struct head *head)
{
    uint32_t chunk = (head->n_deleted - 1) / READMAP_POSTS;
    uint8_t bytes[READMAP_POSTS * 4];
    size_t n = 0;
    for (uint32_t i = chunk * READMAP_POSTS; i < head->n_deleted; i++, n += 4)
        put_u32(bytes + n, head->deleted[i]);
    struct key key = key_author(author, ROW_DELETED, chunk);
    kv_put(txn_of(view), realm_rows[realm].lists, &key, bytes, n);
}

/* A rehearsal changes nothing in memory, so that it must not ask there any more. */
static void rehearse_head(struct view *view)
{
    local_of(view)->heads_differ = true;
    local_of(view)->recent = NULL;
}

/* Touches the chunk that would be written of a list whose next number is `number`. */
static void rehearse_list(struct view *view, enum realm realm, uint64_t author, enum author_row row,
                          uint32_t number)
{
    struct key key = key_author(author, row, number / READMAP_POSTS);
    kv_put(txn_of(view), realm_rows[realm].lists, &key, NULL, 0);
    rehearse_head(view);
}

void local_add_number(struct view *view, enum realm realm, uint64_t author, uint64_t id)
{
    const struct local_view *local = local_of(view);
    if (local->txn->rehearsal)
        rehearse_list(view, realm, author, ROW_POSTS, local_get_head(view, realm, author)->n_posts);
    else if (heads_add_post(local->heads, author | realm_rows[realm].mark, local->version, id))
        put_posts_chunk(view, realm, author, local_get_head(view, realm, author));
    else
        view_fail(view, TIDINGS_NO_MEMORY);
}

void local_add_deletion(struct view *view, enum realm realm, uint64_t author, uint32_t number)
{
    const struct local_view *local = local_of(view);
    if (local->txn->rehearsal)
        rehearse_list(view, realm, author, ROW_DELETED,
                      local_get_head(view, realm, author)->n_deleted);
    else if (heads_add_deletion(local->heads, author | realm_rows[realm].mark, local->version,
                                number))
        put_deleted_chunk(view, realm, author, local_get_head(view, realm, author));
    else
        view_fail(view, TIDINGS_NO_MEMORY);
}

/* The row says how many of the scenes are swept already. */
void local_close_story(struct view *view, uint64_t story)
{
    const struct local_view *local = local_of(view);
    if (!local_get_head(view, REALM_SCENES, story)->n_posts)
        return;
    if (local->txn->rehearsal)
        rehearse_head(view);
    else if (!heads_close(local->heads, story | HEAD_STORY, local->version))
        view_fail(view, TIDINGS_NO_MEMORY);
    struct key key = key_id(story);
    uint8_t none[4] = {0};
    kv_put(txn_of(view), TABLE_UNSWEPT, &key, none, sizeof none);
}

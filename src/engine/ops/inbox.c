/* SPDX-License-Identifier: MIT */
/* The inbox: counts and pages, all derived from the fan's ties. */
#include <stdlib.h>

#include "domain/ids.h"
#include "engine/inbox/merge.h"
#include "engine/ops/ops.h"

/* ---- Counts --------------------------------------------------------------------------------- */

static uint64_t sum_counts(struct view *view, uint64_t viewer)
{
    struct tie_count *counts;
    uint64_t total = 0;
    size_t n = tie_counts(view, viewer, &counts);
    for (size_t i = 0; i < n; i++)
        total += counts[i].unread;
    return total;
}

/* The hottest path there is. */
uint64_t inbox_badge(struct view *view, uint64_t viewer)
{
    struct recent_sum sum;
    if (!view->recent || !recent_badge(view, viewer, &sum))
        return sum_counts(view, viewer);
    for (size_t i = 0; i < sum.n_rest; i++)
        sum.unread += tie_count_stored(view, &realm_posts, viewer, &sum.rest[i]).unread;
    return sum.unread;
}

enum tidings_err answer_badge(struct view *view, struct reply *reply)
{
    reply->answer->u.badge.total = inbox_badge(view, reply->op->user_id);
    reply->answer->u.badge.as_of.part[0] = view->last_id;
    return TIDINGS_OK;
}

static int most_unread_first(const void *a, const void *b)
{
    const struct tidings_unread_row *x = a, *y = b;
    if (x->unread != y->unread)
        return x->unread < y->unread ? 1 : -1;
    return (x->user_id > y->user_id) - (x->user_id < y->user_id);
}

enum tidings_err answer_unread(struct view *view, struct reply *reply)
{
    struct tie_count *counts;
    size_t n_counts = tie_counts(view, reply->op->user_id, &counts), n = 0;
    struct tidings_unread_row *rows = view_array(view, reply->arena, n_counts, sizeof *rows);
    uint64_t total = 0;
    if (!rows)
        return TIDINGS_OK;
    for (size_t i = 0; i < n_counts; i++) {
        const struct tie_count *count = &counts[i];
        if (!count->unread && !count->following)
            continue;
        total += count->unread;
        rows[n++] = (struct tidings_unread_row){
            .user_id = count->author, .unread = count->unread, .following = count->following};
    }
    qsort(rows, n, sizeof *rows, most_unread_first);
    for (size_t i = 0; i < n; i++)
        view_profile(view, rows[i].user_id, reply->arena, &rows[i].name, NULL);
    reply->answer->u.unread.rows = rows;
    reply->answer->u.unread.n = n;
    reply->answer->u.unread.total = total;
    reply->answer->u.unread.as_of.part[0] = view->last_id;
    return TIDINGS_OK;
}

/* ---- Pages ---------------------------------------------------------------------------------- */

static void fill_item(struct view *view, struct reply *reply, const struct tie *tie, uint32_t seq,
                      uint64_t id)
{
    struct post_record post;
    if (!view_post(view, id, &post)) {
        view_corrupt(view);
        return;
    }
    uint64_t read = tie_read_stamp(view, tie, seq);
    struct tidings_item *item = &reply->answer->u.feed.rows[reply->answer->u.feed.n++];
    *item = (struct tidings_item){
        .post_id = id,
        .author_id = tie->author,
        .kind = post.kind,
        .title = view_text(view, reply->arena, post.title),
        .excerpt = view_text(view, reply->arena, post.excerpt),
        .created_at = id_time_ms(id),
        .is_read = read != 0,
        .read_at = read ? id_time_ms(read) : 0,
        .is_deleted = post.deleted,
    };
    view_profile(view, tie->author, reply->arena, &item->author_name, NULL);
}

static void fill_page(struct view *view, struct reply *reply, struct merge *merge)
{
    size_t limit = view_limit(view, &reply->op->u.feed.page);
    struct tie *tie;
    uint32_t seq;
    uint64_t id, last = 0;

    reply->answer->u.feed.as_of.part[0] = view->last_id;
    reply->answer->u.feed.rows =
        view_array(view, reply->arena, limit, sizeof *reply->answer->u.feed.rows);
    merge_begin(merge);
    while (!view_failed(view) && merge_next(merge, &tie, &seq, &id)) {
        if (reply->answer->u.feed.n == limit) {
            reply->answer->u.feed.next.a = last;
            return;
        }
        fill_item(view, reply, tie, seq, id);
        last = id;
    }
}

/* One author's posts: nothing to merge, but the same way through them. */
static void merge_one(struct merge *merge, struct reply *reply, struct source *source,
                      struct tie *tie)
{
    merge->heap = source;
    tie_load(merge->view, merge->viewer, reply->op->u.feed.author_id, tie);
    merge_add(merge, tie->head, reply->op->u.feed.page.after.a, NULL, tie);
    fill_page(merge->view, reply, merge);
}

static void merge_all(struct merge *merge, struct reply *reply)
{
    struct tie_stored *stored;
    size_t n = tie_scan(merge->view, merge->realm, merge->viewer, &stored);
    merge_add_all(merge, stored, n, reply->op->u.feed.page.after.a);
    fill_page(merge->view, reply, merge);
}

enum tidings_err answer_inbox(struct view *view, struct reply *reply)
{
    struct merge merge = {
        .view = view,
        .realm = &realm_posts,
        .viewer = reply->op->user_id,
        .scope = SCOPE_INBOX,
        .filter = reply->op->u.feed.filter,
    };
    struct source source;
    struct tie tie;
    if (reply->op->u.feed.author_id)
        merge_one(&merge, reply, &source, &tie);
    else
        merge_all(&merge, reply);
    return TIDINGS_OK;
}

static uint64_t author_total(struct view *view, const struct tie *tie, enum tidings_filter filter)
{
    uint64_t all = tie->head->n_posts - tie->head->n_deleted;
    if (filter == TIDINGS_ALL)
        return all;
    uint64_t read = tie_read_alive(view, tie);
    return filter == TIDINGS_READ ? read : all - read;
}

enum tidings_err answer_author_page(struct view *view, struct reply *reply)
{
    struct merge merge = {
        .view = view,
        .realm = &realm_posts,
        .viewer = reply->op->user_id,
        .scope = SCOPE_AUTHOR,
        .filter = reply->op->u.feed.filter,
    };
    struct source source;
    struct tie tie;
    merge_one(&merge, reply, &source, &tie);
    reply->answer->u.feed.total = author_total(view, &tie, merge.filter);
    return TIDINGS_OK;
}

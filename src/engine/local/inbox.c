/* SPDX-License-Identifier: MIT */
/*
 * The inbox: counts and pages, all derived from the fan's ties. A page is a merge of the authors'
 * posts, newest first. An author enters the merge with the id of the newest post that might match;
 * only when that id comes to the top is the first real match searched for, so that authors whose
 * posts are too old for the page cost nothing more.
 */
#include <stdlib.h>

#include "domain/ids.h"
#include "engine/local/ops.h"
#include "engine/local/tie.h"

/* ---- Counts --------------------------------------------------------------------------------- */

uint64_t inbox_badge(struct view *view, uint64_t viewer)
{
    struct tie_count *counts;
    uint64_t total = 0;
    size_t n = tie_counts(view, viewer, &counts);
    for (size_t i = 0; i < n; i++)
        total += counts[i].unread;
    return total;
}

enum tidings_err answer_badge(struct view *view, struct reply *reply)
{
    reply->answer->u.badge.total = inbox_badge(view, reply->op->user_id);
    reply->answer->u.badge.as_of = view->last_id;
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
    reply->answer->u.unread.as_of = view->last_id;
    return TIDINGS_OK;
}

/* ---- The merge ------------------------------------------------------------------------------ */

/* One author's place in the merge. */
struct source {
    uint64_t id;   /* of the post numbered top - 1 */
    uint32_t top;  /* no match at or above this number is left */
    bool is_match; /* that post is a match; otherwise it only might be */
    const struct tie_stored *stored;
    struct tie *tie; /* NULL until the id first came to the top */
};

struct merge {
    struct view *view;
    uint64_t viewer;
    enum scope scope;
    enum tidings_filter filter;
    size_t n;
    struct source *heap; /* greatest id first */
};

static void sift_down(struct merge *merge, size_t i)
{
    struct source *heap = merge->heap, moved = heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= merge->n)
            break;
        if (child + 1 < merge->n && heap[child + 1].id > heap[child].id)
            child++;
        if (heap[child].id <= moved.id)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

/* An author's posts below `after`, or all of them if that is 0. Either a stored pair or its tie. */
static void add_source(struct merge *merge, const struct head *head, uint64_t after,
                       const struct tie_stored *stored, struct tie *tie)
{
    uint32_t top = after ? head_posts_below(head, after) : head->n_posts;
    if (!top)
        return;
    uint64_t id = top == head->n_posts ? head->last_id : head->ids[top - 1];
    merge->heap[merge->n++] = (struct source){id, top, false, stored, tie};
}

static void begin_merge(struct merge *merge)
{
    for (size_t i = merge->n / 2; i--;)
        sift_down(merge, i);
}

/* The first source's tie; NULL if there can be no match in it, or the transaction has failed. */
static struct tie *first_tie(struct merge *merge)
{
    struct source *first = &merge->heap[0];
    if (first->tie)
        return first->tie;
    first->tie = view_array(merge->view, merge->view->scratch, 1, sizeof *first->tie);
    if (!first->tie)
        return NULL;
    tie_decode(merge->view, merge->viewer, first->stored, first->tie);
    bool nothing = merge->filter == TIDINGS_UNREAD && !tie_unread(merge->view, first->tie);
    return nothing ? NULL : first->tie;
}

/* Moves the first source to its post numbered top - 1, or drops it. */
static void move_first(struct merge *merge, uint32_t top, bool is_match)
{
    struct source *first = &merge->heap[0];
    if (!top) {
        merge->heap[0] = merge->heap[--merge->n];
    } else {
        first->top = top;
        first->id = first->tie->head->ids[top - 1];
        first->is_match = is_match;
    }
    if (merge->n)
        sift_down(merge, 0);
}

/* The next match, or false. */
static bool next_match(struct merge *merge, struct tie **tie, uint32_t *seq, uint64_t *id)
{
    while (merge->n && !view_failed(merge->view)) {
        struct source *first = &merge->heap[0];
        if (first->is_match) {
            *tie = first->tie;
            *seq = first->top - 1;
            *id = first->id;
            move_first(merge, first->top - 1, false);
            return true;
        }
        struct tie *found = first_tie(merge);
        uint32_t top =
            found ? tie_search(merge->view, found, merge->scope, merge->filter, first->top) : 0;
        move_first(merge, top, true);
    }
    return false;
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

    reply->answer->u.feed.as_of = view->last_id;
    reply->answer->u.feed.rows =
        view_array(view, reply->arena, limit, sizeof *reply->answer->u.feed.rows);
    begin_merge(merge);
    while (!view_failed(view) && next_match(merge, &tie, &seq, &id)) {
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
    add_source(merge, tie->head, reply->op->u.feed.page.after.a, NULL, tie);
    fill_page(merge->view, reply, merge);
}

static void merge_all(struct merge *merge, struct reply *reply)
{
    struct tie_stored *stored;
    size_t n = tie_scan(merge->view, merge->viewer, &stored);
    merge->heap = view_array(merge->view, merge->view->scratch, n, sizeof *merge->heap);
    for (size_t i = 0; merge->heap && i < n; i++)
        add_source(merge, stored[i].head, reply->op->u.feed.page.after.a, &stored[i], NULL);
    fill_page(merge->view, reply, merge);
}

enum tidings_err answer_inbox(struct view *view, struct reply *reply)
{
    struct merge merge = {
        .view = view,
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

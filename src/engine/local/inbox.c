/* SPDX-License-Identifier: MIT */
/*
 * The inbox: counts and pages, all derived from the fan's ties. A page is a merge of the authors' posts, newest
 * first. An author enters the merge with the id of the newest post that might match; only when that id comes to
 * the top is the first real match searched for, so that authors whose posts are too old for the page cost
 * nothing more.
 */
#include <stdlib.h>

#include "domain/ids.h"
#include "engine/local/ops.h"
#include "engine/local/tie.h"

/* ---- Counts --------------------------------------------------------------------------------- */

uint64_t inbox_badge(struct view *view, uint64_t viewer)
{
    struct tie *ties;
    uint64_t total = 0;
    size_t n = tie_list(view, viewer, &ties);
    for (size_t i = 0; i < n; i++)
        total += tie_unread(view, &ties[i]);
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
    struct tie *ties;
    size_t n_ties = tie_list(view, reply->op->user_id, &ties), n = 0;
    struct tidings_unread_row *rows = view_array(view, reply->arena, n_ties, sizeof *rows);
    uint64_t total = 0;
    if (!rows)
        return TIDINGS_OK;
    for (size_t i = 0; i < n_ties; i++) {
        uint64_t unread = tie_unread(view, &ties[i]);
        if (!unread && !ties[i].pair.following)
            continue;
        total += unread;
        rows[n++] = (struct tidings_unread_row){
            .user_id = ties[i].author, .unread = unread, .following = ties[i].pair.following};
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
    struct tie *tie;
};

struct merge {
    struct view *view;
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

/* Where an author's posts begin to be of interest: below `after`, or at the newest if that is 0. */
static void add_source(struct merge *merge, struct tie *tie, uint64_t after)
{
    const struct head *head = tie->head;
    uint32_t bound = after ? head_posts_below(head, after) : head->n_posts;
    uint32_t top = merge->scope == SCOPE_INBOX
                       ? spans_top(tie->pair.spans, tie->pair.n_spans, bound)
                       : bound;
    if (!top)
        return;
    uint64_t id = top == head->n_posts ? head->last_id : head->ids[top - 1];
    merge->heap[merge->n++] = (struct source){id, top, false, tie};
}

static void begin_merge(struct merge *merge)
{
    for (size_t i = merge->n / 2; i--;)
        sift_down(merge, i);
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
        uint32_t top =
            tie_search(merge->view, first->tie, merge->scope, merge->filter, first->top);
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

enum tidings_err answer_inbox(struct view *view, struct reply *reply)
{
    uint64_t viewer = reply->op->user_id, author = reply->op->u.feed.author_id;
    uint64_t after = reply->op->u.feed.page.after.a;
    struct merge merge = {.view = view, .scope = SCOPE_INBOX, .filter = reply->op->u.feed.filter};
    struct tie one, *ties = &one;
    size_t n = 1;

    if (author)
        tie_load(view, viewer, author, &one);
    else
        n = tie_list(view, viewer, &ties);
    merge.heap = view_array(view, view->scratch, n, sizeof *merge.heap);
    for (size_t i = 0; i < n && !view_failed(view); i++)
        if (merge.filter != TIDINGS_UNREAD || tie_unread(view, &ties[i]))
            add_source(&merge, &ties[i], after);
    fill_page(view, reply, &merge);
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
    struct tie tie;
    struct source source;
    struct merge merge = {
        .view = view,
        .scope = SCOPE_AUTHOR,
        .filter = reply->op->u.feed.filter,
        .heap = &source,
    };
    tie_load(view, reply->op->user_id, reply->op->u.feed.author_id, &tie);
    add_source(&merge, &tie, reply->op->u.feed.page.after.a);
    fill_page(view, reply, &merge);
    reply->answer->u.feed.total = author_total(view, &tie, merge.filter);
    return TIDINGS_OK;
}

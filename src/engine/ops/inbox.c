/* SPDX-License-Identifier: MIT */
/*
 * The inbox: opening and marking, counts and pages, all of it on the fan's ties. A post's being read is one bit, whether it
 * was delivered or not; the counts follow.
 */
#include <stdlib.h>

#include "domain/ids.h"
#include "domain/permit.h"
#include "engine/inbox/merge.h"
#include "engine/ops/halves.h"
#include "engine/ops/marks.h"
#include "engine/ops/post.h"

/* ---- One post ------------------------------------------------------------------------------- */

static void tell_read(struct view *view, const struct marked *marked, bool read)
{
    view_event(view, read ? TIDINGS_EVENT_POST_READ : TIDINGS_EVENT_POST_UNREAD, marked->tie->fan,
               marked->id, marked->tie->author, read ? +1 : -1);
}

/* Whether it was unread; then *entry has to enter the history. */
static bool mark_read(struct view *view, const struct marked *marked, struct history_entry *entry)
{
    if (!marks_read(view, marked, true))
        return false;
    *entry = (struct history_entry){view->stamp, marked->id};
    tell_read(view, marked, true);
    return true;
}

/* Whether it was read; then *entry has to leave the history, or its stamp is 0. */
static bool mark_unread(struct view *view, const struct marked *marked, struct history_entry *entry)
{
    struct readmap map;
    unsigned i = marked->seq % READMAP_POSTS;
    tie_readmap(view, marked->tie, marked->seq, &map);
    if (marked->gone || !readmap_has(map.read, i))
        return false;
    uint64_t before = map.read;
    *entry = (struct history_entry){
        readmap_has(map.history, i) ? readmap_history_stamp(&map, i) : 0, marked->id};
    readmap_unmark(&map, i);
    tie_put_readmap(view, marked->tie, marked->seq, &map, before);
    tell_read(view, marked, false);
    return true;
}

/* ---- Open ----------------------------------------------------------------------------------- */

/* Whether the post is read and stands in the history. */
static bool is_in_history(struct view *view, const struct tie *tie, uint32_t seq)
{
    struct readmap map;
    unsigned i = seq % READMAP_POSTS;
    tie_readmap(view, tie, seq, &map);
    return readmap_has(map.history, i) &&
           readmap_history_stamp(&map, i) > view_user(view, tie->fan).history_cleared;
}

bool open_changes_nothing(struct view *view, const struct tidings_op *op)
{
    struct post_record post;
    struct tie tie;
    if (!view_post(view, op->u.post.post_id, &post) || post.deleted)
        return true;
    tie_load(view, REALM_POSTS, op->user_id, post.author, &tie);
    return is_in_history(view, &tie, post.seq);
}

/* Read, but not in the history: marked in bulk, or removed from there. */
static void enter_history(struct view *view, const struct marked *marked)
{
    struct readmap map;
    tie_readmap(view, marked->tie, marked->seq, &map);
    readmap_enter_history(&map, marked->seq % READMAP_POSTS, view->stamp);
    tie_put_readmap(view, marked->tie, marked->seq, &map, map.read);
}

enum tidings_err change_open(struct view *view, struct reply *reply)
{
    uint64_t post_id = reply->op->u.post.post_id;
    struct post_record post;
    struct tie tie;
    if (!view_post(view, post_id, &post))
        return TIDINGS_NOT_FOUND;
    if (post.deleted)
        return refuse_deleted(view, reply, post.title);
    tie_load(view, REALM_POSTS, reply->op->user_id, post.author, &tie);
    if (head_is_deleted(tie.head, post.seq)) /* the head decides, should they differ */
        return refuse_deleted(view, reply, post.title);
    if (is_in_history(view, &tie, post.seq))
        return TIDINGS_OK;
    struct marked marked = {.id = post_id, .seq = post.seq, .tie = &tie};
    struct history_entry entry = {view->stamp, post_id};
    tie_settle(view, &tie);
    if (mark_read(view, &marked, &entry))
        tie_save(view, &tie);
    else
        enter_history(view, &marked);
    view->rows->add_history(view, tie.fan, &entry, 1);
    return TIDINGS_OK;
}

enum tidings_err answer_open(struct view *view, struct reply *reply)
{
    struct tidings_post *post = &reply->answer->u.open.post;
    struct tie tie;
    enum tidings_err err = answer_whole_post(view, reply, reply->op->u.post.post_id, post);
    if (err)
        return err;
    tie_load(view, REALM_POSTS, reply->op->user_id, post->author_id, &tie);
    reply->answer->u.open.unread_author = tie_unread(view, &tie);
    reply->answer->u.open.unread_total = inbox_badge(view, reply->op->user_id);
    return TIDINGS_OK;
}

/* ---- Marking -------------------------------------------------------------------------------- */

static bool find_post(struct view *view, uint64_t id, uint64_t *author, uint32_t *seq, bool *gone)
{
    struct post_record post;
    if (!view_post(view, id, &post))
        return false;
    *author = post.author;
    *seq = post.seq;
    *gone = post.deleted;
    return true;
}

enum tidings_err change_mark_read(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    const struct marking marking = {REALM_POSTS, find_post, mark_read, view->rows->add_history};
    uint64_t *marked = &reply->answer->u.mark.marked, author = op->u.mark.author_id;
    if (op->u.mark.n_post_ids)
        return marks_by_id(view, reply, &marking, marked);
    enum tidings_err err = marks_up_to(view, reply, REALM_POSTS, author, marked);
    if (!err && *marked)
        view_event(view, TIDINGS_EVENT_INBOX_READ, op->user_id, author ? author : op->user_id, 0,
                   (int64_t)*marked);
    return err;
}

enum tidings_err change_mark_unread(struct view *view, struct reply *reply)
{
    const struct marking marking = {REALM_POSTS, find_post, mark_unread,
                                    view->rows->remove_history};
    return marks_by_id(view, reply, &marking, &reply->answer->u.mark.marked);
}

enum tidings_err answer_mark_read(struct view *view, struct reply *reply)
{
    reply->answer->u.mark.total = inbox_badge(view, reply->op->user_id);
    return TIDINGS_OK;
}

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
    struct unread_sum sum;
    if (!view->rows->sum_unread(view, viewer, &sum))
        return sum_counts(view, viewer);
    for (size_t i = 0; i < sum.n_rest; i++)
        sum.unread += tie_count_stored(view, REALM_POSTS, viewer, &sum.rest[i]).unread;
    return sum.unread;
}

enum tidings_err answer_badge(struct view *view, struct reply *reply)
{
    reply->answer->u.badge.total = inbox_badge(view, reply->op->user_id);
    reply->answer->u.badge.as_of = view->rows->moment(view);
    return TIDINGS_OK;
}

enum tidings_err answer_badges(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    size_t n = op->u.many.n_user_ids;
    if (!permits_service(op))
        return TIDINGS_FORBIDDEN;
    uint64_t *totals = view_array(view, reply->arena, n, sizeof *totals);
    for (size_t i = 0; totals && i < n; i++) {
        totals[i] = inbox_badge(view, op->u.many.user_ids[i]);
        arena_clear(view->scratch); /* near and warm for the next one */
    }
    reply->answer->u.badges.totals = totals;
    reply->answer->u.badges.n = n;
    reply->answer->u.badges.as_of = view->rows->moment(view);
    return TIDINGS_OK;
}

static int most_unread_first(const void *a, const void *b)
{
    const struct tidings_unread_row *x = a, *y = b;
    if (x->unread != y->unread)
        return x->unread < y->unread ? 1 : -1;
    return (x->user_id > y->user_id) - (x->user_id < y->user_id);
}

/* As tie_counts(), of one author. */
static size_t count_author(struct view *view, uint64_t viewer, uint64_t author,
                           struct tie_count *count)
{
    struct tie tie;
    tie_load(view, REALM_POSTS, viewer, author, &tie);
    *count = (struct tie_count){author, tie_unread(view, &tie), tie.pair.following};
    return 1;
}

enum tidings_err answer_unread(struct view *view, struct reply *reply)
{
    uint64_t viewer = reply->op->user_id, author = reply->op->u.user.user_id;
    struct tie_count one, *counts = &one;
    size_t n_counts =
        author ? count_author(view, viewer, author, &one) : tie_counts(view, viewer, &counts);
    size_t n = 0;
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
    reply->answer->u.unread.as_of = view->rows->moment(view);
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
        .created_at = view_time(view, id),
        .is_read = read != 0,
        .read_at = read ? view_time(view, read) : 0,
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

    reply->answer->u.feed.as_of = view->rows->moment(view);
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
    tie_load(merge->view, REALM_POSTS, merge->viewer, reply->op->u.feed.author_id, tie);
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
        .realm = REALM_POSTS,
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
        .realm = REALM_POSTS,
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

/* SPDX-License-Identifier: MIT */
#include "engine/ops/marks.h"

bool marks_read(struct view *view, const struct marked *marked, bool in_history)
{
    struct readmap map;
    unsigned i = marked->seq % READMAP_POSTS;
    tie_readmap(view, marked->tie, marked->seq, &map);
    if (marked->gone || readmap_has(map.read, i))
        return false;
    uint64_t before = map.read;
    readmap_mark(&map, i, view->stamp, in_history);
    tie_put_readmap(view, marked->tie, marked->seq, &map, before);
    return true;
}

/* Looks everything up. */
static enum tidings_err find_all(struct view *view, const struct tidings_op *op,
                                 const struct marking *marking, struct marked *all,
                                 struct tie **ties, size_t *n_ties)
{
    for (size_t i = 0; i < op->u.mark.n_post_ids; i++) {
        struct marked *one = &all[i];
        uint64_t author;
        one->id = op->u.mark.post_ids[i];
        if (!marking->find(view, one->id, &author, &one->seq, &one->gone))
            return TIDINGS_NOT_FOUND;
        one->tie = tie_among(view, marking->realm, op->user_id, author, ties, n_ties);
        if (!one->tie || !tie_has(one->tie, one->seq))
            return TIDINGS_NOT_FOUND;
        /* A story that is deleted has its head closed, and its scenes' rows do not say so. The tie is settled with the head. */
        one->gone |= head_is_closed(one->tie->head) || head_is_deleted(one->tie->head, one->seq);
    }
    return TIDINGS_OK;
}

enum tidings_err marks_by_id(struct view *view, struct reply *reply, const struct marking *marking,
                             uint64_t *changed)
{
    const struct tidings_op *op = reply->op;
    size_t n = op->u.mark.n_post_ids, n_ties = 0, n_entries = 0;
    struct marked *all = view_array(view, view->scratch, n, sizeof *all);
    struct tie **ties = view_array(view, view->scratch, n, sizeof *ties);
    struct history_entry *entries = view_array(view, view->scratch, n, sizeof *entries);
    if (view_failed(view))
        return TIDINGS_OK;
    enum tidings_err err = find_all(view, op, marking, all, ties, &n_ties);
    if (err)
        return err;
    for (size_t i = 0; i < n; i++)
        if (marking->mark(view, &all[i], &entries[n_entries])) {
            ++*changed;
            n_entries += entries[n_entries].stamp != 0;
        }
    for (size_t i = 0; *changed && i < n_ties; i++)
        tie_save(view, ties[i]);
    if (n_entries)
        marking->write(view, op->user_id, entries, n_entries);
    return TIDINGS_OK;
}

static uint64_t mark_tie(struct view *view, const struct tidings_op *op, struct tie *tie)
{
    if (head_is_closed(tie->head) || !tie_unread(view, tie))
        return 0;
    return tie_mark_below(view, tie, view->rows->posts_by(view, tie->head, &op->u.mark.up_to));
}

enum tidings_err marks_up_to(struct view *view, struct reply *reply, enum realm realm,
                             uint64_t author, uint64_t *changed)
{
    const struct tidings_op *op = reply->op;
    struct tie one, *ties = &one;
    size_t n = 1, n_marked = 0;
    /* Moments come from answers, and none of those knows of anything newer than this. */
    if (!view->rows->has_been(view, &op->u.mark.up_to)) {
        reply->answer->field = "up_to";
        return TIDINGS_INVALID;
    }
    if (author) {
        tie_load(view, realm, op->user_id, author, &one);
        tie_settle(view, &one);
    } else {
        n = tie_settle_all(view, realm, op->user_id, &ties);
    }
    struct tie **marked = view_array(view, view->scratch, n, sizeof *marked);
    for (size_t i = 0; marked && i < n; i++) {
        uint64_t more = mark_tie(view, op, &ties[i]);
        if (more)
            marked[n_marked++] = &ties[i];
        *changed += more;
    }
    /* All read maps, then all pairs: each row is next to the one before, where it is found at once. */
    for (size_t i = 0; i < n_marked; i++)
        tie_save(view, marked[i]);
    return TIDINGS_OK;
}

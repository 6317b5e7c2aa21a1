/* SPDX-License-Identifier: MIT */
/* Answers about reactions, comments, counts and heat; see compare_parts.h. */
#include "compare_parts.h"

#include <inttypes.h>
#include <math.h>

void same_counts(struct diff *diff, const struct tidings_counts *want,
                 const struct tidings_counts *got)
{
    same_u64(diff, "like_count", want->like_count, got->like_count);
    same_u64(diff, "fav_count", want->fav_count, got->fav_count);
    same_u64(diff, "comment_count", want->comment_count, got->comment_count);
    same_u64(diff, "down_count", want->down_count, got->down_count);
    same_u64(diff, "reply_count", want->reply_count, got->reply_count);
    same_i64(diff, "hot_score", want->hot_score, got->hot_score);
}

/* Within a millionth; both may have got lost below the smallest number that is kept in full. */
static void same_heat(struct diff *diff, double want, double got)
{
    if (fabs(want - got) > 1e-6 * fabs(want) + 1e-300 && differs(diff, "heat"))
        report_add(diff->report, "expected %.17g, got %.17g\n", want, got);
}

static void same_comment(struct diff *diff, const struct tidings_comment *want,
                         const struct tidings_comment *got)
{
    same_u64(diff, "id", want->id, got->id);
    same_u64(diff, "post_id", want->post_id, got->post_id);
    same_u64(diff, "parent_id", want->parent_id, got->parent_id);
    same_u64(diff, "user_id", want->user_id, got->user_id);
    same_text(diff, "user_name", want->user_name, got->user_name);
    same_text(diff, "body", want->body, got->body);
    same_u64(diff, "status", want->status, got->status);
    same_bool(diff, "moderated", want->moderated, got->moderated);
    same_i64(diff, "created_at", want->created_at, got->created_at);
    same_counts(diff, &want->counts, &got->counts);
    same_bool(diff, "liked", want->liked, got->liked);
    same_bool(diff, "downvoted", want->downvoted, got->downvoted);
}

static void same_comments(struct diff *diff, const struct model_answer *want,
                          const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.comments.n);

    for (diff->row = 0; diff->row < n; diff->row++)
        same_comment(diff, &want->comment_rows[diff->row], &got->u.comments.rows[diff->row]);
    same_end(diff, want->next, got->u.comments.next);
}

static void same_reacted(struct diff *diff, const struct model_answer *want,
                         const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.reacted.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_reacted_row *a = &want->reacted_rows[diff->row];
        const struct tidings_reacted_row *b = &got->u.reacted.rows[diff->row];

        same_u64(diff, "id", a->id, b->id);
        same_i64(diff, "at", a->at, b->at);
        same_u64(diff, "post_id", a->post_id, b->post_id);
        same_u64(diff, "author_id", a->author_id, b->author_id);
        same_text(diff, "text", a->text, b->text);
        same_bool(diff, "is_deleted", a->is_deleted, b->is_deleted);
    }
    same_end(diff, want->next, got->u.reacted.next);
}

/* ---- Hot lists ----------------------------------------------------------------------------- */

static void same_hot_row(struct diff *diff, const struct tidings_hot_row *want,
                         const struct tidings_hot_row *got)
{
    same_u64(diff, "author_id", want->author_id, got->author_id);
    same_text(diff, "author_name", want->author_name, got->author_name);
    same_text(diff, "title", want->title, got->title);
    same_text(diff, "excerpt", want->excerpt, got->excerpt);
    same_i64(diff, "created_at", want->created_at, got->created_at);
    same_counts(diff, &want->counts, &got->counts);
    same_heat(diff, want->heat, got->heat);
}

static const struct model_hot *find_hot(const struct model_answer *want, uint64_t post_id)
{
    for (size_t i = 0; i < want->n; i++) {
        if (want->hot_rows[i].row.post_id == post_id)
            return &want->hot_rows[i];
    }
    return NULL;
}

/* The rows are of this list, right in themselves, behind the page's beginning, and in order.
 * False if there is no comparing further. */
static bool hot_rows_are_right(struct diff *diff, const struct model_answer *want,
                               const struct tidings_answer *got)
{
    const struct model_hot *before = NULL;

    diff->list = "rows";
    for (diff->row = 0; diff->row < got->u.hot.n; diff->row++) {
        const struct tidings_hot_row *row = &got->u.hot.rows[diff->row];
        const struct model_hot *hot = find_hot(want, row->post_id);

        same_bool(diff, "in the list", true, hot != NULL);
        if (hot == NULL)
            return false;
        same_hot_row(diff, &hot->row, row);
        same_bool(diff, "after the page before", true, hot->place >= 0);
        if (before != NULL)
            same_bool(diff, "after the row before", true,
                      hot != before && model_hot_order(want->halves, before, hot) <= 0);
        before = hot;
    }
    diff->list = NULL;
    return true;
}

static bool on_page(const struct tidings_answer *got, uint64_t post_id)
{
    for (size_t i = 0; i < got->u.hot.n; i++) {
        if (got->u.hot.rows[i].post_id == post_id)
            return true;
    }
    return false;
}

/*
 * Whatever is not on the page belongs to an earlier one, or to a later one. Without a half-life this
 * is exact. With one, a post that is too close to call against the page's edge may be on either side
 * of it; that none gets lost that way is seen when a whole list is paged through at one moment.
 */
static void same_hot(struct diff *diff, const struct model_answer *want,
                     const struct tidings_answer *got)
{
    size_t n = got->u.hot.n;
    const struct model_hot *last = n > 0 ? find_hot(want, got->u.hot.rows[n - 1].post_id) : NULL;
    bool ends = got->u.hot.next.a == 0 && got->u.hot.next.b == 0;
    bool must_go_on = false;
    bool may_go_on = false;

    if (!hot_rows_are_right(diff, want, got))
        return;
    for (size_t i = 0; i < want->n; i++) {
        const struct model_hot *hot = &want->hot_rows[i];
        int order = last != NULL ? model_hot_order(want->halves, last, hot) : 1;

        if (hot->place < 0 || on_page(got, hot->row.post_id))
            continue;
        if (hot->place > 0 && order > 0 && differs(diff, "rows"))
            report_add(diff->report, "post %" PRIu64 " is missing\n", hot->row.post_id);
        must_go_on = must_go_on || (hot->place > 0 && order < 0);
        may_go_on = may_go_on || order <= 0;
    }
    if (must_go_on || !may_go_on)
        same_bool(diff, "the list goes on", must_go_on, !ends);
}

void same_interaction(struct diff *diff, const struct tidings_op *op,
                      const struct model_answer *want, const struct tidings_answer *got)
{
    switch (op->kind) {
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
        same_bool(diff, "changed", want->changed, got->u.reaction.changed);
        same_counts(diff, &want->counts, &got->u.reaction.counts);
        break;
    case TIDINGS_OP_REACTORS:
        same_users(diff, want, got);
        break;
    case TIDINGS_OP_REACTED:
        same_reacted(diff, want, got);
        break;
    case TIDINGS_OP_COMMENTS:
        same_comments(diff, want, got);
        break;
    case TIDINGS_OP_STATS:
        same_counts(diff, &want->counts, &got->u.stats.counts);
        same_heat(diff, want->heat, got->u.stats.heat);
        same_i64(diff, "age_ms", want->age_ms, got->u.stats.age_ms);
        break;
    case TIDINGS_OP_HOT:
        same_hot(diff, want, got);
        break;
    default:
        same_comment(diff, &want->comment, &got->u.comment);
        break;
    }
}

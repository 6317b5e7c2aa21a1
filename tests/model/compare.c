/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include "ops.h"

#include <inttypes.h>
#include <string.h>

bool differs(struct diff *diff, const char *field)
{
    if (++diff->differences > 8)
        return false;
    if (diff->list != NULL)
        report_add(diff->report, "  %s[%zu].%s: ", diff->list, diff->row, field);
    else
        report_add(diff->report, "  %s: ", field);
    return true;
}

void same_u64(struct diff *diff, const char *field, uint64_t want, uint64_t got)
{
    if (want != got && differs(diff, field))
        report_add(diff->report, "expected %" PRIu64 ", got %" PRIu64 "\n", want, got);
}

void same_i64(struct diff *diff, const char *field, int64_t want, int64_t got)
{
    if (want != got && differs(diff, field))
        report_add(diff->report, "expected %" PRId64 ", got %" PRId64 "\n", want, got);
}

void same_bool(struct diff *diff, const char *field, bool want, bool got)
{
    if (want != got && differs(diff, field))
        report_add(diff->report, "expected %s, got %s\n", want ? "true" : "false",
                   got ? "true" : "false");
}

void same_text(struct diff *diff, const char *field, struct tidings_text want,
               struct tidings_text got)
{
    if (got.p != NULL && want.n == got.n && memcmp(want.p, got.p, want.n) == 0)
        return;
    if (!differs(diff, field))
        return;
    report_add(diff->report, "expected ");
    report_text(diff->report, want);
    report_add(diff->report, ", got ");
    report_text(diff->report, got);
    report_add(diff->report, "\n");
}

size_t same_length(struct diff *diff, size_t want, size_t got)
{
    same_u64(diff, "number of rows", want, got);
    diff->list = "rows";
    return want < got ? want : got;
}

void same_end(struct diff *diff, struct tidings_cursor want, struct tidings_cursor got)
{
    diff->list = NULL;
    same_bool(diff, "the list goes on", want.a != 0 || want.b != 0, got.a != 0 || got.b != 0);
}

void same_users(struct diff *diff, const struct model_answer *want,
                const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.users.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_user_row *a = &want->user_rows[diff->row];
        const struct tidings_user_row *b = &got->u.users.rows[diff->row];

        same_u64(diff, "user_id", a->user_id, b->user_id);
        same_text(diff, "name", a->name, b->name);
        same_text(diff, "avatar", a->avatar, b->avatar);
        same_i64(diff, "since", a->since, b->since);
    }
    same_end(diff, want->next, got->u.users.next);
}

void same_among(struct diff *diff, const struct model_answer *want,
                const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.among.n);

    for (diff->row = 0; diff->row < n; diff->row++)
        same_u64(diff, "user_id", want->user_ids[diff->row], got->u.among.user_ids[diff->row]);
    diff->list = NULL;
}

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

static const char *err_detail(enum tidings_err err, const char *field)
{
    if (err != TIDINGS_INVALID)
        return "";
    return field != NULL ? field : "(no field)";
}

static void same_error(struct diff *diff, const struct model_answer *want,
                       const struct tidings_answer *got)
{
    const char *want_field = err_detail(want->err, want->field);
    const char *got_field = err_detail(got->err, got->field);

    if (want->err != got->err || strcmp(want_field, got_field) != 0) {
        if (differs(diff, "err"))
            report_add(diff->report, "expected %s %s, got %s %s\n", tidings_err_code(want->err),
                       want_field, tidings_err_code(got->err), got_field);
        return;
    }
    if (want->err == TIDINGS_RATE_LIMITED)
        same_i64(diff, "retry_after_ms", want->retry_after_ms, got->retry_after_ms);
    if (want->err == TIDINGS_DELETED)
        same_text(diff, "title", want->title, got->title);
}

bool compare_answers(const struct tidings_op *op, const struct model_answer *want,
                     const struct tidings_answer *got, struct report *report)
{
    const struct op_row *row = op_row(op->kind);
    struct diff diff = {.op = op, .report = report};

    same_error(&diff, want, got);
    if (diff.differences == 0 && want->err == TIDINGS_OK) {
        if (op->once != NULL)
            same_text(&diff, "stored", want->stored, got->stored);
        else if (row->compare != NULL)
            row->compare(&diff, want, got);
    }
    if (diff.differences > 8)
        report_add(report, "  (and %zu more)\n", diff.differences - 8);
    return diff.differences == 0;
}

/* SPDX-License-Identifier: MIT */
#include "invariants.h"

#include "ops.h"

#include <inttypes.h>
#include <string.h>

void require(struct check *check, bool truth, const char *what, size_t row)
{
    if (truth || check->failed)
        return;
    check->failed = true;
    report_add(check->report, "invariant broken in row %zu: %s\n", row, what);
}

void require_text(struct check *check, struct tidings_text text, const char *what, size_t row)
{
    require(check, text.p != NULL && text.p[text.n] == '\0' && strlen(text.p) == text.n, what, row);
}

void require_page(struct check *check, const struct tidings_page *page, size_t n,
                  struct tidings_cursor next)
{
    size_t limit = page->limit != 0 ? page->limit : (size_t)check->settings->page_default;

    require(check, n <= limit, "no more rows than asked for", n);
    require(check, next.a <= TIDINGS_ID_MAX && next.b <= TIDINGS_ID_MAX, "the cursor is usable", n);
    if (op_row(check->op->kind)->endless)
        return;
    require(check, n == limit || (next.a == 0 && next.b == 0), "only a full page goes on", n);
}

void hold_users(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_user_row *rows = answer->u.users.rows;

    require_page(check, op_page_of(check->op), answer->u.users.n, answer->u.users.next);
    for (size_t i = 0; i < answer->u.users.n; i++) {
        require_text(check, rows[i].name, "name is text", i);
        require_text(check, rows[i].avatar, "avatar is text", i);
        require(check, i == 0 || rows[i].since <= rows[i - 1].since, "newest first", i);
        for (size_t j = 0; j < i; j++)
            require(check, rows[j].user_id != rows[i].user_id, "no user twice", i);
    }
}

static void check_error(struct check *check, const struct tidings_answer *answer)
{
    if (answer->err == TIDINGS_INVALID)
        require(check, answer->field != NULL, "the bad argument has a name", 0);
    if (answer->err == TIDINGS_RATE_LIMITED)
        require(check, answer->retry_after_ms > 0, "there is a time to wait", 0);
    if (answer->err == TIDINGS_DELETED)
        require_text(check, answer->title, "title is text", 0);
}

bool invariants_hold(const struct tidings_settings *settings, const struct tidings_op *op,
                     const struct tidings_answer *answer, struct report *report)
{
    struct check check = {settings, op, report, false};
    const struct tidings_moment *as_of = answer_as_of(op->kind, answer);

    if (answer->err != TIDINGS_OK)
        check_error(&check, answer);
    else if (op->once != NULL)
        require_text(&check, answer->stored, "stored is text", 0);
    else if (op_row(op->kind)->hold != NULL)
        op_row(op->kind)->hold(&check, answer);
    if (answer->err == TIDINGS_OK && as_of != NULL)
        require(&check, moment_is_given(as_of), "as_of is usable", 0);
    return !check.failed;
}

static const void *member(const struct tidings_answer *answer, size_t offset)
{
    return (const char *)answer + offset;
}

struct tidings_cursor answer_next(enum tidings_op_kind kind, const struct tidings_answer *answer)
{
    const struct op_row *row = op_row(kind);

    if (row == NULL || row->next == 0)
        return (struct tidings_cursor){0, 0};
    return *(const struct tidings_cursor *)member(answer, row->next);
}

const struct tidings_moment *answer_as_of(enum tidings_op_kind kind,
                                          const struct tidings_answer *answer)
{
    const struct op_row *row = op_row(kind);

    return row != NULL && row->as_of != 0 ? member(answer, row->as_of) : NULL;
}

bool moment_is_given(const struct tidings_moment *moment)
{
    static const struct tidings_moment none;

    return memcmp(moment, &none, sizeof none) != 0;
}

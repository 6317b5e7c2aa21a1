/* SPDX-License-Identifier: MIT */
/* The arguments of feeds and of marks. */
#include "unit/check.h"

static void feeds_are_checked(void **state)
{
    (void)state;
    struct tidings_op inbox = good(TIDINGS_OP_INBOX), page = good(TIDINGS_OP_AUTHOR_PAGE);
    page.u.feed.author_id = 0;
    assert_refused(page, "author_id");
    inbox.u.feed.author_id = TIDINGS_ID_MAX;
    assert_fine(inbox);
    inbox.u.feed.author_id = TIDINGS_ID_MAX + 1;
    assert_refused(inbox, "author_id");
    inbox.u.feed.author_id = 0;
    for (int filter = TIDINGS_ALL; filter <= TIDINGS_READ; filter++) {
        inbox.u.feed.filter = (enum tidings_filter)filter;
        assert_fine(inbox);
    }
    inbox.u.feed.filter = (enum tidings_filter)(TIDINGS_READ + 1);
    assert_refused(inbox, "filter");
    inbox.u.feed.filter = (enum tidings_filter) - 1;
    assert_refused(inbox, "filter");
}

/* ---- Lists of ids --------------------------------------------------------------------------- */

static void marks_by_id_are_1_to_500(void **state)
{
    (void)state;
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_MARK_READ, TIDINGS_OP_MARK_UNREAD};
    static uint64_t ids[501];
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        ids[i] = 16 * (i + 1);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct tidings_op op = good(kinds[i]);
        op.u.mark.post_ids = ids;
        op.u.mark.n_post_ids = 500;
        assert_fine(op);
        op.u.mark.n_post_ids = 501;
        assert_refused(op, "post_ids");
        op.u.mark.n_post_ids = 0;
        assert_refused(op, "post_ids");
        op.u.mark.n_post_ids = 3;
        op.u.mark.post_ids = NULL;
        assert_refused(op, "post_ids");
        for (size_t k = 0; k < COUNT_OF(no_ids); k++) {
            const uint64_t bad[] = {16, 32, no_ids[k]};
            op.u.mark.post_ids = bad;
            assert_refused(op, "post_ids");
        }
        op = good(kinds[i]);
        op.u.mark.author_id = 8;
        assert_refused(op, "author_id");
        op = good(kinds[i]);
        op.u.mark.up_to = some_moment;
        assert_refused(op, "up_to");
    }
}

static void bulk_marks_need_a_token(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_MARK_READ, .user_id = 7};
    assert_refused(op, "post_ids"); /* nothing at all */
    op.u.mark.author_id = 8;
    assert_refused(op, "up_to");
    /* Whatever is in it, and in which part: what it means only an engine knows. */
    for (size_t i = 0; i < TIDINGS_MOMENT_PARTS; i++) {
        op.u.mark.up_to = (struct tidings_moment){{0}};
        op.u.mark.up_to.part[i] = UINT64_MAX;
        op.u.mark.author_id = 8;
        assert_fine(op);
        op.u.mark.author_id = 0;
        assert_fine(op);
    }
    op.u.mark.author_id = TIDINGS_ID_MAX + 1;
    assert_refused(op, "author_id");
    op.u.mark.author_id = 8;
    op.kind = TIDINGS_OP_MARK_UNREAD; /* not in bulk */
    assert_refused(op, "post_ids");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(feeds_are_checked, check_begin),
        cmocka_unit_test_setup(marks_by_id_are_1_to_500, check_begin),
        cmocka_unit_test_setup(bulk_marks_need_a_token, check_begin),
    };
    return RUN_TESTS(tests);
}

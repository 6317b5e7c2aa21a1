/* SPDX-License-Identifier: MIT */
/* What holds of the arguments of every operation, and of the settings. */
#include "domain/ids.h"
#include "unit/check.h"

static const enum tidings_op_kind all_kinds[] = {
#define X(name, lower, writes, args, answer) TIDINGS_OP_##name,
    TIDINGS_OPS(X)
#undef X
};

static void every_operation_can_be_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(all_kinds); i++)
        assert_fine(good(all_kinds[i]));
}

static void what_all_operations_share_is_checked_in_each(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(all_kinds); i++) {
        struct tidings_op op = good(all_kinds[i]);
        for (size_t k = 0; k < COUNT_OF(no_ids); k++) {
            op.user_id = no_ids[k];
            assert_refused(op, "viewer");
        }
        op.user_id = TIDINGS_ID_MAX;
        assert_fine(op);
        op.role = TIDINGS_ROLE_ADMIN;
        assert_fine(op);
        op.role = (enum tidings_role)3;
        assert_refused(op, "role");
        op.role = (enum tidings_role) - 1;
        assert_refused(op, "role");
    }
}

static void an_unknown_operation_is_refused(void **state)
{
    (void)state;
    assert_refused((struct tidings_op){.kind = (enum tidings_op_kind)COUNT_OF(all_kinds)}, "op");
    assert_refused((struct tidings_op){.kind = (enum tidings_op_kind) - 1}, "op");
    assert_refused((struct tidings_op){.kind = (enum tidings_op_kind)INT32_MAX}, "op");
}

static void a_time_must_have_ids(void **state)
{
    (void)state;
    const int64_t last = ID_EPOCH_MS + (int64_t)(TIDINGS_ID_MAX >> ID_TIME_SHIFT);
    struct tidings_op op = good(TIDINGS_OP_BADGE);
    op.now_ms = -1;
    assert_refused(op, "now_ms");
    op.now_ms = INT64_MIN;
    assert_refused(op, "now_ms");
    op.now_ms = INT64_MAX;
    assert_refused(op, "now_ms");
    op.now_ms = last + 1;
    assert_refused(op, "now_ms");
    op.now_ms = last;
    assert_fine(op);
    op.now_ms = 1;
    assert_fine(op);
}

static void single_ids_are_checked(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(no_ids); k++) {
        const struct {
            enum tidings_op_kind kind;
            const char *field;
        } rows[] = {
            {TIDINGS_OP_COUNTERS, "user_id"},  {TIDINGS_OP_PROFILE, "user_id"},
            {TIDINGS_OP_FOLLOWING, "user_id"}, {TIDINGS_OP_FOLLOWERS, "user_id"},
            {TIDINGS_OP_DELETE, "post_id"},    {TIDINGS_OP_OPEN, "post_id"},
            {TIDINGS_OP_POST, "post_id"},      {TIDINGS_OP_HISTORY_DELETE, "post_id"},
            {TIDINGS_OP_EDIT, "post_id"},      {TIDINGS_OP_FANS_AMONG, "author_id"},
        };
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            struct tidings_op op = good(rows[i].kind);
            op.u.user.user_id = no_ids[k]; /* the id is the first member of all of them */
            assert_refused(op, rows[i].field);
        }
    }
}

static void lists_of_ids_are_checked(void **state)
{
    static uint64_t ids[1001];
    const struct {
        enum tidings_op_kind kind;
        const char *field;
        size_t most;
    } rows[] = {
        {TIDINGS_OP_BADGES, "user_ids", 1000},       {TIDINGS_OP_PROFILE_MANY, "user_ids", 100},
        {TIDINGS_OP_STATUS_MANY, "user_ids", 100},   {TIDINGS_OP_POST_MANY, "post_ids", 100},
        {TIDINGS_OP_COUNTERS_MANY, "user_ids", 100}, {TIDINGS_OP_STATS_MANY, "post_ids", 100},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        ids[i] = 7;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct tidings_op op = good(rows[i].kind);
        op.u.many.user_ids = ids; /* in the same place in all of them */
        op.u.many.n_user_ids = rows[i].most;
        assert_fine(op);
        op.u.many.n_user_ids++;
        assert_refused(op, rows[i].field);
        op.u.many.n_user_ids = 0;
        assert_refused(op, rows[i].field);
        op.u.many.n_user_ids = COUNT_OF(no_ids);
        op.u.many.user_ids = no_ids;
        assert_refused(op, rows[i].field);
        op.u.many.user_ids = NULL;
        assert_refused(op, rows[i].field);
    }
}

static void pages_are_checked_wherever_there_is_one(void **state)
{
    (void)state;
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_FOLLOWING, TIDINGS_OP_FOLLOWERS,
                                          TIDINGS_OP_INBOX,     TIDINGS_OP_AUTHOR_PAGE,
                                          TIDINGS_OP_HISTORY,   TIDINGS_OP_EVENTS};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct tidings_op op = good(kinds[i]);
        struct tidings_page *page = &op.u.page;
        if (kinds[i] == TIDINGS_OP_FOLLOWING || kinds[i] == TIDINGS_OP_FOLLOWERS)
            page = &op.u.users.page;
        if (kinds[i] == TIDINGS_OP_INBOX || kinds[i] == TIDINGS_OP_AUTHOR_PAGE)
            page = &op.u.feed.page;
        *page =
            (struct tidings_page){(uint32_t)settings.page_max, {TIDINGS_ID_MAX, TIDINGS_ID_MAX}};
        assert_fine(op);
        page->limit = (uint32_t)settings.page_max + 1;
        assert_refused(op, "limit");
        page->limit = UINT32_MAX;
        assert_refused(op, "limit");
        page->limit = 1;
        page->after.a = TIDINGS_ID_MAX + 1;
        assert_refused(op, "cursor");
        page->after = (struct tidings_cursor){1, UINT64_MAX};
        assert_refused(op, "cursor");
    }
}

/* ---- Settings ------------------------------------------------------------------------------- */

static void the_default_settings_are_in_range(void **state)
{
    (void)state;
    assert_null(check_settings(&settings));
}

static void each_setting_has_its_range(void **state)
{
    (void)state;
    struct tidings_settings s = settings;
#define X(name, standard, least, most, text)            \
    s.name = (least);                                   \
    assert_null(check_settings(&s));                    \
    s.name = (most);                                    \
    assert_null(check_settings(&s));                    \
    s.name = (uint64_t)(most) + 1;                      \
    assert_string_equal(check_settings(&s), #name);     \
    s.name = UINT64_MAX;                                \
    assert_string_equal(check_settings(&s), #name);     \
    if ((least) > 0) {                                  \
        s.name = (uint64_t)(least)-1;                   \
        assert_string_equal(check_settings(&s), #name); \
    }                                                   \
    s.name = (standard);
    TIDINGS_SETTINGS(X)
#undef X
}

static void limits_are_settings(void **state)
{
    (void)state;
    settings.title_max = 3;
    settings.mark_max = 2;
    settings.page_max = 5;
    struct tidings_op op = good(TIDINGS_OP_PUBLISH);
    op.u.publish.title = text_of("abc");
    assert_fine(op);
    op.u.publish.title = text_of("abcd");
    assert_refused(op, "title");
    assert_refused(good(TIDINGS_OP_MARK_READ), "post_ids");
    op = good(TIDINGS_OP_HISTORY);
    op.u.page.limit = 6;
    assert_refused(op, "limit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_operation_can_be_right, check_begin),
        cmocka_unit_test_setup(what_all_operations_share_is_checked_in_each, check_begin),
        cmocka_unit_test_setup(an_unknown_operation_is_refused, check_begin),
        cmocka_unit_test_setup(a_time_must_have_ids, check_begin),
        cmocka_unit_test_setup(single_ids_are_checked, check_begin),
        cmocka_unit_test_setup(lists_of_ids_are_checked, check_begin),
        cmocka_unit_test_setup(pages_are_checked_wherever_there_is_one, check_begin),
        cmocka_unit_test_setup(the_default_settings_are_in_range, check_begin),
        cmocka_unit_test_setup(each_setting_has_its_range, check_begin),
        cmocka_unit_test_setup(limits_are_settings, check_begin),
    };
    return RUN_TESTS(tests);
}

/* SPDX-License-Identifier: MIT */
/* Other rules of heat and folding: the work at opening goes on where an interruption left it. */
#include "contract/harness.h"
#include "domain/heat.h"
#include "local/damage.h"

enum { ANN = 1, BOB, CID, DAN, EVE, FAY };

/* As an interruption leaves it: the rules are written down, and rows behind the place are missing. */
static void interrupt_at(uint8_t stage, uint64_t place)
{
    struct rules_record rules;
    uint8_t bytes[RULES_RECORD_MAX];
    assert_true(rules_decode(row_get(TABLE_META, key_meta("rules")), &rules));
    assert_int_equal(rules.stage, 0);
    rules.stage = stage;
    rules.place = place;
    row_put(TABLE_META, key_meta("rules"), (struct bytes){bytes, rules_encode(&rules, bytes)});
}

static void reordering_goes_on_after_an_interruption(void **state)
{
    (void)state;
    enum { CLEAR = 1, FOLD, COMMENTS, POSTS };
    uint64_t p = publish(ANN, "t", "b"), c = comment(BOB, p, 0, "c"), d = comment(BOB, p, 0, "d");
    uint64_t q = publish(ANN, "t", "b");
    struct key hot_q = key_hot(TIDINGS_NOTE, 1, q);
    struct key hot_d = key_hot_reply(p, heat_comment_key(0), d);
    react(CID, DOWN, COMMENT, c);
    const struct {
        uint8_t stage;
        uint64_t place;
        bool posts_too; /* rows of the last post and of the last comment are missing */
        bool comments_too;
    } cases[] = {
        {CLEAR, 0, false, false},  {FOLD, 0, true, false},  {FOLD, c, true, true},
        {COMMENTS, c, true, true}, {POSTS, p, true, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        interrupt_at(cases[i].stage, cases[i].place);
        if (cases[i].posts_too)
            row_delete(TABLE_HOT, hot_q);
        if (cases[i].comments_too)
            row_delete(TABLE_TARGET, hot_d);
        open_engine();
        assert_verifies();
        ASSERT_HOT(TIDINGS_NOTE, p, q);
        ASSERT_COMMENTS(p, 0, TIDINGS_HOT, d, c);
    }
    /* With other settings than those that were on their way it begins again. */
    interrupt_at(POSTS, TIDINGS_ID_MAX);
    row_delete(TABLE_HOT, hot_q);
    options.settings.hot_comment = 7;
    options.settings.fold_down = 1;
    options.settings.fold_percent = 0;
    open_engine();
    assert_verifies();
    assert_int_equal(status_of(p, 0, c), TIDINGS_COMMENT_HIDDEN);
    ASSERT_HOT(TIDINGS_NOTE, p, q);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(reordering_goes_on_after_an_interruption),
    };
#undef TEST
    return RUN_TESTS(tests);
}

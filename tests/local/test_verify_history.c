/* SPDX-License-Identifier: MIT */
/* Verify, against damage to the reading history; see community.h. */
#include <string.h>

#include "local/community.h"
#include "support/local.h"

/* The row anew, without some of its entries. */
static void history_without(uint64_t reader, size_t row, size_t first, size_t n)
{
    struct history_block block;
    struct key key = history_get(reader, row, &block);
    assert_true(first + n <= block.n);
    memmove(block.at + first, block.at + first + n, (block.n - first - n) * sizeof *block.at);
    row_delete(TABLE_USER, key);
    if (block.n > n)
        history_put(reader, block.at, block.n - n);
}

static enum tidings_err look_at_history(uint64_t reader)
{
    return run((struct tidings_op){.kind = TIDINGS_OP_HISTORY, .user_id = reader});
}

static void missing_history_is_mended(void **state)
{
    (void)state;
    history_without(CID, 0, 3, 2);
    assert_mended();
    history_without(CID, 0, 0, 1); /* the one in the key */
    assert_mended();
    history_without(CID, 0, 7, 1); /* the latest */
    assert_mended();
    struct history_block block;
    row_delete(TABLE_USER, history_get(BOB, 1, &block)); /* all of a row between others */
    assert_mended();
    row_delete(TABLE_USER, history_get(CID, 0, &block)); /* all there is */
    assert_mended();
}

static void history_that_was_not_read_is_mended(void **state)
{
    (void)state;
    struct history_block block;
    history_get(CID, 0, &block);
    block.at[block.n].stamp = block.at[block.n - 1].stamp + 1;
    block.at[block.n++].post = posts[41];
    history_put(CID, block.at, block.n);
    assert_mended();
    struct history_entry of_no_post = {posts[149], 17};
    history_put(CID, &of_no_post, 1);
    assert_mended();
    history_get(CID, 0, &block);
    block.at[3].stamp++; /* another time */
    history_put(CID, block.at, block.n);
    assert_mended();
}

static void rows_of_the_history_that_overlap_are_mended(void **state)
{
    (void)state;
    struct history_block block;
    history_get(CID, 0, &block);
    history_put(CID, block.at + 2, 3); /* twice, then */
    open_engine();
    assert_int_equal(look_at_history(CID), TIDINGS_CORRUPT);
    close_engine();
    assert_mended();
}

static void damaged_rows_of_the_history_are_mended(void **state)
{
    (void)state;
    struct history_block block;
    for (size_t row = 0; row < 2; row++) {
        struct key key = history_get(BOB, row, &block);
        size_t cuts[] = {0, 1, 2, row_get(TABLE_USER, key).n - 1};
        for (size_t i = 0; i < COUNT_OF(cuts); i++) {
            row_cut(TABLE_USER, history_get(BOB, row, &block), cuts[i]);
            open_engine();
            assert_int_equal(look_at_history(CID), TIDINGS_OK);
            struct tidings_op all = {
                .kind = TIDINGS_OP_HISTORY, .user_id = BOB, .u.page.limit = 100};
            assert_int_equal(run(all), TIDINGS_CORRUPT);
            close_engine();
            assert_mended();
        }
    }
}

static void a_damaged_row_of_the_history_spoils_nothing_else(void **state)
{
    (void)state;
    struct history_block block;
    row_cut(TABLE_USER, history_get(BOB, 0, &block), 1);
    open_engine();
    struct tidings_op op = {.kind = TIDINGS_OP_OPEN, .user_id = BOB, .u.post.post_id = posts[148]};
    assert_int_equal(run(op), TIDINGS_CORRUPT);
    assert_int_equal(mark_one(CID, posts[148]), 1);
    assert_adds_up(BOB);
    assert_true(verify(true) >= 1);
    assert_int_equal(verify(false), 0);
    must(op);
    assert_verifies();
}

static void a_history_key_of_another_length_is_mended(void **state)
{
    (void)state;
    row_put(TABLE_USER, key_pair(CID, ROW_HISTORY, 5), (struct bytes){NULL, 0});
    assert_mended();
}

/* Without all maps, the history cannot be made anew: what it has of the damaged one would be lost. */
static void history_waits_for_a_damaged_read_map(void **state)
{
    (void)state;
    struct history_block block;
    struct key map = key_readmap(CID, ANN, 0);
    uint8_t whole[READMAP_RECORD_MAX];
    struct bytes value = row_get(TABLE_USER, map);
    memcpy(whole, value.p, value.n);
    history_without(CID, 0, 7, 1); /* of another map */
    row_cut(TABLE_USER, map, value.n - 1);
    open_engine();
    assert_true(verify(true) >= 1);
    assert_true(verify(true) >= 1);
    history_get(CID, 0, &block);
    assert_int_equal(block.n, 7);
    row_put(TABLE_USER, map, (struct bytes){whole, value.n});
    assert_mended();
}

static void cleared_history_that_nobody_sweeps_is_mended(void **state)
{
    (void)state;
    struct tidings_moment now = as_of(CID);
    struct user_record user = user_get(CID);
    user.history_cleared = local_newest(&now);
    user_put(CID, &user);
    open_engine();
    free(before);
    before = all_answers(); /* cleared is cleared */
    close_engine();
    assert_mended();
    publish(FAY, "the sweeper's turn", "");
    assert_null(row_get(TABLE_TODO, key_id(CID)).p);
    open_engine();
    assert_int_equal(verify(false), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, community_begin, community_end)
    const struct CMUnitTest tests[] = {
        TEST(missing_history_is_mended),
        TEST(history_that_was_not_read_is_mended),
        TEST(rows_of_the_history_that_overlap_are_mended),
        TEST(damaged_rows_of_the_history_are_mended),
        TEST(a_damaged_row_of_the_history_spoils_nothing_else),
        TEST(a_history_key_of_another_length_is_mended),
        TEST(history_waits_for_a_damaged_read_map),
        TEST(cleared_history_that_nobody_sweeps_is_mended),
    };
#undef TEST
    return RUN_TESTS(tests);
}

/* SPDX-License-Identifier: MIT */
/*
 * The reading history at lengths at which it takes many rows: its order, its pages, and what is left in the table when
 * entries go.
 */
#include <string.h>

#include "contract/harness.h"
#include "local/damage.h"

enum { ANN = 1, BOB, CID };
enum { POSTS = 300 };

static uint64_t posts[POSTS];      /* of ANN, oldest first */
static struct ids found, expected; /* found: what the history says; expected: latest first */

static int set_up(void **state)
{
    if (harness_begin(state))
        return -1;
    follow(BOB, ANN);
    publish_many(ANN, POSTS);
    list_inbox(BOB, 0, TIDINGS_ALL, &found);
    assert_int_equal(found.n, POSTS);
    for (size_t i = 0; i < POSTS; i++)
        posts[i] = found.at[POSTS - 1 - i];
    return 0;
}

/* The clock moves on by anything from nothing to an hour. */
static void time_passes(struct rng *rng)
{
    atomic_fetch_add(&clock_ms, (int64_t)(rng_percent(rng, 30) ? 0 : rng_below(rng, 3600000)));
}

/* BOB opens all posts one by one, in the order given. */
static void open_all(const uint64_t *order)
{
    struct rng rng = test_rng();
    expected.n = POSTS;
    for (size_t i = 0; i < POSTS; i++) {
        time_passes(&rng);
        open_post(BOB, order[i]);
        expected.at[POSTS - 1 - i] = order[i];
    }
}

static void shuffle(uint64_t *ids, size_t n)
{
    struct rng rng = test_rng();
    for (size_t i = n; i > 1; i--) {
        size_t j = rng_below(&rng, i);
        uint64_t held = ids[i - 1];
        ids[i - 1] = ids[j];
        ids[j] = held;
    }
}

static size_t rows_of(uint64_t reader)
{
    size_t n = row_count(TABLE_USER, key_row(reader, ROW_HISTORY));
    open_engine();
    return n;
}

static void assert_history(void)
{
    list_history(BOB, &found);
    assert_ids(&found, expected.at, expected.n);
    assert_verifies();
}

static void forget(uint64_t post)
{
    size_t n = 0;
    for (size_t i = 0; i < expected.n; i++)
        if (expected.at[i] != post)
            expected.at[n++] = expected.at[i];
    expected.n = n;
}

static void delete_entry(uint64_t post)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_HISTORY_DELETE, .user_id = BOB, .u.post.post_id = post});
    forget(post);
}

static void unmark(const uint64_t *ids, size_t n)
{
    must((struct tidings_op){.kind = TIDINGS_OP_MARK_UNREAD,
                             .user_id = BOB,
                             .u.mark = {.post_ids = ids, .n_post_ids = n}});
    assert_int_equal(answer.u.mark.marked, n);
    for (size_t i = 0; i < n; i++)
        forget(ids[i]);
}

/* ---- Entering ------------------------------------------------------------------------------- */

static void pages_of_any_size_go_on_where_the_last_ended(void **state)
{
    (void)state;
    uint64_t order[POSTS];
    memcpy(order, posts, sizeof order);
    shuffle(order, POSTS);
    open_all(order);
    assert_history();
    for (uint32_t limit = 1; limit <= 100; limit += limit < 40 ? 1 : 20) {
        struct tidings_op op = {.kind = TIDINGS_OP_HISTORY, .user_id = BOB, .u.page.limit = limit};
        size_t n = 0;
        do {
            must(op);
            assert_true(answer.u.history.n == limit || !answer.u.history.next.a);
            for (size_t i = 0; i < answer.u.history.n; i++)
                assert_int_equal(answer.u.history.rows[i].post_id, expected.at[n++]);
            op.u.page.after = answer.u.history.next;
        } while (answer.u.history.next.a);
        assert_int_equal(n, POSTS);
    }
}

static void a_row_has_many_entries(void **state)
{
    (void)state;
    open_all(posts);
    size_t rows = rows_of(BOB);
    assert_true(rows > 3 && rows <= POSTS / 10);
    reopen_engine();
    assert_history();
}

/* As published, the other way round, or in no order. */
enum { WAYS = 3 };
static void order_posts(uint64_t order[POSTS], int way)
{
    for (size_t i = 0; i < POSTS; i++)
        order[i] = way == 1 ? posts[POSTS - 1 - i] : posts[i];
    if (way == 2)
        shuffle(order, POSTS);
}

/* Whatever the order of the ids, one operation's posts are in that of their publishing, newest first. */
static void many_marked_at_once_are_in_the_order_of_publishing(void **state)
{
    (void)state;
    uint64_t order[POSTS];
    for (int way = 0; way < WAYS; way++) {
        order_posts(order, way);
        open_post(BOB, order[0]); /* there is a row to go on with */
        assert_int_equal(mark(BOB, order, POSTS), POSTS - 1);
        expected.n = 0;
        for (size_t i = POSTS; i-- > 0;)
            if (posts[i] != order[0])
                expected.at[expected.n++] = posts[i];
        expected.at[expected.n++] = order[0];
        assert_history();
        assert_true(rows_of(BOB) <= POSTS / 20);
        unmark(order, POSTS);
        assert_history();
        assert_int_equal(rows_of(BOB), 0);
    }
}

static void one_row_of_every_kind_of_step(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    expected.n = 0;
    for (size_t i = 0; i < POSTS;) {
        size_t n = 1 + rng_below(&rng, rng_percent(&rng, 20) ? 60 : 3);
        n = n < POSTS - i ? n : POSTS - i;
        time_passes(&rng);
        mark(BOB, posts + i, n);
        memmove(expected.at + n, expected.at, expected.n * sizeof *expected.at);
        for (size_t k = 0; k < n; k++)
            expected.at[k] = posts[i + n - 1 - k];
        expected.n += n;
        i += n;
    }
    assert_history();
}

/* ---- Leaving -------------------------------------------------------------------------------- */

static void deleting_every_entry_leaves_no_row(void **state)
{
    (void)state;
    uint64_t order[POSTS];
    for (int way = 0; way < WAYS; way++) {
        order_posts(order, way);
        open_all(posts);
        for (size_t i = 0; i < POSTS; i++) {
            delete_entry(order[i]);
            if (i % 50 == 0)
                assert_history();
        }
        assert_history();
        assert_int_equal(expected.n, 0);
        assert_int_equal(rows_of(BOB), 0);
        assert_int_equal(badge(BOB), 0);
    }
}

static void a_row_can_be_emptied_between_others(void **state)
{
    (void)state;
    struct history_block block;
    open_all(posts);
    size_t rows = rows_of(BOB);
    history_get(BOB, 2, &block);
    open_engine();
    for (size_t i = 0; i < block.n; i++)
        delete_entry(block.at[i].post);
    assert_history();
    assert_int_equal(rows_of(BOB), rows - 1);
    open_post(BOB, block.at[0].post); /* enters anew, as the latest */
    memmove(expected.at + 1, expected.at, expected.n++ * sizeof *expected.at);
    expected.at[0] = block.at[0].post;
    assert_history();
}

static void many_unmarked_at_once_leave_the_rest(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    uint64_t some[POSTS];
    open_all(posts);
    for (int round = 0; round < 5; round++) {
        size_t n = 0;
        for (size_t i = 0; i < expected.n; i++)
            if (rng_percent(&rng, 40))
                some[n++] = expected.at[i];
        shuffle(some, n);
        unmark(some, n);
        assert_history();
        assert_adds_up(BOB);
    }
}

/* ---- Clearing ------------------------------------------------------------------------------- */

/* Entries made in the same batch as the clearing may share a row with those from before, until it is swept. */
static void clearing_in_the_middle_of_a_row(void **state)
{
    (void)state;
    struct history_block block;
    for (size_t i = 0; i < 10; i++)
        open_post(BOB, posts[i]);
    history_get(BOB, 0, &block);
    assert_int_equal(block.n, 10);
    struct user_record user = user_get(BOB);
    user.history_cleared = block.at[5].stamp;
    user_put(BOB, &user);
    row_put(TABLE_TODO, key_id(BOB), (struct bytes){NULL, 0});
    open_engine();
    ASSERT_HISTORY(BOB, posts[9], posts[8], posts[7], posts[6]);
    assert_verifies();
    open_post(BOB, posts[2]); /* enters anew, and the row is swept */
    ASSERT_HISTORY(BOB, posts[2], posts[9], posts[8], posts[7], posts[6]);
    assert_verifies();
    history_get(BOB, 0, &block);
    assert_int_equal(block.n, 5);
    assert_int_equal(rows_of(BOB), 1);
    assert_null(row_get(TABLE_TODO, key_id(BOB)).p);
    open_engine();
    assert_verifies();
}

/* As much as it takes, a bit at a time; what is entered meanwhile stays. */
static void a_cleared_history_of_many_rows_is_swept(void **state)
{
    (void)state;
    enum { AUTHORS = 5, MANY = 500 };
    struct rng rng = test_rng();
    for (uint64_t author = 10; author < 10 + AUTHORS; author++) {
        follow(BOB, author);
        publish_many(author, MANY);
    }
    list_inbox(BOB, 0, TIDINGS_ALL, &found);
    for (size_t i = 0; i < found.n; i++) {
        time_passes(&rng);
        open_post(BOB, found.at[i]);
    }
    assert_true(rows_of(BOB) > 64); /* more than one batch removes */
    must((struct tidings_op){.kind = TIDINGS_OP_HISTORY_CLEAR, .user_id = BOB});
    open_post(BOB, found.at[3]);
    ASSERT_HISTORY(BOB, found.at[3]);
    assert_verifies();
    for (int i = 0; i < 5; i++)
        publish(CID, "time passes", "");
    ASSERT_HISTORY(BOB, found.at[3]);
    assert_int_equal(rows_of(BOB), 1);
    assert_null(row_get(TABLE_TODO, key_id(BOB)).p);
    open_engine();
    assert_verifies();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(pages_of_any_size_go_on_where_the_last_ended),
        TEST(a_row_has_many_entries),
        TEST(many_marked_at_once_are_in_the_order_of_publishing),
        TEST(one_row_of_every_kind_of_step),
        TEST(deleting_every_entry_leaves_no_row),
        TEST(a_row_can_be_emptied_between_others),
        TEST(many_unmarked_at_once_leave_the_rest),
        TEST(clearing_in_the_middle_of_a_row),
        TEST(a_cleared_history_of_many_rows_is_swept),
    };
#undef TEST
    return RUN_TESTS(tests);
}

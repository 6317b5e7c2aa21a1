/* SPDX-License-Identifier: MIT */
#include "engine/local/memory/heads.h"

#include <pthread.h>
#include <string.h>

#include "unit/test.h"

static struct heads *heads;

static int set_up(void **state)
{
    (void)state;
    heads = heads_new();
    return !heads;
}

static int tear_down(void **state)
{
    (void)state;
    heads_free(heads);
    return 0;
}

/* ---- One thread ----------------------------------------------------------------------------- */

static void an_author_without_posts_has_an_empty_head(void **state)
{
    (void)state;
    const struct head *head = heads_get(heads, 42, UINT64_MAX);
    assert_non_null(head);
    assert_int_equal(head->n_posts, 0);
    assert_int_equal(head->n_deleted, 0);
    assert_int_equal(head->last_id, 0);
    assert_int_equal(head_posts_below(head, UINT64_MAX), 0);
    assert_int_equal(head_deleted_below(head, UINT32_MAX), 0);
    assert_int_equal(head_deleted_mask(head, 0), 0);
    assert_false(head_is_deleted(head, 0));
}

static void a_reader_at_an_old_version_sees_the_old(void **state)
{
    (void)state;
    enum { VERSIONS = 100 };
    struct heads_reader *reader = heads_reader_new(heads);
    assert_non_null(reader);
    heads_enter(heads, reader); /* so that nothing from now on is freed */
    for (uint64_t version = 1; version <= VERSIONS; version++) {
        assert_true(heads_add_post(heads, 7, version, version * 16));
        heads_commit(heads);
    }
    for (uint64_t version = 0; version <= VERSIONS; version++) {
        const struct head *head = heads_get(heads, 7, version);
        assert_int_equal(head->n_posts, version);
        assert_int_equal(head->last_id, version * 16);
        for (uint32_t i = 0; i < head->n_posts; i++)
            assert_int_equal(head->ids[i], (i + 1) * 16);
    }
    heads_leave(reader);
    heads_commit(heads);
    assert_int_equal(heads_get(heads, 7, VERSIONS + 1)->n_posts, VERSIONS);
}

static void the_writer_sees_its_own_changes_and_readers_do_not(void **state)
{
    (void)state;
    assert_true(heads_add_post(heads, 7, 1, 16));
    heads_commit(heads);
    assert_true(heads_add_post(heads, 7, 2, 32));
    assert_true(heads_add_post(heads, 7, 2, 48));
    assert_true(heads_add_deletion(heads, 7, 2, 0));
    assert_int_equal(heads_get(heads, 7, 2)->n_posts, 3);
    assert_int_equal(heads_get(heads, 7, 2)->n_deleted, 1);
    assert_int_equal(heads_get(heads, 7, 1)->n_posts, 1);
    assert_int_equal(heads_get(heads, 7, 1)->n_deleted, 0);
    heads_commit(heads);
    assert_int_equal(heads_get(heads, 7, 2)->n_posts, 3);
}

static void deletions_are_kept_in_order_and_sorted(void **state)
{
    (void)state;
    const uint32_t order[] = {70, 3, 64, 0, 63, 127, 5};
    const uint32_t sorted[] = {0, 3, 5, 63, 64, 70, 127};
    for (uint64_t i = 0; i < 128; i++)
        assert_true(heads_add_post(heads, 7, 1, 16 * (i + 1)));
    for (size_t i = 0; i < COUNT_OF(order); i++)
        assert_true(heads_add_deletion(heads, 7, 1, order[i]));
    heads_commit(heads);

    const struct head *head = heads_get(heads, 7, 1);
    assert_int_equal(head->n_deleted, COUNT_OF(order));
    assert_memory_equal(head->deleted, order, sizeof order);
    assert_memory_equal(head->deleted_sorted, sorted, sizeof sorted);
    assert_int_equal(head_deleted_below(head, 0), 0);
    assert_int_equal(head_deleted_below(head, 64), 4);
    assert_int_equal(head_deleted_below(head, UINT32_MAX), 7);
    assert_true(head_is_deleted(head, 127));
    assert_false(head_is_deleted(head, 126));
    assert_int_equal(head_deleted_mask(head, 0), UINT64_C(0x8000000000000029));
    assert_int_equal(head_deleted_mask(head, 64), UINT64_C(0x8000000000000041));
    assert_int_equal(head_deleted_mask(head, 128), 0);
}

static void posts_are_found_by_id(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        assert_true(heads_add_post(heads, 7, 1, 100 + 10 * i));
    heads_commit(heads);
    const struct head *head = heads_get(heads, 7, 1);
    assert_int_equal(head_posts_below(head, 0), 0);
    assert_int_equal(head_posts_below(head, 100), 0);
    assert_int_equal(head_posts_below(head, 101), 1);
    assert_int_equal(head_posts_below(head, 1090), 99);
    assert_int_equal(head_posts_below(head, 1091), 100);
    assert_int_equal(head_posts_below(head, UINT64_MAX), 100);
}

/* ---- Aborts --------------------------------------------------------------------------------- */

static void a_closed_head_keeps_its_lists(void **state)
{
    (void)state;
    const uint64_t story = 7 | HEAD_STORY;
    assert_true(heads_add_post(heads, story, 1, 16));
    assert_true(heads_add_post(heads, story, 1, 32));
    assert_true(heads_add_post(heads, 7, 1, 48)); /* a user with the same number */
    heads_commit(heads);
    struct heads_reader *reader = heads_reader_new(heads);
    assert_non_null(reader);
    heads_enter(heads, reader);
    assert_true(heads_close(heads, story, 2));
    heads_abort(heads);
    assert_false(head_is_closed(heads_get(heads, story, 2)));
    assert_true(heads_close(heads, story, 2));
    heads_commit(heads);
    const struct head *head = heads_get(heads, story, 2);
    assert_true(head_is_closed(head));
    assert_int_equal(head->n_posts, 2);
    assert_int_equal(head_posts_below(head, 17), 1);
    assert_int_equal(head_posts_below(head, UINT64_MAX), 2);
    assert_false(head_is_closed(heads_get(heads, story, 1)));
    assert_int_equal(heads_get(heads, 7, 2)->ids[0], 48);
    struct head copy = *head;
    copy.author = 9 | HEAD_STORY;
    assert_true(heads_load(heads, &copy));
    assert_true(head_is_closed(heads_get(heads, 9 | HEAD_STORY, 2)));
    heads_leave(reader);
}

static void an_abort_takes_everything_back(void **state)
{
    (void)state;
    heads_add_post(heads, 7, 1, 16);
    heads_commit(heads);
    heads_add_post(heads, 7, 2, 32);
    heads_add_deletion(heads, 7, 2, 0);
    heads_add_post(heads, 8, 2, 48); /* a new author */
    heads_abort(heads);
    assert_int_equal(heads_get(heads, 7, 2)->n_posts, 1);
    assert_int_equal(heads_get(heads, 7, 2)->n_deleted, 0);
    assert_int_equal(heads_get(heads, 8, 2)->n_posts, 0);

    /* The same version again, with other posts. */
    heads_add_post(heads, 7, 2, 64);
    heads_add_post(heads, 8, 2, 80);
    heads_commit(heads);
    assert_int_equal(heads_get(heads, 7, 2)->ids[1], 64);
    assert_int_equal(heads_get(heads, 8, 2)->ids[0], 80);
}

static void an_abort_takes_back_what_outgrew_its_array(void **state)
{
    (void)state;
    uint64_t version = 1;
    for (uint64_t i = 0; i < 4; i++)
        heads_add_post(heads, 7, version, 16 * (i + 1));
    heads_commit(heads);
    version++;
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 1000; i++)
            heads_add_post(heads, 7, version, 1000 + i);
        for (uint32_t i = 0; i < 300; i++)
            heads_add_deletion(heads, 7, version, i);
        assert_int_equal(heads_get(heads, 7, version)->n_posts, 1004);
        heads_abort(heads);
        const struct head *head = heads_get(heads, 7, version);
        assert_int_equal(head->n_posts, 4);
        assert_int_equal(head->n_deleted, 0);
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(head->ids[i], 16 * (i + 1));
    }
    for (uint64_t i = 4; i < 100; i++)
        heads_add_post(heads, 7, version, 16 * (i + 1));
    heads_commit(heads);
    const struct head *head = heads_get(heads, 7, version);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(head->ids[i], 16 * (i + 1));
}

static void an_abort_takes_back_what_outgrew_the_table(void **state)
{
    (void)state;
    enum { AUTHORS = 3000 }; /* the table begins with room for 512 */
    for (uint64_t author = 1; author <= 100; author++)
        heads_add_post(heads, author, 1, author);
    heads_commit(heads);
    for (uint64_t author = 1; author <= AUTHORS; author++)
        assert_true(heads_add_post(heads, author, 2, 10000 + author));
    heads_abort(heads);
    for (uint64_t author = 1; author <= AUTHORS; author++)
        assert_int_equal(heads_get(heads, author, 2)->n_posts, author <= 100);
    for (uint64_t author = 1; author <= AUTHORS; author++)
        heads_add_post(heads, author, 2, 20000 + author);
    heads_commit(heads);
    for (uint64_t author = 1; author <= AUTHORS; author++)
        assert_int_equal(heads_get(heads, author, 2)->last_id, 20000 + author);
}

/* ---- Many authors --------------------------------------------------------------------------- */

static void count_one(const struct head *newest, void *ctx)
{
    uint64_t *sum = ctx;
    sum[0]++;
    sum[1] += newest->author;
}

static void many_authors_are_kept_apart(void **state)
{
    (void)state;
    enum { AUTHORS = 20000 };
    uint64_t sum[2] = {0, 0}, expected = 0;
    for (uint64_t i = 1; i <= AUTHORS; i++) {
        uint64_t author = i % 2 ? i : (UINT64_C(1) << 53) - i; /* both ends of the range */
        assert_true(heads_add_post(heads, author, i, i));
        heads_commit(heads);
        expected += author;
    }
    for (uint64_t i = 1; i <= AUTHORS; i++) {
        uint64_t author = i % 2 ? i : (UINT64_C(1) << 53) - i;
        const struct head *head = heads_get(heads, author, AUTHORS);
        assert_int_equal(head->author, author);
        assert_int_equal(head->last_id, i);
        heads_prefetch(heads, author);
    }
    heads_each(heads, count_one, sum);
    assert_int_equal(sum[0], AUTHORS);
    assert_int_equal(sum[1], expected);
}

static void loaded_heads_go_on_where_they_stopped(void **state)
{
    (void)state;
    enum { AUTHORS = 2000 };
    uint64_t ids[5] = {10, 20, 30, 40, 50};
    uint32_t deleted[2] = {3, 1}, sorted[2] = {1, 3};
    for (uint64_t author = 1; author <= AUTHORS; author++) {
        const struct head from = {
            .author = author,
            .n_posts = author % 5 + 1,
            .n_deleted = author % 5 == 4 ? 2 : 0,
            .ids = ids,
            .deleted = deleted,
            .deleted_sorted = sorted,
        };
        assert_true(heads_load(heads, &from));
    }
    for (uint64_t author = 1; author <= AUTHORS; author++) {
        uint32_t n = author % 5 + 1;
        assert_true(heads_add_post(heads, author, 9, 1000));
        assert_true(heads_add_deletion(heads, author, 9, 0));
        const struct head *before = heads_get(heads, author, 8);
        const struct head *after = heads_get(heads, author, 9);
        assert_int_equal(before->n_posts, n);
        assert_int_equal(after->n_posts, n + 1);
        assert_int_equal(after->ids[n - 1], 10 * n);
        assert_int_equal(after->ids[n], 1000);
        assert_int_equal(after->deleted[after->n_deleted - 1], 0);
        assert_int_equal(after->deleted_sorted[0], 0);
    }
    heads_commit(heads);
}

/* ---- Readers beside the writer -------------------------------------------------------------- */

enum { READERS = 3, AUTHORS = 1500, VERSIONS = 40000 };

/* What stands for the storage's snapshot: the newest version that readers may see. */
static _Atomic uint64_t snapshot;
static _Atomic uint64_t wrong;
static atomic_bool finished;

static uint64_t author_at(uint64_t version)
{
    return version % AUTHORS + 1;
}

/* Each version adds one post, its id the version; every third round of all authors deletes it, too.
 */
static bool deletes(uint64_t version)
{
    return version / AUTHORS % 3 == 0;
}

static bool is_right(const struct head *head, uint64_t author, uint64_t version)
{
    uint32_t posts = 0, deleted = 0;
    uint64_t first = author - 1 ? author - 1 : AUTHORS;
    for (uint64_t v = first; v <= version; v += AUTHORS) {
        if (posts >= head->n_posts || head->ids[posts] != v)
            return false;
        if (deletes(v) && (deleted >= head->n_deleted || head->deleted[deleted] != posts ||
                           head->deleted_sorted[deleted] != posts))
            return false;
        deleted += deletes(v);
        posts++;
    }
    return head->n_posts == posts && head->n_deleted == deleted;
}

static void *read_on(void *arg)
{
    struct rng rng;
    rng_seed(&rng, (uint64_t)(uintptr_t)arg);
    struct heads_reader *reader = heads_reader_new(heads);
    while (reader && !atomic_load(&finished)) {
        heads_enter(heads, reader);
        uint64_t version = atomic_load(&snapshot);
        for (int i = 0; i < 20; i++) {
            /* Mostly the authors that are being written to just now. */
            uint64_t author = rng_percent(&rng, 80) ? author_at(version + rng_below(&rng, 3))
                                                    : 1 + rng_below(&rng, AUTHORS);
            if (!is_right(heads_get(heads, author, version), author, version))
                atomic_fetch_add(&wrong, 1);
        }
        heads_leave(reader);
    }
    return NULL;
}

static bool write_version(uint64_t version)
{
    uint64_t author = author_at(version);
    uint32_t number = heads_get(heads, author, version)->n_posts;
    return heads_add_post(heads, author, version, version) &&
           (!deletes(version) || heads_add_deletion(heads, author, version, number));
}

static void readers_beside_the_writer_see_their_own_moment(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    pthread_t threads[READERS];
    bool written = true;
    atomic_store(&snapshot, 0);
    atomic_store(&wrong, 0);
    atomic_store(&finished, false);
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, (void *)(i + 1)), 0);
    for (uint64_t version = 1; version <= VERSIONS && written; version++) {
        if (rng_percent(&rng, 10)) { /* first something that will not last */
            written = heads_add_post(heads, author_at(version), version, 1) &&
                      heads_add_deletion(heads, author_at(version), version, 0) &&
                      heads_add_post(heads, author_at(version + 1), version, 2);
            heads_abort(heads);
        }
        written = written && write_version(version);
        atomic_store(&snapshot, version);
        heads_commit(heads);
    }
    atomic_store(&finished, true);
    for (size_t i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    assert_true(written);
    assert_int_equal(atomic_load(&wrong), 0);
    for (uint64_t author = 1; author <= AUTHORS; author++)
        assert_true(is_right(heads_get(heads, author, VERSIONS), author, VERSIONS));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_author_without_posts_has_an_empty_head),
        TEST(a_reader_at_an_old_version_sees_the_old),
        TEST(the_writer_sees_its_own_changes_and_readers_do_not),
        TEST(deletions_are_kept_in_order_and_sorted),
        TEST(posts_are_found_by_id),
        TEST(a_closed_head_keeps_its_lists),
        TEST(an_abort_takes_everything_back),
        TEST(an_abort_takes_back_what_outgrew_its_array),
        TEST(an_abort_takes_back_what_outgrew_the_table),
        TEST(many_authors_are_kept_apart),
        TEST(loaded_heads_go_on_where_they_stopped),
        TEST(readers_beside_the_writer_see_their_own_moment),
    };
#undef TEST
    return RUN_TESTS(tests);
}

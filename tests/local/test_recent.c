/* SPDX-License-Identifier: MIT */
#include "engine/local/memory/recent.h"

#include <string.h>

#include "engine/local/rows/rows.h"
#include "unit/test.h"

enum { FAN = 7, ROOM = 8 << 20 };

static struct recent *recent;
static struct heads *heads;
static struct arena scratch;
static struct kv_txn txn;

static int set_up(void **state)
{
    (void)state;
    recent = recent_new(ROOM);
    heads = heads_new();
    arena_init(&scratch, 64 << 20);
    return !recent || !heads;
}

static int tear_down(void **state)
{
    (void)state;
    recent_free(recent);
    heads_free(heads);
    arena_release(&scratch);
    return 0;
}

static struct local_view view_at(uint64_t version)
{
    return (struct local_view){.view = {.err = &txn.err, .scratch = &scratch},
                               .txn = &txn,
                               .heads = heads,
                               .recent = recent,
                               .version = version,
                               .age = recent_age(recent)};
}

static struct tie_stored row_of(uint64_t author, const char *value)
{
    return (struct tie_stored){author, NULL, {(const uint8_t *)value, strlen(value)}};
}

static void keep_at(uint64_t version, uint64_t fan)
{
    struct local_view view = view_at(version);
    struct tie_stored rows[] = {row_of(10, "ten"), row_of(20, "twenty"), row_of(30, "thirty")};
    recent_keep(&view, fan, rows, COUNT_OF(rows));
}

static void change_at(uint64_t version, uint64_t fan, uint64_t author, const char *value)
{
    struct local_view view = view_at(version);
    recent_change(&view, fan, author, (struct bytes){(const uint8_t *)value, strlen(value)});
}

/* The fan's values, one after the other; NULL if it is not here. */
static const char *find_in(struct local_view view, uint64_t fan)
{
    static char text[4096];
    struct tie_stored *rows;
    size_t n;
    text[0] = '\0';
    if (!recent_find(&view, fan, &rows, &n))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || rows[i - 1].author < rows[i].author);
        strncat(text, (const char *)rows[i].value.p, rows[i].value.n);
    }
    return text;
}

static const char *find_at(uint64_t version, uint64_t fan)
{
    return find_in(view_at(version), fan);
}

static void what_was_kept_serves_snapshots_between_changes(void **state)
{
    (void)state;
    assert_null(find_at(5, FAN));
    keep_at(5, FAN);
    assert_string_equal(find_at(5, FAN), "tentwentythirty");
    assert_string_equal(find_at(4, FAN), "tentwentythirty");
    assert_string_equal(find_at(9, FAN), "tentwentythirty");
    assert_null(find_at(5, FAN + 1));
}

static void a_change_is_seen_from_its_version_on(void **state)
{
    (void)state;
    keep_at(5, FAN);
    change_at(6, FAN, 20, "xx");
    assert_null(find_at(5, FAN));
    assert_string_equal(find_at(6, FAN), "tenxxthirty");
    change_at(6, FAN, 30, "y");
    change_at(7, FAN, 10, "");
    assert_null(find_at(7, FAN)); /* a row less: to be read anew */
    keep_at(7, FAN);
    change_at(8, FAN, 40, "");
    assert_string_equal(find_at(8, FAN), "tentwentythirty");
    change_at(9, FAN, 40, "forty");
    assert_null(find_at(9, FAN));
}

/* Marking all of 5,000 authors' posts took 27 ms of the writer, most of it for looking through the copy 5,000 times. */
static void a_batch_that_changes_much_gives_the_copy_up(void **state)
{
    (void)state;
    enum { FEW = 64 };
    keep_at(5, FAN);
    for (uint64_t version = 6; version < 10; version++) {
        for (int i = 0; i < FEW; i++)
            change_at(version, FAN, 20, "xx");
        assert_string_equal(find_at(version, FAN), "tenxxthirty");
    }
    change_at(9, FAN, 20, "yy");
    assert_null(find_at(9, FAN));
    keep_at(9, FAN);
    assert_string_equal(find_at(9, FAN), "tentwentythirty");
    assert_null(find_at(8, FAN));
}

static void a_value_may_grow_until_there_is_no_room(void **state)
{
    (void)state;
    char value[300];
    size_t seen = 0;
    for (size_t n = 1; n < sizeof value; n++) {
        memset(value, 'v', n);
        value[n] = '\0';
        keep_at(n * 2, FAN);
        change_at(n * 2 + 1, FAN, 20, value);
        const char *found = find_at(n * 2 + 1, FAN);
        seen += found != NULL;
        assert_true(!found || strlen(found) == strlen("tenthirty") + n);
    }
    assert_in_range(seen, strlen("twenty"), 255);
}

static void an_old_snapshot_does_not_bring_the_old_back(void **state)
{
    (void)state;
    keep_at(5, FAN);
    change_at(6, FAN, 20, "xx");
    keep_at(5, FAN);
    assert_null(find_at(5, FAN));
    assert_string_equal(find_at(6, FAN), "tenxxthirty");
}

static void nothing_of_an_earlier_age_is_used(void **state)
{
    (void)state;
    struct local_view before = view_at(6);
    keep_at(5, FAN);
    change_at(6, FAN, 20, "taken back");
    recent_forget(recent);
    assert_null(find_at(6, FAN));
    struct tie_stored rows[] = {row_of(10, "old")};
    recent_keep(&before, FAN, rows, COUNT_OF(rows));
    assert_null(find_at(6, FAN));
    change_at(7, FAN, 10, "new");
    assert_null(find_at(7, FAN));
}

/* Another fan that takes the same place. */
static uint64_t neighbour(void)
{
    for (uint64_t fan = FAN + 1;; fan++) {
        keep_at(1, FAN);
        keep_at(1, fan);
        if (!find_at(1, FAN))
            return fan;
    }
}

static void fans_in_one_place_do_not_disturb_each_other(void **state)
{
    (void)state;
    uint64_t other = neighbour();
    keep_at(2, FAN);
    assert_null(find_at(2, other));
    change_at(3, other, 10, "other");
    assert_null(find_at(2, FAN)); /* as far as the place knows */
    assert_string_equal(find_at(3, FAN), "tentwentythirty");
    keep_at(2, other); /* it has changed since */
    assert_null(find_at(2, other));
    assert_null(find_at(3, other));
}

static void there_is_never_more_than_fits(void **state)
{
    (void)state;
    enum { FANS = 20000, ROWS = 100 };
    struct tie_stored rows[ROWS];
    size_t here = 0, entered = 0;
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = row_of(i + 1, "a value of a pair");
    for (uint64_t fan = 1; fan <= FANS; fan++) {
        struct local_view view = view_at(1);
        recent_keep(&view, fan, rows, ROWS);
        entered += find_at(1, fan) != NULL;
        arena_clear(&scratch);
    }
    /* All as long as there was room, then one in a few. */
    assert_in_range(entered, ROOM / (ROWS * 100) + 1000, FANS / 2);
    for (uint64_t fan = 1; fan <= FANS; fan++) {
        here += find_at(1, fan) != NULL;
        arena_clear(&scratch);
    }
    assert_in_range(here * ROWS * strlen("a value of a pair"), ROOM / 4, ROOM);
}

static void too_large_a_fan_is_not_kept(void **state)
{
    (void)state;
    enum { ROWS = 5000 };
    struct tie_stored rows[ROWS];
    struct local_view view = view_at(1);
    char value[257] = {0};
    memset(value, 'v', 256);
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = row_of(i + 1, "value");
    recent_keep(&view, FAN, rows, ROWS);
    assert_null(find_at(1, FAN));
    rows[0] = row_of(1, value);
    recent_keep(&view, FAN, rows, 1);
    assert_null(find_at(1, FAN));
    rows[0].value.n--;
    recent_keep(&view, FAN, rows, 1);
    assert_non_null(find_at(1, FAN));
}

static void publish(uint64_t author, uint64_t version, uint64_t posts)
{
    for (uint64_t i = 0; i < posts; i++)
        assert_true(heads_add_post(heads, author, version, version * 1000 + i));
}

static void a_badge_is_summed_and_the_rest_is_left(void **state)
{
    (void)state;
    struct tie_stored rows[3];
    struct unread_sum sum;
    struct local_view old = view_at(1), new = view_at(2);
    for (uint64_t author = 1; author <= 3; author++) {
        struct span open = {(uint32_t)author, SPAN_OPEN};
        struct pair pair = {.following = true, .rank = 99, .spans = &open, .n_spans = 1};
        rows[author - 1] =
            (struct tie_stored){.author = author, .value = pair_encode(&pair, &scratch)};
        publish(author, 1, 5);
    }
    recent_keep(&old, FAN, rows, COUNT_OF(rows));
    assert_true(recent_badge(&old, FAN, &sum));
    assert_int_equal(sum.unread, (5 - 1) + (5 - 2) + (5 - 3));
    assert_int_equal(sum.n_rest, 0);
    heads_commit(heads);

    publish(2, 2, 5);
    assert_true(heads_add_deletion(heads, 3, 2, 4));
    assert_true(recent_badge(&old, FAN, &sum));
    assert_int_equal(sum.unread, 5 - 1); /* the others have changed since */
    assert_int_equal(sum.n_rest, 2);
    assert_int_equal(sum.rest[0].head->n_posts, 5);
    assert_int_equal(sum.rest[1].head->n_deleted, 0);
    assert_true(recent_badge(&new, FAN, &sum));
    assert_int_equal(sum.unread, (5 - 1) + (10 - 2));
    assert_int_equal(sum.n_rest, 1);
    assert_int_equal(sum.rest[0].author, 3);
    assert_int_equal(sum.rest[0].head->n_deleted, 1);
    assert_memory_equal(sum.rest[0].value.p, rows[2].value.p, rows[2].value.n);

    heads_abort(heads);
    assert_true(recent_badge(&new, FAN, &sum));
    assert_int_equal(sum.unread, (5 - 1) + (5 - 2) + (5 - 3));
    assert_false(recent_badge(&new, FAN + 1, &sum));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(what_was_kept_serves_snapshots_between_changes),
        CASE(a_change_is_seen_from_its_version_on),
        CASE(a_batch_that_changes_much_gives_the_copy_up),
        CASE(a_value_may_grow_until_there_is_no_room),
        CASE(an_old_snapshot_does_not_bring_the_old_back),
        CASE(nothing_of_an_earlier_age_is_used),
        CASE(fans_in_one_place_do_not_disturb_each_other),
        CASE(there_is_never_more_than_fits),
        CASE(too_large_a_fan_is_not_kept),
        CASE(a_badge_is_summed_and_the_rest_is_left),
    };
    return RUN_TESTS(tests);
}

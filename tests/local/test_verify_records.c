/* SPDX-License-Identifier: MIT */
/* Verify, against damage to posts, and records that cannot be read at all; see community.h. */
#include <string.h>

#include "domain/ids.h"
#include "local/community.h"

/* ---- Posts ---------------------------------------------------------------------------------- */

static void an_orphan_body_is_mended(void **state)
{
    (void)state;
    const struct bytes body = {(const uint8_t *)"orphan", 6};
    row_put(TABLE_BODY, key_id(17), body);       /* of no post */
    row_put(TABLE_BODY, key_id(posts[0]), body); /* of a deleted one */
    assert_mended();
}

static void own_data_that_is_no_json_is_found(void **state)
{
    (void)state;
    struct profile_record profile = {.name = {(const uint8_t *)"n", 1}};
    profile.extra = (struct bytes){(const uint8_t *)"{\"a\":1}", 7};
    struct bytes value = row_get(TABLE_POST, key_id(posts[50]));
    struct post_record post;
    struct arena arena;
    arena_init(&arena, 1 << 16);
    assert_true(post_decode(value, &post));
    post.extra = (struct bytes){(const uint8_t *)"{\"a\":1", 6};
    row_put(TABLE_PROFILE, key_id(99), profile_encode(&profile, &arena)); /* that is fine */
    row_put(TABLE_POST, key_id(posts[50]), post_encode(&post, &arena));
    arena_release(&arena);
    assert_found();
}

static void a_missing_post_is_found(void **state)
{
    (void)state;
    row_delete(TABLE_POST, key_id(posts[50]));
    assert_found();
}

static void a_post_missing_from_its_authors_list_is_found(void **state)
{
    (void)state;
    struct key key = key_author(ANN, ROW_POSTS, 2);
    row_cut(TABLE_AUTHOR, key, row_get(TABLE_AUTHOR, key).n - ID_BYTES);
    assert_found();
}

static void a_list_with_a_foreign_post_is_found(void **state)
{
    (void)state;
    struct key key = key_author(ANN, ROW_POSTS, 2);
    uint8_t longer[READMAP_POSTS * ID_BYTES];
    struct bytes value = row_get(TABLE_AUTHOR, key);
    memcpy(longer, value.p, value.n);
    put_id(longer + value.n, dans_post);
    row_put(TABLE_AUTHOR, key, (struct bytes){longer, value.n + ID_BYTES});
    assert_found();
}

static void a_deletion_in_one_place_only_is_found(void **state)
{
    (void)state;
    struct key key = key_author(ANN, ROW_DELETED, 0);
    row_cut(TABLE_AUTHOR, key, row_get(TABLE_AUTHOR, key).n - 4);
    assert_found();
}

static void a_list_that_cannot_be_loaded_keeps_the_directory_shut(void **state)
{
    (void)state;
    const char *message = NULL;
    row_cut(TABLE_AUTHOR, key_author(ANN, ROW_POSTS, 2), ID_BYTES + 1);
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_CORRUPT);
    assert_non_null(message);
    assert_null(engine);
}

/* ---- Records that cannot be read ------------------------------------------------------------ */

static void a_damaged_user_record_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_USER, key_row(BOB, ROW_USER), 3);
}

static void a_damaged_profile_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_PROFILE, key_id(ANN), 3);
}

static void a_damaged_pair_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_USER, key_pair(BOB, ROW_INBOX, ANN), 5);
}

static void a_damaged_read_map_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_USER, key_readmap(CID, ANN, 0), 12);
}

/* Not even which posts were read can be told: then the pair's counts cannot be recomputed, either. */
static void a_read_map_without_its_bits_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_USER, key_readmap(CID, ANN, 0), 4);
    assert_left_alone(TABLE_USER, key_readmap(EVE, ANN, 0), 4); /* the only one of its pair */
    assert_left_alone(TABLE_USER, key_readmap(BOB, DAN, 0),
                      4); /* of an author who deleted nothing */
}

static void a_damaged_post_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_POST, key_id(posts[40]), 5);
}

static void a_damaged_kept_answer_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_ONCE, key_once(FAY, followed_once.key), 4);
}

static void a_damaged_event_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_EVENT, key_id(posts[3]), 2);
}

static void a_row_of_unknown_kind_is_found(void **state)
{
    (void)state;
    row_put(TABLE_USER, key_row(BOB, 'z'), (struct bytes){NULL, 0});
    assert_found();
}

/* ---- Ids and kept answers ------------------------------------------------------------------- */

static void ids_newer_than_the_newest_are_found(void **state)
{
    (void)state;
    uint8_t newest[ID_BYTES + 8];
    struct bytes value = row_get(TABLE_META, key_meta("newest"));
    memcpy(newest, value.p, sizeof newest);
    put_id(newest, posts[100]);
    row_put(TABLE_META, key_meta("newest"), (struct bytes){newest, sizeof newest});
    assert_found();
}

static void an_answer_kept_for_ever_is_mended(void **state)
{
    (void)state;
    struct once_record record;
    assert_true(once_decode(row_get(TABLE_ONCE, key_once(FAY, followed_once.key)), &record));
    row_delete(TABLE_ONCE_AGE, key_id(record.stamp));
    assert_mended();
}

static void an_age_without_an_answer_is_mended(void **state)
{
    (void)state;
    row_delete(TABLE_ONCE, key_once(FAY, followed_once.key));
    assert_mended();
}

static struct key time_key(uint64_t id)
{
    struct key key = {.n = 1, .bytes = {ROW_TIME}};
    key_add_id(&key, id);
    return key;
}

/* Times of before 2020 are those of ids of its first day. */
static void a_time_that_no_id_can_have_is_mended(void **state)
{
    (void)state;
    const uint8_t old[] = {1}, half[] = {0x80};
    row_put(TABLE_KEY, time_key(16), (struct bytes){old, sizeof old});
    open_engine();
    assert_verifies();
    row_put(TABLE_KEY, time_key(ID_EARLY_END), (struct bytes){old, sizeof old});
    assert_mended();
    row_put(TABLE_KEY, time_key(32), (struct bytes){half, sizeof half});
    assert_mended();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, community_begin, community_end)
    const struct CMUnitTest tests[] = {
        TEST(an_orphan_body_is_mended),
        TEST(own_data_that_is_no_json_is_found),
        TEST(a_missing_post_is_found),
        TEST(a_post_missing_from_its_authors_list_is_found),
        TEST(a_list_with_a_foreign_post_is_found),
        TEST(a_deletion_in_one_place_only_is_found),
        TEST(a_list_that_cannot_be_loaded_keeps_the_directory_shut),
        TEST(a_damaged_user_record_is_found_and_left_alone),
        TEST(a_damaged_profile_is_found_and_left_alone),
        TEST(a_damaged_pair_is_found_and_left_alone),
        TEST(a_damaged_read_map_is_found_and_left_alone),
        TEST(a_read_map_without_its_bits_is_found_and_left_alone),
        TEST(a_damaged_post_is_found_and_left_alone),
        TEST(a_damaged_kept_answer_is_found_and_left_alone),
        TEST(a_damaged_event_is_found_and_left_alone),
        TEST(a_row_of_unknown_kind_is_found),
        TEST(ids_newer_than_the_newest_are_found),
        TEST(an_answer_kept_for_ever_is_mended),
        TEST(an_age_without_an_answer_is_mended),
        TEST(a_time_that_no_id_can_have_is_mended),
    };
#undef TEST
    return RUN_TESTS(tests);
}

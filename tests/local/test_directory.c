/* SPDX-License-Identifier: MIT */
/* The data directory: made, refused, locked, full. */
#include <string.h>

#include "contract/harness.h"

enum { ANN = 1, BOB = 2, CID = 3, DAN = 4 };

/* ---- The directory -------------------------------------------------------------------------- */

static void a_missing_directory_is_made(void **state)
{
    (void)state;
    assert_int_not_equal(access(harness_dir(), F_OK), 0);
    open_engine();
    assert_int_equal(access(harness_dir(), F_OK), 0);
    assert_int_equal(badge(BOB), 0);
    assert_verifies();
}

static void a_missing_parent_is_an_error(void **state)
{
    (void)state;
    char path[512];
    const char *message = NULL;
    harness_path(path, "no/such/place");
    options.dir = path;
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_IO);
    assert_non_null(message);
    assert_null(engine);
}

static void a_file_in_place_of_the_directory_is_an_error(void **state)
{
    (void)state;
    const char *message = NULL;
    FILE *file = fopen(harness_dir(), "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_IO);
    assert_non_null(message);
    assert_null(engine);
}

static void a_directory_is_for_one_engine_at_a_time(void **state)
{
    (void)state;
    struct tidings *second = NULL;
    const char *message = NULL;
    open_engine();
    publish(ANN, "t", "");
    assert_int_equal(tidings_open(&options, &second, &message), TIDINGS_LOCKED);
    assert_non_null(message);
    assert_null(second);
    publish(ANN, "t", ""); /* the first one is none the worse for it */
    close_engine();
    open_engine();
}

static void what_is_no_data_file_is_made_anew(void **state)
{
    (void)state;
    char path[512];
    open_engine();
    follow(BOB, ANN);
    publish(ANN, "t", "");
    close_engine();
    harness_path(path, "data/data.mdb");
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    for (int i = 0; i < 8192; i++)
        fputc('x', file);
    fclose(file);
    open_engine();
    assert_int_equal(badge(BOB), 1);
    assert_verifies();
}

static void bad_options_are_named(void **state)
{
    (void)state;
    const char *message = NULL;
    options.settings.page_max = 0;
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_INVALID);
    assert_string_equal(message, "page_max");
    options.settings.page_max = 100;
    options.dir = NULL;
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_INVALID);
    assert_string_equal(message, "dir");
}

/* ---- A full disk ---------------------------------------------------------------------------- */

static void a_full_file_refuses_writes_and_goes_on_reading(void **state)
{
    (void)state;
    static struct ids found;
    static char body[65536];
    options.settings.map_mb = 16;
    open_engine();
    follow(BOB, ANN);
    memset(body, 'x', sizeof body);
    struct tidings_op op = {
        .kind = TIDINGS_OP_PUBLISH,
        .role = TIDINGS_ROLE_SERVICE,
        .user_id = ANN,
        .u.publish = {TIDINGS_NOTE, text_of("big"), {body, sizeof body}},
    };
    uint64_t published = 0, last = 0;
    while (!run(op)) {
        published++;
        last = answer.u.post.id;
        assert_true(published < 1000);
    }
    assert_int_equal(answer.err, TIDINGS_NO_SPACE);
    assert_true(published > 100);
    for (int i = 0; i < 3; i++)
        assert_int_equal(run(op), TIDINGS_NO_SPACE);

    for (int round = 0; round < 2; round++) {
        assert_int_equal(badge(BOB), published);
        assert_adds_up(BOB);
        list_author(BOB, ANN, TIDINGS_ALL, &found);
        assert_int_equal(found.n, published);
        assert_int_equal(found.at[0], last);
        must((struct tidings_op){
            .kind = TIDINGS_OP_COUNTERS, .user_id = BOB, .u.user.user_id = ANN});
        assert_int_equal(answer.u.counters.posts, published);
        must((struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = BOB, .u.post.post_id = last});
        assert_int_equal(answer.u.post.body.n, sizeof body);
        assert_verifies();
        reopen_engine();
    }
    close_engine();
    options.settings.map_mb = 64; /* more room, and on it goes */
    open_engine();
    must(op);
    assert_true(answer.u.post.id > last);
    assert_int_equal(badge(BOB), published + 1);
    assert_verifies();
}

int main(void)
{
#define CLOSED(name) cmocka_unit_test_setup_teardown(name, harness_begin_closed, harness_end)
    const struct CMUnitTest tests[] = {
        CLOSED(a_missing_directory_is_made),
        CLOSED(a_missing_parent_is_an_error),
        CLOSED(a_file_in_place_of_the_directory_is_an_error),
        CLOSED(a_directory_is_for_one_engine_at_a_time),
        CLOSED(what_is_no_data_file_is_made_anew),
        CLOSED(bad_options_are_named),
        CLOSED(a_full_file_refuses_writes_and_goes_on_reading),
    };
#undef CLOSED
    return RUN_TESTS(tests);
}

/* SPDX-License-Identifier: MIT */
/* Images of the state in MySQL. */
#include "log/log_support.h"

static struct log_end end;

static int begin_images_test(void **state)
{
    log_begin_test(state);
    begin_log();
    end = make_end(become_writer(log_a, 1), FIRST_POSITION, 0);
    for (unsigned i = 0; i < 5; i++)
        must_append(log_a, &end, "record");
    return 0;
}

#define IMAGES_TEST(name) cmocka_unit_test_setup_teardown(name, begin_images_test, log_end_test)

static struct bytes text_of(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

static uint64_t begin_image(uint64_t position, uint64_t era)
{
    struct log_image image = {.position = position, .era = era, .at_ms = 1700000000123};
    uint64_t number = 0;
    make_chain(image.chain, position, 0);
    assert_outcome(log_a, log_mysql_image_begin(log_a, &image, &number), LOG_DONE);
    return number;
}

static void put_piece(uint64_t number, uint32_t piece, const char *text)
{
    assert_outcome(log_a, log_mysql_image_put(log_a, number, piece, text_of(text)), LOG_DONE);
}

static uint64_t put_image(uint64_t position, uint64_t era)
{
    uint64_t number = begin_image(position, era);
    put_piece(number, 0, "first");
    put_piece(number, 1, "second");
    assert_outcome(log_a, log_mysql_image_end(log_a, number, 2, 11, 77), LOG_DONE);
    return number;
}

static void assert_newest(uint64_t number)
{
    struct log_image image = {0};
    enum log_outcome outcome = log_mysql_image_newest(log_a, &image);
    assert_outcome(log_a, outcome, number ? LOG_DONE : LOG_EMPTY);
    assert_int_equal(image.number, number);
}

static void tidy_before(uint64_t own)
{
    bool more = true;
    while (more)
        assert_outcome(log_a, log_mysql_image_tidy(log_a, own, &more), LOG_DONE);
}

static void tidy_all(void)
{
    tidy_before(0);
}

static void an_image_can_be_had_when_it_is_done(void **state)
{
    (void)state;
    struct log_image image;
    struct bytes bytes;
    uint8_t chain[LOG_CHAIN_BYTES];
    assert_newest(0);
    uint64_t number = begin_image(FIRST_POSITION + 3, ANY_ERA);
    put_piece(number, 0, "wrong");
    put_piece(number, 0, "first");
    put_piece(number, 0, "first");
    assert_outcome(log_a, log_mysql_image_end(log_a, number, 2, 11, 77), LOG_REFUSED);
    assert_newest(0);
    put_piece(number, 1, "second");
    assert_outcome(log_a, log_mysql_image_end(log_a, number, 1, 11, 77), LOG_REFUSED);
    assert_outcome(log_a, log_mysql_image_end(log_a, number, 2, 11, 4294967295), LOG_DONE);
    assert_outcome(log_a, log_mysql_image_end(log_a, number, 2, 11, 4294967295), LOG_DONE);
    assert_outcome(log_a, log_mysql_image_put(log_a, number, 2, text_of("third")), LOG_REFUSED);
    assert_outcome(log_a, log_mysql_image_newest(log_a, &image), LOG_DONE);
    make_chain(chain, FIRST_POSITION + 3, 0);
    assert_int_equal(image.number, number);
    assert_int_equal(image.position, FIRST_POSITION + 3);
    assert_memory_equal(image.chain, chain, sizeof chain);
    assert_int_equal(image.era, ANY_ERA);
    assert_int_equal(image.at_ms, 1700000000123);
    assert_int_equal(image.pieces, 2);
    assert_int_equal(image.bytes, 11);
    assert_true(image.crc == UINT32_MAX);
    assert_int_equal(image.log_bytes, 2 * strlen("record"));
    assert_outcome(log_a, log_mysql_image_get(log_a, number, 0, &bytes), LOG_DONE);
    assert_true(bytes_same(bytes, text_of("first")));
    assert_outcome(log_a, log_mysql_image_get(log_a, number, 1, &bytes), LOG_DONE);
    assert_true(bytes_same(bytes, text_of("second")));
    assert_outcome(log_a, log_mysql_image_get(log_a, number, 2, &bytes), LOG_TRIMMED);
    tidy_all();
    assert_newest(number);
}

static void pieces_with_a_gap_are_no_image(void **state)
{
    (void)state;
    uint64_t number = begin_image(FIRST_POSITION, ANY_ERA);
    put_piece(number, 0, "first");
    put_piece(number, 2, "third");
    assert_outcome(log_a, log_mysql_image_end(log_a, number, 2, 10, 0), LOG_REFUSED);
    assert_outcome(log_a, log_mysql_image_end(log_a, number, 3, 10, 0), LOG_REFUSED);
    assert_newest(0);
}

static void a_newer_image_replaces_the_others(void **state)
{
    (void)state;
    struct bytes bytes;
    uint64_t old = put_image(FIRST_POSITION + 1, ANY_ERA);
    uint64_t given_up = begin_image(FIRST_POSITION + 2, ANY_ERA);
    put_piece(given_up, 0, "first");
    uint64_t going_on = begin_image(FIRST_POSITION + 4, ANY_ERA);
    uint64_t newest = put_image(FIRST_POSITION + 3, ANY_ERA);
    assert_newest(newest);
    tidy_all();
    assert_outcome(log_a, log_mysql_image_get(log_a, old, 0, &bytes), LOG_TRIMMED);
    assert_outcome(log_a, log_mysql_image_put(log_a, given_up, 1, text_of("x")), LOG_REFUSED);
    assert_outcome(log_a, log_mysql_image_end(log_a, given_up, 1, 5, 0), LOG_REFUSED);
    assert_outcome(log_a, log_mysql_image_get(log_a, newest, 0, &bytes), LOG_DONE);
    assert_int_equal(asked(other, "SELECT COUNT(*) FROM tidings_image_head"), 2);
    put_piece(going_on, 0, "first");
    assert_outcome(log_a, log_mysql_image_end(log_a, going_on, 1, 5, 0), LOG_DONE);
    tidy_all();
    assert_newest(going_on);
    assert_int_equal(asked(other, "SELECT COUNT(*) FROM tidings_image_head"), 1);
    assert_int_equal(asked(other, "SELECT COUNT(*) FROM tidings_image"), 1);
}

static void images_that_were_never_done_make_way_for_another(void **state)
{
    (void)state;
    uint64_t done = put_image(FIRST_POSITION + 1, ANY_ERA);
    uint64_t given_up = begin_image(FIRST_POSITION + 3, ANY_ERA);
    put_piece(given_up, 0, "first");
    uint64_t own = begin_image(FIRST_POSITION + 2, ANY_ERA);
    put_piece(own, 0, "first");
    tidy_before(own);
    assert_newest(done);
    assert_outcome(log_a, log_mysql_image_put(log_a, given_up, 1, text_of("x")), LOG_REFUSED);
    assert_outcome(log_a, log_mysql_image_end(log_a, own, 1, 5, 0), LOG_DONE);
    assert_newest(own);
    assert_int_equal(asked(other, "SELECT COUNT(*) FROM tidings_image_head"), 2);
}

static void an_image_of_a_newer_era_is_newer(void **state)
{
    (void)state;
    uint64_t before = put_image(FIRST_POSITION + 4, ANY_ERA);
    uint64_t newest = put_image(FIRST_POSITION + 1, ANY_ERA + 1);
    assert_newest(newest);
    tidy_all();
    assert_int_equal(asked(other, "SELECT MIN(number) FROM tidings_image_head"), newest);
    assert_true(before < newest);
    uint64_t again = put_image(FIRST_POSITION + 1, ANY_ERA + 1);
    assert_newest(again);
    tidy_all();
    assert_int_equal(asked(other, "SELECT MIN(number) FROM tidings_image_head"), again);
}

/* MySQL has lost the end of the log, and the images that were made of it are of no use. */
static void an_image_of_what_was_lost_is_neither_had_nor_replaces_another(void **state)
{
    (void)state;
    uint64_t right = put_image(FIRST_POSITION + 1, ANY_ERA);
    put_image(FIRST_POSITION + 4, ANY_ERA);
    put_image(FIRST_POSITION + 5, ANY_ERA);
    assert_run(other, "DELETE FROM tidings_log WHERE position>103; UPDATE tidings_writer w JOIN "
                      "tidings_log l ON l.position=103 SET w.position=103, w.chain=l.chain");
    assert_newest(right);
    end = make_end(end.fence, FIRST_POSITION + 3, 0);
    struct log_record record = make_record(end.position + 1, 1, text_of("another"));
    assert_outcome(log_a, log_mysql_append(log_a, &end, true, &record, 1), LOG_DONE);
    assert_newest(right);
    tidy_all();
    assert_newest(right);
    assert_run(
        other,
        "DELETE FROM tidings_log"); /* the row alone says that the one at the end is another */
    assert_newest(right);
}

static void a_piece_that_is_too_long_is_neither_put_nor_had(void **state)
{
    (void)state;
    struct bytes bytes;
    uint8_t *much = calloc(1, LOG_BYTES_MAX + 1);
    uint64_t number = begin_image(FIRST_POSITION, ANY_ERA);
    assert_outcome(log_a,
                   log_mysql_image_put(log_a, number, 0, (struct bytes){much, LOG_BYTES_MAX + 1}),
                   LOG_FAILED);
    assert_outcome(log_a,
                   log_mysql_image_put(log_a, number, 0, (struct bytes){much, LOG_BYTES_MAX}),
                   LOG_DONE);
    assert_outcome(log_a, log_mysql_image_get(log_a, number, 0, &bytes), LOG_DONE);
    assert_int_equal(bytes.n, LOG_BYTES_MAX);
    assert_run(other, "UPDATE tidings_image SET bytes=CONCAT(bytes,'x')");
    assert_outcome(log_a, log_mysql_image_get(log_a, number, 0, &bytes), LOG_CORRUPT);
    free(much);
}

int test_log_images(void)
{
    const struct CMUnitTest tests[] = {
        IMAGES_TEST(an_image_can_be_had_when_it_is_done),
        IMAGES_TEST(pieces_with_a_gap_are_no_image),
        IMAGES_TEST(a_newer_image_replaces_the_others),
        IMAGES_TEST(images_that_were_never_done_make_way_for_another),
        IMAGES_TEST(an_image_of_a_newer_era_is_newer),
        IMAGES_TEST(an_image_of_what_was_lost_is_neither_had_nor_replaces_another),
        IMAGES_TEST(a_piece_that_is_too_long_is_neither_put_nor_had),
    };
    return RUN_TESTS(tests);
}

/* SPDX-License-Identifier: MIT */
#include "legacy/values.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "unit/test.h"

static struct bytes text(const char *from)
{
    return (struct bytes){(const uint8_t *)from, strlen(from)};
}

static void numbers_are_decimal_and_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t number;
    } fine[] = {{"0", 0},
                {"42", 42},
                {"-7", -7},
                {"007", 7},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775807", -INT64_MAX}};
    static const char *const wrong[] = {"",    "-",   "+1", " 1",  "1 ",
                                        "1.0", "1e3", "x",  "--1", "9223372036854775808"};
    int64_t number = 5;
    for (size_t i = 0; i < COUNT_OF(fine); i++) {
        assert_true(value_number(text(fine[i].text), &number));
        assert_int_equal(number, fine[i].number);
    }
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        number = 5;
        assert_false(value_number(text(wrong[i]), &number));
        assert_int_equal(number, 5);
    }
    assert_false(value_number((struct bytes){NULL, 0}, &number));
    assert_false(value_number((struct bytes){(const uint8_t *)"1\0", 2}, &number));
}

static void ids_have_bounds(void **state)
{
    (void)state;
    uint64_t id = 5;
    assert_true(value_id(text("9007199254740991"), (UINT64_C(1) << 53) - 1, &id));
    assert_int_equal(id, (UINT64_C(1) << 53) - 1);
    id = 5;
    assert_false(value_id(text("9007199254740992"), (UINT64_C(1) << 53) - 1, &id));
    assert_false(value_id(text("0"), INT64_MAX, &id));
    assert_false(value_id(text("-1"), INT64_MAX, &id));
    assert_int_equal(id, 5);
}

static void scores_are_seconds_or_milliseconds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t at;
    } fine[] = {{"1700000000000", 1700000000000},
                {"1700000000", 1700000000000},
                {"1.7e+12", 1700000000000},
                {"1700000000.5", 1700000000500},
                {"1", 1000}};
    static const char *const wrong[] = {"",
                                        "0",
                                        "-5",
                                        "inf",
                                        "-inf",
                                        "nan",
                                        "x",
                                        "1 ",
                                        "1e300",
                                        "1e15",
                                        "1111111111111111111111111111111111111111"};
    uint64_t at = 5;
    for (size_t i = 0; i < COUNT_OF(fine); i++) {
        assert_true(value_score(text(fine[i].text), &at));
        assert_int_equal(at, fine[i].at);
    }
    at = 5;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(value_score(text(wrong[i]), &at));
    assert_int_equal(at, 5);
}

static void dates_are_of_their_zone(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ahead_ms;
        uint64_t at;
    } fine[] = {{"2023-11-14 22:13:20", 0, 1700000000000},
                {"2023-11-14 22:13:20.5", 0, 1700000000500},
                {"2023-11-14 22:13:20.123456", 0, 1700000000123},
                {"2023-11-15 06:13:20", 8 * 3600000, 1700000000000},
                {"2024-02-29 00:00:00", 0, 1709164800000},
                {"2000-03-01 00:00:00", 0, 951868800000},
                {"1970-01-01 00:00:01", 0, 1000},
                {"9999-12-31 23:59:59", 0, 253402300799000}};
    static const char *const wrong[] = {"",
                                        "2023-11-14",
                                        "2023-11-14T22:13:20",
                                        "2023-11-14 22:13:20Z",
                                        "0000-00-00 00:00:00",
                                        "1969-12-31 23:59:59",
                                        "2023-13-01 00:00:00",
                                        "2023-11-14 24:00:00",
                                        "2023-11-14 22:13:2",
                                        "-023-11-14 22:13:20"};
    uint64_t at = 5;
    for (size_t i = 0; i < COUNT_OF(fine); i++) {
        assert_true(value_date(text(fine[i].text), fine[i].ahead_ms, &at));
        assert_int_equal(at, fine[i].at);
    }
    at = 5;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(value_date(text(wrong[i]), 0, &at));
    assert_false(value_date((struct bytes){NULL, 0}, 0, &at));
    assert_int_equal(at, 5);
}

static void zones(void **state)
{
    (void)state;
    int64_t ahead = 5;
    assert_true(value_zone("+08:00", &ahead) && ahead == 8 * 3600000);
    assert_true(value_zone("-03:30", &ahead) && ahead == -12600000);
    static const char *const wrong[] = {"",    "8",      "08:00",  "+8:00",
                                        "+08", "+15:00", "+08:60", "+08:00x"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(value_zone(wrong[i], &ahead));
}

static void five_counts_are_twenty_bytes(void **state)
{
    (void)state;
    uint8_t packed[UCNT_BYTES + 1] = {0, 0, 1, 2, 0xff, 0xff, 0xff, 0xff};
    uint32_t counts[UCNT_FIELDS] = {9, 9, 9, 9, 9};
    for (size_t n = 0; n <= sizeof packed; n++)
        assert_int_equal(value_ucnt((struct bytes){packed, n}, counts), n == UCNT_BYTES);
    assert_int_equal(counts[0], 258);
    assert_int_equal(counts[1], UINT32_MAX);
    assert_int_equal(counts[4], 0);
}

static void assert_text(const char *from, size_t n, size_t characters, size_t bytes,
                        const char *expected, bool cut)
{
    struct buf to;
    buf_init(&to, 1024);
    assert_int_equal(value_text((struct bytes){(const uint8_t *)from, n}, characters, bytes, &to),
                     cut);
    assert_int_equal(to.len, strlen(expected));
    assert_memory_equal(to.data ? to.data : "", expected, to.len);
    buf_release(&to);
}

static void texts_are_cut_between_characters_and_mended(void **state)
{
    (void)state;
    assert_text("", 0, 5, 5, "", false);
    assert_text("abc", 3, 3, 3, "abc", false);
    assert_text("abc", 3, 2, 9, "ab", true);
    assert_text("a\xc3\xa9z", 4, 9, 2, "a", true);
    assert_text("a\xc3\xa9z", 4, 2, 9, "a\xc3\xa9", true);
    assert_text("\xf0\x9f\x98\x80", 4, 1, 4, "\xf0\x9f\x98\x80", false);
    assert_text("a\xff\0b", 4, 9, 99,
                "a\xef\xbf\xbd\xef\xbf\xbd"
                "b",
                false);
    assert_text("\xc3", 1, 9, 99, "\xef\xbf\xbd", false);
    assert_text("\xff", 1, 9, 2, "", true);
    assert_text("\xed\xa0\x80", 3, 9, 99, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", false);
}

/* Whatever the bytes: nothing outside of them is read, and what comes out is UTF-8 within its bounds. */
static void any_bytes_are_taken(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int round = 0; round < 20000; round++) {
        size_t n = rng_below(&rng, 24), characters = rng_below(&rng, 24);
        uint8_t *bytes = malloc(n ? n : 1); /* so that a sanitizer sees its end */
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)("0123456789-:. e\xc3\xa9\xff"[rng_below(&rng, 18)]);
        struct bytes from = {bytes, n};
        struct buf to;
        uint64_t u;
        int64_t i;
        uint32_t counts[UCNT_FIELDS];
        size_t count = 0;
        buf_init(&to, 1024);
        value_number(from, &i);
        value_score(from, &u);
        value_date(from, 0, &u);
        value_ucnt(from, counts);
        value_text(from, characters, 16, &to);
        assert_true(to.len <= 16 && utf8_check(to.data, to.len, &count) && count <= characters);
        buf_release(&to);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_decimal_and_whole),
        cmocka_unit_test(ids_have_bounds),
        cmocka_unit_test(scores_are_seconds_or_milliseconds),
        cmocka_unit_test(dates_are_of_their_zone),
        cmocka_unit_test(zones),
        cmocka_unit_test(five_counts_are_twenty_bytes),
        cmocka_unit_test(texts_are_cut_between_characters_and_mended),
        cmocka_unit_test(any_bytes_are_taken),
    };
    return RUN_TESTS(tests);
}

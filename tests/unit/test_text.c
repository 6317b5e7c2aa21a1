/* SPDX-License-Identifier: MIT */
/* UTF-8, pictures in bodies, excerpts. */
#include <string.h>

#include "base/utf8.h"
#include "domain/markup.h"
#include "unit/test.h"

/* ---- UTF-8 ---------------------------------------------------------------------------------- */

static bool valid(const char *bytes, size_t n)
{
    size_t count;
    return utf8_check(bytes, n, &count);
}

static void utf8_counts_code_points(void **state)
{
    (void)state;
    const struct {
        const char *text;
        size_t characters;
    } rows[] = {
        {"", 0},
        {"a", 1},
        {"\x7f", 1},
        {"\xc2\x80", 1},         /* U+0080 */
        {"\xdf\xbf", 1},         /* U+07FF */
        {"\xe0\xa0\x80", 1},     /* U+0800 */
        {"\xed\x9f\xbf", 1},     /* U+D7FF */
        {"\xee\x80\x80", 1},     /* U+E000 */
        {"\xef\xbf\xbf", 1},     /* U+FFFF */
        {"\xf0\x90\x80\x80", 1}, /* U+10000 */
        {"\xf4\x8f\xbf\xbf", 1}, /* U+10FFFF */
        {"a\xc3\xa9\xe7\xac\x94\xf0\x9f\x98\x80z", 5},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t count = 99;
        assert_true(utf8_check(rows[i].text, strlen(rows[i].text), &count));
        assert_int_equal(count, rows[i].characters);
    }
}

static void utf8_refuses_what_is_not_utf8(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x80",             /* continuation alone */
        "\xbf",             /* the same */
        "\xc0\x80",         /* U+0000, overlong */
        "\xc1\xbf",         /* U+007F, overlong */
        "\xe0\x9f\xbf",     /* U+07FF, overlong */
        "\xe0\x80\x80",     /* U+0000, overlong */
        "\xf0\x8f\xbf\xbf", /* U+FFFF, overlong */
        "\xed\xa0\x80",     /* U+D800, surrogate */
        "\xed\xbf\xbf",     /* U+DFFF, surrogate */
        "\xf4\x90\x80\x80", /* U+110000 */
        "\xf5\x80\x80\x80", /* beyond */
        "\xf8\x88\x80\x80\x80",
        "\xfc\x84\x80\x80\x80\x80",
        "\xfe",
        "\xff",
        "\xc2",         /* truncated */
        "\xe4\xbd",     /* truncated */
        "\xf0\x9f\x98", /* truncated */
        "\xc2\x41",     /* lead without continuation */
        "\xe4\xbd\x41",
        "\xf0\x9f\x98\x41",
        "good then bad \xff",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(valid(bad[i], strlen(bad[i])));
}

static void utf8_refuses_nul(void **state)
{
    (void)state;
    assert_false(valid("", 1));
    assert_false(valid("a\0b", 3));
    assert_false(valid("ab\0", 3));
}

static void utf8_refused_leaves_the_count_alone(void **state)
{
    (void)state;
    size_t count = 99;
    assert_false(utf8_check("a\xff", 2, &count));
    assert_int_equal(count, 99);
}

/* The definition, code point by code point, against every possible lead. */
static void utf8_accepts_exactly_what_encoding_gives(void **state)
{
    (void)state;
    for (uint32_t point = 1; point <= 0x10ffff; point++) {
        char bytes[4];
        size_t n = 0;
        if (point < 0x80) {
            bytes[n++] = (char)point;
        } else if (point < 0x800) {
            bytes[n++] = (char)(0xc0 | point >> 6);
            bytes[n++] = (char)(0x80 | (point & 0x3f));
        } else if (point < 0x10000) {
            bytes[n++] = (char)(0xe0 | point >> 12);
            bytes[n++] = (char)(0x80 | (point >> 6 & 0x3f));
            bytes[n++] = (char)(0x80 | (point & 0x3f));
        } else {
            bytes[n++] = (char)(0xf0 | point >> 18);
            bytes[n++] = (char)(0x80 | (point >> 12 & 0x3f));
            bytes[n++] = (char)(0x80 | (point >> 6 & 0x3f));
            bytes[n++] = (char)(0x80 | (point & 0x3f));
        }
        bool surrogate = point >= 0xd800 && point <= 0xdfff;
        if (valid(bytes, n) == surrogate)
            fail_msg("U+%04X", point);
        if (n > 1 && valid(bytes, n - 1))
            fail_msg("U+%04X, truncated", point);
    }
}

static void utf8_prefix_cuts_between_characters(void **state)
{
    (void)state;
    const char *text = "a\xc3\xa9\xe7\xac\x94\xf0\x9f\x98\x80z";
    const size_t lengths[] = {0, 1, 3, 6, 10, 11, 11, 11};
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        assert_int_equal(utf8_prefix(text, 11, i), lengths[i]);
    assert_int_equal(utf8_prefix(text, 11, SIZE_MAX), 11);
    assert_int_equal(utf8_prefix("", 0, 5), 0);
}

/* ---- Pictures ------------------------------------------------------------------------------- */

static struct tidings_text text_of(const char *s)
{
    return (struct tidings_text){s, strlen(s)};
}

/* The parts of a body, written as T(text) and I(address). */
static void assert_parts(const char *body, const char *expected)
{
    struct tidings_text rest = text_of(body);
    struct tidings_part part;
    char found[512] = "";
    size_t n = 0;
    while (tidings_next_part(&rest, &part)) {
        assert_true(part.text.n > 0);
        n += (size_t)snprintf(found + n, sizeof found - n, "%c(%.*s)", part.is_image ? 'I' : 'T',
                              (int)part.text.n, part.text.p);
        assert_true(n < sizeof found);
    }
    assert_int_equal(rest.n, 0);
    assert_string_equal(found, expected);
}

static void pictures_are_told_from_text(void **state)
{
    (void)state;
    assert_parts("", "");
    assert_parts("no picture", "T(no picture)");
    assert_parts("[img]http://u[/img]", "I(http://u)");
    assert_parts("a[img]http://u[/img]", "T(a)I(http://u)");
    assert_parts("[img]http://u[/img]b", "I(http://u)T(b)");
    assert_parts("[img]/p/1.png[/img]b", "I(/p/1.png)T(b)");
    assert_parts("[img]//host/p[/img]", "T([img]//host/p[/img])");
    assert_parts("[img]/\\\\host[/img]", "T([img]/\\\\host[/img])");
    assert_parts("a[img]http://u[/img]b[img]http://v[/img]c", "T(a)I(http://u)T(b)I(http://v)T(c)");
    assert_parts("[img]http://u[/img][img]http://v[/img]", "I(http://u)I(http://v)");
}

static void an_unclosed_tag_is_text(void **state)
{
    (void)state;
    assert_parts("[img]", "T([img])");
    assert_parts("[/img]", "T([/img])");
    assert_parts("[img]u", "T([img]u)");
    assert_parts("u[/img]", "T(u[/img])");
    assert_parts("[img]u[/img", "T([img]u[/img)");
    assert_parts("[/img]u[img]", "T([/img]u[img])");
    assert_parts("[img]http://u[/img]v[/img]", "I(http://u)T(v[/img])");
    assert_parts("[img]http://u[/img]a[img]v", "I(http://u)T(a[img]v)");
    assert_parts("[IMG]u[/IMG]", "T([IMG]u[/IMG])");
}

static void an_empty_picture_is_text(void **state)
{
    (void)state;
    assert_parts("[img][/img]", "T([img][/img])");
    assert_parts("a[img][/img]b[img]http://u[/img]", "T(a[img][/img]b)I(http://u)");
    assert_parts("[img][/img]u[/img]", "T([img][/img]u[/img])");
}

static void of_nested_tags_the_innermost_counts(void **state)
{
    (void)state;
    assert_parts("[img][img]http://u[/img][/img]", "T([img])I(http://u)T([/img])");
    assert_parts("[img]a[img]http://u[/img]", "T([img]a)I(http://u)");
    assert_parts("[im[img]http://u[/img]", "T([im)I(http://u)");
    assert_parts("[img]u[img][/img]", "T([img]u[img][/img])");
}

/* The parts put together again are the body, whatever it is. */
static void nothing_of_a_body_is_lost(void **state)
{
    (void)state;
    static const char *const pieces[] = {"[img]", "[/img]",       "http://x", "[",
                                         "/img]", "\xe7\xac\x94", "]"};
    struct rng rng = test_rng();
    for (int round = 0; round < 20000; round++) {
        char body[128] = "", again[160] = "";
        for (uint64_t i = rng_below(&rng, 12); i; i--)
            strncat(body, pieces[rng_below(&rng, COUNT_OF(pieces))],
                    sizeof body - strlen(body) - 1);
        struct tidings_text rest = text_of(body);
        struct tidings_part part;
        bool text_before = false;
        size_t n = 0;
        while (tidings_next_part(&rest, &part)) {
            assert_false(text_before && !part.is_image); /* text is not cut in two */
            text_before = !part.is_image;
            n += (size_t)snprintf(again + n, sizeof again - n,
                                  part.is_image ? "[img]%.*s[/img]" : "%.*s", (int)part.text.n,
                                  part.text.p);
        }
        assert_string_equal(again, body);
    }
}

/* ---- Hostile bodies ------------------------------------------------------------------------- */

enum { HOSTILE = 65536 };

/* Repeated up to 64 KiB. Were work quadratic this would still end, but the parts are counted: a
 * body must not become more of them than it has tags. */
static size_t count_parts(const char *piece, const char *tail)
{
    char *body = malloc(HOSTILE + 64);
    size_t n = 0, parts = 0;
    assert_non_null(body);
    while (n + strlen(piece) <= HOSTILE) {
        memcpy(body + n, piece, strlen(piece));
        n += strlen(piece);
    }
    memcpy(body + n, tail, strlen(tail));
    struct tidings_text rest = {body, n + strlen(tail)};
    struct tidings_part part;
    size_t left = rest.n + 1;
    while (tidings_next_part(&rest, &part)) {
        assert_true(rest.n < left); /* it always moves on */
        left = rest.n;
        parts++;
    }
    free(body);
    return parts;
}

static void a_hostile_body_has_as_few_parts_as_it_should(void **state)
{
    (void)state;
    assert_int_equal(count_parts("[img]", ""), 1);
    assert_int_equal(count_parts("[/img]", ""), 1);
    assert_int_equal(count_parts("[img][/img]", ""), 1);
    assert_int_equal(count_parts("[img][/img]", "[img]http://u[/img]"), 2);
    assert_int_equal(count_parts("[img]", "http://u[/img]"), 2);
    assert_int_equal(count_parts("[/img][img]", ""), 1);
    assert_int_equal(count_parts("[img]http://u[/img]", ""), HOSTILE / 19);
    assert_int_equal(count_parts("[im[i[", ""), 1);
}

static void what_is_no_address_of_the_web_is_text(void **state)
{
    (void)state;
    assert_parts("[img]javascript:alert(1)[/img]", "T([img]javascript:alert(1)[/img])");
    assert_parts("[img]a.png[/img][img]http://u[/img]", "T([img]a.png[/img])I(http://u)");
    assert_parts("[img]http://u [/img]", "T([img]http://u [/img])");
    assert_int_equal(count_parts("[img]u[/img]", "[img]http://u[/img]"), 2);
}

/* ---- Excerpts ------------------------------------------------------------------------------- */

static void assert_excerpt(const char *body, size_t characters, const char *expected)
{
    char found[256];
    size_t n = markup_excerpt(text_of(body), characters, found, sizeof found);
    assert_int_equal(n, strlen(expected));
    assert_memory_equal(found, expected, n);
}

static void an_excerpt_is_cut_at_characters(void **state)
{
    (void)state;
    assert_excerpt("", 5, "");
    assert_excerpt("abc", 0, "");
    assert_excerpt("abc", 2, "ab");
    assert_excerpt("abc", 3, "abc");
    assert_excerpt("abc", 4, "abc");
    assert_excerpt("\xe7\xac\x94\xe8\xae\xb0\xe6\x9c\xac", 2, "\xe7\xac\x94\xe8\xae\xb0");
    assert_excerpt("\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 1, "\xf0\x9f\x98\x80");
}

static void an_excerpt_leaves_pictures_out(void **state)
{
    (void)state;
    assert_excerpt("[img]http://u[/img]", 5, "");
    assert_excerpt("a[img]http://u[/img]b", 5, "ab");
    assert_excerpt("ab[img]http://u[/img]cd", 3, "abc");
    assert_excerpt("ab[img]http://u[/img]cd", 2, "ab");
    assert_excerpt("[img]http://u[/img][img]http://v[/img]c", 1, "c");
    assert_excerpt("a[img]b", 7, "a[img]b");
}

static void an_excerpt_has_single_spaces_between_words_and_none_around(void **state)
{
    (void)state;
    assert_excerpt("a\n", 5, "a");
    assert_excerpt(" \t\r\na", 5, "a");
    assert_excerpt("a  b", 5, "a b");
    assert_excerpt("a\n\nb\v\fc ", 9, "a b c");
    assert_excerpt("a bc", 2, "a"); /* and not "a " */
    assert_excerpt("a   bc", 3, "a b");
    assert_excerpt("a [img]http://u[/img] b", 5, "a b");
    assert_excerpt("a [img]http://u[/img]", 5, "a");
    assert_excerpt("\n \n", 5, "");
}

static void an_excerpt_stays_in_its_room(void **state)
{
    (void)state;
    char found[8] = "#######";
    assert_true(markup_excerpt(text_of("abcdef"), 6, found, 3) <= 3);
    assert_int_equal(found[3], '#');
    assert_int_equal(markup_excerpt(text_of("abc"), 3, found, 0), 0);
}

static void an_excerpt_of_a_hostile_body_ends(void **state)
{
    (void)state;
    char *body = malloc(HOSTILE), found[560];
    assert_non_null(body);
    for (size_t i = 0; i + 19 <= HOSTILE; i += 19)
        memcpy(body + i, "[img]http://u[/img]", 19);
    struct tidings_text text = {body, HOSTILE / 19 * 19};
    assert_int_equal(markup_excerpt(text, 140, found, sizeof found), 0);
    free(body);
}

static void the_notice_is_in_both_languages(void **state)
{
    (void)state;
    assert_string_equal(tidings_deleted_notice(false), "This post was deleted by its author.");
    assert_string_equal(tidings_deleted_notice(true), "该笔记已被作者删除");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_counts_code_points),
        cmocka_unit_test(utf8_refuses_what_is_not_utf8),
        cmocka_unit_test(utf8_refuses_nul),
        cmocka_unit_test(utf8_refused_leaves_the_count_alone),
        cmocka_unit_test(utf8_accepts_exactly_what_encoding_gives),
        cmocka_unit_test(utf8_prefix_cuts_between_characters),
        cmocka_unit_test(pictures_are_told_from_text),
        cmocka_unit_test(an_unclosed_tag_is_text),
        cmocka_unit_test(an_empty_picture_is_text),
        cmocka_unit_test(what_is_no_address_of_the_web_is_text),
        cmocka_unit_test(of_nested_tags_the_innermost_counts),
        cmocka_unit_test(nothing_of_a_body_is_lost),
        cmocka_unit_test(a_hostile_body_has_as_few_parts_as_it_should),
        cmocka_unit_test(an_excerpt_is_cut_at_characters),
        cmocka_unit_test(an_excerpt_leaves_pictures_out),
        cmocka_unit_test(an_excerpt_has_single_spaces_between_words_and_none_around),
        cmocka_unit_test(an_excerpt_stays_in_its_room),
        cmocka_unit_test(an_excerpt_of_a_hostile_body_ends),
        cmocka_unit_test(the_notice_is_in_both_languages),
    };
    return RUN_TESTS(tests);
}

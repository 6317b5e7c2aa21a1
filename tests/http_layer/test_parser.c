/* SPDX-License-Identifier: MIT */
/* Queries, and the parser's own parts: heads, targets, chunks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "http/parser.h"
#include "http/query.h"

/* ---- queries ------------------------------------------------------------------------------- */

static struct http_text text(const char *bytes)
{
    return (struct http_text){.p = bytes, .n = strlen(bytes)};
}

static void assert_param(const struct http_query *query, const char *name, const char *value)
{
    struct http_text got = http_query_get(query, name);
    assert_non_null(got.p);
    assert_int_equal(got.n, strlen(value));
    assert_memory_equal(got.p, value, got.n);
}

static void query_decodes_names_and_values(void **state)
{
    struct arena arena;
    struct http_query query;
    struct http_text culprit;
    (void)state;
    arena_init(&arena, 65536);
    assert_int_equal(
        http_query_parse(text("a=1&b%20c=x+y%2B%e4%BD%A0&d&=e&&f=g=h"), &arena, &query, &culprit),
        HTTP_QUERY_OK);
    assert_int_equal(query.n, 5);
    assert_param(&query, "a", "1");
    assert_param(&query, "b c", "x y+\xe4\xbd\xa0");
    assert_param(&query, "d", "");
    assert_param(&query, "", "e");
    assert_param(&query, "f", "g=h");
    assert_null(http_query_get(&query, "z").p);
    assert_int_equal(http_query_parse((struct http_text){0}, &arena, &query, &culprit),
                     HTTP_QUERY_OK);
    assert_int_equal(query.n, 0);
    arena_release(&arena);
}

static void query_refuses_what_it_would_have_to_guess(void **state)
{
    static const struct {
        const char *raw, *culprit;
        enum http_query_err err;
    } cases[] = {
        {"a=1&b=%", "b=%", HTTP_QUERY_BAD_ESCAPE},    {"a=%4", "a=%4", HTTP_QUERY_BAD_ESCAPE},
        {"a=%g0", "a=%g0", HTTP_QUERY_BAD_ESCAPE},    {"a=%0g&b", "a=%0g", HTTP_QUERY_BAD_ESCAPE},
        {"%=1", "%=1", HTTP_QUERY_BAD_ESCAPE},        {"a=%00", "a=%00", HTTP_QUERY_BAD_ESCAPE},
        {"a=1&%61=2", "%61=2", HTTP_QUERY_DUPLICATE}, {"a&a", "a", HTTP_QUERY_DUPLICATE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        struct http_query query;
        struct http_text culprit = {0};
        arena_init(&arena, 65536);
        assert_int_equal(http_query_parse(text(cases[i].raw), &arena, &query, &culprit),
                         cases[i].err);
        assert_int_equal(culprit.n, strlen(cases[i].culprit));
        assert_memory_equal(culprit.p, cases[i].culprit, culprit.n);
        arena_release(&arena);
    }
    struct arena arena;
    struct http_query query;
    struct http_text culprit;
    char many[200] = "";
    for (int i = 0; i <= HTTP_QUERY_PARAMS; i++)
        sprintf(many + strlen(many), "%d&", i);
    arena_init(&arena, 65536);
    assert_int_equal(http_query_parse(text(many), &arena, &query, &culprit), HTTP_QUERY_TOO_MANY);
    arena_release(&arena);
}

/* ---- the parser ---------------------------------------------------------------------------- */

/* Wherever the bytes are cut, the end of the head is found in the same place. */
static void scan_finds_the_end_in_any_pieces(void **state)
{
    static const char bytes[] = "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\nbody";
    size_t total = sizeof bytes - 1, end = total - 4;
    (void)state;
    for (size_t a = 0; a <= total; a++) {
        for (size_t b = a; b <= total; b++) {
            struct http_scan scan = {0};
            size_t cuts[] = {0, a, b, total}, at = 0, skip, used = 0;
            enum http_scan_result result = HTTP_SCAN_MORE;
            for (size_t i = 0; i < 3 && result == HTTP_SCAN_MORE; i++) {
                result =
                    http_scan_head(&scan, bytes + cuts[i], cuts[i + 1] - cuts[i], &skip, &used);
                at = cuts[i] + used;
            }
            assert_int_equal(result, HTTP_SCAN_DONE);
            assert_int_equal(at, end);
        }
    }
}

static enum http_refusal refusal_of(const char *head)
{
    struct http_config config = {.head_max = 8192, .target_max = 4096, .headers_max = 4};
    static struct http_head out;
    return http_parse_head(head, strlen(head), &config, &out);
}

/* Wherever it stands: printable characters are passed eight at a time. */
static void parser_refuses_control_characters_in_every_place(void **state)
{
    (void)state;
    for (size_t at = 0; at < 24; at++)
        for (unsigned c = 1; c < 256; c++) {
            char head[] = "GET / HTTP/1.1\r\nHost: a\r\nX: a plain text of 24 bytes\r\n\r\n";
            char *text = strstr(head, "a plain");
            bool control = (c < 0x20 && c != '\t') || c == 0x7f;
            text[at] = (char)c;
            assert_int_equal(refusal_of(head) != HTTP_ACCEPTED, control);
        }
}

static void parser_says_why_it_refuses(void **state)
{
    static const struct {
        const char *head;
        enum http_refusal refusal;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_ACCEPTED},
        {"GET / HTTP/1.0\r\n\r\n", HTTP_ACCEPTED},
        {"GET / HTTP/1.1\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: a:4294967376\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: a:-1\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: :80\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: ::1\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: [::1]80\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: [::1]:x\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost: a[::1]\r\n\r\n", HTTP_REFUSED_BAD_HOST},
        {"GET / HTTP/1.1\r\nHost:\r\n\r\n", HTTP_ACCEPTED},
        {"GET / HTTP/1.1\r\nHost: a:\r\n\r\n", HTTP_ACCEPTED},
        {"GET / HTTP/1.1\r\nHost: a:65535\r\n\r\n", HTTP_ACCEPTED},
        {"GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", HTTP_ACCEPTED},
        {"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", HTTP_ACCEPTED},
        {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_REFUSED_MALFORMED},
        {"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_REFUSED_MALFORMED},
        {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", HTTP_REFUSED_MALFORMED},
        {"GET /\r\nHost: a\r\n\r\n", HTTP_REFUSED_MALFORMED},
        {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", HTTP_REFUSED_VERSION},
        {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", HTTP_REFUSED_VERSION},
        {"BREW / HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_REFUSED_NOT_IMPLEMENTED},
        {"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_REFUSED_NOT_IMPLEMENTED},
        {"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\n\r\n", HTTP_ACCEPTED},
        {"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_REFUSED_BAD_TARGET},
        {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_REFUSED_BAD_TARGET},
        {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_ACCEPTED},
        {"GET http://a/b HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_ACCEPTED},
        {"GET HTTPS://a:1/b HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_ACCEPTED},
        {"GET http:///b HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_REFUSED_BAD_TARGET},
        {"GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_ACCEPTED},
        {"GET http:// HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_REFUSED_BAD_TARGET},
        {"GET http://?b HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_REFUSED_BAD_TARGET},
        {"GET http://a:b/c HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_REFUSED_BAD_TARGET},
        {"GET http://a:65536 HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_REFUSED_BAD_TARGET},
        {"GET http://u@a/b HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_REFUSED_BAD_TARGET},
        {"GET ftp://a/b HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_REFUSED_BAD_TARGET},
        {"GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", HTTP_REFUSED_MALFORMED},
        {"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", HTTP_REFUSED_MALFORMED},
        {"GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n", HTTP_REFUSED_MALFORMED},
        {"GET / HTTP/1.1\r\nHost: a\r\nX(: y\r\n\r\n", HTTP_REFUSED_MALFORMED},
        {"GET / HTTP/1.1\r\nHost: a\r\nX: a\x01\r\n\r\n", HTTP_REFUSED_MALFORMED},
        {"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", HTTP_REFUSED_MALFORMED},
        {"GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", HTTP_REFUSED_EXPECTATION},
        {"GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\n\r\n",
         HTTP_REFUSED_HEAD_TOO_LARGE},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n",
         HTTP_REFUSED_BAD_FRAMING},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_REFUSED_BAD_FRAMING},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
         HTTP_REFUSED_NOT_IMPLEMENTED},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
         HTTP_REFUSED_NOT_IMPLEMENTED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum http_refusal got = refusal_of(cases[i].head);
        if (got != cases[i].refusal)
            fail_msg("%s is refused with %s", cases[i].head, http_refusal_code(got));
    }
}

static void targets_are_taken_apart(void **state)
{
    static const struct {
        const char *target, *path, *query;
    } cases[] = {
        {"/a/b?c?d", "/a/b", "c?d"}, {"/", "/", NULL},          {"http://h/a", "/a", NULL},
        {"http://h", "/", NULL},     {"https://h:1?", "/", ""}, {"http://h?a=/b", "/", "a=/b"},
    };
    struct http_config config = {.head_max = 8192, .target_max = 4096, .headers_max = 4};
    static struct http_head head;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char bytes[100];
        int n =
            snprintf(bytes, sizeof bytes, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", cases[i].target);
        assert_int_equal(http_parse_head(bytes, (size_t)n, &config, &head), HTTP_ACCEPTED);
        assert_int_equal(head.path.n, strlen(cases[i].path));
        assert_memory_equal(bytes + head.path.at, cases[i].path, head.path.n);
        assert_int_equal(head.has_query, cases[i].query != NULL);
        if (cases[i].query) {
            assert_int_equal(head.query.n, strlen(cases[i].query));
            assert_memory_equal(bytes + head.query.at, cases[i].query, head.query.n);
        }
    }
}

static enum http_chunk_result decode(const char *bytes, size_t piece, struct buf *body, size_t *at)
{
    struct http_chunks chunks = {0};
    size_t n = strlen(bytes), used = 0;
    enum http_chunk_result result = HTTP_CHUNK_MORE;
    for (*at = 0; *at < n && result == HTTP_CHUNK_MORE; *at += used) {
        size_t take = n - *at < piece ? n - *at : piece;
        result = http_chunks_feed(&chunks, bytes + *at, take, body, &used);
    }
    return result;
}

static void chunks_are_decoded_in_any_pieces(void **state)
{
    static const char bytes[] = "5\r\nhello\r\n0001\r\n \r\nA\r\nworld12345\r\n0\r\n\r\nGET";
    (void)state;
    for (size_t piece = 1; piece < sizeof bytes; piece++) {
        struct buf body;
        size_t at;
        buf_init(&body, 16);
        assert_int_equal(decode(bytes, piece, &body, &at), HTTP_CHUNK_DONE);
        assert_int_equal(at, sizeof bytes - 4);
        assert_int_equal(body.len, 16);
        assert_memory_equal(body.data, "hello world12345", 16);
        buf_release(&body);
    }
}

static void chunk_extensions_and_trailers_are_passed_over(void **state)
{
    static const char *const fine[] = {
        "5;a=b\r\nhello\r\n0\r\n\r\nGET",
        "5 ;a ; b=\"c;d\"\r\nhello\r\n0;last\r\n\r\nGET",
        "5\t;\r\nhello\r\n0\r\nX:\r\n\r\nGET",
        "5\r\nhello\r\n0\r\nX: y\r\nHost-Of-Many-Long-Names-Too: \xe6\x9e\x97\r\n\r\nGET",
    };
    (void)state;
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        for (size_t piece = 1; piece < 100; piece++) {
            struct buf body;
            size_t at;
            buf_init(&body, 100);
            assert_int_equal(decode(fine[i], piece, &body, &at), HTTP_CHUNK_DONE);
            assert_int_equal(at, strlen(fine[i]) - 3);
            assert_int_equal(body.len, 5);
            buf_release(&body);
        }
    }
}

/* However they are spread: many short ones cost as much as a long one. */
static void chunk_extensions_and_trailers_are_bounded(void **state)
{
    static const char *const repeated[] = {"1;a=b\r\nx\r\n", "0;aaaa", "0\r\nX: y\r\nX: y\r\n"};
    (void)state;
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
        struct buf bytes, body;
        size_t at;
        buf_init(&bytes, 1 << 20);
        buf_init(&body, 1 << 20);
        buf_text(&bytes, repeated[i]);
        const char *again = i == 0 ? repeated[i] : i == 1 ? "aaaa" : "X: y\r\n";
        while (bytes.len < 20 * HTTP_CHUNK_EXTRA_MAX)
            buf_text(&bytes, again);
        buf_char(&bytes, '\0');
        assert_int_equal(decode(bytes.data, 100, &body, &at), HTTP_CHUNK_TOO_LARGE);
        buf_release(&bytes);
        buf_release(&body);
    }
}

static void chunks_refuse_everything_ambiguous(void **state)
{
    static const char *const bad[] = {
        "5;a=b\nhello\r\n0\r\n\r\n",
        "5;a=b\rhello\r\n0\r\n\r\n",
        "5;a=\"\x01\"\r\nhello\r\n0\r\n\r\n",
        "5 a=b\r\nhello\r\n0\r\n\r\n",
        ";a=b\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "\r\nhello",
        "5\r\nhelloX0\r\n\r\n",
        "5\r\nhello\r0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "0\r\nX: y\n\r\n",
        "0\r\nX: y\r\r\n",
        "0\r\nX: y\r\n z\r\n\r\n",
        "0\r\n X: y\r\n\r\n",
        "0\r\nX : y\r\n\r\n",
        "0\r\nX\r\n\r\n",
        "0\r\n: y\r\n\r\n",
        "0\r\nX: a\x7f\r\n\r\n",
        "0\r\ncontent-Length: 5\r\n\r\n",
        "0\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n",
        "0\r\nHost: b\r\n\r\n",
        "0\r\n\n",
        "00000005\r\nhello",
        "fffffffffffffffff\r\n",
        " 5\r\nhello",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct buf body;
        size_t at;
        buf_init(&body, 100);
        assert_int_equal(decode(bad[i], 100, &body, &at), HTTP_CHUNK_BAD);
        buf_release(&body);
    }
    struct buf body;
    size_t at;
    buf_init(&body, 100);
    assert_int_equal(decode("fffffff\r\nx", 100, &body, &at), HTTP_CHUNK_TOO_LARGE);
    buf_release(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(query_decodes_names_and_values),
        cmocka_unit_test(query_refuses_what_it_would_have_to_guess),
        cmocka_unit_test(scan_finds_the_end_in_any_pieces),
        cmocka_unit_test(parser_refuses_control_characters_in_every_place),
        cmocka_unit_test(parser_says_why_it_refuses),
        cmocka_unit_test(targets_are_taken_apart),
        cmocka_unit_test(chunks_are_decoded_in_any_pieces),
        cmocka_unit_test(chunk_extensions_and_trailers_are_passed_over),
        cmocka_unit_test(chunk_extensions_and_trailers_are_bounded),
        cmocka_unit_test(chunks_refuse_everything_ambiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

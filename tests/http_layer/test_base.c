/* SPDX-License-Identifier: MIT */
/* Buffers, the JSON writer, base64url, the log, queries and the parser's own parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/base64url.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "base/log.h"
#include "http/parser.h"
#include "http/query.h"

/* ---- buf ----------------------------------------------------------------------------------- */

static void buf_stops_at_its_maximum_and_stays_failed(void **state)
{
    struct buf buf;
    (void)state;
    buf_init(&buf, 10);
    buf_append(&buf, "12345678", 8);
    buf_append(&buf, "abc", 3);
    assert_true(buf.failed);
    buf_append(&buf, "x", 1);
    assert_int_equal(buf.len, 8);
    buf_clear(&buf);
    buf_append(&buf, "1234567890", 10);
    assert_false(buf.failed);
    buf_release(&buf);
    buf_literal(&buf, "again");
    assert_memory_equal(buf.data, "again", 5);
    buf_release(&buf);
}

static void buf_never_writes_past_borrowed_memory(void **state)
{
    char bytes[9];
    struct buf buf;
    (void)state;
    memset(bytes, '#', sizeof bytes);
    buf_init_borrowed(&buf, bytes, 8);
    buf_printf(&buf, "%s", "1234567"); /* with the NUL of printf it just fits */
    assert_false(buf.failed);
    buf_char(&buf, '8');
    assert_false(buf.failed);
    buf_char(&buf, '9');
    assert_true(buf.failed);
    assert_memory_equal(bytes, "12345678#", 9);
}

static void buf_writes_every_kind_of_number(void **state)
{
    struct buf buf;
    (void)state;
    buf_init(&buf, 1000);
    buf_u64(&buf, 0);
    buf_char(&buf, ' ');
    buf_u64(&buf, UINT64_MAX);
    buf_char(&buf, ' ');
    buf_i64(&buf, INT64_MIN);
    buf_char(&buf, ' ');
    buf_i64(&buf, -1);
    buf_char(&buf, ' ');
    buf_hex64(&buf, 0xbeef);
    buf_char(&buf, '\0');
    assert_string_equal(buf.data,
                        "0 18446744073709551615 -9223372036854775808 -1 000000000000beef");
    buf_release(&buf);
}

/* ---- json_out ------------------------------------------------------------------------------ */

static void json_out_writes_nested_values(void **state)
{
    struct buf buf;
    struct json_out out;
    (void)state;
    buf_init(&buf, 1000);
    json_out_init(&out, &buf);
    json_out_object(&out);
    json_out_key(&out, "a");
    json_out_array(&out);
    json_out_u64(&out, 1);
    json_out_i64(&out, -2);
    json_out_object(&out);
    json_out_end(&out);
    json_out_array(&out);
    json_out_end(&out);
    json_out_end(&out);
    json_out_key(&out, "b");
    json_out_bool(&out, true);
    json_out_key(&out, "c");
    json_out_null(&out);
    json_out_key(&out, "d");
    json_out_raw(&out, "[0]", 3);
    json_out_end(&out);
    assert_true(json_out_ok(&out));
    buf_char(&buf, '\0');
    assert_string_equal(buf.data, "{\"a\":[1,-2,{},[]],\"b\":true,\"c\":null,\"d\":[0]}");
    buf_release(&buf);
}

static void assert_json_string(const char *bytes, size_t n, const char *json)
{
    struct buf buf;
    struct json_out out;
    buf_init(&buf, 10000);
    json_out_init(&out, &buf);
    json_out_string(&out, bytes, n);
    buf_char(&buf, '\0');
    assert_string_equal(buf.data, json);
    buf_release(&buf);
}

static void json_out_escapes_what_must_be_and_no_more(void **state)
{
    (void)state;
    assert_json_string("a\"b\\c/d", 7, "\"a\\\"b\\\\c/d\"");
    assert_json_string("\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"");
    assert_json_string("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\"");
    assert_json_string("\xe2\x80\xa8\xe2\x80\xa9", 6, "\"\xe2\x80\xa8\xe2\x80\xa9\"");
    assert_json_string("\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\"");
}

/* Wherever it stands: plain characters are passed eight at a time. */
static void json_out_finds_every_character_in_every_place(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 256; c++) {
        char alone[16];
        struct buf buf;
        struct json_out out;
        buf_init_borrowed(&buf, alone, sizeof alone - 1);
        json_out_init(&out, &buf);
        json_out_string(&out, (char[]){(char)c}, 1);
        alone[buf.len - 1] = '\0';
        for (size_t at = 0; at < 24; at++) {
            char text[] = "a plain text of 24 bytes", json[64];
            text[at] = (char)c;
            snprintf(json, sizeof json, "\"%.*s%s%s\"", (int)at, "a plain text of 24 bytes",
                     alone + 1, "a plain text of 24 bytes" + at + 1);
            assert_json_string(text, 24, json);
        }
    }
}

static void json_out_never_emits_invalid_utf8(void **state)
{
    static const char *const bad[] = {"\x80",         "\xc0\x80",     "\xc1\xbf",
                                      "\xed\xa0\x80", "\xe2\x80",     "\xf4\x90\x80\x80",
                                      "\xff",         "\xe0\x80\x80", "a\xf0\x9f\x98"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct buf buf;
        struct json_out out;
        buf_init(&buf, 1000);
        json_out_init(&out, &buf);
        json_out_string(&out, bad[i], strlen(bad[i]));
        json_t *read = json_loadb(buf.data, buf.len, JSON_DECODE_ANY, NULL);
        assert_non_null(read);
        json_decref(read);
        buf_release(&buf);
    }
    /* A long run with one bad byte in it loses that byte and nothing else. */
    char text[1003], json[1100];
    for (size_t i = 0; i < 1002; i += 3)
        memcpy(text + i, "\xe4\xbd\xa0", 3);
    memmove(text + 604, text + 603, sizeof text - 604);
    text[603] = (char)0xff;
    snprintf(json, sizeof json, "\"%.603s\xef\xbf\xbd%.399s\"", text, text + 604);
    assert_json_string(text, sizeof text, json);
    assert_json_string("a\xff!", 3, "\"a\xef\xbf\xbd!\"");
}

static void json_out_reports_misuse(void **state)
{
    struct buf buf;
    struct json_out out;
    (void)state;
    buf_init(&buf, 1000);
    json_out_init(&out, &buf);
    json_out_object(&out);
    json_out_u64(&out, 1);
    assert_false(json_out_ok(&out));
    json_out_init(&out, &buf);
    json_out_end(&out);
    assert_false(json_out_ok(&out));
    json_out_init(&out, &buf);
    for (int i = 0; i <= JSON_OUT_DEPTH; i++)
        json_out_array(&out);
    assert_true(out.misused);
    json_out_init(&out, &buf);
    json_out_array(&out);
    json_out_key(&out, "k");
    assert_true(out.misused);
    buf_release(&buf);
}

/* ---- base64url ----------------------------------------------------------------------------- */

static void base64url_round_trips_every_length(void **state)
{
    unsigned char bytes[256], back[256];
    char text[400];
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 151 + 7);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        size_t length, chars = base64url_encode(bytes, n, text);
        assert_int_equal(chars, BASE64URL_LENGTH(n));
        assert_true(base64url_decode(text, chars, back, n, &length));
        assert_int_equal(length, n);
        assert_memory_equal(bytes, back, n);
    }
}

static void base64url_has_one_text_for_one_value(void **state)
{
    static const char *const bad[] = {"QQ==", "QR",   "QUJ",  "Q",     "QQ\n",  " QQ",
                                      "Q Q",  "QU+D", "QU/D", "QUJD=", "QUJDQ", "QUJD\xc3"};
    char out[16];
    size_t n;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(base64url_decode(bad[i], strlen(bad[i]), out, sizeof out, &n));
    assert_false(base64url_decode("QUJD", 4, out, 2, &n));
    assert_true(base64url_decode("QUI", 3, out, 2, &n));
    assert_memory_equal(out, "AB", 2);
    assert_true(base64url_decode("-_-_", 4, out, 3, &n));
    assert_memory_equal(out, "\xfb\xff\xbf", 3);
}

/* Every text of up to three characters: what decodes must encode to itself. */
static void base64url_is_canonical_exhaustively(void **state)
{
    (void)state;
    for (unsigned word = 0; word < 1 << 24; word += 3) {
        char text[3] = {(char)word, (char)(word >> 8), (char)(word >> 16)}, again[4];
        unsigned char bytes[3];
        size_t n;
        if (base64url_decode(text, 3, bytes, sizeof bytes, &n)) {
            assert_int_equal(base64url_encode(bytes, n, again), 3);
            assert_memory_equal(text, again, 3);
        }
    }
}

/* ---- log ----------------------------------------------------------------------------------- */

static void log_writes_one_json_line_whatever_it_is_given(void **state)
{
    int fds[2];
    char text[2 * LOG_LINE_MAX];
    static char huge[2 * LOG_LINE_MAX];
    struct log_line line;
    (void)state;
    assert_int_equal(pipe(fds), 0);
    log_open(fds[1], LOG_INFO);
    log_message(LOG_DEBUG, "not seen");
    log_begin(&line, LOG_WARN, "request");
    log_string(&line, "path", "/a\nb\x1b[31m\xff", 10);
    memset(huge, 'h', sizeof huge);
    log_string(&line, "huge", huge, sizeof huge);
    log_i64(&line, "after", -5);
    log_hex(&line, "id", 255);
    log_end(&line);
    ssize_t n = read(fds[0], text, sizeof text);
    log_open(STDERR_FILENO, LOG_INFO);
    assert_true(n > 0);
    assert_ptr_equal(memchr(text, '\n', (size_t)n), text + n - 1);
    json_t *json = json_loadb(text, (size_t)n, 0, NULL);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "level")), "warn");
    assert_string_equal(json_string_value(json_object_get(json, "path")),
                        "/a\nb\x1b[31m\xef\xbf\xbd");
    assert_null(json_object_get(json, "huge"));
    assert_true(json_is_true(json_object_get(json, "cut")));
    assert_int_equal(json_integer_value(json_object_get(json, "after")), -5);
    json_decref(json);
    close(fds[0]);
    close(fds[1]);
}

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
        cmocka_unit_test(buf_stops_at_its_maximum_and_stays_failed),
        cmocka_unit_test(buf_never_writes_past_borrowed_memory),
        cmocka_unit_test(buf_writes_every_kind_of_number),
        cmocka_unit_test(json_out_writes_nested_values),
        cmocka_unit_test(json_out_escapes_what_must_be_and_no_more),
        cmocka_unit_test(json_out_finds_every_character_in_every_place),
        cmocka_unit_test(json_out_never_emits_invalid_utf8),
        cmocka_unit_test(json_out_reports_misuse),
        cmocka_unit_test(base64url_round_trips_every_length),
        cmocka_unit_test(base64url_has_one_text_for_one_value),
        cmocka_unit_test(base64url_is_canonical_exhaustively),
        cmocka_unit_test(log_writes_one_json_line_whatever_it_is_given),
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

/* SPDX-License-Identifier: MIT */
/* Buffers, the JSON writer, base64url and the log. */
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What is a JSON object, and what only looks like one. */
#include <string.h>

#include "domain/json.h"
#include "unit/test.h"

static bool holds(const char *text)
{
    /* In memory of its own size, so that a sanitizer sees a look behind the end. */
    size_t n = strlen(text);
    char *copy = malloc(n ? n : 1);
    memcpy(copy, text, n);
    bool is = json_holds_object(copy, n);
    free(copy);
    return is;
}

static void objects_are_objects(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{}",
        " \t\r\n{ \n} ",
        "{\"a\":1}",
        "{\"a\":{},\"b\":[],\"c\":[{}],\"d\":{\"e\":[[]]}}",
        "{ \"a\" : [ 1 , 2 , { \"b\" : null } ] , \"c\" : true , \"d\" : false }",
        "{\"\":\"\"}",
        "{\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\":\"\xc3\xa9\"}",
        "{\"a\":[0,-0,1.5,-1.25e10,1E+2,1e-2,123456789012345678901234567890]}",
        "{\"a\":1,\"a\":2}",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(holds(good[i]));
}

static void other_things_are_not(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "}",
        "[]",
        "[{}]",
        "\"{}\"",
        "null",
        "1",
        "{}{}",
        "{} x",
        "{]",
        "[}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\" 1}",
        "{a:1}",
        "{'a':1}",
        "{1:1}",
        "{\"a\":1,}",
        "{,\"a\":1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1;\"b\":2}",
        "{\"a\":[1,]}",
        "{\"a\":[,1]}",
        "{\"a\":[1 2]}",
        "{\"a\":[1}",
        "{\"a\":[1]]}",
        "{\"a\":{\"b\":1}",
        "{\"a\":\"x}",
        "{\"a\":\"\n\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\",
        "{\"a\":\"\\u12\"}",
        "{\"a\":\"\\uD800\"}",
        "{\"a\":\"\\uDC00\"}",
        "{\"a\":\"\\uD800\\u0041\"}",
        "{\"a\":\"\\uD800\\n\"}",
        "{\"a\":01}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":1.}",
        "{\"a\":1e}",
        "{\"a\":1e+}",
        "{\"a\":-}",
        "{\"a\":0x1}",
        "{\"a\":NaN}",
        "{\"a\":Infinity}",
        "{\"a\":True}",
        "{\"a\":nul}",
        "{\"a\":truex}",
        "{\"a\":/**/1}",
        "\xef\xbb\xbf{}",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(holds(bad[i]));
    assert_false(json_holds_object("{}\0", 3));
    assert_false(json_holds_object("{\"\0\":1}", 7));
}

static void depth_is_bounded(void **state)
{
    (void)state;
    char text[4 * JSON_DEPTH + 16];
    for (int depth = 1; depth <= JSON_DEPTH + 1; depth++) {
        size_t n = 0;
        memcpy(text, "{\"a\":", 5);
        n = 5;
        memset(text + n, '[', (size_t)depth - 1);
        n += (size_t)depth - 1;
        if (depth == 1)
            text[n++] = '1';
        memset(text + n, ']', (size_t)depth - 1);
        n += (size_t)depth - 1;
        text[n++] = '}';
        assert_true(json_holds_object(text, n) == (depth <= JSON_DEPTH));
    }
}

/* Nothing that is cut short is whole, and nothing is read behind it. */
static void no_beginning_of_one_is_one(void **state)
{
    (void)state;
    static const char whole[] =
        "{\"a\":[1.5e-3,true,null,{\"b\":\"\\uD83D\\uDE00\\n\"}],\"c\":-0.0}";
    char text[sizeof whole];
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        memcpy(text, whole, n);
        text[n] = '\0';
        assert_false(holds(text));
    }
    assert_true(holds(whole));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_objects),
        cmocka_unit_test(other_things_are_not),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(no_beginning_of_one_is_one),
    };
    return RUN_TESTS(tests);
}

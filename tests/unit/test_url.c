/* SPDX-License-Identifier: MIT */
/* Addresses that others will show. */
#include <string.h>

#include "domain/url.h"
#include "unit/test.h"

static bool is_web(const char *url)
{
    return url_is_web((struct tidings_text){url, strlen(url)});
}

static void addresses_of_the_web_are_fine(void **state)
{
    (void)state;
    static const char *const good[] = {
        "http://a",
        "https://example.org/a.png",
        "HTTPS://Example.org",
        "http://127.0.0.1:8080/x?y=z&w='#f",
        "http://[::1]/",
        "http://[2001:db8::1]:65535",
        "https://a_b.example-c.org?x",
        "https://a#b",
        "https://\xe4\xbe\x8b\xe3\x81\x88.jp/\xe7\x8c\xab.png",
        "https://a/%41%7e",
        "https://a/@b:c",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++)
        if (!is_web(good[i]))
            fail_msg("%s", good[i]);
}

static void others_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "a",
        "/a.png",
        "//a/b",
        "http",
        "http:",
        "http:/a",
        "http:a",
        "http://",
        "https://",
        "https:///a",
        "https://?a",
        "https://#a",
        "javascript:alert(1)",
        "javascript://a/%0aalert(1)",
        "data:text/html,x",
        "ftp://a/",
        "file:///etc/passwd",
        " http://a",
        "http://a ",
        "http://a/b c",
        "http://a/\nb",
        "http://a/\x7f",
        "http://a/\"onerror=x",
        "http://a/<b>",
        "http://a/`",
        "http://a\\b/",
        "http://a/\\b",
        "http://u@a/",
        "http://u:p@a/",
        "http://a:/",
        "http://a:0/",
        "http://a:65536/",
        "http://a:000080/",
        "http://a:8x/",
        "http://:80/",
        "http://.a/",
        "http://a%2eb/",
        "http://[]/",
        "http://[::1/",
        "http://[1]/",
        "http://[::g]/",
        "http://[::1]x/",
        "http://a/%",
        "http://a/%4",
        "http://a/%4g",
        "h\xc3\xa9ttp://a",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (is_web(bad[i]))
            fail_msg("%s", bad[i]);
    assert_false(url_is_web((struct tidings_text){NULL, 0}));
    assert_false(url_is_web((struct tidings_text){"http://a/\0b", 11}));
    assert_false(url_is_web((struct tidings_text){"http://a\0b", 10}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_the_web_are_fine),
        cmocka_unit_test(others_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "sql/url.h"

#include <string.h>

#include "unit/test.h"

static struct sql_url parsed(const char *text)
{
    struct sql_url url;
    const char *wrong = NULL;
    if (!sql_url_parse(text, &url, &wrong))
        fail_msg("%s: %s", text, wrong);
    assert_null(wrong);
    return url;
}

/* Refused, and the reason has that word; what the caller had stays. */
static void assert_wrong(const char *text, const char *word)
{
    struct sql_url url, before;
    const char *wrong = NULL;
    memset(&url, 0x5a, sizeof url);
    before = url;
    if (sql_url_parse(text, &url, &wrong))
        fail_msg("%s was taken", text);
    assert_non_null(wrong);
    if (!strstr(wrong, word))
        fail_msg("%s: \"%s\" does not say \"%s\"", text, wrong, word);
    assert_memory_equal(&url, &before, sizeof url);
}

static void a_url_has_its_parts(void **state)
{
    (void)state;
    struct sql_url url =
        parsed("mysql://tidings@db.example:3307/community?tls=verify&ca=/etc/ca.pem");
    assert_string_equal(url.user, "tidings");
    assert_string_equal(url.host, "db.example");
    assert_int_equal(url.port, 3307);
    assert_string_equal(url.database, "community");
    assert_string_equal(url.socket, "");
    assert_true(url.tls);
    assert_string_equal(url.ca, "/etc/ca.pem");
}

static void what_is_left_out_is_standard(void **state)
{
    (void)state;
    static const char *const urls[] = {"mysql://u@h", "mysql://u@h/", "mysql://u@h?",
                                       "mysql://u@h/?tls=off"};
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct sql_url url = parsed(urls[i]);
        assert_string_equal(url.user, "u");
        assert_string_equal(url.host, "h");
        assert_int_equal(url.port, 3306);
        assert_string_equal(url.database, "");
        assert_string_equal(url.socket, "");
        assert_string_equal(url.ca, "");
        assert_false(url.tls);
    }
}

static void escapes_are_decoded(void **state)
{
    (void)state;
    struct sql_url url =
        parsed("mysql://a%40b%3a%C3%a9@localhost/d%5Fb?socket=/run/a%20b%26c%23.sock");
    assert_string_equal(url.user, "a@b:\xc3\xa9");
    assert_string_equal(url.database, "d_b");
    assert_string_equal(url.socket, "/run/a b&c#.sock");
}

static void an_ipv6_address_stands_in_brackets(void **state)
{
    (void)state;
    struct sql_url url = parsed("mysql://u@[2001:db8::1]:3310/d");
    assert_string_equal(url.host, "2001:db8::1");
    assert_int_equal(url.port, 3310);
    assert_int_equal(parsed("mysql://u@[::1]/d").port, 3306);
    assert_wrong("mysql://u@2001:db8::1/d", "port");
    assert_wrong("mysql://u@[::1/d", "host");
    assert_wrong("mysql://u@[::1]3306/d", "host");
    assert_wrong("mysql://u@[]/d", "host");
}

static void a_password_is_refused_and_told_where_to_go(void **state)
{
    (void)state;
    assert_wrong("mysql://u:secret@h/d", "TIDINGS_MYSQL_PASSWORD_FILE");
    assert_wrong("mysql://u:@h/d", "TIDINGS_MYSQL_PASSWORD");
    const char *wrong;
    struct sql_url url;
    assert_false(sql_url_parse("mysql://u:secret@h/d", &url, &wrong));
    assert_null(strstr(wrong, "secret"));
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *url, *word;
    } cases[] = {
        {"", "mysql://"},
        {"mysql:/u@h", "mysql://"},
        {"postgres://u@h/d", "mysql://"},
        {"mysql://", "user"},
        {"mysql://h/d", "user"},
        {"mysql://@h/d", "user"},
        {"mysql://u%0a@h/d", "user"},
        {"mysql://u%00@h/d", "user"},
        {"mysql://u%4@h/d", "user"},
        {"mysql://u%zz@h/d", "user"},
        {"mysql://u@/d", "host"},
        {"mysql://u@a@b/d", "host"},
        {"mysql://u@a%2fb/d", "host"},
        {"mysql://u@h:/d", "port"},
        {"mysql://u@h:0/d", "port"},
        {"mysql://u@h:65536/d", "port"},
        {"mysql://u@h:+1/d", "port"},
        {"mysql://u@h:999999999999/d", "port"},
        {"mysql://u@h/a/b", "database"},
        {"mysql://u@h/a`b", "database"},
        {"mysql://u@h/a.b", "database"},
        {"mysql://u@h/%00", "database"},
        {"mysql://u@h/d#f", "#"},
        {"mysql://u@h/d?socket=", "socket"},
        {"mysql://u@h/d?socket", "socket"},
        {"mysql://u@h/d?socket=run/s", "socket"},
        {"mysql://u@h/d?socket=/run/s", "localhost"},
        {"mysql://u@h/d?tls=maybe", "tls"},
        {"mysql://u@h/d?tls=verify&ca=", "ca"},
        {"mysql://u@h/d?ca=/f", "tls=verify"},
        {"mysql://u@h/d?tls=off&ca=/f", "tls=verify"},
        {"mysql://u@h/d?tls=verify&tls=off", "twice"},
        {"mysql://u@h/d?password=x", "parameter"},
        {"mysql://u@h/d?tls=off&", "parameter"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_wrong(cases[i].url, cases[i].word);
}

/* "before", `n` times x, "after" is taken up to `most` and no further. */
static void assert_most(const char *before, size_t most, const char *after, const char *word)
{
    char text[SQL_URL_FILE_MAX + 100];
    for (size_t n = most; n <= most + 1; n++) {
        int used = snprintf(text, sizeof text, "%s%*s%s", before, (int)n, "", after);
        assert_in_range(used, 1, sizeof text - 1);
        memset(text + strlen(before), 'x', n);
        if (n == most)
            parsed(text);
        else
            assert_wrong(text, word);
    }
}

static void every_part_has_its_bound(void **state)
{
    (void)state;
    assert_most("mysql://", SQL_URL_USER_MAX, "@h/d", "user");
    assert_most("mysql://u@", SQL_URL_HOST_MAX, "/d", "host");
    assert_most("mysql://u@h/", SQL_URL_DATABASE_MAX, "", "database");
    assert_most("mysql://u@localhost/d?socket=/", SQL_URL_SOCKET_MAX - 1, "", "socket");
    assert_most("mysql://u@h/d?tls=verify&ca=", SQL_URL_FILE_MAX, "", "ca");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_url_has_its_parts),
        cmocka_unit_test(what_is_left_out_is_standard),
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(an_ipv6_address_stands_in_brackets),
        cmocka_unit_test(a_password_is_refused_and_told_where_to_go),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(every_part_has_its_bound),
    };
    return RUN_TESTS(tests);
}

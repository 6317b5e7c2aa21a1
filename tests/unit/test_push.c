/* SPDX-License-Identifier: MIT */
/* Where webhooks may lead, what they are sent, and when they are tried again. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "push/address.h"
#include "push/message.h"
#include "push/rules.h"
#include "push/secret.h"
#include "unit/test.h"

/* ---- Addresses ------------------------------------------------------------------------------ */

static const struct {
    const char *address;
    bool is_public;
} addresses[] = {
    {"0.0.0.0", false},
    {"0.255.255.255", false},
    {"1.0.0.0", true},
    {"9.255.255.255", true},
    {"10.0.0.0", false},
    {"10.255.255.255", false},
    {"11.0.0.0", true},
    {"100.63.255.255", true},
    {"100.64.0.0", false},
    {"100.127.255.255", false},
    {"100.128.0.0", true},
    {"126.255.255.255", true},
    {"127.0.0.0", false},
    {"127.0.0.1", false},
    {"127.255.255.255", false},
    {"128.0.0.0", true},
    {"169.253.255.255", true},
    {"169.254.169.254", false},
    {"169.255.0.0", true},
    {"172.15.255.255", true},
    {"172.16.0.0", false},
    {"172.31.255.255", false},
    {"172.32.0.0", true},
    {"192.0.0.8", false},
    {"192.0.1.0", true},
    {"192.0.2.1", false},
    {"192.88.99.1", false},
    {"192.167.255.255", true},
    {"192.168.0.0", false},
    {"192.168.255.255", false},
    {"192.169.0.0", true},
    {"198.17.255.255", true},
    {"198.18.0.0", false},
    {"198.19.255.255", false},
    {"198.20.0.0", true},
    {"198.51.100.7", false},
    {"203.0.113.7", false},
    {"203.0.114.0", true},
    {"223.255.255.255", true},
    {"224.0.0.1", false},
    {"239.255.255.255", false},
    {"240.0.0.1", false},
    {"255.255.255.255", false},
    {"8.8.8.8", true},

    {"::", false},
    {"::1", false},
    {"::7f00:1", false}, /* as it was once written */
    {"::ffff:127.0.0.1", false},
    {"::ffff:8.8.8.8", false},
    {"64:ff9b::7f00:1", false},
    {"64:ff9b::808:808", false},
    {"64:ff9b:1::1", false},
    {"100::1", false},
    {"fc00::1", false},
    {"fd12:3456::1", false},
    {"fe80::1", false},
    {"febf::1", false},
    {"fec0::1", false},
    {"ff02::1", false},
    {"1fff::1", false},
    {"2000::1", true},
    {"2001::1", false}, /* Teredo */
    {"2001:1ff::1", false},
    {"2001:200::1", true},
    {"2001:db7::1", true},
    {"2001:db8::1", false},
    {"2001:db9::1", true},
    {"2002:7f00:1::", false},
    {"2002:808:808::", false},
    {"2003::1", true},
    {"2606:4700::1111", true},
    {"3ffe::1", true},
    {"3fff::1", false},
    {"3fff:fff::1", false},
    {"3fff:1000::1", true},
    {"4000::1", false},
    {"5f00::1", false},
};

static socklen_t make_address(const char *text, struct sockaddr_storage *to)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)to;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;
    memset(to, 0, sizeof *to);
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        to->ss_family = AF_INET;
        return sizeof *v4;
    }
    assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
    to->ss_family = AF_INET6;
    return sizeof *v6;
}

static void only_addresses_of_the_internet_are_public(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(addresses); i++) {
        struct sockaddr_storage address;
        bool is_address;
        socklen_t n = make_address(addresses[i].address, &address);
        if (address_is_public((struct sockaddr *)&address, n) != addresses[i].is_public ||
            address_text_is_public(addresses[i].address, &is_address) != addresses[i].is_public)
            fail_msg("%s", addresses[i].address);
        assert_true(is_address);
        assert_false(address_is_public((struct sockaddr *)&address, n - 1));
    }
}

static void other_families_are_not_public(void **state)
{
    (void)state;
    struct sockaddr_storage address = {.ss_family = AF_UNIX};
    bool is_address;
    assert_false(address_is_public((struct sockaddr *)&address, sizeof address));
    assert_false(address_text_is_public("example.org", &is_address));
    assert_false(is_address);
}

/* ---- URLs ----------------------------------------------------------------------------------- */

static struct push_rules *rules_of(const char *allow)
{
    const char *wrong;
    struct push_rules *rules = push_rules_new(allow, &wrong);
    if (!rules)
        fail_msg("%s", wrong);
    return rules;
}

static bool may_call(const struct push_rules *rules, const char *url, bool *trusted)
{
    return push_check_url(rules, url, strlen(url), trusted) == NULL;
}

static void without_an_exception_it_is_https_to_the_public(void **state)
{
    (void)state;
    const char *const good[] = {
        "https://example.org",        "https://example.org/",  "https://example.org:8443/a?b=c",
        "HTTPS://EXAMPLE.ORG/",       "https://8.8.8.8/",      "https://[2606:4700::1111]:443/x",
        "https://localhost.example/", "https://mylocalhost/a",
    };
    const char *const bad[] = {
        "",
        "x",
        "example.org",
        "//example.org/",
        "/path",
        "http://example.org/",
        "http://8.8.8.8/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "gopher://example.org/",
        "javascript:alert(1)",
        "https://",
        "https:///path",
        "https:/example.org/",
        "https:example.org/",
        "https://example.org\\@10.0.0.1/",
        "https://user@example.org/",
        "https://user:pass@example.org/",
        "https://:pass@example.org/",
        "https://@example.org/",
        "https://example.org/#fragment",
        "https://example.org:0/",
        "https://example.org:65536/",
        "https://example.org:port/",
        "https://exa mple.org/",
        "https://example.org/\n",
        "https://example.org/\t",
        "https://ex\xc3\xa4mple.org/",
        "https://localhost/",
        "https://LocalHost./",
        "https://a.localhost:1/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://0x7f.0.0.1/",
        "https://0177.0.0.1/",
        "https://2130706433/",
        "https://017700000001/",
        "https://0/",
        "https://10.1.2.3/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://[::]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://[fe80::1%25eth0]/",
        "https://[fe80::1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
    };
    struct push_rules *rules = rules_of(NULL);
    bool trusted = true;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        if (!may_call(rules, good[i], &trusted))
            fail_msg("refused: %s", good[i]);
        assert_false(trusted);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (may_call(rules, bad[i], &trusted))
            fail_msg("accepted: %s", bad[i]);
    push_rules_free(rules);
}

static void a_url_is_not_read_past_its_end(void **state)
{
    (void)state;
    struct push_rules *rules = rules_of(NULL);
    static char url[4096] = "https://example.org/";
    bool trusted;
    memset(url + 20, 'x', sizeof url - 20);
    assert_null(push_check_url(rules, url, 2048, &trusted));
    assert_non_null(push_check_url(rules, url, 2049, &trusted));
    assert_non_null(push_check_url(rules, "https://example.org/\0evil", 25, &trusted));
    push_rules_free(rules);
}

static void hosts_that_are_allowed_may_be_plain_and_private(void **state)
{
    (void)state;
    struct push_rules *rules = rules_of("127.0.0.1:8080, Gateway.Internal ,,[::1]:9,[fd00::5]");
    const struct {
        const char *url;
        bool fine, trusted;
    } rows[] = {
        {"http://127.0.0.1:8080/a", true, true},
        {"https://127.0.0.1:8080/a", true, true},
        {"http://127.1:8080/", true, true}, /* the same address */
        {"http://127.0.0.1:8081/", false, false},
        {"https://127.0.0.1/", false, false},
        {"http://gateway.internal/", true, true},
        {"http://gateway.internal.:81/", true, true},
        {"https://GATEWAY.internal:444/", true, true},
        {"http://gateway.internal.example/", false, false},
        {"http://a.gateway.internal/", false, false},
        {"http://[::1]:9/", true, true},
        {"http://[::1]:10/", false, false},
        {"http://[fd00::5]:10/", true, true},
        {"https://other.example/", true, false},
        {"http://user@gateway.internal/", false, false},
        {"ftp://gateway.internal/", false, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool trusted = false;
        if (may_call(rules, rows[i].url, &trusted) != rows[i].fine || trusted != rows[i].trusted)
            fail_msg("%s", rows[i].url);
    }
    push_rules_free(rules);
}

static void networks_that_are_allowed_have_their_addresses_and_no_names(void **state)
{
    (void)state;
    const struct {
        const char *allow, *url;
        bool fine, trusted;
    } rows[] = {
        {"10.0.0.0/8", "http://10.0.0.0/", true, true},
        {"10.0.0.0/8", "http://10.255.255.255:81/", true, true},
        {"10.0.0.0/8", "https://10.1.2.3/", true, true},
        {"10.0.0.0/8", "http://9.255.255.255/", false, false},
        {"10.0.0.0/8", "http://11.0.0.0/", false, false},
        {"10.0.0.0/8", "http://10.example/", false, false},
        {"10.0.0.0/8", "http://name.example/", false, false}, /* wherever it may lead */
        {"10.0.0.0/8", "https://name.example/", true, false},
        {"10.0.0.0/8", "http://[::ffff:10.1.2.3]/", false, false},
        {"10.0.0.0/8", "http://[a00::]/", false, false},
        {"172.16.0.0/12", "http://172.31.255.255/", true, true},
        {"172.16.0.0/12", "http://172.32.0.0/", false, false},
        {"192.168.1.128/25:8080", "http://192.168.1.128:8080/", true, true},
        {"192.168.1.128/25:8080", "http://192.168.1.127:8080/", false, false},
        {"192.168.1.128/25:8080", "http://192.168.1.128:8081/", false, false},
        {"127.0.0.1/32", "http://127.0.0.1/", true, true},
        {"127.0.0.1/32", "http://127.0.0.2/", false, false},
        {"127.0.0.1/32", "http://localhost/", false, false},
        {"0.0.0.0/0", "http://169.254.169.254/", true, true},
        {"0.0.0.0/0", "http://[::1]/", false, false},
        {"::/0", "http://[::1]/", true, true},
        {"::/0", "http://127.0.0.1/", false, false},
        {"fd00::/8", "http://[fdff::1]:9/", true, true},
        {"fd00::/8", "http://[fe00::1]/", false, false},
        {"[fd00::]/8:9", "http://[fd12::1]:9/", true, true},
        {"[fd00::]/8:9", "http://[fd12::1]/", false, false},
        {"::1/128", "http://[::1]/", true, true},
        {"::1/128", "http://[::2]/", false, false},
        {"2001:db8:8000::/33", "http://[2001:db8:ffff::]/", true, true},
        {"2001:db8:8000::/33", "http://[2001:db8:7fff::]/", false, false},
        {"a.example, 10.0.0.0/8 ,b.example", "http://10.1.1.1/", true, true},
        {"a.example, 10.0.0.0/8 ,b.example", "http://b.example/", true, true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct push_rules *rules = rules_of(rows[i].allow);
        bool trusted = false;
        if (may_call(rules, rows[i].url, &trusted) != rows[i].fine || trusted != rows[i].trusted)
            fail_msg("%s %s", rows[i].allow, rows[i].url);
        push_rules_free(rules);
    }
}

static void an_address_of_an_allowed_network_may_be_connected_to(void **state)
{
    (void)state;
    struct push_rules *rules = rules_of("10.0.0.0/8, fd00::/8:443, 192.168.1.1");
    const struct {
        const char *address;
        uint16_t port;
        bool fine;
    } rows[] = {
        {"10.1.2.3", 1, true},     {"11.1.2.3", 1, false},  {"fd00::1", 443, true},
        {"fd00::1", 444, false},   {"fe00::1", 443, false}, {"::ffff:10.1.2.3", 1, false},
        {"192.168.1.1", 1, false}, /* a host: as it is in a URL */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct sockaddr_storage address;
        socklen_t n = make_address(rows[i].address, &address);
        ((struct sockaddr_in *)&address)->sin_port = htons(rows[i].port); /* where v6 has it, too */
        if (push_allows_address(rules, (struct sockaddr *)&address, n) != rows[i].fine)
            fail_msg("%s", rows[i].address);
        assert_false(push_allows_address(rules, (struct sockaddr *)&address, n - 1));
    }
    push_rules_free(rules);
}

static void a_malformed_list_is_refused(void **state)
{
    (void)state;
    const char *const bad[] = {"a:",
                               "a:0",
                               "a:65536",
                               "a:x",
                               ":80",
                               "a b",
                               "http://a",
                               "a/path",
                               "u@host",
                               "[::1",
                               "[]:1",
                               "[::1]9",
                               "::1",
                               "a,b:-1",
                               "10.0.0.0/",
                               "10.0.0.0/33",
                               "10.0.0.0/-1",
                               "10.0.0.0/+8",
                               "10.0.0.0/8x",
                               "10.0.0.0/008x",
                               "10.0.0.0/ 8",
                               "10.0.0.0/1000",
                               "10.0.0.0/4294967304",
                               "10.0.0.1/8",
                               "10.0.0.0/7/8",
                               "10.128.0.0/8",
                               "10.0.0/8",
                               "10/8",
                               "/8",
                               "10.0.0.0/8:",
                               "10.0.0.0/8:0",
                               "10.0.0.0/8:65536",
                               "a.example/8",
                               "[10.0.0.0/8]",
                               "fd00::/129",
                               "fd00::1/64",
                               "::1/127",
                               "[fd00::/8",
                               "fd00::]/8",
                               "[]/8",
                               "::/",
                               "fd00::/8/8",
                               "0.0.0.1/0",
                               "::1/0"};
    const char *wrong;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct push_rules *rules = push_rules_new(bad[i], &wrong);
        if (rules)
            fail_msg("accepted: %s", bad[i]);
    }
    push_rules_free(rules_of(""));
    push_rules_free(rules_of(" , "));
}

/* ---- Messages ------------------------------------------------------------------------------- */

static void only_what_subscribers_are_told_has_a_tag(void **state)
{
    (void)state;
    char tag[TIDINGS_TAG_MAX];
    struct tidings_event event = {.post_id = TIDINGS_ID_MAX, .target_id = 5};
    for (int type = TIDINGS_EVENT_NONE; type <= TIDINGS_EVENT_PREFERENCES_CHANGED; type++) {
        event.type = (enum tidings_event_type)type;
        assert_int_equal(tidings_event_tag(&event, tag), type == TIDINGS_EVENT_SCENE_PUBLISHED);
    }
    event.type = TIDINGS_EVENT_SCENE_PUBLISHED;
    assert_true(tidings_event_tag(&event, tag));
    assert_string_equal(tag, "story:9007199254740991");
}

/* Computed with Python's hmac module. */
static void a_body_is_signed_with_its_time(void **state)
{
    (void)state;
    struct buf body;
    char signature[SIGNATURE_MAX];
    buf_init(&body, 4096);
    buf_text(&body, "{\"event_id\":1}");
    assert_true(message_sign("0123456789abcdef", 16, 1700000000, &body, signature));
    assert_string_equal(signature,
                        "v1=0466a8191f5ccc2aa00bd24fd27cd5d3bbfcf800cba43e9159cb4b03bb1f19b1");
    buf_release(&body);
}

static void a_body_has_all_of_the_event(void **state)
{
    (void)state;
    const struct tidings_event event = {.event_id = TIDINGS_ID_MAX,
                                        .type = TIDINGS_EVENT_SCENE_PUBLISHED,
                                        .happened_at = 1700000000123,
                                        .target_id = 3,
                                        .author_id = 4,
                                        .post_id = 2};
    struct buf body;
    buf_init(&body, 4096);
    message_body(&event, true, 7, &body);
    buf_char(&body, '\0');
    assert_false(body.failed);
    assert_string_equal(body.data,
                        "{\"event_id\":9007199254740991,\"type\":\"ScenePublished\","
                        "\"tag\":\"story:2\",\"happened_at\":1700000000123,\"story_id\":2,"
                        "\"scene_id\":3,\"author_id\":4,\"attempt\":7}");
    buf_release(&body);
}

static void a_body_of_other_events_is_what_the_log_has(void **state)
{
    (void)state;
    const struct tidings_event event = {.event_id = 5,
                                        .type = TIDINGS_EVENT_VOTE_CREATED,
                                        .happened_at = 1700000000123,
                                        .actor_user_id = 6,
                                        .target_id = 3,
                                        .author_id = 4,
                                        .delta = -1,
                                        .post_id = 2,
                                        .reaction = TIDINGS_DOWNVOTE};
    struct buf body;
    buf_init(&body, 4096);
    message_body(&event, false, 1, &body);
    buf_char(&body, '\0');
    assert_string_equal(
        body.data, "{\"event_id\":5,\"type\":\"ReactionCreated\",\"happened_at\":1700000000123,"
                   "\"actor_user_id\":6,\"target_type\":\"comment\",\"target_id\":3,"
                   "\"action\":\"react\",\"delta\":-1,\"author_id\":4,\"post_id\":2,"
                   "\"reaction\":\"downvote\",\"yl\":{\"event_type\":\"REACTION_CREATED\","
                   "\"event_id\":5,\"happened_at\":1700000000123,\"actor_user_id\":6,"
                   "\"target_type\":\"COMMENT\",\"target_id\":3,\"action\":\"DOWNVOTE\","
                   "\"delta\":-1},\"tag\":null,\"attempt\":1}");
    buf_release(&body);
}

/* ---- Secrets -------------------------------------------------------------------------------- */

/* The example of the specification. */
static void the_standard_signature_is_that_of_its_specification(void **state)
{
    (void)state;
    struct buf body;
    char signature[SIGNATURE_MAX];
    buf_init(&body, 4096);
    buf_text(&body, "{\"test\": 2432232314}");
    const char *secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
               *id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    assert_true(message_sign_standard(secret, NULL, id, 1614265330, &body, signature));
    assert_string_equal(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    assert_true(message_sign_standard("a plain secret of before", secret, id, 1614265330, &body,
                                      signature));
    assert_string_equal(strchr(signature, ' '), " v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    assert_int_equal(strlen(signature), SIGNATURE_MAX - 1);
    buf_release(&body);
}

static void a_secret_with_the_prefix_must_be_one(void **state)
{
    (void)state;
    static const char base64[] =
        "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMw==";
    const struct {
        size_t n; /* of the base64 */
        const char *end;
        bool fine;
    } rows[] = {
        {32, "", true},                           /* 24 bytes */
        {28, "", false},                          /* 21 */
        {84, "", true},                           /* 63 */
        {88, "", true},                           /* 64, padded */
        {86, "", false},                          /* without the padding */
        {32, "Mg==", true},  {32, "Mh==", false}, /* bits left over */
        {32, "M===", false}, {32, "Mg=", false},
        {28, "+/+/", true},  {28, "-_-_", false},     /* base64url */
        {28, "MDE ", false}, {84, "MDEyMTIz", false}, /* 69 */
        {0, "", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char secret[128];
        uint8_t key[SECRET_KEY_MAX];
        int n =
            snprintf(secret, sizeof secret, "whsec_%.*s%s", (int)rows[i].n, base64, rows[i].end);
        assert_int_equal(!secret_check(secret, (size_t)n), rows[i].fine);
        size_t length = secret_key(secret, (size_t)n, key);
        assert_true(rows[i].fine == (length < (size_t)n));
        assert_true(rows[i].fine || !memcmp(key, secret, length));
        if (rows[i].n == 84 && rows[i].fine)
            assert_memory_equal(key, "012345678901", 12);
    }
    assert_null(secret_check("a plain secret, -_ and all", 26));
    assert_null(secret_check("whsec", 5));
}

static void waiting_doubles_up_to_the_most_and_is_never_the_same(void **state)
{
    (void)state;
    const struct {
        uint64_t first, most;
        uint32_t attempts;
        int64_t whole;
    } rows[] = {
        {1000, 3600000, 1, 1000},
        {1000, 3600000, 2, 2000},
        {1000, 3600000, 3, 4000},
        {1000, 3600000, 12, 2048000},
        {1000, 3600000, 13, 3600000},
        {1000, 3600000, 1000000, 3600000},
        {1000, 3600000, UINT32_MAX, 3600000},
        {5000, 100, 1, 100},
        {1, 1, 9, 1},
        {1000, UINT64_MAX / 4, 200, INT64_MAX / 2},
    };
    struct rng rng = test_rng();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t least = INT64_MAX, most = 0;
        for (int k = 0; k < 1000; k++) {
            int64_t wait =
                message_backoff_ms(rows[i].first, rows[i].most, rows[i].attempts, rng_next(&rng));
            least = wait < least ? wait : least;
            most = wait > most ? wait : most;
        }
        assert_true(least >= rows[i].whole / 2 && most <= rows[i].whole);
        assert_true(rows[i].whole < 100 || most - least > rows[i].whole / 3);
    }
    assert_int_equal(message_backoff_ms(1000, 2000, 1, 0), 500);
    assert_int_equal(message_backoff_ms(1000, 2000, 1, 500), 1000);
}

static void an_event_is_given_up_after_failing_for_long_enough(void **state)
{
    (void)state;
    enum { HOUR = 3600000, DAY = 24 * HOUR };
    const struct {
        int64_t age, failing;
        uint64_t give_up, kept;
        bool hopeless;
    } rows[] = {
        {72 * HOUR - 1, 72 * HOUR - 1, 72 * HOUR, 14 * DAY, false},
        {72 * HOUR, 72 * HOUR, 72 * HOUR, 14 * DAY, true},
        /* The receiver has failed for long, but not with this one. */
        {9 * HOUR, 80 * HOUR, 72 * HOUR, 14 * DAY, false},
        {72 * HOUR, 143 * HOUR, 72 * HOUR, 14 * DAY, true},
        /* It is old, but was not tried until now. */
        {101 * HOUR, HOUR, 72 * HOUR, 14 * DAY, false},
        {172 * HOUR, 72 * HOUR, 72 * HOUR, 14 * DAY, true},
        {14 * DAY, DAY, 72 * HOUR, 14 * DAY, true}, /* gone from the log */
        {0, 0, 0, 14 * DAY, true},
        {-1000, 3000, 0, 14 * DAY, false}, /* by a clock that was set back */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(
            message_is_hopeless(rows[i].age, rows[i].failing, rows[i].give_up, rows[i].kept),
            rows[i].hopeless);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_addresses_of_the_internet_are_public),
        cmocka_unit_test(other_families_are_not_public),
        cmocka_unit_test(without_an_exception_it_is_https_to_the_public),
        cmocka_unit_test(a_url_is_not_read_past_its_end),
        cmocka_unit_test(hosts_that_are_allowed_may_be_plain_and_private),
        cmocka_unit_test(networks_that_are_allowed_have_their_addresses_and_no_names),
        cmocka_unit_test(an_address_of_an_allowed_network_may_be_connected_to),
        cmocka_unit_test(a_malformed_list_is_refused),
        cmocka_unit_test(only_what_subscribers_are_told_has_a_tag),
        cmocka_unit_test(a_body_is_signed_with_its_time),
        cmocka_unit_test(a_body_has_all_of_the_event),
        cmocka_unit_test(a_body_of_other_events_is_what_the_log_has),
        cmocka_unit_test(the_standard_signature_is_that_of_its_specification),
        cmocka_unit_test(a_secret_with_the_prefix_must_be_one),
        cmocka_unit_test(an_event_is_given_up_after_failing_for_long_enough),
        cmocka_unit_test(waiting_doubles_up_to_the_most_and_is_never_the_same),
    };
    return RUN_TESTS(tests);
}

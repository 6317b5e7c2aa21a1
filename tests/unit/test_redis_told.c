/* SPDX-License-Identifier: MIT */
/* What the Redis client reads of texts: keys' slots, addresses, redirections, who has which slots, run ids. */
#include "base/arena.h"
#include "redis/address.h"
#include "redis/reader.h"
#include "redis/redis.h"
#include "redis/told.h"
#include "unit/test.h"

#define BYTES(text) ((struct bytes){(const uint8_t *)(text), sizeof(text) - 1})

/* As CLUSTER KEYSLOT of Redis 7.0 answers. */
static void keys_have_the_slots_that_redis_gives_them(void **state)
{
    (void)state;
    assert_int_equal(redis_slot(BYTES("")), 0);
    assert_int_equal(redis_slot(BYTES("123456789")), 0x31c3);
    assert_int_equal(redis_slot(BYTES("foo")), 12182);
    assert_int_equal(redis_slot(BYTES("bar")), 5061);
    assert_int_equal(redis_slot(BYTES("somekey")), 11058);
}

static void only_the_first_hash_tag_counts_and_only_if_it_is_not_empty(void **state)
{
    (void)state;
    uint16_t slot = redis_slot(BYTES("user1000"));
    assert_int_equal(slot, 3443);
    assert_int_equal(redis_slot(BYTES("{user1000}.following")), slot);
    assert_int_equal(redis_slot(BYTES("a{user1000}{b}")), slot);
    assert_int_equal(redis_slot(BYTES("foo{bar}{zap}")), redis_slot(BYTES("bar")));
    assert_int_equal(redis_slot(BYTES("foo{{bar}}zap")), redis_slot(BYTES("{bar")));
    assert_int_equal(redis_slot(BYTES("foo{}{bar}")), 8363);
    assert_int_not_equal(redis_slot(BYTES("foo{}{bar}")), redis_slot(BYTES("bar")));
}

static bool parse(const char *text, struct address *to)
{
    return redis_address_parse(text, strlen(text), to);
}

static void addresses_are_hosts_with_ports(void **state)
{
    (void)state;
    struct address at;
    char text[ADDRESS_TEXT_MAX];
    assert_true(parse("redis-1.example:6379", &at));
    assert_string_equal(at.host, "redis-1.example");
    assert_int_equal(at.port, 6379);
    assert_true(parse("[::1]:7000", &at));
    assert_string_equal(at.host, "::1");
    redis_address_print(&at, text);
    assert_string_equal(text, "[::1]:7000");
    static const char *const wrong[] = {
        "",      "host",  ":1",    "host:", "host:0", "host:65536", "::1:70", "[host]:1", "[]:1",
        "[::1]", "a b:1", "a/b:1", "h:1x",  "h:-1",   "h:000001",   "[::1:7", "h@x:1",    "h\n:1"};
    struct address before = at;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        if (parse(wrong[i], &at))
            fail_msg("%s was taken", wrong[i]);
        assert_memory_equal(&at, &before, sizeof at);
    }
    char longest[ADDRESS_HOST_MAX + 8];
    memset(longest, 'a', sizeof longest);
    strcpy(longest + ADDRESS_HOST_MAX, ":1");
    assert_true(parse(longest, &at));
    strcpy(longest + ADDRESS_HOST_MAX, "a:1");
    assert_false(parse(longest, &at));
}

static void lists_have_commas_and_may_have_spaces(void **state)
{
    (void)state;
    const char *list = " a:1, [::2]:2 ,,c:3 ";
    struct address at;
    bool bad = false;
    assert_true(redis_address_next(&list, &at, &bad));
    assert_int_equal(at.port, 1);
    assert_true(redis_address_next(&list, &at, &bad));
    assert_string_equal(at.host, "::2");
    assert_true(redis_address_next(&list, &at, &bad));
    assert_int_equal(at.port, 3);
    assert_false(redis_address_next(&list, &at, &bad));
    assert_false(bad);
    list = "a:1,b";
    assert_true(redis_address_next(&list, &at, &bad));
    assert_false(redis_address_next(&list, &at, &bad));
    assert_true(bad);
}

static void options_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct redis_options wrong[] = {
        {.nodes = NULL},
        {.nodes = " , "},
        {.nodes = "a:1,b"},
        {.nodes = "a:1", .tls = true, .ca_file = "/there is no such file"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        const char *message = NULL;
        assert_null(redis_new(&wrong[i], &message));
        assert_non_null(message);
    }
}

static void errors_mean_what_their_first_word_says(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum told kind;
    } table[] = {
        {"MOVED 1 a:1", TOLD_MOVED},
        {"ASK 1 a:1", TOLD_ASK},
        {"TRYAGAIN Multiple keys request during rehashing of slot", TOLD_TRY_AGAIN},
        {"CLUSTERDOWN The cluster is down", TOLD_DOWN},
        {"CLUSTERDOWN Hash slot not served", TOLD_DOWN},
        {"LOADING Redis is loading the dataset in memory", TOLD_NOT_YET},
        {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
         TOLD_NOT_YET},
        {"READONLY You can't write against a read only replica.", TOLD_READ_ONLY},
        {"NOSCRIPT No matching script. Please use EVAL.", TOLD_NO_SCRIPT},
        {"ERR MOVED", TOLD_NO},
        {"MOVEDX 1 a:1", TOLD_NO},
        {"MOVE", TOLD_NO},
        {"", TOLD_NO},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++)
        assert_int_equal(told_kind(table[i].text, strlen(table[i].text)), table[i].kind);
}

static bool redirection(const char *text, uint16_t *slot, struct address *to)
{
    return told_redirection(text, strlen(text), "asked.example", slot, to);
}

static void redirections_say_where(void **state)
{
    (void)state;
    uint16_t slot;
    struct address to;
    assert_true(redirection("MOVED 3999 127.0.0.1:6381", &slot, &to));
    assert_int_equal(slot, 3999);
    assert_string_equal(to.host, "127.0.0.1");
    assert_int_equal(to.port, 6381);
    assert_true(redirection("ASK 16383 fe80::1:6381", &slot, &to)); /* without brackets */
    assert_string_equal(to.host, "fe80::1");
    assert_true(redirection("MOVED 0 :6381", &slot, &to)); /* the same host */
    assert_string_equal(to.host, "asked.example");
    static const char *const wrong[] = {"MOVED",
                                        "MOVED ",
                                        "MOVED 1",
                                        "MOVED 1 ",
                                        "MOVED 16384 a:1",
                                        "MOVED -1 a:1",
                                        "MOVED 99999999999999999999 a:1",
                                        "MOVED 1 a",
                                        "MOVED 1 a:0",
                                        "MOVED 1 a:70000",
                                        "MOVED 1  a:1",
                                        "MOVED 1 a b:1",
                                        "MOVED 1 ?:x"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (redirection(wrong[i], &slot, &to))
            fail_msg("%s was taken", wrong[i]);
}

/* The first element of the answer with these bytes. */
static bool range_of(const char *bytes, struct told_range *range)
{
    struct reader reader;
    const struct redisReply *reply, *error;
    reader_init(&reader);
    assert_true(reader_start(&reader));
    assert_true(reader_feed(&reader, bytes, strlen(bytes)));
    assert_int_equal(reader_next(&reader, &reply, &error), READER_REPLY);
    bool good = told_range(reply, "asked.example", range);
    reader_release(&reader);
    return good;
}

static void ranges_say_whose_they_are(void **state)
{
    (void)state;
    struct told_range range;
    assert_true(
        range_of("*4\r\n:5\r\n:9\r\n*2\r\n$3\r\na.b\r\n:7000\r\n*2\r\n$1\r\nr\r\n:1\r\n", &range));
    assert_int_equal(range.first, 5);
    assert_int_equal(range.last, 9);
    assert_true(range.has_master);
    assert_string_equal(range.master.host, "a.b");
    assert_int_equal(range.master.port, 7000);
    assert_int_equal(range.replicas, 1);
    assert_true(range_of("*3\r\n:0\r\n:16383\r\n*3\r\n$-1\r\n:7000\r\n$2\r\nid\r\n", &range));
    assert_string_equal(range.master.host, "asked.example");
    assert_true(range_of("*3\r\n:0\r\n:1\r\n*2\r\n$1\r\n?\r\n:7000\r\n", &range));
    assert_false(range.has_master);
    assert_true(range_of("*3\r\n:0\r\n:1\r\n*2\r\n$0\r\n\r\n:7000\r\n", &range));
    assert_false(range.has_master);
    static const char *const wrong[] = {":1\r\n",
                                        "*0\r\n",
                                        "*2\r\n:0\r\n:1\r\n",
                                        "*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n",
                                        "*3\r\n:2\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n",
                                        "*3\r\n:-1\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n",
                                        "*3\r\n:0\r\n:1\r\n:2\r\n",
                                        "*3\r\n:0\r\n:1\r\n*1\r\n$1\r\na\r\n",
                                        "*3\r\n:0\r\n:1\r\n*2\r\n:1\r\n:1\r\n",
                                        "*3\r\n:0\r\n:1\r\n*2\r\n$1\r\na\r\n:65536\r\n",
                                        "*3\r\n:0\r\n:1\r\n*2\r\n$3\r\na b\r\n:1\r\n",
                                        "*3\r\n$1\r\n0\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (range_of(wrong[i], &range))
            fail_msg("%s was taken", wrong[i]);
}

static void run_ids_are_found_where_they_stand(void **state)
{
    (void)state;
    static const struct {
        const char *info, *id;
    } table[] = {
        {"# Server\r\nredis_version:7\r\nrun_id:0123456789abcdef\r\ntcp_port:1\r\n",
         "0123456789abcdef"},
        {"# Server\r\nxrun_id:01\r\n", NULL},
        {"# Server\r\nrun_id:\r\n", NULL},
        {"# Server\r\nrun_id:0123", NULL},
        {"# Server\r\nrun_id:01 23\r\n", NULL},
        {"# Server\r\nrun_id:"
         "00000000000000000000000000000000000000000000000000000000000000000\r\n",
         NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        char copy[256], id[RUN_ID_MAX + 1];
        snprintf(copy, sizeof copy, "%s", table[i].info);
        struct redisReply info = {.type = REDIS_REPLY_STRING, .str = copy, .len = strlen(copy)};
        assert_int_equal(told_run_id(&info, id), table[i].id != NULL);
        if (table[i].id)
            assert_string_equal(id, table[i].id);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_have_the_slots_that_redis_gives_them),
        cmocka_unit_test(only_the_first_hash_tag_counts_and_only_if_it_is_not_empty),
        cmocka_unit_test(addresses_are_hosts_with_ports),
        cmocka_unit_test(lists_have_commas_and_may_have_spaces),
        cmocka_unit_test(options_that_make_no_sense_are_refused),
        cmocka_unit_test(errors_mean_what_their_first_word_says),
        cmocka_unit_test(redirections_say_where),
        cmocka_unit_test(ranges_say_whose_they_are),
        cmocka_unit_test(run_ids_are_found_where_they_stand),
    };
    return RUN_TESTS(tests);
}

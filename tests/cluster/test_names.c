/* SPDX-License-Identifier: MIT */
/* The index of names in the database: `cluster init` fills it for a database of the version before, and mends what servers of that
 * version have changed since. */
#include "cluster/sql_support.h"

enum { ANN = 1, BOB, CID, DAN };

static struct tidings *engine;
static struct tidings_answer answer;
static struct tidings_options options;
static struct sql *sql;

static void init(void)
{
    const char *message = NULL;
    if (tidings_cluster_init(&options, NULL, NULL, &message))
        fail_msg("%s", message);
}

static int begin(void **state)
{
    static char url[512];
    (void)state;
    struct sql_url server = server_url();
    const char *text = getenv("TIDINGS_TEST_MYSQL"), *query = strchr(text, '?');
    sql = connect_as(&server, NULL);
    assert_run(sql, "DROP DATABASE IF EXISTS names_test");
    size_t place = query ? (size_t)(query - text) : strlen(text);
    while (text[place - 1] != '/')
        place--;
    snprintf(url, sizeof url, "%.*snames_test%s", (int)place, text, query ? query : "");
    tidings_options_init(&options);
    options.engine = "cluster";
    options.mysql = url;
    tidings_answer_init(&answer);
    init();
    assert_run(sql, "USE names_test");
    return tidings_open(&options, &engine, NULL);
}

static int end(void **state)
{
    (void)state;
    tidings_close(engine);
    tidings_answer_release(&answer);
    assert_run(sql, "DROP DATABASE names_test");
    sql_close(sql);
    return 0;
}

static void set_name(uint64_t user, const char *name)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_PROFILE_SET, .user_id = user, .u.profile.name = {name, strlen(name)}};
    assert_int_equal(tidings_run(engine, &op, &answer), TIDINGS_OK);
}

/* Who is found, as one number: 12 is user 1, then 2. */
static uint64_t found(const char *prefix)
{
    struct tidings_op op = {.kind = TIDINGS_OP_PROFILE_SEARCH,
                            .user_id = ANN,
                            .u.search.prefix = {prefix, strlen(prefix)}};
    uint64_t users = 0;
    assert_int_equal(tidings_run(engine, &op, &answer), TIDINGS_OK);
    for (size_t i = 0; i < answer.u.profile_search.n; i++)
        users = users * 10 + answer.u.profile_search.rows[i].user_id;
    return users;
}

static uint64_t differences(void)
{
    struct tidings_verify verify = {0};
    assert_int_equal(tidings_verify(engine, &verify), TIDINGS_OK);
    return verify.differences;
}

static void names_of_the_version_before_are_filled_in(void **state)
{
    (void)state;
    set_name(ANN, "Ann");
    set_name(BOB, "ÄRO");
    set_name(CID, "anna ");
    uint64_t version = asked(sql, "SELECT MAX(version) FROM schema_version");
    assert_run(sql, "DROP TABLE profile_name; DELETE FROM schema_version WHERE version >= 9");
    init();
    assert_int_equal(asked(sql, "SELECT MAX(version) FROM schema_version"), version);
    assert_int_equal(found("AN"), 13);
    assert_int_equal(found("är"), 2);
    assert_int_equal(differences(), 0);
}

static void more_names_than_a_page_are_filled_in(void **state)
{
    (void)state;
    assert_run(sql, "INSERT INTO profile SELECT seq, CONCAT('User ', seq), '', '' FROM "
                    "seq_1_to_1200");
    assert_int_equal(differences(), 1200);
    init();
    assert_int_equal(differences(), 0);
    assert_int_equal(asked(sql, "SELECT COUNT(*) FROM profile_name"), 1200);
    assert_int_equal(found("user 1200"), 1200);
}

/* A server of the version before renames, removes and gives names, and knows of no index. */
static void what_older_servers_have_changed_is_mended(void **state)
{
    (void)state;
    set_name(ANN, "Ann");
    set_name(BOB, "Bob");
    set_name(CID, "Cid");
    assert_run(sql, "UPDATE profile SET name = 'Zoe' WHERE user_id = 1;"
                    "UPDATE profile SET name = '' WHERE user_id = 2;"
                    "DELETE FROM profile WHERE user_id = 3;"
                    "INSERT INTO profile VALUES (4, 'Dan', '', '')");
    assert_int_equal(differences(), 4);
    init();
    assert_int_equal(differences(), 0);
    assert_int_equal(found("z"), 1);
    assert_int_equal(found("d"), 4);
    assert_int_equal(found("a") + found("b") + found("c"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(names_of_the_version_before_are_filled_in),
        TEST(more_names_than_a_page_are_filled_in),
        TEST(what_older_servers_have_changed_is_mended),
    };
#undef TEST
    return RUN_TESTS(tests);
}

/* SPDX-License-Identifier: MIT */
/* Appending, reading and trimming. */
#include "log/log_support.h"

enum { MANY = 1024 * 1024 };

static struct log_end end; /* of the writer */

static int begin_records_test(void **state)
{
    log_begin_test(state);
    begin_log();
    end = make_end(become_writer(log_a, 1), FIRST_POSITION, 0);
    return 0;
}

#define RECORDS_TEST(name) cmocka_unit_test_setup_teardown(name, begin_records_test, log_end_test)

static struct log_batch read_behind(uint64_t after, size_t records, size_t bytes)
{
    struct log_batch batch = {.n = 99};
    assert_outcome(log_a, log_mysql_read(log_a, after, records, bytes, &batch), LOG_DONE);
    return batch;
}

static void assert_record(const struct log_record *record, uint64_t position, struct bytes bytes)
{
    struct log_record wanted = make_record(position, 0, bytes);
    assert_int_equal(record->position, position);
    assert_int_equal(record->fence, end.fence);
    assert_true(record->at_ms == wanted.at_ms);
    assert_memory_equal(record->chain, wanted.chain, LOG_CHAIN_BYTES);
    assert_true(bytes_same(record->bytes, bytes));
}

static struct bytes text_of(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

/* ---- Appending ------------------------------------------------------------------------------ */

static void what_is_appended_is_read(void **state)
{
    (void)state;
    struct log_batch batch = read_behind(FIRST_POSITION, 10, MANY);
    assert_int_equal(batch.n, 0);
    assert_int_equal(batch.writer.position, FIRST_POSITION);
    must_append(log_a, &end, "one");
    must_append(log_a, &end, "");
    batch = read_behind(FIRST_POSITION, 10, MANY);
    assert_int_equal(batch.n, 2);
    assert_record(&batch.records[0], FIRST_POSITION + 1, text_of("one"));
    assert_record(&batch.records[1], FIRST_POSITION + 2, text_of(""));
    assert_int_equal(batch.writer.position, FIRST_POSITION + 2);
    assert_int_equal(batch.writer.bytes, 3);
    assert_memory_equal(batch.writer.chain, batch.records[1].chain, LOG_CHAIN_BYTES);
    assert_int_equal(read_behind(FIRST_POSITION + 1, 10, MANY).n, 1);
    assert_int_equal(read_behind(FIRST_POSITION + 2, 10, MANY).n, 0);
    assert_int_equal(read_behind(FIRST_POSITION + 3, 10, MANY).n, 0); /* ahead of the log */
}

static void every_byte_comes_back(void **state)
{
    (void)state;
    uint8_t all[256];
    for (unsigned i = 0; i < sizeof all; i++)
        all[i] = (uint8_t)i;
    struct log_record record = make_record(FIRST_POSITION + 1, 0, (struct bytes){all, sizeof all});
    record.at_ms = INT64_MIN;
    assert_outcome(log_a, log_mysql_append(log_a, &end, true, &record, 1), LOG_DONE);
    struct log_batch batch = read_behind(FIRST_POSITION, 1, 1);
    assert_true(bytes_same(batch.records[0].bytes, record.bytes));
    assert_true(batch.records[0].at_ms == INT64_MIN);
}

static void several_records_are_appended_at_once(void **state)
{
    (void)state;
    struct log_record records[LOG_RECORDS_MAX];
    static uint8_t bytes[LOG_RECORDS_MAX];
    for (unsigned i = 0; i < LOG_RECORDS_MAX; i++) {
        bytes[i] = (uint8_t)i;
        records[i] = make_record(FIRST_POSITION + 1 + i, 0, (struct bytes){bytes + i, i % 2});
    }
    assert_outcome(log_a, log_mysql_append(log_a, &end, true, records, LOG_RECORDS_MAX), LOG_DONE);
    struct log_batch batch = read_behind(FIRST_POSITION, LOG_RECORDS_MAX, MANY);
    assert_int_equal(batch.n, LOG_RECORDS_MAX);
    for (unsigned i = 0; i < LOG_RECORDS_MAX; i++)
        assert_record(&batch.records[i], records[i].position, records[i].bytes);
    assert_int_equal(batch.writer.bytes, LOG_RECORDS_MAX / 2);
    assert_int_equal(asked(other, "SELECT SUM(start=(SELECT COALESCE(SUM(LENGTH(b.bytes)),0) FROM "
                                  "tidings_log b WHERE b.position<a.position)) FROM tidings_log a"),
                     LOG_RECORDS_MAX);
}

static void big_records_are_appended_and_read(void **state)
{
    (void)state;
    size_t n = LOG_BYTES_MAX;
    uint8_t *bytes = malloc(n + 1);
    for (size_t i = 0; i <= n; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
    struct log_record records[] = {
        make_record(FIRST_POSITION + 1, 0, (struct bytes){bytes, 16 << 20}),
        make_record(FIRST_POSITION + 2, 0, (struct bytes){bytes, n}),
        make_record(FIRST_POSITION + 2, 0, (struct bytes){bytes, n + 1})};
    assert_outcome(log_a, log_mysql_append(log_a, &end, true, &records[0], 1), LOG_DONE);
    end = make_end(end.fence, end.position + 1, 0);
    assert_outcome(log_a, log_mysql_append(log_a, &end, true, &records[2], 1), LOG_FAILED);
    assert_outcome(log_a, log_mysql_append(log_a, &end, true, &records[1], 1), LOG_DONE);
    struct log_batch batch = read_behind(FIRST_POSITION, 10, MANY);
    assert_int_equal(batch.n, 1);
    assert_true(bytes_same(batch.records[0].bytes, records[0].bytes));
    batch = read_behind(FIRST_POSITION + 1, 10, 0);
    assert_int_equal(batch.n, 1);
    assert_true(bytes_same(batch.records[0].bytes, records[1].bytes));
    free(bytes);
}

static void an_append_renews_the_lease(void **state)
{
    (void)state;
    end_lease();
    must_append(log_a, &end, "one");
    assert_in_range(look(log_a).lease_left_ms, 1, LOG_LEASE_MS);
}

/* ---- What is refused ------------------------------------------------------------------------ */

/* Nothing of it is there, and the writer goes on with the connection that it has. */
static void assert_append_refused(const struct log_end *wrong)
{
    struct log_writer before = look(log_a), after;
    uint64_t connection = asked(other, "SELECT MAX(id) FROM information_schema.processlist");
    assert_outcome(log_a, append_one(log_a, wrong, "wrong"), LOG_REFUSED);
    after = look(log_a);
    assert_int_equal(after.position, before.position);
    assert_memory_equal(after.chain, before.chain, LOG_CHAIN_BYTES);
    assert_int_equal(after.bytes, before.bytes);
    assert_true(after.until_ms == before.until_ms);
    assert_int_equal(count_records(wrong->position + 1), 0);
    assert_int_equal(asked(other, "SELECT MAX(id) FROM information_schema.processlist"),
                     connection);
    /* And it holds no lock. */
    assert_run(other, "SET innodb_lock_wait_timeout=0; UPDATE tidings_writer SET until=until");
}

static void an_append_to_a_log_that_is_otherwise_is_refused(void **state)
{
    (void)state;
    struct log_end wrong = end;
    wrong.fence++;
    assert_append_refused(&wrong);
    wrong.fence = end.fence - 1;
    assert_append_refused(&wrong);
    assert_append_refused(&(struct log_end){.fence = end.fence, .position = 0});
    wrong = end;
    wrong.position++; /* with the chain of the row */
    assert_append_refused(&wrong);
    wrong = make_end(end.fence, end.position - 1, 0);
    assert_append_refused(&wrong);
    wrong = make_end(end.fence, end.position, 1);
    assert_append_refused(&wrong);
    must_append(log_a, &end, "one");
}

static void an_append_after_another_took_over_is_refused(void **state)
{
    (void)state;
    struct log_mysql *log_b = open_log(NULL);
    must_append(log_a, &end, "one");
    end_lease();
    struct log_end others = make_end(take_over(log_b, 2), end.position, 0);
    assert_append_refused(&end);
    assert_outcome(log_b, log_mysql_confirm(log_b, &others, ANY_ERA), LOG_DONE);
    assert_append_refused(&end);
    must_append(log_b, &others, "others");
    assert_outcome(log_a, append_one(log_a, &end, "late"), LOG_REFUSED);
    struct log_batch batch = read_behind(FIRST_POSITION + 1, 10, MANY);
    assert_int_equal(batch.n, 1);
    assert_int_equal(batch.records[0].fence, others.fence);
    assert_true(bytes_same(batch.records[0].bytes, text_of("others")));
    log_mysql_close(log_b);
}

/* Whoever takes over appends the tail of its own log again, before it confirms, and nothing that is meant for later. */
static void a_tail_is_appended_before_the_log_is_confirmed(void **state)
{
    (void)state;
    end_lease();
    assert_run(other, "UPDATE tidings_writer SET server=server+1"); /* MySQL has failed over */
    end = make_end(take_over(log_a, 1), FIRST_POSITION, 0);
    assert_append_refused(&end);
    struct log_record record = make_record(end.position + 1, 0, text_of("tail"));
    assert_outcome(log_a, log_mysql_append(log_a, &end, false, &record, 1), LOG_DONE);
    end = make_end(end.fence, end.position + 1, 0);
    assert_outcome(log_a, log_mysql_confirm(log_a, &end, ANY_ERA), LOG_DONE);
    record = make_record(end.position + 1, 0, text_of("tail"));
    assert_outcome(log_a, log_mysql_append(log_a, &end, false, &record, 1), LOG_REFUSED);
    must_append(log_a, &end, "two");
}

static void the_same_append_is_not_done_twice(void **state)
{
    (void)state;
    struct log_end before = end;
    must_append(log_a, &end, "one");
    assert_outcome(log_a, append_one(log_a, &before, "one"), LOG_REFUSED);
    must_append(log_a, &end, "two");
    assert_int_equal(read_behind(FIRST_POSITION, 10, MANY).n, 2);
    assert_int_equal(look(log_a).bytes, 6);
}

/* Somebody holds the row: nothing is done, and it is known. */
static void an_append_that_waits_for_a_lock_fails(void **state)
{
    (void)state;
    assert_run(other, "BEGIN; UPDATE tidings_writer SET holder=holder+1");
    assert_outcome(log_a, append_one(log_a, &end, "one"), LOG_FAILED);
    assert_run(other, "ROLLBACK");
    must_append(log_a, &end, "one");
}

static void an_append_to_a_server_that_is_read_only_fails(void **state)
{
    (void)state;
    assert_run(other,
               "CREATE OR REPLACE USER plain@localhost; GRANT ALL ON *.* TO plain@localhost; "
               "REVOKE SUPER, READ_ONLY ADMIN ON *.* FROM plain@localhost");
    struct log_mysql *log = NULL;
    const char *wrong = "";
    char url[512];
    snprintf(url, sizeof url, "mysql://plain@localhost/%s?socket=%s", log_database(),
             server_url().socket);
    assert_int_equal(log_mysql_open(url, NULL, &log, &wrong), LOG_DONE);
    assert_run(other, "SET GLOBAL read_only=1");
    enum log_outcome outcome = append_one(log, &end, "one");
    assert_run(other, "SET GLOBAL read_only=0");
    assert_outcome(log, outcome, LOG_FAILED);
    assert_says(log, "read-only");
    must_append(log, &end, "one");
    log_mysql_close(log);
}

/* The former primary after a switchover, and a user who may change it all the same: nobody would ever see that change. */
static void a_server_that_is_read_only_is_left_by_whoever_may_change_it(void **state)
{
    (void)state;
    struct log_batch batch;
    assert_run(other, "SET GLOBAL read_only=1");
    enum log_outcome appended = append_one(log_a, &end, "one");
    enum log_outcome renewed = log_mysql_renew(log_a, end.fence, 0);
    enum log_outcome read = log_mysql_read(log_a, end.position, 1, 1, &batch);
    assert_says(log_a, "read-only");
    assert_run(other, "SET GLOBAL read_only=0");
    assert_int_equal(appended, LOG_REFUSED);
    assert_int_equal(renewed, LOG_REFUSED);
    assert_int_equal(read, LOG_UNREACHABLE);
    assert_outcome(log_a, log_mysql_read(log_a, end.position, 1, 1, &batch), LOG_DONE);
    must_append(log_a, &end, "one");
}

/* ---- Reading -------------------------------------------------------------------------------- */

static void a_read_keeps_to_its_borders(void **state)
{
    (void)state;
    static const char *const texts[] = {"aaaaa", "bb", "", "dddddddddd", "e"};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        must_append(log_a, &end, texts[i]);
    assert_int_equal(read_behind(FIRST_POSITION, 1, MANY).n, 1);
    assert_int_equal(read_behind(FIRST_POSITION, 4, MANY).n, 4);
    assert_int_equal(read_behind(FIRST_POSITION, 5, MANY).n, 5);
    assert_int_equal(read_behind(FIRST_POSITION, 10, 0).n, 1);
    assert_int_equal(read_behind(FIRST_POSITION, 10, 5).n, 1);
    assert_int_equal(read_behind(FIRST_POSITION, 10, 6).n, 1);
    assert_int_equal(read_behind(FIRST_POSITION, 10, 8).n, 3);
    assert_int_equal(read_behind(FIRST_POSITION, 10, 16).n, 3);
    assert_int_equal(read_behind(FIRST_POSITION, 10, 17).n, 4);
    assert_int_equal(read_behind(FIRST_POSITION, 10, 18).n, 5);
    assert_int_equal(read_behind(FIRST_POSITION, 3, 18).n, 3);
    assert_int_equal(read_behind(FIRST_POSITION + 3, 10, 3).n, 1);
    assert_int_equal(read_behind(FIRST_POSITION + 3, 10, 11).n, 2);
}

/* Of an append that is under way nothing is seen. */
static void what_is_not_committed_is_not_read(void **state)
{
    (void)state;
    must_append(log_a, &end, "one");
    assert_run(other, "BEGIN; UPDATE tidings_writer SET position=102, chain=REPEAT('x',16); INSERT "
                      "INTO tidings_log SELECT 102,1,1,3,REPEAT('x',16),'two'");
    struct log_batch batch = read_behind(FIRST_POSITION, 10, MANY);
    assert_int_equal(batch.n, 1);
    assert_int_equal(batch.writer.position, FIRST_POSITION + 1);
    assert_run(other, "ROLLBACK");
}

enum { APPENDS = 300 };

static void *append_many(void *ctx)
{
    struct log_mysql *log = ctx;
    for (unsigned i = 0; i < APPENDS; i++)
        must_append(log, &end, "text");
    return NULL;
}

/* The row and the records are of one moment: otherwise the one would contradict the others. */
static void a_read_beside_appends_is_of_one_moment(void **state)
{
    (void)state;
    struct log_mysql *log_b = open_log(NULL);
    uint64_t after = FIRST_POSITION;
    pthread_t thread;
    pthread_create(&thread, NULL, append_many, log_b);
    while (after < FIRST_POSITION + APPENDS) {
        struct log_batch batch = read_behind(after, 10, MANY);
        after += batch.n;
        assert_true(after == batch.writer.position || batch.n == 10);
    }
    pthread_join(thread, NULL);
    log_mysql_close(log_b);
}

static void assert_read(uint64_t after, enum log_outcome wanted)
{
    struct log_batch batch = {.n = 99};
    assert_outcome(log_a, log_mysql_read(log_a, after, 10, MANY, &batch), wanted);
    assert_int_equal(batch.n, 99);
}

static void append_three(void)
{
    must_append(log_a, &end, "one");
    must_append(log_a, &end, "two");
    must_append(log_a, &end, "three");
}

static void a_log_with_a_gap_is_corrupt(void **state)
{
    (void)state;
    append_three();
    assert_run(other, "DELETE FROM tidings_log WHERE position=102");
    assert_read(FIRST_POSITION, LOG_CORRUPT);
    assert_read(FIRST_POSITION + 1, LOG_CORRUPT);
    assert_int_equal(read_behind(FIRST_POSITION + 2, 10, MANY).n, 1);
    assert_run(other, "DELETE FROM tidings_log WHERE position=103");
    assert_read(FIRST_POSITION + 2, LOG_CORRUPT);
    assert_run(other, "DELETE FROM tidings_log");
    assert_read(FIRST_POSITION + 2, LOG_TRIMMED);
}

static void a_log_that_goes_beyond_its_end_is_corrupt(void **state)
{
    (void)state;
    append_three();
    assert_run(other, "UPDATE tidings_writer SET position=102");
    assert_read(FIRST_POSITION, LOG_CORRUPT);
    assert_read(FIRST_POSITION + 2, LOG_CORRUPT);
    assert_run(other, "UPDATE tidings_writer SET position=103, chain=REPEAT('x',16)");
    assert_read(FIRST_POSITION, LOG_CORRUPT);
    assert_run(other, "DELETE FROM tidings_writer");
    assert_read(FIRST_POSITION, LOG_CORRUPT);
}

static void columns_that_somebody_has_changed_are_corrupt(void **state)
{
    (void)state;
    append_three();
    assert_run(other, "ALTER TABLE tidings_log MODIFY chain VARBINARY(32) NOT NULL;"
                      "UPDATE tidings_log SET chain=REPEAT('x',17) WHERE position=102");
    assert_read(FIRST_POSITION, LOG_CORRUPT);
    assert_run(other, "ALTER TABLE tidings_log MODIFY bytes LONGBLOB;"
                      "UPDATE tidings_log SET chain=REPEAT('x',16), bytes=NULL WHERE position=102");
    assert_read(FIRST_POSITION + 1, LOG_CORRUPT);
    assert_run(other, "ALTER TABLE tidings_log DROP COLUMN start");
    assert_read(FIRST_POSITION, LOG_FAILED);
}

static void a_record_that_is_too_long_is_not_fetched(void **state)
{
    (void)state;
    append_three();
    assert_run(other, "UPDATE tidings_log SET bytes=REPEAT('x',32505857) WHERE position=102");
    assert_read(FIRST_POSITION + 1, LOG_CORRUPT);
}

/* ---- Trimming ------------------------------------------------------------------------------- */

static uint64_t put_image(uint64_t position, unsigned salt)
{
    struct log_image image = {.position = position, .era = ANY_ERA};
    uint64_t number = 0;
    make_chain(image.chain, position, salt);
    assert_outcome(log_a, log_mysql_image_begin(log_a, &image, &number), LOG_DONE);
    assert_outcome(log_a, log_mysql_image_put(log_a, number, 0, text_of("image")), LOG_DONE);
    assert_outcome(log_a, log_mysql_image_end(log_a, number, 1, 5, 0), LOG_DONE);
    return number;
}

static void assert_trim(uint64_t up_to, enum log_outcome wanted)
{
    bool more = true;
    assert_outcome(log_a, log_mysql_trim(log_a, up_to, INT64_MAX, &more), wanted);
    assert_int_equal(more, wanted != LOG_DONE);
}

static void a_log_is_trimmed_behind_an_image_only(void **state)
{
    (void)state;
    append_three();
    assert_trim(FIRST_POSITION + 1, LOG_REFUSED);
    put_image(FIRST_POSITION + 2, 0);
    assert_trim(FIRST_POSITION + 3, LOG_REFUSED);
    assert_int_equal(read_behind(FIRST_POSITION, 10, MANY).n, 3);
    assert_trim(FIRST_POSITION + 1, LOG_DONE);
    assert_read(FIRST_POSITION, LOG_TRIMMED);
    assert_int_equal(read_behind(FIRST_POSITION + 1, 10, MANY).n, 2);
    assert_trim(FIRST_POSITION + 2, LOG_DONE);
    assert_trim(FIRST_POSITION + 2, LOG_DONE);
    assert_read(FIRST_POSITION + 1, LOG_TRIMMED);
    assert_int_equal(read_behind(FIRST_POSITION + 2, 10, MANY).n, 1);
    put_image(FIRST_POSITION + 3, 0);
    assert_trim(FIRST_POSITION + 3, LOG_DONE);
    assert_int_equal(asked(other, "SELECT COUNT(*) FROM tidings_log"), 0);
    assert_int_equal(read_behind(FIRST_POSITION + 3, 10, MANY).n, 0);
    assert_read(FIRST_POSITION + 2, LOG_TRIMMED);
    must_append(log_a, &end, "four");
    assert_int_equal(read_behind(FIRST_POSITION + 3, 10, MANY).n, 1);
}

static void an_image_of_another_history_is_not_one_to_trim_behind(void **state)
{
    (void)state;
    append_three();
    put_image(FIRST_POSITION + 2, 1);
    put_image(FIRST_POSITION + 3, 1);
    put_image(FIRST_POSITION + 4, 0); /* ahead of the log */
    assert_trim(FIRST_POSITION + 1, LOG_REFUSED);
    put_image(FIRST_POSITION + 1, 0);
    assert_trim(FIRST_POSITION + 1, LOG_DONE);
    assert_trim(FIRST_POSITION + 2, LOG_REFUSED);
}

static void a_long_log_is_trimmed_in_steps(void **state)
{
    (void)state;
    struct log_record records[LOG_RECORDS_MAX];
    bool more = true;
    unsigned steps = 0;
    for (unsigned i = 0; i < LOG_RECORDS_MAX; i++)
        records[i] = make_record(FIRST_POSITION + 1 + i, 0, (struct bytes){NULL, 0});
    assert_outcome(log_a, log_mysql_append(log_a, &end, true, records, LOG_RECORDS_MAX), LOG_DONE);
    put_image(FIRST_POSITION + LOG_RECORDS_MAX, 0);
    for (; more; steps++)
        assert_outcome(
            log_a, log_mysql_trim(log_a, FIRST_POSITION + LOG_RECORDS_MAX - 1, INT64_MAX, &more),
            LOG_DONE);
    assert_int_equal(steps, 3);
    assert_int_equal(read_behind(FIRST_POSITION + LOG_RECORDS_MAX - 1, 10, MANY).n, 1);
}

static void assert_kept(uint64_t after, uint64_t records, uint64_t bytes)
{
    struct log_kept kept;
    assert_outcome(log_a, log_mysql_kept(log_a, &kept), LOG_DONE);
    assert_int_equal(kept.after, after);
    assert_int_equal(kept.records, records);
    assert_int_equal(kept.bytes, bytes);
    assert_int_equal(kept.writer.position, after + records);
}

static void what_is_kept_of_the_log_is_told(void **state)
{
    (void)state;
    assert_kept(FIRST_POSITION, 0, 0);
    must_append(log_a, &end, "one");
    must_append(log_a, &end, "three");
    assert_kept(FIRST_POSITION, 2, 8);
    put_image(FIRST_POSITION + 2, 0);
    assert_trim(FIRST_POSITION + 1, LOG_DONE);
    assert_kept(FIRST_POSITION + 1, 1, 5);
    assert_trim(FIRST_POSITION + 2, LOG_DONE);
    assert_kept(FIRST_POSITION + 2, 0, 0);
    assert_run(other, "UPDATE tidings_writer SET bytes=1");
    must_append(log_a, &end, "four");
    assert_run(other, "UPDATE tidings_writer SET bytes=0");
    struct log_kept kept;
    assert_outcome(log_a, log_mysql_kept(log_a, &kept), LOG_CORRUPT);
}

/* The clock may have been set back: the second record is older than the first. */
static void a_record_that_is_not_old_enough_stays_with_all_behind_it(void **state)
{
    (void)state;
    bool more = true;
    append_three();
    put_image(FIRST_POSITION + 3, 0);
    assert_run(other, "UPDATE tidings_log SET at=ELT(position-100,2000,1000,3000)");
    assert_outcome(log_a, log_mysql_trim(log_a, FIRST_POSITION + 3, 2000, &more), LOG_DONE);
    assert_false(more);
    assert_kept(FIRST_POSITION, 3, asked(other, "SELECT bytes FROM tidings_writer"));
    assert_outcome(log_a, log_mysql_trim(log_a, FIRST_POSITION + 3, 2001, &more), LOG_DONE);
    assert_int_equal(read_behind(FIRST_POSITION + 2, 10, MANY).n, 1);
    assert_read(FIRST_POSITION + 1, LOG_TRIMMED);
}

static void register_holder(uint64_t id, uint64_t image_position, uint64_t era)
{
    struct log_replica replica = {
        .id = id, .address = "", .image_position = image_position, .era = era};
    assert_outcome(log_a, log_mysql_register(log_a, &replica), LOG_DONE);
}

static void images_that_two_living_replicas_hold_are_enough_to_trim_behind(void **state)
{
    (void)state;
    append_three();
    register_holder(1, FIRST_POSITION + 3, ANY_ERA);
    assert_trim(FIRST_POSITION + 1, LOG_REFUSED);
    register_holder(2, FIRST_POSITION + 3, ANY_ERA - 1); /* of another history, perhaps */
    assert_trim(FIRST_POSITION + 1, LOG_REFUSED);
    register_holder(2, FIRST_POSITION + 1, ANY_ERA);
    assert_trim(FIRST_POSITION + 2, LOG_REFUSED);
    assert_run(other, "UPDATE tidings_replica SET seen=seen-INTERVAL 4 SECOND WHERE id=2");
    assert_trim(FIRST_POSITION + 1, LOG_REFUSED);
    register_holder(2, FIRST_POSITION + 1, ANY_ERA);
    assert_trim(FIRST_POSITION + 1, LOG_DONE);
    assert_int_equal(read_behind(FIRST_POSITION + 1, 10, MANY).n, 2);
}

int test_log_records(void)
{
    const struct CMUnitTest tests[] = {
        RECORDS_TEST(what_is_appended_is_read),
        RECORDS_TEST(every_byte_comes_back),
        RECORDS_TEST(several_records_are_appended_at_once),
        RECORDS_TEST(big_records_are_appended_and_read),
        RECORDS_TEST(an_append_renews_the_lease),
        RECORDS_TEST(an_append_to_a_log_that_is_otherwise_is_refused),
        RECORDS_TEST(an_append_after_another_took_over_is_refused),
        RECORDS_TEST(a_tail_is_appended_before_the_log_is_confirmed),
        RECORDS_TEST(the_same_append_is_not_done_twice),
        RECORDS_TEST(an_append_that_waits_for_a_lock_fails),
        RECORDS_TEST(an_append_to_a_server_that_is_read_only_fails),
        RECORDS_TEST(a_server_that_is_read_only_is_left_by_whoever_may_change_it),
        RECORDS_TEST(a_read_keeps_to_its_borders),
        RECORDS_TEST(what_is_not_committed_is_not_read),
        RECORDS_TEST(a_read_beside_appends_is_of_one_moment),
        RECORDS_TEST(a_log_with_a_gap_is_corrupt),
        RECORDS_TEST(a_log_that_goes_beyond_its_end_is_corrupt),
        RECORDS_TEST(columns_that_somebody_has_changed_are_corrupt),
        RECORDS_TEST(a_record_that_is_too_long_is_not_fetched),
        RECORDS_TEST(a_log_is_trimmed_behind_an_image_only),
        RECORDS_TEST(an_image_of_another_history_is_not_one_to_trim_behind),
        RECORDS_TEST(a_long_log_is_trimmed_in_steps),
        RECORDS_TEST(what_is_kept_of_the_log_is_told),
        RECORDS_TEST(a_record_that_is_not_old_enough_stays_with_all_behind_it),
        RECORDS_TEST(images_that_two_living_replicas_hold_are_enough_to_trim_behind),
    };
    return RUN_TESTS(tests);
}

/* SPDX-License-Identifier: MIT */
/* Who is the writer, and who is there. */
#include "log/log_support.h"

static struct log_mysql *log_b; /* another server */

static int begin_writer_test(void **state)
{
    log_begin_test(state);
    begin_log();
    log_b = open_log(NULL);
    return 0;
}

static int end_writer_test(void **state)
{
    log_mysql_close(log_b);
    return log_end_test(state);
}

#define WRITER_TEST(name) cmocka_unit_test_setup_teardown(name, begin_writer_test, end_writer_test)

static const struct log_holder first = {.id = 1, .address = "[::1]:7001"};
static const struct log_holder second = {.id = 2, .address = "two:7002"};

static void whoever_takes_over_first_has_a_new_fence_and_is_not_ready(void **state)
{
    (void)state;
    struct log_writer seen = look(log_a);
    uint64_t fence = 0;
    assert_outcome(log_a, log_mysql_take(log_a, &seen, &first, &fence), LOG_DONE);
    assert_int_equal(fence, 1);
    struct log_writer now = look(log_b);
    assert_int_equal(now.fence, 1);
    assert_int_equal(now.holder, 1);
    assert_string_equal(now.address, "[::1]:7001");
    assert_false(now.ready);
    assert_in_range(now.lease_left_ms, 1, LOG_LEASE_MS);
    assert_true(now.until_ms - now.clock_ms == now.lease_left_ms);
    assert_int_equal(now.position, FIRST_POSITION);
}

static void a_lease_that_holds_is_not_taken(void **state)
{
    (void)state;
    uint64_t fence = 99;
    take_over(log_a, 1);
    struct log_writer seen = look(log_b);
    assert_outcome(log_b, log_mysql_take(log_b, &seen, &second, &fence), LOG_REFUSED);
    assert_int_equal(fence, 99);
    end_lease();
    assert_outcome(log_b, log_mysql_take(log_b, &seen, &second, &fence), LOG_DONE);
    assert_int_equal(fence, 2);
    /* By what was seen before that: another has it. */
    end_lease();
    assert_outcome(log_a, log_mysql_take(log_a, &seen, &first, &fence), LOG_REFUSED);
}

static void a_lease_that_was_given_back_is_taken_at_once(void **state)
{
    (void)state;
    uint64_t fence = become_writer(log_a, 1);
    assert_outcome(log_a, log_mysql_give_back(log_a, fence), LOG_DONE);
    struct log_writer seen = look(log_b);
    assert_int_equal(seen.until_ms, 0);
    assert_true(seen.lease_left_ms <= 0);
    assert_outcome(log_b, log_mysql_take(log_b, &seen, &second, &fence), LOG_DONE);
    assert_outcome(log_a, log_mysql_give_back(log_a, fence - 1), LOG_REFUSED);
    assert_true(look(log_a).lease_left_ms > 0);
}

/* After an append of unknown outcome: under another fence, without waiting for its own lease. */
static void whoever_holds_the_lease_takes_over_from_itself(void **state)
{
    (void)state;
    struct log_holder itself = first;
    uint64_t fence = become_writer(log_a, 1), next = 0;
    struct log_writer seen = look(log_a);
    itself.holds = true;
    assert_outcome(log_a, log_mysql_take(log_a, &seen, &itself, &next), LOG_DONE);
    assert_int_equal(next, fence + 1);
    assert_true(look(log_a).ready); /* the log was confirmed on this server of MySQL */
    assert_outcome(log_a, log_mysql_renew(log_a, fence, 0), LOG_REFUSED);
    /* Not from what has been taken since. */
    assert_outcome(log_a, log_mysql_take(log_a, &seen, &itself, &next), LOG_REFUSED);
}

/* MySQL's clock was set back by an hour: its lease would hold for as long. */
static void a_lease_of_a_clock_that_was_set_back_is_taken_by_who_has_watched_it(void **state)
{
    (void)state;
    uint64_t fence = take_over(log_a, 1);
    assert_run(other, "UPDATE tidings_writer SET until=NOW(3)+INTERVAL 1 HOUR");
    struct log_writer seen = look(log_b);
    assert_true(seen.lease_left_ms > LOG_LEASE_MS);
    assert_run(other, "UPDATE tidings_writer SET until=until+INTERVAL 1 SECOND");
    assert_outcome(log_b, log_mysql_take(log_b, &seen, &second, &fence), LOG_REFUSED);
    seen = look(log_b);
    assert_outcome(log_b, log_mysql_take(log_b, &seen, &second, &fence), LOG_DONE);
    assert_in_range(look(log_b).lease_left_ms, 1, LOG_LEASE_MS);
}

enum { TAKERS = 8, ROUNDS = 20 };

struct taker {
    pthread_t thread;
    pthread_barrier_t *barrier;
    struct log_mysql *log;
    enum log_outcome outcome;
    uint64_t fence;
};

static void *run_taker(void *ctx)
{
    struct taker *taker = ctx;
    struct log_writer seen = {0};
    struct log_holder holder = {.id = 7, .address = ""};
    taker->outcome = log_mysql_look(taker->log, &seen);
    pthread_barrier_wait(taker->barrier);
    if (!taker->outcome)
        taker->outcome = log_mysql_take(taker->log, &seen, &holder, &taker->fence);
    return NULL;
}

static void of_several_takers_one_takes_over(void **state)
{
    (void)state;
    struct taker takers[TAKERS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, TAKERS);
    for (unsigned i = 0; i < TAKERS; i++)
        takers[i] = (struct taker){.barrier = &barrier, .log = open_log(NULL)};
    for (unsigned round = 1; round <= ROUNDS; round++) {
        unsigned done = 0;
        end_lease();
        for (unsigned i = 0; i < TAKERS; i++)
            pthread_create(&takers[i].thread, NULL, run_taker, &takers[i]);
        for (unsigned i = 0; i < TAKERS; i++) {
            pthread_join(takers[i].thread, NULL);
            if (takers[i].outcome)
                assert_outcome(takers[i].log, takers[i].outcome, LOG_REFUSED);
            else
                assert_int_equal(takers[i].fence, round);
            done += !takers[i].outcome;
        }
        assert_int_equal(done, 1);
        assert_int_equal(look(log_a).fence, round);
    }
    for (unsigned i = 0; i < TAKERS; i++)
        log_mysql_close(takers[i].log);
    pthread_barrier_destroy(&barrier);
}

/* ---- Confirming and renewing ---------------------------------------------------------------- */

static void a_log_is_confirmed_as_it_is_only(void **state)
{
    (void)state;
    struct log_end end = make_end(take_over(log_a, 1), FIRST_POSITION, 0), wrong = end;
    wrong.fence++;
    assert_outcome(log_a, log_mysql_confirm(log_a, &wrong, ANY_ERA), LOG_REFUSED);
    wrong = end;
    wrong.position++;
    assert_outcome(log_a, log_mysql_confirm(log_a, &wrong, ANY_ERA), LOG_REFUSED);
    wrong = end;
    wrong.chain[15] ^= 1;
    assert_outcome(log_a, log_mysql_confirm(log_a, &wrong, ANY_ERA), LOG_REFUSED);
    assert_outcome(log_a, log_mysql_confirm(log_a, &end, ANY_ERA - 1), LOG_REFUSED);
    assert_false(look(log_a).ready);
    assert_outcome(log_a, log_mysql_confirm(log_a, &end, ANY_ERA), LOG_DONE);
    assert_true(look(log_a).ready);
    assert_outcome(log_a, log_mysql_confirm(log_a, &end, ANY_ERA + 1), LOG_DONE);
    assert_int_equal(look(log_a).era, ANY_ERA + 1);
}

static void a_lease_is_renewed_by_its_holder_alone(void **state)
{
    (void)state;
    uint64_t fence = take_over(log_a, 1);
    assert_run(other, "UPDATE tidings_writer SET until=NOW(3)-INTERVAL 1 SECOND");
    assert_outcome(log_a, log_mysql_renew(log_a, fence, 0), LOG_DONE);
    assert_in_range(look(log_a).lease_left_ms, 1, LOG_LEASE_MS);
    assert_outcome(log_a, log_mysql_renew(log_a, fence + 1, 0), LOG_REFUSED);
    end_lease();
    take_over(log_b, 2);
    assert_outcome(log_a, log_mysql_renew(log_a, fence, 0), LOG_REFUSED);
    assert_outcome(log_a, log_mysql_give_back(log_a, fence), LOG_REFUSED);
    assert_true(look(log_a).lease_left_ms > 0);
}

/* MySQL was restored from an older state: the fence is in force again, the records are not there. */
static void a_lease_is_not_renewed_on_a_log_that_went_back(void **state)
{
    (void)state;
    struct log_end end = make_end(become_writer(log_a, 1), FIRST_POSITION, 0);
    assert_outcome(log_a, log_mysql_renew(log_a, end.fence, FIRST_POSITION), LOG_DONE);
    assert_outcome(log_a, log_mysql_renew(log_a, end.fence, FIRST_POSITION + 1), LOG_REFUSED);
    assert_outcome(log_a, append_one(log_a, &end, "text"), LOG_DONE);
    assert_outcome(log_a, log_mysql_renew(log_a, end.fence, FIRST_POSITION + 1), LOG_DONE);
}

/* After a failover of MySQL the row is there, and the server is another. */
static void a_fence_counts_on_no_other_server_of_mysql(void **state)
{
    (void)state;
    struct log_end end = make_end(become_writer(log_a, 1), FIRST_POSITION, 0);
    struct log_holder itself = first;
    uint64_t fence = 0;
    itself.holds = true;
    assert_run(other, "UPDATE tidings_writer SET server=server+1, until=NOW(3)");
    assert_outcome(log_a, log_mysql_renew(log_a, end.fence, 0), LOG_REFUSED);
    assert_outcome(log_a, log_mysql_confirm(log_a, &end, ANY_ERA), LOG_REFUSED);
    assert_outcome(log_a, append_one(log_a, &end, "text"), LOG_REFUSED);
    struct log_writer seen = look(log_a), before = seen;
    assert_int_equal(seen.server, seen.asked + 1);
    assert_outcome(log_a, log_mysql_take(log_a, &seen, &itself, &fence), LOG_REFUSED);
    before.asked++; /* it was seen elsewhere */
    assert_outcome(log_a, log_mysql_take(log_a, &before, &first, &fence), LOG_REFUSED);
    before = seen;
    before.server--; /* the fence was taken elsewhere */
    assert_outcome(log_a, log_mysql_take(log_a, &before, &first, &fence), LOG_REFUSED);
    assert_outcome(log_a, log_mysql_take(log_a, &seen, &first, &fence), LOG_DONE);
    seen = look(log_a);
    assert_int_equal(seen.server, seen.asked);
    assert_false(seen.ready);
}

/* ---- Replicas ------------------------------------------------------------------------------- */

static void replicas_are_known_until_they_are_forgotten(void **state)
{
    (void)state;
    struct log_replica replica = {
        .id = 5, .position = 10, .era = 2, .image_position = 8, .address = "five:1"};
    struct log_replica found[4];
    size_t n = 99;
    assert_outcome(log_a, log_mysql_replicas(log_a, found, COUNT_OF(found), &n), LOG_DONE);
    assert_int_equal(n, 0);
    assert_outcome(log_a, log_mysql_register(log_a, &replica), LOG_DONE);
    replica.id = UINT64_MAX;
    assert_outcome(log_a, log_mysql_register(log_a, &replica), LOG_DONE);
    assert_run(other, "UPDATE tidings_replica SET seen=NOW(3)-INTERVAL 90 SECOND WHERE id=5;"
                      "UPDATE tidings_replica SET seen=NOW(3)+INTERVAL 90 SECOND WHERE id<>5");
    assert_outcome(log_b, log_mysql_replicas(log_b, found, COUNT_OF(found), &n), LOG_DONE);
    assert_int_equal(n, 2);
    assert_true(found[0].id == UINT64_MAX); /* seen last */
    assert_int_equal(found[0].silent_ms, 0);
    assert_int_equal(found[1].id, 5);
    assert_string_equal(found[1].address, "five:1");
    assert_int_equal(found[1].position, 10);
    assert_int_equal(found[1].era, 2);
    assert_int_equal(found[1].image_position, 8);
    assert_in_range(found[1].silent_ms, 90000, 90000 + PATIENCE_MS);
    assert_run(other, "UPDATE tidings_replica SET seen=NOW(3)-INTERVAL 90 SECOND WHERE id<>5");
    replica.id = 5;
    replica.position = 11;
    strcpy(replica.address, "'); DROP TABLE tidings_log; --");
    assert_outcome(log_a, log_mysql_register(log_a, &replica), LOG_DONE);
    assert_outcome(log_b, log_mysql_replicas(log_b, found, 1, &n), LOG_DONE);
    assert_int_equal(n, 1);
    assert_int_equal(found[0].position, 11);
    assert_true(found[0].silent_ms < PATIENCE_MS);
    assert_string_equal(found[0].address, replica.address);
    assert_outcome(log_a, log_mysql_forget(log_a, 5), LOG_DONE);
    assert_outcome(log_a, log_mysql_forget(log_a, 5), LOG_DONE);
    assert_outcome(log_b, log_mysql_replicas(log_b, found, COUNT_OF(found), &n), LOG_DONE);
    assert_int_equal(n, 1);
}

static void the_longest_address_fits(void **state)
{
    (void)state;
    char address[LOG_ADDRESS_MAX + 1] = "";
    struct log_holder holder = {.id = 1, .address = address};
    struct log_writer seen = look(log_a);
    uint64_t fence;
    memset(address, 'x', LOG_ADDRESS_MAX);
    assert_outcome(log_a, log_mysql_take(log_a, &seen, &holder, &fence), LOG_DONE);
    assert_string_equal(look(log_a).address, address);
    /* A column that somebody has made wider. */
    assert_run(other, "ALTER TABLE tidings_writer MODIFY address VARBINARY(1000) NOT NULL; UPDATE "
                      "tidings_writer SET address=REPEAT('x', 256)");
    assert_outcome(log_a, log_mysql_look(log_a, &seen), LOG_CORRUPT);
}

int test_log_writer(void)
{
    const struct CMUnitTest tests[] = {
        WRITER_TEST(whoever_takes_over_first_has_a_new_fence_and_is_not_ready),
        WRITER_TEST(a_lease_that_holds_is_not_taken),
        WRITER_TEST(a_lease_that_was_given_back_is_taken_at_once),
        WRITER_TEST(whoever_holds_the_lease_takes_over_from_itself),
        WRITER_TEST(a_lease_of_a_clock_that_was_set_back_is_taken_by_who_has_watched_it),
        WRITER_TEST(of_several_takers_one_takes_over),
        WRITER_TEST(a_log_is_confirmed_as_it_is_only),
        WRITER_TEST(a_lease_is_renewed_by_its_holder_alone),
        WRITER_TEST(a_lease_is_not_renewed_on_a_log_that_went_back),
        WRITER_TEST(a_fence_counts_on_no_other_server_of_mysql),
        WRITER_TEST(replicas_are_known_until_they_are_forgotten),
        WRITER_TEST(the_longest_address_fits),
    };
    return RUN_TESTS(tests);
}

/* SPDX-License-Identifier: MIT */
/* A log that is decided elsewhere: what is refused there is in no log here, and what nobody decided about is dropped. */
#include <stdlib.h>
#include <string.h>

#include "engine/local/local.h"
#include "local/store_support.h"

static struct decider {
    struct kv_decider kv;
    enum tidings_err answer;
    const char *
        copy_to; /* the directory, as it is while the record is being decided about; NULL: no copy */
    unsigned asked;
    uint64_t sure; /* of the last record */
} decider;

static void begin(void *ctx, const struct redo_record *record, const struct chain *before)
{
    struct decider *self = ctx;
    (void)before;
    self->asked++;
    self->sure = record->sure;
}

static enum tidings_err end(void *ctx)
{
    struct decider *self = ctx;
    char command[1200];
    if (self->copy_to) {
        snprintf(command, sizeof command, "cp -r '%s' '%s'", harness_dir(), self->copy_to);
        assert_int_equal(system(command), 0);
    }
    return self->answer;
}

/* The engine of the harness, whose first member is the local one. */
static void decide(void)
{
    struct local *local = (struct local *)*(struct engine **)engine;
    decider = (struct decider){.kv = {begin, end, &decider}};
    pthread_mutex_lock(&local->writer.turn);
    kv_decide_by(local->kv, &decider.kv);
    pthread_mutex_unlock(&local->writer.turn);
}

static enum tidings_err try_publish(const char *title)
{
    return run((struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                                   .user_id = ANN,
                                   .role = TIDINGS_ROLE_SERVICE,
                                   .u.publish = {.title = text_of(title), .kind = TIDINGS_NOTE}});
}

static void what_is_refused_is_in_no_log(void **state)
{
    (void)state;
    follow(BOB, ANN);
    decide();
    assert_int_equal(try_publish("one"), TIDINGS_OK);
    assert_int_equal(decider.asked, 1);
    decider.answer = TIDINGS_UNREACHABLE;
    assert_int_equal(try_publish("refused"), TIDINGS_UNREACHABLE);
    assert_int_equal(try_publish("refused, too"), TIDINGS_UNREACHABLE);
    assert_int_equal(badge(BOB), 1);
    decider.answer = TIDINGS_OK;
    assert_int_equal(try_publish("another"), TIDINGS_OK);
    assert_int_equal(try_publish("last"),
                     TIDINGS_OK); /* it follows that one, and nothing that was refused */
    assert_int_equal(badge(BOB), 3);
    options.remake = true; /* of the log alone */
    reopen_engine();
    options.remake = false;
    assert_int_equal(badge(BOB), 3);
    assert_verifies();
}

/* How far a directory goes when it is opened. */
static uint64_t open_store(const char *dir, bool elsewhere, bool remake)
{
    struct store_options how = {
        .dir = dir, .settings = &options.settings, .elsewhere = elsewhere, .remake = remake};
    const char *message = NULL;
    struct store *store = NULL;
    if (store_open(&how, &store, &message))
        fail_msg("%s", message);
    uint64_t number = kv_applied(store->kv);
    store_close(store);
    return number;
}

static void make_copies(char copies[2][512])
{
    char command[1200];
    harness_path(copies[0], "copy-0");
    harness_path(copies[1], "copy-1");
    follow(BOB, ANN);
    decide();
    assert_int_equal(try_publish("one"), TIDINGS_OK);
    decider.copy_to = copies[0];
    assert_int_equal(try_publish("two"), TIDINGS_OK);
    decider.copy_to = NULL;
    snprintf(command, sizeof command, "cp -r '%s' '%s'", copies[0], copies[1]);
    assert_int_equal(system(command), 0);
}

/* The record was synced here, and the machine went down before anybody knew what became of it. */
static void what_nobody_decided_about_is_dropped(void **state)
{
    (void)state;
    char copies[2][512];
    make_copies(copies);
    uint64_t unsure = decider.sure + 1;
    for (int remake = 0; remake < 2; remake++) {
        assert_int_equal(open_store(copies[remake], true, remake), unsure - 1);
        assert_int_equal(open_store(copies[remake], false, true), unsure - 1); /* for good */
    }
}

/* By itself the directory is its own judge. */
static void a_lone_directory_keeps_it(void **state)
{
    (void)state;
    char copies[2][512];
    make_copies(copies);
    assert_int_equal(open_store(copies[0], false, true), decider.sure + 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(what_is_refused_is_in_no_log),
        TEST(what_nobody_decided_about_is_dropped),
        TEST(a_lone_directory_keeps_it),
    };
#undef TEST
    return RUN_TESTS(tests);
}

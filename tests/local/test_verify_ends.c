/* SPDX-License-Identifier: MIT */
/* What damage must not do: hang, crash, spoil what others do. And what verify says of itself; see community.h. */
#include <semaphore.h>
#include <string.h>

#include "engine/local/storage/store.h"
#include "local/community.h"

/* ---- What must not hang or crash ------------------------------------------------------------ */

static bool verify_ends(void)
{
    struct tidings_verify result = {.repair = false};
    alarm(20);
    return !try_open() && !tidings_verify(engine, &result) && result.differences >= 1;
}

/* The greatest id that a key can hold has no successor. */
static void verify_ends_at_the_greatest_key(void **state)
{
    (void)state;
    uint8_t bytes[USER_RECORD_MAX];
    const struct user_record user = {.posts = 1};
    struct bytes value = {bytes, user_encode(&user, bytes)};
    row_put(TABLE_USER, key_row(ID_MASK, ROW_USER), value);
    assert_true(test_survives(verify_ends));
}

static bool write_is_refused(void)
{
    alarm(20);
    return !try_open() && run((struct tidings_op){.kind = TIDINGS_OP_HISTORY_CLEAR,
                                                  .user_id = BOB}) == TIDINGS_CORRUPT;
}

/* A batch fails for a reason that is no call's fault: that must not be tried for ever. */
static void a_damaged_newest_id_refuses_writes_and_does_not_hang(void **state)
{
    (void)state;
    row_cut(TABLE_META, key_meta("newest"), 3);
    assert_true(test_survives(write_is_refused));
}

static void damage_in_one_users_rows_does_not_stop_another(void **state)
{
    (void)state;
    row_cut(TABLE_USER, key_pair(BOB, ROW_INBOX, ANN), 5);
    open_engine();
    assert_int_equal(run((struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = BOB}),
                     TIDINGS_CORRUPT);
    assert_int_equal(run((struct tidings_op){.kind = TIDINGS_OP_MARK_READ,
                                             .user_id = BOB,
                                             .u.mark = {.post_ids = &posts[148], .n_post_ids = 1}}),
                     TIDINGS_CORRUPT);
    assert_int_equal(mark_one(CID, posts[148]), 1);
    assert_adds_up(CID);
}

/* A batch with one such call in it goes through without that one. */
static void one_damaged_call_does_not_spoil_its_batch(void **state)
{
    (void)state;
    enum { CALLS = 50 };
    struct tidings_op ops[CALLS], spoiled = {.kind = TIDINGS_OP_MARK_READ,
                                             .user_id = BOB,
                                             .u.mark = {.post_ids = &posts[148], .n_post_ids = 1}};
    row_cut(TABLE_USER, key_pair(BOB, ROW_INBOX, ANN), 5);
    open_engine();
    for (size_t i = 0; i < CALLS; i++)
        ops[i] = (struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                                     .role = TIDINGS_ROLE_SERVICE,
                                     .user_id = FAY,
                                     .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}}};
    must_all(ops, CALLS);
    assert_int_equal(run(spoiled), TIDINGS_CORRUPT);
    must_all(ops, CALLS);
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = FAY, .u.user.user_id = FAY});
    assert_int_equal(answer.u.counters.posts, 2 * CALLS);
}

static sem_t submitted, landed;

/* On the writer's thread: what is submitted meanwhile becomes one batch. */
static void hold(struct tidings_call *call)
{
    (void)call;
    sem_wait(&submitted);
    sem_post(&landed);
}

static void land(struct tidings_call *call)
{
    (void)call;
    sem_post(&landed);
}

/* The batch is tried once with the damaged call and once without: nothing may be counted twice. */
static void what_a_spoiled_batch_answered_is_forgotten(void **state)
{
    (void)state;
    enum { HELD, GOOD, SPOILED, CALLS };
    struct tidings_op ops[CALLS] = {
        [HELD] = {.kind = TIDINGS_OP_PUBLISH,
                  .user_id = FAY,
                  .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}}},
        [GOOD] = {.kind = TIDINGS_OP_MARK_READ,
                  .user_id = CID,
                  .u.mark = {.post_ids = &posts[148], .n_post_ids = 1}},
        [SPOILED] = {.kind = TIDINGS_OP_MARK_READ,
                     .user_id = BOB,
                     .u.mark = {.post_ids = &posts[148], .n_post_ids = 1}},
    };
    struct tidings_answer answers[CALLS];
    struct tidings_call calls[CALLS];
    row_cut(TABLE_USER, key_pair(BOB, ROW_INBOX, ANN), 5);
    open_engine();
    sem_init(&submitted, 0, 0);
    sem_init(&landed, 0, 0);
    for (int i = 0; i < CALLS; i++) {
        tidings_answer_init(&answers[i]);
        calls[i] = (struct tidings_call){
            .op = &ops[i], .answer = &answers[i], .done = i == HELD ? hold : land};
        tidings_submit(engine, &calls[i]);
    }
    sem_post(&submitted);
    for (int i = 0; i < CALLS; i++)
        sem_wait(&landed);
    assert_int_equal(tidings_finish(engine, &calls[HELD]), TIDINGS_OK);
    assert_int_equal(tidings_finish(engine, &calls[GOOD]), TIDINGS_OK);
    assert_int_equal(answers[GOOD].u.mark.marked, 1);
    assert_int_equal(tidings_finish(engine, &calls[SPOILED]), TIDINGS_CORRUPT);
    for (int i = 0; i < CALLS; i++)
        tidings_answer_release(&answers[i]);
}

/* ---- The format ----------------------------------------------------------------------------- */

static void read_text(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, room - 1, file)] = '\0';
    fclose(file);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void another_format_is_refused(void **state)
{
    (void)state;
    const char *message = NULL;
    char path[4096], was[512] = "", changed[512];
    close_engine();
    snprintf(path, sizeof path, "%s/state", harness_dir());
    read_text(path, was, sizeof was);
    for (int format = 1; format < STORE_FORMAT + 2; format++) {
        if (format >= STORE_FORMAT_OLDEST && format <= STORE_FORMAT)
            continue;
        snprintf(changed, sizeof changed, "tidings %d%s", format, strchr(was, '\n'));
        write_text(path, changed);
        assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_VERSION);
        assert_non_null(message);
        assert_null(engine);
    }
    write_text(path, "nonsense");
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_CORRUPT);
    unlink(path);
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_VERSION);
    write_text(path, was);
    open_engine();
    assert_int_equal(verify(false), 0);
}

static void verify_tells_how_far_it_has_got(void **state)
{
    struct told told;
    struct tidings_verify verify = {.progress = progress_to(&told)};
    (void)state;
    assert_int_equal(tidings_verify(engine, &verify), TIDINGS_OK);
    assert_true(told.times >= 2 && !told.fell);
    assert_true(told.total >= POSTS && told.done == told.total);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, community_begin, community_end)
    const struct CMUnitTest tests[] = {
        TEST(verify_ends_at_the_greatest_key),
        TEST(a_damaged_newest_id_refuses_writes_and_does_not_hang),
        TEST(damage_in_one_users_rows_does_not_stop_another),
        TEST(one_damaged_call_does_not_spoil_its_batch),
        TEST(what_a_spoiled_batch_answered_is_forgotten),
        TEST(another_format_is_refused),
        TEST(verify_tells_how_far_it_has_got),
    };
#undef TEST
    return RUN_TESTS(tests);
}

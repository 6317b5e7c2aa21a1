/* SPDX-License-Identifier: MIT */
/* Reading ahead: a rehearsal changes nothing, reads what the operation would read, and touches all that it would change. */
#include <semaphore.h>

#include "engine/local/ahead.h"
#include "engine/local/local.h"
#include "engine/local/storage/rehearsal.h"
#include "local/store_support.h"

enum { READ_AHEAD_ALWAYS = 2, CID = 3 };

static struct local *local;
static struct arena arena;
static struct tidings_answer given;
static sem_t done;

static int begin(void **state)
{
    const char *message;
    struct engine *opened;
    int rc = harness_begin_closed(state);
    options.settings.read_ahead = READ_AHEAD_ALWAYS;
    if (rc || engine_local_open(&options, &opened, &message))
        return -1;
    local = (struct local *)opened;
    arena_init(&arena, 1 << 24);
    tidings_answer_init(&given);
    return sem_init(&done, 0, 0);
}

static int end(void **state)
{
    sem_destroy(&done);
    tidings_answer_release(&given);
    arena_release(&arena);
    local->engine.vtable->close(&local->engine);
    return harness_end(state);
}

/* ---- Against a transaction that changes -------------------------------------------------------- */

enum { KEYS = 60 };

static struct key key_drawn(struct rng *rng)
{
    return key_id(rng_below(rng, KEYS));
}

static void put_some(struct kv_txn *txn, struct rng *rng)
{
    for (int i = 0; i < KEYS / 2; i++) {
        struct key key = key_drawn(rng);
        uint8_t value = (uint8_t)rng_below(rng, 256);
        kv_put(txn, TABLE_PROFILE, &key, &value, 1);
    }
}

/* What a transaction finds, so that two can be compared; the rehearsal may have ended. */
struct finding {
    bool found;
    struct bytes key, value;
};

static struct finding step_once(struct kv_txn *txn, unsigned kind, const struct key *key,
                                uint8_t value)
{
    struct finding finding = {.key = key_bytes(key)};
    switch (kind) {
    case 0:
        kv_put(txn, TABLE_PROFILE, key, &value, 1);
        break;
    case 1:
        kv_del(txn, TABLE_PROFILE, key);
        break;
    case 2:
        finding.found = kv_find(txn, TABLE_PROFILE, key, &finding.key, &finding.value);
        break;
    case 3:
        finding.found = kv_seek(txn, TABLE_PROFILE, key, &finding.key, &finding.value);
        if (finding.found)
            finding.found = kv_next(txn, TABLE_PROFILE, &finding.key, &finding.value);
        break;
    case 4:
        finding.found = kv_seek_below(txn, TABLE_PROFILE, key, &finding.key, &finding.value);
        break;
    default:
        finding.found = kv_get(txn, TABLE_PROFILE, key, &finding.value);
    }
    return finding;
}

static bool finding_same(const struct finding *a, const struct finding *b)
{
    return a->found == b->found &&
           (!a->found || (bytes_same(a->key, b->key) && bytes_same(a->value, b->value)));
}

/* As many steps as the rehearsal can keep up with; how many these were. */
static size_t compare_once(struct kv *kv, struct kv_txn *reader, struct rng *rng)
{
    enum { STEPS = 40 };
    struct rehearsal rehearsal = {.arena = &arena};
    struct kv_txn writer;
    size_t n = 0;
    assert_int_equal(kv_begin(kv, &writer), TIDINGS_OK);
    assert_int_equal(kv_reader_start(reader), TIDINGS_OK);
    kv_rehearse(reader, &rehearsal);
    for (; n < STEPS; n++) {
        unsigned kind = (unsigned)rng_below(rng, 9);
        uint8_t value = (uint8_t)rng_below(rng, 256);
        struct key key = key_drawn(rng);
        struct finding rehearsed = step_once(reader, kind, &key, value);
        if (reader->err)
            break;
        struct finding real = step_once(&writer, kind, &key, value);
        assert_true(finding_same(&rehearsed, &real));
    }
    kv_reader_stop(reader);
    kv_abort(&writer);
    arena_clear(&arena);
    return n;
}

static void a_rehearsal_reads_what_the_change_would_read(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct kv_txn txn, reader;
    size_t steps = 0;
    assert_int_equal(kv_begin(local->kv, &txn), TIDINGS_OK);
    put_some(&txn, &rng);
    save_version(local, &txn);
    assert_int_equal(kv_commit(&txn), TIDINGS_OK);
    assert_int_equal(kv_reader_init(local->kv, &reader), TIDINGS_OK);
    for (int round = 0; round < 2000; round++)
        steps += compare_once(local->kv, &reader, &rng);
    kv_reader_release(&reader);
    assert_true(steps > 2000 * 5); /* most do not end at once */
}

/* ---- Whole operations -------------------------------------------------------------------------- */

static void note_done(struct tidings_call *call)
{
    (void)call;
    sem_post(&done);
}

static void run_op(const struct tidings_op *op)
{
    struct tidings_call call = {.op = op, .answer = &given, .done = note_done};
    answer_clear(&given);
    local->engine.vtable->submit(&local->engine, &call);
    while (sem_wait(&done))
        continue;
    assert_int_equal(call.err, TIDINGS_OK);
}

/* Rows of the whole are in memory always, and what is told is none. */
static bool is_row_of(const struct change *change)
{
    return change->table != TABLE_META && change->table != CHANGE_TOLD;
}

/* Rehearsed, then done: the record has nothing that was not touched, and the rehearsal has noted nothing else. */
static void assert_rehearsed(struct tidings_op op)
{
    static int64_t now_ms = INT64_C(1700000000000);
    struct rehearsal rehearsal = {.arena = &arena};
    struct snapshot *snapshot;
    struct change change;
    size_t n = 0;
    op.now_ms = now_ms += 1000;
    assert_int_equal(snapshot_take(local, &op, &snapshot), TIDINGS_OK);
    answer_clear(&given);
    ahead_rehearse(snapshot, &op, &given, &rehearsal);
    assert_int_equal(snapshot->txn.err, TIDINGS_OK);
    snapshot_return(local, snapshot);
    run_op(&op);
    const struct redo_record *record = kv_record(local->kv);
    struct decoder r = decoder_of(record->changes.p, record->changes.n);
    struct rehearsal seen = {.arena = &arena};
    while (change_decode(&r, &change)) {
        if (!is_row_of(&change))
            continue;
        assert_non_null(rehearsal_find(&rehearsal, (int)change.table, change.key));
        assert_true(rehearsal_note(
            &seen, &(struct rehearsed){(int)change.table, change.is_put, change.key, {NULL, 0}}));
    }
    for (size_t i = 0; i < rehearsal.n; i++)
        n += rehearsal.at[i].is_put;
    assert_true(n && n <= seen.n);
    arena_clear(&arena);
}

static uint64_t publish_rehearsed(uint64_t author)
{
    assert_rehearsed((struct tidings_op){
        .kind = TIDINGS_OP_PUBLISH,
        .user_id = author,
        .u.publish = {.kind = TIDINGS_NOTE, .title = text_of("t"), .body = text_of("b")}});
    return given.u.post.id;
}

static void what_an_operation_changes_is_touched_before(void **state)
{
    (void)state;
    assert_rehearsed(follow_op(BOB, ANN));
    assert_rehearsed(follow_op(CID, ANN));
    uint64_t posts[] = {publish_rehearsed(ANN), publish_rehearsed(ANN), publish_rehearsed(ANN)};
    assert_rehearsed((struct tidings_op){.kind = TIDINGS_OP_MARK_READ,
                                         .user_id = BOB,
                                         .u.mark = {.post_ids = posts, .n_post_ids = 1}});
    assert_rehearsed((struct tidings_op){.kind = TIDINGS_OP_MARK_READ,
                                         .user_id = BOB,
                                         .u.mark = {.post_ids = posts, .n_post_ids = 3}});
    assert_rehearsed(react_op(CID, TIDINGS_LIKE, TIDINGS_TARGET_POST, posts[1]));
    assert_rehearsed(comment_op(CID, posts[1], 0));
    assert_rehearsed((struct tidings_op){
        .kind = TIDINGS_OP_DELETE, .user_id = ANN, .u.post = {.post_id = posts[2]}});
    assert_rehearsed((struct tidings_op){
        .kind = TIDINGS_OP_UNFOLLOW, .user_id = BOB, .u.relation = {.user_id = ANN}});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(a_rehearsal_reads_what_the_change_would_read),
        TEST(what_an_operation_changes_is_touched_before),
    };
    return RUN_TESTS(tests);
}

/* SPDX-License-Identifier: MIT */
/* Records of another log, made up here, onto a directory: what is in memory follows, and what does not fit changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "engine/local/local.h"
#include "engine/local/memory/recent.h"
#include "local/store_support.h"

enum { AUTHOR = 7 };

static struct local *local;
static struct chain chain;
static uint64_t number;
static struct buf changes;

static int begin(void **state)
{
    const char *message;
    struct engine *opened;
    int rc = harness_begin_closed(state);
    if (rc || engine_local_open(&options, &opened, &message))
        return -1;
    local = (struct local *)opened;
    atomic_store(&local->role, TIDINGS_FOLLOWER); /* its writer rests */
    local->follower.chainer = chainer_new();
    chain = kv_chain(local->kv);
    number = kv_applied(local->kv);
    buf_init(&changes, 1 << 20);
    return local->follower.chainer ? 0 : -1;
}

static int end(void **state)
{
    buf_release(&changes);
    local->engine.vtable->close(&local->engine);
    return harness_end(state);
}

static void add(enum table table, bool is_put, const struct key *key, const void *value, size_t n)
{
    struct change change = {table, is_put, key_bytes(key), {value, n}};
    uint8_t head[CHANGE_HEAD_MAX];
    buf_append(&changes, head, change_encode(&change, head));
    buf_append(&changes, value, n);
}

static void add_chunk(const uint64_t *ids, size_t n)
{
    uint8_t bytes[64 * ID_BYTES];
    struct key key = key_author(AUTHOR, ROW_POSTS, 0);
    for (size_t i = 0; i < n; i++)
        put_id(bytes + i * ID_BYTES, ids[i]);
    add(TABLE_AUTHOR, n > 0, &key, bytes, n * ID_BYTES);
}

static void add_newest(uint64_t version)
{
    struct key key = key_meta("newest");
    uint8_t bytes[ID_BYTES + 8 + 8] = {0};
    put_id(bytes, 4096 * (version + 1));
    put_u64(bytes + ID_BYTES, version);
    add(TABLE_META, true, &key, bytes, sizeof bytes);
}

/* The changes as the next record; the chain goes on if it is taken. */
static enum tidings_err apply_next(void)
{
    struct redo_record record = {.number = number + 1,
                                 .sure = number + 1,
                                 .time_ms = 1,
                                 .is_chained = true,
                                 .changes = {(const uint8_t *)changes.data, changes.len}};
    assert_true(chain_next(local->follower.chainer, &chain, &record, &record.chain));
    enum tidings_err err = apply_records(local, &record, 1);
    if (!err) {
        chain = record.chain;
        number++;
    }
    buf_clear(&changes);
    return err;
}

static const struct head *head(void)
{
    return heads_get(local->heads, AUTHOR, number);
}

static void put_posts(const uint64_t *ids, size_t n)
{
    add_chunk(ids, n);
    add_newest(number + 1);
    assert_int_equal(apply_next(), TIDINGS_OK);
}

/* A list that is added to, one that is written otherwise, one that is shorter, and none. */
static void a_list_that_is_no_addition_is_loaded_anew(void **state)
{
    (void)state;
    put_posts((uint64_t[]){10, 20, 30}, 3);
    assert_int_equal(head()->n_posts, 3);
    put_posts((uint64_t[]){10, 20, 30, 40}, 4);
    assert_int_equal(head()->ids[3], 40);
    put_posts((uint64_t[]){10, 25, 30, 40}, 4);
    assert_int_equal(head()->n_posts, 4);
    assert_int_equal(head()->ids[1], 25);
    put_posts((uint64_t[]){10, 25}, 2);
    assert_int_equal(head()->n_posts, 2);
    put_posts(NULL, 0);
    assert_int_equal(head()->n_posts, 0);
}

/* Nothing of what does not fit is there afterwards, and what fits is taken. */
static void what_does_not_fit_changes_nothing(void **state)
{
    (void)state;
    struct key nobody = key_id(99);
    put_posts((uint64_t[]){10}, 1);
    add_chunk((uint64_t[]){10, 20}, 2); /* a row is deleted that is not there */
    add(TABLE_PROFILE, false, &nobody, NULL, 0);
    add_newest(number + 1);
    assert_int_equal(apply_next(), TIDINGS_CORRUPT);
    assert_int_equal(head()->n_posts, 1);
    add_chunk((uint64_t[]){10, 20}, 2); /* the record does not say its number */
    assert_int_equal(apply_next(), TIDINGS_CORRUPT);
    assert_int_equal(head()->n_posts, 1);
    number++; /* one is left out */
    add_newest(number + 1);
    assert_int_equal(apply_next(), TIDINGS_CORRUPT);
    number--;
    struct chain right = chain; /* it follows another history */
    chain.bytes[3] ^= 1;
    add_newest(number + 1);
    assert_int_equal(apply_next(), TIDINGS_CORRUPT);
    chain = right;
    buf_append(&changes, "\xff\xff", 2); /* it cannot be read */
    assert_int_equal(apply_next(), TIDINGS_CORRUPT);
    put_posts((uint64_t[]){10, 20}, 2);
    assert_int_equal(head()->n_posts, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_list_that_is_no_addition_is_loaded_anew),
        TEST(what_does_not_fit_changes_nothing),
    };
#undef TEST
    return RUN_TESTS(tests);
}

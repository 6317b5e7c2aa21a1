/* SPDX-License-Identifier: MIT */
#include "local/damage.h"

#include <string.h>

#include "contract/harness.h"
#include "engine/local/rows/journal.h"

static uint8_t memory[1 << 20];

static struct kv *open_kv(void)
{
    struct kv *kv = NULL;
    const char *message;
    close_engine();
    char path[4096];
    snprintf(path, sizeof path, "%s/data.mdb", harness_dir());
    struct kv_options kv_options = {.path = path, .map_bytes = (size_t)1 << 30};
    assert_int_equal(kv_open(&kv_options, &kv, &message), TIDINGS_OK);
    return kv;
}

struct bytes row_get(enum table table, struct key key)
{
    struct kv *kv = open_kv();
    struct kv_txn txn;
    struct bytes value = {NULL, 0};
    assert_int_equal(kv_begin(kv, &txn), TIDINGS_OK);
    if (kv_get(&txn, table, &key, &value)) {
        assert_true(value.n <= sizeof memory);
        memcpy(memory, value.p, value.n);
        value.p = memory;
    }
    kv_abort(&txn);
    kv_close(kv);
    return value;
}

static void change_long(enum table table, struct bytes key, struct bytes value)
{
    struct kv *kv = open_kv();
    struct kv_txn txn;
    assert_int_equal(kv_begin(kv, &txn), TIDINGS_OK);
    if (value.p)
        kv_put_long(&txn, table, key, value.p, value.n);
    else
        kv_del_long(&txn, table, key);
    assert_int_equal(kv_commit(&txn), TIDINGS_OK);
    kv_close(kv);
}

static void change(enum table table, struct key key, struct bytes value)
{
    change_long(table, key_bytes(&key), value);
}

void row_change_long(enum table table, struct bytes key, bool put)
{
    change_long(table, key, (struct bytes){put ? (const uint8_t *)"" : NULL, 0});
}

void row_put(enum table table, struct key key, struct bytes value)
{
    change(table, key, value.p ? value : (struct bytes){(const uint8_t *)"", 0});
}

void row_delete(enum table table, struct key key)
{
    assert_non_null(row_get(table, key).p);
    change(table, key, (struct bytes){NULL, 0});
}

void row_cut(enum table table, struct key key, size_t n)
{
    struct bytes value = row_get(table, key);
    assert_true(value.n > n);
    change(table, key, (struct bytes){value.p, n});
}

struct user_record user_get(uint64_t user)
{
    struct user_record record;
    assert_true(user_decode(row_get(TABLE_USER, key_row(user, ROW_USER)), &record));
    return record;
}

void user_put(uint64_t user, const struct user_record *record)
{
    uint8_t bytes[USER_RECORD_MAX];
    size_t n = user_encode(record, bytes);
    row_put(TABLE_USER, key_row(user, ROW_USER), (struct bytes){bytes, n});
}

void pair_get(uint64_t fan, enum user_row row, uint64_t author, struct pair *pair)
{
    static struct arena arena;
    arena_release(&arena);
    arena_init(&arena, 1 << 20);
    struct bytes value = row_get(TABLE_USER, key_pair(fan, row, author));
    struct bytes copy = {(const uint8_t *)arena_text(&arena, value.p, value.n), value.n};
    assert_true(pair_decode(copy, &arena, pair, 4));
}

void pair_put(uint64_t fan, enum user_row row, uint64_t author, const struct pair *pair)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    row_put(TABLE_USER, key_pair(fan, row, author), pair_encode(pair, &arena));
    arena_release(&arena);
}

size_t row_count(enum table table, struct key prefix)
{
    struct kv *kv = open_kv();
    struct kv_txn txn;
    struct bytes key, value;
    size_t n = 0;
    assert_int_equal(kv_begin(kv, &txn), TIDINGS_OK);
    bool found = kv_seek(&txn, table, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix); found = kv_next(&txn, table, &key, &value))
        n++;
    kv_abort(&txn);
    kv_close(kv);
    return n;
}

struct key history_get(uint64_t reader, size_t row, struct history_block *block)
{
    struct kv *kv = open_kv();
    struct kv_txn txn;
    struct key prefix = key_row(reader, ROW_HISTORY);
    struct bytes key, value;
    assert_int_equal(kv_begin(kv, &txn), TIDINGS_OK);
    assert_true(kv_seek(&txn, TABLE_USER, &prefix, &key, &value));
    for (; row; row--)
        assert_true(kv_next(&txn, TABLE_USER, &key, &value));
    assert_true(key_has_prefix(key, &prefix) && journal_decode(key, value, block));
    kv_abort(&txn);
    kv_close(kv);
    return key_history(reader, block->at[0].stamp, block->at[0].post);
}

void history_put(uint64_t reader, const struct history_entry *entries, size_t n)
{
    uint8_t bytes[HISTORY_RECORD_MAX];
    size_t used;
    assert_int_equal(history_encode(entries, n, bytes, &used), n);
    row_put(TABLE_USER, key_history(reader, entries[0].stamp, entries[0].post),
            (struct bytes){bytes, used});
}

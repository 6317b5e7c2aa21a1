/* SPDX-License-Identifier: MIT */
/* Changing single rows of a data directory behind the engine's back. Closes the engine; the caller
 * opens it again. */
#ifndef TESTS_LOCAL_DAMAGE_H
#define TESTS_LOCAL_DAMAGE_H

#include "engine/local/rows/keys.h"
#include "engine/local/storage/kv.h"
#include "engine/records/records.h"

/* A row's value, copied; {NULL, 0} if there is no such row. Valid until the next call. */
struct bytes row_get(enum table table, struct key key);

void row_put(enum table table, struct key key, struct bytes value);
void row_delete(enum table table, struct key key);

/* A row that is all key, of any length: put, or deleted. */
void row_change_long(enum table table, struct bytes key, bool put);

/* The first n bytes of what it was. */
void row_cut(enum table table, struct key key, size_t n);

/* Records decoded, to be changed and put back. */
struct user_record user_get(uint64_t user);
void user_put(uint64_t user, const struct user_record *record);

/* The pair in that row, and where it lies; spans and skips in static memory. */
void pair_get(uint64_t fan, enum user_row row, uint64_t author, struct pair *pair);
void pair_put(uint64_t fan, enum user_row row, uint64_t author, const struct pair *pair);

/* How many rows begin with that. */
size_t row_count(enum table table, struct key prefix);

/* A row of the reader's history, latest first: its key and its entries, oldest first. And such a row of these, which
 * must fit. */
struct key history_get(uint64_t reader, size_t row, struct history_block *block);
void history_put(uint64_t reader, const struct history_entry *entries, size_t n);

#endif

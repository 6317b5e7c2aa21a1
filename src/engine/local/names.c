/* SPDX-License-Identifier: MIT */
/*
 * The index of names, for a directory from before there was one: made when it is opened, out of the profiles, in transactions of
 * a bounded size. The row `names` says how far that came; after an interruption, or a restore to a moment in
 * between, it goes on from there. Like all rows it is in the log.
 */
#include "engine/local/local.h"

enum { PIECE = 4096 };

static void save_place(struct kv_txn *txn, uint64_t place)
{
    struct key key = key_meta("names");
    uint8_t bytes[ID_BYTES];
    put_id(bytes, place);
    kv_put(txn, TABLE_META, &key, bytes, sizeof bytes);
}

/* Users up to that one are in the index. Without a row nobody is, unless there is nobody. */
static uint64_t load_place(struct kv_txn *txn)
{
    struct key key = key_meta("names");
    struct bytes value;
    if (kv_get(txn, TABLE_META, &key, &value))
        return value.n == ID_BYTES ? get_id(value.p) : 0;
    return load_newest(txn).version ? 0 : TIDINGS_ID_MAX;
}

void names_begin(struct kv_txn *txn)
{
    save_place(txn, TIDINGS_ID_MAX);
}

/* One that cannot be decoded has no name; verify tells. */
static void add_name(struct kv_txn *txn, uint64_t user, struct bytes value)
{
    struct profile_record profile;
    struct name_key key;
    if (!profile_decode(value, &profile) || !profile.name.n)
        return;
    name_key_of(profile.name, user, &key);
    kv_put_long(txn, TABLE_NAME, name_key_bytes(&key), "", 0);
}

/* The names of the users behind that one, as many as go into a piece; the last of them, or the greatest there can be. */
static uint64_t add_names(struct kv_txn *txn, uint64_t place)
{
    struct key from = key_id(place + 1);
    struct bytes key, value;
    bool found = kv_seek(txn, TABLE_PROFILE, &from, &key, &value);
    for (size_t n = 0; found && key.n == ID_BYTES; n++) {
        if (n == PIECE)
            return place;
        place = get_id(key.p);
        add_name(txn, place, value);
        found = kv_next(txn, TABLE_PROFILE, &key, &value);
    }
    return TIDINGS_ID_MAX;
}

enum tidings_err names_make(struct local *local)
{
    struct kv_txn txn;
    uint64_t place = 0;
    while (place < TIDINGS_ID_MAX) {
        enum tidings_err err = kv_begin(local->kv, &txn);
        if (err)
            return err;
        place = load_place(&txn);
        if (place >= TIDINGS_ID_MAX) {
            err = txn.err;
            kv_abort(&txn);
            return err;
        }
        txn.time_ms = clock_read(&local->clock).wall_ms;
        place = add_names(&txn, place);
        save_place(&txn, place);
        save_version(local, &txn);
        err = kv_commit(&txn);
        if (err)
            return err;
        atomic_store(&local->committed, kv_applied(local->kv));
    }
    return TIDINGS_OK;
}

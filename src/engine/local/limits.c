/* SPDX-License-Identifier: MIT */
/*
 * Limits that must be the same wherever the log is written or read are a row, `limits`: whoever writes puts the limits of its
 * own settings there with its first batch, if they differ. Whoever only reads goes by the row.
 */
#include <stdlib.h>

#include "engine/local/local.h"
#include "engine/ops/rules.h"

/* Settings that were in force once: somebody may still look at them. */
struct former_settings {
    struct former_settings *next;
    struct tidings_settings settings;
};

enum tidings_err limits_open(struct local *local, bool as_stored)
{
    struct key key = key_meta("limits");
    uint8_t wanted[LIMITS_BYTES_MAX];
    struct bytes stored = {NULL, 0};
    struct kv_txn txn;
    enum tidings_err err = kv_begin(local->kv, &txn);
    if (err)
        return err;
    bool found = kv_get(&txn, TABLE_META, &key, &stored);
    if (found && as_stored)
        limits_adopt(stored, &local->settings);
    size_t n = limits_encode(&local->settings, wanted);
    local->limits_due = !as_stored && !bytes_same(stored, (struct bytes){wanted, n});
    kv_abort(&txn);
    return TIDINGS_OK;
}

void limits_put(struct local *local, struct kv_txn *txn)
{
    struct key key = key_meta("limits");
    uint8_t bytes[LIMITS_BYTES_MAX];
    kv_put(txn, TABLE_META, &key, bytes, limits_encode(&local->settings, bytes));
}

bool limits_change(struct local *local, const struct tidings_settings *settings)
{
    struct former_settings *fresh = malloc(sizeof *fresh);
    if (!fresh)
        return false;
    *fresh = (struct former_settings){local->former_settings, *settings};
    local->former_settings = fresh;
    atomic_store(&local->in_force, &fresh->settings);
    return true;
}

void limits_release(struct local *local)
{
    while (local->former_settings) {
        struct former_settings *former = local->former_settings;
        local->former_settings = former->next;
        free(former);
    }
}

/* SPDX-License-Identifier: MIT */
/* The index of names against the profiles. */
#include <inttypes.h>

#include "engine/local/verify/verify.h"

void verify_name(struct check *check, struct bytes key, struct bytes value)
{
    struct name_key right;
    uint64_t user = key.n > ID_BYTES ? get_id(key.p + key.n - ID_BYTES) : 0;
    struct bytes name = check->view->rows->get_profile(check->view, user).name;
    name_key_of(name, user, &right);
    bool fits = name.n && !value.n && bytes_same(key, name_key_bytes(&right));
    if (fits || view_failed(check->view))
        return;
    verify_differ(check, "%" PRIu64 " is listed with a name that is not theirs", user);
    verify_mend_long(check, TABLE_NAME, key, (struct bytes){NULL, 0});
}

void verify_named(struct check *check, uint64_t user, struct bytes name)
{
    struct name_key key;
    struct bytes found;
    name_key_of(name, user, &key);
    if (!name.n || kv_get_long(txn_of(check->view), TABLE_NAME, name_key_bytes(&key), &found) ||
        view_failed(check->view))
        return;
    verify_differ(check, "%" PRIu64 " cannot be found by name", user);
    verify_mend_long(check, TABLE_NAME, name_key_bytes(&key),
                     (struct bytes){(const uint8_t *)"", 0});
}

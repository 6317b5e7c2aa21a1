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

/* ---- Keys: found by the key, and by the post ------------------------------------------------- */

static void check_post_of_key(struct check *check, struct bytes key, struct bytes value)
{
    struct bytes name = {key.p + 1, key.n - 1};
    uint64_t id = value.n == ID_BYTES ? get_id(value.p) : 0;
    struct post_record post;
    if (!view_post(check->view, id, &post) || !bytes_same(local_key_of(check->view, id), name))
        verify_differ(check, "the key \"%.*s\" is of no post", (int)name.n, (const char *)name.p);
}

/* Without the row, the time is the one in the id. */
static void check_time(struct check *check, struct bytes key, struct bytes value)
{
    int64_t ms;
    if (time_row_decode(key, value, &ms))
        return;
    verify_differ(check, "a time is stored for an id that cannot have it");
    verify_mend_long(check, TABLE_KEY, key, (struct bytes){NULL, 0});
}

void verify_key(struct check *check, struct bytes key, struct bytes value)
{
    if (key.n > 1 && key.p[0] == KEY_POST) {
        check_post_of_key(check, key, value);
    } else if (key.n > 1 && key.p[0] == KEY_COMMENT) {
        verify_differ(check, "a key of a comment is left of an import");
        verify_mend_long(check, TABLE_KEY, key, (struct bytes){NULL, 0});
    } else if (key.n > 1 && key.p[0] == ROW_TIME) {
        check_time(check, key, value);
    } else if (key.n != ID_BYTES || local_get_key(check->view, KEY_POST, value) != get_id(key.p)) {
        verify_differ(check, "a post has a key by which it is not found");
    }
}

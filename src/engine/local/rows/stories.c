/* SPDX-License-Identifier: MIT */
/* Scenes and their messages; what users have to do with stories. */
#include "domain/ids.h"
#include "engine/local/rows/rows.h"

/* ---- Scenes --------------------------------------------------------------------------------- */

bool local_get_scene(struct view *view, uint64_t id, struct scene_record *scene)
{
    struct key key = key_id(id);
    struct bytes value;
    if (!kv_get(txn_of(view), TABLE_SCENE, &key, &value))
        return false;
    if (!scene_decode(value, scene)) {
        view_corrupt(view);
        return false;
    }
    return true;
}

void local_put_scene(struct view *view, uint64_t id, const struct scene_record *scene)
{
    struct key key = key_id(id);
    put_value(view, TABLE_SCENE, &key, scene_encode(scene, view->scratch));
}

bool local_get_messages(struct view *view, uint64_t scene, struct tidings_message **messages,
                        size_t *n)
{
    struct key key = key_row(scene, ROW_MESSAGES);
    struct bytes value;
    return kv_get(txn_of(view), TABLE_SCENE, &key, &value) &&
           messages_decode(value, view->scratch, messages, n);
}

void local_put_messages(struct view *view, uint64_t scene, const struct tidings_message *messages,
                        size_t n)
{
    struct key key = key_row(scene, ROW_MESSAGES);
    if (n)
        put_value(view, TABLE_SCENE, &key, messages_encode(messages, n, view->scratch));
    else
        kv_del(txn_of(view), TABLE_SCENE, &key);
}

/* One small row for each publishing or editing: here ids of one operation lie side by side. */
void local_give_ids(struct view *view, uint64_t scene, const uint64_t *ids, size_t n)
{
    struct key key = key_given(scene, ids[0]);
    uint8_t count[4];
    put_u32(count, (uint32_t)n);
    kv_put(txn_of(view), TABLE_SCENE, &key, count, sizeof count);
}

bool local_was_given(struct view *view, uint64_t scene, uint64_t message)
{
    struct key prefix = key_row(scene, ROW_GIVEN), from = key_given(scene, message + 1);
    struct bytes key, value;
    if (!kv_seek_below(txn_of(view), TABLE_SCENE, &from, &key, &value) ||
        !key_has_prefix(key, &prefix))
        return false;
    if (key.n != from.n || value.n != 4) {
        view_corrupt(view);
        return false;
    }
    uint64_t behind = message - get_id(key.p + prefix.n);
    return behind % ID_STEP == 0 && behind / ID_STEP < get_u32(value.p);
}

/* ---- What a user has to do with stories ----------------------------------------------------- */

struct shelf_record local_get_shelf(struct view *view, uint64_t user)
{
    struct shelf_record shelf = {0};
    struct key key = key_row(user, ROW_SHELF);
    struct bytes value;
    if (kv_get(txn_of(view), TABLE_USER, &key, &value) && !shelf_decode(value, &shelf))
        view_corrupt(view);
    return shelf;
}

void local_put_shelf(struct view *view, uint64_t user, const struct shelf_record *shelf)
{
    uint8_t bytes[SHELF_RECORD_MAX];
    struct key key = key_row(user, ROW_SHELF);
    kv_put(txn_of(view), TABLE_USER, &key, bytes, shelf_encode(shelf, bytes));
}

struct position_record local_get_position(struct view *view, uint64_t reader, uint64_t story)
{
    struct position_record position = {0};
    struct key key = key_pair(reader, ROW_POSITION, story);
    struct bytes value;
    if (kv_get(txn_of(view), TABLE_USER, &key, &value) && !position_decode(value, &position))
        view_corrupt(view);
    return position;
}

/* The place among those shown, latest first. */
static void move_latest(struct view *view, uint64_t reader, uint64_t story,
                        const struct reading_shown *before, const struct reading_shown *now)
{
    struct key from = key_latest(reader, (uint64_t)before->modified_at, story);
    struct key to = key_latest(reader, (uint64_t)now->modified_at, story);
    if (before->any && now->any && before->modified_at == now->modified_at)
        return;
    if (before->any)
        kv_del(txn_of(view), TABLE_USER, &from);
    if (now->any)
        put_mark(view, TABLE_USER, &to);
}

/* The place among all that were ever shown, in the order of changing. */
static void move_changed(struct view *view, uint64_t reader, uint64_t story, uint64_t before,
                         uint64_t now)
{
    struct key from = key_changed(reader, before, story), to = key_changed(reader, now, story);
    if (before)
        kv_del(txn_of(view), TABLE_USER, &from);
    put_mark(view, TABLE_USER, &to);
}

void local_put_position(struct view *view, uint64_t reader, uint64_t story,
                        const struct position_record *position, uint64_t version_before,
                        const struct reading_shown *before, const struct reading_shown *now)
{
    struct key key = key_pair(reader, ROW_POSITION, story);
    uint8_t bytes[POSITION_RECORD_MAX];
    if (position->changed != version_before) {
        move_changed(view, reader, story, version_before, position->changed);
        move_latest(view, reader, story, before, now);
    }
    kv_put(txn_of(view), TABLE_USER, &key, bytes, position_encode(position, bytes));
}

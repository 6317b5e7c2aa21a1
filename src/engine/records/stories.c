/* SPDX-License-Identifier: MIT */
#include "engine/records/stories.h"

#include "engine/records/parts.h"

/* ---- A scene -------------------------------------------------------------------------------- */

enum { SCENE_DELETED = 1 };

struct bytes scene_encode(const struct scene_record *scene, struct arena *arena)
{
    uint8_t *to = arena_alloc(arena, 1 + ID_BYTES + 5 * VARINT_MAX + scene->title.n);
    size_t n = 0;
    if (!to)
        return (struct bytes){NULL, 0};
    to[n++] = VERSION_1 | (scene->deleted ? SCENE_DELETED : 0);
    put_id(to + n, scene->story);
    n += ID_BYTES;
    n += put_varint(to + n, scene->seq);
    n += put_varint(to + n, scene->n_messages);
    n += put_varint(to + n, scene->edited);
    n += put_varint(to + n, scene->removed);
    n += put_block(to + n, scene->title);
    return (struct bytes){to, n};
}

bool scene_decode(struct bytes from, struct scene_record *scene)
{
    struct decoder r = decoder_of(from.p, from.n);
    scene->deleted = read_head(&r, SCENE_DELETED) & SCENE_DELETED;
    scene->story = read_id(&r);
    scene->seq = read_varint32(&r);
    scene->n_messages = read_varint32(&r);
    scene->edited = read_varint(&r);
    scene->removed = read_varint(&r);
    scene->title = read_block(&r);
    bool stamps = scene->edited <= TIDINGS_ID_MAX && scene->removed <= TIDINGS_ID_MAX;
    return stamps && read_end(&r) && is_stamp(scene->story) &&
           scene->deleted == (scene->removed != 0) && !(scene->deleted && scene->n_messages);
}

struct bytes messages_encode(const struct tidings_message *messages, size_t n, struct arena *arena)
{
    size_t most = 1 + VARINT_MAX;
    for (size_t i = 0; i < n; i++)
        most += ID_BYTES + VARINT_MAX + messages[i].text.n;
    uint8_t *to = arena_alloc(arena, most);
    size_t used = 0;
    if (!to)
        return (struct bytes){NULL, 0};
    to[used++] = VERSION_1;
    used += put_varint(to + used, n);
    for (size_t i = 0; i < n; i++) {
        put_id(to + used, messages[i].id);
        used += ID_BYTES;
        used += put_block(to + used,
                          (struct bytes){(const uint8_t *)messages[i].text.p, messages[i].text.n});
    }
    return (struct bytes){to, used};
}

bool messages_decode(struct bytes from, struct arena *arena, struct tidings_message **messages,
                     size_t *n)
{
    struct decoder r = decoder_of(from.p, from.n);
    read_head(&r, 0);
    uint64_t count = read_varint(&r);
    /* Each takes an id, a length and a byte of text at least: no count can make us allocate much
     * more than we were given. */
    if (r.bad || !count || count > decoder_left(&r) / (ID_BYTES + 2))
        return false;
    struct tidings_message *found = arena_array(arena, count, sizeof *found);
    if (!found)
        return false;
    for (size_t i = 0; i < count; i++) {
        found[i].id = read_id(&r);
        struct bytes text = read_block(&r);
        found[i].text = (struct tidings_text){(const char *)text.p, text.n};
        if (!is_stamp(found[i].id) || !text.n)
            return false;
    }
    *messages = found;
    *n = count;
    return read_end(&r);
}

/* ---- What a user has to do with stories ----------------------------------------------------- */

size_t shelf_encode(const struct shelf_record *shelf, uint8_t to[SHELF_RECORD_MAX])
{
    size_t n = 0;
    to[n++] = VERSION_1;
#define X(field) n += put_varint(to + n, shelf->field);
    SHELF_FIELDS(X)
#undef X
    return n;
}

bool shelf_decode(struct bytes from, struct shelf_record *shelf)
{
    struct decoder r = decoder_of(from.p, from.n);
    read_head(&r, 0);
#define X(field) shelf->field = read_varint(&r);
    SHELF_FIELDS(X)
#undef X
    return read_end(&r) && shelf->cleared <= TIDINGS_ID_MAX && shelf->quiet <= 1;
}

/* ---- Where a reader stopped in a story ------------------------------------------------------ */

size_t position_encode(const struct position_record *position, uint8_t to[POSITION_RECORD_MAX])
{
    const struct reading *reading = &position->reading;
    size_t n = 0;
    to[n++] = VERSION_1;
    n += put_varint(to + n, (uint64_t)reading->read_at);
    n += put_varint(to + n, reading->scene);
    n += put_varint(to + n, reading->message);
    n += put_varint(to + n, (uint64_t)reading->entered_at);
    n += put_varint(to + n, (uint64_t)reading->erased_at);
    n += put_varint(to + n, position->first);
    n += put_varint(to + n, position->changed);
    return n;
}

/* A time, or 0. Times are no larger than ids, so that they fit keys. */
static int64_t read_time(struct decoder *r)
{
    uint64_t time = read_varint(r);
    if (time > TIDINGS_ID_MAX)
        decoder_fail(r);
    return r->bad ? 0 : (int64_t)time;
}

bool position_decode(struct bytes from, struct position_record *position)
{
    struct decoder r = decoder_of(from.p, from.n);
    struct reading *reading = &position->reading;
    read_head(&r, 0);
    reading->read_at = read_time(&r);
    reading->scene = read_varint(&r);
    reading->message = read_varint(&r);
    reading->entered_at = read_time(&r);
    reading->erased_at = read_time(&r);
    position->first = read_varint(&r);
    position->changed = read_varint(&r);
    bool ids = reading->scene <= TIDINGS_ID_MAX && reading->message <= TIDINGS_ID_MAX &&
               position->changed <= TIDINGS_ID_MAX && position->first <= position->changed;
    return read_end(&r) && ids && !reading->scene == !reading->read_at &&
           (reading->scene || !reading->message) && !position->first == !position->changed;
}

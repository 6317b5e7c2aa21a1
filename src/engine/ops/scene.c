/* SPDX-License-Identifier: MIT */
/*
 * Stories' scenes and their messages. A story is to its scenes what an author is to posts: they are
 * numbered, and listed in memory and in a table of their own. Publishing touches no subscriber, and
 * deleting a story touches no scene: its head is closed, and with that nobody sees any of them.
 * Their texts are swept away a few at a time.
 *
 * Messages have ids of their own, given out in order when they are first written. What was ever
 * given out is kept as one small row for each publishing or editing, so that a reading position can
 * be checked long after an edit.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/ids.h"
#include "engine/local/rows/lists.h"
#include "engine/ops/ops.h"
#include "engine/ops/story.h"

enum {
    RESULT_SCENE, /* call->result; of a refused call what is deleted */
    RESULT_AUTHOR,
    RESULT_STORY
};

/* ---- Finding -------------------------------------------------------------------------------- */

enum tidings_err view_story(struct view *view, uint64_t id, struct post_record *story)
{
    if (!view_post(view, id, story) || story->kind != TIDINGS_STORY)
        return TIDINGS_NOT_FOUND;
    return story->deleted ? TIDINGS_DELETED : TIDINGS_OK;
}

bool view_scene(struct view *view, uint64_t id, struct scene_record *scene)
{
    struct key key = key_id(id);
    struct bytes value;
    if (!kv_get(view->txn, TABLE_SCENE, &key, &value))
        return false;
    if (!scene_decode(value, scene)) {
        view_corrupt(view);
        return false;
    }
    return true;
}

/* A scene that can be seen, and its story; otherwise *deleted is which of the two is gone. */
static enum tidings_err find_scene(struct view *view, uint64_t id, struct scene_record *scene,
                                   struct post_record *story, uint64_t *deleted)
{
    if (!view_scene(view, id, scene))
        return TIDINGS_NOT_FOUND;
    enum tidings_err err = view_story(view, scene->story, story);
    *deleted = err ? scene->story : id;
    if (err == TIDINGS_NOT_FOUND)
        view_corrupt(view);
    if (err)
        return err;
    return scene->deleted ? TIDINGS_DELETED : TIDINGS_OK;
}

static void load_messages(struct view *view, uint64_t id, const struct scene_record *scene,
                          struct tidings_message **messages, size_t *n)
{
    struct key key = key_row(id, ROW_MESSAGES);
    struct bytes value;
    *messages = NULL;
    *n = 0;
    if (!scene->n_messages)
        return;
    if (!kv_get(view->txn, TABLE_SCENE, &key, &value) ||
        !messages_decode(value, view->scratch, messages, n) || *n != scene->n_messages) {
        view_corrupt(view);
        *n = 0;
    }
}

bool scene_had_message(struct view *view, uint64_t scene, uint64_t message)
{
    struct key prefix = key_row(scene, ROW_GIVEN), from = key_given(scene, message + 1);
    struct bytes key, value;
    if (!kv_seek_below(view->txn, TABLE_SCENE, &from, &key, &value) ||
        !key_has_prefix(key, &prefix))
        return false;
    if (key.n != from.n || value.n != 4) {
        view_corrupt(view);
        return false;
    }
    uint64_t behind = message - get_id(key.p + prefix.n);
    return behind % ID_STEP == 0 && behind / ID_STEP < get_u32(value.p);
}

/* ---- Changing ------------------------------------------------------------------------------- */

static struct bytes bytes_of(struct tidings_text text)
{
    return (struct bytes){(const uint8_t *)text.p, text.n};
}

static bool same(struct tidings_text a, struct tidings_text b)
{
    return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

static void put_scene(struct view *view, uint64_t id, const struct scene_record *scene)
{
    struct key key = key_id(id);
    struct bytes value = scene_encode(scene, view->scratch);
    if (value.p)
        kv_put(view->txn, TABLE_SCENE, &key, value.p, value.n);
    else
        kv_fail(view->txn, TIDINGS_NO_MEMORY);
}

/* Ids for the messages that have none, one behind the other, and the row that remembers them. */
static void give_ids(struct view *view, uint64_t scene, struct tidings_message *messages, size_t n)
{
    uint64_t first = 0;
    uint32_t given = 0;
    uint8_t bytes[4];
    for (size_t i = 0; i < n; i++) {
        if (messages[i].id)
            continue;
        messages[i].id = view_next_id(view);
        if (!given++)
            first = messages[i].id;
    }
    if (!given || view_failed(view))
        return;
    struct key key = key_given(scene, first);
    put_u32(bytes, given);
    kv_put(view->txn, TABLE_SCENE, &key, bytes, sizeof bytes);
}

/* The messages as they are given, those without an id with a new one. */
static void put_messages(struct view *view, uint64_t scene, const struct tidings_op *op)
{
    size_t n = op->u.scene.n_messages;
    struct key key = key_row(scene, ROW_MESSAGES);
    struct tidings_message *messages = view_array(view, view->scratch, n, sizeof *messages);
    if (!messages)
        return;
    if (n)
        memcpy(messages, op->u.scene.messages, n * sizeof *messages);
    give_ids(view, scene, messages, n);
    struct bytes value = messages_encode(messages, n, view->scratch);
    if (!value.p)
        kv_fail(view->txn, TIDINGS_NO_MEMORY);
    else if (n)
        kv_put(view->txn, TABLE_SCENE, &key, value.p, value.n);
    else
        kv_del(view->txn, TABLE_SCENE, &key);
}

static void scene_event(struct view *view, enum tidings_event_type type, uint64_t actor,
                        uint64_t scene, const struct post_record *story, uint64_t story_id)
{
    int64_t delta = type == TIDINGS_EVENT_SCENE_PUBLISHED ? +1 : 0;
    if (type == TIDINGS_EVENT_SCENE_DELETED)
        delta = -1;
    view_write_event(view, &(struct tidings_event){
                               .type = type,
                               .actor_user_id = actor,
                               .target_id = scene,
                               .author_id = story->author,
                               .delta = delta,
                               .post_id = story_id,
                           });
}

enum tidings_err apply_scene_publish(struct view *view, struct tidings_call *call)
{
    const struct tidings_op *op = call->op;
    uint64_t story_id = op->u.scene.story_id, id = view->stamp;
    struct post_record story;

    call->result[RESULT_SCENE] = story_id;
    enum tidings_err err = view_story(view, story_id, &story);
    if (err)
        return err;
    if (story.author != op->user_id)
        return TIDINGS_FORBIDDEN;
    struct scene_record scene = {
        .story = story_id,
        .seq = view_story_head(view, story_id)->n_posts,
        .n_messages = (uint32_t)op->u.scene.n_messages,
        .title = bytes_of(op->u.scene.title),
    };
    if (scene.seq >= view->settings->scenes_max)
        return TIDINGS_STORY_LIMIT;

    /* First of all, since the first event takes the operation's id and messages take those behind
     * it. */
    scene_event(view, TIDINGS_EVENT_SCENE_PUBLISHED, op->user_id, id, &story, story_id);
    put_scene(view, id, &scene);
    if (scene.n_messages)
        put_messages(view, id, op);
    list_add(view, &realm_scenes, story_id, id);
    call->result[RESULT_SCENE] = id;
    return TIDINGS_OK;
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The ids that are not 0, ascending; how many. */
static size_t sorted_ids(const struct tidings_message *messages, size_t n, uint64_t *ids)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        if (messages[i].id)
            ids[found++] = messages[i].id;
    qsort(ids, found, sizeof *ids, by_id);
    return found;
}

/* Whether each id that is given is one of the scene's, and none is given twice. */
static bool ids_are_known(struct view *view, const struct tidings_op *op,
                          const struct tidings_message *stored, size_t n_stored)
{
    size_t n = op->u.scene.n_messages;
    uint64_t *given = view_array(view, view->scratch, n, sizeof *given);
    uint64_t *known = view_array(view, view->scratch, n_stored, sizeof *known);
    if (!given || !known)
        return false;
    n = sorted_ids(op->u.scene.messages, n, given);
    sorted_ids(stored, n_stored, known);
    for (size_t i = 0, at = 0; i < n; i++, at++) {
        while (at < n_stored && known[at] < given[i])
            at++;
        if (at == n_stored || known[at] != given[i])
            return false;
    }
    return true;
}

static bool messages_differ(const struct tidings_op *op, const struct tidings_message *stored,
                            size_t n_stored)
{
    const struct tidings_message *given = op->u.scene.messages;
    if (op->u.scene.n_messages != n_stored)
        return true;
    for (size_t i = 0; i < n_stored; i++)
        if (given[i].id != stored[i].id || !same(given[i].text, stored[i].text))
            return true;
    return false;
}

enum tidings_err apply_scene_edit(struct view *view, struct tidings_call *call)
{
    const struct tidings_op *op = call->op;
    uint64_t id = op->u.scene.scene_id;
    struct scene_record scene;
    struct post_record story;
    enum tidings_err err = find_scene(view, id, &scene, &story, &call->result[RESULT_SCENE]);
    if (err)
        return err;
    if (story.author != op->user_id)
        return TIDINGS_FORBIDDEN;

    struct tidings_message *stored = NULL;
    size_t n_stored = 0;
    if (op->u.scene.messages)
        load_messages(view, id, &scene, &stored, &n_stored);
    if (op->u.scene.messages && !ids_are_known(view, op, stored, n_stored))
        return view_failed(view) ? TIDINGS_OK : TIDINGS_NOT_FOUND;
    struct tidings_text title = view_text(view, view->scratch, scene.title);
    bool new_title = op->u.scene.title.p && !same(title, op->u.scene.title);
    bool new_messages = op->u.scene.messages && messages_differ(op, stored, n_stored);
    if (!new_title && !new_messages)
        return TIDINGS_OK;
    scene_event(view, TIDINGS_EVENT_SCENE_EDITED, op->user_id, id, &story, scene.story);
    scene.title = bytes_of(new_title ? op->u.scene.title : title);
    if (new_messages) {
        scene.n_messages = (uint32_t)op->u.scene.n_messages;
        put_messages(view, id, op);
    }
    scene.edited = view->stamp;
    put_scene(view, id, &scene);
    return TIDINGS_OK;
}

enum tidings_err apply_scene_delete(struct view *view, struct tidings_call *call)
{
    const struct tidings_op *op = call->op;
    uint64_t id = op->u.scene_id.scene_id;
    struct scene_record scene;
    struct post_record story;
    enum tidings_err err = find_scene(view, id, &scene, &story, &call->result[RESULT_SCENE]);
    if (err)
        return err;
    if (story.author != op->user_id && op->role != TIDINGS_ROLE_ADMIN)
        return TIDINGS_FORBIDDEN;

    struct key messages = key_row(id, ROW_MESSAGES);
    scene.title = bytes_of(view_text(view, view->scratch, scene.title));
    scene.deleted = true;
    scene.removed = view->stamp;
    scene.n_messages = 0;
    scene_event(view, TIDINGS_EVENT_SCENE_DELETED, op->user_id, id, &story, scene.story);
    put_scene(view, id, &scene);
    kv_del(view->txn, TABLE_SCENE, &messages);
    list_delete(view, &realm_scenes, scene.story, scene.seq);
    call->result[RESULT_AUTHOR] = story.author;
    call->result[RESULT_STORY] = scene.story;
    return TIDINGS_OK;
}

/* How many of the scenes are swept already. */
static void put_todo(struct view *view, uint64_t story, uint32_t swept)
{
    struct key key = key_id(story);
    uint8_t bytes[4];
    put_u32(bytes, swept);
    kv_put(view->txn, TABLE_UNSWEPT, &key, bytes, sizeof bytes);
}

void story_close(struct view *view, uint64_t story)
{
    if (!view_story_head(view, story)->n_posts)
        return;
    if (!heads_close(view->heads, story | realm_scenes.mark, view->version))
        kv_fail(view->txn, TIDINGS_NO_MEMORY);
    put_todo(view, story, 0);
}

/* Nobody sees these texts any more, but they need not lie about either. */
void scene_sweep(struct view *view, size_t most)
{
    struct key first = key_id(0);
    struct bytes key, value;
    while (most && kv_seek(view->txn, TABLE_UNSWEPT, &first, &key, &value)) {
        if (key.n != ID_BYTES || value.n != 4) {
            view_corrupt(view);
            return;
        }
        uint64_t story = get_id(key.p);
        uint32_t swept = get_u32(value.p);
        const struct head *head = view_story_head(view, story);
        for (; most && swept < head->n_posts; swept++, most--) {
            struct key messages = key_row(head->ids[swept], ROW_MESSAGES);
            kv_del(view->txn, TABLE_SCENE, &messages);
        }
        struct key done = key_id(story);
        if (swept < head->n_posts)
            put_todo(view, story, swept);
        else
            kv_del(view->txn, TABLE_UNSWEPT, &done);
        most -= most ? 1 : 0;
    }
}

/* ---- Answering ------------------------------------------------------------------------------ */

static void fill_scene(struct view *view, struct reply *reply, uint64_t id, uint64_t author,
                       const struct scene_record *scene, struct tidings_scene *out)
{
    *out = (struct tidings_scene){
        .id = id,
        .story_id = scene->story,
        .author_id = author,
        .number = scene->seq + 1,
        .title = view_text(view, reply->arena, scene->title),
        .n_messages = scene->n_messages,
        .created_at = id_time_ms(id),
        .edited_at = scene->edited ? id_time_ms(scene->edited) : 0,
    };
}

/* Copied into the answer's memory. */
static void fill_messages(struct view *view, struct reply *reply, uint64_t id,
                          const struct scene_record *scene, struct tidings_scene *out)
{
    struct tidings_message *stored;
    size_t n;
    load_messages(view, id, scene, &stored, &n);
    out->messages = view_array(view, reply->arena, n, sizeof *out->messages);
    for (size_t i = 0; out->messages && i < n; i++) {
        out->messages[i].id = stored[i].id;
        out->messages[i].text = view_text(view, reply->arena, bytes_of(stored[i].text));
    }
}

static enum tidings_err answer_whole(struct view *view, struct reply *reply, uint64_t id)
{
    struct tidings_scene *out = &reply->answer->u.scene;
    struct scene_record scene;
    struct post_record story;
    uint64_t deleted = 0;
    enum tidings_err err = find_scene(view, id, &scene, &story, &deleted);
    if (err == TIDINGS_DELETED)
        reply->answer->title =
            view_text(view, reply->arena, deleted == id ? scene.title : story.title);
    if (err)
        return err;
    fill_scene(view, reply, id, story.author, &scene, out);
    fill_messages(view, reply, id, &scene, out);
    return TIDINGS_OK;
}

enum tidings_err answer_scene_delete(struct view *view, struct reply *reply)
{
    (void)view;
    reply->answer->u.deleted.author_id = reply->call->result[RESULT_AUTHOR];
    reply->answer->u.deleted.story_id = reply->call->result[RESULT_STORY];
    return TIDINGS_OK;
}

enum tidings_err answer_scene_publish(struct view *view, struct reply *reply)
{
    return answer_whole(view, reply, reply->call->result[RESULT_SCENE]);
}

enum tidings_err answer_scene_edit(struct view *view, struct reply *reply)
{
    return answer_whole(view, reply, reply->op->u.scene.scene_id);
}

enum tidings_err answer_scene(struct view *view, struct reply *reply)
{
    return answer_whole(view, reply, reply->op->u.scene_id.scene_id);
}

/*
 * The number of the first scene at or behind `from` that is not deleted; n_posts if there is none.
 */
static uint32_t next_alive(const struct head *head, uint32_t from)
{
    while (from < head->n_posts) {
        uint64_t alive = ~head_deleted_mask(head, from);
        if (alive)
            from += (uint32_t)__builtin_ctzll(alive);
        if (alive)
            return from < head->n_posts ? from : head->n_posts;
        from += 64;
    }
    return head->n_posts;
}

enum tidings_err answer_scenes(struct view *view, struct reply *reply)
{
    const struct tidings_page *page = &reply->op->u.scenes.page;
    uint64_t story_id = reply->op->u.scenes.story_id;
    struct post_record story;
    enum tidings_err err = view_story(view, story_id, &story);
    if (err == TIDINGS_DELETED)
        reply->answer->title = view_text(view, reply->arena, story.title);
    if (err)
        return err;

    const struct head *head = view_story_head(view, story_id);
    size_t limit = view_limit(view, page), n = 0;
    struct tidings_scene *rows = view_array(view, reply->arena, limit, sizeof *rows);
    uint32_t seq = next_alive(head, page->after.a ? head_posts_below(head, page->after.a + 1) : 0);
    for (; rows && n < limit && seq < head->n_posts; seq = next_alive(head, seq + 1)) {
        struct scene_record scene;
        if (!view_scene(view, head->ids[seq], &scene)) {
            view_corrupt(view);
            break;
        }
        fill_scene(view, reply, head->ids[seq], story.author, &scene, &rows[n++]);
    }
    reply->answer->u.scenes.rows = rows;
    reply->answer->u.scenes.n = n;
    if (n && seq < head->n_posts)
        reply->answer->u.scenes.next.a = rows[n - 1].id;
    return TIDINGS_OK;
}

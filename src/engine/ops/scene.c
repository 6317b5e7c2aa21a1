/* SPDX-License-Identifier: MIT */
/*
 * Stories' scenes and their messages. A story is to its scenes what an author is to posts: they are
 * numbered and listed. Publishing touches no subscriber, and deleting a story touches no scene: its head is closed, and
 * with that nobody sees any of them.
 *
 * Messages have ids of their own, given out in order when they are first written. What was ever
 * given out is remembered, so that a reading position can be checked long after an edit.
 */
#include <stdlib.h>

#include "domain/ids.h"
#include "domain/permit.h"
#include "engine/ops/halves.h"
#include "engine/ops/post.h"
#include "engine/ops/story.h"

/* ---- Finding -------------------------------------------------------------------------------- */

bool story_exists(struct view *view, uint64_t id, struct post_record *story)
{
    return view_post(view, id, story) && story->kind == TIDINGS_STORY;
}

enum tidings_err story_find(struct view *view, struct reply *reply, uint64_t id,
                            struct post_record *story)
{
    if (!story_exists(view, id, story))
        return TIDINGS_NOT_FOUND;
    return story->deleted ? refuse_deleted(view, reply, story->title) : TIDINGS_OK;
}

bool story_has_place(struct view *view, uint64_t story, uint64_t scene_id, uint64_t message)
{
    struct scene_record scene;
    if (!scene_id)
        return true;
    if (!view_scene(view, scene_id, &scene) || scene.story != story)
        return false;
    return !message || view->rows->was_given(view, scene_id, message);
}

bool story_had_place(struct view *view, uint64_t story_id, uint64_t scene_id, uint64_t message)
{
    struct post_record story;
    return story_exists(view, story_id, &story) &&
           (story.deleted || story_has_place(view, story_id, scene_id, message));
}

/* A scene that can be seen, and its story; DELETED with the title of which of the two is gone. */
static enum tidings_err find_scene(struct view *view, struct reply *reply, uint64_t id,
                                   struct scene_record *scene, struct post_record *story)
{
    if (!view_scene(view, id, scene))
        return TIDINGS_NOT_FOUND;
    enum tidings_err err = story_find(view, reply, scene->story, story);
    if (err == TIDINGS_NOT_FOUND)
        view_corrupt(view);
    if (err)
        return err;
    return scene->deleted ? refuse_deleted(view, reply, scene->title) : TIDINGS_OK;
}

static void load_messages(struct view *view, uint64_t id, const struct scene_record *scene,
                          struct tidings_message **messages, size_t *n)
{
    *messages = NULL;
    *n = 0;
    if (!scene->n_messages)
        return;
    if (!view->rows->get_messages(view, id, messages, n) || *n != scene->n_messages) {
        view_corrupt(view);
        *n = 0;
    }
}

/* ---- Changing ------------------------------------------------------------------------------- */

/* Ids for the messages that have none, one behind the other, and remembered. */
static void give_ids(struct view *view, uint64_t scene, struct tidings_message *messages, size_t n)
{
    size_t given = 0;
    uint64_t *ids = view_array(view, view->scratch, n, sizeof *ids);
    for (size_t i = 0; ids && i < n; i++) {
        if (messages[i].id)
            continue;
        messages[i].id = view->rows->next_id(view);
        ids[given++] = messages[i].id;
    }
    if (given && !view_failed(view))
        view->rows->give_ids(view, scene, ids, given);
}

/* The messages as they are given, those without an id with a new one. */
static void put_messages(struct view *view, uint64_t scene, const struct tidings_op *op)
{
    size_t n = op->u.scene.n_messages;
    struct tidings_message *messages = view_array(view, view->scratch, n, sizeof *messages);
    if (!messages)
        return;
    if (n)
        memcpy(messages, op->u.scene.messages, n * sizeof *messages);
    give_ids(view, scene, messages, n);
    view->rows->put_messages(view, scene, messages, n);
}

static void tell_scene(struct view *view, enum tidings_event_type type, uint64_t actor,
                       uint64_t scene, const struct post_record *story, uint64_t story_id)
{
    int64_t delta = type == TIDINGS_EVENT_SCENE_PUBLISHED ? +1 : 0;
    if (type == TIDINGS_EVENT_SCENE_DELETED)
        delta = -1;
    view_tell(view, (struct tidings_event){
                        .type = type,
                        .actor_user_id = actor,
                        .target_id = scene,
                        .author_id = story->author,
                        .delta = delta,
                        .post_id = story_id,
                    });
}

enum tidings_err change_scene_publish(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    uint64_t story_id = op->u.scene.story_id, id = view->stamp;
    struct post_record story;

    enum tidings_err err = story_find(view, reply, story_id, &story);
    if (err)
        return err;
    if (!permits_author(op, story.author))
        return TIDINGS_FORBIDDEN;
    struct scene_record scene = {
        .story = story_id,
        .seq = view_head(view, REALM_SCENES, story_id)->n_posts,
        .n_messages = (uint32_t)op->u.scene.n_messages,
        .title = bytes_of(op->u.scene.title),
    };
    if (scene.seq >= view->settings->scenes_max)
        return TIDINGS_STORY_LIMIT;

    /* First of all, since the first event takes the operation's id and messages take those behind
     * it. */
    tell_scene(view, TIDINGS_EVENT_SCENE_PUBLISHED, op->user_id, id, &story, story_id);
    view->rows->put_scene(view, id, &scene);
    if (scene.n_messages)
        put_messages(view, id, op);
    view->rows->add_number(view, REALM_SCENES, story_id, id);
    reply->answer->u.scene.id = id;
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
        if (given[i].id != stored[i].id ||
            !bytes_same(bytes_of(given[i].text), bytes_of(stored[i].text)))
            return true;
    return false;
}

enum tidings_err change_scene_edit(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    uint64_t id = op->u.scene.scene_id;
    struct scene_record scene;
    struct post_record story;
    enum tidings_err err = find_scene(view, reply, id, &scene, &story);
    if (err)
        return err;
    if (!permits_author(op, story.author))
        return TIDINGS_FORBIDDEN;

    struct tidings_message *stored = NULL;
    size_t n_stored = 0;
    if (op->u.scene.messages)
        load_messages(view, id, &scene, &stored, &n_stored);
    if (op->u.scene.messages && !ids_are_known(view, op, stored, n_stored))
        return view_failed(view) ? TIDINGS_OK : TIDINGS_NOT_FOUND;
    bool new_title = op->u.scene.title.p && !bytes_same(scene.title, bytes_of(op->u.scene.title));
    bool new_messages = op->u.scene.messages && messages_differ(op, stored, n_stored);
    if (!new_title && !new_messages)
        return TIDINGS_OK;
    scene.title = new_title ? bytes_of(op->u.scene.title) : view_keep(view, scene.title);
    tell_scene(view, TIDINGS_EVENT_SCENE_EDITED, op->user_id, id, &story, scene.story);
    if (new_messages) {
        scene.n_messages = (uint32_t)op->u.scene.n_messages;
        put_messages(view, id, op);
    }
    scene.edited = view->stamp;
    view->rows->put_scene(view, id, &scene);
    return TIDINGS_OK;
}

enum tidings_err change_scene_delete(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    uint64_t id = op->u.scene_id.scene_id;
    struct scene_record scene;
    struct post_record story;
    enum tidings_err err = find_scene(view, reply, id, &scene, &story);
    if (err)
        return err;
    if (!permits_author_or_admin(op, story.author))
        return TIDINGS_FORBIDDEN;

    scene.title = view_keep(view, scene.title);
    scene.deleted = true;
    scene.removed = view->stamp;
    scene.n_messages = 0;
    tell_scene(view, TIDINGS_EVENT_SCENE_DELETED, op->user_id, id, &story, scene.story);
    view->rows->put_scene(view, id, &scene);
    view->rows->put_messages(view, id, NULL, 0);
    view->rows->add_deletion(view, REALM_SCENES, scene.story, scene.seq);
    reply->answer->u.deleted.author_id = story.author;
    reply->answer->u.deleted.story_id = scene.story;
    return TIDINGS_OK;
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
        .created_at = view_time(view, id),
        .edited_at = scene->edited ? view_time(view, scene->edited) : 0,
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
    enum tidings_err err = find_scene(view, reply, id, &scene, &story);
    if (err)
        return err;
    fill_scene(view, reply, id, story.author, &scene, out);
    fill_messages(view, reply, id, &scene, out);
    return TIDINGS_OK;
}

enum tidings_err answer_scene_publish(struct view *view, struct reply *reply)
{
    return answer_whole(view, reply, reply->answer->u.scene.id);
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
    enum tidings_err err = story_find(view, reply, story_id, &story);
    if (err)
        return err;

    const struct head *head = view_head(view, REALM_SCENES, story_id);
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

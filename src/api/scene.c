/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

/* The most that the setting messages_max may be: what is longer is refused before it takes memory. */
enum { MESSAGES_MOST = 10000 };

/* ---- Arguments ------------------------------------------------------------------------------ */

/* A plain string is a new message; {id, text} is one that the scene has, maybe with another text. */
static bool take_message(const json_t *value, bool known, struct tidings_message *message)
{
    const json_t *text = value;
    message->id = 0;
    if (known && json_is_object(value)) {
        const json_t *id = json_object_get(value, "id");
        text = json_object_get(value, "text");
        if (json_object_size(value) != 2 || !json_is_integer(id) || json_integer_value(id) < 1)
            return false;
        message->id = (uint64_t)json_integer_value(id);
    }
    if (!json_is_string(text))
        return false;
    message->text = (struct tidings_text){json_string_value(text), json_string_length(text)};
    return true;
}

/* Of a scene that is new, or `known`: then they may be left out, and name messages it has. */
static bool arg_messages(struct exchange *ex, bool known)
{
    json_t *value = json_object_get(ex->body, "messages");
    if (known && (!value || json_is_null(value)))
        return true;
    size_t n = json_array_size(value);
    struct tidings_message *messages = NULL;
    if (json_is_array(value) && n <= MESSAGES_MOST)
        messages = arena_array(http_request_arena(ex->req), n + 1, sizeof *messages);
    bool fine = messages != NULL;
    for (size_t i = 0; fine && i < n; i++)
        fine = take_message(json_array_get(value, i), known, &messages[i]);
    if (!fine) {
        exchange_invalid(ex, "messages",
                         known ? "a list of texts, or objects with id and text"
                               : "a list of texts");
        return false;
    }
    ex->op.u.scene.messages = messages;
    ex->op.u.scene.n_messages = n;
    return true;
}

static const char *const members[] = {"title", "messages", NULL};

bool prepare_scene_publish(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_SCENE_PUBLISH;
    ex->op.u.scene.story_id = ex->ids[0];
    return arg_body(ex, members) && arg_text(ex, "title", &ex->op.u.scene.title, NULL) &&
           arg_messages(ex, false);
}

bool prepare_scene_edit(struct exchange *ex)
{
    bool given;
    ex->op.kind = TIDINGS_OP_SCENE_EDIT;
    ex->op.u.scene.scene_id = ex->ids[0];
    return arg_body(ex, members) && arg_text(ex, "title", &ex->op.u.scene.title, &given) &&
           arg_messages(ex, true);
}

bool prepare_scene(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_SCENE;
    ex->op.u.scene_id.scene_id = ex->ids[0];
    return true;
}

bool prepare_scene_delete(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_SCENE_DELETE;
    ex->op.u.scene_id.scene_id = ex->ids[0];
    return true;
}

bool prepare_scenes(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_SCENES;
    ex->op.u.scenes.story_id = ex->ids[0];
    return query_page(ex, SEAL_SCENES, &ex->op.u.scenes.page);
}

/* ---- Answers -------------------------------------------------------------------------------- */

/* What a scene shows in a list; the caller may add more, and ends the object. */
static void begin_scene(const struct tidings_scene *scene, struct json_out *out)
{
    json_out_object(out);
    put_u64(out, "id", scene->id);
    put_u64(out, "story_id", scene->story_id);
    put_u64(out, "author_id", scene->author_id);
    put_u64(out, "number", scene->number);
    put_text(out, "title", scene->title);
    put_u64(out, "message_count", scene->n_messages);
    put_i64(out, "created_at", scene->created_at);
    put_time(out, "edited_at", scene->edited_at);
    put_u64(out, "status", 1);
}

void render_scene(const struct exchange *ex, const struct tidings_answer *answer,
                  struct json_out *out)
{
    const struct tidings_scene *scene = &answer->u.scene;
    (void)ex;
    begin_scene(scene, out);
    json_out_key(out, "messages");
    json_out_array(out);
    for (size_t i = 0; i < scene->n_messages; i++) {
        json_out_object(out);
        put_u64(out, "id", scene->messages[i].id);
        put_text(out, "text", scene->messages[i].text);
        put_parts(out, "parts", scene->messages[i].text);
        json_out_end(out);
    }
    json_out_end(out);
    json_out_end(out);
}

void render_scenes(const struct exchange *ex, const struct tidings_answer *answer,
                   struct json_out *out)
{
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.scenes.n; i++) {
        begin_scene(&answer->u.scenes.rows[i], out);
        json_out_end(out);
    }
    json_out_end(out);
    put_cursor(ex, out, SEAL_SCENES, answer->u.scenes.next);
    json_out_end(out);
}

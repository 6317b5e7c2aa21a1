/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

bool prepare_publish(struct exchange *ex)
{
    static const char *const members[] = {"kind", "title", "body", NULL};
    unsigned kind;
    bool given;
    ex->op.kind = TIDINGS_OP_PUBLISH;
    if (!arg_body(ex, members) || !arg_word(ex, "kind", post_kinds, &kind))
        return false;
    ex->op.u.publish.kind = (enum tidings_post_kind)(kind + TIDINGS_NOTE);
    return arg_text(ex, "title", &ex->op.u.publish.title, NULL) &&
           arg_text(ex, "body", &ex->op.u.publish.body, &given);
}

bool prepare_edit(struct exchange *ex)
{
    static const char *const members[] = {"title", "body", NULL};
    bool given;
    ex->op.kind = TIDINGS_OP_EDIT;
    ex->op.u.edit.post_id = ex->ids[0];
    return arg_body(ex, members) && arg_text(ex, "title", &ex->op.u.edit.title, &given) &&
           arg_text(ex, "body", &ex->op.u.edit.body, &given);
}

static bool prepare_one(struct exchange *ex, enum tidings_op_kind kind)
{
    ex->op.kind = kind;
    ex->op.u.post.post_id = ex->ids[0];
    return true;
}

bool prepare_post(struct exchange *ex)
{
    return prepare_one(ex, TIDINGS_OP_POST);
}

bool prepare_delete(struct exchange *ex)
{
    return prepare_one(ex, TIDINGS_OP_DELETE);
}

bool prepare_open(struct exchange *ex)
{
    return prepare_one(ex, TIDINGS_OP_OPEN);
}

static void render_one(const struct tidings_post *post, struct json_out *out)
{
    json_out_object(out);
    put_u64(out, "id", post->id);
    json_out_key(out, "kind");
    json_out_text(out, post_kind_name(post->kind));
    put_u64(out, "author_id", post->author_id);
    put_text(out, "author_name", post->author_name);
    put_text(out, "title", post->title);
    put_text(out, "body", post->body);
    put_parts(out, "parts", post->body);
    put_i64(out, "created_at", post->created_at);
    put_time(out, "edited_at", post->edited_at);
    put_u64(out, "status", 1);
    put_stats(out, TIDINGS_TARGET_POST, &post->counts);
    put_bool(out, "liked", post->liked);
    put_bool(out, "faved", post->faved);
    json_out_end(out);
}

void render_post(const struct exchange *ex, const struct tidings_answer *answer,
                 struct json_out *out)
{
    (void)ex;
    render_one(&answer->u.post, out);
}

void render_open(const struct exchange *ex, const struct tidings_answer *answer,
                 struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    json_out_key(out, "post");
    render_one(&answer->u.open.post, out);
    json_out_key(out, "unread");
    json_out_object(out);
    put_u64(out, "total", answer->u.open.unread_total);
    put_u64(out, "author", answer->u.open.unread_author);
    json_out_end(out);
    json_out_end(out);
}

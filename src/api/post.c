/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

bool prepare_publish(struct exchange *ex)
{
    static const char *const members[] = {"kind", "title", "body", "extra", NULL};
    unsigned kind;
    bool given;
    ex->op.kind = TIDINGS_OP_PUBLISH;
    if (!arg_body(ex, members) || !arg_word(ex, "kind", post_kinds, &kind))
        return false;
    ex->op.u.publish.kind = (enum tidings_post_kind)(kind + TIDINGS_NOTE);
    return arg_text(ex, "title", &ex->op.u.publish.title, NULL) &&
           arg_text(ex, "body", &ex->op.u.publish.body, &given) &&
           arg_object(ex, "extra", &ex->op.u.publish.extra);
}

bool prepare_edit(struct exchange *ex)
{
    static const char *const members[] = {"title", "body", "extra", NULL};
    bool given;
    ex->op.kind = TIDINGS_OP_EDIT;
    ex->op.u.edit.post_id = ex->ids[0];
    return arg_body(ex, members) && arg_text(ex, "title", &ex->op.u.edit.title, &given) &&
           arg_text(ex, "body", &ex->op.u.edit.body, &given) &&
           arg_object(ex, "extra", &ex->op.u.edit.extra);
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

bool query_posts(struct exchange *ex)
{
    return query_ids(ex, "ids", &ex->op.u.posts.post_ids, &ex->op.u.posts.n_post_ids);
}

bool prepare_post_many(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_POST_MANY;
    return query_posts(ex);
}

bool prepare_post_by_key(struct exchange *ex)
{
    struct http_text key = http_query_get(&ex->query, "key");
    ex->op.kind = TIDINGS_OP_POST_BY_KEY;
    ex->op.u.key.key = (struct tidings_text){key.p, key.n};
    return true;
}

/* Members of an open object. */
static void put_post(struct json_out *out, const struct tidings_post *post)
{
    put_u64(out, "id", post->id);
    json_out_key(out, "kind");
    json_out_text(out, post_kind_name(post->kind));
    put_u64(out, "author_id", post->author_id);
    put_text(out, "author_name", post->author_name);
    put_text(out, "title", post->title);
    put_text(out, "body", post->body);
    put_parts(out, "parts", post->body);
    put_json(out, "extra", post->extra);
    put_i64(out, "created_at", post->created_at);
    put_time(out, "edited_at", post->edited_at);
    if (post->key.n)
        put_text(out, "key", post->key);
    put_u64(out, "status", 1);
    put_stats(out, TIDINGS_TARGET_POST, &post->counts);
    put_bool(out, "liked", post->liked);
    put_bool(out, "faved", post->faved);
}

static void render_one(const struct tidings_post *post, struct json_out *out)
{
    json_out_object(out);
    put_post(out, post);
    json_out_end(out);
}

void put_found(struct json_out *out, enum tidings_err err)
{
    put_bool(out, "found", err == TIDINGS_OK);
    if (err)
        put_bool(out, "is_deleted", err == TIDINGS_DELETED);
}

void render_post_many(const struct exchange *ex, const struct tidings_answer *answer,
                      struct json_out *out)
{
    (void)ex;
    begin_items(out);
    for (size_t i = 0; i < answer->u.post_many.n; i++) {
        const struct tidings_post_row *row = &answer->u.post_many.rows[i];
        json_out_object(out);
        if (row->err)
            put_u64(out, "id", row->post.id);
        else
            put_post(out, &row->post);
        if (row->err && row->post.key.n)
            put_text(out, "key", row->post.key);
        put_found(out, row->err);
        json_out_end(out);
    }
    end_items(out);
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

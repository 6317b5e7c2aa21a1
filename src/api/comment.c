/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

bool prepare_comment(struct exchange *ex)
{
    static const char *const members[] = {"body", "parent_id", NULL};
    bool given;
    ex->op.kind = TIDINGS_OP_COMMENT;
    ex->op.u.comment.post_id = ex->ids[0];
    return arg_body(ex, members) && arg_text(ex, "body", &ex->op.u.comment.body, NULL) &&
           arg_id(ex, "parent_id", &ex->op.u.comment.parent_id, &given);
}

static bool prepare_one(struct exchange *ex, enum tidings_op_kind kind)
{
    ex->op.kind = kind;
    ex->op.u.comment_id.comment_id = ex->ids[0];
    return true;
}

bool prepare_comment_delete(struct exchange *ex)
{
    return prepare_one(ex, TIDINGS_OP_COMMENT_DELETE);
}

bool prepare_comment_hide(struct exchange *ex)
{
    return prepare_one(ex, TIDINGS_OP_COMMENT_HIDE);
}

bool prepare_comment_restore(struct exchange *ex)
{
    return prepare_one(ex, TIDINGS_OP_COMMENT_RESTORE);
}

/* A cursor is a place in one order and means nothing in another. */
static uint8_t comments_purpose(const struct exchange *ex)
{
    return (uint8_t)(SEAL_COMMENTS + ex->op.u.comments.sort);
}

bool prepare_comments(struct exchange *ex)
{
    static const char *const sorts[] = {"hot", "new", "old", NULL};
    unsigned sort = TIDINGS_HOT;
    bool given;
    ex->op.kind = TIDINGS_OP_COMMENTS;
    ex->op.u.comments.post_id = ex->ids[0];
    if (!query_word(ex, "sort", sorts, &sort))
        return false;
    ex->op.u.comments.sort = (enum tidings_sort)sort;
    return query_id(ex, "parent_id", &ex->op.u.comments.parent_id, &given) &&
           query_flag(ex, "include_hidden", &ex->op.u.comments.include_hidden) &&
           query_page(ex, comments_purpose(ex), &ex->op.u.comments.page);
}

static void render_one(const struct tidings_comment *comment, struct json_out *out)
{
    static const char *const statuses[] = {[TIDINGS_COMMENT_VISIBLE] = "visible",
                                           [TIDINGS_COMMENT_HIDDEN] = "hidden",
                                           [TIDINGS_COMMENT_DELETED] = "deleted"};
    json_out_object(out);
    put_u64(out, "id", comment->id);
    put_u64(out, "post_id", comment->post_id);
    put_id(out, "parent_id", comment->parent_id);
    put_u64(out, "user_id", comment->user_id);
    put_text(out, "user_name", comment->user_name);
    put_shown(out, "body", comment->body);
    put_parts(out, "parts", comment->body);
    json_out_key(out, "status");
    json_out_text(out, statuses[comment->status]);
    put_bool(out, "moderated", comment->moderated);
    put_i64(out, "created_at", comment->created_at);
    put_stats(out, TIDINGS_TARGET_COMMENT, &comment->counts);
    put_bool(out, "liked", comment->liked);
    put_bool(out, "downvoted", comment->downvoted);
    json_out_end(out);
}

void render_comment(const struct exchange *ex, const struct tidings_answer *answer,
                    struct json_out *out)
{
    (void)ex;
    render_one(&answer->u.comment, out);
}

void render_comments(const struct exchange *ex, const struct tidings_answer *answer,
                     struct json_out *out)
{
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.comments.n; i++)
        render_one(&answer->u.comments.rows[i], out);
    json_out_end(out);
    put_cursor(ex, out, comments_purpose(ex), answer->u.comments.next);
    json_out_end(out);
}

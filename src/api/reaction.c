/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

/* PUT sets it, DELETE removes it. */
static bool prepare_reaction(struct exchange *ex, enum tidings_target target,
                             enum tidings_reaction reaction)
{
    bool set = ex->route->verb == HTTP_VERB_PUT;
    ex->op.kind = set ? TIDINGS_OP_REACT : TIDINGS_OP_UNREACT;
    ex->op.u.react.target = target;
    ex->op.u.react.reaction = reaction;
    ex->op.u.react.id = ex->ids[0];
    return true;
}

bool prepare_post_like(struct exchange *ex)
{
    return prepare_reaction(ex, TIDINGS_TARGET_POST, TIDINGS_LIKE);
}

bool prepare_post_fav(struct exchange *ex)
{
    return prepare_reaction(ex, TIDINGS_TARGET_POST, TIDINGS_FAV);
}

bool prepare_comment_like(struct exchange *ex)
{
    return prepare_reaction(ex, TIDINGS_TARGET_COMMENT, TIDINGS_LIKE);
}

bool prepare_comment_downvote(struct exchange *ex)
{
    return prepare_reaction(ex, TIDINGS_TARGET_COMMENT, TIDINGS_DOWNVOTE);
}

void render_reaction(const struct exchange *ex, const struct tidings_answer *answer,
                     struct json_out *out)
{
    json_out_object(out);
    put_bool(out, "changed", answer->u.reaction.changed);
    put_stats(out, ex->op.u.react.target, &answer->u.reaction.counts);
    json_out_end(out);
}

/* ---- Who liked this ------------------------------------------------------------------------- */

static uint8_t likes_purpose(const struct exchange *ex)
{
    return ex->op.u.reactors.target == TIDINGS_TARGET_POST ? SEAL_POST_LIKES : SEAL_COMMENT_LIKES;
}

static bool prepare_likes(struct exchange *ex, enum tidings_target target)
{
    ex->op.kind = TIDINGS_OP_REACTORS;
    ex->op.u.reactors.target = target;
    ex->op.u.reactors.reaction = TIDINGS_LIKE;
    ex->op.u.reactors.id = ex->ids[0];
    return query_page(ex, likes_purpose(ex), &ex->op.u.reactors.page);
}

bool prepare_post_likes(struct exchange *ex)
{
    return prepare_likes(ex, TIDINGS_TARGET_POST);
}

bool prepare_comment_likes(struct exchange *ex)
{
    return prepare_likes(ex, TIDINGS_TARGET_COMMENT);
}

void render_likes(const struct exchange *ex, const struct tidings_answer *answer,
                  struct json_out *out)
{
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.users.n; i++) {
        const struct tidings_user_row *row = &answer->u.users.rows[i];
        json_out_object(out);
        put_u64(out, "user_id", row->user_id);
        put_text(out, "name", row->name);
        put_text(out, "avatar", row->avatar);
        put_i64(out, "at", row->since);
        json_out_end(out);
    }
    json_out_end(out);
    put_cursor(ex, out, likes_purpose(ex), answer->u.users.next);
    json_out_end(out);
}

/* ---- What the viewer liked ------------------------------------------------------------------ */

static uint8_t my_likes_purpose(const struct exchange *ex)
{
    return ex->op.u.reactors.target == TIDINGS_TARGET_POST ? SEAL_MY_POSTS : SEAL_MY_COMMENTS;
}

bool prepare_my_likes(struct exchange *ex)
{
    static const char *const targets[] = {"post", "comment", NULL};
    unsigned target = 0;
    ex->op.kind = TIDINGS_OP_REACTED;
    ex->op.u.reactors.reaction = TIDINGS_LIKE;
    if (!query_word(ex, "target", targets, &target))
        return false;
    ex->op.u.reactors.target = (enum tidings_target)(target + TIDINGS_TARGET_POST);
    return query_page(ex, my_likes_purpose(ex), &ex->op.u.reactors.page);
}

bool prepare_my_favs(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_REACTED;
    ex->op.u.reactors.reaction = TIDINGS_FAV;
    ex->op.u.reactors.target = TIDINGS_TARGET_POST;
    return query_page(ex, SEAL_MY_FAVS, &ex->op.u.reactors.page);
}

static void render_reacted(const struct exchange *ex, const struct tidings_answer *answer,
                           struct json_out *out, uint8_t purpose)
{
    bool is_post = ex->op.u.reactors.target == TIDINGS_TARGET_POST;
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.reacted.n; i++) {
        const struct tidings_reacted_row *row = &answer->u.reacted.rows[i];
        json_out_object(out);
        put_u64(out, "id", row->id);
        put_i64(out, "at", row->at);
        put_u64(out, "post_id", row->post_id);
        put_u64(out, is_post ? "author_id" : "user_id", row->author_id);
        if (is_post)
            put_text(out, "title", row->text);
        else
            put_shown(out, "body", row->text);
        put_bool(out, "is_deleted", row->is_deleted);
        json_out_end(out);
    }
    json_out_end(out);
    put_cursor(ex, out, purpose, answer->u.reacted.next);
    json_out_end(out);
}

void render_my_likes(const struct exchange *ex, const struct tidings_answer *answer,
                     struct json_out *out)
{
    render_reacted(ex, answer, out, my_likes_purpose(ex));
}

void render_my_favs(const struct exchange *ex, const struct tidings_answer *answer,
                    struct json_out *out)
{
    render_reacted(ex, answer, out, SEAL_MY_FAVS);
}

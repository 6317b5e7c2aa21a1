/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

bool query_filter(struct exchange *ex, const char *name)
{
    static const char *const filters[] = {"all", "unread", "read", NULL};
    unsigned filter = TIDINGS_ALL;
    bool fine = query_word(ex, name, filters, &filter);
    if (fine)
        ex->op.u.feed.filter = (enum tidings_filter)filter;
    return fine;
}

bool prepare_inbox(struct exchange *ex)
{
    bool given;
    ex->op.kind = TIDINGS_OP_INBOX;
    return query_filter(ex, "filter") &&
           query_id(ex, "author_id", &ex->op.u.feed.author_id, &given) &&
           query_page(ex, SEAL_INBOX, &ex->op.u.feed.page);
}

static void render_item(const struct exchange *ex, const struct tidings_item *item,
                        struct json_out *out)
{
    json_out_object(out);
    put_u64(out, "post_id", item->post_id);
    json_out_key(out, "kind");
    json_out_text(out, post_kind_name(item->kind));
    put_u64(out, "author_id", item->author_id);
    put_text(out, "author_name", item->author_name);
    put_text(out, "title", item->title);
    put_text(out, "excerpt", item->excerpt);
    put_i64(out, "created_at", item->created_at);
    put_bool(out, "is_read", item->is_read);
    put_time(out, "read_at", item->read_at);
    put_bool(out, "is_deleted", item->is_deleted);
    json_out_key(out, "notice");
    if (item->is_deleted)
        json_out_text(out, tidings_deleted_notice(ex->chinese));
    else
        json_out_null(out);
    json_out_end(out);
}

void render_items(const struct exchange *ex, const struct tidings_answer *answer,
                  struct json_out *out)
{
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.feed.n; i++)
        render_item(ex, &answer->u.feed.rows[i], out);
    json_out_end(out);
}

void render_inbox(const struct exchange *ex, const struct tidings_answer *answer,
                  struct json_out *out)
{
    json_out_object(out);
    render_items(ex, answer, out);
    put_cursor(ex, out, SEAL_INBOX, answer->u.feed.next);
    put_as_of(ex, out, SEAL_AS_OF, &answer->u.feed.as_of);
    json_out_end(out);
}

bool prepare_badge(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_BADGE;
    return true;
}

void render_badge(const struct exchange *ex, const struct tidings_answer *answer,
                  struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    put_u64(out, "total", answer->u.badge.total);
    json_out_end(out);
}

/* It only reads: to ask again with the same Idempotency-Key is to ask again. */
bool prepare_badges(struct exchange *ex)
{
    static const char *const members[] = {"user_ids", NULL};
    ex->op.kind = TIDINGS_OP_BADGES;
    ex->op.once = NULL;
    return arg_body(ex, members) &&
           arg_ids(ex, "user_ids", &ex->op.u.many.user_ids, &ex->op.u.many.n_user_ids, NULL);
}

void render_badges(const struct exchange *ex, const struct tidings_answer *answer,
                   struct json_out *out)
{
    begin_items(out);
    for (size_t i = 0; i < answer->u.badges.n; i++) {
        json_out_object(out);
        put_u64(out, "user_id", ex->op.u.many.user_ids[i]);
        put_u64(out, "total", answer->u.badges.totals[i]);
        json_out_end(out);
    }
    end_items(out);
}

bool prepare_unread(struct exchange *ex)
{
    bool given;
    ex->op.kind = TIDINGS_OP_UNREAD;
    return query_id(ex, "author_id", &ex->op.u.user.user_id, &given);
}

void render_unread(const struct exchange *ex, const struct tidings_answer *answer,
                   struct json_out *out)
{
    json_out_object(out);
    put_u64(out, "total", answer->u.unread.total);
    json_out_key(out, "authors");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.unread.n; i++) {
        const struct tidings_unread_row *row = &answer->u.unread.rows[i];
        json_out_object(out);
        put_u64(out, "user_id", row->user_id);
        put_text(out, "name", row->name);
        put_u64(out, "unread", row->unread);
        put_bool(out, "following", row->following);
        json_out_end(out);
    }
    json_out_end(out);
    put_as_of(ex, out, SEAL_AS_OF, &answer->u.unread.as_of);
    json_out_end(out);
}

bool prepare_mark_read(struct exchange *ex)
{
    static const char *const members[] = {"post_ids", "author_id", "up_to", NULL};
    bool given;
    ex->op.kind = TIDINGS_OP_MARK_READ;
    return arg_body(ex, members) &&
           arg_ids(ex, "post_ids", &ex->op.u.mark.post_ids, &ex->op.u.mark.n_post_ids, &given) &&
           arg_id(ex, "author_id", &ex->op.u.mark.author_id, &given) &&
           arg_up_to(ex, SEAL_AS_OF, &ex->op.u.mark.up_to, &given);
}

bool prepare_mark_unread(struct exchange *ex)
{
    static const char *const members[] = {"post_ids", NULL};
    ex->op.kind = TIDINGS_OP_MARK_UNREAD;
    return arg_body(ex, members) &&
           arg_ids(ex, "post_ids", &ex->op.u.mark.post_ids, &ex->op.u.mark.n_post_ids, NULL);
}

void render_mark(const struct exchange *ex, const struct tidings_answer *answer,
                 struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    put_u64(out, "marked", answer->u.mark.marked);
    put_u64(out, "total", answer->u.mark.total);
    json_out_end(out);
}

/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

bool prepare_history(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_HISTORY;
    return query_page(ex, SEAL_HISTORY, &ex->op.u.page);
}

void render_history(const struct exchange *ex, const struct tidings_answer *answer,
                    struct json_out *out)
{
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.history.n; i++) {
        const struct tidings_history_row *row = &answer->u.history.rows[i];
        json_out_object(out);
        put_u64(out, "post_id", row->post_id);
        put_text(out, "title", row->title);
        put_u64(out, "author_id", row->author_id);
        put_i64(out, "read_at", row->read_at);
        put_bool(out, "is_deleted", row->is_deleted);
        json_out_end(out);
    }
    json_out_end(out);
    put_cursor(ex, out, SEAL_HISTORY, answer->u.history.next);
    json_out_end(out);
}

bool prepare_history_delete(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_HISTORY_DELETE;
    ex->op.u.post.post_id = ex->ids[0];
    return true;
}

bool prepare_history_clear(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_HISTORY_CLEAR;
    return true;
}

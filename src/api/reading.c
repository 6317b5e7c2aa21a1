/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

bool prepare_reading_set(struct exchange *ex)
{
    static const char *const members[] = {"scene_id", "message_id", "modified_at", NULL};
    bool given;
    ex->op.kind = TIDINGS_OP_READING_SET;
    ex->op.u.reading.story_id = ex->ids[0];
    return arg_body(ex, members) && arg_id(ex, "scene_id", &ex->op.u.reading.scene_id, &given) &&
           arg_id(ex, "message_id", &ex->op.u.reading.message_id, &given) &&
           arg_time(ex, "modified_at", &ex->op.u.reading.modified_at, &given);
}

/* The device's time may be given here, too: it decides whether an older write is behind it. */
static bool prepare_removal(struct exchange *ex, enum tidings_op_kind kind)
{
    bool given;
    ex->op.kind = kind;
    ex->op.u.reading.story_id = ex->ids[0];
    return query_time(ex, "modified_at", &ex->op.u.reading.modified_at, &given);
}

bool prepare_reading_delete(struct exchange *ex)
{
    return prepare_removal(ex, TIDINGS_OP_READING_DELETE);
}

bool prepare_reading_clear(struct exchange *ex)
{
    return prepare_removal(ex, TIDINGS_OP_READING_CLEAR);
}

/* Versions are numbers as they are: devices keep them. With `since` it is a delta, and has no cursor. */
bool prepare_reading(struct exchange *ex)
{
    struct http_text since = http_query_get(&ex->query, "since");
    ex->op.kind = TIDINGS_OP_READING;
    ex->op.u.readings.delta = since.p != NULL;
    if (since.p && !parse_id(since, &ex->op.u.readings.since)) {
        exchange_invalid(ex, "since", "a version that you were given, or 0");
        return false;
    }
    if (since.p && http_query_get(&ex->query, "cursor").p) {
        exchange_invalid(ex, "cursor",
                         "not together with since: changes go on with the next version");
        return false;
    }
    return query_page(ex, SEAL_READING, &ex->op.u.readings.page);
}

/* Members of an open object. A record that is not there has no time. */
static void put_record(const struct tidings_reading *record, uint64_t story_id,
                       struct json_out *out)
{
    put_u64(out, "story_id", story_id);
    put_id(out, "scene_id", record->scene_id);
    put_id(out, "message_id", record->message_id);
    put_time(out, "modified_at", record->modified_at);
    put_text(out, "title", record->title);
    put_bool(out, "is_deleted", record->is_deleted);
}

void render_reading_set(const struct exchange *ex, const struct tidings_answer *answer,
                        struct json_out *out)
{
    json_out_object(out);
    put_bool(out, "changed", answer->u.reading.changed);
    put_record(&answer->u.reading.record, ex->op.u.reading.story_id, out);
    json_out_end(out);
}

void render_reading(const struct exchange *ex, const struct tidings_answer *answer,
                    struct json_out *out)
{
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.readings.n; i++) {
        json_out_object(out);
        put_record(&answer->u.readings.rows[i], answer->u.readings.rows[i].story_id, out);
        json_out_end(out);
    }
    json_out_end(out);
    json_out_key(out, "deleted");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.readings.n_deleted; i++)
        json_out_u64(out, answer->u.readings.deleted[i]);
    json_out_end(out);
    put_u64(out, "version", answer->u.readings.version);
    if (ex->op.u.readings.delta)
        put_bool(out, "more", answer->u.readings.more);
    else
        put_cursor(ex, out, SEAL_READING, answer->u.readings.next);
    json_out_end(out);
}

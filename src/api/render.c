/* SPDX-License-Identifier: MIT */
/* What answers have in common. */
#include "api/internal.h"

const char *const post_kinds[] = {"note", "activity", "story", NULL};

const char *post_kind_name(enum tidings_post_kind kind)
{
    return post_kinds[kind - TIDINGS_NOTE];
}

void put_text(struct json_out *out, const char *key, struct tidings_text text)
{
    json_out_key(out, key);
    json_out_string(out, text.p ? text.p : "", text.n);
}

void put_shown(struct json_out *out, const char *key, struct tidings_text text)
{
    json_out_key(out, key);
    if (text.n)
        json_out_string(out, text.p, text.n);
    else
        json_out_null(out);
}

void put_json(struct json_out *out, const char *key, struct tidings_text json)
{
    json_out_key(out, key);
    if (json.n)
        json_out_raw(out, json.p, json.n);
    else
        json_out_null(out);
}

void put_u64(struct json_out *out, const char *key, uint64_t value)
{
    json_out_key(out, key);
    json_out_u64(out, value);
}

void put_i64(struct json_out *out, const char *key, int64_t value)
{
    json_out_key(out, key);
    json_out_i64(out, value);
}

void put_word(struct json_out *out, const char *key, const char *word)
{
    put_text(out, key, (struct tidings_text){word, strlen(word)});
}

void put_bool(struct json_out *out, const char *key, bool value)
{
    json_out_key(out, key);
    json_out_bool(out, value);
}

void put_double(struct json_out *out, const char *key, double value)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%.15g", value);
    json_out_key(out, key);
    json_out_raw(out, text, (size_t)n);
}

void put_id(struct json_out *out, const char *key, uint64_t id)
{
    json_out_key(out, key);
    if (id)
        json_out_u64(out, id);
    else
        json_out_null(out);
}

void put_time(struct json_out *out, const char *key, int64_t time_ms)
{
    json_out_key(out, key);
    if (time_ms)
        json_out_i64(out, time_ms);
    else
        json_out_null(out);
}

void begin_items(struct json_out *out)
{
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
}

void end_items(struct json_out *out)
{
    json_out_end(out);
    json_out_end(out);
}

static void put_sealed(const struct exchange *ex, struct json_out *out, const char *key,
                       uint8_t purpose, const uint64_t *values, size_t n)
{
    char text[SEAL_TEXT_MAX];
    size_t length = seal_text(exchange_loop(ex)->seal, purpose, ex->user_id, values, n, text);
    json_out_key(out, key);
    json_out_string(out, text, length);
}

void put_cursor(const struct exchange *ex, struct json_out *out, uint8_t purpose,
                struct tidings_cursor next)
{
    if (next.a || next.b) {
        put_sealed(ex, out, "next_cursor", purpose, (uint64_t[]){next.a, next.b}, 2);
        return;
    }
    json_out_key(out, "next_cursor");
    json_out_null(out);
}

void put_as_of(const struct exchange *ex, struct json_out *out, uint8_t purpose,
               const struct tidings_moment *as_of)
{
    size_t n = TIDINGS_MOMENT_PARTS;
    while (n && !as_of->part[n - 1])
        n--;
    put_sealed(ex, out, "as_of", purpose, as_of->part, n);
}

void put_parts(struct json_out *out, const char *key, struct tidings_text body)
{
    struct tidings_part part;
    json_out_key(out, key);
    json_out_array(out);
    while (tidings_next_part(&body, &part)) {
        json_out_object(out);
        put_text(out, part.is_image ? "img" : "text", part.text);
        json_out_end(out);
    }
    json_out_end(out);
}

void put_counts(struct json_out *out, enum tidings_target target,
                const struct tidings_counts *counts)
{
    put_u64(out, "like_count", counts->like_count);
    if (target == TIDINGS_TARGET_POST) {
        put_u64(out, "fav_count", counts->fav_count);
        put_u64(out, "comment_count", counts->comment_count);
    } else {
        put_u64(out, "down_count", counts->down_count);
        put_u64(out, "reply_count", counts->reply_count);
    }
    put_i64(out, "hot_score", counts->hot_score);
}

void put_stats(struct json_out *out, enum tidings_target target,
               const struct tidings_counts *counts)
{
    json_out_key(out, "stats");
    json_out_object(out);
    put_counts(out, target, counts);
    json_out_end(out);
}

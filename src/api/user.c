/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"
#include "api/internal.h"
#include "api/name_cursor.h"

bool prepare_profile_set(struct exchange *ex)
{
    static const char *const members[] = {"name", "avatar", "extra", NULL};
    bool given;
    ex->op.kind = TIDINGS_OP_PROFILE_SET;
    return arg_body(ex, members) && arg_text(ex, "name", &ex->op.u.profile.name, &given) &&
           arg_text(ex, "avatar", &ex->op.u.profile.avatar, &given) &&
           arg_object(ex, "extra", &ex->op.u.profile.extra);
}

bool prepare_profile(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_PROFILE;
    ex->op.u.user.user_id = ex->ids[0];
    return true;
}

/* Members of an open object. */
static void put_profile(struct json_out *out, const struct tidings_profile *profile)
{
    put_u64(out, "user_id", profile->user_id);
    put_text(out, "name", profile->name);
    put_text(out, "avatar", profile->avatar);
    put_json(out, "extra", profile->extra);
}

void render_profile(const struct exchange *ex, const struct tidings_answer *answer,
                    struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    put_profile(out, &answer->u.profile);
    json_out_end(out);
}

bool prepare_profile_many(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_PROFILE_MANY;
    return query_ids(ex, "ids", &ex->op.u.many.user_ids, &ex->op.u.many.n_user_ids);
}

/* Users need no sign-up: what may be missing is the profile. */
static void put_row(struct json_out *out, const struct tidings_profile *profile)
{
    json_out_object(out);
    put_profile(out, profile);
    put_bool(out, "found", profile->name.n || profile->avatar.n || profile->extra.n);
    json_out_end(out);
}

void render_profile_many(const struct exchange *ex, const struct tidings_answer *answer,
                         struct json_out *out)
{
    (void)ex;
    begin_items(out);
    for (size_t i = 0; i < answer->u.profile_many.n; i++)
        put_row(out, &answer->u.profile_many.rows[i]);
    end_items(out);
}

/* ---- All of them ---------------------------------------------------------------------------- */

static void put_user_ids(struct exchange *ex, const uint64_t *users, size_t n, bool more)
{
    struct json_out out;
    struct buf *buf = &exchange_loop(ex)->out;
    buf_clear(buf);
    json_out_init(&out, buf);
    json_out_object(&out);
    json_out_key(&out, "user_ids");
    json_out_array(&out);
    for (size_t i = 0; i < n; i++)
        json_out_u64(&out, users[i]);
    json_out_end(&out);
    json_out_key(&out, "next_after");
    if (more)
        json_out_u64(&out, users[n - 1]);
    else
        json_out_null(&out);
    json_out_end(&out);
    exchange_json(ex, 200, "application/json", buf);
}

/* At once, on the loop's thread: a page is a few hundred looks into the tables. */
void run_user_ids(struct exchange *ex)
{
    const struct tidings_settings *settings = &ex->api->config.settings;
    struct http_text text = http_query_get(&ex->query, "after");
    struct tidings_page page = {.limit = (uint32_t)settings->page_default};
    uint64_t after = 0;
    size_t n = 0;
    if (text.p && !parse_id(text, &after)) {
        exchange_invalid(ex, "after", "the id of a user, or 0");
        return;
    }
    if (!query_limit(ex, &page))
        return;
    if (page.limit > settings->page_max) {
        exchange_invalid(ex, "limit", "1 to %llu", (unsigned long long)settings->page_max);
        return;
    }
    uint64_t *users = arena_alloc(http_request_arena(ex->req), page.limit * sizeof *users);
    ex->answer.err = users ? tidings_users(ex->api->config.tidings, after, users, page.limit, &n)
                           : TIDINGS_NO_MEMORY;
    if (ex->answer.err)
        exchange_refuse(ex);
    else
        put_user_ids(ex, users, n, n == page.limit);
}

/* ---- By name -------------------------------------------------------------------------------- */

static bool open_cursor(struct exchange *ex, struct http_text cursor)
{
    uint8_t *bytes = arena_alloc(http_request_arena(ex->req), SEAL_BYTES);
    int n = bytes ? seal_open_bytes(exchange_loop(ex)->seal, SEAL_NAMES, ex->user_id, cursor.p,
                                    cursor.n, bytes)
                  : -1;
    return (n >= 0 && name_cursor_unpack(bytes, (size_t)n, &ex->op.u.search.page.after.a,
                                         &ex->op.u.search.after_name)) ||
           refuse_cursor(ex);
}

bool prepare_profile_search(struct exchange *ex)
{
    struct http_text prefix = http_query_get(&ex->query, "prefix");
    struct http_text cursor = http_query_get(&ex->query, "cursor");
    ex->op.kind = TIDINGS_OP_PROFILE_SEARCH;
    ex->op.u.search.prefix = (struct tidings_text){prefix.p, prefix.n};
    return query_limit(ex, &ex->op.u.search.page) && (!cursor.p || open_cursor(ex, cursor));
}

static void put_next(const struct exchange *ex, struct json_out *out,
                     const struct tidings_profile *last)
{
    uint8_t bytes[SEAL_BYTES];
    char text[SEAL_BYTES_TEXT_MAX];
    size_t n = name_cursor_pack(last->user_id, last->name, bytes);
    n = seal_bytes(exchange_loop(ex)->seal, SEAL_NAMES, ex->user_id, bytes, n, text);
    json_out_string(out, text, n);
}

void render_profile_search(const struct exchange *ex, const struct tidings_answer *answer,
                           struct json_out *out)
{
    size_t n = answer->u.profile_search.n;
    begin_items(out);
    for (size_t i = 0; i < n; i++)
        put_row(out, &answer->u.profile_search.rows[i]);
    json_out_end(out);
    json_out_key(out, "next_cursor");
    if (answer->u.profile_search.next.a)
        put_next(ex, out, &answer->u.profile_search.rows[n - 1]);
    else
        json_out_null(out);
    json_out_end(out);
}

bool prepare_author_page(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_AUTHOR_PAGE;
    ex->op.u.feed.author_id = ex->ids[0];
    return query_filter(ex, "read_status") && query_page(ex, SEAL_AUTHOR_PAGE, &ex->op.u.feed.page);
}

void render_author_page(const struct exchange *ex, const struct tidings_answer *answer,
                        struct json_out *out)
{
    json_out_object(out);
    render_items(ex, answer, out);
    put_cursor(ex, out, SEAL_AUTHOR_PAGE, answer->u.feed.next);
    put_u64(out, "total", answer->u.feed.total);
    json_out_end(out);
}

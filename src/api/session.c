/* SPDX-License-Identifier: MIT */
#include "api/session.h"

#include <stdio.h>
#include <string.h>

#include "api/handlers.h"
#include "api/internal.h"

/* A browser keeps 4096 bytes of a cookie with its name and its attributes; two of them must fit into a request's head. */
enum { SESSION_TOKEN_MAX = 3072, SESSION_COOKIE_TEXT = SESSION_TOKEN_MAX + 128, SESSION_ROLES = 2 };

/*
 * Over https a name that browsers take from this host alone and only when it is Secure: no neighbour under the same domain
 * can set it. Cookies know no ports; under /v1 alone others on the host see them more rarely.
 */
static const struct session_cookie {
    const char *name, *attributes;
} session_cookies[SESSION_ROLES][2] = {
    {{"__Host-tidings-user", "; Path=/; Secure"}, {"tidings-user", "; Path=/v1"}},
    {{"__Host-tidings-admin", "; Path=/; Secure"}, {"tidings-admin", "; Path=/v1"}},
};

static const char session_never_sent_across[] = "; HttpOnly; SameSite=Strict";

static bool session_text_is(struct http_text text, const char *word)
{
    return text.p && text.n == strlen(word) && !memcmp(text.p, word, text.n);
}

/* Which of the two, by Tidings-Session; false if it is missing or none of them. */
static bool session_role(const struct http_request *req, size_t *role)
{
    size_t count;
    struct http_text word = http_request_header(req, "Tidings-Session", &count);
    *role = session_text_is(word, "admin");
    return count == 1 && (*role || session_text_is(word, "user"));
}

/* The value of a cookie; p is NULL if there is none, or more than one, of which one may be somebody else's. */
static struct http_text session_find_cookie(struct http_text header, const char *name)
{
    struct http_text found = {NULL, 0};
    size_t n = strlen(name);
    const char *at = header.p, *end = header.p + header.n;
    while (at < end) {
        const char *semicolon = memchr(at, ';', (size_t)(end - at));
        const char *stop = semicolon ? semicolon : end;
        while (at < stop && *at == ' ')
            at++;
        if ((size_t)(stop - at) > n && at[n] == '=' && !memcmp(at, name, n)) {
            if (found.p)
                return (struct http_text){NULL, 0};
            found = (struct http_text){at + n + 1, (size_t)(stop - at) - n - 1};
        }
        at = stop + 1;
    }
    return found;
}

struct http_text session_token(const struct http_request *req)
{
    static const struct http_text none = {NULL, 0};
    size_t role, count;
    struct http_text site = http_request_header(req, "Sec-Fetch-Site", NULL);
    if (!session_role(req, &role) || (site.p && !session_text_is(site, "same-origin")))
        return none;
    struct http_text cookies = http_request_header(req, "Cookie", &count);
    if (count != 1)
        return none;
    struct http_text token = session_find_cookie(cookies, session_cookies[role][0].name);
    return token.p ? token : session_find_cookie(cookies, session_cookies[role][1].name);
}

/* ---- Beginning, asking, ending --------------------------------------------------------------- */

static void session_respond(struct exchange *ex, const char *const *cookies, size_t n)
{
    static const char *const roles[] = {
        [JWT_ROLE_USER] = "user", [JWT_ROLE_SERVICE] = "service", [JWT_ROLE_ADMIN] = "admin"};
    struct http_field fields[2 + 2 * SESSION_ROLES] = {{"X-Content-Type-Options", "nosniff"},
                                                       {"Cache-Control", "no-store"}};
    struct http_response response = {.status = ex->route->status, .fields = fields, .n_fields = 2};
    struct buf *buf = &exchange_loop(ex)->out;
    struct json_out out;
    for (size_t i = 0; i < n; i++)
        fields[response.n_fields++] = (struct http_field){"Set-Cookie", cookies[i]};
    if (ex->route->status != 204) {
        const char *role = roles[ex->claims.role];
        buf_clear(buf);
        json_out_init(&out, buf);
        json_out_object(&out);
        put_u64(&out, "user_id", ex->claims.user_id);
        put_text(&out, "role", (struct tidings_text){role, strlen(role)});
        put_i64(&out, "expires_at", ex->claims.until_ms);
        json_out_end(&out);
        buf_char(buf, '\n');
        response.content_type = "application/json";
        response.body = buf->data;
        response.body_len = buf->len;
    }
    exchange_send(ex, &response);
}

static bool session_take_role(struct exchange *ex, size_t *role)
{
    if (session_role(ex->req, role))
        return true;
    exchange_invalid(ex, "Tidings-Session", "user or admin");
    return false;
}

void run_session_get(struct exchange *ex)
{
    session_respond(ex, NULL, 0);
}

void run_session_create(struct exchange *ex)
{
    size_t role;
    struct http_text origin = http_request_header(ex->req, "Origin", NULL);
    bool is_secure = origin.p && origin.n > 8 && !memcmp(origin.p, "https://", 8);
    if (!session_take_role(ex, &role))
        return;
    if (ex->token.n > SESSION_TOKEN_MAX) {
        exchange_invalid(ex, "Authorization", "a token of up to %d bytes, as a cookie can hold",
                         SESSION_TOKEN_MAX);
        return;
    }
    const struct session_cookie *cookie = &session_cookies[role][!is_secure];
    char text[SESSION_COOKIE_TEXT];
    const char *const cookies[] = {text};
    snprintf(text, sizeof text, "%s=%.*s%s%s", cookie->name, (int)ex->token.n, ex->token.p,
             cookie->attributes, session_never_sent_across);
    session_respond(ex, cookies, 1);
}

/* Nobody need be signed in for that, but a page of another origin must not sign anybody out. */
void run_session_delete(struct exchange *ex)
{
    char texts[2 * SESSION_ROLES][SESSION_COOKIE_TEXT - SESSION_TOKEN_MAX];
    const char *cookies[2 * SESSION_ROLES];
    size_t role;
    if (!session_take_role(ex, &role))
        return;
    for (size_t i = 0; i < 2 * SESSION_ROLES; i++) {
        const struct session_cookie *cookie = &session_cookies[i / 2][i % 2];
        snprintf(texts[i], sizeof texts[i], "%s=; Max-Age=0%s%s", cookie->name, cookie->attributes,
                 session_never_sent_across);
        cookies[i] = texts[i];
    }
    session_respond(ex, cookies, 2 * SESSION_ROLES);
}

/* SPDX-License-Identifier: MIT */
/*
 * Every route, one row each. The OpenAPI document, the metrics and the tests' permission matrix go
 * by this table; a new capability is a file of handlers and its rows here.
 */
#include <string.h>

#include "api/handlers.h"
#include "api/internal.h"

#define GET    HTTP_VERB_GET
#define POST   HTTP_VERB_POST
#define PUT    HTTP_VERB_PUT
#define PATCH  HTTP_VERB_PATCH
#define DELETE HTTP_VERB_DELETE

#define USER    ACCESS_USER
#define SERVICE ACCESS_SERVICE
#define ADMIN   ACCESS_ADMIN
#define PUBLIC  ACCESS_PUBLIC

/* clang-format off */
const struct route routes[] = {
    /* verb, pattern, name, access, status, prepare, render, run */
    {POST,   "/v1/relation/follow",         "follow",         USER, 200, prepare_follow,         render_follow,      NULL},
    {POST,   "/v1/relation/unfollow",       "unfollow",       USER, 200, prepare_unfollow,       render_unfollow,    NULL},
    {GET,    "/v1/relation/status",         "relationStatus", USER, 200, prepare_status,         render_status,      NULL},
    {GET,    "/v1/relation/following",      "listFollowing",  USER, 200, prepare_following,      render_following,   NULL},
    {GET,    "/v1/relation/followers",      "listFollowers",  USER, 200, prepare_followers,      render_followers,   NULL},
    {GET,    "/v1/relation/counter",        "getCounters",    USER, 200, prepare_counters,       render_counters,    NULL},

    {PUT,    "/v1/users/me",                "setProfile",     USER, 200, prepare_profile_set,    render_profile,     NULL},
    {GET,    "/v1/users/{user_id}",         "getProfile",     USER, 200, prepare_profile,        render_profile,     NULL},
    {GET,    "/v1/users/{user_id}/posts",   "listPosts",      USER, 200, prepare_author_page,    render_author_page, NULL},

    {POST,   "/v1/posts",                   "publish",        USER, 201, prepare_publish,        render_post,        NULL},
    {GET,    "/v1/posts/{post_id}",         "getPost",        USER, 200, prepare_post,           render_post,        NULL},
    {PATCH,  "/v1/posts/{post_id}",         "editPost",       USER, 200, prepare_edit,           render_post,        NULL},
    {DELETE, "/v1/posts/{post_id}",         "deletePost",     USER, 204, prepare_delete,         NULL,               NULL},
    {POST,   "/v1/posts/{post_id}/open",    "openPost",       USER, 200, prepare_open,           render_open,        NULL},

    {GET,    "/v1/inbox",                   "listInbox",      USER, 200, prepare_inbox,          render_inbox,       NULL},
    {GET,    "/v1/inbox/badge",             "getBadge",       USER, 200, prepare_badge,          render_badge,       NULL},
    {GET,    "/v1/inbox/unread",            "getUnread",      USER, 200, prepare_unread,         render_unread,      NULL},
    {POST,   "/v1/inbox/mark-read",         "markRead",       USER, 200, prepare_mark_read,      render_mark,        NULL},
    {POST,   "/v1/inbox/mark-unread",       "markUnread",     USER, 200, prepare_mark_unread,    render_mark,        NULL},

    {GET,    "/v1/history",                 "listHistory",    USER, 200, prepare_history,        render_history,     NULL},
    {DELETE, "/v1/history",                 "clearHistory",   USER, 204, prepare_history_clear,  NULL,               NULL},
    {DELETE, "/v1/history/{post_id}",       "deleteHistory",  USER, 204, prepare_history_delete, NULL,               NULL},

    {GET,    "/v1/stream",                  "stream",         USER, 200, NULL,                   NULL,               streams_open},
    {GET,    "/v1/events",                  "listEvents",     SERVICE, 200, prepare_events,      render_events,      NULL},

    {GET,    "/v1/admin/status",            "getStatus",      ADMIN, 200, NULL,                  NULL,               run_status},
    {POST,   "/v1/admin/verify",            "verify",         ADMIN, 200, NULL,                  NULL,               run_verify},
    {POST,   "/v1/admin/backup",            "backup",         ADMIN, 201, NULL,                  NULL,               run_backup},

    {GET,    "/v1/openapi.json",            "getOpenapi",     PUBLIC, 200, NULL,                 NULL,               run_openapi},
    {GET,    "/docs",                       "getDocs",        PUBLIC, 200, NULL,                 NULL,               run_docs},
    {GET,    "/healthz",                    "getHealth",      PUBLIC, 200, NULL,                 NULL,               run_healthz},
    {GET,    "/readyz",                     "getReadiness",   PUBLIC, 200, NULL,                 NULL,               run_readyz},
    {GET,    "/metrics",                    "getMetrics",     PUBLIC, 200, NULL,                 NULL,               run_metrics},
};
/* clang-format on */

const size_t n_routes = sizeof routes / sizeof *routes;

static const char *verb_name(enum http_verb verb)
{
    static const char *const names[] = {
        [GET] = "GET", [POST] = "POST", [PUT] = "PUT", [PATCH] = "PATCH", [DELETE] = "DELETE"};
    return names[verb];
}

/* ---- Matching ------------------------------------------------------------------------------- */

/* The names of the numbers in patterns, as errors call them. */
static const char *parameter_name(const char *at)
{
    static const char *const names[] = {"user_id", "post_id"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(at + 1, names[i], strlen(names[i])))
            return names[i];
    return "id";
}

/* A number in the place of {name} matches even if it is none: then *bad_id is the name. */
static bool matches(const char *pattern, struct http_text path, uint64_t ids[PATH_IDS],
                    const char **bad_id)
{
    const char *at = path.p, *end = path.p + path.n;
    size_t n_ids = 0;
    *bad_id = NULL;
    while (*pattern) {
        if (*pattern != '{') {
            if (at == end || *at++ != *pattern++)
                return false;
            continue;
        }
        const char *from = at;
        while (at < end && *at != '/')
            at++;
        struct http_text text = {from, (size_t)(at - from)};
        if (!text.n)
            return false;
        if (!parse_id(text, &ids[n_ids]) || !ids[n_ids])
            *bad_id = parameter_name(pattern);
        n_ids++;
        pattern = strchr(pattern, '}') + 1;
    }
    return at == end;
}

const struct route *route_find(struct http_text path, enum http_verb verb, uint64_t ids[PATH_IDS],
                               const char **bad_id, char *allow, size_t room)
{
    size_t used = 0;
    *allow = '\0';
    for (size_t i = 0; i < n_routes; i++) {
        if (!matches(routes[i].pattern, path, ids, bad_id))
            continue;
        if (routes[i].verb == verb)
            return &routes[i];
        int n = snprintf(allow + used, room - used, "%s%s", used ? ", " : "",
                         verb_name(routes[i].verb));
        used += (size_t)n < room - used ? (size_t)n : 0;
        if (routes[i].verb == GET && used + 6 < room) {
            memcpy(allow + used, ", HEAD", 7);
            used += 6;
        }
    }
    return NULL;
}

void api_print_routes(FILE *to)
{
    static const char *const accesses[] = {"public", "user", "service", "admin"};
    fputs("[\n", to);
    for (size_t i = 0; i < n_routes; i++)
        fprintf(to,
                "  {\"method\": \"%s\", \"path\": \"%s\", \"operation\": \"%s\", "
                "\"access\": \"%s\", \"status\": %d}%s\n",
                verb_name(routes[i].verb), routes[i].pattern, routes[i].name,
                accesses[routes[i].access], routes[i].status, i + 1 < n_routes ? "," : "");
    fputs("]\n", to);
}

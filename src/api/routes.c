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

/* What a token with a scope must have: AREA:read for GET, AREA:write for the rest. */
#define INBOX         SCOPE_INBOX
#define POSTS         SCOPE_POSTS
#define COMMENTS      SCOPE_COMMENTS
#define REACTIONS     SCOPE_REACTIONS
#define RELATION      SCOPE_RELATION
#define PROFILE       SCOPE_PROFILE
#define READING       SCOPE_READING
#define NOTIFICATIONS SCOPE_NOTIFICATIONS
#define EVENTS        SCOPE_EVENTS
#define NONE          SCOPE_AREA_COUNT

#define PAGE "limit cursor"
#define ANY  NULL

/* clang-format off */
const struct route routes[] = {
    /* verb, pattern, name, access, area, status, prepare, render, run, parameters of the query */
    {POST,   "/v1/relation/follow",         "follow",         USER, RELATION, 200, prepare_follow,         render_follow,      NULL, ""},
    {POST,   "/v1/relation/unfollow",       "unfollow",       USER, RELATION, 200, prepare_unfollow,       render_unfollow,    NULL, ""},
    {GET,    "/v1/relation/status",         "relationStatus", USER, RELATION, 200, prepare_status,         render_status,      NULL, "user_id user_ids"},
    {GET,    "/v1/relation/following",      "listFollowing",  USER, RELATION, 200, prepare_following,      render_following,   NULL, "user_id limit cursor"},
    {GET,    "/v1/relation/followers",      "listFollowers",  USER, RELATION, 200, prepare_followers,      render_followers,   NULL, "user_id limit cursor"},
    {GET,    "/v1/relation/counter",        "getCounters",    USER, RELATION, 200, prepare_counters,       render_counters,    NULL, "user_id user_ids"},

    {PUT,    "/v1/users/me",                "setProfile",     USER, PROFILE, 200, prepare_profile_set,    render_profile,     NULL, ""},
    {GET,    "/v1/users",                   "listProfiles",   USER, PROFILE, 200, prepare_profile_many,   render_profile_many, NULL, "ids"},
    {GET,    "/v1/users/search",            "searchProfiles", USER, PROFILE, 200, prepare_profile_search, render_profile_search, NULL, "prefix limit cursor"},
    {GET,    "/v1/users/ids",               "listUserIds",    SERVICE, PROFILE, 200, NULL,                NULL,               run_user_ids, "after limit"},
    {GET,    "/v1/users/{user_id}",         "getProfile",     USER, PROFILE, 200, prepare_profile,        render_profile,     NULL, ""},
    {GET,    "/v1/users/{user_id}/posts",   "listPosts",      USER, POSTS, 200, prepare_author_page,    render_author_page, NULL, "read_status limit cursor"},

    {POST,   "/v1/posts",                   "publish",        USER, POSTS, 201, prepare_publish,        render_post,        NULL, ""},
    {GET,    "/v1/posts",                   "listPostsById",  USER, POSTS, 200, prepare_post_many,      render_post_many,   NULL, "ids"},
    {GET,    "/v1/posts/stats",             "listPostStats",  USER, POSTS, 200, prepare_stats_many,     render_stats_many,  NULL, "ids"},
    {GET,    "/v1/posts/by-key",            "getPostByKey",   USER, POSTS, 200, prepare_post_by_key,    render_post,        NULL, "key"},
    {GET,    "/v1/posts/{post_id}",         "getPost",        USER, POSTS, 200, prepare_post,           render_post,        NULL, ""},
    {PATCH,  "/v1/posts/{post_id}",         "editPost",       USER, POSTS, 200, prepare_edit,           render_post,        NULL, ""},
    {DELETE, "/v1/posts/{post_id}",         "deletePost",     USER, POSTS, 204, prepare_delete,         NULL,               NULL, ""},
    {POST,   "/v1/posts/{post_id}/open",    "openPost",       USER, INBOX, 200, prepare_open,           render_open,        NULL, ""},

    {GET,    "/v1/inbox",                   "listInbox",      USER, INBOX, 200, prepare_inbox,          render_inbox,       NULL, "filter author_id limit cursor"},
    {GET,    "/v1/inbox/badge",             "getBadge",       USER, INBOX, 200, prepare_badge,          render_badge,       NULL, ""},
    {POST,   "/v1/inbox/badges",            "listBadges",     SERVICE, INBOX, 200, prepare_badges,      render_badges,      NULL, ""},
    {GET,    "/v1/inbox/unread",            "getUnread",      USER, INBOX, 200, prepare_unread,         render_unread,      NULL, "author_id"},
    {POST,   "/v1/inbox/mark-read",         "markRead",       USER, INBOX, 200, prepare_mark_read,      render_mark,        NULL, ""},
    {POST,   "/v1/inbox/mark-unread",       "markUnread",     USER, INBOX, 200, prepare_mark_unread,    render_mark,        NULL, ""},

    {GET,    "/v1/history",                 "listHistory",    USER, INBOX, 200, prepare_history,        render_history,     NULL, PAGE},
    {DELETE, "/v1/history",                 "clearHistory",   USER, INBOX, 204, prepare_history_clear,  NULL,               NULL, ""},
    {DELETE, "/v1/history/{post_id}",       "deleteHistory",  USER, INBOX, 204, prepare_history_delete, NULL,               NULL, ""},

    {PUT,    "/v1/posts/{post_id}/like",    "likePost",       USER, REACTIONS, 200, prepare_post_like,      render_reaction,    NULL, ""},
    {DELETE, "/v1/posts/{post_id}/like",    "unlikePost",     USER, REACTIONS, 200, prepare_post_like,      render_reaction,    NULL, ""},
    {PUT,    "/v1/posts/{post_id}/fav",     "favPost",        USER, REACTIONS, 200, prepare_post_fav,       render_reaction,    NULL, ""},
    {DELETE, "/v1/posts/{post_id}/fav",     "unfavPost",      USER, REACTIONS, 200, prepare_post_fav,       render_reaction,    NULL, ""},
    {GET,    "/v1/posts/{post_id}/likes",   "listPostLikes",  USER, REACTIONS, 200, prepare_post_likes,     render_likes,       NULL, PAGE},
    {GET,    "/v1/posts/{post_id}/stats",   "getPostStats",   USER, POSTS, 200, prepare_post_stats,     render_stats,       NULL, "explain"},
    {GET,    "/v1/me/likes",                "listMyLikes",    USER, REACTIONS, 200, prepare_my_likes,       render_my_likes,    NULL, "target limit cursor"},
    {GET,    "/v1/me/favs",                 "listMyFavs",     USER, REACTIONS, 200, prepare_my_favs,        render_my_favs,     NULL, PAGE},
    {GET,    "/v1/hot",                     "listHot",        USER, POSTS, 200, prepare_hot,            render_hot,         NULL, "kind limit cursor"},

    {POST,   "/v1/posts/{post_id}/comments",         "createComment",     USER, COMMENTS, 201,  prepare_comment,          render_comment,  NULL, ""},
    {GET,    "/v1/posts/{post_id}/comments",         "listComments",      USER, COMMENTS, 200,  prepare_comments,         render_comments, NULL, "parent_id sort include_hidden limit cursor"},
    {DELETE, "/v1/comments/{comment_id}",            "deleteComment",     USER, COMMENTS, 204,  prepare_comment_delete,   NULL,            NULL, ""},
    {POST,   "/v1/comments/{comment_id}/hide",       "hideComment",       ADMIN, COMMENTS, 200, prepare_comment_hide,     render_comment,  NULL, ""},
    {POST,   "/v1/comments/{comment_id}/restore",    "restoreComment",    ADMIN, COMMENTS, 200, prepare_comment_restore,  render_comment,  NULL, ""},
    {PUT,    "/v1/comments/{comment_id}/like",       "likeComment",       USER, REACTIONS, 200,  prepare_comment_like,     render_reaction, NULL, ""},
    {DELETE, "/v1/comments/{comment_id}/like",       "unlikeComment",     USER, REACTIONS, 200,  prepare_comment_like,     render_reaction, NULL, ""},
    {PUT,    "/v1/comments/{comment_id}/downvote",   "downvoteComment",   USER, REACTIONS, 200,  prepare_comment_downvote, render_reaction, NULL, ""},
    {DELETE, "/v1/comments/{comment_id}/downvote",   "undownvoteComment", USER, REACTIONS, 200,  prepare_comment_downvote, render_reaction, NULL, ""},
    {GET,    "/v1/comments/{comment_id}/likes",      "listCommentLikes",  USER, REACTIONS, 200,  prepare_comment_likes,    render_likes,    NULL, PAGE},
    {GET,    "/v1/comments/{comment_id}/stats",      "getCommentStats",   USER, COMMENTS, 200,  prepare_comment_stats,    render_stats,    NULL, "explain"},

    {POST,   "/v1/stories/{story_id}/scenes",       "publishScene",      USER, POSTS, 201,    prepare_scene_publish,  render_scene,         NULL, ""},
    {GET,    "/v1/stories/{story_id}/scenes",       "listScenes",        USER, POSTS, 200,    prepare_scenes,         render_scenes,        NULL, PAGE},
    {GET,    "/v1/scenes/{scene_id}",               "getScene",          USER, POSTS, 200,    prepare_scene,          render_scene,         NULL, ""},
    {PATCH,  "/v1/scenes/{scene_id}",               "editScene",         USER, POSTS, 200,    prepare_scene_edit,     render_scene,         NULL, ""},
    {DELETE, "/v1/scenes/{scene_id}",               "deleteScene",       USER, POSTS, 204,    prepare_scene_delete,   NULL,                 NULL, ""},

    {PUT,    "/v1/stories/{story_id}/subscription", "subscribe",         USER, RELATION, 200,    prepare_subscribe,      render_subscription,  NULL, ""},
    {DELETE, "/v1/stories/{story_id}/subscription", "unsubscribe",       USER, RELATION, 200,    prepare_unsubscribe,    render_subscription,  NULL, ""},
    {GET,    "/v1/subscriptions",                   "listSubscriptions", USER, RELATION, 200,    prepare_subscriptions,  render_subscriptions, NULL, PAGE},
    {GET,    "/v1/tags/{tag}/subscribers",          "listSubscribers",   SERVICE, RELATION, 200, prepare_subscribers,    render_subscribers,   NULL, PAGE},

    {GET,    "/v1/reading",                         "listReading",       USER, READING, 200,    prepare_reading,        render_reading,       NULL, "since limit cursor"},
    {DELETE, "/v1/reading",                         "clearReading",      USER, READING, 204,    prepare_reading_clear,  NULL,                 NULL, "modified_at"},
    {PUT,    "/v1/reading/{story_id}",              "setReading",        USER, READING, 200,    prepare_reading_set,    render_reading_set,   NULL, ""},
    {DELETE, "/v1/reading/{story_id}",              "deleteReading",     USER, READING, 204,    prepare_reading_delete, NULL,                 NULL, "modified_at"},

    {GET,    "/v1/notifications",                   "listNotifications", USER, NOTIFICATIONS, 200,    prepare_notifications,        render_notifications,       NULL, PAGE},
    {POST,   "/v1/notifications/mark-read",         "markNotifications", USER, NOTIFICATIONS, 200,    prepare_notifications_mark,   render_notifications_mark,  NULL, ""},
    {GET,    "/v1/settings",                        "getSettings",       USER, NOTIFICATIONS, 200,    prepare_preferences,       render_preferences,      NULL, ""},
    {PUT,    "/v1/settings",                        "setSettings",       USER, NOTIFICATIONS, 200,    prepare_preferences_set,   render_preferences,      NULL, ""},

    {POST,   "/v1/stream/ticket",           "createTicket",   USER, NOTIFICATIONS, 201, NULL,                   NULL,               run_ticket, ""},
    {GET,    "/v1/stream",                  "stream",         USER, NOTIFICATIONS, 200, NULL,                   NULL,               streams_open, "ticket post_ids"},
    {GET,    "/v1/events",                  "listEvents",     SERVICE, EVENTS, 200, prepare_events,      render_events,      NULL, "after limit"},
    {GET,    "/v1/session",                 "getSession",     USER, NONE, 200, NULL,                   NULL,               run_session_get, ""},
    {POST,   "/v1/session",                 "createSession",  USER, NONE, 201, NULL,                   NULL,               run_session_create, ""},
    {DELETE, "/v1/session",                 "deleteSession",  PUBLIC, NONE, 204, NULL,                 NULL,               run_session_delete, ""},

    {GET,    "/v1/admin/status",            "getStatus",      ADMIN, SCOPE_ADMIN, 200, NULL,                  NULL,               run_status, ""},
    {GET,    "/v1/admin/metrics",           "getAdminMetrics", ADMIN, SCOPE_ADMIN, 200, NULL,                 NULL,               run_metrics, ""},
    {GET,    "/v1/admin/samples",           "getSamples",     ADMIN, SCOPE_ADMIN, 200, NULL,                  NULL,               run_samples, ""},
    {POST,   "/v1/admin/verify",            "verify",         ADMIN, SCOPE_ADMIN, 200, NULL,                  NULL,               run_verify, ""},
    {POST,   "/v1/admin/backup",            "backup",         ADMIN, SCOPE_ADMIN, 201, NULL,                  NULL,               run_backup, ""},

    {GET,    "/v1/admin/webhooks",              "listWebhooks",  ADMIN, SCOPE_ADMIN, 200, prepare_webhooks,       render_webhooks, NULL, ""},
    {GET,    "/v1/admin/webhooks/{name}",       "getWebhook",    ADMIN, SCOPE_ADMIN, 200, prepare_webhook,        render_webhook,  NULL, ""},
    {PUT,    "/v1/admin/webhooks/{name}",       "setWebhook",    ADMIN, SCOPE_ADMIN, 200, prepare_webhook_set,    render_webhook,  NULL, ""},
    {DELETE, "/v1/admin/webhooks/{name}",       "deleteWebhook", ADMIN, SCOPE_ADMIN, 204, prepare_webhook_delete, NULL,            NULL, ""},
    {POST,   "/v1/admin/webhooks/{name}/retry", "retryWebhook",  ADMIN, SCOPE_ADMIN, 200, prepare_webhook_retry,  render_webhook,  NULL, ""},

    {GET,    "/v1/admin/targets",                  "listTargets",      ADMIN, SCOPE_ADMIN, 200, prepare_targets,          render_targets, NULL, ""},
    {GET,    "/v1/admin/targets/{name}/dead",      "listDeadLetters",  ADMIN, SCOPE_ADMIN, 200, prepare_letters,          render_letters, NULL, "after limit"},
    {POST,   "/v1/admin/targets/{name}/retry",     "retryTarget",      ADMIN, SCOPE_ADMIN, 200, prepare_target_retry,     render_target,  NULL, ""},
    {POST,   "/v1/admin/targets/{name}/replay",    "replayTarget",     ADMIN, SCOPE_ADMIN, 200, prepare_target_replay,    render_target,  NULL, ""},
    {POST,   "/v1/admin/targets/{name}/rebuild",   "rebuildTarget",    ADMIN, SCOPE_ADMIN, 200, prepare_target_rebuild,   render_target,  NULL, ""},
    {POST,   "/v1/admin/targets/{name}/reconcile", "reconcileTarget",  ADMIN, SCOPE_ADMIN, 200, prepare_target_reconcile, render_target,  NULL, ""},

    {GET,    "/",                           "getConsole",     PUBLIC, NONE, 200, NULL,                 NULL,               run_console, ANY},
    {GET,    "/assets/{name}",              "getAsset",       PUBLIC, NONE, 200, NULL,                 NULL,               run_asset, ANY},
    {GET,    "/v1/openapi.json",            "getOpenapi",     PUBLIC, NONE, 200, NULL,                 NULL,               run_openapi, ""},
    {GET,    "/docs",                       "getDocs",        PUBLIC, NONE, 200, NULL,                 NULL,               run_docs, ANY},
    {GET,    "/healthz",                    "getHealth",      PUBLIC, NONE, 200, NULL,                 NULL,               run_healthz, ANY},
    {GET,    "/readyz",                     "getReadiness",   PUBLIC, NONE, 200, NULL,                 NULL,               run_readyz, ANY},
    {GET,    "/metrics",                    "getMetrics",     PUBLIC, NONE, 200, NULL,                 NULL,               run_metrics, ANY},
};
/* clang-format on */

const size_t n_routes = sizeof routes / sizeof *routes;

static const char *const verb_names[] = {
    [GET] = "GET", [POST] = "POST", [PUT] = "PUT", [PATCH] = "PATCH", [DELETE] = "DELETE"};
enum { VERBS = sizeof verb_names / sizeof *verb_names };

/* ---- Matching ------------------------------------------------------------------------------- */

/* The names of the numbers in patterns, as errors call them. */
static const char *parameter_name(const char *at)
{
    static const char *const names[] = {"user_id",  "post_id",  "comment_id",
                                        "story_id", "scene_id", "tag"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(at + 1, names[i], strlen(names[i])))
            return names[i];
    return "id";
}

/* What a push gateway calls a story: "story:123". Many encode the colon. */
static struct http_text tag_number(struct http_text tag)
{
    static const char *const prefixes[] = {"story:", "story%3A", "story%3a"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i]);
        if (tag.n > n && !strncmp(tag.p, prefixes[i], n))
            return (struct http_text){tag.p + n, tag.n - n};
    }
    return (struct http_text){tag.p, 0};
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
        if (!strncmp(pattern, "{tag}", 5))
            text = tag_number(text);
        if (!strncmp(pattern, "{name}", 6)) { /* any text; its handler takes it from the path */
            pattern += 6;
            continue;
        }
        if (!parse_id(text, &ids[n_ids]) || !ids[n_ids])
            *bad_id = parameter_name(pattern);
        n_ids++;
        pattern = strchr(pattern, '}') + 1;
    }
    return at == end;
}

/* Each once, though several patterns may fit a path. */
static void print_verbs(unsigned verbs, char allow[ALLOW_TEXT])
{
    size_t used = 0;
    *allow = '\0';
    for (int verb = 0; verb < VERBS; verb++)
        if (verbs & 1U << verb)
            used += (size_t)snprintf(allow + used, ALLOW_TEXT - used, "%s%s%s", used ? ", " : "",
                                     verb_names[verb], verb == GET ? ", HEAD" : "");
}

static const char version[] = "/v1", relation[] = "/relation/";

/*
 * The same route's path without /v1, which relations have besides, or NULL. It is no row of its own, so both
 * have one handler, scope and metric.
 */
static const char *route_alias(const struct route *route)
{
    const char *alias = route->pattern + sizeof version - 1;
    bool has = !strncmp(route->pattern, version, sizeof version - 1) &&
               !strncmp(alias, relation, sizeof relation - 1);
    return has ? alias : NULL;
}

const struct route *route_find(struct http_text path, enum http_verb verb, uint64_t ids[PATH_IDS],
                               const char **bad_id, char allow[ALLOW_TEXT])
{
    bool is_alias = path.n >= sizeof relation - 1 && !memcmp(path.p, relation, sizeof relation - 1);
    unsigned fitting = 0;
    for (size_t i = 0; i < n_routes; i++) {
        const char *pattern = is_alias ? route_alias(&routes[i]) : routes[i].pattern;
        if (!pattern || !matches(pattern, path, ids, bad_id))
            continue;
        if (routes[i].verb == verb)
            return &routes[i];
        fitting |= 1U << routes[i].verb;
    }
    print_verbs(fitting, allow);
    return NULL;
}

enum scope_way route_way(const struct route *route)
{
    return route->verb == GET ? SCOPE_READ : SCOPE_WRITE;
}

void api_print_routes(FILE *to)
{
    char scope[SCOPE_NAME_MAX];
    static const char *const accesses[] = {"public", "user", "service", "admin"};
    fputs("[\n", to);
    for (size_t i = 0; i < n_routes; i++)
        fprintf(
            to,
            "  {\"method\": \"%s\", \"path\": \"%s\", \"alias\": \"%s\", \"operation\": \"%s\", "
            "\"access\": \"%s\", \"scope\": \"%s\", \"status\": %d, \"parameters\": \"%s\"}%s\n",
            verb_names[routes[i].verb], routes[i].pattern,
            route_alias(&routes[i]) ? route_alias(&routes[i]) : "", routes[i].name,
            accesses[routes[i].access],
            routes[i].area == NONE ? "" : scope_name(routes[i].area, route_way(&routes[i]), scope),
            routes[i].status, routes[i].parameters ? routes[i].parameters : "",
            i + 1 < n_routes ? "," : "");
    fputs("]\n", to);
}

/* SPDX-License-Identifier: MIT */
/*
 * The HTTP API of Tidings: requests to operations, answers to JSON. It stands between the HTTP
 * layer, which knows no route, and the engine, which knows no HTTP.
 *
 *     routes.c     the table of routes: one row each, and nothing about a route stands elsewhere
 *     exchange.c   one request under way: who asks, the operation, the answer
 *     identify.c   whether they may: token, ticket, role, scope
 *     args.c       what a request says, checked, into an operation
 *     problem.c    errors as RFC 9457 has them, one table from the engine's
 *     streams.c    server-sent events and who is told what
 *     room.c       how many answers may be made before those before are sent
 *     metrics.c    counts and times, in Prometheus' text
 *     relation.c … one file a capability: how its operations are made and its answers written
 */
#ifndef API_API_H
#define API_API_H

#include <stdbool.h>
#include <stdint.h>

#include "auth/jwks.h"
#include "auth/jwt.h"
#include "auth/keys.h"
#include "http/http.h"
#include "push/rules.h"
#include "tidings.h"

struct api;

struct api_config {
    struct tidings *tidings;
    struct keyring *keys;
    const struct push_rules *rules; /* where webhooks may lead */
    const void *seal_secret;        /* for cursors and as_of; at least 32 bytes, copied */
    size_t seal_secret_n;
    unsigned threads;
    struct jwt_rules tokens; /* what they must be like */
    struct jwks *jwks;       /* told of tokens whose key is not there; NULL: nobody is */
    bool access_log;
    bool chinese;                     /* notices, for who names no language */
    size_t stream_backlog;            /* events that wait to be told to streams at most */
    const char *durability;           /* "commit" or "second", for those who ask */
    const char *backup_dir;           /* where backups are written to; NULL: nowhere */
    struct tidings_settings settings; /* the engine's: answers explain what they do */
};

/* The headers of answers that a program may want to read, a page of another origin too (CORS). */
#define API_EXPOSED_HEADERS                                                           \
    "Allow, Content-Encoding, Date, ETag, RateLimit, RateLimit-Policy, Retry-After, " \
    "Tidings-Age, Tidings-Seen, WWW-Authenticate, "                                   \
    "X-Request-Id"

/* NULL if memory is short. */
struct api *api_new(const struct api_config *config);

/* After the server and the engine have stopped. NULL is fine. */
void api_free(struct api *api);

/* The server must be known before its first request arrives at a stream. */
void api_set_server(struct api *api, struct http_server *server);

/* For http_config; ctx is the api. */
void api_handle(struct http_request *req, void *ctx);
void api_observe(const struct http_observation *seen, void *ctx);

/* Waits for what runs on threads of its own. After the server has stopped, before the engine closes. */
void api_join(struct api *api);

/* Makes /readyz answer 503 from now on: a stop is near. Any thread. */
void api_not_ready(struct api *api);

/* Prints the table of routes as JSON. */
void api_print_routes(FILE *to);

#endif

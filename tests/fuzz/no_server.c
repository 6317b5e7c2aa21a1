/* SPDX-License-Identifier: MIT */
/* Stands in for src/http/server.c, and for what is embedded, where the API is driven without sockets. */
#include "no_server.h"
#include "api/embedded.h"
#include "http/http.h"

static const unsigned char text[] = "{}"; /* JSON, since one of them says so */

#define FILE(its_name, its_type)                                                              \
    {                                                                                         \
        .name = its_name, .type = its_type, .etag = "W/\"0\"", .plain = text, .plain_size = 2 \
    }
const struct embedded_file embedded_openapi = FILE("", "application/json");
const struct embedded_file embedded_docs = FILE("", "text/html; charset=utf-8");
const struct embedded_file embedded_console = FILE("", "text/html; charset=utf-8");
const struct embedded_file embedded_assets[] = {FILE("console-0.js", "text/javascript")};
const size_t n_embedded_assets = 1;

struct http_loop *no_server_loop;

struct http_loop *http_server_loop(struct http_server *server, unsigned index)
{
    (void)server;
    (void)index;
    return no_server_loop;
}

void http_server_counters(const struct http_server *server, struct http_counters *sum)
{
    (void)server;
    *sum = (struct http_counters){0};
}

void http_config_init(struct http_config *config)
{
    *config = (struct http_config){.threads = 1};
#define X(name, standard, least, text) config->name = standard;
    HTTP_SETTINGS(X)
#undef X
}

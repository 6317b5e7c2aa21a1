/* SPDX-License-Identifier: MIT */
/* Stands in for src/http/server.c, and for what is embedded, where the API is driven without sockets. */
#include "api/console.h"
#include "api/embedded.h"
#include "http/http.h"

const unsigned char embedded_openapi[] = "{}";
const size_t embedded_openapi_size = sizeof embedded_openapi - 1;
const unsigned char embedded_docs[] = "<p>";
const size_t embedded_docs_size = sizeof embedded_docs - 1;
const struct console_file console_page = {.name = "",
                                          .type = "text/html; charset=utf-8",
                                          .etag = "\"0\"",
                                          .plain = embedded_docs,
                                          .plain_size = sizeof embedded_docs - 1};
const struct console_file console_assets[] = {{.name = "console-0.js",
                                               .type = "text/javascript; charset=utf-8",
                                               .etag = "\"0\"",
                                               .plain = embedded_docs,
                                               .plain_size = sizeof embedded_docs - 1}};
const size_t n_console_assets = 1;

struct http_loop *http_server_loop(struct http_server *server, unsigned index)
{
    (void)server;
    (void)index;
    return NULL;
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

/* SPDX-License-Identifier: MIT */
/*
 * The console: one page and its few assets, out of the program's own memory. The page's policy lets
 * it run and load nothing but what came from here, and talk to nobody else; pictures of posts may
 * come from anywhere.
 */
#include "api/console.h"

#include <string.h>

#include "api/handlers.h"
#include "api/internal.h"

static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: http:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static bool contains(struct http_text text, const char *word)
{
    return text.p && memmem(text.p, text.n, word, strlen(word));
}

/* "gzip;q=0" says no; who writes it otherwise than so gets it plain as well. */
static bool takes_gzip(struct http_request *req)
{
    struct http_text accepted = http_request_header(req, "Accept-Encoding", NULL);
    return contains(accepted, "gzip") && !contains(accepted, "gzip;");
}

static bool has_it_already(struct http_request *req, const struct console_file *file)
{
    return contains(http_request_header(req, "If-None-Match", NULL), file->etag);
}

/* The page must be asked for each time, since it names the assets; those never change. */
static void respond_file(struct exchange *ex, const struct console_file *file, const char *caching)
{
    bool packed = file->packed && takes_gzip(ex->req), known = has_it_already(ex->req, file);
    const struct http_field fields[] = {
        {"Cache-Control", caching},
        {"ETag", file->etag},
        {"Vary", "Accept-Encoding"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Content-Security-Policy", policy},
        {"Content-Encoding", "gzip"}, /* last: left out for plain */
    };
    struct http_response response = {
        .status = known ? 304 : 200,
        .content_type = known ? NULL : file->type,
        .fields = fields,
        .n_fields = sizeof fields / sizeof *fields - (packed && !known ? 0 : 1),
        .body = packed ? file->packed : file->plain,
        .body_len = packed ? file->packed_size : file->plain_size,
    };
    if (known)
        response.body_len = 0;
    exchange_send(ex, &response);
}

void run_console(struct exchange *ex)
{
    respond_file(ex, &console_page, "no-cache");
}

void run_asset(struct exchange *ex)
{
    struct http_text path = http_request_path(ex->req);
    size_t before = strlen("/assets/");
    for (size_t i = 0; i < n_console_assets; i++) {
        const struct console_file *file = &console_assets[i];
        if (path.n == before + strlen(file->name) &&
            !memcmp(path.p + before, file->name, path.n - before)) {
            respond_file(ex, file, "public, max-age=31536000, immutable");
            return;
        }
    }
    exchange_problem(ex, 404, "not_found", "There is no such file.");
}

/* SPDX-License-Identifier: MIT */
/*
 * What is served out of the program's own memory: the document of the API, readable too, and the
 * console, a page and its few assets. A page's policy lets it run and load nothing but what came
 * from here, and talk to nobody else; pictures of posts may come from anywhere.
 */
#include <string.h>

#include "api/embedded.h"
#include "api/handlers.h"
#include "api/internal.h"

static const char console_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: http:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
static const char docs_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/* What must be asked for each time, since it may be another one after an upgrade. */
static const char ask_again[] = "no-cache";
static const char keep_for_ever[] = "public, max-age=31536000, immutable";

/* Where the word begins; NULL if the text has none. */
static const char *find(struct http_text text, const char *word)
{
    return text.p ? memmem(text.p, text.n, word, strlen(word)) : NULL;
}

/* "gzip;q=0" says no. */
static bool takes_gzip(struct http_request *req)
{
    struct http_text accepted = http_request_header(req, "Accept-Encoding", NULL);
    const char *gzip = find(accepted, "gzip");
    if (!gzip)
        return false;
    const char *end = accepted.p + accepted.n, *comma = memchr(gzip, ',', (size_t)(end - gzip));
    struct http_text rest = {gzip, (size_t)((comma ? comma : end) - gzip)};
    const char *weight = find(rest, "q=0");
    for (const char *c = weight; weight && c < rest.p + rest.n; c++)
        if (*c >= '1' && *c <= '9')
            return true;
    return !weight;
}

/* A list of tags, weak or not; ours is W/"...". */
static bool has_it_already(struct http_request *req, const struct embedded_file *file)
{
    return find(http_request_header(req, "If-None-Match", NULL), file->etag + 2);
}

static void respond_file(struct exchange *ex, const struct embedded_file *file, const char *caching,
                         const char *policy)
{
    bool packed = file->packed && takes_gzip(ex->req), known = has_it_already(ex->req, file);
    struct http_field fields[8] = {
        {"Cache-Control", caching},         {"ETag", file->etag},
        {"Vary", "Accept-Encoding"},        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"}, {"Cross-Origin-Opener-Policy", "same-origin"},
    };
    size_t n = 6;
    if (policy)
        fields[n++] = (struct http_field){"Content-Security-Policy", policy};
    if (packed && !known)
        fields[n++] = (struct http_field){"Content-Encoding", "gzip"};
    struct http_response response = {.status = known ? 304 : 200, .fields = fields, .n_fields = n};
    if (!known) {
        response.content_type = file->type;
        response.body = packed ? file->packed : file->plain;
        response.body_len = packed ? file->packed_size : file->plain_size;
        response.lasting = true;
    }
    exchange_send(ex, &response);
}

void run_openapi(struct exchange *ex)
{
    respond_file(ex, &embedded_openapi, ask_again, NULL);
}

void run_docs(struct exchange *ex)
{
    respond_file(ex, &embedded_docs, ask_again, docs_policy);
}

/* It names the assets. */
void run_console(struct exchange *ex)
{
    respond_file(ex, &embedded_console, ask_again, console_policy);
}

void run_asset(struct exchange *ex)
{
    struct http_text path = http_request_path(ex->req);
    size_t before = strlen("/assets/");
    for (size_t i = 0; i < n_embedded_assets; i++) {
        const struct embedded_file *file = &embedded_assets[i];
        if (path.n == before + strlen(file->name) &&
            !memcmp(path.p + before, file->name, path.n - before)) {
            respond_file(ex, file, file->lasting ? keep_for_ever : ask_again, console_policy);
            return;
        }
    }
    exchange_problem(ex, 404, "not_found", "There is no such file.");
}

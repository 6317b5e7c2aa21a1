/* SPDX-License-Identifier: MIT */
#include "http/cors.h"

#include <stdlib.h>
#include <string.h>

#include "http/internal.h"

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

struct http_cors {
    bool any;
    char *exposed;
    char *copy; /* what the origins point into */
    size_t n;
    struct http_text origins[];
};

/* ---- The setting --------------------------------------------------------------------------- */

static bool is_port(const char *text)
{
    size_t n = strlen(text);
    return n && n <= 5 && strspn(text, DIGITS) == n && text[0] != '0' &&
           strtoul(text, NULL, 10) <= UINT16_MAX;
}

/* What follows the scheme: a host or an address in brackets, maybe a port. */
static const char *find_fault_in_place(const char *scheme, size_t scheme_n, const char *host)
{
    const char *end = host;
    if (*host == '[')
        end = host + 1 + strspn(host + 1, DIGITS "abcdef:.");
    else
        end = host + strspn(host, LOWER DIGITS "-._");
    if (end == host || (*host == '[' && (end == host + 1 || *end++ != ']')))
        return "its host is not right";
    if (!*end)
        return NULL;
    if (*end != ':' || !is_port(end + 1))
        return "nothing but a port may follow its host, no slash either";
    bool is_standard = (scheme_n == 5 && !strncmp(scheme, "https", 5) && !strcmp(end, ":443")) ||
                       (scheme_n == 4 && !strncmp(scheme, "http", 4) && !strcmp(end, ":80"));
    return is_standard ? "browsers leave out the scheme's own port" : NULL;
}

/* A browser's Origin is compared byte by byte: what it would never send is a mistake. NULL if there is none. */
static const char *find_fault(const char *origin)
{
    const char *slashes = strstr(origin, "://");
    if (!strcmp(origin, "*"))
        return "* stands alone";
    if (!slashes || slashes == origin)
        return "it must be scheme://host or scheme://host:port";
    if (strpbrk(origin, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        return "browsers write it in small letters";
    size_t n = (size_t)(slashes - origin);
    if (strspn(origin, LOWER DIGITS "+-.") != n)
        return "its scheme is not right";
    return find_fault_in_place(origin, n, slashes + 3);
}

/* Cuts the copy into origins. False: *wrong and *at say which one is none. */
static bool take_origins(struct http_cors *cors, const char **wrong, struct http_text *at)
{
    char *rest = cors->copy;
    while (rest) {
        char *origin = strsep(&rest, ",");
        origin += strspn(origin, " ");
        size_t n = strlen(origin);
        while (n && origin[n - 1] == ' ')
            n--;
        origin[n] = '\0';
        *at = (struct http_text){origin, n};
        *wrong = find_fault(origin);
        if (*wrong)
            return false;
        cors->origins[cors->n++] = *at;
    }
    return true;
}

static size_t count_commas(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == ',';
    return n;
}

struct http_cors *http_cors_new(const char *origins, const char *exposed, const char **wrong,
                                struct http_text *culprit)
{
    size_t room = count_commas(origins) + 1;
    struct http_cors *cors = calloc(1, sizeof *cors + room * sizeof *cors->origins);
    *wrong = "out of memory";
    *culprit = (struct http_text){origins, 0};
    if (!cors)
        return NULL;
    cors->exposed = strdup(exposed);
    cors->copy = strdup(origins);
    cors->any = !strcmp(origins, "*");
    struct http_text at;
    bool ok = cors->exposed && cors->copy;
    if (ok && !cors->any && !take_origins(cors, wrong, &at)) {
        *culprit = (struct http_text){origins + (at.p - cors->copy), at.n};
        ok = false;
    }
    if (ok)
        return cors;
    http_cors_free(cors);
    return NULL;
}

void http_cors_free(struct http_cors *cors)
{
    if (!cors)
        return;
    free(cors->exposed);
    free(cors->copy);
    free(cors);
}

/* ---- Answers ------------------------------------------------------------------------------- */

/* The origin to be allowed, as it was set; p is NULL if there is none. */
static struct http_text allowed_origin(const struct http_request *req)
{
    const struct http_cors *cors = req->loop->config->cors;
    size_t times;
    struct http_text origin = http_request_header(req, "Origin", &times);
    if (!cors || times != 1)
        return (struct http_text){0};
    if (cors->any)
        return (struct http_text){"*", 1};
    for (size_t i = 0; i < cors->n; i++)
        if (cors->origins[i].n == origin.n && !memcmp(cors->origins[i].p, origin.p, origin.n))
            return cors->origins[i];
    return (struct http_text){0};
}

bool http_request_is_preflight(const struct http_request *req)
{
    size_t times;
    http_request_header(req, "Access-Control-Request-Method", &times);
    return req->head.verb == HTTP_VERB_OPTIONS && times == 1 && allowed_origin(req).p;
}

void cors_put_fields(struct buf *out, const struct http_request *req)
{
    const struct http_cors *cors = req->loop->config->cors;
    struct http_text origin = allowed_origin(req);
    if (!cors)
        return;
    /* Also for who names no origin: what is cached for one must not be served to another. */
    if (!cors->any)
        buf_literal(out, "Vary: Origin\r\n");
    if (!origin.p)
        return;
    buf_literal(out, "Access-Control-Allow-Origin: ");
    buf_append(out, origin.p, origin.n);
    if (!cors->any)
        buf_literal(out, "\r\nAccess-Control-Allow-Credentials: true");
    buf_literal(out, "\r\nAccess-Control-Expose-Headers: ");
    buf_text(out, cors->exposed);
    buf_literal(out, "\r\n");
}

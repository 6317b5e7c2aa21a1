/* SPDX-License-Identifier: MIT */
#include "sql/url.h"

#include <stddef.h>
#include <string.h>

#define SCHEME "mysql://"
enum { STANDARD_PORT = 3306 };

/* A piece of the URL. */
struct piece {
    const char *p;
    size_t n;
};

/* What stands before the first such byte, which is taken with it; all of it, and *found is false, if there is none. */
static struct piece take_until(struct piece *rest, char end, bool *found)
{
    const char *at = memchr(rest->p, end, rest->n);
    size_t n = at ? (size_t)(at - rest->p) : rest->n;
    struct piece taken = {rest->p, n};
    *found = at != NULL;
    rest->p += n + (at ? 1 : 0);
    rest->n -= n + (at ? 1 : 0);
    return taken;
}

static bool is(struct piece piece, const char *word)
{
    return piece.n == strlen(word) && !memcmp(piece.p, word, piece.n);
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) % 16 : -1;
}

/* Decodes into size bytes, with a NUL behind. False: does not fit, is badly escaped or has a control character. */
static bool decode(struct piece raw, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        if (c == '%') {
            int high = raw.n - i > 2 ? hex_digit(raw.p[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(raw.p[i + 2]) : -1;
            if (low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        if ((unsigned char)c < ' ' || c == 0x7f || n + 1 >= size)
            return false;
        out[n++] = c;
    }
    out[n] = 0;
    return true;
}

/* ---- Its parts: each answers what is wrong, or NULL ------------------------------------------ */

static const char *parse_user(struct piece raw, struct sql_url *url)
{
    if (memchr(raw.p, ':', raw.n))
        return "a password has no place in the URL: put it into TIDINGS_MYSQL_PASSWORD, or into a "
               "file that "
               "TIDINGS_MYSQL_PASSWORD_FILE names";
    if (!raw.n)
        return "it must name the user: mysql://user@host/database";
    return decode(raw, url->user, sizeof url->user)
               ? NULL
               : "the user must have at most 512 bytes, no control characters, and % only before "
                 "two hexadecimal digits";
}

static const char *parse_port(struct piece raw, struct sql_url *url)
{
    unsigned port = 0;
    bool fits = raw.n >= 1 && raw.n <= 5;
    for (size_t i = 0; fits && i < raw.n; i++) {
        fits = raw.p[i] >= '0' && raw.p[i] <= '9';
        port = port * 10 + (unsigned)(raw.p[i] - '0');
    }
    if (!fits || !port || port > UINT16_MAX)
        return "the port must be 1 to 65535";
    url->port = (uint16_t)port;
    return NULL;
}

static const char *parse_host(struct piece raw, struct sql_url *url)
{
    static const char wrong[] =
        "the host must be a name or an address, an IPv6 address in brackets";
    bool has_port, closed = true, bracketed = raw.n && *raw.p == '[';
    struct piece host, junk = {raw.p, 0};
    if (bracketed) {
        raw.p++, raw.n--;
        host = take_until(&raw, ']', &closed);
        junk = take_until(&raw, ':', &has_port);
    } else {
        host = take_until(&raw, ':', &has_port);
    }
    if (!host.n || !closed || junk.n || !decode(host, url->host, sizeof url->host))
        return wrong;
    if (strpbrk(url->host, bracketed ? "[]/@ " : "[]/@: "))
        return wrong;
    return has_port ? parse_port(raw, url) : NULL;
}

static const char *parse_database(struct piece raw, struct sql_url *url)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    if (!decode(raw, url->database, sizeof url->database) ||
        url->database[strspn(url->database, allowed)])
        return "the database's name must be at most 64 letters, digits, _ and -";
    return NULL;
}

static const char *parse_socket(struct piece raw, struct sql_url *url)
{
    return decode(raw, url->socket, sizeof url->socket) && url->socket[0] == '/'
               ? NULL
               : "socket must be an absolute path of at most 107 bytes";
}

static const char *parse_tls(struct piece raw, struct sql_url *url)
{
    url->tls = is(raw, "verify");
    return url->tls || is(raw, "off") ? NULL : "tls must be verify or off";
}

static const char *parse_ca(struct piece raw, struct sql_url *url)
{
    return decode(raw, url->ca, sizeof url->ca) && url->ca[0]
               ? NULL
               : "ca must be the path of a file with certificates";
}

static const struct {
    const char *name;
    const char *(*parse)(struct piece raw, struct sql_url *url);
} parameters[] = {{"socket", parse_socket}, {"tls", parse_tls}, {"ca", parse_ca}};

enum { PARAMETERS = sizeof parameters / sizeof *parameters };

static const char *parse_parameter(struct piece raw, unsigned *seen, struct sql_url *url)
{
    bool has_value;
    struct piece name = take_until(&raw, '=', &has_value);
    for (unsigned i = 0; i < PARAMETERS; i++) {
        if (!is(name, parameters[i].name))
            continue;
        if (*seen & 1u << i)
            return "a parameter stands there twice";
        *seen |= 1u << i;
        return parameters[i].parse(raw, url);
    }
    return "there is no such parameter: there are socket, tls and ca";
}

static const char *parse_parameters(struct piece raw, struct sql_url *url)
{
    const char *wrong = NULL;
    unsigned seen = 0;
    bool more = raw.n > 0;
    while (more && !wrong) {
        struct piece parameter = take_until(&raw, '&', &more);
        wrong = parse_parameter(parameter, &seen, url);
    }
    if (!wrong && url->ca[0] && !url->tls)
        wrong = "ca is of no use without tls=verify";
    if (!wrong && url->socket[0] && strcmp(url->host, "localhost"))
        wrong = "with a socket the host must be localhost";
    return wrong;
}

static const char *parse(struct piece rest, struct sql_url *url)
{
    bool has_scheme = rest.n >= strlen(SCHEME) && !memcmp(rest.p, SCHEME, strlen(SCHEME));
    if (!has_scheme)
        return "it must begin with mysql://";
    if (memchr(rest.p, '#', rest.n))
        return "it must not have a #: write %23";
    rest.p += strlen(SCHEME), rest.n -= strlen(SCHEME);
    bool has_path, has_user, ignored;
    struct piece before = take_until(&rest, '?', &ignored);
    struct piece parameters_of = rest;
    struct piece server = take_until(&before, '/', &has_path);
    struct piece user = take_until(&server, '@', &has_user);
    const char *wrong = parse_user(has_user ? user : (struct piece){user.p, 0}, url);
    if (!wrong)
        wrong = parse_host(server, url);
    if (!wrong)
        wrong = parse_database(before, url);
    if (!wrong)
        wrong = parse_parameters(parameters_of, url);
    return wrong;
}

bool sql_url_parse(const char *text, struct sql_url *url, const char **wrong)
{
    struct sql_url parsed = {.port = STANDARD_PORT};
    *wrong = parse((struct piece){text, strlen(text)}, &parsed);
    if (*wrong)
        return false;
    *url = parsed;
    return true;
}

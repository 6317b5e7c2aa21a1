/* SPDX-License-Identifier: MIT */
#include "domain/url.h"

#include <string.h>
#include <strings.h>

enum { PORT_DIGITS = 5, PORT_MAX = 65535 };

static bool url_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool url_is_hex(char c)
{
    return url_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool url_is_beyond_ascii(char c)
{
    return (unsigned char)c >= 0x80;
}

/* A name or an IPv4 address, before encoding; no % either: parsers differ about it. */
static bool url_is_name(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool letter = (p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z');
        if (!letter && !url_is_digit(p[i]) && !url_is_beyond_ascii(p[i]) && p[i] != '-' &&
            p[i] != '.' && p[i] != '_')
            return false;
    }
    return n && p[0] != '.';
}

/* What stands between the brackets of an IPv6 address. */
static bool url_is_ipv6(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!url_is_hex(p[i]) && p[i] != ':' && p[i] != '.')
            return false;
    return n >= 2 && memchr(p, ':', n);
}

static bool url_is_port(const char *p, size_t n)
{
    unsigned long port = 0;
    for (size_t i = 0; i < n; i++) {
        if (!url_is_digit(p[i]) || n > PORT_DIGITS)
            return false;
        port = port * 10 + (unsigned long)(p[i] - '0');
    }
    return n && port && port <= PORT_MAX;
}

/* host, host:port, [address], [address]:port. */
static bool url_is_authority(const char *p, size_t n)
{
    const char *close = n && *p == '[' ? memchr(p, ']', n) : NULL;
    const char *host_end = close ? close + 1 : memchr(p, ':', n);
    size_t host = host_end ? (size_t)(host_end - p) : n;
    if (close ? !url_is_ipv6(p + 1, host - 2) : !url_is_name(p, host))
        return false;
    return host == n || (p[host] == ':' && url_is_port(p + host + 1, n - host - 1));
}

/* Path, query and fragment. */
static bool url_is_rest(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '%' && (n - i < 3 || !url_is_hex(p[i + 1]) || !url_is_hex(p[i + 2])))
            return false;
        if (!url_is_beyond_ascii(p[i]) && (p[i] <= ' ' || strchr("\"<>\\`\x7f", p[i])))
            return false;
    }
    return true;
}

bool url_is_web(struct tidings_text url)
{
    static const char *const schemes[] = {"https://", "http://"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t scheme = strlen(schemes[i]);
        if (url.n <= scheme || strncasecmp(url.p, schemes[i], scheme) != 0)
            continue;
        const char *p = url.p + scheme;
        size_t n = url.n - scheme, authority = 0;
        while (authority < n && !strchr("/?#", p[authority]))
            authority++;
        return url_is_authority(p, authority) && url_is_rest(p + authority, n - authority);
    }
    return false;
}

bool url_is_path(struct tidings_text url)
{
    return url.n > 1 && url.p[0] == '/' && url.p[1] != '/' && url_is_rest(url.p, url.n);
}

/* SPDX-License-Identifier: MIT */
#include "redis/address.h"

#include <stdio.h>
#include <string.h>

bool redis_address_is_host(const char *text, size_t n)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:%";
    if (!n || n > ADDRESS_HOST_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!text[i] || !strchr(allowed, text[i]))
            return false;
    return true;
}

bool redis_address_same(const struct address *a, const struct address *b)
{
    return a->port == b->port && !strcmp(a->host, b->host);
}

/* 0 if it is no port. */
static uint16_t port_of(const char *text, size_t n)
{
    unsigned port = 0;
    if (!n || n > 5)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    return port <= UINT16_MAX ? (uint16_t)port : 0;
}

static bool set(struct address *to, const char *host, size_t host_n, uint16_t port)
{
    if (!port || !redis_address_is_host(host, host_n))
        return false;
    memmove(to->host, host, host_n);
    to->host[host_n] = '\0';
    to->port = port;
    return true;
}

bool redis_address_parse(const char *text, size_t n, struct address *to)
{
    const char *colon = memrchr(text, ':', n);
    if (!colon)
        return false;
    size_t host_n = (size_t)(colon - text);
    uint16_t port = port_of(colon + 1, n - host_n - 1);
    if (host_n > 2 && text[0] == '[' && colon[-1] == ']')
        return memchr(text, ':', host_n) && set(to, text + 1, host_n - 2, port);
    return !memchr(text, ':', host_n) && set(to, text, host_n, port);
}

bool redis_address_parse_told(const char *text, size_t n, const char *same_host, struct address *to)
{
    const char *colon = memrchr(text, ':', n);
    if (!colon)
        return false;
    size_t host_n = (size_t)(colon - text);
    uint16_t port = port_of(colon + 1, n - host_n - 1);
    return host_n ? set(to, text, host_n, port) : set(to, same_host, strlen(same_host), port);
}

bool redis_address_next(const char **list, struct address *to, bool *bad)
{
    const char *at = *list + strspn(*list, ", \t");
    size_t n = strcspn(at, ", \t");
    *list = at + n;
    if (!n)
        return false;
    *bad = !redis_address_parse(at, n, to);
    return !*bad;
}

void redis_address_print(const struct address *address, char text[ADDRESS_TEXT_MAX])
{
    const char *form = strchr(address->host, ':') ? "[%s]:%u" : "%s:%u";
    snprintf(text, ADDRESS_TEXT_MAX, form, address->host, (unsigned)address->port);
}

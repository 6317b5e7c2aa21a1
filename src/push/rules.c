/* SPDX-License-Identifier: MIT */
#include "push/rules.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "push/address.h"

enum { URL_MAX = 2048, HOST_MAX = 255, PORT_MAX = 65535 };

/* A host without brackets, or a network: then it has a family. Port 0 is any. */
struct place {
    char host[HOST_MAX + 1];
    struct address network;
    unsigned bits;
    unsigned long port;
};

struct push_rules {
    size_t n;
    struct place allowed[];
};

/* ---- Hosts that are allowed ----------------------------------------------------------------- */

static bool take_port(const char *text, size_t n, unsigned long *port)
{
    char digits[6] = "";
    char *end;
    if (!n || n >= sizeof digits || text[0] < '0' || text[0] > '9')
        return false;
    memcpy(digits, text, n);
    *port = strtoul(digits, &end, 10);
    return !*end && *port >= 1 && *port <= PORT_MAX;
}

/* Names are the same with and without the dot of the root, as are capitals. */
static bool take_host(const char *text, size_t n, char host[HOST_MAX + 1])
{
    if (n && text[n - 1] == '.')
        n--;
    if (!n || n > HOST_MAX)
        return false;
    memcpy(host, text, n);
    host[n] = '\0';
    return !strpbrk(host, " /@?#\\");
}

/* The bits behind the prefix must be 0: 10.1.2.3/8 is more likely a mistake than all of 10. */
static bool take_bits(const char *text, size_t n, struct place *place)
{
    static const struct address none;
    struct address rest = place->network;
    char digits[4] = "";
    char *end;
    if (!n || n >= sizeof digits || text[0] < '0' || text[0] > '9')
        return false;
    memcpy(digits, text, n);
    place->bits = (unsigned)strtoul(digits, &end, 10);
    if (*end || place->bits > address_bits(&rest))
        return false;
    for (unsigned bit = 0; bit < place->bits; bit++)
        rest.bytes[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
    return !memcmp(rest.bytes, none.bytes, sizeof rest.bytes);
}

/* "address/bits", "address/bits:port", the address in brackets or not */
static bool take_network(const char *text, size_t n, const char *slash, struct place *place)
{
    const char *end = text + n, *bits = slash + 1;
    const char *colon = memchr(bits, ':', (size_t)(end - bits));
    size_t length = (size_t)(slash - text);
    bool brackets = length > 2 && text[0] == '[' && slash[-1] == ']';
    char address[HOST_MAX + 1];
    if (!take_host(text + brackets, length - 2 * (size_t)brackets, address) ||
        !address_parse(address, &place->network))
        return false;
    if (colon && !take_port(colon + 1, (size_t)(end - colon) - 1, &place->port))
        return false;
    return take_bits(bits, (size_t)((colon ? colon : end) - bits), place);
}

/* "host", "host:port", "[address]", "[address]:port", or a network */
static bool take_place(const char *text, size_t n, struct place *place)
{
    const char *end = text + n, *colon, *slash = memchr(text, '/', n);
    *place = (struct place){.port = 0};
    if (slash)
        return take_network(text, n, slash, place);
    if (n && *text == '[') {
        const char *close = memchr(text, ']', n);
        if (!close || !take_host(text + 1, (size_t)(close - text) - 1, place->host))
            return false;
        return close + 1 == end ||
               (close[1] == ':' && take_port(close + 2, (size_t)(end - close) - 2, &place->port));
    }
    colon = memchr(text, ':', n);
    if (colon && !take_port(colon + 1, (size_t)(end - colon) - 1, &place->port))
        return false;
    return take_host(text, colon ? (size_t)(colon - text) : n, place->host);
}

static size_t count_entries(const char *allow)
{
    size_t n = 1;
    for (; *allow; allow++)
        n += *allow == ',';
    return n;
}

/* Entries that are empty are no entries. */
static bool take_places(struct push_rules *rules, const char *allow)
{
    for (const char *at = allow; *at;) {
        at += strspn(at, " ,");
        size_t n = strcspn(at, ","), used = n;
        while (used && at[used - 1] == ' ')
            used--;
        if (used && !take_place(at, used, &rules->allowed[rules->n++]))
            return false;
        at += n;
    }
    return true;
}

struct push_rules *push_rules_new(const char *allow, const char **wrong)
{
    size_t room = allow ? count_entries(allow) : 0;
    struct push_rules *rules = calloc(1, sizeof *rules + room * sizeof *rules->allowed);
    *wrong = "out of memory";
    if (rules && allow && !take_places(rules, allow)) {
        *wrong = "it must be hosts, host:port or networks such as 10.0.0.0/8, separated by commas";
        free(rules);
        return NULL;
    }
    return rules;
}

void push_rules_free(struct push_rules *rules)
{
    free(rules);
}

static bool fits_network(const struct place *allowed, const struct address *address,
                         unsigned long port)
{
    return allowed->network.family && (!allowed->port || allowed->port == port) &&
           address_same_bits(&allowed->network, address, allowed->bits);
}

static bool is_in_network(const struct push_rules *rules, const struct address *address,
                          unsigned long port)
{
    for (size_t i = 0; i < rules->n; i++)
        if (fits_network(&rules->allowed[i], address, port))
            return true;
    return false;
}

bool push_allows_address(const struct push_rules *rules, const struct sockaddr *address, size_t n)
{
    struct address own;
    uint16_t port;
    return address_of(address, n, &own, &port) && is_in_network(rules, &own, port);
}

static bool is_allowed(const struct push_rules *rules, const struct place *place)
{
    struct address address;
    for (size_t i = 0; i < rules->n; i++) {
        const struct place *allowed = &rules->allowed[i];
        if (!allowed->network.family && !strcasecmp(allowed->host, place->host) &&
            (!allowed->port || allowed->port == place->port))
            return true;
    }
    return address_parse(place->host, &address) && is_in_network(rules, &address, place->port);
}

/* ---- URLs ----------------------------------------------------------------------------------- */

struct parts {
    bool is_https;
    struct place place;
};

static bool get_part(CURLU *handle, CURLUPart part, unsigned flags, char *to, size_t room)
{
    char *text;
    if (curl_url_get(handle, part, &text, flags))
        return false;
    size_t n = strlen(text);
    bool fits = n < room;
    if (fits)
        memcpy(to, text, n + 1);
    curl_free(text);
    return fits;
}

static bool has_part(CURLU *handle, CURLUPart part)
{
    char *text;
    if (curl_url_get(handle, part, &text, 0))
        return false;
    curl_free(text);
    return true;
}

static const char *split(CURLU *handle, const char *url, struct parts *parts)
{
    char scheme[16], host[HOST_MAX + 3], port[8];
    const char *slashes = strstr(url, "://");
    /* libcurl would forgive another slash, or a backslash. */
    if (!slashes || slashes[3] == '/' || strchr(url, '\\') ||
        curl_url_set(handle, CURLUPART_URL, url, 0))
        return "not a URL";
    if (has_part(handle, CURLUPART_USER) || has_part(handle, CURLUPART_PASSWORD))
        return "without user and password";
    if (has_part(handle, CURLUPART_FRAGMENT) || has_part(handle, CURLUPART_ZONEID))
        return "without fragment and zone";
    if (!get_part(handle, CURLUPART_SCHEME, 0, scheme, sizeof scheme) ||
        !get_part(handle, CURLUPART_HOST, 0, host, sizeof host) ||
        !get_part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT, port, sizeof port))
        return "not a URL of http or https";
    parts->is_https = !strcmp(scheme, "https");
    if (!parts->is_https && strcmp(scheme, "http") != 0)
        return "must be https";
    if (!take_port(port, strlen(port), &parts->place.port))
        return "the port is not right";
    size_t n = strlen(host);
    bool brackets = n > 2 && host[0] == '[' && host[n - 1] == ']';
    if (!take_host(host + brackets, n - 2 * (size_t)brackets, parts->place.host))
        return "the host is not right";
    return NULL;
}

/* Names that are loopback by definition (RFC 6761). */
static bool is_localhost(const char *host)
{
    static const char name[] = "localhost";
    size_t n = strlen(host), own = sizeof name - 1;
    if (n < own || strcasecmp(host + n - own, name) != 0)
        return false;
    return n == own || host[n - own - 1] == '.';
}

static const char *judge(const struct push_rules *rules, const struct parts *parts, bool *trusted)
{
    bool is_address;
    *trusted = is_allowed(rules, &parts->place);
    if (*trusted)
        return NULL;
    if (!parts->is_https)
        return "https, or a host that the setting webhook_allow names";
    bool is_public = address_text_is_public(parts->place.host, &is_address);
    if (is_localhost(parts->place.host) || (is_address && !is_public))
        return "the address is neither public nor allowed by the setting webhook_allow";
    return NULL;
}

const char *push_check_url(const struct push_rules *rules, const char *url, size_t n, bool *trusted)
{
    char copy[URL_MAX + 1];
    struct parts parts;
    if (!n || n > URL_MAX)
        return "1 to 2048 bytes";
    for (size_t i = 0; i < n; i++)
        if (url[i] <= ' ' || url[i] >= 0x7f)
            return "ASCII without spaces";
    memcpy(copy, url, n);
    copy[n] = '\0';
    CURLU *handle = curl_url();
    const char *wrong = handle ? split(handle, copy, &parts) : "Out of memory.";
    curl_url_cleanup(handle);
    return wrong ? wrong : judge(rules, &parts, trusted);
}

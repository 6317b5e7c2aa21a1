/* SPDX-License-Identifier: MIT */
#include "push/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

struct block {
    uint8_t bytes[4];
    uint8_t bits;
};

/* IANA's registry of special-purpose IPv4 addresses, multicast and what was class E. */
static const struct block special_v4[] = {
    {{0}, 8},             /* this network; Linux connects 0.0.0.0 to itself */
    {{10}, 8},            /* private */
    {{100, 64}, 10},      /* shared by a provider's customers */
    {{127}, 8},           /* loopback */
    {{169, 254}, 16},     /* link-local */
    {{172, 16}, 12},      /* private */
    {{192, 0, 0}, 24},    /* protocol assignments */
    {{192, 0, 2}, 24},    /* documentation */
    {{192, 88, 99}, 24},  /* 6to4 relays */
    {{192, 168}, 16},     /* private */
    {{198, 18}, 15},      /* benchmarks */
    {{198, 51, 100}, 24}, /* documentation */
    {{203, 0, 113}, 24},  /* documentation */
    {{224}, 4},           /* multicast */
    {{240}, 4},           /* reserved, and broadcast */
};

/* Within 2000::/3, the only block from which public addresses are given. */
static const struct block special_v6[] = {
    {{0x20, 0x01, 0x00}, 23},       /* protocol assignments; Teredo wraps IPv4 addresses */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x20, 0x02}, 16},             /* 6to4 wraps IPv4 addresses */
    {{0x3f, 0xff}, 20},             /* documentation */
};

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(a, b, whole) != 0)
        return false;
    return !rest || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

static bool is_within(const uint8_t *address, const struct block *block)
{
    return same_bits(address, block->bytes, block->bits);
}

static bool is_in_any(const uint8_t *address, const struct block *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_within(address, &blocks[i]))
            return true;
    return false;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool v4_is_public(const uint8_t *bytes)
{
    return !is_in_any(bytes, special_v4, COUNT(special_v4));
}

/* That leaves out ::ffff:0:0/96 and 64:ff9b::/96, which wrap IPv4 addresses, as well as fc00::/7. */
static bool v6_is_public(const uint8_t *bytes)
{
    static const struct block global = {{0x20}, 3};
    return is_within(bytes, &global) && !is_in_any(bytes, special_v6, COUNT(special_v6));
}

static bool is_public(const struct address *address)
{
    return address->family == AF_INET ? v4_is_public(address->bytes) : v6_is_public(address->bytes);
}

bool address_parse(const char *text, struct address *address)
{
    static const int families[] = {AF_INET, AF_INET6};
    *address = (struct address){.family = AF_UNSPEC};
    for (size_t i = 0; i < COUNT(families); i++)
        if (inet_pton(families[i], text, address->bytes) == 1) {
            address->family = families[i];
            return true;
        }
    return false;
}

bool address_of(const struct sockaddr *from, size_t n, struct address *address, uint16_t *port)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    *address = (struct address){.family = from->sa_family};
    if (n >= sizeof v4 && from->sa_family == AF_INET) {
        memcpy(&v4, from, sizeof v4);
        memcpy(address->bytes, &v4.sin_addr, sizeof v4.sin_addr);
        *port = ntohs(v4.sin_port);
        return true;
    }
    if (n >= sizeof v6 && from->sa_family == AF_INET6) {
        memcpy(&v6, from, sizeof v6);
        memcpy(address->bytes, &v6.sin6_addr, sizeof v6.sin6_addr);
        *port = ntohs(v6.sin6_port);
        return true;
    }
    return false;
}

unsigned address_bits(const struct address *address)
{
    return address->family == AF_INET ? 32 : 128;
}

bool address_same_bits(const struct address *a, const struct address *b, unsigned bits)
{
    return a->family == b->family && same_bits(a->bytes, b->bytes, bits);
}

bool address_is_public(const struct sockaddr *address, size_t n)
{
    struct address own;
    uint16_t port;
    return address_of(address, n, &own, &port) && is_public(&own);
}

bool address_text_is_public(const char *text, bool *is_address)
{
    struct address own;
    *is_address = address_parse(text, &own);
    return *is_address && is_public(&own);
}

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

static bool is_within(const uint8_t *address, const struct block *block)
{
    unsigned whole = block->bits / 8, rest = block->bits % 8;
    if (memcmp(address, block->bytes, whole) != 0)
        return false;
    return !rest || (address[whole] ^ block->bytes[whole]) >> (8 - rest) == 0;
}

static bool is_in_any(const uint8_t *address, const struct block *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_within(address, &blocks[i]))
            return true;
    return false;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool v4_is_public(const struct in_addr *address)
{
    return !is_in_any((const uint8_t *)address, special_v4, COUNT(special_v4));
}

/* That leaves out ::ffff:0:0/96 and 64:ff9b::/96, which wrap IPv4 addresses, as well as fc00::/7. */
static bool v6_is_public(const struct in6_addr *address)
{
    static const struct block global = {{0x20}, 3};
    return is_within(address->s6_addr, &global) &&
           !is_in_any(address->s6_addr, special_v6, COUNT(special_v6));
}

bool address_is_public(const struct sockaddr *address, size_t n)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (n >= sizeof v4 && address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof v4);
        return v4_is_public(&v4.sin_addr);
    }
    if (n >= sizeof v6 && address->sa_family == AF_INET6) {
        memcpy(&v6, address, sizeof v6);
        return v6_is_public(&v6.sin6_addr);
    }
    return false;
}

bool address_text_is_public(const char *text, bool *is_address)
{
    struct in_addr v4;
    struct in6_addr v6;
    *is_address = true;
    if (inet_pton(AF_INET, text, &v4) == 1)
        return v4_is_public(&v4);
    if (inet_pton(AF_INET6, text, &v6) == 1)
        return v6_is_public(&v6);
    *is_address = false;
    return false;
}

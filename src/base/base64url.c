/* SPDX-License-Identifier: MIT */
#include "base/base64url.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Each character's value plus one; 0 is no character of the alphabet. */
#define TWO(c, v) [(c)] = (v), [(c) + 1] = (v) + 1
#define SIX(c, v) TWO(c, v), TWO((c) + 2, (v) + 2), TWO((c) + 4, (v) + 4)
#define TEN(c, v) SIX(c, v), TWO((c) + 6, (v) + 6), TWO((c) + 8, (v) + 8)
static const uint8_t values[256] = {
    TEN('A', 1),  TEN('K', 11), SIX('U', 21), TEN('a', 27), TEN('k', 37),
    SIX('u', 47), TEN('0', 53), ['-'] = 63,   ['_'] = 64,
};

size_t base64url_encode(const void *bytes, size_t n, char *text)
{
    const uint8_t *from = bytes;
    char *to = text;
    for (; n >= 3; n -= 3, from += 3) {
        uint32_t group = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];
        *to++ = alphabet[group >> 18];
        *to++ = alphabet[group >> 12 & 63];
        *to++ = alphabet[group >> 6 & 63];
        *to++ = alphabet[group & 63];
    }
    if (n) {
        uint32_t group = (uint32_t)from[0] << 16 | (n == 2 ? (uint32_t)from[1] << 8 : 0);
        *to++ = alphabet[group >> 18];
        *to++ = alphabet[group >> 12 & 63];
        if (n == 2)
            *to++ = alphabet[group >> 6 & 63];
    }
    return (size_t)(to - text);
}

bool base64url_decode(const char *text, size_t n, void *bytes, size_t size, size_t *length)
{
    const unsigned char *from = (const unsigned char *)text;
    uint8_t *to = bytes;
    size_t full = n / 4 * 3;
    size_t rest = n % 4;
    size_t total = full + (rest ? rest - 1 : 0);
    if (rest == 1 || total > size)
        return false;

    for (; n >= 4; n -= 4, from += 4) {
        uint32_t a = values[from[0]], b = values[from[1]], c = values[from[2]], d = values[from[3]];
        if (!a || !b || !c || !d)
            return false;
        uint32_t group = (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (d - 1);
        *to++ = (uint8_t)(group >> 16);
        *to++ = (uint8_t)(group >> 8);
        *to++ = (uint8_t)group;
    }
    if (rest) {
        uint32_t a = values[from[0]], b = values[from[1]], c = rest == 3 ? values[from[2]] : 1;
        if (!a || !b || !c)
            return false;
        uint32_t group = (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6;
        if (group & (rest == 2 ? 0xffff : 0xff))
            return false;
        *to++ = (uint8_t)(group >> 16);
        if (rest == 3)
            *to++ = (uint8_t)(group >> 8);
    }
    *length = total;
    return true;
}

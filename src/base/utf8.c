/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <stdint.h>

/* The bytes of the code point at `at`, or 0 if it is not valid. */
static size_t sequence_length(const uint8_t *at, size_t left)
{
    uint8_t lead = at[0];
    uint8_t low = 0x80, high = 0xbf; /* what the second byte may be */
    size_t length;

    if (lead < 0x80)
        return lead != 0;
    if (lead >= 0xc2 && lead <= 0xdf) {
        length = 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        length = 3;
        low = lead == 0xe0 ? 0xa0 : low;
        high = lead == 0xed ? 0x9f : high;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        length = 4;
        low = lead == 0xf0 ? 0x90 : low;
        high = lead == 0xf4 ? 0x8f : high;
    } else {
        return 0;
    }
    if (left < length || at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

bool utf8_check(const char *bytes, size_t n, size_t *characters)
{
    size_t count = 0;
    for (size_t i = 0; i < n; count++) {
        size_t length = sequence_length((const uint8_t *)bytes + i, n - i);
        if (!length)
            return false;
        i += length;
    }
    *characters = count;
    return true;
}

size_t utf8_prefix(const char *bytes, size_t n, size_t characters)
{
    size_t i = 0;
    for (; i < n; i++) {
        bool starts = ((uint8_t)bytes[i] & 0xc0) != 0x80;
        if (starts && characters-- == 0)
            break;
    }
    return i;
}

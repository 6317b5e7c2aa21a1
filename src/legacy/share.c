/* SPDX-License-Identifier: MIT */
#include "legacy/share.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool share_parse(const char *text, void *millionths)
{
    uint32_t share = 0, place = 10000;
    for (const char *first = text; is_digit(*text) && text - first < 4; text++)
        share = share * 10 + (uint32_t)(*text - '0') * place;
    if (*text == '.')
        for (text++; is_digit(*text) && place > 1; text++)
            share += (uint32_t)(*text - '0') * (place /= 10);
    if (*text != '%' || text[1] || !share || share > SHARE_ALL)
        return false;
    *(uint64_t *)millionths = share;
    return true;
}

bool share_has(uint32_t millionths, uint64_t user)
{
    uint64_t x = user + UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    x ^= x >> 31;
    return x % SHARE_ALL < millionths;
}

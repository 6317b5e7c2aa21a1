/* SPDX-License-Identifier: MIT */
#include "domain/name.h"

/*
 * Ranges of capitals, and how far it is to their small letters: a part of Unicode's simple case folding (CaseFolding.txt, C and S)
 * in which no letter becomes longer in UTF-8. With a step of 2 capitals and small letters take turns. What is stored
 * depends on it: another row needs the names to be stored anew.
 */
static const struct {
    uint16_t first, last;
    int16_t distance;
    uint8_t step;
} capitals[] = {
    {0x0041, 0x005a, 32, 1}, {0x00b5, 0x00b5, 775, 1},  {0x00c0, 0x00d6, 32, 1},
    {0x00d8, 0x00de, 32, 1}, {0x0100, 0x012e, 1, 2},    {0x0132, 0x0136, 1, 2},
    {0x0139, 0x0147, 1, 2},  {0x014a, 0x0176, 1, 2},    {0x0178, 0x0178, -121, 1},
    {0x0179, 0x017d, 1, 2},  {0x017f, 0x017f, -268, 1}, {0x01a0, 0x01a0, 1, 1},
    {0x01af, 0x01af, 1, 1},  {0x0386, 0x0386, 38, 1},   {0x0388, 0x038a, 37, 1},
    {0x038c, 0x038c, 64, 1}, {0x038e, 0x038f, 63, 1},   {0x0391, 0x03a1, 32, 1},
    {0x03a3, 0x03ab, 32, 1}, {0x03c2, 0x03c2, 1, 1},    {0x0400, 0x040f, 80, 1},
    {0x0410, 0x042f, 32, 1}, {0x0460, 0x0480, 1, 2},    {0x048a, 0x04be, 1, 2},
    {0x04c0, 0x04c0, 15, 1}, {0x04c1, 0x04cd, 1, 2},    {0x04d0, 0x052e, 1, 2},
    {0x1e00, 0x1e94, 1, 2},  {0x1ea0, 0x1efe, 1, 2},
};

static uint32_t fold(uint32_t letter)
{
    for (size_t i = 0; i < sizeof capitals / sizeof *capitals && letter >= capitals[i].first; i++)
        if (letter <= capitals[i].last && (letter - capitals[i].first) % capitals[i].step == 0)
            return (uint32_t)((int32_t)letter + capitals[i].distance);
    return letter;
}

/* Bytes of the character that begins with that one. */
static size_t length_of(uint8_t lead)
{
    return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* One character, which may be longer than any letter here, or none at all in a row that is damaged: then it stays. */
static size_t fold_one(const uint8_t *from, size_t n, uint8_t *to)
{
    uint32_t letter = from[0];
    if (n == 2)
        letter = (uint32_t)(from[0] & 0x1f) << 6 | (from[1] & 0x3f);
    if (n == 3)
        letter =
            (uint32_t)(from[0] & 0x0f) << 12 | (uint32_t)(from[1] & 0x3f) << 6 | (from[2] & 0x3f);
    bool may_fold = n == 1 ? letter < 0x80 : n < 4;
    uint32_t small = may_fold ? fold(letter) : letter;
    if (small == letter) {
        memcpy(to, from, n);
        return n;
    }
    if (small < 0x80) {
        to[0] = (uint8_t)small;
        return 1;
    }
    if (small < 0x800) {
        to[0] = (uint8_t)(0xc0 | small >> 6);
        to[1] = (uint8_t)(0x80 | (small & 0x3f));
        return 2;
    }
    to[0] = (uint8_t)(0xe0 | small >> 12);
    to[1] = (uint8_t)(0x80 | (small >> 6 & 0x3f));
    to[2] = (uint8_t)(0x80 | (small & 0x3f));
    return 3;
}

size_t name_fold(struct bytes name, uint8_t folded[NAME_FOLDED_MAX])
{
    uint8_t one[4];
    size_t used = 0;
    for (size_t i = 0, n; i < name.n; i += n) {
        n = length_of(name.p[i]);
        n = n < name.n - i ? n : name.n - i;
        size_t length = fold_one(name.p + i, n, one);
        if (used + length > NAME_FOLDED_MAX)
            break;
        memcpy(folded + used, one, length);
        used += length;
    }
    return used;
}

/* SPDX-License-Identifier: MIT */
#include "cli/hint.h"

#include <string.h>

enum { WORD_MAX = 64 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to leave out, add, replace or exchange with their neighbour. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = least(least(above[j], now[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

bool hint_is_nearer(struct hint *hint, const char *name)
{
    size_t n = hint->n, m = strlen(name), dashes = strspn(name, "-");
    if (n > WORD_MAX || m > WORD_MAX || n <= dashes)
        return false;
    bool is_beginning = n >= dashes + 2 && n < m && !memcmp(hint->typed, name, n);
    size_t far = is_beginning ? 1 : distance(hint->typed, n, name, m);
    if (far > (n - dashes + 2) / 3 || (hint->distance && far >= hint->distance))
        return false;
    hint->distance = far;
    return true;
}

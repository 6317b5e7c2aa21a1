/* SPDX-License-Identifier: MIT */
#include "legacy/values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

/* ---- Numbers -------------------------------------------------------------------------------- */

bool value_number(struct bytes text, int64_t *number)
{
    bool minus = text.n && text.p[0] == '-';
    int64_t value = 0;
    if (text.n == minus)
        return false;
    for (size_t i = minus; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        int digit = text.p[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *number = minus ? -value : value;
    return true;
}

bool value_id(struct bytes text, uint64_t most, uint64_t *id)
{
    int64_t number;
    if (!value_number(text, &number) || number < 1 || (uint64_t)number > most)
        return false;
    *id = (uint64_t)number;
    return true;
}

bool value_ucnt(struct bytes packed, uint32_t counts[UCNT_FIELDS])
{
    if (packed.n != UCNT_BYTES)
        return false;
    for (size_t i = 0; i < UCNT_FIELDS; i++)
        counts[i] = get_u32(packed.p + 4 * i);
    return true;
}

/* ---- Times ---------------------------------------------------------------------------------- */

/* In milliseconds that is 1973, in seconds 5138: nothing that happened is on the other side of it. */
#define SECONDS_BELOW 1e11
/* The end of the year 9999. */
#define MOMENTS_BELOW 253402300800000.0

bool value_moment(double number, uint64_t *at_ms)
{
    double ms = number < SECONDS_BELOW ? number * 1000 : number;
    if (!(ms >= 1 && ms < MOMENTS_BELOW))
        return false;
    *at_ms = (uint64_t)ms;
    return true;
}

bool value_score(struct bytes text, uint64_t *at_ms)
{
    char copy[40], *end;
    if (!text.n || text.n >= sizeof copy)
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    double number = strtod(copy, &end);
    return end == copy + text.n && isfinite(number) && value_moment(number, at_ms);
}

/* So many digits as a number, and on behind them; -1: they are none. */
static int take_digits(const uint8_t **at, const uint8_t *end, int n)
{
    int value = 0;
    for (; n; n--, ++*at) {
        if (*at == end || **at < '0' || **at > '9')
            return -1;
        value = value * 10 + (**at - '0');
    }
    return value;
}

static bool take_char(const uint8_t **at, const uint8_t *end, char c)
{
    if (*at == end || **at != (uint8_t)c)
        return false;
    ++*at;
    return true;
}

/* Since 1970, of the calendar that goes on in both directions. Years that begin in March have the leap day at their end. */
static int64_t days_since_1970(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t in_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return 365 * y + y / 4 - y / 100 + y / 400 + in_year - 719468;
}

/* Of a fraction the first three digits; more may follow. */
static int take_fraction(const uint8_t **at, const uint8_t *end)
{
    int ms = 0;
    for (int weight = 100; *at < end && **at >= '0' && **at <= '9'; ++*at, weight /= 10)
        ms += (**at - '0') * weight;
    return ms;
}

bool value_date(struct bytes text, int64_t ahead_ms, uint64_t *at_ms)
{
    static const char behind[] = "-- ::";
    static const int digits[] = {4, 2, 2, 2, 2, 2}, most[] = {9999, 12, 31, 23, 59, 59};
    const uint8_t *at = text.p, *end = text.n ? at + text.n : at;
    int part[6], ms = 0;
    for (int i = 0; i < 6; i++) {
        part[i] = take_digits(&at, end, digits[i]);
        if (part[i] < (i < 3) || part[i] > most[i] || (i < 5 && !take_char(&at, end, behind[i])))
            return false;
    }
    if (take_char(&at, end, '.'))
        ms = take_fraction(&at, end);
    int64_t seconds = days_since_1970(part[0], part[1], part[2]) * 86400 + part[3] * 3600 +
                      part[4] * 60 + part[5];
    int64_t moment = seconds * 1000 + ms - ahead_ms;
    if (at != end || moment < 1)
        return false;
    *at_ms = (uint64_t)moment;
    return true;
}

bool value_zone(const char *text, int64_t *ahead_ms)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + strlen(text);
    int sign = take_char(&at, end, '+') ? 1 : take_char(&at, end, '-') ? -1 : 0;
    int hours = take_digits(&at, end, 2);
    int minutes = take_char(&at, end, ':') ? take_digits(&at, end, 2) : -1;
    if (!sign || hours < 0 || hours > 14 || minutes < 0 || minutes > 59 || at != end)
        return false;
    *ahead_ms = sign * (hours * 60 + minutes) * INT64_C(60000);
    return true;
}

/* ---- Texts ---------------------------------------------------------------------------------- */

/* The bytes of the character there; 0: it is none. */
static size_t character_at(const uint8_t *at, size_t left)
{
    size_t count;
    for (size_t n = 1; n <= 4 && n <= left; n++)
        if (utf8_check((const char *)at, n, &count))
            return n;
    return 0;
}

bool value_text(struct bytes text, size_t characters, size_t bytes, struct buf *to)
{
    static const char unknown[] = "\xef\xbf\xbd";
    size_t at = 0, used = 0;
    for (; at < text.n && characters; characters--) {
        size_t n = character_at(text.p + at, text.n - at), written = n ? n : strlen(unknown);
        if (used + written > bytes)
            break;
        buf_append(to, n ? (const char *)text.p + at : unknown, written);
        used += written;
        at += n ? n : 1;
    }
    return at < text.n;
}

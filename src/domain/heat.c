/* SPDX-License-Identifier: MIT */
#include "domain/heat.h"

#include <limits.h>
#include <math.h>

#include "domain/ids.h"

enum { FRACTION_BITS = 32 };

#define HOUR_MS UINT64_C(3600000)

int64_t heat_post_score(const struct tidings_settings *settings,
                        const struct tidings_counts *counts)
{
    return (int64_t)(counts->like_count * settings->hot_like +
                     counts->fav_count * settings->hot_fav +
                     counts->comment_count * settings->hot_comment);
}

int64_t heat_comment_score(const struct tidings_settings *settings,
                           const struct tidings_counts *counts)
{
    return (int64_t)(counts->like_count * settings->hot_comment_like +
                     counts->reply_count * settings->hot_comment_reply) -
           (int64_t)(counts->down_count * settings->hot_comment_down);
}

bool heat_folds(const struct tidings_settings *settings, uint64_t likes, uint64_t downs)
{
    return downs >= settings->fold_down && downs * 100 >= settings->fold_percent * (likes + 1);
}

/* log2 with 32 bits behind the point, rounded down; never falls as the value grows. Each squaring
 * of the mantissa, a number in [1, 2), brings one more bit. */
static uint64_t log2_fixed(uint64_t value)
{
    unsigned whole = 63 - (unsigned)__builtin_clzll(value);
    uint64_t mantissa = value << (63 - whole); /* 63 bits behind the point */
    uint64_t bits = 0;
    for (int i = 0; i < FRACTION_BITS; i++) {
        __extension__ unsigned __int128 square = (unsigned __int128)mantissa * mantissa;
        bool two = square >> 127;
        mantissa = (uint64_t)(square >> (two ? 64 : 63));
        bits = bits << 1 | two;
    }
    return (uint64_t)whole << FRACTION_BITS | bits;
}

/* Half-lives from the first day of ids until that time, with 32 bits behind the point. */
static uint64_t half_lives_fixed(uint64_t half_life_ms, int64_t created_ms)
{
    uint64_t since = created_ms > ID_EPOCH_MS ? (uint64_t)(created_ms - ID_EPOCH_MS) : 0;
    __extension__ unsigned __int128 wide = (unsigned __int128)since << FRACTION_BITS;
    return (uint64_t)(wide / half_life_ms);
}

static uint64_t at_most(uint64_t key)
{
    return key < TIDINGS_ID_MAX ? key : TIDINGS_ID_MAX;
}

uint64_t heat_post_key(const struct tidings_settings *settings, int64_t score, int64_t created_ms)
{
    enum { NO_HEAT = 1 };
    uint64_t half_life_ms = settings->hot_half_life_hours * HOUR_MS;
    if (score <= 0)
        return NO_HEAT;
    if (!half_life_ms)
        return at_most(NO_HEAT + (uint64_t)score);
    return at_most(NO_HEAT + 1 + log2_fixed((uint64_t)score) +
                   half_lives_fixed(half_life_ms, created_ms));
}

uint64_t heat_comment_key(int64_t score)
{
    const int64_t middle = INT64_C(1) << 52;
    if (score >= middle)
        return TIDINGS_ID_MAX;
    return score > -middle ? (uint64_t)(middle + score) : 1;
}

double heat_decayed(const struct tidings_settings *settings, int64_t score, int64_t age_ms)
{
    int64_t half_life_ms = (int64_t)(settings->hot_half_life_hours * HOUR_MS);
    if (!half_life_ms || age_ms <= 0)
        return (double)score;
    /* Whole halvings last: after a thousand of them 2^-n alone would be nothing, whatever the score. */
    int64_t halvings = age_ms / half_life_ms;
    double rest = (double)(age_ms % half_life_ms) / (double)half_life_ms;
    return ldexp((double)score * exp2(-rest), halvings < INT_MAX ? -(int)halvings : -INT_MAX);
}

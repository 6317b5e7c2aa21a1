/* SPDX-License-Identifier: MIT */
/*
 * Random numbers that are the same for the same seed on every machine: xoshiro256**, seeded by
 * splitmix64. Not for secrets.
 */
#ifndef TIDINGS_TESTS_RANDOM_H
#define TIDINGS_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
    uint64_t s[4];
};

static inline uint64_t rng_splitmix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline void rng_seed(struct rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->s[i] = rng_splitmix(&seed);
}

static inline uint64_t rng_rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rng_rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rng_rotl(s[3], 45);
    return result;
}

/* 0 ... n-1; the slight bias of the remainder is of no matter here. */
static inline uint64_t rng_below(struct rng *rng, uint64_t n)
{
    return n == 0 ? 0 : rng_next(rng) % n;
}

/* True `percent` times in a hundred. */
static inline bool rng_percent(struct rng *rng, unsigned percent)
{
    return rng_below(rng, 100) < percent;
}

static inline uint64_t rng_between(struct rng *rng, uint64_t least, uint64_t most)
{
    return least + rng_below(rng, most - least + 1);
}

#endif

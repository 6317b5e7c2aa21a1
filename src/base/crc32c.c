/* SPDX-License-Identifier: MIT */
#include "base/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { POLYNOMIAL_BITS = 8, TABLE_SIZE = 256 };

static uint32_t table[TABLE_SIZE];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_table(void)
{
    const uint32_t polynomial = 0x82f63b78;
    for (uint32_t i = 0; i < TABLE_SIZE; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < POLYNOMIAL_BITS; bit++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
        table[i] = crc;
    }
}

uint32_t crc32c_table(uint32_t crc, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    pthread_once(&made, make_table);
    crc = ~crc;
    while (n--)
        crc = crc >> 8 ^ table[(crc ^ *at++) & 0xff];
    return ~crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t by_processor(uint32_t crc, const void *bytes,
                                                               size_t n)
{
    const uint8_t *at = bytes;
    uint64_t wide = ~crc;
    for (; n >= 8; n -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    while (n--)
        crc = __builtin_ia32_crc32qi(crc, *at++);
    return ~crc;
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t n)
{
    return __builtin_cpu_supports("sse4.2") ? by_processor(crc, bytes, n)
                                            : crc32c_table(crc, bytes, n);
}

#else

uint32_t crc32c(uint32_t crc, const void *bytes, size_t n)
{
    return crc32c_table(crc, bytes, n);
}

#endif

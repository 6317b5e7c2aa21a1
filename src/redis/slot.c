/* SPDX-License-Identifier: MIT */
#include "redis/redis.h"

/* CRC16 of XMODEM: polynomial 0x1021, beginning with 0, a nibble at a time. */
static uint16_t crc16(const uint8_t *p, size_t n)
{
    static const uint16_t table[16] = {0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5,
                                       0x60c6, 0x70e7, 0x8108, 0x9129, 0xa14a, 0xb16b,
                                       0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};
    unsigned crc = 0;
    for (size_t i = 0; i < n; i++) {
        crc = (crc << 4 ^ table[(crc >> 12 ^ p[i] >> 4) & 15]) & 0xffff;
        crc = (crc << 4 ^ table[(crc >> 12 ^ p[i]) & 15]) & 0xffff;
    }
    return (uint16_t)crc;
}

/* What stands between the first { and the next }, if that is not empty. */
uint16_t redis_slot(struct bytes key)
{
    const uint8_t *end = key.p + key.n;
    const uint8_t *open = key.n ? memchr(key.p, '{', key.n) : NULL;
    const uint8_t *close = open ? memchr(open, '}', (size_t)(end - open)) : NULL;
    if (close && close > open + 1)
        key = (struct bytes){open + 1, (size_t)(close - open - 1)};
    return crc16(key.p, key.n) % REDIS_SLOTS;
}

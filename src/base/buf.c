/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_SIZE = 512 };

void buf_init(struct buf *buf, size_t max)
{
    *buf = (struct buf){.max = max};
}

void buf_init_borrowed(struct buf *buf, void *storage, size_t size)
{
    *buf = (struct buf){.data = storage, .cap = size, .max = size, .borrowed = true};
}

void buf_release(struct buf *buf)
{
    if (!buf->borrowed)
        free(buf->data);
    *buf = (struct buf){.max = buf->borrowed ? 0 : buf->max};
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
    buf->failed = false;
}

char *buf_grow(struct buf *buf, size_t n)
{
    if (buf->failed || n > buf->max - buf->len)
        goto fail;
    if (!buf->data || n > buf->cap - buf->len) {
        if (buf->borrowed)
            goto fail;
        size_t cap = buf->cap > buf->max / 2 ? buf->max : buf->cap * 2;
        if (cap < FIRST_SIZE)
            cap = FIRST_SIZE < buf->max ? FIRST_SIZE : buf->max;
        if (cap < buf->len + n)
            cap = buf->len + n;
        char *data = realloc(buf->data, cap ? cap : 1);
        if (!data)
            goto fail;
        buf->data = data;
        buf->cap = cap;
    }
    return buf->data + buf->len;
fail:
    buf->failed = true;
    return NULL;
}

void buf_u64(struct buf *buf, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    buf_append(buf, digits + at, sizeof digits - at);
}

void buf_i64(struct buf *buf, int64_t value)
{
    uint64_t size = (uint64_t)value;
    if (value < 0) {
        buf_char(buf, '-');
        size = -size;
    }
    buf_u64(buf, size);
}

void buf_hex64(struct buf *buf, uint64_t value)
{
    char digits[16];
    for (size_t i = sizeof digits; i-- > 0; value >>= 4)
        digits[i] = "0123456789abcdef"[value & 15];
    buf_append(buf, digits, sizeof digits);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    /* vsnprintf wants room for its NUL, which is not counted and so written over by the next
     * append. */
    char *to = n < 0 ? NULL : buf_reserve(buf, (size_t)n + 1);
    if (!to) {
        buf->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(to, (size_t)n + 1, format, args);
    va_end(args);
    buf->len += (size_t)n;
}

/* SPDX-License-Identifier: MIT */
/*
 * A growable run of bytes with a hard maximum. Failure sticks: after the first append that would
 * pass the maximum, or for which there is no memory, every append does nothing, so that a writer
 * reads straight through and checks `failed` once. One owner, one thread at a time.
 *
 * It does not keep a NUL at the end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
    char *data;
    size_t len;
    size_t cap;
    size_t max;
    bool failed;
    bool borrowed; /* the memory is the caller's: never grown, never freed */
};

/* Allocates nothing yet. */
void buf_init(struct buf *buf, size_t max);

/* Writes into `size` bytes of the caller's, which must outlive the buf. */
void buf_init_borrowed(struct buf *buf, void *storage, size_t size);

/* Frees the memory; the buf is empty and usable with the same maximum. */
void buf_release(struct buf *buf);

/* Forgets the bytes and the failure, keeps the memory. */
void buf_clear(struct buf *buf);

/* Makes room: the slow half of buf_reserve. */
char *buf_grow(struct buf *buf, size_t n);

/*
 * Room for n more bytes behind the end, or NULL (and failed). The caller writes at most n bytes
 * there and adds what it wrote to `len`.
 */
static inline char *buf_reserve(struct buf *buf, size_t n)
{
    if (!buf->failed && n <= buf->cap - buf->len && buf->data)
        return buf->data + buf->len;
    return buf_grow(buf, n);
}

static inline void buf_append(struct buf *buf, const void *bytes, size_t n)
{
    char *to = n ? buf_reserve(buf, n) : NULL;
    if (!to)
        return;
    memcpy(to, bytes, n);
    buf->len += n;
}

/* The compiler knows the length of a literal, so this inlines to a few moves. */
#define buf_literal(buf, text) buf_append((buf), "" text, sizeof(text) - 1)

static inline void buf_text(struct buf *buf, const char *text)
{
    buf_append(buf, text, strlen(text));
}

static inline void buf_char(struct buf *buf, char c)
{
    buf_append(buf, &c, 1);
}

void buf_u64(struct buf *buf, uint64_t value);
void buf_i64(struct buf *buf, int64_t value);

/* Sixteen lower-case hexadecimal digits. */
void buf_hex64(struct buf *buf, uint64_t value);

void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

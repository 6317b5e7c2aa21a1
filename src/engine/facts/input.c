/* SPDX-License-Identifier: MIT */
#include "engine/facts/input.h"

#include "base/crc32c.h"
#include "engine/facts/fact.h"

enum { READ_BYTES = 1 << 16, CHECKED_BYTES = 4096 };

void input_begin(struct input *input, struct tidings_import *from)
{
    *input = (struct input){.from = from};
    buf_init(&input->buf, (size_t)FACT_LINE_MAX + 2 * READ_BYTES);
}

void input_release(struct input *input)
{
    buf_release(&input->buf);
}

/* More bytes behind those that are there; what was handed out makes room. False at the end, or if it failed. */
static bool fill(struct input *input)
{
    if (input->at && input->at >= input->buf.len / 2) {
        memmove(input->buf.data, input->buf.data + input->at, input->buf.len - input->at);
        input->buf.len -= input->at;
        input->at = 0;
    }
    char *to = input->ended ? NULL : buf_reserve(&input->buf, READ_BYTES);
    ptrdiff_t n = to ? input->from->read(input->from->ctx, to, READ_BYTES) : 0;
    input->failed |= n < 0 || input->buf.failed;
    input->ended |= n <= 0;
    if (n > 0)
        input->buf.len += (size_t)n;
    return n > 0;
}

bool input_check(struct input *input, uint64_t *check)
{
    while (input->buf.len < CHECKED_BYTES && fill(input))
        ;
    size_t n = input->buf.len < CHECKED_BYTES ? input->buf.len : CHECKED_BYTES;
    *check = (uint64_t)1 << 32 | crc32c(0, input->buf.data, n);
    return !input->failed;
}

/* Drops what is left of a line that is too long. */
static enum input_got skip_long(struct input *input)
{
    for (;;) {
        char *end = memchr(input->buf.data + input->at, '\n', input->buf.len - input->at);
        input->at = end ? (size_t)(end - input->buf.data) + 1 : input->buf.len;
        if (end || !fill(input))
            return input->failed ? INPUT_FAILED : INPUT_LONG;
    }
}

enum input_got input_next(struct input *input, char **line, size_t *n)
{
    size_t seen = 0;
    for (;;) {
        char *from = input->buf.data ? input->buf.data + input->at : NULL;
        size_t left = input->buf.len - input->at;
        char *end = left > seen ? memchr(from + seen, '\n', left - seen) : NULL;
        seen = left;
        if (!end && left > FACT_LINE_MAX) {
            input->line++;
            return skip_long(input);
        }
        if (!end && fill(input))
            continue;
        if (!end && input->buf.data)
            from = input->buf.data + input->at; /* it may have been moved */
        if (input->failed)
            return INPUT_FAILED;
        if (!from || (!end && !left))
            return INPUT_END;
        *line = from;
        *n = end ? (size_t)(end - from) : left;
        input->at += *n + (end != NULL);
        input->line++;
        if (*n && !(*n == 1 && **line == '\r'))
            return INPUT_LINE;
        seen = 0;
    }
}

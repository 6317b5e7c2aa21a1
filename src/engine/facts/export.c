/* SPDX-License-Identifier: MIT */
#include "engine/facts/facts.h"

#include "engine/facts/fact.h"

/* So many bytes are written at once, and a line more. */
enum { WRITE_BYTES = 1 << 16 };

struct lines {
    struct fact_sink sink;
    struct tidings_export *out;
    struct buf buf;
    bool failed;
};

static bool flush(struct lines *lines)
{
    lines->failed |=
        lines->buf.failed || !lines->out->write(lines->out->ctx, lines->buf.data, lines->buf.len);
    buf_clear(&lines->buf);
    return !lines->failed;
}

static bool take(struct fact_sink *sink, const struct fact *fact)
{
    struct lines *lines = (struct lines *)sink;
    fact_write(fact, &lines->buf);
    lines->out->facts += fact->type != FACT_TIDINGS;
    return lines->buf.len < WRITE_BYTES || flush(lines);
}

enum tidings_err facts_export(struct engine *engine, struct tidings_export *out)
{
    struct lines lines = {.sink = {take}, .out = out};
    struct fact last = {.type = FACT_END};
    out->facts = 0;
    buf_init(&lines.buf, 2 * (size_t)FACT_LINE_MAX);
    enum tidings_err err =
        engine->vtable->export(engine, out->user_id, &lines.sink, &out->progress);
    if (!err && !lines.failed) {
        FACT_SET(&last, facts, out->facts);
        fact_write(&last, &lines.buf);
        flush(&lines);
    }
    buf_release(&lines.buf);
    return !err && lines.failed ? TIDINGS_IO : err;
}

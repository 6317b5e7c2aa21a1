/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static atomic_int log_fd = STDERR_FILENO;
static atomic_int log_least = LOG_INFO;

/* Kept free at the end of a line for the mark that it was cut, the brace and the newline. */
enum { TAIL = 16 };

void log_open(int fd, enum log_level level)
{
    atomic_store(&log_fd, fd);
    atomic_store(&log_least, (int)level);
}

bool log_enabled(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&log_least, memory_order_relaxed);
}

static void put_time(struct json_out *json)
{
    struct timespec now;
    struct tm tm;
    char text[40];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    n += (size_t)snprintf(text + n, sizeof text - n, ".%03dZ", (int)(now.tv_nsec / 1000000));
    json_out_key(json, "time");
    json_out_string(json, text, n);
}

/* Starts a field; the answer is for end_field, which takes the field back if it did not fit. */
static struct json_out start_field(struct log_line *line, const char *key, size_t *len)
{
    struct json_out before = line->json;
    *len = line->buf.len;
    json_out_key(&line->json, key);
    return before;
}

static void end_field(struct log_line *line, struct json_out before, size_t len)
{
    if (!line->buf.failed)
        return;
    line->buf.failed = false;
    line->buf.len = len;
    line->json = before;
    line->cut = true;
}

void log_begin(struct log_line *line, enum log_level level, const char *message)
{
    static const char *const names[] = {"debug", "info", "warn", "error", "off"};
    line->on = log_enabled(level);
    line->cut = false;
    if (!line->on)
        return;
    buf_init_borrowed(&line->buf, line->bytes, sizeof line->bytes - TAIL);
    json_out_init(&line->json, &line->buf);
    json_out_object(&line->json);
    put_time(&line->json);
    json_out_key(&line->json, "level");
    json_out_text(&line->json, names[level]);
    log_text(line, "message", message);
}

void log_string(struct log_line *line, const char *key, const char *bytes, size_t n)
{
    size_t len;
    if (!line->on)
        return;
    struct json_out before = start_field(line, key, &len);
    json_out_string(&line->json, bytes, n);
    end_field(line, before, len);
}

void log_text(struct log_line *line, const char *key, const char *text)
{
    log_string(line, key, text, strlen(text));
}

void log_u64(struct log_line *line, const char *key, uint64_t value)
{
    size_t len;
    if (!line->on)
        return;
    struct json_out before = start_field(line, key, &len);
    json_out_u64(&line->json, value);
    end_field(line, before, len);
}

void log_i64(struct log_line *line, const char *key, int64_t value)
{
    size_t len;
    if (!line->on)
        return;
    struct json_out before = start_field(line, key, &len);
    json_out_i64(&line->json, value);
    end_field(line, before, len);
}

void log_hex(struct log_line *line, const char *key, uint64_t value)
{
    char text[16];
    struct buf buf;
    buf_init_borrowed(&buf, text, sizeof text);
    buf_hex64(&buf, value);
    log_string(line, key, text, buf.len);
}

void log_end(struct log_line *line)
{
    if (!line->on)
        return;
    line->buf.max = line->buf.cap = sizeof line->bytes;
    if (line->cut) {
        json_out_key(&line->json, "cut");
        json_out_bool(&line->json, true);
    }
    json_out_end(&line->json);
    buf_char(&line->buf, '\n');
    /* One write, so lines of several threads do not mix. There is nowhere to report its failure. */
    ssize_t n;
    do
        n = write(atomic_load(&log_fd), line->buf.data, line->buf.len);
    while (n < 0 && errno == EINTR);
}

void log_message(enum log_level level, const char *format, ...)
{
    struct log_line line;
    char text[1024];
    va_list args;
    if (!log_enabled(level))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_begin(&line, level, text);
    log_end(&line);
}

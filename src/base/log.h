/* SPDX-License-Identifier: MIT */
/*
 * The log: one JSON object a line, written with one write(2), from any thread. Control characters
 * are escaped, so a line is a line whatever a client sent. The place it goes to and the level are
 * the only global state of the program.
 *
 *     struct log_line line;
 *     log_begin(&line, LOG_INFO, "request");
 *     log_string(&line, "path", path, path_len);
 *     log_u64(&line, "status", 200);
 *     log_end(&line);
 *
 * A line that does not fit LOG_LINE_MAX loses the fields that did not fit, and says so. Secrets and
 * tokens do not belong here; nothing in this file can tell.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_out.h"

enum { LOG_LINE_MAX = 4096 };

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF };

/* Where lines go from now on and from which level; until then: standard error, LOG_INFO. */
void log_open(int fd, enum log_level level);

bool log_enabled(enum log_level level);

struct log_line {
    bool on;
    bool cut;
    struct buf buf;
    struct json_out json;
    char bytes[LOG_LINE_MAX];
};

/* Begins a line with time, level and message. If the level is off, the calls up to log_end do
 * nothing. */
void log_begin(struct log_line *line, enum log_level level, const char *message);
void log_string(struct log_line *line, const char *key, const char *bytes, size_t n);
void log_text(struct log_line *line, const char *key, const char *text);
void log_u64(struct log_line *line, const char *key, uint64_t value);
void log_i64(struct log_line *line, const char *key, int64_t value);
/* A number in sixteen hexadecimal digits. */
void log_hex(struct log_line *line, const char *key, uint64_t value);
void log_end(struct log_line *line);

/* A line with nothing but a message. */
void log_message(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

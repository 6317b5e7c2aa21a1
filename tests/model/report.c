/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <stdarg.h>

void report_add(struct report *report, const char *format, ...)
{
    size_t room = sizeof report->text - report->n;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(report->text + report->n, room, format, args);
    va_end(args);
    if (n > 0)
        report->n += (size_t)n < room ? (size_t)n : room - 1;
}

static void report_bytes(struct report *report, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];

        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\')
            report_add(report, "%c", c);
        else
            report_add(report, "\\x%02x", c);
    }
}

void report_text(struct report *report, struct tidings_text text)
{
    const size_t most = 48;

    if (text.p == NULL) {
        report_add(report, "NULL");
        return;
    }
    report_add(report, "\"");
    if (text.n <= most) {
        report_bytes(report, text.p, text.n);
    } else {
        report_bytes(report, text.p, most / 2);
        report_add(report, "...");
        report_bytes(report, text.p + text.n - most / 2, most / 2);
    }
    report_add(report, "\"");
    if (text.n > most)
        report_add(report, " (%zu bytes)", text.n);
}

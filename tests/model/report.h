/* SPDX-License-Identifier: MIT */
/* A text of bounded length that is written piece by piece; what does not fit is left out. Holds no
 * pointers, so that it can lie in memory that processes share. */
#ifndef TIDINGS_TESTS_REPORT_H
#define TIDINGS_TESTS_REPORT_H

#include "tidings.h"

struct report {
    size_t n;
    char text[16384];
};

void report_add(struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The text in quotes, with everything unusual escaped and the middle of a long one left out. */
void report_text(struct report *report, struct tidings_text text);

#endif

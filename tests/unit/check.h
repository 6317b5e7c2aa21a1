/* SPDX-License-Identifier: MIT */
/* What the tests of domain/check.h share: an operation with nothing wrong in it, and verdicts on one. */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include "domain/check.h"
#include "unit/test.h"

extern struct tidings_settings settings;

/* Before every test: the default settings, or some that are small. */
int check_begin(void **state);
int check_begin_small(void **state);

extern const struct tidings_moment some_moment;
extern const uint64_t three_ids[3];
/* 0 and what is past 2^53-1 are no ids, wherever an id stands. */
extern const uint64_t no_ids[3];

#define WIDE "\xf0\x9f\x98\x80" /* four bytes, one character */

struct tidings_text text_of(const char *s);
/* n times the same character, until the next call. */
struct tidings_text repeat(const char *character, size_t n);

/* An operation with nothing wrong in it. */
struct tidings_op good(enum tidings_op_kind kind);

/* NULL: it must be fine; otherwise that field is at fault. */
void assert_field(const struct tidings_op *op, const char *expected);
void assert_fine(struct tidings_op op);
void assert_refused(struct tidings_op op, const char *expected);

/* The id, and the page, at and past their limits; in the end all is fine. */
void assert_id(const struct tidings_op *op, uint64_t *id, const char *field);
void assert_page(const struct tidings_op *op, struct tidings_page *page);
/* Own data likewise. */
void assert_extra(const struct tidings_op *op, struct tidings_text *extra);

#endif

/* SPDX-License-Identifier: MIT */
/* Tables in MySQL, as a target: docs/operations/tables.md says what they are. */
#ifndef CONSUME_TABLES_TARGET_H
#define CONSUME_TABLES_TARGET_H

#include "consume/consumer.h"

struct tables;

extern const struct consumer_target tables_target;

/* The URL names a database. Everything is compared each compare_hours, 0: never. Nobody is connected to yet. NULL: *wrong is a static text that says what is. */
struct tables *tables_new(struct tidings *tidings, const char *url, const char *password,
                          uint64_t compare_hours, const char **wrong);
void tables_free(struct tables *tables);

#endif

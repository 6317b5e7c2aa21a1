/* SPDX-License-Identifier: MIT */
/* Whether an operation's arguments can be right at all, before anything is looked up. */
#ifndef DOMAIN_CHECK_H
#define DOMAIN_CHECK_H

#include "tidings.h"

/*
 * NULL if the operation is well formed, else the name of the argument at fault, as the HTTP API has it.
 * The viewer comes first, then the role, then the arguments in the order in which they stand in the struct.
 */
const char *check_op(const struct tidings_op *op, const struct tidings_settings *settings);

/* The name of the first setting out of its range, or NULL. */
const char *check_settings(const struct tidings_settings *settings);

#endif

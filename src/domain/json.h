/* SPDX-License-Identifier: MIT */
/* Whether a text is JSON (RFC 8259), without building anything of it. */
#ifndef DOMAIN_JSON_H
#define DOMAIN_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* An object, nested at most JSON_DEPTH deep, itself included; with space around it or not. The bytes must be UTF-8, which is
 * the caller's to check. That names differ is not looked at. */
enum { JSON_DEPTH = 32 };
bool json_holds_object(const char *text, size_t n);

#endif

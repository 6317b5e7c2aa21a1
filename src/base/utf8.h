/* SPDX-License-Identifier: MIT */
/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the n bytes are UTF-8 without U+0000; if so *characters is how many code points. */
bool utf8_check(const char *bytes, size_t n, size_t *characters);

/* The length in bytes of the first `characters` code points of valid UTF-8, at most n. */
size_t utf8_prefix(const char *bytes, size_t n, size_t characters);

#endif

/* SPDX-License-Identifier: MIT */
/* Bodies: the words in them, without the pictures. tidings_next_part, declared in tidings.h, is here. */
#ifndef DOMAIN_MARKUP_H
#define DOMAIN_MARKUP_H

#include <stddef.h>

#include "tidings.h"

/*
 * Writes the first `characters` code points of the body's text to `to`, pictures left out; answers the
 * bytes written, at most `room`. The body is valid UTF-8.
 */
size_t markup_excerpt(struct tidings_text body, size_t characters, char *to, size_t room);

#endif

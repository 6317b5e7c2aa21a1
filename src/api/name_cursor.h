/* SPDX-License-Identifier: MIT */
/* A place among names as bytes: the user's id and the name, as far as names are compared. */
#ifndef API_NAME_CURSOR_H
#define API_NAME_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/seal.h"
#include "tidings.h"

size_t name_cursor_pack(uint64_t user, struct tidings_text name, uint8_t bytes[SEAL_BYTES]);

/* False if they are none. The name is a part of them. */
bool name_cursor_unpack(const uint8_t *bytes, size_t n, uint64_t *user, struct tidings_text *name);

#endif

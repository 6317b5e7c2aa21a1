/* SPDX-License-Identifier: MIT */
/* Files that are part of the program; scripts/embed makes the other half when building. */
#ifndef API_EMBEDDED_H
#define API_EMBEDDED_H

#include <stddef.h>

extern const unsigned char embedded_openapi[];
extern const size_t embedded_openapi_size;

extern const unsigned char embedded_docs[];
extern const size_t embedded_docs_size;

#endif

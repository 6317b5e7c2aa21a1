/* SPDX-License-Identifier: MIT */
/* Files that are part of the program; scripts/embed makes the other half when building. */
#ifndef API_EMBEDDED_H
#define API_EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>

struct embedded_file {
    const char *name; /* of an asset */
    bool lasting;     /* the name has a hash of the content, so what has it never changes */
    const char *type;
    const char *etag; /* weak: the same for both forms */
    const unsigned char *plain;
    size_t plain_size;
    const unsigned char *packed; /* by gzip; NULL if that is no gain */
    size_t packed_size;
};

extern const struct embedded_file embedded_openapi;
extern const struct embedded_file embedded_docs;

/* The console: its page, and what that asks for under /assets/. */
extern const struct embedded_file embedded_console;
extern const struct embedded_file embedded_assets[];
extern const size_t n_embedded_assets;

#endif

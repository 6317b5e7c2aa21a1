/* SPDX-License-Identifier: MIT */
/* The console's files, part of the program; scripts/embed-console makes the other half. */
#ifndef API_CONSOLE_H
#define API_CONSOLE_H

#include <stddef.h>

struct console_file {
    const char
        *name; /* in /assets/; with a hash of the content: what has this name never changes */
    const char *type;
    const char *etag;
    const unsigned char *plain;
    size_t plain_size;
    const unsigned char *packed; /* by gzip; NULL if that is no gain */
    size_t packed_size;
};

extern const struct console_file console_page;
extern const struct console_file console_assets[];
extern const size_t n_console_assets;

#endif

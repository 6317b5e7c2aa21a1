/* SPDX-License-Identifier: MIT */
/* Where a node is, as people write it and as servers tell it. */
#ifndef REDIS_ADDRESS_H
#define REDIS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ADDRESS_HOST_MAX = 255, ADDRESS_TEXT_MAX = ADDRESS_HOST_MAX + 9 };

struct address {
    char host[ADDRESS_HOST_MAX + 1]; /* a name or a number, without brackets */
    uint16_t port;
};

/* Whether these bytes can be a host: letters, digits and . _ - : %. */
bool redis_address_is_host(const char *text, size_t n);

bool redis_address_same(const struct address *a, const struct address *b);

/* host:port or [number]:port, as people write it. `to` is untouched if it is neither. */
bool redis_address_parse(const char *text, size_t n, struct address *to);

/* host:port as servers tell it in a redirection: without brackets, and without a host if it is the same as the server's. */
bool redis_address_parse_told(const char *text, size_t n, const char *same_host,
                              struct address *to);

/* The next one of a list with commas, spaces allowed. False at its end, or with *bad where one is malformed. */
bool redis_address_next(const char **list, struct address *to, bool *bad);

/* With brackets where they are needed. */
void redis_address_print(const struct address *address, char text[ADDRESS_TEXT_MAX]);

#endif

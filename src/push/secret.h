/* SPDX-License-Identifier: MIT */
/*
 * Secrets of webhooks. One of the form that the Standard Webhooks specification has, whsec_ and base64 behind it, stands for
 * the bytes that it encodes; any other for its own.
 */
#ifndef PUSH_SECRET_H
#define PUSH_SECRET_H

#include <stddef.h>
#include <stdint.h>

enum { SECRET_KEY_MAX = 256 };

/* NULL, or what is wrong with it, a static text: whsec_ with something behind it that no other program would decode. */
const char *secret_check(const char *secret, size_t n);

/* The key that signs in the standard's way; how many bytes it has. */
size_t secret_key(const char *secret, size_t n, uint8_t key[SECRET_KEY_MAX]);

#endif

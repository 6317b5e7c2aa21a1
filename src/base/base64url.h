/* SPDX-License-Identifier: MIT */
/*
 * base64url without padding (RFC 4648 section 5). Decoding is strict: one text for one value.
 * Padding, whitespace, other characters, a lone last character and bits left over that are not zero
 * are refused.
 */
#ifndef BASE_BASE64URL_H
#define BASE_BASE64URL_H

#include <stdbool.h>
#include <stddef.h>

#define BASE64URL_LENGTH(n) (((n)*4 + 2) / 3)

/* Writes BASE64URL_LENGTH(n) characters, without a NUL, and answers how many. */
size_t base64url_encode(const void *bytes, size_t n, char *text);

/*
 * Decodes n characters into `bytes`, which has room for `size`. False if the text is not canonical
 * or does not fit; `bytes` is then undefined.
 */
bool base64url_decode(const char *text, size_t n, void *bytes, size_t size, size_t *length);

#endif

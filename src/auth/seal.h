/* SPDX-License-Identifier: MIT */
/*
 * Opaque texts for cursors and `as_of`: a few numbers that a client carries back to us, and cannot
 * change or lend to another user. They are not secret, only authentic: base64url of the numbers as
 * varints, or of bytes, and the first 12 bytes of an HMAC-SHA-256 over purpose, user and numbers, with a key
 * derived (HKDF) from a secret of the server.
 */
#ifndef AUTH_SEAL_H
#define AUTH_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEAL_VALUES = 8, SEAL_TEXT_MAX = 128 };

/* The same with bytes in place of numbers. */
enum { SEAL_BYTES = 256, SEAL_BYTES_TEXT_MAX = 360 };

struct seal;

/*
 * The same secret makes the same seals, on any machine. At least 32 bytes; NULL if it is shorter or
 * there is no memory. One thread at a time: each loop has its own.
 */
struct seal *seal_new(const void *secret, size_t n);
void seal_free(struct seal *seal);

/*
 * Writes at most SEAL_TEXT_MAX characters, without a NUL; 0 if the crypto library fails. `purpose`
 * keeps the seals of different uses apart; n <= SEAL_VALUES.
 */
size_t seal_text(struct seal *seal, uint8_t purpose, uint64_t user_id, const uint64_t *values,
                 size_t n, char *text);

/* Whether it is a seal of exactly n values for this purpose and user. If not, `values` is
 * untouched. */
bool seal_open(struct seal *seal, uint8_t purpose, uint64_t user_id, const char *text,
               size_t text_n, uint64_t *values, size_t n);

/* The same for any number of values up to `most`: how many there are, or -1 if it is no such seal. */
int seal_open_some(struct seal *seal, uint8_t purpose, uint64_t user_id, const char *text,
                   size_t text_n, uint64_t *values, size_t most);

/* As seal_text, of at most SEAL_BYTES bytes; writes at most SEAL_BYTES_TEXT_MAX characters. */
size_t seal_bytes(struct seal *seal, uint8_t purpose, uint64_t user_id, const uint8_t *bytes,
                  size_t n, char *text);

/* How many bytes there are, or -1 if it is no seal for this purpose and user. */
int seal_open_bytes(struct seal *seal, uint8_t purpose, uint64_t user_id, const char *text,
                    size_t text_n, uint8_t bytes[SEAL_BYTES]);

#endif

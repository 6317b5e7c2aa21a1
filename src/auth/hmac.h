/* SPDX-License-Identifier: MIT */
/* HMAC-SHA-256 contexts, ready with their key. */
#ifndef AUTH_HMAC_H
#define AUTH_HMAC_H

#include <openssl/evp.h>
#include <stddef.h>

enum { HMAC_BYTES = 32 };

/*
 * NULL if there is no memory. Copy it for each use (EVP_MAC_CTX_dup), and threads can share it; or
 * begin it anew (EVP_MAC_init without key), which is faster. The key is wiped with it
 * (EVP_MAC_CTX_free).
 */
EVP_MAC_CTX *hmac_new(const void *key, size_t n);

#endif

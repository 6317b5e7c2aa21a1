/* SPDX-License-Identifier: MIT */
/* What a set of keys is made of: for keys.c, which fills it, and jwt.c, which uses it. */
#ifndef AUTH_KEYS_INTERNAL_H
#define AUTH_KEYS_INTERNAL_H

#include <openssl/evp.h>
#include <stdatomic.h>

#include "auth/keys.h"

/* The last second of the year 9999: room enough, and milliseconds cannot overflow. */
#define TIME_MAX_S INT64_C(253402300799)

enum key_alg { KEY_HS256, KEY_EDDSA };

struct key {
    char kid[KID_MAX + 1]; /* "": without name */
    enum key_alg alg;
    int64_t not_before_s;
    int64_t not_after_s;
    EVP_MAC_CTX
    *mac; /* HS256: ready with the secret; copied for each use, so threads can share it */
    EVP_PKEY *public_key; /* EdDSA */
};

struct keys {
    _Atomic unsigned refs;
    size_t n;
    struct key keys[KEYS_MAX];
};

#endif

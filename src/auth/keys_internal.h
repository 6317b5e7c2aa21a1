/* SPDX-License-Identifier: MIT */
/* What a set of keys is made of: for keys.c, which fills it, and jwt.c, which uses it. */
#ifndef AUTH_KEYS_INTERNAL_H
#define AUTH_KEYS_INTERNAL_H

#include <jansson.h>
#include <openssl/evp.h>
#include <stdatomic.h>

#include "auth/hmac.h"
#include "auth/jwt.h"
#include "auth/keys.h"

/* The last second of the year 9999: room enough, and milliseconds cannot overflow. */
#define TIME_MAX_S INT64_C(253402300799)

enum key_alg { KEY_HS256, KEY_EDDSA, KEY_RS256, KEY_ES256, KEY_ALG_COUNT };

/* As tokens call them. */
extern const char *const key_alg_names[];
bool key_alg_parse(const char *name, enum key_alg *alg);

struct key {
    char kid[KID_MAX + 1]; /* "": without name */
    enum key_alg alg;
    int64_t not_before_s;
    int64_t not_after_s;
    EVP_MAC_CTX
    *mac;           /* HS256: ready with the secret; copied for each use, so threads can share it */
    EVP_PKEY *pkey; /* of the others */
    bool is_private; /* it can sign, too */
};

struct keys {
    _Atomic unsigned refs;
    size_t n;
    struct key keys[KEYS_MAX];
};

/* Room for one more key, which holds at any time; NULL if there is none. */
struct key *keys_add(struct keys *keys, enum key_alg alg);

/* The member's text, or NULL if it is none; *n its length. */
const char *key_string_of(const json_t *entry, const char *name, size_t *n);

/* ---- Each answers NULL, or what is wrong ----------------------------------------------------- */

/* The entry's kid, if it has one. */
const char *key_take_kid(const struct keys *keys, struct key *key, const json_t *entry);
/* HS256; the text is base64url. */
const char *key_use_secret(struct key *key, const char *text, size_t n);

/* jwk.c: "public_key" of an entry of a keys file: PEM, or of Ed25519 also base64url. */
const char *key_take_pem(struct key *key, const json_t *entry);
/*
 * jwk.c: a JWK. Types of keys and uses that are not ours, and members besides, are passed over, as RFC 7517 has it; of those
 * that were published, secrets are, and a private key is refused.
 */
const char *jwk_add(struct keys *keys, const json_t *jwk, bool published);

/* jwt.c: for its signing half. */
extern const char *const jwt_role_names[];
bool jwt_hmac(const struct key *key, const void *text, size_t n, unsigned char out[HMAC_BYTES]);

#endif

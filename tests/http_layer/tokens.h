/* SPDX-License-Identifier: MIT */
/* Tokens made by hand, so that each part can be made wrong. */
#ifndef TESTS_HTTP_LAYER_TOKENS_H
#define TESTS_HTTP_LAYER_TOKENS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* Behind what it needs. */
#include <cmocka.h>
#include <openssl/evp.h>

#include "auth/jwt.h"

#define SECRET "0123456789abcdef0123456789abcdef"
#define OTHER  "another secret that is long enough!"
#define NOW_S  INT64_C(1700000000)
#define NOW_MS (NOW_S * 1000)
#define HS256  "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define GOOD   "{\"sub\":\"42\",\"exp\":1700000100}"
/* Only alive where they are written. */
#define LEEWAY(s) (&(const struct jwt_rules){.leeway_s = (s)})
#define GRANT(user, as, ttl) \
    (&(const struct jwt_grant){.user_id = (user), .role = (as), .ttl_s = (ttl)})

size_t put64(char *to, const void *bytes, size_t n);
/* header.payload signed with HMAC-SHA-256; a static buffer. */
const char *hs256(const char *header, const char *payload, const char *secret, size_t secret_n);
const char *token_with(const char *header, const char *payload);
const char *eddsa(const char *header, const char *payload, EVP_PKEY *key);
struct keys *keys_of(const char *lines);
struct keys *keys_from(const char *json);
EVP_PKEY *ed25519(void);
void raw_public(EVP_PKEY *key, char *text);
enum jwt_reason verify(const struct keys *keys, const char *token);

#endif

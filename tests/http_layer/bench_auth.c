/* SPDX-License-Identifier: MIT */
/* What authentication and seals cost, each the best of five rounds, in nanoseconds. */
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "auth/jwt.h"
#include "auth/seal.h"
#include "base/base64url.h"

#define SECRET "0123456789abcdef0123456789abcdef"
#define NOW_S  INT64_C(1700000000)

static double now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

#define MEASURE(label, rounds, statement)                \
    do {                                                 \
        double best = 1e18;                              \
        for (int i = 0; i < 5; i++) {                    \
            double start = now_ns();                     \
            for (int k = 0; k < (rounds); k++)           \
                statement;                               \
            double took = (now_ns() - start) / (rounds); \
            best = took < best ? took : best;            \
        }                                                \
        printf("%-36s %9.0f ns\n", label, best);         \
    } while (0)

static size_t make_eddsa(EVP_PKEY *key, char *token)
{
    static const char header[] = "{\"alg\":\"EdDSA\",\"typ\":\"JWT\"}";
    static const char payload[] = "{\"sub\":\"42\",\"exp\":1700003600,\"iat\":1700000000}";
    unsigned char signature[64];
    size_t n = sizeof signature, at = base64url_encode(header, sizeof header - 1, token);
    token[at++] = '.';
    at += base64url_encode(payload, sizeof payload - 1, token + at);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_DigestSignInit(ctx, NULL, NULL, NULL, key);
    EVP_DigestSign(ctx, signature, &n, (unsigned char *)token, at);
    EVP_MD_CTX_free(ctx);
    token[at++] = '.';
    return at + base64url_encode(signature, n, token + at);
}

int main(void)
{
    static const unsigned char seed[32] = "a seed of an Ed25519 key, 32 byt";
    unsigned char raw[32];
    char text[64] = "", json[256], hs[JWT_MAX], ed[JWT_MAX], sealed[SEAL_TEXT_MAX];
    size_t n = sizeof raw, sealed_n = 0;
    struct keys_note note;
    struct jwt_claims claims;
    uint64_t values[2] = {1700000000123, 4567890}, out[2];
    int failures = 0;
    const struct jwt_rules rules = {0};
    const struct jwt_grant grant = {.user_id = 42, .ttl_s = 3600};

    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof seed);
    EVP_PKEY_get_raw_public_key(key, raw, &n);
    base64url_encode(raw, n, text);
    snprintf(json, sizeof json, "{\"keys\":[{\"alg\":\"EdDSA\",\"public_key\":\"%s\"}]}", text);
    struct keys *keys = keys_new();
    failures += keys_add_secrets(keys, SECRET, &note) != KEYS_OK;
    failures += keys_add_json(keys, json, strlen(json), &note) != KEYS_OK;
    struct keyring *ring = keyring_new(keys_ref(keys));
    struct jwt_verifier *verifier = jwt_verifier_new(ring, 4096, &rules);
    struct seal *seal = seal_new(SECRET, strlen(SECRET));
    size_t hs_n = jwt_sign(keys, &grant, NOW_S, hs);
    size_t ed_n = make_eddsa(key, ed);

    printf("HS256 token of %zu bytes, EdDSA token of %zu\n", hs_n, ed_n);
    MEASURE("HS256 verified anew", 20000,
            failures += jwt_verify(keys, hs, hs_n, NOW_S * 1000, &rules, &claims) != JWT_OK);
    MEASURE("EdDSA verified anew", 500,
            failures += jwt_verify(keys, ed, ed_n, NOW_S * 1000, &rules, &claims) != JWT_OK);
    MEASURE("HS256 remembered", 200000,
            failures += jwt_verifier_check(verifier, hs, hs_n, NOW_S * 1000, &claims) != JWT_OK);
    MEASURE("EdDSA remembered", 200000,
            failures += jwt_verifier_check(verifier, ed, ed_n, NOW_S * 1000, &claims) != JWT_OK);
    MEASURE("seal of two values", 100000, sealed_n = seal_text(seal, 1, 42, values, 2, sealed));
    MEASURE("seal opened", 100000, failures += !seal_open(seal, 1, 42, sealed, sealed_n, out, 2));
    seal_free(seal);
    jwt_verifier_free(verifier);
    keyring_free(ring);
    keys_unref(keys);
    EVP_PKEY_free(key);
    return failures != 0;
}

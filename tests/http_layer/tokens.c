/* SPDX-License-Identifier: MIT */
#include "http_layer/tokens.h"

#include <openssl/hmac.h>
#include <string.h>

#include "base/base64url.h"

size_t put64(char *to, const void *bytes, size_t n)
{
    size_t length = base64url_encode(bytes, n, to);
    to[length] = '\0';
    return length;
}

const char *hs256(const char *header, const char *payload, const char *secret, size_t secret_n)
{
    static char token[16384];
    unsigned char mac[32];
    unsigned n;
    size_t at = put64(token, header, strlen(header));
    token[at++] = '.';
    at += put64(token + at, payload, strlen(payload));
    HMAC(EVP_sha256(), secret, (int)secret_n, (const unsigned char *)token, at, mac, &n);
    token[at++] = '.';
    put64(token + at, mac, sizeof mac);
    return token;
}

const char *token_with(const char *header, const char *payload)
{
    return hs256(header, payload, SECRET, strlen(SECRET));
}

const char *eddsa(const char *header, const char *payload, EVP_PKEY *key)
{
    static char token[4096];
    unsigned char signature[64];
    size_t n = sizeof signature;
    size_t at = put64(token, header, strlen(header));
    token[at++] = '.';
    at += put64(token + at, payload, strlen(payload));
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestSignInit(ctx, NULL, NULL, NULL, key), 1);
    assert_int_equal(EVP_DigestSign(ctx, signature, &n, (unsigned char *)token, at), 1);
    EVP_MD_CTX_free(ctx);
    token[at++] = '.';
    put64(token + at, signature, n);
    return token;
}

struct keys *keys_of(const char *lines)
{
    struct keys_note note;
    struct keys *keys = keys_new();
    assert_int_equal(keys_add_secrets(keys, lines, &note), KEYS_OK);
    return keys;
}

struct keys *keys_from(const char *json)
{
    struct keys_note note;
    struct keys *keys = keys_new();
    if (keys_add_json(keys, json, strlen(json), &note) != KEYS_OK)
        fail_msg("%s", note.error);
    return keys;
}

EVP_PKEY *ed25519(void)
{
    static const unsigned char seed[32] = "a seed of an Ed25519 key, 32 byt";
    return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof seed);
}

void raw_public(EVP_PKEY *key, char *text)
{
    unsigned char raw[32];
    size_t n = sizeof raw;
    assert_int_equal(EVP_PKEY_get_raw_public_key(key, raw, &n), 1);
    put64(text, raw, n);
}

enum jwt_reason verify(const struct keys *keys, const char *token)
{
    struct jwt_claims claims;
    return jwt_verify(keys, token, strlen(token), NOW_MS, LEEWAY(0), &claims);
}

/* SPDX-License-Identifier: MIT */
#include "auth/seal.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <stdlib.h>
#include <string.h>

#include "auth/hmac.h"
#include "base/base64url.h"
#include "base/bytes.h"

enum { KEY_BYTES = 32, MAC_BYTES = 12, DATA_MAX = SEAL_BYTES };

static_assert(SEAL_VALUES * VARINT_MAX <= DATA_MAX, "numbers fit, too");

struct seal {
    EVP_MAC_CTX
    *mac; /* begins anew with its key for each text: setting up a key costs more than the MAC */
};

static bool derive(const void *secret, size_t n, unsigned char key[KEY_BYTES])
{
    char digest[] = "SHA256", info[] = "tidings seal 1";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)secret, n),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, sizeof info - 1),
        OSSL_PARAM_construct_end()};
    EVP_KDF *hkdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *ctx = hkdf ? EVP_KDF_CTX_new(hkdf) : NULL;
    bool ok = ctx && EVP_KDF_derive(ctx, key, KEY_BYTES, params) > 0;
    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(hkdf);
    return ok;
}

struct seal *seal_new(const void *secret, size_t n)
{
    unsigned char key[KEY_BYTES];
    if (n < 32 || !derive(secret, n, key))
        return NULL;
    struct seal *seal = calloc(1, sizeof *seal);
    if (seal)
        seal->mac = hmac_new(key, sizeof key);
    if (seal && !seal->mac) {
        seal_free(seal);
        seal = NULL;
    }
    OPENSSL_cleanse(key, sizeof key);
    return seal;
}

void seal_free(struct seal *seal)
{
    if (!seal)
        return;
    EVP_MAC_CTX_free(seal->mac);
    free(seal);
}

static bool compute(struct seal *seal, uint8_t purpose, uint64_t user_id, const uint8_t *data,
                    size_t n, unsigned char mac[HMAC_BYTES])
{
    /* Purpose and user have a fixed length, so no two inputs run together to the same bytes. */
    uint8_t bytes[1 + 8 + DATA_MAX];
    size_t length;
    bytes[0] = purpose;
    put_u64(bytes + 1, user_id);
    memcpy(bytes + 9, data, n);
    return EVP_MAC_init(seal->mac, NULL, 0, NULL) && EVP_MAC_update(seal->mac, bytes, 9 + n) &&
           EVP_MAC_final(seal->mac, mac, &length, HMAC_BYTES);
}

size_t seal_bytes(struct seal *seal, uint8_t purpose, uint64_t user_id, const uint8_t *bytes,
                  size_t n, char *text)
{
    uint8_t data[DATA_MAX + HMAC_BYTES];
    if (n > DATA_MAX)
        return 0;
    memcpy(data, bytes, n);
    if (!compute(seal, purpose, user_id, data, n, data + n))
        return 0;
    return base64url_encode(data, n + MAC_BYTES, text);
}

int seal_open_bytes(struct seal *seal, uint8_t purpose, uint64_t user_id, const char *text,
                    size_t text_n, uint8_t bytes[SEAL_BYTES])
{
    uint8_t data[DATA_MAX + MAC_BYTES];
    unsigned char right[HMAC_BYTES];
    size_t length;
    if (!base64url_decode(text, text_n, data, sizeof data, &length) || length < MAC_BYTES)
        return -1;
    length -= MAC_BYTES;
    if (!compute(seal, purpose, user_id, data, length, right) ||
        CRYPTO_memcmp(right, data + length, MAC_BYTES) != 0)
        return -1;
    memcpy(bytes, data, length);
    return (int)length;
}

size_t seal_text(struct seal *seal, uint8_t purpose, uint64_t user_id, const uint64_t *values,
                 size_t n, char *text)
{
    uint8_t bytes[SEAL_VALUES * VARINT_MAX];
    size_t length = 0;
    for (size_t i = 0; i < n && i < SEAL_VALUES; i++)
        length += put_varint(bytes + length, values[i]);
    return n > SEAL_VALUES ? 0 : seal_bytes(seal, purpose, user_id, bytes, length, text);
}

int seal_open_some(struct seal *seal, uint8_t purpose, uint64_t user_id, const char *text,
                   size_t text_n, uint64_t *values, size_t most)
{
    uint8_t bytes[SEAL_BYTES];
    uint64_t found[SEAL_VALUES];
    int length = seal_open_bytes(seal, purpose, user_id, text, text_n, bytes);
    size_t n = 0;
    if (most > SEAL_VALUES || length < 0)
        return -1;
    struct decoder decoder = decoder_of(bytes, (size_t)length);
    while (decoder_left(&decoder) && n < most)
        found[n++] = read_varint(&decoder);
    if (decoder.bad || decoder_left(&decoder))
        return -1;
    memcpy(values, found, n * sizeof *values);
    return (int)n;
}

bool seal_open(struct seal *seal, uint8_t purpose, uint64_t user_id, const char *text,
               size_t text_n, uint64_t *values, size_t n)
{
    uint64_t found[SEAL_VALUES];
    int n_found = seal_open_some(seal, purpose, user_id, text, text_n, found, n);
    if (n_found < 0 || (size_t)n_found != n)
        return false;
    memcpy(values, found, n * sizeof *values);
    return true;
}

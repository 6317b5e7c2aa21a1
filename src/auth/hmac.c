/* SPDX-License-Identifier: MIT */
#include "auth/hmac.h"

#include <openssl/core_names.h>

EVP_MAC_CTX *hmac_new(const void *key, size_t n)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                           OSSL_PARAM_construct_end()};
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
    EVP_MAC_free(hmac); /* the context has its own reference */
    if (ctx && !EVP_MAC_init(ctx, key, n, params)) {
        EVP_MAC_CTX_free(ctx);
        ctx = NULL;
    }
    return ctx;
}

/* SPDX-License-Identifier: MIT */
/* Keys of pairs: out of PEM, and out of JWKs (RFC 7517, 7518, 8037). */
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <string.h>

#include "auth/keys_internal.h"
#include "base/base64url.h"

enum {
    ED25519_BYTES = 32,
    P256_BYTES = 32,
    RSA_BITS_MIN = 2048,
    RSA_BITS_MAX = 8192,
    RSA_E_MAX = 4
};

/* ---- PEM ----------------------------------------------------------------------------------- */

/* A public key needs no password; this keeps OpenSSL from asking at the terminal. */
static int no_password(char *to, int size, int writing, void *ctx)
{
    (void)to, (void)size, (void)writing, (void)ctx;
    return -1;
}

static bool is_p256(const EVP_PKEY *pkey)
{
    char group[32];
    return EVP_PKEY_get_base_id(pkey) == EVP_PKEY_EC &&
           EVP_PKEY_get_group_name(pkey, group, sizeof group, NULL) == 1 &&
           !strcmp(group, "prime256v1");
}

static bool fits_alg(const EVP_PKEY *pkey, enum key_alg alg)
{
    if (alg == KEY_RS256)
        return EVP_PKEY_get_base_id(pkey) == EVP_PKEY_RSA &&
               EVP_PKEY_get_bits(pkey) >= RSA_BITS_MIN && EVP_PKEY_get_bits(pkey) <= RSA_BITS_MAX;
    if (alg == KEY_ES256)
        return is_p256(pkey);
    return EVP_PKEY_get_base_id(pkey) == EVP_PKEY_ED25519;
}

const char *key_take_pem(struct key *key, const json_t *entry)
{
    static const char *const wrong[] = {
        [KEY_EDDSA] = "the public_key is neither PEM nor base64url of an Ed25519 public key",
        [KEY_RS256] = "the public_key is not PEM of an RSA public key of 2048 to 8192 bits",
        [KEY_ES256] = "the public_key is not PEM of a P-256 public key",
    };
    unsigned char raw[ED25519_BYTES];
    size_t n, length;
    const char *text = key_string_of(entry, "public_key", &n);
    if (!text || json_object_get(entry, "secret"))
        return "RS256, ES256 and EdDSA need a public_key and no secret";
    if (n > 10 && !memcmp(text, "-----BEGIN", 10)) {
        BIO *bio = BIO_new_mem_buf(text, (int)n);
        key->pkey = bio ? PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL) : NULL;
        BIO_free(bio);
    } else if (key->alg == KEY_EDDSA && base64url_decode(text, n, raw, sizeof raw, &length) &&
               length == sizeof raw) {
        key->pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, raw, sizeof raw);
    }
    return key->pkey && fits_alg(key->pkey, key->alg) ? NULL : wrong[key->alg];
}

/* ---- JWK ----------------------------------------------------------------------------------- */

/* A member that is that string, or is not there. */
static bool may_be(const json_t *jwk, const char *name, const char *value)
{
    const json_t *member = json_object_get(jwk, name);
    return !member || (json_is_string(member) && !strcmp(json_string_value(member), value));
}

static bool is(const json_t *jwk, const char *name, const char *value)
{
    return json_object_get(jwk, name) && may_be(jwk, name, value);
}

/* At most `room` bytes of a member in base64url; 0 if it is none. */
static size_t bytes_in(const json_t *jwk, const char *name, unsigned char *bytes, size_t room)
{
    size_t n, length;
    const char *text = key_string_of(jwk, name, &n);
    return text && base64url_decode(text, n, bytes, room, &length) ? length : 0;
}

static const char *take_secret(struct key *key, const json_t *jwk)
{
    size_t n;
    const char *text = key_string_of(jwk, "k", &n);
    return text ? key_use_secret(key, text, n) : "an oct key needs k";
}

/* x must be the one that belongs to d: tokens are verified by others with x. */
static const char *take_ed25519(struct key *key, const json_t *jwk)
{
    unsigned char x[ED25519_BYTES], d[ED25519_BYTES], own[ED25519_BYTES];
    size_t n = sizeof own;
    if (bytes_in(jwk, "x", x, sizeof x) != sizeof x)
        return "x is not base64url of an Ed25519 public key";
    if (!json_object_get(jwk, "d")) {
        key->pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x, sizeof x);
        return key->pkey ? NULL : "x is not base64url of an Ed25519 public key";
    }
    bool fine = bytes_in(jwk, "d", d, sizeof d) == sizeof d;
    if (fine)
        key->pkey = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, d, sizeof d);
    OPENSSL_cleanse(d, sizeof d);
    key->is_private = key->pkey && EVP_PKEY_get_raw_public_key(key->pkey, own, &n) == 1 &&
                      !memcmp(own, x, sizeof x);
    return key->is_private ? NULL : "d is not base64url of the private key of x";
}

static EVP_PKEY *pkey_of(const char *type, OSSL_PARAM_BLD *build)
{
    EVP_PKEY *pkey = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    bool ok = params && ctx && EVP_PKEY_fromdata_init(ctx) == 1 &&
              EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY, params) == 1;
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    if (ok)
        return pkey;
    EVP_PKEY_free(pkey);
    return NULL;
}

/* A large e would make every verification slow. */
static const char *take_rsa(struct key *key, const json_t *jwk)
{
    unsigned char n_bytes[RSA_BITS_MAX / 8], e_bytes[RSA_E_MAX];
    size_t n = bytes_in(jwk, "n", n_bytes, sizeof n_bytes);
    size_t e = bytes_in(jwk, "e", e_bytes, sizeof e_bytes);
    if (!n || !e || !(n_bytes[n - 1] & 1) || !(e_bytes[e - 1] & 1) || (e == 1 && e_bytes[0] < 3))
        return "n and e are not base64url of an RSA public key";
    BIGNUM *big_n = BN_bin2bn(n_bytes, (int)n, NULL), *big_e = BN_bin2bn(e_bytes, (int)e, NULL);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    if (build && big_n && big_e && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, big_n) &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, big_e))
        key->pkey = pkey_of("RSA", build);
    OSSL_PARAM_BLD_free(build);
    BN_free(big_n);
    BN_free(big_e);
    return key->pkey && fits_alg(key->pkey, KEY_RS256) ? NULL
                                                       : "not an RSA key of 2048 to 8192 bits";
}

/* The point as SEC 1 has it, uncompressed. OpenSSL sees to it that it is on the curve. */
static const char *take_p256(struct key *key, const json_t *jwk)
{
    unsigned char point[1 + 2 * P256_BYTES] = {4};
    char group[] = "prime256v1";
    if (bytes_in(jwk, "x", point + 1, P256_BYTES) != P256_BYTES ||
        bytes_in(jwk, "y", point + 1 + P256_BYTES, P256_BYTES) != P256_BYTES)
        return "x and y are not base64url of a P-256 public key";
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    if (build && OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, group, 0) &&
        OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point))
        key->pkey = pkey_of("EC", build);
    OSSL_PARAM_BLD_free(build);
    return key->pkey ? NULL : "x and y are not base64url of a P-256 public key";
}

/* The algorithm that a JWK is for; false if it is none of ours. */
static bool find_alg(const json_t *jwk, enum key_alg *alg)
{
    bool ed25519 = is(jwk, "kty", "OKP") && is(jwk, "crv", "Ed25519");
    if (is(jwk, "kty", "oct"))
        *alg = KEY_HS256;
    else if (is(jwk, "kty", "RSA"))
        *alg = KEY_RS256;
    else if (is(jwk, "kty", "EC") && is(jwk, "crv", "P-256"))
        *alg = KEY_ES256;
    else if (ed25519)
        *alg = KEY_EDDSA;
    else
        return false;
    return may_be(jwk, "alg", key_alg_names[*alg]) || (ed25519 && is(jwk, "alg", "Ed25519"));
}

const char *jwk_add(struct keys *keys, const json_t *jwk, bool published)
{
    static const char *(*const take[])(struct key *, const json_t *) = {
        [KEY_HS256] = take_secret,
        [KEY_EDDSA] = take_ed25519,
        [KEY_RS256] = take_rsa,
        [KEY_ES256] = take_p256,
    };
    struct key parsed = {.not_after_s = TIME_MAX_S};
    if (!find_alg(jwk, &parsed.alg) || !may_be(jwk, "use", "sig") ||
        (published && parsed.alg == KEY_HS256))
        return NULL;
    if (json_object_get(jwk, "d") && published)
        return "a private key, which everybody can read there";
    if (json_object_get(jwk, "d") && parsed.alg != KEY_EDDSA)
        return "a private key: leave out d and what belongs to it";
    if (json_object_get(jwk, "kid") && !json_is_string(json_object_get(jwk, "kid")))
        return "the kid is not a string";
    const char *problem = key_take_kid(keys, &parsed, jwk);
    struct key *key = problem ? NULL : keys_add(keys, parsed.alg);
    if (!key)
        return problem ? problem : "too many keys";
    *key = parsed;
    return take[key->alg](key, jwk);
}

/* SPDX-License-Identifier: MIT */
/* Tokens, keys and seals: what must be accepted, and all the ways to forge one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <pthread.h>

#include "auth/jwt.h"
#include "auth/seal.h"
#include "base/base64url.h"

#define SECRET "0123456789abcdef0123456789abcdef"
#define OTHER  "another secret that is long enough!"
#define NOW_S  INT64_C(1700000000)
#define NOW_MS (NOW_S * 1000)

#define HS256 "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define GOOD  "{\"sub\":\"42\",\"exp\":1700000100}"

/* ---- Making tokens by hand ----------------------------------------------------------------- */

static size_t put64(char *to, const void *bytes, size_t n)
{
    size_t length = base64url_encode(bytes, n, to);
    to[length] = '\0';
    return length;
}

/* header.payload signed with HMAC-SHA-256; a static buffer. */
static const char *hs256(const char *header, const char *payload, const char *secret,
                         size_t secret_n)
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

static const char *token_with(const char *header, const char *payload)
{
    return hs256(header, payload, SECRET, strlen(SECRET));
}

static const char *eddsa(const char *header, const char *payload, EVP_PKEY *key)
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

static struct keys *keys_of(const char *lines)
{
    struct keys_note note;
    struct keys *keys = keys_new();
    assert_int_equal(keys_add_secrets(keys, lines, &note), KEYS_OK);
    return keys;
}

static struct keys *keys_from(const char *json)
{
    struct keys_note note;
    struct keys *keys = keys_new();
    if (keys_add_json(keys, json, strlen(json), &note) != KEYS_OK)
        fail_msg("%s", note.error);
    return keys;
}

static EVP_PKEY *ed25519(void)
{
    static const unsigned char seed[32] = "a seed of an Ed25519 key, 32 byt";
    return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof seed);
}

static void raw_public(EVP_PKEY *key, char *text)
{
    unsigned char raw[32];
    size_t n = sizeof raw;
    assert_int_equal(EVP_PKEY_get_raw_public_key(key, raw, &n), 1);
    put64(text, raw, n);
}

static enum jwt_reason verify(const struct keys *keys, const char *token)
{
    struct jwt_claims claims;
    return jwt_verify(keys, token, strlen(token), NOW_MS, 0, &claims);
}

/* ---- Good tokens --------------------------------------------------------------------------- */

static void a_good_token_says_who_asks(void **state)
{
    struct keys *keys = keys_of(SECRET);
    struct jwt_claims claims;
    (void)state;
    const char *token = token_with(HS256, GOOD);
    assert_int_equal(jwt_verify(keys, token, strlen(token), NOW_MS, 0, &claims), JWT_OK);
    assert_int_equal(claims.user_id, 42);
    assert_int_equal(claims.role, JWT_ROLE_USER);
    assert_int_equal(claims.until_ms, 1700000100000);
    token =
        token_with(HS256, "{\"sub\":\"9007199254740991\",\"exp\":1700000100,\"role\":\"admin\"}");
    assert_int_equal(jwt_verify(keys, token, strlen(token), NOW_MS, 0, &claims), JWT_OK);
    assert_true(claims.user_id == (UINT64_C(1) << 53) - 1);
    assert_int_equal(claims.role, JWT_ROLE_ADMIN);
    keys_unref(keys);
}

static void signing_and_verifying_agree(void **state)
{
    char token[JWT_MAX];
    struct jwt_claims claims;
    struct keys *keys = keys_of(SECRET "\n" OTHER "\n");
    struct keys *old = keys_of(OTHER "\r\n\n" SECRET);
    (void)state;
    assert_int_equal(keys_count(keys), 2);
    size_t n = jwt_sign_hs256(keys, 7, JWT_ROLE_SERVICE, NOW_S, 60, token);
    assert_true(n > 0 && n == strlen(token));
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS, 0, &claims), JWT_OK);
    assert_int_equal(claims.user_id, 7);
    assert_int_equal(claims.role, JWT_ROLE_SERVICE);
    assert_int_equal(jwt_verify(old, token, n, NOW_MS, 0, &claims), JWT_OK);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS + 60000, 0, &claims), JWT_EXPIRED);
    keys_unref(keys);
    keys_unref(old);
}

static void eddsa_keys_may_be_raw_or_pem(void **state)
{
    char raw[64], json[1024], pem[512], escaped[600];
    EVP_PKEY *key = ed25519();
    (void)state;
    raw_public(key, raw);
    snprintf(json, sizeof json,
             "{\"keys\":[{\"kid\":\"e\",\"alg\":\"EdDSA\",\"public_key\":\"%s\"}]}", raw);
    struct keys *keys = keys_from(json);
    const char *token = eddsa("{\"alg\":\"EdDSA\",\"kid\":\"e\"}", GOOD, key);
    assert_int_equal(verify(keys, token), JWT_OK);
    assert_int_equal(verify(keys, eddsa("{\"alg\":\"EdDSA\"}", GOOD, key)), JWT_UNKNOWN_KEY);
    keys_unref(keys);

    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PUBKEY(bio, key);
    int n = BIO_read(bio, pem, sizeof pem - 1);
    pem[n] = '\0';
    BIO_free(bio);
    char *to = escaped;
    for (const char *from = pem; *from; from++) {
        if (*from == '\n')
            *to++ = '\\';
        *to++ = *from == '\n' ? 'n' : *from;
    }
    *to = '\0';
    snprintf(json, sizeof json, "{\"keys\":[{\"alg\":\"EdDSA\",\"public_key\":\"%s\"}]}", escaped);
    keys = keys_from(json);
    assert_int_equal(verify(keys, eddsa("{\"alg\":\"EdDSA\"}", GOOD, key)), JWT_OK);
    keys_unref(keys);
    EVP_PKEY_free(key);
}

/* ---- Forgeries ----------------------------------------------------------------------------- */

static void every_flipped_bit_is_noticed(void **state)
{
    char token[512];
    struct keys *keys = keys_of(SECRET);
    (void)state;
    snprintf(token, sizeof token, "%s", token_with(HS256, GOOD));
    size_t n = strlen(token);
    assert_int_equal(verify(keys, token), JWT_OK);
    for (size_t i = 0; i < n; i++) {
        for (int bit = 0; bit < 8; bit++) {
            struct jwt_claims claims = {.user_id = 1234};
            token[i] = (char)(token[i] ^ 1 << bit);
            assert_int_not_equal(jwt_verify(keys, token, n, NOW_MS, 0, &claims), JWT_OK);
            assert_int_equal(claims.user_id, 1234);
            token[i] = (char)(token[i] ^ 1 << bit);
        }
    }
    for (size_t length = 0; length < n; length++) {
        struct jwt_claims claims;
        assert_int_not_equal(jwt_verify(keys, token, length, NOW_MS, 0, &claims), JWT_OK);
    }
    keys_unref(keys);
}

static void the_token_does_not_choose_its_algorithm(void **state)
{
    char raw[64], json[512], token[512];
    unsigned char public_key[32];
    size_t n = sizeof public_key;
    struct keys *keys = keys_of(SECRET);
    (void)state;
    static const char *const none[] = {"none",  "None",  "NONE",  "",       "HS384",
                                       "HS512", "RS256", "hs256", "HS256 ", "EdDSA"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        char header[64];
        snprintf(header, sizeof header, "{\"alg\":\"%s\"}", none[i]);
        assert_int_equal(verify(keys, token_with(header, GOOD)), JWT_ALGORITHM);
        /* and the same with the signature left out */
        snprintf(token, sizeof token, "%s", token_with(header, GOOD));
        strrchr(token, '.')[1] = '\0';
        assert_int_equal(verify(keys, token), JWT_MALFORMED);
    }
    assert_int_equal(verify(keys, token_with("{\"typ\":\"JWT\"}", GOOD)), JWT_ALGORITHM);
    assert_int_equal(verify(keys, token_with("{\"alg\":5}", GOOD)), JWT_ALGORITHM);
    assert_int_equal(verify(keys, token_with("{\"alg\":[\"HS256\"]}", GOOD)), JWT_ALGORITHM);
    keys_unref(keys);

    /* Confusion: the public key, which everybody knows, used as an HMAC secret. */
    EVP_PKEY *key = ed25519();
    raw_public(key, raw);
    EVP_PKEY_get_raw_public_key(key, public_key, &n);
    snprintf(json, sizeof json, "{\"keys\":[{\"alg\":\"EdDSA\",\"public_key\":\"%s\"}]}", raw);
    keys = keys_from(json);
    assert_int_equal(verify(keys, hs256(HS256, GOOD, (char *)public_key, 32)), JWT_ALGORITHM);
    assert_int_equal(verify(keys, hs256(HS256, GOOD, raw, strlen(raw))), JWT_ALGORITHM);
    assert_int_equal(verify(keys, hs256("{\"alg\":\"EdDSA\"}", GOOD, (char *)public_key, 32)),
                     JWT_SIGNATURE);
    EVP_PKEY_free(key);
    keys_unref(keys);
}

static void the_kid_chooses_exactly_one_key(void **state)
{
    char a[64], b[64], json[512];
    (void)state;
    put64(a, SECRET, strlen(SECRET));
    put64(b, OTHER, strlen(OTHER));
    snprintf(json, sizeof json,
             "{\"keys\":[{\"kid\":\"a\",\"alg\":\"HS256\",\"secret\":\"%s\"},"
             "{\"kid\":\"b\",\"alg\":\"HS256\",\"secret\":\"%s\"}]}",
             a, b);
    struct keys *keys = keys_from(json);
    assert_int_equal(verify(keys, token_with("{\"alg\":\"HS256\",\"kid\":\"a\"}", GOOD)), JWT_OK);
    assert_int_equal(verify(keys, token_with("{\"alg\":\"HS256\",\"kid\":\"b\"}", GOOD)),
                     JWT_SIGNATURE);
    assert_int_equal(verify(keys, token_with("{\"alg\":\"HS256\",\"kid\":\"c\"}", GOOD)),
                     JWT_UNKNOWN_KEY);
    assert_int_equal(verify(keys, token_with("{\"alg\":\"HS256\",\"kid\":\"\"}", GOOD)),
                     JWT_UNKNOWN_KEY);
    assert_int_equal(verify(keys, token_with("{\"alg\":\"HS256\",\"kid\":7}", GOOD)),
                     JWT_UNKNOWN_KEY);
    assert_int_equal(verify(keys, token_with(HS256, GOOD)), JWT_UNKNOWN_KEY);
    keys_unref(keys);
    keys = keys_of(SECRET);
    assert_int_equal(verify(keys, token_with("{\"alg\":\"HS256\",\"kid\":\"a\"}", GOOD)),
                     JWT_UNKNOWN_KEY);
    keys_unref(keys);
}

static void a_key_holds_only_in_its_time(void **state)
{
    char a[64], json[512];
    struct jwt_claims claims;
    (void)state;
    put64(a, SECRET, strlen(SECRET));
    snprintf(
        json, sizeof json,
        "{\"keys\":[{\"alg\":\"HS256\",\"secret\":\"%s\",\"not_before\":%d,\"not_after\":%d}]}", a,
        (int)NOW_S, (int)NOW_S + 10);
    struct keys *keys = keys_from(json);
    const char *token = token_with(HS256, GOOD);
    size_t n = strlen(token);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS - 1, 60, &claims), JWT_KEY_TIME);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS, 0, &claims), JWT_OK);
    assert_int_equal(claims.until_ms, NOW_MS + 10000);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS + 10000, 60, &claims), JWT_KEY_TIME);
    keys_unref(keys);
}

static void bad_claims_are_refused_one_by_one(void **state)
{
    static const struct {
        const char *payload;
        enum jwt_reason reason;
    } cases[] = {
        {"{\"sub\":\"42\"}", JWT_TIME},
        {"{\"sub\":\"42\",\"exp\":1700000100.5}", JWT_OK},
        {"{\"sub\":\"42\",\"exp\":1700000000.001}", JWT_OK},
        {"{\"sub\":\"42\",\"exp\":1700000000.0}", JWT_EXPIRED},
        {"{\"sub\":\"42\",\"exp\":1699999999.999}", JWT_EXPIRED},
        {"{\"sub\":\"42\",\"exp\":1.7e9}", JWT_EXPIRED},
        {"{\"sub\":\"42\",\"exp\":1.8e9}", JWT_OK},
        {"{\"sub\":\"42\",\"exp\":1e300}", JWT_TIME},
        {"{\"sub\":\"42\",\"exp\":-0.5}", JWT_TIME},
        {"{\"sub\":\"42\",\"exp\":1e999}", JWT_MALFORMED},
        {"{\"sub\":\"42\",\"exp\":\"1700000100\"}", JWT_TIME},
        {"{\"sub\":\"42\",\"exp\":-1}", JWT_TIME},
        {"{\"sub\":\"42\",\"exp\":null}", JWT_TIME},
        {"{\"sub\":\"42\",\"exp\":9223372036854775807}", JWT_TIME},
        {"{\"sub\":\"42\",\"exp\":99999999999999999999}", JWT_MALFORMED},
        {"{\"sub\":\"42\",\"exp\":1700000000}", JWT_EXPIRED},
        {"{\"sub\":\"42\",\"exp\":0}", JWT_EXPIRED},
        {"{\"sub\":\"42\",\"exp\":1700000100,\"nbf\":1700000001}", JWT_NOT_YET},
        {"{\"sub\":\"42\",\"exp\":1700000100,\"iat\":1700000001}", JWT_NOT_YET},
        {"{\"sub\":\"42\",\"exp\":1700000100,\"nbf\":1700000000,\"iat\":1700000000}", JWT_OK},
        {"{\"sub\":\"42\",\"exp\":1700000100,\"nbf\":\"x\"}", JWT_TIME},
        {"{\"sub\":\"42\",\"exp\":1700000100,\"iat\":1.5}", JWT_OK},
        {"{\"sub\":\"42\",\"exp\":1700000100,\"iat\":1700000000.001}", JWT_NOT_YET},
        {"{\"sub\":\"42\",\"exp\":1700000100,\"nbf\":1699999999.9}", JWT_OK},
        {"{\"sub\":\"42\",\"exp\":1700000100,\"nbf\":true}", JWT_TIME},
        {"{\"exp\":1700000100}", JWT_SUBJECT},
        {"{\"sub\":42,\"exp\":1700000100}", JWT_SUBJECT},
        {"{\"sub\":\"\",\"exp\":1700000100}", JWT_SUBJECT},
        {"{\"sub\":\"0\",\"exp\":1700000100}", JWT_SUBJECT},
        {"{\"sub\":\"042\",\"exp\":1700000100}", JWT_SUBJECT},
        {"{\"sub\":\"+42\",\"exp\":1700000100}", JWT_SUBJECT},
        {"{\"sub\":\"-42\",\"exp\":1700000100}", JWT_SUBJECT},
        {"{\"sub\":\" 42\",\"exp\":1700000100}", JWT_SUBJECT},
        {"{\"sub\":\"42 \",\"exp\":1700000100}", JWT_SUBJECT},
        {"{\"sub\":\"4.2\",\"exp\":1700000100}", JWT_SUBJECT},
        {"{\"sub\":\"42\\u0000\",\"exp\":1700000100}", JWT_MALFORMED},
        {"{\"sub\":\"9007199254740992\",\"exp\":1700000100}", JWT_SUBJECT},
        {"{\"sub\":\"18446744073709551617\",\"exp\":1700000100}", JWT_SUBJECT},
        {"{\"sub\":\"42\",\"exp\":1700000100,\"role\":\"root\"}", JWT_ROLE},
        {"{\"sub\":\"42\",\"exp\":1700000100,\"role\":\"Admin\"}", JWT_ROLE},
        {"{\"sub\":\"42\",\"exp\":1700000100,\"role\":null}", JWT_ROLE},
        {"{\"sub\":\"42\",\"exp\":1700000100,\"role\":[\"admin\"]}", JWT_ROLE},
        {"{\"sub\":\"42\",\"sub\":\"43\",\"exp\":1700000100}", JWT_MALFORMED},
        {"{\"sub\":\"42\",\"exp\":1,\"exp\":1700000100}", JWT_MALFORMED},
        {"{\"sub\":\"42\",\"exp\":1700000100,\"role\":\"user\",\"role\":\"admin\"}", JWT_MALFORMED},
        {"{\"sub\":\"42\",\"exp\":1700000100}{}", JWT_MALFORMED},
        {"{\"sub\":\"42\",\"exp\":1700000100} x", JWT_MALFORMED},
        {"[\"sub\",\"42\"]", JWT_MALFORMED},
        {"\"sub\"", JWT_MALFORMED},
        {"null", JWT_MALFORMED},
        {"{", JWT_MALFORMED},
        {"\xff", JWT_MALFORMED},
    };
    struct keys *keys = keys_of(SECRET);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum jwt_reason got = verify(keys, token_with(HS256, cases[i].payload));
        if (got != cases[i].reason)
            fail_msg("%s: %s", cases[i].payload, jwt_reason_label(got));
    }
    keys_unref(keys);
}

static void bad_headers_are_refused(void **state)
{
    static const struct {
        const char *header;
        enum jwt_reason reason;
    } cases[] = {
        {"{\"alg\":\"HS256\",\"crit\":[\"exp\"]}", JWT_CRITICAL},
        {"{\"alg\":\"HS256\",\"crit\":[]}", JWT_CRITICAL},
        {"{\"alg\":\"none\",\"alg\":\"HS256\"}", JWT_MALFORMED},
        {"{\"alg\":\"HS256\"} ", JWT_OK},
        {"{\"alg\":\"HS256\"}x", JWT_MALFORMED},
        {"[]", JWT_MALFORMED},
        {"HS256", JWT_MALFORMED},
    };
    struct keys *keys = keys_of(SECRET);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(verify(keys, token_with(cases[i].header, GOOD)), cases[i].reason);
    keys_unref(keys);
}

static void only_three_canonical_parts_are_a_token(void **state)
{
    char token[512], changed[600];
    struct keys *keys = keys_of(SECRET);
    (void)state;
    snprintf(token, sizeof token, "%s", token_with(HS256, GOOD));
    static const char *const around[] = {" %s", "%s ",     "%s\n", "%s=",    "%s.",
                                         ".%s", "%s.AAAA", "\t%s", "%s\r\n", "Bearer %s"};
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        snprintf(changed, sizeof changed, around[i], token);
        assert_int_not_equal(verify(keys, changed), JWT_OK);
    }
    static const char *const garbage[] = {"",      ".",    "..",       "...",      "a.b",
                                          "a.b.c", "....", "e30.e30.", ".e30.e30", "e30..e30"};
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++)
        assert_int_not_equal(verify(keys, garbage[i]), JWT_OK);
    /* The last character of a 32-byte signature carries two idle bits: three other spellings. */
    size_t n = strlen(token);
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (int i = 1; i < 4; i++) {
        snprintf(changed, sizeof changed, "%s", token);
        changed[n - 1] = alphabet[(strchr(alphabet, token[n - 1]) - alphabet) ^ i];
        assert_int_equal(verify(keys, changed), JWT_MALFORMED);
    }
    keys_unref(keys);
}

static void size_is_checked_before_anything_else(void **state)
{
    static char payload[9000], pad[8000];
    struct keys *keys = keys_of(SECRET);
    (void)state;
    memset(pad, 'x', sizeof pad - 1);
    snprintf(payload, sizeof payload, "{\"sub\":\"42\",\"exp\":1700000100,\"pad\":\"%s\"}", pad);
    assert_int_equal(verify(keys, token_with(HS256, payload)), JWT_TOO_LONG);
    snprintf(payload, sizeof payload, "{\"sub\":\"42\",\"exp\":1700000100,\"pad\":\"%.2500s\"}",
             pad);
    assert_int_equal(verify(keys, token_with(HS256, payload)), JWT_OK);
    keys_unref(keys);
}

static void leeway_moves_both_ends(void **state)
{
    struct keys *keys = keys_of(SECRET);
    struct jwt_claims claims;
    (void)state;
    const char *token = token_with(HS256, "{\"sub\":\"42\",\"nbf\":1700000000,\"exp\":1700000100}");
    size_t n = strlen(token);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS - 1, 0, &claims), JWT_NOT_YET);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS - 30000, 30, &claims), JWT_OK);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS - 30001, 30, &claims), JWT_NOT_YET);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS + 99999, 0, &claims), JWT_OK);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS + 100000, 0, &claims), JWT_EXPIRED);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS + 129999, 30, &claims), JWT_OK);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS + 130000, 30, &claims), JWT_EXPIRED);
    keys_unref(keys);
}

/* ---- The verifier with a memory ------------------------------------------------------------ */

static void the_memory_forgets_in_time(void **state)
{
    char token[512];
    struct jwt_claims claims;
    struct keyring *ring = keyring_new(keys_of(SECRET));
    struct jwt_verifier *verifier = jwt_verifier_new(ring, 64, 0);
    (void)state;
    snprintf(token, sizeof token, "%s", token_with(HS256, GOOD));
    size_t n = strlen(token);
    for (int i = 0; i < 3; i++) {
        memset(&claims, 0, sizeof claims);
        assert_int_equal(jwt_verifier_check(verifier, token, n, NOW_MS, &claims), JWT_OK);
        assert_int_equal(claims.user_id, 42);
    }
    assert_int_equal(jwt_verifier_check(verifier, token, n, NOW_MS + 99999, &claims), JWT_OK);
    assert_int_equal(jwt_verifier_check(verifier, token, n, NOW_MS + 100000, &claims), JWT_EXPIRED);
    assert_int_equal(jwt_verifier_check(verifier, token, n, NOW_MS, &claims), JWT_OK);
    token[n - 1] ^= 1;
    assert_int_not_equal(jwt_verifier_check(verifier, token, n, NOW_MS, &claims), JWT_OK);
    jwt_verifier_free(verifier);
    keyring_free(ring);
}

static void a_removed_key_is_refused_from_the_next_request_on(void **state)
{
    char token[512];
    struct jwt_claims claims;
    struct keyring *ring = keyring_new(keys_of(SECRET));
    struct jwt_verifier *verifier = jwt_verifier_new(ring, 64, 0);
    (void)state;
    snprintf(token, sizeof token, "%s", token_with(HS256, GOOD));
    size_t n = strlen(token);
    assert_int_equal(jwt_verifier_check(verifier, token, n, NOW_MS, &claims), JWT_OK);
    keyring_swap(ring, keys_of(OTHER "\n" SECRET));
    assert_int_equal(jwt_verifier_check(verifier, token, n, NOW_MS, &claims), JWT_OK);
    keyring_swap(ring, keys_of(OTHER));
    assert_int_equal(jwt_verifier_check(verifier, token, n, NOW_MS, &claims), JWT_SIGNATURE);
    jwt_verifier_free(verifier);
    keyring_free(ring);
}

static void the_memory_mixes_no_tokens_up(void **state)
{
    char token[JWT_MAX];
    struct keys *keys = keys_of(SECRET);
    struct keyring *ring = keyring_new(keys_ref(keys));
    struct jwt_verifier *verifier = jwt_verifier_new(ring, 8, 0);
    struct jwt_verifier *without = jwt_verifier_new(ring, 0, 0);
    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        struct jwt_claims claims;
        uint64_t user = round * 7919 % 40 + 1;
        size_t n = jwt_sign_hs256(keys, user, (enum jwt_role)(user % 3), NOW_S, 60, token);
        assert_int_equal(jwt_verifier_check(verifier, token, n, NOW_MS, &claims), JWT_OK);
        assert_int_equal(claims.user_id, user);
        assert_int_equal(claims.role, user % 3);
        assert_int_equal(jwt_verifier_check(without, token, n, NOW_MS, &claims), JWT_OK);
        assert_int_equal(claims.user_id, user);
    }
    jwt_verifier_free(verifier);
    jwt_verifier_free(without);
    keyring_free(ring);
    keys_unref(keys);
}

/* One thread replaces the keys while others verify: each of them sees one set or the other, whole.
 */
static void *verify_all_the_time(void *arg)
{
    struct keyring *ring = arg;
    struct jwt_verifier *verifier = jwt_verifier_new(ring, 16, 0);
    struct keys *keys = keys_of(SECRET);
    char token[JWT_MAX];
    size_t n = jwt_sign_hs256(keys, 42, JWT_ROLE_USER, NOW_S, 60, token), failures = 0;
    for (int i = 0; i < 20000; i++) {
        struct jwt_claims claims;
        enum jwt_reason reason = jwt_verifier_check(verifier, token, n, NOW_MS, &claims);
        failures += reason != JWT_OK && reason != JWT_SIGNATURE;
    }
    keys_unref(keys);
    jwt_verifier_free(verifier);
    return (void *)failures;
}

static void keys_are_replaced_under_load(void **state)
{
    struct keyring *ring = keyring_new(keys_of(SECRET));
    pthread_t threads[4];
    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, verify_all_the_time, ring), 0);
    for (int i = 0; i < 300; i++)
        keyring_swap(ring, keys_of(i % 2 ? SECRET : OTHER));
    for (size_t i = 0; i < 4; i++) {
        void *failures;
        pthread_join(threads[i], &failures);
        assert_null(failures);
    }
    keyring_free(ring);
}

/* ---- Keys ---------------------------------------------------------------------------------- */

static void bad_secrets_are_named_by_line_and_not_quoted(void **state)
{
    struct keys_note note;
    struct keys *keys = keys_new();
    (void)state;
    assert_int_equal(keys_add_secrets(keys, SECRET "\nshort-secret\n", &note), KEYS_ERR_INVALID);
    assert_non_null(strstr(note.error, "secret 2"));
    assert_null(strstr(note.error, "short-secret"));
    keys_unref(keys);
    keys = keys_new();
    assert_int_equal(keys_add_secrets(keys, "-----BEGIN PUBLIC KEY-----MCowBQYDK2VwAyEA", &note),
                     KEYS_ERR_INVALID);
    keys_unref(keys);
    /* A comma is a character like any other. */
    keys = keys_of("a secret, with a comma, of 32 bytes at least");
    assert_int_equal(keys_count(keys), 1);
    keys_unref(keys);
}

static void bad_key_files_are_refused_with_the_entry(void **state)
{
#define S "\"secret\":\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\""
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"keys\":[]}",
        "{\"keys\":{}}",
        "{\"keys\":[1]}",
        "{\"keys\":[{}]}",
        "{\"keys\":[{\"alg\":\"HS256\"}]}",
        "{\"keys\":[{\"alg\":\"HS512\"," S "}]}",
        "{\"keys\":[{\"alg\":\"none\"," S "}]}",
        "{\"keys\":[{\"alg\":\"EdDSA\"," S "}]}",
        "{\"keys\":[{\"alg\":\"HS256\",\"secret\":\"c2hvcnQ\"}]}",
        "{\"keys\":[{\"alg\":\"HS256\",\"secret\":\"not base64!\"}]}",
        "{\"keys\":[{\"alg\":\"HS256\",\"public_key\":\"x\"," S "}]}",
        "{\"keys\":[{\"alg\":\"HS256\",\"kid\":\"\"," S "}]}",
        "{\"keys\":[{\"alg\":\"HS256\",\"kid\":\"a b\"," S "}]}",
        "{\"keys\":[{\"alg\":\"HS256\",\"kid\":5," S "}]}",
        "{\"keys\":[{\"alg\":\"HS256\",\"kid\":\"a\"," S "},{\"alg\":\"HS256\",\"kid\":\"a\"," S
        "}]}",
        "{\"keys\":[{\"alg\":\"HS256\",\"exp\":5," S "}]}",
        "{\"keys\":[{\"alg\":\"HS256\",\"not_after\":\"5\"," S "}]}",
        "{\"keys\":[{\"alg\":\"HS256\",\"not_after\":-5," S "}]}",
        "{\"keys\":[{\"alg\":\"HS256\",\"not_before\":6,\"not_after\":5," S "}]}",
        "{\"keys\":[{\"alg\":\"HS256\",\"alg\":\"HS256\"," S "}]}",
        "{\"keys\":[{\"alg\":\"HS256\"," S "}],\"more\":1}",
        "{\"keys\":[{\"alg\":\"EdDSA\",\"public_key\":\"AAAA\"}]}",
        "{\"keys\":[{\"alg\":\"EdDSA\",\"public_key\":\"-----BEGIN PUBLIC KEY-----\\nAA==\"}]}",
    };
#undef S
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct keys_note note;
        struct keys *keys = keys_new();
        assert_int_equal(keys_add_json(keys, bad[i], strlen(bad[i]), &note), KEYS_ERR_INVALID);
        assert_true(strlen(note.error) > 0);
        assert_null(strstr(note.error, "MDEy"));
        keys_unref(keys);
    }
}

static void a_keys_file_open_to_others_is_warned_about(void **state)
{
    char path[] = "/tmp/test_auth_keys_XXXXXX";
    static const char json[] = "{\"keys\":[{\"alg\":\"HS256\",\"secret\":"
                               "\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\"}]}";
    struct keys_note note;
    struct keys *keys = keys_new();
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, json, sizeof json - 1), sizeof json - 1);
    assert_int_equal(keys_add_file(keys, path, &note), KEYS_OK);
    assert_string_equal(note.warning, "");
    assert_int_equal(verify(keys, token_with(HS256, GOOD)), JWT_OK);
    assert_int_equal(fchmod(fd, 0644), 0);
    assert_int_equal(keys_add_file(keys, path, &note), KEYS_OK);
    assert_non_null(strstr(note.warning, "644"));
    close(fd);
    unlink(path);
    assert_int_equal(keys_add_file(keys, path, &note), KEYS_ERR_READ);
    assert_true(strlen(note.error) > 0);
    keys_unref(keys);
}

/* ---- Seals --------------------------------------------------------------------------------- */

static void seals_open_for_their_user_and_purpose_only(void **state)
{
    static const uint64_t values[4] = {0, 1, UINT64_MAX, 1700000000000};
    char text[SEAL_TEXT_MAX];
    uint64_t out[4];
    struct seal *seal = seal_new(SECRET, strlen(SECRET));
    struct seal *same = seal_new(SECRET, strlen(SECRET));
    struct seal *other = seal_new(OTHER, strlen(OTHER));
    (void)state;
    for (size_t n = 0; n <= 4; n++) {
        size_t length = seal_text(seal, 3, 42, values, n, text);
        assert_true(length > 0 && length <= SEAL_TEXT_MAX);
        assert_true(seal_open(same, 3, 42, text, length, out, n));
        assert_memory_equal(values, out, n * sizeof *values);
        assert_false(seal_open(seal, 4, 42, text, length, out, n));
        assert_false(seal_open(seal, 3, 43, text, length, out, n));
        assert_false(seal_open(other, 3, 42, text, length, out, n));
        for (size_t wrong = 0; wrong <= 4; wrong++)
            assert_int_equal(seal_open(seal, 3, 42, text, length, out, wrong), wrong == n);
    }
    assert_int_equal(seal_text(seal, 3, 42, values, 5, text), 0);
    assert_null(seal_new("short", 5));
    seal_free(seal);
    seal_free(same);
    seal_free(other);
}

static void a_seal_with_any_bit_changed_stays_shut(void **state)
{
    static const uint64_t values[2] = {123456789, 987654321};
    char text[SEAL_TEXT_MAX + 1];
    uint64_t out[2] = {7, 7};
    struct seal *seal = seal_new(SECRET, strlen(SECRET));
    (void)state;
    size_t n = seal_text(seal, 1, 42, values, 2, text);
    for (size_t i = 0; i < n; i++) {
        for (int bit = 0; bit < 8; bit++) {
            text[i] = (char)(text[i] ^ 1 << bit);
            assert_false(seal_open(seal, 1, 42, text, n, out, 2));
            text[i] = (char)(text[i] ^ 1 << bit);
        }
    }
    for (size_t length = 0; length < n; length++)
        assert_false(seal_open(seal, 1, 42, text, length, out, 2));
    text[n] = 'A';
    assert_false(seal_open(seal, 1, 42, text, n + 1, out, 2));
    assert_int_equal(out[0], 7);
    assert_true(seal_open(seal, 1, 42, text, n, out, 2));
    seal_free(seal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_token_says_who_asks),
        cmocka_unit_test(signing_and_verifying_agree),
        cmocka_unit_test(eddsa_keys_may_be_raw_or_pem),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(the_token_does_not_choose_its_algorithm),
        cmocka_unit_test(the_kid_chooses_exactly_one_key),
        cmocka_unit_test(a_key_holds_only_in_its_time),
        cmocka_unit_test(bad_claims_are_refused_one_by_one),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(only_three_canonical_parts_are_a_token),
        cmocka_unit_test(size_is_checked_before_anything_else),
        cmocka_unit_test(leeway_moves_both_ends),
        cmocka_unit_test(the_memory_forgets_in_time),
        cmocka_unit_test(a_removed_key_is_refused_from_the_next_request_on),
        cmocka_unit_test(the_memory_mixes_no_tokens_up),
        cmocka_unit_test(keys_are_replaced_under_load),
        cmocka_unit_test(bad_secrets_are_named_by_line_and_not_quoted),
        cmocka_unit_test(bad_key_files_are_refused_with_the_entry),
        cmocka_unit_test(a_keys_file_open_to_others_is_warned_about),
        cmocka_unit_test(seals_open_for_their_user_and_purpose_only),
        cmocka_unit_test(a_seal_with_any_bit_changed_stays_shut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Tokens: what must be accepted, and all the ways to forge one. */
#include <string.h>

#include <openssl/pem.h>

#include "http_layer/tokens.h"

/* ---- Good tokens --------------------------------------------------------------------------- */

static void a_good_token_says_who_asks(void **state)
{
    struct keys *keys = keys_of(SECRET);
    struct jwt_claims claims;
    (void)state;
    const char *token = token_with(HS256, GOOD);
    assert_int_equal(jwt_verify(keys, token, strlen(token), NOW_MS, LEEWAY(0), &claims), JWT_OK);
    assert_int_equal(claims.user_id, 42);
    assert_int_equal(claims.role, JWT_ROLE_USER);
    assert_int_equal(claims.until_ms, 1700000100000);
    token =
        token_with(HS256, "{\"sub\":\"9007199254740991\",\"exp\":1700000100,\"role\":\"admin\"}");
    assert_int_equal(jwt_verify(keys, token, strlen(token), NOW_MS, LEEWAY(0), &claims), JWT_OK);
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
    size_t n = jwt_sign(keys, GRANT(7, JWT_ROLE_SERVICE, 60), NOW_S, token);
    assert_true(n > 0 && n == strlen(token));
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS, LEEWAY(0), &claims), JWT_OK);
    assert_int_equal(claims.user_id, 7);
    assert_int_equal(claims.role, JWT_ROLE_SERVICE);
    assert_int_equal(jwt_verify(old, token, n, NOW_MS, LEEWAY(0), &claims), JWT_OK);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS + 60000, LEEWAY(0), &claims), JWT_EXPIRED);
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
            assert_int_not_equal(jwt_verify(keys, token, n, NOW_MS, LEEWAY(0), &claims), JWT_OK);
            assert_int_equal(claims.user_id, 1234);
            token[i] = (char)(token[i] ^ 1 << bit);
        }
    }
    for (size_t length = 0; length < n; length++) {
        struct jwt_claims claims;
        assert_int_not_equal(jwt_verify(keys, token, length, NOW_MS, LEEWAY(0), &claims), JWT_OK);
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
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS - 1, LEEWAY(60), &claims), JWT_KEY_TIME);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS, LEEWAY(0), &claims), JWT_OK);
    assert_int_equal(claims.until_ms, NOW_MS + 10000);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS + 10000, LEEWAY(60), &claims), JWT_KEY_TIME);
    keys_unref(keys);
}

static void bad_claims_are_refused_one_by_one(void **state)
{
    static const struct {
        const char *payload;
        enum jwt_reason reason;
    } cases[] = {
        {"{\"sub\":\"42\"}", JWT_NO_EXPIRY},
        {"{\"sub\":\"42\",\"exp\":1700000100000}", JWT_MILLISECONDS},
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
        {"{\"exp\":1700000100}", JWT_SUBJECT_TYPE},
        {"{\"sub\":42,\"exp\":1700000100}", JWT_SUBJECT_TYPE},
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
        {"{\"sub\":\"42\",\"exp\":1700000100,\"role\":null}", JWT_ROLE_NULL},
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
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS - 1, LEEWAY(0), &claims), JWT_NOT_YET);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS - 30000, LEEWAY(30), &claims), JWT_OK);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS - 30001, LEEWAY(30), &claims), JWT_NOT_YET);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS + 99999, LEEWAY(0), &claims), JWT_OK);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS + 100000, LEEWAY(0), &claims), JWT_EXPIRED);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS + 129999, LEEWAY(30), &claims), JWT_OK);
    assert_int_equal(jwt_verify(keys, token, n, NOW_MS + 130000, LEEWAY(30), &claims), JWT_EXPIRED);
    keys_unref(keys);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Tokens, keys files and seals from arbitrary bytes. The first byte chooses; nothing that was not
 * signed with our secret may be accepted, with one exception: a token whose payload the fuzzer
 * wrote and we signed, to reach the code behind the signature.
 */
// sources: src/auth/*.c src/base/base64url.c src/base/buf.c src/base/json_out.c src/base/utf8.c
// libs: -lcrypto -ljansson -lcurl
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "auth/jwt.h"
#include "auth/seal.h"
#include "base/base64url.h"

#define LEEWAY(s) (&(const struct jwt_rules){.leeway_s = (s)})
#define SECRET    "0123456789abcdef0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

static struct keys *our_keys(void)
{
    static const char json[] =
        "{\"keys\":[{\"kid\":\"a\",\"alg\":\"HS256\",\"secret\":"
        "\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\"},{\"kid\":\"e\",\"alg\":\"EdDSA\","
        "\"public_key\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}";
    static struct keys *keys;
    struct keys_note note;
    if (!keys) {
        keys = keys_new();
        CHECK(keys_add_secrets(keys, SECRET, &note) == KEYS_OK);
        CHECK(keys_add_json(keys, json, sizeof json - 1, &note) == KEYS_OK);
    }
    return keys;
}

static void fuzz_token(const uint8_t *data, size_t size)
{
    struct jwt_claims claims;
    enum jwt_reason reason = jwt_verify(our_keys(), (const char *)data, size,
                                        INT64_C(1700000000000), LEEWAY(0), &claims);
    CHECK(reason != JWT_OK);
    CHECK(jwt_reason_label(reason));
}

/* header NUL payload, signed by us. */
static void fuzz_signed(const uint8_t *data, size_t size)
{
    static char token[3 * JWT_MAX];
    struct jwt_claims claims;
    unsigned char mac[32];
    unsigned mac_n;
    const uint8_t *mark = memchr(data, 0, size);
    if (!mark || size > JWT_MAX)
        return;
    size_t at = base64url_encode(data, (size_t)(mark - data), token);
    token[at++] = '.';
    at += base64url_encode(mark + 1, size - (size_t)(mark - data) - 1, token + at);
    HMAC(EVP_sha256(), SECRET, 32, (unsigned char *)token, at, mac, &mac_n);
    token[at++] = '.';
    at += base64url_encode(mac, sizeof mac, token + at);
    enum jwt_reason reason =
        jwt_verify(our_keys(), token, at, INT64_C(1700000000000), LEEWAY(0), &claims);
    if (reason == JWT_OK) {
        CHECK(claims.user_id >= 1 && claims.user_id < UINT64_C(1) << 53);
        CHECK(claims.role <= JWT_ROLE_ADMIN);
        CHECK(claims.from_ms <= INT64_C(1700000000000) && claims.until_ms > INT64_C(1700000000000));
    }
}

static void fuzz_keys(const uint8_t *data, size_t size)
{
    struct keys_note note;
    struct keys *keys = keys_new();
    if (keys_add_json(keys, (const char *)data, size, &note) == KEYS_OK)
        CHECK(keys_count(keys) > 0);
    else
        CHECK(*note.error);
    keys_unref(keys);
    keys = keys_new();
    if (keys_add_published(keys, (const char *)data, size, &note) == KEYS_OK)
        CHECK(keys_count(keys) > 0);
    keys_unref(keys);
    char *lines = malloc(size + 1);
    CHECK(lines);
    memcpy(lines, data, size);
    lines[size] = '\0';
    keys = keys_new();
    keys_add_secrets(keys, lines, &note);
    keys_unref(keys);
    free(lines);
}

static void fuzz_seal(const uint8_t *data, size_t size)
{
    static struct seal *seal;
    uint64_t values[SEAL_VALUES] = {0}, back[SEAL_VALUES];
    char text[SEAL_TEXT_MAX];
    if (!seal)
        seal = seal_new(SECRET, 32);
    for (size_t n = 0; n <= SEAL_VALUES; n++)
        CHECK(!seal_open(seal, 1, 42, (const char *)data, size, back, n));
    memcpy(values, data, size < sizeof values ? size : sizeof values);
    size_t length = seal_text(seal, 1, 42, values, SEAL_VALUES, text);
    CHECK(length && length <= SEAL_TEXT_MAX);
    CHECK(seal_open(seal, 1, 42, text, length, back, SEAL_VALUES));
    CHECK(!memcmp(values, back, sizeof values));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    switch (data[0] & 3) {
    case 0:
        fuzz_token(data + 1, size - 1);
        break;
    case 1:
        fuzz_signed(data + 1, size - 1);
        break;
    case 2:
        fuzz_keys(data + 1, size - 1);
        break;
    case 3:
        fuzz_seal(data + 1, size - 1);
        break;
    }
    return 0;
}

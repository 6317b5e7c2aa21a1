/* SPDX-License-Identifier: MIT */
/* Keys and seals: what is refused, with what words, and what stays shut. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/seal.h"
#include "http_layer/tokens.h"

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
        "{\"keys\":[{\"kty\":\"oct\"}]}",
        "{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2hvcnQ\"}]}",
        "{\"keys\":[{\"kty\":\"oct\",\"kid\":5,\"k\":"
        "\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\"}]}",
        "{\"keys\":[{\"kty\":\"oct\",\"use\":\"enc\",\"k\":"
        "\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\"}]}",
        "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}]}",
        "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":"
        "\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\"}]}",
        "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}",
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
    char path[] = "/tmp/test_keys_XXXXXX";
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
    /* The greatest take the most room. */
    static const uint64_t values[SEAL_VALUES + 1] = {UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                                     UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                                     UINT64_MAX, UINT64_MAX, 1};
    static const uint64_t others[SEAL_VALUES] = {0, 1, UINT64_MAX, 1700000000000};
    char text[SEAL_TEXT_MAX];
    uint64_t out[SEAL_VALUES];
    struct seal *seal = seal_new(SECRET, strlen(SECRET));
    struct seal *same = seal_new(SECRET, strlen(SECRET));
    struct seal *other = seal_new(OTHER, strlen(OTHER));
    (void)state;
    for (size_t n = 0; n <= 2 * SEAL_VALUES + 1; n++) {
        const uint64_t *in = n <= SEAL_VALUES ? values : others;
        size_t of = n % (SEAL_VALUES + 1);
        size_t length = seal_text(seal, 3, 42, in, of, text);
        assert_true(length > 0 && length <= SEAL_TEXT_MAX);
        assert_true(seal_open(same, 3, 42, text, length, out, of));
        assert_memory_equal(in, out, of * sizeof *in);
        assert_false(seal_open(seal, 4, 42, text, length, out, of));
        assert_false(seal_open(seal, 3, 43, text, length, out, of));
        assert_false(seal_open(other, 3, 42, text, length, out, of));
        for (size_t wrong = 0; wrong <= SEAL_VALUES; wrong++) {
            assert_int_equal(seal_open(seal, 3, 42, text, length, out, wrong), wrong == of);
            assert_int_equal(seal_open_some(seal, 3, 42, text, length, out, wrong),
                             wrong >= of ? (int)of : -1);
        }
    }
    assert_int_equal(seal_text(seal, 3, 42, values, SEAL_VALUES + 1, text), 0);
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

static void bytes_are_sealed_as_numbers_are(void **state)
{
    uint8_t bytes[SEAL_BYTES + 1], out[SEAL_BYTES];
    char text[SEAL_BYTES_TEXT_MAX + 1];
    struct seal *seal = seal_new(SECRET, strlen(SECRET));
    (void)state;
    memset(bytes, 0xa5, sizeof bytes);
    for (size_t n = 0; n <= SEAL_BYTES; n += 32) {
        size_t length = seal_bytes(seal, 3, 42, bytes, n, text);
        assert_true(length > 0 && length <= SEAL_BYTES_TEXT_MAX);
        assert_int_equal(seal_open_bytes(seal, 3, 42, text, length, out), n);
        assert_memory_equal(out, bytes, n);
        assert_int_equal(seal_open_bytes(seal, 4, 42, text, length, out), -1);
        assert_int_equal(seal_open_bytes(seal, 3, 43, text, length, out), -1);
        text[length / 2] ^= 1;
        assert_int_equal(seal_open_bytes(seal, 3, 42, text, length, out), -1);
    }
    assert_int_equal(seal_bytes(seal, 3, 42, bytes, SEAL_BYTES + 1, text), 0);
    memset(text, 'A', sizeof text);
    assert_int_equal(seal_open_bytes(seal, 3, 42, text, sizeof text, out), -1);
    seal_free(seal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_secrets_are_named_by_line_and_not_quoted),
        cmocka_unit_test(bad_key_files_are_refused_with_the_entry),
        cmocka_unit_test(a_keys_file_open_to_others_is_warned_about),
        cmocka_unit_test(seals_open_for_their_user_and_purpose_only),
        cmocka_unit_test(a_seal_with_any_bit_changed_stays_shut),
        cmocka_unit_test(bytes_are_sealed_as_numbers_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

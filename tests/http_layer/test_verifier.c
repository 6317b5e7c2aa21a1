/* SPDX-License-Identifier: MIT */
/* The verifier with a memory: it forgets in time, and follows the keys. */
#include <pthread.h>
#include <string.h>

#include "http_layer/tokens.h"

static void the_memory_forgets_in_time(void **state)
{
    char token[512];
    struct jwt_claims claims;
    struct keyring *ring = keyring_new(keys_of(SECRET));
    struct jwt_verifier *verifier = jwt_verifier_new(ring, 64, LEEWAY(0));
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
    struct jwt_verifier *verifier = jwt_verifier_new(ring, 64, LEEWAY(0));
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
    struct jwt_verifier *verifier = jwt_verifier_new(ring, 8, LEEWAY(0));
    struct jwt_verifier *without = jwt_verifier_new(ring, 0, LEEWAY(0));
    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        struct jwt_claims claims;
        uint64_t user = round * 7919 % 40 + 1;
        size_t n = jwt_sign(keys, GRANT(user, (enum jwt_role)(user % 3), 60), NOW_S, token);
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
    struct jwt_verifier *verifier = jwt_verifier_new(ring, 16, LEEWAY(0));
    struct keys *keys = keys_of(SECRET);
    char token[JWT_MAX];
    size_t n = jwt_sign(keys, GRANT(42, JWT_ROLE_USER, 60), NOW_S, token), failures = 0;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_memory_forgets_in_time),
        cmocka_unit_test(a_removed_key_is_refused_from_the_next_request_on),
        cmocka_unit_test(the_memory_mixes_no_tokens_up),
        cmocka_unit_test(keys_are_replaced_under_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

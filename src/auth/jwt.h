/* SPDX-License-Identifier: MIT */
/*
 * Who is asking: verification of JSON Web Tokens (RFC 7519, compact form).
 *
 * The key decides the algorithm, never the token. A token with a kid is verified with the key of
 * that name and no other; one without, with each key that has no name. What the header offers as
 * keys (jwk, jku, x5u ...) is ignored, and `crit` is refused. One token has one spelling: base64url
 * must be canonical, names in JSON must not repeat. `iss` and `aud` are not looked at: a key says
 * enough.
 *
 * The reason is for metrics and tests; callers tell less of it: exchange.c.
 */
#ifndef AUTH_JWT_H
#define AUTH_JWT_H

#include <stddef.h>
#include <stdint.h>

#include "auth/keys.h"

enum { JWT_MAX = 4096 };

/* reason, label */
#define JWT_REASONS(X)                                                                 \
    X(OK, "ok")                                                                        \
    X(TOO_LONG, "too_long")                                                            \
    X(MALFORMED, "malformed")     /* not three parts of base64url with JSON objects */ \
    X(CRITICAL, "critical")       /* wants extensions understood */                    \
    X(ALGORITHM, "algorithm")     /* not the one of its key */                         \
    X(UNKNOWN_KEY, "unknown_key") /* no such kid, or no key for tokens without */      \
    X(KEY_TIME, "key_time")       /* the key does not hold now */                      \
    X(SIGNATURE, "signature")                                                          \
    X(SUBJECT_TYPE, "subject_type") /* sub is a number, or missing: not a string */    \
    X(SUBJECT, "subject")           /* no id of ours */                                \
    X(ROLE_NULL, "role_null")                                                          \
    X(ROLE, "role")                                                                    \
    X(NO_EXPIRY, "no_expiry")                                                          \
    X(MILLISECONDS, "milliseconds") /* exp is, probably */                             \
    X(TIME, "time")                 /* a time is not a number of seconds since 1970 */ \
    X(EXPIRED, "expired")                                                              \
    X(NOT_YET, "not_yet") /* nbf or iat is in the future */

enum jwt_reason {
#define X(name, label) JWT_##name,
    JWT_REASONS(X)
#undef X
        JWT_REASON_COUNT
};

const char *jwt_reason_label(enum jwt_reason reason);

enum jwt_role { JWT_ROLE_USER, JWT_ROLE_SERVICE, JWT_ROLE_ADMIN };

struct jwt_claims {
    uint64_t user_id; /* 1 ... 2^53-1 */
    enum jwt_role role;
    int64_t from_ms;  /* this answer holds from here ... */
    int64_t until_ms; /* ... until just before here: exp, nbf, iat and the key's own time */
};

/*
 * Verifies n bytes at the time now_ms. A token may be leeway_s seconds early or late, for clocks
 * that differ. On failure the claims are untouched. Any thread.
 */
enum jwt_reason jwt_verify(const struct keys *keys, const char *token, size_t n, int64_t now_ms,
                           int64_t leeway_s, struct jwt_claims *claims);

/*
 * Signs a token with the set's first HS256 key that holds now. `out` has room for JWT_MAX bytes;
 * the token gets a NUL behind it. 0, or its length. Any thread.
 */
size_t jwt_sign_hs256(const struct keys *keys, uint64_t user_id, enum jwt_role role, int64_t now_s,
                      int64_t ttl_s, char *out);

/* ---- With a memory ------------------------------------------------------------------------- */

/*
 * Remembers tokens it has verified, by their SHA-256. Expiry and the removal of keys are as exact
 * as without: each entry holds from when until when, and only for the key set it was verified with.
 * For one thread: each loop has its own.
 */
struct jwt_verifier;

/* `entries` is how many tokens it remembers; 0 is none. NULL if there is no memory. */
struct jwt_verifier *jwt_verifier_new(struct keyring *ring, size_t entries, int64_t leeway_s);
void jwt_verifier_free(struct jwt_verifier *verifier);

/* As jwt_verify, with the current keys of the ring. */
enum jwt_reason jwt_verifier_check(struct jwt_verifier *verifier, const char *token, size_t n,
                                   int64_t now_ms, struct jwt_claims *claims);

#endif

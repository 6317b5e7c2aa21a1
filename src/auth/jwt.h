/* SPDX-License-Identifier: MIT */
/*
 * Who is asking: verification of JSON Web Tokens (RFC 7519, compact form).
 *
 * The key decides the algorithm, never the token. A token with a kid is verified with the key of
 * that name and no other; one without, with each key that has no name. What the header offers as
 * keys (jwk, jku, x5u ...) is ignored, and `crit` is refused. One token has one spelling: base64url
 * must be canonical, names in JSON must not repeat. `iss` and `aud` are looked at if the rules name them: a key may sign for
 * others, too.
 *
 * The reason is for metrics and tests; callers tell less of it: exchange.c.
 */
#ifndef AUTH_JWT_H
#define AUTH_JWT_H

#include <stddef.h>
#include <stdint.h>

#include "auth/keys.h"
#include "auth/scope.h"

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
    X(SCOPE, "scope")               /* not a string */                                 \
    X(ISSUER, "issuer")                                                                \
    X(AUDIENCE, "audience")                                                            \
    X(TIME, "time") /* a time is not a number of seconds since 1970 */                 \
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
    uint32_t scope;   /* bits of scope.h */
    int64_t from_ms;  /* this answer holds from here ... */
    int64_t until_ms; /* ... until just before here: exp, nbf, iat and the key's own time */
};

/* What a token must be like besides. */
struct jwt_rules {
    int64_t leeway_s;     /* it may be so many seconds early or late, for clocks that differ */
    const char *issuer;   /* what `iss` must be; NULL: anything */
    const char *audience; /* what `aud` must have; NULL: anything */
};

/* Verifies n bytes at the time now_ms. On failure the claims are untouched. Any thread. */
enum jwt_reason jwt_verify(const struct keys *keys, const char *token, size_t n, int64_t now_ms,
                           const struct jwt_rules *rules, struct jwt_claims *claims);

/* What a token is to say; the texts may be NULL: then it does not. */
struct jwt_grant {
    uint64_t user_id;
    enum jwt_role role;
    int64_t ttl_s;
    const char *scope, *issuer, *audience;
    const char *kid; /* the key to sign with; NULL: any */
};

/*
 * Signs a token with the set's first key that holds now and can sign: a secret (HS256), or a private Ed25519 key (EdDSA).
 * `out` has room for JWT_MAX bytes; the token gets a NUL behind it. Its length; 0 if there is no such key, or it would be too
 * long. Any thread.
 */
size_t jwt_sign(const struct keys *keys, const struct jwt_grant *grant, int64_t now_s, char *out);

/* ---- With a memory ------------------------------------------------------------------------- */

/*
 * Remembers tokens it has verified, by their SHA-256. Expiry and the removal of keys are as exact
 * as without: each entry holds from when until when, and only for the key set it was verified with.
 * For one thread: each loop has its own.
 */
struct jwt_verifier;

/* `entries` is how many tokens it remembers; 0 is none. The texts of the rules must outlive it. NULL if there is no memory. */
struct jwt_verifier *jwt_verifier_new(struct keyring *ring, size_t entries,
                                      const struct jwt_rules *rules);
void jwt_verifier_free(struct jwt_verifier *verifier);

/* As jwt_verify, with the current keys of the ring. */
enum jwt_reason jwt_verifier_check(struct jwt_verifier *verifier, const char *token, size_t n,
                                   int64_t now_ms, struct jwt_claims *claims);

#endif

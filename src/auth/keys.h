/* SPDX-License-Identifier: MIT */
/*
 * The keys that tokens are verified with. A key has exactly one algorithm, which no token can
 * change, and may have a name (kid) and a time in which it holds. A set is filled by one thread,
 * then never changed again, counted by reference, and exchanged as a whole: that is how keys are
 * rotated.
 *
 * Three sources, which can be combined:
 *
 *   TIDINGS_JWT_SECRET: one HS256 secret a line, each at least 32 bytes, without kid. The first one
 *   signs. Lines, since a secret may well have a comma in it but no line break; blank lines are
 *   skipped, so the output of a command can be used as it is.
 *
 *   TIDINGS_JWT_KEYS_FILE: a JSON file,
 *     {"keys": [
 *       {"kid": "2024a", "alg": "HS256", "secret": "<base64url>"},
 *       {"kid": "idp", "alg": "EdDSA", "public_key": "<PEM, or base64url of the 32 bytes>",
 *        "not_before": 1700000000, "not_after": 1800000000}]}
 *   kid may be missing; the times are seconds since 1970, may be missing, and not_after is the first
 *   second in which the key does not hold. alg may be RS256 and ES256 as well, with a public_key in PEM. Or a JWK Set
 *   (RFC 7517): keys of type oct, for HS256, RSA for RS256, EC with P-256 for ES256, and OKP with Ed25519, the latter with d
 *   if tokens are signed with it, too; others in it are passed over.
 *
 *   A JWK Set that somebody publishes (jwks.h): public keys only.
 *
 * Messages name the entry, never the secret.
 */
#ifndef AUTH_KEYS_H
#define AUTH_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEYS_MAX = 32, KID_MAX = 64, SECRET_MIN = 32, SECRET_MAX = 1024, KEYS_FILE_MAX = 262144 };

enum keys_err {
    KEYS_OK,
    KEYS_ERR_MEMORY,
    KEYS_ERR_READ,    /* the file cannot be read */
    KEYS_ERR_INVALID, /* what it says is not right; see the note */
};

/* For whoever configures the keys. */
struct keys_note {
    char error[256];
    char warning[256]; /* "" if there is none */
};

struct keys;

/* An empty set with one reference, the caller's. NULL if there is no memory. */
struct keys *keys_new(void);

/* Fill a set that nobody else has yet. After a failure the set is to be thrown away. */
enum keys_err keys_add_secrets(struct keys *keys, const char *lines, struct keys_note *note);
enum keys_err keys_add_json(struct keys *keys, const char *json, size_t n, struct keys_note *note);
/* A JWK Set out of the network: secrets in it are passed over, a private key is refused. */
enum keys_err keys_add_published(struct keys *keys, const char *json, size_t n,
                                 struct keys_note *note);
/* Warns if others on this machine may read or change the file. */
enum keys_err keys_add_file(struct keys *keys, const char *path, struct keys_note *note);

size_t keys_count(const struct keys *keys);

/* Any thread. */
struct keys *keys_ref(struct keys *keys);
/* Any thread; frees with the last reference, and wipes secrets. NULL is fine. */
void keys_unref(struct keys *keys);

/* ---- The set in use ------------------------------------------------------------------------ */

/* Where the current set is found and replaced. */
struct keyring;

/* Takes over the caller's reference. NULL if there is no memory (the reference is then gone too).
 */
struct keyring *keyring_new(struct keys *keys);
void keyring_free(struct keyring *ring);

/* Any thread: replaces the set. Takes over the caller's reference. */
void keyring_swap(struct keyring *ring, struct keys *keys);

/* Any thread: the current set, with a reference for the caller. */
struct keys *keyring_get(struct keyring *ring);

/* Any thread, and as cheap as reading a number: changes with every swap. */
uint64_t keyring_generation(const struct keyring *ring);

#endif

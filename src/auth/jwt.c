/* SPDX-License-Identifier: MIT */
/*
 * Order of the checks: size, shape, header, key, signature, and only then the claims: what is not
 * signed is read no further than needed to find the key.
 */
#include "auth/jwt.h"

#include <jansson.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "auth/keys_internal.h"
#include "base/base64url.h"

#define USER_ID_MAX ((UINT64_C(1) << 53) - 1)

/* SIGNATURE_MAX is that of RSA with 8192 bits. */
enum { EDDSA_BYTES = 64, ES256_BYTES = 64, ES256_DER_MAX = 80, SIGNATURE_MAX = 1024 };

const char *const jwt_role_names[] = {
    [JWT_ROLE_USER] = "user", [JWT_ROLE_SERVICE] = "service", [JWT_ROLE_ADMIN] = "admin"};
enum { ROLES = sizeof jwt_role_names / sizeof *jwt_role_names };

const char *jwt_reason_label(enum jwt_reason reason)
{
    static const char *const labels[] = {
#define X(name, label) label,
        JWT_REASONS(X)
#undef X
    };
    return labels[reason];
}

/* ---- The parts of a token ------------------------------------------------------------------ */

struct part {
    const char *p;
    size_t n;
};

struct parts {
    struct part header;
    struct part payload;
    struct part signature;
    struct part signed_text; /* header.payload */
};

static bool split(const char *token, size_t n, struct parts *parts)
{
    const char *dot = memchr(token, '.', n);
    if (!dot)
        return false;
    size_t left = n - (size_t)(dot + 1 - token);
    const char *second = memchr(dot + 1, '.', left);
    if (!second)
        return false;
    parts->header = (struct part){token, (size_t)(dot - token)};
    parts->payload = (struct part){dot + 1, (size_t)(second - dot - 1)};
    parts->signature = (struct part){second + 1, n - (size_t)(second + 1 - token)};
    parts->signed_text = (struct part){token, (size_t)(second - token)};
    /* A third dot is no character of base64url, so the signature would not decode. */
    return parts->header.n && parts->payload.n && parts->signature.n;
}

static bool is_base64url(struct part part)
{
    char bytes[JWT_MAX];
    size_t n;
    return base64url_decode(part.p, part.n, bytes, sizeof bytes, &n);
}

/* The JSON object in a part, or NULL. */
static json_t *object_of(struct part part)
{
    char bytes[JWT_MAX];
    size_t n;
    if (!base64url_decode(part.p, part.n, bytes, sizeof bytes, &n))
        return NULL;
    json_t *object = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(object))
        return object;
    json_decref(object);
    return NULL;
}

/* ---- The signature ------------------------------------------------------------------------- */

bool jwt_hmac(const struct key *key, const void *text, size_t n, unsigned char out[HMAC_BYTES])
{
    size_t length = 0;
    EVP_MAC_CTX *mac = EVP_MAC_CTX_dup(key->mac);
    bool ok = mac && EVP_MAC_update(mac, text, n) && EVP_MAC_final(mac, out, &length, HMAC_BYTES) &&
              length == HMAC_BYTES;
    EVP_MAC_CTX_free(mac);
    return ok;
}

/* Two numbers of 32 bytes, which OpenSSL wants in DER; its length, 0 if they are none. */
static size_t es256_to_der(const unsigned char *signature, unsigned char der[ES256_DER_MAX])
{
    int length = 0;
    unsigned char *at = der;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, ES256_BYTES / 2, NULL);
    BIGNUM *s = BN_bin2bn(signature + ES256_BYTES / 2, ES256_BYTES / 2, NULL);
    if (pair && r && s && ECDSA_SIG_set0(pair, r, s) == 1) {
        r = s = NULL; /* the pair's */
        length = i2d_ECDSA_SIG(pair, NULL);
        length = length > 0 && length <= ES256_DER_MAX ? i2d_ECDSA_SIG(pair, &at) : 0;
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(pair);
    return length > 0 ? (size_t)length : 0;
}

static bool is_signed_by_pair(const struct key *key, struct part text,
                              const unsigned char *signature, size_t n)
{
    unsigned char der[ES256_DER_MAX];
    const EVP_MD *md = key->alg == KEY_EDDSA ? NULL : EVP_sha256();
    if ((key->alg == KEY_EDDSA && n != EDDSA_BYTES) || (key->alg == KEY_ES256 && n != ES256_BYTES))
        return false;
    if (key->alg == KEY_ES256) {
        n = es256_to_der(signature, der);
        signature = der;
    }
    EVP_MD_CTX *ctx = n ? EVP_MD_CTX_new() : NULL;
    bool ok = ctx && EVP_DigestVerifyInit(ctx, NULL, md, NULL, key->pkey) == 1 &&
              EVP_DigestVerify(ctx, signature, n, (const unsigned char *)text.p, text.n) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

static bool is_signed_by(const struct key *key, struct part text, const unsigned char *signature,
                         size_t n)
{
    unsigned char right[HMAC_BYTES];
    if (key->alg != KEY_HS256)
        return is_signed_by_pair(key, text, signature, n);
    return n == sizeof right && jwt_hmac(key, text.p, text.n, right) &&
           CRYPTO_memcmp(right, signature, sizeof right) == 0;
}

/* What the header asks for. The strings belong to it. */
struct wanted {
    const char *kid;
    const char *alg;
};

static enum jwt_reason read_header(const json_t *header, struct wanted *wanted)
{
    const json_t *kid = json_object_get(header, "kid");
    const json_t *alg = json_object_get(header, "alg");
    if (json_object_get(header, "crit"))
        return JWT_CRITICAL;
    if (!json_is_string(alg))
        return JWT_ALGORITHM;
    if (kid && (!json_is_string(kid) || json_string_length(kid) == 0))
        return JWT_UNKNOWN_KEY;
    wanted->alg = json_string_value(alg);
    wanted->kid = kid ? json_string_value(kid) : "";
    return JWT_OK;
}

/* Why the key does not fit, or OK if it has signed the text. */
static enum jwt_reason try_key(const struct key *key, const struct wanted *wanted,
                               const struct parts *parts, int64_t now_ms)
{
    unsigned char signature[SIGNATURE_MAX];
    size_t n;
    if (strcmp(wanted->kid, key->kid) != 0)
        return JWT_UNKNOWN_KEY;
    if (strcmp(wanted->alg, key_alg_names[key->alg]) != 0)
        return JWT_ALGORITHM;
    if (now_ms < key->not_before_s * 1000 || now_ms >= key->not_after_s * 1000)
        return JWT_KEY_TIME;
    if (!base64url_decode(parts->signature.p, parts->signature.n, signature, sizeof signature, &n))
        return JWT_MALFORMED;
    return is_signed_by(key, parts->signed_text, signature, n) ? JWT_OK : JWT_SIGNATURE;
}

/* The key that signed the token; or the reason of the one that came closest. */
static enum jwt_reason find_key(const struct keys *keys, const struct parts *parts, int64_t now_ms,
                                const struct key **found)
{
    enum jwt_reason closest = JWT_UNKNOWN_KEY;
    struct wanted wanted;
    json_t *header = object_of(parts->header);
    if (!header)
        return JWT_MALFORMED;
    enum jwt_reason reason = read_header(header, &wanted);
    if (reason == JWT_OK) {
        for (size_t i = 0; i < keys->n && closest != JWT_OK; i++) {
            reason = try_key(&keys->keys[i], &wanted, parts, now_ms);
            if (reason == JWT_OK)
                *found = &keys->keys[i];
            if (reason == JWT_OK || (reason != JWT_UNKNOWN_KEY && closest != JWT_SIGNATURE))
                closest = reason;
        }
        reason = closest;
    }
    json_decref(header);
    return reason;
}

/* ---- The claims ---------------------------------------------------------------------------- */

/* A decimal number as it would be printed: no sign, no zero in front. */
static enum jwt_reason take_subject(const json_t *sub, uint64_t *user_id)
{
    const char *text = json_string_value(sub);
    size_t n = text ? json_string_length(sub) : 0;
    uint64_t value = 0;
    if (!text)
        return JWT_SUBJECT_TYPE;
    if (n == 0 || n > 16 || text[0] == '0')
        return JWT_SUBJECT;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return JWT_SUBJECT;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *user_id = value;
    return value <= USER_ID_MAX ? JWT_OK : JWT_SUBJECT;
}

static enum jwt_reason take_role(const json_t *role, enum jwt_role *out)
{
    const char *text = role ? json_string_value(role) : jwt_role_names[JWT_ROLE_USER];
    if (json_is_null(role))
        return JWT_ROLE_NULL;
    for (size_t i = 0; text && i < ROLES; i++) {
        if (!strcmp(text, jwt_role_names[i])) {
            *out = (enum jwt_role)i;
            return JWT_OK;
        }
    }
    return JWT_ROLE;
}

/* A NumericDate, which may have a fraction. Absent is fine, and leaves *ms alone. */
static bool take_time(const json_t *value, int64_t *ms)
{
    if (!value)
        return true;
    double seconds = json_number_value(value);
    if (!json_is_number(value) || !(seconds >= 0 && seconds <= (double)TIME_MAX_S))
        return false;
    /* Down, so that a token is not from the future in the millisecond it was made in; a thousandth
     * more is for what a double cannot hold. */
    *ms = (int64_t)(seconds * 1000 + 0.001);
    return true;
}

static enum jwt_reason take_expiry(const json_t *exp, int64_t *ms)
{
    double seconds = json_number_value(exp);
    if (!exp)
        return JWT_NO_EXPIRY;
    if (seconds > (double)TIME_MAX_S && seconds / 1000 <= (double)TIME_MAX_S)
        return JWT_MILLISECONDS;
    return take_time(exp, ms) ? JWT_OK : JWT_TIME;
}

/* Without one, all that the role may. */
static enum jwt_reason take_scope(const json_t *scope, uint32_t *set)
{
    *set = SCOPE_ALL;
    if (!scope)
        return JWT_OK;
    if (!json_is_string(scope))
        return JWT_SCOPE;
    *set = scope_parse(json_string_value(scope), json_string_length(scope));
    return JWT_OK;
}

static bool is_string(const json_t *value, const char *text)
{
    return json_is_string(value) && json_string_length(value) == strlen(text) &&
           !memcmp(json_string_value(value), text, strlen(text));
}

/* One audience, or a list that has it (RFC 7519, 4.1.3). */
static bool names_audience(const json_t *aud, const char *audience)
{
    for (size_t i = 0; i < json_array_size(aud); i++)
        if (is_string(json_array_get(aud, i), audience))
            return true;
    return is_string(aud, audience);
}

static enum jwt_reason check_parties(const json_t *payload, const struct jwt_rules *rules)
{
    if (rules->issuer && !is_string(json_object_get(payload, "iss"), rules->issuer))
        return JWT_ISSUER;
    if (rules->audience && !names_audience(json_object_get(payload, "aud"), rules->audience))
        return JWT_AUDIENCE;
    return JWT_OK;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static enum jwt_reason read_claims(const json_t *payload, const struct key *key, int64_t now_ms,
                                   const struct jwt_rules *rules, struct jwt_claims *claims)
{
    struct jwt_claims out;
    int64_t leeway_s = rules->leeway_s;
    int64_t exp = 0, nbf = 0, iat = 0;
    enum jwt_reason reason = take_expiry(json_object_get(payload, "exp"), &exp);
    if (reason == JWT_OK && (!take_time(json_object_get(payload, "nbf"), &nbf) ||
                             !take_time(json_object_get(payload, "iat"), &iat)))
        reason = JWT_TIME;
    if (reason == JWT_OK)
        reason = take_subject(json_object_get(payload, "sub"), &out.user_id);
    if (reason == JWT_OK)
        reason = take_role(json_object_get(payload, "role"), &out.role);
    if (reason == JWT_OK)
        reason = take_scope(json_object_get(payload, "scope"), &out.scope);
    if (reason == JWT_OK)
        reason = check_parties(payload, rules);
    if (reason != JWT_OK)
        return reason;
    out.until_ms = exp + leeway_s * 1000;
    out.from_ms = later(nbf, iat) - leeway_s * 1000;
    if (now_ms >= out.until_ms)
        return JWT_EXPIRED;
    if (now_ms < out.from_ms)
        return JWT_NOT_YET;
    /* The key's own time, without leeway: it is our clock and our setting. */
    out.from_ms = later(out.from_ms, key->not_before_s * 1000);
    if (out.until_ms > key->not_after_s * 1000)
        out.until_ms = key->not_after_s * 1000;
    *claims = out;
    return JWT_OK;
}

enum jwt_reason jwt_verify(const struct keys *keys, const char *token, size_t n, int64_t now_ms,
                           const struct jwt_rules *rules, struct jwt_claims *claims)
{
    struct parts parts;
    const struct key *key = NULL;
    if (n > JWT_MAX)
        return JWT_TOO_LONG;
    if (!split(token, n, &parts))
        return JWT_MALFORMED;
    /* Before any key is looked for: whether there is one of that name is not to be told by this. */
    if (!is_base64url(parts.signature))
        return JWT_MALFORMED;
    enum jwt_reason reason = find_key(keys, &parts, now_ms, &key);
    if (reason != JWT_OK)
        return reason;
    json_t *payload = object_of(parts.payload);
    if (!payload)
        return JWT_MALFORMED;
    reason = read_claims(payload, key, now_ms, rules, claims);
    json_decref(payload);
    return reason;
}

/* ---- With a memory ------------------------------------------------------------------------- */

enum { WAYS = 4, DIGEST = 32 };

/* from_ms == until_ms: empty, since it holds at no time. */
struct entry {
    unsigned char digest[DIGEST];
    struct jwt_claims claims;
};

struct jwt_verifier {
    struct keyring *ring;
    struct keys *keys; /* of `generation` */
    uint64_t generation;
    struct jwt_rules rules;
    EVP_MD *sha256;
    EVP_MD_CTX *ctx;
    size_t sets; /* of WAYS entries each; the digest says which */
    unsigned turn;
    struct entry entries[];
};

struct jwt_verifier *jwt_verifier_new(struct keyring *ring, size_t entries,
                                      const struct jwt_rules *rules)
{
    size_t sets = (entries + WAYS - 1) / WAYS;
    if (sets > SIZE_MAX / WAYS / sizeof(struct entry) / 2)
        return NULL;
    struct jwt_verifier *verifier =
        calloc(1, sizeof *verifier + sets * WAYS * sizeof *verifier->entries);
    if (!verifier)
        return NULL;
    verifier->ring = ring;
    verifier->rules = *rules;
    verifier->sets = sets;
    verifier->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    verifier->ctx = EVP_MD_CTX_new();
    if (!verifier->sha256 || !verifier->ctx) {
        jwt_verifier_free(verifier);
        return NULL;
    }
    return verifier;
}

void jwt_verifier_free(struct jwt_verifier *verifier)
{
    if (!verifier)
        return;
    keys_unref(verifier->keys);
    EVP_MD_free(verifier->sha256);
    EVP_MD_CTX_free(verifier->ctx);
    free(verifier);
}

/* The keys may have been replaced: then nothing that was verified before holds any more. */
static void refresh(struct jwt_verifier *verifier)
{
    uint64_t generation = keyring_generation(verifier->ring);
    if (generation == verifier->generation)
        return;
    keys_unref(verifier->keys);
    verifier->keys = keyring_get(verifier->ring);
    verifier->generation = generation;
    memset(verifier->entries, 0, verifier->sets * WAYS * sizeof *verifier->entries);
}

static struct entry *find_set(struct jwt_verifier *verifier, const unsigned char digest[DIGEST])
{
    uint64_t number;
    memcpy(&number, digest, sizeof number);
    return &verifier->entries[number % verifier->sets * WAYS];
}

/* An entry to write over: one that holds no more, or each in turn. */
static struct entry *victim(struct jwt_verifier *verifier, struct entry *set, int64_t now_ms)
{
    for (size_t i = 0; i < WAYS; i++)
        if (now_ms >= set[i].claims.until_ms)
            return &set[i];
    return &set[verifier->turn++ % WAYS];
}

enum jwt_reason jwt_verifier_check(struct jwt_verifier *verifier, const char *token, size_t n,
                                   int64_t now_ms, struct jwt_claims *claims)
{
    unsigned char digest[DIGEST];
    if (n > JWT_MAX)
        return JWT_TOO_LONG;
    refresh(verifier);
    bool hashed = verifier->sets && EVP_DigestInit_ex2(verifier->ctx, verifier->sha256, NULL) &&
                  EVP_DigestUpdate(verifier->ctx, token, n) &&
                  EVP_DigestFinal_ex(verifier->ctx, digest, NULL);
    if (!hashed)
        return jwt_verify(verifier->keys, token, n, now_ms, &verifier->rules, claims);

    struct entry *set = find_set(verifier, digest);
    for (size_t i = 0; i < WAYS; i++) {
        const struct jwt_claims *known = &set[i].claims;
        if (now_ms >= known->from_ms && now_ms < known->until_ms &&
            CRYPTO_memcmp(set[i].digest, digest, DIGEST) == 0) {
            *claims = *known;
            return JWT_OK;
        }
    }
    enum jwt_reason reason = jwt_verify(verifier->keys, token, n, now_ms, &verifier->rules, claims);
    if (reason == JWT_OK) {
        struct entry *entry = victim(verifier, set, now_ms);
        memcpy(entry->digest, digest, DIGEST);
        entry->claims = *claims;
    }
    return reason;
}

/* SPDX-License-Identifier: MIT */
#include "auth/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/hmac.h"
#include "auth/keys_internal.h"
#include "base/base64url.h"

/* ---- Sets ---------------------------------------------------------------------------------- */

struct keys *keys_new(void)
{
    struct keys *keys = calloc(1, sizeof *keys);
    if (keys)
        atomic_init(&keys->refs, 1);
    return keys;
}

size_t keys_count(const struct keys *keys)
{
    return keys->n;
}

struct keys *keys_ref(struct keys *keys)
{
    atomic_fetch_add_explicit(&keys->refs, 1, memory_order_relaxed);
    return keys;
}

void keys_unref(struct keys *keys)
{
    if (!keys || atomic_fetch_sub_explicit(&keys->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < keys->n; i++) {
        EVP_MAC_CTX_free(keys->keys[i].mac); /* wipes its copy of the secret */
        EVP_PKEY_free(keys->keys[i].public_key);
    }
    free(keys);
}

static enum keys_err complain(struct keys_note *note, const char *where, size_t number,
                              const char *what)
{
    snprintf(note->error, sizeof note->error, "%s %zu: %s", where, number, what);
    return KEYS_ERR_INVALID;
}

static struct key *add_key(struct keys *keys, enum key_alg alg)
{
    if (keys->n == KEYS_MAX)
        return NULL;
    struct key *key = &keys->keys[keys->n++];
    *key = (struct key){.alg = alg, .not_before_s = 0, .not_after_s = TIME_MAX_S};
    return key;
}

/* ---- HS256 --------------------------------------------------------------------------------- */

static enum keys_err add_secret(struct keys *keys, const char *line, size_t n, size_t number,
                                struct keys_note *note)
{
    if (n < SECRET_MIN)
        return complain(note, "secret", number, "shorter than 32 bytes");
    if (n > SECRET_MAX)
        return complain(note, "secret", number, "longer than 1024 bytes");
    if (n > 10 && !memcmp(line, "-----BEGIN", 10))
        return complain(note, "secret", number, "is a PEM file, not a secret; use a keys file");
    struct key *key = add_key(keys, KEY_HS256);
    if (!key)
        return complain(note, "secret", number, "too many keys");
    key->mac = hmac_new(line, n);
    return key->mac ? KEYS_OK : KEYS_ERR_MEMORY;
}

enum keys_err keys_add_secrets(struct keys *keys, const char *lines, struct keys_note *note)
{
    *note = (struct keys_note){{0}, {0}};
    for (size_t number = 1; *lines; number++) {
        size_t line = strcspn(lines, "\n");
        size_t n = line && lines[line - 1] == '\r' ? line - 1 : line;
        enum keys_err err = n ? add_secret(keys, lines, n, number, note) : KEYS_OK;
        if (err != KEYS_OK)
            return err;
        lines += line + (lines[line] == '\n');
    }
    return KEYS_OK;
}

/* ---- The keys file ------------------------------------------------------------------------- */

static const char *string_of(const json_t *entry, const char *name, size_t *n)
{
    const json_t *value = json_object_get(entry, name);
    *n = value ? json_string_length(value) : 0;
    return json_string_value(value);
}

/* NULL, or what is wrong with the members of the entry. */
static const char *check_members(json_t *entry)
{
    static const char *const known[] = {"kid",        "alg",        "secret",
                                        "public_key", "not_before", "not_after"};
    const char *name;
    json_t *value;
    json_object_foreach(entry, name, value)
    {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(name, known[i]) != 0)
            i++;
        if (i == sizeof known / sizeof *known)
            return "a member that is none of kid, alg, secret, public_key, not_before, not_after";
        if (i < 4 ? !json_is_string(value) : !json_is_integer(value))
            return "kid, alg, secret and public_key are strings, the times whole numbers";
    }
    return NULL;
}

static const char *take_kid(const struct keys *keys, struct key *key, const json_t *entry)
{
    size_t n;
    const char *kid = string_of(entry, "kid", &n);
    if (!kid)
        return NULL;
    if (n == 0 || n > KID_MAX)
        return "the kid has not 1 to 64 characters";
    for (size_t i = 0; i < n; i++)
        if (kid[i] <= 0x20 || kid[i] >= 0x7f)
            return "the kid has other than visible ASCII characters";
    for (size_t i = 0; i < keys->n; i++)
        if (!strcmp(keys->keys[i].kid, kid))
            return "the kid is there twice";
    memcpy(key->kid, kid, n + 1);
    return NULL;
}

static const char *take_times(struct key *key, const json_t *entry)
{
    const json_t *before = json_object_get(entry, "not_before");
    const json_t *after = json_object_get(entry, "not_after");
    if (before)
        key->not_before_s = json_integer_value(before);
    if (after)
        key->not_after_s = json_integer_value(after);
    if (key->not_before_s < 0 || key->not_after_s > TIME_MAX_S ||
        key->not_before_s >= key->not_after_s)
        return "not_before and not_after are seconds since 1970, the first before the second";
    return NULL;
}

/* `text` is base64url. */
static const char *use_secret(struct key *key, const char *text, size_t n)
{
    unsigned char secret[SECRET_MAX];
    size_t length;
    const char *problem = NULL;
    if (!base64url_decode(text, n, secret, sizeof secret, &length))
        problem = "the secret is not base64url without padding, or longer than 1024 bytes";
    else if (length < SECRET_MIN)
        problem = "the secret is shorter than 32 bytes";
    else if (!(key->mac = hmac_new(secret, length)))
        problem = "the secret cannot be used: out of memory";
    OPENSSL_cleanse(secret, sizeof secret);
    return problem;
}

static const char *take_secret(struct key *key, const json_t *entry)
{
    size_t n;
    const char *text = string_of(entry, "secret", &n);
    if (!text || json_object_get(entry, "public_key"))
        return "HS256 needs a secret and no public_key";
    return use_secret(key, text, n);
}

/* A public key needs no password; this keeps OpenSSL from asking at the terminal. */
static int no_password(char *to, int size, int writing, void *ctx)
{
    (void)to, (void)size, (void)writing, (void)ctx;
    return -1;
}

static const char *take_public_key(struct key *key, const json_t *entry)
{
    unsigned char raw[32];
    size_t n, length;
    const char *text = string_of(entry, "public_key", &n);
    if (!text || json_object_get(entry, "secret"))
        return "EdDSA needs a public_key and no secret";
    if (n > 10 && !memcmp(text, "-----BEGIN", 10)) {
        BIO *bio = BIO_new_mem_buf(text, (int)n);
        key->public_key = bio ? PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL) : NULL;
        BIO_free(bio);
    } else if (base64url_decode(text, n, raw, sizeof raw, &length) && length == sizeof raw) {
        key->public_key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, raw, sizeof raw);
    }
    if (!key->public_key || EVP_PKEY_get_base_id(key->public_key) != EVP_PKEY_ED25519)
        return "the public_key is neither PEM nor base64url of an Ed25519 public key";
    return NULL;
}

/* ---- JWK Sets (RFC 7517) -------------------------------------------------------------------- */

/* A member that is that string, or is not there. */
static bool may_be(const json_t *entry, const char *name, const char *value)
{
    const json_t *member = json_object_get(entry, name);
    return !member || (json_is_string(member) && !strcmp(json_string_value(member), value));
}

static bool is(const json_t *entry, const char *name, const char *value)
{
    return json_object_get(entry, name) && may_be(entry, name, value);
}

static const char *take_jwk_public(struct key *key, const json_t *jwk)
{
    unsigned char raw[32];
    size_t n, length;
    const char *text = string_of(jwk, "x", &n);
    if (json_object_get(jwk, "d"))
        return "a private key: leave out d";
    if (text && base64url_decode(text, n, raw, sizeof raw, &length) && length == sizeof raw)
        key->public_key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, raw, sizeof raw);
    return key->public_key ? NULL : "x is not base64url of an Ed25519 public key";
}

static const char *take_jwk_secret(struct key *key, const json_t *jwk)
{
    size_t n;
    const char *text = string_of(jwk, "k", &n);
    return text ? use_secret(key, text, n) : "an oct key needs k";
}

/* Kinds of keys and uses that are not ours, and members besides, are passed over, as the RFC has it. */
static const char *add_jwk(struct keys *keys, const json_t *jwk)
{
    bool secret = is(jwk, "kty", "oct") && may_be(jwk, "alg", "HS256");
    bool public = is(jwk, "kty", "OKP") && is(jwk, "crv", "Ed25519") &&
                  (may_be(jwk, "alg", "EdDSA") || is(jwk, "alg", "Ed25519"));
    if ((!secret && !public) || !may_be(jwk, "use", "sig"))
        return NULL;
    struct key parsed = {.alg = public ? KEY_EDDSA : KEY_HS256, .not_after_s = TIME_MAX_S};
    if (json_object_get(jwk, "kid") && !json_is_string(json_object_get(jwk, "kid")))
        return "the kid is not a string";
    const char *problem = take_kid(keys, &parsed, jwk);
    struct key *key = problem ? NULL : add_key(keys, parsed.alg);
    if (!key)
        return problem ? problem : "too many keys";
    *key = parsed;
    return public ? take_jwk_public(key, jwk) : take_jwk_secret(key, jwk);
}

static bool is_jwk_set(const json_t *list)
{
    return json_object_get(json_array_get(list, 0), "kty") != NULL;
}

static const char *add_entry(struct keys *keys, json_t *entry)
{
    struct key parsed = {.alg = KEY_HS256, .not_after_s = TIME_MAX_S};
    size_t n;
    if (!json_is_object(entry))
        return "not an object";
    if (json_object_get(entry, "kty"))
        return add_jwk(keys, entry);
    const char *problem = check_members(entry);
    const char *alg = string_of(entry, "alg", &n);
    if (!problem && (!alg || (strcmp(alg, "HS256") != 0 && strcmp(alg, "EdDSA") != 0)))
        problem = "alg is neither HS256 nor EdDSA";
    if (!problem)
        problem = take_kid(keys, &parsed, entry);
    if (!problem)
        problem = take_times(&parsed, entry);
    if (problem)
        return problem;

    parsed.alg = *alg == 'E' ? KEY_EDDSA : KEY_HS256;
    struct key *key = add_key(keys, parsed.alg);
    if (!key)
        return "too many keys";
    *key = parsed;
    return key->alg == KEY_EDDSA ? take_public_key(key, entry) : take_secret(key, entry);
}

enum keys_err keys_add_json(struct keys *keys, const char *json, size_t n, struct keys_note *note)
{
    enum keys_err err = KEYS_ERR_INVALID;
    size_t before = keys->n;
    json_error_t error;
    *note = (struct keys_note){{0}, {0}};
    json_t *root = json_loadb(json, n, JSON_REJECT_DUPLICATES, &error);
    json_t *list = json_object_get(root, "keys");
    if (!root) {
        /* Not error.text: it quotes what stands there, which may be a secret. */
        snprintf(note->error, sizeof note->error, "line %d is not JSON, or a name is there twice",
                 error.line);
        goto out;
    }
    if (!json_is_array(list) || (json_object_size(root) != 1 && !is_jwk_set(list)) ||
        json_array_size(list) == 0) {
        snprintf(note->error, sizeof note->error, "not of the form {\"keys\": [{...}, ...]}");
        goto out;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *problem = add_entry(keys, json_array_get(list, i));
        if (problem) {
            complain(note, "key", i + 1, problem);
            goto out;
        }
    }
    if (keys->n == before)
        snprintf(note->error, sizeof note->error,
                 "no key of use: neither oct for HS256 nor OKP with Ed25519");
    else
        err = KEYS_OK;
out:
    json_decref(root);
    return err;
}

static bool read_all(int fd, char *bytes, size_t size, size_t *n)
{
    *n = 0;
    while (*n < size) {
        ssize_t got = read(fd, bytes + *n, size - *n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        *n += (size_t)got;
    }
    errno = EFBIG;
    return false;
}

enum keys_err keys_add_file(struct keys *keys, const char *path, struct keys_note *note)
{
    enum keys_err err = KEYS_ERR_READ;
    struct stat st;
    size_t n = 0;
    *note = (struct keys_note){{0}, {0}};
    char *bytes = malloc(KEYS_FILE_MAX);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (!bytes || fd < 0 || fstat(fd, &st) != 0 || !read_all(fd, bytes, KEYS_FILE_MAX, &n)) {
        snprintf(note->error, sizeof note->error, "cannot be read: %s", strerror(errno));
        goto out;
    }
    err = keys_add_json(keys, bytes, n, note);
    if (st.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
        snprintf(note->warning, sizeof note->warning,
                 "mode %03o lets others read or change the keys; 600 would be right",
                 (unsigned)st.st_mode & 0777);
out:
    if (bytes)
        OPENSSL_cleanse(bytes, n);
    free(bytes);
    if (fd >= 0)
        close(fd);
    return err;
}

/* ---- The set in use ------------------------------------------------------------------------ */

struct keyring {
    pthread_mutex_t
        lock; /* for `current`: taking a reference must not race with the last one going */
    struct keys *current;
    _Atomic uint64_t generation;
};

struct keyring *keyring_new(struct keys *keys)
{
    struct keyring *ring = calloc(1, sizeof *ring);
    if (!ring) {
        keys_unref(keys);
        return NULL;
    }
    pthread_mutex_init(&ring->lock, NULL);
    ring->current = keys;
    atomic_init(&ring->generation, 1);
    return ring;
}

void keyring_free(struct keyring *ring)
{
    if (!ring)
        return;
    keys_unref(ring->current);
    pthread_mutex_destroy(&ring->lock);
    free(ring);
}

void keyring_swap(struct keyring *ring, struct keys *keys)
{
    pthread_mutex_lock(&ring->lock);
    struct keys *old = ring->current;
    ring->current = keys;
    atomic_fetch_add_explicit(&ring->generation, 1, memory_order_release);
    pthread_mutex_unlock(&ring->lock);
    keys_unref(old);
}

struct keys *keyring_get(struct keyring *ring)
{
    pthread_mutex_lock(&ring->lock);
    struct keys *keys = keys_ref(ring->current);
    pthread_mutex_unlock(&ring->lock);
    return keys;
}

uint64_t keyring_generation(const struct keyring *ring)
{
    return atomic_load_explicit(&ring->generation, memory_order_acquire);
}

/* SPDX-License-Identifier: MIT */
#include "auth/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/hmac.h"
#include "auth/keys_internal.h"
#include "base/base64url.h"

const char *const key_alg_names[] = {
    [KEY_HS256] = "HS256", [KEY_EDDSA] = "EdDSA", [KEY_RS256] = "RS256", [KEY_ES256] = "ES256"};

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
        EVP_PKEY_free(keys->keys[i].pkey);
    }
    free(keys);
}

static enum keys_err complain(struct keys_note *note, const char *where, size_t number,
                              const char *what)
{
    snprintf(note->error, sizeof note->error, "%s %zu: %s", where, number, what);
    return KEYS_ERR_INVALID;
}

struct key *keys_add(struct keys *keys, enum key_alg alg)
{
    if (keys->n == KEYS_MAX)
        return NULL;
    struct key *key = &keys->keys[keys->n++];
    *key = (struct key){.alg = alg, .not_before_s = 0, .not_after_s = TIME_MAX_S};
    return key;
}

bool key_alg_parse(const char *name, enum key_alg *alg)
{
    for (size_t i = 0; i < KEY_ALG_COUNT; i++)
        if (!strcmp(name, key_alg_names[i])) {
            *alg = (enum key_alg)i;
            return true;
        }
    return false;
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
    struct key *key = keys_add(keys, KEY_HS256);
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

const char *key_string_of(const json_t *entry, const char *name, size_t *n)
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

const char *key_take_kid(const struct keys *keys, struct key *key, const json_t *entry)
{
    size_t n;
    const char *kid = key_string_of(entry, "kid", &n);
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

const char *key_use_secret(struct key *key, const char *text, size_t n)
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
    const char *text = key_string_of(entry, "secret", &n);
    if (!text || json_object_get(entry, "public_key"))
        return "HS256 needs a secret and no public_key";
    return key_use_secret(key, text, n);
}

static const char *add_entry(struct keys *keys, json_t *entry, bool published)
{
    struct key parsed = {.alg = KEY_HS256, .not_after_s = TIME_MAX_S};
    size_t n;
    if (!json_is_object(entry))
        return "not an object";
    if (json_object_get(entry, "kty"))
        return jwk_add(keys, entry, published);
    if (published)
        return "not a JWK: it has no kty";
    const char *problem = check_members(entry);
    const char *alg = key_string_of(entry, "alg", &n);
    if (!problem && !(alg && key_alg_parse(alg, &parsed.alg)))
        problem = "alg is none of HS256, RS256, ES256 and EdDSA";
    if (!problem)
        problem = key_take_kid(keys, &parsed, entry);
    if (!problem)
        problem = take_times(&parsed, entry);
    if (problem)
        return problem;

    struct key *key = keys_add(keys, parsed.alg);
    if (!key)
        return "too many keys";
    *key = parsed;
    return key->alg == KEY_HS256 ? take_secret(key, entry) : key_take_pem(key, entry);
}

static bool is_jwk_set(const json_t *list)
{
    return json_object_get(json_array_get(list, 0), "kty") != NULL;
}

static enum keys_err add_json(struct keys *keys, const char *json, size_t n, bool published,
                              struct keys_note *note)
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
        const char *problem = add_entry(keys, json_array_get(list, i), published);
        if (problem) {
            complain(note, "key", i + 1, problem);
            goto out;
        }
    }
    if (keys->n == before)
        snprintf(note->error, sizeof note->error,
                 "no key of use: of type oct, RSA, EC with P-256 or OKP with Ed25519");
    else
        err = KEYS_OK;
out:
    json_decref(root);
    return err;
}

enum keys_err keys_add_json(struct keys *keys, const char *json, size_t n, struct keys_note *note)
{
    return add_json(keys, json, n, false, note);
}

enum keys_err keys_add_published(struct keys *keys, const char *json, size_t n,
                                 struct keys_note *note)
{
    return add_json(keys, json, n, true, note);
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

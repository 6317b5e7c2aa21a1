/* SPDX-License-Identifier: MIT */
#include "push/secret.h"

#include <stdbool.h>
#include <string.h>

#include "base/base64url.h"

/* As the specification has it. */
enum { KEY_LEAST = 24, KEY_MOST = 64 };

static const char prefix[] = "whsec_";
enum { PREFIX = sizeof prefix - 1 };

static bool has_prefix(const char *secret, size_t n)
{
    return n >= PREFIX && !memcmp(secret, prefix, PREFIX);
}

/* base64 with its padding, which base64url does without. */
static bool decode(const char *text, size_t n, uint8_t *bytes, size_t room, size_t *length)
{
    char other[BASE64URL_LENGTH(KEY_MOST) + 2];
    if (n % 4 || n > sizeof other)
        return false;
    for (int padding = 0; padding < 2 && n && text[n - 1] == '='; padding++)
        n--;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '-' || text[i] == '_')
            return false;
        other[i] = text[i];
        if (text[i] == '+')
            other[i] = '-';
        if (text[i] == '/')
            other[i] = '_';
    }
    return base64url_decode(other, n, bytes, room, length);
}

static bool decode_key(const char *secret, size_t n, uint8_t key[SECRET_KEY_MAX], size_t *length)
{
    return has_prefix(secret, n) &&
           decode(secret + PREFIX, n - PREFIX, key, SECRET_KEY_MAX, length) &&
           *length >= KEY_LEAST && *length <= KEY_MOST;
}

const char *secret_check(const char *secret, size_t n)
{
    uint8_t key[SECRET_KEY_MAX];
    size_t length;
    if (!has_prefix(secret, n) || decode_key(secret, n, key, &length))
        return NULL;
    return "24 to 64 bytes in base64 behind whsec_";
}

size_t secret_key(const char *secret, size_t n, uint8_t key[SECRET_KEY_MAX])
{
    size_t length;
    if (decode_key(secret, n, key, &length))
        return length;
    length = n < SECRET_KEY_MAX ? n : SECRET_KEY_MAX;
    memcpy(key, secret, length);
    return length;
}

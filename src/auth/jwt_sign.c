/* SPDX-License-Identifier: MIT */
/* Tokens for those who hold a key. */
#include <openssl/evp.h>
#include <string.h>

#include "auth/keys_internal.h"
#include "base/base64url.h"
#include "base/json_out.h"

enum { PART_MAX = 2048, SIGNATURE_BYTES = 64 };

static const struct key *signing_key(const struct keys *keys, const char *kid, int64_t now_s)
{
    for (size_t i = 0; i < keys->n; i++) {
        const struct key *key = &keys->keys[i];
        bool can = key->alg == KEY_HS256 || key->is_private;
        if (can && now_s >= key->not_before_s && now_s < key->not_after_s &&
            (!kid || !strcmp(kid, key->kid)))
            return key;
    }
    return NULL;
}

static void put_part(struct buf *out, const void *bytes, size_t n)
{
    char *to = buf_reserve(out, BASE64URL_LENGTH(n));
    if (to)
        out->len += base64url_encode(bytes, n, to);
}

static void put_claim(struct json_out *out, const char *name, const char *text)
{
    if (!text)
        return;
    json_out_key(out, name);
    json_out_text(out, text);
}

static void write_header(struct buf *json, const struct key *key)
{
    struct json_out out;
    json_out_init(&out, json);
    json_out_object(&out);
    put_claim(&out, "alg", key_alg_names[key->alg]);
    put_claim(&out, "typ", "JWT");
    put_claim(&out, "kid", *key->kid ? key->kid : NULL);
    json_out_end(&out);
}

static void write_claims(struct buf *json, const struct jwt_grant *grant, int64_t now_s)
{
    struct json_out out;
    struct buf sub;
    char digits[20];
    buf_init_borrowed(&sub, digits, sizeof digits);
    buf_u64(&sub, grant->user_id);
    json_out_init(&out, json);
    json_out_object(&out);
    json_out_key(&out, "sub");
    json_out_string(&out, digits, sub.len);
    put_claim(&out, "role", jwt_role_names[grant->role]);
    put_claim(&out, "scope", grant->scope);
    put_claim(&out, "iss", grant->issuer);
    put_claim(&out, "aud", grant->audience);
    json_out_key(&out, "iat");
    json_out_i64(&out, now_s);
    json_out_key(&out, "exp");
    json_out_i64(&out, now_s + grant->ttl_s);
    json_out_end(&out);
}

/* The bytes of the signature, 0 if the crypto library fails. */
static size_t sign(const struct key *key, const struct buf *text,
                   unsigned char signature[SIGNATURE_BYTES])
{
    size_t n = SIGNATURE_BYTES;
    if (key->alg == KEY_HS256)
        return jwt_hmac(key, text->data, text->len, signature) ? HMAC_BYTES : 0;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key->pkey) == 1 &&
              EVP_DigestSign(ctx, signature, &n, (const unsigned char *)text->data, text->len) == 1;
    EVP_MD_CTX_free(ctx);
    return ok ? n : 0;
}

size_t jwt_sign(const struct keys *keys, const struct jwt_grant *grant, int64_t now_s, char *out)
{
    char json_bytes[PART_MAX];
    unsigned char signature[SIGNATURE_BYTES];
    struct buf json, token;
    const struct key *key = signing_key(keys, grant->kid, now_s);
    if (!key)
        return 0;
    buf_init_borrowed(&token, out, JWT_MAX - 1);
    buf_init_borrowed(&json, json_bytes, sizeof json_bytes);
    write_header(&json, key);
    put_part(&token, json.data, json.len);
    buf_char(&token, '.');
    buf_clear(&json);
    write_claims(&json, grant, now_s);
    put_part(&token, json.data, json.len);
    size_t n = json.failed || token.failed ? 0 : sign(key, &token, signature);
    if (!n)
        return 0;
    buf_char(&token, '.');
    put_part(&token, signature, n);
    if (token.failed)
        return 0;
    out[token.len] = '\0';
    return token.len;
}

/* SPDX-License-Identifier: MIT */
#include "push/message.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "auth/hmac.h"
#include "domain/event_json.h"
#include "push/secret.h"

static void put_number(struct json_out *out, const char *key, uint64_t value)
{
    json_out_key(out, key);
    json_out_u64(out, value);
}

static void put_word(struct json_out *out, const char *key, const char *word)
{
    json_out_key(out, key);
    json_out_text(out, word);
}

static void put_tag(struct json_out *out, const struct tidings_event *event)
{
    char tag[TIDINGS_TAG_MAX];
    json_out_key(out, "tag");
    if (tidings_event_tag(event, tag))
        json_out_text(out, tag);
    else
        json_out_null(out);
}

/* What a push gateway goes by: the tag is a story's. */
static void put_tagged(struct json_out *out, const struct tidings_event *event)
{
    put_number(out, "event_id", event->event_id);
    put_word(out, "type", tidings_event_name(event->type));
    put_tag(out, event);
    put_number(out, "happened_at", (uint64_t)event->happened_at);
    put_number(out, "story_id", event->post_id);
    put_number(out, "scene_id", event->target_id);
    put_number(out, "author_id", event->author_id);
}

void message_body(const struct tidings_event *event, bool by_tag, uint32_t attempt,
                  struct buf *body)
{
    struct json_out out;
    buf_clear(body);
    json_out_init(&out, body);
    json_out_object(&out);
    if (by_tag) {
        put_tagged(&out, event);
    } else {
        event_members(&out, event);
        put_tag(&out, event);
    }
    put_number(&out, "attempt", attempt);
    json_out_end(&out);
}

void message_id(const struct tidings_event *event, char id[MESSAGE_ID_MAX])
{
    snprintf(id, MESSAGE_ID_MAX, "evt_%" PRIu64, event->event_id);
}

/* ---- Signatures ----------------------------------------------------------------------------- */

static bool authenticate(const void *key, size_t key_n, const char *before, const struct buf *body,
                         unsigned char mac[HMAC_BYTES])
{
    size_t n = 0;
    EVP_MAC_CTX *ctx = hmac_new(key, key_n);
    bool ok = ctx && EVP_MAC_update(ctx, (const unsigned char *)before, strlen(before)) &&
              EVP_MAC_update(ctx, (const unsigned char *)body->data, body->len) &&
              EVP_MAC_final(ctx, mac, &n, HMAC_BYTES) && n == HMAC_BYTES;
    EVP_MAC_CTX_free(ctx);
    return ok;
}

bool message_sign(const char *secret, size_t secret_n, int64_t timestamp_s, const struct buf *body,
                  char to[SIGNATURE_MAX])
{
    char before[24];
    unsigned char mac[HMAC_BYTES];
    snprintf(before, sizeof before, "%" PRId64 ".", timestamp_s);
    if (!authenticate(secret, secret_n, before, body, mac))
        return false;
    int length = snprintf(to, SIGNATURE_MAX, "v1=");
    for (size_t i = 0; i < sizeof mac; i++)
        snprintf(to + length + 2 * i, 3, "%02x", mac[i]);
    return true;
}

static bool sign_standard(const char *secret, const char *before, const struct buf *body, char *to)
{
    uint8_t key[SECRET_KEY_MAX];
    unsigned char mac[HMAC_BYTES];
    size_t n = secret_key(secret, strlen(secret), key);
    bool ok = authenticate(key, n, before, body, mac);
    OPENSSL_cleanse(key, sizeof key);
    memcpy(to, "v1,", 3);
    return ok && EVP_EncodeBlock((unsigned char *)to + 3, mac, sizeof mac) > 0;
}

bool message_sign_standard(const char *secret, const char *old_secret, const char *id,
                           int64_t timestamp_s, const struct buf *body, char to[SIGNATURE_MAX])
{
    char before[MESSAGE_ID_MAX + 24];
    snprintf(before, sizeof before, "%s.%" PRId64 ".", id, timestamp_s);
    if (!sign_standard(secret, before, body, to))
        return false;
    size_t n = strlen(to);
    if (!old_secret)
        return true;
    to[n] = ' ';
    return sign_standard(old_secret, before, body, to + n + 1);
}

/* ---- Again, or no more ---------------------------------------------------------------------- */

int64_t message_backoff_ms(uint64_t first_ms, uint64_t most_ms, uint32_t attempts, uint64_t random)
{
    uint64_t wait = first_ms < most_ms ? first_ms : most_ms;
    for (uint32_t i = 1; i < attempts && wait < most_ms; i++)
        wait = wait <= most_ms / 2 ? wait * 2 : most_ms;
    uint64_t fixed = wait - wait / 2;
    return (int64_t)(fixed + random % (wait / 2 + 1));
}

bool message_is_hopeless(int64_t age_ms, int64_t failing_ms, uint64_t give_up_ms, uint64_t kept_ms)
{
    int64_t failed_ms = age_ms < failing_ms ? age_ms : failing_ms;
    return failed_ms >= (int64_t)give_up_ms || age_ms >= (int64_t)kept_ms;
}

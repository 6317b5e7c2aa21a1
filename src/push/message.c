/* SPDX-License-Identifier: MIT */
#include "push/message.h"

#include <inttypes.h>
#include <stdio.h>

#include "auth/hmac.h"
#include "base/json_out.h"

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

void message_body(const struct tidings_event *event, const char *tag, uint32_t attempt,
                  struct buf *body)
{
    struct json_out out;
    buf_clear(body);
    json_out_init(&out, body);
    json_out_object(&out);
    put_number(&out, "event_id", event->event_id);
    put_word(&out, "type", tidings_event_name(event->type));
    put_word(&out, "tag", tag);
    put_number(&out, "happened_at", (uint64_t)event->happened_at);
    put_number(&out, "story_id", event->post_id);
    put_number(&out, "scene_id", event->target_id);
    put_number(&out, "author_id", event->author_id);
    put_number(&out, "attempt", attempt);
    json_out_end(&out);
}

bool message_sign(const char *secret, size_t secret_n, int64_t timestamp_s, const struct buf *body,
                  char to[SIGNATURE_MAX])
{
    char prefix[24];
    unsigned char mac[HMAC_BYTES];
    size_t n = 0;
    int length = snprintf(prefix, sizeof prefix, "%" PRId64 ".", timestamp_s);
    EVP_MAC_CTX *ctx = hmac_new(secret, secret_n);
    bool ok = ctx && EVP_MAC_update(ctx, (const unsigned char *)prefix, (size_t)length) &&
              EVP_MAC_update(ctx, (const unsigned char *)body->data, body->len) &&
              EVP_MAC_final(ctx, mac, &n, sizeof mac) && n == sizeof mac;
    EVP_MAC_CTX_free(ctx);
    if (!ok)
        return false;
    length = snprintf(to, SIGNATURE_MAX, "v1=");
    for (size_t i = 0; i < sizeof mac; i++)
        snprintf(to + length + 2 * i, 3, "%02x", mac[i]);
    return true;
}

int64_t message_backoff_ms(uint64_t first_ms, uint64_t most_ms, uint32_t attempts, uint64_t random)
{
    uint64_t wait = first_ms < most_ms ? first_ms : most_ms;
    for (uint32_t i = 1; i < attempts && wait < most_ms; i++)
        wait = wait <= most_ms / 2 ? wait * 2 : most_ms;
    uint64_t fixed = wait - wait / 2;
    return (int64_t)(fixed + random % (wait / 2 + 1));
}

bool message_is_hopeless(int64_t happened_at, int64_t failing_since, int64_t now,
                         uint64_t give_up_ms, uint64_t kept_ms)
{
    int64_t since = failing_since > happened_at ? failing_since : happened_at;
    return now - since >= (int64_t)give_up_ms || now - happened_at >= (int64_t)kept_ms;
}

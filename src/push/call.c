/* SPDX-License-Identifier: MIT */
#include "push/call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "push/address.h"
#include "push/message.h"

enum { BODY_MAX = 4096, HEADER_MAX = 160 };

void call_init(struct call *call)
{
    *call = (struct call){.easy = NULL};
    buf_init(&call->body, BODY_MAX);
}

void call_release(struct call *call)
{
    curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    buf_release(&call->body);
}

/* ---- What libcurl asks ---------------------------------------------------------------------- */

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct call *call = ctx;
    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKET_BAD;
    if (!call->trusted && !address_is_public(&address->addr, address->addrlen) &&
        !push_allows_address(call->rules, &address->addr, address->addrlen)) {
        call->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t take_body(char *bytes, size_t size, size_t n, void *ctx)
{
    struct call *call = ctx;
    (void)bytes;
    call->body_n += size * n;
    call->cut = call->body_n > CALL_BODY_MAX;
    return call->cut ? 0 : size * n;
}

static size_t take_head(char *bytes, size_t size, size_t n, void *ctx)
{
    struct call *call = ctx;
    (void)bytes;
    call->head_n += size * n;
    call->flooded = call->head_n > CALL_HEAD_MAX;
    return call->flooded ? 0 : size * n;
}

/* ---- Beginning ------------------------------------------------------------------------------ */

static bool add_header(struct call *call, const char *name, const char *value)
{
    char line[HEADER_MAX];
    snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *more = curl_slist_append(call->headers, line);
    if (more)
        call->headers = more;
    return more != NULL;
}

/* In the form of Standard Webhooks, and in our own from before, which receivers may go by. */
static bool add_headers(struct call *call, const struct call_target *target,
                        const struct tidings_event *event)
{
    char number[24], timestamp[24], id[MESSAGE_ID_MAX];
    char own[SIGNATURE_MAX], standard[SIGNATURE_MAX];
    int64_t now_s = (int64_t)time(NULL);
    snprintf(number, sizeof number, "%" PRIu64, event->event_id);
    snprintf(timestamp, sizeof timestamp, "%" PRId64, now_s);
    message_id(event, id);
    if (!message_sign(target->secret, strlen(target->secret), now_s, &call->body, own) ||
        !message_sign_standard(target->secret, target->old_secret, id, now_s, &call->body,
                               standard))
        return false;
    curl_slist_free_all(call->headers);
    call->headers = NULL;
    struct curl_slist *first = curl_slist_append(NULL, "Expect:"); /* none: it costs a round trip */
    call->headers = first;
    return first && add_header(call, "Content-Type", "application/json") &&
           add_header(call, "Tidings-Event-Id", number) &&
           add_header(call, "Tidings-Timestamp", timestamp) &&
           add_header(call, "Tidings-Signature", own) && add_header(call, "webhook-id", id) &&
           add_header(call, "webhook-timestamp", timestamp) &&
           add_header(call, "webhook-signature", standard);
}

/* Nothing but this: no redirects, no proxy, no other protocol, no names or passwords of a .netrc. */
static bool set_limits(struct call *call, const struct call_target *target)
{
    CURL *easy = call->easy;
    const char *protocols = call->trusted ? "http,https" : "https";
    CURLcode wrong = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, protocols);
    wrong |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    wrong |= curl_easy_setopt(easy, CURLOPT_PROXY, "");
    wrong |= curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    wrong |= curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    wrong |= curl_easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    wrong |= curl_easy_setopt(easy, CURLOPT_HTTP09_ALLOWED, 0L);
    wrong |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    wrong |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    wrong |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    wrong |= curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (target->ca_file) { /* that one, and no others */
        wrong |= curl_easy_setopt(easy, CURLOPT_CAINFO, target->ca_file);
        wrong |= curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    wrong |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)target->timeout_ms);
    wrong |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)target->timeout_ms);
    wrong |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* A name server that does not answer must hold up neither other receivers nor the stop. */
    wrong |= curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    return !wrong;
}

static bool set_request(struct call *call, const struct call_target *target)
{
    CURL *easy = call->easy;
    CURLcode wrong = curl_easy_setopt(easy, CURLOPT_URL, target->url);
    wrong |= curl_easy_setopt(easy, CURLOPT_POST, 1L);
    wrong |= curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)call->body.len);
    wrong |= curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body.data);
    wrong |= curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
    wrong |= curl_easy_setopt(easy, CURLOPT_USERAGENT, "Tidings-Webhook/1");
    wrong |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    wrong |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
    wrong |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    wrong |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    wrong |= curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_head);
    wrong |= curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    wrong |= curl_easy_setopt(easy, CURLOPT_PRIVATE, target->owner);
    return !wrong;
}

const char *call_start(struct call *call, CURLM *multi, const struct call_target *target,
                       const struct tidings_event *event, uint32_t attempt)
{
    static const char no_memory[] = "out of memory";
    /* Again, though it was checked when it was set: what is allowed may have changed since. */
    if (push_check_url(target->rules, target->url, strlen(target->url), &call->trusted))
        return "the URL is not allowed";
    call->rules = target->rules;
    if (call->easy)
        curl_easy_reset(call->easy);
    else
        call->easy = curl_easy_init();
    message_body(event, target->by_tag, attempt, &call->body);
    if (!call->easy || call->body.failed || !add_headers(call, target, event) ||
        !set_limits(call, target) || !set_request(call, target))
        return no_memory;
    call->refused = call->cut = call->flooded = false;
    call->body_n = call->head_n = 0;
    if (curl_multi_add_handle(multi, call->easy))
        return no_memory;
    call->under_way = true;
    return NULL;
}

void call_end(struct call *call, CURLM *multi)
{
    if (call->under_way)
        curl_multi_remove_handle(multi, call->easy);
    call->under_way = false;
}

/* ---- The outcome ---------------------------------------------------------------------------- */

bool call_succeeded(struct call *call, CURLcode code, char error[CALL_ERROR_MAX])
{
    long status = 0;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (call->cut) /* that we read no further is no fault */
        code = CURLE_OK;
    if (!code && status >= 200 && status <= 299)
        return true;
    if (!code)
        snprintf(error, CALL_ERROR_MAX, "status %ld", status);
    else if (call->refused)
        snprintf(error, CALL_ERROR_MAX, "the host's address is not public");
    else if (call->flooded)
        snprintf(error, CALL_ERROR_MAX, "the answer's head is too long");
    else
        snprintf(error, CALL_ERROR_MAX, "%s", curl_easy_strerror(code));
    return false;
}

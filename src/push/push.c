/* SPDX-License-Identifier: MIT */
#include "push/push.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "push/endpoint.h"

/* How long events that are not for webhooks wait to be passed by, and how often what failed is tried again. */
enum { TICK_MS = 1000, ACTING_USER = 1 };

/* How often a server that makes no changes looks whether it does. */
enum { STANDBY_MS = 100 };

struct push {
    struct tidings_watcher watcher;
    struct push_shared shared;
    pthread_t thread;
    _Atomic bool stopping;
    _Atomic bool changed;    /* the webhooks may be others than when they were last listed */
    _Atomic bool happened;   /* there are events that endpoints have not seen */
    _Atomic uint64_t wanted; /* bits of the types that some webhook wants */
    bool failing;
    struct endpoint *endpoints;
};

/* ---- What has happened ---------------------------------------------------------------------- */

/* On the engine's thread. Events that no webhook wants do not wake ours. */
static void heed(struct tidings_watcher *watcher, const struct tidings_event *events, size_t n)
{
    struct push *push = (struct push *)watcher;
    uint64_t wanted = atomic_load(&push->wanted);
    bool wake = !n, changed = !n;
    for (size_t i = 0; i < n; i++) {
        changed |= events[i].type == TIDINGS_EVENT_WEBHOOK_CHANGED;
        wake |= wanted >> events[i].type & 1;
    }
    atomic_store(&push->happened, true);
    if (changed)
        atomic_store(&push->changed, true);
    if (wake || changed)
        curl_multi_wakeup(push->shared.multi);
}

/* ---- Which webhooks there are --------------------------------------------------------------- */

static struct endpoint *find(struct push *push, const struct tidings_webhook *webhook)
{
    struct endpoint *endpoint = push->endpoints;
    while (endpoint && (endpoint->generation != webhook->generation ||
                        strcmp(endpoint->name, webhook->name.p) != 0))
        endpoint = endpoint->next;
    return endpoint;
}

static void take_webhook(struct push *push, const struct tidings_webhook *webhook)
{
    struct endpoint *endpoint = find(push, webhook);
    if (!webhook->url.n) /* a consumer's row */
        return;
    if (webhook->state == TIDINGS_WEBHOOK_DISABLED)
        return;
    if (!endpoint) {
        endpoint = endpoint_new(&push->shared, webhook);
        if (!endpoint)
            return; /* the next listing brings it again */
        endpoint->next = push->endpoints;
        push->endpoints = endpoint;
    }
    endpoint->listed = true;
}

/* Those that are gone, off or set anew; what the engine still has of them comes back first. */
static void drop_unlisted(struct push *push)
{
    for (struct endpoint **at = &push->endpoints; *at;) {
        struct endpoint *endpoint = *at;
        if (!endpoint->listed)
            endpoint_abort(endpoint);
        if (endpoint->listed || !endpoint_is_quiet(endpoint)) {
            endpoint->stale |= !endpoint->listed;
            at = &endpoint->next;
            continue;
        }
        *at = endpoint->next;
        endpoint_free(endpoint);
    }
}

/* If they have changed, or could not be listed the last time. */
static void list_webhooks(struct push *push)
{
    struct tidings_answer answer;
    struct tidings_op op = {
        .kind = TIDINGS_OP_WEBHOOKS, .role = TIDINGS_ROLE_SERVICE, .user_id = ACTING_USER};
    if (!atomic_exchange(&push->changed, false))
        return;
    tidings_answer_init(&answer);
    enum tidings_err err = tidings_run(push->shared.config.tidings, &op, &answer);
    if (err && !push->failing)
        log_message(LOG_ERROR, "the webhooks cannot be listed: %s", tidings_err_code(err));
    push->failing = err;
    if (err) {
        atomic_store(&push->changed, true);
    } else {
        uint64_t wanted = 0;
        for (struct endpoint *endpoint = push->endpoints; endpoint; endpoint = endpoint->next)
            endpoint->listed = false;
        for (size_t i = 0; i < answer.u.webhooks.n; i++) {
            take_webhook(push, &answer.u.webhooks.rows[i]);
            if (answer.u.webhooks.rows[i].url.n)
                wanted |= tidings_webhook_bits(answer.u.webhooks.rows[i].events);
        }
        atomic_store(&push->wanted, wanted); /* what came before is looked for: they are new */
    }
    tidings_answer_release(&answer);
}

/* ---- Whose turn it is ----------------------------------------------------------------------- */

/*
 * Webhooks are called by the server that makes changes. In another term all that is known of them is forgotten, and read again:
 * another server may have called meanwhile. Whether this server calls anybody.
 */
static bool keep_term(struct push *push)
{
    uint64_t term = tidings_term(push->shared.config.tidings);
    if (term != push->shared.term) {
        for (struct endpoint *endpoint = push->endpoints; endpoint; endpoint = endpoint->next)
            endpoint->listed = false;
        drop_unlisted(push);
        push->shared.term = push->endpoints ? 0 : term; /* the engine has a report of one still */
        atomic_store(&push->changed, true);
    }
    return push->shared.term != 0;
}

/* ---- The thread ----------------------------------------------------------------------------- */

static void take_outcomes(struct push *push)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(push->shared.multi, &left))) {
        struct endpoint *endpoint = NULL;
        CURLcode code = message->data.result; /* the message goes with its handle */
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&endpoint);
        endpoint_called(endpoint, code);
    }
}

static bool all_quiet(const struct push *push)
{
    for (struct endpoint *endpoint = push->endpoints; endpoint; endpoint = endpoint->next)
        if (!endpoint_is_quiet(endpoint))
            return false;
    return true;
}

/* Calls end now; what the engine has is waited for, since it points into our memory. */
static void finish(struct push *push)
{
    struct endpoint *endpoint = push->endpoints;
    for (; endpoint; endpoint = endpoint->next) {
        endpoint->listed = false;
        endpoint_abort(endpoint);
    }
    for (drop_unlisted(push); !all_quiet(push); drop_unlisted(push)) {
        for (endpoint = push->endpoints; endpoint; endpoint = endpoint->next)
            endpoint_step(endpoint, TICK_MS);
        curl_multi_poll(push->shared.multi, NULL, 0, TICK_MS, NULL);
    }
    drop_unlisted(push);
}

static void *push_main(void *arg)
{
    struct push *push = arg;
    int running;
    thread_name("push");
    while (!atomic_load(&push->stopping)) {
        int64_t wait = keep_term(push) ? TICK_MS : STANDBY_MS;
        if (push->shared.term)
            list_webhooks(push);
        drop_unlisted(push);
        bool look = atomic_exchange(&push->happened, false);
        for (struct endpoint *endpoint = push->endpoints; endpoint; endpoint = endpoint->next) {
            endpoint->look |= look;
            wait = endpoint_step(endpoint, wait);
        }
        curl_multi_perform(push->shared.multi, &running);
        take_outcomes(push);
        curl_multi_poll(push->shared.multi, NULL, 0, (int)wait, NULL);
    }
    finish(push);
    return NULL;
}

struct push *push_start(const struct push_config *config)
{
    struct push *push = calloc(1, sizeof *push);
    if (!push || curl_global_init(CURL_GLOBAL_DEFAULT)) {
        free(push);
        return NULL;
    }
    push->shared.config = *config;
    push_clock_start(&push->shared);
    push->shared.multi = curl_multi_init();
    pthread_mutex_init(&push->shared.mutex, NULL);
    push->watcher.tell = heed;
    atomic_init(&push->changed, true);
    if (push->shared.multi && !pthread_create(&push->thread, NULL, push_main, push)) {
        tidings_watch(config->tidings, &push->watcher);
        return push;
    }
    curl_multi_cleanup(push->shared.multi);
    pthread_mutex_destroy(&push->shared.mutex);
    free(push);
    return NULL;
}

void push_stop(struct push *push)
{
    if (!push)
        return;
    tidings_unwatch(push->shared.config.tidings, &push->watcher);
    atomic_store(&push->stopping, true);
    curl_multi_wakeup(push->shared.multi);
    pthread_join(push->thread, NULL);
    curl_multi_cleanup(push->shared.multi);
    pthread_mutex_destroy(&push->shared.mutex);
    free(push);
}

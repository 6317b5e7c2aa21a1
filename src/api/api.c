/* SPDX-License-Identifier: MIT */
#include "api/api.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "api/teller.h"
#include "base/log.h"

/* ANSWERS_MAX: of all loops, before they are written */
enum { TOKENS_REMEMBERED = 65536, ANSWER_MAX = 16 << 20, ANSWERS_MAX = 16 << 20 };

static bool loop_init(struct api *api, unsigned index)
{
    struct api_loop *loop = &api->loops[index];
    const struct api_config *config = &api->config;
    buf_init(&loop->out, ANSWER_MAX);
    loop->verifier = jwt_verifier_new(config->keys, TOKENS_REMEMBERED, &config->tokens);
    loop->seal = seal_new(config->seal_secret, config->seal_secret_n);
    loop->metrics = metrics_new();
    loop->streams = streams_new(api, index);
    bool has_room =
        room_init(&loop->room, ANSWERS_MAX / config->threads, config->settings.queue_max);
    return loop->verifier && loop->seal && loop->metrics && loop->streams && has_room;
}

struct api *api_new(const struct api_config *config)
{
    struct api *api = calloc(1, sizeof *api);
    if (!api)
        return NULL;
    api->config = *config;
    api->started_us = api_now_us();
    atomic_init(&api->ready, true);
    pthread_mutex_init(&api->job.mutex, NULL);
    api->loops = calloc(config->threads, sizeof *api->loops);
    bool ok = api->loops != NULL;
    for (unsigned i = 0; ok && i < config->threads; i++)
        ok = loop_init(api, i);
    if (ok)
        api->teller = teller_start(api);
    if (api->teller)
        api->samples = samples_start(api);
    ok = api->samples != NULL;
    /* The seals are made; the secret is not ours to keep. */
    api->config.seal_secret = NULL;
    if (!ok) {
        api_join(api);
        api_free(api);
        return NULL;
    }
    return api;
}

void api_free(struct api *api)
{
    if (!api)
        return;
    for (unsigned i = 0; api->loops && i < api->config.threads; i++) {
        struct api_loop *loop = &api->loops[i];
        buf_release(&loop->out);
        jwt_verifier_free(loop->verifier);
        seal_free(loop->seal);
        metrics_free(loop->metrics);
        streams_free(loop->streams);
        room_release(&loop->room);
    }
    free(api->loops);
    pthread_mutex_destroy(&api->job.mutex);
    free(api);
}

void api_set_server(struct api *api, struct http_server *server)
{
    atomic_store(&api->server, server);
}

void api_counters(struct api *api, struct http_counters *counters)
{
    struct http_server *server = atomic_load(&api->server);
    *counters = (struct http_counters){0};
    if (server)
        http_server_counters(server, counters);
}

void api_not_ready(struct api *api)
{
    atomic_store(&api->ready, false);
}

static const char *peer_text(const struct http_peer *peer, char text[INET6_ADDRSTRLEN])
{
    struct in6_addr address;
    memcpy(&address, peer->address, sizeof address);
    if (IN6_IS_ADDR_V4MAPPED(&address))
        return inet_ntop(AF_INET, peer->address + 12, text, INET6_ADDRSTRLEN);
    return inet_ntop(AF_INET6, &address, text, INET6_ADDRSTRLEN);
}

void api_observe(const struct http_observation *seen, void *ctx)
{
    struct api *api = ctx;
    struct log_line line;
    char peer[INET6_ADDRSTRLEN];
    if (!api->config.access_log)
        return;
    log_begin(&line, LOG_INFO, "request");
    log_hex(&line, "request_id", seen->request_id);
    log_text(&line, "peer", peer_text(&seen->peer, peer));
    log_text(&line, "method", seen->method);
    log_string(&line, "path", seen->path.p ? seen->path.p : "", seen->path.n);
    log_u64(&line, "status", (uint64_t)seen->status);
    log_u64(&line, "bytes", seen->bytes);
    log_u64(&line, "duration_us", seen->duration_us);
    if (seen->aborted)
        log_text(&line, "aborted", "yes");
    log_end(&line);
}

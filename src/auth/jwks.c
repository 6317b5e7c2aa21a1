/* SPDX-License-Identifier: MIT */
#include "auth/jwks.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buf.h"

enum { TIMEOUT_MS = 10000, MINUTE_MS = 60000, HOUR_MS = 3600000 };

struct jwks {
    struct jwks_config config;
    CURL *easy;
    pthread_t thread;
    bool started;
    atomic_bool stopping;

    pthread_mutex_t lock; /* for what follows; never held while fetching */
    pthread_cond_t wake;  /* by the monotonic clock */
    struct buf set;       /* the last one that was sound */
    bool wanted;
    int64_t refreshed_ms; /* when a key was last wanted and looked for; 0: never */
    int64_t next_ms;      /* when it is time again anyway */
};

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- Where it may be fetched from ---------------------------------------------------------- */

static bool is_this_machine(const char *host)
{
    bool numeric = !host[strspn(host, "0123456789.")];
    return (numeric && !strncmp(host, "127.", 4)) || !strcasecmp(host, "localhost") ||
           !strcmp(host, "[::1]");
}

const char *jwks_check_url(const char *url)
{
    const char *wrong = NULL;
    char *scheme = NULL, *host = NULL, *user = NULL;
    CURLU *parts = curl_url();
    if (!parts || curl_url_set(parts, CURLUPART_URL, url, 0) ||
        curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) ||
        curl_url_get(parts, CURLUPART_HOST, &host, 0))
        wrong = "not a URL";
    else if (!curl_url_get(parts, CURLUPART_USER, &user, 0))
        wrong = "without user and password";
    else if (strcmp(scheme, "https") != 0 && !(!strcmp(scheme, "http") && is_this_machine(host)))
        wrong = "must be https, or http on this machine's own address";
    curl_free(scheme);
    curl_free(host);
    curl_free(user);
    curl_url_cleanup(parts);
    return wrong;
}

/* ---- Fetching ------------------------------------------------------------------------------ */

static size_t take_bytes(char *bytes, size_t size, size_t n, void *ctx)
{
    struct buf *to = ctx;
    buf_append(to, bytes, size * n);
    return to->failed ? 0 : size * n;
}

static int must_stop(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct jwks *jwks = ctx;
    (void)a, (void)b, (void)c, (void)d;
    return atomic_load(&jwks->stopping);
}

static bool set_request(struct jwks *jwks, struct buf *to)
{
    CURL *easy = jwks->easy;
    curl_easy_reset(easy);
    CURLcode wrong = curl_easy_setopt(easy, CURLOPT_URL, jwks->config.url);
    wrong |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    wrong |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    wrong |= curl_easy_setopt(easy, CURLOPT_PROXY, "");
    wrong |= curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    wrong |= curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    wrong |= curl_easy_setopt(easy, CURLOPT_HTTP09_ALLOWED, 0L);
    wrong |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    wrong |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    wrong |= curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (jwks->config.ca_file) { /* that one, and no others */
        wrong |= curl_easy_setopt(easy, CURLOPT_CAINFO, jwks->config.ca_file);
        wrong |= curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    wrong |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
    wrong |= curl_easy_setopt(easy, CURLOPT_MAXFILESIZE, (long)KEYS_FILE_MAX);
    wrong |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    wrong |= curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    wrong |= curl_easy_setopt(easy, CURLOPT_USERAGENT, "Tidings-Keys/1");
    wrong |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
    wrong |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, to);
    wrong |= curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    wrong |= curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, must_stop);
    wrong |= curl_easy_setopt(easy, CURLOPT_XFERINFODATA, jwks);
    return !wrong;
}

/* What is at the address; false with the reason. */
static bool download(struct jwks *jwks, struct buf *to, char error[JWKS_ERROR_MAX])
{
    long status = 0;
    if (!set_request(jwks, to)) {
        snprintf(error, JWKS_ERROR_MAX, "out of memory");
        return false;
    }
    CURLcode code = curl_easy_perform(jwks->easy);
    curl_easy_getinfo(jwks->easy, CURLINFO_RESPONSE_CODE, &status);
    if (to->failed || code == CURLE_FILESIZE_EXCEEDED)
        snprintf(error, JWKS_ERROR_MAX, "the answer is longer than %d bytes", KEYS_FILE_MAX);
    else if (code)
        snprintf(error, JWKS_ERROR_MAX, "%s", curl_easy_strerror(code));
    else if (status != 200)
        snprintf(error, JWKS_ERROR_MAX, "the answer is %ld%s", status,
                 status >= 300 && status < 400 ? ", and redirects are not followed" : "");
    else
        return true;
    return false;
}

static bool is_sound(const struct buf *set, char error[JWKS_ERROR_MAX])
{
    struct keys_note note = {.error = "out of memory"};
    struct keys *keys = keys_new();
    bool sound = keys && keys_add_published(keys, set->data, set->len, &note) == KEYS_OK;
    keys_unref(keys);
    if (!sound)
        snprintf(error, JWKS_ERROR_MAX, "%s", note.error);
    return sound;
}

/* Keeps the set if it is sound; *changed tells whether it is another than before. */
static bool fetch(struct jwks *jwks, bool *changed, char error[JWKS_ERROR_MAX])
{
    struct buf set;
    buf_init(&set, KEYS_FILE_MAX);
    bool ok = download(jwks, &set, error) && is_sound(&set, error);
    pthread_mutex_lock(&jwks->lock);
    jwks->next_ms = monotonic_ms() + (ok ? HOUR_MS : MINUTE_MS);
    *changed = ok && (set.len != jwks->set.len || memcmp(set.data, jwks->set.data, set.len) != 0);
    if (*changed) {
        struct buf old = jwks->set;
        jwks->set = set;
        set = old;
    }
    pthread_mutex_unlock(&jwks->lock);
    buf_release(&set);
    return ok;
}

bool jwks_fetch(struct jwks *jwks, char error[JWKS_ERROR_MAX])
{
    bool changed;
    return fetch(jwks, &changed, error);
}

/* ---- The thread ---------------------------------------------------------------------------- */

/* Waits until there is something to fetch; false: stop. */
static bool wait_for_need(struct jwks *jwks)
{
    pthread_mutex_lock(&jwks->lock);
    while (!atomic_load(&jwks->stopping)) {
        int64_t now = monotonic_ms(), at = jwks->next_ms;
        int64_t again = jwks->refreshed_ms ? jwks->refreshed_ms + MINUTE_MS : now;
        if (jwks->wanted && again < at)
            at = again;
        if (at <= now) {
            if (jwks->wanted)
                jwks->refreshed_ms = now;
            jwks->wanted = false;
            break;
        }
        struct timespec until = {.tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000};
        pthread_cond_timedwait(&jwks->wake, &jwks->lock, &until);
    }
    pthread_mutex_unlock(&jwks->lock);
    return !atomic_load(&jwks->stopping);
}

static void *run(void *arg)
{
    struct jwks *jwks = arg;
    while (wait_for_need(jwks)) {
        char error[JWKS_ERROR_MAX];
        bool changed, ok = fetch(jwks, &changed, error);
        if (!atomic_load(&jwks->stopping) && (!ok || changed))
            jwks->config.told(jwks->config.ctx, ok ? NULL : error);
    }
    return NULL;
}

void jwks_want(struct jwks *jwks)
{
    if (!jwks)
        return;
    pthread_mutex_lock(&jwks->lock);
    jwks->wanted = true;
    pthread_cond_signal(&jwks->wake);
    pthread_mutex_unlock(&jwks->lock);
}

enum keys_err jwks_add(struct jwks *jwks, struct keys *keys, struct keys_note *note)
{
    pthread_mutex_lock(&jwks->lock);
    enum keys_err err = keys_add_published(keys, jwks->set.data, jwks->set.len, note);
    pthread_mutex_unlock(&jwks->lock);
    return err;
}

struct jwks *jwks_new(const struct jwks_config *config)
{
    pthread_condattr_t monotonic;
    struct jwks *jwks = calloc(1, sizeof *jwks);
    if (!jwks)
        return NULL;
    jwks->config = *config;
    buf_init(&jwks->set, KEYS_FILE_MAX);
    pthread_mutex_init(&jwks->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&jwks->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    jwks->easy = curl_global_init(CURL_GLOBAL_DEFAULT) ? NULL : curl_easy_init();
    if (jwks->easy)
        return jwks;
    jwks_free(jwks);
    return NULL;
}

bool jwks_start(struct jwks *jwks)
{
    jwks->started = !pthread_create(&jwks->thread, NULL, run, jwks);
    return jwks->started;
}

void jwks_free(struct jwks *jwks)
{
    if (!jwks)
        return;
    atomic_store(&jwks->stopping, true);
    pthread_mutex_lock(&jwks->lock);
    pthread_cond_signal(&jwks->wake);
    pthread_mutex_unlock(&jwks->lock);
    if (jwks->started)
        pthread_join(jwks->thread, NULL);
    curl_easy_cleanup(jwks->easy);
    buf_release(&jwks->set);
    pthread_cond_destroy(&jwks->wake);
    pthread_mutex_destroy(&jwks->lock);
    free(jwks);
}

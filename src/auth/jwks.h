/* SPDX-License-Identifier: MIT */
/*
 * The keys that somebody publishes at an address: a JWK Set, fetched and kept. What was fetched last and was sound stays in
 * use while a fetch fails. A thread of its own fetches: nobody who verifies a token waits for the network. It does so every
 * hour, again a minute after a failure, and when a token names a key that is not there, that at most once a minute.
 *
 * Only https, or http to this machine itself; no redirects, no proxy.
 */
#ifndef AUTH_JWKS_H
#define AUTH_JWKS_H

#include <stdbool.h>

#include "auth/keys.h"

enum { JWKS_ERROR_MAX = 320 };

struct jwks_config {
    const char *url;     /* copied by nobody: must outlive it */
    const char *ca_file; /* certificates to trust; NULL: the system's */
    /* On the fetching thread: there is another set than before, or, with an error, the fetch failed. */
    void (*told)(void *ctx, const char *error);
    void *ctx;
};

struct jwks;

/* NULL, or why nothing may be fetched from there: a static text. */
const char *jwks_check_url(const char *url);

/* Nothing is fetched yet. NULL if memory is short. */
struct jwks *jwks_new(const struct jwks_config *config);

/* Fetches at once, on this thread, and tells nobody. For the first time, before jwks_start(). */
bool jwks_fetch(struct jwks *jwks, char error[JWKS_ERROR_MAX]);

/* From now on a thread does. False if there is none. */
bool jwks_start(struct jwks *jwks);

/* Any thread; returns at once: a token names a key that is not there. NULL is fine. */
void jwks_want(struct jwks *jwks);

/* Any thread: adds the keys of the last set. */
enum keys_err jwks_add(struct jwks *jwks, struct keys *keys, struct keys_note *note);

/* Ends the thread, after at most the second that a fetch takes to notice. NULL is fine. */
void jwks_free(struct jwks *jwks);

#endif

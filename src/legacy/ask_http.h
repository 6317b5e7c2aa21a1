/* SPDX-License-Identifier: MIT */
/*
 * A running server as the source of answers, over its HTTP API, by tokens of role service. All answers are bounded and looked at: whoever is
 * at that address may send anything. Redirections are not followed, and no proxy is used.
 */
#ifndef LEGACY_ASK_HTTP_H
#define LEGACY_ASK_HTTP_H

#include "legacy/ask.h"

enum { ASK_TOKEN_MAX = 8192 };

/* All of it is the caller's, and stays where it is. */
struct ask_http_options {
    const char *server;  /* http://host:port, or https; without a path */
    const char *ca_file; /* CA certificates in place of the system's; NULL: those */
    /* A token that holds for a minute at least. False: there is none. */
    bool (*token)(void *ctx, char token[ASK_TOKEN_MAX]);
    void *ctx;
    bool (*stopped)(void); /* asked while it waits */
};

/* NULL: memory is short. */
struct ask *ask_http_new(const struct ask_http_options *options);

#endif

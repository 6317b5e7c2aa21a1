/* SPDX-License-Identifier: MIT */
/*
 * Sessions of the console: a token in a cookie that scripts cannot read, so that a new tab is signed in
 * (docs/decisions/0036-console-sessions.md).
 *
 * Browsers add cookies by themselves, so a cookie alone says nothing of who wants the request. It counts only beside the
 * header Tidings-Session, which says whose token is meant: `user`, or `admin` for a second one with more rights. A page of
 * another origin cannot send that header, since no preflight allows it (exchange.c), whatever cors_origins says; and what
 * the browser itself calls cross-site (Sec-Fetch-Site) is refused besides. A bearer token in the request goes first.
 */
#ifndef API_SESSION_H
#define API_SESSION_H

#include "http/http.h"

/* The token of the session that the request may use; p is NULL if there is none. */
struct http_text session_token(const struct http_request *req);

#endif

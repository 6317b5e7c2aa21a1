/* SPDX-License-Identifier: MIT */
/*
 * Which pages of other origins may read answers (the Fetch standard's CORS). The layer puts what a browser wants to see
 * on every answer, its own refusals and streams among them; a preflight is answered by the handler, who knows the
 * methods of a path. Immutable once made; any thread.
 */
#ifndef HTTP_CORS_H
#define HTTP_CORS_H

#include "http/http.h"

struct http_cors;

/*
 * `origins` are exact, separated by commas, as browsers write them (https://app.example, http://localhost:5173), or "*"
 * alone: any, without credentials. `exposed` are the headers of answers that pages may read. NULL if an origin is none, or
 * memory is short: then *wrong is a static text, and *culprit the origin that it is about, within `origins`.
 */
struct http_cors *http_cors_new(const char *origins, const char *exposed, const char **wrong,
                                struct http_text *culprit);
/* NULL is fine. */
void http_cors_free(struct http_cors *cors);

/* Whether a browser asks, for a page of an origin that is allowed, what it may send. */
bool http_request_is_preflight(const struct http_request *req);

#endif

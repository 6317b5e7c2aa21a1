/* SPDX-License-Identifier: MIT */
/*
 * Where webhooks may lead: https to public addresses, or a host that the operator has allowed, which
 * may be plain http and have any address. URLs are read with libcurl's parser, the one that will
 * connect, so that the two cannot understand a URL differently. Immutable once made; any thread.
 */
#ifndef PUSH_RULES_H
#define PUSH_RULES_H

#include <stdbool.h>
#include <stddef.h>

struct push_rules;

/* `allow` lists hosts or host:port, separated by commas; NULL is none. NULL if it is malformed or
 * memory is short: then *wrong is a static text. */
struct push_rules *push_rules_new(const char *allow, const char **wrong);
void push_rules_free(struct push_rules *rules);

/*
 * NULL if this may be called, else why not, a static text. *trusted: the host is one of those
 * allowed. What a name leads to is not looked up here, but checked whenever it is connected to.
 */
const char *push_check_url(const struct push_rules *rules, const char *url, size_t n,
                           bool *trusted);

#endif

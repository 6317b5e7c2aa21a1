/* SPDX-License-Identifier: MIT */
/*
 * Where webhooks may lead: https to public addresses, or a host that the operator has allowed, which
 * may be plain http and have any address, or an address of a network that was allowed. A network says
 * nothing about names, which may lead anywhere at any time: an address of it may be called by plain
 * http as it stands in a URL, and by https also through a name. URLs are read with libcurl's parser, the one that will
 * connect, so that the two cannot understand a URL differently. Immutable once made; any thread.
 */
#ifndef PUSH_RULES_H
#define PUSH_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct push_rules;

/* `allow` lists hosts, host:port, networks (10.0.0.0/8, fd00::/8) or network:port, separated by
 * commas; NULL is none. NULL if it is malformed or memory is short: then *wrong is a static text. */
struct push_rules *push_rules_new(const char *allow, const char **wrong);
void push_rules_free(struct push_rules *rules);

/*
 * NULL if this may be called, else why not, a static text. *trusted: the host is one of those
 * allowed. What a name leads to is not looked up here, but checked whenever it is connected to.
 */
const char *push_check_url(const struct push_rules *rules, const char *url, size_t n,
                           bool *trusted);

/* Whether a network was allowed that has the address of `n` bytes, which may be connected to then,
 * public or not. */
bool push_allows_address(const struct push_rules *rules, const struct sockaddr *address, size_t n);

#endif

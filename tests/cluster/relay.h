/* SPDX-License-Identifier: MIT */
/*
 * Stands between an engine and the server, on a socket of its own, and does to a commit what a network does at the worst
 * moment. There is one in a program.
 */
#ifndef TESTS_CLUSTER_RELAY_H
#define TESTS_CLUSTER_RELAY_H

#include <stdbool.h>

enum relay_way {
    RELAY_PASS,
    RELAY_KEEP_ANSWER, /* the commit is passed on; what the server answers is not, until relay_cut */
    RELAY_DROP,        /* it is not passed on, and both sides lose the connection */
    RELAY_DELAY, /* the client loses the connection; the commit is passed on with relay_deliver */
};

/* The path of its socket. */
const char *relay_start(const char *server_socket);
void relay_stop(void);

/* What is done to the next batch that is committed; those behind it pass. The same for the next one that is ruled out, since it
 * was looked for and not found. */
void relay_on_commit(enum relay_way way);
void relay_on_rule_out(enum relay_way way);
/* Waits until there was one. */
void relay_await_commit(void);
/* The connection that it came by is closed. */
void relay_cut(void);
/* The commit that was delayed goes to the server, and all that it answers is waited for. */
void relay_deliver(void);

/* Whether those who connect are turned away. */
void relay_refuse(bool refuse);

#endif

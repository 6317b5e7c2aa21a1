/* SPDX-License-Identifier: MIT */
/*
 * Stands between a log and the server, on a socket of its own, and cuts what either says at any byte. There is one in a program;
 * what is asked for happens to the connection that is used next, and must be asked for while nobody waits for an answer.
 */
#ifndef TESTS_LOG_CUT_H
#define TESTS_LOG_CUT_H

#include <stddef.h>
#include <stdint.h>

/* The path of its socket. */
const char *cut_start(const char *server_socket);
void cut_stop(void);

/* All passes, from now on. */
void cut_nothing(void);
/* So many bytes of what the client says pass, then both sides lose the connection. */
void cut_requests(size_t bytes);
/* The same of what the server answers: it has done all that it was asked when the client loses the connection. */
void cut_answers(size_t bytes);
/* What the server answers is kept back until cut_nothing. */
void cut_hold(void);
/* Waits until there is something that is kept back. */
void cut_await_held(void);

/* How much the client and the server said since cut_nothing, and with how many commands. */
size_t cut_request_bytes(void);
size_t cut_answer_bytes(void);
unsigned cut_commands(void);

#endif

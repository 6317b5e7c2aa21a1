/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_NO_SERVER_H
#define TESTS_FUZZ_NO_SERVER_H

struct http_loop;

/* The one loop of a server that is not there: what is told to streams is posted to it. */
extern struct http_loop *no_server_loop;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Where a database is, as an operator writes it:
 *
 *     mysql://user@host:3306/database?tls=verify&ca=FILE
 *     mysql://user@localhost/database?socket=/path
 *
 * A password has no place in it: lists of processes and settings files would show it.
 */
#ifndef SQL_URL_H
#define SQL_URL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SQL_URL_USER_MAX = 512,    /* bytes: 128 characters */
    SQL_URL_HOST_MAX = 255,    /* a name of DNS */
    SQL_URL_DATABASE_MAX = 64, /* as the server has it */
    SQL_URL_SOCKET_MAX = 107,  /* the kernel's sun_path */
    SQL_URL_FILE_MAX = 4095,
};

struct sql_url {
    char user[SQL_URL_USER_MAX + 1];
    char host[SQL_URL_HOST_MAX + 1]; /* an IPv6 address without its brackets */
    uint16_t port;                   /* 3306 if the URL names none */
    /* Letters, digits, `_` and `-`, so that it may stand in statements and in names of topics; empty: none. */
    char database[SQL_URL_DATABASE_MAX + 1];
    char socket[SQL_URL_SOCKET_MAX + 1]; /* of localhost; empty: TCP to host and port */
    bool tls;                            /* and the server's certificate and name are verified */
    char
        ca[SQL_URL_FILE_MAX + 1]; /* PEM of who may have signed it; empty: whom the system trusts */
};

/* False: *wrong is a static text that says what is, without anything of the URL, and *url is untouched. */
bool sql_url_parse(const char *text, struct sql_url *url, const char **wrong);

#endif

/* SPDX-License-Identifier: MIT */
/* What a server of MySQL must be like for a log; knows no connection. */
#ifndef ENGINE_LOG_MYSQL_SERVER_H
#define ENGINE_LOG_MYSQL_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct log_server {
    bool read_only; /* or super_read_only */
    bool innodb_read_only;
    bool has_binary_log, logs_statements; /* the latter of a binary log, if it has one */
    bool is_galera;
    bool commits_lazily; /* innodb_flush_log_at_trx_commit is not 1 */
    uint64_t nodes;      /* of a Galera cluster */
    uint64_t packet;     /* max_allowed_packet */
    uint64_t server_id;
};

/* The names of the variables, as a list for IN. */
extern const char log_server_variables[];
/* One variable, as the server shows it. */
void log_server_note(struct log_server *server, struct bytes name, struct bytes value);
/* What is wrong and what to do, or NULL. */
const char *log_server_refusal(const struct log_server *server);

#endif

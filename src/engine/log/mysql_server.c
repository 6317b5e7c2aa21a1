/* SPDX-License-Identifier: MIT */
#include "engine/log/mysql_server.h"

#include <stdlib.h>

#include "engine/log/mysql_log.h"

/* SHOW leaves out those that the server does not know. wsrep_cluster_size is a status. */
const char log_server_variables[] =
    "'read_only','super_read_only','innodb_read_only','max_allowed_packet','server_id','log_bin',"
    "'binlog_format','innodb_flush_log_at_trx_commit','wsrep_on','wsrep_cluster_size'";

static bool is_text(struct bytes value, const char *text)
{
    return bytes_same(value, (struct bytes){(const uint8_t *)text, strlen(text)});
}

/* Newer servers know more ways to be read-only than one. */
static bool is_on(struct bytes value)
{
    return !is_text(value, "OFF") && !is_text(value, "0");
}

static uint64_t number_of(struct bytes value)
{
    char digits[24] = "";
    memcpy(digits, value.p, value.n < sizeof digits ? value.n : sizeof digits - 1);
    return strtoull(digits, NULL, 10);
}

void log_server_note(struct log_server *server, struct bytes name, struct bytes value)
{
    if (is_text(name, "read_only") || is_text(name, "super_read_only"))
        server->read_only |= is_on(value);
    else if (is_text(name, "innodb_read_only"))
        server->innodb_read_only = is_on(value);
    else if (is_text(name, "log_bin"))
        server->has_binary_log = is_on(value);
    else if (is_text(name, "binlog_format"))
        server->logs_statements = is_text(value, "STATEMENT");
    else if (is_text(name, "innodb_flush_log_at_trx_commit"))
        server->commits_lazily = number_of(value) != 1;
    else if (is_text(name, "wsrep_on"))
        server->is_galera = is_on(value);
    else if (is_text(name, "wsrep_cluster_size"))
        server->nodes = number_of(value);
    else if (is_text(name, "max_allowed_packet"))
        server->packet = number_of(value);
    else if (is_text(name, "server_id"))
        server->server_id = number_of(value);
}

const char *log_server_refusal(const struct log_server *server)
{
    if (server->is_galera && server->nodes > 1)
        return "the server is a node of a Galera cluster, of which several can be written to: use "
               "one primary with replicas";
    if (server->read_only)
        return "the server is read-only: name the primary, or SET GLOBAL read_only=OFF if this is "
               "the primary";
    if (server->innodb_read_only)
        return "InnoDB is read-only: start the server without innodb_read_only";
    if (server->packet < LOG_PACKET_MIN)
        return "max_allowed_packet is less than 64 MiB: set max_allowed_packet=64M or more in the "
               "server's settings";
    if (!server->server_id)
        return "server_id is 0, so that a failover could not be noticed: give each server of "
               "MySQL a server_id of its own";
    if (server->commits_lazily)
        return "a commit may be lost when the server crashes: set innodb_flush_log_at_trx_commit=1 "
               "in the server's settings";
    if (server->has_binary_log && server->logs_statements)
        return "the binary log has statements, which InnoDB refuses at READ COMMITTED: set "
               "binlog_format=ROW in the server's settings";
    return NULL;
}

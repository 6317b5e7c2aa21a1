/* SPDX-License-Identifier: MIT */
/*
 * libmariadb. Results are taken whole, so that the connection is free for the next statement as soon as they are read;
 * whoever asks bounds them with LIMIT. Its calls that can be waited for are used, since those that wait themselves know time-outs of
 * whole seconds alone, and the same ones for the life of a connection.
 *
 * The library's settings are the narrowest that work: it reads no option file, sends no local file whatever the server
 * asks for, gives the password to no plugin that would send it as it is, and never connects again by itself, which would
 * lose a transaction unnoticed.
 */
#include "sql/sql.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/wait.h"

#define METHODS "mysql_native_password,client_ed25519,caching_sha2_password,sha256_password"

struct sql {
    MYSQL *mysql;
    MYSQL_RES *result; /* of the present statement; NULL: it has no rows */
    MYSQL_ROW row;
    const unsigned long *lengths;
    uint64_t affected;
    uint64_t packet_max; /* what the server takes at once */
    int64_t silent_ms;   /* so long a server may take for an answer */
    int64_t until_ms;    /* and not beyond that; 0: whenever */
    bool sent;           /* the last statements went out whole */
    bool lost;
    char message[MYSQL_ERRMSG_SIZE];
};

/* ---- Waiting -------------------------------------------------------------------------------- */

/* When what is begun now must have been answered. */
static int64_t end_of_wait(const struct sql *sql)
{
    int64_t end_ms = wait_now_ms() + sql->silent_ms;
    return sql->until_ms && sql->until_ms < end_ms ? sql->until_ms : end_ms;
}

/* Waits for what the library waits for; what came of it. Told that the time is over, it ends its call with an error. */
static int wait_for(struct sql *sql, int wanted, int64_t end_ms)
{
    struct pollfd socket = {.fd = mysql_get_socket(sql->mysql)};
    socket.events = (short)((wanted & MYSQL_WAIT_READ ? POLLIN : 0) |
                            (wanted & MYSQL_WAIT_WRITE ? POLLOUT : 0) |
                            (wanted & MYSQL_WAIT_EXCEPT ? POLLPRI : 0));
    int64_t left_ms = end_ms - wait_now_ms();
    if (left_ms < 0 || !poll(&socket, 1, (int)left_ms))
        return MYSQL_WAIT_TIMEOUT;
    int came = (socket.revents & POLLIN ? MYSQL_WAIT_READ : 0) |
               (socket.revents & POLLOUT ? MYSQL_WAIT_WRITE : 0) |
               (socket.revents & POLLPRI ? MYSQL_WAIT_EXCEPT : 0);
    return came ? came : wanted & ~MYSQL_WAIT_TIMEOUT; /* hung up, or a signal: it will see */
}

/* False: the server cannot have all of it, and does nothing. */
static bool send_query(struct sql *sql, const char *text, size_t n, int64_t end_ms)
{
    int failed;
    int wanted = mysql_send_query_start(&failed, sql->mysql, text, n);
    while (wanted)
        wanted = mysql_send_query_cont(&failed, sql->mysql, wait_for(sql, wanted, end_ms));
    return !failed;
}

static bool read_answer(struct sql *sql, int64_t end_ms)
{
    my_bool failed;
    int wanted = mysql_read_query_result_start(&failed, sql->mysql);
    while (wanted)
        wanted = mysql_read_query_result_cont(&failed, sql->mysql, wait_for(sql, wanted, end_ms));
    return !failed;
}

/* 0: there is one, -1: there is none, more: it failed. */
static int next_result(struct sql *sql)
{
    int next;
    int64_t end_ms = end_of_wait(sql);
    int wanted = mysql_next_result_start(&next, sql->mysql);
    while (wanted)
        wanted = mysql_next_result_cont(&next, sql->mysql, wait_for(sql, wanted, end_ms));
    return next;
}

static MYSQL_RES *store_result(struct sql *sql)
{
    MYSQL_RES *result;
    int64_t end_ms = end_of_wait(sql);
    int wanted = mysql_store_result_start(&result, sql->mysql);
    while (wanted)
        wanted = mysql_store_result_cont(&result, sql->mysql, wait_for(sql, wanted, end_ms));
    return result;
}

/* ---- Errors --------------------------------------------------------------------------------- */

/* Those of the client library are its own; errors that only MySQL or only newer servers have are not in its headers. */
static const struct {
    unsigned code;
    enum sql_outcome outcome;
} outcomes[] = {
    {ER_LOCK_DEADLOCK, SQL_AGAIN},
    {ER_CHECKREAD, SQL_AGAIN},         /* the row was changed since the snapshot */
    {ER_TABLE_DEF_CHANGED, SQL_AGAIN}, /* the table was, by an upgrade */

    {ER_LOCK_WAIT_TIMEOUT, SQL_LOCKED},
    {3572, SQL_LOCKED}, /* MySQL: NOWAIT, and it is locked */

    {ER_BAD_NULL_ERROR, SQL_FENCED},

    {ER_SERVER_SHUTDOWN, SQL_LOST},
    {ER_NORMAL_SHUTDOWN, SQL_LOST},
    {ER_SHUTDOWN_COMPLETE, SQL_LOST},
    {ER_FORCING_CLOSE, SQL_LOST},
    {ER_ABORTING_CONNECTION, SQL_LOST},
    {ER_NEW_ABORTING_CONNECTION, SQL_LOST},
    {ER_CONNECTION_KILLED, SQL_LOST},
    {ER_NET_READ_ERROR, SQL_LOST},
    {ER_NET_READ_INTERRUPTED, SQL_LOST},
    {ER_NET_ERROR_ON_WRITE, SQL_LOST},
    {ER_NET_WRITE_INTERRUPTED, SQL_LOST},
    {ER_NET_PACKETS_OUT_OF_ORDER, SQL_LOST},
    {3168, SQL_LOST}, /* MySQL: the server is not available */
    {3169, SQL_LOST}, /* MySQL: the session was killed */
    {4031, SQL_LOST}, /* MySQL: disconnected for inactivity */

    {ER_OPTION_PREVENTS_STATEMENT, SQL_READ_ONLY},
    {ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, SQL_READ_ONLY},
    {ER_READ_ONLY_MODE, SQL_READ_ONLY},

    {ER_DISK_FULL, SQL_FULL},
    {ER_RECORD_FILE_FULL, SQL_FULL},
    {ER_OUTOFMEMORY, SQL_FULL},
    {ER_OUT_OF_SORTMEMORY, SQL_FULL},
    {ER_OUT_OF_RESOURCES, SQL_FULL},

    {ER_STATEMENT_TIMEOUT, SQL_TIMEOUT},
    {ER_QUERY_INTERRUPTED, SQL_TIMEOUT},
    {3024, SQL_TIMEOUT}, /* MySQL: max_execution_time */
    {3170, SQL_TIMEOUT}, /* MySQL: a statement's memory; it is as good as too long */
};

/* Of the client library: whatever goes wrong there, the two sides no longer agree on where they are. */
static bool is_of_client(unsigned code)
{
    return (code >= CR_MIN_ERROR && code <= CR_MAX_ERROR) || (code >= 5000 && code < 6000);
}

/* Errors of files carry the system's number in their text: error 28 "No space left on device". */
static bool is_disk_full(unsigned code, const char *message)
{
    return (code == ER_GET_ERRNO || code == ER_ERROR_ON_WRITE) && strstr(message, " 28 ");
}

static enum sql_outcome outcome_of(unsigned code, const char *message)
{
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
        if (outcomes[i].code == code)
            return outcomes[i].outcome;
    if (is_disk_full(code, message))
        return SQL_FULL;
    return is_of_client(code) ? SQL_LOST : SQL_REFUSED;
}

static void free_result(struct sql *sql)
{
    mysql_free_result(sql->result);
    sql->result = NULL;
    sql->row = NULL;
    sql->affected = 0;
}

static bool roll_back(struct sql *sql)
{
    static const char text[] = "ROLLBACK";
    int64_t end_ms = end_of_wait(sql);
    return send_query(sql, text, sizeof text - 1, end_ms) && read_answer(sql, end_ms);
}

/* What the library has just failed with. A lock that did not come and a time that is over undo a statement alone. */
static enum sql_outcome failed(struct sql *sql)
{
    unsigned code = mysql_errno(sql->mysql);
    snprintf(sql->message, sizeof sql->message, "%u: %s", code, mysql_error(sql->mysql));
    enum sql_outcome outcome = outcome_of(code, mysql_error(sql->mysql));
    free_result(sql);
    bool undo = outcome == SQL_AGAIN || outcome == SQL_LOCKED || outcome == SQL_TIMEOUT;
    if (undo && !roll_back(sql))
        outcome = SQL_LOST;
    sql->lost = outcome == SQL_LOST;
    return outcome;
}

static enum sql_outcome refused(struct sql *sql, const char *message)
{
    snprintf(sql->message, sizeof sql->message, "%s", message);
    return SQL_REFUSED;
}

enum tidings_err sql_err(enum sql_outcome outcome)
{
    static const enum tidings_err errors[] = {
        [SQL_DONE] = TIDINGS_OK,          [SQL_AGAIN] = TIDINGS_BUSY,
        [SQL_LOCKED] = TIDINGS_TIMEOUT,   [SQL_FENCED] = TIDINGS_BUSY,
        [SQL_LOST] = TIDINGS_UNREACHABLE, [SQL_READ_ONLY] = TIDINGS_IO,
        [SQL_FULL] = TIDINGS_NO_SPACE,    [SQL_TIMEOUT] = TIDINGS_TIMEOUT,
        [SQL_REFUSED] = TIDINGS_IO,
    };
    return errors[outcome];
}

const char *sql_message(const struct sql *sql)
{
    return sql->message;
}

bool sql_was_sent(const struct sql *sql)
{
    return sql->sent;
}

/* A server speaks when it is asked, and before it hangs up. */
bool sql_is_alive(const struct sql *sql)
{
    struct pollfd socket = {.fd = mysql_get_socket(sql->mysql), .events = POLLIN};
    return !sql->lost && poll(&socket, 1, 0) < 1;
}

/* ---- Statements ----------------------------------------------------------------------------- */

/* The result that has just arrived. */
static enum sql_outcome take(struct sql *sql)
{
    sql->result = store_result(sql);
    if (!sql->result && mysql_errno(sql->mysql))
        return failed(sql);
    sql->affected = mysql_affected_rows(sql->mysql);
    return SQL_DONE;
}

enum sql_outcome sql_next(struct sql *sql, bool *more)
{
    *more = false;
    if (sql->lost)
        return SQL_LOST;
    free_result(sql);
    int next = next_result(sql);
    if (next > 0)
        return failed(sql);
    *more = next == 0;
    return *more ? take(sql) : SQL_DONE;
}

static enum sql_outcome take_the_rest(struct sql *sql)
{
    enum sql_outcome outcome;
    bool more;
    do
        outcome = sql_next(sql, &more);
    while (more && outcome == SQL_DONE);
    return outcome;
}

static enum sql_outcome send_text(struct sql *sql, const char *text, size_t n)
{
    sql->sent = false;
    enum sql_outcome outcome = take_the_rest(sql);
    if (outcome != SQL_DONE)
        return outcome;
    /* The server would close the connection, which says too little. A byte of the packet is the command's. */
    if (n >= sql->packet_max)
        return refused(sql, "the statements are longer than the server's max_allowed_packet");
    int64_t end_ms = end_of_wait(sql);
    sql->sent = send_query(sql, text, n, end_ms);
    return sql->sent && read_answer(sql, end_ms) ? take(sql) : failed(sql);
}

enum sql_outcome sql_send(struct sql *sql, const struct buf *text)
{
    sql->sent = false;
    if (text->failed)
        return refused(sql, "the statements are too long, or there is no memory for them");
    return send_text(sql, text->data, text->len);
}

enum sql_outcome sql_run(struct sql *sql, const struct buf *text)
{
    enum sql_outcome outcome = sql_send(sql, text);
    return outcome == SQL_DONE ? take_the_rest(sql) : outcome;
}

enum sql_outcome sql_run_text(struct sql *sql, const char *text)
{
    enum sql_outcome outcome = send_text(sql, text, strlen(text));
    return outcome == SQL_DONE ? take_the_rest(sql) : outcome;
}

enum sql_outcome sql_run_counted(struct sql *sql, const struct buf *text, uint64_t *rows)
{
    bool more = true;
    enum sql_outcome outcome = sql_send(sql, text);
    while (outcome == SQL_DONE && more) {
        *rows = sql->affected;
        outcome = sql_next(sql, &more);
    }
    return outcome;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

bool sql_row(struct sql *sql)
{
    sql->row = sql->result ? mysql_fetch_row(sql->result) : NULL;
    sql->lengths = sql->row ? mysql_fetch_lengths(sql->result) : NULL;
    return sql->row != NULL;
}

unsigned sql_columns(const struct sql *sql)
{
    return sql->result ? mysql_num_fields(sql->result) : 0;
}

bool sql_is_null(const struct sql *sql, unsigned field)
{
    assert(sql->row && field < mysql_num_fields(sql->result));
    return !sql->row[field];
}

struct bytes sql_bytes(const struct sql *sql, unsigned field)
{
    if (sql_is_null(sql, field))
        return (struct bytes){NULL, 0};
    return (struct bytes){(const uint8_t *)sql->row[field], sql->lengths[field]};
}

uint64_t sql_u64(const struct sql *sql, unsigned field)
{
    return sql_is_null(sql, field) ? 0 : strtoull(sql->row[field], NULL, 10);
}

int64_t sql_i64(const struct sql *sql, unsigned field)
{
    return sql_is_null(sql, field) ? 0 : strtoll(sql->row[field], NULL, 10);
}

uint64_t sql_affected(const struct sql *sql)
{
    return sql->affected;
}

/* ---- Connections ---------------------------------------------------------------------------- */

static bool is_there; /* the library */

static void begin_library(void)
{
    is_there = !mysql_library_init(0, NULL, NULL);
}

static void set_options(MYSQL *mysql, const struct sql_url *url)
{
    unsigned protocol = *url->socket ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
    unsigned no_files = 0;
    my_bool no = 0, tls = url->tls;
    mysql_optionsv(mysql, MYSQL_OPT_NONBLOCK, 0);
    mysql_optionsv(mysql, MYSQL_OPT_PROTOCOL, &protocol);
    mysql_optionsv(mysql, MYSQL_OPT_LOCAL_INFILE, &no_files);
    mysql_optionsv(mysql, MYSQL_OPT_RECONNECT, &no);
    mysql_optionsv(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(mysql, MARIADB_OPT_RESTRICTED_AUTH, METHODS);
    mysql_optionsv(mysql, MYSQL_OPT_SSL_ENFORCE, &tls);
    mysql_optionsv(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &tls);
    if (*url->ca)
        mysql_optionsv(mysql, MYSQL_OPT_SSL_CA, url->ca);
}

/* Settings of the session that must not depend on the server's. */
static bool set_session(struct sql *sql)
{
    static const char text[] =
        "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', "
        "autocommit = 1; SELECT @@max_allowed_packet";
    bool more = false;
    sql->packet_max = sizeof text;
    if (send_text(sql, text, sizeof text - 1) != SQL_DONE || sql_next(sql, &more) != SQL_DONE)
        return false;
    if (more && sql_row(sql))
        sql->packet_max = sql_u64(sql, 0);
    return take_the_rest(sql) == SQL_DONE;
}

static bool make_connection(struct sql *sql, const struct sql_url *url, const char *password)
{
    MYSQL *made;
    const char *socket = *url->socket ? url->socket : NULL,
               *database = *url->database ? url->database : NULL;
    int64_t end_ms = end_of_wait(sql);
    int wanted =
        mysql_real_connect_start(&made, sql->mysql, url->host, url->user, password, database,
                                 url->port, socket, CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS);
    while (wanted)
        wanted = mysql_real_connect_cont(&made, sql->mysql, wait_for(sql, wanted, end_ms));
    return made;
}

static bool connect_to(struct sql *sql, const struct sql_url *url, const char *password)
{
    if (!make_connection(sql, url, password)) {
        failed(sql);
        return false;
    }
    if (url->tls && !mysql_get_ssl_cipher(sql->mysql)) {
        refused(sql, "the server does not speak TLS");
        return false;
    }
    return set_session(sql);
}

struct sql *sql_open(const struct sql_url *url, const char *password, int64_t silent_ms,
                     int64_t until_ms, char *why, size_t why_size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_library);
    struct sql *sql = calloc(1, sizeof *sql);
    if (sql && is_there)
        sql->mysql = mysql_init(NULL);
    if (!sql || !sql->mysql) {
        snprintf(why, why_size, "there is no memory for a connection");
        free(sql);
        return NULL;
    }
    sql->silent_ms = silent_ms;
    sql->until_ms = until_ms;
    set_options(sql->mysql, url);
    if (connect_to(sql, url, password))
        return sql;
    snprintf(why, why_size, "%s", sql->message);
    sql_close(sql);
    return NULL;
}

void sql_until(struct sql *sql, int64_t until_ms)
{
    sql->until_ms = until_ms;
}

void sql_close(struct sql *sql)
{
    if (!sql)
        return;
    free_result(sql);
    mysql_close(sql->mysql);
    free(sql);
}

/* ---- Putting statements together ------------------------------------------------------------ */

void sql_put_bytes(struct buf *text, struct bytes bytes)
{
    static const char digits[] = "0123456789abcdef";
    buf_literal(text, "x'");
    char *to = buf_reserve(text, bytes.n * 2);
    for (size_t i = 0; to && i < bytes.n; i++) {
        *to++ = digits[bytes.p[i] >> 4];
        *to++ = digits[bytes.p[i] & 15];
    }
    if (to)
        text->len += bytes.n * 2;
    buf_char(text, '\'');
}

void sql_put_text(struct buf *text, struct bytes bytes)
{
    buf_literal(text, "_utf8mb4 ");
    sql_put_bytes(text, bytes);
}

void sql_local_host(const struct sql *sql, char host[SQL_HOST_BYTES])
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage room;
    } own = {.any.sa_family = AF_UNSPEC};
    socklen_t n = sizeof own;
    char text[INET6_ADDRSTRLEN] = "";
    if (getsockname(mysql_get_socket(sql->mysql), &own.any, &n))
        own.any.sa_family = AF_UNSPEC;
    bool is_v6 = own.any.sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&own.v6.sin6_addr);
    if (own.any.sa_family == AF_INET)
        inet_ntop(AF_INET, &own.v4.sin_addr, text, sizeof text);
    else if (is_v6 && IN6_IS_ADDR_V4MAPPED(&own.v6.sin6_addr))
        inet_ntop(AF_INET, own.v6.sin6_addr.s6_addr + 12, text, sizeof text);
    else if (is_v6)
        inet_ntop(AF_INET6, &own.v6.sin6_addr, text, sizeof text);
    bool bracket = strchr(text, ':') != NULL;
    snprintf(host, SQL_HOST_BYTES, bracket ? "[%s]" : "%s", *text ? text : "127.0.0.1");
}

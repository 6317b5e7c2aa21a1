/* SPDX-License-Identifier: MIT */
#include "log/log_support.h"

struct log_mysql *log_a;
struct sql *other;
static char database[SQL_URL_DATABASE_MAX + 1];

/* ---- Logs ----------------------------------------------------------------------------------- */

int log_begin_test(void **state)
{
    (void)state;
    static unsigned made;
    char text[128];
    struct sql_url url = server_url();
    struct sql *sql = connect_as(&url, NULL);
    snprintf(database, sizeof database, "log_%u", ++made);
    snprintf(text, sizeof text, "CREATE DATABASE %s", database);
    assert_run(sql, text);
    sql_close(sql);
    strcpy(url.database, database);
    other = connect_as(&url, NULL);
    log_a = open_log(NULL);
    return 0;
}

int log_end_test(void **state)
{
    (void)state;
    log_mysql_close(log_a);
    sql_close(other);
    return 0;
}

const char *log_database(void)
{
    return database;
}

struct log_mysql *open_log(const char *socket)
{
    char text[512];
    const char *wrong = "";
    struct log_mysql *log = NULL;
    struct sql_url url = server_url();
    snprintf(text, sizeof text, "mysql://root@localhost/%s?socket=%s", database,
             socket ? socket : url.socket);
    if (log_mysql_open(text, NULL, &log, &wrong))
        fail_msg("%s", wrong);
    log_mysql_set_deadline(log, PATIENCE_MS);
    return log;
}

void assert_outcome(struct log_mysql *log, enum log_outcome found, enum log_outcome wanted)
{
    if (found != wanted)
        fail_msg("outcome %d instead of %d: %s", (int)found, (int)wanted, log_mysql_message(log));
}

void assert_says(struct log_mysql *log, const char *words)
{
    if (!strstr(log_mysql_message(log), words))
        fail_msg("\"%s\" does not say \"%s\"", log_mysql_message(log), words);
}

/* ---- What is in them ------------------------------------------------------------------------ */

void make_chain(uint8_t chain[LOG_CHAIN_BYTES], uint64_t position, unsigned salt)
{
    memset(chain, (int)salt, LOG_CHAIN_BYTES);
    memcpy(chain, &position, sizeof position);
}

struct log_end make_end(uint64_t fence, uint64_t position, unsigned salt)
{
    struct log_end end = {.fence = fence, .position = position};
    make_chain(end.chain, position, salt);
    return end;
}

struct log_record make_record(uint64_t position, unsigned salt, struct bytes bytes)
{
    struct log_record record = {
        .position = position, .at_ms = 1700000000000 + (int64_t)position, .bytes = bytes};
    make_chain(record.chain, position, salt);
    return record;
}

struct log_beginning make_beginning(unsigned cluster)
{
    struct log_beginning beginning = {.position = FIRST_POSITION, .era = ANY_ERA};
    memset(beginning.cluster, (int)cluster, sizeof beginning.cluster);
    make_chain(beginning.chain, FIRST_POSITION, 0);
    return beginning;
}

void begin_log(void)
{
    struct log_beginning beginning = make_beginning(1);
    assert_outcome(log_a, log_mysql_begin(log_a, &beginning), LOG_DONE);
}

struct log_writer look(struct log_mysql *log)
{
    struct log_writer writer = {0};
    assert_outcome(log, log_mysql_look(log, &writer), LOG_DONE);
    return writer;
}

uint64_t take_over(struct log_mysql *log, uint64_t id)
{
    struct log_writer seen = look(log);
    struct log_holder holder = {.id = id, .address = "127.0.0.1:1"};
    uint64_t fence = 0;
    assert_outcome(log, log_mysql_take(log, &seen, &holder, &fence), LOG_DONE);
    return fence;
}

uint64_t become_writer(struct log_mysql *log, uint64_t id)
{
    struct log_end end = {.fence = take_over(log, id)};
    struct log_writer seen = look(log);
    end.position = seen.position;
    memcpy(end.chain, seen.chain, sizeof end.chain);
    assert_outcome(log, log_mysql_confirm(log, &end, seen.era), LOG_DONE);
    return end.fence;
}

void end_lease(void)
{
    assert_run(other, "UPDATE tidings_writer SET until=NOW(3)");
}

static struct log_record record_of(const struct log_end *end, const char *text)
{
    return make_record(end->position + 1, 0, (struct bytes){(const uint8_t *)text, strlen(text)});
}

enum log_outcome append_one(struct log_mysql *log, const struct log_end *end, const char *text)
{
    struct log_record record = record_of(end, text);
    return log_mysql_append(log, end, true, &record, 1);
}

void must_append(struct log_mysql *log, struct log_end *end, const char *text)
{
    assert_outcome(log, append_one(log, end, text), LOG_DONE);
    *end = make_end(end->fence, end->position + 1, 0);
}

uint64_t count_records(uint64_t position)
{
    char text[128];
    snprintf(text, sizeof text, "SELECT COUNT(*) FROM tidings_log WHERE position=%llu",
             (unsigned long long)position);
    return asked(other, text);
}

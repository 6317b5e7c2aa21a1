/* SPDX-License-Identifier: MIT */
/* Logs on the server of tests/support/with-mariadb, in another database for each test; and a connection of somebody else's. */
#ifndef TESTS_LOG_LOG_SUPPORT_H
#define TESTS_LOG_LOG_SUPPORT_H

#include "engine/log/mysql_log.h"
#include "sql/sql_support.h"

enum { ANY_ERA = 3, FIRST_POSITION = 100 };

extern struct log_mysql *log_a; /* open when a test begins, not connected */
extern struct sql *other;       /* somebody else, in the same database */

int log_begin_test(void **state);
int log_end_test(void **state);
#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, log_begin_test, log_end_test)

/* The name of the test's database. */
const char *log_database(void);
/* Another log on the test's database, by this socket or the server's own. */
struct log_mysql *open_log(const char *socket);

/* Of a history: another salt is another one. */
void make_chain(uint8_t chain[LOG_CHAIN_BYTES], uint64_t position, unsigned salt);
struct log_end make_end(uint64_t fence, uint64_t position, unsigned salt);
/* Its bytes are the caller's. */
struct log_record make_record(uint64_t position, unsigned salt, struct bytes bytes);

/* A log of cluster 1 that begins at FIRST_POSITION. */
struct log_beginning make_beginning(unsigned cluster);
void begin_log(void);
/* Whoever takes over; its fence. The lease must be over. */
uint64_t take_over(struct log_mysql *log, uint64_t id);
/* And confirms the log as it is. */
uint64_t become_writer(struct log_mysql *log, uint64_t id);
void end_lease(void);

struct log_writer look(struct log_mysql *log);
/* One record with some bytes behind this end. */
enum log_outcome append_one(struct log_mysql *log, const struct log_end *end, const char *text);
/* The same, which must be done; *end moves on. */
void must_append(struct log_mysql *log, struct log_end *end, const char *text);
/* How many records with this position there are. */
uint64_t count_records(uint64_t position);

void assert_outcome(struct log_mysql *log, enum log_outcome found, enum log_outcome wanted);
void assert_says(struct log_mysql *log, const char *words);

int test_log_tables(void);
int test_log_writer(void);
int test_log_records(void);
int test_log_images(void);
int test_log_failures(void);

#endif

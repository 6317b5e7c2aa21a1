/* SPDX-License-Identifier: MIT */
/*
 * Without batches: each connection has a thread, and each step a transaction. What a step must know is asked for together with
 * the lock of its user, and what it writes is sent together with the commit, so that it takes two round trips.
 */
#include <mysql.h>
#include <mysqld_error.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { STATEMENTS_MAX = 4096 };

struct worker {
    pthread_t thread;
    struct bench *bench;
    MYSQL *mysql;
    double until;
    uint64_t steps;
};

typedef unsigned long long number;

/* What it asks, and what it writes then; a read is one statement. */
struct script {
    void (*ask)(const struct step *step, char *text);
    void (*write)(const struct step *step, char *text);
};

static void put(char *text, const char *form, ...) __attribute__((format(printf, 2, 3)));

static void put(char *text, const char *form, ...)
{
    va_list arguments;
    va_start(arguments, form);
    int n = vsnprintf(text, STATEMENTS_MAX, form, arguments);
    va_end(arguments);
    if (n < 0 || n >= STATEMENTS_MAX)
        bench_fail("a statement", "it is too long");
}

#define LOCK_USER                                                                             \
    "BEGIN;INSERT INTO user VALUES (%llu,0,0,0,0,0,0,0,0,0,0,0,0,0) ON DUPLICATE KEY UPDATE " \
    "version=version;SELECT * FROM user WHERE user_id=%llu;"
#define COUNT_ONE(column)                                                                     \
    "INSERT INTO user_counter (user_id,followers,posts,likes_received,favs_received) VALUES " \
    "(%llu,0,0,0,0) ON DUPLICATE KEY UPDATE " column "=" column "+1;"
#define ADD_EVENT                                                                               \
    "INSERT INTO outbox_event "                                                                 \
    "(event_type,happened_at,actor_id,target_id,author_id,delta,post_id,reaction,slot) VALUES " \
    "(1,1,%llu,%llu,%llu,1,%llu,1,0);"

/* ---- Marks ---------------------------------------------------------------------------------- */

enum { MAP_POSTS = 64 };

static void ask_mark(const struct step *step, char *text)
{
    put(text,
        LOCK_USER "SELECT * FROM post WHERE post_id=%llu;SELECT * FROM author WHERE author_id=%llu;"
                  "SELECT * FROM following WHERE from_user_id=%llu AND to_user_id=%llu;"
                  "SELECT * FROM read_map WHERE user_id=%llu AND author_id=%llu AND chunk=%u",
        (number)step->user, (number)step->user, (number)step->post, (number)step->author,
        (number)step->user, (number)step->author, (number)step->user, (number)step->author,
        step->number / MAP_POSTS);
}

static void write_mark(const struct step *step, char *text)
{
    put(text,
        "UPDATE user SET version=version+1 WHERE user_id=%llu;"
        "UPDATE following SET pair=x'0102030405%08x' WHERE from_user_id=%llu AND to_user_id=%llu;"
        "INSERT INTO read_map VALUES (%llu,%llu,%u,x'01%016llx') ON DUPLICATE KEY UPDATE "
        "map=VALUES(map);"
        "INSERT INTO history VALUES (%llu,%llu,%llu);COMMIT",
        (number)step->user, step->number, (number)step->user, (number)step->author,
        (number)step->user, (number)step->author, step->number / MAP_POSTS,
        (number)2 << (step->number % MAP_POSTS), (number)step->user, (number)step->post,
        (number)step->post);
}

/* ---- Follows -------------------------------------------------------------------------------- */

static void ask_follow(const struct step *step, char *text)
{
    put(text,
        LOCK_USER "SELECT * FROM author WHERE author_id=%llu LOCK IN SHARE MODE;"
                  "SELECT * FROM following WHERE from_user_id=%llu AND to_user_id=%llu",
        (number)step->user, (number)step->user, (number)step->author, (number)step->user,
        (number)step->author);
}

static void write_follow(const struct step *step, char *text)
{
    put(text,
        "UPDATE user SET version=version+1,following=following+1 WHERE user_id=%llu;"
        "INSERT INTO following VALUES (%llu,%llu,2,1,x'010203040506');"
        "INSERT INTO follower VALUES (%llu,1,%llu);" ADD_EVENT COUNT_ONE("followers") "COMMIT",
        (number)step->user, (number)step->user, (number)step->author, (number)step->author,
        (number)step->user, (number)step->user, (number)step->author, (number)step->author,
        (number)0, (number)step->author);
}

/* ---- Likes ---------------------------------------------------------------------------------- */

static void ask_like(const struct step *step, char *text)
{
    put(text,
        LOCK_USER "SELECT * FROM post WHERE post_id=%llu LOCK IN SHARE MODE;"
                  "SELECT * FROM reaction WHERE user_id=%llu AND target_id=%llu AND reaction=1;"
                  "SELECT * FROM content_stats WHERE post_id=%llu FOR UPDATE",
        (number)step->user, (number)step->user, (number)step->post, (number)step->user,
        (number)step->post, (number)step->post);
}

static void write_like(const struct step *step, char *text)
{
    put(text,
        "UPDATE user SET version=version+1,liked_posts=liked_posts+1 WHERE user_id=%llu;"
        "INSERT INTO reaction VALUES (%llu,%llu,1,1,%llu);"
        "UPDATE content_stats SET likes=likes+1,heat=heat+3 WHERE post_id=%llu;" ADD_EVENT
            COUNT_ONE("likes_received") "COMMIT",
        (number)step->user, (number)step->user, (number)step->post, (number)step->post,
        (number)step->post, (number)step->user, (number)step->post, (number)step->author,
        (number)step->post, (number)step->author);
}

static void write_one_post(const struct step *step, char *text)
{
    put(text, "UPDATE content_stats SET likes = likes + 1 WHERE post_id = %llu",
        (number)step->post);
}

/* ---- Reads ---------------------------------------------------------------------------------- */

/* All posts of those followed, less what was read. */
static void read_badge(const struct step *step, char *text)
{
    put(text,
        "SELECT (SELECT SUM(a.posts-a.deleted) FROM following f JOIN author a ON "
        "a.author_id=f.to_user_id WHERE f.from_user_id=%llu)-(SELECT COUNT(*) FROM history WHERE "
        "user_id=%llu)",
        (number)step->user, (number)step->user);
}

static void read_page(const struct step *step, char *text)
{
    put(text,
        "SELECT p.post_id,p.author_id,p.title,p.excerpt FROM following f JOIN post p ON "
        "p.author_id=f.to_user_id WHERE f.from_user_id=%llu ORDER BY p.post_id DESC LIMIT 10",
        (number)step->user);
}

static void read_counters(const struct step *step, char *text)
{
    put(text,
        "SELECT u.following,u.liked_posts,u.faved_posts,c.followers,c.posts FROM user u LEFT JOIN "
        "user_counter c ON c.user_id=u.user_id WHERE u.user_id=%llu",
        (number)step->user);
}

static void read_following(const struct step *step, char *text)
{
    put(text,
        "SELECT to_user_id,rank_id FROM following WHERE from_user_id=%llu ORDER BY rank_id "
        "DESC,to_user_id DESC LIMIT 20",
        (number)step->user);
}

static const struct script scripts[WORKS] = {
    [WORK_MARKS] = {ask_mark, write_mark},   [WORK_FOLLOWS] = {ask_follow, write_follow},
    [WORK_LIKES] = {ask_like, write_like},   [WORK_ONE_POST] = {NULL, write_one_post},
    [WORK_BADGE] = {NULL, read_badge},       [WORK_PAGE] = {NULL, read_page},
    [WORK_COUNTERS] = {NULL, read_counters}, [WORK_FOLLOWING] = {NULL, read_following},
};

/* ---- Connections ---------------------------------------------------------------------------- */

/* False after a deadlock, when all is rolled back. */
static bool send_all(MYSQL *mysql, const char *text)
{
    int more = mysql_query(mysql, text) ? 1 : 0;
    while (!more) {
        MYSQL_RES *result = mysql_store_result(mysql);
        if (result)
            mysql_free_result(result);
        more = mysql_next_result(mysql);
    }
    if (mysql_errno(mysql) && mysql_errno(mysql) != ER_LOCK_DEADLOCK)
        bench_fail("a statement", mysql_error(mysql));
    return !mysql_errno(mysql);
}

static void take_step(struct worker *worker, const struct step *step)
{
    const struct script *script = &scripts[worker->bench->work];
    char ask[STATEMENTS_MAX], write[STATEMENTS_MAX];
    if (script->ask)
        script->ask(step, ask);
    script->write(step, write);
    while ((script->ask && !send_all(worker->mysql, ask)) || !send_all(worker->mysql, write))
        ;
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct bench *bench = worker->bench;
    struct step step;
    while (bench_now() < worker->until) {
        if (!world_step(&bench->world, bench->work, atomic_fetch_add(&bench->next, 1), &step))
            bench_fail("the world", "it is used up: a larger one is needed");
        take_step(worker, &step);
        worker->steps++;
    }
    return NULL;
}

static MYSQL *connect_to(const struct bench *bench)
{
    MYSQL *mysql = mysql_init(NULL);
    if (!mysql || !mysql_real_connect(mysql, NULL, "root", "", bench->database, 0, bench->socket,
                                      CLIENT_MULTI_STATEMENTS))
        bench_fail("connecting", mysql ? mysql_error(mysql) : "no memory");
    send_all(mysql, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    return mysql;
}

struct outcome bench_singly(struct bench *bench)
{
    struct worker *workers = calloc(bench->connections, sizeof *workers);
    struct outcome outcome = {0};
    if (!workers || !scripts[bench->work].write || mysql_library_init(0, NULL, NULL))
        bench_fail("singly", "no memory, or not for this");
    for (unsigned i = 0; i < bench->connections; i++)
        workers[i] = (struct worker){.bench = bench, .mysql = connect_to(bench)};
    double from = bench_now(), cpu = bench_cpu(bench);
    for (unsigned i = 0; i < bench->connections; i++) {
        workers[i].until = from + bench->seconds;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            bench_fail("a thread", "there can be no more");
    }
    for (unsigned i = 0; i < bench->connections; i++) {
        pthread_join(workers[i].thread, NULL);
        outcome.steps += workers[i].steps;
    }
    outcome.seconds = bench_now() - from;
    outcome.cpu_s = bench_cpu(bench) - cpu;
    for (unsigned i = 0; i < bench->connections; i++)
        mysql_close(workers[i].mysql);
    free(workers);
    return outcome;
}

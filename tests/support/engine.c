/* SPDX-License-Identifier: MIT */
#include "support/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/local.h"

enum { URL_BYTES = 1024 };

/* A directory stands for a database of its own; FNV-1a, since names of databases are short. */
static uint64_t hash(const char *text)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        sum = (sum ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return sum;
}

void engine_database(const char *dir, char name[DATABASE_BYTES])
{
    snprintf(name, DATABASE_BYTES, "t_%016" PRIx64, hash(dir));
}

static void database_url(const char *dir, char url[URL_BYTES])
{
    char name[DATABASE_BYTES];
    const char *server = getenv("TIDINGS_TEST_MYSQL");
    if (!server || !*server) {
        fprintf(stderr,
                "TIDINGS_TEST_MYSQL is not set: run this under tests/support/with-mariadb\n");
        exit(2);
    }
    int before = (int)strcspn(server, "?");
    engine_database(dir, name);
    int n = snprintf(url, URL_BYTES, "%.*s%s%s", before, server, name, server + before);
    if (before < 1 || server[before - 1] != '/' || n >= URL_BYTES) {
        fprintf(stderr, "TIDINGS_TEST_MYSQL must be a URL with a / at its end and no database\n");
        exit(2);
    }
}

/* ---- Replicas ------------------------------------------------------------------------------------ */

enum { HIDDEN_MOST = 256, HIDDEN_PATH = 4200, ROLE_MS = 30000 };

/* Of each directory that a test opens: another server of the same log, which is there first and so makes the changes. */
static struct hidden {
    char dir[HIDDEN_PATH], path[HIDDEN_PATH];
    struct tidings_settings settings;
    struct tidings *engine;
} hidden[HIDDEN_MOST];

static void close_hidden(void)
{
    for (size_t i = 0; i < HIDDEN_MOST && hidden[i].dir[0]; i++) {
        char command[HIDDEN_PATH + 16];
        tidings_close(hidden[i].engine);
        snprintf(command, sizeof command, "rm -rf '%s'", hidden[i].path);
        if (system(command))
            fprintf(stderr, "%s stays\n", hidden[i].path);
    }
}

static bool await_writer(struct tidings *engine)
{
    struct tidings_replica status = {.role = TIDINGS_FOLLOWER};
    for (int ms = 0; ms < ROLE_MS && status.role != TIDINGS_WRITER; ms++) {
        tidings_replica_status(engine, &status);
        usleep(1000);
    }
    return status.role == TIDINGS_WRITER;
}

static enum tidings_err open_on_log(const struct tidings_options *options, const char *dir,
                                    const char *url, struct tidings **engine, const char **message)
{
    const char *why = NULL;
    struct tidings_options on_log = *options;
    on_log.dir = dir;
    on_log.mysql = url;
    enum tidings_err err = tidings_open(&on_log, engine, &why);
    if (err)
        fprintf(stderr, "%s: %s: %s\n", url, tidings_err_code(err), why);
    if (err && message)
        *message = why;
    return err;
}

static void make_database(const char *dir)
{
    char name[DATABASE_BYTES], command[URL_BYTES];
    const char *socket = strstr(getenv("TIDINGS_TEST_MYSQL"), "socket=");
    engine_database(dir, name);
    snprintf(command, sizeof command,
             "mariadb --no-defaults -u root --socket=%.*s -e 'CREATE DATABASE IF NOT EXISTS %s'",
             socket ? (int)strcspn(socket + 7, "&") : 0, socket ? socket + 7 : "", name);
    if (!socket || system(command)) {
        fprintf(stderr, "no database can be made\n");
        exit(2);
    }
}

/* A server alone on a log in MySQL. */
static enum tidings_err open_replica(const struct tidings_options *options, struct tidings **engine,
                                     const char **message)
{
    char url[URL_BYTES];
    database_url(options->dir, url);
    make_database(options->dir);
    enum tidings_err err = open_on_log(options, options->dir, url, engine, message);
    if (!err && !await_writer(*engine))
        exit(2);
    return err;
}

enum tidings_err engine_open_beside(const struct tidings_options *options, const char *dir,
                                    struct tidings **engine, const char **message)
{
    char url[URL_BYTES];
    database_url(options->dir, url);
    return open_on_log(options, dir, url, engine, message);
}

/* A server that follows: every change goes to the hidden one. */
static enum tidings_err open_follower(const struct tidings_options *options,
                                      struct tidings **engine, const char **message)
{
    char url[URL_BYTES];
    size_t i = 0;
    while (i + 1 < HIDDEN_MOST && hidden[i].dir[0] && strcmp(hidden[i].dir, options->dir))
        i++;
    database_url(options->dir, url);
    if (!hidden[i].dir[0]) {
        make_database(options->dir);
        if (!i)
            atexit(close_hidden);
        snprintf(hidden[i].dir, HIDDEN_PATH, "%.4000s", options->dir);
        snprintf(hidden[i].path, HIDDEN_PATH, "%.4000s-writer", options->dir);
    }
    bool is_same = !memcmp(&hidden[i].settings, &options->settings, sizeof options->settings);
    if (hidden[i].engine && !is_same) {
        tidings_close(hidden[i].engine);
        hidden[i].engine = NULL;
    }
    if (!hidden[i].engine) {
        hidden[i].settings = options->settings;
        enum tidings_err err =
            open_on_log(options, hidden[i].path, url, &hidden[i].engine, message);
        if (err || !await_writer(hidden[i].engine))
            exit(2);
    }
    return open_on_log(options, options->dir, url, engine, message);
}

/* A directory's engine, which reads ahead whatever a change may touch. */
static enum tidings_err open_ahead(const struct tidings_options *options, struct tidings **engine,
                                   const char **message)
{
    enum { ALWAYS = 2 };
    struct tidings_options ahead = *options;
    ahead.settings.read_ahead = ALWAYS;
    return tidings_open(&ahead, engine, message);
}

static const struct chosen {
    const char *name;
    enum tidings_err (*open)(const struct tidings_options *options, struct tidings **engine,
                             const char **message);
} engines[] = {{"local", tidings_open},
               {"ahead", open_ahead},
               {"replica", open_replica},
               {"follower", open_follower}};

static const struct chosen *chosen(void)
{
    const char *name = getenv("TIDINGS_TEST_ENGINE");
    if (!name || !*name)
        return &engines[0];
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (!strcmp(engines[i].name, name))
            return &engines[i];
    fprintf(stderr, "TIDINGS_TEST_ENGINE=%s: there is no such engine; there is:", name);
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        fprintf(stderr, " %s", engines[i].name);
    fputc('\n', stderr);
    exit(2);
}

enum tidings_err engine_open(const struct tidings_options *options, struct tidings **engine,
                             const char **message)
{
    return chosen()->open(options, engine, message);
}

unsigned engine_servers(unsigned most)
{
    const char *text = getenv("TIDINGS_TEST_SERVERS");
    unsigned long asked = text && chosen()->open == open_replica ? strtoul(text, NULL, 10) : 1;
    return asked < 1 ? 1 : asked < most ? (unsigned)asked : most;
}

void engine_must_exist(void)
{
    chosen();
}

bool engine_shares(void)
{
    return chosen()->open != tidings_open && chosen()->open != open_ahead;
}

bool engine_covers(const struct tidings_moment *as_of, uint64_t id)
{
    return id <= local_newest(as_of);
}

bool engine_is_newer(const struct tidings_moment *as_of, uint64_t id)
{
    return id > local_newest(as_of);
}

bool engine_went_on(const struct tidings_moment *earlier, const struct tidings_moment *later)
{
    return local_newest(earlier) <= local_newest(later);
}

struct tidings_moment engine_beyond(const struct tidings_moment *newest, uint64_t by)
{
    struct tidings_moment beyond = *newest;
    beyond.part[0] += by;
    return beyond;
}

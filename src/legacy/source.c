/* SPDX-License-Identifier: MIT */
#include "legacy/inside.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "base/wait.h"

enum {
    SILENT_MS = 60000, /* a page takes no longer, or the database is lost */
    STATEMENT_MAX = 1 << 16,
    LINE_MAX_BYTES = 16 << 20,
    NAP_US = 100000, /* how long nobody asks whether to stop */
    TELL_US = 1000000,
};
#define SORT_MEMORY ((size_t)64 << 20)
/* As an import takes them: clocks may differ. */
#define AHEAD_MS (UINT64_C(60) * 60 * 1000)

/* ---- Failing and stopping ------------------------------------------------------------------- */

bool source_goes_on(struct source *source)
{
    if (!source->stopped && source->how->stop && source->how->stop(source->how->ctx))
        source->stopped = true;
    return !source->failed && !source->stopped;
}

void source_fail(struct source *source, const char *format, ...)
{
    va_list list;
    if (source->failed || source->stopped)
        return;
    source->failed = true;
    va_start(list, format);
    vsnprintf(source->why, SOURCE_WHY_MAX, format, list);
    va_end(list);
}

void source_failed_with(struct source *source, const char *what, enum tidings_err err)
{
    source_fail(source, "%s: %s", what, tidings_err_text(err));
}

/* ---- Pace and progress ---------------------------------------------------------------------- */

static void wait_for_turn(struct source *source)
{
    uint64_t now_us;
    while ((now_us = wait_now_us()) < source->due_us && source_goes_on(source)) {
        uint64_t left_us = source->due_us - now_us, nap_us = left_us < NAP_US ? left_us : NAP_US;
        struct timespec nap = {.tv_nsec = (long)nap_us * 1000};
        nanosleep(&nap, NULL);
    }
}

static void tell(struct source *source, const char *what)
{
    uint64_t now_us = wait_now_us();
    if (!source->how->tell || now_us - source->told_us < TELL_US)
        return;
    source->told_us = now_us;
    source->how->tell(source->how->ctx, what, source->part_done);
}

unsigned source_at_once(const struct source *source, unsigned most)
{
    uint64_t load = source->how->max_load;
    if (!load || load / 5 >= most)
        return most;
    return load / 5 ? (unsigned)(load / 5) : 1;
}

/* No turn is saved for later: what was slow is no reason for a spike. */
void source_took(struct source *source, const char *what, uint64_t n)
{
    uint64_t now_us = wait_now_us();
    drift_read(source->drift, what, n);
    source->part_done += n;
    tell(source, what);
    if (!source->how->max_load)
        return;
    source->due_us =
        (source->due_us > now_us ? source->due_us : now_us) + n * 1000000 / source->how->max_load;
    wait_for_turn(source);
}

/* ---- Facts and records ---------------------------------------------------------------------- */

void source_write(struct source *source, const struct fact *fact)
{
    if (source->failed)
        return;
    drift_wrote(source->drift, fact_type_name(fact->type), 1);
    if (!source->how->facts)
        return;
    buf_clear(&source->line);
    fact_write(fact, &source->line);
    if (source->line.failed)
        source_fail(source, "a fact is too long, or there is no memory for it");
    else if (fwrite(source->line.data, 1, source->line.len, source->how->facts) != source->line.len)
        source_fail(source, "the facts cannot be written: %s", strerror(errno));
}

struct sorter *source_sorter(struct source *source)
{
    struct sorter *sorter = sorter_new(source->how->temp, SORT_MEMORY);
    if (!sorter)
        source_failed_with(source, "sorting", TIDINGS_NO_MEMORY);
    return sorter;
}

void source_sort(struct source *source, struct sorter *sorter, const uint8_t key[SORT_KEY_BYTES],
                 const struct buf *value)
{
    if (source->failed)
        return;
    struct bytes bytes = {value ? (const uint8_t *)value->data : NULL, value ? value->len : 0};
    enum tidings_err err =
        value && value->failed ? TIDINGS_NO_MEMORY : sorter_add(sorter, key, bytes);
    if (err)
        source_failed_with(source, "sorting", err);
}

bool source_next(struct source *source, struct sorter *sorter, struct bytes *value)
{
    enum tidings_err err = TIDINGS_OK;
    if (!source_goes_on(source))
        return false;
    bool more = sorter_next(sorter, value, &err);
    if (err)
        source_failed_with(source, "sorting", err);
    return more && !err;
}

void source_found(struct source *source, enum drift_kind kind, struct drift_example example)
{
    drift_add(source->drift, kind, &example);
}

uint64_t source_time(struct source *source, bool known, uint64_t at, uint64_t otherwise,
                     struct drift_example example)
{
    if (known && at <= source->now_ms + AHEAD_MS)
        return at;
    source_found(source, DRIFT_bad_time, example);
    return otherwise ? otherwise : source->now_ms;
}

/* ---- All of it ------------------------------------------------------------------------------ */

static void wrong(struct source *source, const char *what, const char *message)
{
    source->wrong = true;
    source_fail(source, "%s: %s", what, message);
}

/* Servers end connections that nobody uses, and the keys of a large system take hours: each table has its own. */
void source_connect(struct source *source)
{
    char why[SOURCE_WHY_MAX / 2];
    if (source->failed)
        return;
    sql_close(source->sql);
    source->sql =
        sql_open(&source->url, source->how->mysql_password, SILENT_MS, 0, why, sizeof why);
    if (!source->sql)
        source_fail(source, "the source's MySQL: %s", why);
    else if (sql_run_text(source->sql, "SET SESSION TRANSACTION READ ONLY") != SQL_DONE)
        source_fail(source, "the source's MySQL: %s", sql_message(source->sql));
}

static void check_mysql(struct source *source)
{
    const char *message = "it is missing";
    if (!source->how->mysql || !sql_url_parse(source->how->mysql, &source->url, &message))
        wrong(source, "--source-mysql", message);
    else if (!*source->url.database)
        wrong(source, "--source-mysql", "the URL names no database");
}

static void open_redis(struct source *source)
{
    const struct source_options *how = source->how;
    const struct redis_options options = {.nodes = how->redis,
                                          .user = how->redis_user,
                                          .password = how->redis_password,
                                          .tls = how->redis_tls,
                                          .ca_file = how->redis_ca};
    const char *message;
    if (!how->redis || source->failed)
        return;
    source->redis = redis_new(&options, &message);
    if (!source->redis)
        wrong(source, "--source-redis", message);
}

static enum source_outcome outcome_of(const struct source *source)
{
    if (source->wrong)
        return SOURCE_WRONG;
    if (source->failed)
        return SOURCE_FAILED;
    return source->stopped ? SOURCE_STOPPED : SOURCE_READ;
}

enum source_outcome source_read(const struct source_options *options, struct drift *drift,
                                char why[SOURCE_WHY_MAX])
{
    struct timespec now;
    struct source source = {.how = options, .drift = drift, .why = why};
    clock_gettime(CLOCK_REALTIME, &now);
    source.now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    *drift = (struct drift){.system = options->system};
    buf_init(&source.line, LINE_MAX_BYTES);
    buf_init(&source.statement, STATEMENT_MAX);
    check_mysql(&source);
    open_redis(&source);
    if (!source.failed && !strcmp(options->system, "hmdp"))
        hmdp_read(&source);
    else if (!source.failed)
        zhiguang_read(&source);
    if (!source.failed && options->facts && fflush(options->facts))
        source_fail(&source, "the facts cannot be written: %s", strerror(errno));
    redis_free(source.redis);
    sql_close(source.sql);
    buf_release(&source.line);
    buf_release(&source.statement);
    return outcome_of(&source);
}

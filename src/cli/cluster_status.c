/* SPDX-License-Identifier: MIT */
/*
 * What stands in the log's tables, for people and as JSON. No server is asked. Nothing of the URL is printed but the database's
 * name: the rest may say more than others should see.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "cli/cluster_command.h"

enum {
    SILENT_MS = 10000,             /* a replica says that it is there once a second */
    OLD_LOG_MS = 48 * 3600 * 1000, /* twice log_mysql_hours as it is by default */
    WARNINGS_MAX = 16,
    WARNING_BYTES = 512,
};

struct cluster_warnings {
    size_t n;
    char texts[WARNINGS_MAX][WARNING_BYTES];
};

static void cluster_warn(struct cluster_warnings *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void cluster_warn(struct cluster_warnings *to, const char *format, ...)
{
    va_list values;
    if (to->n == WARNINGS_MAX)
        return;
    va_start(values, format);
    vsnprintf(to->texts[to->n++], WARNING_BYTES, format, values);
    va_end(values);
}

static double cluster_seconds(int64_t ms)
{
    return (double)ms / 1000;
}

/* ---- What is wrong -------------------------------------------------------------------------- */

static void warn_of_writer(const struct tidings_log *log, struct cluster_warnings *to)
{
    if (log->unfit)
        cluster_warn(to, "%s", log->unfit);
    if (!log->writer_id)
        cluster_warn(to, "no server has made changes since the log began: start one");
    else if (log->lease_left_ms <= 0)
        cluster_warn(to,
                     "nobody makes changes: the last one who did, %s, ended, or its lease was over "
                     "%.1f s ago",
                     log->writer_address,
                     cluster_seconds(log->lease_left_ms < -INT32_MAX ? 0 : -log->lease_left_ms));
    else if (!log->ready)
        cluster_warn(to, "the log was not confirmed on this server of MySQL yet");
}

static void warn_of_replica(const struct tidings_log *log, const struct tidings_log_replica *one,
                            struct cluster_warnings *to)
{
    if (one->silent_ms > SILENT_MS)
        cluster_warn(to, "the replica at %s was not seen for %.0f s", one->address,
                     cluster_seconds(one->silent_ms));
    else if (one->era < log->era && log->lease_left_ms > 0)
        cluster_warn(to, "the replica at %s is of era %" PRIu64 ", the log of era %" PRIu64,
                     one->address, one->era, log->era);
    else if (one->position > log->position)
        cluster_warn(to,
                     "the replica at %s has positions up to %" PRIu64
                     ", which the log in MySQL does not have",
                     one->address, one->position);
}

/* Trimming goes as far as an image does (rule 15). */
static void warn_of_log(const struct tidings_log *log, struct cluster_warnings *to)
{
    size_t holders = 0;
    for (size_t i = 0; i < log->n_replicas; i++)
        holders += log->replicas[i].image_position > log->kept_after;
    if (log->first_ms && log->clock_ms - log->first_ms > OLD_LOG_MS)
        cluster_warn(to,
                     "the log goes back %.0f hours: it is trimmed behind an image alone, and MySQL "
                     "has %s, and %zu replicas hold one that is newer than the log's beginning",
                     cluster_seconds(log->clock_ms - log->first_ms) / 3600,
                     log->has_image ? "one" : "none", holders);
    if (log->kept_after && !log->has_image && !holders)
        cluster_warn(to, "nobody can join: the log was trimmed, and neither MySQL nor a replica "
                         "has an image in the log");
}

static void cluster_judge(const struct tidings_log *log, struct cluster_warnings *to)
{
    warn_of_writer(log, to);
    warn_of_log(log, to);
    for (size_t i = 0; i < log->n_replicas; i++)
        warn_of_replica(log, &log->replicas[i], to);
}

/* ---- For people ----------------------------------------------------------------------------- */

static void print_writer(const struct tidings_log *log)
{
    if (log->lease_left_ms > 0)
        printf("writer    %s, fence %" PRIu64 ", lease %.1f s%s\n", log->writer_address, log->fence,
               cluster_seconds(log->lease_left_ms), log->ready ? "" : ", not ready");
    else
        puts("writer    nobody");
    printf("position  %" PRIu64 ", era %" PRIu64 "\n", log->position, log->era);
}

static void print_log(const struct tidings_log *log)
{
    char time[TIME_BYTES];
    if (log->records)
        printf("log       positions %" PRIu64 " to %" PRIu64 ", %" PRIu64 " bytes, since %s\n",
               log->kept_after + 1, log->position, log->bytes, time_text(log->first_ms, time));
    else
        printf("log       no records behind position %" PRIu64 "\n", log->kept_after);
    if (log->has_image)
        printf("image     position %" PRIu64 ", era %" PRIu64 ", %" PRIu64 " bytes, of %s\n",
               log->image_position, log->image_era, log->image_bytes,
               time_text(log->image_ms, time));
    else
        puts("image     none in MySQL");
}

static void print_replicas(const struct tidings_log *log)
{
    if (!log->n_all_replicas) {
        puts("replicas  none");
        return;
    }
    printf("%-28s %14s %8s %6s %14s %8s\n", "replica", "position", "lag", "era", "image", "seen");
    for (size_t i = 0; i < log->n_replicas; i++) {
        const struct tidings_log_replica *one = &log->replicas[i];
        uint64_t lag = log->position > one->position ? log->position - one->position : 0;
        printf("%-28s %14" PRIu64 " %8" PRIu64 " %6" PRIu64 " %14" PRIu64 " %6.1f s\n",
               one->address, one->position, lag, one->era, one->image_position,
               cluster_seconds(one->silent_ms));
    }
    if (log->n_all_replicas > log->n_replicas)
        printf("and %zu more\n", log->n_all_replicas - log->n_replicas);
}

static void print_status(const struct tidings_log *log, const struct cluster_warnings *warnings)
{
    printf("mysql     %s, server_id %" PRIu64 ", max_allowed_packet %" PRIu64 " MiB%s\n",
           log->version, log->server_id, log->max_allowed_packet >> 20,
           log->writable ? "" : ", read-only");
    print_writer(log);
    print_log(log);
    print_replicas(log);
    for (size_t i = 0; i < warnings->n; i++)
        printf("warning   %s\n", warnings->texts[i]);
}

/* ---- As JSON -------------------------------------------------------------------------------- */

static void status_u64(struct json_out *out, const char *key, uint64_t value)
{
    json_out_key(out, key);
    json_out_u64(out, value);
}

static void status_i64(struct json_out *out, const char *key, int64_t value)
{
    json_out_key(out, key);
    json_out_i64(out, value);
}

static void status_text(struct json_out *out, const char *key, const char *value)
{
    json_out_key(out, key);
    json_out_text(out, value);
}

static void status_bool(struct json_out *out, const char *key, bool value)
{
    json_out_key(out, key);
    json_out_bool(out, value);
}

static void status_mysql(struct json_out *out, const struct tidings_log *log)
{
    json_out_key(out, "mysql");
    json_out_object(out);
    status_text(out, "version", log->version);
    status_u64(out, "server_id", log->server_id);
    status_u64(out, "max_allowed_packet", log->max_allowed_packet);
    status_bool(out, "writable", log->writable);
    json_out_end(out);
}

static void status_writer(struct json_out *out, const struct tidings_log *log)
{
    json_out_key(out, "writer");
    if (log->lease_left_ms <= 0) {
        json_out_null(out);
        return;
    }
    json_out_object(out);
    status_text(out, "address", log->writer_address);
    status_u64(out, "fence", log->fence);
    status_i64(out, "lease_left_ms", log->lease_left_ms);
    status_bool(out, "ready", log->ready);
    json_out_end(out);
}

static void status_log(struct json_out *out, const struct tidings_log *log)
{
    json_out_key(out, "log");
    json_out_object(out);
    status_u64(out, "after", log->kept_after);
    status_u64(out, "records", log->records);
    status_u64(out, "bytes", log->bytes);
    status_i64(out, "first_at_ms", log->first_ms);
    status_i64(out, "last_at_ms", log->last_ms);
    json_out_end(out);
    json_out_key(out, "image");
    if (!log->has_image) {
        json_out_null(out);
        return;
    }
    json_out_object(out);
    status_u64(out, "position", log->image_position);
    status_u64(out, "era", log->image_era);
    status_u64(out, "bytes", log->image_bytes);
    status_i64(out, "at_ms", log->image_ms);
    json_out_end(out);
}

static void status_replicas(struct json_out *out, const struct tidings_log *log)
{
    json_out_key(out, "replicas");
    json_out_array(out);
    for (size_t i = 0; i < log->n_replicas; i++) {
        const struct tidings_log_replica *one = &log->replicas[i];
        json_out_object(out);
        status_text(out, "address", one->address);
        status_bool(out, "writer", log->lease_left_ms > 0 && one->id == log->writer_id);
        status_u64(out, "position", one->position);
        status_u64(out, "lag", log->position > one->position ? log->position - one->position : 0);
        status_u64(out, "era", one->era);
        status_u64(out, "image_position", one->image_position);
        status_i64(out, "seen_ms_ago", one->silent_ms);
        json_out_end(out);
    }
    json_out_end(out);
}

static int print_status_json(const struct tidings_log *log, const struct cluster_warnings *warnings)
{
    struct buf text;
    struct json_out out;
    buf_init(&text, 1 << 20);
    json_out_init(&out, &text);
    json_out_object(&out);
    status_mysql(&out, log);
    status_writer(&out, log);
    status_u64(&out, "position", log->position);
    status_u64(&out, "era", log->era);
    status_log(&out, log);
    status_replicas(&out, log);
    json_out_key(&out, "warnings");
    json_out_array(&out);
    for (size_t i = 0; i < warnings->n; i++)
        json_out_text(&out, warnings->texts[i]);
    json_out_end(&out);
    json_out_end(&out);
    return cluster_print(&text);
}

/* --------------------------------------------------------------------------------------------- */

int cluster_print(struct buf *text)
{
    buf_char(text, '\n');
    bool ok = !text->failed && fwrite(text->data, 1, text->len, stdout) == text->len;
    buf_release(text);
    return ok ? EXIT_FINE : EXIT_BROKEN;
}

int cluster_status_run(const struct cluster_args *args, const struct tidings_options *how)
{
    static struct tidings_log log;
    static struct cluster_warnings warnings;
    const char *message;
    enum tidings_err err = tidings_log_look(how, &log, &message);
    if (err)
        return cluster_log_failed(err, message);
    cluster_judge(&log, &warnings);
    int code = EXIT_FINE;
    if (args->json)
        code = print_status_json(&log, &warnings);
    else
        print_status(&log, &warnings);
    return code == EXIT_FINE && warnings.n ? EXIT_FOUND : code;
}

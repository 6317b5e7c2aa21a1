/* SPDX-License-Identifier: MIT */
/*
 * The facts are complete before the first is imported: a source that is lost in the middle leaves nothing half done, and what is imported
 * is the same after an interruption, though the source has gone on.
 */
#include "cli/import_from.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/where.h"
#include "legacy/values.h"

enum { REPORT_MAX = 1 << 22 };

bool from_parse_key(const char *text, void *names)
{
    if (*text)
        return legacy_names_set(names, text);
    legacy_names_init(names);
    return true;
}

/* Kept as it was written: what it means is looked at again where it is needed. */
bool from_parse_zone(const char *text, void *zone)
{
    int64_t ahead_ms;
    memcpy(zone, &text, sizeof text);
    return value_zone(text, &ahead_ms);
}

static int failed(const char *what, const char *why)
{
    fprintf(stderr, "tidings: %s: %s\n", what, why);
    return EXIT_BROKEN;
}

/* ---- The file of facts ---------------------------------------------------------------------- */

/* All that people wrote is in it: nobody else may read it. */
static FILE *open_facts(const struct from_args *args, const char *temp, char path[FROM_PATH_MAX])
{
    int fd;
    snprintf(path, FROM_PATH_MAX, "%s%s", args->facts ? args->facts : temp,
             args->facts ? "" : "/tidings-facts-XXXXXX");
    if (args->facts)
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    else
        fd = mkostemp(path, O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        failed(path, strerror(errno));
    if (!file && fd >= 0)
        close(fd);
    return file;
}

/* Half of the facts would be taken for all of them. */
static int close_facts(FILE *file, const char *path, int code)
{
    struct stat st;
    bool regular = !fstat(fileno(file), &st) && S_ISREG(st.st_mode);
    if (fclose(file) && code != EXIT_BROKEN)
        code = failed(path, strerror(errno));
    if ((code == EXIT_BROKEN || code == EXIT_USAGE) && regular)
        unlink(path);
    return code;
}

/* ---- The report ----------------------------------------------------------------------------- */

static int write_report(const struct drift *drift, const char *path)
{
    struct buf json;
    FILE *to = fopen(path, "we");
    if (!to)
        return failed(path, strerror(errno));
    buf_init(&json, REPORT_MAX);
    drift_json(drift, &json);
    bool written = !json.failed && fwrite(json.data, 1, json.len, to) == json.len;
    buf_release(&json);
    if (fclose(to) || !written)
        return failed(path, strerror(errno));
    return OPTIONS_READ;
}

static void tell_progress(void *ctx, const char *what, uint64_t n)
{
    (void)ctx;
    fprintf(stderr, "\r%-24s %" PRIu64 "%8s", what, n, "");
    fflush(stderr);
}

static int tell_outcome(enum source_outcome outcome, const char *why)
{
    switch (outcome) {
    case SOURCE_READ:
        return OPTIONS_READ;
    case SOURCE_STOPPED:
        puts("interrupted: nothing was imported");
        return EXIT_BROKEN;
    case SOURCE_WRONG:
        fprintf(stderr, "tidings: %s\n", why);
        return EXIT_USAGE;
    case SOURCE_FAILED:
        fprintf(stderr, "tidings: %s; nothing was imported\n", why);
        return EXIT_BROKEN;
    }
    return EXIT_BROKEN;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static int read_and_report(struct source_options *options, const struct from_args *args)
{
    char why[SOURCE_WHY_MAX] = "";
    struct drift *drift = calloc(1, sizeof *drift);
    if (!drift)
        return failed("import", strerror(ENOMEM));
    int code = tell_outcome(source_read(options, drift, why), why);
    if (options->tell)
        fprintf(stderr, "\r%-60s\r", "");
    if (code == OPTIONS_READ)
        drift_print(drift, stdout);
    if (code == OPTIONS_READ && args->drift)
        code = write_report(drift, args->drift);
    bool any = drift_total(drift, DRIFT_CONTRADICTION) || drift_total(drift, DRIFT_LEFT_OUT);
    free(drift);
    if (code != OPTIONS_READ || !args->dry_run)
        return code;
    return any ? EXIT_FOUND : EXIT_FINE;
}

int from_read(const struct cli_command *command, const struct from_args *args, const char *temp,
              bool (*stop)(void *ctx), char path[FROM_PATH_MAX])
{
    struct password mysql, redis;
    if (!args->mysql)
        return options_wrong(command, "--source-mysql is missing");
    int code = password_read("TIDINGS_SOURCE_MYSQL_PASSWORD", &mysql);
    if (code == OPTIONS_READ)
        code = password_read("TIDINGS_SOURCE_REDIS_PASSWORD", &redis);
    if (code != OPTIONS_READ)
        return code;
    const char *dir = temp ? temp : getenv("TMPDIR");
    struct source_options options = {.system = args->system,
                                     .mysql = args->mysql,
                                     .mysql_password = mysql.given ? mysql.text : NULL,
                                     .redis = args->redis,
                                     .redis_user = args->redis_user,
                                     .redis_password = redis.given ? redis.text : NULL,
                                     .redis_ca = args->redis_ca,
                                     .redis_tls = !strcmp(args->redis_tls, "verify"),
                                     .names = args->names,
                                     .max_load = args->max_load,
                                     .temp = dir && *dir ? dir : "/tmp",
                                     .stop = stop,
                                     .tell = isatty(STDERR_FILENO) ? tell_progress : NULL};
    options.names.tagged = args->tagged;
    value_zone(args->zone, &options.zone_ahead_ms);
    if (args->dry_run && !args->facts)
        return read_and_report(&options, args);
    options.facts = open_facts(args, options.temp, path);
    if (!options.facts)
        return EXIT_BROKEN;
    code = read_and_report(&options, args);
    return close_facts(options.facts, path, code);
}

/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/where.h"

const char *time_text(int64_t time_ms, char text[TIME_BYTES])
{
    char seconds[TIME_BYTES];
    time_t whole = (time_t)(time_ms / 1000);
    struct tm tm;
    gmtime_r(&whole, &tm);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, TIME_BYTES, "%.24s.%03dZ", seconds, (int)(time_ms % 1000));
    return text;
}

/* Behind the seconds: "Z", or ".5Z"; answers milliseconds, or -1. */
static int fraction_ms(const char *text)
{
    int ms = 0, unit = 100;
    if (*text == '.') {
        if (!isdigit((unsigned char)*++text))
            return -1;
        for (; isdigit((unsigned char)*text); text++, unit /= 10)
            ms += (*text - '0') * unit;
    }
    return strcmp(text, "Z") ? -1 : ms;
}

bool time_parse(const char *text, int64_t *time_ms)
{
    struct tm tm = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    int ms = rest ? fraction_ms(rest) : -1;
    *time_ms = ms < 0 ? 0 : (int64_t)timegm(&tm) * 1000 + ms;
    return *time_ms > 0;
}

/* Milliseconds since 1970, or a date: above 0. */
static bool parse_time(const char *text, void *to)
{
    char *end;
    int64_t time_ms = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end)
        time_parse(text, &time_ms);
    memcpy(to, &time_ms, sizeof time_ms);
    return time_ms > 0;
}

struct restore_args {
    const char *data;
    struct tidings_restore restore;
};

static const struct cli_operand operands[] = {
    {"SRC", .at = offsetof(struct restore_args, restore.from)}};

static const struct cli_option options[] = {
    DATA_OPTION(struct restore_args, data, "the directory to make: new or empty"),
    {"until", OPTION_PARSED, "TIME", offsetof(struct restore_args, restore.until_ms),
     .parse = parse_time, .must = "milliseconds since 1970, or of the form 2026-11-15T12:00:00Z",
     .help = "as it was at that moment: milliseconds since 1970, or 2026-11-15T12:00:00Z, with a "
             "fraction of the second if need be; without: everything there is"},
    {"salvage", OPTION_FLAG, NULL, offsetof(struct restore_args, restore.salvage),
     .help = "if the log is damaged or its end is missing, take what there is"},
};

static int restore_now(struct tidings_restore *restore)
{
    const char *message;
    char when[TIME_BYTES];
    restore->progress = progress_in_bytes();
    if (tidings_restore(restore, &message)) {
        fprintf(stderr, "tidings: %s\n", message);
        return EXIT_BROKEN;
    }
    printf("restored up to batch %" PRIu64 " of %s\n", restore->batch,
           time_text(restore->time_ms, when));
    if (!restore->lost[0])
        return EXIT_FINE;
    printf("what comes later is lost: %s\n", restore->lost);
    return EXIT_FOUND;
}

static int run(int argc, char **argv)
{
    struct restore_args args = {0};
    int code = options_start(&command_restore, &args, argc, argv);
    if (code != OPTIONS_READ)
        return code;
    args.restore.dir = args.data;
    return restore_now(&args.restore);
}

const struct cli_command command_restore = {
    .name = "restore",
    .summary = "make a data directory of a backup, as it was at some moment",
    .usage = "SRC --data DIR [--until TIME] [--salvage]",
    .about =
        "Makes a data directory out of a backup, or of another data directory, which is only read.",
    .examples = "tidings restore /srv/backups/today --data /var/lib/tidings-new --until "
                "2026-11-15T12:00:00Z",
    .exits = "0 done; 1 done, but not everything could be salvaged; 2 usage; 3 failed.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .operands = operands,
    .n_operands = sizeof operands / sizeof *operands,
    .run = run,
};

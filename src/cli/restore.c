/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "tidings.h"

static const char help[] =
    "usage: tidings restore SRC --data DIR [--until TIME] [--salvage]\n\n"
    "Makes a data directory out of a backup, or of another data directory, which is only read.\n\n"
    "  --data DIR     the directory to make: new or empty\n"
    "  --until TIME   as it was at that moment: milliseconds since 1970, or 2026-11-15T12:00:00Z,\n"
    "                 with a fraction of the second if need be; without: everything there is\n"
    "  --salvage      if the log is damaged or its end is missing, take what there is\n\n"
    "Exit: 0 done; 1 done, but not everything could be salvaged; 2 usage; 3 failed.\n";

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

/* 0 if it is not a time. */
static int64_t parse_time(const char *text)
{
    struct tm tm = {0};
    char *end;
    int64_t number = strtoll(text, &end, 10);
    if (isdigit((unsigned char)*text) && !*end)
        return number;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    int ms = rest ? fraction_ms(rest) : -1;
    return ms < 0 ? 0 : (int64_t)timegm(&tm) * 1000 + ms;
}

static int run(struct tidings_restore *restore)
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

int cli_restore(int argc, char **argv)
{
    static const struct option flags[] = {
        {"data", required_argument, NULL, 'd'},
        {"until", required_argument, NULL, 'u'},
        {"salvage", no_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    struct tidings_restore restore = {0};
    bool fine = true;
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        if (flag == 'h') {
            fputs(help, stdout);
            return EXIT_FINE;
        }
        if (flag == 'd')
            restore.dir = optarg;
        if (flag == 'u')
            fine = fine && (restore.until_ms = parse_time(optarg)) > 0;
        if (flag == 's')
            restore.salvage = true;
        fine = fine && flag != '?';
    }
    if (!fine || !restore.dir || optind + 1 != argc) {
        fputs(help, stderr);
        return EXIT_USAGE;
    }
    restore.from = argv[optind];
    return run(&restore);
}

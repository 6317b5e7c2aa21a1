/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/cli.h"
#include "tidings.h"

static const char help[] =
    "usage: tidings backup DEST --data DIR\n\n"
    "Copies the newest base image and the log behind it to DEST, which must be new or empty.\n"
    "A server may be using the data directory; everything it acknowledged before is in the "
    "backup.\n"
    "`tidings restore` makes a data directory of it, and a server can be started on it as it "
    "is.\n\n"
    "  --data DIR   the data directory\n\n"
    "Exit: 0 done; 2 usage; 3 failed.\n";

static int run(const char *dir, const char *dest)
{
    struct tidings_backup backup = {.dest = dest, .progress = progress_in_bytes()};
    const char *message;
    if (tidings_backup_dir(dir, &backup, &message)) {
        fprintf(stderr, "tidings: %s\n", message);
        return EXIT_BROKEN;
    }
    char when[TIME_BYTES];
    printf("%" PRIu64 " bytes; up to batch %" PRIu64 " of %s\n", backup.bytes, backup.batch,
           time_text(backup.time_ms, when));
    return EXIT_FINE;
}

int cli_backup(int argc, char **argv)
{
    static const struct option flags[] = {
        {"data", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    const char *dir = NULL;
    bool fine = true;
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        if (flag == 'h') {
            fputs(help, stdout);
            return EXIT_FINE;
        }
        if (flag == 'd')
            dir = optarg;
        fine = fine && flag != '?';
    }
    if (!fine || !dir || optind + 1 != argc) {
        fputs(help, stderr);
        return EXIT_USAGE;
    }
    return run(dir, argv[optind]);
}

/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "tidings.h"

static const char help[] = "usage: tidings log --data DIR [--after N] [--rows]\n\n"
                           "Prints the redo log of a data directory or a backup: a line for every "
                           "batch, with the events in\n"
                           "it. A server may be using the directory.\n\n"
                           "  --data DIR   the data directory\n"
                           "  --after N    only batches behind this one\n"
                           "  --rows       also a line for every row put or deleted\n\n"
                           "Exit: 0 done; 2 usage; 3 the log cannot be read to its end.\n";

int cli_log(int argc, char **argv)
{
    static const struct option flags[] = {
        {"data", required_argument, NULL, 'd'},
        {"after", required_argument, NULL, 'a'},
        {"rows", no_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    const char *dir = NULL, *message;
    uint64_t after = 0;
    bool rows = false, fine = true;
    char *end;
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        if (flag == 'h') {
            fputs(help, stdout);
            return EXIT_FINE;
        }
        if (flag == 'd')
            dir = optarg;
        if (flag == 'a') {
            after = strtoull(optarg, &end, 10);
            fine = fine && optarg[0] != '-' && end != optarg && !*end;
        }
        rows = rows || flag == 'r';
        fine = fine && flag != '?';
    }
    if (!fine || !dir || optind < argc) {
        fputs(help, stderr);
        return EXIT_USAGE;
    }
    if (tidings_print_log(dir, after, rows, stdout, &message)) {
        fprintf(stderr, "tidings: %s\n", message);
        return EXIT_BROKEN;
    }
    return EXIT_FINE;
}

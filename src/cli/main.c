/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "cli/cli.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *text;
} commands[] = {
    {"serve", cli_serve, "serve the HTTP API"},
    {"token", cli_token, "print a token for a user"},
    {"routes", cli_routes, "print the routes of the API as JSON"},
    {"verify", cli_verify, "recompute every stored count and index of a data directory"},
    {"backup", cli_backup, "copy a data directory, also of a running server"},
    {"restore", cli_restore, "make a data directory of a backup, as it was at some moment"},
    {"log", cli_log, "print what happened, batch by batch"},
    {"bench-engine", cli_bench_engine, "measure the engine on this machine"},
};

int cli_routes(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    api_print_routes(stdout);
    return EXIT_FINE;
}

static void usage(FILE *to)
{
    fprintf(to, "usage: tidings COMMAND [OPTIONS]\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(to, "  %-14s %s\n", commands[i].name, commands[i].text);
    fprintf(to, "\n`tidings COMMAND --help` tells a command's options.\n");
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(name, commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    bool help = !strcmp(name, "--help") || !strcmp(name, "help");
    usage(help ? stdout : stderr);
    return help ? EXIT_FINE : EXIT_USAGE;
}

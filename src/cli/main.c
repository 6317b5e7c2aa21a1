/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "api/api.h"
#include "cli/cli.h"
#include "cli/help.h"

const struct cli_command *const cli_commands[] = {
    &command_serve,   &command_token,   &command_routes,       &command_verify,  &command_backup,
    &command_restore, &command_export,  &command_import,       &command_promote, &command_log,
    &command_cluster, &command_compare, &command_bench_engine, &command_help,    &command_version,
};
const size_t cli_n_commands = sizeof cli_commands / sizeof *cli_commands;

/* ---- Commands without options of their own -------------------------------------------------- */

static int print_routes(int argc, char **argv)
{
    int code = options_read(&command_routes, NULL, argc, argv);
    if (code != OPTIONS_READ)
        return code;
    api_print_routes(stdout);
    return EXIT_FINE;
}

const struct cli_command command_routes = {
    .name = "routes",
    .summary = "print the routes of the API as JSON",
    .usage = "",
    .about = "Prints method, path, operation, role and scope of every route, as JSON.",
    .examples = "tidings routes | jq -r '.[].path'",
    .exits = "0 done; 2 usage.",
    .run = print_routes,
};

static int print_version(int argc, char **argv)
{
    int code = options_read(&command_version, NULL, argc, argv);
    if (code != OPTIONS_READ)
        return code;
    puts("tidings " PROGRAM_VERSION);
    return EXIT_FINE;
}

const struct cli_command command_version = {
    .name = "version",
    .is_flag_too = true,
    .summary = "print the version",
    .usage = "",
    .about = "Prints the version of the program.",
    .examples = "tidings version",
    .exits = "0 done; 2 usage.",
    .run = print_version,
};

/* --------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    if (argc < 2) {
        help_commands(stderr);
        return EXIT_USAGE;
    }
    const struct cli_command *command = command_find(argv[1]);
    return command ? command->run(argc - 1, argv + 1) : command_unknown(argv[1]);
}

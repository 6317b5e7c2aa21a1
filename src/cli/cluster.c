/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/where.h"

struct cluster_args {
    const char *mysql, *action;
};

static const struct cli_option options[] = {
    {"mysql", OPTION_TEXT, "URL", offsetof(struct cluster_args, mysql), .help = MYSQL_HELP},
};

static void print_step(void *ctx, const char *line)
{
    (void)ctx;
    puts(line);
    fflush(stdout);
}

static int run(int argc, char **argv)
{
    struct cluster_args args;
    struct password password;
    struct tidings_options how;
    const char *message;
    int code = options_start(&command_cluster, &args, argc, argv);
    struct where where = {.engine = "cluster", .mysql = args.mysql};
    if (code == OPTIONS_READ)
        code = where_check(&command_cluster, &where, NULL);
    if (code == OPTIONS_READ)
        code = password_read(&password);
    if (code != OPTIONS_READ)
        return code;
    tidings_options_init(&how);
    where_put(&where, &password, &how);
    enum tidings_err err = tidings_cluster_init(&how, print_step, NULL, &message);
    return err ? where_failed(&how, err, message) : EXIT_FINE;
}

const struct cli_command command_cluster = {
    .name = "cluster",
    .summary = "make the tables of the cluster engine, or bring them up to date",
    .usage = "init --mysql URL",
    .about =
        "init makes the tables of the cluster engine in a database of MySQL or MariaDB, and the "
        "database itself if it is missing, or brings them up to date. It prints the steps that it "
        "takes. It may be run again, also while servers of the version before run.\n\n"
        "The password comes from TIDINGS_MYSQL_PASSWORD, or from the first line of the file that "
        "TIDINGS_MYSQL_PASSWORD_FILE names. TIDINGS_MYSQL stands in for --mysql.",
    .exits = "0 done; 2 usage; 3 failed.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .operand = "ACTION",
    .operand_words = "init",
    .operand_at = offsetof(struct cluster_args, action),
    .run = run,
};

/* SPDX-License-Identifier: MIT */
#include "cli/cluster_command.h"

#include <stdlib.h>
#include <string.h>

/* Events are numbered; a time is a date, so that the two cannot be mixed up. */
static bool parse_after(const char *text, void *to)
{
    struct cluster_since since = {.is_given = true};
    char *end;
    since.is_event = strspn(text, "0123456789") == strlen(text) && *text;
    since.after = since.is_event ? strtoull(text, &end, 10) : 0;
    bool fine = since.is_event ? since.after <= TIDINGS_ID_MAX : time_parse(text, &since.since_ms);
    memcpy(to, &since, sizeof since);
    return fine;
}

static const struct cli_option options[] = {
    {"mysql", OPTION_TEXT, "URL", offsetof(struct cluster_args, mysql), .help = MYSQL_HELP},
    {"from", OPTION_TEXT, "DIR", offsetof(struct cluster_args, from),
     .help = "begin: the data directory that becomes the history"},
    {.name = "yes",
     .at = offsetof(struct cluster_args, yes),
     .help = "begin: do not ask whether to go on"},
    {.name = "json", .at = offsetof(struct cluster_args, json), .help = "print it as JSON"},
    {"after", OPTION_PARSED, "EVENT_ID|TIME", offsetof(struct cluster_args, since),
     .parse = parse_after, .must = "the id of an event, or a time of the form 2026-11-15T12:00:00Z",
     .help = "replay: behind which event, or from when on"},
    {"server", OPTION_TEXT, "URL", offsetof(struct cluster_args, server),
     .help = "targets and what is done with them: the server to ask over HTTP, for one that has no "
             "log in MySQL"},
    {"ca", OPTION_TEXT, "FILE", offsetof(struct cluster_args, ca),
     .help = "--server: who may have signed its certificate, instead of whom the system trusts"},
    {"config", OPTION_TEXT, "FILE", offsetof(struct cluster_args, config),
     .help = "--server: the server's file with settings, for the secret of tokens"},
};

#define TARGET_ACTIONS "dead|retry|replay|rebuild|reconcile"

static const struct cli_operand operands[] = {
    {"ACTION", .at = offsetof(struct cluster_args, action),
     .words = "init|status|begin|targets|" TARGET_ACTIONS},
    {"TARGET", .at = offsetof(struct cluster_args, target), .behind = TARGET_ACTIONS},
};

static const struct {
    const char *name;
    int (*run)(const struct cluster_args *args, const struct tidings_options *how);
} actions[] = {{"init", cluster_init_run},        {"status", cluster_status_run},
               {"begin", cluster_begin_run},      {"targets", cluster_targets_run},
               {"dead", cluster_targets_run},     {"retry", cluster_targets_run},
               {"replay", cluster_targets_run},   {"rebuild", cluster_targets_run},
               {"reconcile", cluster_targets_run}};

static int run(int argc, char **argv)
{
    struct cluster_args args = {0};
    struct password password = {0};
    struct tidings_options how;
    size_t action = 0;
    int code = options_start(&command_cluster, &args, argc, argv);
    if (code != OPTIONS_READ)
        return code;
    while (strcmp(actions[action].name, args.action) != 0)
        action++;
    bool over_http = args.server && actions[action].run == cluster_targets_run;
    if (!args.mysql && !over_http)
        args.mysql = getenv("TIDINGS_MYSQL");
    if (!args.mysql && !over_http)
        return options_wrong(&command_cluster, "--mysql is missing");
    if (args.mysql && over_http)
        return options_wrong(&command_cluster, "--mysql and --server exclude each other");
    if (args.mysql)
        code = password_read(MYSQL_PASSWORD, &password);
    if (code != OPTIONS_READ)
        return code;
    tidings_options_init(&how);
    how.mysql = args.mysql;
    how.mysql_password = password.given ? password.text : NULL;
    code = actions[action].run(&args, &how);
    explicit_bzero(&password, sizeof password);
    return code;
}

const struct cli_command command_cluster = {
    .name = "cluster",
    .summary = "look after servers that share a log, and after targets of events",
    .usage = "init --mysql URL\nstatus --mysql URL [--json]\nbegin --from DIR --mysql URL [--yes]\n"
             "targets --mysql URL|--server URL [--json]\ndead TARGET --mysql URL|--server URL "
             "[--json]\nretry TARGET --mysql URL|--server URL\nreplay TARGET --after "
             "EVENT_ID|TIME --mysql URL|--server URL\nrebuild TARGET --mysql URL|--server URL\n"
             "reconcile TARGET --mysql URL|--server URL",
    .about =
        "init makes the tables of the log in a database of MySQL or MariaDB. `tidings serve "
        "--mysql` does so itself, if its user may; it may be run again.\n\n"
        "status tells what stands in these tables: who makes changes, where the log ends and how "
        "far back it goes, which replicas there are and how far behind, and what is wrong. It asks "
        "no server.\n\n"
        "begin makes a directory the history from now on, one that was restored to a moment, for "
        "example. No server may run. It says which positions are dropped, and asks. The log begins "
        "anew behind the directory, in a new era; start its server first. The others put their "
        "data aside, as diverged-POSITION or outdated-POSITION, and join anew by themselves.\n\n"
        "targets lists what events go to: webhooks (webhook:NAME), kafka, and others; how far each "
        "is, and what is wrong. dead lists the events that a target has refused for good, oldest "
        "first; retry has them told again. replay has everything told again behind an event, or "
        "from a time on, as far as events are kept; it never skips anything. rebuild makes what "
        "stands at a target anew, reconcile compares it and mends it; not every target can do "
        "that. These six need a running server: with --mysql one is found in the tables and asked "
        "over the servers' own connection; a server without a log in MySQL is asked over HTTP, "
        "with a token that is made of TIDINGS_JWT_SECRET, or of the first secret that --config "
        "leads to.\n\n"
        "The password comes from TIDINGS_MYSQL_PASSWORD, or from the first line of the file that "
        "TIDINGS_MYSQL_PASSWORD_FILE names. TIDINGS_MYSQL stands in for --mysql.",
    .examples = "tidings cluster init --mysql mysql://tidings@db/tidings\n"
                "tidings cluster status --mysql mysql://tidings@db/tidings --json\n"
                "tidings cluster begin --from /var/lib/tidings --mysql mysql://tidings@db/tidings\n"
                "tidings cluster replay kafka --after 2026-11-15T12:00:00Z --mysql "
                "mysql://tidings@db/tidings\n"
                "tidings cluster dead webhook:orders --server http://127.0.0.1:8080",
    .exits = "0 done; 1 status: something is wrong; begin: a server or process is in the way, or "
             "it was not confirmed; a target: there is none of that name, or it cannot do that; 2 "
             "usage; 3 failed, or cannot look.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .operands = operands,
    .n_operands = sizeof operands / sizeof *operands,
    .run = run,
};

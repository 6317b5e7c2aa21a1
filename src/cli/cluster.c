/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "cli/where.h"

struct cluster_args {
    const char *mysql, *action, *subject, *id;
    bool json, check;
};

static const struct cli_option options[] = {
    {"mysql", OPTION_TEXT, "URL", offsetof(struct cluster_args, mysql), .help = MYSQL_HELP},
    {.name = "json", .at = offsetof(struct cluster_args, json), .help = "status: print it as JSON"},
    {.name = "check",
     .at = offsetof(struct cluster_args, check),
     .help = "reconcile: only report, mend nothing"},
};

static const struct cli_operand operands[] = {
    {"ACTION", .at = offsetof(struct cluster_args, action), .words = "init|status|reconcile|show"},
    {"SUBJECT", .at = offsetof(struct cluster_args, subject), .words = "user|author|post",
     .behind = "show"},
    {"ID", .at = offsetof(struct cluster_args, id)},
};

/* ---- init ----------------------------------------------------------------------------------- */

static void print_step(void *ctx, const char *line)
{
    (void)ctx;
    puts(line);
    fflush(stdout);
}

static int run_init(const struct cluster_args *args, const struct tidings_options *how)
{
    const char *message;
    (void)args;
    enum tidings_err err = tidings_cluster_init(how, print_step, NULL, &message);
    return err ? where_failed(how, err, message) : EXIT_FINE;
}

/* ---- status --------------------------------------------------------------------------------- */

static void print_status(const struct tidings_cluster *status)
{
    printf("mysql      %s, answered in %.1f ms\n", status->version,
           (double)status->round_trip_us / 1000);
    printf("tables     version %u\n", status->tables);
    printf("position   %" PRIu64 "\n", status->position);
    for (size_t i = 0; i < status->n_servers; i++) {
        const struct tidings_cluster_server *server = &status->servers[i];
        printf("server %-2u  %s, seen %.1f s ago\n", server->slot,
               server->is_running ? "running" : "silent", (double)server->seen_ms_ago / 1000);
    }
    if (!status->n_servers)
        puts("no server uses it");
}

static void put_u64(struct json_out *out, const char *key, uint64_t value)
{
    json_out_key(out, key);
    json_out_u64(out, value);
}

static void put_status(struct json_out *out, const struct tidings_cluster *status)
{
    json_out_object(out);
    json_out_key(out, "mysql");
    json_out_object(out);
    json_out_key(out, "version");
    json_out_text(out, status->version);
    put_u64(out, "round_trip_us", status->round_trip_us);
    json_out_end(out);
    put_u64(out, "tables", status->tables);
    put_u64(out, "position", status->position);
    json_out_key(out, "servers");
    json_out_array(out);
    for (size_t i = 0; i < status->n_servers; i++) {
        json_out_object(out);
        put_u64(out, "slot", status->servers[i].slot);
        put_u64(out, "seen_ms_ago", (uint64_t)status->servers[i].seen_ms_ago);
        json_out_key(out, "running");
        json_out_bool(out, status->servers[i].is_running);
        json_out_end(out);
    }
    json_out_end(out);
    json_out_end(out);
}

static int print_json(const struct tidings_cluster *status)
{
    struct buf text;
    struct json_out out;
    buf_init(&text, 1 << 16);
    json_out_init(&out, &text);
    put_status(&out, status);
    buf_char(&text, '\n');
    bool ok = !text.failed && fwrite(text.data, 1, text.len, stdout) == text.len;
    buf_release(&text);
    return ok ? EXIT_FINE : EXIT_BROKEN;
}

static int run_status(const struct cluster_args *args, const struct tidings_options *how)
{
    struct tidings_cluster status;
    const char *message;
    enum tidings_err err = tidings_cluster_look(how, &status, &message);
    if (err)
        return where_failed(how, err, message);
    if (args->json)
        return print_json(&status);
    print_status(&status);
    return EXIT_FINE;
}

/* ---- reconcile ------------------------------------------------------------------------------ */

/* Nothing lags behind in this engine, so there is nothing to reconcile but what verify finds. */
static int run_reconcile(const struct cluster_args *args, const struct tidings_options *how)
{
    struct tidings_options own = *how;
    return verify_data(&own, false, !args->check);
}

/* ---- show ----------------------------------------------------------------------------------- */

static int run_show(const struct cluster_args *args, const struct tidings_options *how)
{
    static const char *const names[] = {
        [TIDINGS_SUBJECT_USER] = "user",
        [TIDINGS_SUBJECT_AUTHOR] = "author",
        [TIDINGS_SUBJECT_POST] = "post",
    };
    static const struct cli_option number = {
        .name = "ID", .kind = OPTION_NUMBER, .least = 1, .most = TIDINGS_ID_MAX};
    const char *message;
    uint64_t id;
    unsigned subject = 0;
    while (subject < TIDINGS_SUBJECT_POST && strcmp(names[subject], args->subject) != 0)
        subject++;
    if (!option_set(&number, &id, args->id, args->id))
        return EXIT_USAGE;
    enum tidings_err err =
        tidings_cluster_show(how, (enum tidings_subject)subject, id, stdout, &message);
    if (err != TIDINGS_NOT_FOUND)
        return err ? where_failed(how, err, message) : EXIT_FINE;
    fprintf(stderr, "tidings: there is no row about %s %s\n", args->subject, args->id);
    return EXIT_FOUND;
}

/* --------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(const struct cluster_args *args, const struct tidings_options *how);
} actions[] = {
    {"init", run_init}, {"status", run_status}, {"reconcile", run_reconcile}, {"show", run_show}};

static int run(int argc, char **argv)
{
    struct cluster_args args;
    struct password password;
    struct tidings_options how;
    size_t action = 0;
    int code = options_start(&command_cluster, &args, argc, argv);
    struct where where = {.engine = "cluster", .mysql = args.mysql};
    if (code == OPTIONS_READ)
        code = where_check(&command_cluster, &where, NULL);
    if (code == OPTIONS_READ)
        code = password_read(MYSQL_PASSWORD, &password);
    if (code != OPTIONS_READ)
        return code;
    tidings_options_init(&how);
    where_put(&where, &password, &how);
    while (strcmp(actions[action].name, args.action) != 0)
        action++;
    return actions[action].run(&args, &how);
}

const struct cli_command command_cluster = {
    .name = "cluster",
    .summary = "make the tables of the cluster engine, look at them, or recount them",
    .usage = "init --mysql URL\nstatus --mysql URL [--json]\nreconcile --mysql URL [--check]\nshow "
             "user|author|post ID --mysql URL",
    .about =
        "init makes the tables of the cluster engine in a database of MySQL or MariaDB, and the "
        "database itself if it is missing, or brings them up to date. It prints the steps that it "
        "takes. It may be run again, also while servers of the version before run.\n\n"
        "status tells how the database does, and which servers use it; the queues of a server, and "
        "how far behind it is, are in its own /v1/admin/status.\n\n"
        "reconcile recounts everything that follows from other rows and mends what differs, while "
        "servers go on: what verify --repair does. With --check it only reports. It prints a line "
        "for every difference, and how many there were of each kind.\n\n"
        "show prints every row about a user, an author or a post, as they were at one moment: each "
        "column by its name, and packed ones also taken apart. It changes nothing. Texts of people "
        "are among it.\n\n"
        "The password comes from TIDINGS_MYSQL_PASSWORD, or from the first line of the file that "
        "TIDINGS_MYSQL_PASSWORD_FILE names. TIDINGS_MYSQL stands in for --mysql.",
    .exits = "0 done; 1 show: there is no such row; reconcile: differences are left; 2 usage; 3 "
             "failed.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .operands = operands,
    .n_operands = sizeof operands / sizeof *operands,
    .run = run,
};

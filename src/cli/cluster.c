/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/cluster.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "cli/where.h"

struct cluster_args {
    const char *mysql, *action, *subject, *id, *consumer;
    struct since {
        uint64_t event_id; /* or: */
        int64_t time_ms;
    } since;
    bool json, check, retry, wait;
};

/* Events are numbered; a time is a date, so that the two cannot be mixed up. */
static bool parse_since(const char *text, void *to)
{
    struct since *since = to;
    char *end;
    *since = (struct since){0};
    if (strspn(text, "0123456789") != strlen(text))
        return time_parse(text, &since->time_ms);
    since->event_id = strtoull(text, &end, 10);
    return since->event_id > 0 && since->event_id <= TIDINGS_ID_MAX;
}

static const struct cli_option options[] = {
    {"mysql", OPTION_TEXT, "URL", offsetof(struct cluster_args, mysql), .help = MYSQL_HELP},
    {.name = "json",
     .at = offsetof(struct cluster_args, json),
     .help = "status, dead: print it as JSON"},
    {"since", OPTION_PARSED, "TIME|EVENT_ID", offsetof(struct cluster_args, since),
     .parse = parse_since, .must = "the id of an event, or a time of the form 2026-11-15T12:00:00Z",
     .help = "replay: from which event on"},
    {.name = "check",
     .at = offsetof(struct cluster_args, check),
     .help = "reconcile: only report, mend nothing"},
    {.name = "retry",
     .at = offsetof(struct cluster_args, retry),
     .help = "dead: have all of them told again"},
    {.name = "wait",
     .at = offsetof(struct cluster_args, wait),
     .help = "dead --retry, replay: until that is done, with progress on a terminal"},
};

static const struct cli_operand operands[] = {
    {"ACTION", .at = offsetof(struct cluster_args, action),
     .words = "init|status|reconcile|rebuild|show|dead|replay"},
    {"SUBJECT", .at = offsetof(struct cluster_args, subject), .words = "user|author|post",
     .behind = "show"},
    {"ID", .at = offsetof(struct cluster_args, id), .behind = "user|author|post"},
    {"CONSUMER", .at = offsetof(struct cluster_args, consumer), .words = "kafka|copies",
     .behind = "replay"},
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

static void print_relay(const struct tidings_cluster_relay *relay)
{
    if (!relay->wanted)
        return;
    printf("kafka      told up to %" PRIu64, relay->position);
    if (relay->held)
        printf(" by server %u", relay->slot);
    printf("; %" PRIu64 " wait, the oldest for %.1f s; %" PRIu64 " dead, %" PRIu64 " missed\n",
           relay->waiting, (double)relay->oldest_ms_ago / 1000, relay->dead, relay->missed);
    if (!relay->held)
        puts("           nobody tells it now");
    if (*relay->trouble)
        printf("           %s\n", relay->trouble);
}

static void print_copies(const struct tidings_cluster *status)
{
    const struct tidings_cluster_relay *copies = &status->copies;
    if (!copies->wanted)
        return;
    printf("copies     kept up to %" PRIu64, copies->position);
    if (copies->held)
        printf(" by server %u", copies->slot);
    printf("; %" PRIu64 " wait, the oldest for %.1f s\n", copies->waiting,
           (double)copies->oldest_ms_ago / 1000);
    if (!copies->held)
        puts("           nobody keeps them now");
    if (*copies->trouble)
        printf("           %s\n", copies->trouble);
    if (status->rebuild.under_way)
        printf("           made anew: %" PRIu64 " keys looked at, %" PRIu64 " removed\n",
               status->rebuild.looked_at, status->rebuild.removed);
}

static double hours(int64_t ms)
{
    return (double)ms / 3600e3;
}

static void print_rounds(const struct tidings_cluster_rounds *rounds)
{
    if (rounds->under_way)
        printf("recounting %s: %" PRIu64 " of about %" PRIu64 " rows, begun %.1f h ago\n",
               rounds->part, rounds->done, rounds->total, hours(rounds->began_ms_ago));
    if (rounds->any)
        printf("recounted  %" PRIu64 " rows in %.1f h, %.1f h ago: %" PRIu64
               " differences, %" PRIu64 " rows mended\n",
               rounds->rows, hours(rounds->took_ms), hours(rounds->ended_ms_ago), rounds->found,
               rounds->mended);
    for (size_t i = 0; i < rounds->n_kinds; i++)
        if (rounds->kinds[i].found)
            printf("drift      %s: %" PRIu64 " differences so far, %" PRIu64 " rows mended\n",
                   rounds->kinds[i].kind, rounds->kinds[i].found, rounds->kinds[i].mended);
}

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
    print_relay(&status->relay);
    print_copies(status);
    print_rounds(&status->rounds);
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
    put_consumers(out, status);
    put_rounds(out, &status->rounds);
    json_out_end(out);
}

static int print_text(struct buf *text)
{
    buf_char(text, '\n');
    bool ok = !text->failed && fwrite(text->data, 1, text->len, stdout) == text->len;
    buf_release(text);
    return ok ? EXIT_FINE : EXIT_BROKEN;
}

static int print_json(const struct tidings_cluster *status)
{
    struct buf text;
    struct json_out out;
    buf_init(&text, 1 << 16);
    json_out_init(&out, &text);
    put_status(&out, status);
    return print_text(&text);
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

/* ---- dead, replay --------------------------------------------------------------------------- */

static void print_letter(void *ctx, const struct tidings_dead_letter *letter)
{
    uint64_t *n = ctx;
    char happened[TIME_BYTES], noted[TIME_BYTES];
    ++*n;
    printf("event %" PRIu64 " of %s, given up at %s: %s%s\n", letter->event_id,
           time_text(letter->happened_at, happened), time_text(letter->noted_at, noted),
           letter->reason, letter->again ? "; to be told again" : "");
}

static void put_letter(void *ctx, const struct tidings_dead_letter *letter)
{
    struct json_out *out = ctx;
    json_out_object(out);
    put_u64(out, "event_id", letter->event_id);
    put_u64(out, "happened_at", (uint64_t)letter->happened_at);
    put_u64(out, "noted_at", (uint64_t)letter->noted_at);
    json_out_key(out, "again");
    json_out_bool(out, letter->again);
    json_out_key(out, "reason");
    json_out_text(out, letter->reason);
    json_out_end(out);
}

static int print_dead_json(const struct tidings_options *how, bool retry)
{
    const char *message;
    struct buf text;
    struct json_out out;
    buf_init(&text, (size_t)1 << 30);
    json_out_init(&out, &text);
    json_out_array(&out);
    enum tidings_err err = tidings_cluster_dead(how, retry, put_letter, &out, &message);
    json_out_end(&out);
    if (!err)
        return print_text(&text);
    buf_release(&text);
    return where_failed(how, err, message);
}

/* What somebody else has still to do. */
struct left {
    bool copies;   /* replay: of keys in Redis, not of Kafka */
    uint64_t upto; /* replay: the last event that is gone through again */
    uint64_t n;
};

typedef enum tidings_err count_left(const struct tidings_options *how, struct left *left,
                                    const char **message);

/* Looks again and again, until nothing is. */
static enum tidings_err wait_for(const struct tidings_options *how, count_left *count,
                                 struct left *left, const char **message)
{
    static const struct timespec pause = {.tv_nsec = 200000000};
    struct tidings_progress progress = progress_in_rows();
    enum tidings_err err = count(how, left, message);
    uint64_t all = left->n;
    while (!err && left->n) {
        if (progress.tell)
            progress.tell(progress.ctx, "told again", left->n < all ? all - left->n : 0, all);
        nanosleep(&pause, NULL);
        err = count(how, left, message);
    }
    if (progress.tell && all)
        progress.tell(progress.ctx, "told again", all, all);
    return err;
}

static void count_again(void *ctx, const struct tidings_dead_letter *letter)
{
    uint64_t *n = ctx;
    *n += letter->again;
}

static enum tidings_err letters_left(const struct tidings_options *how, struct left *left,
                                     const char **message)
{
    left->n = 0;
    return tidings_cluster_dead(how, false, count_again, &left->n, message);
}

static enum tidings_err events_left(const struct tidings_options *how, struct left *left,
                                    const char **message)
{
    struct tidings_cluster status;
    enum tidings_err err = tidings_cluster_look(how, &status, message);
    if (err)
        return err;
    uint64_t position = left->copies ? status.copies.position : status.relay.position;
    left->n = left->upto > position ? left->upto - position : 0;
    return TIDINGS_OK;
}

/* All are tried, and told or dead again; those that are left are then listed as without it. */
static enum tidings_err retry_and_wait(const struct tidings_options *how, const char **message)
{
    struct left left = {0};
    enum tidings_err err = tidings_cluster_dead(how, true, count_again, &left.n, message);
    return err ? err : wait_for(how, letters_left, &left, message);
}

static int run_dead(const struct cluster_args *args, const struct tidings_options *how)
{
    const char *message;
    uint64_t n = 0;
    bool waits = args->retry && args->wait, retry = args->retry && !waits;
    enum tidings_err err = waits ? retry_and_wait(how, &message) : TIDINGS_OK;
    if (err)
        return where_failed(how, err, message);
    if (args->json)
        return print_dead_json(how, retry);
    err = tidings_cluster_dead(how, retry, print_letter, &n, &message);
    if (err)
        return where_failed(how, err, message);
    if (!n)
        puts("there are no dead letters");
    return EXIT_FINE;
}

static int run_replay(const struct cluster_args *args, const struct tidings_options *how)
{
    const char *message;
    uint64_t first, positions;
    bool kafka = !strcmp(args->consumer, "kafka");
    if (!args->since.event_id && !args->since.time_ms)
        return options_wrong(&command_cluster, "--since is missing");
    enum tidings_err err = tidings_cluster_replay(
        how, kafka ? TIDINGS_CONSUMER_KAFKA : TIDINGS_CONSUMER_COPIES, args->since.event_id,
        args->since.time_ms, &first, &positions, &message);
    if (err)
        return where_failed(how, err, message);
    if (!positions) {
        printf("%s since then\n",
               kafka ? "Kafka has not been told of anything" : "No keys were renewed");
        return EXIT_FINE;
    }
    printf("%s again from event %" PRIu64 " on: %" PRIu64
           " positions; `tidings cluster status` tells how far that is\n",
           kafka ? "Kafka is told" : "Keys are renewed", first, positions);
    fflush(stdout);
    struct left left = {.copies = !kafka, .upto = first + positions - 1};
    if (args->wait)
        err = wait_for(how, events_left, &left, &message);
    return err ? where_failed(how, err, message) : EXIT_FINE;
}

/* ---- rebuild -------------------------------------------------------------------------------- */

/* Without a server that keeps keys, for so long, nobody will do it soon. */
enum { LOOK_MS = 250, NOBODY_LOOKS = 30 };

static int print_progress(const struct tidings_cluster *status)
{
    printf("%" PRIu64 " keys looked at, %" PRIu64 " of ours removed\n", status->rebuild.looked_at,
           status->rebuild.removed);
    fflush(stdout);
    return EXIT_FINE;
}

static int run_rebuild(const struct cluster_args *args, const struct tidings_options *how)
{
    struct tidings_cluster status;
    const char *message;
    uint64_t wish, shown = 0;
    (void)args;
    enum tidings_err err = tidings_cluster_rebuild(how, &wish, &message);
    for (int alone = 0; !err; alone = status.copies.held ? 0 : alone + 1) {
        err = tidings_cluster_look(how, &status, &message);
        if (err)
            break;
        if (status.rebuild.done >= wish)
            return print_progress(&status);
        if (alone == NOBODY_LOOKS) {
            fputs("tidings: no server with --redis runs: the next one that does makes all anew\n",
                  stderr);
            return EXIT_FOUND;
        }
        if (status.rebuild.looked_at > shown)
            print_progress(&status);
        shown = status.rebuild.looked_at;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
    }
    return where_failed(how, err, message);
}

/* --------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(const struct cluster_args *args, const struct tidings_options *how);
} actions[] = {{"init", run_init},       {"status", run_status}, {"reconcile", run_reconcile},
               {"rebuild", run_rebuild}, {"show", run_show},     {"dead", run_dead},
               {"replay", run_replay}};

static int run(int argc, char **argv)
{
    struct cluster_args args = {0};
    struct password password;
    struct tidings_options how;
    size_t action = 0;
    int code = options_start(&command_cluster, &args, argc, argv);
    struct where where = {.engine = "cluster", .mysql = args.mysql};
    if (code == OPTIONS_READ)
        code = where_find(&command_cluster, &where, NULL, &password, &how);
    if (code != OPTIONS_READ)
        return code;
    while (strcmp(actions[action].name, args.action) != 0)
        action++;
    return actions[action].run(&args, &how);
}

const struct cli_command command_cluster = {
    .name = "cluster",
    .summary = "make the tables of the cluster engine, look at them, or recount them",
    .usage = "init --mysql URL\nstatus --mysql URL [--json]\nreconcile --mysql URL [--check]\n"
             "rebuild --mysql URL\nshow "
             "user|author|post ID --mysql URL\n"
             "dead --mysql URL [--retry [--wait]] [--json]\nreplay kafka|copies --since "
             "TIME|EVENT_ID --mysql URL [--wait]",
    .about =
        "init makes the tables of the cluster engine in a database of MySQL or MariaDB, and the "
        "database itself if it is missing, or brings them up to date. It prints the steps that it "
        "takes. It may be run again, also while servers of the version before run.\n\n"
        "status tells how the database does, and which servers use it; the queues of a server, and "
        "how far behind it is, are in its own /v1/admin/status.\n\n"
        "reconcile recounts everything that follows from other rows and mends what differs, page "
        "by page, while servers go on: what verify --repair does, and what servers do by "
        "themselves within reconcile_hours. With --check it only reports. It prints a line for "
        "every difference, and how many there were of each kind. It may be stopped at any time and "
        "run again.\n\n"
        "rebuild throws away what servers remember in Redis and the keys that others read there, "
        "and "
        "has those that were there made anew, by the server that keeps them, while all go on. It "
        "prints how far that is, and may be stopped: the server goes on. After a database was put "
        "back from a backup it is needed; reconcile asks for it by itself where it has mended.\n\n"
        "show prints every row about a user, an author or a post, as they were at one moment: each "
        "column by its name, and packed ones also taken apart. It changes nothing. Texts of people "
        "are among it.\n\n"
        "dead lists the events that Kafka could not be told, with the reasons. With --retry all of "
        "them "
        "are told again, by the server that tells Kafka, within seconds; what works is off the "
        "list.\n\n"
        "replay has Kafka told again of everything from an event on, or since a time, as far as "
        "events are kept; replay copies has the keys in Redis renewed by these events. It only "
        "says so to the server that does it, and returns at once. With --wait it returns when "
        "nothing waits any more, and shows how far that is; so does dead --retry when each has "
        "been tried. Ctrl-C ends the waiting and nothing else.\n\n"
        "The password comes from TIDINGS_MYSQL_PASSWORD, or from the first line of the file that "
        "TIDINGS_MYSQL_PASSWORD_FILE names. TIDINGS_MYSQL stands in for --mysql.",
    .examples = "tidings cluster init --mysql mysql://tidings@db/tidings\n"
                "tidings cluster status --mysql mysql://tidings@db/tidings --json\n"
                "tidings cluster show user 42 --mysql mysql://tidings@db/tidings\n"
                "tidings cluster replay kafka --since 2026-11-15T12:00:00Z --wait",
    .exits = "0 done; 1 show: there is no such row; reconcile: differences are left; rebuild: no "
             "server is there to do it; 2 usage; 3 "
             "failed.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .operands = operands,
    .n_operands = sizeof operands / sizeof *operands,
    .run = run,
};

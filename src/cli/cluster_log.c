/* SPDX-License-Identifier: MIT */
/* The log's tables are made; a directory becomes the history from now on. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cluster_command.h"

int cluster_failed(enum tidings_err err, const char *message)
{
    fprintf(stderr, "tidings: %s\n", message ? message : tidings_err_text(err));
    switch (err) {
    case TIDINGS_INVALID:
        return EXIT_USAGE;
    case TIDINGS_BUSY:
    case TIDINGS_CLOSED:
    case TIDINGS_LOCKED:
    case TIDINGS_UNSUPPORTED:
        return EXIT_FOUND;
    default:
        return EXIT_BROKEN;
    }
}

int cluster_log_failed(enum tidings_err err, const char *message)
{
    char text[1024];
    snprintf(text, sizeof text, "mysql: %s", message ? message : tidings_err_text(err));
    return cluster_failed(err, text);
}

int cluster_init_run(const struct cluster_args *args, const struct tidings_options *how)
{
    const char *message;
    bool has_log;
    (void)args;
    enum tidings_err err = tidings_log_init(how, &has_log, &message);
    if (err)
        return cluster_log_failed(err, message);
    puts(has_log ? "the tables are there, and a log is in them: nothing was changed"
                 : "the tables are there: the first server that is started with --mysql begins the "
                   "log with what its directory has");
    return EXIT_FINE;
}

/* ---- begin ---------------------------------------------------------------------------------- */

static void say_what_begins(const struct tidings_log_begin *begin)
{
    static const char *const shared[] = {
        [TIDINGS_LOG_SAME] = "up to there it has the log's own history",
        [TIDINGS_LOG_OTHER] = "its history is not the log's: make sure that it is the right one",
        [TIDINGS_LOG_UNKNOWN] = "the log is not kept there any more: make sure that it is the "
                                "right one",
    };
    char time[TIME_BYTES];
    printf("%s ends at position %" PRIu64 ", of %s\n", begin->dir, begin->dir_position,
           begin->dir_position ? time_text(begin->dir_ms, time) : "no time");
    puts(shared[begin->shared]);
    printf("the log ends at position %" PRIu64 ", in era %" PRIu64 "\n", begin->log_position,
           begin->log_era);
    if (begin->log_position > begin->dir_position)
        printf("dropped from the log: positions %" PRIu64 " to %" PRIu64
               ", and any before them that the directory does not have\n",
               begin->dir_position + 1, begin->log_position);
    else
        puts("dropped from the log: what the directory does not have");
    puts("all servers but that of the directory put their data aside and join anew");
    fflush(stdout);
}

/* How many positions go: who has read the lines above can say that. */
static bool begin_is_confirmed(void *ctx, const struct tidings_log_begin *begin)
{
    const struct cluster_args *args = ctx;
    char line[32], wanted[32];
    uint64_t dropped =
        begin->log_position > begin->dir_position ? begin->log_position - begin->dir_position : 0;
    say_what_begins(begin);
    if (args->yes)
        return true;
    if (!isatty(STDIN_FILENO)) {
        fputs("tidings: --yes is missing, and there is no terminal to ask at\n", stderr);
        return false;
    }
    printf("type the number of positions that are dropped to go on: ");
    fflush(stdout);
    snprintf(wanted, sizeof wanted, "%" PRIu64, dropped);
    if (!fgets(line, sizeof line, stdin))
        return false;
    line[strcspn(line, "\r\n")] = '\0';
    return !strcmp(line, wanted);
}

int cluster_begin_run(const struct cluster_args *args, const struct tidings_options *how)
{
    struct tidings_options own = *how;
    struct tidings_log_begin begin = {.confirm = begin_is_confirmed,
                                      .ctx = (void *)(uintptr_t)args};
    const char *message = NULL;
    if (!args->from)
        return options_wrong(&command_cluster, "--from is missing");
    own.dir = args->from;
    enum tidings_err err = tidings_log_begin(&own, &begin, &message);
    if (err)
        return err == TIDINGS_UNREACHABLE ? cluster_log_failed(err, message)
                                          : cluster_failed(err, message);
    printf("the log begins at position %" PRIu64 ", in era %" PRIu64
           "; start the server of %s first\n",
           begin.position, begin.era, args->from);
    return EXIT_FINE;
}

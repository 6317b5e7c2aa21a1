/* SPDX-License-Identifier: MIT */
#include "cli/old.h"

#include <signal.h>
#include <string.h>

#include "legacy/bridge.h"

/* Pages as large as they may be: whole inboxes are read. */
enum { PAGE = 1000 };

bool old_parse_key(const char *text, void *names)
{
    if (*text)
        return legacy_names_set(names, text);
    legacy_names_init(names);
    return true;
}

unsigned old_schemes(const struct old_args *args)
{
    if (!strcmp(args->scheme, "both"))
        return SCHEME_1 | SCHEME_2;
    return !strcmp(args->scheme, "2") ? SCHEME_2 : SCHEME_1;
}

static int open_old(const struct old_args *args, struct old_sides *sides)
{
    const char *message;
    struct redis_options options = {
        .nodes = args->redis,
        .user = args->redis_user,
        .password = sides->redis_password.given ? sides->redis_password.text : NULL,
        .tls = !strcmp(args->redis_tls, "verify"),
        .ca_file = args->redis_ca,
    };
    sides->old = old_open(&options, &args->names, &message);
    if (sides->old)
        return OPTIONS_READ;
    fprintf(stderr, "tidings: --old-redis: %s\n", message);
    return EXIT_USAGE;
}

static int open_tidings(struct old_sides *sides)
{
    const char *message;
    sides->how.as_stored = true;
    sides->how.settings.workers = 0;
    sides->how.settings.page_max = sides->how.settings.ids_max = PAGE;
    enum tidings_err err = tidings_open(&sides->how, &sides->tidings, &message);
    return err ? where_failed(&sides->how, err, message) : OPTIONS_READ;
}

int old_sides_open(const struct cli_command *command, const struct old_args *args,
                   struct old_sides *sides)
{
    struct where where = {.engine = "cluster", .mysql = args->mysql};
    *sides = (struct old_sides){0};
    int code = where_find(command, &where, NULL, &sides->mysql_password, &sides->how);
    if (code == OPTIONS_READ)
        code = password_read(OLD_REDIS_PASSWORD, &sides->redis_password);
    if (code == OPTIONS_READ)
        code = open_old(args, sides);
    if (code == OPTIONS_READ)
        code = open_tidings(sides);
    if (code != OPTIONS_READ)
        old_sides_close(sides);
    return code;
}

void old_sides_close(struct old_sides *sides)
{
    tidings_close(sides->tidings);
    old_close(sides->old);
}

/* ---- Signals ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

void old_catch_signals(void)
{
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
}

bool old_is_stopped(void)
{
    return stopped;
}

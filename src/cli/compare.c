/* SPDX-License-Identifier: MIT */
#include "legacy/compare.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "auth/jwks.h"
#include "cli/old.h"
#include "cli/signing.h"
#include "legacy/ask_http.h"

/* A token is made for each question: it holds as long as one may take. */
enum { TOKEN_TTL_S = 300, TOKEN_USER = 1 };

struct compare_args {
    struct old_args old;
    const char *server, *server_ca, *keys, *config;
    struct id_set users;
    uint64_t patience, watch;
    bool json;
};

/* Both sides, and what they need. */
struct compare_sides {
    struct password redis_password;
    struct old *old;
    const char *token; /* NULL: tokens are made */
    struct signing signing;
    bool signs;
    char *server;
    struct ask *ask;
};

/* "" is nobody in particular. */
static bool parse_user(const char *text, void *to)
{
    static const struct cli_option number = {
        .name = "user", .kind = OPTION_NUMBER, .least = 1, .most = TIDINGS_ID_MAX};
    uint64_t user;
    struct id_set *users = to;
    if (!*text) {
        *users = (struct id_set){0};
        return true;
    }
    if (!option_set(&number, &user, text, text))
        return false;
    id_set_add(users, user);
    return !users->failed;
}

static const struct cli_option options[] = {
    {"server", OPTION_TEXT, "URL", offsetof(struct compare_args, server),
     .text = "http://127.0.0.1:8080",
     .help = "the server to ask: https://HOST:PORT, or http on this machine's own address"},
    {"server_ca", OPTION_TEXT, "FILE", offsetof(struct compare_args, server_ca),
     .help = "certificates to trust in it, instead of the system's"},
    {"keys", OPTION_TEXT, "FILE", offsetof(struct compare_args, keys),
     .help = "a keys file or JWK Set to sign tokens with"},
    {"config", OPTION_TEXT, "FILE", offsetof(struct compare_args, config),
     .help = "the server's file with settings"},
    OLD_OPTIONS(struct compare_args, old, true,
                "the Redis of the old application: one, or some nodes of a cluster"),
    {"share", OPTION_PARSED, "PERCENT", offsetof(struct compare_args, old.share), .required = true,
     .parse = share_parse, .must = OLD_SHARE_MUST, .help = OLD_SHARE_HELP},
    {"user", OPTION_PARSED, "ID", offsetof(struct compare_args, users), .text = "",
     .parse = parse_user, .must = "the id of a user",
     .help = "only this user, in the share or not; may be given again"},
    {"patience", OPTION_NUMBER, "SECONDS", offsetof(struct compare_args, patience), .standard = 5,
     .most = 3600, .help = "how long who differs is asked about again, once a second"},
    {"watch", OPTION_NUMBER, "SECONDS", offsetof(struct compare_args, watch), .most = 86400,
     .help = "begin again so many seconds after the end, until it is stopped"},
    {"json", OPTION_FLAG, NULL, offsetof(struct compare_args, json),
     .help = "print a JSON object on a line"},
};

/* ---- Signals ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t compare_stopped;

static void compare_stop(int signal)
{
    (void)signal;
    compare_stopped = 1;
}

static void compare_catch_signals(void)
{
    struct sigaction action = {.sa_handler = compare_stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
}

static bool compare_is_stopped(void)
{
    return compare_stopped;
}

/* ---- Both sides ------------------------------------------------------------------------------- */

static bool compare_make_token(void *ctx, char token[ASK_TOKEN_MAX])
{
    const struct compare_sides *sides = ctx;
    const struct jwt_grant grant = {
        .user_id = TOKEN_USER, .role = JWT_ROLE_SERVICE, .ttl_s = TOKEN_TTL_S};
    _Static_assert((int)JWT_MAX <= (int)ASK_TOKEN_MAX, "it fits");
    if (!sides->token)
        return signing_sign(&sides->signing, grant, token);
    snprintf(token, ASK_TOKEN_MAX, "%s", sides->token);
    return true;
}

/* Of TIDINGS_TOKEN, or keys that make tokens. */
static int compare_open_keys(const struct compare_args *args, struct compare_sides *sides)
{
    sides->token = getenv("TIDINGS_TOKEN");
    if (sides->token && *sides->token) {
        if (strlen(sides->token) < ASK_TOKEN_MAX && !sides->token[strcspn(sides->token, " \r\n")])
            return OPTIONS_READ;
        fprintf(stderr, "tidings: TIDINGS_TOKEN is no token\n");
        return EXIT_USAGE;
    }
    sides->token = NULL;
    sides->signs = true;
    return signing_open(&sides->signing, args->keys, args->config);
}

static int compare_open_server(const struct compare_args *args, struct compare_sides *sides)
{
    const char *wrong = jwks_check_url(args->server);
    if (!wrong && args->server[strcspn(args->server, "?# ")])
        wrong = "must be an address alone: https://HOST:PORT";
    if (wrong || (args->server_ca && access(args->server_ca, R_OK) != 0)) {
        fprintf(stderr, "tidings: %s: %s\n", wrong ? "--server" : args->server_ca,
                wrong ? wrong : "cannot be read");
        return EXIT_USAGE;
    }
    sides->server = strdup(args->server);
    size_t n = sides->server ? strlen(sides->server) : 0;
    while (n && sides->server[n - 1] == '/')
        sides->server[--n] = '\0';
    struct ask_http_options how = {.server = sides->server,
                                   .ca_file = args->server_ca,
                                   .token = compare_make_token,
                                   .ctx = sides,
                                   .stopped = compare_is_stopped};
    sides->ask = sides->server ? ask_http_new(&how) : NULL;
    if (!sides->ask)
        fprintf(stderr, "tidings: memory is short\n");
    return sides->ask ? OPTIONS_READ : EXIT_BROKEN;
}

static int compare_open_old(const struct compare_args *args, struct compare_sides *sides)
{
    const char *message;
    int code = password_read(OLD_REDIS_PASSWORD, &sides->redis_password);
    if (code != OPTIONS_READ)
        return code;
    struct redis_options redis = old_options(&args->old, &sides->redis_password);
    sides->old = old_open(&redis, &args->old.names, &message);
    if (sides->old)
        return OPTIONS_READ;
    fprintf(stderr, "tidings: --old-redis: %s\n", message);
    return EXIT_USAGE;
}

static void compare_close(struct compare_sides *sides)
{
    ask_free(sides->ask);
    free(sides->server);
    old_close(sides->old);
    if (sides->signs)
        signing_close(&sides->signing);
}

/* ---- Looking ---------------------------------------------------------------------------------- */

static int look_once(const struct compare_args *args, const struct compare_options *how)
{
    struct compare_result result;
    const char *message;
    if (!compare_run(how, &result, &message)) {
        fprintf(stderr, "tidings: compare: %s\n", message);
        return EXIT_BROKEN;
    }
    if (args->json)
        compare_print_json(&result, stdout);
    else
        compare_print(&result, stdout);
    return result.differ ? EXIT_FOUND : EXIT_FINE;
}

static int look(const struct compare_args *args, const struct compare_options *how)
{
    int code = look_once(args, how);
    while (args->watch && !compare_is_stopped()) {
        for (uint64_t i = 0; i < args->watch * 10 && !compare_is_stopped(); i++)
            nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        if (!compare_is_stopped())
            code = look_once(args, how);
    }
    return code;
}

static int run(int argc, char **argv)
{
    struct compare_args args = {0};
    struct compare_sides sides = {0};
    int code = options_start(&command_compare, &args, argc, argv);
    if (code == OPTIONS_READ)
        code = compare_open_old(&args, &sides);
    if (code == OPTIONS_READ)
        code = compare_open_keys(&args, &sides);
    if (code == OPTIONS_READ)
        code = compare_open_server(&args, &sides);
    if (code == OPTIONS_READ) {
        id_set_sort(&args.users);
        struct compare_options how = {.ask = sides.ask,
                                      .old = sides.old,
                                      .share = (uint32_t)args.old.share,
                                      .schemes = old_schemes(&args.old),
                                      .users = &args.users,
                                      .patience_s = (unsigned)args.patience,
                                      .stopped = compare_is_stopped,
                                      .progress = progress_in_rows()};
        compare_catch_signals();
        code = look(&args, &how);
    }
    compare_close(&sides);
    id_set_release(&args.users);
    return code;
}

const struct cli_command command_compare = {
    .name = "compare",
    .summary = "ask the old keys and Tidings the same, and tell what differs",
    .usage = "--server URL --old-redis HOST:PORT --share PERCENT [--json] [--watch N]",
    .about =
        "For the users of the share asks the keys of the old application, and a server, how many "
        "posts are unread, in all and of each author, which are in the inbox, and which of them "
        "are "
        "read or deleted. Tells how many answers agree, and of each kind of difference how many "
        "there are, with examples. Changes nothing.\n\n"
        "Both sides move on meanwhile. So who differs is asked about again, once a second; what "
        "agrees then was only late. Users are those whom Tidings knows and those who have keys, "
        "which are looked for by SCAN.\n\n"
        "It asks the server as a service, with the token in TIDINGS_TOKEN, or with tokens that it "
        "signs "
        "as `tidings token` does: with --keys, else with the server's own secrets and keys file. "
        "The "
        "password of the Redis comes from TIDINGS_OLD_REDIS_PASSWORD, or from the first line of "
        "the "
        "file that TIDINGS_OLD_REDIS_PASSWORD_FILE names. docs/MIGRATING.md has the whole way.",
    .examples = "tidings compare --old-redis 127.0.0.1:6379 --share 10%\n"
                "tidings compare --config /etc/tidings/tidings.conf --old-redis 10.0.0.9:6379 "
                "--share 5%",
    .exits = "0 all agree; 1 differences; 2 usage; 3 cannot look.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};

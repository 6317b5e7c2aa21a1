/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "auth/jwt.h"
#include "cli/cli.h"
#include "tidings.h"

struct token_args {
    uint64_t user;
    const char *role;
    int64_t ttl_s;
};

static bool parse_ttl(const char *text, void *to)
{
    char *end;
    int64_t n = strtoll(text, &end, 10);
    static const struct {
        const char *unit;
        int64_t seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (end != text && !strcmp(end, units[i].unit) && n > 0 && n < INT32_MAX) {
            n *= units[i].seconds;
            memcpy(to, &n, sizeof n);
            return true;
        }
    return false;
}

static const struct cli_option options[] = {
    {"user", OPTION_NUMBER, "ID", offsetof(struct token_args, user), .required = true, .least = 1,
     .most = TIDINGS_ID_MAX, .help = "whose it is"},
    {"role", OPTION_WORD, "user|service|admin", offsetof(struct token_args, role), .text = "user",
     .help = "what it may do"},
    {"ttl", OPTION_PARSED, "TIME", offsetof(struct token_args, ttl_s), .text = "1h",
     .parse = parse_ttl, .must = "seconds, or a number with s, m, h or d behind",
     .help = "how long it holds: seconds, or with s, m, h or d behind"},
};

static enum jwt_role role_of(const char *text)
{
    static const char *const names[] = {
        [JWT_ROLE_USER] = "user", [JWT_ROLE_SERVICE] = "service", [JWT_ROLE_ADMIN] = "admin"};
    size_t role = sizeof names / sizeof *names - 1;
    while (role && strcmp(text, names[role]) != 0)
        role--;
    return (enum jwt_role)role;
}

static int print_token(uint64_t user, enum jwt_role role, int64_t ttl)
{
    char token[JWT_MAX];
    struct keys_note note = {.error = "TIDINGS_JWT_SECRET is not set"};
    const char *secret = getenv("TIDINGS_JWT_SECRET");
    struct keys *keys = keys_new();
    bool ok = keys && secret && !keys_add_secrets(keys, secret, &note) &&
              jwt_sign_hs256(keys, user, role, time(NULL), ttl, token);
    keys_unref(keys);
    if (!ok) {
        fprintf(stderr, "tidings: %s\n", note.error);
        return EXIT_BROKEN;
    }
    puts(token);
    return EXIT_FINE;
}

static int run(int argc, char **argv)
{
    struct token_args args;
    int code = options_start(&command_token, &args, argc, argv);
    return code == OPTIONS_READ ? print_token(args.user, role_of(args.role), args.ttl_s) : code;
}

const struct cli_command command_token = {
    .name = "token",
    .summary = "print a token for a user",
    .usage = "--user ID [--role ROLE] [--ttl TIME]",
    .about = "Prints a token for the first secret in TIDINGS_JWT_SECRET.",
    .exits = "0 done; 2 usage; 3 there is no such secret.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};

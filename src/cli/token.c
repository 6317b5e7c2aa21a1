/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/signing.h"
#include "tidings.h"

struct token_args {
    uint64_t user;
    const char *role;
    int64_t ttl_s;
    const char *scope, *keys, *kid, *config;
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
    {"scope", OPTION_TEXT, "WORDS", offsetof(struct token_args, scope),
     .help =
         "what it is limited to: \"inbox:read posts:write\"; without it, all that the role may"},
    {"keys", OPTION_TEXT, "FILE", offsetof(struct token_args, keys),
     .help = "a keys file or JWK Set to sign with"},
    {"kid", OPTION_TEXT, "KID", offsetof(struct token_args, kid), .help = "which of the keys"},
    {"config", OPTION_TEXT, "FILE", offsetof(struct token_args, config),
     .help = "the server's file with settings"},
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

static int print_token(const struct token_args *args, const struct signing *signing)
{
    char token[JWT_MAX];
    const struct jwt_grant grant = {.user_id = args->user,
                                    .role = role_of(args->role),
                                    .ttl_s = args->ttl_s,
                                    .scope = args->scope,
                                    .kid = args->kid};
    if (signing_sign(signing, grant, token)) {
        puts(token);
        return EXIT_FINE;
    }
    fprintf(
        stderr,
        "tidings: no key%s%s that holds now can sign: a secret can, and a JWK of Ed25519 with d\n",
        args->kid ? " of kid " : "", args->kid ? args->kid : "");
    return EXIT_BROKEN;
}

static int run(int argc, char **argv)
{
    struct token_args args;
    struct signing signing;
    int code = options_start(&command_token, &args, argc, argv);
    if (code != OPTIONS_READ)
        return code;
    code = signing_open(&signing, args.keys, args.config);
    if (code == OPTIONS_READ)
        code = print_token(&args, &signing);
    signing_close(&signing);
    return code;
}

const struct cli_command command_token = {
    .name = "token",
    .summary = "print a token for a user",
    .usage = "--user ID [--role ROLE] [--ttl TIME] [--scope WORDS] [--keys FILE]\n"
             "--user ID --config FILE [...]",
    .about =
        "Prints a token, signed with the first key that can sign: a secret (HS256), or an Ed25519 "
        "JWK with d (EdDSA). The keys are those of --keys, a keys file or JWK Set; else those of "
        "the server: the secrets in TIDINGS_JWT_SECRET, then the file that jwt_keys_file or "
        "TIDINGS_JWT_KEYS_FILE names. jwt_issuer and jwt_audience become its claims iss and aud.",
    .examples =
        "tidings token --user 42 --config /etc/tidings/tidings.conf\n"
        "tidings token --user 900 --role service --ttl 1d --keys /etc/tidings/keys.json\n"
        "tidings token --user 42 --scope \"inbox:read inbox:write\" --keys keys.json --kid first",
    .exits = "0 done; 2 usage; 3 there is no key that can sign.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};

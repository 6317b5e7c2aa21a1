/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "auth/jwt.h"
#include "cli/cli.h"
#include "tidings.h"

static const char help[] =
    "usage: tidings token --user ID [--role user|service|admin] [--ttl 1h]\n\n"
    "Prints a token for the first secret in TIDINGS_JWT_SECRET.\n\n"
    "  --user ID    whose it is\n"
    "  --role ROLE  user (default), service or admin\n"
    "  --ttl TIME   how long it holds: seconds, or with s, m, h or d behind (1h)\n";

/* Seconds, or 0 if it is not a time. */
static int64_t parse_ttl(const char *text)
{
    char *end;
    int64_t n = strtoll(text, &end, 10);
    static const struct {
        const char *unit;
        int64_t seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (end != text && !strcmp(end, units[i].unit) && n > 0 && n < INT32_MAX)
            return n * units[i].seconds;
    return 0;
}

static bool parse_role(const char *text, enum jwt_role *role)
{
    static const char *const names[] = {
        [JWT_ROLE_USER] = "user", [JWT_ROLE_SERVICE] = "service", [JWT_ROLE_ADMIN] = "admin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(text, names[i])) {
            *role = (enum jwt_role)i;
            return true;
        }
    return false;
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

int cli_token(int argc, char **argv)
{
    static const struct option flags[] = {
        {"user", required_argument, NULL, 'u'},
        {"role", required_argument, NULL, 'r'},
        {"ttl", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    uint64_t user = 0;
    int64_t ttl = 3600;
    enum jwt_role role = JWT_ROLE_USER;
    bool fine = true;
    char *end;
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        if (flag == 'h') {
            fputs(help, stdout);
            return EXIT_FINE;
        }
        if (flag == 'u') {
            user = strtoull(optarg, &end, 10);
            fine = fine && optarg[0] != '-' && end != optarg && !*end;
        }
        if (flag == 'r')
            fine = fine && parse_role(optarg, &role);
        if (flag == 't')
            fine = fine && (ttl = parse_ttl(optarg)) > 0;
        fine = fine && flag != '?';
    }
    if (!fine || !user || user > TIDINGS_ID_MAX || optind < argc) {
        fputs(help, stderr);
        return EXIT_USAGE;
    }
    return print_token(user, role, ttl);
}

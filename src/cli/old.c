/* SPDX-License-Identifier: MIT */
#include "cli/old.h"

#include <string.h>

#include "legacy/bridge.h"

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

struct redis_options old_options(const struct old_args *args, const struct password *password)
{
    return (struct redis_options){
        .nodes = args->redis,
        .user = args->redis_user,
        .password = password->given ? password->text : NULL,
        .tls = !strcmp(args->redis_tls, "verify"),
        .ca_file = args->redis_ca,
    };
}

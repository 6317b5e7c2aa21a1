/* SPDX-License-Identifier: MIT */
#include "cli/signing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The keys that sign: of the file, or those of the server: the environment's and its keys file's. */
static bool signing_take_keys(struct signing *signing, const char *keys_file,
                              struct keys_note *note)
{
    const char *secret = keys_file ? NULL : getenv("TIDINGS_JWT_SECRET");
    const char *file = keys_file ? keys_file : signing->server.jwt_keys_file;
    bool ok = (!secret || !keys_add_secrets(signing->keys, secret, note)) &&
              (!file || !keys_add_file(signing->keys, file, note));
    if (ok && !keys_count(signing->keys))
        snprintf(
            note->error, sizeof note->error,
            "no key to sign with: give --keys FILE or --config FILE, or set TIDINGS_JWT_SECRET "
            "or TIDINGS_JWT_KEYS_FILE");
    return ok && keys_count(signing->keys);
}

/* As `tidings serve` with that file would have them. */
static int signing_read_server(struct config *server, const char *config_file)
{
    char serve[] = "serve", flag[] = "--config";
    char *argv[] = {serve, flag, NULL, NULL};
    char *file = config_file ? strdup(config_file) : NULL;
    argv[2] = file;
    int code = config_read(server, file ? 3 : 1, argv);
    free(file);
    return code;
}

int signing_open(struct signing *signing, const char *keys_file, const char *config_file)
{
    struct keys_note note = {.error = "out of memory"};
    signing->keys = NULL;
    int code = signing_read_server(&signing->server, config_file);
    if (code != OPTIONS_READ)
        return code;
    signing->keys = keys_new();
    bool ok = signing->keys && signing_take_keys(signing, keys_file, &note);
    if (*note.warning)
        fprintf(stderr, "tidings: %s\n", note.warning);
    if (!ok)
        fprintf(stderr, "tidings: %s\n", note.error);
    return ok ? OPTIONS_READ : EXIT_BROKEN;
}

bool signing_sign(const struct signing *signing, struct jwt_grant grant, char token[JWT_MAX])
{
    grant.issuer = signing->server.jwt_issuer;
    grant.audience = signing->server.jwt_audience;
    return jwt_sign(signing->keys, &grant, time(NULL), token) > 0;
}

void signing_close(struct signing *signing)
{
    keys_unref(signing->keys);
    config_release(&signing->server);
}

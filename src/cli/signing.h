/* SPDX-License-Identifier: MIT */
/*
 * The keys that a command signs tokens with: those of a file, or those of the server: of its environment, its file with settings and the
 * keys file that this names.
 */
#ifndef CLI_SIGNING_H
#define CLI_SIGNING_H

#include "auth/jwt.h"
#include "cli/config.h"

struct signing {
    struct keys *keys;
    struct config server;
};

/* Both files may be NULL. OPTIONS_READ; otherwise the code to exit with, after it was said. */
int signing_open(struct signing *signing, const char *keys_file, const char *config_file);

/* With the server's issuer and audience in place of the grant's. False: no key can sign. */
bool signing_sign(const struct signing *signing, struct jwt_grant grant, char token[JWT_MAX]);

/* Also after signing_open() has failed. */
void signing_close(struct signing *signing);

#endif

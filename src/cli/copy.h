/* SPDX-License-Identifier: MIT */
/* A copy of a data directory that a server uses, of one moment: its base image and log may be read beside the server. */
#ifndef CLI_COPY_H
#define CLI_COPY_H

#include "cli/cli.h"

enum { PATH_BYTES = 4096 };

struct copy {
    char dir[PATH_BYTES];
    char data[PATH_BYTES + 8]; /* the copy, in it */
};

/* A new directory for it below that one; below TMPDIR, or /tmp, if it is NULL. EXIT_FINE, or the code to exit with, after everything has been said. */
int copy_place(struct copy *copy, const char *temp);
/* And the copy in it. */
int copy_make(struct copy *copy, const char *from, const char *temp);
void copy_remove(const struct copy *copy);

#endif

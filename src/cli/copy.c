/* SPDX-License-Identifier: MIT */
#include "cli/copy.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char *what, const char *why)
{
    fprintf(stderr, "tidings: %s: %s\n", what, why);
    return EXIT_BROKEN;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

void copy_remove(const struct copy *copy)
{
    nftw(copy->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int copy_place(struct copy *copy, const char *temp)
{
    const char *below = temp ? temp : getenv("TMPDIR");
    snprintf(copy->dir, sizeof copy->dir, "%s/tidings-copy-XXXXXX",
             below && *below ? below : "/tmp");
    if (!mkdtemp(copy->dir))
        return failed(copy->dir, strerror(errno));
    snprintf(copy->data, sizeof copy->data, "%s/data", copy->dir);
    return EXIT_FINE;
}

int copy_make(struct copy *copy, const char *from, const char *temp)
{
    const char *message;
    int code = copy_place(copy, temp);
    if (code)
        return code;
    struct tidings_restore restore = {
        .from = from, .dir = copy->data, .progress = progress_in_bytes()};
    if (!tidings_restore(&restore, &message))
        return EXIT_FINE;
    failed(from, message);
    copy_remove(copy);
    return EXIT_BROKEN;
}

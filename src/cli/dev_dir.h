/* SPDX-License-Identifier: MIT */
/* Where `serve --dev` keeps its data when no directory is named: one directory per user, which the next demo uses again. */
#ifndef CLI_DEV_DIR_H
#define CLI_DEV_DIR_H

#include <stdbool.h>

enum { DEV_DIR_BYTES = 4096 };

struct dev_dir {
    char path[DEV_DIR_BYTES]; /* empty: a directory was named */
    bool used_before;
};

/* The user's directory, made if it is missing; a new one if somebody else has made it, or others may read it. False if none
 * can be made. */
bool dev_dir_choose(struct dev_dir *dir);

/* A new directory with a name of its own, for a second demo beside the first. */
bool dev_dir_make(struct dev_dir *dir);

/* Says where the data is, and how to begin anew. */
void dev_dir_print(const struct dev_dir *dir);

#endif

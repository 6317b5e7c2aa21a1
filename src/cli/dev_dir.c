/* SPDX-License-Identifier: MIT */
#include "cli/dev_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *dev_dir_parent(void)
{
    const char *parent = getenv("TMPDIR");
    return parent && *parent ? parent : "/tmp";
}

/* In a directory for all users, the name may be taken by anybody: links do not count. */
static bool dev_dir_is_own(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

bool dev_dir_choose(struct dev_dir *dir)
{
    int n = snprintf(dir->path, sizeof dir->path, "%s/tidings-dev-%lu", dev_dir_parent(),
                     (unsigned long)geteuid());
    if (n < 0 || (size_t)n >= sizeof dir->path)
        return false;
    dir->used_before = mkdir(dir->path, 0700) != 0;
    if (!dir->used_before)
        return true;
    return (errno == EEXIST && dev_dir_is_own(dir->path)) || dev_dir_make(dir);
}

bool dev_dir_make(struct dev_dir *dir)
{
    int n = snprintf(dir->path, sizeof dir->path, "%s/tidings-dev-XXXXXX", dev_dir_parent());
    dir->used_before = false;
    return n > 0 && (size_t)n < sizeof dir->path && mkdtemp(dir->path);
}

void dev_dir_print(const struct dev_dir *dir)
{
    printf(dir->used_before ? "The demo of last time goes on, with its data in %s.\n"
                            : "Data is in %s and stays there.\n",
           dir->path);
    printf("To begin anew: rm -r %s\n", dir->path);
}

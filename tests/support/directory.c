/* SPDX-License-Identifier: MIT */
/* Directories that come and go. What goes wrong with them ends the program. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/script.h"

static _Noreturn void give_up(const char *path)
{
    perror(path);
    exit(EXIT_FAILURE);
}

void script_path(char path[SCRIPT_PATH], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(path, SCRIPT_PATH, format, args);
    va_end(args);
    if (n < 0 || n >= SCRIPT_PATH) {
        errno = ENAMETOOLONG;
        give_up(path);
    }
}

void script_make_dir(const char *path)
{
    if (mkdir(path, 0700) && errno != EEXIST)
        give_up(path);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void script_remove(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static struct {
    const char *from;
    const char *to;
} copying;

/* Holes stay holes: the data file is as large as its map. */
static void copy_file(const char *from, const char *to, off_t size)
{
    char bytes[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (in < 0 || out < 0 || ftruncate(out, size))
        give_up(to);
    for (off_t at = lseek(in, 0, SEEK_DATA); at >= 0; at = lseek(in, at, SEEK_DATA)) {
        ssize_t n = pread(in, bytes, sizeof bytes, at);
        if (n <= 0)
            break;
        if (pwrite(out, bytes, (size_t)n, at) != n)
            give_up(to);
        at += n;
    }
    close(in);
    close(out);
}

static int copy_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    char to[SCRIPT_PATH];
    (void)ftw;
    script_path(to, "%s%s", copying.to, path + strlen(copying.from));
    if (type == FTW_D)
        script_make_dir(to);
    else
        copy_file(path, to, st->st_size);
    return 0;
}

void script_copy(const char *from, const char *to)
{
    copying.from = from;
    copying.to = to;
    if (nftw(from, copy_entry, 16, FTW_PHYS))
        give_up(from);
}

void script_temporary(char path[SCRIPT_PATH], const char *name)
{
    const char *tmp = getenv("TMPDIR");
    if (!tmp || !*tmp)
        tmp = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    script_path(path, "%s/tidings-%s-XXXXXX", tmp, name);
    if (!mkdtemp(path))
        give_up(path);
}

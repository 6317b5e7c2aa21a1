/* SPDX-License-Identifier: MIT */
#include "engine/local/storage/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"

enum { COPY_BYTES = 1 << 20, TELL_EVERY_MS = 200 };

/* ---- Progress ------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void tell(struct progress *progress, uint64_t done)
{
    progress->to.tell(progress->to.ctx, progress->what,
                      done < progress->total ? done : progress->total, progress->total);
}

void progress_tell(struct progress *progress, uint64_t done)
{
    if (!progress || !progress->to.tell || now_ms() - progress->last_ms < TELL_EVERY_MS)
        return;
    progress->last_ms = now_ms();
    tell(progress, progress->before + done);
}

void progress_end(struct progress *progress)
{
    if (progress && progress->to.tell)
        tell(progress, progress->total);
}

/* ---- Names ---------------------------------------------------------------------------------- */

bool path_join(char path[PATH_BYTES], const char *dir, const char *name)
{
    int n = snprintf(path, PATH_BYTES, "%s/%s", dir, name);
    return n > 0 && n < PATH_BYTES;
}

enum tidings_err file_error(void)
{
    return errno == ENOSPC || errno == EDQUOT ? TIDINGS_NO_SPACE : TIDINGS_IO;
}

/* Closes without losing the reason of a failure before. */
static enum tidings_err close_with(int fd, bool ok)
{
    int reason = errno;
    if (close(fd) && ok)
        return file_error();
    errno = reason;
    return ok ? TIDINGS_OK : file_error();
}

enum tidings_err dir_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return TIDINGS_IO;
    return close_with(fd, fsync(fd) == 0);
}

enum tidings_err dir_make(const char *path)
{
    char parent[PATH_BYTES + 4];
    if (mkdir(path, 0700))
        return errno == EEXIST ? TIDINGS_OK : file_error();
    snprintf(parent, sizeof parent, "%s/..", path);
    return dir_sync(parent);
}

bool dir_has_only(const char *path, const char *name)
{
    DIR *stream = opendir(path);
    bool empty = true;
    if (!stream)
        return errno == ENOENT;
    for (struct dirent *entry; (entry = readdir(stream));)
        empty = empty && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
                          !strcmp(entry->d_name, name));
    closedir(stream);
    return empty;
}

bool dir_is_empty(const char *path)
{
    return dir_has_only(path, ".");
}

/* A directory of ours is two levels deep. */
static bool remove_level(const char *path, unsigned levels)
{
    DIR *stream = opendir(path);
    bool ok = true;
    if (!stream)
        return errno == ENOENT;
    for (struct dirent *entry; ok && (entry = readdir(stream));) {
        char inner[PATH_BYTES];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        ok = path_join(inner, path, entry->d_name) &&
             (!unlink(inner) || (errno == EISDIR && levels && remove_level(inner, levels - 1)));
    }
    closedir(stream);
    return ok && !rmdir(path);
}

enum tidings_err dir_remove(const char *path)
{
    enum { LEVELS = 4 };
    return remove_level(path, LEVELS) ? TIDINGS_OK : file_error();
}

/* ---- Bytes ---------------------------------------------------------------------------------- */

enum tidings_err file_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return TIDINGS_IO;
    return close_with(fd, fsync(fd) == 0);
}

enum tidings_err file_write(int fd, const void *bytes, size_t n, uint64_t at)
{
    const uint8_t *from = bytes;
    while (n) {
        ssize_t done = pwrite(fd, from, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return file_error();
        from += done;
        at += (uint64_t)done;
        n -= (size_t)done;
    }
    return TIDINGS_OK;
}

enum tidings_err file_replace(const char *dir, const char *name, const void *bytes, size_t n)
{
    char path[PATH_BYTES], fresh[PATH_BYTES + 4];
    if (!path_join(path, dir, name))
        return TIDINGS_IO;
    snprintf(fresh, sizeof fresh, "%s.new", path);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return file_error();
    bool written = !file_write(fd, bytes, n, 0) && !fsync(fd);
    enum tidings_err err = close_with(fd, written);
    if (!err && rename(fresh, path))
        err = file_error();
    if (err)
        unlink(fresh);
    return err ? err : dir_sync(dir);
}

/* Up to n bytes; fewer only at the end of the file. */
static ssize_t read_all(int fd, uint8_t *to, size_t n)
{
    size_t have = 0;
    while (have < n) {
        ssize_t done = read(fd, to + have, n - have);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        if (done == 0)
            break;
        have += (size_t)done;
    }
    return (ssize_t)have;
}

enum tidings_err file_read(const char *path, size_t most, uint8_t **bytes, size_t *n)
{
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return TIDINGS_IO;
    uint8_t *memory = NULL;
    ssize_t have = -1;
    bool known = !fstat(fd, &stat);
    if (known && (uint64_t)stat.st_size <= most)
        memory = malloc((size_t)stat.st_size + 1);
    else if (known)
        errno = EFBIG;
    if (memory)
        have = read_all(fd, memory, (size_t)stat.st_size);
    close_with(fd, have >= 0);
    if (have < 0) {
        free(memory);
        return TIDINGS_IO;
    }
    *bytes = memory;
    *n = (size_t)have;
    return TIDINGS_OK;
}

/* To nowhere if `to` is -1. */
static enum tidings_err copy_bytes(int from, int to, uint64_t n, uint32_t *crc,
                                   struct progress *progress)
{
    enum tidings_err err = TIDINGS_OK;
    uint64_t done = 0;
    uint8_t *chunk = malloc(COPY_BYTES);
    if (!chunk)
        return TIDINGS_NO_MEMORY;
    while (!err && done < n) {
        uint64_t want = n - done < COPY_BYTES ? n - done : COPY_BYTES;
        ssize_t have = read_all(from, chunk, (size_t)want);
        if (have < 0)
            err = file_error();
        if (have <= 0)
            break;
        if (to >= 0)
            err = file_write(to, chunk, (size_t)have, done);
        if (crc)
            *crc = crc32c(*crc, chunk, (size_t)have);
        done += (uint64_t)have;
        if (progress && progress->cancel && *progress->cancel) {
            errno = ECANCELED;
            err = TIDINGS_IO;
        }
        progress_tell(progress, done);
    }
    free(chunk);
    return err;
}

enum tidings_err file_copy(const char *from, const char *to, uint64_t n, uint32_t *crc,
                           struct progress *progress)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return TIDINGS_IO;
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    enum tidings_err err = out < 0 ? file_error() : TIDINGS_OK;
    if (!err)
        err = copy_bytes(in, out, n ? n : UINT64_MAX, crc, progress);
    if (!err && fsync(out))
        err = file_error();
    if (out >= 0 && close_with(out, !err) && !err)
        err = file_error();
    close(in);
    return err;
}

enum tidings_err file_checksum(const char *path, uint32_t *crc, struct progress *progress)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return TIDINGS_IO;
    *crc = 0;
    enum tidings_err err = copy_bytes(fd, -1, UINT64_MAX, crc, progress);
    close(fd);
    return err;
}

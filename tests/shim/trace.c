/* SPDX-License-Identifier: MIT */
/*
 * The trace. Records are written one after the other under the lock, so that their order is the order
 * of things. Writes are recorded when they are done; a sync has a record at either end, since it covers
 * only what was there when it began.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

enum { PAGE = 4096, MAPS = 16, CHUNK = 1 << 18 };

/* A file that is written through a map, and its pages as they were last seen. */
struct map {
    void *at;
    size_t bytes;
    struct shim_fd fd;
    int reader; /* a descriptor of our own */
    uint8_t *seen;
    size_t seen_bytes;
};

static struct {
    int fd;
    uint64_t records;
    struct map maps[MAPS];
} trace = {.fd = -1};

static void put(const void *bytes, size_t n)
{
    ssize_t (*real)(int, const void *, size_t) = shim_real("write");
    const uint8_t *at = bytes;
    while (n) {
        ssize_t done = real(trace.fd, at, n);
        if (done <= 0)
            shim_die("the trace cannot be written", "");
        at += done;
        n -= (size_t)done;
    }
}

static uint64_t begin_record(const struct trace_record *record)
{
    put(record, sizeof *record);
    return trace.records++;
}

/* ---- What is written through maps ------------------------------------------------------------- */

static void grow(struct map *map, size_t bytes)
{
    if (bytes <= map->seen_bytes)
        return;
    map->seen = realloc(map->seen, bytes);
    if (!map->seen)
        shim_die("out of memory", "");
    memset(map->seen + map->seen_bytes, 0, bytes - map->seen_bytes);
    map->seen_bytes = bytes;
}

static void look_at_page(struct map *map, uint64_t offset, const uint8_t *page, size_t n)
{
    if (!memcmp(map->seen + offset, page, n))
        return;
    memcpy(map->seen + offset, page, n);
    begin_record(&(struct trace_record){
        .kind = TRACE_WRITE, .ino = map->fd.ino, .offset = offset, .length = 1, .data_bytes = n});
    put(page, n);
}

/* The part of the file from `from`, which is where a page begins, to `to`. */
static void look_at_part(struct map *map, uint64_t from, uint64_t to)
{
    static uint8_t chunk[CHUNK];
    while (from < to) {
        size_t want = to - from < CHUNK ? (size_t)(to - from) : CHUNK;
        ssize_t have = pread(map->reader, chunk, want, (off_t)from);
        if (have <= 0)
            return;
        size_t n = (size_t)have;
        grow(map, from + CHUNK);
        for (size_t at = 0; at < n; at += PAGE)
            look_at_page(map, from + at, chunk + at, n - at < PAGE ? n - at : PAGE);
        from += n;
    }
}

/* Holes have not been touched. */
static void look_at_map(struct map *map)
{
    off_t at = 0;
    for (;;) {
        off_t from = lseek(map->reader, at, SEEK_DATA);
        if (from < 0)
            return;
        at = lseek(map->reader, from, SEEK_HOLE);
        look_at_part(map, (uint64_t)from & ~(uint64_t)(PAGE - 1), (uint64_t)at);
    }
}

/*
 * A look takes a while. It must be taken by the thread that writes, lest it see one page before a change and another
 * after the next. Base images are made on a thread of their own: whoever syncs something there looks only there.
 */
static void look_at_maps(const char *because_of)
{
    static const char bases[] = "snapshots";
    bool is_base = !strncmp(because_of, bases, sizeof bases - 1);
    for (int i = 0; i < MAPS; i++) {
        struct map *map = &trace.maps[i];
        if (map->at && is_base == !strncmp(map->fd.path, bases, sizeof bases - 1))
            look_at_map(map);
    }
}

void shim_look(void)
{
    shim_lock();
    if (trace.fd >= 0)
        look_at_maps("");
    shim_unlock();
}

void trace_map(const struct shim_fd *fd, void *at, size_t bytes)
{
    int (*real_open)(const char *, int, ...) = shim_real("open");
    char path[64];
    if (trace.fd < 0)
        return;
    struct map *map = trace.maps;
    while (map->at)
        if (++map == trace.maps + MAPS)
            shim_die("too many maps", fd->path);
    snprintf(path, sizeof path, "/proc/self/fd/%d", (int)(fd - shim_fds));
    *map = (struct map){.at = at, .bytes = bytes, .fd = *fd};
    map->reader = real_open(path, O_RDONLY | O_CLOEXEC);
    if (map->reader < 0)
        shim_die("cannot be read", fd->path);
}

void trace_unmap(void *at)
{
    for (struct map *map = trace.maps; map < trace.maps + MAPS; map++) {
        if (!at || map->at != at)
            continue;
        look_at_map(map);
        int (*real_close)(int) = shim_real("close");
        real_close(map->reader);
        free(map->seen);
        *map = (struct map){0};
    }
}

const struct shim_fd *trace_mapped(const void *at, uint64_t *offset)
{
    for (const struct map *map = trace.maps; map < trace.maps + MAPS; map++) {
        const uint8_t *begin = map->at;
        const uint8_t *byte = at;
        if (begin && byte >= begin && byte < begin + map->bytes) {
            *offset = (uint64_t)(byte - begin);
            return &map->fd;
        }
    }
    return NULL;
}

/* ---- Records ----------------------------------------------------------------------------------- */

void trace_named(enum trace_kind kind, const char *path, uint64_t ino)
{
    if (trace.fd < 0)
        return;
    begin_record(
        &(struct trace_record){.kind = kind, .path_bytes = (uint32_t)strlen(path), .ino = ino});
    put(path, strlen(path));
}

void trace_two_names(enum trace_kind kind, const char *from, const char *to)
{
    if (trace.fd < 0)
        return;
    begin_record(&(struct trace_record){.kind = kind,
                                        .path_bytes = (uint32_t)(strlen(from) + 1 + strlen(to))});
    put(from, strlen(from) + 1);
    put(to, strlen(to));
}

void trace_write(const struct shim_fd *fd, uint64_t offset, const struct iovec *parts, int n,
                 size_t bytes)
{
    if (trace.fd < 0)
        return;
    uint64_t number = begin_record(&(struct trace_record){
        .kind = TRACE_WRITE, .ino = fd->ino, .offset = offset, .data_bytes = bytes});
    size_t left = bytes;
    for (int i = 0; i < n && left; i++) {
        size_t part = parts[i].iov_len < left ? parts[i].iov_len : left;
        put(parts[i].iov_base, part);
        left -= part;
    }
    if (fd->syncs)
        trace_synced(fd->ino, offset, bytes, number + 1);
}

void trace_zeros(const struct shim_fd *fd, uint64_t offset, uint64_t bytes)
{
    uint8_t *zeros = calloc(1, bytes);
    if (!zeros)
        shim_die("out of memory", "");
    trace_write(fd, offset, &(struct iovec){zeros, bytes}, 1, bytes);
    free(zeros);
}

void trace_size(const struct shim_fd *fd, uint64_t size)
{
    if (trace.fd >= 0)
        begin_record(&(struct trace_record){.kind = TRACE_SIZE, .ino = fd->ino, .offset = size});
}

uint64_t trace_sync(uint64_t ino, const char *path)
{
    if (trace.fd < 0)
        return 0;
    look_at_maps(path);
    return begin_record(&(struct trace_record){.kind = TRACE_SYNC, .ino = ino});
}

void trace_synced(uint64_t ino, uint64_t offset, uint64_t length, uint64_t begin)
{
    if (trace.fd >= 0)
        begin_record(&(struct trace_record){
            .kind = TRACE_SYNCED, .ino = ino, .offset = offset, .length = length, .begin = begin});
}

void shim_mark(uint64_t a, uint64_t b)
{
    shim_lock();
    if (trace.fd >= 0)
        begin_record(&(struct trace_record){.kind = TRACE_MARK, .offset = a, .length = b});
    shim_unlock();
}

/* ---- The beginning ----------------------------------------------------------------------------- */

static size_t root_bytes;

static void record_content(const char *path, const struct shim_fd *fd, uint64_t size)
{
    int (*real_open)(const char *, int, ...) = shim_real("open");
    int (*real_close)(int) = shim_real("close");
    uint8_t page[PAGE];
    int file = real_open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        shim_die("cannot be read", path);
    trace_size(fd, size);
    for (off_t at = lseek(file, 0, SEEK_DATA); at >= 0; at = lseek(file, at, SEEK_DATA)) {
        ssize_t n = pread(file, page, PAGE, at);
        if (n <= 0)
            break;
        trace_write(fd, (uint64_t)at, &(struct iovec){page, (size_t)n}, 1, (size_t)n);
        at += n;
    }
    real_close(file);
}

static int record_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    const char *inside = path + root_bytes;
    struct shim_fd fd = {.ino = st->st_ino};
    (void)ftw;
    while (*inside == '/')
        inside++;
    trace_named(type == FTW_D ? TRACE_MKDIR : TRACE_CREATE, inside, st->st_ino);
    if (type == FTW_F)
        record_content(path, &fd, (uint64_t)st->st_size);
    trace_synced(st->st_ino, 0, 0, trace.records);
    return 0;
}

static int sync_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path;
    (void)ftw;
    if (type == FTW_D)
        trace_synced(st->st_ino, 0, 0, trace.records);
    return 0;
}

void trace_begin(const char *dir, int fd);
void trace_begin(const char *dir, int fd)
{
    root_bytes = strlen(dir);
    trace.fd = fd;
    nftw(dir, record_entry, 16, FTW_PHYS);
    nftw(dir, sync_entry, 16, FTW_PHYS);
}

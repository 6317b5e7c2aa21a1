/* SPDX-License-Identifier: MIT */
#include "cli/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { PACKED_BYTES = 1 << 17, GZIP_WINDOW = 15 + 16 };

struct unpack {
    int fd;
    uint64_t done, total;
    bool ended;
    /* How bytes are taken out of what was read; below 0: they are damaged. */
    ssize_t (*take)(struct unpack *unpack, char *to, size_t room);
    z_stream gzip;
    ZSTD_DStream *zstd;
    bool within; /* what is packed has begun, and not ended */
    size_t at, n;
    uint8_t bytes[PACKED_BYTES];
};

/* Moves what is left to the beginning, and reads behind it. */
static bool fill(struct unpack *unpack)
{
    memmove(unpack->bytes, unpack->bytes + unpack->at, unpack->n - unpack->at);
    unpack->n -= unpack->at;
    unpack->at = 0;
    ssize_t got;
    do
        got = read(unpack->fd, unpack->bytes + unpack->n, sizeof unpack->bytes - unpack->n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return false;
    unpack->ended = !got;
    unpack->n += (size_t)got;
    unpack->done += (uint64_t)got;
    return true;
}

static ssize_t take_plain(struct unpack *unpack, char *to, size_t room)
{
    size_t left = unpack->n - unpack->at, n = left < room ? left : room;
    memcpy(to, unpack->bytes + unpack->at, n);
    unpack->at += n;
    return (ssize_t)n;
}

/* Several, one behind the other, are one: gzip makes them so. */
static ssize_t take_gzip(struct unpack *unpack, char *to, size_t room)
{
    z_stream *z = &unpack->gzip;
    if (!unpack->within && unpack->at < unpack->n && inflateReset(z) != Z_OK)
        return -1;
    unpack->within |= unpack->at < unpack->n;
    z->next_in = unpack->bytes + unpack->at;
    z->avail_in = (unsigned)(unpack->n - unpack->at);
    z->next_out = (uint8_t *)to;
    z->avail_out = (unsigned)room;
    int rc = inflate(z, Z_NO_FLUSH);
    unpack->at = unpack->n - z->avail_in;
    if (rc == Z_STREAM_END)
        unpack->within = false;
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        return -1;
    return (ssize_t)(room - z->avail_out);
}

static ssize_t take_zstd(struct unpack *unpack, char *to, size_t room)
{
    ZSTD_inBuffer in = {unpack->bytes, unpack->n, unpack->at};
    ZSTD_outBuffer out = {to, room, 0};
    if (in.pos == in.size && !unpack->within)
        return 0;
    size_t rc = ZSTD_decompressStream(unpack->zstd, &out, &in);
    unpack->at = in.pos;
    unpack->within = rc != 0;
    return ZSTD_isError(rc) ? -1 : (ssize_t)out.pos;
}

ssize_t unpack_read(struct unpack *unpack, char *to, size_t room)
{
    for (;;) {
        ssize_t n = unpack->take(unpack, to, room);
        if (n)
            return n;
        bool left = unpack->at < unpack->n;
        if (unpack->ended && !left)
            return unpack->within && unpack->take != take_plain ? -1 : 0;
        if (!unpack->ended && !fill(unpack))
            return -1;
    }
}

/* By its first bytes. */
static bool choose(struct unpack *unpack)
{
    static const uint8_t gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    while (unpack->n < sizeof zstd && !unpack->ended)
        if (!fill(unpack))
            return false;
    unpack->take = take_plain;
    if (unpack->n >= sizeof gzip && !memcmp(unpack->bytes, gzip, sizeof gzip)) {
        unpack->take = take_gzip;
        return inflateInit2(&unpack->gzip, GZIP_WINDOW) == Z_OK;
    }
    if (unpack->n >= sizeof zstd && !memcmp(unpack->bytes, zstd, sizeof zstd)) {
        unpack->take = take_zstd;
        unpack->zstd = ZSTD_createDStream();
        return unpack->zstd != NULL;
    }
    return true;
}

struct unpack *unpack_open(const char *path)
{
    struct stat st;
    struct unpack *unpack = calloc(1, sizeof *unpack);
    if (!unpack)
        return NULL;
    unpack->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (unpack->fd < 0) {
        free(unpack);
        return NULL;
    }
    if (!fstat(unpack->fd, &st) && S_ISREG(st.st_mode))
        unpack->total = (uint64_t)st.st_size;
    if (choose(unpack))
        return unpack;
    unpack_close(unpack);
    return NULL;
}

void unpack_close(struct unpack *unpack)
{
    if (!unpack)
        return;
    if (unpack->take == take_gzip)
        inflateEnd(&unpack->gzip);
    ZSTD_freeDStream(unpack->zstd);
    if (unpack->fd != STDIN_FILENO)
        close(unpack->fd);
    free(unpack);
}

uint64_t unpack_done(const struct unpack *unpack)
{
    return unpack->done;
}

uint64_t unpack_total(const struct unpack *unpack)
{
    return unpack->total;
}

/* SPDX-License-Identifier: MIT */
/* Bytes of a file, or of standard input, unpacked if they are packed by gzip or zstd: their beginning says so. */
#ifndef CLI_UNPACK_H
#define CLI_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct unpack;

/* "-" is standard input. NULL if it cannot be opened: errno says why. */
struct unpack *unpack_open(const char *path);
void unpack_close(struct unpack *unpack);

/* Up to `room` bytes; 0 at the end; -1 if it cannot be read, or is damaged. */
ssize_t unpack_read(struct unpack *unpack, char *to, size_t room);

/* Bytes of the file read so far, and its size: 0 if that is not known. */
uint64_t unpack_done(const struct unpack *unpack);
uint64_t unpack_total(const struct unpack *unpack);

#endif

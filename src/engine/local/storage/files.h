/* SPDX-License-Identifier: MIT */
/*
 * Files that must survive the loss of power. A file is there for good only when it, and the directory
 * that names it, have been synced; these functions do both, in the order that matters.
 *
 * All answer OK, NO_SPACE or IO, and leave errno as it was when it failed.
 */
#ifndef LOCAL_FILES_H
#define LOCAL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidings.h"

enum { PATH_BYTES = 4096 };

/* Tells whoever wants to know, at most a few times a second. */
struct progress {
    struct tidings_progress to;
    const char *what;
    uint64_t before; /* done before what is told */
    uint64_t total;
    const _Atomic bool *cancel; /* ends a copy, with errno ECANCELED; may be NULL */
    int64_t last_ms;
};
void progress_tell(struct progress *progress, uint64_t done);
void progress_end(struct progress *progress);

/* dir/name; false if it is too long. */
bool path_join(char path[PATH_BYTES], const char *dir, const char *name);

/* NO_SPACE or IO, by errno. */
enum tidings_err file_error(void);

/* Makes the directory if it is not there, for its owner alone, and its name durable. */
enum tidings_err dir_make(const char *path);

/* Whether nothing is in it, or it is not there. */
bool dir_is_empty(const char *path);
/* The same, whether or not there is this one thing. */
bool dir_has_only(const char *path, const char *name);

/* Removes the directory with all that is in it, or does nothing if it is not there. */
enum tidings_err dir_remove(const char *path);

/* Makes durable what was created, renamed or removed in the directory. */
enum tidings_err dir_sync(const char *path);

/* Opens and syncs a file that has been closed. */
enum tidings_err file_sync(const char *path);

/* All the bytes, at that place. */
enum tidings_err file_write(int fd, const void *bytes, size_t n, uint64_t at);

/* Replaces or makes dir/name with these bytes: the old ones or the new ones, never a mixture. */
enum tidings_err file_replace(const char *dir, const char *name, const void *bytes, size_t n);

/* The whole file, from malloc. IO with errno ENOENT if it is not there; at most `most` bytes. */
enum tidings_err file_read(const char *path, size_t most, uint8_t **bytes, size_t *n);

/*
 * Copies the first n bytes, or all if n is 0, to a new file, and syncs it. Goes on with
 * *crc over them, and tells the progress; both may be NULL.
 */
enum tidings_err file_copy(const char *from, const char *to, uint64_t n, uint32_t *crc,
                           struct progress *progress);

/* The CRC-32C of the whole file; the progress may be NULL. */
enum tidings_err file_checksum(const char *path, uint32_t *crc, struct progress *progress);

#endif

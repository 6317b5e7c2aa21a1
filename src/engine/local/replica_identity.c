/* SPDX-License-Identifier: MIT */
/*
 * A server registers under an id of its own, which it draws when it starts: numbers of changes that it hands over begin anew, too.
 * The file `replica` of the directory has the ids that may have a row, one per line. Whoever opens the directory has its lock: the
 * servers of the other ids have ended, what they had is here, and their rows go. So a server that is killed again and again leaves
 * one row, and nobody waits for what it alone had.
 *
 * An id is in the file before it has a row; it leaves the file when the row is gone.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "engine/local/replica_internal.h"

static const char identity_name[] = "replica";

enum {
    IDENTITY_MAX = 32,
    IDENTITY_BYTES = 24,
    IDENTITY_FILE_BYTES = IDENTITY_MAX * IDENTITY_BYTES
};

/* The ids of the file, the newest last; returns their number. A file that is damaged has none. */
static size_t identity_read(const char *dir, uint64_t ids[IDENTITY_MAX])
{
    char path[PATH_BYTES], *end;
    uint8_t *bytes;
    size_t length, n = 0;
    if (!path_join(path, dir, identity_name) ||
        file_read(path, IDENTITY_FILE_BYTES, &bytes, &length))
        return 0;
    bytes[length] = '\0'; /* file_read has room for it */
    for (const char *at = (const char *)bytes; n < IDENTITY_MAX; at = end) {
        uint64_t id = strtoull(at, &end, 10);
        if (end == at)
            break;
        if (id)
            ids[n++] = id;
    }
    free(bytes);
    return n;
}

static bool identity_write(const char *dir, const uint64_t *ids, size_t n)
{
    char text[IDENTITY_FILE_BYTES];
    size_t length = 0;
    for (size_t i = 0; i < n; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%" PRIu64 "\n", ids[i]);
    return !file_replace(dir, identity_name, text, length);
}

bool replica_identity_begin(struct replica *replica)
{
    const char *dir = replica->local->store->dir;
    uint64_t ids[IDENTITY_MAX];
    size_t n = identity_read(dir, ids);
    if (n && ids[n - 1] == replica->id)
        return true;
    if (n == IDENTITY_MAX)
        memmove(ids, ids + 1, --n * sizeof *ids);
    ids[n++] = replica->id;
    return identity_write(dir, ids, n);
}

bool replica_identity_note(struct replica *replica)
{
    const char *dir = replica->local->store->dir;
    uint64_t ids[IDENTITY_MAX];
    size_t n = identity_read(dir, ids);
    for (size_t i = 0; i < n; i++)
        if (ids[i] != replica->id && log_mysql_forget(replica->asking, ids[i]) != LOG_DONE)
            return false;
    return identity_write(dir, &replica->id, 1);
}

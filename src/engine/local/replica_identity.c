/* SPDX-License-Identifier: MIT */
/*
 * A server registers under an id of its own, which it draws when it starts: numbers of changes that it hands over begin anew, too.
 * The file `replica` of the directory keeps the id. Whoever finds another's there has the directory, and its lock: that server has
 * ended, what it had is here, and its row goes. So a server that is killed again and again leaves one row, and nobody waits for
 * what it alone had.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "engine/local/replica_internal.h"

static const char identity_name[] = "replica";

enum { IDENTITY_BYTES = 24 };

/* 0: there is none. */
static uint64_t identity_read(const char *dir)
{
    char path[PATH_BYTES];
    uint8_t *bytes;
    size_t n;
    if (!path_join(path, dir, identity_name) || file_read(path, IDENTITY_BYTES, &bytes, &n))
        return 0;
    bytes[n] = '\0'; /* file_read has room for it */
    uint64_t id = strtoull((const char *)bytes, NULL, 10);
    free(bytes);
    return id;
}

bool replica_identity_note(struct replica *replica)
{
    const char *dir = replica->local->store->dir;
    char text[IDENTITY_BYTES];
    uint64_t former = identity_read(dir);
    int n = snprintf(text, sizeof text, "%" PRIu64 "\n", replica->id);
    if (former && former != replica->id && log_mysql_forget(replica->asking, former) != LOG_DONE)
        return false;
    return !file_replace(dir, identity_name, text, (size_t)n);
}

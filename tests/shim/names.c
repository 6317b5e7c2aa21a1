/* SPDX-License-Identifier: MIT */
/* The functions that make, change and remove names, before libc's; see shim.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

static int two_names(enum trace_kind kind, int from_fd, const char *from, int to_fd, const char *to)
{
    char from_room[PATH_MAX], to_room[PATH_MAX];
    bool renames = kind == TRACE_RENAME;
    shim_lock();
    const char *old = shim_inside(from_fd, from, from_room);
    const char *new = shim_inside(to_fd, to, to_room);
    if (!old != !new)
        shim_die("a name goes in or out", from);
    int rc = old && shim_fails(SHIM_NAME, old)
                 ? -1
                 : (renames ? REAL(renameat)(from_fd, from, to_fd, to)
                            : REAL(linkat)(from_fd, from, to_fd, to, 0));
    if (!rc && old)
        trace_two_names(kind, old, new);
    return (int)shim_leave(rc);
}

EXPORT int rename(const char *from, const char *to)
{
    if (!atomic_load(&shim_active))
        return REAL(rename)(from, to);
    return two_names(TRACE_RENAME, AT_FDCWD, from, AT_FDCWD, to);
}

EXPORT int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    if (!atomic_load(&shim_active))
        return REAL(renameat)(from_fd, from, to_fd, to);
    return two_names(TRACE_RENAME, from_fd, from, to_fd, to);
}

/* Only a rename to a name that is free can be told from an exchange here. */
EXPORT int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    char room[PATH_MAX];
    bool active = atomic_load(&shim_active);
    if (!active || !shim_inside(from_fd, from, room))
        return REAL(renameat2)(from_fd, from, to_fd, to, flags);
    if (flags & ~(unsigned)RENAME_NOREPLACE)
        shim_die("this kind of renameat2 is not known", from);
    if (flags && shim_ino(to_fd, to)) {
        errno = EEXIST;
        return -1;
    }
    return two_names(TRACE_RENAME, from_fd, from, to_fd, to);
}

EXPORT int link(const char *from, const char *to)
{
    if (!atomic_load(&shim_active))
        return REAL(link)(from, to);
    return two_names(TRACE_LINK, AT_FDCWD, from, AT_FDCWD, to);
}

static int unlink_any(int dirfd, const char *path, int flags)
{
    char room[PATH_MAX];
    if (!atomic_load(&shim_active))
        return REAL(unlinkat)(dirfd, path, flags);
    shim_lock();
    const char *inside = shim_inside(dirfd, path, room);
    int rc = inside && shim_fails(SHIM_NAME, inside) ? -1 : REAL(unlinkat)(dirfd, path, flags);
    if (!rc && inside)
        trace_named(TRACE_UNLINK, inside, 0);
    return (int)shim_leave(rc);
}

EXPORT int unlink(const char *path)
{
    return unlink_any(AT_FDCWD, path, 0);
}

EXPORT int unlinkat(int dirfd, const char *path, int flags)
{
    return unlink_any(dirfd, path, flags);
}

EXPORT int rmdir(const char *path)
{
    return unlink_any(AT_FDCWD, path, AT_REMOVEDIR);
}

EXPORT int remove(const char *path)
{
    int rc = unlink(path);
    return rc && errno == EISDIR ? rmdir(path) : rc;
}

static int mkdir_any(int dirfd, const char *path, mode_t mode)
{
    char room[PATH_MAX];
    if (!atomic_load(&shim_active))
        return REAL(mkdirat)(dirfd, path, mode);
    shim_lock();
    const char *inside = shim_inside(dirfd, path, room);
    bool makes = inside && !shim_ino(dirfd, path);
    int rc = makes && shim_fails(SHIM_NAME, inside) ? -1 : REAL(mkdirat)(dirfd, path, mode);
    if (!rc && inside)
        trace_named(TRACE_MKDIR, inside, shim_ino(dirfd, path));
    return (int)shim_leave(rc);
}

EXPORT int mkdir(const char *path, mode_t mode)
{
    return mkdir_any(AT_FDCWD, path, mode);
}

EXPORT int mkdirat(int dirfd, const char *path, mode_t mode)
{
    return mkdir_any(dirfd, path, mode);
}

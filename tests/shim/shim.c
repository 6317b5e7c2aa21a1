/* SPDX-License-Identifier: MIT */
/* The functions that come before libc's. Those that have a twin for 64-bit offsets share one body. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/* The same function under its other name. */
#define TWIN(name, twin) \
    __asm__(".globl " #twin "\n.set " #twin ", " #name "\n.type " #twin ", @function")

atomic_bool shim_active;
struct shim_fd shim_fds[SHIM_FDS];

/* Recursive: a sanitizer that has something to say of what we do opens files to say it. */
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char root[PATH_MAX];
static char boot_id[PATH_MAX];

void trace_begin(const char *dir, int fd);
void fault_arm(const struct shim_fault *fault);

void shim_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void shim_unlock(void)
{
    int saved = errno;
    pthread_mutex_unlock(&mutex);
    errno = saved;
}

void *shim_real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        shim_die("libc has no such function", name);
    return found;
}

void shim_die(const char *what, const char *path)
{
    fprintf(stderr, "shim: %s: %s\n", what, path);
    abort();
}

/* ---- What is in the directory ------------------------------------------------------------------ */

static const char *below_root(const char *path)
{
    size_t n = strlen(root);
    if (strncmp(path, root, n) || (path[n] && path[n] != '/'))
        return NULL;
    path += n;
    while (*path == '/')
        path++;
    return path;
}

const char *shim_inside(int dirfd, const char *path, char room[PATH_MAX])
{
    char link[64];
    if (*path == '/')
        return below_root(path);
    snprintf(link, sizeof link, dirfd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", dirfd);
    ssize_t n = readlink(link, room, PATH_MAX - 1);
    if (n < 0)
        return NULL;
    snprintf(room + n, (size_t)(PATH_MAX - n), "/%s", path);
    return below_root(room);
}

struct shim_fd *shim_fd(int fd)
{
    bool known = fd >= 0 && fd < SHIM_FDS && shim_fds[fd].known;
    return known ? &shim_fds[fd] : NULL;
}

static void learn_fd(int fd, const char *inside, int flags)
{
    struct stat st;
    if (fd >= SHIM_FDS || fstat(fd, &st))
        shim_die("too many descriptors", inside);
    shim_fds[fd] = (struct shim_fd){.known = true, .ino = st.st_ino};
    shim_fds[fd].syncs = flags & (O_SYNC | O_DSYNC);
    snprintf(shim_fds[fd].path, sizeof shim_fds[fd].path, "%s", inside);
}

uint64_t shim_ino(int dirfd, const char *path)
{
    struct stat st;
    return fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) ? 0 : st.st_ino;
}

bool shim_fails(enum shim_class class, const char *path)
{
    int error = fault_of(class, path);
    if (error > 0)
        errno = error;
    return error > 0;
}

/* ---- Asked by the program --------------------------------------------------------------------- */

bool shim_record(const char *dir, const char *trace)
{
    int fd = open(trace, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    shim_lock();
    snprintf(root, sizeof root, "%s", dir);
    trace_begin(root, fd);
    atomic_store(&shim_active, true);
    shim_unlock();
    return true;
}

void shim_fail(const char *dir, const struct shim_fault *fault)
{
    shim_lock();
    snprintf(root, sizeof root, "%s", dir);
    fault_arm(fault);
    atomic_store(&shim_active, true);
    shim_unlock();
}

void shim_boot_id(const char *path)
{
    snprintf(boot_id, sizeof boot_id, "%s", path);
}

static const char *shown(const char *path)
{
    return *boot_id && !strcmp(path, BOOT_ID) ? boot_id : path;
}

/* ---- Opening and closing ---------------------------------------------------------------------- */

static int open_inside(int dirfd, const char *path, int flags, mode_t mode, const char *inside)
{
    bool makes = (flags & O_CREAT) && !shim_ino(dirfd, path);
    if ((flags & O_TMPFILE) == O_TMPFILE)
        shim_die("O_TMPFILE is not known", inside);
    if (makes && shim_fails(SHIM_NAME, inside))
        return -1;
    int fd = REAL(openat)(dirfd, path, flags, mode);
    if (fd < 0)
        return fd;
    learn_fd(fd, inside, flags);
    if (makes)
        trace_named(TRACE_CREATE, inside, shim_fds[fd].ino);
    else if (flags & O_TRUNC)
        trace_size(&shim_fds[fd], 0);
    return fd;
}

static int open_any(int dirfd, const char *path, int flags, mode_t mode)
{
    char room[PATH_MAX];
    path = shown(path);
    if (!atomic_load(&shim_active))
        return REAL(openat)(dirfd, path, flags, mode);
    shim_lock();
    const char *inside = shim_inside(dirfd, path, room);
    int fd = inside ? open_inside(dirfd, path, flags, mode, inside)
                    : REAL(openat)(dirfd, path, flags, mode);
    shim_unlock();
    return fd;
}

static mode_t mode_of(int flags, va_list args)
{
    bool given = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
    return given ? (mode_t)va_arg(args, int) : 0;
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return open_any(AT_FDCWD, path, flags, mode);
}
TWIN(open, open64);

EXPORT int openat(int dirfd, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return open_any(dirfd, path, flags, mode);
}
TWIN(openat, openat64);

int __open_2(const char *path, int flags); /* what _FORTIFY_SOURCE makes of open */
EXPORT int __open_2(const char *path, int flags)
{
    return open_any(AT_FDCWD, path, flags, 0);
}
TWIN(__open_2, __open64_2);

EXPORT int creat(const char *path, mode_t mode)
{
    return open_any(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
TWIN(creat, creat64);

/* Its writes would not come here. */
EXPORT FILE *fopen(const char *path, const char *mode)
{
    char room[PATH_MAX];
    path = shown(path);
    if (atomic_load(&shim_active) && strpbrk(mode, "wa+") && shim_inside(AT_FDCWD, path, room))
        shim_die("fopen for writing is not known", path);
    return REAL(fopen)(path, mode);
}
TWIN(fopen, fopen64);

EXPORT int close(int fd)
{
    if (!atomic_load(&shim_active))
        return REAL(close)(fd);
    shim_lock();
    if (shim_fd(fd))
        shim_fds[fd].known = false;
    int rc = REAL(close)(fd);
    shim_unlock();
    return rc;
}

EXPORT int dup(int fd)
{
    if (!atomic_load(&shim_active))
        return REAL(dup)(fd);
    shim_lock();
    int made = REAL(dup)(fd);
    if (made >= 0 && made < SHIM_FDS && shim_fd(fd))
        shim_fds[made] = shim_fds[fd];
    shim_unlock();
    return made;
}

/* ---- Writing ------------------------------------------------------------------------------------ */

/* The first half of the parts, into `half`; how many parts that is. */
static int halve(const struct iovec *parts, int n, struct iovec *half, size_t bytes)
{
    size_t left = bytes / 2;
    int i = 0;
    for (; i < n && left; i++) {
        half[i] = parts[i];
        if (half[i].iov_len > left)
            half[i].iov_len = left;
        left -= half[i].iov_len;
    }
    return i;
}

static ssize_t write_inside(struct shim_fd *fd, const struct iovec *parts, int n, off_t at)
{
    struct iovec half[IOV_MAX];
    int number = (int)(fd - shim_fds);
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += parts[i].iov_len;
    int error = fault_of(SHIM_WRITE, fd->path);
    if (error > 0) {
        errno = error;
        return -1;
    }
    if (error < 0 && bytes > 1) {
        n = halve(parts, n, half, bytes);
        parts = half;
    }
    ssize_t done = at < 0 ? REAL(writev)(number, parts, n) : REAL(pwritev)(number, parts, n, at);
    if (done > 0) {
        if (at < 0)
            at = lseek(number, 0, SEEK_CUR) - done;
        trace_write(fd, (uint64_t)at, parts, n, (size_t)done);
    }
    return done;
}

/* True if the descriptor is one of the directory's; then with the lock held. */
static bool enter(int fd)
{
    if (!atomic_load(&shim_active))
        return false;
    shim_lock();
    if (shim_fd(fd))
        return true;
    shim_unlock();
    return false;
}

ssize_t shim_leave(ssize_t result)
{
    shim_unlock();
    return result;
}

EXPORT ssize_t write(int fd, const void *bytes, size_t n)
{
    if (!enter(fd))
        return REAL(write)(fd, bytes, n);
    struct iovec part = {(void *)(uintptr_t)bytes, n};
    return shim_leave(write_inside(&shim_fds[fd], &part, 1, -1));
}

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    if (!enter(fd))
        return REAL(pwrite)(fd, bytes, n, at);
    struct iovec part = {(void *)(uintptr_t)bytes, n};
    return shim_leave(write_inside(&shim_fds[fd], &part, 1, at));
}
TWIN(pwrite, pwrite64);

EXPORT ssize_t writev(int fd, const struct iovec *parts, int n)
{
    if (!enter(fd))
        return REAL(writev)(fd, parts, n);
    return shim_leave(write_inside(&shim_fds[fd], parts, n, -1));
}

EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t at)
{
    if (!enter(fd))
        return REAL(pwritev)(fd, parts, n, at);
    return shim_leave(write_inside(&shim_fds[fd], parts, n, at));
}
TWIN(pwritev, pwritev64);

EXPORT ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t n,
                               unsigned flags)
{
    if (enter(out))
        shim_die("copy_file_range is not known", shim_fds[out].path);
    return REAL(copy_file_range)(in, in_at, out, out_at, n, flags);
}

EXPORT int ftruncate(int fd, off_t size)
{
    if (!enter(fd))
        return REAL(ftruncate)(fd, size);
    int rc = shim_fails(SHIM_SPACE, shim_fds[fd].path) ? -1 : REAL(ftruncate)(fd, size);
    if (!rc)
        trace_size(&shim_fds[fd], (uint64_t)size);
    return (int)shim_leave(rc);
}
TWIN(ftruncate, ftruncate64);

static int allocate_inside(struct shim_fd *fd, int mode, off_t at, off_t n)
{
    int number = (int)(fd - shim_fds);
    struct stat before;
    if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        shim_die("this kind of fallocate is not known", fd->path);
    if (shim_fails(SHIM_SPACE, fd->path) || fstat(number, &before) ||
        REAL(fallocate)(number, mode, at, n))
        return -1;
    if (!(mode & FALLOC_FL_KEEP_SIZE) && at + n > before.st_size)
        trace_size(fd, (uint64_t)(at + n));
    if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) {
        off_t end = at + n < before.st_size ? at + n : before.st_size;
        if (end > at)
            trace_zeros(fd, (uint64_t)at, (uint64_t)(end - at));
    }
    return 0;
}

EXPORT int fallocate(int fd, int mode, off_t at, off_t n)
{
    if (!enter(fd))
        return REAL(fallocate)(fd, mode, at, n);
    return (int)shim_leave(allocate_inside(&shim_fds[fd], mode, at, n));
}
TWIN(fallocate, fallocate64);

EXPORT int posix_fallocate(int fd, off_t at, off_t n)
{
    if (!enter(fd))
        return REAL(posix_fallocate)(fd, at, n);
    return (int)shim_leave(allocate_inside(&shim_fds[fd], 0, at, n) ? errno : 0);
}
TWIN(posix_fallocate, posix_fallocate64);

/* ---- Syncing ------------------------------------------------------------------------------------ */

/* The sync itself goes on without the lock: others write meanwhile, and that is not covered. */
static int sync_inside(int fd, int (*real)(int))
{
    uint64_t ino = shim_fds[fd].ino;
    if (shim_fails(SHIM_SYNC, shim_fds[fd].path))
        return (int)shim_leave(-1);
    uint64_t begin = trace_sync(ino, shim_fds[fd].path);
    shim_unlock();
    int rc = real(fd);
    shim_lock();
    if (!rc)
        trace_synced(ino, 0, 0, begin);
    return (int)shim_leave(rc);
}

EXPORT int fsync(int fd)
{
    return enter(fd) ? sync_inside(fd, REAL(fsync)) : REAL(fsync)(fd);
}

EXPORT int fdatasync(int fd)
{
    return enter(fd) ? sync_inside(fd, REAL(fdatasync)) : REAL(fdatasync)(fd);
}

/* Says nothing about the disk's own memory, so it makes nothing durable; but it can fail. */
EXPORT int sync_file_range(int fd, off64_t at, off64_t n, unsigned flags)
{
    if (enter(fd) && shim_leave(shim_fails(SHIM_SYNC, shim_fds[fd].path)))
        return -1;
    return REAL(sync_file_range)(fd, at, n, flags);
}

EXPORT int syncfs(int fd)
{
    if (enter(fd))
        shim_die("syncfs is not known", shim_fds[fd].path);
    return REAL(syncfs)(fd);
}

/* ---- Maps --------------------------------------------------------------------------------------- */

EXPORT void *mmap(void *wanted, size_t n, int protection, int flags, int fd, off_t at)
{
    if (!enter(fd))
        return REAL(mmap)(wanted, n, protection, flags, fd, at);
    void *made = REAL(mmap)(wanted, n, protection, flags, fd, at);
    bool writable = (protection & PROT_WRITE) && !(flags & MAP_PRIVATE);
    if (made != MAP_FAILED && writable) {
        if (at)
            shim_die("a map of a file's middle is not known", shim_fds[fd].path);
        trace_map(&shim_fds[fd], made, n);
    }
    shim_unlock();
    return made;
}
TWIN(mmap, mmap64);

EXPORT int munmap(void *at, size_t n)
{
    if (!atomic_load(&shim_active))
        return REAL(munmap)(at, n);
    shim_lock();
    trace_unmap(at);
    return (int)shim_leave(REAL(munmap)(at, n));
}

EXPORT int msync(void *at, size_t n, int flags)
{
    uint64_t ino = 0, begin = 0, offset;
    if (!atomic_load(&shim_active) || !(flags & MS_SYNC))
        return REAL(msync)(at, n, flags);
    shim_lock();
    const struct shim_fd *ours = trace_mapped(at, &offset);
    if (ours && shim_fails(SHIM_SYNC, ours->path))
        return (int)shim_leave(-1);
    if (ours) {
        ino = ours->ino;
        begin = trace_sync(ino, ours->path);
    }
    shim_unlock();
    int rc = REAL(msync)(at, n, flags);
    if (!ours || rc)
        return rc;
    shim_lock();
    trace_synced(ino, offset, n, begin);
    return (int)shim_leave(rc);
}

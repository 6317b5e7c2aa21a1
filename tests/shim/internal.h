/* SPDX-License-Identifier: MIT */
/* What the parts of the shim share. All of it under shim_lock, but for shim_active. */
#ifndef TIDINGS_TESTS_SHIM_INTERNAL_H
#define TIDINGS_TESTS_SHIM_INTERNAL_H

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "shim.h"

#define EXPORT __attribute__((visibility("default")))
/* libc's function of that name. */
#define REAL(name) ((__typeof__(&(name)))shim_real(#name))

enum { SHIM_FDS = 4096 };

/* A descriptor of something in the directory. */
struct shim_fd {
    bool known;
    bool syncs; /* O_SYNC or O_DSYNC: what is written is durable when the call returns */
    uint64_t ino;
    char path[256]; /* relative to the directory */
};

extern atomic_bool shim_active;
extern struct shim_fd shim_fds[SHIM_FDS];

void shim_lock(void);
void shim_unlock(void);
/* The next definition of a function: libc's. */
void *shim_real(const char *name);
_Noreturn void shim_die(const char *what, const char *path);

/* The path relative to the directory, or NULL if it is not in it. `room` is for the answer. */
const char *shim_inside(int dirfd, const char *path, char room[PATH_MAX]);
struct shim_fd *shim_fd(int fd);
/* What a name stands for; 0 if there is none. */
uint64_t shim_ino(int dirfd, const char *path);
/* True, with errno set, if the call shall fail. */
bool shim_fails(enum shim_class class, const char *path);
/* Unlocks; the result. */
ssize_t shim_leave(ssize_t result);

/* trace.c: each writes its record, if there is a trace. */
void trace_named(enum trace_kind kind, const char *path, uint64_t ino);
void trace_two_names(enum trace_kind kind, const char *from, const char *to);
void trace_write(const struct shim_fd *fd, uint64_t offset, const struct iovec *parts, int n,
                 size_t bytes);
void trace_zeros(const struct shim_fd *fd, uint64_t offset, uint64_t bytes);
void trace_size(const struct shim_fd *fd, uint64_t size);
uint64_t trace_sync(uint64_t ino, const char *path);
void trace_synced(uint64_t ino, uint64_t offset, uint64_t length, uint64_t begin);
/* A writable shared map of a file begins or ends. */
void trace_map(const struct shim_fd *fd, void *at, size_t bytes);
void trace_unmap(void *at);
/* What is mapped at an address, and where in the file; NULL if it is none of the directory's. */
const struct shim_fd *trace_mapped(const void *at, uint64_t *offset);

/* fault.c: whether this call fails, and how: an errno, or -1 for half a write. */
int fault_of(enum shim_class class, const char *path);

#endif

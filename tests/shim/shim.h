/* SPDX-License-Identifier: MIT */
/*
 * A library between a test program and libc. The program links it, so that its calls to open, write,
 * rename, fsync and the like, and those of the libraries it uses, come here first. It can
 *
 *   - write everything that happens to the files below one directory into a trace, in order;
 *   - let chosen calls on these files fail;
 *   - show the program another boot id.
 *
 * It does nothing until it is asked to. What is written through a shared map makes no call: the file is
 * compared with what it was, whenever something is synced, and when the program says so.
 *
 * A call that changes files and is not known here ends the program, if it is about these files.
 */
#ifndef TIDINGS_TESTS_SHIM_H
#define TIDINGS_TESTS_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#define SHIM_API __attribute__((visibility("default")))

/* ---- The trace ------------------------------------------------------------------------------ */

enum trace_kind {
    TRACE_MKDIR = 1, /* path, ino */
    TRACE_CREATE,    /* path, ino; an empty file */
    TRACE_WRITE,     /* ino, offset, data; length 1: through a map, and seen only now */
    TRACE_SIZE,      /* ino, offset: cut or extended to so many bytes */
    TRACE_RENAME,    /* path: from and to, with a NUL between */
    TRACE_LINK,      /* likewise */
    TRACE_UNLINK,    /* path, of a file or a directory */
    TRACE_SYNC,      /* ino: a sync of a file or a directory begins */
    TRACE_SYNCED,    /* ino, offset, length (0: all of it): done; covers what was before `begin` */
    TRACE_MARK,      /* offset and length: two numbers of the program's */
};

/* Followed by the path and the data. Paths are relative to the directory, which is "". */
struct trace_record {
    uint32_t kind;
    uint32_t path_bytes;
    uint64_t data_bytes;
    uint64_t ino;
    uint64_t offset;
    uint64_t length;
    uint64_t begin; /* number of a record: they count from 0 */
};

/* From now on, into the file `trace`, which must not lie in `dir`. What is there already comes first, and
 * counts as synced. `dir` must be a real path. False if the trace cannot be written. */
SHIM_API bool shim_record(const char *dir, const char *trace);

/* Puts a mark into the trace, if there is one. */
SHIM_API void shim_mark(uint64_t a, uint64_t b);

/* Looks for what was written through maps; to be called by the thread that writes. */
SHIM_API void shim_look(void);

/* ---- Faults --------------------------------------------------------------------------------- */

enum shim_class {
    SHIM_WRITE, /* write, pwrite, writev, pwritev */
    SHIM_SYNC,  /* fsync, fdatasync, msync */
    SHIM_SPACE, /* fallocate, ftruncate */
    SHIM_NAME,  /* a file or directory made, renamed, linked or removed */
    SHIM_CLASSES
};

struct shim_fault {
    enum shim_class class;
    uint64_t first; /* the calls of this class that fail: from this one on, counted from 1 ... */
    uint64_t count; /* ... so many */
    int error;      /* 0: a write writes only half; of other classes nothing fails */
    bool half;      /* the first of them, a write, does half of its work before the others fail */
};

/* From now on calls on what is in `dir` are counted and fail as told. */
SHIM_API void shim_fail(const char *dir, const struct shim_fault *fault);
/* From now on nothing fails. */
SHIM_API void shim_heal(void);
/* Calls of this class since shim_fail. */
SHIM_API uint64_t shim_calls(enum shim_class class);
/* How many of them failed, and the path of the first, relative to the directory. */
SHIM_API uint64_t shim_failed(void);
SHIM_API const char *shim_failed_path(void);

/* ---- Another boot --------------------------------------------------------------------------- */

/* Whoever opens the kernel's boot id gets this file instead. */
SHIM_API void shim_boot_id(const char *path);

#endif

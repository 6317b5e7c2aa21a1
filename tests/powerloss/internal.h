/* SPDX-License-Identifier: MIT */
/* What the parts of the disk share. */
#ifndef TIDINGS_TESTS_DISK_INTERNAL_H
#define TIDINGS_TESTS_DISK_INTERNAL_H

#include "disk.h"

/* Of a page or, with bytes NULL, of a size. */
struct version {
    uint64_t at;    /* number of the record that made it */
    uint64_t epoch; /* how many syncs of the file had begun */
    uint64_t size;
    uint8_t *bytes; /* NULL: zeros */
};

/* What is durable, and what came after it, oldest first. */
struct history {
    struct version durable;
    struct version *pending;
    unsigned n;
};

struct node {
    uint64_t ino;
    bool is_dir;
    uint64_t syncs; /* that have begun */
    struct history size;
    struct history *pages;
    size_t n_pages;
};

struct name {
    char *path;
    struct node *node;
};

struct names {
    struct name *all;
    size_t n;
};

/* A change of names that may not be durable yet. */
struct change {
    uint64_t at;
    enum trace_kind kind;
    char *path;
    char *to;
    struct node *node;    /* CREATE, MKDIR */
    struct node *dirs[2]; /* those that have not been synced since */
};

struct disk {
    uint64_t lying;
    uint64_t now; /* number of the last record fed */
    struct node **nodes;
    size_t n_nodes;
    struct names durable;
    struct names current; /* as the process sees them */
    struct change *changes;
    size_t n_changes;
};

/* names.c */
struct node *names_find(const struct names *names, const char *path);
void names_copy(const struct names *from, struct names *to);
void names_release(struct names *names);
/* Makes a change, if it can be made: what it starts from is there. */
void names_apply(struct names *names, const struct change *change);
/* Whether all directories on the way to it are there. */
bool names_reach(const struct names *names, const char *path);

void *disk_room(void *old, size_t n, size_t size);

#endif

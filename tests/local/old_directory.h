/* SPDX-License-Identifier: MIT */
/* A directory as a former version left it, made of the engine's own: the log in the former format, without chains. */
#ifndef TESTS_LOCAL_OLD_DIRECTORY_H
#define TESTS_LOCAL_OLD_DIRECTORY_H

#include "engine/local/storage/image.h"
#include "engine/local/storage/store.h"

struct old_directory {
    const char *dir;
    int format;
    bool (*was_written)(const struct change *change); /* NULL: everything */
    bool trusted;                                     /* with its data.mdb */
    bool base;                                        /* with a base image of its first half */
};

/* Closes the engine and makes it. */
void old_directory_make(const struct old_directory *old);

/* The version that its `state` names. */
void old_directory_set_format(const char *dir, int format);
int old_directory_format(const char *dir);

#endif

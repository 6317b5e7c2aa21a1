/* SPDX-License-Identifier: MIT */
#include "engine/facts/sort.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RUNS_MAX = 64, RUN_BUFFER = 1 << 16, PATH_BYTES = 4096 };

/* In memory and in files alike: the length of the value, the key, the value. */
enum { HEAD_BYTES = 4 + SORT_KEY_BYTES };

/* A file of records in order, and the one at which reading it stands. */
struct run {
    FILE *file;
    uint8_t *record; /* NULL: it is at its end */
    size_t room;
};

struct sorter {
    char dir[PATH_BYTES];
    size_t memory;
    uint8_t *bytes; /* records one behind the other ... */
    size_t used;
    const uint8_t **at; /* ... and where each begins */
    size_t n, room, next;
    struct run runs[RUNS_MAX];
    size_t n_runs;
    struct run *given; /* whose record was handed out last */
    bool sorted;
};

static enum tidings_err file_error(void)
{
    return errno == ENOSPC || errno == EDQUOT ? TIDINGS_NO_SPACE : TIDINGS_IO;
}

static const uint8_t *key_of(const uint8_t *record)
{
    return record + 4;
}

static size_t size_of(const uint8_t *record)
{
    return HEAD_BYTES + (size_t)get_u32(record);
}

struct sorter *sorter_new(const char *dir, size_t memory)
{
    struct sorter *sorter = calloc(1, sizeof *sorter);
    uint8_t *bytes = malloc(memory);
    if (!sorter || !bytes) {
        free(sorter);
        free(bytes);
        return NULL;
    }
    sorter->bytes = bytes;
    sorter->memory = memory;
    snprintf(sorter->dir, sizeof sorter->dir, "%s", dir);
    return sorter;
}

static void close_runs(struct sorter *sorter)
{
    for (size_t i = 0; i < sorter->n_runs; i++) {
        fclose(sorter->runs[i].file);
        free(sorter->runs[i].record);
    }
    sorter->n_runs = 0;
}

void sorter_free(struct sorter *sorter)
{
    if (!sorter)
        return;
    close_runs(sorter);
    free(sorter->bytes);
    free(sorter->at);
    free(sorter);
}

/* ---- Runs ----------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    return memcmp(key_of(*(const uint8_t *const *)a), key_of(*(const uint8_t *const *)b),
                  SORT_KEY_BYTES);
}

static FILE *make_file(const char *dir)
{
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/tidings-sort-XXXXXX", dir);
    int fd = mkstemp(path);
    if (fd < 0)
        return NULL;
    unlink(path);
    FILE *file = fdopen(fd, "w+");
    if (file)
        setvbuf(file, NULL, _IOFBF, RUN_BUFFER);
    else
        close(fd);
    return file;
}

/* The next record of a run; *record NULL at its end. */
static enum tidings_err read_record(struct run *run)
{
    uint8_t head[4];
    size_t n = fread(head, 1, sizeof head, run->file);
    if (n != sizeof head) {
        free(run->record);
        run->record = NULL;
        return n || ferror(run->file) ? TIDINGS_IO : TIDINGS_OK;
    }
    size_t size = size_of(head);
    if (size > run->room) {
        uint8_t *grown = realloc(run->record, size * 2);
        if (!grown)
            return TIDINGS_NO_MEMORY;
        run->record = grown;
        run->room = size * 2;
    }
    memcpy(run->record, head, sizeof head);
    size -= sizeof head;
    return fread(run->record + 4, 1, size, run->file) == size ? TIDINGS_OK : TIDINGS_IO;
}

static enum tidings_err rewind_run(struct run *run)
{
    if (fflush(run->file))
        return file_error();
    rewind(run->file);
    return read_record(run);
}

/* The run whose record comes first; NULL if all are at their end. There are few. */
static struct run *first_run(struct sorter *sorter)
{
    struct run *first = NULL;
    for (size_t i = 0; i < sorter->n_runs; i++) {
        struct run *run = &sorter->runs[i];
        if (run->record &&
            (!first || memcmp(key_of(run->record), key_of(first->record), SORT_KEY_BYTES) < 0))
            first = run;
    }
    return first;
}

/* All runs become one. */
static enum tidings_err merge(struct sorter *sorter)
{
    FILE *file = make_file(sorter->dir);
    enum tidings_err err = file ? TIDINGS_OK : file_error();
    for (size_t i = 0; i < sorter->n_runs && !err; i++)
        err = rewind_run(&sorter->runs[i]);
    for (struct run *run; !err && (run = first_run(sorter));) {
        if (fwrite(run->record, 1, size_of(run->record), file) != size_of(run->record))
            err = file_error();
        if (!err)
            err = read_record(run);
    }
    close_runs(sorter);
    if (err) {
        if (file)
            fclose(file);
        return err;
    }
    sorter->runs[sorter->n_runs++] = (struct run){.file = file};
    return TIDINGS_OK;
}

static void sort_memory(struct sorter *sorter)
{
    if (sorter->n)
        qsort(sorter->at, sorter->n, sizeof *sorter->at, by_key);
}

/* What is in memory goes into a file. */
static enum tidings_err spill(struct sorter *sorter)
{
    enum tidings_err err = sorter->n_runs == RUNS_MAX ? merge(sorter) : TIDINGS_OK;
    FILE *file = err ? NULL : make_file(sorter->dir);
    if (!err && !file)
        err = file_error();
    sort_memory(sorter);
    for (size_t i = 0; i < sorter->n && !err; i++)
        if (fwrite(sorter->at[i], 1, size_of(sorter->at[i]), file) != size_of(sorter->at[i]))
            err = file_error();
    sorter->n = sorter->used = 0;
    if (file)
        sorter->runs[sorter->n_runs++] = (struct run){.file = file};
    return err;
}

/* ---- Adding and taking ---------------------------------------------------------------------- */

static bool grow(struct sorter *sorter)
{
    if (sorter->n < sorter->room)
        return true;
    size_t room = sorter->room ? sorter->room * 2 : 1024;
    const uint8_t **grown = realloc(sorter->at, room * sizeof *grown);
    if (!grown)
        return false;
    sorter->at = grown;
    sorter->room = room;
    return true;
}

enum tidings_err sorter_add(struct sorter *sorter, const uint8_t key[SORT_KEY_BYTES],
                            struct bytes value)
{
    size_t size = HEAD_BYTES + value.n;
    enum tidings_err err = TIDINGS_OK;
    if (size > sorter->memory)
        return TIDINGS_NO_MEMORY;
    if (size > sorter->memory - sorter->used)
        err = spill(sorter);
    if (err || !grow(sorter))
        return err ? err : TIDINGS_NO_MEMORY;
    uint8_t *record = sorter->bytes + sorter->used;
    put_u32(record, (uint32_t)value.n);
    memcpy(record + 4, key, SORT_KEY_BYTES);
    memcpy(record + HEAD_BYTES, value.p, value.n);
    sorter->at[sorter->n++] = record;
    sorter->used += size;
    return TIDINGS_OK;
}

/* Nothing is added any more: all is in files, or all in memory. */
static enum tidings_err begin_taking(struct sorter *sorter)
{
    enum tidings_err err = TIDINGS_OK;
    sorter->sorted = true;
    if (!sorter->n_runs) {
        sort_memory(sorter);
        return TIDINGS_OK;
    }
    err = spill(sorter);
    for (size_t i = 0; i < sorter->n_runs && !err; i++)
        err = rewind_run(&sorter->runs[i]);
    return err;
}

bool sorter_next(struct sorter *sorter, struct bytes *value, enum tidings_err *err)
{
    const uint8_t *record = NULL;
    *err = sorter->sorted ? TIDINGS_OK : begin_taking(sorter);
    if (!*err && sorter->given)
        *err = read_record(sorter->given);
    sorter->given = NULL;
    if (*err)
        return false;
    if (!sorter->n_runs) {
        record = sorter->next < sorter->n ? sorter->at[sorter->next++] : NULL;
    } else if ((sorter->given = first_run(sorter))) {
        record = sorter->given->record;
    }
    if (!record)
        return false;
    *value = (struct bytes){record + HEAD_BYTES, get_u32(record)};
    return true;
}

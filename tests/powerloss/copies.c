/* SPDX-License-Identifier: MIT */
/*
 * A backup, and a restore from it, are durable when they are said to be done: the power fails right after each, nothing that
 * was not synced has reached the disk, and what is left must open with everything in it. Once with an image that is taken as
 * it is, once with one that is packed, since most of it is free.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "disk.h"
#include "support/script.h"
#include "tidings.h"

enum { FAN = 1, AUTHOR = 2, OTHER = 3, POSTS = 40, GONE = 20, LONG = 50000, COPIES = 2 };

static const char *const copies[COPIES] = {"backup", "restored"};

static _Noreturn void give_up(const char *what, const char *why)
{
    fprintf(stderr, "copies: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void must(const char *what, enum tidings_err err, const char *message)
{
    if (err)
        give_up(what, message ? message : tidings_err_code(err));
}

static struct tidings *open_at(const char *dir)
{
    struct tidings_options options;
    struct tidings *engine;
    const char *message = NULL;
    tidings_options_init(&options);
    options.dir = dir;
    options.settings.map_mb = 64;
    must(dir, tidings_open(&options, &engine, &message), message);
    return engine;
}

static uint64_t badge(struct tidings *engine)
{
    struct tidings_op op = {.kind = TIDINGS_OP_BADGE, .user_id = FAN};
    struct tidings_answer answer;
    tidings_answer_init(&answer);
    must("badge", tidings_run(engine, &op, &answer), NULL);
    uint64_t total = answer.u.badge.total;
    tidings_answer_release(&answer);
    return total;
}

/* Much that is not there any more. */
static void waste(struct tidings *engine)
{
    static char body[LONG];
    memset(body, 'x', sizeof body);
    struct tidings_op publish = {.kind = TIDINGS_OP_PUBLISH,
                                 .user_id = OTHER,
                                 .u.publish = {TIDINGS_NOTE, {"title", 5}, {body, sizeof body}}};
    struct tidings_op delete = {.kind = TIDINGS_OP_DELETE, .user_id = OTHER};
    struct tidings_answer answer;
    tidings_answer_init(&answer);
    for (int i = 0; i < GONE; i++) {
        must("publish", tidings_run(engine, &publish, &answer), NULL);
        delete.u.post.post_id = answer.u.post.id;
        must("delete", tidings_run(engine, &delete, &answer), NULL);
    }
    tidings_answer_release(&answer);
}

static void fill(const char *dir, bool wasteful)
{
    struct tidings *engine = open_at(dir);
    struct tidings_answer answer;
    struct tidings_op follow = {
        .kind = TIDINGS_OP_FOLLOW, .user_id = FAN, .u.relation.user_id = AUTHOR};
    struct tidings_op publish = {.kind = TIDINGS_OP_PUBLISH,
                                 .user_id = AUTHOR,
                                 .u.publish = {TIDINGS_NOTE, {"title", 5}, {"body", 4}}};
    tidings_answer_init(&answer);
    must("follow", tidings_run(engine, &follow, &answer), NULL);
    for (int i = 0; i < POSTS; i++)
        must("publish", tidings_run(engine, &publish, &answer), NULL);
    tidings_answer_release(&answer);
    if (wasteful)
        waste(engine);
    tidings_close(engine);
}

/* In a process of its own, under the shim; a mark says that a copy is done. */
static _Noreturn void make_copies(const char *root, const char *trace)
{
    char data[SCRIPT_PATH], backup[SCRIPT_PATH], restored[SCRIPT_PATH];
    const char *message = NULL;
    script_path(data, "%s/data", root);
    script_path(backup, "%s/backup", root);
    script_path(restored, "%s/restored", root);
    struct tidings_backup to = {.dest = backup};
    struct tidings_restore from = {.from = backup, .dir = restored};
    if (!shim_record(root, trace))
        give_up("the trace", trace);
    must("backup", tidings_backup_dir(data, &to, &message), message);
    shim_mark(0, 0);
    must("restore", tidings_restore(&from, &message), message);
    shim_mark(1, 0);
    _exit(EXIT_SUCCESS);
}

/* What is durable now has to be enough for the copy. */
static void check(const struct disk *disk, const char *dir, const char *copy)
{
    char left[SCRIPT_PATH], path[SCRIPT_PATH];
    struct rng rng;
    rng_seed(&rng, 1);
    script_path(left, "%s/left-%s", dir, copy);
    script_path(path, "%s/%s", left, copy);
    disk_write(disk, DISK_NOTHING, &rng, left);
    struct tidings *engine = open_at(path);
    if (badge(engine) != POSTS)
        give_up(path, "something is missing");
    tidings_close(engine);
}

static bool read_all(FILE *file, void *to, size_t n)
{
    return fread(to, 1, n, file) == n;
}

/* How many copies were done by the trace's end. */
static size_t replay(const char *trace, const char *dir)
{
    struct disk *disk = disk_new(UINT64_MAX);
    FILE *file = fopen(trace, "rb");
    struct trace_record record = {0};
    size_t done = 0;
    if (!file)
        give_up(trace, "cannot be opened");
    for (uint64_t number = 0; read_all(file, &record, sizeof record); number++) {
        char *path = calloc(1, record.path_bytes + 1);
        uint8_t *data = malloc(record.data_bytes + 1);
        if (!path || !data || !read_all(file, path, record.path_bytes) ||
            !read_all(file, data, record.data_bytes))
            give_up(trace, "cannot be read");
        disk_feed(disk, number, &record, path, data);
        if (record.kind == TRACE_MARK && done < COPIES)
            check(disk, dir, copies[done++]);
        free(path);
        free(data);
    }
    fclose(file);
    disk_free(disk);
    return done;
}

static void copy(bool wasteful)
{
    char dir[SCRIPT_PATH], root[SCRIPT_PATH], data[SCRIPT_PATH], trace[SCRIPT_PATH];
    int status;
    script_temporary(dir, "copies");
    script_path(root, "%s/root", dir);
    script_path(data, "%s/data", root);
    script_path(trace, "%s/trace", dir);
    script_make_dir(root);
    fill(data, wasteful);
    pid_t pid = fork();
    if (pid == 0)
        make_copies(root, trace);
    if (waitpid(pid, &status, 0) != pid || status)
        give_up("copying", "failed");
    if (replay(trace, dir) != COPIES)
        give_up("copying", "not all were made");
    script_remove(dir);
}

int main(void)
{
    copy(false);
    copy(true);
    return EXIT_SUCCESS;
}

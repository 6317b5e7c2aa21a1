/* SPDX-License-Identifier: MIT */
#include "local/store_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void data_path(char path[512], const char *name)
{
    char inside[256];
    snprintf(inside, sizeof inside, "data/%s", name);
    harness_path(path, inside);
}

void crash(bool machine)
{
    char path[512], text[512] = "";
    data_path(path, "state");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_true(n > 0);
    /* Closing in order writes the state last: take that back. */
    close_engine();
    file = fopen(path, "w");
    assert_non_null(file);
    char *boot = strstr(text, "boot ");
    assert_non_null(boot);
    if (machine)
        boot[5] = boot[5] == 'x' ? 'y' : 'x';
    fputs(text, file);
    fclose(file);
}

void spoil(const char *name, off_t at)
{
    char path[512];
    uint8_t byte;
    data_path(path, name);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x40;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

size_t find_text(const char *name, const char *text, off_t *at, size_t most)
{
    char path[512];
    struct stat stat;
    size_t n = 0;
    data_path(path, name);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && !fstat(fd, &stat));
    char *bytes = malloc((size_t)stat.st_size);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, (size_t)stat.st_size), stat.st_size);
    close(fd);
    const char *end = bytes + stat.st_size, *found = bytes;
    while (n < most && (found = memmem(found, (size_t)(end - found), text, strlen(text))))
        at[n++] = found++ - bytes;
    free(bytes);
    return n;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

void list(const char *name, struct names *names)
{
    char path[512];
    data_path(path, name);
    names->n = 0;
    DIR *stream = opendir(path);
    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream));)
        if (entry->d_name[0] != '.' && names->n < 64)
            snprintf(names->at[names->n++], 64, "%.63s", entry->d_name);
    closedir(stream);
    qsort(names->at, names->n, 64, by_name);
}

void publish_large(unsigned n)
{
    static char body[LARGE + 1];
    memset(body, 'x', LARGE);
    for (unsigned i = 0; i < n; i++)
        publish(ANN, "large", body);
}

void edit_large(uint64_t post, unsigned variant)
{
    static char body[LARGE + 1];
    memset(body, 'a' + (int)(variant % 26), LARGE);
    must((struct tidings_op){.kind = TIDINGS_OP_EDIT,
                             .user_id = ANN,
                             .u.edit = {.post_id = post, .body = text_of(body)}});
}

void await_bases(uint64_t n)
{
    struct tidings_stats stats;
    for (int tries = 0; tries < 600; tries++) {
        tidings_stats(engine, &stats);
        assert_int_equal(stats.snapshots_failed, 0);
        if (stats.snapshots >= n)
            return;
        usleep(50000);
    }
    fail_msg("no base image in 30 s");
}

void await_first_segment_gone(void)
{
    struct names segments;
    for (int tries = 0; tries < 600; tries++) {
        list("log", &segments);
        if (segments.n && strcmp(segments.at[0], "0000000000000001.log") != 0)
            return;
        usleep(50000);
    }
    fail_msg("the first segment is still there after 30 s");
}

#define MONTH_MS INT64_C(2592000000)

/* A month apart: when one is made, those before are old. */
void make_bases(unsigned n)
{
    options.settings.snapshot_log_mb = 1;
    options.settings.log_segment_mb = 1;
    reopen_engine();
    for (unsigned i = 1; i <= n; i++) {
        atomic_fetch_add(&clock_ms, MONTH_MS);
        uint64_t post = publish(ANN, "edited", "");
        for (unsigned j = 0; j < EDITS; j++)
            edit_large(post, j);
        await_bases(i);
    }
}

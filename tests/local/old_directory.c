/* SPDX-License-Identifier: MIT */
#include "local/old_directory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "engine/local/storage/redo_bytes.h"
#include "local/store_support.h"

enum { SALT = 4711 };

/* ---- The log in its former format ------------------------------------------------------------ */

struct old_log {
    FILE *file;
    bool (*was_written)(const struct change *change);
};

static void write_header(FILE *file, const uint8_t id[REDO_ID_BYTES])
{
    uint8_t bytes[REDO_HEADER_BYTES];
    struct redo_header header = {.salt = SALT, .first = 1};
    memcpy(header.id, id, sizeof header.id);
    redo_header_encode(&header, bytes);
    put_u32(bytes + 8, REDO_FORMAT_OLDEST);
    put_u32(bytes + 40, crc32c(0, bytes, 40));
    assert_int_equal(fwrite(bytes, sizeof bytes, 1, file), 1);
}

static void write_record(FILE *file, const struct redo_record *record, struct bytes changes)
{
    uint8_t head[RECORD_HEAD_BYTES_BEFORE];
    static const uint8_t zeros[RECORD_ALIGN];
    put_u32(head, (uint32_t)changes.n);
    put_u64(head + 8, record->number);
    put_u64(head + 16, record->number - 1);
    put_u64(head + 24, (uint64_t)record->time_ms);
    uint32_t crc = crc32c(SALT, head, 4);
    crc = crc32c(crc, head + 8, sizeof head - 8);
    put_u32(head + 4, crc32c(crc, changes.p, changes.n));
    assert_int_equal(fwrite(head, sizeof head, 1, file), 1);
    assert_int_equal(fwrite(changes.p, changes.n, 1, file), 1);
    size_t used = sizeof head + changes.n;
    fwrite(zeros, 1, record_align(used) - used, file);
}

static bool append(void *ctx, const struct redo_record *record)
{
    struct old_log *log = ctx;
    struct decoder r = decoder_of(record->changes.p, record->changes.n);
    uint8_t *bytes = malloc(record->changes.n);
    struct change change;
    size_t n = 0;
    assert_non_null(bytes);
    while (change_decode(&r, &change)) {
        if (log->was_written && !log->was_written(&change))
            continue;
        uint8_t head[CHANGE_HEAD_MAX];
        size_t head_n = change_encode(&change, head);
        memcpy(bytes + n, head, head_n);
        memcpy(bytes + n + head_n, change.value.p, change.value.n);
        n += head_n + change.value.n;
    }
    assert_true(n > 0);
    write_record(log->file, record, (struct bytes){bytes, n});
    free(bytes);
    return true;
}

static void write_log(const struct old_directory *old, const char *to, const struct state *was)
{
    char from[512], path[700], name[SEGMENT_NAME_BYTES];
    data_path(from, "log");
    segment_name(1, name);
    snprintf(path, sizeof path, "%s/%s", to, name);
    assert_int_equal(dir_make(to), TIDINGS_OK);
    struct old_log log = {fopen(path, "w"), old->was_written};
    assert_non_null(log.file);
    write_header(log.file, was->id);
    struct redo_scan scan = {.dir = from, .id = was->id, .visit = append, .ctx = &log};
    assert_int_equal(redo_scan(&scan), TIDINGS_OK);
    assert_int_equal(fclose(log.file), 0);
}

/* ---- The rest --------------------------------------------------------------------------------- */

static void write_base(const char *dir, const char *log_dir, const struct state *was)
{
    char base_dir[600], path[700], name[BASE_NAME_BYTES], to[800];
    snprintf(base_dir, sizeof base_dir, "%s/snapshots", dir);
    snprintf(path, sizeof path, "%s/base.new", dir);
    assert_int_equal(dir_make(base_dir), TIDINGS_OK);
    struct image_job job = {.log_dir = log_dir,
                            .base_dir = base_dir,
                            .id = was->id,
                            .path = path,
                            .map_bytes = (size_t)1 << 30,
                            .number = was->reaches / 2,
                            .for_good = true};
    assert_int_equal(image_make(&job), TIDINGS_OK);
    base_name(&job.made, name);
    snprintf(to, sizeof to, "%s/%s", base_dir, name);
    assert_int_equal(rename(path, to), 0);
}

static void write_data(const char *dir, const char *log_dir, const struct state *was)
{
    char path[600];
    snprintf(path, sizeof path, "%s/data.mdb", dir);
    struct image_job job = {.log_dir = log_dir,
                            .base_dir = dir,
                            .id = was->id,
                            .path = path,
                            .map_bytes = (size_t)1 << 30,
                            .number = UINT64_MAX,
                            .for_good = true};
    assert_int_equal(image_make(&job), TIDINGS_OK);
}

void old_directory_set_format(const char *dir, int format)
{
    char path[600], text[512];
    snprintf(path, sizeof path, "%s/state", dir);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    rewind(file);
    fprintf(file, "tidings %d%s", format, strchr(text, '\n'));
    fclose(file);
}

int old_directory_format(const char *dir)
{
    struct state found_state;
    bool found;
    assert_int_equal(state_read(dir, &found_state, &found), TIDINGS_OK);
    return (int)found_state.format;
}

void old_directory_make(const struct old_directory *old)
{
    char log_dir[600];
    struct state was;
    bool found;
    close_engine();
    snprintf(log_dir, sizeof log_dir, "%s/log", old->dir);
    assert_int_equal(state_read(harness_dir(), &was, &found), TIDINGS_OK);
    assert_int_equal(dir_make(old->dir), TIDINGS_OK);
    write_log(old, log_dir, &was);
    if (old->base)
        write_base(old->dir, log_dir, &was);
    if (old->trusted)
        write_data(old->dir, log_dir, &was);
    was.is_clean = old->trusted;
    strcpy(was.boot, NO_BOOT);
    assert_int_equal(state_write(old->dir, &was), TIDINGS_OK);
    old_directory_set_format(old->dir, old->format);
}

/* SPDX-License-Identifier: MIT */
/*
 * The file `backup`: every file of a backup with its length and checksum, and the batch that it goes to. A log that was
 * cut off between two records is a shorter log and nothing in it looks wrong, so somebody else has to know its length.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "engine/local/storage/store.h"

enum { LINE_BYTES = 512, NAME_BYTES = 256, SUM_BYTES = sizeof "sum 00000000\n" - 1 };

#define MANIFEST_MAX ((size_t)64 << 20)

static const char manifest_name[] = "backup";
static const char first_line[] = "tidings-backup 1\n";

/* ---- Writing -------------------------------------------------------------------------------- */

void manifest_init(struct manifest *manifest)
{
    buf_init(&manifest->lines, MANIFEST_MAX);
    buf_append(&manifest->lines, first_line, sizeof first_line - 1);
}

void manifest_release(struct manifest *manifest)
{
    buf_release(&manifest->lines);
}

void manifest_add(struct manifest *manifest, const char *name, uint64_t bytes, uint32_t crc)
{
    char line[LINE_BYTES];
    int n = snprintf(line, sizeof line, "file %s %" PRIu64 " %08" PRIx32 "\n", name, bytes, crc);
    buf_append(&manifest->lines, line, (size_t)n);
}

enum tidings_err manifest_write(struct manifest *manifest, const char *dir, uint64_t number,
                                int64_t time_ms)
{
    struct buf *lines = &manifest->lines;
    char line[LINE_BYTES];
    int n = snprintf(line, sizeof line, "batch %" PRIu64 " %" PRId64 "\n", number, time_ms);
    buf_append(lines, line, (size_t)n);
    n = snprintf(line, sizeof line, "sum %08" PRIx32 "\n", crc32c(0, lines->data, lines->len));
    buf_append(lines, line, (size_t)n);
    if (lines->failed)
        return TIDINGS_NO_MEMORY;
    return file_replace(dir, manifest_name, lines->data, lines->len);
}

enum tidings_err manifest_remove(const char *dir)
{
    char path[PATH_BYTES];
    if (!path_join(path, dir, manifest_name))
        return TIDINGS_IO;
    if (unlink(path))
        return errno == ENOENT ? TIDINGS_OK : file_error();
    return dir_sync(dir);
}

/* ---- Checking ------------------------------------------------------------------------------- */

struct entry {
    char name[NAME_BYTES];
    uint64_t bytes;
    uint32_t crc;
};

/* Whether the text is one: its last line is the checksum of all before. */
static bool is_whole(const char *text, size_t n)
{
    char line[SUM_BYTES + 1];
    if (n < sizeof first_line - 1 + SUM_BYTES ||
        memcmp(text, first_line, sizeof first_line - 1) != 0)
        return false;
    snprintf(line, sizeof line, "sum %08" PRIx32 "\n", crc32c(0, text, n - SUM_BYTES));
    return !memcmp(text + n - SUM_BYTES, line, SUM_BYTES);
}

/* The next file; false behind the last. No path leads out of the backup. */
static bool next_file(const char **at, struct entry *entry)
{
    static const char word[] = "file ";
    if (strncmp(*at, word, sizeof word - 1) != 0)
        return false;
    const char *name = *at + sizeof word - 1;
    size_t n = strcspn(name, " \n");
    char *end;
    if (n >= NAME_BYTES || *name == '/')
        return false;
    memcpy(entry->name, name, n);
    entry->name[n] = '\0';
    entry->bytes = strtoull(name + n, &end, 10);
    entry->crc = (uint32_t)strtoul(end, &end, 16);
    *at = end + (*end == '\n');
    return *end == '\n' && !strstr(entry->name, "..");
}

static uint64_t bytes_of_all(const char *at)
{
    struct entry entry;
    uint64_t sum = 0;
    while (next_file(&at, &entry))
        sum += entry.bytes;
    return sum;
}

static enum tidings_err check_file(const char *dir, const struct entry *entry,
                                   struct progress *progress, char complaint[COMPLAINT_BYTES])
{
    char path[PATH_BYTES];
    struct stat stat;
    uint32_t crc = 0;
    bool there = path_join(path, dir, entry->name) && !lstat(path, &stat);
    uint64_t bytes = there ? (uint64_t)stat.st_size : 0;
    enum tidings_err err =
        there && bytes == entry->bytes ? file_checksum(path, &crc, progress) : TIDINGS_OK;
    progress->before += entry->bytes;
    if (!there)
        snprintf(complaint, COMPLAINT_BYTES, "the backup lacks %.200s", entry->name);
    else if (bytes != entry->bytes)
        snprintf(complaint, COMPLAINT_BYTES,
                 "%.160s of the backup has %" PRIu64 " bytes instead of %" PRIu64, entry->name,
                 bytes, entry->bytes);
    else if (err)
        snprintf(complaint, COMPLAINT_BYTES, "%.200s of the backup cannot be read", entry->name);
    else if (crc != entry->crc)
        snprintf(complaint, COMPLAINT_BYTES, "%.200s of the backup is damaged", entry->name);
    else
        return TIDINGS_OK;
    return err ? err : TIDINGS_CORRUPT;
}

static enum tidings_err check_files(const char *dir, const char *at, struct tidings_progress to,
                                    char complaint[COMPLAINT_BYTES])
{
    struct progress progress = {.to = to, .what = "checking the backup", .total = bytes_of_all(at)};
    enum tidings_err err = TIDINGS_OK;
    struct entry entry;
    while (!err && next_file(&at, &entry))
        err = check_file(dir, &entry, &progress, complaint);
    if (!err)
        progress_end(&progress);
    return err;
}

enum tidings_err manifest_check(const char *dir, struct tidings_progress progress,
                                char complaint[COMPLAINT_BYTES])
{
    char path[PATH_BYTES];
    uint8_t *bytes;
    size_t n;
    snprintf(complaint, COMPLAINT_BYTES, "the file `backup` cannot be read");
    if (!path_join(path, dir, manifest_name))
        return TIDINGS_IO;
    enum tidings_err err = file_read(path, MANIFEST_MAX, &bytes, &n);
    if (err && errno != ENOENT)
        return err;
    complaint[0] = '\0';
    if (err)
        return TIDINGS_OK;
    bytes[n] = '\0';
    const char *text = (const char *)bytes;
    if (is_whole(text, n)) {
        err = check_files(dir, text + sizeof first_line - 1, progress, complaint);
    } else {
        snprintf(complaint, COMPLAINT_BYTES, "the file `backup` is damaged");
        err = TIDINGS_CORRUPT;
    }
    free(bytes);
    return err;
}

/* SPDX-License-Identifier: MIT */
/*
 * A directory that becomes a replica of another: the base image and the id of the server that is followed. And a directory
 * that has been replaced by one: the file `replaced` says so, or those who followed it do.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "engine/local/local.h"

enum { TRIES = 600, TRY_AGAIN_US = 200000, FILE_MAX = 1 << 16, SEAL_KEY_MAX = 64 };

struct joining {
    const char *dir;
    struct wire *wire;
    struct buf message;
    uint8_t id[REDO_ID_BYTES];
    uint64_t era, size;
    char name[BASE_NAME_BYTES]; /* of the base image; "": none */
    struct base base;
    char seal_key[SEAL_KEY_MAX];
    size_t seal_key_n;
    struct progress progress;
};

static enum tidings_err lost(const char **message)
{
    return store_fail(TIDINGS_UNREACHABLE, message,
                      "the connection was lost while the directory was being filled", false);
}

/* ---- The image ------------------------------------------------------------------------------ */

static bool read_image(struct joining *joining)
{
    struct decoder r = decoder_of(joining->message.data, joining->message.len);
    const uint8_t *id = read_bytes(&r, REDO_ID_BYTES);
    if (!id)
        return false;
    memcpy(joining->id, id, REDO_ID_BYTES);
    joining->era = read_u64(&r);
    peer_read_text(&r, joining->name, sizeof joining->name);
    joining->size = read_u64(&r);
    joining->seal_key_n = read_varint(&r);
    const uint8_t *key = read_bytes(&r, joining->seal_key_n);
    if (r.bad || joining->seal_key_n > SEAL_KEY_MAX)
        return false;
    memcpy(joining->seal_key, key, joining->seal_key_n);
    return !joining->name[0] || base_parse(joining->name, &joining->base);
}

static enum tidings_err write_pieces(struct joining *joining, int fd, uint32_t *crc)
{
    uint64_t done = 0;
    while (done < joining->size) {
        uint8_t type;
        enum wire_result result =
            wire_receive(joining->wire, PEER_SILENCE_MS, &type, &joining->message);
        if (result || type != PEER_PIECE || !joining->message.len ||
            joining->message.len > joining->size - done)
            return TIDINGS_UNREACHABLE;
        enum tidings_err err = file_write(fd, joining->message.data, joining->message.len, done);
        if (err)
            return err;
        *crc = crc32c(*crc, joining->message.data, joining->message.len);
        done += joining->message.len;
        progress_tell(&joining->progress, done);
    }
    progress_end(&joining->progress);
    return fsync(fd) ? file_error() : TIDINGS_OK;
}

static enum tidings_err fetch_base(struct joining *joining, const char *base_dir,
                                   const char **message)
{
    char path[PATH_BYTES];
    uint32_t crc = 0;
    if (!path_join(path, base_dir, joining->name))
        return store_fail(TIDINGS_INVALID, message, "the path of the data directory is too long",
                          false);
    joining->progress.total = joining->size;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return store_fail(file_error(), message, "the base image cannot be written", true);
    enum tidings_err err = write_pieces(joining, fd, &crc);
    close(fd);
    if (err == TIDINGS_UNREACHABLE)
        return lost(message);
    if (err)
        return store_fail(err, message, "the base image cannot be written", true);
    if (crc != joining->base.crc)
        return store_fail(TIDINGS_CORRUPT, message, "the base image did not arrive as it is",
                          false);
    return TIDINGS_OK;
}

enum tidings_err join_make_rooms(const char *dir, char base_dir[PATH_BYTES], const char **message)
{
    char log_dir[PATH_BYTES];
    if (!path_join(log_dir, dir, "log") || !path_join(base_dir, dir, "snapshots"))
        return store_fail(TIDINGS_INVALID, message, "the path of the data directory is too long",
                          false);
    if (dir_make(dir) || dir_make(log_dir) || dir_make(base_dir))
        return store_fail(file_error(), message, "the data directory cannot be filled", true);
    return TIDINGS_OK;
}

enum tidings_err join_end(const char *dir, const char *base_dir, const uint8_t id[REDO_ID_BYTES],
                          uint64_t reaches, const char **message)
{
    struct state state = {.boot = NO_BOOT, .reaches = reaches};
    memcpy(state.id, id, sizeof state.id);
    if (dir_sync(base_dir) || state_write(dir, &state))
        return store_fail(file_error(), message, "the data directory cannot be filled", true);
    return TIDINGS_OK;
}

static enum tidings_err fill(struct joining *joining, const char **message)
{
    char base_dir[PATH_BYTES];
    enum tidings_err err = join_make_rooms(joining->dir, base_dir, message);
    if (!err && joining->name[0])
        err = fetch_base(joining, base_dir, message);
    if (!err && joining->seal_key_n &&
        file_replace(joining->dir, STORE_SEAL_KEY, joining->seal_key, joining->seal_key_n))
        err = store_fail(file_error(), message, "the data directory cannot be filled", true);
    return err ? err : join_end(joining->dir, base_dir, joining->id, joining->base.number, message);
}

enum tidings_err join_from_peer(struct wire_context *context, const char *address, uint64_t least,
                                const char *dir, struct tidings_progress progress, bool *again,
                                const char **message)
{
    struct joining joining = {.dir = dir,
                              .progress = {.to = progress, .what = "fetching the base image"}};
    uint8_t type, question[8];
    put_u64(question, least);
    buf_init(&joining.message, PEER_PIECE_BYTES);
    enum tidings_err err =
        peer_ask(context, address, PEER_JOIN, (struct bytes){question, sizeof question},
                 &joining.wire, &type, &joining.message, again, message);
    if (!err) {
        *again = false;
        err =
            type == PEER_IMAGE && read_image(&joining)
                ? fill(&joining, message)
                : store_fail(TIDINGS_INVALID, message, "the server there speaks otherwise", false);
    }
    wire_free(joining.wire);
    buf_release(&joining.message);
    return err;
}

enum tidings_err join_directory(const struct tidings_options *options, struct wire_context *context,
                                const char **message)
{
    struct state state;
    bool found, again = true;
    int lock = -1;
    enum tidings_err err = state_read(options->dir, &state, &found);
    if (err || found)
        return TIDINGS_OK; /* opening it says what is wrong with it */
    err = store_lock(options->dir, &lock, message);
    for (int i = 0; i < TRIES && again && lock >= 0; i++) {
        err = join_from_peer(context, options->follow, 0, options->dir, options->progress, &again,
                             message);
        if (again)
            usleep(TRY_AGAIN_US);
    }
    store_unlock(&lock);
    return err;
}

/* ---- Replaced --------------------------------------------------------------------------------- */

enum tidings_err join_note_replaced(const char *dir, uint64_t era, const char *by)
{
    char text[PEER_ADDRESS_BYTES + 64];
    int n = snprintf(text, sizeof text, "era %" PRIu64 "\nby %.200s\n", era, by);
    return file_replace(dir, "replaced", text, (size_t)n);
}

void join_forget_replaced(const char *dir)
{
    char path[PATH_BYTES];
    if (path_join(path, dir, "replaced") && !unlink(path))
        dir_sync(dir);
}

/* The file as a text, from malloc; NULL if there is none. */
static char *read_text(const char *dir, const char *name)
{
    char path[PATH_BYTES];
    uint8_t *bytes;
    size_t n;
    if (!path_join(path, dir, name) || file_read(path, FILE_MAX, &bytes, &n))
        return NULL;
    bytes[n] = '\0'; /* file_read has room for it */
    return (char *)bytes;
}

void join_note_follower(const char *dir, const char *address)
{
    char *before = read_text(dir, "followers");
    char line[PEER_ADDRESS_BYTES + 2];
    int n = snprintf(line, sizeof line, "%.200s\n", address);
    bool known = before && (strstr(before, line) != NULL);
    size_t length = before ? strlen(before) : 0;
    char *text =
        !known && address[0] && length + (size_t)n < FILE_MAX ? malloc(length + (size_t)n) : NULL;
    if (text) {
        if (before)
            memcpy(text, before, length);
        memcpy(text + length, line, (size_t)n);
        file_replace(dir, "followers", text, length + (size_t)n);
    }
    free(text);
    free(before);
}

static enum tidings_err say_replaced(const char *by, const char **message)
{
    char text[2 * PEER_ADDRESS_BYTES];
    snprintf(
        text, sizeof text,
        "this directory was replaced by the one of %.100s: --follow tidings://%.100s joins that, "
        "--take-back goes on with this one",
        by, by);
    return store_fail(TIDINGS_INVALID, message, text, false);
}

/* Whether one who followed has another era by now. Whoever does not answer says nothing. */
static bool was_promoted(struct wire_context *context, const char *address, uint64_t era)
{
    struct peer_end end = {0};
    struct wire *wire = NULL;
    const char *ignored;
    struct buf message;
    uint8_t type;
    bool again;
    buf_init(&message, PEER_PIECE_BYTES);
    bool newer = !peer_ask(context, address, PEER_LOOK, (struct bytes){NULL, 0}, &wire, &type,
                           &message, &again, &ignored) &&
                 type == PEER_END &&
                 peer_read_end((struct bytes){(const uint8_t *)message.data, message.len}, &end) &&
                 end.era > era;
    wire_free(wire);
    buf_release(&message);
    return newer;
}

enum tidings_err join_check_replaced(const struct tidings_options *options,
                                     struct wire_context *context, uint64_t era,
                                     const char **message)
{
    char *replaced = read_text(options->dir, "replaced"),
         *by = replaced ? strstr(replaced, "\nby ") : NULL;
    enum tidings_err err = TIDINGS_OK;
    if (replaced) {
        if (by)
            by[strcspn(by + 4, "\n") + 4] = '\0';
        err = say_replaced(by ? by + 4 : "another server", message);
    }
    free(replaced);
    char *followers = err || !context ? NULL : read_text(options->dir, "followers"), *rest = NULL;
    for (char *at = followers ? strtok_r(followers, "\n", &rest) : NULL; at && !err;
         at = strtok_r(NULL, "\n", &rest))
        if (was_promoted(context, at, era)) {
            join_note_replaced(options->dir, era, at);
            err = say_replaced(at, message);
        }
    free(followers);
    return err;
}

/* SPDX-License-Identifier: MIT */
/* The file `state`: a few lines that say what the data directory is and how it was left. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/local/store.h"

enum { STATE_BYTES = 512 };

static bool get_hex(const char *text, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        if (!isxdigit((unsigned char)text[2 * i]) || !isxdigit((unsigned char)text[2 * i + 1]) ||
            sscanf(text + 2 * i, "%2x", &byte) != 1)
            return false;
        bytes[i] = (uint8_t)byte;
    }
    return text[2 * n] == '\0';
}

static enum tidings_err parse(const char *text, struct state *state)
{
    char id[2 * REDO_ID_BYTES + 1], clean[32];
    unsigned format;
    if (sscanf(text, "tidings %u\n", &format) != 1)
        return TIDINGS_CORRUPT;
    if (format != STORE_FORMAT)
        return TIDINGS_VERSION;
    if (sscanf(text, "tidings %*u\nid %32s\nboot %63s\nclean %31s\n", id, state->boot, clean) !=
            3 ||
        !get_hex(id, state->id, REDO_ID_BYTES))
        return TIDINGS_CORRUPT;
    state->is_clean = strcmp(clean, "no") != 0;
    state->number = strtoull(clean, NULL, 10);
    return TIDINGS_OK;
}

enum tidings_err state_read(const char *dir, struct state *state, bool *found)
{
    char path[PATH_BYTES];
    uint8_t *bytes;
    size_t n;
    if (!path_join(path, dir, "state"))
        return TIDINGS_IO;
    enum tidings_err err = file_read(path, STATE_BYTES, &bytes, &n);
    *found = !err || errno != ENOENT;
    if (err)
        return *found ? err : TIDINGS_OK;
    bytes[n] = '\0';
    err = parse((const char *)bytes, state);
    free(bytes);
    return err;
}

enum tidings_err state_write(const char *dir, const struct state *state)
{
    char text[STATE_BYTES];
    int n = snprintf(text, sizeof text, "tidings %d\nid ", STORE_FORMAT);
    for (size_t i = 0; i < REDO_ID_BYTES; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%02x", state->id[i]);
    n += snprintf(text + n, sizeof text - (size_t)n, "\nboot %s\nclean ", state->boot);
    if (state->is_clean)
        n += snprintf(text + n, sizeof text - (size_t)n, "%" PRIu64 "\n", state->number);
    else
        n += snprintf(text + n, sizeof text - (size_t)n, "no\n");
    return file_replace(dir, "state", text, (size_t)n);
}

void state_boot(char boot[BOOT_BYTES])
{
    ssize_t n = -1;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, boot, BOOT_BYTES - 1);
        close(fd);
    }
    boot[n > 0 ? n : 0] = '\0';
    boot[strcspn(boot, "\n ")] = '\0';
    if (!boot[0])
        strcpy(boot, NO_BOOT);
}

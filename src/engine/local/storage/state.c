/* SPDX-License-Identifier: MIT */
/* The file `state`: a few lines that say what the data directory is and how it was left. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/local/storage/store.h"

enum { STATE_BYTES = 512 };

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static bool get_hex(const char *text, uint8_t *bytes, size_t n)
{
    if (strlen(text) != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool get_number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return isdigit((unsigned char)*text) && !*end && !errno;
}

/* The value of a line "name value", which ends with a NUL from now on; NULL if it is not one. */
static char *take_line(char **text, const char *name)
{
    size_t n = strlen(name);
    char *value = *text + n + 1, *end = strchr(*text, '\n');
    if (!end || strncmp(*text, name, n) || (*text)[n] != ' ')
        return NULL;
    *end = '\0';
    *text = end + 1;
    return value;
}

static enum tidings_err parse(char *text, struct state *state)
{
    char *value = take_line(&text, "tidings");
    if (!value || !get_number(value, &state->format))
        return TIDINGS_CORRUPT;
    if (state->format < STORE_FORMAT_OLDEST || state->format > STORE_FORMAT)
        return TIDINGS_VERSION;
    const char *id = take_line(&text, "id");
    const char *boot = id ? take_line(&text, "boot") : NULL;
    const char *clean = boot ? take_line(&text, "clean") : NULL;
    if (!clean || !get_hex(id, state->id, REDO_ID_BYTES) || strlen(boot) >= BOOT_BYTES)
        return TIDINGS_CORRUPT;
    memcpy(state->boot, boot, strlen(boot) + 1);
    state->is_clean = strcmp(clean, "no") != 0;
    state->number = 0;
    if (state->is_clean && !get_number(clean, &state->number))
        return TIDINGS_CORRUPT;
    /* Without this line, as it was once written, a proper end says the same. */
    const char *log = take_line(&text, "log");
    state->reaches = state->number;
    return !log || get_number(log, &state->reaches) ? TIDINGS_OK : TIDINGS_CORRUPT;
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
    err = parse((char *)bytes, state);
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
    n += snprintf(text + n, sizeof text - (size_t)n, "log %" PRIu64 "\n", state->reaches);
    return file_replace(dir, "state", text, (size_t)n);
}

/* SPDX-License-Identifier: MIT */
#include "cli/where.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- The password --------------------------------------------------------------------------- */

enum { VARIABLE_MAX = 64 };

static int wrong(int code, const char *name, const char *what)
{
    fprintf(stderr, "tidings: %s: %s\n", name, what);
    return code;
}

/* The first line, without its end. */
static int read_file(const char *variable, const char *path, struct password *password)
{
    char line[PASSWORD_MAX + 3]; /* a line's end and a NUL */
    FILE *file = fopen(path, "re");
    if (!file)
        return wrong(EXIT_BROKEN, variable, strerror(errno));
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    size_t n = read ? strcspn(line, "\r\n") : 0;
    int code = OPTIONS_READ;
    if (!n || n > PASSWORD_MAX)
        code = wrong(EXIT_BROKEN, variable, "its first line must have 1 to 1024 bytes");
    else
        memcpy(password->text, line, n);
    explicit_bzero(line, sizeof line);
    password->given = code == OPTIONS_READ;
    return code;
}

int password_read(const char *variable, struct password *password)
{
    char of_file[VARIABLE_MAX], what[128];
    snprintf(of_file, sizeof of_file, "%s_FILE", variable);
    snprintf(what, sizeof what, "it is set, and %s is, too", of_file);
    const char *text = getenv(variable), *path = getenv(of_file);
    *password = (struct password){.given = text != NULL};
    if (text && path)
        return wrong(EXIT_USAGE, variable, what);
    if (path)
        return read_file(of_file, path, password);
    if (text && strlen(text) > PASSWORD_MAX)
        return wrong(EXIT_USAGE, variable, "it must have at most 1024 bytes");
    if (text)
        memcpy(password->text, text, strlen(text));
    return OPTIONS_READ;
}

int where_failed(const struct tidings_options *options, enum tidings_err err, const char *message)
{
    fprintf(stderr, "tidings: %s: %s\n", options->dir, message);
    return err == TIDINGS_INVALID ? EXIT_USAGE : EXIT_BROKEN;
}

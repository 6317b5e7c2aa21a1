/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"

/* Rows, and bytes where a data file is made. The rows looked at are told again at the end; what was copied is not, so
 * that line stays. */
static void tell_rows(void *ctx, const char *part, uint64_t done, uint64_t total)
{
    (void)ctx;
    if (done == total)
        fprintf(stderr, "\r%-60s\r", "");
    else
        fprintf(stderr, "\r%-24s %" PRIu64 " of %" PRIu64, part, done, total);
    fflush(stderr);
}

static void tell_bytes(void *ctx, const char *part, uint64_t done, uint64_t total)
{
    enum { MIB = 1 << 20 };
    (void)ctx;
    fprintf(stderr, "\r%s: %" PRIu64 " of %" PRIu64 " MiB%s", part, done / MIB, total / MIB,
            done == total ? "\n" : "");
    fflush(stderr);
}

static struct tidings_progress if_seen(void (*tell)(void *, const char *, uint64_t, uint64_t))
{
    return (struct tidings_progress){.tell = isatty(STDERR_FILENO) ? tell : NULL};
}

struct tidings_progress progress_in_rows(void)
{
    return if_seen(tell_rows);
}

struct tidings_progress progress_in_bytes(void)
{
    return if_seen(tell_bytes);
}

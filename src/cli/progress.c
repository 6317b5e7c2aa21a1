/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/wait.h"
#include "cli/cli.h"

/* As if it went on as it did so far; 0: nobody knows yet. */
static int64_t seconds_left(uint64_t done, uint64_t total)
{
    static int64_t began_ms;
    if (!began_ms || !done)
        began_ms = wait_now_ms();
    double took_ms = (double)(wait_now_ms() - began_ms);
    return done ? (int64_t)(took_ms / (double)done * (double)(total - done) / 1000) : 0;
}

/* Rows, and bytes where a data file is made. The rows looked at are told again at the end; what was copied is not, so
 * that line stays. */
static void tell_rows(void *ctx, const char *part, uint64_t done, uint64_t total)
{
    int64_t left = seconds_left(done, total);
    (void)ctx;
    if (done == total)
        fprintf(stderr, "\r%-80s\r", "");
    else if (left)
        fprintf(stderr, "\r%-24s %" PRIu64 " of %" PRIu64 ", about %" PRId64 ":%02d left  ", part,
                done, total, left / 60, (int)(left % 60));
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

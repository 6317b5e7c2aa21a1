/* SPDX-License-Identifier: MIT */
/* How the bridge is doing, once a second, in a file as node_exporter's textfile collector reads them; replaced whole. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/wait.h"
#include "legacy/bridge_internal.h"

enum { EVERY_MS = 1000, PATH_ROOM = 4096 };

static void print(FILE *to, const char *name, const char *type, const char *help, double value)
{
    fprintf(to,
            "# HELP tidings_bridge_%s %s\n# TYPE tidings_bridge_%s %s\ntidings_bridge_%s %.15g\n",
            name, help, name, type, name, value);
}

static void print_all(FILE *to, const struct bridge *bridge)
{
    const struct bridge_counts *counts = &bridge->counts;
    print(to, "up", "gauge",
          "1: it keeps the keys; 0: it waits for a lease, or for a part that is away.",
          bridge->holds && !*bridge->trouble);
    print(to, "lag_seconds", "gauge", "Age of the oldest event that is not in the keys yet.",
          (double)counts->lag_ms / 1000);
    print(to, "position", "gauge", "The event up to which all are in the keys.",
          (double)bridge->state.position);
    print(to, "filling", "gauge", "1: everybody's keys are being filled, or will be soon.",
          bridge->state.phase != PHASE_DONE || bridge->old->replaced);
    print(to, "written_seconds", "gauge", "When this was written, since 1970.", (double)time(NULL));
    print(to, "events_total", "counter", "Events gone through.", (double)counts->events);
    print(to, "fans_total", "counter", "Fans whom posts were pushed to.", (double)counts->pushed);
    print(to, "fans_of_deleted_total", "counter", "Fans whom deletions were told.",
          (double)counts->taken);
    print(to, "touched_total", "counter", "Changes of a user's keys.", (double)counts->marked);
    print(to, "repeated_total", "counter", "Changes that had been made before.",
          (double)counts->repeated);
    print(to, "fills_total", "counter", "Users whose keys were filled.", (double)counts->fills);
}

void metrics_write(struct bridge *bridge)
{
    const char *path = bridge->options->metrics;
    char next[PATH_ROOM];
    int64_t now = wait_now_ms();
    if (!path || (bridge->told_ms && now - bridge->told_ms < EVERY_MS))
        return;
    bridge->told_ms = now;
    snprintf(next, sizeof next, "%s.next", path);
    FILE *to = fopen(next, "we");
    if (to)
        print_all(to, bridge);
    bool fails = !to || fclose(to) || rename(next, path);
    if (fails && !bridge->unwritten)
        say(bridge, "%s: %s", path, strerror(errno));
    bridge->unwritten = fails;
}

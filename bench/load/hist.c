/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

double cpu_seconds(int pid)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file)
        fclose(file);
    line[n] = 0;
    /* The name may hold anything; behind it come the state and ten numbers before the times. */
    char *at = strrchr(line, ')');
    for (int i = 0; at && i < 12; i++)
        at = strchr(at + 1, ' ');
    if (!at)
        return 0;
    char *next;
    double ticks = (double)strtoull(at, &next, 10);
    ticks += (double)strtoull(next, NULL, 10);
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

/* Values below 128 are exact; above, the seven highest bits say which bucket. */
static size_t bucket_of(uint64_t ns)
{
    unsigned bits = ns < 128 ? 7 : 64 - (unsigned)__builtin_clzll(ns);
    unsigned shift = bits - 7;
    size_t bucket = shift * 64 + (size_t)(ns >> shift);
    return bucket < HIST_BUCKETS ? bucket : HIST_BUCKETS - 1;
}

static uint64_t highest_in(size_t bucket)
{
    if (bucket < 128)
        return bucket;
    size_t shift = bucket / 64 - 1;
    return ((uint64_t)(bucket - shift * 64 + 1) << shift) - 1;
}

void hist_add(struct hist *hist, uint64_t ns)
{
    hist->n++;
    hist->sum += ns;
    hist->max = ns > hist->max ? ns : hist->max;
    hist->counts[bucket_of(ns)]++;
}

uint64_t hist_at(const struct hist *hist, double share)
{
    uint64_t wanted = (uint64_t)(share * (double)hist->n), seen = 0;
    for (size_t i = 0; i < HIST_BUCKETS; i++) {
        seen += hist->counts[i];
        if (seen > wanted || (seen == hist->n && seen))
            return highest_in(i) < hist->max ? highest_in(i) : hist->max;
    }
    return 0;
}

void hist_print(const char *name, const struct hist *hist)
{
    static const struct {
        const char *name;
        double share;
    } points[] = {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}};
    printf("\"%s\":{\"n\":%" PRIu64 ",\"mean\":%.1f", name, hist->n,
           hist->n ? (double)hist->sum / (double)hist->n / 1e3 : 0);
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        printf(",\"%s\":%.1f", points[i].name, (double)hist_at(hist, points[i].share) / 1e3);
    printf(",\"max\":%.1f}", (double)hist->max / 1e3);
}

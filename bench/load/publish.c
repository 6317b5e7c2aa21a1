/* SPDX-License-Identifier: MIT */
/*
 * From the moment somebody publishes until the last fan's badge has moved. Tidings: one request to the first
 * server, then the badge of the last one. Redis: the script over all fans in parts, all of them sent before the first
 * answer is read, since that is the fastest it can be told. Redis Cluster: a script a fan, a thousand fans at a time,
 * to all masters at once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "load.h"

enum { PART = 1000, IN_MAX = 1 << 24 };

/* Before each post another part of this is waited: servers look for news at a beat, and what is published as soon as the last
 * post was seen is always just behind it. */
enum { APART_MS = 50, APART_STEP_MS = 17 };

/* What is not seen by then is lost. */
static const uint64_t PATIENCE_NS = UINT64_C(60000000000);

struct publisher {
    const struct target *target;
    int fds[PORTS_MAX];
    struct buf in;
    struct parts parts;
    uint64_t author, fans, last_fan, post;
};

static bool read_replies(struct publisher *p, int fd, uint64_t n, struct reply *reply)
{
    size_t used = 0;
    buf_clear(&p->in);
    while (n) {
        ssize_t whole = p->target->protocol->parse(p->in.data + used, p->in.len - used, reply);
        if (whole < 0 || (whole > 0 && reply->status != 200))
            return false;
        used += (size_t)whole;
        n -= whole > 0;
        char *to = whole == 0 ? buf_reserve(&p->in, 65536) : NULL;
        if (whole > 0)
            continue;
        ssize_t got = to ? read(fd, to, 65536) : -1;
        if (got <= 0)
            return false;
        p->in.len += (size_t)got;
    }
    return true;
}

/* What stands in the parts, to whom it is for; the last reply. */
static bool exchange(struct publisher *p, struct reply *reply)
{
    bool ok = true;
    for (unsigned i = 0; ok && i < p->target->n_ports; i++)
        ok =
            !p->parts.to[i].failed && write_all(p->fds[i], p->parts.to[i].data, p->parts.to[i].len);
    for (unsigned i = 0; ok && i < p->target->n_ports; i++)
        ok = !p->parts.replies[i] || read_replies(p, p->fds[i], p->parts.replies[i], reply);
    return ok;
}

/* All stages of a step whose protocol is split. */
static bool ask_all(struct publisher *p, struct step step, struct reply *reply)
{
    const struct protocol *protocol = p->target->protocol;
    parts_clear(&p->parts);
    bool ok = protocol->build_parts(p->target, &step, &p->parts) && exchange(p, reply);
    for (bool more = true; ok && more; step.stage++) {
        parts_clear(&p->parts);
        more = protocol->more(p->target, &step, reply, &p->parts);
        ok = !more || exchange(p, reply);
    }
    return ok;
}

static bool badge(struct publisher *p, uint64_t *total)
{
    struct reply reply;
    struct step step = {.verb = VERB_BADGE, .user = p->last_fan};
    int fd = p->fds[p->target->n_ports - 1];
    bool ok = p->target->protocol->is_split ? ask_all(p, step, &reply)
                                            : target_ask(p->target, fd, &step, &p->in, &reply);
    if (!ok || reply.status != 200)
        return false;
    *total = p->target->protocol->number(&reply);
    return true;
}

static bool publish_at_once(struct publisher *p)
{
    struct reply reply;
    struct step step = {.verb = VERB_PUBLISH, .user = p->author, .serial = p->post};
    return target_ask(p->target, p->fds[0], &step, &p->in, &reply) && reply.status == 201;
}

/* The n-th part of the fans. */
static struct step part_of(const struct publisher *p, uint64_t n)
{
    return (struct step){.verb = VERB_PUBLISH,
                         .user = p->author,
                         .author = p->author,
                         .post = p->post,
                         .fan_from = n * PART,
                         .fan_to = (n + 1) * PART - 1};
}

static bool publish_in_parts(struct publisher *p)
{
    struct reply reply;
    uint64_t parts = (p->fans + PART - 1) / PART;
    bool ok = true;
    parts_clear(&p->parts);
    p->parts.replies[0] = (unsigned)parts;
    for (uint64_t i = 0; ok && i < parts; i++) {
        struct step step = part_of(p, i);
        if (p->target->protocol->is_split)
            ok = ask_all(p, step, &reply);
        else
            p->target->protocol->build(p->target, &step, &p->parts.to[0]);
    }
    return ok && (p->target->protocol->is_split || exchange(p, &reply));
}

struct times {
    uint64_t answer_ns, seen_ns;
};

static bool publish_once(struct publisher *p, struct times *times)
{
    uint64_t before, after = 0, from;
    bool at_once = p->target->protocol == &protocol_http;
    if (!badge(p, &before))
        return false;
    from = now_ns();
    bool ok = at_once ? publish_at_once(p) : publish_in_parts(p);
    times->answer_ns = now_ns() - from;
    while (ok && after <= before && now_ns() - from < PATIENCE_NS)
        ok = badge(p, &after);
    times->seen_ns = now_ns() - from;
    if (ok && after <= before)
        fprintf(stderr, "tidings-load: the last fan's badge has not moved in 60 s\n");
    return ok && after > before;
}

static void print_times(const char *name, const struct times *times, unsigned n, bool seen)
{
    printf("\"%s\":[", name);
    for (unsigned i = 0; i < n; i++)
        printf("%s%.1f", i ? "," : "",
               (double)(seen ? times[i].seen_ns : times[i].answer_ns) / 1e3);
    printf("]");
}

static bool connect_all(struct publisher *p)
{
    bool ok = true;
    for (unsigned i = 0; i < p->target->n_ports; i++) {
        p->fds[i] = target_connect(p->target, i);
        ok = ok && p->fds[i] >= 0;
    }
    return ok;
}

bool run_publish(const struct target *target, uint64_t author, uint64_t fans, uint64_t last_fan,
                 unsigned times)
{
    struct publisher p = {.target = target,
                          .author = author,
                          .fans = fans,
                          .last_fan = last_fan,
                          .post = 910000000000000 + now_ns() % 1000000000000};
    struct times *taken = calloc(times, sizeof *taken);
    bool ok = taken && connect_all(&p);
    buf_init(&p.in, IN_MAX);
    parts_init(&p.parts);
    for (unsigned i = 0; ok && i < times; i++) {
        p.post++;
        usleep(1000 * (i * APART_STEP_MS % APART_MS));
        ok = publish_once(&p, &taken[i]);
    }
    printf("{\"protocol\":\"%s\",\"fans\":%" PRIu64 ",", target->protocol->name, fans);
    print_times("us", taken, ok ? times : 0, true);
    printf(",");
    print_times("answer_us", taken, ok ? times : 0, false);
    printf("}\n");
    buf_release(&p.in);
    parts_release(&p.parts);
    for (unsigned i = 0; i < target->n_ports; i++)
        if (p.fds[i] >= 0)
            close(p.fds[i]);
    free(taken);
    return ok;
}

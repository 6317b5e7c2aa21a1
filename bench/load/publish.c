/* SPDX-License-Identifier: MIT */
/*
 * From the moment somebody publishes until the last fan's badge has moved. Tidings: one request,
 * then the badge. Redis: the script over all fans in parts, all of them sent before the first answer
 * is read, since that is the fastest it can be told.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "load.h"

enum { PART = 1000, IN_MAX = 1 << 24 };

struct publisher {
    const struct target *target;
    int fd;
    struct buf in;
    uint64_t author, fans, last_fan, post;
};

static bool badge(struct publisher *p, uint64_t *total)
{
    struct reply reply;
    struct step step = {.verb = VERB_BADGE, .user = p->last_fan};
    if (!target_ask(p->target, p->fd, &step, &p->in, &reply) || reply.status != 200)
        return false;
    *total = p->target->protocol->number(&reply);
    return true;
}

static bool publish_at_once(struct publisher *p)
{
    struct reply reply;
    struct step step = {.verb = VERB_PUBLISH, .user = p->author, .serial = p->post};
    return target_ask(p->target, p->fd, &step, &p->in, &reply) && reply.status == 201;
}

static bool read_replies(struct publisher *p, uint64_t n)
{
    struct reply reply;
    size_t used = 0;
    buf_clear(&p->in);
    while (n) {
        ssize_t whole = p->target->protocol->parse(p->in.data + used, p->in.len - used, &reply);
        if (whole < 0 || (whole > 0 && reply.status != 200))
            return false;
        used += (size_t)whole;
        n -= whole > 0;
        char *to = whole == 0 ? buf_reserve(&p->in, 4096) : NULL;
        if (whole > 0)
            continue;
        ssize_t got = to ? read(p->fd, to, 4096) : -1;
        if (got <= 0)
            return false;
        p->in.len += (size_t)got;
    }
    return true;
}

static bool publish_in_parts(struct publisher *p)
{
    struct buf out;
    buf_init(&out, IN_MAX);
    uint64_t parts = (p->fans + PART - 1) / PART;
    for (uint64_t i = 0; i < parts; i++) {
        struct step step = {.verb = VERB_PUBLISH,
                            .user = p->author,
                            .author = p->author,
                            .post = p->post,
                            .fan_from = i * PART,
                            .fan_to = (i + 1) * PART - 1};
        p->target->protocol->build(p->target, &step, &out);
    }
    bool ok = !out.failed && write_all(p->fd, out.data, out.len) && read_replies(p, parts);
    buf_release(&out);
    return ok;
}

static bool publish_once(struct publisher *p, uint64_t *ns)
{
    uint64_t before, after = 0, from;
    bool in_parts = p->target->protocol == &protocol_redis;
    if (!badge(p, &before))
        return false;
    from = now_ns();
    bool ok = in_parts ? publish_in_parts(p) : publish_at_once(p);
    while (ok && after <= before)
        ok = badge(p, &after);
    *ns = now_ns() - from;
    return ok;
}

bool run_publish(const struct target *target, uint64_t author, uint64_t fans, uint64_t last_fan,
                 unsigned times)
{
    struct publisher p = {.target = target,
                          .fd = target_connect(target),
                          .author = author,
                          .fans = fans,
                          .last_fan = last_fan,
                          .post = 910000000000000 + now_ns() % 1000000000000};
    bool ok = p.fd >= 0;
    buf_init(&p.in, IN_MAX);
    printf("{\"protocol\":\"%s\",\"fans\":%" PRIu64 ",\"us\":[", target->protocol->name, fans);
    for (unsigned i = 0; ok && i < times; i++) {
        uint64_t ns = 0;
        p.post++;
        ok = publish_once(&p, &ns);
        printf("%s%.1f", i ? "," : "", (double)ns / 1e3);
    }
    printf("]}\n");
    buf_release(&p.in);
    if (p.fd >= 0)
        close(p.fd);
    return ok;
}

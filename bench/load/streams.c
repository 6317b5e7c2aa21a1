/* SPDX-License-Identifier: MIT */
/*
 * How a post reaches those who are online. First one by one: the next post follows when everybody has
 * the last one and everybody's badge counts it, and the time is that from the request's beginning. Then
 * back to back, a bounded number at the same time: a post is on its way until the last stream has it. So
 * no post may be lost, and the rate is one that all streams keep up with.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fans.h"

enum { EVENTS = 1024, WAIT_MS = 50, IN_MAX = 1 << 16, OTHER_FILES = 64 };
enum { ONE_BY_ONE_MIN = 3 };

struct publisher {
    int fd;
    bool is_busy;
    uint64_t sent_ns;
    struct buf in;
};

struct live {
    const struct target *target;
    const struct live_plan *plan;
    int epoll_fd;
    struct fans fans;
    struct publisher publishers[PUBLISHERS_MAX];
    uint64_t sent, answered; /* posts */
    uint64_t answered_ns;
};

static void fail(struct live *live, const char *why)
{
    if (!live->fans.failed)
        live->fans.failed = why;
}

/* ---- Publishing ----------------------------------------------------------------------------- */

static void publish(struct live *live, struct publisher *publisher)
{
    struct buf out;
    const struct target *target = live->target;
    struct step step = {
        .verb = VERB_PUBLISH, .user = live->plan->author, .serial = ++target->world->serial};
    buf_init(&out, IN_MAX);
    publisher->sent_ns = now_ns();
    if (!target->protocol->build(target, &step, &out) || out.failed ||
        !write_all(publisher->fd, out.data, out.len))
        fail(live, "a post could not be sent");
    buf_release(&out);
    buf_clear(&publisher->in);
    publisher->is_busy = true;
    live->sent++;
}

static void read_answer(struct live *live, struct publisher *publisher)
{
    struct reply reply;
    char *to = buf_reserve(&publisher->in, IN_MAX / 2);
    ssize_t got = to ? read(publisher->fd, to, IN_MAX / 2) : -1;
    if (got <= 0) {
        fail(live, "a publisher's connection was closed");
        return;
    }
    publisher->in.len += (size_t)got;
    ssize_t whole = live->target->protocol->parse(publisher->in.data, publisher->in.len, &reply);
    if (whole == 0)
        return;
    if (whole < 0 || reply.status != 201) {
        fail(live, "a post was refused");
        return;
    }
    publisher->is_busy = false;
    live->answered++;
    live->answered_ns = now_ns();
    fans_expect(&live->fans, live->target->protocol->number(&reply), publisher->sent_ns);
}

/* ---- Waiting -------------------------------------------------------------------------------- */

/* Takes what has come. */
static void turn(struct live *live)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(live->epoll_fd, events, EVENTS, WAIT_MS);
    for (int i = 0; i < n && !live->fans.failed; i++) {
        uint64_t number = events[i].data.u64;
        if (number < live->fans.n)
            fans_read(&live->fans, (unsigned)number);
        else
            read_answer(live, &live->publishers[number - live->fans.n]);
    }
}

typedef bool condition(struct live *live);

static bool wait_until(struct live *live, condition *holds, const char *why_not)
{
    uint64_t deadline = now_ns() + (uint64_t)(live->plan->patience * 1e9);
    while (!live->fans.failed && !holds(live)) {
        turn(live);
        if (now_ns() > deadline)
            fail(live, why_not);
    }
    return !live->fans.failed;
}

static bool all_greeted(struct live *live)
{
    return live->fans.greeted == live->fans.n;
}

static bool all_told(struct live *live)
{
    return live->answered == live->sent && fans_told(&live->fans, live->sent);
}

static bool all_settled(struct live *live)
{
    return fans_settled(&live->fans);
}

static bool wait_told(struct live *live)
{
    return wait_until(live, all_told, "not every stream was told of every post");
}

static bool wait_settled(struct live *live)
{
    return wait_until(live, all_settled, "not every badge counts every post");
}

/* ---- Measuring ------------------------------------------------------------------------------ */

struct usage {
    double server_seconds, own_seconds; /* of CPU */
    uint64_t posts, badges;
    uint64_t ns;
};

static struct usage usage_of(const struct live *live)
{
    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    return (struct usage){
        .server_seconds = cpu_seconds(live->plan->pid),
        .own_seconds = (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                       (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6,
        .posts = live->sent,
        .badges = live->fans.n_badges,
        .ns = now_ns(),
    };
}

static struct usage since(const struct live *live, struct usage before)
{
    struct usage now = usage_of(live);
    return (struct usage){
        .server_seconds = now.server_seconds - before.server_seconds,
        .own_seconds = now.own_seconds - before.own_seconds,
        .posts = now.posts - before.posts,
        .badges = now.badges - before.badges,
        .ns = now.ns - before.ns,
    };
}

struct phase {
    struct hist answer, told, settled;
    struct usage usage;
};

static bool publish_one_by_one(struct live *live, struct phase *phase)
{
    struct usage before = usage_of(live);
    uint64_t until = before.ns + (uint64_t)(live->plan->seconds * 1e9);
    for (uint64_t i = 0; i < ONE_BY_ONE_MIN || now_ns() < until; i++) {
        publish(live, &live->publishers[0]);
        if (!wait_told(live) || !wait_settled(live))
            return false;
        hist_add(&phase->answer, live->answered_ns - live->publishers[0].sent_ns);
        hist_add(&phase->settled, now_ns() - live->publishers[0].sent_ns);
    }
    phase->told = live->fans.told;
    phase->usage = since(live, before);
    return true;
}

static void publish_as_allowed(struct live *live)
{
    for (unsigned i = 0; i < live->plan->publishers; i++)
        if (!live->publishers[i].is_busy && live->sent - live->fans.oldest < live->plan->in_flight)
            publish(live, &live->publishers[i]);
}

static bool publish_back_to_back(struct live *live, struct phase *phase)
{
    struct usage before = usage_of(live);
    uint64_t until = before.ns + (uint64_t)(live->plan->seconds * 1e9);
    memset(&live->fans.told, 0, sizeof live->fans.told);
    while (!live->fans.failed && now_ns() < until) {
        publish_as_allowed(live);
        turn(live);
    }
    if (!wait_told(live))
        return false;
    phase->told = live->fans.told;
    phase->usage = since(live, before);
    return wait_settled(live);
}

static void print(const struct live *live, double opening, const struct phase *single,
                  const struct phase *many)
{
    double streams = live->plan->streams, seconds = (double)many->usage.ns / 1e9;
    double n_single = streams * (double)single->usage.posts;
    double n_many = streams * (double)many->usage.posts;
    printf("{\"streams\":%u,\"opening_seconds\":%.3f,\"one_by_one\":{\"server_cpu_us\":%.3f,",
           live->plan->streams, opening, single->usage.server_seconds * 1e6 / n_single);
    hist_print("answer_us", &single->answer);
    printf(",");
    hist_print("told_us", &single->told);
    printf(",");
    hist_print("settled_us", &single->settled);
    printf("},\"back_to_back\":{\"in_flight\":%u,\"posts\":%" PRIu64 ",\"seconds\":%.3f,"
           "\"per_second\":%.2f,\"badges_per_post\":%.4f,\"cpu_share\":%.3f,"
           "\"server_cpu_us\":%.3f,",
           live->plan->in_flight, many->usage.posts, seconds, (double)many->usage.posts / seconds,
           (double)many->usage.badges / n_many, many->usage.own_seconds / seconds,
           many->usage.server_seconds * 1e6 / n_many);
    hist_print("told_us", &many->told);
    printf("}}\n");
}

/* ---- Setting up ----------------------------------------------------------------------------- */

static bool raise_files(unsigned wanted)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < wanted)
        files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
    return files.rlim_cur >= wanted && !setrlimit(RLIMIT_NOFILE, &files);
}

static bool open_publishers(struct live *live)
{
    for (unsigned i = 0; i < live->plan->publishers; i++) {
        struct publisher *publisher = &live->publishers[i];
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = live->fans.n + i};
        buf_init(&publisher->in, IN_MAX);
        publisher->fd = target_connect(live->target, 0);
        if (publisher->fd < 0 || epoll_ctl(live->epoll_fd, EPOLL_CTL_ADD, publisher->fd, &event))
            return false;
    }
    return true;
}

static void close_all(struct live *live)
{
    for (unsigned i = 0; i < live->plan->publishers; i++) {
        if (live->publishers[i].fd > 0)
            close(live->publishers[i].fd);
        buf_release(&live->publishers[i].in);
    }
    fans_close(&live->fans);
    if (live->epoll_fd >= 0)
        close(live->epoll_fd);
    free(live);
}

static bool open_all(struct live *live)
{
    const struct target *target = live->target;
    unsigned streams = live->plan->streams;
    if (!raise_files(streams + OTHER_FILES)) {
        fail(live, "too few files may be open: see ulimit -n");
        return false;
    }
    live->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return live->epoll_fd >= 0 &&
           fans_open(&live->fans, target, target->world->followed + 1, streams, live->epoll_fd) &&
           open_publishers(live) && wait_until(live, all_greeted, "not every stream was opened");
}

bool run_streams(const struct target *target, const struct live_plan *plan)
{
    struct live *live = calloc(1, sizeof *live);
    struct phase *phases = calloc(2, sizeof *phases);
    if (!live || !phases) {
        free(live);
        free(phases);
        return false;
    }
    live->target = target;
    live->plan = plan;
    live->epoll_fd = -1;
    uint64_t from = now_ns();
    bool ok = open_all(live);
    double opening = (double)(now_ns() - from) / 1e9;
    ok = ok && publish_one_by_one(live, &phases[0]) && publish_back_to_back(live, &phases[1]);
    if (ok)
        print(live, opening, &phases[0], &phases[1]);
    else
        fprintf(stderr, "tidings-load: %s\n",
                live->fans.failed ? live->fans.failed : "streams could not be opened");
    close_all(live);
    free(phases);
    return ok;
}

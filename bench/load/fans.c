/* SPDX-License-Identifier: MIT */
#include "fans.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { REQUEST_MAX = 8192 };

static void fail(struct fans *fans, const char *why)
{
    if (!fans->failed)
        fans->failed = why;
}

/* ---- Who has what --------------------------------------------------------------------------- */

static struct post *post_at(struct fans *fans, uint64_t serial)
{
    return &fans->posts[serial % FANS_POSTS];
}

/* The post's serial; it gets one if it is new. Ids do not tell: of two posts that are published at the
 * same time, either may be told first. */
static uint64_t find_post(struct fans *fans, uint64_t id)
{
    uint64_t known = fans->next < FANS_POSTS ? 0 : fans->next - FANS_POSTS;
    for (uint64_t serial = fans->next; serial > known;)
        if (post_at(fans, --serial)->id == id)
            return serial;
    *post_at(fans, fans->next) = (struct post){.id = id};
    fans->n_settled = 0;
    return fans->next++;
}

/* The last stream's event and the answer may come in either order. */
void fans_expect(struct fans *fans, uint64_t id, uint64_t sent_ns)
{
    uint64_t serial = find_post(fans, id);
    struct post *post = post_at(fans, serial);
    post->sent_ns = sent_ns;
    if (serial < fans->oldest)
        hist_add(&fans->told, post->told_ns - sent_ns);
}

static void take_post(struct fans *fans, struct fan *fan, uint64_t id)
{
    uint64_t serial = find_post(fans, id), ahead = serial - fan->had;
    uint64_t bit = ahead < IN_FLIGHT_MAX ? UINT64_C(1) << ahead : 0;
    if (!bit || fan->had_besides & bit) {
        fail(fans, "a stream was told of a post twice, or of one that nobody published");
        return;
    }
    fan->had_besides |= bit;
    for (; fan->had_besides & 1; fan->had++)
        fan->had_besides >>= 1;
    post_at(fans, serial)->told++;
    post_at(fans, serial)->told_ns = now_ns();
    for (struct post *post; fans->oldest < fans->next; fans->oldest++) {
        post = post_at(fans, fans->oldest);
        if (post->told < fans->n)
            return;
        if (post->sent_ns)
            hist_add(&fans->told, post->told_ns - post->sent_ns);
    }
}

static void take_badge(struct fans *fans, struct fan *fan, uint64_t total)
{
    fan->badge = total;
    if (fan->greeted) {
        fans->n_badges++;
        return;
    }
    fan->greeted = true;
    fan->first_badge = total;
    fans->greeted++;
}

bool fans_told(const struct fans *fans, uint64_t posts)
{
    return fans->oldest == posts;
}

bool fans_settled(struct fans *fans)
{
    while (fans->n_settled < fans->n) {
        const struct fan *fan = &fans->fans[fans->n_settled];
        if (fan->badge != fan->first_badge + fans->next)
            return false;
        fans->n_settled++;
    }
    return true;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static uint64_t number_behind(const char *event, const char *end, const char *name, size_t n)
{
    const char *at = memmem(event, (size_t)(end - event), name, n);
    return at ? strtoull(at + n, NULL, 10) : 0;
}

/* A whole event, which ends before an empty line: strtoull stops there at the latest. */
static void take_event(struct fans *fans, struct fan *fan, const char *event, const char *end)
{
    static const char post[] = "post\nid: ", badge[] = "badge\n", total[] = "\"total\":";
    size_t n = (size_t)(end - event);
    if (n > sizeof post && !memcmp(event, post, sizeof post - 1))
        take_post(fans, fan, strtoull(event + sizeof post - 1, NULL, 10));
    else if (n > sizeof badge && !memcmp(event, badge, sizeof badge - 1))
        take_badge(fans, fan, number_behind(event, end, total, sizeof total - 1));
}

/* How many bytes are done with. */
static size_t take_events(struct fans *fans, struct fan *fan, const char *bytes, size_t n)
{
    static const char name[] = "event: ";
    const char *at = bytes, *end = bytes + n, *stop;
    while ((at = memmem(at, (size_t)(end - at), name, sizeof name - 1))) {
        stop = memmem(at, (size_t)(end - at), "\n\n", 2);
        if (!stop)
            return (size_t)(at - bytes);
        take_event(fans, fan, at + sizeof name - 1, stop);
        at = stop + 2;
    }
    /* An event's beginning may be cut, too. */
    const char *line = memrchr(bytes, '\n', n);
    return line ? (size_t)(line + 1 - bytes) : 0;
}

static void keep_rest(struct fans *fans, struct fan *fan, const char *bytes, size_t n)
{
    if (!fan->rest && n)
        fan->rest = malloc(FANS_REST_MAX);
    if (n && (!fan->rest || n > FANS_REST_MAX)) {
        fail(fans, "an event without an end");
        return;
    }
    if (n)
        memmove(fan->rest, bytes, n);
    fan->n_rest = n;
}

/* True if there may be more. */
static bool read_some(struct fans *fans, struct fan *fan)
{
    static const char good[] = "HTTP/1.1 200";
    char *bytes = fans->bytes;
    if (fan->n_rest)
        memcpy(bytes, fan->rest, fan->n_rest);
    ssize_t got = read(fan->fd, bytes + fan->n_rest, FANS_READ_BYTES);
    if (got < 0 && errno == EAGAIN)
        return false;
    if (got <= 0) {
        fail(fans, "a stream was closed");
        return false;
    }
    size_t n = fan->n_rest + (size_t)got;
    if (!fan->accepted && (n < sizeof good || memcmp(bytes, good, sizeof good - 1) != 0))
        fail(fans, "a stream was refused");
    fan->accepted = true;
    size_t done = take_events(fans, fan, bytes, n);
    keep_rest(fans, fan, bytes + done, n - done);
    return got == FANS_READ_BYTES && !fans->failed;
}

void fans_read(struct fans *fans, unsigned number)
{
    while (read_some(fans, &fans->fans[number]))
        continue;
}

/* ---- Opening -------------------------------------------------------------------------------- */

static bool open_fan(struct fan *fan, const struct target *target, uint64_t user)
{
    struct buf out;
    struct step step = {.verb = VERB_STREAM, .user = user};
    buf_init(&out, REQUEST_MAX);
    fan->fd = target_connect(target, target->n_ports - 1);
    bool ok = fan->fd >= 0 && target->protocol->build(target, &step, &out) && !out.failed &&
              write_all(fan->fd, out.data, out.len) && !fcntl(fan->fd, F_SETFL, O_NONBLOCK);
    buf_release(&out);
    return ok;
}

bool fans_open(struct fans *fans, const struct target *target, uint64_t first_user, unsigned n,
               int epoll_fd)
{
    memset(fans, 0, sizeof *fans);
    fans->fans = calloc(n, sizeof *fans->fans);
    bool ok = fans->fans;
    while (ok && fans->n < n) {
        unsigned i = fans->n++;
        struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = i};
        ok = open_fan(&fans->fans[i], target, first_user + i) &&
             !epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fans->fans[i].fd, &event);
    }
    return ok;
}

void fans_close(struct fans *fans)
{
    for (unsigned i = 0; fans->fans && i < fans->n; i++) {
        if (fans->fans[i].fd >= 0)
            close(fans->fans[i].fd);
        free(fans->fans[i].rest);
    }
    free(fans->fans);
}

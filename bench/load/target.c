/* SPDX-License-Identifier: MIT */
/* Connections that block: for what is said before a run, and for the one publisher. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <unistd.h>

#include "load.h"

enum { READ_BYTES = 65536, PART_MAX = 1 << 24 };

bool write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t w = write(fd, bytes, n);
        if (w <= 0)
            return false;
        bytes += w;
        n -= (size_t)w;
    }
    return true;
}

void parts_init(struct parts *parts)
{
    *parts = (struct parts){0};
    for (unsigned i = 0; i < PORTS_MAX; i++)
        buf_init(&parts->to[i], PART_MAX);
}

void parts_clear(struct parts *parts)
{
    for (unsigned i = 0; i < PORTS_MAX; i++) {
        buf_clear(&parts->to[i]);
        parts->replies[i] = 0;
    }
}

void parts_release(struct parts *parts)
{
    for (unsigned i = 0; i < PORTS_MAX; i++)
        buf_release(&parts->to[i]);
}

int target_connect(const struct target *target, unsigned number)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(target->ports[number % target->n_ports])};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, target->host, &address.sin_addr);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) {
        perror("tidings-load: connect");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (target->protocol->greet && !target->protocol->greet(fd)) {
        close(fd);
        return -1;
    }
    return fd;
}

bool target_ask(const struct target *target, int fd, const struct step *step, struct buf *in,
                struct reply *reply)
{
    struct buf out;
    ssize_t whole = 0;
    buf_init(&out, READ_BYTES);
    bool ok = target->protocol->build(target, step, &out) && write_all(fd, out.data, out.len);
    buf_release(&out);
    buf_clear(in);
    while (ok && whole == 0) {
        char *to = buf_reserve(in, READ_BYTES);
        ssize_t n = to ? read(fd, to, READ_BYTES) : -1;
        if (n <= 0)
            return false;
        in->len += (size_t)n;
        whole = target->protocol->parse(in->data, in->len, reply);
    }
    return ok && whole > 0;
}

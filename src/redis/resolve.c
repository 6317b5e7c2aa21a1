/* SPDX-License-Identifier: MIT */
#include "redis/resolve.h"

#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct lookup {
    struct address address;
    int done; /* an eventfd */
    struct resolved found;
    _Atomic int owners; /* the thread and who started it; the last one frees it */
};

static void ask(const struct address *address, int flags, struct resolved *to)
{
    struct addrinfo *list = NULL;
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    snprintf(port, sizeof port, "%u", (unsigned)address->port);
    to->n = 0;
    if (getaddrinfo(address->host, port, &hints, &list))
        return;
    for (const struct addrinfo *each = list; each && to->n < RESOLVE_MAX; each = each->ai_next) {
        if (each->ai_addrlen > sizeof to->at[0])
            continue;
        memcpy(&to->at[to->n], each->ai_addr, each->ai_addrlen);
        to->length[to->n++] = each->ai_addrlen;
    }
    freeaddrinfo(list);
}

bool resolve_number(const struct address *address, struct resolved *to)
{
    ask(address, AI_NUMERICHOST, to);
    return to->n;
}

void lookup_free(struct lookup *lookup)
{
    if (!lookup || atomic_fetch_sub(&lookup->owners, 1) > 1)
        return;
    close(lookup->done);
    free(lookup);
}

static void *run(void *argument)
{
    struct lookup *lookup = argument;
    ask(&lookup->address, 0, &lookup->found);
    const uint64_t one = 1;
    if (write(lookup->done, &one, sizeof one) != sizeof one)
        abort(); /* it counts to far more than one */
    lookup_free(lookup);
    return NULL;
}

/* Signals are for the threads that expect them. */
static bool start_thread(struct lookup *lookup)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, NULL, run, lookup);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        pthread_detach(thread);
    return !failed;
}

struct lookup *lookup_start(const struct address *address)
{
    struct lookup *lookup = calloc(1, sizeof *lookup);
    if (!lookup)
        return NULL;
    lookup->address = *address;
    lookup->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    lookup->owners = 2;
    if (lookup->done >= 0 && start_thread(lookup))
        return lookup;
    if (lookup->done >= 0)
        close(lookup->done);
    free(lookup);
    return NULL;
}

int lookup_fd(const struct lookup *lookup)
{
    return lookup->done;
}

void lookup_result(const struct lookup *lookup, struct resolved *to)
{
    uint64_t one;
    bool is_done = read(lookup->done, &one, sizeof one) == sizeof one;
    to->n = 0;
    if (is_done)
        *to = lookup->found;
}

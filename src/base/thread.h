/* SPDX-License-Identifier: MIT */
/* Names of threads, as top -H, perf and debuggers show them; and signals. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Room for a name with its NUL: the kernel takes no longer one. */
enum { THREAD_NAME_BYTES = 16 };

/* Of the thread that calls. One that is too long, or that the system does not take, is none. */
static inline void thread_name(const char *name)
{
    (void)pthread_setname_np(pthread_self(), name);
}

/* A connection that the other side has closed is an error of write, not the end of the process. */
static inline void thread_block_sigpipe(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

#endif

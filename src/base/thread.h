/* SPDX-License-Identifier: MIT */
/* Names of threads, for those who look at the process from outside: top -H, perf, a debugger. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/* Room for a name with its NUL: the kernel takes no longer one. */
enum { THREAD_NAME_BYTES = 16 };

/* Of the thread that calls. One that is too long, or that the system does not take, is none. */
static inline void thread_name(const char *name)
{
    (void)pthread_setname_np(pthread_self(), name);
}

#endif

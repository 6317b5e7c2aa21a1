/* SPDX-License-Identifier: MIT */
/* What every unit test needs: cmocka, random numbers whose seed is printed, and a way to prove that
 * something does not crash. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Behind what it needs. */
#include <cmocka.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model/random.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* TEST_ONLY=name runs one of them; * and ? are wild. */
#define RUN_TESTS(tests) \
    (cmocka_set_test_filter(getenv("TEST_ONLY")), cmocka_run_group_tests(tests, NULL, NULL))

/* A fresh seed each time, printed; TEST_SEED=n repeats a run. */
static inline struct rng test_rng(void)
{
    struct timespec now;
    struct rng rng;
    const char *wanted = getenv("TEST_SEED");
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = wanted ? strtoull(wanted, NULL, 10) : (uint64_t)now.tv_nsec;
    print_message("seed %" PRIu64 " (TEST_SEED=%" PRIu64 " repeats it)\n", seed, seed);
    rng_seed(&rng, seed);
    return rng;
}

/* Runs it in a child, so that a crash is a failed test and not the end of all of them. Whether it
 * answered true. */
static inline bool test_survives(bool (*run)(void))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        const int fatal[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS, SIGABRT};
        for (size_t i = 0; i < COUNT_OF(fatal); i++)
            signal(fatal[i], SIG_DFL); /* cmocka would go on with the next test */
        _exit(run() ? 0 : 1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#endif

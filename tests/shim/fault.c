/* SPDX-License-Identifier: MIT */
/* Which calls fail. */
#include <stdio.h>

#include "internal.h"

static struct {
    bool armed;
    struct shim_fault fault;
    uint64_t calls[SHIM_CLASSES];
    uint64_t failed;
    char path[256];
} state;

int fault_of(enum shim_class class, const char *path)
{
    uint64_t number = ++state.calls[class];
    const struct shim_fault *fault = &state.fault;
    if (!state.armed || fault->class != class || number < fault->first ||
        number - fault->first >= fault->count)
        return 0;
    if (!fault->error && class != SHIM_WRITE)
        return 0;
    if (!state.failed++)
        snprintf(state.path, sizeof state.path, "%s", path);
    return fault->error && !(fault->half && number == fault->first) ? fault->error : -1;
}

void shim_heal(void)
{
    shim_lock();
    state.armed = false;
    shim_unlock();
}

uint64_t shim_calls(enum shim_class class)
{
    shim_lock();
    uint64_t calls = state.calls[class];
    shim_unlock();
    return calls;
}

uint64_t shim_failed(void)
{
    shim_lock();
    uint64_t failed = state.failed;
    shim_unlock();
    return failed;
}

const char *shim_failed_path(void)
{
    return state.path;
}

void fault_arm(const struct shim_fault *fault);
void fault_arm(const struct shim_fault *fault)
{
    state.fault = *fault;
    state.armed = true;
}

/* SPDX-License-Identifier: MIT */
#include "support/engine.h"

#include <stdlib.h>
#include <string.h>

#include "support/local.h"

static const struct chosen {
    const char *name;
    enum tidings_err (*open)(const struct tidings_options *options, struct tidings **engine,
                             const char **message);
} engines[] = {{"local", tidings_open}};

static const struct chosen *chosen(void)
{
    const char *name = getenv("TIDINGS_TEST_ENGINE");
    if (!name || !*name)
        return &engines[0];
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (!strcmp(engines[i].name, name))
            return &engines[i];
    fprintf(stderr, "TIDINGS_TEST_ENGINE=%s: there is no such engine; there is:", name);
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        fprintf(stderr, " %s", engines[i].name);
    fputc('\n', stderr);
    exit(2);
}

enum tidings_err engine_open(const struct tidings_options *options, struct tidings **engine,
                             const char **message)
{
    return chosen()->open(options, engine, message);
}

void engine_must_exist(void)
{
    chosen();
}

bool engine_is_local(void)
{
    return chosen()->open == tidings_open;
}

bool engine_covers(const struct tidings_moment *as_of, uint64_t id)
{
    return !engine_is_local() || id <= local_newest(as_of);
}

bool engine_is_newer(const struct tidings_moment *as_of, uint64_t id)
{
    return !engine_is_local() || id > local_newest(as_of);
}

bool engine_went_on(const struct tidings_moment *earlier, const struct tidings_moment *later)
{
    return !engine_is_local() || local_newest(earlier) <= local_newest(later);
}

struct tidings_moment engine_beyond(const struct tidings_moment *newest, uint64_t by)
{
    return local_moment(local_newest(newest) + by);
}

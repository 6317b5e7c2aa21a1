/* SPDX-License-Identifier: MIT */
/* The engine on a database of MySQL or MariaDB. */
#include "engine/engine.h"

enum tidings_err engine_cluster_open(const struct tidings_options *options, struct engine **engine,
                                     const char **message)
{
    (void)options;
    (void)engine;
    (void)message;
    return TIDINGS_UNSUPPORTED;
}

enum tidings_err engine_cluster_init(const struct tidings_options *options,
                                     void (*said)(void *ctx, const char *line), void *ctx,
                                     const char **message)
{
    (void)options;
    (void)said;
    (void)ctx;
    (void)message;
    return TIDINGS_UNSUPPORTED;
}

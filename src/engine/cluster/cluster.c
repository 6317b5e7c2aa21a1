/* SPDX-License-Identifier: MIT */
/* The engine on a database of MySQL or MariaDB. */
#include "engine/cluster/sql/url.h"
#include "engine/engine.h"

static enum tidings_err check(const struct tidings_options *options, const char **message)
{
    struct sql_url url;
    return sql_url_parse(options->mysql, &url, message) ? TIDINGS_UNSUPPORTED : TIDINGS_INVALID;
}

enum tidings_err engine_cluster_open(const struct tidings_options *options, struct engine **engine,
                                     const char **message)
{
    (void)engine;
    return check(options, message);
}

enum tidings_err engine_cluster_init(const struct tidings_options *options,
                                     void (*said)(void *ctx, const char *line), void *ctx,
                                     const char **message)
{
    (void)said;
    (void)ctx;
    return check(options, message);
}

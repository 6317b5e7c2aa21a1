/* SPDX-License-Identifier: MIT */
/*
 * `tidings cluster`: one subcommand each, for operators of servers on a log in MySQL and of targets of events.
 *
 *     cluster_command.c   the command's table
 *     cluster_log.c       init and begin
 *     cluster_status.c    status
 *     cluster_targets.c   targets, dead, retry, replay, rebuild, reconcile
 */
#ifndef CLI_CLUSTER_COMMAND_H
#define CLI_CLUSTER_COMMAND_H

#include "cli/where.h"

struct cluster_args {
    const char *action, *target;
    const char *mysql, *from, *server, *ca, *config;
    struct cluster_since {
        uint64_t after; /* the event, if `is_event` */
        int64_t since_ms;
        bool is_event, is_given;
    } since;
    bool json, yes;
};

/* Each returns the code to exit with. `how` has the database and its password. */
int cluster_init_run(const struct cluster_args *args, const struct tidings_options *how);
int cluster_begin_run(const struct cluster_args *args, const struct tidings_options *how);
int cluster_status_run(const struct cluster_args *args, const struct tidings_options *how);
int cluster_targets_run(const struct cluster_args *args, const struct tidings_options *how);

/* Says why something failed: the code to exit with. */
int cluster_failed(enum tidings_err err, const char *message);
/* The same about the database. */
int cluster_log_failed(enum tidings_err err, const char *message);

/* The document, which is freed, and a line's end on standard output. */
struct buf;
int cluster_print(struct buf *text);

#endif

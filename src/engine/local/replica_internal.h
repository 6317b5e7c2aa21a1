/* SPDX-License-Identifier: MIT */
/* What the files of a replica (replica*.c) share. The rules are numbered as in docs/decisions/0037-replicas.md. */
#ifndef LOCAL_REPLICA_INTERNAL_H
#define LOCAL_REPLICA_INTERNAL_H

#include "base/thread.h"
#include "base/wait.h"
#include "engine/local/local.h"
#include "engine/local/replica.h"
#include "engine/log/mysql_log.h"

enum append_state { APPEND_NONE, APPEND_WANTED, APPEND_DONE };

struct replica {
    struct local *local;
    uint64_t id;
    char address[PEER_ADDRESS_BYTES];
    struct log_mysql *asking, *appending; /* one thread's each */
    uint8_t seal_secret[TIDINGS_SECRET_BYTES];
    struct kv_decider decider;
    struct replica_keeper *keeper; /* replica_image.c */
    pthread_t follower, appender;
    bool started;

    _Atomic bool stopping;
    _Atomic uint64_t fence;     /* 0: it is not the writer */
    _Atomic int64_t lease_ms;   /* until when it is, by the monotonic clock (rule 6) */
    _Atomic int64_t current_ms; /* when it was last known to have all; 0: never */
    _Atomic bool append_underway;
    _Atomic bool rejoin; /* it must join anew: opening it again does so */
    _Atomic bool away;   /* the last question was not answered: reads do not wait for the next */

    struct {
        uint64_t server; /* of MySQL, that answers, and since when that one */
        int64_t since_ms;
        int64_t until_ms; /* end of the lease, and since when that one */
        int64_t leased_ms;
    } seen; /* the thread that follows */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    enum append_state append_state;
    const struct redo_record *record; /* to be appended, and the chain before it */
    struct chain before;
    enum tidings_err append_result;
    struct tidings_call *reads;      /* that wait for a question, newest first */
    struct tidings_call *late_reads; /* that wait for the append under way (rule 13) */
    bool broken;
    char trouble[COMPLAINT_BYTES];
};

/* What is wrong, in a sentence, told once; "": nothing is. `for_good`: the replica follows no more. */
void replica_say(struct replica *replica, const char *text, bool for_good);
bool replica_is_broken(struct replica *replica);

/* ---- replica_join.c ------------------------------------------------------------------------- */

/* Fills an empty directory, or one that must join anew, with the image of a peer or of MySQL; does nothing to any other. Before the
 * directory is opened. */
enum tidings_err replica_join(struct replica *replica, const struct tidings_options *options,
                              const char **message);

/* The directory is open: STANDBY, and it must join anew, if the log is not kept from its position on. */
enum tidings_err replica_join_check(struct replica *replica, const char **message);

/*
 * Whatever it says of the log, this directory cannot go on: it follows no more, says why, and joins anew when it is opened again,
 * which `tidings serve` does at once. Its contents are put aside then, as outdated-POSITION or diverged-POSITION. Any thread.
 */
enum rejoin_why {
    REJOIN_OUTDATED, /* the log is not kept from its position on */
    REJOIN_DIVERGED, /* the log says otherwise */
};
void replica_rejoin(struct replica *replica, enum rejoin_why why, const char *text);

/* ---- replica_image.c ------------------------------------------------------------------------ */

/* Keeps an image in MySQL and trims the log there, while this server is the writer. Stopped when the replica is stopping. */
enum tidings_err replica_image_start(struct replica *replica,
                                     const struct tidings_options *options);
void replica_image_stop(struct replica *replica);

/* The position of the newest base image of this directory; 0: there is none. Any thread. */
uint64_t replica_image_position(struct replica *replica);
void replica_image_status(struct replica *replica, struct tidings_replica *status);

/* ---- replica_append.c ----------------------------------------------------------------------- */

void *replica_appender_main(void *replica);
void replica_decide_begin(void *replica, const struct redo_record *record,
                          const struct chain *before);
enum tidings_err replica_decide_end(void *replica);

/* ---- replica_follow.c ----------------------------------------------------------------------- */

/* Takes a list of reads out of the replica, under its mutex; completes all calls of a list. */
struct tidings_call *replica_reads_take(struct replica *replica, struct tidings_call **list);
void replica_reads_complete(struct tidings_call *reads);

/* Asks MySQL one question and applies the records of its answer. *writer is the writer's row, *at_end whether this replica has
 * all records. False: it cannot go on now. */
bool replica_follow(struct replica *replica, struct log_writer *writer, bool *at_end);

/* ---- replica_lease.c ------------------------------------------------------------------------ */

/* Makes no changes any more. */
void replica_step_down(struct replica *replica);

/* Renews the lease, or steps down. */
void replica_lease_keep(struct replica *replica);

/* Whether nobody holds the lease that was seen; becomes the writer, if nobody else does. */
bool replica_may_take_over(struct replica *replica, const struct log_writer *writer);
void replica_take_over(struct replica *replica, const struct log_writer *seen);

#endif

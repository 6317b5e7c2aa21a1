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

/*
 * A batch whose append was not answered (rule 4). Whether it was made is known when this replica has read to the end of the log
 * under a later fence: then its record is there, or never will be.
 */
struct replica_unsure {
    enum { UNSURE_NONE, UNSURE_OPEN, UNSURE_KNOWN } state;
    uint64_t position, fence;
    struct chain chain;
    bool found;                 /* the record was applied */
    struct tidings_call *calls; /* of the batch */
    int64_t until_ms;
};

struct replica {
    struct local *local;
    uint64_t id;
    char address[PEER_ADDRESS_BYTES];
    struct log_mysql *asking, *appending; /* one thread's each */
    uint8_t seal_secret[TIDINGS_SECRET_BYTES];
    struct kv_decider decider;
    bool begins;                   /* there was no log when it was opened */
    bool noted;                    /* the directory has its id */
    struct replica_keeper *keeper; /* replica_image.c */
    pthread_t follower, appender, pushed;
    bool started, pushed_started;
    int pushed_fd; /* wakes the thread that takes pushed records */

    _Atomic bool stopping;
    _Atomic uint64_t fence;     /* 0: it is not the writer */
    _Atomic int64_t lease_ms;   /* until when it is, by the monotonic clock (rule 6) */
    _Atomic int64_t current_ms; /* when it was last known to have all; 0: never */
    _Atomic bool append_underway;
    _Atomic uint64_t append_position; /* of it, or of the last */
    _Atomic int64_t lacks_ms; /* since when there may be a record that it does not show; 0: none */
    _Atomic bool rejoin;      /* it must join anew: opening it again does so */
    _Atomic bool is_pushed;   /* the writer sends its records: MySQL is asked rarely */
    _Atomic bool gives_word;  /* and answers: exact reads ask for its word */
    _Atomic uint64_t takeovers, reappended; /* records, since it was opened */
    _Atomic bool diverged;
    int64_t patient_ms; /* it takes over no sooner: another server is to */

    struct {
        struct tidings_call *reads; /* for which the writer was asked; NULL: it was not */
        uint64_t number;
        int64_t asked_ms;
    } word; /* the thread that takes pushed records */

    struct {
        uint64_t server; /* of MySQL, that answers, and since when that one */
        int64_t since_ms;
        int64_t until_ms; /* end of the lease, and since when that one */
        int64_t leased_ms;
        int64_t ahead_ms; /* since when the log ends before what this replica has; 0: it does not */
        int64_t held_ms;  /* and a writer makes changes to that log nevertheless; 0: none does */
        uint64_t agreed;  /* where the log ended when it was last found to be the own one there, */
        uint8_t agreed_chain[CHAIN_BYTES]; /* and the chain */
    } seen;                                /* the thread that follows */

    pthread_mutex_t mutex;         /* guards what follows */
    pthread_cond_t changed;        /* reads, hurry: for the thread that follows */
    pthread_cond_t append_changed; /* append_state, append_ends */
    enum append_state append_state;
    bool append_ends;                 /* nobody appends any more */
    const struct redo_record *record; /* to be appended, and the chain before it */
    struct chain before;
    enum tidings_err append_result;
    struct tidings_call *reads;      /* that wait for a question, newest first */
    struct tidings_call *late_reads; /* that wait for the append under way (rule 13) */
    struct tidings_call *word_reads; /* that wait until the writer can be asked for its word */
    struct replica_unsure unsure;
    bool away;  /* the last question was not answered: reads do not wait for the next */
    bool hurry; /* the next question is asked at once */
    char writer[PEER_ADDRESS_BYTES]; /* address of the writer; "": nobody, or this server */
    bool broken;
    char trouble[COMPLAINT_BYTES];
};

/* What is wrong, in a sentence, told once; "": nothing is. `for_good`: the replica follows no more. */
void replica_say(struct replica *replica, const char *text, bool for_good);
bool replica_is_broken(struct replica *replica);

/* A line of the log, which is not the replica's state. */
void replica_tell(struct replica *replica, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A key for one purpose, out of the secret that the servers share. */
bool replica_key_derive(const char *purpose, const uint8_t secret[LOG_SECRET_BYTES],
                        uint8_t key[TIDINGS_SECRET_BYTES]);

/* ---- replica_join.c ------------------------------------------------------------------------- */

/* Fills an empty directory, or one that must join anew, with the image of a peer or of MySQL; does nothing to any other. Before the
 * directory is opened. */
enum tidings_err replica_join(struct replica *replica, const struct tidings_options *options,
                              const char **message);

/* The directory is open: STANDBY, and it must join anew, if the log is not kept from its position on. */
enum tidings_err replica_join_check(struct replica *replica, const char **message);

/* The directory is open, and the log began anew with another one: STANDBY, it must join anew. */
enum tidings_err replica_join_former(struct replica *replica, const char **message);

/*
 * Whatever it says of the log, this directory cannot go on: it follows no more, says why, and joins anew when it is opened again,
 * which `tidings serve` does at once. Its contents are put aside then, as outdated-POSITION or diverged-POSITION. Any thread.
 */
enum rejoin_why {
    REJOIN_OUTDATED, /* the log is not kept from its position on */
    REJOIN_DIVERGED, /* the log says otherwise */
};
void replica_rejoin(struct replica *replica, enum rejoin_why why, const char *text);

/* Whether contents that diverged were put aside in the directory. They stay until the operator removes them. */
bool replica_join_has_diverged(const char *dir);

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
void replica_reads_complete(struct replica *replica, struct tidings_call *reads, bool is_current);

/* Rule 13: the writer knows all that was acknowledged, while its lease holds and no append is under way. */
bool replica_knows_all(struct local *local);

/* A question was asked at that time, and answered or not: completes reads that waited for it, or lets them wait for the next;
 * those that cannot be exact are answered with their age. */
void replica_reads_conclude(struct replica *replica, struct tidings_call *reads, int64_t asked_ms,
                            bool answered);

/* Reads that wait for a question to MySQL. Any thread. */
void replica_reads_ask(struct replica *replica, struct tidings_call *reads);

/* Asks MySQL one question and applies the records of its answer. *writer is the writer's row, *at_end whether this replica has
 * all records and no others (seen.ahead_ms). False: it cannot go on now. */
bool replica_follow(struct replica *replica, struct log_writer *writer, bool *at_end);

static inline bool replica_is_silent(enum log_outcome outcome)
{
    return outcome == LOG_UNREACHABLE || outcome == LOG_UNKNOWN;
}

/* MySQL has answered, or not: then reads that wait for it are answered with their age. Not for the writer (rule 13). */
void replica_away_note(struct replica *replica, bool away);

/* The next question is asked at once. */
void replica_hurry(struct replica *replica);

/* Who writes, as the writer's row says. */
void replica_writer_note(struct replica *replica, const struct log_writer *writer);

/* ---- replica_unsure.c ----------------------------------------------------------------------- */

/* The append of that record, under that fence, was not answered. */
void replica_unsure_begin(struct replica *replica, const struct redo_record *record,
                          uint64_t fence);

/* This replica has all records up to the end of the log, under a later fence. */
void replica_unsure_resolve(struct replica *replica, uint64_t fence);

/* Gives up what took too long, by that time. */
void replica_unsure_expire(struct replica *replica, int64_t now_ms);

/* ---- replica_identity.c --------------------------------------------------------------------- */

/* Before this server is registered: the directory has its id. False: the file cannot be written. */
bool replica_identity_begin(struct replica *replica);

/* It is registered: those that had the directory before are not any more. False: not now. */
bool replica_identity_note(struct replica *replica);

/* ---- replica_push.c ------------------------------------------------------------------------- */

enum tidings_err replica_push_start(struct replica *replica);
void replica_push_wake(struct replica *replica);
void replica_push_stop(struct replica *replica);

/* ---- replica_records.c ---------------------------------------------------------------------- */

/* Own records behind `after`, up to `upto`, as record_pack has them: TAIL_READ_RECORDS at most. Returns their number; 0: the own
 * log does not go back that far. Thread-safe. */
size_t replica_own_read(struct local *local, uint64_t after, uint64_t upto, struct buf *packed);

/* The records of such a message; they live as long as its bytes. Returns their number; 0: it has none, or others. */
size_t replica_unpack(const struct buf *packed, struct redo_record records[TAIL_READ_RECORDS]);

/* The own chain at a position. False: the own log does not go back that far. */
bool replica_own_chain(struct local *local, uint64_t position, struct chain *chain);

/* ---- replica_diverge.c ---------------------------------------------------------------------- */

/* Compares the end of the log with the own one, as it was before the log was asked. False: this replica has another history; it
 * has said what is dropped, and follows no more. True as well for one that is ahead of the log: seen.ahead_ms says so. */
bool replica_compare(struct replica *replica, const struct peer_end *own,
                     const struct log_writer *writer);

/* Whether the record, which the log has behind the own end, is of another history than this directory. */
bool replica_disagrees(struct replica *replica, const struct redo_record *next);

/* Says which records this directory has that the log does not have, and ends following. */
void replica_diverge(struct replica *replica, const struct log_writer *writer);

/* ---- replica_merge.c ------------------------------------------------------------------------ */

/*
 * Completes the log for whoever has taken the fence: what this replica or another one has behind its end is appended again, and
 * this replica has all of it. *era is the era to go on with: a new one, if something may be lost. False: not now.
 */
bool replica_merge(struct replica *replica, const struct log_writer *seen, uint64_t fence,
                   uint64_t *era);

/* ---- replica_lease.c ------------------------------------------------------------------------ */

/* Rule 5: follows to the end of the log. False: it cannot go on now. */
bool replica_read_to_end(struct replica *replica, struct log_writer *writer);

/* Makes no changes any more. */
void replica_step_down(struct replica *replica);

/* Renews the lease, or steps down. */
void replica_lease_keep(struct replica *replica);

/* Whether nobody holds the lease that was seen; becomes the writer, if nobody else does. */
bool replica_may_take_over(struct replica *replica, const struct log_writer *writer);
void replica_take_over(struct replica *replica, const struct log_writer *seen);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The cluster engine: the same operations on MySQL or MariaDB, by any number of servers at once.
 *
 *     sql/        a connection, statements, URLs
 *     rows/       the rows of engine/rows.h and all lists, over tables: on a desk, where a batch of operations is worked on
 *     lane.c      threads that change: many operations, one transaction
 *     look_back.c whether a commit happened whose connection was lost
 *     reader.c    threads that answer: many operations, one snapshot
 *     queue.c     calls that wait for one of these
 *     turns.c     telling of commits in their order
 *     news.c      what happens on other servers
 *     memory.c    what servers remember, so that they need not ask; versions.c: in Redis
 *     consumer.c  going through events for all servers, by a lease: how far, and who
 *     relay.c     what happened, for Kafka: relay_rows.c has the dead letters
 *     copier.c    keys in Redis that others read: mirror.c has these, mirror_rows.c what is in them, rebuild.c makes them anew
 *     replay.c    sending a consumer back, and dead letters, for operators
 *     kafka/      a producer
 *     server.c    the server's slot among others, and its clock
 *     caretaker.c staying among them, and sweeping
 *     sweep.c     removing what is nobody's any more
 *     ticker.c    threads that look again and again
 *     schema.c    the tables
 *     reheat.c    orders and states anew when the rules for them change
 *     verify.c    recomputing what is stored twice, by pages (verify_pages.c): verify_rules.c in SQL, verify_rows.c row by row
 *     reconcile.c doing so by itself
 *     status.c    how it is doing
 *     show.c      rows, for people
 *     export.c    all of it as facts; import.c: facts into tables that are empty
 *     cluster.c   opening, closing, and the engine's table
 */
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/clock.h"
#include "engine/cluster/copier.h"
#include "kafka/kafka.h"
#include "engine/cluster/memory.h"
#include "engine/cluster/rows/desk.h"
#include "engine/engine.h"

enum { LANES = 2, READERS = 2, BATCH_MAX = 256, READ_BATCH_MAX = 256, SQL_SILENT_MS = 10000 };

/* A server whose clock is further from the database's makes no ids. */
enum { CLOCKS_APART_MS = 1000 };

/* Silent for so long, a server has lost its slot to whoever wants it. */
enum { SERVER_SILENT_MS = 10000 };

/* Calls that wait for a thread. */
struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t wanted;
    struct tidings_call *first, *last;
    size_t waiting;
    bool stopping;
};

void queue_init(struct queue *queue);
void queue_release(struct queue *queue);
/* False: it is full (never with most 0) or closed; *closed tells. */
bool queue_push(struct queue *queue, struct tidings_call *call, size_t most, bool *closed);
/* Waits for calls and takes the first ones, `most` at most; how many; 0: it is closed and empty. */
size_t queue_take(struct queue *queue, struct tidings_call **calls, size_t most);
/* The same of those that are there; 0: there are none. */
size_t queue_take_now(struct queue *queue, struct tidings_call **calls, size_t most);
void queue_close(struct queue *queue);
size_t queue_waiting(struct queue *queue);

/* Whether its time is over; and the time at which that of the first of them is. */
bool call_is_late(const struct tidings_call *call);
int64_t calls_until(struct tidings_call *const *calls, size_t n);
/* A commit that was sent is waited for, looked up, and its calls answered, for a second at least, however late it is. */
int64_t late_enough(int64_t until_ms);

/* A server's place among the others: its slot, and how often that was taken. */
struct standing {
    unsigned slot;
    uint64_t fence;
    bool off; /* its clock is: it makes no ids */
};

struct lane {
    struct cluster *cluster;
    unsigned number;
    uint64_t batch;           /* how many it has tried to commit */
    uint64_t commit_us;       /* that the last of them took */
    struct standing standing; /* of the server when the batch was begun */
    int64_t until_ms;         /* when the first of the batch's calls is given up */
    unsigned lock_s;          /* how long the batch waits for a lock */
    unsigned session_lock_s;  /* and how long the connection does; 0: not known */
    pthread_t thread;
    struct queue queue;
    struct desk desk;
    struct recollection memory;
    uint64_t turn;    /* of the commit that is under way; 0: none is */
    uint64_t telling; /* the position from which it tells, or is about to; 0: it does not */
};

struct reader {
    struct cluster *cluster;
    pthread_t thread;
    struct desk desk;
    struct recollection memory;
};

/* The last batch of a lane that was heard of. */
struct heard {
    uint64_t fence, batch;
};

struct news_reader {
    struct cluster *cluster;
    struct ticker ticker;
    unsigned slot;             /* of the server, when it last looked */
    _Atomic uint64_t position; /* what is behind it has not been told */
    struct heard lanes[ID_SLOTS][LANES];
    int64_t began_s, looked_s;
    _Atomic bool settled; /* all servers know of this one */
    struct desk desk;
};

struct caretaker {
    struct cluster *cluster;
    struct ticker ticker;
    struct desk desk;
};

/* What the database has said last of how the cluster is doing. */
struct pulse {
    struct cluster *cluster;
    struct ticker ticker;
    struct sql *sql;
    pthread_mutex_t mutex; /* guards what follows */
    struct tidings_cluster status;
    uint64_t answered_us; /* by a clock that nobody sets; 0: never */
    uint64_t known;       /* a position that was the newest, ... */
    uint64_t known_us;    /* ... and when; it is replaced when it has been told */
};

enum { TOPIC_BYTES = 96 };

/* Tells Kafka: see relay.c. */
struct relay {
    struct consumer consumer;
    struct kafka_options options; /* its texts are the relay's */
    char topic[TOPIC_BYTES];
    unsigned partitions;
    struct kafka *kafka;
    bool has_topic;
    bool late;                            /* what is told now are dead letters */
    int64_t told_ms, again_ms;            /* when: a message; dead letters were looked for */
    enum kafka_fate fates[CONSUMER_PAGE]; /* what becomes of each event that was read, ... */
    const char *reasons[CONSUMER_PAGE];   /* ... and why it is a dead letter, or NULL */
};

struct cluster {
    struct engine engine;
    struct tidings_settings settings;
    struct sql_url url;
    char *password;
    uint8_t secret[TIDINGS_SECRET_BYTES];
    struct clock clock;
    bool compares_clocks;       /* its own with the database's: not with one that is given */
    _Atomic int64_t off_ms;     /* the clock, ahead of the database's when they were compared */
    _Atomic int64_t ahead_ms;   /* and of the time elapsed then */
    _Atomic int64_t elapsed_ms; /* at the last change: limits never go back behind it */
    void (*fault)(void *ctx, const char *text);
    void *fault_ctx;
    struct ids ids;
    struct copies copies;
    struct known known;
    struct memory memory;
    _Atomic unsigned slot; /* changed under the lock of the lease */
    _Atomic uint64_t fence;
    atomic_bool others;          /* run, or may: they want to hear of what is not kept */
    atomic_bool is_first;        /* of those that run, when the caretaker last looked */
    pthread_mutex_t lease_mutex; /* guards the lease and its connection */
    struct sql *lease_sql;
    int64_t lease_until_ms;
    struct queue reads;
    unsigned n_lanes, n_readers; /* started */
    struct lane lanes[LANES];
    struct reader readers[READERS];
    struct news_reader news;
    struct caretaker caretaker;
    struct pulse pulse;
    struct relay relay;
    struct copier copier;
    struct ticker reconciler;
    pthread_mutex_t tell; /* one at a time; guards turns, and those of the lanes */
    pthread_cond_t told;
    uint64_t turns; /* that were begun */
    bool importing; /* the row of `import` is there, as this engine has found or made it, ... */
    uint64_t imported_lines; /* ... and says that so many lines are done with */
    pthread_mutex_t stats_mutex;
    struct tidings_stats stats;
    enum sql_outcome trouble; /* why nothing can be written; DONE: it can */
};

/* ---- cluster.c ------------------------------------------------------------------------------ */

/* The moment that an operation happens at. */
struct moment cluster_now(struct cluster *cluster, const struct tidings_op *op);

/* What became of a change, or of the lease's, which tells of fewer troubles: whether anything can be written follows from it. */
void cluster_note_change(struct cluster *cluster, enum sql_outcome outcome);
void cluster_note_lease(struct cluster *cluster, enum sql_outcome outcome);

void desk_init(struct cluster *cluster, struct desk *desk, bool reads);
void desk_release(struct desk *desk);
/* A connection, if there is none, on which all must be answered by that time of the monotonic clock, if it is not 0; false if
 * there cannot be one now. */
bool desk_connect(struct cluster *cluster, struct desk *desk, int64_t until_ms);
/* The connection is of no use any more. */
void desk_disconnect(struct desk *desk);
/* Whoever is told of faults hears what the database said. */
void desk_tell_refusal(struct cluster *cluster, const struct desk *desk, enum sql_outcome outcome);
/* The batch is over, whatever became of it. */
void desk_clear(struct desk *desk);

/* The view of an operation in a batch. */
struct desk_view desk_view_of(struct cluster *cluster, struct desk *desk,
                              const struct tidings_op *op, size_t call);

/* ---- server.c ------------------------------------------------------------------------------- */

/* Takes a slot that nobody has; its ids begin behind those of whoever had it. */
enum tidings_err server_join(struct cluster *cluster, const char **message);
/* Ids up to that moment and some time more may be made, in this standing. A server whose slot was taken from it takes another. */
enum sql_outcome server_extend(struct cluster *cluster, const struct moment *at,
                               struct standing *standing);
/* Nothing can be committed in that standing any more: whoever extends next looks why. */
void server_is_fenced(struct cluster *cluster, const struct standing *standing);
/* The same for now, and others see that it is here. */
void server_beat(struct cluster *cluster);
/* Whether it is the first of those that run: what one server is enough for is its business. Notes whether there are others. */
bool server_is_first(struct cluster *cluster);
/* How far the clock is ahead of the database's. */
int64_t server_off_ms(struct cluster *cluster);
void server_leave(struct cluster *cluster);
/* Goes by the time that all share, without being one of them: makes no ids. */
enum tidings_err server_visit(struct cluster *cluster, const char **message);

/* ---- reheat.c ------------------------------------------------------------------------------- */

/* Brings stored orders and states in line with the settings, if these have changed; or, as stored, the settings in line with
 * them. On the first lane's desk, before it runs. */
enum tidings_err cluster_reheat(struct cluster *cluster, bool as_stored);
/* Whether all that is stored goes by this server's settings, as far as the database knows. */
bool cluster_rules_are_own(struct cluster *cluster, struct desk *desk);

/* ---- verify.c ------------------------------------------------------------------------------- */

enum tidings_err cluster_verify(struct engine *engine, struct tidings_verify *verify);
/* What differences are called, by the number of their kind; NULL behind the last. */
const char *check_kind(unsigned number);

/* ---- reconcile.c ---------------------------------------------------------------------------- */

/* Does nothing if that is not wanted. Stopping is the ticker's. */
enum tidings_err reconcile_start(struct cluster *cluster);

/* ---- export.c, import.c --------------------------------------------------------------------- */

enum tidings_err cluster_export(struct engine *engine, uint64_t user, struct fact_sink *sink,
                                struct tidings_progress *progress);
enum tidings_err cluster_import_look(struct engine *engine, struct import_mark *mark,
                                     const char **message);
enum tidings_err cluster_import_piece(struct engine *engine,
                                      void (*run)(void *ctx, struct view *view, uint64_t *newest),
                                      void *ctx, const struct import_mark *mark);
enum tidings_err cluster_import_end(struct engine *engine, const struct import_left *left);
/* If one has begun and not ended nobody but an import uses the tables. Readers learn how new an import was. On the first lane's
 * desk, before it runs. */
enum tidings_err import_refuse_unfinished(struct cluster *cluster, const char **message);
/* Whether it is so. */
enum tidings_err import_find(struct cluster *cluster, bool *unfinished);

/* ---- news.c --------------------------------------------------------------------------------- */

/* Into the text of the batch under way: what happened in it and is not kept. */
void news_put_passing(struct lane *lane);
enum tidings_err news_start(struct cluster *cluster);
void news_stop(struct cluster *cluster);

/* ---- turns.c --------------------------------------------------------------------------------- */

/* A commit is sent; it was done, and the lane tells, from that position on, when those before it have (0: in no order), until the
 * end; or it was not, or nobody knows. */
void turn_begin(struct lane *lane);
void turn_take(struct lane *lane, uint64_t position);
void turn_end(struct lane *lane);
void turn_drop(struct lane *lane);

/* ---- relay.c -------------------------------------------------------------------------------- */

void kafka_relay_init(struct cluster *cluster, const struct tidings_options *options);
void kafka_relay_release(struct cluster *cluster);
/* Does nothing without Kafka. Stopping is the ticker's. */
enum tidings_err kafka_relay_start(struct cluster *cluster, const char **message);

/* ---- caretaker.c ------------------------------------------------------------------------------- */

enum tidings_err caretaker_start(struct cluster *cluster);
void caretaker_stop(struct cluster *cluster);

/* ---- sweep.c -------------------------------------------------------------------------------- */

/* Removes some of it; whether there is more. */
bool cluster_sweep(struct caretaker *caretaker);

/* ---- status.c ------------------------------------------------------------------------------- */

/* Asks for the first time, too. Stopping is the ticker's. */
enum tidings_err pulse_start(struct cluster *cluster);

/* The database has not answered for so long that it is taken to be away. */
bool pulse_is_silent(struct pulse *pulse);

enum tidings_err cluster_status(struct engine *engine, struct tidings_cluster *status);

/* A connection of nobody's; NULL: *err and *message say why. */
struct sql *cluster_connect(const struct tidings_options *options, enum tidings_err *err,
                            const char **message);
/* The error for an outcome, with what the database said. */
enum tidings_err cluster_refused(struct sql *sql, enum sql_outcome outcome, const char **message);

/* ---- lane.c, reader.c ----------------------------------------------------------------------- */

enum { LOCK_LEAST_S = 1 }; /* that a lock is waited for */

void *lane_main(void *lane);
/* What became of the batch that was sent: DONE, or AGAIN if nothing has happened, nor will. LOST: it cannot be found out. */
enum sql_outcome lane_look_back(struct lane *lane);
void *reader_main(void *reader);
/* Makes the answer of a batch's call, with what the change has said; false if what is at hand is not enough. */
bool reader_try(struct reader *reader, struct tidings_call *call, size_t index,
                struct tidings_answer *said);

#endif

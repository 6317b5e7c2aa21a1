/* SPDX-License-Identifier: MIT */
/*
 * The replicated log in MySQL or MariaDB: one row says who the writer is and where the log ends, one table has the records.
 * Everything that knows the SQL of it is in this folder; docs/FORMAT.md has the tables, docs/decisions/0035-log-in-mysql.md
 * the why.
 *
 * A struct log_mysql is one connection, for one thread at a time. It is opened by the first call that needs it, and again by
 * the next call after it was lost. Every call ends within the deadline. Outputs are untouched unless a call answers LOG_DONE.
 */
#ifndef ENGINE_LOG_MYSQL_LOG_H
#define ENGINE_LOG_MYSQL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum {
    LOG_CLUSTER_BYTES = 16,
    LOG_CHAIN_BYTES = 16,
    LOG_SECRET_BYTES = 32,
    LOG_ADDRESS_MAX = 255,
    LOG_LEASE_MS = 3000,
    LOG_DEADLINE_MS = 3000,    /* unless another one is set */
    LOG_RECORDS_MAX = 1024,    /* of one append, of one read */
    LOG_BYTES_MAX = 31 << 20,  /* of all records of one append, of one piece of an image */
    LOG_PACKET_MIN = 64 << 20, /* max_allowed_packet: bytes are sent as hexadecimal digits */
    LOG_REPLICAS_MAX = 1024,
};

enum log_outcome {
    LOG_DONE,
    LOG_REFUSED,     /* the tables are not as the caller believes; nothing was changed */
    LOG_UNREACHABLE, /* no connection, or the statements did not leave whole; nothing was changed */
    LOG_FAILED, /* MySQL answered with an error, or the statements are too long; nothing was changed */
    LOG_UNKNOWN, /* sent, and no answer: the change has happened, or has not, or will */
    LOG_EMPTY,   /* there is no log, no image */
    LOG_TRIMMED, /* records or pieces that were asked for are removed already */
    LOG_CORRUPT, /* the tables hold what no server writes */
    LOG_FORMER,  /* the log was the caller's cluster's, and began anew with another directory */
};

struct log_mysql;

/* `url` as in sql/url.h, with a database; `password` may be NULL. Does not connect. LOG_REFUSED: *message, static, says what is
 * wrong with the URL. */
enum log_outcome log_mysql_open(const char *url, const char *password, struct log_mysql **log,
                                const char **message);
void log_mysql_close(struct log_mysql *log);
/* For each call from now on; at least 1. */
void log_mysql_set_deadline(struct log_mysql *log, int64_t deadline_ms);
/* What was wrong with the last call that did not answer LOG_DONE, and what to do. Stays until the next call. */
const char *log_mysql_message(const struct log_mysql *log);

/* ---- The tables ----------------------------------------------------------------------------- */

/*
 * Whether the server and the tables are fit for a log, of this cluster unless `cluster` is NULL. LOG_FORMER: it was; LOG_EMPTY: the server is, and
 * nobody has begun a log in the database; LOG_REFUSED: the message says what to do.
 */
enum log_outcome log_mysql_check(struct log_mysql *log, const uint8_t cluster[LOG_CLUSTER_BYTES]);

/* Where a log begins: records come behind `position`. */
struct log_beginning {
    uint8_t cluster[LOG_CLUSTER_BYTES];
    uint64_t position;
    uint8_t chain[LOG_CHAIN_BYTES];
    uint64_t era;
    uint8_t seal[LOG_SECRET_BYTES]; /* with which cursors have been sealed */
};

/* Makes the tables. Several servers may do so at once, and again: LOG_DONE as well if the log of this cluster is there, wherever
 * it began. LOG_FORMER: it was the log of this cluster; LOG_REFUSED: that of another cluster is, or a part of one. */
enum log_outcome log_mysql_begin(struct log_mysql *log, const struct log_beginning *beginning);

/* Makes the tables that are missing, with no log in them; *has_log: there is one already. LOG_REFUSED: what is there is of another
 * version, or a part of a log, or the server is not fit. May be run again, and beside servers. */
enum log_outcome log_mysql_prepare(struct log_mysql *log, bool *has_log);

/* Writes the address by which this machine reaches MySQL: other servers of the cluster reach it there, most likely. */
enum { LOG_HOST_BYTES = 64 };
enum log_outcome log_mysql_local_host(struct log_mysql *log, char host[LOG_HOST_BYTES]);

/* What all servers of the cluster share: its id, the secret by which they know each other, and the one of cursors. */
enum log_outcome log_mysql_cluster(struct log_mysql *log, uint8_t cluster[LOG_CLUSTER_BYTES]);
enum log_outcome log_mysql_secret(struct log_mysql *log, uint8_t secret[LOG_SECRET_BYTES]);
enum log_outcome log_mysql_seal(struct log_mysql *log, uint8_t seal[LOG_SECRET_BYTES]);

/* ---- The writer ----------------------------------------------------------------------------- */

/* The one row, and the server of MySQL that answered. */
struct log_writer {
    uint64_t fence;
    uint64_t holder; /* id of a replica; 0: nobody has been the writer yet */
    char address[LOG_ADDRESS_MAX + 1];
    uint64_t server; /* @@server_id where the fence was taken */
    uint64_t asked;  /* @@server_id of who answers */
    bool ready;      /* the log was confirmed there */
    uint64_t era;
    uint64_t position; /* of the last record */
    uint8_t chain[LOG_CHAIN_BYTES];
    uint64_t bytes;   /* of all records since the log began */
    int64_t until_ms; /* end of the lease by MySQL's clock, ms since 1970; 0: given back */
    int64_t
        lease_left_ms; /* by that clock; 0 and less: over. More than LOG_LEASE_MS: the clock was set back since */
    int64_t clock_ms; /* that clock */
    bool writable;    /* the server of MySQL is not read-only */
};

enum log_outcome log_mysql_look(struct log_mysql *log, struct log_writer *writer);

/* Who takes over. */
struct log_holder {
    uint64_t id;
    const char *address; /* at most LOG_ADDRESS_MAX bytes */
    /* It holds the fence that was seen, itself, and has stopped to append under it: it need not wait for its lease. */
    bool holds;
};

/*
 * Takes over from the writer that was seen: a new fence, which is ready if the log was confirmed on this server of MySQL.
 * LOG_REFUSED if the row or the server of MySQL is another one now, or the lease is not over by MySQL's clock. A lease of more than LOG_LEASE_MS never ends, since that clock was set
 * back: it counts as over, and the caller must have seen the same until_ms for LOG_LEASE_MS by a clock of its own. Nor can this
 * call know since when the caller has seen the server of MySQL.
 */
enum log_outcome log_mysql_take(struct log_mysql *log, const struct log_writer *seen,
                                const struct log_holder *holder, uint64_t *fence);

/* The end of the log, as whoever holds the fence knows it. */
struct log_end {
    uint64_t fence;
    uint64_t position;
    uint8_t chain[LOG_CHAIN_BYTES];
};

/* The log on this server of MySQL is the one to go on with, and of this era, which is not before the row's. Renews the lease. */
enum log_outcome log_mysql_confirm(struct log_mysql *log, const struct log_end *end, uint64_t era);
/* The lease begins anew, LOG_LEASE_MS from when MySQL does it. LOG_REFUSED as well if the log ends before `position`, which was
 * in it: MySQL was restored from an older state. */
enum log_outcome log_mysql_renew(struct log_mysql *log, uint64_t fence, uint64_t position);
/* Anybody may take over at once. The caller appends nothing under this fence any more. */
enum log_outcome log_mysql_give_back(struct log_mysql *log, uint64_t fence);

/* ---- Records -------------------------------------------------------------------------------- */

struct log_record {
    uint64_t position;
    uint64_t fence; /* of who appended it; log_mysql_append fills in its own */
    int64_t at_ms;
    uint8_t chain[LOG_CHAIN_BYTES];
    struct bytes bytes;
};

/*
 * Appends records, 1 to LOG_RECORDS_MAX, whose positions follow end->position without a gap, in one round trip, and renews the
 * lease. `ready`: the log is confirmed; false: the tail of whoever takes over, before it confirms.
 *
 * LOG_DONE: they are in the log. LOG_REFUSED: the fence, the server of MySQL, `ready`, position or chain is another. LOG_UNKNOWN:
 * they may be there, or come to be there until somebody takes over.
 */
enum log_outcome log_mysql_append(struct log_mysql *log, const struct log_end *end, bool ready,
                                  const struct log_record *records, size_t n);

struct log_batch {
    struct log_writer writer;
    const struct log_record *records; /* in order, without a gap; they stay until the next call */
    size_t n;
};

/*
 * The records behind a position, at most so many (LOG_RECORDS_MAX) of so many bytes together, but one at least if there is one;
 * and the writer's row of the same moment: one round trip. LOG_TRIMMED: the first of them is not kept any more. LOG_UNREACHABLE
 * as well if the server is read-only, and the next call connects anew: after a switchover the address leads to another server,
 * and what the former primary says is old.
 */
enum log_outcome log_mysql_read(struct log_mysql *log, uint64_t after, size_t max_records,
                                size_t max_bytes, struct log_batch *batch);

/* The part of the log that is kept: the records behind `after`, which the image of a joining server must reach. */
struct log_kept {
    uint64_t after;
    uint64_t records, bytes;
    struct log_writer writer; /* of the same moment */
};
enum log_outcome log_mysql_kept(struct log_mysql *log, struct log_kept *kept);

/*
 * Removes the oldest records, some of them in one small transaction: up to a position, and not beyond the first one whose time is
 * not before `before_ms`. *more: some are left. LOG_REFUSED: no image of this log goes as far, neither one in MySQL nor one of
 * each of two replicas that were seen within LOG_LEASE_MS.
 */
enum log_outcome log_mysql_trim(struct log_mysql *log, uint64_t up_to, int64_t before_ms,
                                bool *more);

/*
 * The log begins anew: all records, images and replicas go, and it ends where the beginning says, in one transaction. The secret
 * stays; another cluster than before is noted as a former one, whose directories are to join anew. LOG_REFUSED, and nothing is changed: the writer's row is not as it was seen, the lease is not over, or the era of the
 * beginning is not a new one.
 */
enum log_outcome log_mysql_restart(struct log_mysql *log, const struct log_writer *seen,
                                   const struct log_beginning *beginning);

/* ---- Replicas ------------------------------------------------------------------------------- */

struct log_replica {
    uint64_t id;
    char address[LOG_ADDRESS_MAX + 1];
    uint64_t position;
    uint64_t era;
    uint64_t image_position; /* of the newest image that it holds */
    int64_t silent_ms; /* since it was seen, by MySQL's clock; log_mysql_register ignores it */
};

/* The replica is there, now. */
enum log_outcome log_mysql_register(struct log_mysql *log, const struct log_replica *replica);
/* Those that were seen last come first; at most LOG_REPLICAS_MAX. */
enum log_outcome log_mysql_replicas(struct log_mysql *log, struct log_replica *replicas, size_t max,
                                    size_t *n);
enum log_outcome log_mysql_forget(struct log_mysql *log, uint64_t id);

/* ---- Images --------------------------------------------------------------------------------- */

struct log_image {
    uint64_t number;
    uint64_t position;
    uint8_t chain[LOG_CHAIN_BYTES];
    uint64_t era;
    int64_t at_ms;   /* the latest time of any record in it */
    uint32_t pieces; /* numbered from 0 */
    uint64_t bytes;
    uint32_t crc;       /* CRC-32C of all bytes */
    uint64_t log_bytes; /* of the records behind it */
};

/* A new image of the state at image->position, with chain, era and time; its pieces come with log_mysql_image_put. */
enum log_outcome log_mysql_image_begin(struct log_mysql *log, const struct log_image *image,
                                       uint64_t *number);
/* May be repeated. LOG_REFUSED: the image is done, or was removed for a newer one. */
enum log_outcome log_mysql_image_put(struct log_mysql *log, uint64_t number, uint32_t piece,
                                     struct bytes bytes);
/* All pieces are there: from now on it can be had. LOG_REFUSED: they are not, or the image was removed. May be repeated. */
enum log_outcome log_mysql_image_end(struct log_mysql *log, uint64_t number, uint32_t pieces,
                                     uint64_t bytes, uint32_t crc);
/* Removes one piece of an image that a newer one which is done replaces, or of one that was begun before image `own` (0: none) and
 * never done; *more: there may be others. */
enum log_outcome log_mysql_image_tidy(struct log_mysql *log, uint64_t own, bool *more);
/* The newest one that can be had and does not contradict the log. LOG_EMPTY: there is none. */
enum log_outcome log_mysql_image_newest(struct log_mysql *log, struct log_image *image);
/* The bytes stay until the next call. LOG_TRIMMED: the image was removed for a newer one. */
enum log_outcome log_mysql_image_get(struct log_mysql *log, uint64_t number, uint32_t piece,
                                     struct bytes *bytes);

/* ---- For operators: mysql_survey.c ---------------------------------------------------------- */

enum { LOG_VERSION_BYTES = 64 };

struct log_survey {
    char version[LOG_VERSION_BYTES]; /* of the server of MySQL */
    uint64_t server_id, packet;      /* its server_id and max_allowed_packet */
    bool has_binary_log;
    const char *refusal; /* static: why the server is not fit for a log; NULL: it is */
    struct log_kept kept;
    int64_t first_ms, last_ms; /* times of the oldest and the newest record kept; 0: none is */
    uint64_t images;           /* that are there, also those that are not done */
    bool has_image;
    struct log_image image; /* the newest one that can be had */
};

/* Looks at everything, in several questions: what others change meanwhile may be seen partly. LOG_EMPTY: there is no log. */
enum log_outcome log_mysql_survey(struct log_mysql *log, struct log_survey *survey);

#endif

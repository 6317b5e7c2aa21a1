/* SPDX-License-Identifier: MIT */
/*
 * A client of a Redis Cluster, or of a single Redis, for one thread at a time. It runs many calls at once: those of one node
 * go to it together, and all nodes are talked with at the same time. It follows slots that move and masters that are
 * replaced, loads scripts where they are missing, and connects again by itself. Nothing blocks longer than the time given.
 *
 * A node that fails is left alone for a while (50 ms, growing to 2 s) and then tried again beside the calls: as long as it is away, calls
 * that belong to it are REDIS_AWAY at once.
 *
 * Answers are bounded: 16 MB each, and 128 MB of one run from one node. What is larger ends the connection, and is REDIS_LOST.
 *
 * It decides nothing about what is safe to do twice: what was sent and not answered is REDIS_LOST and never sent again.
 * A user of the server needs AUTH, INFO, CLUSTER|SLOTS, ASKING and the commands that the calls are made of.
 */
#ifndef REDIS_REDIS_H
#define REDIS_REDIS_H

#include <hiredis/hiredis.h> /* struct redisReply, REDIS_REPLY_… */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct redis;

/* Copied by redis_new. */
struct redis_options {
    const char *
        nodes; /* "host:port,host:port": some of them; the others are asked for. [::1]:7000 for IPv6 */
    const char *user, *password; /* NULL: none */
    bool tls;                    /* always verified, by the address that is connected to */
    const char *ca_file;         /* NULL: those whom the system trusts */
};

enum redis_outcome {
    REDIS_DONE,    /* `reply` is a value, and has no error in it */
    REDIS_REFUSED, /* the server said no: `message`. It has done nothing (a script, a transaction: may have done a part) */
    REDIS_AWAY,    /* not sent, or surely not done: `message` says why */
    REDIS_LOST,    /* sent, and no answer: it may have been done, or may be done later */
};

/* A script, known by its digest; its text is sent where it is missing. */
struct redis_script {
    const char *text;
    char sha[41];
};

/* Makes the digest: once, before the first call. */
void redis_script_init(struct redis_script *script);

struct redis_call {
    const struct redis_script *script; /* NULL: args[0] is the command */
    const struct bytes *args;          /* script: its keys, then its arguments */
    unsigned n_args, n_keys;           /* n_keys: of a script */
    unsigned
        key; /* the index in args of the key that says where it goes; all keys have one hash tag */
    bool to_slot; /* it has no key, and goes to whoever has this slot: SCAN */
    uint16_t slot;

    /* Set by redis_run, valid until the next. */
    enum redis_outcome outcome;
    const struct redisReply *reply; /* REDIS_DONE, otherwise NULL */
    const char *run_id;             /* REDIS_DONE: of the process that has run it */
    const char *message; /* not REDIS_DONE, otherwise NULL; of one line, at most 200 bytes */
};

/* An argument with this `p` stands for the run id of the process that the call is sent to. It was learnt when the connection was
 * made, so it is that of the process that runs the call. */
extern const struct bytes redis_run_id;

/* Connects to nobody yet. NULL, and why, if the options make no sense. */
struct redis *redis_new(const struct redis_options *options, const char **message);
void redis_free(struct redis *redis);

/*
 * Runs all of them, redirected and tried again where that is safe, until that time (CLOCK_MONOTONIC, ms) at the latest. They are
 * independent: no order is promised. With n = 0 it only takes what has come and goes on connecting to nodes that were away.
 */
void redis_run(struct redis *redis, struct redis_call *calls, size_t n, int64_t until_ms);

enum { REDIS_SLOTS = 16384 };

/* CRC16 of the key, or of its hash tag. */
uint16_t redis_slot(struct bytes key);

/* The first slot behind that one that belongs to another node; REDIS_SLOTS: there is none, or nobody has said whose they are. */
unsigned redis_next_owner(const struct redis *redis, unsigned slot);

/* How the cluster is doing, as far as the calls so far have shown. Counters only grow. */
struct redis_health {
    bool known, single; /* somebody has said who has which slots; that there is no cluster */
    unsigned slots;     /* that belong to somebody */
    unsigned masters;   /* that have slots */
    unsigned connected; /* of these; none is connected to before there is a call for it */
    unsigned away;      /* of these: calls to them are REDIS_AWAY */
    unsigned replicas;  /* of all masters */
    uint64_t calls, moved, asked, tried_again, scripts_sent,
        maps; /* maps: answers about who has which slots */
    uint64_t refused, unreached, lost;
    uint64_t failures;   /* of nodes */
    const char *problem; /* the last failure, "" if there was none; until the next redis_run */
    bool
        unwelcome; /* that was for the user, the password or the certificate: waiting will not mend it */
};
void redis_health(const struct redis *redis, struct redis_health *health);

#endif

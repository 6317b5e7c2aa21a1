/* SPDX-License-Identifier: MIT */
/*
 * Whoever goes through the events of the outbox for all servers: one server at a time, by a lease with a fence, and how far it has
 * come is one number in a row of MySQL. Every change of that row names the fence that the lease was taken with, so one that slept changes
 * nothing; and every move names the position that it starts from, so that somebody who sends it back (`tidings cluster replay`)
 * need not ask it: who fails takes the lease anew and reads the row.
 */
#ifndef CLUSTER_CONSUMER_H
#define CLUSTER_CONSUMER_H

#include "engine/cluster/rows/desk.h"
#include "engine/cluster/ticker.h"

struct cluster;

/* Of a lease that nobody renews another server takes it so long afterwards; it is renewed so often. */
enum { CONSUMER_LEASE_MS = 6000, CONSUMER_RENEW_MS = 1000 };

enum { CONSUMER_PAGE = 4000, CONSUMER_TROUBLE_BYTES = 256 };

struct consumer {
    struct cluster *cluster;
    struct ticker ticker;
    struct desk desk;
    enum tidings_consumer id; /* of its row, too */
    bool held;                /* the lease is this server's, as far as it knows */
    uint64_t fence;           /* with which it was taken */
    uint64_t position;        /* what is behind it has not been gone through */
    int64_t renewed_ms;       /* when the lease was */
    int64_t rest_until_ms;    /* it is not asked for before */
    char trouble
        [CONSUMER_TROUBLE_BYTES]; /* why it does not get on, for those who look; "": nothing is wrong */
    size_t n;                     /* events that were read */
    struct tidings_event events[CONSUMER_PAGE];
};

/* `reads`: what it asks MySQL is of one snapshot. */
void consumer_init(struct consumer *consumer, struct cluster *cluster, enum tidings_consumer id,
                   bool reads);
void consumer_release(struct consumer *consumer);

void consumer_note(struct consumer *consumer, const char *trouble);

/* A connection, if there can be one. */
bool consumer_connect(struct consumer *consumer);
/* The connection, or the transaction on it, is of no use; whether the lease still stands is found out on another. */
void consumer_fail(struct consumer *consumer);

/* The lease is this server's, or becomes it; false: it is another's. Reads how far it has come. */
bool consumer_take(struct consumer *consumer);
/* Whether it may go on: the lease is renewed when that is due. */
bool consumer_goes_on(struct consumer *consumer);
/* Whoever wants the lease may have it at once. */
void consumer_let_go(struct consumer *consumer);

/* The events behind the position, in order; or those that the question asks for. */
enum sql_outcome consumer_read(struct consumer *consumer);
enum sql_outcome consumer_ask(struct consumer *consumer, struct question *question);

/*
 * Ends the transaction on the desk: the position moves, unless the fence is another's or somebody has moved the position
 * meanwhile. Then nothing is changed, and *moved is false.
 */
enum sql_outcome consumer_commit(struct consumer *consumer, uint64_t position, uint64_t told,
                                 bool *moved);
/* Of what was to be committed by `write`: false if it was not. Then the lease is taken anew, or the connection made anew. */
bool consumer_settle(struct consumer *consumer,
                     enum sql_outcome (*write)(struct consumer *consumer, bool *moved));

#endif

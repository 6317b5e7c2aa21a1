/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is to tell. Lanes hear of their commits in another order than these happened in; those who watch are to hear of events in
 * the order of their positions. A commit that was under way when this one was heard of may have been before it, so it is waited
 * for; one that began later was not. Whoever waits here has committed, and so holds up no commit.
 */
#include "engine/cluster/cluster.h"

void turn_begin(struct lane *lane)
{
    struct cluster *cluster = lane->cluster;
    pthread_mutex_lock(&cluster->tell);
    lane->turn = ++cluster->turns;
    pthread_mutex_unlock(&cluster->tell);
}

static bool is_before(const struct lane *other, uint64_t turns, uint64_t position)
{
    return (other->turn && other->turn <= turns) || (other->telling && other->telling < position);
}

static bool must_wait(const struct lane *lane, uint64_t turns)
{
    for (unsigned i = 0; i < LANES; i++) {
        const struct lane *other = &lane->cluster->lanes[i];
        if (other != lane && is_before(other, turns, lane->telling))
            return true;
    }
    return false;
}

void turn_take(struct lane *lane, uint64_t position)
{
    struct cluster *cluster = lane->cluster;
    pthread_mutex_lock(&cluster->tell);
    lane->turn = 0;
    lane->telling = position;
    pthread_cond_broadcast(&cluster->told);
    for (uint64_t turns = cluster->turns; position && must_wait(lane, turns);)
        pthread_cond_wait(&cluster->told, &cluster->tell);
}

void turn_end(struct lane *lane)
{
    lane->telling = 0;
    pthread_cond_broadcast(&lane->cluster->told);
    pthread_mutex_unlock(&lane->cluster->tell);
}

void turn_drop(struct lane *lane)
{
    turn_take(lane, 0);
    turn_end(lane);
}

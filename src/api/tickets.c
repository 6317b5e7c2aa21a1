/* SPDX-License-Identifier: MIT */
#include "api/tickets.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64url.h"

enum { TICKETS_MAX = 4096, PER_USER = 8, LIFE_MS = 30000, SECRET = 32 };

struct slot {
    unsigned char secret[SECRET];
    uint64_t until_us; /* elapsed; 0: empty */
    uint64_t number;   /* among those issued */
    struct ticket ticket;
};

struct tickets {
    pthread_mutex_t mutex;
    uint64_t issued;
    struct slot slots[TICKETS_MAX];
};

struct tickets *tickets_new(void)
{
    struct tickets *tickets = calloc(1, sizeof *tickets);
    if (tickets)
        pthread_mutex_init(&tickets->mutex, NULL);
    return tickets;
}

void tickets_free(struct tickets *tickets)
{
    if (!tickets)
        return;
    pthread_mutex_destroy(&tickets->mutex);
    OPENSSL_cleanse(tickets, sizeof *tickets);
    free(tickets);
}

/* One that is free, or the user's own oldest if that is one too many; NULL: none. */
static struct slot *find_room(struct tickets *tickets, uint64_t user, uint64_t elapsed_us)
{
    struct slot *room = NULL, *oldest = NULL;
    size_t own = 0;
    for (size_t i = 0; i < TICKETS_MAX; i++) {
        struct slot *slot = &tickets->slots[i];
        if (slot->until_us <= elapsed_us) {
            room = slot;
        } else if (slot->ticket.user_id == user) {
            own++;
            if (!oldest || slot->number < oldest->number)
                oldest = slot;
        }
    }
    return own >= PER_USER ? oldest : room;
}

bool tickets_issue(struct tickets *tickets, const struct ticket *ticket, int64_t now_ms,
                   uint64_t elapsed_us, int64_t *expires_ms, char text[TICKET_TEXT])
{
    unsigned char secret[SECRET];
    int64_t life_ms = ticket->claims.until_ms - now_ms;
    if (RAND_bytes(secret, sizeof secret) != 1)
        return false;
    life_ms = life_ms < 0 ? 0 : life_ms > LIFE_MS ? LIFE_MS : life_ms;
    *expires_ms = now_ms + life_ms;
    pthread_mutex_lock(&tickets->mutex);
    struct slot *slot = find_room(tickets, ticket->user_id, elapsed_us);
    if (slot) {
        memcpy(slot->secret, secret, sizeof secret);
        slot->until_us = elapsed_us + (uint64_t)life_ms * 1000;
        slot->number = ++tickets->issued;
        slot->ticket = *ticket;
    }
    pthread_mutex_unlock(&tickets->mutex);
    text[base64url_encode(secret, sizeof secret, text)] = '\0';
    return slot != NULL;
}

bool tickets_take(struct tickets *tickets, struct http_text text, uint64_t elapsed_us,
                  struct ticket *ticket)
{
    unsigned char secret[SECRET];
    size_t n;
    bool good = false;
    if (!base64url_decode(text.p, text.n, secret, sizeof secret, &n) || n != sizeof secret)
        return false;
    pthread_mutex_lock(&tickets->mutex);
    /* All of them, whichever it is: the time says nothing. */
    for (size_t i = 0; i < TICKETS_MAX; i++) {
        struct slot *slot = &tickets->slots[i];
        if (CRYPTO_memcmp(slot->secret, secret, sizeof secret) || slot->until_us <= elapsed_us)
            continue;
        *ticket = slot->ticket;
        slot->until_us = 0;
        good = true;
    }
    pthread_mutex_unlock(&tickets->mutex);
    return good;
}

/* SPDX-License-Identifier: MIT */
/*
 * Tickets for streams: a browser's EventSource cannot send a token, and a token in an address would be logged and kept. A
 * ticket is good for one stream, within half a minute. They are few and only in memory; any thread.
 */
#ifndef API_TICKETS_H
#define API_TICKETS_H

#include "auth/jwt.h"
#include "http/http.h"

enum { TICKET_TEXT = 44 }; /* with a NUL */

/* What a ticket stands for. */
struct ticket {
    struct jwt_claims claims;
    uint64_t user_id; /* the acting user */
};

struct tickets;

struct tickets *tickets_new(void);
void tickets_free(struct tickets *tickets);

/* Writes the ticket's text. A user who asks for many at once loses the oldest; false if there are too many in all.
 * *expires_ms is by the clock; how old a ticket is goes by elapsed time. */
bool tickets_issue(struct tickets *tickets, const struct ticket *ticket, int64_t now_ms,
                   uint64_t elapsed_us, int64_t *expires_ms, char text[TICKET_TEXT]);

/* Whether it was good; it is not any more. */
bool tickets_take(struct tickets *tickets, struct http_text text, uint64_t elapsed_us,
                  struct ticket *ticket);

#endif

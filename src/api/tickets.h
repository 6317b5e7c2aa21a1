/* SPDX-License-Identifier: MIT */
/*
 * Tickets for streams: a browser's EventSource cannot send a token, and a token in an address would be logged and kept. A
 * ticket is good for one stream, within half a minute, on any server: it says itself whose it is and until when, sealed. That
 * it was used the engine remembers (TICKET_SPEND).
 */
#ifndef API_TICKETS_H
#define API_TICKETS_H

#include "auth/jwt.h"
#include "auth/seal.h"
#include "http/http.h"
#include "tidings.h"

enum { TICKET_MS = 30000 };

/* What a ticket stands for. */
struct ticket {
    struct jwt_claims claims; /* but from_ms */
    uint64_t user_id;         /* the acting user */
    int64_t until_ms;         /* by elapsed time */
    uint8_t name[TIDINGS_TICKET_BYTES];
};

/* Writes the ticket's text and a NUL; false if the crypto library fails. */
bool ticket_write(struct seal *seal, const struct ticket *ticket, char text[SEAL_TEXT_MAX + 1]);

/* Whether it is a ticket that was given out here, or on another server. It may be used, or too old. */
bool ticket_read(struct seal *seal, struct http_text text, struct ticket *ticket);

#endif

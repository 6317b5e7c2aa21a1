/* SPDX-License-Identifier: MIT */
#include "api/tickets.h"

#include <string.h>

#include "api/exchange.h"

/* Whose it is stands in the ticket, so its seal is nobody's. */
enum { NOBODY = 0 };

enum { USER, TOKEN_USER, TOKEN_ROLE, TOKEN_SCOPE, TOKEN_UNTIL, UNTIL, NAME, NUMBERS = NAME + 2 };

bool ticket_write(struct seal *seal, const struct ticket *ticket, char text[SEAL_TEXT_MAX + 1])
{
    uint64_t numbers[NUMBERS] = {
        [USER] = ticket->user_id,
        [TOKEN_USER] = ticket->claims.user_id,
        [TOKEN_ROLE] = ticket->claims.role,
        [TOKEN_SCOPE] = ticket->claims.scope,
        [TOKEN_UNTIL] = (uint64_t)ticket->claims.until_ms,
        [UNTIL] = (uint64_t)ticket->until_ms,
    };
    memcpy(&numbers[NAME], ticket->name, sizeof ticket->name);
    size_t n = seal_text(seal, SEAL_TICKET, NOBODY, numbers, NUMBERS, text);
    text[n] = '\0';
    return n != 0;
}

bool ticket_read(struct seal *seal, struct http_text text, struct ticket *ticket)
{
    uint64_t numbers[NUMBERS];
    if (!seal_open(seal, SEAL_TICKET, NOBODY, text.p, text.n, numbers, NUMBERS))
        return false;
    *ticket = (struct ticket){
        .claims = {.user_id = numbers[TOKEN_USER],
                   .role = (enum jwt_role)numbers[TOKEN_ROLE],
                   .scope = (uint32_t)numbers[TOKEN_SCOPE],
                   .until_ms = (int64_t)numbers[TOKEN_UNTIL]},
        .user_id = numbers[USER],
        .until_ms = (int64_t)numbers[UNTIL],
    };
    memcpy(ticket->name, &numbers[NAME], sizeof ticket->name);
    return true;
}

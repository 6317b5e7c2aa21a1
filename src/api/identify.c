/* SPDX-License-Identifier: MIT */
/*
 * Who asks, and whether they may: the token or ticket, the role and the scope that the route needs, and for whom a service
 * acts. Nothing about a route stands here: routes.c has it.
 */
#include <string.h>

#include "api/internal.h"
#include "api/session.h"
#include "auth/jwks.h"

enum { SCOPE_TEXT = 128 };

/* ---- Who asks ------------------------------------------------------------------------------- */

#define REALM "Bearer realm=\"tidings\""
#define WHY(code, detail)                                                                 \
    {                                                                                     \
        code, detail, REALM ", error=\"invalid_token\", error_description=\"" detail "\"" \
    }
#define NOT_SIGNED WHY("token_signature", "The token is not signed with a key that holds.")
/* The detail begins with the claim's name. No quotes: it is part of a quoted string, too. */
#define CLAIM(detail) WHY("token_claims", detail)

/*
 * What is told of a token that does not hold (RFC 6750). Before its signature is found to be right nothing is said that
 * its sender could not see without us: not whether there is a key of that name, or of that algorithm, or was one.
 */
static const struct refusal {
    const char *code;
    const char *detail;
    const char *challenge;
} no_token = {"token_missing", "A bearer token is needed.", REALM},
  refusals[JWT_REASON_COUNT] = {
      [JWT_TOO_LONG] = WHY("token_malformed", "The token is not a JWT of up to 4096 bytes."),
      [JWT_MALFORMED] = WHY("token_malformed", "The token is not a JWT of up to 4096 bytes."),
      [JWT_CRITICAL] = WHY("token_malformed", "The token wants extensions understood."),
      [JWT_ALGORITHM] = NOT_SIGNED,
      [JWT_UNKNOWN_KEY] = NOT_SIGNED,
      [JWT_KEY_TIME] = NOT_SIGNED,
      [JWT_SIGNATURE] = NOT_SIGNED,
      [JWT_SUBJECT_TYPE] = CLAIM("sub: must be a string of digits, not a number, and be there."),
      [JWT_SUBJECT] =
          CLAIM("sub: no id of this server, which are the digits of 1 to 9007199254740991."),
      [JWT_ROLE_NULL] = CLAIM("role: is null; leave it out for user, or say service or admin."),
      [JWT_ROLE] = CLAIM("role: none of user, service and admin."),
      [JWT_NO_EXPIRY] = CLAIM("exp: missing; a token must expire."),
      [JWT_MILLISECONDS] = CLAIM("exp: in milliseconds; it must be seconds since 1970."),
      [JWT_SCOPE] = CLAIM("scope: must be a string of words, with spaces between."),
      [JWT_ISSUER] = CLAIM("iss: not the issuer whose tokens this server takes."),
      [JWT_AUDIENCE] = CLAIM("aud: not for this server."),
      [JWT_TIME] = CLAIM("exp, nbf, iat: one is no number of seconds since 1970."),
      [JWT_EXPIRED] = WHY("token_expired", "The token has expired."),
      [JWT_NOT_YET] = WHY("token_not_yet", "The token does not hold yet."),
};

static const struct refusal no_ticket =
    WHY("ticket_invalid", "The ticket has been used, or is too old, or none.");

static bool refuse_token(struct exchange *ex, enum jwt_reason reason, const struct refusal *refusal)
{
    metrics_count_token(exchange_loop(ex)->metrics, reason);
    ex->challenge = refusal->challenge;
    exchange_problem(ex, 401, refusal->code, refusal->detail);
    return false;
}

void exchange_refuse_ticket(struct exchange *ex)
{
    refuse_token(ex, JWT_MALFORMED, &no_ticket);
}

/* A service may act for another user. */
static bool take_acting_user(struct exchange *ex)
{
    size_t count;
    struct http_text other = http_request_header(ex->req, "X-User-Id", &count);
    ex->user_id = ex->claims.user_id;
    if (!other.p)
        return true;
    if (ex->claims.role != JWT_ROLE_SERVICE) {
        exchange_problem(ex, 403, "forbidden",
                         "Only a token of role service may act for another user.");
        return false;
    }
    if (count > 1 || !parse_id(other, &ex->user_id) || !ex->user_id) {
        exchange_invalid(ex, "X-User-Id", "one user id");
        return false;
    }
    return true;
}

static bool is_word(struct http_text text, const char *word)
{
    return text.p && text.n == strlen(word) && !memcmp(text.p, word, text.n);
}

static bool take_freshness(struct exchange *ex)
{
    size_t count;
    struct http_text word = http_request_header(ex->req, "Tidings-Freshness", &count);
    if (count == 1 && is_word(word, "exact"))
        ex->op.freshness = TIDINGS_EXACT;
    else if (count == 1 && is_word(word, "bounded"))
        ex->op.freshness = TIDINGS_BOUNDED;
    else if (count)
        exchange_invalid(ex, "Tidings-Freshness", "exact or bounded");
    return !count || ex->op.freshness;
}

/* ERA.POSITION, as answer_fields() writes it. */
static bool parse_seen(struct http_text token, struct tidings_seen *seen)
{
    const char *dot = memchr(token.p, '.', token.n);
    if (!dot)
        return false;
    size_t n = (size_t)(dot - token.p);
    return parse_id((struct http_text){token.p, n}, &seen->era) &&
           parse_id((struct http_text){dot + 1, token.n - n - 1}, &seen->position);
}

static bool take_seen(struct exchange *ex)
{
    size_t count;
    struct http_text token = http_request_header(ex->req, "Tidings-Seen", &count);
    if (count > 1 || (token.p && !parse_seen(token, &ex->op.seen))) {
        exchange_invalid(ex, "Tidings-Seen", "as an answer had it");
        return false;
    }
    return true;
}

/* A bearer token, or else that of a session of the console. */
static bool take_token(struct exchange *ex)
{
    static const char scheme[] = "Bearer ";
    size_t count, n = sizeof scheme - 1;
    struct http_text header = http_request_header(ex->req, "Authorization", &count);
    if (!header.p) {
        ex->token = session_token(ex->req);
        return ex->token.p || refuse_token(ex, JWT_MALFORMED, &no_token);
    }
    if (header.n < n - 1 || strncasecmp(header.p, scheme, n - 1))
        return refuse_token(ex, JWT_MALFORMED, &no_token);
    if (count > 1 || header.n <= n || header.p[n - 1] != ' ')
        return refuse_token(ex, JWT_MALFORMED, &refusals[JWT_MALFORMED]);
    ex->token = (struct http_text){header.p + n, header.n - n};
    return true;
}

static bool authenticate(struct exchange *ex)
{
    if (!take_token(ex))
        return false;
    enum jwt_reason reason = jwt_verifier_check(exchange_loop(ex)->verifier, ex->token.p,
                                                ex->token.n, api_now_ms(), &ex->claims);
    if (reason == JWT_UNKNOWN_KEY)
        jwks_want(ex->api->config.jwks);
    if (reason)
        return refuse_token(ex, reason, &refusals[reason]);
    bool allowed = ex->route->access == ACCESS_USER || ex->claims.role == JWT_ROLE_ADMIN ||
                   (ex->route->access == ACCESS_SERVICE && ex->claims.role == JWT_ROLE_SERVICE);
    if (!allowed) {
        exchange_problem(ex, 403, "forbidden",
                         ex->route->access == ACCESS_SERVICE
                             ? "Only a token of role service or admin may do this."
                             : "Only a token of role admin may do this.");
        return false;
    }
    return take_acting_user(ex) && take_freshness(ex) && take_seen(ex);
}

/* Who asks, by a ticket that is left to be spent. One that is too old is not worth asking the engine. */
static bool take_ticket(struct exchange *ex, struct http_text text)
{
    struct ticket ticket;
    if (!ticket_read(exchange_loop(ex)->seal, text, &ticket) ||
        ticket.until_ms <= tidings_elapsed(ex->api->config.tidings))
        return refuse_token(ex, JWT_MALFORMED, &no_ticket);
    ex->claims = ticket.claims;
    ex->user_id = ticket.user_id;
    ex->has_ticket = true;
    ex->op.kind = TIDINGS_OP_TICKET_SPEND;
    ex->op.u.ticket.until_ms = ticket.until_ms;
    memcpy(ex->op.u.ticket.name, ticket.name, sizeof ticket.name);
    return true;
}

/* RFC 6750, 3.1: which one is missing is said in both places. */
static bool check_scope(struct exchange *ex)
{
    char name[SCOPE_NAME_MAX], detail[SCOPE_TEXT];
    enum scope_way way = route_way(ex->route);
    if (ex->route->area == SCOPE_AREA_COUNT || ex->claims.scope & SCOPE_BIT(ex->route->area, way))
        return true;
    scope_name(ex->route->area, way, name);
    char *challenge = arena_alloc(http_request_arena(ex->req), SCOPE_TEXT);
    if (challenge)
        snprintf(challenge, SCOPE_TEXT, REALM ", error=\"insufficient_scope\", scope=\"%s\"", name);
    ex->challenge = challenge;
    snprintf(detail, sizeof detail, "scope: the token lacks %s.", name);
    exchange_problem(ex, 403, "scope", detail);
    return false;
}

/* A stream may be opened with a ticket instead of a token. */
bool exchange_identify(struct exchange *ex)
{
    struct http_text text = http_query_get(&ex->query, "ticket");
    if (ex->route->access == ACCESS_PUBLIC)
        return true;
    bool by_ticket = ex->route->run == streams_open && text.p;
    return (by_ticket ? take_ticket(ex, text) : authenticate(ex)) && check_scope(ex);
}

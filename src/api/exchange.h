/* SPDX-License-Identifier: MIT */
/*
 * One request under way. It lives in the request's arena, on the request's loop; while the engine
 * works on its operation it belongs to the engine.
 */
#ifndef API_EXCHANGE_H
#define API_EXCHANGE_H

#include <jansson.h>
#include <pthread.h>

#include "api/api.h"
#include "api/targets.h"
#include "auth/jwt.h"
#include "auth/seal.h"
#include "base/arena.h"
#include "base/json_out.h"
#include "http/query.h"

enum access { ACCESS_PUBLIC, ACCESS_USER, ACCESS_SERVICE, ACCESS_ADMIN };

struct exchange;

/* One row of the table of routes. */
struct route {
    enum http_verb verb;
    const char *pattern; /* "/v1/posts/{post_id}/open" */
    const char *name;    /* of the operation, in the OpenAPI document and in metrics */
    enum access access;
    enum scope_area
        area;   /* what a token's scope must have, by the verb; SCOPE_AREA_COUNT: nothing */
    int status; /* of success */

    /* Either: fills in ex->op from the arguments, false if they are wrong (exchange_invalid) ... */
    bool (*prepare)(struct exchange *ex);
    /* ... and writes the answer; NULL for a 204. May run on another thread: reads ex, changes
     * nothing. */
    void (*render)(const struct exchange *ex, const struct tidings_answer *answer,
                   struct json_out *out);
    /* Or: does everything itself and responds. */
    void (*run)(struct exchange *ex);

    /* The names of the parameters that the query may have, with spaces between; NULL: any, for pages that people open. */
    const char *parameters;
};

extern const struct route routes[];
extern const size_t n_routes;

/* Every verb and HEAD fit into the text. */
enum { PATH_IDS = 2, ALLOW_TEXT = 64 };

/* Whether it reads or writes in its area. */
enum scope_way route_way(const struct route *route);

/*
 * The route for a path and verb, with the numbers in the path; *bad_id is the name of one that is
 * no id, or NULL. If only the verb does not fit: NULL, and `allow` lists those that do.
 */
const struct route *route_find(struct http_text path, enum http_verb verb, uint64_t ids[PATH_IDS],
                               const char **bad_id, char allow[ALLOW_TEXT]);

struct exchange {
    struct api *api;
    struct http_request *req;
    const struct route *route;
    struct jwt_claims claims;
    struct http_text token;              /* that they are of */
    uint64_t user_id;                    /* the acting user */
    uint64_t ids[PATH_IDS];              /* the numbers in the path */
    char target_name[TARGET_NAME_BYTES]; /* of the row */
    struct http_query query;
    json_t *body;           /* NULL if there is none */
    char allow[ALLOW_TEXT]; /* for a 405 and a preflight */
    const char *challenge;  /* for a 401, and a 403 of a scope */
    bool chinese;           /* for notices */
    bool explain;           /* stats with their terms */
    uint64_t started_us;
    bool has_ticket; /* in op: the stream begins when it is spent */

    struct tidings_call call;
    struct tidings_op op;
    struct tidings_answer answer;
    struct tidings_once once;
    struct buf once_bytes;
    pthread_t thread; /* that submitted */
    bool done_here;
    size_t room;                 /* bytes reserved for the answer */
    struct exchange *waits_next; /* see room.h */

    /* Set by a route's run that asks the engine: makes the response of the answer, whatever ex->answer.err is. */
    void (*respond)(struct exchange *ex);
};

/* ---- Arguments (args.c) --------------------------------------------------------------------- */

/*
 * Each answers false, the request already refused with the field's name, if the argument is not
 * right. What the engine checks itself (lengths, ranges of ids) is left to it.
 */

/* The body must be an object with no members but these, a NULL-terminated list. */
bool arg_body(struct exchange *ex, const char *const *members);

/* A member of the body. *given tells whether it is there, if that is optional (given not NULL). */
bool arg_id(struct exchange *ex, const char *name, uint64_t *id, bool *given);
/* From 1 to 2^53-1; untouched if it is not given. */
bool arg_time(struct exchange *ex, const char *name, int64_t *time_ms, bool *given);
bool arg_text(struct exchange *ex, const char *name, struct tidings_text *text, bool *given);
bool arg_bool(struct exchange *ex, const char *name, bool *value, bool *given);
/* An object as it stands in the body, byte for byte; p stays NULL if it is left out or null. */
bool arg_object(struct exchange *ex, const char *name, struct tidings_text *json);
bool arg_ids(struct exchange *ex, const char *name, const uint64_t **ids, size_t *n, bool *given);
/* A word of a list; *index is its place. */
bool arg_word(struct exchange *ex, const char *name, const char *const *words, unsigned *index);
/* `purpose` is that of the `as_of` which it must be. */
bool arg_up_to(struct exchange *ex, uint8_t purpose, struct tidings_moment *up_to, bool *given);

/* A parameter of the query. */
bool query_id(struct exchange *ex, const char *name, uint64_t *id, bool *given);
/* From 1 to ids_max of them, separated by commas. */
bool query_ids(struct exchange *ex, const char *name, const uint64_t **ids, size_t *n);
bool query_time(struct exchange *ex, const char *name, int64_t *time_ms, bool *given);
bool query_word(struct exchange *ex, const char *name, const char *const *words, unsigned *index);
/* 0 or 1; left alone if it is not given. */
bool query_flag(struct exchange *ex, const char *name, bool *flag);
bool query_page(struct exchange *ex, uint8_t purpose, struct tidings_page *page);
/* The page's limit alone; and that a cursor is none. */
bool query_limit(struct exchange *ex, struct tidings_page *page);
bool refuse_cursor(struct exchange *ex);

/* Decimal digits, no sign, no leading zero; at most 2^53-1. */
bool parse_id(struct http_text text, uint64_t *id);

/* ---- Answers -------------------------------------------------------------------------------- */

/* What a sealed text is for. The numbers are part of the API: texts outlive a release. */
enum seal_purpose {
    SEAL_AS_OF = 1,
    SEAL_FOLLOWING,
    SEAL_FOLLOWERS,
    SEAL_AUTHOR_PAGE,
    SEAL_INBOX,
    SEAL_HISTORY,
    SEAL_NAMES,
    SEAL_POST_LIKES = 16,
    SEAL_COMMENT_LIKES,
    SEAL_MY_POSTS,
    SEAL_MY_COMMENTS,
    SEAL_MY_FAVS,
    SEAL_HOT,
    SEAL_COMMENTS, /* the first of three, one for each order */
    SEAL_SCENES = 32,
    SEAL_READING,
    SEAL_SUBSCRIPTIONS,
    SEAL_SUBSCRIBERS,
    SEAL_NOTIFICATIONS,
    SEAL_NOTIFICATIONS_AS_OF,
    SEAL_TICKET,
};

void put_text(struct json_out *out, const char *key, struct tidings_text text);
void put_u64(struct json_out *out, const char *key, uint64_t value);
void put_i64(struct json_out *out, const char *key, int64_t value);
void put_bool(struct json_out *out, const char *key, bool value);
void put_word(struct json_out *out, const char *key, const char *word);
/* null if it is empty: a body that may not be seen. */
void put_shown(struct json_out *out, const char *key, struct tidings_text text);
/* JSON as it is; null if it is empty. */
void put_json(struct json_out *out, const char *key, struct tidings_text json);
/* Must be finite. */
void put_double(struct json_out *out, const char *key, double value);
/* null if it is 0. */
void put_id(struct json_out *out, const char *key, uint64_t id);
/* null if it is 0. */
void put_time(struct json_out *out, const char *key, int64_t time_ms);
/* An object with nothing but a list, "items". */
void begin_items(struct json_out *out);
void end_items(struct json_out *out);
void put_cursor(const struct exchange *ex, struct json_out *out, uint8_t purpose,
                struct tidings_cursor next);
/* The members that the counts of a post and of a comment have. */
void put_counts(struct json_out *out, enum tidings_target target,
                const struct tidings_counts *counts);
/* The same as an object. */
void put_stats(struct json_out *out, enum tidings_target target,
               const struct tidings_counts *counts);
void put_as_of(const struct exchange *ex, struct json_out *out, uint8_t purpose,
               const struct tidings_moment *as_of);
/* A text cut at its pictures. */
void put_parts(struct json_out *out, const char *key, struct tidings_text body);
const char *post_kind_name(enum tidings_post_kind kind);
extern const char *const post_kinds[];

/* ---- The course of it ----------------------------------------------------------------------- */

/* Refuses the request; the exchange is over. */
/* The text says what is allowed, or what is wrong; the detail has the field's name before it: "limit: 1 to 100". */
void exchange_invalid(struct exchange *ex, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void exchange_problem(struct exchange *ex, int status, const char *code, const char *detail);

/* Answers with a body that is ready; the exchange is over. */
void exchange_respond(struct exchange *ex, int status, const char *content_type, const void *body,
                      size_t n);

/* The same with JSON, which gets a newline for its end; if there is none, there is no body. */
void exchange_json(struct exchange *ex, int status, const char *content_type, struct buf *json);

/* The same with the fields and all; only these are sent. */
void exchange_send(struct exchange *ex, const struct http_response *response);

/* Hands ex->op to the engine; the rest follows by itself. */
void exchange_submit(struct exchange *ex);

/* The engine's refusal as a problem. */
void exchange_refuse(struct exchange *ex);

/* identify.c: who asks, by token or ticket, and whether they may; false: the request is refused. */
bool exchange_identify(struct exchange *ex);

/* The ticket that the request came with is none, or none any more. */
void exchange_refuse_ticket(struct exchange *ex);

/* What belongs to the exchange's loop. */
struct api_loop *exchange_loop(const struct exchange *ex);

#endif

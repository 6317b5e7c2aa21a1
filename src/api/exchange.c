/* SPDX-License-Identifier: MIT */
/*
 * The course of a request: route, token, arguments, operation, answer. An operation that changes
 * something is completed on the engine's thread; the request then comes back to its loop, where the
 * answer is read and written.
 */
#include "api/exchange.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <string.h>
#include <time.h>

#include "api/internal.h"
#include "api/session.h"
#include "base/log.h"
#include "base/utf8.h"
#include "http/cors.h"

enum { IDEMPOTENCY_KEY_MAX = 255, FIELDS_MAX = 8, FIELD_TEXT = 96 };

/* Values of headers that are made up. */
struct field_texts {
    char wait[FIELD_TEXT], policy[FIELD_TEXT], limit[FIELD_TEXT], seen[FIELD_TEXT], age[FIELD_TEXT];
};

/* A hundred posts as long as they may be would be more than a connection holds (output_max). */
enum { POSTS_ANSWER_MAX = 4 << 20 };

int64_t api_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint64_t api_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

struct api_loop *exchange_loop(const struct exchange *ex)
{
    return &ex->api->loops[http_request_loop_index(ex->req)];
}

/* ---- Responding ----------------------------------------------------------------------------- */

static long long seconds(int64_t ms)
{
    return (long long)(ms + 999) / 1000;
}

/* The bucket that was asked, as draft-ietf-httpapi-ratelimit-headers has it: how many tokens there are, in how many seconds
 * all of them come back; how many are left, and when there is one more. */
static size_t limit_fields(const struct tidings_limit *limit, struct http_field *fields,
                           struct field_texts *texts)
{
    if (!limit->name)
        return 0;
    snprintf(texts->policy, FIELD_TEXT, "\"%s\";q=%lld;w=%lld", limit->name,
             (long long)limit->burst, seconds(limit->burst * limit->refill_ms));
    snprintf(texts->limit, FIELD_TEXT, "\"%s\";r=%lld;t=%lld", limit->name, (long long)limit->left,
             seconds(limit->next_ms));
    fields[0] = (struct http_field){"RateLimit-Policy", texts->policy};
    fields[1] = (struct http_field){"RateLimit", texts->limit};
    return 2;
}

/* Headers that follow from the answer and the status. */
static size_t answer_fields(const struct exchange *ex, int status, struct http_field *fields,
                            struct field_texts *texts)
{
    size_t n = limit_fields(&ex->answer.limit, fields, texts);
    int64_t wait_ms = ex->answer.retry_after_ms;
    if (status == 405)
        fields[n++] = (struct http_field){"Allow", ex->allow};
    if (ex->challenge)
        fields[n++] = (struct http_field){"WWW-Authenticate", ex->challenge};
    if (status == 429 || status == 503) {
        snprintf(texts->wait, FIELD_TEXT, "%lld", wait_ms > 0 ? seconds(wait_ms) : 1);
        fields[n++] = (struct http_field){"Retry-After", texts->wait};
    }
    if (ex->answer.seen.position) {
        snprintf(texts->seen, FIELD_TEXT, "%" PRIu64 ".%" PRIu64, ex->answer.seen.era,
                 ex->answer.seen.position);
        fields[n++] = (struct http_field){"Tidings-Seen", texts->seen};
    }
    if (ex->answer.age_ms) {
        snprintf(texts->age, FIELD_TEXT, "%" PRId64, ex->answer.age_ms);
        fields[n++] = (struct http_field){"Tidings-Age", texts->age};
    }
    fields[n++] = (struct http_field){"X-Content-Type-Options", "nosniff"};
    fields[n++] = (struct http_field){"Cache-Control", "no-store"};
    return n;
}

void exchange_send(struct exchange *ex, const struct http_response *response)
{
    size_t index = ex->route ? (size_t)(ex->route - routes) : n_routes;
    metrics_count(exchange_loop(ex)->metrics, index, response->status,
                  api_now_us() - ex->started_us);
    json_decref(ex->body);
    /* The exchange goes with the request; what it holds goes later, since the body may be part of it. */
    struct tidings_answer answer = ex->answer;
    struct buf once_bytes = ex->once_bytes;
    http_respond(ex->req, response);
    tidings_answer_release(&answer);
    buf_release(&once_bytes);
}

void exchange_respond(struct exchange *ex, int status, const char *content_type, const void *body,
                      size_t n)
{
    struct http_field fields[FIELDS_MAX];
    struct field_texts texts;
    struct http_response response = {
        .status = status,
        .content_type = n ? content_type : NULL,
        .fields = fields,
        .n_fields = answer_fields(ex, status, fields, &texts),
        .body = body,
        .body_len = n,
    };
    exchange_send(ex, &response);
}

void exchange_json(struct exchange *ex, int status, const char *content_type, struct buf *json)
{
    if (json->len)
        buf_char(json, '\n');
    exchange_respond(ex, status, content_type, json->data, json->len);
}

/* Kept answers begin with their status, in three digits. */
enum { STATUS_DIGITS = 3 };

static void respond_stored(struct exchange *ex)
{
    struct tidings_text stored = ex->answer.stored;
    int status = 0;
    if (stored.n < STATUS_DIGITS) {
        exchange_problem(ex, 500, "internal", "Something is wrong on our side.");
        return;
    }
    for (size_t i = 0; i < STATUS_DIGITS; i++)
        status = status * 10 + (stored.p[i] - '0');
    exchange_respond(ex, status, "application/json", stored.p + STATUS_DIGITS,
                     stored.n - STATUS_DIGITS);
}

static void respond_answer(struct exchange *ex)
{
    struct buf *buf = &exchange_loop(ex)->out;
    struct json_out out;
    buf_clear(buf);
    json_out_init(&out, buf);
    if (ex->route->render)
        ex->route->render(ex, &ex->answer, &out);
    bool large = !json_out_ok(&out) || buf->len > POSTS_ANSWER_MAX;
    if (large && ex->op.kind == TIDINGS_OP_POST_MANY)
        exchange_invalid(ex, "ids", "as many posts as fit into 4 MiB");
    else if (!json_out_ok(&out))
        exchange_problem(ex, 500, "internal", "Something is wrong on our side.");
    else
        exchange_json(ex, ex->route->status, "application/json", buf);
}

/* ---- The operation -------------------------------------------------------------------------- */

static void conclude(struct exchange *ex, enum tidings_err err)
{
    if (ex->respond)
        ex->respond(ex);
    else if (err)
        exchange_refuse(ex);
    else if (ex->op.once)
        respond_stored(ex);
    else
        respond_answer(ex);
}

static void finish(struct exchange *ex)
{
    struct room *room = &exchange_loop(ex)->room;
    size_t reserved = ex->room;
    enum tidings_err err = tidings_finish(ex->api->config.tidings, &ex->call);
    room_learn(room, ex, tidings_answer_bytes(&ex->answer));
    if (err == TIDINGS_CORRUPT || err == TIDINGS_IO || err == TIDINGS_NO_SPACE) {
        struct log_line line;
        log_begin(&line, LOG_ERROR, "the engine failed");
        log_text(&line, "error", tidings_err_code(err));
        log_text(&line, "operation", ex->route->name);
        log_hex(&line, "request_id", http_request_id(ex->req));
        log_end(&line);
    }
    conclude(ex, err);
    room_leave(room, reserved);
}

static void finish_on_loop(struct http_request *req, void *arg);

/* On this thread while submitting, or on the engine's. */
static void done(struct tidings_call *call)
{
    struct exchange *ex = call->ctx;
    if (pthread_equal(ex->thread, pthread_self()))
        ex->done_here = true;
    else
        http_request_post(ex->req, finish_on_loop, ex);
}

static void submit(struct exchange *ex)
{
    ex->call = (struct tidings_call){.op = &ex->op, .answer = &ex->answer, .done = done, .ctx = ex};
    ex->call.waited_ms = (int64_t)(api_now_us() - ex->started_us) / 1000;
    ex->thread = pthread_self();
    tidings_submit(ex->api->config.tidings, &ex->call);
    /* If it is not done here, it will be elsewhere, and comes back to this thread, later. */
    if (ex->done_here)
        finish(ex);
}

/* Here alone others are let in: who is answered while submitting gives back what nobody has waited for. */
static void finish_on_loop(struct http_request *req, void *arg)
{
    struct exchange *ex = arg;
    struct room *room = &exchange_loop(ex)->room;
    (void)req;
    finish(ex);
    while ((ex = room_next(room))) {
        http_request_waits(ex->req, false);
        submit(ex);
    }
}

void exchange_submit(struct exchange *ex)
{
    ex->op.user_id = ex->user_id;
    ex->op.role = (enum tidings_role)ex->claims.role;
    switch (room_enter(&exchange_loop(ex)->room, ex)) {
    case ROOM_IN:
        submit(ex);
        break;
    case ROOM_WAITS:
        http_request_waits(ex->req, true);
        break;
    case ROOM_FULL:
        ex->answer.err = TIDINGS_BUSY;
        conclude(ex, TIDINGS_BUSY);
    }
}

/* ---- Once ----------------------------------------------------------------------------------- */

static bool render_once(const struct tidings_once *once, const struct tidings_answer *answer,
                        struct tidings_text *bytes)
{
    struct exchange *ex = once->ctx;
    struct json_out out;
    buf_release(&ex->once_bytes); /* of an earlier try at the batch */
    buf_init(&ex->once_bytes, (size_t)4 << 20);
    buf_printf(&ex->once_bytes, "%03d", ex->route->status);
    json_out_init(&out, &ex->once_bytes);
    if (ex->route->render) {
        ex->route->render(ex, answer, &out);
        buf_char(&ex->once_bytes, '\n');
    }
    *bytes = (struct tidings_text){ex->once_bytes.data, ex->once_bytes.len};
    return json_out_ok(&out);
}

/* 16 bytes that stand for two texts. */
static bool digest(struct http_text a, struct http_text b, uint8_t to[16])
{
    uint8_t hash[EVP_MAX_MD_SIZE];
    unsigned n;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) &&
              EVP_DigestUpdate(ctx, a.p, a.n) && EVP_DigestUpdate(ctx, "", 1) &&
              EVP_DigestUpdate(ctx, b.p, b.n) && EVP_DigestFinal_ex(ctx, hash, &n);
    EVP_MD_CTX_free(ctx);
    if (ok)
        memcpy(to, hash, 16);
    return ok;
}

/* With an Idempotency-Key the operation happens once per user, path and key. */
static bool take_idempotency_key(struct exchange *ex)
{
    size_t count;
    struct http_text key = http_request_header(ex->req, "Idempotency-Key", &count);
    if (!key.p || http_request_verb(ex->req) != HTTP_VERB_POST)
        return true;
    if (count > 1 || !key.n || key.n > IDEMPOTENCY_KEY_MAX) {
        exchange_invalid(ex, "Idempotency-Key", "once, with 1 to 255 characters");
        return false;
    }
    struct http_text none = {"", 0};
    if (!digest(http_request_path(ex->req), key, ex->once.key) ||
        !digest(http_request_body(ex->req), none, ex->once.fingerprint)) {
        exchange_problem(ex, 503, "busy", "Too much to do at the moment. Try again later.");
        return false;
    }
    ex->once.render = render_once;
    ex->once.ctx = ex;
    ex->op.once = &ex->once;
    return true;
}

/* ---- Beginning ------------------------------------------------------------------------------ */

/* "q=0.25" among a language's parameters, in thousandths; 1000 if there is none. */
static int quality(const char *at, const char *end)
{
    const char *q = memmem(at, (size_t)(end - at), "q=", 2);
    int value = 0, digit = 100;
    if (!q || q + 2 >= end)
        return 1000;
    if (q[2] != '0')
        return 1000;
    for (q += 4; q < end && *q >= '0' && *q <= '9' && digit; q++, digit /= 10)
        value += (*q - '0') * digit;
    return value;
}

/* How much a language of the header is wanted, in thousandths; -1 if it is not mentioned. */
static int language_weight(struct http_text header, const char *language)
{
    const char *at = header.p, *end = header.p ? header.p + header.n : NULL;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        while (at < stop && *at == ' ')
            at++;
        if (stop - at >= 2 && !strncasecmp(at, language, 2))
            return quality(at, stop);
        at = comma ? comma + 1 : end;
    }
    return -1;
}

static bool wants_chinese(struct http_request *req, bool standard)
{
    struct http_text header = http_request_header(req, "Accept-Language", NULL);
    int chinese = language_weight(header, "zh");
    if (!header.p)
        return standard;
    return chinese >= 0 && chinese >= language_weight(header, "en");
}

static bool parse_query(struct exchange *ex)
{
    struct http_text culprit;
    enum http_query_err err = http_query_parse(http_request_query(ex->req),
                                               http_request_arena(ex->req), &ex->query, &culprit);
    if (err) {
        exchange_invalid(ex, "query", "malformed, or a parameter is there twice");
        return false;
    }
    return true;
}

/* Whether it is one of the words of the list, which spaces separate. */
static bool is_word_of(const char *list, struct http_text name)
{
    while (*list) {
        size_t n = strcspn(list, " ");
        if (n == name.n && !memcmp(list, name.p, n))
            return true;
        list += n + (list[n] == ' ');
    }
    return false;
}

/* A misspelt parameter must not pass for one that was left out. */
static bool check_query(struct exchange *ex)
{
    for (size_t i = 0; ex->route->parameters && i < ex->query.n; i++) {
        struct http_text name = ex->query.params[i].name;
        if (is_word_of(ex->route->parameters, name))
            continue;
        char *field = arena_alloc(http_request_arena(ex->req), name.n + 1);
        size_t characters;
        bool is_text = field && utf8_check(name.p, name.n, &characters);
        if (is_text) {
            memcpy(field, name.p, name.n);
            field[name.n] = '\0';
        }
        exchange_invalid(ex, is_text ? field : "query", "there is no such parameter");
        return false;
    }
    return true;
}

static void begin(struct exchange *ex)
{
    if (!parse_query(ex) || !exchange_identify(ex))
        return;
    if (!check_query(ex))
        return;
    if (ex->route->run) {
        ex->route->run(ex);
        return;
    }
    if (take_idempotency_key(ex) && ex->route->prepare(ex))
        exchange_submit(ex);
}

/*
 * What a browser asks before it sends what a page of another origin wants sent: no token comes with it. Browsers keep the
 * answer for two hours at most, one for each path. Tidings-Session is not among the headers, and must never be: session.h.
 */
static void respond_preflight(struct exchange *ex)
{
    const struct http_field fields[] = {
        {"Access-Control-Allow-Methods", ex->allow},
        {"Access-Control-Allow-Headers",
         "Authorization, Content-Type, Idempotency-Key, If-None-Match, Accept-Language, "
         "Last-Event-ID, X-User-Id, Tidings-Freshness, Tidings-Seen"},
        {"Access-Control-Max-Age", "7200"},
    };
    exchange_send(ex, &(struct http_response){.status = 204,
                                              .fields = fields,
                                              .n_fields = sizeof fields / sizeof *fields});
}

void api_handle(struct http_request *req, void *ctx)
{
    const char *bad_id = NULL;
    struct exchange *ex = arena_alloc(http_request_arena(req), sizeof *ex);
    if (!ex) {
        http_respond(req, &(struct http_response){.status = 503});
        return;
    }
    memset(ex, 0, sizeof *ex);
    ex->api = ctx;
    ex->req = req;
    ex->started_us = api_now_us();
    ex->chinese = wants_chinese(req, ex->api->config.chinese);
    tidings_answer_init(&ex->answer);
    ex->route =
        route_find(http_request_path(req), http_request_verb(req), ex->ids, &bad_id, ex->allow);
    if (ex->route && bad_id)
        exchange_invalid(ex, bad_id, "a whole number from 1 to 2^53-1");
    else if (ex->route)
        begin(ex);
    else if (*ex->allow && http_request_is_preflight(req))
        respond_preflight(ex);
    else if (*ex->allow)
        exchange_problem(ex, 405, "method_not_allowed", "This method does not fit this path.");
    else
        exchange_problem(ex, 404, "not_found", "There is no such path.");
}

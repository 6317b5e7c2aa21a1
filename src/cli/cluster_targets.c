/* SPDX-License-Identifier: MIT */
/*
 * Targets of events. An operation goes to a server of the log over the servers' own connection (--mysql), or to any server over HTTP
 * (--server). Either way the answer is the document of the admin API, which is printed as it is or as a table.
 */
#include <curl/curl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/targets.h"
#include "base/buf.h"
#include "cli/cluster_command.h"
#include "cli/signing.h"

enum {
    TARGET_DOCUMENT_MAX = 16 << 20,
    TARGET_ASK_MS = 30000,
    TARGET_URL_MAX = 2048,
    TARGET_LETTERS = 100, /* that are asked for at a time */
    TARGET_OPERATOR = 1,  /* an operation has somebody acting; here it does not matter who */
};

struct target_question {
    const struct cluster_args *args;
    struct tidings_op op;
    char row[TARGET_NAME_BYTES];
};

/* ---- What is asked -------------------------------------------------------------------------- */

static enum tidings_wish target_wish(const char *action)
{
    static const char *const names[] = {[TIDINGS_WISH_REPLAY] = "replay",
                                        [TIDINGS_WISH_RETRY] = "retry",
                                        [TIDINGS_WISH_REBUILD] = "rebuild",
                                        [TIDINGS_WISH_RECONCILE] = "reconcile"};
    for (unsigned i = TIDINGS_WISH_REPLAY; i <= TIDINGS_WISH_RECONCILE; i++)
        if (!strcmp(action, names[i]))
            return (enum tidings_wish)i;
    return 0;
}

static void target_ask_init(struct target_question *question, const struct cluster_args *args)
{
    struct tidings_text name = {question->row, strlen(question->row)};
    struct tidings_op *op = &question->op;
    op->role = TIDINGS_ROLE_ADMIN;
    op->user_id = TARGET_OPERATOR;
    if (!strcmp(args->action, "targets")) {
        op->kind = TIDINGS_OP_WEBHOOKS;
    } else if (!strcmp(args->action, "dead")) {
        op->kind = TIDINGS_OP_LETTERS;
        op->u.letters.name = name;
        op->u.letters.limit = TARGET_LETTERS;
    } else {
        op->kind = TIDINGS_OP_TARGET_WISH;
        op->u.wish.name = name;
        op->u.wish.wish = target_wish(args->action);
        op->u.wish.after = args->since.after;
        op->u.wish.since_ms = args->since.since_ms;
    }
}

/* ---- Over the servers' own connection ------------------------------------------------------- */

static enum tidings_err target_ask_log(const struct target_question *question,
                                       const struct tidings_options *how, struct buf *document,
                                       const char **message)
{
    struct tidings_answer answer;
    struct json_out out;
    tidings_answer_init(&answer);
    enum tidings_err err = tidings_log_operate(how, &question->op, &answer, message);
    json_out_init(&out, document);
    if (!err && question->op.kind == TIDINGS_OP_WEBHOOKS)
        targets_put(&out, &answer);
    else if (!err && question->op.kind == TIDINGS_OP_LETTERS)
        letters_put(&out, &answer);
    else if (!err)
        target_put(&out, &answer);
    tidings_answer_release(&answer);
    return err;
}

/* ---- Over HTTP ------------------------------------------------------------------------------ */

static size_t target_receive(char *bytes, size_t size, size_t n, void *ctx)
{
    struct buf *document = ctx;
    buf_append(document, bytes, size * n);
    return document->failed ? 0 : size * n;
}

static void target_path(const struct target_question *question, char *url, size_t room)
{
    const struct cluster_args *args = question->args;
    size_t n = strlen(args->server);
    int base = (int)(n && args->server[n - 1] == '/' ? n - 1 : n);
    if (question->op.kind == TIDINGS_OP_WEBHOOKS)
        snprintf(url, room, "%.*s/v1/admin/targets", base, args->server);
    else if (question->op.kind == TIDINGS_OP_LETTERS && question->op.u.letters.after)
        snprintf(url, room, "%.*s/v1/admin/targets/%s/dead?limit=%d&after=%" PRIu64, base,
                 args->server, args->target, TARGET_LETTERS, question->op.u.letters.after);
    else if (question->op.kind == TIDINGS_OP_LETTERS)
        snprintf(url, room, "%.*s/v1/admin/targets/%s/dead?limit=%d", base, args->server,
                 args->target, TARGET_LETTERS);
    else
        snprintf(url, room, "%.*s/v1/admin/targets/%s/%s", base, args->server, args->target,
                 args->action);
}

static void target_body(const struct target_question *question, char *body, size_t room)
{
    const struct cluster_since *since = &question->args->since;
    *body = '\0';
    if (question->op.kind != TIDINGS_OP_TARGET_WISH ||
        question->op.u.wish.wish != TIDINGS_WISH_REPLAY)
        return;
    if (since->is_event)
        snprintf(body, room, "{\"after\":%" PRIu64 "}", since->after);
    else
        snprintf(body, room, "{\"since_ms\":%" PRId64 "}", since->since_ms);
}

static bool target_set_up(CURL *easy, const struct target_question *question,
                          const struct curl_slist *fields, const char *body, struct buf *document)
{
    char url[TARGET_URL_MAX];
    target_path(question, url, sizeof url);
    CURLcode wrong = curl_easy_setopt(easy, CURLOPT_URL, url);
    wrong |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    wrong |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    wrong |= curl_easy_setopt(easy, CURLOPT_PROXY, "");
    wrong |= curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    wrong |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    wrong |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)TARGET_ASK_MS);
    wrong |= curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields);
    wrong |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, target_receive);
    wrong |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, document);
    if (question->args->ca)
        wrong |= curl_easy_setopt(easy, CURLOPT_CAINFO, question->args->ca);
    if (question->op.kind == TIDINGS_OP_TARGET_WISH) {
        wrong |= curl_easy_setopt(easy, CURLOPT_POST, 1L);
        wrong |= curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body);
    }
    return !wrong;
}

/* What a problem says; else the status. */
static void target_problem(const struct buf *document, long status, char *why, size_t room)
{
    json_t *problem = json_loadb(document->data ? document->data : "", document->len, 0, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    if (detail)
        snprintf(why, room, "the server says: %s", detail);
    else
        snprintf(why, room, "the server answers with status %ld", status);
    json_decref(problem);
}

static enum tidings_err target_err_of(long status)
{
    switch (status) {
    case 200:
        return TIDINGS_OK;
    case 400:
        return TIDINGS_INVALID;
    case 404:
        return TIDINGS_NOT_FOUND;
    case 501:
        return TIDINGS_UNSUPPORTED;
    default:
        return TIDINGS_UNREACHABLE;
    }
}

/* A token of an admin for a minute, signed as by the server with that file of settings, or NULL. */
static bool target_token(const char *config, char token[JWT_MAX])
{
    const struct jwt_grant grant = {
        .user_id = TARGET_OPERATOR, .role = JWT_ROLE_ADMIN, .ttl_s = 60};
    struct signing signing;
    bool signed_ = signing_open(&signing, NULL, config) == OPTIONS_READ &&
                   signing_sign(&signing, grant, token);
    signing_close(&signing);
    return signed_;
}

static enum tidings_err target_ask_server(const struct target_question *question,
                                          struct buf *document, const char **message)
{
    static char why[512];
    char token[JWT_MAX], field[JWT_MAX + 32], body[64];
    long status = 0;
    *message = why;
    snprintf(why, sizeof why, "no token can be made: see `tidings token --help`");
    if (!target_token(question->args->config, token))
        return TIDINGS_INVALID;
    snprintf(field, sizeof field, "Authorization: Bearer %s", token);
    struct curl_slist *fields = curl_slist_append(NULL, field);
    fields = curl_slist_append(fields, "Content-Type: application/json");
    CURL *easy = curl_easy_init();
    target_body(question, body, sizeof body);
    CURLcode code = easy && fields && target_set_up(easy, question, fields, body, document)
                        ? curl_easy_perform(easy)
                        : CURLE_FAILED_INIT;
    if (!code)
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    snprintf(why, sizeof why, "the server cannot be asked: %s", curl_easy_strerror(code));
    curl_easy_cleanup(easy);
    curl_slist_free_all(fields);
    explicit_bzero(token, sizeof token);
    explicit_bzero(field, sizeof field);
    if (!code && status != 200)
        target_problem(document, status, why, sizeof why);
    return code ? TIDINGS_UNREACHABLE : target_err_of(status);
}

/* ---- For people ----------------------------------------------------------------------------- */

static const char *member_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static json_int_t member_number(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static void print_target(const json_t *target)
{
    char time[TIME_BYTES];
    json_int_t failing = member_number(target, "failing_since");
    printf("%-24s %-9s at %" JSON_INTEGER_FORMAT ", lag %.1f s, told %" JSON_INTEGER_FORMAT
           ", refused %" JSON_INTEGER_FORMAT ", missed %" JSON_INTEGER_FORMAT
           ", dead letters %" JSON_INTEGER_FORMAT "%s%s\n",
           member_text(target, "name"), member_text(target, "state"),
           member_number(target, "position"), (double)member_number(target, "lag_ms") / 1000,
           member_number(target, "told"), member_number(target, "refused"),
           member_number(target, "missed"), member_number(target, "dead"),
           json_is_true(json_object_get(target, "rebuilding")) ? ", being made anew" : "",
           json_is_true(json_object_get(target, "reconciling")) ? ", being compared" : "");
    if (failing)
        printf("%-24s since %s: %s\n", "", time_text(failing, time),
               member_text(target, "trouble"));
}

static void print_letter(const json_t *letter)
{
    char happened[TIME_BYTES], noted[TIME_BYTES];
    printf("event %" JSON_INTEGER_FORMAT " of %s, refused at %s: %s%s\n",
           member_number(letter, "event_id"),
           time_text(member_number(letter, "happened_at"), happened),
           time_text(member_number(letter, "noted_at"), noted), member_text(letter, "reason"),
           json_is_true(json_object_get(letter, "again")) ? "; to be told again" : "");
}

static void print_document(const struct target_question *question, const json_t *document)
{
    const json_t *items = json_object_get(document, "items");
    bool letters = question->op.kind == TIDINGS_OP_LETTERS;
    if (!items)
        print_target(document);
    for (size_t i = 0; i < json_array_size(items); i++)
        (letters ? print_letter : print_target)(json_array_get(items, i));
    if (items && !json_array_size(items) && !question->op.u.letters.after)
        puts(letters ? "there are no dead letters" : "there are no targets");
}

/* ---- The command ---------------------------------------------------------------------------- */

static int target_failed(const struct target_question *question, enum tidings_err err,
                         const char *message)
{
    if (err == TIDINGS_NOT_FOUND && !message) {
        fprintf(stderr, "tidings: there is no target %s\n", question->args->target);
        return EXIT_FOUND;
    }
    if (err == TIDINGS_UNSUPPORTED) {
        fprintf(stderr, "tidings: %s: not supported by this target\n", question->args->target);
        return EXIT_FOUND;
    }
    int code =
        question->args->server ? cluster_failed(err, message) : cluster_log_failed(err, message);
    return err == TIDINGS_NOT_FOUND ? EXIT_FOUND : code;
}

/* One page. *after is where the next begins; 0: there is none. */
static int target_page(struct target_question *question, const struct tidings_options *how,
                       uint64_t *after)
{
    struct buf document;
    const char *message = NULL;
    *after = 0;
    buf_init(&document, TARGET_DOCUMENT_MAX);
    enum tidings_err err = question->args->server
                               ? target_ask_server(question, &document, &message)
                               : target_ask_log(question, how, &document, &message);
    json_t *json = err ? NULL : json_loadb(document.data, document.len, 0, NULL);
    int code = EXIT_FINE;
    if (err)
        code = target_failed(question, err, message);
    else if (!json)
        code = cluster_failed(TIDINGS_CORRUPT, "the answer is not to be understood");
    else if (question->args->json)
        fwrite(document.data, 1, document.len - (document.data[document.len - 1] == '\n'), stdout);
    else
        print_document(question, json);
    if (json)
        *after = (uint64_t)member_number(json, "next_after");
    if (json && question->args->json)
        putchar('\n');
    json_decref(json);
    buf_release(&document);
    return code;
}

int cluster_targets_run(const struct cluster_args *args, const struct tidings_options *how)
{
    struct target_question question = {.args = args};
    uint64_t after = 1;
    int code = EXIT_FINE;
    if (args->target && !target_row_name(args->target, strlen(args->target), question.row))
        return options_wrong(&command_cluster, "%s is no target", args->target);
    if (!strcmp(args->action, "replay") && !args->since.is_given)
        return options_wrong(&command_cluster, "--after is missing");
    target_ask_init(&question, args);
    while (code == EXIT_FINE && after) {
        code = target_page(&question, how, &after);
        question.op.u.letters.after = after;
    }
    return code;
}

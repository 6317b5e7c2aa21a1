/* SPDX-License-Identifier: MIT */
#include "legacy/ask_http.h"

#include <assert.h>
#include <curl/curl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"

enum {
    ANSWER_MAX = 32 << 20, /* bytes */
    TIMEOUT_MS = 30000,
    TRIES = 10, /* of a question, while the server is busy, starts or hands over */
    PAGE = 100,
    CURSOR_MAX = 1024,
    PATH_MAX_BYTES = 4096,
    STATUS_OK = 200,
    STATUS_INVALID = 400,
    STATUS_BUSY = 429,
    STATUS_AWAY = 503,
};
#define ID_MAX ((json_int_t)9007199254740991)

struct ask_http {
    struct ask ask;
    struct ask_http_options options;
    CURL *easy;
    struct buf answer;
    struct members members;
    size_t ids_most; /* posts in one question: as many as the server takes */
    bool own_pages;  /* the server takes no pages as long as PAGE */
};

/* ---- One question ----------------------------------------------------------------------------- */

static size_t http_take_bytes(char *bytes, size_t size, size_t n, void *ctx)
{
    struct buf *to = ctx;
    buf_append(to, bytes, size * n);
    return to->failed ? 0 : size * n;
}

static int http_must_stop(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct ask_http *http = ctx;
    (void)a, (void)b, (void)c, (void)d;
    return http->options.stopped();
}

static bool http_set_up(struct ask_http *http)
{
    CURL *easy = http->easy;
    CURLcode wrong = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    wrong |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    wrong |= curl_easy_setopt(easy, CURLOPT_PROXY, "");
    wrong |= curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    wrong |= curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    wrong |= curl_easy_setopt(easy, CURLOPT_HTTP09_ALLOWED, 0L);
    wrong |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    wrong |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    wrong |= curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (http->options.ca_file) { /* that one, and no others */
        wrong |= curl_easy_setopt(easy, CURLOPT_CAINFO, http->options.ca_file);
        wrong |= curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    wrong |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
    wrong |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    wrong |= curl_easy_setopt(easy, CURLOPT_USERAGENT, "Tidings-Compare/1");
    wrong |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, http_take_bytes);
    wrong |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, &http->answer);
    wrong |= curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    wrong |= curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, http_must_stop);
    wrong |= curl_easy_setopt(easy, CURLOPT_XFERINFODATA, http);
    return !wrong;
}

static bool append_header(struct curl_slist **headers, const char *text)
{
    struct curl_slist *more = curl_slist_append(*headers, text);
    if (more)
        *headers = more;
    return more != NULL;
}

/* NULL, after it was said: there is no token, or memory is short. */
static struct curl_slist *make_headers(struct ask_http *http, uint64_t user)
{
    char token[ASK_TOKEN_MAX], line[ASK_TOKEN_MAX + 64];
    struct curl_slist *headers = NULL;
    if (!http->options.token(http->options.ctx, token)) {
        ask_fail(&http->ask, "there is no token");
        return NULL;
    }
    snprintf(line, sizeof line, "Authorization: Bearer %s", token);
    bool fine = append_header(&headers, line) && append_header(&headers, "Expect:") &&
                append_header(&headers, "Tidings-Freshness: exact");
    snprintf(line, sizeof line, "X-User-Id: %" PRIu64, user);
    if (fine && user)
        fine = append_header(&headers, line);
    if (fine)
        return headers;
    curl_slist_free_all(headers);
    ask_fail(&http->ask, "memory is short");
    return NULL;
}

/* The status, 0 if there is none: then the trouble says why. */
static long http_try(struct ask_http *http, uint64_t user, const char *path)
{
    char url[PATH_MAX_BYTES];
    long status = 0;
    if ((size_t)snprintf(url, sizeof url, "%s%s", http->options.server, path) >= sizeof url) {
        ask_fail(&http->ask, "the server's address is too long");
        return 0;
    }
    struct curl_slist *headers = make_headers(http, user);
    if (!headers)
        return 0;
    buf_clear(&http->answer);
    CURLcode code = curl_easy_setopt(http->easy, CURLOPT_URL, url);
    code = code ? code : curl_easy_setopt(http->easy, CURLOPT_HTTPHEADER, headers);
    code = code ? code : curl_easy_perform(http->easy);
    if (!code)
        curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_setopt(http->easy, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    if (http->answer.failed)
        ask_fail(&http->ask, "%s: an answer is longer than %d bytes", http->options.server,
                 ANSWER_MAX);
    else if (code)
        ask_fail(&http->ask, "%s: %s", http->options.server, curl_easy_strerror(code));
    return http->answer.failed ? 0 : status;
}

/* The status; 0: there is none. Asks again while the server is busy, or nobody makes changes. */
static long http_ask(struct ask_http *http, uint64_t user, const char *path)
{
    static const struct timespec second = {.tv_sec = 1};
    long status = http_try(http, user, path);
    for (int i = 1; i < TRIES && (status == STATUS_AWAY || status == STATUS_BUSY); i++) {
        if (http->options.stopped())
            break;
        nanosleep(&second, NULL);
        status = http_try(http, user, path);
    }
    return status;
}

static bool fail_status(struct ask_http *http, const char *path, long status)
{
    if (!status)
        return false; /* that was said */
    return ask_fail(&http->ask, "%s%.*s: the answer is %ld%s", http->options.server,
                    (int)strcspn(path, "?"), path, status,
                    status == 401 || status == 403 ? ", which is for the token" : "");
}

/* Whoever gets it frees it. NULL: it is none, and the trouble says so. */
static json_t *http_parse(struct ask_http *http, const char *path)
{
    json_t *json =
        json_loadb((const char *)http->answer.data, http->answer.len, JSON_REJECT_DUPLICATES, NULL);
    if (json && json_is_object(json))
        return json;
    json_decref(json);
    ask_fail(&http->ask, "%s%.*s: the answer is no JSON object", http->options.server,
             (int)strcspn(path, "?"), path);
    return NULL;
}

static json_t *http_get(struct ask_http *http, uint64_t user, const char *path)
{
    long status = http_ask(http, user, path);
    if (status == STATUS_OK)
        return http_parse(http, path);
    fail_status(http, path, status);
    return NULL;
}

static bool fail_sense(struct ask_http *http, const char *what)
{
    return ask_fail(&http->ask, "%s: the answer makes no sense: %s", http->options.server, what);
}

/* ---- What is in answers ------------------------------------------------------------------------ */

static bool take_number(const json_t *json, const char *name, json_int_t least, uint64_t *to)
{
    const json_t *value = json_object_get(json, name);
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < least || number > ID_MAX)
        return false;
    *to = (uint64_t)number;
    return true;
}

static bool take_truth(const json_t *json, const char *name, bool *to)
{
    const json_t *value = json_object_get(json, name);
    *to = json_is_true(value);
    return json_is_boolean(value);
}

/* null is 0. */
static bool take_moment(const json_t *json, const char *name, int64_t *to)
{
    const json_t *value = json_object_get(json, name);
    *to = json_integer_value(value);
    return json_is_null(value) || (json_is_integer(value) && *to >= -ID_MAX && *to <= ID_MAX);
}

static bool take_item(const json_t *row, bool delivered, struct legacy_item *item)
{
    bool is_read = true;
    *item = (struct legacy_item){.delivered = delivered};
    bool fine = take_number(row, "post_id", 1, &item->post) &&
                take_number(row, "author_id", 1, &item->author) &&
                take_moment(row, "read_at", &item->read_at) &&
                take_truth(row, "is_deleted", &item->is_deleted);
    if (fine && delivered)
        fine = take_moment(row, "created_at", &item->at) && take_truth(row, "is_read", &is_read);
    if (!is_read)
        item->read_at = 0;
    return fine;
}

/* The cursor of the next page, escaped; "" at the end. False: it is none, or leads nowhere. */
static bool take_cursor(struct ask_http *http, const json_t *json, char cursor[CURSOR_MAX])
{
    const json_t *value = json_object_get(json, "next_cursor");
    const char *text = json_string_value(value);
    char *escaped = text && *text ? curl_easy_escape(http->easy, text, 0) : NULL;
    bool goes_on = escaped && strlen(escaped) < CURSOR_MAX && strcmp(escaped, cursor) != 0;
    if (goes_on)
        snprintf(cursor, CURSOR_MAX, "%s", escaped);
    else
        *cursor = '\0';
    curl_free(escaped);
    return goes_on || json_is_null(value);
}

/* ---- Inboxes ----------------------------------------------------------------------------------- */

/* A path with `query` and the length of a page. A server may allow shorter pages alone: then it says how long they are. */
static json_t *get_page(struct ask_http *http, uint64_t user, const char *list, const char *query)
{
    char path[PATH_MAX_BYTES];
    long status = 0;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s?%s%s", list, query, http->own_pages ? "" : "&limit=100");
        status = http_ask(http, user, path);
        if (status != STATUS_INVALID || http->own_pages)
            break;
        http->own_pages = true;
    }
    if (status == STATUS_OK)
        return http_parse(http, path);
    fail_status(http, path, status);
    return NULL;
}

static bool add_rows(struct ask_http *http, struct legacy_inbox *inbox, const json_t *rows,
                     bool delivered)
{
    struct legacy_item item;
    size_t n = json_array_size(rows);
    if (!json_is_array(rows) || n > PAGE)
        return fail_sense(http, "items");
    for (size_t i = 0; i < n; i++) {
        if (!take_item(json_array_get(rows, i), delivered, &item))
            return fail_sense(http, "an item");
        if (!legacy_inbox_add(inbox, &item))
            return ask_fail(&http->ask, "memory is short");
    }
    return true;
}

/* All pages of the inbox, or of the history. A list that gives nothing and goes on has so many pages at most. */
static bool add_list(struct ask_http *http, struct legacy_inbox *inbox, const char *list,
                     bool delivered)
{
    enum { PAGES_MAX = INBOX_MAX };
    char cursor[CURSOR_MAX] = "", query[CURSOR_MAX + 16] = "";
    size_t before = inbox->n;
    for (size_t i = 0; i < PAGES_MAX && inbox->n - before < INBOX_MAX; i++) {
        if (*cursor)
            snprintf(query, sizeof query, "cursor=%s", cursor);
        json_t *page = get_page(http, inbox->user, list, query);
        if (!page)
            return false;
        bool fine = add_rows(http, inbox, json_object_get(page, "items"), delivered);
        if (fine && !take_cursor(http, page, cursor))
            fine = fail_sense(http, "next_cursor");
        json_decref(page);
        if (!fine || !*cursor)
            return fine;
    }
    return true;
}

static bool take_unread(struct ask_http *http, struct legacy_inbox *inbox, const json_t *json)
{
    const json_t *rows = json_object_get(json, "authors");
    size_t n = json_array_size(rows);
    if (!take_number(json, "total", 0, &inbox->total) || !json_is_array(rows))
        return fail_sense(http, "unread counts");
    inbox->counts = calloc(n + 1, sizeof *inbox->counts);
    if (!inbox->counts)
        return ask_fail(&http->ask, "memory is short");
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, i);
        struct legacy_count *count = &inbox->counts[i];
        if (!take_number(row, "user_id", 1, &count->author) ||
            !take_number(row, "unread", 0, &count->unread) ||
            !take_truth(row, "following", &count->following))
            return fail_sense(http, "an author's unread count");
    }
    inbox->n_counts = n;
    return true;
}

static bool add_unread(struct ask_http *http, struct legacy_inbox *inbox)
{
    json_t *json = http_get(http, inbox->user, "/v1/inbox/unread");
    bool fine = json && take_unread(http, inbox, json);
    json_decref(json);
    return fine;
}

/* ---- Posts ------------------------------------------------------------------------------------- */

static bool take_members(struct ask_http *http, const json_t *rows, const uint64_t *posts, size_t n,
                         uint64_t *found)
{
    if (json_array_size(rows) != n)
        return fail_sense(http, "posts");
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *key = json_object_get(row, "key");
        uint64_t post;
        if (!take_number(row, "id", 1, &post) || post != posts[i])
            return fail_sense(http, "a post");
        found[i] = post;
        if (json_is_string(key))
            found[i] = legacy_member(post, json_string_value(key), json_string_length(key));
    }
    return true;
}

/* How many of the first posts were taken; 0: it failed. */
static size_t look_some(struct ask_http *http, const uint64_t *posts, size_t n, uint64_t *found)
{
    char path[PATH_MAX_BYTES] = "/v1/posts?ids=";
    if (n > http->ids_most)
        n = http->ids_most;
    for (size_t i = 0, len = strlen(path); i < n; i++)
        len +=
            (size_t)snprintf(path + len, sizeof path - len, "%s%" PRIu64, i ? "," : "", posts[i]);
    long status = http_ask(http, 0, path);
    if (status == STATUS_INVALID && n > 1) { /* a server may take fewer */
        http->ids_most = (n + 1) / 2;
        return look_some(http, posts, n, found);
    }
    json_t *json = status == STATUS_OK ? http_parse(http, path) : NULL;
    if (status != STATUS_OK)
        fail_status(http, path, status);
    bool fine = json && take_members(http, json_object_get(json, "items"), posts, n, found);
    json_decref(json);
    return fine ? n : 0;
}

static bool http_look(struct ask *ask, const uint64_t *posts, size_t n, uint64_t *found)
{
    struct ask_http *http = (struct ask_http *)ask;
    size_t some = 1;
    for (size_t i = 0; i < n && some; i += some)
        some = look_some(http, posts + i, n - i, found + i);
    return some > 0;
}

/* ---- The source -------------------------------------------------------------------------------- */

static bool http_inboxes(struct ask *ask, const uint64_t *users, size_t n,
                         struct legacy_inbox *inboxes)
{
    struct ask_http *http = (struct ask_http *)ask;
    (void)users;
    for (size_t i = 0; i < n; i++) {
        struct legacy_inbox *inbox = &inboxes[i];
        if (!add_list(http, inbox, "/v1/inbox", true))
            return false;
        size_t n_delivered = inbox->n;
        if (!add_list(http, inbox, "/v1/history", false) || !add_unread(http, inbox))
            return false;
        if (!legacy_inbox_unite(inbox, n_delivered))
            return ask_fail(ask, "memory is short");
        if (!members_name(&http->members, inbox->items, inbox->n, http_look, ask))
            return false;
    }
    return true;
}

/* Each id must be greater than the one before: so the walk ends, whatever the server says. */
static bool take_users(struct ask_http *http, const json_t *json, uint64_t after, size_t most,
                       uint64_t *users, size_t *n)
{
    const json_t *rows = json_object_get(json, "user_ids");
    if (!json_is_array(rows) || json_array_size(rows) > most)
        return fail_sense(http, "users");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_int_t id = json_integer_value(json_array_get(rows, i));
        if (id < 1 || id > ID_MAX || (uint64_t)id <= after)
            return fail_sense(http, "a user");
        after = users[i] = (uint64_t)id;
    }
    *n = json_array_size(rows);
    return true;
}

static bool http_users(struct ask *ask, uint64_t after, size_t most, uint64_t *users, size_t *n)
{
    struct ask_http *http = (struct ask_http *)ask;
    char query[64];
    assert(most >= PAGE);
    snprintf(query, sizeof query, "after=%" PRIu64, after);
    json_t *json = get_page(http, 0, "/v1/users/ids", query);
    bool fine = json && take_users(http, json, after, most, users, n);
    json_decref(json);
    return fine;
}

static void http_free(struct ask *ask)
{
    struct ask_http *http = (struct ask_http *)ask;
    curl_easy_cleanup(http->easy);
    buf_release(&http->answer);
    free(http);
}

static const struct ask_table ask_http_table = {
    .users = http_users,
    .inboxes = http_inboxes,
    .free = http_free,
};

struct ask *ask_http_new(const struct ask_http_options *options)
{
    struct ask_http *http = calloc(1, sizeof *http);
    if (!http)
        return NULL;
    http->ask.table = &ask_http_table;
    http->options = *options;
    http->ids_most = PAGE;
    http->easy = curl_easy_init();
    buf_init(&http->answer, ANSWER_MAX);
    if (http->easy && http_set_up(http))
        return &http->ask;
    http_free(&http->ask);
    return NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * The only file that knows http-parser (2.9.4, unmaintained; llhttp takes its place where
 * packaged). The library splits the head into its parts. What it lets through is tightened around
 * it:
 *
 *   before it  bare LF, folded lines, control characters, bare CR
 *   after it   several spaces in the request line, versions other than 1.0 and 1.1, targets, Host,
 *              Content-Length and Transfer-Encoding, Connection, Expect
 *
 * Bodies are not its business at all: it skips over chunk extensions whatever they contain, and its
 * sizes have 64 bits. An Upgrade is ignored, as RFC 9110 lets one (section 7.8).
 */
#include "http/parser.h"

#include <http_parser.h>
#include <string.h>
#include <strings.h>

#include "base/octets.h"

/* ---- Finding the end of a head ------------------------------------------------------------- */

enum http_scan_result http_scan_head(struct http_scan *scan, const char *bytes, size_t n,
                                     size_t *skip, size_t *used)
{
    size_t at = 0;
    *skip = 0;
    while (at < n) {
        if (scan->line == 0) {
            char first = bytes[at];
            bool begins_method = first >= 'A' && first <= 'Z';
            if (scan->lines == 0 ? !begins_method && first != '\r' : first == ' ' || first == '\t')
                return HTTP_SCAN_BAD;
        }
        const char *lf = memchr(bytes + at, '\n', n - at);
        if (!lf) {
            scan->line += n - at;
            scan->last = bytes[n - 1];
            break;
        }
        size_t end = (size_t)(lf - bytes);
        if ((end > at ? bytes[end - 1] : scan->last) != '\r')
            return HTTP_SCAN_BAD;
        bool empty = scan->line + end - at == 1;
        at = end + 1;
        scan->line = 0;
        scan->last = '\n';
        if (!empty) {
            scan->lines++;
        } else if (scan->lines == 0) {
            *skip = at;
        } else {
            *used = at;
            return HTTP_SCAN_DONE;
        }
    }
    *used = n;
    return HTTP_SCAN_MORE;
}

/* ---- The library's part -------------------------------------------------------------------- */

struct reading {
    const char *bytes;
    struct http_head *head;
    struct http_span target;
    size_t headers_max;
    bool value_seen; /* of the header begun last */
    bool complete;
    enum http_refusal refusal;
};

static struct http_span span_of(const struct reading *reading, const char *at, size_t n)
{
    return (struct http_span){.at = (uint16_t)(at - reading->bytes), .n = (uint16_t)n};
}

static int on_url(http_parser *parser, const char *at, size_t n)
{
    struct reading *reading = parser->data;
    if (reading->target.n)
        return 1;
    reading->target = span_of(reading, at, n);
    return 0;
}

static int on_header_field(http_parser *parser, const char *at, size_t n)
{
    struct reading *reading = parser->data;
    struct http_head *head = reading->head;
    if (head->n_headers == reading->headers_max) {
        reading->refusal = HTTP_REFUSED_HEAD_TOO_LARGE;
        return 1;
    }
    head->headers[head->n_headers].name = span_of(reading, at, n);
    head->headers[head->n_headers].value = (struct http_span){0};
    head->n_headers++;
    reading->value_seen = false;
    return 0;
}

static int on_header_value(http_parser *parser, const char *at, size_t n)
{
    struct reading *reading = parser->data;
    /* The head is whole, so a second piece could only be a folded line. */
    if (reading->value_seen || reading->head->n_headers == 0)
        return 1;
    while (n && (at[n - 1] == ' ' || at[n - 1] == '\t'))
        n--;
    reading->head->headers[reading->head->n_headers - 1].value = span_of(reading, at, n);
    reading->value_seen = true;
    return 0;
}

static int on_headers_complete(http_parser *parser)
{
    struct reading *reading = parser->data;
    reading->complete = true;
    return 1; /* whatever the headers say, no body is coming from this buffer */
}

static enum http_verb verb_of(unsigned method)
{
    switch (method) {
    case HTTP_GET:
    case HTTP_HEAD:
        return HTTP_VERB_GET;
    case HTTP_POST:
        return HTTP_VERB_POST;
    case HTTP_PUT:
        return HTTP_VERB_PUT;
    case HTTP_PATCH:
        return HTTP_VERB_PATCH;
    case HTTP_DELETE:
        return HTTP_VERB_DELETE;
    case HTTP_OPTIONS:
        return HTTP_VERB_OPTIONS;
    default:
        return HTTP_VERB_OTHER;
    }
}

static enum http_refusal refusal_of(const http_parser *parser, const char *bytes, size_t n)
{
    switch (HTTP_PARSER_ERRNO(parser)) {
    case HPE_INVALID_METHOD: {
        /* A well-formed method that nobody knows is 501; anything else is noise. */
        size_t word = 0;
        while (word < n && bytes[word] >= 'A' && bytes[word] <= 'Z')
            word++;
        return word < n && bytes[word] == ' ' ? HTTP_REFUSED_NOT_IMPLEMENTED
                                              : HTTP_REFUSED_MALFORMED;
    }
    case HPE_UNEXPECTED_CONTENT_LENGTH:
    case HPE_INVALID_CONTENT_LENGTH:
        return HTTP_REFUSED_BAD_FRAMING;
    case HPE_INVALID_TRANSFER_ENCODING:
        return HTTP_REFUSED_NOT_IMPLEMENTED;
    case HPE_INVALID_URL:
    case HPE_INVALID_HOST:
    case HPE_INVALID_PORT:
    case HPE_INVALID_PATH:
        return HTTP_REFUSED_BAD_TARGET;
    default:
        return HTTP_REFUSED_MALFORMED;
    }
}

/* Splits the head; fills in what needs no judgement. */
static enum http_refusal split_head(struct reading *reading, size_t n)
{
    static const http_parser_settings settings = {
        .on_url = on_url,
        .on_header_field = on_header_field,
        .on_header_value = on_header_value,
        .on_headers_complete = on_headers_complete,
    };
    http_parser parser;
    http_parser_init(&parser, HTTP_REQUEST);
    parser.data = reading;
    http_parser_execute(&parser, &settings, reading->bytes, n);
    if (!reading->complete)
        return reading->refusal ? reading->refusal : refusal_of(&parser, reading->bytes, n);

    struct http_head *head = reading->head;
    head->method = http_method_str((enum http_method)parser.method);
    head->verb = verb_of(parser.method);
    head->is_head = parser.method == HTTP_HEAD;
    head->is_http11 = parser.http_minor == 1;
    if (parser.http_major != 1 || parser.http_minor > 1)
        return parser.http_major ? HTTP_REFUSED_VERSION : HTTP_REFUSED_MALFORMED;
    if (parser.method == HTTP_CONNECT)
        return HTTP_REFUSED_NOT_IMPLEMENTED;
    return HTTP_ACCEPTED;
}

/* ---- Judging the parts --------------------------------------------------------------------- */

/* Of eight bytes. */
static bool are_printable(const char *bytes)
{
    uint64_t word = octets_at(bytes);
    return !((word | octets_below(word, 0x20) | octets_equal(word, 0x7f)) & OCTETS_TOP);
}

/* No control character but TAB, and CR only before LF: the scan saw that no LF is without its CR.
 */
static bool is_clean(const char *bytes, size_t n)
{
    size_t crs = 0, lfs = 0, i = 0;
    bool bad = false;
    while (i < n) {
        if (n - i >= 8 && are_printable(bytes + i)) {
            i += 8;
            continue;
        }
        unsigned char c = (unsigned char)bytes[i++];
        crs += c == '\r';
        lfs += c == '\n';
        bad |= (c < 0x20 && c != '\t' && c != '\r' && c != '\n') || c == 0x7f;
    }
    return !bad && crs == lfs;
}

/* Exactly: method, space, target, space, version, CR LF. */
static bool is_request_line(const struct reading *reading, size_t n)
{
    size_t method = strlen(reading->head->method);
    size_t target_end = (size_t)reading->target.at + reading->target.n;
    return reading->target.at == method + 1 && reading->bytes[method] == ' ' &&
           n >= target_end + 11 && !memcmp(reading->bytes + target_end, " HTTP/1.", 8) &&
           !memcmp(reading->bytes + target_end + 9, "\r\n", 2);
}

/* Letters, digits and the characters of `others`. */
static bool has_only(const char *text, size_t n, const char *others)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        bool word = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        if (!word && (!c || !strchr(others, c)))
            return false;
    }
    return true;
}

static bool is_token(const char *text, size_t n)
{
    return n && has_only(text, n, "!#$%&'*+-.^_`|~");
}

/* Nothing, or ":" with nothing or a number of 16 bits. */
static bool is_port(const char *text, size_t n)
{
    uint32_t port = 0;
    for (size_t i = 1; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        port = port * 10 + (uint32_t)(text[i] - '0');
        if (port > UINT16_MAX)
            return false;
    }
    return n == 0 || text[0] == ':';
}

/* A host with an optional port, as in Host and in an absolute target; no user name. */
static bool is_authority(const char *text, size_t n)
{
    bool literal = n && text[0] == '[';
    const char *end = n ? memchr(text, literal ? ']' : ':', n) : NULL;
    size_t host = end ? (size_t)(end - text) + literal : n;
    if (literal)
        return end && has_only(text + 1, host - 2, ".:-_~%!$&'()*+,;=") &&
               is_port(text + host, n - host);
    return (host || !n) && has_only(text, host, ".-_~%!$&'()*+,;=") &&
           is_port(text + host, n - host);
}

static const char *find_any(const char *at, const char *end, const char *set)
{
    while (at < end && !strchr(set, *at))
        at++;
    return at;
}

/* Leaves of "http://host/path?query" what follows the host. False if it is none of ours. */
static bool pass_authority(struct reading *reading, const char **at, const char *end)
{
    size_t n = (size_t)(end - *at), scheme = 0;
    if (n > 7 && !strncasecmp(*at, "http://", 7))
        scheme = 7;
    else if (n > 8 && !strncasecmp(*at, "https://", 8))
        scheme = 8;
    const char *host = *at + scheme, *behind = find_any(host, end, "/?");
    if (!scheme || behind == host || !is_authority(host, (size_t)(behind - host)))
        return false;
    /* An empty path is "/", and there is one in front of the host. */
    if (behind == end || *behind == '?')
        reading->head->path = span_of(reading, host - 1, 1);
    *at = behind;
    return true;
}

/* Leaves "/path?query", whatever form the target has. False if it is none of ours. */
static bool take_target(struct reading *reading)
{
    struct http_head *head = reading->head;
    const char *at = reading->bytes + reading->target.at;
    const char *end = at + reading->target.n;
    for (const char *c = at; c < end; c++)
        if (*c <= 0x20 || *c >= 0x7f || *c == '#')
            return false;

    if (end - at == 1 && *at == '*') {
        head->path = span_of(reading, at, 1);
        return head->verb == HTTP_VERB_OPTIONS;
    }
    if (*at != '/' && !pass_authority(reading, &at, end))
        return false;
    const char *mark = find_any(at, end, "?");
    if (mark > at)
        head->path = span_of(reading, at, (size_t)(mark - at));
    if (mark < end) {
        head->has_query = true;
        head->query = span_of(reading, mark + 1, (size_t)(end - mark - 1));
    }
    return true;
}

/* Whether a list such as "keep-alive, Upgrade" has the word. */
static bool has_word(const char *text, size_t n, const char *word)
{
    const char *end = text + n;
    while (text < end) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        const char *stop = comma ? comma : end;
        const char *last = stop;
        while (text < last && (*text == ' ' || *text == '\t'))
            text++;
        while (last > text && (last[-1] == ' ' || last[-1] == '\t'))
            last--;
        if ((size_t)(last - text) == strlen(word) && !strncasecmp(text, word, strlen(word)))
            return true;
        text = comma ? comma + 1 : end;
    }
    return false;
}

/* Digits only, at most eighteen, so that it cannot overflow. */
static bool take_length(const char *text, size_t n, uint64_t *length)
{
    uint64_t value = 0;
    if (n == 0 || n > 18)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *length = value;
    return true;
}

/* What the headers say of connection and framing. */
struct tally {
    struct http_head *head;
    size_t hosts;
    size_t lengths;
    size_t codings;
    bool close;
    bool keep_alive;
};

static bool is_word(struct http_text text, const char *word)
{
    return text.n == strlen(word) && !strncasecmp(text.p, word, text.n);
}

static enum http_refusal take_host(struct tally *tally, struct http_text value)
{
    return tally->hosts++ || !is_authority(value.p, value.n) ? HTTP_REFUSED_BAD_HOST
                                                             : HTTP_ACCEPTED;
}

static enum http_refusal take_expect(struct tally *tally, struct http_text value)
{
    tally->head->expects_continue = is_word(value, "100-continue");
    return tally->head->expects_continue ? HTTP_ACCEPTED : HTTP_REFUSED_EXPECTATION;
}

static enum http_refusal take_connection(struct tally *tally, struct http_text value)
{
    tally->close |= has_word(value.p, value.n, "close");
    tally->keep_alive |= has_word(value.p, value.n, "keep-alive");
    return HTTP_ACCEPTED;
}

static enum http_refusal take_content_length(struct tally *tally, struct http_text value)
{
    struct http_head *head = tally->head;
    if (tally->lengths++ || !take_length(value.p, value.n, &head->length))
        return HTTP_REFUSED_BAD_FRAMING;
    head->framing = head->length ? HTTP_BODY_LENGTH : HTTP_BODY_NONE;
    return HTTP_ACCEPTED;
}

static enum http_refusal take_coding(struct tally *tally, struct http_text value)
{
    if (tally->codings++)
        return HTTP_REFUSED_BAD_FRAMING;
    return is_word(value, "chunked") ? HTTP_ACCEPTED : HTTP_REFUSED_NOT_IMPLEMENTED;
}

/* The headers that decide about the connection or the framing; all others are the handler's. */
static const struct deciding {
    struct http_text name;
    enum http_refusal (*take)(struct tally *tally, struct http_text value);
} deciding[] = {
#define ROW(text, take)               \
    {                                 \
        {text, sizeof text - 1}, take \
    }
    ROW("Host", take_host),
    ROW("Expect", take_expect),
    ROW("Connection", take_connection),
    ROW("Content-Length", take_content_length),
    ROW("Transfer-Encoding", take_coding),
#undef ROW
};

static const struct deciding *find_deciding(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof deciding / sizeof *deciding; i++)
        if (n == deciding[i].name.n && !strncasecmp(name, deciding[i].name.p, n))
            return &deciding[i];
    return NULL;
}

static struct http_text text_at(const char *bytes, struct http_span span)
{
    return (struct http_text){.p = bytes + span.at, .n = span.n};
}

static enum http_refusal take_headers(const char *bytes, struct http_head *head)
{
    struct tally tally = {.head = head};
    for (size_t i = 0; i < head->n_headers; i++) {
        struct http_text name = text_at(bytes, head->headers[i].name);
        if (!is_token(name.p, name.n))
            return HTTP_REFUSED_MALFORMED;
        const struct deciding *row = find_deciding(name.p, name.n);
        enum http_refusal refusal =
            row ? row->take(&tally, text_at(bytes, head->headers[i].value)) : HTTP_ACCEPTED;
        if (refusal)
            return refusal;
    }
    if (tally.hosts == 0 && head->is_http11)
        return HTTP_REFUSED_BAD_HOST;
    if (tally.codings) {
        if (tally.lengths || !head->is_http11)
            return HTTP_REFUSED_BAD_FRAMING;
        head->framing = HTTP_BODY_CHUNKED;
    }
    head->keep_alive = !tally.close && (head->is_http11 || tally.keep_alive);
    /* RFC 9110 section 10.1.1: a 1.0 client does not know interim answers. */
    head->expects_continue &= head->is_http11 && head->framing != HTTP_BODY_NONE;
    return HTTP_ACCEPTED;
}

enum http_refusal http_parse_head(const char *bytes, size_t n, const struct http_config *config,
                                  struct http_head *head)
{
    /* Not the headers: they are written before they are read, and clearing them is dear. */
    memset(head, 0, offsetof(struct http_head, headers));
    struct reading reading = {.bytes = bytes, .head = head, .headers_max = config->headers_max};
    if (!is_clean(bytes, n))
        return HTTP_REFUSED_MALFORMED;
    enum http_refusal refusal = split_head(&reading, n);
    if (refusal)
        return refusal;
    if (!is_request_line(&reading, n))
        return HTTP_REFUSED_MALFORMED;
    if (reading.target.n > config->target_max)
        return HTTP_REFUSED_TARGET_TOO_LONG;
    if (!take_target(&reading))
        return HTTP_REFUSED_BAD_TARGET;
    return take_headers(bytes, head);
}

/* ---- Chunked bodies ------------------------------------------------------------------------ */

/* What may stand in an extension or in a trailer's value. */
static bool is_text(char c)
{
    return ((unsigned char)c >= 0x20 && c != 0x7f) || c == '\t';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* Each of these takes one byte, and is false if that is out of place. */

static bool size_step(struct http_chunks *chunks, char c)
{
    int digit = http_hex_digit(c);
    if (digit >= 0) {
        chunks->left = chunks->left << 4 | (uint32_t)digit;
        return ++chunks->digits <= 7;
    }
    if (c == '\r')
        chunks->state = HTTP_CHUNK_SIZE_LF;
    else
        chunks->state = c == ';' ? HTTP_CHUNK_EXTENSION : HTTP_CHUNK_SPACE;
    return chunks->digits > 0 && (c == '\r' || c == ';' || is_space(c));
}

static bool extension_step(struct http_chunks *chunks, char c)
{
    chunks->extra++;
    if (chunks->state == HTTP_CHUNK_SPACE) {
        if (c == ';')
            chunks->state = HTTP_CHUNK_EXTENSION;
        return c == ';' || is_space(c);
    }
    if (c == '\r')
        chunks->state = HTTP_CHUNK_SIZE_LF;
    return c == '\r' || is_text(c);
}

static bool trailer_step(struct http_chunks *chunks, char c)
{
    chunks->extra++;
    switch (chunks->state) {
    case HTTP_CHUNK_NAME:
        if (c == ':') {
            chunks->state = HTTP_CHUNK_VALUE;
            return !find_deciding(chunks->name, chunks->name_n);
        }
        if (chunks->name_n < sizeof chunks->name)
            chunks->name[chunks->name_n++] = c;
        return is_token(&c, 1);
    case HTTP_CHUNK_VALUE:
        if (c == '\r')
            chunks->state = HTTP_CHUNK_VALUE_LF;
        return c == '\r' || is_text(c);
    case HTTP_CHUNK_VALUE_LF:
        chunks->state = HTTP_CHUNK_LINE;
        return c == '\n';
    default:
        chunks->state = c == '\r' ? HTTP_CHUNK_END_LF : HTTP_CHUNK_NAME;
        chunks->name[0] = c;
        chunks->name_n = 1;
        return c == '\r' || is_token(&c, 1);
    }
}

static bool chunk_step(struct http_chunks *chunks, char c)
{
    switch (chunks->state) {
    case HTTP_CHUNK_SIZE:
        return size_step(chunks, c);
    case HTTP_CHUNK_SPACE:
    case HTTP_CHUNK_EXTENSION:
        return extension_step(chunks, c);
    case HTTP_CHUNK_SIZE_LF:
        chunks->state = chunks->left ? HTTP_CHUNK_DATA : HTTP_CHUNK_LINE;
        return c == '\n';
    case HTTP_CHUNK_DATA_CR:
        chunks->state = HTTP_CHUNK_DATA_LF;
        return c == '\r';
    case HTTP_CHUNK_DATA_LF:
        *chunks = (struct http_chunks){.extra = chunks->extra};
        return c == '\n';
    case HTTP_CHUNK_LINE:
    case HTTP_CHUNK_NAME:
    case HTTP_CHUNK_VALUE:
    case HTTP_CHUNK_VALUE_LF:
        return trailer_step(chunks, c);
    case HTTP_CHUNK_END_LF:
        return c == '\n';
    case HTTP_CHUNK_DATA:
        break;
    }
    return false;
}

/* Data, as much as there is; false if it is more than fits. */
static bool take_data(struct http_chunks *chunks, const char *bytes, size_t n, struct buf *body,
                      size_t *taken)
{
    if (chunks->left > body->max - body->len)
        return false;
    *taken = chunks->left < n ? chunks->left : n;
    buf_append(body, bytes, *taken);
    chunks->left -= (uint32_t)*taken;
    if (chunks->left == 0)
        chunks->state = HTTP_CHUNK_DATA_CR;
    return true;
}

enum http_chunk_result http_chunks_feed(struct http_chunks *chunks, const char *bytes, size_t n,
                                        struct buf *body, size_t *used)
{
    size_t at = 0, taken;
    while (at < n) {
        if (chunks->state == HTTP_CHUNK_DATA) {
            if (!take_data(chunks, bytes + at, n - at, body, &taken))
                return HTTP_CHUNK_TOO_LARGE;
            at += taken;
            continue;
        }
        bool ends = chunks->state == HTTP_CHUNK_END_LF;
        if (!chunk_step(chunks, bytes[at++]))
            return HTTP_CHUNK_BAD;
        if (chunks->extra > HTTP_CHUNK_EXTRA_MAX)
            return HTTP_CHUNK_TOO_LARGE;
        if (ends) {
            *used = at;
            return HTTP_CHUNK_DONE;
        }
    }
    *used = n;
    return HTTP_CHUNK_MORE;
}

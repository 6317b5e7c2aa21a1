/* SPDX-License-Identifier: MIT */
/*
 * The grammar of requests: where a head ends, what it says, and how its body is framed. Pure
 * functions of bytes; no connection, no clock. Only parser.c knows which library reads the head.
 *
 * The head is collected first (http_scan_head) and parsed when it is whole (http_parse_head): so
 * limits are exact, everything it says points into one run of bytes, and a slow sender costs no
 * parser state.
 *
 * Everything that two servers could read in two ways is refused, since one of them may stand in
 * front of this one: that is what request smuggling lives on.
 */
#ifndef HTTP_PARSER_H
#define HTTP_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/http.h"

/* ---- Finding the end of a head ------------------------------------------------------------- */

struct http_scan {
    size_t line;  /* bytes of the line begun, with its CR */
    size_t lines; /* whole lines seen, but for empty ones before the first */
    char last;    /* the last byte seen */
};

enum http_scan_result { HTTP_SCAN_MORE, HTTP_SCAN_DONE, HTTP_SCAN_BAD };

/*
 * Looks at the next n bytes of a head. DONE: it ends behind *used bytes. MORE: all n belong to it.
 * BAD: a line that does not end in CR LF, a folded header, or a first byte that begins no method.
 * *skip is how many of the bytes are empty lines before the request line, which are not part of the
 * head.
 */
enum http_scan_result http_scan_head(struct http_scan *scan, const char *bytes, size_t n,
                                     size_t *skip, size_t *used);

/* ---- What a head says ---------------------------------------------------------------------- */

/* A part of the head, as offsets: a head has at most 64 KB. */
struct http_span {
    uint16_t at;
    uint16_t n;
};

enum http_framing { HTTP_BODY_NONE, HTTP_BODY_LENGTH, HTTP_BODY_CHUNKED };

struct http_head {
    enum http_verb verb;
    const char *method;
    bool is_head; /* the method is HEAD */
    bool is_http11;
    bool keep_alive;
    bool expects_continue;
    bool has_query;
    enum http_framing framing;
    uint64_t length; /* HTTP_BODY_LENGTH */
    struct http_span path;
    struct http_span query;
    size_t n_headers;
    struct {
        struct http_span name;
        struct http_span value;
    } headers[HTTP_HEADERS_MAX];
};

/*
 * Parses a whole head of at most 65535 bytes. HTTP_ACCEPTED, or why it is refused; *head is then to
 * be used only for `method`, which is NULL if not even that is known.
 */
enum http_refusal http_parse_head(const char *bytes, size_t n, const struct http_config *config,
                                  struct http_head *head);

/* The value of a hexadecimal digit, or -1. */
static inline int http_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ---- Chunked bodies ------------------------------------------------------------------------ */

enum http_chunk_state {
    HTTP_CHUNK_SIZE,
    HTTP_CHUNK_SPACE, /* behind the size: an extension must follow */
    HTTP_CHUNK_EXTENSION,
    HTTP_CHUNK_SIZE_LF,
    HTTP_CHUNK_DATA,
    HTTP_CHUNK_DATA_CR,
    HTTP_CHUNK_DATA_LF,
    HTTP_CHUNK_LINE, /* behind the last chunk: a trailer, or the end */
    HTTP_CHUNK_NAME,
    HTTP_CHUNK_VALUE,
    HTTP_CHUNK_VALUE_LF,
    HTTP_CHUNK_END_LF,
};

/* Bytes of extensions and trailers in one body; of a trailer's name, enough to know it by. */
enum { HTTP_CHUNK_EXTRA_MAX = 16384, HTTP_CHUNK_NAME_MAX = 24 };

/* All zero is the beginning. */
struct http_chunks {
    enum http_chunk_state state;
    uint32_t left; /* of the chunk's data, or the size read so far */
    unsigned digits;
    uint32_t extra; /* bytes of extensions and trailers so far */
    uint32_t name_n;
    char name[HTTP_CHUNK_NAME_MAX]; /* of the trailer begun last */
};

enum http_chunk_result { HTTP_CHUNK_MORE, HTTP_CHUNK_DONE, HTTP_CHUNK_BAD, HTTP_CHUNK_TOO_LARGE };

/*
 * Decodes the next n bytes of a chunked body into `body`, whose maximum is the limit. DONE: it
 * ended behind *used bytes. Chunk extensions and trailers are passed over, up to
 * HTTP_CHUNK_EXTRA_MAX bytes of them (TOO_LARGE). They are where decoders differ, so their lines are
 * held to what the RFC says of ends of lines, names and control characters; and a trailer that would
 * decide something in a head is refused.
 */
enum http_chunk_result http_chunks_feed(struct http_chunks *chunks, const char *bytes, size_t n,
                                        struct buf *body, size_t *used);

#endif

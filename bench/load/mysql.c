/* SPDX-License-Identifier: MIT */
/*
 * The seeds' relations on MariaDB, over its own protocol: one statement or procedure a step
 * (bench/mariadb/schema.sql). The user is `bench`, without a password.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "load.h"

enum { HEAD = 4, COM_QUERY = 3, MORE_RESULTS = 8, GREETING_MAX = 512 };

/* Long password, 4.1 protocol, database named, transactions, 4.1 passwords, multi-results, plugin. */
enum { CAPABILITIES = 0x1 | 0x200 | 0x8 | 0x2000 | 0x8000 | 0x20000 | 0x80000 };

static void packet(struct buf *out, unsigned char serial, const void *bytes, size_t n)
{
    unsigned char head[HEAD] = {(unsigned char)n, (unsigned char)(n >> 8), (unsigned char)(n >> 16),
                                serial};
    buf_append(out, head, sizeof head);
    buf_append(out, bytes, n);
}

static bool read_packet(int fd, unsigned char *bytes, size_t max, size_t *n)
{
    size_t got = 0, want = HEAD;
    while (got < want) {
        ssize_t r = read(fd, bytes + got, want - got);
        if (r <= 0)
            return false;
        got += (size_t)r;
        if (got == HEAD && want == HEAD)
            want += bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16;
        if (want > max)
            return false;
    }
    *n = got;
    return true;
}

static bool greet(int fd)
{
    unsigned char bytes[GREETING_MAX] = {0};
    static const char tail[] = "bench\0\0tidings\0mysql_native_password";
    size_t n;
    struct buf body, out;
    if (!read_packet(fd, bytes, sizeof bytes, &n) || bytes[HEAD] != 10)
        return false;
    memset(bytes, 0, sizeof bytes);
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(CAPABILITIES >> (8 * i));
    bytes[7] = 1;  /* packets of 16 MB */
    bytes[8] = 45; /* utf8mb4 */
    buf_init(&body, GREETING_MAX);
    buf_init(&out, GREETING_MAX);
    buf_append(&body, bytes, 32);
    buf_append(&body, tail, sizeof tail);
    packet(&out, 1, body.data, body.len);
    bool ok = write_all(fd, out.data, out.len) && read_packet(fd, bytes, sizeof bytes, &n) &&
              bytes[HEAD] == 0;
    buf_release(&body);
    buf_release(&out);
    if (!ok)
        fprintf(stderr, "tidings-load: the database refuses the user bench\n");
    return ok;
}

static bool build(const struct target *target, const struct step *step, struct buf *out)
{
    char query[512] = {COM_QUERY};
    int n = 0;
    (void)target;
    if (step->verb == VERB_FOLLOW)
        n = snprintf(query + 1, sizeof query - 1, "CALL %s(%" PRIu64 ",%" PRIu64 ")",
                     step->undo ? "unfollow" : "follow", step->user, step->author);
    else if (step->verb == VERB_FOLLOWING)
        n = snprintf(query + 1, sizeof query - 1,
                     "SELECT to_user_id,created_at FROM following WHERE from_user_id=%" PRIu64
                     " AND rel_status=1 ORDER BY created_at DESC,to_user_id DESC LIMIT 20",
                     step->user);
    else if (step->verb == VERB_COUNTERS)
        n = snprintf(query + 1, sizeof query - 1,
                     "SELECT * FROM user_counters WHERE user_id=%" PRIu64, step->user);
    if (n)
        packet(out, 0, query, (size_t)n + 1);
    return n;
}

/* ---- Reading -------------------------------------------------------------------------------- */

struct reader {
    const unsigned char *at, *end;
};

/* The body of the next packet; false if it is not whole yet. */
static bool next(struct reader *reader, const unsigned char **body, size_t *n)
{
    if (reader->end - reader->at < HEAD)
        return false;
    *n = reader->at[0] | (size_t)reader->at[1] << 8 | (size_t)reader->at[2] << 16;
    *body = reader->at + HEAD;
    if ((size_t)(reader->end - *body) < *n || !*n)
        return false;
    reader->at = *body + *n;
    return true;
}

static bool is_eof(const unsigned char *body, size_t n)
{
    return *body == 0xfe && n < 9;
}

/* Skips packets up to the end of a list; its flags. */
static bool skip_list(struct reader *reader, unsigned *flags)
{
    const unsigned char *body;
    size_t n;
    do
        if (!next(reader, &body, &n))
            return false;
    while (!is_eof(body, n));
    *flags = n >= 5 ? body[3] : 0;
    return true;
}

/* One result: an OK, an error, or columns and rows. 1 more follow, 0 it was the last, -1 not whole. */
static int skip_result(struct reader *reader, int *status)
{
    const unsigned char *body;
    unsigned flags = 0;
    size_t n;
    if (!next(reader, &body, &n))
        return -1;
    if (*body == 0xff) {
        *status = 500;
        return 0;
    }
    if (*body == 0)
        flags = n >= 4 ? body[3] : 0; /* behind the two small counts of an OK */
    else if (!skip_list(reader, &flags) || !skip_list(reader, &flags))
        return -1;
    return flags & MORE_RESULTS ? 1 : 0;
}

static ssize_t parse(const char *bytes, size_t n, struct reply *reply)
{
    struct reader reader = {(const unsigned char *)bytes, (const unsigned char *)bytes + n};
    int more;
    reply->status = 200;
    reply->body = bytes;
    do
        more = skip_result(&reader, &reply->status);
    while (more > 0);
    if (more < 0)
        return 0;
    reply->n = (size_t)(reader.at - (const unsigned char *)bytes);
    return (ssize_t)reply->n;
}

const struct protocol protocol_mysql = {
    .name = "mysql",
    .greet = greet,
    .build = build,
    .parse = parse,
};

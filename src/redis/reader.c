/* SPDX-License-Identifier: MIT */
#include "redis/reader.h"

#include <string.h>

enum { ERROR_TEXT_MAX = 200 };

/* NULL makes the parser give up. */
static void *take(struct reader *reader, size_t n)
{
    if (n > READER_REPLY_MAX - reader->taken)
        return NULL;
    reader->taken += n;
    return arena_alloc(&reader->arena, n);
}

static struct redisReply *new_reply(const redisReadTask *task, int type)
{
    struct redisReply *reply = take(task->privdata, sizeof *reply);
    if (!reply)
        return NULL;
    *reply = (struct redisReply){.type = type};
    if (task->parent) {
        struct redisReply *parent = task->parent->obj;
        parent->element[task->idx] = reply;
    }
    return reply;
}

/* A line for people, whatever the server has sent. */
static void make_line(struct redisReply *error)
{
    if (error->len > ERROR_TEXT_MAX)
        error->len = ERROR_TEXT_MAX;
    error->str[error->len] = '\0';
    for (size_t i = 0; i < error->len; i++)
        if ((unsigned char)error->str[i] < 0x20 || (unsigned char)error->str[i] >= 0x7f)
            error->str[i] = '?';
}

static void *new_string(const redisReadTask *task, char *text, size_t n)
{
    struct reader *reader = task->privdata;
    struct redisReply *reply = new_reply(task, task->type);
    if (!reply || n >= READER_REPLY_MAX || !(reply->str = take(reader, n + 1)))
        return NULL;
    if (n)
        memcpy(reply->str, text, n);
    reply->str[n] = '\0';
    reply->len = n;
    if (task->type == REDIS_REPLY_ERROR) {
        make_line(reply);
        if (!reader->error)
            reader->error = reply;
    }
    return reply;
}

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

static void *new_array(const redisReadTask *task, element_count n)
{
    size_t count = (size_t)n, depth = 1;
    for (const redisReadTask *above = task->parent; above; above = above->parent)
        depth++;
    if (depth > READER_DEPTH_MAX || count > READER_REPLY_MAX / sizeof(struct redisReply))
        return NULL;
    struct redisReply *reply = new_reply(task, REDIS_REPLY_ARRAY);
    if (!reply || !(reply->element = take(task->privdata, count * sizeof *reply->element)))
        return NULL;
    memset(reply->element, 0, count * sizeof *reply->element);
    reply->elements = count;
    return reply;
}

static void *new_integer(const redisReadTask *task, long long value)
{
    struct redisReply *reply = new_reply(task, REDIS_REPLY_INTEGER);
    if (reply)
        reply->integer = value;
    return reply;
}

static void *new_nil(const redisReadTask *task)
{
    return new_reply(task, REDIS_REPLY_NIL);
}

/* They go with their arena. */
static void free_nothing(void *reply)
{
    (void)reply;
}

#if HIREDIS_MAJOR >= 1
/* Of a version of the protocol that nobody asked for. */
static void *no_double(const redisReadTask *task, double value, char *text, size_t n)
{
    (void)task, (void)value, (void)text, (void)n;
    return NULL;
}

static void *no_bool(const redisReadTask *task, int value)
{
    (void)task, (void)value;
    return NULL;
}
#endif

static redisReplyObjectFunctions makers = {
    .createString = new_string,
    .createArray = new_array,
    .createInteger = new_integer,
    .createNil = new_nil,
    .freeObject = free_nothing,
#if HIREDIS_MAJOR >= 1
    .createDouble = no_double,
    .createBool = no_bool,
#endif
};

void reader_init(struct reader *reader)
{
    *reader = (struct reader){0};
    arena_init(&reader->arena, READER_REPLIES_MAX);
}

void reader_release(struct reader *reader)
{
    reader_stop(reader);
    arena_release(&reader->arena);
}

bool reader_start(struct reader *reader)
{
    reader_stop(reader);
    reader->parser = redisReaderCreateWithFunctions(&makers);
    if (reader->parser)
        reader->parser->privdata = reader;
    return reader->parser;
}

void reader_stop(struct reader *reader)
{
    if (reader->parser)
        redisReaderFree(reader->parser);
    reader->parser = NULL;
    reader->taken = 0;
    reader->error = NULL;
}

bool reader_feed(struct reader *reader, const char *bytes, size_t n)
{
    const redisReader *parser = reader->parser;
    return parser->len - parser->pos <= READER_REPLY_MAX &&
           redisReaderFeed(reader->parser, bytes, n) == REDIS_OK;
}

enum reader_state reader_next(struct reader *reader, const struct redisReply **reply,
                              const struct redisReply **error)
{
    void *whole = NULL;
    if (redisReaderGetReply(reader->parser, &whole) != REDIS_OK)
        return READER_BROKEN;
    if (!whole)
        return READER_MORE;
    *reply = whole;
    *error = reader->error;
    reader->taken = 0;
    reader->error = NULL;
    return READER_REPLY;
}

void reader_forget(struct reader *reader)
{
    /* The parser may hold the first half of an answer that nobody waits for. */
    if (!reader->taken)
        arena_clear(&reader->arena);
}

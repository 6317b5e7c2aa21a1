/* SPDX-License-Identifier: MIT */
#include "redis/told.h"

#include <string.h>

#include "redis/redis.h"

enum told told_kind(const char *error, size_t n)
{
    static const struct {
        const char *word;
        enum told kind;
    } table[] = {
        {"MOVED", TOLD_MOVED},        {"ASK", TOLD_ASK},
        {"TRYAGAIN", TOLD_TRY_AGAIN}, {"CLUSTERDOWN", TOLD_DOWN},
        {"LOADING", TOLD_NOT_YET},    {"MASTERDOWN", TOLD_NOT_YET},
        {"BUSY", TOLD_NOT_YET},       {"READONLY", TOLD_READ_ONLY},
        {"NOSCRIPT", TOLD_NO_SCRIPT},
    };
    const char *space = memchr(error, ' ', n);
    size_t word_n = space ? (size_t)(space - error) : n;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i].word) == word_n && !memcmp(error, table[i].word, word_n))
            return table[i].kind;
    return TOLD_NO;
}

bool told_redirection(const char *error, size_t n, const char *same_host, uint16_t *slot,
                      struct address *to)
{
    const char *end = error + n;
    const char *at = memchr(error, ' ', n);
    unsigned number = 0;
    if (!at || ++at == end || *at < '0' || *at > '9')
        return false;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (unsigned)(*at - '0');
        if (number >= REDIS_SLOTS)
            return false;
    }
    if (at == end || *at++ != ' ' ||
        !redis_address_parse_told(at, (size_t)(end - at), same_host, to))
        return false;
    *slot = (uint16_t)number;
    return true;
}

bool told_single(const char *error, size_t n)
{
    static const char *const texts[] = {"cluster support disabled", "unknown command",
                                        "unknown subcommand", "Unknown subcommand"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (memmem(error, n, texts[i], strlen(texts[i])))
            return true;
    return false;
}

static bool is_slot(const struct redisReply *reply)
{
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0 &&
           reply->integer < REDIS_SLOTS;
}

/* [host or nil, port, ...]. A host that is nil is that of whoever says it; "" and "?" are not known as yet. */
static bool read_node(const struct redisReply *node, const char *same_host, bool *has,
                      struct address *to)
{
    if (node->type != REDIS_REPLY_ARRAY || node->elements < 2)
        return false;
    const struct redisReply *host = node->element[0], *port = node->element[1];
    if (port->type != REDIS_REPLY_INTEGER || port->integer < 0 || port->integer > UINT16_MAX)
        return false;
    if (host->type != REDIS_REPLY_NIL && host->type != REDIS_REPLY_STRING)
        return false;
    const char *name = host->type == REDIS_REPLY_NIL ? same_host : host->str;
    size_t n = host->type == REDIS_REPLY_NIL ? strlen(same_host) : host->len;
    *has = port->integer && n && !(n == 1 && *name == '?');
    if (!*has)
        return true;
    if (!redis_address_is_host(name, n))
        return false;
    memcpy(to->host, name, n);
    to->host[n] = '\0';
    to->port = (uint16_t)port->integer;
    return true;
}

bool told_range(const struct redisReply *element, const char *same_host, struct told_range *to)
{
    struct told_range range = {0};
    if (element->type != REDIS_REPLY_ARRAY || element->elements < 3)
        return false;
    const struct redisReply *first = element->element[0], *last = element->element[1];
    if (!is_slot(first) || !is_slot(last) || first->integer > last->integer)
        return false;
    if (!read_node(element->element[2], same_host, &range.has_master, &range.master))
        return false;
    range.first = (uint16_t)first->integer;
    range.last = (uint16_t)last->integer;
    range.replicas = (unsigned)(element->elements - 3);
    *to = range;
    return true;
}

bool told_run_id(const struct redisReply *info, char id[RUN_ID_MAX + 1])
{
    static const char name[] = "\r\nrun_id:";
    if (info->type != REDIS_REPLY_STRING)
        return false;
    const char *at = memmem(info->str, info->len, name, sizeof name - 1);
    if (!at)
        return false;
    at += sizeof name - 1;
    const char *end = info->str + info->len;
    size_t n = 0;
    while (at + n < end && strchr("0123456789abcdef", at[n]) && at[n])
        n++;
    if (!n || n > RUN_ID_MAX || at + n == end || at[n] != '\r')
        return false;
    memcpy(id, at, n);
    id[n] = '\0';
    return true;
}

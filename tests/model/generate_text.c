/* SPDX-License-Identifier: MIT */
#include "generate.h"

#include <string.h>

#include "model.h"

/* One character in one to four bytes, including the first and last of each length. */
static const char *const characters[] = {"a",
                                         "b",
                                         "c",
                                         "z",
                                         " ",
                                         "\n",
                                         "0",
                                         "9",
                                         "[",
                                         "]",
                                         "\"",
                                         "\\",
                                         "\x01",
                                         "\x7f",
                                         "\xc2\x80",
                                         "\xc3\xa9",
                                         "\xdf\xbf",
                                         "\xe0\xa0\x80",
                                         "\xe4\xb8\xad",
                                         "\xe6\x96\x87",
                                         "\xed\x9f\xbf",
                                         "\xee\x80\x80",
                                         "\xef\xbf\xbf",
                                         "\xf0\x90\x80\x80",
                                         "\xf0\x9f\x98\x80",
                                         "\xf4\x8f\xbf\xbf"};

/* What bodies are made of: tags that pair up, and tags that do not. */
static const char *const pieces[] = {"[img]",
                                     "[/img]",
                                     "[img]http://p/1.png[/img]",
                                     "[img][/img]",
                                     "[img]javascript:x[/img]",
                                     "[IMG]",
                                     "[/img",
                                     "hello ",
                                     "\xe4\xbd\xa0\xe5\xa5\xbd"};

static const struct {
    const char *p;
    size_t n;
} broken[] = {
    {"\0", 1},               /* NUL */
    {"\xc0\x80", 2},         /* NUL, overlong */
    {"\xc1\xbf", 2},         /* overlong */
    {"\xe0\x9f\xbf", 3},     /* overlong */
    {"\xf0\x8f\xbf\xbf", 4}, /* overlong */
    {"\xed\xa0\x80", 3},     /* surrogate */
    {"\xed\xbf\xbf", 3},     /* surrogate */
    {"\xf4\x90\x80\x80", 4}, /* beyond U+10FFFF */
    {"\xf8\x88\x80\x80\x80", 5},
    {"\xff", 1},
    {"\x80", 1},     /* nothing to go on */
    {"\xe4\xb8", 2}, /* cut short */
    {"\xc3", 1},
    {"\xf0\x9f\x98", 3},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct tidings_text generate_characters(struct generator *g, uint64_t n)
{
    char *p = recording_room(g->recording, n * 4 + 1);
    size_t bytes = 0;

    for (uint64_t i = 0; i < n; i++) {
        /* Plain letters most of the time, or reports would be unreadable. */
        const char *c =
            characters[rng_below(&g->rng, rng_percent(&g->rng, 80) ? 4 : COUNT(characters))];

        memcpy(p + bytes, c, strlen(c));
        bytes += strlen(c);
    }
    p[bytes] = '\0';
    return (struct tidings_text){p, bytes};
}

struct tidings_text generate_body(struct generator *g, uint64_t bytes)
{
    char *p = recording_room(g->recording, bytes + 1);
    size_t n = 0;

    while (n < bytes) {
        const char *piece = rng_percent(&g->rng, 25)
                                ? pieces[rng_below(&g->rng, COUNT(pieces))]
                                : characters[rng_below(&g->rng, COUNT(characters))];

        if (strlen(piece) > bytes - n)
            piece = "x";
        memcpy(p + n, piece, strlen(piece));
        n += strlen(piece);
    }
    p[n] = '\0';
    return (struct tidings_text){p, n};
}

/* Mostly short, sometimes as long as it may be. */
static uint64_t some_length(struct generator *g, uint64_t least, uint64_t usual, uint64_t most)
{
    if (rng_percent(&g->rng, 3) || usual > most)
        return rng_percent(&g->rng, 30) ? most : rng_between(&g->rng, least, most);
    return rng_between(&g->rng, least, usual);
}

struct tidings_text generate_title(struct generator *g)
{
    return generate_characters(g, some_length(g, 1, 12, g->recording->settings.title_max));
}

/* Names that are the same without case, or begin as another does. */
static const char *const names[] = {"Ann",
                                    "ann",
                                    "ANNA",
                                    "Anne",
                                    "anne b",
                                    "小林",
                                    "小明",
                                    "Éva",
                                    "éva",
                                    "ÉVARISTE",
                                    "ЯНА",
                                    "Яна",
                                    "яна",
                                    "ΣΣ",
                                    "σς",
                                    "Bob",
                                    "bob \xf0\x9f\x98\x80",
                                    "zoe"};

struct tidings_text generate_name(struct generator *g)
{
    if (rng_percent(&g->rng, 60)) {
        const char *name = names[rng_below(&g->rng, COUNT(names))];

        if (model_characters((struct tidings_text){name, strlen(name)}) <=
            (long)g->recording->settings.name_max)
            return (struct tidings_text){name, strlen(name)};
    }
    return generate_characters(g, some_length(g, 0, 4, g->recording->settings.name_max));
}

struct tidings_text generate_avatar(struct generator *g)
{
    static const char *const hosts[] = {"http://p/", "https://a.example/?",
                                        "HTTPS://\xe7\x8c\xab#"};
    const char *host = hosts[rng_below(&g->rng, COUNT(hosts))];
    size_t most = some_length(g, 0, 40, g->recording->settings.avatar_max);
    size_t at = strlen(host);

    if (at > most)
        return (struct tidings_text){"", 0};
    char *url = recording_room(g->recording, most + 1);
    memcpy(url, host, at);
    for (; at < most; at++)
        url[at] = "abc/.-_~?=&0123456789"[rng_below(&g->rng, 21)];
    url[most] = '\0';
    return (struct tidings_text){url, most};
}

struct tidings_text generate_bad_url(struct generator *g)
{
    static const char *const urls[] = {"javascript:alert(1)",
                                       "data:text/html,x",
                                       "//a.example/",
                                       "/a.png",
                                       "a.png",
                                       "http://",
                                       "https:///a",
                                       "http:a",
                                       "http://:80/",
                                       "ftp://a/",
                                       "http://a b/",
                                       "http://u@a/",
                                       "http://a/\"onerror=",
                                       "http://a/<b>",
                                       " http://a/",
                                       "http://a\\b/"};
    const char *url = urls[rng_below(&g->rng, COUNT(urls))];

    return (struct tidings_text){url, strlen(url)};
}

struct tidings_text generate_comment(struct generator *g)
{
    return generate_characters(g, some_length(g, 1, 10, g->recording->settings.comment_max));
}

struct tidings_text generate_any_body(struct generator *g)
{
    uint64_t most = g->recording->settings.body_max;

    if (rng_percent(&g->rng, 15))
        return (struct tidings_text){rng_percent(&g->rng, 50) ? "" : NULL, 0};
    /* A whole body of the greatest size now and then, but not so often as to fill the disk. */
    if (rng_below(&g->rng, g->large_body_every) == 0)
        return generate_body(g, most);
    return generate_body(g, rng_between(&g->rng, 1, most < 400 ? most : 400));
}

struct tidings_text generate_bad_text(struct generator *g, uint64_t most)
{
    struct tidings_text good = generate_characters(g, rng_below(&g->rng, 6));
    size_t kind = rng_below(&g->rng, COUNT(broken) + 2);
    size_t at = rng_percent(&g->rng, 50) ? good.n : 0;
    char *p;

    if (kind >= COUNT(broken))
        return generate_characters(g, most + 1);
    p = recording_room(g->recording, good.n + broken[kind].n + 1);
    memcpy(p, good.p, at);
    memcpy(p + at, broken[kind].p, broken[kind].n);
    memcpy(p + at + broken[kind].n, good.p + at, good.n - at + 1);
    return (struct tidings_text){p, good.n + broken[kind].n};
}

static const char *const objects[] = {
    "{}", "{ }", "{\"a\":1}", "{\"tags\":[\"x\",\"\xe4\xb8\xad\"],\"n\":{\"deep\":[[null,true]]}}",
    "\n{\"a\" : -1.5e3}\t"};
static const char *const no_objects[] = {"",           "[]",         "null",        "\"{}\"",
                                         "{\"a\":1,}", "{\"a\":\"}", "{\"a\":1}{}", "{\"a\":\xff}"};

/* An object of so many bytes, most of them spaces. */
static struct tidings_text padded_object(struct generator *g, size_t bytes)
{
    char *p = recording_room(g->recording, bytes + 1);

    memset(p, ' ', bytes);
    memcpy(p, "{}", 2);
    p[bytes] = '\0';
    return (struct tidings_text){p, bytes};
}

struct tidings_text generate_extra(struct generator *g)
{
    const char *object = objects[rng_below(&g->rng, COUNT(objects))];

    if (rng_percent(&g->rng, 70))
        return (struct tidings_text){NULL, 0};
    if (rng_percent(&g->rng, 5))
        return padded_object(g, TIDINGS_EXTRA_MAX);
    return (struct tidings_text){object, strlen(object)};
}

struct tidings_text generate_bad_extra(struct generator *g)
{
    const char *other = no_objects[rng_below(&g->rng, COUNT(no_objects))];

    if (rng_percent(&g->rng, 20))
        return padded_object(g, TIDINGS_EXTRA_MAX + 1);
    return (struct tidings_text){other, strlen(other)};
}

/* The model knows no JSON: it knows what was made up here. */
bool model_extra_ok(struct tidings_text extra)
{
    for (size_t i = 0; i < COUNT(no_objects); i++) {
        if (extra.n == strlen(no_objects[i]) && memcmp(extra.p, no_objects[i], extra.n) == 0)
            return false;
    }
    return extra.n <= TIDINGS_EXTRA_MAX;
}

/* SPDX-License-Identifier: MIT */
/*
 * Addresses from arbitrary bytes: what is taken for one of the web must be one to libcurl's parser, too, with a host, without
 * user and password, and must not end an attribute.
 */
// sources: src/domain/url.c src/base/utf8.c
// libs: -lcurl
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "domain/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

static bool has(CURLU *url, CURLUPart part)
{
    char *text = NULL;
    bool found = curl_url_get(url, part, &text, 0) == CURLUE_OK && *text;
    curl_free(text);
    return found;
}

/* libcurl reads the numbers of IPv6 addresses, which this rule does not. */
static void check_as_curl_has_it(const char *text)
{
    char *scheme = NULL;
    CURLU *url = curl_url();
    CHECK(url);
    if (!strchr(text, '[') || !curl_url_set(url, CURLUPART_URL, text, 0)) {
        CHECK(!curl_url_set(url, CURLUPART_URL, text, 0));
        CHECK(!curl_url_get(url, CURLUPART_SCHEME, &scheme, 0));
        CHECK(!strcasecmp(scheme, "http") || !strcasecmp(scheme, "https"));
        CHECK(has(url, CURLUPART_HOST) && !has(url, CURLUPART_USER) &&
              !has(url, CURLUPART_PASSWORD));
    }
    curl_free(scheme);
    curl_url_cleanup(url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t characters;
    if (!utf8_check((const char *)data, size, &characters) ||
        !url_is_web((struct tidings_text){(const char *)data, size}))
        return 0;
    char *text = malloc(size + 1);
    CHECK(text);
    memcpy(text, data, size);
    text[size] = '\0';
    CHECK(strlen(text) == size && !strpbrk(text, " \t\r\n\"<>\\`"));
    check_as_curl_has_it(text);
    free(text);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * One HTTP call to one receiver. Of the answer only the status counts; its body is thrown away, and
 * no more of it is read than CALL_BODY_MAX. One thread.
 *
 * The address is checked in the function that opens libcurl's sockets, which is given the very bytes
 * that it will connect to. So nothing can change between the check and the connecting, whatever a
 * name server answers the next time; a name that is checked and then looked up again could.
 */
#ifndef PUSH_CALL_H
#define PUSH_CALL_H

#include <curl/curl.h>

#include "base/buf.h"
#include "push/rules.h"
#include "tidings.h"

enum { CALL_BODY_MAX = 64 * 1024, CALL_HEAD_MAX = 16 * 1024, CALL_ERROR_MAX = 128 };

struct call {
    CURL *easy; /* NULL until it is first needed */
    struct curl_slist *headers;
    const struct push_rules *rules;
    struct buf body;
    bool under_way;
    bool trusted;  /* any address will do */
    bool refused;  /* an address was neither public nor allowed */
    bool cut;      /* the answer's body was too long */
    bool flooded;  /* the answer's head was too long */
    size_t body_n; /* bytes of the answer so far */
    size_t head_n;
};

/* What is called, and how. Texts end with NUL and outlive the call. */
struct call_target {
    const struct push_rules *rules;
    const char *ca_file; /* NULL: the system's */
    uint64_t timeout_ms;
    const char *url;
    const char *secret;
    const char *old_secret; /* NULL: none */
    bool by_tag;            /* see message_body */
    void *owner;            /* CURLINFO_PRIVATE of the handle */
};

void call_init(struct call *call);

/* Not while it is under way. */
void call_release(struct call *call);

/* Begins; libcurl's handle tells when it is done. NULL, or why it cannot be made, a static text. */
const char *call_start(struct call *call, CURLM *multi, const struct call_target *target,
                       const struct tidings_event *event, uint32_t attempt);

/* Ends what is under way, done or not. */
void call_end(struct call *call, CURLM *multi);

/* After it is done, before call_end: whether the receiver took it; if not, what went wrong. */
bool call_succeeded(struct call *call, CURLcode code, char error[CALL_ERROR_MAX]);

#endif

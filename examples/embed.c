/* SPDX-License-Identifier: MIT */
/* Tidings in a program of your own: follow, publish, open, count. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tidings.h>

static struct tidings *tidings;
static struct tidings_answer answer;

static void run(struct tidings_op op)
{
    if (tidings_run(tidings, &op, &answer)) {
        fprintf(stderr, "failed: %s\n", tidings_err_text(answer.err));
        exit(1);
    }
}

static struct tidings_text text(const char *s)
{
    return (struct tidings_text){s, strlen(s)};
}

int main(int argc, char **argv)
{
    enum { ANN = 1, BOB = 2 };
    struct tidings_options options;
    const char *message;
    tidings_options_init(&options);
    options.dir = argc > 1 ? argv[1] : "embed-data";
    options.mysql = argc > 2 ? argv[2] : NULL; /* mysql://...: one of several servers */
    if (tidings_open(&options, &tidings, &message)) {
        fprintf(stderr, "cannot open %s: %s\n", options.dir, message);
        return 1;
    }
    tidings_answer_init(&answer);

    run((struct tidings_op){.kind = TIDINGS_OP_FOLLOW, .user_id = BOB, .u.relation.user_id = ANN});
    run((struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                            .user_id = ANN,
                            .u.publish = {TIDINGS_NOTE, text("Hello"), text("First post!")}});
    uint64_t post = answer.u.post.id;
    run((struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = BOB});
    printf("Bob has %" PRIu64 " unread\n", answer.u.badge.total);
    run((struct tidings_op){.kind = TIDINGS_OP_OPEN, .user_id = BOB, .u.post.post_id = post});
    printf("Bob reads \"%s\": %s\n", answer.u.open.post.title.p, answer.u.open.post.body.p);
    printf("Bob has %" PRIu64 " unread\n", answer.u.open.unread_total);

    tidings_answer_release(&answer);
    tidings_close(tidings);
    return 0;
}

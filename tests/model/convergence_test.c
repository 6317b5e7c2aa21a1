/* SPDX-License-Identifier: MIT */
/*
 * Where a reader stopped must not depend on the order in which the devices' writes arrive.
 *
 *   convergence_test [--seed N] [--rounds N]
 *
 * Each round makes up a set of writes of several devices: positions, deletes and clears, with times
 * so close together that many are the same. Several users get all of it, each in an order of its
 * own and some of it twice, as after a lost answer. In the end all see the same, and so does a client
 * of each that only ever asked what had changed.
 */
#include "random.h"
#include "support/engine.h"
#include "tidings.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    STORIES = 4,
    SCENES = 3, /* of each story */
    MESSAGES = 3,
    READERS_HERE = 8, /* who get the same writes */
    WRITES = 40,
    AUTHOR = 1,
    FIRST_READER = 100,
};

#define NOW_MS INT64_C(1770000000000)

struct place {
    uint64_t scene_id;
    uint64_t message_ids[MESSAGES];
};

struct test {
    struct tidings *engine;
    struct tidings_answer answer;
    struct rng rng;
    uint64_t stories[STORIES];
    struct place places[STORIES][SCENES];
    uint64_t next_reader;
    uint64_t records; /* seen in the end, over all rounds */
    uint64_t empty;   /* rounds after which nothing was left */
};

/* What a client has: at most one record a story, by the story's number. */
struct copy {
    struct tidings_reading rows[STORIES];
    uint64_t version;
};

static bool run(struct test *test, const struct tidings_op *op)
{
    enum tidings_err err = tidings_run(test->engine, op, &test->answer);

    if (err != TIDINGS_OK)
        printf("operation %d: %s %s\n", (int)op->kind, tidings_err_code(err),
               test->answer.field ? test->answer.field : "");
    return err == TIDINGS_OK;
}

static struct tidings_op op_of(enum tidings_op_kind kind, uint64_t user)
{
    return (struct tidings_op){.kind = kind, .user_id = user, .now_ms = NOW_MS};
}

/* ---- The stories --------------------------------------------------------------------------- */

static bool make_scene(struct test *test, uint64_t story_id, struct place *place)
{
    struct tidings_message messages[MESSAGES];
    struct tidings_op op = op_of(TIDINGS_OP_SCENE_PUBLISH, AUTHOR);

    for (size_t i = 0; i < MESSAGES; i++)
        messages[i] = (struct tidings_message){0, {"m", 1}};
    op.u.scene.story_id = story_id;
    op.u.scene.title = (struct tidings_text){"s", 1};
    op.u.scene.messages = messages;
    op.u.scene.n_messages = MESSAGES;
    if (!run(test, &op))
        return false;
    place->scene_id = test->answer.u.scene.id;
    for (size_t i = 0; i < MESSAGES; i++)
        place->message_ids[i] = test->answer.u.scene.messages[i].id;
    return true;
}

static bool make_stories(struct test *test)
{
    for (size_t i = 0; i < STORIES; i++) {
        struct tidings_op op = op_of(TIDINGS_OP_PUBLISH, AUTHOR);

        op.u.publish.kind = TIDINGS_STORY;
        op.u.publish.title = (struct tidings_text){"t", 1};
        if (!run(test, &op))
            return false;
        test->stories[i] = test->answer.u.post.id;
        for (size_t j = 0; j < SCENES; j++) {
            if (!make_scene(test, test->stories[i], &test->places[i][j]))
                return false;
        }
    }
    return true;
}

/* ---- The writes ---------------------------------------------------------------------------- */

static struct tidings_op some_write(struct test *test, int64_t span_ms)
{
    struct rng *rng = &test->rng;
    struct tidings_op op = op_of(TIDINGS_OP_READING_SET, 0);
    size_t story = rng_below(rng, STORIES);
    const struct place *place = &test->places[story][rng_below(rng, SCENES)];
    unsigned way = (unsigned)rng_below(rng, 100);

    op.u.reading.modified_at = NOW_MS - (int64_t)rng_below(rng, (uint64_t)span_ms);
    if (way < 6)
        op.kind = TIDINGS_OP_READING_CLEAR;
    else
        op.u.reading.story_id = test->stories[story];
    if (way >= 6 && way < 20)
        op.kind = TIDINGS_OP_READING_DELETE;
    if (way >= 40)
        op.u.reading.scene_id = place->scene_id;
    if (way >= 50)
        op.u.reading.message_id = place->message_ids[rng_below(rng, MESSAGES)];
    return op;
}

static void shuffle(struct test *test, struct tidings_op *ops, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = rng_below(&test->rng, i);
        struct tidings_op op = ops[i - 1];

        ops[i - 1] = ops[j];
        ops[j] = op;
    }
}

/* ---- A client ------------------------------------------------------------------------------ */

static size_t number_of(const struct test *test, uint64_t story_id)
{
    size_t i = 0;

    while (i < STORIES && test->stories[i] != story_id)
        i++;
    return i;
}

static bool put_row(struct test *test, struct copy *copy, struct tidings_reading row)
{
    size_t i = number_of(test, row.story_id);

    row.title = (struct tidings_text){NULL, 0};
    if (i < STORIES)
        copy->rows[i] = row;
    return i < STORIES;
}

static bool ask_for_changes(struct test *test, uint64_t user, struct copy *copy)
{
    struct tidings_op op = op_of(TIDINGS_OP_READING, user);
    const struct tidings_answer *answer = &test->answer;

    op.u.readings.delta = true;
    do {
        op.u.readings.since = copy->version;
        op.u.readings.page.limit = (uint32_t)rng_between(&test->rng, 1, 3);
        if (!run(test, &op))
            return false;
        for (size_t i = 0; i < answer->u.readings.n_deleted; i++) {
            size_t number = number_of(test, answer->u.readings.deleted[i]);

            if (number == STORIES)
                return false;
            copy->rows[number] = (struct tidings_reading){0};
        }
        for (size_t i = 0; i < answer->u.readings.n; i++) {
            if (!put_row(test, copy, answer->u.readings.rows[i]))
                return false;
        }
        copy->version = answer->u.readings.version;
    } while (answer->u.readings.more);
    return true;
}

static bool ask_for_list(struct test *test, uint64_t user, struct copy *copy)
{
    struct tidings_op op = op_of(TIDINGS_OP_READING, user);

    if (!run(test, &op))
        return false;
    for (size_t i = 0; i < test->answer.u.readings.n; i++) {
        if (!put_row(test, copy, test->answer.u.readings.rows[i]))
            return false;
    }
    return true;
}

static bool same_rows(const struct copy *a, const struct copy *b)
{
    for (size_t i = 0; i < STORIES; i++) {
        const struct tidings_reading *x = &a->rows[i];
        const struct tidings_reading *y = &b->rows[i];

        if (x->story_id != y->story_id || x->scene_id != y->scene_id ||
            x->message_id != y->message_id || x->modified_at != y->modified_at)
            return false;
    }
    return true;
}

/* ---- Rounds -------------------------------------------------------------------------------- */

/* Delivers the writes to the user in the order they stand in; *list is what the user sees then. */
static bool deliver(struct test *test, uint64_t user, const struct tidings_op *ops, size_t n,
                    struct copy *list)
{
    struct copy client = {.version = 0};

    for (size_t i = 0; i < n; i++) {
        struct tidings_op op = ops[i];

        op.user_id = user;
        if (!run(test, &op))
            return false;
        op = ops[rng_below(&test->rng, i + 1)];
        op.user_id = user;
        if (rng_percent(&test->rng, 15) && !run(test, &op))
            return false;
        if (rng_percent(&test->rng, 30) && !ask_for_changes(test, user, &client))
            return false;
    }
    memset(list, 0, sizeof *list);
    if (!ask_for_list(test, user, list) || !ask_for_changes(test, user, &client))
        return false;
    if (!same_rows(list, &client))
        printf("a client that asked for changes has something else than the list\n");
    return same_rows(list, &client);
}

static void print_writes(const struct tidings_op *ops, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("  %s story %" PRIu64 " scene %" PRIu64 " message %" PRIu64 " at now-%" PRId64 "\n",
               ops[i].kind == TIDINGS_OP_READING_SET      ? "set   "
               : ops[i].kind == TIDINGS_OP_READING_DELETE ? "delete"
                                                          : "clear ",
               ops[i].u.reading.story_id, ops[i].u.reading.scene_id, ops[i].u.reading.message_id,
               NOW_MS - ops[i].u.reading.modified_at);
}

static bool play_round(struct test *test)
{
    struct tidings_op ops[WRITES];
    size_t n = rng_between(&test->rng, 1, WRITES);
    int64_t span_ms = (int64_t)rng_between(&test->rng, 2, rng_percent(&test->rng, 50) ? 6 : 1000);
    struct copy first;
    size_t left = 0;

    for (size_t i = 0; i < n; i++)
        ops[i] = some_write(test, span_ms);
    for (unsigned i = 0; i < READERS_HERE; i++) {
        struct copy list;

        if (!deliver(test, test->next_reader++, ops, n, &list)) {
            print_writes(ops, n);
            return false;
        }
        if (i > 0 && !same_rows(&first, &list)) {
            printf("two orders of the same writes, two outcomes; in the second order:\n");
            print_writes(ops, n);
            return false;
        }
        first = list;
        shuffle(test, ops, n);
    }
    for (size_t i = 0; i < STORIES; i++)
        left += first.rows[i].story_id != 0;
    test->records += left;
    test->empty += left == 0;
    return true;
}

/* ---- The program --------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static bool play(struct test *test, uint64_t rounds, const char *dir)
{
    struct tidings_options options;
    const char *message = NULL;
    bool ok;

    tidings_options_init(&options);
    options.dir = dir;
    options.settings.map_mb = 1024;
    if (engine_open(&options, &test->engine, &message) != TIDINGS_OK) {
        printf("tidings_open: %s\n", message ? message : "");
        return false;
    }
    tidings_answer_init(&test->answer);
    test->next_reader = FIRST_READER;
    ok = make_stories(test);
    for (uint64_t i = 0; ok && i < rounds; i++)
        ok = play_round(test);
    printf("%" PRIu64 " rounds, %" PRIu64 " records left, %" PRIu64 " rounds left none\n", rounds,
           test->records, test->empty);
    /* A test in which nothing ever stays, or nothing ever goes, would prove nothing. */
    if (ok && rounds >= 20 && (test->records == 0 || test->empty == 0)) {
        printf("that proves nothing\n");
        ok = false;
    }
    tidings_answer_release(&test->answer);
    tidings_close(test->engine);
    return ok;
}

int main(int argc, char **argv)
{
    struct test test = {0};
    uint64_t seed = (uint64_t)time(NULL) * 100000 + (uint64_t)getpid() % 100000;
    uint64_t rounds = 400;
    const char *tmp = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    char dir[64];
    bool ok;

    for (int i = 1; i < argc; i += 2) {
        uint64_t number = i + 1 < argc ? strtoull(argv[i + 1], NULL, 10) : 0;

        if (strcmp(argv[i], "--seed") == 0) {
            seed = number;
        } else if (strcmp(argv[i], "--rounds") == 0) {
            rounds = number;
        } else {
            fprintf(stderr, "usage: convergence_test [--seed N] [--rounds N]\n");
            return 2;
        }
    }
    printf("%s --seed %" PRIu64 " --rounds %" PRIu64 "\n", argv[0], seed, rounds);
    rng_seed(&test.rng, seed);
    snprintf(dir, sizeof dir, "%s/tidings-convergence-XXXXXX", tmp);
    if (mkdtemp(dir) == NULL) {
        perror(dir);
        return EXIT_FAILURE;
    }
    ok = play(&test, rounds, dir);
    nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    printf("%d passed, %d failed\n", ok, !ok);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: MIT */
#include "world.h"

#include "invariants.h"
#include "model.h"
#include "recording.h"
#include "support/engine.h"
#include "support/replica.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A lease may be lost where all threads share two cores with others; whoever asks waits until somebody has it again. */
enum { PATIENT_MS = 60000, AGED_MOST = 20, READ_AHEAD_ALWAYS = 2 };

int64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Engines --------------------------------------------------------------------------------- */

static bool world_open_server(struct world *world, unsigned i, bool is_first)
{
    const char *message = NULL;
    char beside[5100];
    enum tidings_err err;

    snprintf(beside, sizeof beside, "%s-%u", world->options.dir, i);
    err = is_first ? engine_open(&world->options, &world->engines[i], &message)
                   : engine_open_beside(&world->options, i ? beside : world->options.dir,
                                        &world->engines[i], &message);
    if (err != TIDINGS_OK)
        world_fail(world, "tidings_open: %s: %s", tidings_err_code(err), message ? message : "");
    return err == TIDINGS_OK;
}

bool world_open(struct world *world, const char *dir, uint64_t seed,
                const struct tidings_settings *settings)
{
    bool ok = true;

    memset(world, 0, sizeof *world);
    world->seed = seed;
    world->servers = engine_servers(SERVERS_MOST);
    pthread_mutex_init(&world->print_lock, NULL);
    tidings_options_init(&world->options);
    world->options.settings = *settings;
    if (world->servers > 1) {
        world->options.settings.deadline_ms = PATIENT_MS;
        if (seed % 2)
            world->options.settings.read_ahead = READ_AHEAD_ALWAYS;
    }
    world->options.dir = dir;
    for (unsigned i = 0; ok && i < world->servers; i++)
        ok = world_open_server(world, i, i == 0);
    return ok;
}

void world_close(struct world *world)
{
    for (unsigned i = 0; i < world->servers; i++) {
        tidings_close(world->engines[i]);
        world->engines[i] = NULL;
    }
    pthread_mutex_destroy(&world->print_lock);
}

bool world_reopen(struct world *world)
{
    bool ok = true;

    for (unsigned i = 0; ok && i < world->servers; i++) {
        tidings_close(world->engines[i]);
        world->engines[i] = NULL;
        ok = world_open_server(world, i, world->servers == 1);
    }
    return ok;
}

/* The facts of an engine are those of the first one. */
static bool world_same(struct world *world, unsigned i)
{
    size_t n = 0, m = 0;
    char why[256] = "";
    bool same = replica_await(world->engines[0], world->engines[i], why);
    char *first = same ? replica_export(world->engines[0], &n) : NULL;
    char *other = same ? replica_export(world->engines[i], &m) : NULL;

    same = first && other && n == m && memcmp(first, other, n) == 0;
    if (!same)
        world_fail(world, "server %u has other facts than the first %s", i, why);
    free(first);
    free(other);
    return same;
}

bool world_verify(struct world *world)
{
    for (unsigned i = 0; i < world->servers; i++) {
        struct tidings_verify verify = {.report = stdout};
        enum tidings_err err = tidings_verify(world->engines[i], &verify);

        if (err != TIDINGS_OK || verify.differences != 0)
            world_fail(world, "verify of server %u: %s, %" PRIu64 " differences", i,
                       tidings_err_code(err), verify.differences);
        else if (i)
            world_same(world, i);
    }
    return !atomic_load(&world->failed);
}

struct tidings *seat_engine(struct seat *seat)
{
    unsigned servers = seat->world->servers;

    return seat->world->engines[servers > 1 ? rng_below(&seat->rng, servers) : 0];
}

/* ---- The world --------------------------------------------------------------------------------- */

bool world_goes_on(struct world *world)
{
    return !atomic_load(&world->failed) && monotonic_ns() < world->end_ns;
}

void world_fail(struct world *world, const char *format, ...)
{
    va_list args;

    pthread_mutex_lock(&world->print_lock);
    va_start(args, format);
    printf("    ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    atomic_store(&world->failed, true);
    pthread_mutex_unlock(&world->print_lock);
}

void seat_init(struct seat *seat, struct world *world, unsigned kind, unsigned number)
{
    memset(seat, 0, sizeof *seat);
    seat->world = world;
    seat->number = number;
    rng_seed(&seat->rng, world->seed * 1000 + kind * 100 + number);
    tidings_answer_init(&seat->answer);
}

void seat_release(struct seat *seat)
{
    tidings_answer_release(&seat->answer);
}

struct tidings_op op_of(enum tidings_op_kind kind, uint64_t viewer)
{
    return (struct tidings_op){.kind = kind, .user_id = viewer};
}

/* Errors that another thread's doing can bring about. */
static bool may_fail(enum tidings_op_kind kind, enum tidings_err err)
{
    switch (kind) {
    case TIDINGS_OP_OPEN:
    case TIDINGS_OP_POST:
    case TIDINGS_OP_DELETE:
    case TIDINGS_OP_EDIT:
    case TIDINGS_OP_SCENE_PUBLISH: /* stories, too, may be gone */
    case TIDINGS_OP_SCENE_EDIT:
    case TIDINGS_OP_SCENE_DELETE:
    case TIDINGS_OP_SCENES:
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_SUBSCRIBERS:
        return err == TIDINGS_DELETED;
    case TIDINGS_OP_REACT:
        return err == TIDINGS_DELETED;
    case TIDINGS_OP_MARK_READ:
    case TIDINGS_OP_MARK_UNREAD:
        return err == TIDINGS_NOT_FOUND;
    default:
        return false;
    }
}

static bool as_of_goes_on(struct seat *seat, const struct tidings_op *op)
{
    const struct tidings_moment *as_of = answer_as_of(op->kind, &seat->answer);

    if (as_of == NULL)
        return true;
    if (!engine_went_on(&seat->as_of, as_of)) {
        world_fail(
            seat->world, "as_of went back from %s of user %" PRIu64 " to %s of user %" PRIu64,
            op_name(seat->as_of_op.kind), seat->as_of_op.user_id, op_name(op->kind), op->user_id);
        return false;
    }
    seat->as_of = *as_of;
    seat->as_of_op = *op;
    return true;
}

/* A list that is older than its question is not exact, and says so: then it is asked for again. */
static enum tidings_err seat_run(struct seat *seat, const struct tidings_op *op)
{
    for (unsigned i = 0; i < AGED_MOST; i++) {
        int64_t began_ns = monotonic_ns();
        enum tidings_err err = tidings_run(seat_engine(seat), op, &seat->answer);
        int64_t took_ms = (monotonic_ns() - began_ns) / 1000000;

        if (err != TIDINGS_OK || model_op_writes(op->kind) || seat->answer.age_ms <= took_ms + 2)
            return err;
    }
    world_fail(seat->world, "%s of user %" PRIu64 ": answers are never exact", op_name(op->kind),
               op->user_id);
    return TIDINGS_UNREACHABLE;
}

bool ask(struct seat *seat, const struct tidings_op *op)
{
    struct world *world = seat->world;
    enum tidings_err err = seat_run(seat, op);
    struct report report = {0};

    atomic_fetch_add(&world->answers, 1);
    if (err != TIDINGS_OK && !may_fail(op->kind, err))
        world_fail(world, "%s of user %" PRIu64 ": %s %s", op_name(op->kind), op->user_id,
                   tidings_err_code(err), seat->answer.field ? seat->answer.field : "");
    if (!invariants_hold(&world->options.settings, op, &seat->answer, &report)) {
        world_fail(world, "%s of user %" PRIu64 ": %s", op_name(op->kind), op->user_id,
                   report.text);
        return false;
    }
    return err == TIDINGS_OK && as_of_goes_on(seat, op);
}

/* ---- Paging -------------------------------------------------------------------------------- */

/* The id of a row, and a number that must not go up from row to row. */
struct row {
    uint64_t id;
    uint64_t order;
};

static size_t rows_of(const struct tidings_op *op, const struct tidings_answer *answer)
{
    if (op->kind == TIDINGS_OP_INBOX || op->kind == TIDINGS_OP_AUTHOR_PAGE)
        return answer->u.feed.n;
    return op->kind == TIDINGS_OP_HISTORY ? answer->u.history.n : answer->u.users.n;
}

static struct row row_of(const struct tidings_op *op, const struct tidings_answer *answer, size_t i)
{
    switch (op->kind) {
    case TIDINGS_OP_INBOX:
    case TIDINGS_OP_AUTHOR_PAGE:
        return (struct row){answer->u.feed.rows[i].post_id, answer->u.feed.rows[i].post_id};
    case TIDINGS_OP_HISTORY:
        return (struct row){answer->u.history.rows[i].post_id,
                            (uint64_t)answer->u.history.rows[i].read_at};
    default:
        return (struct row){answer->u.users.rows[i].user_id,
                            (uint64_t)answer->u.users.rows[i].since};
    }
}

static struct tidings_page *page_of(struct tidings_op *op)
{
    if (op->kind == TIDINGS_OP_INBOX || op->kind == TIDINGS_OP_AUTHOR_PAGE)
        return &op->u.feed.page;
    return op->kind == TIDINGS_OP_HISTORY ? &op->u.page : &op->u.users.page;
}

/* Every id seen on the way, to find one that comes twice. */
struct seen {
    uint64_t *ids;
    size_t n;
    size_t room;
    uint64_t last_order;
};

static bool see(struct seat *seat, const struct tidings_op *op, struct seen *seen, struct row row)
{
    bool by_post = op->kind == TIDINGS_OP_INBOX || op->kind == TIDINGS_OP_AUTHOR_PAGE;

    if (seen->n > 0 &&
        (row.order > seen->last_order || (by_post && row.order == seen->last_order))) {
        world_fail(seat->world, "%s of user %" PRIu64 ": %" PRIu64 " after %" PRIu64,
                   op_name(op->kind), op->user_id, row.order, seen->last_order);
        return false;
    }
    seen->last_order = row.order;
    /* Lists by post id go strictly downwards, which is proof enough, and they can be long. */
    for (size_t i = 0; !by_post && i < seen->n; i++) {
        if (seen->ids[i] == row.id) {
            world_fail(seat->world, "%s of user %" PRIu64 ": %" PRIu64 " comes twice",
                       op_name(op->kind), op->user_id, row.id);
            return false;
        }
    }
    if (seen->n == seen->room) {
        seen->room = seen->room * 2 + 64;
        seen->ids = realloc(seen->ids, seen->room * sizeof *seen->ids);
    }
    seen->ids[seen->n++] = row.id;
    return true;
}

bool page_through(struct seat *seat, struct tidings_op op, unsigned most,
                  void (*row)(void *ctx, uint64_t id), void *ctx)
{
    struct seen seen = {0};
    struct tidings_page *page = page_of(&op);
    bool ok = true;

    do {
        page->limit = (uint32_t)rng_between(&seat->rng, 1, most > 20 ? 100 : 20);
        ok = ask(seat, &op);
        for (size_t i = 0; ok && i < rows_of(&op, &seat->answer); i++) {
            struct row it = row_of(&op, &seat->answer, i);

            ok = see(seat, &op, &seen, it);
            if (row != NULL)
                row(ctx, it.id);
        }
        page->after = answer_next(op.kind, &seat->answer);
    } while (ok && --most > 0 && (page->after.a != 0 || page->after.b != 0));
    free(seen.ids);
    return ok;
}

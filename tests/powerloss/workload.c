/* SPDX-License-Identifier: MIT */
/*
 * The workload: the script's changes, many of them in flight at once so that they make batches, in an
 * order that is known, since one thread submits them. Another thread reads meanwhile. Now and then the
 * engine is closed and opened again.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/random.h"
#include "powerloss.h"

enum {
    IN_FLIGHT_MAX = 48,
    SESSIONS = 3,
    SLOW_SESSION = 1, /* of those with durability = second */
    SLOW_MS = 3500,   /* it takes so long, and ... */
    IDLE_MS = 1200,   /* ... once does nothing for so long: together more than a change may wait */
    AT_ONCE = 8,
    IMAGE_BYTES = 1 << 20,
    WAITS_MAX = 60
};

/* How a session leaves the directory to the next. */
enum leaving { LEFT_IN_ORDER, LEFT_KILLED, LEFT_WITHOUT_IMAGE };
static const enum leaving leavings[SESSIONS] = {LEFT_KILLED, LEFT_WITHOUT_IMAGE, LEFT_IN_ORDER};

struct slot {
    struct tidings_call call;
    struct tidings_answer answer;
    struct flight *flight;
    size_t number;
    atomic_bool done;
};

struct flight {
    struct tidings *engine;
    struct slot slots[IN_FLIGHT_MAX];
    pthread_mutex_t mutex;
    pthread_cond_t landed;
    size_t begin; /* those from here ... */
    size_t end;   /* ... to here are in flight */
    atomic_bool over;
    unsigned waits;
    uint64_t reader_id;
    pthread_t submitter;
};

static _Noreturn void give_up(const char *what, enum tidings_err err)
{
    fprintf(stderr, "workload: %s: %s\n", what, tidings_err_code(err));
    _exit(EXIT_FAILURE);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void done(struct tidings_call *call)
{
    struct slot *slot = call->ctx;
    struct flight *flight = slot->flight;
    bool by_writer = !pthread_equal(pthread_self(), flight->submitter);
    if (by_writer && slot->number % 4 == 0)
        shim_look();
    shim_mark((uint64_t)now_ms(), MARK_TIME);
    shim_mark(slot->number, MARK_ACKNOWLEDGED);
    pthread_mutex_lock(&flight->mutex);
    atomic_store(&slot->done, true);
    pthread_cond_signal(&flight->landed);
    pthread_mutex_unlock(&flight->mutex);
}

/* Nothing is wrong with the storage here, so nothing may be said of it. A kept answer may be too old by
 * now: later changes, which are under way, have moved the clock by days. */
static bool is_sane(const struct tidings_op *op, enum tidings_err err)
{
    if (err == TIDINGS_UNCERTAIN)
        return op->once != NULL;
    return err != TIDINGS_BUSY && err != TIDINGS_NO_SPACE && err != TIDINGS_IO &&
           err != TIDINGS_CORRUPT && err != TIDINGS_NO_MEMORY && err != TIDINGS_CLOSED;
}

static void land_one(struct flight *flight)
{
    struct slot *slot = &flight->slots[flight->begin % IN_FLIGHT_MAX];
    pthread_mutex_lock(&flight->mutex);
    while (!atomic_load(&slot->done))
        pthread_cond_wait(&flight->landed, &flight->mutex);
    pthread_mutex_unlock(&flight->mutex);
    enum tidings_err err = tidings_finish(flight->engine, &slot->call);
    if (!is_sane(slot->call.op, err))
        give_up(op_name(slot->call.op->kind), err);
    tidings_answer_release(&slot->answer);
    flight->begin++;
}

/* Opening what is read already, or not there, goes past the changes that are still waiting. */
static bool must_wait(const struct flight *flight, const struct tidings_op *op)
{
    if (op->kind != TIDINGS_OP_OPEN)
        return false;
    for (size_t i = flight->begin; i < flight->end; i++) {
        const struct tidings_op *earlier = flight->slots[i % IN_FLIGHT_MAX].call.op;
        if (earlier->user_id == op->user_id || earlier->kind == TIDINGS_OP_PUBLISH)
            return true;
    }
    return false;
}

static void submit(struct flight *flight, const struct tidings_op *op, size_t number)
{
    struct slot *slot = &flight->slots[flight->end % IN_FLIGHT_MAX];
    tidings_answer_init(&slot->answer);
    slot->call =
        (struct tidings_call){.op = op, .answer = &slot->answer, .done = done, .ctx = slot};
    slot->flight = flight;
    slot->number = number;
    atomic_store(&slot->done, false);
    flight->end++;
    shim_mark((uint64_t)now_ms(), MARK_TIME);
    shim_mark(number, MARK_SUBMITTED);
    tidings_submit(flight->engine, &slot->call);
}

static void *read_on(void *arg)
{
    struct flight *flight = arg;
    struct tidings_op op = {.kind = TIDINGS_OP_UNREAD, .user_id = flight->reader_id};
    struct tidings_answer answer;
    tidings_answer_init(&answer);
    while (!atomic_load(&flight->over)) {
        enum tidings_err err = tidings_run(flight->engine, &op, &answer);
        if (err)
            give_up("reading", err);
        usleep(100);
    }
    tidings_answer_release(&answer);
    return NULL;
}

/*
 * Enough of the log has piled up for a base image, which is made within a second or two: goes slowly until
 * it is there, so that it is made among changes.
 */
static void wait_for_image(struct flight *flight)
{
    struct tidings_stats stats;
    tidings_stats(flight->engine, &stats);
    if (stats.log_bytes < IMAGE_BYTES || flight->waits == WAITS_MAX)
        return;
    flight->waits++;
    usleep(30000);
}

/* The changes of the slow session come a few at a time, the last of them when its time is over. */
static void keep_pace(int64_t begin_ms, size_t done, size_t all)
{
    int64_t due_ms = begin_ms + SLOW_MS * (int64_t)done / (int64_t)all;
    if (done >= all / 2)
        due_ms += IDLE_MS;
    int64_t early_ms = due_ms - now_ms();
    if (done % AT_ONCE == 0 && early_ms > 0)
        usleep((useconds_t)early_ms * 1000);
}

/* What `state` says while the engine is open. */
struct left {
    char text[512];
    size_t n;
};

static struct left look_at_state(const char *dir)
{
    struct left left = {.n = 0};
    char path[SCRIPT_PATH];
    script_path(path, "%s/state", dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, left.text, sizeof left.text);
    if (n <= 0)
        give_up("reading state", TIDINGS_IO);
    close(fd);
    left.n = (size_t)n;
    return left;
}

/* As the engine itself would: nobody may find half of it. */
static void put_state(const char *dir, const struct left *left)
{
    char path[SCRIPT_PATH], fresh[SCRIPT_PATH];
    script_path(path, "%s/state", dir);
    script_path(fresh, "%s/state.new", dir);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, left->text, left->n) != (ssize_t)left->n || fsync(fd) || close(fd) ||
        rename(fresh, path))
        give_up("writing state", TIDINGS_IO);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd))
        give_up("writing state", TIDINGS_IO);
    close(fd);
}

/* After a proper end: as it is; as if the process had been killed, and the end of the log must be written anew; or without
 * the image, for which nothing may vouch while it is made anew. */
static void leave(const char *dir, enum leaving how, const struct left *left)
{
    char path[SCRIPT_PATH];
    script_path(path, "%s/data.mdb", dir);
    if (how == LEFT_WITHOUT_IMAGE && unlink(path))
        give_up("removing data.mdb", TIDINGS_IO);
    if (how == LEFT_KILLED)
        put_state(dir, left);
}

static void fly(const struct script *script, const struct tidings_options *options, size_t from,
                size_t to, bool slow, enum leaving how, struct rng *rng)
{
    static struct flight flight;
    pthread_t reader;
    enum tidings_err err = tidings_open(options, &flight.engine, NULL);
    if (err)
        give_up("open", err);
    flight.begin = flight.end = 0;
    flight.waits = 0;
    flight.submitter = pthread_self();
    flight.reader_id = script->recording->user_ids[0];
    atomic_store(&flight.over, false);
    pthread_mutex_init(&flight.mutex, NULL);
    pthread_cond_init(&flight.landed, NULL);
    pthread_create(&reader, NULL, read_on, &flight);
    size_t width = 1;
    int64_t begin_ms = now_ms();
    for (size_t i = from; i < to; i++) {
        const struct tidings_op *op = script->calls[i].op;
        if (i % 32 == 0)
            width = rng_between(rng, 1, IN_FLIGHT_MAX);
        if (slow)
            keep_pace(begin_ms, i - from, to - from);
        bool wait = must_wait(&flight, op);
        while (flight.end - flight.begin >= (wait ? 1 : width))
            land_one(&flight);
        submit(&flight, op, i);
        if (options->durability == TIDINGS_DURABLE_COMMIT)
            wait_for_image(&flight); /* with `second` the slow session takes long enough for one */
    }
    while (flight.begin < flight.end)
        land_one(&flight);
    atomic_store(&flight.over, true);
    pthread_join(reader, NULL);
    struct left left = look_at_state(options->dir);
    tidings_close(flight.engine);
    leave(options->dir, how, &left);
}

void use_small_files(struct tidings_settings *settings)
{
    settings->map_mb = 64;
    script_set(settings, "log_segment_mb", 1);
    script_set(settings, "snapshot_log_mb", 1);
    script_set(settings, "log_days", 1); /* so that something is removed */
}

void workload(const struct script *script, const char *dir, const char *trace, size_t from,
              bool each_second)
{
    struct tidings_options options;
    struct rng rng;
    char root[SCRIPT_PATH];
    script_path(root, "%s", dir);
    *strrchr(root, '/') = '\0'; /* the data directory itself may be lost, too */
    if (!shim_record(root, trace))
        give_up("the trace", TIDINGS_IO);
    tidings_options_init(&options);
    options.dir = dir;
    options.settings = script->recording->settings;
    use_small_files(&options.settings);
    if (each_second)
        options.durability = TIDINGS_DURABLE_SECOND;
    rng_seed(&rng, script->recording->seed);
    for (size_t i = 0; i < SESSIONS; i++) {
        size_t n = script->n - from;
        fly(script, &options, from + n * i / SESSIONS, from + n * (i + 1) / SESSIONS,
            each_second && i == SLOW_SESSION, leavings[i], &rng);
    }
    _exit(EXIT_SUCCESS);
}

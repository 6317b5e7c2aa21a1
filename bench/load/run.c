/* SPDX-License-Identifier: MIT */
/*
 * Keeps the connections busy. Two ways:
 *
 *   closed  each connection sends its next request when the last one is answered; how many are
 *           answered a second is the result.
 *   open    requests are due at fixed times, whatever the other side does. A request that is due
 *           while all connections wait is sent late, and its time counts from when it was due: a
 *           stall is paid by everybody who would have come meanwhile, not by one request.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#include "load.h"

/* How often the open loop looks for what is due. */
enum { TICK_NS = 100000, READ_BYTES = 262144, IN_MAX = 1 << 24, DRAIN_MS = 5000, LOOK_MAX = 2000 };

enum phase { LEARNING, WARMING, MEASURING, DRAINING };

struct wire {
    uv_tcp_t tcp;
    struct conn *conn;
    struct buf in;
    unsigned awaited; /* replies */
};

/* One wire, or where the protocol is split one to each port. */
struct conn {
    struct wire wires[PORTS_MAX];
    struct load *load;
    struct conn *next_idle;
    unsigned awaited;       /* replies on all wires */
    int status;             /* the worst of them */
    struct step step, undo; /* undo.verb is VERB_COUNT if there is nothing to undo */
    uint64_t due;
};

struct load {
    uv_loop_t loop;
    const struct target *target;
    const struct plan *plan;
    struct result *result;
    struct conn *conns, *idle;
    unsigned n_idle;
    enum phase phase;
    enum verb lesson;         /* LEARNING */
    uint64_t pupil, n_pupils; /* LEARNING: users asked about so far, and to be */
    uint64_t begun, due_sent; /* of this phase; requests sent that were due */
    uint64_t until;
    unsigned weight_sum;
    uv_poll_t ticker;
    int ticker_fd;
    uv_timer_t limit;
    unsigned n_wires; /* of a connection */
    struct parts out;
    struct rusage usage;
    bool failed;
    char input[READ_BYTES];
};

static void next_phase(struct load *load);

static void fail(struct load *load, const char *why)
{
    if (!load->failed)
        fprintf(stderr, "tidings-load: %s\n", why);
    load->failed = true;
    uv_stop(&load->loop);
}

/* ---- What to send --------------------------------------------------------------------------- */

static enum verb pick_verb(struct load *load)
{
    unsigned at = (unsigned)(world_random(load->target->world) % load->weight_sum);
    for (int verb = 0;; verb++) {
        if (at < load->plan->weights[verb])
            return (enum verb)verb;
        at -= load->plan->weights[verb];
    }
}

/* False: nothing is left to do in this phase. */
static bool pick_step(struct load *load, struct conn *conn)
{
    struct world *world = load->target->world;
    if (load->phase == LEARNING) {
        bool enough = load->lesson == VERB_GATHER && world->n_items == world->items_max;
        if (load->pupil == load->n_pupils || enough)
            return false;
        conn->step = (struct step){.verb = load->lesson, .user = world_pupil(world, load->pupil++)};
        return true;
    }
    enum verb verb = pick_verb(load);
    if (conn->undo.verb == verb) {
        conn->step = conn->undo;
        conn->undo.verb = VERB_COUNT;
        return true;
    }
    if (!world_next(world, verb, &conn->step)) {
        load->result->exhausted = true;
        return false;
    }
    if (verb == VERB_FOLLOW || verb == VERB_LIKE) {
        conn->undo = conn->step;
        conn->undo.undo = true;
    }
    return true;
}

static void put_idle(struct load *load, struct conn *conn)
{
    conn->next_idle = load->idle;
    load->idle = conn;
    load->n_idle++;
}

static void send_parts(struct load *load, struct conn *conn)
{
    for (unsigned i = 0; i < load->n_wires; i++) {
        struct buf *out = &load->out.to[i];
        uv_buf_t bytes = uv_buf_init(out->data, (unsigned)out->len);
        if (!out->len)
            continue;
        conn->wires[i].awaited = load->out.replies[i];
        conn->awaited += load->out.replies[i];
        if (out->failed ||
            uv_try_write((uv_stream_t *)&conn->wires[i].tcp, &bytes, 1) != (int)out->len)
            fail(load, "a request could not be sent");
    }
}

static void send_step(struct load *load, struct conn *conn, uint64_t due)
{
    const struct protocol *protocol = load->target->protocol;
    parts_clear(&load->out);
    load->out.replies[0] = !protocol->is_split;
    if (protocol->is_split ? !protocol->build_parts(load->target, &conn->step, &load->out)
                           : !protocol->build(load->target, &conn->step, &load->out.to[0])) {
        fail(load, "this protocol has no such request");
        return;
    }
    conn->due = due;
    conn->status = 0;
    send_parts(load, conn);
}

/* True if the step is not over. */
static bool send_more(struct load *load, struct conn *conn, const struct reply *reply)
{
    const struct protocol *protocol = load->target->protocol;
    parts_clear(&load->out);
    if (!protocol->more || !protocol->more(load->target, &conn->step, reply, &load->out))
        return false;
    conn->step.stage++;
    send_parts(load, conn);
    return true;
}

/* For a connection that is nowhere in a list. */
static void go_on(struct load *load, struct conn *conn)
{
    bool may_send = load->phase == LEARNING || (load->plan->rate == 0 && load->phase != DRAINING);
    if (may_send && pick_step(load, conn)) {
        send_step(load, conn, now_ns());
        return;
    }
    put_idle(load, conn);
    if (load->n_idle == load->plan->connections &&
        (load->phase == LEARNING || load->phase == DRAINING || load->result->exhausted))
        next_phase(load);
}

/* Open loop: whatever is due, as long as somebody is free. */
static void send_due(struct load *load)
{
    uint64_t now = now_ns();
    if (load->phase != WARMING && load->phase != MEASURING)
        return;
    for (;;) {
        uint64_t due = load->begun + (uint64_t)((double)load->due_sent * 1e9 / load->plan->rate);
        if (due > now || !load->idle)
            return;
        struct conn *conn = load->idle;
        load->idle = conn->next_idle;
        load->n_idle--;
        if (!pick_step(load, conn)) {
            put_idle(load, conn);
            next_phase(load);
            return;
        }
        load->due_sent++;
        load->result->late += load->phase == MEASURING && now - due > 2 * TICK_NS;
        send_step(load, conn, due);
    }
}

static void on_tick(uv_poll_t *poll, int status, int events)
{
    struct load *load = poll->data;
    uint64_t ticks;
    (void)status;
    (void)events;
    if (read(load->ticker_fd, &ticks, sizeof ticks) > 0)
        send_due(load);
}

/* ---- What comes back ------------------------------------------------------------------------ */

static void record(struct load *load, const struct conn *conn, const struct reply *reply)
{
    struct result *result = load->result;
    struct hist **by = &result->by[conn->step.verb];
    uint64_t ns = now_ns() - conn->due;
    if (!*by)
        *by = calloc(1, sizeof **by);
    if (!*by) {
        fail(load, "out of memory");
        return;
    }
    result->done++;
    result->statuses[reply->status]++;
    hist_add(result->all, ns);
    hist_add(*by, ns);
}

static void answered(struct load *load, struct conn *conn, const struct reply *reply)
{
    if (load->phase == LEARNING) {
        if (reply->status != 200)
            fail(load, "a question before the run was refused");
        else
            load->target->protocol->learn(load->target->world, &conn->step, reply);
    }
    /* What was due in the measured time but came after it counts, too, or stalls would be lost. */
    if (load->phase == MEASURING || (load->phase == DRAINING && load->plan->rate > 0))
        if (conn->due >= load->begun)
            record(load, conn, reply);
    go_on(load, conn);
    if (load->plan->rate > 0)
        send_due(load);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct wire *wire = handle->data;
    (void)suggested;
    *buf = uv_buf_init(wire->conn->load->input, READ_BYTES);
}

static void take_reply(struct wire *wire, const struct reply *reply)
{
    struct conn *conn = wire->conn;
    wire->awaited--;
    conn->awaited--;
    conn->status = reply->status > conn->status ? reply->status : conn->status;
}

/* All replies have come; this is the last of them, on this wire. */
static void finish(struct wire *wire, struct reply *reply)
{
    struct conn *conn = wire->conn;
    struct load *load = conn->load;
    reply->status = conn->status;
    if (reply->status >= 300 || !send_more(load, conn, reply))
        answered(load, conn, reply);
    buf_clear(&wire->in);
}

/* Takes the replies that are whole; false if these are none. What is left of them begins at *used. */
static bool take_replies(struct wire *wire, const char *bytes, size_t len, size_t *used,
                         struct reply *reply)
{
    const struct protocol *protocol = wire->conn->load->target->protocol;
    ssize_t whole = 1;
    while (wire->awaited && *used < len && whole > 0) {
        whole = protocol->parse(bytes + *used, len - *used, reply);
        if (whole > 0)
            take_reply(wire, reply);
        *used += whole > 0 ? (size_t)whole : 0;
    }
    return whole >= 0 && (wire->awaited || *used == len);
}

/* Keeps what is not whole yet. */
static void keep_rest(struct wire *wire, const char *bytes, size_t len, size_t used)
{
    if (bytes != wire->in.data) {
        buf_append(&wire->in, bytes + used, len - used);
    } else {
        memmove(wire->in.data, wire->in.data + used, len - used);
        wire->in.len = len - used;
    }
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct wire *wire = stream->data;
    struct load *load = wire->conn->load;
    struct reply reply = {0};
    if (n == 0)
        return;
    if (n < 0 || !wire->awaited) {
        fail(load, n < 0 ? "a connection was closed" : "an answer to nothing");
        return;
    }
    const char *bytes = buf->base;
    size_t len = (size_t)n, used = 0;
    if (wire->in.len) {
        buf_append(&wire->in, bytes, len);
        bytes = wire->in.data;
        len = wire->in.len;
    }
    if (wire->in.failed || !take_replies(wire, bytes, len, &used, &reply))
        fail(load, "an answer that is none");
    else if (!wire->conn->awaited)
        finish(wire, &reply);
    else
        keep_rest(wire, bytes, len, used);
}

/* ---- Phases --------------------------------------------------------------------------------- */

static void start_sending(struct load *load)
{
    if (load->plan->rate > 0 && load->phase != LEARNING)
        return;
    struct conn *conn = load->idle;
    load->idle = NULL;
    load->n_idle = 0;
    for (struct conn *next; conn && !load->failed; conn = next) {
        next = conn->next_idle;
        go_on(load, conn);
    }
}

static void on_limit(uv_timer_t *timer)
{
    next_phase(timer->data);
}

static void enter(struct load *load, enum phase phase, double seconds)
{
    load->phase = phase;
    load->begun = now_ns();
    load->due_sent = 0;
    uv_timer_start(&load->limit, on_limit, (uint64_t)(seconds * 1000), 0);
}

static bool begin_lesson(struct load *load, enum verb lesson)
{
    load->phase = LEARNING;
    load->lesson = lesson;
    load->pupil = 0;
    load->n_pupils = load->target->world->users;
    if (lesson == VERB_LOOK) {
        load->n_pupils = load->n_pupils < LOOK_MAX ? load->n_pupils : LOOK_MAX;
        load->target->world->looked = load->n_pupils;
    }
    return true;
}

static double seconds_of(struct timeval now, struct timeval then)
{
    return (double)(now.tv_sec - then.tv_sec) + (double)(now.tv_usec - then.tv_usec) / 1e6;
}

static void stop_clock(struct load *load)
{
    struct rusage now;
    struct result *result = load->result;
    getrusage(RUSAGE_SELF, &now);
    result->seconds = (double)(now_ns() - load->begun) / 1e9;
    result->server_seconds += cpu_seconds(load->plan->pid);
    result->user_seconds = seconds_of(now.ru_utime, load->usage.ru_utime);
    result->system_seconds = seconds_of(now.ru_stime, load->usage.ru_stime);
    double due = result->seconds * load->plan->rate;
    result->overdue = load->plan->rate > 0 && due > (double)load->due_sent
                          ? (uint64_t)(due - (double)load->due_sent)
                          : 0;
}

/* Lessons first, as far as the mix needs them. */
static bool learn_more(struct load *load)
{
    const unsigned *weights = load->plan->weights;
    struct world *world = load->target->world;
    bool gathers = weights[VERB_MARK] || weights[VERB_LIKE];
    if (load->phase == LEARNING && load->lesson == VERB_BADGE && weights[VERB_OLDER])
        return begin_lesson(load, VERB_LOOK);
    if (load->phase == LEARNING && load->lesson != VERB_GATHER && gathers)
        return begin_lesson(load, VERB_GATHER);
    if (load->lesson == VERB_GATHER)
        world_shuffle_items(world);
    return false;
}

/* Whoever reads it may look at others meanwhile; a line says that this is done. */
static void announce(const struct load *load, const char *what)
{
    if (!load->plan->announces)
        return;
    puts(what);
    fflush(stdout);
    for (int c = 0; c != '\n' && c != EOF;)
        c = getchar();
}

static void next_phase(struct load *load)
{
    if (load->phase == LEARNING && learn_more(load)) {
        start_sending(load);
    } else if (load->phase == LEARNING) {
        enter(load, WARMING, load->plan->warm_up);
        if (load->plan->warm_up == 0)
            next_phase(load);
        start_sending(load);
    } else if (load->phase == WARMING) {
        getrusage(RUSAGE_SELF, &load->usage);
        announce(load, "begin");
        load->result->server_seconds = -cpu_seconds(load->plan->pid);
        enter(load, MEASURING, load->plan->seconds);
    } else if (load->phase == MEASURING) {
        uint64_t begun = load->begun;
        stop_clock(load);
        announce(load, "end");
        enter(load, DRAINING, DRAIN_MS / 1e3);
        load->begun = begun;
        if (load->n_idle == load->plan->connections)
            next_phase(load);
    } else {
        uv_stop(&load->loop);
    }
}

/* ---- Setting up ----------------------------------------------------------------------------- */

static bool open_wire(struct load *load, struct wire *wire, unsigned port)
{
    int fd = target_connect(load->target, port);
    wire->tcp.data = wire;
    buf_init(&wire->in, IN_MAX);
    uv_tcp_init(&load->loop, &wire->tcp);
    return fd >= 0 && !uv_tcp_open(&wire->tcp, fd) &&
           !uv_read_start((uv_stream_t *)&wire->tcp, on_alloc, on_read);
}

static bool open_conn(struct load *load, unsigned number)
{
    struct conn *conn = &load->conns[number];
    conn->load = load;
    conn->undo.verb = VERB_COUNT;
    bool ok = true;
    for (unsigned i = 0; ok && i < load->n_wires; i++) {
        conn->wires[i].conn = conn;
        ok = open_wire(load, &conn->wires[i], load->n_wires > 1 ? i : number);
    }
    if (ok)
        put_idle(load, conn);
    return ok;
}

static bool start_ticker(struct load *load)
{
    struct itimerspec every = {{0, TICK_NS}, {0, TICK_NS}};
    load->ticker_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (load->ticker_fd < 0 || timerfd_settime(load->ticker_fd, 0, &every, NULL))
        return false;
    load->ticker.data = load;
    uv_poll_init(&load->loop, &load->ticker, load->ticker_fd);
    return uv_poll_start(&load->ticker, UV_READABLE, on_tick) == 0;
}

static void close_handle(uv_handle_t *handle, void *ctx)
{
    (void)ctx;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void close_all(struct load *load)
{
    uv_walk(&load->loop, close_handle, NULL);
    uv_run(&load->loop, UV_RUN_DEFAULT);
    uv_loop_close(&load->loop);
    for (unsigned i = 0; i < load->plan->connections; i++)
        for (unsigned wire = 0; wire < load->n_wires; wire++)
            buf_release(&load->conns[i].wires[wire].in);
    parts_release(&load->out);
    if (load->ticker_fd > 0)
        close(load->ticker_fd);
    free(load->conns);
    free(load);
}

static bool prepare_items(const struct target *target, const struct plan *plan)
{
    size_t n = plan->items ? plan->items : target->world->users * 100;
    bool gathers = plan->weights[VERB_MARK] || plan->weights[VERB_LIKE];
    return !gathers || world_expect_items(target->world, n);
}

bool run_load(const struct target *target, const struct plan *plan, struct result *result)
{
    struct load *load = calloc(1, sizeof *load);
    struct conn *conns = calloc(plan->connections, sizeof *conns);
    *result = (struct result){.all = calloc(1, sizeof *result->all)};
    if (!load || !conns || !result->all || !prepare_items(target, plan)) {
        free(load);
        free(conns);
        return false;
    }
    load->target = target;
    load->plan = plan;
    load->result = result;
    load->conns = conns;
    load->n_wires = target->protocol->is_split ? target->n_ports : 1;
    parts_init(&load->out);
    uv_loop_init(&load->loop);
    uv_timer_init(&load->loop, &load->limit);
    load->limit.data = load;
    bool ok = true;
    for (unsigned i = 0; ok && i < plan->connections; i++)
        ok = open_conn(load, i);
    for (int verb = 0; verb < VERB_COUNT; verb++)
        load->weight_sum += plan->weights[verb];
    if (ok && (plan->rate == 0 || start_ticker(load))) {
        load->phase = LEARNING;
        load->lesson = VERB_BADGE; /* none yet */
        next_phase(load);
        uv_run(&load->loop, UV_RUN_DEFAULT);
    }
    if (ok && !load->failed && !result->done)
        fail(load, "nothing was answered in the time measured");
    ok = ok && !load->failed;
    close_all(load);
    return ok;
}

void result_release(struct result *result)
{
    free(result->all);
    for (int verb = 0; verb < VERB_COUNT; verb++)
        free(result->by[verb]);
}

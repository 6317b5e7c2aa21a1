/* SPDX-License-Identifier: MIT */
/*
 * What clients have not taken yet, and what is done about those who take too long.
 *
 * A connection is charged with the memory that waits for its client: answers, what the transport
 * keeps of them, what the kernel has. (Bytes that outlive the server cost nothing until the kernel
 * has a copy.) The charges of all loops together have a limit, config.unsent_max; before it is
 * passed, connections are cut, those first that hold the most bytes for the longest time. Besides,
 * whoever takes less than config.write_rate_min a second while something waits is cut in any case.
 *
 * How much the kernel has is known only to the transport, which tells now and then
 * (conn_measured); in between it is what was given, up to the kernel's bound.
 */
#include "http/internal.h"

/* Who has not taken for so long what waits for it may have to go for others' answers. */
enum { SLOW_MS = 1000 };
/* log2 of bytes times milliseconds */
enum { WEIGHTS = 64 };

size_t conn_pending(const struct http_conn *conn)
{
    return conn->out.len + conn->fixed.n + conn->unsent;
}

size_t conn_kept(const struct http_conn *conn)
{
    return conn->out.cap + conn->queued + conn->kept;
}

bool conn_is_sending(const struct http_conn *conn)
{
    return conn_pending(conn) || conn->kernel || conn->resumes_ms;
}

/* ---- Charging ------------------------------------------------------------------------------ */

void conn_recharge(struct http_conn *conn)
{
    uint64_t now = conn->dead ? 0 : conn_kept(conn) + conn->kernel, delta = now - conn->charged;
    if (!delta)
        return;
    conn->charged = now;
    count(&conn->loop->counters.unsent, delta);
    atomic_fetch_add_explicit(conn->loop->unsent, delta, memory_order_relaxed);
}

void conn_cut(struct http_conn *conn, enum http_cut why)
{
    count(&conn->loop->counters.cut[why], 1);
    conn->reset = true;
    if (conn->stream)
        stream_doom(conn->stream, HTTP_STREAM_SLOW);
    conn_kill(conn);
    conn_recharge(conn);
}

/* ---- How fast a client takes it ------------------------------------------------------------- */

static uint64_t taken(const struct http_conn *conn)
{
    return conn->given > conn->kernel ? conn->given - conn->kernel : 0;
}

/* From now on it is watched when all that waits at this moment will have been taken. */
static void watch(struct http_conn *conn)
{
    conn->since_ms = conn->loop->now_ms;
    conn->taken_then = taken(conn);
    conn->waiting_until = conn->given + conn_pending(conn);
}

/* Watched from the first look on: what the client's kernel takes at once says nothing of the client.
 */
void conn_begins_sending(struct http_conn *conn)
{
    conn->since_ms = conn->loop->now_ms;
    conn->waiting_until = 0;
}

void conn_gave(struct http_conn *conn, size_t n)
{
    /* The kernel stops taking when it has as much as it may, but takes a whole segment then. */
    size_t most = 2 * conn->loop->config->send_buffer, had = conn->kernel;
    conn->given += n;
    conn->kernel = had + n < most ? had + n : had > most ? had : most;
    count(&conn->loop->counters.bytes_out, n);
}

/* Something has waited all the time since conn->since_ms. Was that because nearly nothing moves? */
static bool is_too_slow(const struct http_conn *conn, uint64_t waited_ms)
{
    uint64_t moved = taken(conn) - conn->taken_then;
    return !moved || moved * 1000 < conn->loop->config->write_rate_min * waited_ms;
}

void conn_measured(struct http_conn *conn, size_t kernel)
{
    uint64_t waited_ms = conn->loop->now_ms - conn->since_ms;
    conn->kernel = kernel;
    conn_recharge(conn);
    if (conn->resumes_ms && conn->loop->now_ms >= conn->resumes_ms) {
        conn->resumes_ms = 0;
        conn_touch(conn);
    }
    if (taken(conn) >= conn->waiting_until)
        watch(conn);
    else if (waited_ms >= conn->loop->config->write_timeout_ms) {
        if (is_too_slow(conn, waited_ms))
            conn_cut(conn, HTTP_CUT_WRITE);
        else
            watch(conn);
    }
}

/* ---- All together ---------------------------------------------------------------------------- */

static uint64_t all_unsent(const struct http_loop *loop)
{
    return atomic_load_explicit(loop->unsent, memory_order_relaxed);
}

static uint64_t waited_ms(const struct http_conn *conn)
{
    return conn_is_sending(conn) ? conn->loop->now_ms - conn->since_ms : 0;
}

static unsigned weight(const struct http_conn *conn)
{
    uint64_t product = conn->charged * (waited_ms(conn) + 1);
    return product ? 63 - (unsigned)__builtin_clzll(product) : 0;
}

static bool may_go(const struct http_conn *conn, uint64_t least_ms)
{
    return conn->charged && waited_ms(conn) >= least_ms;
}

/*
 * Cuts connections of this loop that have waited so long, the weightiest first, until `wanted` bytes
 * are free. How many bytes are.
 */
static uint64_t shed(struct http_loop *loop, uint64_t wanted, uint64_t least_ms)
{
    uint64_t by_weight[WEIGHTS] = {0}, heavier = 0, freed = 0;
    unsigned least = WEIGHTS - 1;
    for (const struct http_conn *conn = loop->conns; conn; conn = conn->next)
        if (may_go(conn, least_ms))
            by_weight[weight(conn)] += conn->charged;
    while (least && heavier + by_weight[least] < wanted)
        heavier += by_weight[least--];
    for (struct http_conn *conn = loop->conns; conn; conn = conn->next) {
        if (!may_go(conn, least_ms) || weight(conn) < least)
            continue;
        if (weight(conn) == least && freed + heavier >= wanted)
            continue;
        if (weight(conn) > least)
            heavier -= conn->charged;
        freed += conn->charged;
        conn_cut(conn, HTTP_CUT_BUDGET);
    }
    return freed;
}

/* To be at when enough is cut: looking at all connections for every few bytes would be dear. */
static uint64_t comfortable(const struct http_loop *loop)
{
    return loop->config->unsent_max / 8 * 7;
}

bool loop_is_pressed(const struct http_loop *loop)
{
    return all_unsent(loop) > loop->config->unsent_max / 4 * 3;
}

void loop_shed(struct http_loop *loop)
{
    uint64_t all = all_unsent(loop);
    if (all <= loop->config->unsent_max)
        return;
    /* Other loops cut their part. */
    double part = (double)atomic_load_explicit(&loop->counters.unsent, memory_order_relaxed);
    shed(loop, (uint64_t)((double)(all - comfortable(loop)) * (part / (double)all)), 0);
}

bool loop_make_room(struct http_loop *loop, uint64_t n)
{
    uint64_t all = all_unsent(loop), most = loop->config->unsent_max;
    if (all + n <= most)
        return true;
    if (n > most || loop->now_ms < loop->barren_until_ms)
        return false;
    if (!shed(loop, all + n - comfortable(loop), SLOW_MS))
        loop->barren_until_ms = loop->now_ms + BARREN_MS;
    return all_unsent(loop) + n <= most;
}

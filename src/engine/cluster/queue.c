/* SPDX-License-Identifier: MIT */
#include "engine/cluster/cluster.h"

#include "base/wait.h"

enum { COMMIT_LEAST_MS = 1000 };

void queue_init(struct queue *queue)
{
    *queue = (struct queue){0};
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->wanted, NULL);
}

void queue_release(struct queue *queue)
{
    pthread_cond_destroy(&queue->wanted);
    pthread_mutex_destroy(&queue->mutex);
}

bool queue_push(struct queue *queue, struct tidings_call *call, size_t most, bool *closed)
{
    pthread_mutex_lock(&queue->mutex);
    *closed = queue->stopping && most;
    bool fits = !*closed && (!most || queue->waiting < most);
    if (fits) {
        call->next = NULL;
        if (queue->last)
            queue->last->next = call;
        else
            queue->first = call;
        queue->last = call;
        queue->waiting++;
        pthread_cond_signal(&queue->wanted);
    }
    pthread_mutex_unlock(&queue->mutex);
    return fits;
}

static size_t take(struct queue *queue, struct tidings_call **calls, size_t most, bool wait)
{
    size_t n = 0;
    pthread_mutex_lock(&queue->mutex);
    while (wait && !queue->first && !queue->stopping)
        pthread_cond_wait(&queue->wanted, &queue->mutex);
    for (; n < most && queue->first; n++) {
        calls[n] = queue->first;
        queue->first = calls[n]->next;
    }
    if (!queue->first)
        queue->last = NULL;
    queue->waiting -= n;
    pthread_mutex_unlock(&queue->mutex);
    return n;
}

size_t queue_take(struct queue *queue, struct tidings_call **calls, size_t most)
{
    return take(queue, calls, most, true);
}

size_t queue_take_now(struct queue *queue, struct tidings_call **calls, size_t most)
{
    return take(queue, calls, most, false);
}

void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->stopping = true;
    pthread_cond_broadcast(&queue->wanted);
    pthread_mutex_unlock(&queue->mutex);
}

size_t queue_waiting(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    size_t waiting = queue->waiting;
    pthread_mutex_unlock(&queue->mutex);
    return waiting;
}

bool call_is_late(const struct tidings_call *call)
{
    return wait_now_ms() >= call->until_ms;
}

int64_t calls_until(struct tidings_call *const *calls, size_t n)
{
    int64_t until_ms = INT64_MAX;
    for (size_t i = 0; i < n; i++)
        until_ms = calls[i]->until_ms < until_ms ? calls[i]->until_ms : until_ms;
    return until_ms;
}

int64_t late_enough(int64_t until_ms)
{
    int64_t least_ms = wait_now_ms() + COMMIT_LEAST_MS;
    return until_ms > least_ms ? until_ms : least_ms;
}

/* SPDX-License-Identifier: MIT */
/*
 * What an admin asks for and may take minutes: verify and backup. One at a time, on a thread of its
 * own; the request waits for its end. The status says how far it has got.
 */
#include <string.h>
#include <unistd.h>

#include "api/handlers.h"
#include "api/internal.h"
#include "api/teller.h"
#include "base/log.h"
#include "base/thread.h"

enum { REPORT_MAX = 65536, NAME_BYTES_MAX = 64, PATH_BYTES = 4096 };

/* In the request's arena. */
struct job {
    struct exchange *ex;
    void (*work)(struct job *job);
    void (*put)(const struct job *job, struct json_out *out);
    enum tidings_err err;
    struct tidings_verify verify;
    struct buf report;
    char bytes[REPORT_MAX];
    struct tidings_backup backup;
    char dest[PATH_BYTES];
};

/* Another may begin. */
static void end(struct api *api)
{
    pthread_mutex_lock(&api->job.mutex);
    api->job.kind = NULL;
    pthread_mutex_unlock(&api->job.mutex);
}

static void respond(struct http_request *req, void *arg)
{
    struct job *job = arg;
    struct exchange *ex = job->ex;
    (void)req;
    end(ex->api);
    if (job->err) {
        ex->answer.err = job->err;
        exchange_refuse(ex);
        return;
    }
    struct json_out out;
    struct buf *buf = &exchange_loop(ex)->out;
    buf_clear(buf);
    json_out_init(&out, buf);
    json_out_object(&out);
    job->put(job, &out);
    json_out_end(&out);
    exchange_json(ex, ex->route->status, "application/json", buf);
}

static void *job_main(void *arg)
{
    struct job *job = arg;
    thread_name(job->ex->api->job.kind); /* which nobody changes before the end */
    job->work(job);
    http_request_post(job->ex->req, respond, job);
    return NULL;
}

/* An earlier one has answered: its thread ends by itself. */
static void join_worker(struct api *api)
{
    if (api->has_worker)
        pthread_join(api->worker, NULL);
    api->has_worker = false;
}

void api_join(struct api *api)
{
    join_worker(api);
    samples_stop(api->samples);
    api->samples = NULL;
    teller_stop(api->teller);
    api->teller = NULL;
}

static void tell(void *ctx, const char *part, uint64_t done, uint64_t total)
{
    struct api_job *job = ctx;
    pthread_mutex_lock(&job->mutex);
    job->part = part;
    job->done = done;
    job->total = total;
    pthread_mutex_unlock(&job->mutex);
}

/* False if another is under way. */
static bool take_turn(struct api_job *job, const char *kind)
{
    pthread_mutex_lock(&job->mutex);
    bool free = !job->kind;
    if (free) {
        job->kind = kind;
        job->part = "";
        job->done = job->total = 0;
        job->started_ms = api_now_ms();
    }
    pthread_mutex_unlock(&job->mutex);
    return free;
}

/* The job to be filled in, or NULL after answering that another is under way. */
static struct job *begin(struct exchange *ex, const char *kind)
{
    struct api *api = ex->api;
    if (!take_turn(&api->job, kind)) {
        exchange_problem(ex, 503, "busy", "Another verify or backup is under way.");
        return NULL;
    }
    join_worker(api);
    struct job *job = arena_alloc(http_request_arena(ex->req), sizeof *job);
    if (job) {
        memset(job, 0, sizeof *job);
        job->ex = ex;
        return job;
    }
    end(api);
    exchange_problem(ex, 503, "busy", "Too much to do at the moment. Try again later.");
    return NULL;
}

static void go(struct job *job)
{
    struct api *api = job->ex->api;
    api->has_worker = !pthread_create(&api->worker, NULL, job_main, job);
    if (!api->has_worker) {
        end(api);
        exchange_problem(job->ex, 503, "busy", "Too much to do at the moment. Try again later.");
    }
}

void put_job(struct json_out *out, struct api_job *job)
{
    json_out_key(out, "job");
    pthread_mutex_lock(&job->mutex);
    if (job->kind) {
        json_out_object(out);
        put_text(out, "kind", (struct tidings_text){job->kind, strlen(job->kind)});
        put_text(out, "part", (struct tidings_text){job->part, strlen(job->part)});
        put_u64(out, "done", job->done);
        put_u64(out, "total", job->total);
        put_i64(out, "started_at", job->started_ms);
        json_out_end(out);
    } else {
        json_out_null(out);
    }
    pthread_mutex_unlock(&job->mutex);
}

/* ---- Verify --------------------------------------------------------------------------------- */

/* Keeps the beginning of the report; a damaged directory has no end of differences. */
static ssize_t keep_report(void *cookie, const char *bytes, size_t n)
{
    struct buf *report = cookie;
    size_t room = REPORT_MAX - report->len;
    buf_append(report, bytes, n < room ? n : room);
    return (ssize_t)n;
}

static void work_verify(struct job *job)
{
    cookie_io_functions_t io = {.write = keep_report};
    job->verify.report = fopencookie(&job->report, "w", io);
    job->err = tidings_verify(job->ex->api->config.tidings, &job->verify);
    if (job->verify.report)
        fclose(job->verify.report);
}

static void put_verify(const struct job *job, struct json_out *out)
{
    put_u64(out, "checked", job->verify.checked);
    put_u64(out, "differences", job->verify.differences);
    put_u64(out, "repaired", job->verify.repaired);
    json_out_key(out, "report");
    json_out_string(out, job->report.data, job->report.len);
}

void run_verify(struct exchange *ex)
{
    static const char *const members[] = {"repair", NULL};
    bool repair = false, given;
    if (http_request_body(ex->req).n &&
        !(arg_body(ex, members) && arg_bool(ex, "repair", &repair, &given)))
        return;
    struct job *job = begin(ex, "verify");
    if (!job)
        return;
    job->work = work_verify;
    job->verify.progress = (struct tidings_progress){tell, &ex->api->job};
    job->put = put_verify;
    job->verify.repair = repair;
    buf_init_borrowed(&job->report, job->bytes, sizeof job->bytes);
    go(job);
}

/* ---- Backup --------------------------------------------------------------------------------- */

static void work_backup(struct job *job)
{
    const char *message = NULL;
    job->err = tidings_backup(job->ex->api->config.tidings, &job->backup, &message);
    if (job->err)
        log_message(LOG_ERROR, "backup to %s: %s", job->dest, message);
    else
        log_message(LOG_INFO, "backup to %s is complete", job->dest);
}

static void put_backup(const struct job *job, struct json_out *out)
{
    const char *name = strrchr(job->dest, '/') + 1;
    put_text(out, "name", (struct tidings_text){name, strlen(name)});
    put_u64(out, "bytes", job->backup.bytes);
    put_u64(out, "batch", job->backup.batch);
    put_i64(out, "time", job->backup.time_ms);
}

/* A name of ours in the directory for backups, and nothing that leads elsewhere. */
static bool is_backup_name(struct tidings_text name)
{
    static const char others[] = "-_.";
    if (!name.n || name.n > NAME_BYTES_MAX || name.p[0] == '.')
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && !strchr(others, c))
            return false;
    }
    return true;
}

void run_backup(struct exchange *ex)
{
    static const char *const members[] = {"name", NULL};
    struct tidings_text name;
    const char *dir = ex->api->config.backup_dir;
    if (!arg_body(ex, members) || !arg_text(ex, "name", &name, NULL))
        return;
    if (!dir) {
        exchange_problem(ex, 409, "no_backup_dir", "The server has no backup_dir to write to.");
        return;
    }
    if (!is_backup_name(name)) {
        exchange_invalid(ex, "name",
                         "up to 64 letters, digits, dots, - and _, and no dot in front");
        return;
    }
    struct job *job = begin(ex, "backup");
    if (!job)
        return;
    job->work = work_backup;
    job->backup.progress = (struct tidings_progress){tell, &ex->api->job};
    job->put = put_backup;
    snprintf(job->dest, sizeof job->dest, "%s/%.*s", dir, (int)name.n, name.p);
    job->backup.dest = job->dest;
    if (access(job->dest, F_OK) == 0) {
        end(ex->api);
        exchange_problem(ex, 409, "exists", "There is a backup of that name already.");
        return;
    }
    go(job);
}

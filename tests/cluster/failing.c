/* SPDX-License-Identifier: MIT */
#include "cluster/failing.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/wait.h"

struct tidings *engines[ENGINES];
struct tidings_answer answer;
struct tidings_options options;
static char database[SQL_URL_DATABASE_MAX + 1];

int64_t now_ms(void)
{
    return wait_now_ms();
}

bool in_time(bool (*happens)(void))
{
    int64_t until_ms = now_ms() + PATIENCE_MS;
    while (!happens())
        if (now_ms() > until_ms)
            return false;
        else
            usleep(5000);
    return true;
}

/* ---- Engines -------------------------------------------------------------------------------- */

const char *failing_url(const char *user, const char *socket)
{
    static char url[2][1024];
    static unsigned turn;
    struct sql_url own = server_url();
    char *to = url[++turn % 2];
    snprintf(to, sizeof url[0], "mysql://%s@localhost/%s?socket=%s", user ? user : "root", database,
             socket ? socket : own.socket);
    return to;
}

void engine_start(unsigned i)
{
    const char *why = NULL;
    if (!options.mysql)
        options.mysql = failing_url(NULL, NULL);
    enum tidings_err err = tidings_open(&options, &engines[i], &why);
    if (err)
        fail_msg("%s: %s: %s", options.mysql, tidings_err_code(err), why);
}

void engine_stop(unsigned i)
{
    tidings_close(engines[i]);
    engines[i] = NULL;
}

void engine_start_anew(const char *url)
{
    engine_stop(0);
    options.mysql = url;
    engine_start(0);
}

int failing_begin(void **state)
{
    static unsigned tests;
    const char *why = NULL;
    server_do("resume"); /* a test that failed may have left it standing still */
    snprintf(database, sizeof database, "failing_%u", ++tests);
    tidings_options_init(&options);
    options.engine = "cluster";
    options.mysql = failing_url(NULL, NULL);
    options.redis = getenv("TIDINGS_TEST_REDIS");
    options.settings.publish_burst = options.settings.follow_burst = 100000;
    options.settings.reconcile_hours = 0; /* its statements would be among those that fail */
    if (*state)
        options.settings.deadline_ms = *(const uint64_t *)*state;
    tidings_answer_init(&answer);
    if (tidings_cluster_init(&options, NULL, NULL, &why))
        fail_msg("%s", why);
    engine_start(0);
    return 0;
}

static void assert_verifies(void)
{
    struct tidings_verify found = {.report = stderr};
    assert_int_equal(tidings_verify(engines[0], &found), TIDINGS_OK);
    assert_int_equal(found.differences, 0);
}

int failing_end(void **state)
{
    (void)state;
    assert_verifies();
    for (unsigned i = 0; i < ENGINES; i++)
        engine_stop(i);
    tidings_answer_release(&answer);
    return 0;
}

/* ---- Somebody else -------------------------------------------------------------------------- */

struct sql *foreign(void)
{
    struct sql_url url = server_url();
    strcpy(url.database, database);
    return connect_as(&url, NULL);
}

void await(struct sql *sql, const char *text, uint64_t wanted)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    uint64_t found;
    while ((found = asked(sql, text)) != wanted) {
        if (now_ms() > end_ms)
            fail_msg("%s: %" PRIu64 " instead of %" PRIu64, text, found, wanted);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
}

/* Not INNODB_TRX, which stays as it was for whoever looks more often than every 100 ms. */
void await_lock_waits(struct sql *sql, uint64_t n)
{
    await(sql,
          "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
          "WHERE VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS'",
          n);
}

void server_do(const char *word)
{
    control_do("TIDINGS_TEST_MYSQL_CONTROL", word);
}

void control_do(const char *variable, const char *word)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char line[512] = "";
    const char *path = getenv(variable);
    assert_non_null(path);
    assert_true(strlen(path) < sizeof at.sun_path);
    strcpy(at.sun_path, path);
    int control = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(control, (struct sockaddr *)&at, sizeof at), 0);
    assert_true(dprintf(control, "%s\n", word) > 0);
    assert_true(read(control, line, sizeof line - 1) > 0);
    assert_string_equal(line, "ok\n");
    close(control);
}

/* ---- Operations ----------------------------------------------------------------------------- */

enum tidings_err run(struct tidings_op op)
{
    return tidings_run(engines[0], &op, &answer);
}

void must(struct tidings_op op)
{
    enum tidings_err err = run(op);
    if (err)
        fail_msg("operation %d: %s", (int)op.kind, tidings_err_code(err));
}

struct tidings_op follow_op(uint64_t fan, uint64_t author)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_FOLLOW, .user_id = fan, .u.relation.user_id = author};
}

struct tidings_op publish_op(uint64_t author)
{
    return (struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                               .user_id = author,
                               .u.publish = {TIDINGS_NOTE, {"t", 1}, {"b", 1}, {NULL, 0}}};
}

struct tidings_op badge_op(uint64_t user)
{
    return (struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = user};
}

uint64_t badge(uint64_t user)
{
    must(badge_op(user));
    return answer.u.badge.total;
}

uint64_t posts_of(uint64_t author)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_COUNTERS, .user_id = author, .u.user.user_id = author});
    return answer.u.counters.posts;
}

static void wake(struct tidings_call *call)
{
    struct asked *asked = call->ctx;
    pthread_mutex_lock(&asked->mutex);
    asked->done = true;
    pthread_cond_signal(&asked->cond);
    pthread_mutex_unlock(&asked->mutex);
}

void ask(struct asked *asked, struct tidings_op op)
{
    *asked = (struct asked){.engine = engines[0], .op = op};
    pthread_mutex_init(&asked->mutex, NULL);
    pthread_cond_init(&asked->cond, NULL);
    tidings_answer_init(&asked->answer);
    asked->call = (struct tidings_call){
        .op = &asked->op, .answer = &asked->answer, .done = wake, .ctx = asked};
    tidings_submit(asked->engine, &asked->call);
}

enum tidings_err heard(struct asked *asked)
{
    pthread_mutex_lock(&asked->mutex);
    while (!asked->done)
        pthread_cond_wait(&asked->cond, &asked->mutex);
    pthread_mutex_unlock(&asked->mutex);
    enum tidings_err err = tidings_finish(asked->engine, &asked->call);
    tidings_answer_release(&asked->answer);
    pthread_cond_destroy(&asked->cond);
    pthread_mutex_destroy(&asked->mutex);
    return err;
}

void plug_put(struct plug *plug)
{
    must(follow_op(PLUG, ANN)); /* so that it has a row */
    plug->holder = foreign();
    assert_run(plug->holder, "BEGIN; SELECT user_id FROM user WHERE user_id = 1000 FOR UPDATE");
    ask(&plug->asked, (struct tidings_op){
                          .kind = TIDINGS_OP_UNFOLLOW, .user_id = PLUG, .u.relation.user_id = ANN});
    await_lock_waits(plug->holder, 1);
}

void plug_pull(struct plug *plug)
{
    assert_run(plug->holder, "COMMIT");
    assert_int_equal(heard(&plug->asked), TIDINGS_OK);
    sql_close(plug->holder);
}

/* SPDX-License-Identifier: MIT */
/*
 * The server: engine, API, HTTP and webhooks put together. The main thread waits for signals: SIGHUP reads
 * the keys again, as a change of their file does, SIGTERM and SIGINT stop in order: readiness off, streams closed, answers
 * finished, then the engine. A replica that must join its log anew is stopped in order, too, and started again.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "auth/jwks.h"
#include "auth/jwt.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/demo.h"
#include "cli/dev_dir.h"
#include "consume/consume.h"
#include "http/cors.h"
#include "push/push.h"

enum { SECRET_BYTES = TIDINGS_SECRET_BYTES, PATH_BYTES = 4096 };

/* What tells whether a file has been written or replaced; all zeros if it is not there. */
struct keys_stamp {
    ino_t inode;
    off_t size;
    struct timespec changed;
};

struct server {
    struct config config;
    struct password password; /* of the log in MySQL */
    struct password redis_password;
    struct password kafka_password;
    struct password tables_password;
    struct password old_redis_password;
    struct tidings *tidings;
    struct keyring *keys;
    pthread_mutex_t keys_lock; /* two threads may read the keys again */
    struct jwks *jwks;         /* NULL without jwks_url */
    struct api *api;
    struct http_server *http;
    struct push_rules *rules;
    struct http_cors *cors;
    struct push *push;
    struct consume *consume;
    struct keys_stamp keys_stamp; /* of the keys file when it was read last */
    uint8_t seal_secret[SECRET_BYTES];
    char dev_secret[2 * SECRET_BYTES + 1];
    char dev_backups[PATH_BYTES];
    struct dev_dir dev_dir;
};

/* ---- Keys ----------------------------------------------------------------------------------- */

/* From the environment and the file, as they are now. NULL, with a line of log, if they are not
 * right. */
static struct keys *load_keys(const struct server *server)
{
    struct keys_note note = {.error = ""};
    const char *secret = server->config.dev ? server->dev_secret : getenv("TIDINGS_JWT_SECRET");
    const char *file = server->config.jwt_keys_file;
    struct keys *keys = keys_new();
    bool ok = keys != NULL;
    if (ok && secret)
        ok = !keys_add_secrets(keys, secret, &note);
    if (ok && file)
        ok = !keys_add_file(keys, file, &note);
    if (ok && server->jwks)
        ok = !jwks_add(server->jwks, keys, &note);
    if (*note.warning)
        log_message(LOG_WARN, "%s", note.warning);
    if (ok && keys_count(keys))
        return keys;
    log_message(LOG_ERROR, "%s",
                *note.error ? note.error
                            : "no keys: set TIDINGS_JWT_SECRET, TIDINGS_JWT_KEYS_FILE or jwks_url");
    keys_unref(keys);
    return NULL;
}

static struct keys_stamp stamp_of(const char *file)
{
    struct stat st;
    struct keys_stamp stamp = {0};
    if (file && stat(file, &st) == 0)
        stamp = (struct keys_stamp){st.st_ino, st.st_size, st.st_mtim};
    return stamp;
}

static bool keys_file_changed(const struct server *server)
{
    struct keys_stamp now = stamp_of(server->config.jwt_keys_file), was = server->keys_stamp;
    return now.inode != was.inode || now.size != was.size ||
           now.changed.tv_sec != was.changed.tv_sec || now.changed.tv_nsec != was.changed.tv_nsec;
}

static void reload_keys(struct server *server)
{
    pthread_mutex_lock(&server->keys_lock);
    server->keys_stamp = stamp_of(server->config.jwt_keys_file);
    struct keys *keys = load_keys(server);
    if (keys)
        keyring_swap(server->keys, keys);
    log_message(keys ? LOG_INFO : LOG_ERROR, "%s",
                keys ? "keys read again" : "the keys stay as they were");
    pthread_mutex_unlock(&server->keys_lock);
}

/* On the thread that fetches. */
static void heed_published(void *ctx, const char *error)
{
    if (error)
        log_message(LOG_WARN, "jwks_url: %s; the keys stay as they were", error);
    else
        reload_keys(ctx);
}

/* Tried for half a minute, or until somebody wants to stop: without keys nobody could be answered. */
static bool fetch_first(struct jwks *jwks, const sigset_t *set)
{
    enum { TRIES = 10 };
    static const struct timespec pause = {.tv_sec = 3};
    char error[JWKS_ERROR_MAX];
    for (int i = 0; i < TRIES; i++) {
        if (jwks_fetch(jwks, error))
            return true;
        log_message(LOG_ERROR, "jwks_url: %s; %s", error,
                    i + 1 < TRIES ? "trying again in 3 seconds" : "giving up");
        if (i + 1 < TRIES && sigtimedwait(set, NULL, &pause) > 0)
            break;
    }
    return false;
}

/* EXIT_FINE, or the code to exit with. */
static int load_published(struct server *server, const sigset_t *set)
{
    const struct config *config = &server->config;
    const char *wrong = config->jwks_url ? jwks_check_url(config->jwks_url) : NULL;
    if (!config->jwks_url)
        return EXIT_FINE;
    if (wrong || (config->jwks_ca_file && access(config->jwks_ca_file, R_OK) != 0)) {
        log_message(LOG_ERROR, "%s: %s", wrong ? "jwks_url" : "jwks_ca_file",
                    wrong ? wrong : strerror(errno));
        return EXIT_USAGE;
    }
    server->jwks = jwks_new(&(struct jwks_config){.url = config->jwks_url,
                                                  .ca_file = config->jwks_ca_file,
                                                  .told = heed_published,
                                                  .ctx = server});
    return server->jwks && fetch_first(server->jwks, set) ? EXIT_FINE : EXIT_BROKEN;
}

static bool make_dev_secret(struct server *server)
{
    uint8_t bytes[SECRET_BYTES];
    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(server->dev_secret + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool load_seal_file(struct server *server)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/seal.key", server->config.data);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = read(fd, server->seal_secret, SECRET_BYTES);
        close(fd);
        if (n != SECRET_BYTES)
            log_message(LOG_ERROR, "%s is damaged; remove it to invalidate all cursors", path);
        return n == SECRET_BYTES;
    }
    if (errno != ENOENT) {
        log_message(LOG_ERROR, "%s cannot be read: %s", path, strerror(errno));
        return false;
    }
    if (RAND_bytes(server->seal_secret, SECRET_BYTES) != 1)
        return false;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, server->seal_secret, SECRET_BYTES) == SECRET_BYTES && !fsync(fd);
    if (fd >= 0)
        close(fd);
    if (!ok)
        log_message(LOG_ERROR, "%s cannot be written: %s", path, strerror(errno));
    return ok;
}

/*
 * Cursors must outlive a restart, and the rotation of token keys, and every server of a log must understand them: their
 * secret comes from the log in MySQL, or from a file in the data directory.
 */
static bool load_seal_secret(struct server *server)
{
    enum tidings_err err = tidings_secret(server->tidings, server->seal_secret);
    if (err == TIDINGS_UNSUPPORTED)
        return load_seal_file(server);
    if (err)
        log_message(LOG_ERROR, "the secret of cursors: %s", tidings_err_text(err));
    return !err;
}

/* ---- Starting ------------------------------------------------------------------------------- */

/* A name may begin with 127. as well: only digits and dots will do. */
static bool is_loopback(const char *listen)
{
    bool numeric = listen[strspn(listen, "0123456789.")] == ':';
    return (numeric && !strncmp(listen, "127.", 4)) || !strncmp(listen, "localhost:", 10) ||
           !strncmp(listen, "[::1]:", 6);
}

static void log_fault(void *ctx, const char *text)
{
    (void)ctx;
    log_message(LOG_ERROR, "storage: %s", text);
}

static void log_clock(void *ctx, int64_t by_ms, bool stopped)
{
    struct log_line line;
    (void)ctx;
    log_begin(&line, stopped ? LOG_ERROR : LOG_WARN,
              stopped ? "the clock jumped; nothing is written until it comes back"
                      : "the clock jumped");
    log_i64(&line, "by_ms", by_ms);
    log_end(&line);
}

/* NULL: without. */
static const char *kafka_sasl(const struct config *config)
{
    return strcmp(config->kafka_sasl, KAFKA_NO_SASL) != 0 ? config->kafka_sasl : NULL;
}

/* EXIT_FINE, or the code to exit with. */
static int open_engine(struct server *server)
{
    struct tidings_options options;
    const char *message;
    tidings_options_init(&options);
    options.dir = server->config.data;
    options.mysql = server->config.mysql;
    options.mysql_password = server->password.given ? server->password.text : NULL;
    options.bounded = !strcmp(server->config.freshness, "bounded");
    options.follow = server->config.follow;
    options.peer_listen = server->config.peer_listen;
    options.peer_key_file = server->config.peer_key_file;
    options.peer_address = server->config.peer_address;
    options.take_back = server->config.take_back;
    options.settings = server->config.engine;
    options.progress = progress_in_bytes();
    if (!strcmp(server->config.durability, "second"))
        options.durability = TIDINGS_DURABLE_SECOND;
    options.fault = log_fault;
    options.clock_jumped = log_clock;
    enum tidings_err err = tidings_open(&options, &server->tidings, &message);
    bool chosen = *server->dev_dir.path != '\0';
    if (err == TIDINGS_LOCKED && chosen && dev_dir_make(&server->dev_dir))
        err = tidings_open(&options, &server->tidings, &message);
    if (!err)
        return EXIT_FINE;
    log_message(LOG_ERROR, "%s: %s", options.dir, message);
    if (chosen)
        log_message(LOG_ERROR, "to begin the demo anew: rm -r %s", server->dev_dir.path);
    return err == TIDINGS_INVALID ? EXIT_USAGE : EXIT_BROKEN;
}

/* EXIT_FINE, or the code to exit with. */
static int start_http(struct server *server)
{
    struct http_config *http = &server->config.http;
    const char *message;
    http->listen = server->config.listen;
    http->threads = (unsigned)server->config.threads;
    http->handler = api_handle;
    http->observer = api_observe;
    http->ctx = server->api;
    http->cors = server->cors;
    enum http_err err = http_server_start(http, &server->http, &message);
    if (err) {
        log_message(LOG_ERROR, "%s: %s", server->config.listen, message);
        return err == HTTP_ERR_ADDRESS ? EXIT_USAGE : EXIT_BROKEN;
    }
    api_set_server(server->api, server->http);
    return EXIT_FINE;
}

/* Where webhooks may lead: needed by those who set them and by those who call. */
static bool make_rules(struct server *server)
{
    const char *wrong;
    server->rules = push_rules_new(server->config.webhook_allow, &wrong);
    if (!server->rules)
        fprintf(stderr, "tidings: webhook_allow: %s\n", wrong);
    return server->rules != NULL;
}

/* Pages of which origins may call. */
static bool make_cors(struct server *server)
{
    const char *wrong, *origins = server->config.cors_origins;
    struct http_text culprit;
    if (!origins || !*origins)
        return true;
    server->cors = http_cors_new(origins, API_EXPOSED_HEADERS, &wrong, &culprit);
    if (!server->cors)
        fprintf(stderr, "tidings: cors_origins: '%.*s': %s\n", (int)culprit.n, culprit.p, wrong);
    return server->cors != NULL;
}

static bool start_push(struct server *server)
{
    const struct config *config = &server->config;
    const uint64_t hour_ms = UINT64_C(60) * 60 * 1000;
    struct push_config push = {
        .tidings = server->tidings,
        .rules = server->rules,
        .ca_file = config->webhook_ca_file,
        .page = (uint32_t)config->engine.page_max,
        .timeout_ms = config->webhook_timeout_ms,
        .backoff_first_ms = config->webhook_backoff_first_ms,
        .backoff_most_ms = config->webhook_backoff_most_ms,
        .give_up_ms = config->webhook_give_up_hours * hour_ms,
        .kept_ms = config->engine.event_days * 24 * hour_ms,
    };
    if (push.ca_file && access(push.ca_file, R_OK) != 0) {
        log_message(LOG_ERROR, "webhook_ca_file: %s: %s", push.ca_file, strerror(errno));
        return false;
    }
    server->push = push_start(&push);
    if (!server->push)
        log_message(LOG_ERROR, "webhooks cannot be started");
    return server->push != NULL;
}

/* By default that of the log. */
static const char *tables_password(const struct server *server)
{
    if (server->tables_password.given)
        return server->tables_password.text;
    return server->password.given ? server->password.text : NULL;
}

/* Whoever else is told of events. EXIT_FINE, or the code to exit with. */
static int start_consume(struct server *server)
{
    const struct config *config = &server->config;
    const char *message;
    struct redis_options old_redis = old_options(&config->old, &server->old_redis_password);
    struct consume_config consume = {
        .tidings = server->tidings,
        .mysql = config->mysql,
        .page = (uint32_t)config->engine.page_max,
        .kafka = config->kafka,
        .kafka_sasl = kafka_sasl(config),
        .kafka_user = config->kafka_user,
        .kafka_password = server->kafka_password.given ? server->kafka_password.text : NULL,
        .kafka_ca_file = config->kafka_ca_file,
        .kafka_topic = config->kafka_topic,
        .tables = config->tables,
        .tables_password = tables_password(server),
        .tables_compare_hours = config->tables_compare_hours,
        .kafka_tls = config->kafka_tls,
        .kafka_partitions = (uint32_t)config->kafka_partitions,
        .redis = config->redis,
        .redis_user = config->redis_user,
        .redis_password = server->redis_password.given ? server->redis_password.text : NULL,
        .redis_ca = config->redis_ca,
        .redis_tls = !strcmp(config->redis_tls, "verify"),
        .old_redis = config->old.redis ? &old_redis : NULL,
        .old_names = &config->old.names,
        .old_share = (uint32_t)config->old.share,
        .old_schemes = old_schemes(&config->old),
        .old_refill = config->old_refill,
    };
    server->consume = consume_start(&consume, &message);
    if (!server->consume)
        log_message(LOG_ERROR, "%s", message);
    return server->consume ? EXIT_FINE : EXIT_USAGE;
}

static bool make_api(struct server *server)
{
    const struct config *config = &server->config;
    struct api_config api = {
        .tidings = server->tidings,
        .keys = server->keys,
        .rules = server->rules,
        .seal_secret = server->seal_secret,
        .seal_secret_n = SECRET_BYTES,
        .threads = (unsigned)config->threads,
        .tokens = {.leeway_s = (int64_t)config->jwt_leeway_s,
                   .issuer = config->jwt_issuer,
                   .audience = config->jwt_audience},
        .jwks = server->jwks,
        .access_log = config->access_log,
        .chinese = !strcmp(config->notice_language, "zh"),
        .stream_backlog = config->stream_backlog,
        .durability = config->durability,
        .backup_dir = config->backup_dir,
        .settings = config->engine,
    };
    server->api = api_new(&api);
    return server->api != NULL;
}

/* A place for backups, once there is a data directory, and a community. */
static bool make_demo(struct server *server)
{
    struct config *config = &server->config;
    if (!config->backup_dir) {
        snprintf(server->dev_backups, PATH_BYTES, "%s/backups", config->data);
        config->backup_dir = server->dev_backups;
        if (mkdir(config->backup_dir, 0700) != 0 && errno != EEXIST) {
            log_message(LOG_ERROR, "%s: %s", config->backup_dir, strerror(errno));
            return false;
        }
    }
    return demo_fill(server->tidings);
}

/* EXIT_FINE, or the code to exit with. */
static int start(struct server *server, const sigset_t *set)
{
    bool dev = server->config.dev;
    if (dev && !*server->dev_secret && !make_dev_secret(server))
        return EXIT_BROKEN;
    int code = load_published(server, set);
    if (code != EXIT_FINE)
        return code;
    server->keys_stamp = stamp_of(server->config.jwt_keys_file);
    struct keys *keys = load_keys(server);
    server->keys = keys ? keyring_new(keys) : NULL;
    if (!server->keys)
        return EXIT_BROKEN;
    code = open_engine(server);
    if (code != EXIT_FINE)
        return code;
    if (server->jwks && !jwks_start(server->jwks))
        return EXIT_BROKEN;
    if (!load_seal_secret(server) || (dev && !make_demo(server)) || !make_api(server) ||
        !start_push(server))
        return EXIT_BROKEN;
    code = start_consume(server);
    return code == EXIT_FINE ? start_http(server) : code;
}

static void stop(struct server *server)
{
    if (server->api)
        api_not_ready(server->api);
    push_stop(server->push);
    consume_stop(server->consume);
    if (server->http)
        http_server_stop(server->http, server->config.stop_timeout_ms);
    if (server->api)
        api_join(server->api);
    jwks_free(server->jwks);
    tidings_close(server->tidings);
    http_server_free(server->http);
    api_free(server->api);
    keyring_free(server->keys);
    server->push = NULL;
    server->consume = NULL;
    server->http = NULL;
    server->api = NULL;
    server->jwks = NULL;
    server->tidings = NULL;
    server->keys = NULL;
}

/* ---- Running -------------------------------------------------------------------------------- */

static void print_dev_settings(const struct config *config)
{
    if (config->backup_dir)
        printf("Backups go to %s.\n", config->backup_dir);
    printf("Webhooks may call https, and by plain http: %s.\n", config->webhook_allow);
    if (!config->access_log)
        puts("Requests are not logged; --access-log logs them.");
    puts("Ctrl-C stops the server.\n");
}

/*
 * The console is signed in by the fragment of its link, which browsers send to nobody: a service's
 * token, so that it can act for any user, and an administrator's.
 */
static void print_dev_link(const struct server *server)
{
    enum { DAY_S = 86400, ROLES = JWT_ROLE_ADMIN + 1 };
    char tokens[ROLES][JWT_MAX];
    struct keys *keys = keyring_get(server->keys);
    size_t n = 1;
    for (int role = 0; role < ROLES && n; role++) {
        struct jwt_grant grant = {.user_id = DEMO_READER,
                                  .role = (enum jwt_role)role,
                                  .ttl_s = DAY_S,
                                  .issuer = server->config.jwt_issuer,
                                  .audience = server->config.jwt_audience};
        n = jwt_sign(keys, &grant, time(NULL), tokens[role]);
    }
    keys_unref(keys);
    if (!n)
        return;
    unsigned port = http_server_port(server->http);
    printf("Tidings is ready. The console, signed in for a day:\n\n"
           "  http://127.0.0.1:%u/#dev=%s&admin=%s&user=%d\n\n",
           port, tokens[JWT_ROLE_SERVICE], tokens[JWT_ROLE_ADMIN], DEMO_READER);
    printf("The API is described at http://127.0.0.1:%u/docs. You are user %d:\n\n  TOKEN=%s\n\n",
           port, DEMO_READER, tokens[JWT_ROLE_USER]);
    printf("or, with -H 'X-User-Id: 2', whoever you like:\n\n  SERVICE=%s\n\n",
           tokens[JWT_ROLE_SERVICE]);
    printf("  curl -s -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:%u/v1/inbox\n", port);
    printf("  curl -N -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:%u/v1/stream\n\n", port);
    if (*server->dev_dir.path)
        dev_dir_print(&server->dev_dir);
    print_dev_settings(&server->config);
    fflush(stdout);
}

static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Whether the engine must be closed and opened again, which makes it join its log anew. */
static bool must_rejoin(const struct server *server)
{
    struct tidings_replica replica;
    return !tidings_replica_status(server->tidings, &replica) && replica.rejoin;
}

/* Every second the keys file is looked at: who rotates keys need not signal. False: the engine must join anew. */
static bool wait_for_stop(struct server *server, const sigset_t *set)
{
    static const struct timespec second = {.tv_sec = 1};
    for (;;) {
        int caught = sigtimedwait(set, NULL, &second);
        if (caught == SIGHUP || (caught < 0 && keys_file_changed(server)))
            reload_keys(server);
        else if (caught > 0)
            break;
        if (must_rejoin(server)) {
            log_message(LOG_WARN, "stopping, to join the log anew");
            return false;
        }
    }
    log_message(LOG_INFO, "stopping");
    return true;
}

/* EXIT_FINE, or the code to exit with. */
static int run(struct server *server, const sigset_t *set, bool *again)
{
    int code = start(server, set);
    *again = false;
    if (code == EXIT_FINE) {
        log_message(LOG_INFO, "listening on port %u with %u threads",
                    http_server_port(server->http), (unsigned)server->config.threads);
        if (server->config.dev)
            print_dev_link(server);
        *again = !wait_for_stop(server, set);
    }
    stop(server);
    return code;
}

/* A server that has run, and must join anew, tries to until it is stopped: its peers and MySQL come back, disks get room. */
static int run_again(struct server *server, const sigset_t *set)
{
    static const struct timespec pause = {.tv_sec = 3};
    for (bool again = true;;) {
        int code = run(server, set, &again);
        if (!again && code == EXIT_FINE)
            return code;
        if (again)
            continue;
        log_message(LOG_ERROR, "joining the log anew failed; trying again in 3 seconds");
        if (sigtimedwait(set, NULL, &pause) > 0)
            return code;
    }
}

/* OPTIONS_READ, or the code to exit with. */
static int complete_config(struct config *config, struct dev_dir *dev_dir)
{
    if (config->threads == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        config->threads = cores > 0 ? (uint64_t)cores : 1;
    }
    if (config->old.redis && !config->old.share) {
        fprintf(stderr, "tidings: old_redis needs old_share: of which part of the users\n");
        return EXIT_USAGE;
    }
    if (config->dev && !is_loopback(config->listen)) {
        fprintf(stderr, "tidings: --dev listens on loopback only\n");
        return EXIT_USAGE;
    }
    /* A directory that the demo before has used cannot join another log. */
    if (config->dev && !config->data && !config->mysql && dev_dir_choose(dev_dir))
        config->data = dev_dir->path;
    return config->data ? OPTIONS_READ : options_wrong(&command_serve, "--data is missing");
}

static int serve(struct server *server)
{
    sigset_t set;
    int code = make_rules(server) && make_cors(server)
                   ? complete_config(&server->config, &server->dev_dir)
                   : EXIT_USAGE;
    if (code == OPTIONS_READ)
        code = password_read(MYSQL_PASSWORD, &server->password);
    if (code == OPTIONS_READ)
        code = password_read(REDIS_PASSWORD, &server->redis_password);
    if (code == OPTIONS_READ)
        code = password_read(KAFKA_PASSWORD, &server->kafka_password);
    if (code == OPTIONS_READ)
        code = password_read(TABLES_PASSWORD, &server->tables_password);
    if (code == OPTIONS_READ)
        code = password_read(OLD_REDIS_PASSWORD, &server->old_redis_password);
    if (code != OPTIONS_READ)
        return code;
    bool again;
    block_signals(&set);
    code = run(server, &set, &again);
    return again ? run_again(server, &set) : code;
}

int serve_run(int argc, char **argv)
{
    struct server server = {.keys_lock = PTHREAD_MUTEX_INITIALIZER};
    int code = config_read(&server.config, argc, argv);
    if (code == OPTIONS_READ)
        code = serve(&server);
    push_rules_free(server.rules);
    http_cors_free(server.cors);
    config_release(&server.config);
    return code;
}

/* SPDX-License-Identifier: MIT */
#include "cli/config.h"

#include <ctype.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { NAME_MAX_BYTES = 64 };

/* ---- The table ------------------------------------------------------------------------------ */

#define AT(member) offsetof(struct config, member)
#define NUMBER(name, at, standard, least, most, about) \
    {name, OPTION_NUMBER, NULL, at, false, standard, least, most, NULL, NULL, NULL, about},
#define TEXT(name, value, standard, about) \
    {#name, OPTION_TEXT, value, AT(name), false, 0, 0, 0, standard, NULL, NULL, about},

/* clang-format off */
static const struct cli_option options[] = {
    TEXT(config, "FILE", NULL, "a file with settings")
    {"dev", OPTION_FLAG, NULL, AT(dev), .help = "for trying things out, as above"},
    TEXT(data, "DIR", NULL, "the data directory")
    TEXT(mysql, "URL", NULL, MYSQL_HELP)
    TEXT(follow, "URL", NULL,
         "tidings://HOST:PORT of a server whose log the data directory is to follow: a standby")
    TEXT(peer_listen, "HOST:PORT", NULL, "where other servers may follow this one; with --mysql, by default, the address "
         "by which it reaches MySQL, and any port")
    TEXT(peer_address, "HOST:PORT", NULL,
         "where the other servers of its log reach it, if not at peer_listen")
    TEXT(peer_key_file, "FILE", NULL,
         "the key of servers that follow each other, instead of peer.key in the data directory")
    {"take_back", OPTION_FLAG, NULL, AT(take_back),
     .help = "go on with a data directory though another server was promoted in its place"},
    TEXT(redis, "HOST:PORT,...", NULL,
         "nodes of a Redis Cluster, or a single Redis, where keys are kept for others to read")
    TEXT(redis_user, "NAME", NULL, "whom to log in to Redis as")
    {"redis_tls", OPTION_WORD, "off|verify", AT(redis_tls), .text = "off",
     .help = "whether the connections to Redis are encrypted"},
    TEXT(redis_ca, "FILE", NULL, "certificates to trust in Redis, instead of the system's")
    {"freshness", OPTION_WORD, "exact|bounded", AT(freshness), .text = "exact",
     .help = "with --mysql, of reads that do not say: exact, they include every change that was "
             "acknowledged on any server; bounded, they show what this server has"},
    TEXT(kafka, "LIST", NULL,
         "brokers of Kafka, host:port with commas, that are told of every event")
    TEXT(kafka_topic, "NAME", NULL,
         "the topic; by default tidings.DATABASE.events, or tidings.events without --mysql")
    {"kafka_sasl", OPTION_WORD, KAFKA_SASL, AT(kafka_sasl), .text = KAFKA_NO_SASL,
     .help = "how the server signs in there"},
    TEXT(kafka_user, "NAME", NULL, "as whom it does")
    TEXT(kafka_ca_file, "FILE", NULL, "CA certificates for Kafka, instead of the system's")
    TEXT(tables, "URL", NULL,
         "mysql://user@host:3306/database where tables for others to read are kept; log: where the log of --mysql is")
    OLD_OPTIONS(struct config, old, false,
        "the Redis of an old application, one or some nodes of a cluster, whose keys are kept in step"),
    {"old_share", OPTION_PARSED, "PERCENT", AT(old.share), .parse = share_parse, .must = OLD_SHARE_MUST,
     .help = OLD_SHARE_HELP},
    {"old_refill", OPTION_FLAG, NULL, AT(old_refill), .help = "begin with filling all their keys anew"},
    TEXT(listen, "HOST:PORT", "127.0.0.1:8080", "address to listen on")
    {"durability", OPTION_WORD, "commit|second", AT(durability), .text = "commit",
     .help = "commit: a change is synced before it is acknowledged; second: once a second"},
    {"notice_language", OPTION_WORD, "zh|en", AT(notice_language), .text = "zh",
     .help = "of notices, for who sends no Accept-Language"},
    TEXT(backup_dir, "DIR", NULL, "where POST /v1/admin/backup may write backups")
    TEXT(cors_origins, "LIST", NULL,
         "origins of pages that may call the API from a browser, with commas: https://app.example; or *: "
         "any, without credentials")
    TEXT(jwt_keys_file, "FILE", NULL, "JSON file with the keys of tokens, or a JWK Set")
    TEXT(jwt_issuer, "TEXT", NULL, "what the claim iss of a token must be")
    TEXT(jwt_audience, "TEXT", NULL, "what the claim aud of a token must be, or have in its list")
    TEXT(jwks_url, "URL", NULL,
         "where the public keys of tokens are published, as a JWK Set: https, or http on this machine")
    TEXT(jwks_ca_file, "FILE", NULL, "CA certificates for jwks_url, instead of the system's")
    TEXT(webhook_allow, "LIST", NULL,
         "hosts, host:port or networks (10.0.0.0/8), with commas, that webhooks may call by http "
         "and at private addresses")
    TEXT(webhook_ca_file, "FILE", NULL, "CA certificates for webhooks, instead of the system's")
#define X(name, standard, least, most, text) NUMBER(#name, AT(name), standard, least, most, text)
    SERVE_SETTINGS(X)
#undef X
#define X(name, standard, least, most, text) \
    NUMBER(#name, AT(engine.name), standard, least, most, text)
    TIDINGS_SETTINGS(X)
#undef X
#define X(name, standard, least, text) \
    NUMBER("http_" #name, AT(http.name), standard, least, UINT64_C(1) << 40, text)
    HTTP_SETTINGS(X)
#undef X
};
/* clang-format on */

#undef AT
#undef NUMBER
#undef TEXT

const struct cli_command command_serve = {
    .name = "serve",
    .summary = "serve the HTTP API",
    .usage = "--data DIR [--listen HOST:PORT] [--config FILE] [OPTIONS]\n"
             "--data DIR --follow tidings://HOST:PORT [--peer-listen HOST:PORT] [OPTIONS]\n"
             "--data DIR --mysql URL [--peer-listen HOST:PORT] [OPTIONS]\n"
             "--dev [OPTIONS]",
    .about =
        "Serves the HTTP API. Keys for tokens come from TIDINGS_JWT_SECRET (at least 32 bytes; "
        "several, one a line), from the file that TIDINGS_JWT_KEYS_FILE names, or from the address "
        "that jwks_url does; the password of the log in MySQL from TIDINGS_MYSQL_PASSWORD or the "
        "first line of the file that "
        "TIDINGS_MYSQL_PASSWORD_FILE names, those of Redis, Kafka and the tables likewise "
        "(TIDINGS_REDIS_PASSWORD, TIDINGS_OLD_REDIS_PASSWORD, TIDINGS_KAFKA_PASSWORD, "
        "TIDINGS_TABLES_PASSWORD, by default that "
        "of MySQL).\n\n"
        "--dev makes its own secret, fills an empty data directory with a demo community, a new "
        "one if none is given, and listens on loopback only. Requests are not logged unless "
        "--access-log is given, backups go to a directory in the data directory, and webhooks may "
        "call this machine.\n\n"
        "--follow makes a standby: it copies the data of the server at tidings://HOST:PORT, which "
        "listens there with --peer-listen, follows its log, answers what only reads, and takes "
        "over when `tidings promote` says so. It needs that server's peer.key.\n\n"
        "--mysql makes one of any number of servers that share a log in MySQL, each with a data "
        "directory of its own: the first one's history begins the log, the others start with an "
        "empty directory. Every server takes changes and answers exactly; one that makes changes "
        "and ends is replaced by another. Without --mysql the directory is a lone server again.\n\n"
        "Every setting is a flag, a variable (--follow-burst is TIDINGS_FOLLOW_BURST) and a line "
        "of the file (follow_burst = 100), in this order.",
    .examples = "tidings serve --dev\n"
                "tidings serve --config /etc/tidings/tidings.conf\n"
                "tidings serve --data /var/lib/tidings --listen 127.0.0.1:8080 --follow-burst 50",
    .exits =
        "0 stopped when told to; 2 usage: a flag, a variable or a line of the file is wrong; "
        "3 cannot work: no keys, the directory in use or damaged, no database, the port taken.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = serve_run,
};

/* Whether it can be given in other ways than as a flag. */
static bool is_setting(const struct cli_option *option)
{
    return option->kind != OPTION_FLAG && option->at != offsetof(struct config, config);
}

/* What --dev changes can still be set otherwise. */
static void set_defaults(struct config *config, bool dev)
{
    http_config_init(&config->http);
    options_defaults(&command_serve, config);
    if (!dev)
        return;
    config->access_log = 0;
    config->webhook_allow = "localhost, 127.0.0.0/8, [::1]";
}

/* ---- The file ------------------------------------------------------------------------------- */

static char *keep_text(struct config *config, const char *text)
{
    if (config->n_copies == sizeof config->copies / sizeof *config->copies)
        return NULL;
    char *copy = strdup(text);
    if (copy)
        config->copies[config->n_copies++] = copy;
    return copy;
}

static int take_line(void *ctx, const char *section, const char *name, const char *value)
{
    struct config *config = ctx;
    const struct cli_option *setting = option_find(&command_serve, name, strlen(name));
    if (*section || !setting || !is_setting(setting)) {
        fprintf(stderr, "tidings: config file: there is no setting %s\n", name);
        return 0;
    }
    if (setting->kind == OPTION_NUMBER)
        return option_set(setting, config, value, "config file");
    char *copy = keep_text(config, value);
    if (!copy)
        fprintf(stderr, "tidings: config file: %s is given too often\n", name);
    return copy && option_set(setting, config, copy, "config file");
}

void config_release(struct config *config)
{
    while (config->n_copies)
        free(config->copies[--config->n_copies]);
}

static bool read_file(struct config *config, const char *path)
{
    int rc = ini_parse(path, take_line, config);
    if (rc < 0)
        fprintf(stderr, "tidings: %s cannot be read\n", path);
    if (rc > 0)
        fprintf(stderr, "tidings: %s: error in line %d\n", path, rc);
    return rc == 0;
}

/* ---- The environment ------------------------------------------------------------------------ */

static bool read_environment(struct config *config)
{
    char name[NAME_MAX_BYTES];
    for (size_t i = 0; i < command_serve.n_options; i++) {
        snprintf(name, sizeof name, "TIDINGS_%s", options[i].name);
        for (char *at = name; *at; at++)
            *at = (char)toupper((unsigned char)*at);
        const char *value = is_setting(&options[i]) ? getenv(name) : NULL;
        if (value && !option_set(&options[i], config, value, name))
            return false;
    }
    return true;
}

/* --------------------------------------------------------------------------------------------- */

/* The flags are read twice: which file, and whether --dev, comes before what is in the file, and the
 * other flags behind it. */
int config_read(struct config *config, int argc, char **argv)
{
    *config = (struct config){0};
    int code = options_start(&command_serve, config, argc, argv);
    if (code != OPTIONS_READ)
        return code;
    const char *file = config->config;
    set_defaults(config, config->dev);
    if ((file && !read_file(config, file)) || !read_environment(config))
        return EXIT_USAGE;
    return options_read(&command_serve, config, argc, argv);
}

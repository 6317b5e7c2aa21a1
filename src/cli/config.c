/* SPDX-License-Identifier: MIT */
#include "cli/config.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 64, SETTINGS_MAX = 96 };

/* A number, or a text. */
struct setting {
    const char *name;
    uint64_t *number;
    const char **text;
    uint64_t standard, least, most;
    const char *help;
};

struct table {
    struct config *config;
    size_t n;
    struct setting at[SETTINGS_MAX];
};

static void add(struct table *table, struct setting setting)
{
    if (table->n < SETTINGS_MAX)
        table->at[table->n++] = setting;
}

static void make_table(struct config *config, struct table *table)
{
    table->n = 0;
    table->config = config;
    add(table, (struct setting){"data", .text = &config->data, .help = "the data directory"});
    add(table, (struct setting){"listen", .text = &config->listen,
                                .help = "address to listen on (127.0.0.1:8080)"});
    add(table, (struct setting){"durability", .text = &config->durability,
                                .help = "commit: a change is synced before it is acknowledged; "
                                        "second: once a second (commit)"});
    add(table, (struct setting){"backup_dir", .text = &config->backup_dir,
                                .help = "where POST /v1/admin/backup may write backups"});
    add(table, (struct setting){"jwt_keys_file", .text = &config->jwt_keys_file,
                                .help = "JSON file with the keys of tokens"});
    add(table,
        (struct setting){"webhook_allow", .text = &config->webhook_allow,
                         .help = "hosts or host:port, with commas, that webhooks may call by "
                                 "http and at private addresses"});
    add(table, (struct setting){"webhook_ca_file", .text = &config->webhook_ca_file,
                                .help = "CA certificates for webhooks, instead of the system's"});
#define X(name, standard, least, most, text) \
    add(table, (struct setting){#name, &config->name, NULL, standard, least, most, text});
    SERVE_SETTINGS(X)
#undef X
#define X(name, standard, least, most, text) \
    add(table, (struct setting){#name, &config->engine.name, NULL, standard, least, most, text});
    TIDINGS_SETTINGS(X)
#undef X
#define X(name, standard, least, text)                                                    \
    add(table, (struct setting){"http_" #name, &config->http.name, NULL, standard, least, \
                                UINT64_C(1) << 40, text});
    HTTP_SETTINGS(X)
#undef X
}

static struct setting *find(struct table *table, const char *name)
{
    for (size_t i = 0; i < table->n; i++)
        if (!strcmp(table->at[i].name, name))
            return &table->at[i];
    return NULL;
}

/* `where` names the source in messages. */
static bool set(struct setting *setting, const char *value, const char *where)
{
    if (setting->text) {
        *setting->text = value;
        return true;
    }
    char *end;
    errno = 0;
    uint64_t number = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)*value) || *end || errno || number < setting->least ||
        number > setting->most) {
        fprintf(stderr, "tidings: %s: %s must be a number from %" PRIu64 " to %" PRIu64 "\n", where,
                setting->name, setting->least, setting->most);
        return false;
    }
    *setting->number = number;
    return true;
}

static void set_defaults(struct config *config, struct table *table)
{
    struct tidings_options options;
    tidings_options_init(&options);
    *config = (struct config){
        .listen = "127.0.0.1:8080", .durability = "commit", .engine = options.settings};
    http_config_init(&config->http);
    for (size_t i = 0; i < table->n; i++)
        if (table->at[i].number)
            *table->at[i].number = table->at[i].standard;
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
    struct table *table = ctx;
    struct setting *setting = find(table, name);
    if (*section || !setting) {
        fprintf(stderr, "tidings: config file: there is no setting %s\n", name);
        return 0;
    }
    if (!setting->text)
        return set(setting, value, "config file");
    char *copy = keep_text(table->config, value);
    if (!copy)
        fprintf(stderr, "tidings: config file: %s is given too often\n", name);
    return copy && set(setting, copy, "config file");
}

void config_release(struct config *config)
{
    while (config->n_copies)
        free(config->copies[--config->n_copies]);
}

static bool read_file(struct table *table, const char *path)
{
    int rc = ini_parse(path, take_line, table);
    if (rc < 0)
        fprintf(stderr, "tidings: %s cannot be read\n", path);
    if (rc > 0)
        fprintf(stderr, "tidings: %s: error in line %d\n", path, rc);
    return rc == 0;
}

/* ---- The environment ------------------------------------------------------------------------ */

static bool read_environment(struct table *table)
{
    char name[NAME_MAX_BYTES];
    for (size_t i = 0; i < table->n; i++) {
        size_t n = (size_t)snprintf(name, sizeof name, "TIDINGS_%s", table->at[i].name);
        for (size_t j = 0; j < n && j < sizeof name; j++)
            name[j] = (char)toupper((unsigned char)name[j]);
        const char *value = getenv(name);
        if (value && !set(&table->at[i], value, name))
            return false;
    }
    return true;
}

/* ---- The flags ------------------------------------------------------------------------------ */

/* "--follow-burst=5" or "--follow-burst 5": the name with underscores; the value, NULL if there is
 * none. */
static bool split_flag(int argc, char **argv, int *i, char name[NAME_MAX_BYTES], const char **value)
{
    const char *flag = argv[*i];
    const char *equals = strchr(flag, '=');
    size_t n = equals ? (size_t)(equals - flag) : strlen(flag);
    if (strncmp(flag, "--", 2) || n < 3 || n - 2 >= NAME_MAX_BYTES)
        return false;
    for (size_t j = 2; j < n; j++)
        name[j - 2] = flag[j] == '-' ? '_' : flag[j];
    name[n - 2] = '\0';
    *value = equals ? equals + 1 : NULL;
    bool alone = !strcmp(name, "dev") || !strcmp(name, "help");
    if (!alone && !equals && *i + 1 < argc)
        *value = argv[++*i];
    return true;
}

/* Only the config file's name if `table` is NULL: the file comes before the other flags. */
static bool read_flags(struct config *config, struct table *table, int argc, char **argv,
                       const char **file)
{
    char name[NAME_MAX_BYTES];
    const char *value;
    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i];
        if (!split_flag(argc, argv, &i, name, &value)) {
            fprintf(stderr, "tidings: %s is not a flag; see --help\n", flag);
            return false;
        }
        struct setting *setting = table ? find(table, name) : NULL;
        if (!strcmp(name, "config") && value)
            *file = value;
        else if (!strcmp(name, "dev"))
            config->dev = true;
        else if (!strcmp(name, "help"))
            config->help = true;
        else if (table && (!setting || !value)) {
            fprintf(stderr, "tidings: %s %s; see --help\n", flag,
                    setting ? "needs a value" : "is not known");
            return false;
        } else if (setting && !set(setting, value, flag))
            return false;
    }
    return true;
}

bool config_read(struct config *config, int argc, char **argv)
{
    struct table table;
    const char *file = NULL;
    make_table(config, &table);
    set_defaults(config, &table);
    return read_flags(config, NULL, argc, argv, &file) && (!file || read_file(&table, file)) &&
           read_environment(&table) && read_flags(config, &table, argc, argv, &file);
}

void config_print(FILE *to)
{
    struct config config;
    struct table table;
    char flag[NAME_MAX_BYTES];
    make_table(&config, &table);
    for (size_t i = 0; i < table.n; i++) {
        const struct setting *setting = &table.at[i];
        size_t n = (size_t)snprintf(flag, sizeof flag, "--%s", setting->name);
        for (size_t j = 2; j < n; j++)
            flag[j] = flag[j] == '_' ? '-' : flag[j];
        if (setting->text)
            fprintf(to, "  %-32s %s\n", flag, setting->help);
        else
            fprintf(to, "  %-32s %s (%" PRIu64 ")\n", flag, setting->help, setting->standard);
    }
}

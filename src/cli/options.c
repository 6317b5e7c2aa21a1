/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/hint.h"

/* ---- As text -------------------------------------------------------------------------------- */

bool option_is_switch(const struct cli_option *option)
{
    return option->kind == OPTION_NUMBER && option->most == 1;
}

const char *option_flag(const struct cli_option *option, char text[OPTION_TEXT_MAX])
{
    snprintf(text, OPTION_TEXT_MAX, "--%s", option->name);
    for (char *at = text; *at; at++)
        if (*at == '_')
            *at = '-';
    return text;
}

const char *option_value(const struct cli_option *option)
{
    if (option->kind == OPTION_FLAG)
        return "";
    if (option_is_switch(option))
        return "[0|1]";
    return option->value ? option->value : "N";
}

const char *option_default(const struct cli_option *option, char text[OPTION_TEXT_MAX])
{
    bool number = option->kind == OPTION_NUMBER && option->standard >= option->least;
    text[0] = '\0';
    if (number)
        snprintf(text, OPTION_TEXT_MAX, "%" PRIu64, option->standard);
    else if (option->text)
        snprintf(text, OPTION_TEXT_MAX, "%s", option->text);
    return text;
}

/* ---- Values --------------------------------------------------------------------------------- */

static void *place_of(const struct cli_option *option, void *args)
{
    return (char *)args + option->at;
}

/* What is on the command line outlives every command. */
static bool set_text(void *to, const char *value)
{
    memcpy(to, &value, sizeof value);
    return true;
}

static bool set_number(const struct cli_option *option, void *to, const char *value)
{
    char *end;
    errno = 0;
    uint64_t number = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)*value) || *end || errno || number < option->least ||
        number > option->most)
        return false;
    memcpy(to, &number, sizeof number);
    return true;
}

static bool is_word(const char *words, const char *value)
{
    size_t n = strlen(value);
    for (const char *at = words;; at++) {
        size_t length = strcspn(at, "|");
        if (length == n && !memcmp(at, value, n))
            return true;
        at += length;
        if (!*at)
            return false;
    }
}

static bool set_value(const struct cli_option *option, void *to, const char *value)
{
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)to = true;
        return true;
    case OPTION_NUMBER:
        return set_number(option, to, value);
    case OPTION_TEXT:
        return set_text(to, value);
    case OPTION_WORD:
        return is_word(option->value, value) && set_text(to, value);
    case OPTION_PARSED:
        return option->parse(value, to);
    }
    return false;
}

/* "user, service or admin" */
static void print_words(FILE *to, const char *words)
{
    const char *last = strrchr(words, '|');
    for (; *words; words++)
        if (*words != '|')
            fputc(*words, to);
        else
            fputs(words == last ? " or " : ", ", to);
}

static void print_wanted(FILE *to, const struct cli_option *option)
{
    if (option->kind == OPTION_NUMBER)
        fprintf(to, "a number from %" PRIu64 " to %" PRIu64, option->least, option->most);
    else if (option->kind == OPTION_WORD)
        print_words(to, option->value);
    else
        fputs(option->must, to);
}

bool option_set(const struct cli_option *option, void *args, const char *value, const char *where)
{
    if (set_value(option, place_of(option, args), value))
        return true;
    fprintf(stderr, "tidings: %s: %s must be ", where, option->name);
    print_wanted(stderr, option);
    fputc('\n', stderr);
    return false;
}

static void set_default(const struct cli_option *option, void *to)
{
    if (option->kind == OPTION_FLAG)
        *(bool *)to = false;
    else if (option->kind == OPTION_NUMBER)
        memcpy(to, &option->standard, sizeof option->standard);
    else if (option->kind == OPTION_PARSED && option->text)
        option->parse(option->text, to);
    else if (option->kind != OPTION_PARSED)
        set_text(to, option->text);
}

void options_defaults(const struct cli_command *command, void *args)
{
    for (size_t i = 0; i < command->n_options; i++)
        set_default(&command->options[i], place_of(&command->options[i], args));
    for (size_t i = 0; i < command->n_operands; i++)
        set_text((char *)args + command->operands[i].at, NULL);
}

/* ---- The command line ----------------------------------------------------------------------- */

static const struct cli_option help_option = {.name = "help", .help = "tell this"};

const struct cli_option *option_at(const struct cli_command *command, size_t i)
{
    if (i < command->n_options)
        return &command->options[i];
    return i == command->n_options ? &help_option : NULL;
}

static bool has_name(const struct cli_option *option, const char *name, size_t n)
{
    size_t i = 0;
    while (i < n && option->name[i] && option->name[i] == (name[i] == '-' ? '_' : name[i]))
        i++;
    return i == n && !option->name[i];
}

const struct cli_option *option_find(const struct cli_command *command, const char *name, size_t n)
{
    const struct cli_option *option;
    for (size_t i = 0; (option = option_at(command, i)); i++)
        if (has_name(option, name, n))
            return option;
    return NULL;
}

int options_wrong(const struct cli_command *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("tidings: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    help_usage(command, stderr);
    return EXIT_USAGE;
}

struct reading {
    const struct cli_command *command;
    void *args;
    int argc, at;
    char **argv;
    size_t n_operands;   /* of the table that are behind us */
    const char *operand; /* the last one that was there */
};

static int say_unknown(const struct cli_command *command, const char *flag, size_t n)
{
    char text[OPTION_TEXT_MAX];
    struct hint hint = {.typed = flag, .n = n};
    const struct cli_option *option, *meant = NULL;
    for (size_t i = 0; (option = option_at(command, i)); i++)
        if (hint_is_nearer(&hint, option_flag(option, text)))
            meant = option;
    if (!meant)
        return options_wrong(command, "%.*s is not known", (int)n, flag);
    return options_wrong(command, "%.*s is not known; did you mean %s?", (int)n, flag,
                         option_flag(meant, text));
}

/* Behind "=", or the next argument. A switch takes what looks like a flag for one. */
static const char *take_value(struct reading *reading, const struct cli_option *option)
{
    const char *equals = strchr(reading->argv[reading->at], '=');
    bool is_switch = option_is_switch(option);
    if (equals)
        return equals + 1;
    if (option->kind == OPTION_FLAG)
        return NULL;
    bool more = reading->at + 1 < reading->argc;
    if (more && !(is_switch && !strncmp(reading->argv[reading->at + 1], "--", 2)))
        return reading->argv[++reading->at];
    return is_switch ? "1" : NULL;
}

static int read_flag(struct reading *reading)
{
    const struct cli_command *command = reading->command;
    const char *flag = reading->argv[reading->at];
    size_t n = strcspn(flag, "=");
    bool is_long = !strncmp(flag, "--", 2);
    const struct cli_option *option = is_long ? option_find(command, flag + 2, n - 2) : NULL;
    if (!option)
        return say_unknown(command, flag, n);
    const char *value = take_value(reading, option);
    if (value && option->kind == OPTION_FLAG)
        return options_wrong(command, "%.*s takes no value", (int)n, flag);
    if (!value && option->kind != OPTION_FLAG)
        return options_wrong(command, "%s needs a value", flag);
    if (option == &help_option) {
        help_print(command, stdout);
        return EXIT_FINE;
    }
    if (option_set(option, reading->args, value, flag))
        return OPTIONS_READ;
    help_usage(command, stderr);
    return EXIT_USAGE;
}

/* The one that may come next; NULL: none. */
static const struct cli_operand *next_operand(const struct reading *reading)
{
    const struct cli_command *command = reading->command;
    for (size_t i = reading->n_operands; i < command->n_operands; i++) {
        const struct cli_operand *operand = &command->operands[i];
        if (!operand->behind || (reading->operand && is_word(operand->behind, reading->operand)))
            return operand;
    }
    return NULL;
}

static int read_operand(struct reading *reading)
{
    const char *text = reading->argv[reading->at];
    const struct cli_operand *operand = next_operand(reading);
    if (!operand)
        return options_wrong(reading->command, "%s is not a flag", text);
    reading->n_operands = (size_t)(operand - reading->command->operands) + 1;
    reading->operand = text;
    if (operand->words && !is_word(operand->words, text))
        return options_wrong(reading->command, "%s is not one of: %s", text, operand->words);
    set_text((char *)reading->args + operand->at, text);
    return OPTIONS_READ;
}

/* What must be given has no default. */
static bool is_missing(const struct cli_option *option, const void *args)
{
    static const char none[sizeof(uint64_t)];
    size_t n = option->kind == OPTION_NUMBER ? sizeof(uint64_t) : sizeof(const char *);
    return option->required && !memcmp((const char *)args + option->at, none, n);
}

static int check_complete(const struct reading *reading)
{
    const struct cli_command *command = reading->command;
    char text[OPTION_TEXT_MAX];
    for (size_t i = 0; i < command->n_options; i++)
        if (is_missing(&command->options[i], reading->args))
            return options_wrong(command, "%s is missing", option_flag(&command->options[i], text));
    const struct cli_operand *operand = next_operand(reading);
    if (operand && operand->name[0] != '[')
        return options_wrong(command, "%s is missing", operand->name);
    return OPTIONS_READ;
}

int options_read(const struct cli_command *command, void *args, int argc, char **argv)
{
    struct reading reading = {.command = command, .args = args, .argc = argc, .argv = argv};
    bool flags = true;
    int code = OPTIONS_READ;
    for (reading.at = 1; reading.at < argc && code == OPTIONS_READ; reading.at++) {
        const char *text = argv[reading.at];
        if (flags && !strcmp(text, "--"))
            flags = false;
        else
            code =
                flags && text[0] == '-' && text[1] ? read_flag(&reading) : read_operand(&reading);
    }
    return code == OPTIONS_READ ? check_complete(&reading) : code;
}

int options_start(const struct cli_command *command, void *args, int argc, char **argv)
{
    options_defaults(command, args);
    return options_read(command, args, argc, argv);
}

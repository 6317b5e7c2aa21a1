/* SPDX-License-Identifier: MIT */
#include "cli/help.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/hint.h"

enum { COLUMNS = 96, MARGIN = 2, GAP = 3 };

/* ---- Texts ---------------------------------------------------------------------------------- */

/* Fills lines from column `at` on; further ones begin at `indent`. Ends the last one. */
static void print_filled(FILE *to, const char *text, int at, int indent)
{
    bool first = true;
    while (*text) {
        int n = (int)strcspn(text, " \n");
        if (!first && at + 1 + n > COLUMNS) {
            fprintf(to, "\n%*s", indent, "");
            at = indent;
            first = true;
        }
        at += fprintf(to, "%s%.*s", first ? "" : " ", n, text);
        first = false;
        text += n;
        if (*text == '\n') {
            fprintf(to, "\n%*s", indent, "");
            at = indent;
            first = true;
        }
        text += *text != '\0';
    }
    fputc('\n', to);
}

static int option_width(const struct cli_option *option)
{
    return (int)(strlen("-- ") + strlen(option->name) + strlen(option_value(option)));
}

static void print_option(FILE *to, const struct cli_option *option, int width)
{
    char flag[OPTION_TEXT_MAX], standard[OPTION_TEXT_MAX], text[1024];
    option_default(option, standard);
    snprintf(text, sizeof text, "%s%s%s%s", option->help, *standard ? " (" : "", standard,
             *standard ? ")" : "");
    int used = fprintf(to, "%*s%s %s", MARGIN, "", option_flag(option, flag), option_value(option));
    fprintf(to, "%*s", MARGIN + width + GAP - used, "");
    print_filled(to, text, MARGIN + width + GAP, MARGIN + width + GAP);
}

/* ---- A command ------------------------------------------------------------------------------ */

void help_usage(const struct cli_command *command, FILE *to)
{
    const char *before = "usage:", *at = command->usage;
    do {
        int n = (int)strcspn(at, "\n");
        fprintf(to, "%-6s tidings %s%s%.*s\n", before, command->name, n ? " " : "", n, at);
        before = "";
        at += n;
    } while (*at++);
}

/* Not filled: a line is to be copied as it stands. */
static void help_examples(const struct cli_command *command, FILE *to)
{
    fputs("\nExample:\n", to);
    for (const char *at = command->examples; *at; at += *at == '\n') {
        int n = (int)strcspn(at, "\n");
        fprintf(to, "%*s%.*s\n", MARGIN, "", n, at);
        at += n;
    }
}

void help_print(const struct cli_command *command, FILE *to)
{
    const struct cli_option *option;
    int width = 0;
    help_usage(command, to);
    fputc('\n', to);
    print_filled(to, command->about, 0, 0);
    fputc('\n', to);
    for (size_t i = 0; (option = option_at(command, i)); i++)
        width = option_width(option) > width ? option_width(option) : width;
    for (size_t i = 0; (option = option_at(command, i)); i++)
        print_option(to, option, width);
    help_examples(command, to);
    fprintf(to, "\nExit: ");
    print_filled(to, command->exits, (int)strlen("Exit: "), 0);
}

/* ---- All commands --------------------------------------------------------------------------- */

const struct cli_command *command_find(const char *name)
{
    for (size_t i = 0; i < cli_n_commands; i++) {
        const struct cli_command *command = cli_commands[i];
        bool as_flag = command->is_flag_too && !strncmp(name, "--", 2);
        if (!strcmp(as_flag ? name + 2 : name, command->name))
            return command;
    }
    return NULL;
}

int command_unknown(const char *name)
{
    struct hint hint = {.typed = name, .n = strlen(name)};
    const char *meant = NULL;
    for (size_t i = 0; i < cli_n_commands; i++)
        if (hint_is_nearer(&hint, cli_commands[i]->name))
            meant = cli_commands[i]->name;
    fprintf(stderr, "tidings: %s is not a command", name);
    if (meant)
        fprintf(stderr, "; did you mean %s?", meant);
    fputs("\n\n", stderr);
    help_commands(stderr);
    return EXIT_USAGE;
}

void help_commands(FILE *to)
{
    fprintf(to, "usage: tidings COMMAND [OPTIONS]\n\n");
    for (size_t i = 0; i < cli_n_commands; i++)
        fprintf(to, "  %-14s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fprintf(to, "\n`tidings COMMAND --help` tells a command's options.\n");
}

/* ---- The command ---------------------------------------------------------------------------- */

struct help_args {
    const char *command;
    bool man, completion;
};

static const struct cli_operand operands[] = {
    {"[COMMAND]", .at = offsetof(struct help_args, command)}};

static const struct cli_option options[] = {
    {.name = "man",
     .at = offsetof(struct help_args, man),
     .help = "print the manual page instead, in roff"},
    {.name = "completion",
     .at = offsetof(struct help_args, completion),
     .help = "print the completion for bash instead"},
};

static int run(int argc, char **argv)
{
    struct help_args args;
    int code = options_start(&command_help, &args, argc, argv);
    if (code != OPTIONS_READ)
        return code;
    const struct cli_command *command = args.command ? command_find(args.command) : NULL;
    if (args.command && !command)
        return command_unknown(args.command);
    if (args.man)
        manual_print(stdout);
    else if (args.completion)
        completion_print(stdout);
    else if (command)
        help_print(command, stdout);
    else
        help_commands(stdout);
    return EXIT_FINE;
}

const struct cli_command command_help = {
    .name = "help",
    .is_flag_too = true,
    .summary = "tell about the commands, or about one",
    .usage = "[COMMAND]\n--man\n--completion",
    .about = "Tells what commands there are, or what one does and takes. All of it together is the "
             "manual page, tidings(1).",
    .examples = "tidings help backup\n"
                "tidings help --completion > /etc/bash_completion.d/tidings",
    .exits = "0 done; 2 usage.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .operands = operands,
    .n_operands = sizeof operands / sizeof *operands,
    .run = run,
};

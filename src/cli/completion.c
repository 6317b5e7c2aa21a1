/* SPDX-License-Identifier: MIT */
/* Completion for bash: a script that needs nothing but bash itself. */
#include <string.h>

#include "cli/cli.h"
#include "cli/help.h"

static const char beginning[] =
    "# Completion of tidings for bash, made by `tidings help --completion`.\n"
    "_tidings_words()\n"
    "{\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
    "}\n"
    "_tidings_files()\n"
    "{\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
    "}\n"
    "_tidings()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    COMPREPLY=()\n"
    "    # bash takes --flag=value for three words\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n";

static const char end[] = "}\n"
                          "complete -F _tidings tidings\n";

/* How compgen finds what may stand for such a value; NULL: it cannot know. */
static const char *action_of(const char *value)
{
    static const struct {
        const char *value, *action;
    } actions[] = {{"DIR", "-d"}, {"DEST", "-d"}, {"SRC", "-d"}, {"FILE", "-f"}};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (!strcmp(value, actions[i].value))
            return actions[i].action;
    return NULL;
}

/* With the other name of those that are flags, too, if wanted. */
static void print_commands(FILE *to, bool flags_too)
{
    fputs("_tidings_words '", to);
    for (size_t i = 0; i < cli_n_commands; i++) {
        const struct cli_command *command = cli_commands[i];
        fprintf(to, "%s%s", i ? " " : "", command->name);
        if (flags_too && command->is_flag_too)
            fprintf(to, " --%s", command->name);
    }
    fputc('\'', to);
}

/* "commit|second", "[0|1]" */
static void print_choices(FILE *to, const char *value)
{
    fputs("_tidings_words '", to);
    for (; *value; value++)
        if (*value != '[' && *value != ']')
            fputc(*value == '|' ? ' ' : *value, to);
    fputc('\'', to);
}

static void print_value(FILE *to, const struct cli_command *command,
                        const struct cli_option *option)
{
    char flag[OPTION_TEXT_MAX];
    const char *value = option_value(option), *action = action_of(value);
    if (!*value)
        return;
    fprintf(to, "    %s:%s)", command->name, option_flag(option, flag));
    if (action) {
        fprintf(to, " _tidings_files %s;", action);
    } else if (strchr(value, '|')) {
        fputc(' ', to);
        print_choices(to, value);
        fputc(';', to);
    }
    fputs(" return ;;\n", to);
}

/* The first one: where nothing else is known to stand. */
static void print_operand(FILE *to, const struct cli_command *command)
{
    const struct cli_operand *operand = command->operands;
    if (!command->n_operands)
        return;
    const char *action = action_of(operand->name);
    fprintf(to, "    %s:[!-]* | %s:) ", command->name, command->name);
    if (action)
        fprintf(to, "_tidings_files %s", action);
    else if (operand->words)
        print_choices(to, operand->words);
    else
        print_commands(to, false);
    fputs(" ;;\n", to);
}

/* Those behind it, which stand behind a word that is known. */
static void print_further(FILE *to, const struct cli_command *command)
{
    for (size_t i = 1; i < command->n_operands; i++) {
        const struct cli_operand *operand = &command->operands[i];
        const char *before = operand->behind;
        fprintf(to, "    %s:", command->name);
        for (; before && *before; before++)
            if (*before == '|')
                fprintf(to, " | %s:", command->name);
            else
                fputc(*before, to);
        fputs(") ", to);
        if (operand->words) {
            print_choices(to, operand->words);
            fputs("; ", to);
        }
        fputs("return ;;\n", to);
    }
}

static void print_flags(FILE *to, const struct cli_command *command)
{
    const struct cli_option *option;
    char flag[OPTION_TEXT_MAX];
    fprintf(to, "    %s:*) _tidings_words '", command->name);
    for (size_t i = 0; (option = option_at(command, i)); i++)
        fprintf(to, "%s%s", i ? " " : "", option_flag(option, flag));
    fputs("' ;;\n", to);
}

void completion_print(FILE *to)
{
    const struct cli_option *option;
    fputs(beginning, to);
    fputs("    if ((COMP_CWORD == 1)); then\n        ", to);
    print_commands(to, true);
    fputs("\n        return\n    fi\n    case ${COMP_WORDS[1]}:$prev in\n", to);
    for (size_t i = 0; i < cli_n_commands; i++) {
        for (size_t j = 0; (option = option_at(cli_commands[i], j)); j++)
            print_value(to, cli_commands[i], option);
        print_further(to, cli_commands[i]);
    }
    fputs("    esac\n    case ${COMP_WORDS[1]}:$cur in\n", to);
    for (size_t i = 0; i < cli_n_commands; i++) {
        print_operand(to, cli_commands[i]);
        print_flags(to, cli_commands[i]);
    }
    fputs("    esac\n", to);
    fputs(end, to);
}

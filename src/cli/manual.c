/* SPDX-License-Identifier: MIT */
/* The manual page, in the macros of man(7). */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/help.h"

/* A - is a hyphen in roff unless it is escaped, and a line must not begin with . or '. An empty line
 * is the end of a paragraph. */
static void print_text(FILE *to, const char *text)
{
    bool begins = true;
    for (; *text; text++) {
        bool is_macro = begins && (*text == '.' || *text == '\'');
        begins = *text == '\n';
        if (is_macro)
            fputs("\\&", to);
        if (*text == '\\')
            fputs("\\e", to);
        else if (*text == '-')
            fputs("\\-", to);
        else if (begins && text[1] == '\n')
            fputs("\n.PP", to);
        else
            fputc(*text, to);
    }
}

static void print_line(FILE *to, const char *text)
{
    print_text(to, text);
    fputc('\n', to);
}

static void print_option(FILE *to, const struct cli_option *option)
{
    char flag[OPTION_TEXT_MAX], standard[OPTION_TEXT_MAX];
    const char *value = option_value(option);
    fputs(".TP\n\\fB", to);
    print_text(to, option_flag(option, flag));
    fputs("\\fR", to);
    if (*value) {
        fputs(" \\fI", to);
        print_text(to, value);
        fputs("\\fR", to);
    }
    fputc('\n', to);
    print_text(to, option->help);
    if (*option_default(option, standard)) {
        fputs(" (", to);
        print_text(to, standard);
        fputc(')', to);
    }
    fputc('\n', to);
}

static void print_forms(FILE *to, const struct cli_command *command)
{
    const char *at = command->usage;
    do {
        char form[OPTION_TEXT_MAX];
        size_t n = strcspn(at, "\n");
        snprintf(form, sizeof form, "%.*s", (int)n, at);
        fprintf(to, "\\fBtidings ");
        print_text(to, command->name);
        fputs(n ? "\\fR " : "\\fR", to);
        print_line(to, form);
        at += n;
        if (*at)
            fputs(".br\n", to);
    } while (*at++);
}

static void print_command(FILE *to, const struct cli_command *command)
{
    const struct cli_option *option;
    fputs(".SS ", to);
    print_line(to, command->name);
    print_forms(to, command);
    fputs(".PP\n", to);
    print_line(to, command->about);
    for (size_t i = 0; (option = option_at(command, i)); i++)
        print_option(to, option);
    fputs(".PP\nExample:\n.PP\n.nf\n.RS\n", to);
    print_line(to, command->examples);
    fputs(".RE\n.fi\n.PP\nExit status: ", to);
    print_line(to, command->exits);
}

/* SOURCE_DATE_EPOCH is what builders set whose packages are to come out the same twice. */
static void print_title(FILE *to)
{
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    time_t now = fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
    char date[16] = "";
    struct tm tm;
    if (gmtime_r(&now, &tm))
        strftime(date, sizeof date, "%Y-%m-%d", &tm);
    fprintf(to, ".TH TIDINGS 1 %s \"tidings %s\" \"User Commands\"\n", date, PROGRAM_VERSION);
}

static const char description[] =
    "Tidings is the social engine of a content community: who follows whom, what lands in each "
    "reader's inbox, what has been read, who liked, saved and commented, what is hot, and who must "
    "be told. The program serves HTTP/JSON from one directory on one machine, and looks after that "
    "directory.";

static const struct {
    const char *name, *text;
} variables[] = {
    {"TIDINGS_JWT_SECRET", "secrets that tokens are signed with, one a line, each of at least 32 "
                           "bytes"},
    {"TIDINGS_JWT_KEYS_FILE", "a JSON file with the keys of tokens"},
    {"TIDINGS_MYSQL_PASSWORD", "the password of the log in MySQL"},
    {"TIDINGS_MYSQL_PASSWORD_FILE", "a file whose first line is that password"},
    {"TIDINGS_REDIS_PASSWORD", "the password of the Redis that `redis` names"},
    {"TIDINGS_REDIS_PASSWORD_FILE", "a file whose first line is that password"},
    {"TIDINGS_...", "every setting of `tidings serve`, in capitals"},
};

void manual_print(FILE *to)
{
    print_title(to);
    fputs(".SH NAME\ntidings \\- the social engine of a content community\n.SH SYNOPSIS\n", to);
    fputs("\\fBtidings\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.br\n"
          "\\fBtidings \\-\\-help\\fR\n.br\n\\fBtidings \\-\\-version\\fR\n.SH DESCRIPTION\n",
          to);
    print_line(to, description);
    fputs(".SH COMMANDS\n", to);
    for (size_t i = 0; i < cli_n_commands; i++)
        print_command(to, cli_commands[i]);
    fputs(".SH ENVIRONMENT\n", to);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        fprintf(to, ".TP\n\\fB%s\\fR\n", variables[i].name);
        print_line(to, variables[i].text);
    }
}

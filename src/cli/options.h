/* SPDX-License-Identifier: MIT */
/*
 * What a command takes, as a table. Reading the command line, --help, the manual page and the
 * completion for shells are all made of it.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
    OPTION_FLAG,   /* bool; takes no value */
    OPTION_NUMBER, /* uint64_t; one from 0 to 1 is a switch, which is 1 if no value follows */
    OPTION_TEXT,   /* const char * */
    OPTION_WORD,   /* const char *, one of those in `value` */
    OPTION_PARSED, /* what `parse` makes of it */
};

struct cli_option {
    const char *name; /* in_flight is --in-flight */
    enum option_kind kind;
    const char *value; /* what stands for it in texts: DIR; user|service|admin */
    size_t at;         /* where it goes in the command's struct */
    bool required;
    uint64_t standard, least, most; /* of a number */
    const char *text;               /* the default of a text; NULL is none */
    bool (*parse)(const char *text, void *to);
    const char *must; /* what `parse` takes, behind "must be" */
    const char *help;
};

/* What stands on the command line without a flag. */
struct cli_operand {
    const char *name;  /* in brackets: may be left out */
    size_t at;         /* where it goes, a const char * */
    const char *words; /* one of these, as in the `value` of a word; NULL: any */
    const char *
        behind; /* there is one if the operand before is one of these words; NULL: whatever that is */
};

/* Texts are without line breaks, but those that are meant: they are filled when they are printed. */
struct cli_command {
    const char *name;
    bool is_flag_too; /* --version is version */
    const char *summary;
    const char *usage;    /* what follows the name; other forms on lines of their own */
    const char *about;    /* paragraphs, an empty line between them */
    const char *examples; /* whole lines for a shell, as somebody would type them */
    const char *exits;
    const struct cli_option *options;
    size_t n_options;
    const struct cli_operand *operands; /* in this order */
    size_t n_operands;
    int (*run)(int argc, char **argv);
};

/* Means: go on, there is no reason to exit. */
enum { OPTIONS_READ = -1 };

void options_defaults(const struct cli_command *command, void *args);

/* Puts what is on the command line into `args` and leaves the rest as it is. OPTIONS_READ, or the
 * code to exit with, after everything has been said: help was asked for, or something is wrong. */
int options_read(const struct cli_command *command, void *args, int argc, char **argv);

/* Both. */
int options_start(const struct cli_command *command, void *args, int argc, char **argv);

/* The options one by one, --help behind those of the table; NULL at the end. */
const struct cli_option *option_at(const struct cli_command *command, size_t i);

/* The option of that name, with - or _; NULL if there is none. */
const struct cli_option *option_find(const struct cli_command *command, const char *name, size_t n);

/* False, with a message that begins with `where`, if the value is not right. */
bool option_set(const struct cli_option *option, void *args, const char *value, const char *where);

/* Says that the command is used in a wrong way, and how it is used: EXIT_USAGE. */
int options_wrong(const struct cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- As text -------------------------------------------------------------------------------- */

enum { OPTION_TEXT_MAX = 128 };

/* "--in-flight"; "N", "" if it takes none, "[0|1]" if it need not be there; "20000", "" if there is no default. */
const char *option_flag(const struct cli_option *option, char text[OPTION_TEXT_MAX]);
const char *option_value(const struct cli_option *option);
const char *option_default(const struct cli_option *option, char text[OPTION_TEXT_MAX]);

bool option_is_switch(const struct cli_option *option);

#endif

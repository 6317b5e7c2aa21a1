/* SPDX-License-Identifier: MIT */
/* What commands say about themselves: --help, the manual page, and completion for shells. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/options.h"

/* main.c: all commands, in the order in which they are listed. */
extern const struct cli_command *const cli_commands[];
extern const size_t cli_n_commands;

const struct cli_command *command_find(const char *name);

/* Says that there is no such command, and what may have been meant: EXIT_USAGE. */
int command_unknown(const char *name);

/* The program's, and a command's, in one line each form; and in full. */
void help_commands(FILE *to);
void help_usage(const struct cli_command *command, FILE *to);
void help_print(const struct cli_command *command, FILE *to);

/* manual.c: the page for man(1), in roff. */
void manual_print(FILE *to);

/* completion.c: a script for bash. */
void completion_print(FILE *to);

#endif

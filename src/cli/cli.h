/* SPDX-License-Identifier: MIT */
/* The commands of the `tidings` program, one file each. They run with the arguments from their name on. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "tidings.h"

/* Exit codes of all commands. */
enum { EXIT_FINE = 0, EXIT_FOUND = 1, EXIT_USAGE = 2, EXIT_BROKEN = 3 };

extern const struct cli_command command_serve;
extern const struct cli_command command_token;
extern const struct cli_command command_routes;
extern const struct cli_command command_verify;
extern const struct cli_command command_backup;
extern const struct cli_command command_restore;
extern const struct cli_command command_export;
extern const struct cli_command command_import;
extern const struct cli_command command_promote;
extern const struct cli_command command_log;
extern const struct cli_command command_cluster;
extern const struct cli_command command_compare;
extern const struct cli_command command_bench_engine;
extern const struct cli_command command_help;
extern const struct cli_command command_version;

/* A time in ms since 1970 as text: 2026-11-15T12:00:00.000Z. */
enum { TIME_BYTES = 32 };
const char *time_text(int64_t time_ms, char text[TIME_BYTES]);
/* The same, with or without the fraction, and back: above 0. */
bool time_parse(const char *text, int64_t *time_ms);

/* A line on standard error that is rewritten as it goes on; nobody is told if that is no terminal. */
struct tidings_progress progress_in_rows(void);
struct tidings_progress progress_in_bytes(void);

/* Verify, with everything said on standard output: the code to exit with. */
int verify_data(struct tidings_options *how, bool deep, bool repair);

#endif

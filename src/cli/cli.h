/* SPDX-License-Identifier: MIT */
/* The commands of the `tidings` program, one file each. They get the arguments behind their name.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "tidings.h"

/* Exit codes of all commands. */
enum { EXIT_FINE = 0, EXIT_FOUND = 1, EXIT_USAGE = 2, EXIT_BROKEN = 3 };

int cli_serve(int argc, char **argv);
int cli_token(int argc, char **argv);
int cli_routes(int argc, char **argv);
int cli_verify(int argc, char **argv);
int cli_backup(int argc, char **argv);
int cli_restore(int argc, char **argv);
int cli_log(int argc, char **argv);
int cli_bench_engine(int argc, char **argv);

/* A time in ms since 1970 as text: 2026-11-15T12:00:00.000Z. */
enum { TIME_BYTES = 32 };
const char *time_text(int64_t time_ms, char text[TIME_BYTES]);

/* A line on standard error that is rewritten as it goes on; nobody is told if that is no terminal. */
struct tidings_progress progress_in_rows(void);
struct tidings_progress progress_in_bytes(void);

#endif

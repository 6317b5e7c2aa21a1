/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cli.h"

enum { KEY_PATH_BYTES = 4096 };

struct promote_args {
    const char *address, *data, *peer_key_file;
};

static const struct cli_operand operands[] = {
    {"ADDRESS", .at = offsetof(struct promote_args, address)}};

static const struct cli_option options[] = {
    {"data", OPTION_TEXT, "DIR", offsetof(struct promote_args, data),
     .help = "a data directory of the two servers, whose peer.key is used"},
    {"peer_key_file", OPTION_TEXT, "FILE", offsetof(struct promote_args, peer_key_file),
     .help = "the key that both servers have, instead of that one"},
};

static int run(int argc, char **argv)
{
    struct promote_args args;
    struct tidings_replica status;
    char path[KEY_PATH_BYTES];
    const char *message = NULL;
    int code = options_start(&command_promote, &args, argc, argv);
    if (code != OPTIONS_READ)
        return code;
    if (!args.peer_key_file && !args.data)
        return options_wrong(&command_promote, "--data or --peer-key-file is missing");
    snprintf(path, sizeof path, "%s/peer.key", args.data ? args.data : "");
    enum tidings_err err = tidings_promote(
        args.address, args.peer_key_file ? args.peer_key_file : path, &status, &message);
    if (err) {
        fprintf(stderr, "tidings: %s\n", message ? message : tidings_err_text(err));
        return err == TIDINGS_INVALID ? EXIT_USAGE : EXIT_BROKEN;
    }
    printf("promoted at batch %" PRIu64 ", era %" PRIu64 "\n", status.position, status.era);
    return EXIT_FINE;
}

const struct cli_command command_promote = {
    .name = "promote",
    .summary = "have a follower take over from the server it follows",
    .usage = "tidings://HOST:PORT --data DIR",
    .about =
        "Tells the follower that listens there (its --peer-listen) to take over. The server it "
        "follows hands over, if it can be reached: it finishes what it has begun, sends the rest, "
        "and changes nothing any more; nothing is lost. If it cannot be reached, the follower goes "
        "on with what it has. Either way a new era begins, and the former server refuses to be "
        "started on its directory: with --follow it joins the new one, with --take-back it goes "
        "on by itself.",
    .examples = "tidings promote tidings://10.0.0.2:7000 --data /var/lib/tidings",
    .exits = "0 promoted; 2 usage: it follows nobody, or has another key; 3 it does not answer.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .operands = operands,
    .n_operands = sizeof operands / sizeof *operands,
    .run = run,
};

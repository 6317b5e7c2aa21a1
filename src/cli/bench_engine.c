#include "cli/cli.h"
int cli_bench_engine(int argc, char **argv)
{
    (void)argc; (void)argv;
    return EXIT_USAGE;
}

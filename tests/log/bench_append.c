/* SPDX-License-Identifier: MIT */
/*
 * What an append costs, as docs/decisions/0035-log-in-mysql.md has it: tests/support/with-mariadb --max-allowed-packet=64M
 * build/tests/bench_log_append [SECONDS [BYTES]]
 */
#include <sys/resource.h>

#include "log/log_support.h"

/* The first bytes of a file. */
static void read_start(const char *path, char *to, size_t size)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    to[fread(to, 1, size - 1, file)] = '\0';
    fclose(file);
}

/* CPU of the server so far, in ms: the 14th and 15th field of its stat, of which the second ends with `)`. */
static double server_cpu_ms(void)
{
    char path[512], text[1024];
    assert_int_equal(send_text(other, "SELECT @@pid_file"), SQL_DONE);
    assert_true(sql_row(other));
    struct bytes name = sql_bytes(other, 0);
    snprintf(path, sizeof path, "%.*s", (int)name.n, (const char *)name.p);
    read_start(path, text, sizeof text);
    snprintf(path, sizeof path, "/proc/%ld/stat", strtol(text, NULL, 10));
    read_start(path, text, sizeof text);
    char *at = strrchr(text, ')');
    for (int field = 2; at && field < 14; field++)
        at = strchr(at + 1, ' ');
    assert_non_null(at);
    unsigned long user = strtoul(at, &at, 10), system = strtoul(at, NULL, 10);
    return (double)(user + system) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

static double own_cpu_ms(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

static void print_costs(const char *what, double ms, unsigned n, double own, double server)
{
    printf(
        "%s: %u, %.0f a second, %.2f ms each; CPU of the client %.3f ms, of the server %.3f ms\n",
        what, n, n * 1000.0 / ms, ms / n, own / n, server / n);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 5;
    size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;
    uint8_t *bytes = malloc(size);
    struct rng rng;
    rng_seed(&rng, 1);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)rng_below(&rng, 256);
    void *state = NULL;
    log_begin_test(&state);
    begin_log();
    struct log_end end = make_end(become_writer(log_a, 1), FIRST_POSITION, 0);
    int64_t began_ms = wait_now_ms(), now;
    double own = own_cpu_ms(), server = server_cpu_ms();
    unsigned n = 0;
    for (; (now = wait_now_ms()) - began_ms < seconds * 1000; n++) {
        struct log_record record = make_record(end.position + 1, 0, (struct bytes){bytes, size});
        assert_outcome(log_a, log_mysql_append(log_a, &end, true, &record, 1), LOG_DONE);
        end = make_end(end.fence, end.position + 1, 0);
    }
    print_costs("appends", (double)(now - began_ms), n, own_cpu_ms() - own,
                server_cpu_ms() - server);
    began_ms = wait_now_ms(), own = own_cpu_ms(), server = server_cpu_ms();
    for (n = 0; (now = wait_now_ms()) - began_ms < seconds * 1000; n++) {
        struct log_batch batch;
        assert_outcome(log_a, log_mysql_read(log_a, end.position, 256, 1 << 20, &batch), LOG_DONE);
    }
    print_costs("questions that find nothing", (double)(now - began_ms), n, own_cpu_ms() - own,
                server_cpu_ms() - server);
    free(bytes);
    return log_end_test(&state);
}

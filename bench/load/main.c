/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

enum { EXIT_BAD_USAGE = 2, EXIT_FAILED = 3 };

static const char help[] =
    "usage: tidings-load [--protocol http|redis|redis-cluster|mysql] --port N[,N...] [OPTIONS]\n\n"
    "Makes traffic, measures it, prints one JSON object. The server must hold a world as\n"
    "`tidings bench-engine` makes it, or one filled the same way; tokens are signed with\n"
    "TIDINGS_JWT_SECRET.\n\n"
    "  --host ADDRESS     where it listens (127.0.0.1)\n"
    "  --port N[,N...]    several servers, over which connections are spread: with --publish-to "
    "and\n"
    "                     --streams the first one is told and the last one asked; or the masters "
    "of\n"
    "                     a Redis Cluster\n"
    "  --users N          users in the world (1000)\n"
    "  --followed N       authors each of them follows (100)\n"
    "  --connections N    (64)\n"
    "  --seconds S        time measured (5)\n"
    "  --warm-up S        time before that, not counted (0.5)\n"
    "  --rate N           requests a second at fixed times, their latency counted from when they\n"
    "                     were due; without it each connection goes as fast as it is answered\n"
    "  --mix LIST         weights of requests: badge=60,first=30,mark=8 ... (badge=1)\n"
    "  --items N          items to gather for marking (100 a user)\n"
    "  --pid N            the server's process, to measure its CPU time, too\n"
    "  --announce         a line `begin` and a line `end` around the time measured, and waits for "
    "a\n"
    "                     line in answer to each\n"
    "  --path PATH        for --mix path=1: a path asked for without a token (/healthz)\n"
    "  --scripts DIR      the Lua scripts for Redis (bench/redis)\n"
    "  --freshness WORD   exact or bounded, of each request over HTTP\n"
    "  --seed N           of the choices (1)\n"
    "  --publish-to N     instead of traffic: publish as --author, who has N fans, and wait until\n"
    "                     the badge of --last-fan has moved; --times N (5)\n"
    "  --streams N        instead of traffic: open N streams, of users who follow the authors\n"
    "                     1 ... --followed, publish as --author (1), and measure until all have\n"
    "                     been told; --in-flight N (32) posts on their way to them at most,\n"
    "                     --publishers N (4) connections, --patience S (60) until what has not\n"
    "                     come is lost\n";

static bool parse_mix(char *text, unsigned *weights)
{
    memset(weights, 0, VERB_COUNT * sizeof *weights);
    unsigned sum = 0;
    char *rest;
    for (char *part = strtok_r(text, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(part, '=');
        int verb = 0;
        if (equals)
            *equals = 0;
        while (verb < VERB_COUNT && strcmp(part, verb_names[verb]) != 0)
            verb++;
        if (!equals || verb == VERB_COUNT)
            return false;
        sum += weights[verb] = (unsigned)strtoul(equals + 1, NULL, 10) % 1000000;
    }
    return sum;
}

void result_print(const struct target *target, const struct plan *plan, const struct result *result)
{
    double cpu = (result->user_seconds + result->system_seconds) / result->seconds;
    printf("{\"protocol\":\"%s\",\"connections\":%u,\"rate\":%.0f,\"seconds\":%.3f,"
           "\"done\":%" PRIu64 ",\"per_second\":%.1f,",
           target->protocol->name, plan->connections, plan->rate, result->seconds, result->done,
           (double)result->done / result->seconds);
    printf("\"late\":%" PRIu64 ",\"overdue\":%" PRIu64 ",\"exhausted\":%s,\"cpu_share\":%.3f,"
           "\"server_cpu_us\":%.2f,\"statuses\":{",
           result->late, result->overdue, result->exhausted ? "true" : "false", cpu,
           result->server_seconds * 1e6 / (double)result->done);
    for (int i = 0, n = 0; i < STATUS_MAX; i++)
        if (result->statuses[i])
            printf("%s\"%d\":%" PRIu64, n++ ? "," : "", i, result->statuses[i]);
    printf("},\"latency_us\":{");
    hist_print("all", result->all);
    for (int verb = 0; verb < VERB_COUNT; verb++)
        if (result->by[verb]) {
            printf(",");
            hist_print(verb_names[verb], result->by[verb]);
        }
    printf("}}\n");
}

struct options {
    uint64_t users, followed, seed, publish_to, author, last_fan, times;
    struct plan plan;
    struct live_plan live;
    struct target target;
};

static bool parse_ports(char *text, struct target *target)
{
    char *rest;
    for (char *part = strtok_r(text, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        unsigned long port = strtoul(part, NULL, 10);
        if (!port || port > 65535 || target->n_ports == PORTS_MAX)
            return false;
        target->ports[target->n_ports++] = (uint16_t)port;
    }
    return target->n_ports;
}

static bool take_option(struct options *o, int flag, char *value)
{
    static const struct protocol *const protocols[] = {&protocol_http, &protocol_redis,
                                                       &protocol_redis_cluster, &protocol_mysql};
    uint64_t number = strtoull(value, NULL, 10);
    switch (flag) {
    case 'P':
        o->target.protocol = NULL;
        for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
            if (!strcmp(value, protocols[i]->name))
                o->target.protocol = protocols[i];
        return o->target.protocol;
    case 'h':
        return (size_t)snprintf(o->target.host, sizeof o->target.host, "%s", value) <
               sizeof o->target.host;
    case 'p':
        return parse_ports(value, &o->target);
    case 'c':
        o->plan.connections = (unsigned)number;
        return number && number <= 20000;
    case 'u':
        o->users = number;
        return number;
    case 'f':
        o->followed = number;
        return number;
    case 's':
        o->plan.seconds = strtod(value, NULL);
        return o->plan.seconds > 0;
    case 'w':
        o->plan.warm_up = strtod(value, NULL);
        return o->plan.warm_up >= 0;
    case 'r':
        o->plan.rate = strtod(value, NULL);
        return o->plan.rate >= 0;
    case 'm':
        return parse_mix(value, o->plan.weights);
    case 'o':
        return o->plan.announces = true;
    case 'I':
        o->plan.pid = (int)(number % 0x7fffffff);
        return true;
    case 'i':
        o->plan.items = number;
        return true;
    case 'a':
        o->target.path = value;
        return *value == '/';
    case 'S':
        o->target.scripts = value;
        return true;
    case 'H':
        o->target.freshness = value;
        return !strcmp(value, "exact") || !strcmp(value, "bounded");
    case 'e':
        o->seed = number;
        return true;
    case 'U':
        o->publish_to = number;
        return number;
    case 'A':
        o->author = number;
        return number;
    case 'L':
        o->last_fan = number;
        return number;
    case 't':
        o->times = number;
        return number;
    case 'n':
        o->live.streams = (unsigned)number;
        return number && number <= STREAMS_MAX;
    case 'F':
        o->live.in_flight = (unsigned)number;
        return number && number <= IN_FLIGHT_MAX;
    case 'W':
        o->live.patience = strtod(value, NULL);
        return o->live.patience > 0;
    case 'b':
        o->live.publishers = (unsigned)number;
        return number && number <= PUBLISHERS_MAX;
    default:
        return false;
    }
}

static const struct option flags[] = {
    {"protocol", required_argument, NULL, 'P'},
    {"host", required_argument, NULL, 'h'},
    {"port", required_argument, NULL, 'p'},
    {"connections", required_argument, NULL, 'c'},
    {"users", required_argument, NULL, 'u'},
    {"followed", required_argument, NULL, 'f'},
    {"seconds", required_argument, NULL, 's'},
    {"warm-up", required_argument, NULL, 'w'},
    {"rate", required_argument, NULL, 'r'},
    {"mix", required_argument, NULL, 'm'},
    {"items", required_argument, NULL, 'i'},
    {"path", required_argument, NULL, 'a'},
    {"scripts", required_argument, NULL, 'S'},
    {"freshness", required_argument, NULL, 'H'},
    {"seed", required_argument, NULL, 'e'},
    {"publish-to", required_argument, NULL, 'U'},
    {"author", required_argument, NULL, 'A'},
    {"last-fan", required_argument, NULL, 'L'},
    {"times", required_argument, NULL, 't'},
    {"pid", required_argument, NULL, 'I'},
    {"announce", no_argument, NULL, 'o'},
    {"streams", required_argument, NULL, 'n'},
    {"in-flight", required_argument, NULL, 'F'},
    {"publishers", required_argument, NULL, 'b'},
    {"patience", required_argument, NULL, 'W'},
    {"help", no_argument, NULL, '?'},
    {0},
};

/* Tokens are needed for the publisher and the last fan, too. */
static uint64_t users_of(const struct options *o)
{
    if (o->live.streams)
        return o->followed + o->live.streams;
    return o->publish_to && o->author > o->users ? o->author : o->users;
}

static bool listen_and_publish(struct options *o)
{
    o->live.author = o->author ? o->author : 1;
    o->live.seconds = o->plan.seconds;
    o->live.pid = o->plan.pid;
    return run_streams(&o->target, &o->live);
}

static bool run(struct options *o)
{
    struct world world;
    struct result result;
    o->target.world = &world;
    bool ok = world_open(&world, users_of(o), o->followed, o->seed) &&
              (!o->target.protocol->needs_tokens || world_sign(&world)) &&
              (!o->target.protocol->prepare || o->target.protocol->prepare(&o->target));
    if (ok && o->live.streams)
        ok = listen_and_publish(o);
    else if (ok && o->publish_to)
        ok = run_publish(&o->target, o->author, o->publish_to, o->last_fan, (unsigned)o->times);
    else if (ok) {
        ok = run_load(&o->target, &o->plan, &result);
        if (ok)
            result_print(&o->target, &o->plan, &result);
        result_release(&result);
    }
    world_close(&world);
    o->target.world = NULL;
    return ok;
}

int main(int argc, char **argv)
{
    struct options o = {
        .users = 1000,
        .followed = 100,
        .seed = 1,
        .times = 5,
        .plan = {.connections = 64, .seconds = 5, .warm_up = 0.5, .weights = {[VERB_BADGE] = 1}},
        .live = {.in_flight = 32, .publishers = 4, .patience = 60},
        .target = {.protocol = &protocol_http,
                   .path = "/healthz",
                   .scripts = "bench/redis",
                   .host = "127.0.0.1"},
    };
    char none[] = "";
    bool ok = true;
    for (int flag; ok && (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;)
        ok = flag != '?' && take_option(&o, flag, optarg ? optarg : none);
    ok = ok && o.target.n_ports && optind == argc && (!o.publish_to || (o.author && o.last_fan)) &&
         (!o.live.streams || (o.author <= o.followed && o.target.protocol == &protocol_http));
    if (!ok) {
        fputs(help, stderr);
        return EXIT_BAD_USAGE;
    }
    signal(SIGPIPE, SIG_IGN);
    return run(&o) ? 0 : EXIT_FAILED;
}

/* SPDX-License-Identifier: MIT */
/*
 * In which order what is old is removed: a base image for good before the log that it needs, and of the log one segment for
 * good before the next. Otherwise a loss of power could bring back the one without the other. The power-loss test itself
 * seldom has so many base images that one is removed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "local/store_support.h"
#include "shim/shim.h"

enum place { LOG, IMAGES, PLACES };

static const char *const names[PLACES] = {"data/log", "data/snapshots"};

/* What the trace says so far. */
struct order {
    uint64_t ino[PLACES];  /* of the directories */
    bool unsynced[PLACES]; /* something was removed there, and not for good yet */
    unsigned gone[PLACES]; /* files */
};

static bool lies_in(const char *path, enum place place)
{
    size_t n = strlen(names[place]);
    return !strncmp(path, names[place], n) && path[n] == '/' && strchr(path, '.');
}

static void follow_record(struct order *order, const struct trace_record *record, const char *path)
{
    for (int i = 0; i < PLACES; i++) {
        enum place place = (enum place)i;
        if (record->kind == TRACE_MKDIR && !strcmp(path, names[place]))
            order->ino[place] = record->ino;
        if (record->kind == TRACE_SYNCED && record->ino == order->ino[place])
            order->unsynced[place] = false;
        if (record->kind != TRACE_UNLINK || !lies_in(path, place))
            continue;
        if (place == LOG)
            assert_false(order->unsynced[LOG] || order->unsynced[IMAGES]);
        order->unsynced[place] = true;
        order->gone[place]++;
    }
}

static struct order read_trace(const char *trace)
{
    struct order order = {.gone = {0}};
    struct trace_record record;
    FILE *file = fopen(trace, "rb");
    assert_non_null(file);
    while (fread(&record, sizeof record, 1, file) == 1) {
        char path[1024] = "";
        assert_true(record.path_bytes < sizeof path);
        assert_int_equal(fread(path, 1, record.path_bytes, file), record.path_bytes);
        assert_int_equal(fseek(file, (long)record.data_bytes, SEEK_CUR), 0);
        follow_record(&order, &record, path);
    }
    fclose(file);
    return order;
}

static void what_is_old_is_removed_in_order(void **state)
{
    (void)state;
    char root[512], trace[600];
    harness_path(root, "");
    root[strlen(root) - 1] = '\0';
    snprintf(trace, sizeof trace, "%s.trace", root);
    assert_true(shim_record(root, trace));
    open_engine();
    follow(BOB, ANN);
    make_bases(6);
    await_first_segment_gone();
    close_engine();
    struct order order = read_trace(trace);
    assert_true(order.gone[LOG] > 1 && order.gone[IMAGES] > 0);
    unlink(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_old_is_removed_in_order, harness_begin_closed,
                                        harness_end),
    };
    return RUN_TESTS(tests);
}

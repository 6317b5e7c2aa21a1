/* SPDX-License-Identifier: MIT */
/*
 * No room: a small file system of its own is filled until changes are refused. They are refused with
 * NO_SPACE, reading goes on, and when there is room again, so does writing; after a restart or a crash
 * everything acknowledged is there. Started without room it serves what it has, and writes nothing. The same with a data file that may not grow any more.
 *
 * Exit 77, which is "skipped", if no file system can be mounted.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/script.h"

enum {
    AUTHOR = 1,
    FAN = 2,
    BODY = 3000,
    ROOM_MB = 16,
    BALLAST_MB = 4,
    POSTS_MAX = 50000, /* far more than there is room for */
    SKIPPED = 77,
};

static struct tidings_options options;
static struct tidings *engine;
static struct tidings_answer answer;
static const char *scene;
static uint64_t notices;

static _Noreturn void fail(const char *what, uint64_t expected, uint64_t got)
{
    fprintf(stderr, "%s: %s: expected %" PRIu64 ", got %" PRIu64 " (%s)\n", scene, what, expected,
            got, tidings_err_code(answer.err));
    exit(EXIT_FAILURE);
}

static void expect(const char *what, uint64_t expected, uint64_t got)
{
    if (expected != got)
        fail(what, expected, got);
}

/* ---- Operations --------------------------------------------------------------------------------- */

static void open_engine(void)
{
    const char *message = "";
    enum tidings_err err = tidings_open(&options, &engine, &message);
    if (err) {
        fprintf(stderr, "%s: opening: %s: %s\n", scene, tidings_err_code(err), message);
        exit(EXIT_FAILURE);
    }
}

static enum tidings_err publish(void)
{
    static char body[BODY];
    struct tidings_op op = {
        .kind = TIDINGS_OP_PUBLISH, .role = TIDINGS_ROLE_SERVICE, .user_id = AUTHOR};
    memset(body, 'x', sizeof body);
    op.u.publish.kind = TIDINGS_NOTE;
    op.u.publish.title = (struct tidings_text){"post", 4};
    op.u.publish.body = (struct tidings_text){body, sizeof body};
    return tidings_run(engine, &op, &answer);
}

static void follow(void)
{
    struct tidings_op op = {.kind = TIDINGS_OP_FOLLOW, .user_id = FAN};
    op.u.relation.user_id = AUTHOR;
    expect("follow", TIDINGS_OK, tidings_run(engine, &op, &answer));
}

/* Reading shows what was acknowledged, and no more. */
static void expect_posts(const char *when, uint64_t posts)
{
    struct tidings_op page = {.kind = TIDINGS_OP_AUTHOR_PAGE, .user_id = FAN};
    struct tidings_op badge = {.kind = TIDINGS_OP_BADGE, .user_id = FAN};
    page.u.feed.author_id = AUTHOR;
    expect(when, TIDINGS_OK, tidings_run(engine, &page, &answer));
    expect(when, posts, answer.u.feed.total);
    expect(when, TIDINGS_OK, tidings_run(engine, &badge, &answer));
    expect(when, posts, answer.u.badge.total);
}

static void expect_verified(void)
{
    struct tidings_verify verify = {.report = stderr};
    expect("verify", TIDINGS_OK, tidings_verify(engine, &verify));
    expect("differences", 0, verify.differences);
}

/* As /readyz has it. */
static void expect_writable(const char *when, bool writable)
{
    struct tidings_stats stats;
    tidings_stats(engine, &stats);
    expect(when, writable, !stats.read_only);
}

static uint64_t fill(uint64_t posts)
{
    for (uint64_t i = 0; i < POSTS_MAX; i++) {
        enum tidings_err err = publish();
        if (err == TIDINGS_NO_SPACE)
            return posts;
        expect("publish", TIDINGS_OK, err);
        posts++;
    }
    fail("posts until it was full", 0, posts);
}

/* The last bytes are found by changes that are small enough. */
static uint64_t try_more(uint64_t posts, unsigned tries)
{
    for (unsigned i = 0; i < tries; i++) {
        enum tidings_err err = publish();
        if (err != TIDINGS_OK)
            expect("publish when full", TIDINGS_NO_SPACE, err);
        posts += err == TIDINGS_OK;
    }
    return posts;
}

static uint64_t publish_all(uint64_t posts, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        expect("publish when there is room again", TIDINGS_OK, publish());
    return posts + n;
}

/* ---- The file system ---------------------------------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        fprintf(stderr, "full: %s: %s\n", path, strerror(errno));
    if (fd >= 0)
        close(fd);
}

/* Of this process alone; goes when it ends. */
static bool mount_small(const char *dir)
{
    char map[64];
    uid_t uid = getuid();
    if (unshare(CLONE_NEWNS)) {
        if (unshare(CLONE_NEWNS | CLONE_NEWUSER))
            return false;
        snprintf(map, sizeof map, "0 %u 1", (unsigned)uid);
        write_text("/proc/self/uid_map", map);
    }
    snprintf(map, sizeof map, "size=%dm", ROOM_MB);
    return !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
           !mount("tidings-test", dir, "tmpfs", 0, map);
}

static void ballast_path(char path[SCRIPT_PATH], const char *dir)
{
    script_path(path, "%s/ballast", dir);
}

static void put_ballast(const char *dir)
{
    char path[SCRIPT_PATH];
    ballast_path(path, dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || posix_fallocate(fd, 0, (off_t)BALLAST_MB << 20))
        fail("ballast", 0, (uint64_t)errno);
    close(fd);
}

static void drop_ballast(const char *dir)
{
    char path[SCRIPT_PATH];
    ballast_path(path, dir);
    unlink(path);
}

/* ---- Scenes ------------------------------------------------------------------------------------- */

static void count_notice(void *ctx, const char *text)
{
    (void)ctx;
    (void)text;
    notices++;
}

static void choose(const char *dir, uint64_t map_mb)
{
    static char data[SCRIPT_PATH];
    script_path(data, "%s/data", dir);
    tidings_options_init(&options);
    options.dir = data;
    options.settings.map_mb = map_mb;
    options.fault = count_notice;
    script_set(&options.settings, "log_segment_mb", 1);
    script_set(&options.settings, "snapshot_log_mb", 4);
    tidings_answer_init(&answer);
}

static void begin(const char *name, const char *dir, uint64_t map_mb)
{
    scene = name;
    choose(dir, map_mb);
    open_engine();
    follow();
}

static void end(uint64_t posts)
{
    tidings_close(engine);
    open_engine();
    expect_posts("opened again", posts);
    expect_verified();
    tidings_close(engine);
    tidings_answer_release(&answer);
    printf("%s: %" PRIu64 " posts\n", scene, posts);
}

static void full_disk(const char *dir)
{
    put_ballast(dir);
    begin("a full disk", dir, 1024);
    expect_writable("writable to begin with", true);
    uint64_t posts = fill(0);
    expect_writable("writable when full", false);
    expect_posts("full", posts);
    posts = try_more(posts, 50);
    expect_posts("still full", posts);
    drop_ballast(dir);
    posts = publish_all(posts, 20);
    expect_writable("writable with room again", true);
    expect_posts("with room again", posts);
    end(posts);
}

/* The last byte of it. */
static void use_up(const char *dir)
{
    char path[SCRIPT_PATH];
    static const char bytes[4096];
    script_path(path, "%s/rest", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, bytes, sizeof bytes) > 0)
        ;
    expect("using up the disk", ENOSPC, (uint64_t)errno);
    close(fd);
}

static void unlink_rest(const char *dir)
{
    char path[SCRIPT_PATH];
    script_path(path, "%s/rest", dir);
    unlink(path);
}

static void only_reads(uint64_t posts)
{
    notices = 0;
    open_engine();
    expect("notices", 1, notices);
    expect_posts("opened to read", posts);
    expect_writable("writable without room", false);
    expect("publish without room", TIDINGS_NO_SPACE, publish());
    expect_posts("after a refusal", posts);
    expect_verified();
    tidings_close(engine);
}

/* Fills the disk and ends without closing; the number of posts is left in *posts. */
static _Noreturn void fill_and_die(const char *dir, uint64_t *posts)
{
    begin(scene, dir, 1024);
    *posts = fill(0);
    expect_posts("full", *posts);
    *posts = try_more(*posts, 50);
    _exit(EXIT_SUCCESS);
}

static void crash_when_full(const char *dir)
{
    int status;
    uint64_t *posts =
        mmap(NULL, sizeof *posts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    put_ballast(dir);
    scene = "a crash on a full disk";
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        fill_and_die(dir, posts);
    if (waitpid(pid, &status, 0) != pid || status)
        fail("the process that crashes", 0, (uint64_t)status);
    choose(dir, 1024);
    use_up(dir);
    only_reads(*posts);
    only_reads(*posts); /* it has left everything as it was */
    unlink_rest(dir);
    drop_ballast(dir);
    open_engine();
    expect_writable("writable at the next start", true);
    expect_posts("after the crash", *posts);
    end(publish_all(*posts, 20));
}

/* The same after a proper end: there is no room to say that data.mdb is being written. */
static void start_when_full(const char *dir)
{
    begin("a start on a full disk", dir, 1024);
    uint64_t posts = publish_all(0, 100);
    tidings_close(engine);
    use_up(dir);
    only_reads(posts);
    only_reads(posts);
    unlink_rest(dir);
    open_engine();
    end(publish_all(posts, 20));
}

static void full_map(const char *dir)
{
    begin("a full map", dir, 16);
    uint64_t posts = fill(0);
    expect_posts("full", posts);
    posts = try_more(posts, 50);
    expect_posts("still full", posts);
    tidings_close(engine);
    options.settings.map_mb = 64;
    open_engine();
    expect_posts("with a larger map", posts);
    end(publish_all(posts, 20));
}

static void in_small(void (*play)(const char *dir), const char *dir)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (!mount_small(dir)) {
            printf("skipped: a file system cannot be mounted here: %s\n", strerror(errno));
            exit(SKIPPED);
        }
        play(dir);
        exit(EXIT_SUCCESS);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid || status) {
        if (WIFSIGNALED(status))
            fprintf(stderr, "crashed: %s\n", strsignal(WTERMSIG(status)));
        rmdir(dir);
        exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
    }
}

int main(void)
{
    char dir[SCRIPT_PATH];
    script_temporary(dir, "full");
    in_small(full_disk, dir);
    in_small(crash_when_full, dir);
    in_small(start_when_full, dir);
    full_map(dir);
    script_remove(dir);
    return EXIT_SUCCESS;
}

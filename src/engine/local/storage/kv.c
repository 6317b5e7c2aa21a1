/* SPDX-License-Identifier: MIT */
/*
 * LMDB 0.9.24 as packaged asks for some care: no DUPSORT, MDB_NOTLS so that a reader may move
 * between threads, one environment per file and process, no fork after open.
 */
#include "engine/local/storage/kv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "engine/local/storage/redo.h"
#include "engine/local/storage/rehearsal.h"

enum {
    READERS_SPARE = 8,
    APPLIED_BYTES = 8 + CHAIN_BYTES,
    APPLIED_BYTES_BEFORE = 8, /* in the image of a log of the format before: without a chain */
    DEPTH = 4,         /* pages that a row has above it and is on, in files of any size we know */
    PAGES_COMMIT = 64, /* the lists of tables and of free pages */
    CUT_OFF = -1,      /* none of LMDB's codes */
};

#define MAP_LEAST  ((size_t)128 << 20)
#define MAP_SPARE  ((uint64_t)64 << 20)
#define ROOM_LEAST ((uint64_t)1 << 20)
#define ROOM_MOST  ((uint64_t)64 << 20)
/* What is larger has not much that is free beside it, and a copy, which nothing can interrupt, would take long. */
#define PACK_MOST ((uint64_t)1 << 30)

/* In TABLE_META: the newest batch in the file, and the chain there. */
static const struct key applied_key = {7, "applied"};

/* One record of the log; see also the writer's batches. */
#define CHANGES_MAX ((size_t)1 << 30)

struct kv {
    struct kv_options options;
    MDB_env *env;
    MDB_dbi dbi[TABLE_COUNT];
    int fd;
    size_t page_bytes;
    size_t map_bytes;
    uint64_t room;      /* bytes of the file that have a place on the disk */
    uint64_t wanted;    /* bytes of the file that a transaction would have needed */
    uint64_t used;      /* bytes of the file in use when the transaction began */
    uint64_t applied;   /* the newest batch in the file */
    struct chain chain; /* there */
    bool is_chained;
    struct chainer *chainer;
    bool lacks_room;
    _Atomic uint64_t
        bytes;          /* of the file, for whoever asks: LMDB would look into the map to know */
    struct buf changes; /* of the transaction, for the log */
    struct redo_record record;
    const struct kv_decider *decider;
};

static enum tidings_err translate(int rc)
{
    switch (rc) {
    case MDB_SUCCESS:
        return TIDINGS_OK;
    case MDB_MAP_FULL:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return TIDINGS_NO_SPACE;
    case ENOMEM:
        return TIDINGS_NO_MEMORY;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case CUT_OFF:
        return TIDINGS_CORRUPT;
    case MDB_VERSION_MISMATCH:
        return TIDINGS_VERSION;
    default:
        return TIDINGS_IO;
    }
}

/* ---- Opening ------------------------------------------------------------------------------- */

/* Makes those that are not there, unless there is no room for them. */
static int open_tables(struct kv *kv)
{
    static const char *const names[TABLE_COUNT] = {
#define X(table, name, near) [TABLE_##table] = name,
        KV_TABLES(X)
#undef X
    };
    MDB_txn *txn;
    int rc = mdb_txn_begin(kv->env, NULL, kv->lacks_room ? MDB_RDONLY : 0, &txn);
    if (rc)
        return rc;
    for (int i = 0; i < TABLE_COUNT; i++) {
        rc = mdb_dbi_open(txn, names[i], kv->lacks_room ? 0 : MDB_CREATE, &kv->dbi[i]);
        if (rc) {
            mdb_txn_abort(txn);
            return kv->lacks_room && rc == MDB_NOTFOUND ? ENOSPC : rc;
        }
    }
    return mdb_txn_commit(txn);
}

static uint64_t length_of(const char *path)
{
    struct stat stat;
    return lstat(path, &stat) ? 0 : (uint64_t)stat.st_size;
}

/*
 * The file is as long as the map, so the map is not much larger than what is used: it begins with what
 * is there, and doubles when it must.
 */
static size_t first_map(const struct kv_options *options)
{
    uint64_t length = length_of(options->path);
    size_t size = MAP_LEAST;
    while (size < length)
        size *= 2;
    return size < options->map_bytes ? size : options->map_bytes;
}

static int open_env(struct kv *kv)
{
    const struct kv_options *options = &kv->options;
    unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD | MDB_NOSYNC | MDB_WRITEMAP;
    int rc = mdb_env_create(&kv->env);
    kv->map_bytes = first_map(options);
    if (!rc)
        rc = mdb_env_set_mapsize(kv->env, kv->map_bytes);
    if (!rc)
        rc = mdb_env_set_maxdbs(kv->env, TABLE_COUNT);
    if (!rc && options->readers)
        rc = mdb_env_set_maxreaders(kv->env, options->readers + READERS_SPARE);
    if (!rc)
        rc =
            mdb_env_open(kv->env, options->path, flags | (options->readers ? 0 : MDB_NOLOCK), 0600);
    if (!rc)
        rc = mdb_env_get_fd(kv->env, &kv->fd);
    MDB_stat stat;
    if (!rc)
        rc = mdb_env_stat(kv->env, &stat);
    if (!rc)
        kv->page_bytes = stat.ms_psize;
    int dead;
    if (!rc && options->readers)
        rc = mdb_reader_check(kv->env, &dead);
    return rc;
}

static void measure(struct kv *kv)
{
    MDB_envinfo info;
    mdb_env_info(kv->env, &info);
    atomic_store(&kv->bytes, ((uint64_t)info.me_last_pgno + 1) * kv->page_bytes);
}

static int allocate(const struct kv *kv, uint64_t upto)
{
    int rc;
    do
        rc = posix_fallocate(kv->fd, (off_t)kv->room, (off_t)(upto - kv->room));
    while (rc == EINTR);
    return rc;
}

/* LMDB writes into the map: a page without room on the disk would be a signal, not an error. So room is taken
 * before pages are, in steps. */
static int take_room(struct kv *kv, uint64_t upto)
{
    uint64_t step = upto / 16 < ROOM_LEAST ? ROOM_LEAST : upto / 16;
    step = step > ROOM_MOST ? ROOM_MOST : step;
    if (upto <= kv->room)
        return 0;
    if (upto > kv->map_bytes) {
        kv->wanted = upto;
        return MDB_MAP_FULL;
    }
    uint64_t wanted = upto + step < kv->map_bytes ? upto + step : kv->map_bytes;
    int rc = allocate(kv, wanted);
    if (translate(rc) == TIDINGS_NO_SPACE) {
        wanted = upto;
        rc = allocate(kv, wanted);
    }
    if (!rc)
        kv->room = wanted;
    return rc;
}

/* LMDB has made the file as long as the map, and would read zeros where something was lost. It is made as short again,
 * so that the next one sees it, too. A new file has nothing to lose. */
static bool is_cut_off(struct kv *kv, uint64_t length)
{
    return length && length < kv_used_bytes(kv) && !ftruncate(kv->fd, (off_t)length);
}

static enum tidings_err read_applied(struct kv *kv)
{
    struct kv_txn txn;
    struct key key = applied_key;
    struct bytes value;
    enum tidings_err err = kv_begin(kv, &txn);
    if (err)
        return err;
    if (kv_get(&txn, TABLE_META, &key, &value)) {
        struct decoder r = decoder_of(value.p, value.n);
        kv->applied = read_u64(&r);
        kv->is_chained = value.n == APPLIED_BYTES;
        if (kv->is_chained)
            memcpy(kv->chain.bytes, value.p + APPLIED_BYTES_BEFORE, CHAIN_BYTES);
        else if (value.n != APPLIED_BYTES_BEFORE)
            err = TIDINGS_CORRUPT;
    }
    kv_abort(&txn);
    return err;
}

enum tidings_err kv_open(const struct kv_options *options, struct kv **out, const char **message)
{
    struct kv *kv = calloc(1, sizeof *kv);
    if (!kv) {
        *message = "out of memory";
        return TIDINGS_NO_MEMORY;
    }
    kv->options = *options;
    buf_init(&kv->changes, CHANGES_MAX);
    kv->chainer = chainer_new();
    uint64_t length = length_of(options->path);
    int rc = kv->chainer ? open_env(kv) : ENOMEM;
    if (!rc)
        measure(kv);
    if (!rc && is_cut_off(kv, length))
        rc = CUT_OFF;
    if (!rc)
        rc = take_room(kv, kv_used_bytes(kv) + PAGES_COMMIT * kv->page_bytes);
    kv->lacks_room = options->to_read && (rc == ENOSPC || rc == EDQUOT);
    if (!rc || kv->lacks_room)
        rc = open_tables(kv);
    if (!rc)
        measure(kv);
    enum tidings_err err = translate(rc);
    if (rc)
        *message = rc == CUT_OFF ? "it is shorter than it was" : mdb_strerror(rc);
    if (!err) {
        err = read_applied(kv);
        *message = "it does not say which batch it goes to";
    }
    if (err) {
        kv_close(kv);
        return err;
    }
    *out = kv;
    return TIDINGS_OK;
}

static int peek_value(MDB_txn *txn, MDB_dbi dbi, const struct key *key, struct bytes *value)
{
    MDB_val k = {key->n, (void *)(uintptr_t)key->bytes}, v = {0, NULL};
    int rc = mdb_get(txn, dbi, &k, &v);
    *value = (struct bytes){v.mv_data, v.mv_size};
    return rc;
}

static int peek_rows(MDB_env *env, const struct key *number_key, struct kv_summary *summary)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    struct bytes value;
    int rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
    if (rc)
        return rc;
    rc = mdb_dbi_open(txn, "meta", 0, &dbi);
    if (!rc)
        rc = peek_value(txn, dbi, &applied_key, &value);
    if (!rc && value.n != APPLIED_BYTES)
        rc = MDB_CORRUPTED;
    if (!rc) {
        struct decoder r = decoder_of(value.p, value.n);
        summary->applied = read_u64(&r);
        memcpy(summary->chain.bytes, value.p + APPLIED_BYTES_BEFORE, CHAIN_BYTES);
        if (!peek_value(txn, dbi, number_key, &value)) {
            r = decoder_of(value.p, value.n);
            summary->number = read_u64(&r);
            rc = r.bad ? MDB_CORRUPTED : 0;
        }
    }
    mdb_txn_abort(txn);
    return rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
}

enum tidings_err kv_peek(const char *path, const struct key *number_key, struct kv_summary *summary)
{
    struct kv_summary found = {0};
    MDB_env *env;
    MDB_envinfo info;
    MDB_stat stat;
    int rc = mdb_env_create(&env);
    if (rc)
        return translate(rc);
    rc = mdb_env_set_maxdbs(env, TABLE_COUNT);
    if (!rc)
        rc = mdb_env_open(env, path, MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS, 0600);
    if (!rc)
        rc = mdb_env_info(env, &info);
    if (!rc)
        rc = mdb_env_stat(env, &stat);
    if (!rc && ((uint64_t)info.me_last_pgno + 1) * stat.ms_psize > length_of(path))
        rc = CUT_OFF;
    if (!rc)
        rc = peek_rows(env, number_key, &found);
    mdb_env_close(env);
    if (!rc)
        *summary = found;
    return translate(rc);
}

void kv_close(struct kv *kv)
{
    if (!kv)
        return;
    if (kv->env)
        mdb_env_close(kv->env);
    buf_release(&kv->changes);
    chainer_free(kv->chainer);
    free(kv);
}

bool kv_finish(struct kv *kv)
{
    return !mdb_env_sync(kv->env, 1) && !ftruncate(kv->fd, (off_t)kv_used_bytes(kv)) &&
           !fsync(kv->fd);
}

/* Bytes of the pages that hold rows. */
static int live_bytes(struct kv *kv, uint64_t *bytes)
{
    MDB_txn *txn;
    size_t pages = 0;
    int rc = mdb_txn_begin(kv->env, NULL, MDB_RDONLY, &txn);
    if (rc)
        return rc;
    for (int i = 0; i < TABLE_COUNT && !rc; i++) {
        MDB_stat stat = {0};
        rc = mdb_stat(txn, kv->dbi[i], &stat);
        pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    }
    mdb_txn_abort(txn);
    *bytes = pages * kv->page_bytes;
    return rc;
}

bool kv_is_loose(struct kv *kv)
{
    uint64_t live;
    return !live_bytes(kv, &live) && live <= PACK_MOST && live < kv_used_bytes(kv) / 4 * 3;
}

bool kv_pack(struct kv *kv, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool done = !mdb_env_copyfd2(kv->env, fd, MDB_CP_COMPACT) && !fsync(fd);
    return !close(fd) && done;
}

bool kv_lacks_room(const struct kv *kv)
{
    return kv->lacks_room;
}

void kv_log(struct kv *kv, struct redo *redo, const uint8_t id[CHAIN_BYTES])
{
    kv->options.redo = redo;
    if (!kv->is_chained)
        memcpy(kv->chain.bytes, id, CHAIN_BYTES);
    kv->is_chained = true;
}

void kv_decide_by(struct kv *kv, const struct kv_decider *decider)
{
    kv->decider = decider;
}

uint64_t kv_applied(const struct kv *kv)
{
    return kv->applied;
}

struct chain kv_chain(const struct kv *kv)
{
    return kv->chain;
}

uint64_t kv_used_bytes(struct kv *kv)
{
    return atomic_load(&kv->bytes);
}

const struct redo_record *kv_record(const struct kv *kv)
{
    return &kv->record;
}

/* ---- Transactions -------------------------------------------------------------------------- */

void kv_fail(struct kv_txn *txn, enum tidings_err err)
{
    if (!txn->err)
        txn->err = err;
}

/* In a write transaction LMDB wants cursors closed before it ends; in a read transaction they
 * outlive it and are renewed. */
static void close_cursors(struct kv_txn *txn)
{
    for (int i = 0; i < TABLE_COUNT; i++) {
        if (txn->getter[i])
            mdb_cursor_close(txn->getter[i]);
        if (txn->scanner[i])
            mdb_cursor_close(txn->scanner[i]);
        txn->getter[i] = txn->scanner[i] = NULL;
    }
}

/* If LMDB fails to make a larger map, it has none any more, and the next reader gets a signal. So what can fail is
 * tried before: the length of the file, and the address space. */
static int can_map(const struct kv *kv, size_t size)
{
    if (ftruncate(kv->fd, (off_t)size))
        return errno;
    void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? errno : munmap(p, size);
}

/* Before a transaction: as much room again as there is data, which is enough for all but the largest batches. */
static int grow_map(struct kv *kv)
{
    uint64_t least = 2 * kv_used_bytes(kv) + MAP_SPARE;
    size_t size = kv->map_bytes;
    least = kv->wanted > least ? kv->wanted : least;
    while (size < least && size < kv->options.map_bytes)
        size = size * 2 < kv->options.map_bytes ? size * 2 : kv->options.map_bytes;
    if (size == kv->map_bytes)
        return 0;
    int rc = can_map(kv, size);
    if (rc)
        return rc;
    if (kv->options.pause)
        kv->options.pause(kv->options.ctx);
    rc = mdb_env_set_mapsize(kv->env, size);
    if (!rc)
        kv->map_bytes = size;
    if (kv->options.resume)
        kv->options.resume(kv->options.ctx);
    return rc;
}

bool kv_can_grow(const struct kv *kv)
{
    return kv->wanted > kv->map_bytes && kv->map_bytes < kv->options.map_bytes;
}

enum tidings_err kv_begin(struct kv *kv, struct kv_txn *txn)
{
    MDB_txn *handle;
    /* One that cannot grow will do, unless it is known to be too small. */
    if (grow_map(kv) && kv->wanted > kv->map_bytes) {
        kv->wanted = 0;
        return TIDINGS_NO_SPACE;
    }
    kv->used = kv_used_bytes(kv);
    buf_clear(&kv->changes);
    *txn = (struct kv_txn){.kv = kv,
                           .writing = true,
                           .applied = kv->applied,
                           .chain = kv->chain,
                           .is_chained = kv->is_chained};
    int rc = mdb_txn_begin(kv->env, NULL, 0, &handle);
    if (rc)
        return translate(rc);
    txn->handle = handle;
    return TIDINGS_OK;
}

enum tidings_err kv_begin_records(struct kv *kv, struct kv_txn *txn)
{
    enum tidings_err err = kv_begin(kv, txn);
    txn->follows = !err;
    return err;
}

static void put_row(struct kv_txn *txn, enum table table, struct bytes key, const void *value,
                    size_t n);

/* The image says itself how far it goes. */
static void put_applied(struct kv_txn *txn)
{
    uint8_t bytes[APPLIED_BYTES];
    put_u64(bytes, txn->applied);
    memcpy(bytes + APPLIED_BYTES_BEFORE, txn->chain.bytes, CHAIN_BYTES);
    put_row(txn, TABLE_META, key_bytes(&applied_key), bytes,
            txn->is_chained ? APPLIED_BYTES : APPLIED_BYTES_BEFORE);
}

/* The batch is in the log, and so it has happened; only the image does not show it. */
static enum tidings_err commit_image(struct kv_txn *txn)
{
    struct kv *kv = txn->kv;
    close_cursors(txn);
    int rc = mdb_txn_commit(txn->handle); /* freed whatever the outcome */
    txn->handle = NULL;
    if (rc && kv->options.redo)
        redo_give_up(kv->options.redo);
    if (rc)
        return kv->options.redo ? TIDINGS_UNCERTAIN : translate(rc);
    if (kv->options.redo)
        redo_set_sure(kv->options.redo, txn->applied);
    kv->applied = txn->applied;
    kv->chain = txn->chain;
    kv->is_chained = txn->is_chained;
    measure(kv);
    return TIDINGS_OK;
}

/* What the transaction has changed, as the next record. */
static enum tidings_err make_record(struct kv_txn *txn, struct redo_record *record)
{
    struct kv *kv = txn->kv;
    if (kv->changes.failed)
        return TIDINGS_NO_MEMORY;
    *record = (struct redo_record){
        .number = kv->applied + 1,
        .sure = kv->decider ? kv->applied : kv->applied + 1,
        .time_ms = txn->time_ms,
        .is_chained = true,
        .changes = {(const uint8_t *)kv->changes.data, kv->changes.len},
    };
    return chain_next(kv->chainer, &kv->chain, record, &record->chain) ? TIDINGS_OK
                                                                       : TIDINGS_NO_MEMORY;
}

/* Those that are in the log already are from a time before, when the image had no room for them. */
static enum tidings_err append_records(struct redo *redo, const struct redo_record *records,
                                       size_t n)
{
    /* Of a log that has failed nobody knows whether it has them. */
    enum tidings_err err = redo_failed(redo) ? TIDINGS_IO : TIDINGS_OK;
    for (size_t i = 0; i < n && !err; i++)
        if (records[i].number > redo_newest(redo))
            err = redo_append(redo, &records[i]);
    return err;
}

/* Into the own log, and to whoever decides, at the same time. */
static enum tidings_err append_decided(struct kv *kv, const struct redo_record *record)
{
    const struct kv_decider *decider = kv->decider;
    if (!decider)
        return append_records(kv->options.redo, record, 1);
    decider->begin(decider->ctx, record, &kv->chain);
    enum tidings_err err = append_records(kv->options.redo, record, 1);
    enum tidings_err decided = decider->end(decider->ctx);
    if (decided && !err)
        redo_take_back(kv->options.redo);
    if (err && !decided)
        return TIDINGS_UNCERTAIN; /* it has happened, and will come back as a record of the log */
    return decided ? decided : err;
}

static enum tidings_err commit_applied(struct kv_txn *txn, const struct redo_record *last)
{
    txn->applied = last->number;
    txn->chain = last->chain;
    txn->is_chained = true;
    put_applied(txn);
    return txn->err;
}

enum tidings_err kv_commit_records(struct kv_txn *txn, const struct redo_record *records, size_t n)
{
    assert(n && records[0].number == txn->kv->applied + 1);
    enum tidings_err err = commit_applied(txn, &records[n - 1]);
    if (!err)
        err = append_records(txn->kv->options.redo, records, n);
    if (!err)
        return commit_image(txn);
    kv_abort(txn);
    return err;
}

enum tidings_err kv_commit(struct kv_txn *txn)
{
    struct kv *kv = txn->kv;
    bool nothing = kv->options.redo && !kv->changes.len && !kv->changes.failed;
    if (txn->err || nothing) {
        enum tidings_err err = txn->err;
        kv_abort(txn);
        return err;
    }
    if (!kv->options.redo) {
        put_applied(txn);
        enum tidings_err err = txn->err;
        if (!err)
            return commit_image(txn);
        kv_abort(txn);
        return err;
    }
    enum tidings_err err = make_record(txn, &kv->record);
    if (!err)
        err = commit_applied(txn, &kv->record);
    if (!err)
        err = append_decided(kv, &kv->record);
    if (!err)
        return commit_image(txn);
    kv_abort(txn);
    return err;
}

void kv_abort(struct kv_txn *txn)
{
    close_cursors(txn);
    mdb_txn_abort(txn->handle);
    txn->handle = NULL;
}

enum tidings_err kv_reader_init(struct kv *kv, struct kv_txn *txn)
{
    MDB_txn *handle;
    int rc = mdb_txn_begin(kv->env, NULL, MDB_RDONLY, &handle);
    if (rc)
        return translate(rc);
    mdb_txn_reset(handle);
    *txn = (struct kv_txn){.kv = kv, .handle = handle};
    return TIDINGS_OK;
}

static int renew_cursors(struct kv_txn *txn)
{
    int rc = 0;
    for (int i = 0; i < TABLE_COUNT && !rc; i++) {
        if (txn->getter[i])
            rc = mdb_cursor_renew(txn->handle, txn->getter[i]);
        if (!rc && txn->scanner[i])
            rc = mdb_cursor_renew(txn->handle, txn->scanner[i]);
    }
    return rc;
}

enum tidings_err kv_reader_start(struct kv_txn *txn)
{
    int rc = mdb_txn_renew(txn->handle);
    if (rc)
        return translate(rc);
    rc = renew_cursors(txn);
    if (rc) {
        mdb_txn_reset(txn->handle);
        return translate(rc);
    }
    txn->err = TIDINGS_OK;
    return TIDINGS_OK;
}

void kv_reader_stop(struct kv_txn *txn)
{
    txn->rehearsal = NULL;
    mdb_txn_reset(txn->handle);
}

void kv_rehearse(struct kv_txn *txn, struct rehearsal *rehearsal)
{
    assert(!txn->writing);
    txn->rehearsal = rehearsal;
}

void kv_reader_release(struct kv_txn *txn)
{
    if (!txn->handle)
        return;
    close_cursors(txn);
    mdb_txn_abort(txn->handle);
    txn->handle = NULL;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static inline MDB_cursor *cursor_of(struct kv_txn *txn, void **slot, enum table table)
{
    if (!*slot && !txn->err) {
        MDB_cursor *cursor;
        int rc = mdb_cursor_open(txn->handle, txn->kv->dbi[table], &cursor);
        if (rc)
            kv_fail(txn, translate(rc));
        else
            *slot = cursor;
    }
    return txn->err ? NULL : *slot;
}

static MDB_val val_of(struct bytes key)
{
    return (MDB_val){.mv_size = key.n, .mv_data = (void *)(uintptr_t)key.p};
}

static struct bytes bytes_of(const MDB_val *val)
{
    return (struct bytes){val->mv_data, val->mv_size};
}

/* A cursor looks first at the page it is on. That helps where the next row wanted is near, and costs where it is
 * not: docs/decisions/0008. */
static const bool is_near[TABLE_COUNT] = {
#define X(table, name, near) [TABLE_##table] = near,
    KV_TABLES(X)
#undef X
};

static int get(struct kv_txn *txn, enum table table, MDB_val *k, MDB_val *v)
{
    if (!is_near[table])
        return mdb_get(txn->handle, txn->kv->dbi[table], k, v);
    MDB_cursor *cursor = cursor_of(txn, &txn->getter[table], table);
    return cursor ? mdb_cursor_get(cursor, k, v, MDB_SET) : MDB_NOTFOUND;
}

static inline bool got(struct kv_txn *txn, int rc, const MDB_val *v, struct bytes *value)
{
    if (rc && rc != MDB_NOTFOUND)
        kv_fail(txn, translate(rc));
    if (!rc)
        *value = bytes_of(v);
    return !rc;
}

/* As kv_get_long, where the rehearsal says something of the row. */
static bool get_rehearsed(const struct rehearsed *row, struct bytes *value)
{
    if (row->is_put)
        *value = row->value;
    return row->is_put;
}

bool kv_get_long(struct kv_txn *txn, enum table table, struct bytes key, struct bytes *value)
{
    MDB_val k = val_of(key), v;
    if (txn->err)
        return false;
    const struct rehearsed *row =
        txn->rehearsal ? rehearsal_find(txn->rehearsal, table, key) : NULL;
    return row ? get_rehearsed(row, value) : got(txn, get(txn, table, &k, &v), &v, value);
}

void kv_touch(struct kv_txn *txn, enum table table, struct bytes key)
{
    MDB_val k = val_of(key), v;
    assert(table < TABLE_COUNT);
    if (txn->err || mdb_get(txn->handle, txn->kv->dbi[table], &k, &v) || !v.mv_size)
        return;
    volatile uint8_t first =
        *(const uint8_t *)v.mv_data; /* a large value lies on pages of its own */
    (void)first;
}

/* The pages of one list, its last ones first, as LMDB takes them: their number, then the numbers of the pages. LMDB does not
 * say where its map is, but a page that is read from the file is in memory for the map, too. */
static void touch_free_list(const struct kv *kv, struct bytes list, size_t *skip, size_t *n)
{
    size_t pages = 0, page;
    char byte;
    if (list.n >= sizeof pages)
        memcpy(&pages, list.p, sizeof pages);
    if (list.n / sizeof pages <= pages)
        return;
    size_t left = pages - (*skip < pages ? *skip : pages);
    *skip -= pages - left;
    for (; left && *n; left--, --*n) {
        memcpy(&page, list.p + left * sizeof page, sizeof page);
        if (pread(kv->fd, &byte, 1, (off_t)(page * kv->page_bytes)) < 0)
            *n = 1;
    }
}

void kv_touch_free(struct kv_txn *txn, size_t skip, size_t n)
{
    enum { FREE_TABLE = 0 }; /* transactions in their order, and the pages that each has freed */
    MDB_cursor *cursor;
    MDB_val k, v;
    if (txn->err || mdb_cursor_open(txn->handle, FREE_TABLE, &cursor))
        return;
    while (n && !mdb_cursor_get(cursor, &k, &v, MDB_NEXT))
        touch_free_list(txn->kv, bytes_of(&v), &skip, &n);
    mdb_cursor_close(cursor);
}

bool kv_get(struct kv_txn *txn, enum table table, const struct key *key, struct bytes *value)
{
    return kv_get_long(txn, table, key_bytes(key), value);
}

bool kv_get_anew(struct kv_txn *txn, enum table table, struct bytes key, struct bytes *value)
{
    MDB_val k = val_of(key), v;
    return !txn->err && got(txn, mdb_get(txn->handle, txn->kv->dbi[table], &k, &v), &v, value);
}

uint64_t kv_rows(struct kv_txn *txn, enum table table)
{
    MDB_stat stat;
    return mdb_stat(txn->handle, txn->kv->dbi[table], &stat) ? 0 : stat.ms_entries;
}

static inline bool move(struct kv_txn *txn, MDB_cursor *cursor, MDB_cursor_op op, MDB_val *k,
                        struct bytes *key, struct bytes *value)
{
    MDB_val v;
    if (!cursor)
        return false;
    int rc = mdb_cursor_get(cursor, k, &v, op);
    if (!rc) {
        *key = bytes_of(k);
        *value = bytes_of(&v);
        return true;
    }
    if (rc != MDB_NOTFOUND)
        kv_fail(txn, translate(rc));
    return false;
}

/* What is found from a key on, when the table has `found` there: a row that was put before it, or the rehearsal ends. */
static bool find_rehearsed(struct kv_txn *txn, enum table table, struct bytes from, bool found,
                           struct bytes *key, struct bytes *value)
{
    const struct rehearsed *put = rehearsal_find_from(txn->rehearsal, table, from);
    if (put && (!found || rehearsal_is_first(put, *key))) {
        *key = put->key;
        *value = put->value;
        return true;
    }
    if (found && rehearsal_find(txn->rehearsal, table, *key))
        kv_fail(txn, TIDINGS_UNSUPPORTED); /* it was deleted */
    return found && !txn->err;
}

bool kv_find(struct kv_txn *txn, enum table table, const struct key *from, struct bytes *key,
             struct bytes *value)
{
    MDB_val k = val_of(key_bytes(from));
    MDB_cursor *cursor = cursor_of(txn, &txn->getter[table], table);
    bool found = move(txn, cursor, MDB_SET_RANGE, &k, key, value);
    return txn->rehearsal ? find_rehearsed(txn, table, key_bytes(from), found, key, value) : found;
}

/* A scanner does not know what was put and deleted in its table. */
static inline bool scan(struct kv_txn *txn, enum table table, MDB_cursor_op op, MDB_val *k,
                        struct bytes *key, struct bytes *value)
{
    if (txn->rehearsal && rehearsal_changed(txn->rehearsal, table))
        kv_fail(txn, TIDINGS_UNSUPPORTED);
    return move(txn, cursor_of(txn, &txn->scanner[table], table), op, k, key, value);
}

bool kv_seek_long(struct kv_txn *txn, enum table table, struct bytes from, struct bytes *key,
                  struct bytes *value)
{
    MDB_val k = val_of(from);
    return scan(txn, table, MDB_SET_RANGE, &k, key, value);
}

bool kv_seek(struct kv_txn *txn, enum table table, const struct key *from, struct bytes *key,
             struct bytes *value)
{
    return kv_seek_long(txn, table, key_bytes(from), key, value);
}

bool kv_seek_below(struct kv_txn *txn, enum table table, const struct key *from, struct bytes *key,
                   struct bytes *value)
{
    MDB_val k = val_of(key_bytes(from));
    if (scan(txn, table, MDB_SET_RANGE, &k, key, value))
        return scan(txn, table, MDB_PREV, &k, key, value);
    return scan(txn, table, MDB_LAST, &k, key, value);
}

bool kv_next(struct kv_txn *txn, enum table table, struct bytes *key, struct bytes *value)
{
    MDB_val k;
    return scan(txn, table, MDB_NEXT, &k, key, value);
}

bool kv_prev(struct kv_txn *txn, enum table table, struct bytes *key, struct bytes *value)
{
    MDB_val k;
    return scan(txn, table, MDB_PREV, &k, key, value);
}

/* ---- Writing ------------------------------------------------------------------------------- */

/*
 * What the transaction may have taken of the file behind its end, at most: copies of the pages on the
 * way to each row, and pages beside them if they were full and had to be split; of either there are no more than there
 * were pages. And pages for what is new, which are half full at least.
 */
static uint64_t bytes_taken(const struct kv_txn *txn)
{
    uint64_t copies = txn->writes * DEPTH * txn->kv->page_bytes;
    uint64_t most = 2 * txn->kv->used;
    return (copies < most ? copies : most) + txn->bytes * 9 / 4 +
           PAGES_COMMIT * txn->kv->page_bytes;
}

/* What a row may take has a place on the disk before LMDB touches it. Long keys have twice as many pages above them. */
static bool has_room(struct kv_txn *txn, size_t key, size_t value)
{
    enum { ROW_HEAD = 16 };
    struct kv *kv = txn->kv;
    txn->writes += key > KEY_MAX ? 2 : 1;
    txn->bytes += (key > KEY_MAX ? key : KEY_MAX) + value + ROW_HEAD;
    int rc = take_room(kv, kv->used + bytes_taken(txn));
    if (rc)
        kv_fail(txn, translate(rc));
    return !rc;
}

static int put(struct kv_txn *txn, enum table table, MDB_val *k, MDB_val *v)
{
    if (!is_near[table])
        return mdb_put(txn->handle, txn->kv->dbi[table], k, v, 0);
    MDB_cursor *cursor = cursor_of(txn, &txn->getter[table], table);
    return cursor ? mdb_cursor_put(cursor, k, v, 0) : 0; /* or the transaction has failed */
}

static void put_row(struct kv_txn *txn, enum table table, struct bytes key, const void *value,
                    size_t n)
{
    MDB_val k = val_of(key);
    MDB_val v = {.mv_size = n, .mv_data = (void *)(uintptr_t)value};
    if (txn->err || !has_room(txn, key.n, n))
        return;
    int rc = put(txn, table, &k, &v);
    if (rc)
        kv_fail(txn, translate(rc));
}

static void note(struct kv_txn *txn, const struct change *change)
{
    struct buf *changes = &txn->kv->changes;
    uint8_t head[CHANGE_HEAD_MAX];
    if (!txn->kv->options.redo || txn->err || txn->follows || txn->rehearsal)
        return;
    buf_append(changes, head, change_encode(change, head));
    buf_append(changes, change->value.p, change->value.n);
}

void kv_tell(struct kv_txn *txn, unsigned what, struct bytes bytes)
{
    note(txn, &(struct change){what, true, {NULL, 0}, bytes});
}

/* In place of a change. */
static void rehearse(struct kv_txn *txn, const struct rehearsed *change)
{
    if (txn->err)
        return;
    kv_touch(txn, (enum table)change->table, change->key);
    if (!rehearsal_note(txn->rehearsal, change))
        kv_fail(txn, TIDINGS_NO_MEMORY);
}

void kv_put_long(struct kv_txn *txn, enum table table, struct bytes key, const void *value,
                 size_t n)
{
    if (txn->rehearsal) {
        rehearse(txn, &(struct rehearsed){(int)table, true, key, {value, n}});
        return;
    }
    assert(txn->writing && key.n <= LONG_KEY_MAX);
    /* First, since the value may lie on a page that is about to change. */
    note(txn, &(struct change){table, true, key, {value, n}});
    put_row(txn, table, key, value, n);
}

void kv_put(struct kv_txn *txn, enum table table, const struct key *key, const void *value,
            size_t n)
{
    kv_put_long(txn, table, key_bytes(key), value, n);
}

void kv_del_long(struct kv_txn *txn, enum table table, struct bytes key)
{
    if (txn->rehearsal) {
        rehearse(txn, &(struct rehearsed){(int)table, false, key, {NULL, 0}});
        return;
    }
    assert(txn->writing && key.n <= LONG_KEY_MAX);
    if (txn->err || !has_room(txn, key.n, 0))
        return;
    MDB_val k = val_of(key);
    int rc = mdb_del(txn->handle, txn->kv->dbi[table], &k, NULL);
    if (rc == MDB_NOTFOUND && txn->follows)
        kv_fail(txn, TIDINGS_CORRUPT);
    if (rc == MDB_NOTFOUND)
        return;
    if (rc)
        kv_fail(txn, translate(rc));
    note(txn, &(struct change){.table = table, .key = key});
}

void kv_del(struct kv_txn *txn, enum table table, const struct key *key)
{
    kv_del_long(txn, table, key_bytes(key));
}

void change_apply(struct kv_txn *txn, const struct change *change)
{
    if (!change_is_row(change->table))
        return;
    if (change->is_put)
        kv_put_long(txn, (enum table)change->table, change->key, change->value.p, change->value.n);
    else
        kv_del_long(txn, (enum table)change->table, change->key);
}

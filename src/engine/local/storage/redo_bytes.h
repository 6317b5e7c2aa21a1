/* SPDX-License-Identifier: MIT */
/* The bytes of the redo log, for the two files that write and read them. */
#ifndef LOCAL_REDO_BYTES_H
#define LOCAL_REDO_BYTES_H

#include "engine/local/storage/redo.h"

#define REDO_MAGIC UINT64_C(0x7469642d6c6f670a) /* "tid-log" and a newline */

enum {
    REDO_FORMAT = 2,
    REDO_FORMAT_OLDEST = 1, /* without chain and sure */
    REDO_HEADER_BYTES = 64,
    RECORD_HEAD_BYTES = 56,
    RECORD_HEAD_BYTES_BEFORE = 32,
    RECORD_ALIGN = 8,
};

/* A segment is as long as the setting says, or as its one record needs: see the writer's batches. */
#define SEGMENT_BYTES_MAX ((size_t)1 << 32)

struct redo_header {
    uint32_t format; /* out: as it was read; REDO_FORMAT is what is written */
    uint32_t salt;   /* of the records' checksums */
    uint64_t first;
    uint8_t id[REDO_ID_BYTES];
};

void redo_header_encode(const struct redo_header *header, uint8_t to[REDO_HEADER_BYTES]);

/* All of a record but the changes, which the checksum covers too. */
void redo_head_encode(const struct redo_record *record, uint32_t salt,
                      uint8_t to[RECORD_HEAD_BYTES]);

static inline size_t record_align(size_t bytes)
{
    return (bytes + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}

static inline size_t record_bytes(size_t changes)
{
    return record_align(RECORD_HEAD_BYTES + changes);
}

#endif

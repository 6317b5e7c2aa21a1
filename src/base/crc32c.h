/* SPDX-License-Identifier: MIT */
/* CRC-32C (Castagnoli): by the processor where it can, by a table elsewhere. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Goes on from `crc`: 0 to begin with, or any other seed. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);

/* The same by the table alone: for machines without the instruction, and for its test. */
uint32_t crc32c_table(uint32_t crc, const void *bytes, size_t n);

#endif

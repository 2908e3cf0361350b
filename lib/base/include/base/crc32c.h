/* SPDX-License-Identifier: BSD-2-Clause */
/* base/crc32c.h - CRC32C (Castagnoli, reflected 0x82f63b78): the end-to-end
 * check of Suci segments.  Uses the SSE4.2 instruction where the CPU has it,
 * a table otherwise; same value either way. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continue crc over len bytes.  Start with 0; the value of a whole is the
 * value of the last call (the customary inversions are inside), so
 * base_crc32c(base_crc32c(0, a), b) is the CRC of a followed by b. */
uint32_t base_crc32c(uint32_t crc, const void *data, size_t len);

/* The table version, for tests and CPUs without SSE4.2. */
uint32_t base_crc32c_table(uint32_t crc, const void *data, size_t len);

#endif

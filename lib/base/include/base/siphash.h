/* SPDX-License-Identifier: BSD-2-Clause */
/* base/siphash.h - SipHash-2-4 (Aumasson, Bernstein 2012), 64-bit result: the
 * keyed hash behind Suci's stateless handshake cookies. */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t base_siphash(const uint8_t key[16], const void *data, size_t len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp/head.h - the 32 bytes before each fragment, on the wire and in shared memory.
 *
 *	 0  kind and version    8 bits: 0x10 | kind
 *	 1  flags               8
 *	 2  stream             16   0: messages, 1: barriers
 *	 4  tag                32
 *	 8  message number     32   of the pair and stream, from 0
 *	12  bytes of this      32
 *	16  bytes of all       64
 *	24  offset             64
 * All big-endian.  MMP_CREDIT: all = eager bytes, offset = fragments that were freed since the
 * start.  MMP_WANT: stream and number name the message whose rest may come without credit.
 * MMP_FIRST, on lanes that may break: offset is the number of the block that follows (link.h). */
#ifndef MMP_HEAD_H
#define MMP_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#define MMP_HEAD_BYTES	 32u
#define MMP_FRAGMENT_MAX (1u << 30)
#define MMP_MESSAGE_MAX	 ((uint64_t)1 << 40)
#define MMP_STREAMS	 2u

enum mmp_kind { MMP_FRAGMENT = 1, MMP_CREDIT = 2, MMP_WANT = 3, MMP_FIRST = 4 };
#define MMP_EAGER 1u /* sent on credit of bytes */

struct mmp_head {
	uint8_t kind, flags;
	uint16_t stream;
	int32_t tag;
	uint32_t number, bytes;
	uint64_t all, offset;
};
_Static_assert(sizeof(struct mmp_head) == MMP_HEAD_BYTES, "no padding");

void mmp_head_put(uint8_t out[MMP_HEAD_BYTES], const struct mmp_head *h);
/* false: what, a text, names the field that cannot be. */
bool mmp_head_get(const uint8_t in[MMP_HEAD_BYTES], struct mmp_head *h, const char **what);
/* The checks of mmp_head_get() alone. */
bool mmp_head_ok(const struct mmp_head *h, const char **what);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp/area.h - pieces of any length out of one half of the area, freed in any order.
 *
 * Good fit by size class (TLSF: Masmano et al. 2004), neighbours that are free are joined, so
 * taking and giving take a constant time.  What is known of the pieces lies beside the area, which
 * others may have mapped.  A piece is named by its index; bytes in use never exceed the
 * size, pieces never their number.
 *
 * Units    bytes; lengths are rounded up to 64.
 * Threads  one owner. */
#ifndef MMP_AREA_H
#define MMP_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MMP_NONE     UINT32_MAX
#define MMP_AREA_BIN 160u /* four to a doubling */

struct mmp_piece {
	uint64_t at, len;
	uint32_t before, behind; /* in the area */
	uint32_t prev, next;	 /* of the free ones of its class, or of the unused */
	bool is_free;
};
struct mmp_area {
	uint64_t size, used, used_max;
	struct mmp_piece *piece;
	uint32_t pieces, unused, fresh;
	uint32_t bin[MMP_AREA_BIN];
	uint64_t has[(MMP_AREA_BIN + 63) / 64];
};

/* piece: memory for n of them, n >= 2; size a multiple of 64. */
void mmp_area_init(struct mmp_area *a, uint64_t size, struct mmp_piece *piece, uint32_t n);
/* MMP_NONE: no room, or no piece.  A length of 0 takes 64. */
uint32_t mmp_area_take(struct mmp_area *a, uint64_t len);
void mmp_area_give(struct mmp_area *a, uint32_t piece);
/* Would it? */
bool mmp_area_has(const struct mmp_area *a, uint64_t len);
static inline uint64_t
mmp_area_at(const struct mmp_area *a, uint32_t piece)
{
	return a->piece[piece].at;
}
/* For tests: do all counts and lists agree? */
bool mmp_area_check(const struct mmp_area *a);

#endif

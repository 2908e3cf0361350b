/* SPDX-License-Identifier: BSD-2-Clause */
/* Packing: a layout becomes the bytes of its elements in order, and another layout them again. */
#include "swarm.h"

#include <stdlib.h>
#include <string.h>

/* In pieces of so many of the layout. */
static void
pack_pieces(const struct sw_buf *b, unsigned char *to, int room)
{
	int at = 0;

	for (uint32_t i = 0; i < b->count;) {
		uint32_t few = 1 + sw_own(5), n = SW_MIN(b->count - i, few);
		MPI_Pack(b->base + (ptrdiff_t)i * b->l->extent, (int)n, b->l->type, to, room, &at,
			 MPI_COMM_SELF);
		i += n;
	}
	SW_CHECK((uint64_t)at == sw_elements(b) * b->l->width);
}

static void
through_external32(const struct sw_buf *from, struct sw_buf *to)
{
	MPI_Aint size, at = 0, back = 0;

	MPI_Pack_external_size("external32", (int)from->count, from->l->type, &size);
	unsigned char *room = sw_alloc((size_t)size);
	MPI_Pack_external("external32", from->base, (int)from->count, from->l->type, room, size,
			  &at);
	SW_CHECK(at == size && (uint64_t)size == sw_elements(from) * from->l->width);
	MPI_Unpack_external("external32", room, size, &back, to->base, (int)to->count, to->l->type);
	SW_CHECK(back == size);
	sw_verify(to, "through external32");
	free(room);
}

void
sw_step_pack(void)
{
	MPI_Datatype basic = sw_basic();
	uint64_t n = sw_draw(sw_one_in(2) ? 40 : 4000), key = sw_key();
	uint32_t count[2];
	struct sw_layout *l[2] = {sw_layout_for(basic, n, &count[0]),
				  sw_layout_for(basic, n, &count[1])};
	struct sw_buf from, to, again;
	int room, at = 0;

	sw_buf_new(&from, l[0], count[0]);
	sw_buf_new(&to, l[1], count[1]);
	sw_buf_new(&again, l[1], count[1]);
	sw_fill(&from, 0, n, key, 0);
	sw_expect(&to, 0, n, key, 0);
	sw_expect(&again, 0, n, key, 0);
	MPI_Pack_size((int)count[0], l[0]->type, MPI_COMM_SELF, &room);
	SW_CHECK((uint64_t)room >= n * l[0]->width);
	unsigned char *bytes = sw_alloc((size_t)room), *want = sw_alloc((size_t)room);
	pack_pieces(&from, bytes, room);
	sw_stream(want, l[0]->width, n, key, 0);
	SW_CHECK(memcmp(bytes, want, n * l[0]->width) == 0);
	MPI_Unpack(bytes, room, &at, to.base, (int)count[1], l[1]->type, MPI_COMM_SELF);
	SW_CHECK((uint64_t)at == n * l[0]->width);
	sw_verify(&to, "unpacked");
	through_external32(&from, &again);
	free(bytes);
	free(want);
	sw_buf_free(&from);
	sw_buf_free(&to);
	sw_buf_free(&again);
	sw_layout_free(l[0]);
	sw_layout_free(l[1]);
}

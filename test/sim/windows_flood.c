/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario `windows-flood`: the last process of a job announces bulk data to the parts of others
 * and never sends it, asks for results and never takes them, and goes on after a target refused.
 * Each target keeps what it has room for; the others' operations are done.  Then it dies, and what
 * it left behind goes. */
#include "windows.h"

#include "draw.h"

#define PACKETS_MOST 200u /* of a flood in a turn */
#define PACKETS_ALL  2000u
#define REFUSED_MOST 300u /* it has seen enough */

bool
windows_flood_is_untaken(const struct windows *all)
{
	return all->acts % 2; /* neither flood is to hide the other */
}

/* Whatever lies at a target until its bulk data comes. */
static struct rma_packet
draw_announced(struct user *u, struct base_prng *p)
{
	static const enum rma_kind kinds[] = {RMA_ACC, RMA_PUT, RMA_FLUSH, RMA_COMPLETE};
	struct rma_packet out = {.kind = RMA_ACC, .op = ADD, .at = AT(sums)};

	if (coin(p, 20))
		out.kind = (uint8_t)kinds[base_prng_below(p, 4)];
	if (out.kind == RMA_ACC || out.kind == RMA_PUT) {
		out.bytes = 8 * between(p, 1, SUMS);
		out.data_tag = lmpi_acting_tag(&u->acting);
	}
	return out;
}

/* Apart from bulk data that its sender names. */
#define RESULT_TAG UINT32_C(0x20000000)

/* Its result finds no receive. */
static struct rma_packet
draw_untaken(struct user *u, struct base_prng *p)
{
	return (struct rma_packet){.kind = RMA_GET,
				   .at = AT(sums),
				   .bytes = between(p, RMA_INLINE_MAX + 1, sizeof(uint64_t) * SUMS),
				   .reply_tag = lmpi_acting_tag(&u->acting) | RESULT_TAG};
}

void
windows_do_floods(struct user *u)
{
	struct windows *all = windows_running;
	struct base_prng *p = &all->t.prng;
	bool untaken = windows_flood_is_untaken(all);
	uint32_t refused = 0;

	for (uint32_t r = 0; r < u->n->e.size; r++)
		refused += all->user[r].refused;
	/* An engine takes short results, whether anybody wants them or not. */
	if (refused >= REFUSED_MOST || u->pours >= PACKETS_ALL) {
		if (refused > 0 || untaken) /* else packets are still on their way */
			trouble_kill(&all->t, u->n->end->rank, base_prng_below(p, BASE_MS_NS));
		return;
	}
	u->target = (uint32_t)base_prng_below(p, u->n->e.size - 1);
	for (uint64_t n = between(p, 1, PACKETS_MOST); n > 0; n--, u->pours++)
		windows_tell(u, u->target, untaken ? draw_untaken(u, p) : draw_announced(u, p),
			     NULL, 0);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* When a process is started again.
 *
 * A program that fails at once would use up the table of slots within minutes, and the processor
 * with it.  So who has ended soon several times in a row waits longer each time. */
#include "internal.h"

#include "canary.h"

/* Processes that end together count once: another one was not started in between. */
static void
wait_longer(struct sp_node *n, uint8_t pool)
{
	struct sp_unit *u = &n->unit;
	uint64_t wait = n->conf.restart_ns;

	u->falls[pool]++;
	for (uint32_t i = SP_FALLS; i < u->falls[pool] && wait < SP_AGAIN_NS; i++)
		wait *= 2;
	if (SP_BUG(RESTLESS) || u->falls[pool] < SP_FALLS)
		wait = n->conf.restart_ns;
	wait = base_min_ns(wait, base_max_ns(SP_AGAIN_NS, n->conf.restart_ns));
	u->start_ns[pool] = n->now_ns + wait;
	if (wait > n->conf.restart_ns)
		sp_tell(n, SP_EVENT_FAILING, pool, (uint32_t)(wait / BASE_MS_NS));
}

void
sp_again_fell(struct sp_node *n, uint8_t pool)
{
	if (n->now_ns >= n->unit.start_ns[pool])
		wait_longer(n, pool);
}

void
sp_again_died(struct sp_node *n, uint32_t slot)
{
	struct sp_unit *u = &n->unit;
	const struct sp_slot *s = &u->view->slot[slot];
	uint64_t lived = n->now_ns - u->since_ns[slot];

	/* Who was ended on demand, or with its unit, has not failed. */
	if (u->why[slot] == SP_WHY_EXIT && s->state != SP_SLOT_DEAD && lived < SP_FALL_NS) {
		sp_again_fell(n, s->pool);
		return;
	}
	u->falls[s->pool] = 0;
	u->start_ns[s->pool] = n->now_ns + n->conf.restart_ns;
}

void
sp_again_view(struct sp_node *n)
{
	const struct sp_view *v = n->unit.view;

	for (uint32_t s = 0; s < v->slots; s++)
		if (v->slot[s].unit == n->conf.me && v->slot[s].state + 1 != n->unit.was[s]) {
			n->unit.was[s] = (uint8_t)(v->slot[s].state + 1);
			n->unit.since_ns[s] = n->now_ns;
		}
}

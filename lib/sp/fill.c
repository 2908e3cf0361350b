/* SPDX-License-Identifier: BSD-2-Clause */
/* Refill: which unit starts a process in place of a spare that was used. */
#include "internal.h"

#include "canary.h"

/* What lives of a pool, by unit. */
struct census {
	uint32_t living[SP_UNITS_MAX], want[SP_UNITS_MAX];
	bool emptied[SP_UNITS_MAX];
	uint32_t spares, wanted; /* that wait; that are to: as many as in view 1, and one a role */
};

static void
count_pool(const struct sp_node *n, uint8_t pool, struct census *c)
{
	const struct sp_view *v = n->unit.view;

	*c = (struct census){.spares = 0};
	for (uint32_t s = 0; s < n->conf.slots; s++)
		if ((n->conf.pool_of ? n->conf.pool_of[s] : 0) == pool) {
			c->want[n->conf.unit_of[s]]++;
			c->wanted += s >= v->l.roles;
		}
	for (uint32_t s = 0; s < v->slots; s++) {
		const struct sp_slot *p = &v->slot[s];
		if (p->pool != pool)
			continue;
		c->living[p->unit] += p->state != SP_SLOT_DEAD;
		c->spares += p->state == SP_SLOT_SPARE;
		c->emptied[p->unit] = p->state == SP_SLOT_DEAD && p->why == SP_WHY_DRAIN;
	}
	for (uint32_t r = 0; r < v->l.roles; r++)
		c->wanted += v->role[r] == SP_NONE && !v->gone[r] && sp_role_pool(v, r) == pool;
}

/* The unit that starts the next one: that of fewest processes; SP_NONE: no unit is up. */
static uint32_t
find_filler(const struct sp_view *v, const struct census *c)
{
	uint32_t found = SP_NONE;

	for (uint32_t u = 0; u < v->l.units; u++)
		if (c->want[u] && v->unit[u].incarnation && !v->unit[u].down && !c->emptied[u] &&
		    (found == SP_NONE || c->living[u] < c->living[found]))
			found = u;
	return found;
}

/* Each unit finds by itself, from the view that all have, which of them makes up for what. */
static void
fill_pool(struct sp_node *n, uint8_t pool)
{
	const struct sp_view *v = n->unit.view;
	bool again = n->conf.severity.of[SP_FAULT_PROCESS].set & SP_RESTART;
	struct census c;
	uint32_t u;

	count_pool(n, pool, &c);
	for (u = 0; again && u < v->l.units; u++)
		if (!v->unit[u].down && c.want[u] > c.living[u]) { /* it starts them anyway */
			c.spares += c.want[u] - c.living[u];
			c.living[u] = c.want[u];
		}
	while (c.spares < c.wanted && (u = find_filler(v, &c)) != SP_NONE) {
		c.spares++;
		c.living[u]++;
	}
	n->unit.fill[pool] = SP_BUG(UNFILLED) ? 0 : c.living[n->conf.me];
}

void
sp_unit_fill(struct sp_node *n)
{
	const struct sp_unit *u = &n->unit;

	for (uint8_t p = 0; p < SP_POOLS_MAX && n->conf.refill; p++)
		if (u->want[p] && !(u->view->off >> p & 1))
			fill_pool(n, p);
}

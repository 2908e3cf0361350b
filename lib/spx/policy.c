/* SPDX-License-Identifier: BSD-2-Clause */
#include "spx/policy.h"

/* The first one behind the last, by id. */
static uint32_t
pick_next(const struct spx_picker *p, const struct spx_candidate *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (p->last != SPX_NONE && c[i].id > p->last)
			return i;
	return 0;
}

static uint32_t
pick_least(const struct spx_picker *p, const struct spx_candidate *c, uint32_t n)
{
	uint32_t best = pick_next(p, c, n);

	for (uint32_t k = 1, i = best; k < n; k++) {
		i = (i + 1) % n;
		if (c[i].amount > c[best].amount ||
		    (c[i].amount == c[best].amount && c[i].mine < c[best].mine))
			best = i;
	}
	return best;
}

/* Each gets its weight at each turn, and who is taken pays the sum of all. */
static uint32_t
pick_weighted(struct spx_candidate *c, uint32_t n)
{
	int64_t sum = 0;
	uint32_t best = 0;

	for (uint32_t i = 0; i < n; i++) {
		int64_t weight = c[i].weight ? c[i].weight : 1;
		c[i].turn += weight;
		sum += weight;
		if (c[i].turn > c[best].turn)
			best = i;
	}
	c[best].turn -= sum;
	return best;
}

static uint32_t
pick_same(const struct spx_picker *p, const struct spx_candidate *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (c[i].id == p->last)
			return i;
	return pick_next(p, c, n);
}

uint32_t
spx_pick(enum spx_policy policy, struct spx_picker *p, struct spx_candidate *c, uint32_t n)
{
	uint32_t i = 0;

	switch (policy) {
	case SPX_LEAST:
		i = pick_least(p, c, n);
		break;
	case SPX_WEIGHT:
		i = pick_weighted(c, n);
		break;
	case SPX_STICKY:
		i = pick_same(p, c, n);
		break;
	case SPX_USER:
		i = p->fn ? p->fn(p->user, c, n, p->out) : n;
		if (i >= n)
			i = pick_next(p, c, n);
		break;
	case SPX_RR:
		i = pick_next(p, c, n);
		break;
	}
	p->last = c[i].id;
	return i;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "meet/rest.h"

#include "canary.h"

static void
set_rest(struct meet_rests *all, struct meet_rest *x, bool rests, bool named)
{
	all->n -= meet_rest_is_on(x);
	x->rests = rests;
	x->named = named;
	all->n += meet_rest_is_on(x);
}

bool
meet_rest_begin(struct meet_rests *all, struct meet_rest *x, uint64_t now_ns)
{
	x->unsure = false;
	if (x->rests)
		return false;
	if (!all->n)
		all->looked_ns = now_ns;
	if (!x->named)
		x->rested_ns = 0;
	set_rest(all, x, true, false);
	return true;
}

void
meet_rest_go_on(struct meet_rests *all, struct meet_rest *x, const struct door_client_import *m)
{
	bool named = m->state == DOOR_CLIENT_NAMED && meet_rest_is_on(x) && !MEET_BUG(WAY_NAMED);
	set_rest(all, x, false, named);
}

void
meet_rest_granted(struct meet_rests *all, struct meet_rest *x, const struct door_client_import *m)
{
	if (x->named && m->state == DOOR_CLIENT_HAVE)
		meet_rest_end(all, x);
}

void
meet_rest_end(struct meet_rests *all, struct meet_rest *x)
{
	set_rest(all, x, false, false);
}

uint64_t
meet_rest_step(struct meet_rests *all, uint64_t now_ns)
{
	if (now_ns < meet_rest_due(all))
		return 0;
	uint64_t step = base_min_ns(now_ns - all->looked_ns, 2 * MEET_REST_LOOK_NS);
	all->looked_ns = now_ns;
	return step;
}

uint64_t
meet_rest_due(const struct meet_rests *all)
{
	return all->n ? all->looked_ns + MEET_REST_LOOK_NS : BASE_NEVER_NS;
}

enum meet_rest_next
meet_rest_look(const struct meet_rests *all, struct meet_rest *x, const struct door_client *client,
	       uint32_t import, uint64_t step_ns, uint64_t now_ns)
{
	x->rested_ns += step_ns;
	if (x->rested_ns > all->wait_ns && !MEET_BUG(WAY_ENDLESS))
		return MEET_REST_OVER;
	if (x->named)
		return MEET_REST_WAITS;
	if (import == DOOR_CLIENT_NONE)
		return now_ns >= x->again_ns ? MEET_REST_ASKS : MEET_REST_WAITS;
	return door_client_reaches(&client->import[import]) ? MEET_REST_GOES : MEET_REST_WAITS;
}

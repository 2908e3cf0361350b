/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of other jobs get slots: see others.h of engine. */
#include "boot.h"
#include "transport.h"

#include <stdio.h>
#include <string.h>

#define eng lmpi_eng

/* ---- the socket ---- */

/* A job on one node has had none until now. */
int
lmpi_meet_ready(char why[LMPI_WHY])
{
	struct suci_addr at;
	int err;

	if (lmpi_world.any_foreign) {
		snprintf(
			why, LMPI_WHY,
			"a job with processes of another MPI does not connect to others, nor start "
			"any");
		return LMPI_ERR_OTHER;
	}
	if (lmpi_world.nclients > 1) {
		/* A node's name says little elsewhere, and others may have the same. */
		lmpi_world.hides_nodes = true;
		if (!lmpi_doors_wanted() && lmpi_net_has_relays()) {
			snprintf(why, LMPI_WHY,
				 "a job without a relay in its own cluster does not connect to "
				 "other "
				 "jobs, nor start any");
			return LMPI_ERR_OTHER;
		}
	}
	if (!lmpi_net_is_open()) {
		err = lmpi_choose_address(NULL, NULL, true, &at);
		if (!err)
			lmpi_tune_net(&at);
		if (!err)
			err = lmpi_net_open(&at);
		if (!err)
			err = lmpi_net_start(NULL, 0, 0);
		if (err) {
			snprintf(why, LMPI_WHY, "there is no socket for other jobs, see above");
			return err;
		}
		at.port = lmpi_net_port();
		lmpi_route[lmpi_world.rank].at = at;
	}
	lmpi_hall_open();
	return lmpi_doors_ready(why);
}

/* ---- cards ---- */

void
lmpi_card_mine(uint8_t card[LMPI_CARD_BYTES])
{
	const struct lmpi_proc *p = &lmpi_world.proc[lmpi_world.rank];
	const struct lmpi_route *r = &lmpi_route[lmpi_world.rank];
	struct lmpi_card c = {
		.job = p->job, .token = lmpi_loop.token, .number = p->number, .at = r->at};

	if (!lmpi_world.hides_nodes)
		memcpy(c.node, p->node, sizeof c.node);
	c.has_door = lmpi_doors_mine(&c.door);
	lmpi_hall_where(&c.hall);
	lmpi_card_encode(&c, card);
}

/* ---- slots ---- */

/* The first slot on the same node, as find_nodes() of start.c has it. */
static uint32_t
node_first_of(const char *node, uint32_t slot)
{
	for (uint32_t r = 0; node[0] && r < slot; r++)
		if (strcmp(lmpi_world.proc[r].node, node) == 0)
			return r;
	return node[0] ? slot : UINT32_MAX;
}

/* Else this process sends to its address. */
static bool
goes_by_door(const struct lmpi_card *c)
{
	return c->has_door && lmpi_doors_lead(&c->door);
}

static bool
fits_own(const struct lmpi_card *c, char why[LMPI_WHY])
{
	const struct suci_addr *own = &lmpi_route[lmpi_world.rank].at;
	char who[48];

	snprintf(who, sizeof who, "process %u of the other job", c->number);
	return goes_by_door(c) || lmpi_addr_meets(own, who, &c->at, why);
}

/* False: no memory. */
static bool
fill_slot(uint32_t slot, const struct lmpi_card *c)
{
	struct lmpi_proc *p = (struct lmpi_proc *)(uintptr_t)&lmpi_world.proc[slot];
	struct lmpi_route *r = &lmpi_route[slot];
	struct lmpi_peer *peer = &eng.peer[slot];

	*p = (struct lmpi_proc){.reach = LMPI_REACH_DIRECT,
				.client = lmpi_world.client,
				.host = lmpi_world.proc[lmpi_world.rank].host,
				.node_first = node_first_of(c->node, slot),
				.job = c->job,
				.number = c->number};
	memcpy(p->node, c->node, sizeof p->node);
	*r = (struct lmpi_route){.path = UINT32_MAX,
				 .label = LMPI_LABEL_BASE + c->number,
				 .token = c->token,
				 .at = c->at};
	peer->apart = slot - c->number;
	lmpi_reach_by(peer, LMPI_REACH_DIRECT);
	peer->eager_max = lmpi_eager();
	r->door = goes_by_door(c);
	if (!r->door)
		lmpi_hall_enter(slot, &c->hall);
	return !r->door || lmpi_doors_import(slot, &c->door);
}

static bool
grow_table(uint32_t n, char why[LMPI_WHY])
{
	uint32_t was = lmpi_world.slots;

	if (!lmpi_engine_grow(&eng, was, n)) {
		snprintf(
			why, LMPI_WHY,
			"%u more processes than the %u that are known, with places up to %u: raise "
			"LIBMPI_PROCESSES_MAX",
			n, was, eng.slots_max);
		return false;
	}
	for (uint32_t r = was; r < eng.size; r++) {
		struct lmpi_proc *p = (struct lmpi_proc *)(uintptr_t)&lmpi_world.proc[r];
		p->node_first = UINT32_MAX;
		p->job = 0;
		lmpi_route[r].reach = LMPI_REACH_TCP; /* nobody's, until it is somebody's */
		lmpi_route[r].path = UINT32_MAX;
	}
	lmpi_world.slots = eng.size;
	lmpi_survive_grow();
	/* The kernel may take the only other process for the only one that there will be. */
	int err = lmpi_net_more();
	if (err)
		snprintf(why, LMPI_WHY, "the socket cannot take datagrams of other jobs: %s",
			 strerror(-err));
	return !err;
}

int
lmpi_others_adopt(const uint8_t *cards, uint32_t n, uint32_t *world, char why[LMPI_WHY])
{
	uint32_t new = 0, next = lmpi_world.slots;
	struct lmpi_card c;

	for (uint32_t i = 0; i < n; i++) {
		if (!lmpi_card_decode(cards + (size_t)i * LMPI_CARD_BYTES, &c)) {
			snprintf(
				why, LMPI_WHY,
				"the other job runs another version of libmpi: update one of them");
			return LMPI_ERR_OTHER;
		}
		world[i] = lmpi_proc_find(c.job, c.number);
		if (world[i] == UINT32_MAX && c.job == lmpi_world.proc[lmpi_world.rank].job) {
			snprintf(why, LMPI_WHY, "the other side names process %u of this job",
				 c.number);
			return LMPI_ERR_OTHER;
		}
		if (lmpi_world.nclients > 1 && lmpi_doors_wanted() && !c.has_door) {
			snprintf(
				why, LMPI_WHY,
				"process %u of the other job has no door, and this job has several "
				"clusters: name a relay in LIBMPI_RELAY of the other job",
				c.number);
			return LMPI_ERR_OTHER;
		}
		if (world[i] == UINT32_MAX && !fits_own(&c, why))
			return LMPI_ERR_OTHER;
		new += world[i] == UINT32_MAX;
	}
	if (new > 0 && !grow_table(new, why))
		return LMPI_ERR_OTHER;
	for (uint32_t i = 0; i < n; i++) {
		if (world[i] != UINT32_MAX)
			continue;
		(void)lmpi_card_decode(cards + (size_t)i * LMPI_CARD_BYTES, &c);
		world[i] = next++;
		if (!fill_slot(world[i], &c)) {
			snprintf(why, LMPI_WHY, "no memory for the doors of %u processes", n);
			return LMPI_ERR_NO_MEM;
		}
	}
	return LMPI_OK;
}

void
lmpi_others_met(const uint32_t *world, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		lmpi_hall_met(world[i]);
}

void
lmpi_others_watch(bool (*wanted)(uint32_t world))
{
	lmpi_net_wanted = wanted;
}

static bool
all_arrived(void *arg)
{
	(void)arg;
	return eng.sends == 0 && eng.outs == 0 && lmpi_tp_drained();
}

void
lmpi_drain(void)
{
	lmpi_wait_for(all_arrived, NULL);
}

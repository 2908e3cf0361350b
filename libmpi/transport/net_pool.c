/* SPDX-License-Identifier: BSD-2-Clause */
/* A bound on direct paths: what the pool (lib/pathpool) asks of Suci and the engine. */
#include "net_internal.h"

#include "relayproto/note.h"

#include <stdlib.h>

#define eng lmpi_eng
#define net lmpi_net

static bool
open_pooled(void *user, uint32_t world, uint64_t now_ns)
{
	(void)user, (void)now_ns;
	return lmpi_net_reach(world);
}

static void
nudge_pooled(void *user, uint32_t world, uint64_t now_ns)
{
	(void)user;
	(void)suci_path_nudge(net.ep, lmpi_route[world].path, now_ns);
	net.dirty = true;
}

static void
close_pooled(void *user, uint32_t world, const char *text, uint64_t now_ns)
{
	struct lmpi_route *r = &lmpi_route[world];

	(void)user;
	net.path_use[r->path] = USE_NONE;
	suci_path_close(net.ep, r->path, text, now_ns);
	r->path = UINT32_MAX;
	net.dirty = true;
}

static bool
is_pooled_busy(void *user, uint32_t world)
{
	const struct lmpi_route *r = &lmpi_route[world];
	struct suci_lane_info lane;
	struct suci_path_info path;

	(void)user;
	if (r->has_lane && suci_lane_info(net.lanes, r->lane, &lane) &&
	    (lane.tx_blocks_queued > 0 || lane.tx_next_seq != lane.tx_acked_seq))
		return true;
	return suci_path_info(net.ep, r->path, &path) && path.in_flight + path.queued > 0;
}

static bool
is_pooled_wanted(void *user, uint32_t world)
{
	(void)user;
	return eng.peer[world].out_first != NULL;
}

static void
offer_pooled(void *user, uint32_t world)
{
	(void)user;
	lmpi_unpark(&eng, &eng.peer[world]);
}

static bool
say_pooled(void *user, uint32_t world, enum pathpool_say say, uint32_t number, uint64_t now_ns)
{
	struct relay_note n = {.type = RELAY_NOTE_REST,
			       .label_base = LMPI_LABEL_BASE,
			       .token = (uint32_t)lmpi_loop.token,
			       .say = say,
			       .number = number};
	uint8_t bytes[RELAY_NOTE_MAX];
	size_t len = relay_note_encode(&n, bytes);

	(void)user;
	net.dirty = true;
	return suci_path_note(net.ep, lmpi_route[world].path, bytes, len, now_ns) == 0;
}

static const struct pathpool_ops pool_ops = {
	.open = open_pooled,
	.nudge = nudge_pooled,
	.close = close_pooled,
	.busy = is_pooled_busy,
	.waits = is_pooled_wanted,
	.ready = offer_pooled,
	.say = say_pooled,
};

bool
lmpi_pool_make(uint32_t peers_max, uint32_t paths_max)
{
	void *mem = malloc(pathpool_footprint(peers_max));

	net.pool = mem ? pathpool_new(mem, peers_max, paths_max, &pool_ops, NULL) : NULL;
	return mem != NULL;
}

bool
lmpi_pool_may_send(struct lmpi_peer *peer)
{
	if (peer->parked)
		return false;
	lmpi_park(peer); /* before the pool can say that it is ready */
	if (!pathpool_may_send(net.pool, peer->world, eng.now_ns))
		return false;
	peer->parked = false;
	return true;
}

void
lmpi_pool_note(uint32_t world, const struct relay_note *n)
{
	if (net.pool && world < lmpi_world.slots && n->say <= PATHPOOL_NOT_NOW)
		pathpool_told(net.pool, world, (enum pathpool_say)n->say, n->number, eng.now_ns);
}

bool
lmpi_pool_down(uint32_t world, enum suci_down why)
{
	return net.pool &&
	       pathpool_down(net.pool, world, why == SUCI_DOWN_CLOSED || why == SUCI_DOWN_RESET,
			     eng.now_ns);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A process with an engine of lib/mpi: its transports, its turns, deaths of others. */
#include "enode.h"

#include "mpi/lanes.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

static struct enode *
enode_of(const struct end *e)
{
	struct enodes *all = e->w->scenario;

	return &all->node[e->rank];
}

uint64_t
enode_now(const struct enode *n)
{
	return node_now(&n->end->clock, n->end->w->s->now_ns);
}

/* ---- what an engine stands on ---- */

static void *
get(void *user, size_t bytes)
{
	void *p = malloc(bytes);

	(void)user;
	BASE_ASSERT(p);
	return p;
}

static void
put(void *user, void *p)
{
	(void)user;
	free(p);
}

static void
engine_failed(struct lmpi_engine *e, const char *text)
{
	const struct enode *n = e->user;

	invariant_broken(n->end->w->s, INV_HONEST, "rank %u: %s", e->rank, text);
}

static bool
is_sent(const struct enode *n, int err)
{
	if (err && err != SUCI_ERR_NOMEM)
		sim_fail(n->end->w->s, "rank %u: suci_lane_send: %s", n->end->rank,
			 suci_strerror(err));
	return !err;
}

static bool
send_packet(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	const struct enode *n = e->user;

	return end_lane(n->end, peer->world) &&
	       is_sent(n, lmpi_lanes_send(e, peer, out, n->end->lanes, n->end->lane[peer->world],
					  enode_now(n)));
}

/* ---- streams ---- */

#define FLOW_NS (200 * BASE_US_NS) /* bytes of a stream take as long, at most */

static void flow(struct sim *s, void *who, uint64_t pair);

static void
flow_if_any(struct enodes *all, uint32_t from, uint32_t to)
{
	struct sim *s = all->w->s;
	uint64_t seen = s->now_ns * 31 + from * 7 + to;

	if (all->flows[from] >> to & 1 || !stream_net_moves(all->streams, from, to))
		return;
	all->flows[from] |= 1u << to;
	sim_at(s, s->now_ns + 1 + seen % FLOW_NS, flow, all, from << 8 | to);
}

/* pair: from whom, to whom. */
static void
flow(struct sim *s, void *who, uint64_t pair)
{
	struct enodes *all = who;
	uint32_t from = (uint32_t)pair >> 8, to = pair & 0xff;
	struct end *a = all->node[from].end, *b = all->node[to].end;
	uint64_t later = base_max_ns(a->paused_ns, b->paused_ns);

	if (s->now_ns < later) {
		sim_at(s, later, flow, all, pair);
		return;
	}
	all->flows[from] &= ~(1u << to);
	if (all->over || !a->alive || !b->alive)
		return;
	(void)stream_net_step(all->streams, from, to);
	end_drive(a);
	end_drive(b);
	flow_if_any(all, from, to);
	flow_if_any(all, to, from);
}

static bool
send_direct(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	const struct enode *n = e->user;
	struct enodes *all = n->all;
	bool may = all->streams && out->hdr.type == LMPI_T_DATA;
	bool taken = may && stream_net_send(all->streams, e, peer, out);

	if (may) {
		flow_if_any(all, e->rank, peer->world);
		flow_if_any(all, peer->world, e->rank);
	}
	return taken || send_packet(e, peer, out);
}

static bool
try_short(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h, const void *data,
	  uint64_t len)
{
	const struct enode *n = e->user;

	return lmpi_lanes_fits(e, peer, h, len) && end_lane(n->end, peer->world) &&
	       is_sent(n, lmpi_lanes_try(e, peer, h, data, len, n->end->lanes,
					 n->end->lane[peer->world], enode_now(n)));
}

static const struct lmpi_transport direct = {
	.caps = LMPI_LANES_DIRECT_CAPS, .send = send_direct, .try_short = try_short};
static const struct lmpi_transport relayed = {
	.caps = LMPI_LANES_RELAYED_CAPS, .send = send_packet, .try_short = try_short};

static void *
block_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	    uint64_t now_ns)
{
	struct enode *n = enode_of(user);
	uint32_t from = end_of_lane(user, lane);

	(void)now_ns;
	BASE_ASSERT(from < n->e.size);
	n->e.in_transport = true;
	void *block = lmpi_lanes_begin(&n->e, &n->peer[from], bytes, first, first_len);
	n->e.in_transport = false;
	sim_mix(n->end->w->s, 0xe9 | bytes << 8);
	return block;
}

static void
block_data(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data, size_t len)
{
	(void)user, (void)lane;
	lmpi_lanes_data(block, offset, data, len);
}

static void
block_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct enode *n = enode_of(user);

	(void)lane, (void)now_ns;
	n->e.in_transport = true;
	lmpi_lanes_end(&n->e, block);
	n->e.in_transport = false;
}

static void
block_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct enode *n = enode_of(user);

	(void)lane, (void)now_ns;
	INVARIANT(n->end->w->s, REASON,
		  ok || n->all->over || n->all->dead || n->all->left || n->all->apart[n->end->rank],
		  "rank %u: a packet failed", n->end->rank);
	n->e.in_transport = true;
	lmpi_lanes_done(&n->e, cookie, ok);
	n->e.in_transport = false;
}

/* A turn of the loop. */
static bool
push(struct end *end)
{
	struct enode *n = enode_of(end);
	bool moved = n->e.pending && lmpi_pump(&n->e);

	if (n->e.done_first) {
		moved = true;
		enode_run_done(n);
	}
	n->turns++;
	if (n->all->turned)
		n->all->turned(n);
	return moved;
}

void
enode_run_done(struct enode *n)
{
	n->all->current = n;
	lmpi_run_done(&n->e);
}

/* ---- deaths ---- */

static void
hear(struct sim *s, void *who, uint64_t dead)
{
	struct enode *n = who;

	if (s->now_ns < n->end->paused_ns) {
		sim_at(s, n->end->paused_ns, hear, n, dead);
		return;
	}
	n->all->news--;
	if (!n->end->alive || n->all->over || n->end->leaving)
		return;
	end_shun(n->end, (uint32_t)dead);
	if (n->all->streams)
		stream_net_cut(n->all->streams, n->end->rank, (uint32_t)dead);
	n->all->lost(n, (uint32_t)dead);
	end_drive(n->end);
}

void
enode_hear(struct enode *n, uint32_t dead, uint64_t in_ns)
{
	struct sim *s = n->end->w->s;

	n->all->news++;
	sim_at(s, s->now_ns + in_ns, hear, n, dead);
}

bool
enode_may_miss(const struct enode *n, uint32_t rank)
{
	const struct enodes *all = n->all;

	return (all->dead | all->left | all->apart[n->end->rank]) >> rank & 1;
}

/* The direct path to that process is down, or a relay says that it has failed. */
static void
path_lost(struct end *end, uint32_t rank)
{
	const struct enode *n = enode_of(end);

	INVARIANT(end->w->s, ALIVE, n->all->over || enode_may_miss(n, rank),
		  "rank %u loses rank %u, which is alive", end->rank, rank);
	if (end->shunned >> rank & 1 || rank == end->rank)
		return;
	enode_hear(enode_of(end), rank, 0);
}

bool
enode_kill(struct enode *n)
{
	struct enodes *all = n->all;
	uint32_t left = 0;

	for (uint32_t r = 0; r < all->w->nend; r++)
		left += all->w->end[r].alive;
	if (!n->end->alive || left < 2)
		return false;
	all->dead |= 1u << n->end->rank;
	end_kill(n->end);
	return true;
}

/* ---- the world ---- */

static uint32_t
rank_of_source(const struct lmpi_engine *e, uint64_t cid, int source)
{
	(void)cid;
	return (uint32_t)source < e->size ? (uint32_t)source : UINT32_MAX;
}

static bool
is_nothing_unacked(const struct lmpi_engine *e, uint64_t cid)
{
	(void)e, (void)cid;
	return false;
}

static void
ignore_gone(struct lmpi_engine *e, struct lmpi_peer *peer)
{
	(void)e, (void)peer; /* everybody hears of deaths anyway */
}

const struct lmpi_contexts enode_contexts = {rank_of_source, is_nothing_unacked, ignore_gone};

const struct end_app enode_app = {
	.block_begin = block_begin,
	.block_data = block_data,
	.block_end = block_end,
	.block_done = block_done,
	.push = push,
	.lost = path_lost,
};

void
enode_check(const struct enode *n)
{
	const char *what;

	if (n->end->alive)
		INVARIANT(n->end->w->s, TABLES, lmpi_engine_check(&n->e, &what),
			  "rank %u: engine: %s", n->end->rank, what);
}

void
enode_make(struct enodes *all, uint32_t rank, const struct lmpi_engine *limits)
{
	struct world *w = all->w;
	struct enode *n = &all->node[rank];

	BASE_ASSERT(w->nend <= ENODES_MAX);
	*n = (struct enode){.all = all, .end = &w->end[rank], .e = *limits};
	n->e.rank = rank;
	n->e.size = w->nend;
	n->e.peer = n->peer;
	n->e.memory = (struct lmpi_memory){.get = get, .put = put};
	n->e.fail = engine_failed;
	n->e.user = n;
	lmpi_engine_reset(&n->e);
	for (uint32_t r = 0; r < w->nend; r++) {
		bool same = world_same_cluster(w, rank, r);
		n->peer[r] = (struct lmpi_peer){.world = r,
						.tp = r == rank ? NULL
						      : same	? &direct
								: &relayed,
						.eager_max = same ? 65536 : limits->datalen};
		n->peer[r].caps = r == rank ? LMPI_CAP_SELF : n->peer[r].tp->caps;
		memcpy(n->peer[r].id, w->private_id[w->end[rank].client][r], RELAY_PROC_ID_LEN);
	}
}

void
enodes_bury(struct enodes *all)
{
	for (uint32_t d = 0; d < all->w->nend; d++) {
		struct lmpi_engine *e = &all->node[d].e;
		if (!((all->dead | all->left) >> d & 1))
			continue;
		for (uint32_t r = 0; r < e->size; r++) {
			if (r == d)
				continue;
			if (all->streams)
				stream_net_cut(all->streams, d, r);
			lmpi_engine_lost(e, &e->peer[r]);
		}
		enode_run_done(&all->node[d]);
	}
}

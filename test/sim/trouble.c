/* SPDX-License-Identifier: BSD-2-Clause */
#include "trouble.h"

#include "draw.h"

#define DETECT_NS   BASE_S_NS
#define LOSS_MOST   50000000u /* of a link, parts per billion */
#define PAUSE_NS    (100 * BASE_MS_NS)
#define COMPLETE_NS (120 * BASE_S_NS)
#define CHECK_STEPS 64u

/* ---- what happens ---- */

/* arg: rank.  The others are told within a while, unless a path tells them before. */
static void
perish(struct sim *s, void *who, uint64_t arg)
{
	struct trouble *t = who;
	struct world *w = t->nodes.w;

	(void)s;
	if (!enode_kill(&t->nodes.node[arg]))
		return;
	t->died++;
	t->ops->perished(&t->nodes.node[arg]);
	for (uint32_t r = 0; r < w->nend; r++) {
		if (!w->end[r].alive)
			continue;
		uint64_t most = PICK(&t->prng, BASE_MS_NS, 100 * BASE_MS_NS, 8 * BASE_S_NS);
		enode_hear(&t->nodes.node[r], (uint32_t)arg, base_prng_below(&t->prng, most));
	}
}

void
trouble_kill(struct trouble *t, uint32_t rank, uint64_t in_ns)
{
	sim_at(t->nodes.w->s, t->nodes.w->s->now_ns + in_ns, perish, t, rank);
}

static bool
is_complete(const struct trouble *t, char *rest, size_t len)
{
	return t->nodes.news == 0 && t->ops->complete(t, rest, len);
}

static void
act(struct sim *s, void *who, uint64_t arg)
{
	struct enode *n = who;
	struct trouble *t = trouble_of(n);

	(void)arg;
	if (n->all->over || !n->end->alive || is_complete(t, NULL, 0))
		return;
	if (s->now_ns >= n->end->paused_ns) {
		t->ops->act(n);
		/* A program that waits takes more although its memory is full. */
		if (n->e.over && base_prng_below(&t->prng, 4) == 0)
			lmpi_take_more(&n->e);
		if (++n->steps % CHECK_STEPS == 0)
			enode_check(n);
		end_drive(n->end);
	}
	sim_at(s, s->now_ns + 1 + base_prng_below(&t->prng, t->step_ns), act, n, 0);
}

/* arg: relay, and for how long it is gone. */
static void
die(struct sim *s, void *who, uint64_t arg)
{
	struct trouble *t = who;
	struct rnode *r = &t->nodes.w->relay[arg & 0xff];
	(void)s;
	if (!r->alive || !rnode_is_spare(r))
		return;
	t->killed++;
	rnode_kill_for(r, arg >> 8);
}

/* Whoever is not scheduled reads nothing. */
static void
load(struct sim *s, void *who, uint64_t arg)
{
	struct trouble *t = who;
	struct base_prng *p = &t->prng;
	uint64_t ns = 1 + base_prng_below(p, PAUSE_NS);
	struct end *e = &t->nodes.w->end[base_prng_below(p, t->nodes.w->nend)];

	if (s->now_ns >= t->end_ns)
		return;
	/* Not for so long that others take it for dead. */
	if (e->alive && s->now_ns > e->paused_ns + PAUSE_NS)
		end_pause(e, ns);
	sim_at(s, s->now_ns + 1 + base_prng_below(p, arg), load, t, arg);
}

/* ---- the world ---- */

/* No path may fall by chance.  One whose peer is heard falls when nothing was acknowledged for
 * twice liveness_ns.  Pauses of 100 ms make the probe timeout up to 250 ms; probes follow it at
 * 1, 3, 7 times that, then every half of liveness_ns or every second:
 *
 *   lost one way   and there and back   liveness_ns   tries   all lost
 *            1 %                  2 %           1 s       4   2e-7
 *            5 %                9.8 %           1 s       4   9e-5: one run in 10 000 failed
 *            5 %                9.8 %           4 s       7   8e-8 */
static void
draw_world(struct base_prng *p, struct world_conf *c, bool one_cluster)
{
	world_conf_default(c);
	c->app = &enode_app;
	c->nclusters = one_cluster ? 1 : (uint32_t)between(p, 1, 3);
	for (uint32_t i = 0; i < c->nclusters; i++) {
		c->cluster[i].ranks = (uint32_t)between(p, 1, 4);
		c->cluster[i].relays = (uint32_t)between(p, 1, 3);
	}
	if (c->nclusters == 1)
		c->cluster[0] = (struct cluster_conf){(uint32_t)between(p, 2, 6), 0};
	c->several = c->nclusters > 1;
	c->policy = (uint8_t)base_prng_below(p, 3);
	c->partition_ns = 60 * BASE_S_NS;
	c->trunk.delay_ns = PICK(p, 50000, 1000000, 10000000);
	c->private_mtu = (uint32_t)PICK(p, 1472, 8972, 4000);
	c->lane_window = (uint32_t)PICK(p, 64, 256, 4096);
	c->lanes.blocks_max = c->lanes.rx_blocks_max = (uint32_t)PICK(p, 8, 64, 1024);
	for (int i = 0; i < 2; i++) {
		struct sim_link_conf *l = i ? &c->trunk : &c->private_nic;
		if (coin(p, 50))
			l->loss_ppb = (uint32_t)PICK(p, 1000000, 10000000, LOSS_MOST);
		if (coin(p, 30))
			l->dup_ppb = (uint32_t)PICK(p, 10000000, 200000000);
		if (coin(p, 50))
			l->reorder_ppb = (uint32_t)PICK(p, 10000000, 300000000);
		l->reorder_ns = PICK(p, 50000, 1000000, 20000000);
	}
	bool most = c->private_nic.loss_ppb == LOSS_MOST || c->trunk.loss_ppb == LOSS_MOST;
	c->end.liveness_ns = c->relay.liveness_ns = most ? 4 * DETECT_NS : DETECT_NS;
	c->end.keepalive_ns = c->relay.keepalive_ns = c->end.liveness_ns / 4;
}

static void
make_node(struct trouble *t, uint32_t rank, struct lmpi_engine e)
{
	struct world *w = t->nodes.w;
	struct base_prng *p = &t->prng;

	e.copied_bytes_max = PICK(p, 1u << 25, 20000, 0);
	e.unexpected_bytes_max = PICK(p, 1u << 26, 20000, 2000);
	enode_make(&t->nodes, rank, &e);
	for (uint32_t r = 0; r < w->nend; r++)
		if (world_same_cluster(w, rank, r))
			t->nodes.node[rank].peer[r].eager_max = PICK(p, 65536, 1000, 0);
}

void
trouble_begin(struct trouble *t, uint64_t seed, uint64_t salt, bool verbose,
	      const struct lmpi_contexts *tolerant)
{
	struct base_prng *p = &t->prng;
	struct world_conf c;
	struct lmpi_engine e = {.tolerant = tolerant};

	*p = base_prng_seed(seed ^ salt);
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	draw_world(p, &c, t->one_cluster);
	struct world *w = t->nodes.w = world_new(s, &c);
	w->scenario = t;
	e.datalen = (uint32_t)PICK(p, 500, 4096, 65536);
	e.ackmark = (uint32_t)PICK(p, 1, 4, 10);
	e.hiwater = e.ackmark * (uint32_t)PICK(p, 1, 2);
	for (uint32_t r = 0; r < w->nend; r++)
		make_node(t, r, e);
}

void
trouble_plan(struct trouble *t)
{
	struct world *w = t->nodes.w;
	struct base_prng *p = &t->prng;
	uint64_t start = t->start_ns = w->s->now_ns + 20 * BASE_MS_NS;

	t->end_ns = start + between(p, 100, 2000) * BASE_MS_NS;
	t->step_ns = PICK(p, 200000, 2000000, 20000000);
	for (uint32_t r = 0; r < w->nend; r++)
		sim_at(w->s, start + base_prng_below(p, BASE_MS_NS), act, &t->nodes.node[r], 0);
	if (coin(p, 50))
		sim_at(w->s, start, load, t, PICK(p, 20, 200) * BASE_MS_NS);
	for (uint64_t n = w->nrelay && coin(p, 60) ? between(p, 1, 5) : 0; n > 0; n--) {
		uint64_t who = base_prng_below(p, w->nrelay);
		uint64_t back_ns = base_prng_below(p, 500 * BASE_MS_NS);
		sim_at(w->s, start + base_prng_below(p, t->end_ns - start), die, t,
		       who | back_ns << 8);
	}
	for (uint64_t n = !w->nrelay && !t->immortal && coin(p, 60) ? between(p, 1, 3) : 0; n > 0;
	     n--) {
		uint64_t who = base_prng_below(p, w->nend);
		sim_at(w->s, start + base_prng_below(p, t->end_ns - start), perish, t, who);
	}
}

void
trouble_run(struct trouble *t)
{
	struct world *w = t->nodes.w;
	struct sim *s = w->s;
	char rest[200] = "";

	world_start(w);
	sim_run(s, t->end_ns, NULL, NULL);
	for (uint64_t d = 0; d < COMPLETE_NS && !is_complete(t, NULL, 0) && !s->failed;
	     d += BASE_S_NS)
		sim_run(s, s->now_ns + BASE_S_NS, NULL, NULL);
	bool complete = is_complete(t, rest, sizeof rest);
	INVARIANT(s, COMPLETE, complete, "%s", rest);
}

void
trouble_end(struct trouble *t, struct outcome *o)
{
	struct world *w = t->nodes.w;
	uint32_t nend = w->nend;

	for (uint32_t r = 0; r < nend && !w->s->failed; r++)
		if (w->end[r].alive)
			enode_check(&t->nodes.node[r]);
	sim_run(w->s, w->s->now_ns + 10 * BASE_S_NS, world_quiet, w);
	t->nodes.over = true;
	enodes_bury(&t->nodes);
	scenario_end(w, o);
	for (uint32_t r = 0; r < nend; r++)
		lmpi_engine_drop(&t->nodes.node[r].e);
}

/* Real engines of lib/mpi, one for each process, on real lanes over real relays, running random
 * programs (test/mpi_program.h): wildcards, rendezvous, synchronous sends, cancel, probes.
 *
 *     program -> lmpi_engine -> mpi/lanes.h -> lib/suci ~ links, relays ~ lib/suci -> ...
 *
 * Links lose, repeat and reorder; processes and relays are not scheduled for a while, so that
 * they read nothing; relays die and come back as long as another of their cluster knows the job.
 * In a job of one cluster processes die, too: the others hear of it from their launcher or by a
 * path that is down, each at a time of its own.  In any job processes may go over to a next epoch.
 * Then everything must complete, matched as MPI wants it. */
#include "draw.h"
#include "scenario.h"

#include "mpi/lanes.h"
#include "mpi_program.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DETECT_NS   BASE_S_NS
#define LOSS_MOST   50000000u /* of a link, parts per billion */
#define PAUSE_NS    (100 * BASE_MS_NS)
#define COMPLETE_NS (120 * BASE_S_NS)
#define CHECK_STEPS 64u

struct node {
	struct engines *all;
	struct end *end;
	struct lmpi_engine e;
	struct lmpi_peer peer[PROGRAM_PROCS];
	uint64_t steps;
};

struct engines {
	struct world *w;
	struct base_prng prng;
	struct node node[PROGRAM_PROCS];
	struct program *program;
	uint64_t end_ns, step_ns; /* of trouble; between two acts of a process, at most */
	uint32_t killed, died, news; /* news: of deaths and epochs, on their way */
	bool over;
};

static struct node *
node_of(const struct end *e)
{
	struct engines *all = e->w->scenario;

	return &all->node[e->rank];
}

static uint64_t
now(const struct node *n)
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
	const struct node *n = e->user;

	invariant_broken(n->end->w->s, INV_HONEST, "rank %u: %s", e->rank, text);
}

static bool
is_sent(const struct node *n, int err)
{
	if (err && err != SUCI_ERR_NOMEM)
		sim_fail(n->end->w->s, "rank %u: suci_lane_send: %s", n->end->rank,
			 suci_strerror(err));
	return !err;
}

static bool
send_packet(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	const struct node *n = e->user;

	return end_lane(n->end, peer->world) &&
	       is_sent(n, lmpi_lanes_send(e, peer, out, n->end->lanes, n->end->lane[peer->world],
					  now(n)));
}

static bool
try_short(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h, const void *data,
	  uint64_t len)
{
	const struct node *n = e->user;

	return lmpi_lanes_fits(e, peer, h, len) && end_lane(n->end, peer->world) &&
	       is_sent(n, lmpi_lanes_try(e, peer, h, data, len, n->end->lanes,
					 n->end->lane[peer->world], now(n)));
}

static const struct lmpi_transport direct = {
	.caps = LMPI_LANES_DIRECT_CAPS, .send = send_packet, .try_short = try_short};
static const struct lmpi_transport relayed = {
	.caps = LMPI_LANES_RELAYED_CAPS, .send = send_packet, .try_short = try_short};

static void *
block_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	    uint64_t now_ns)
{
	struct node *n = node_of(user);
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
	struct node *n = node_of(user);

	(void)lane, (void)now_ns;
	n->e.in_transport = true;
	lmpi_lanes_end(&n->e, block);
	n->e.in_transport = false;
}

static void
block_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct node *n = node_of(user);

	(void)lane, (void)now_ns;
	INVARIANT(n->end->w->s, REASON, ok || n->all->over || n->all->died,
		  "rank %u: a packet failed", n->end->rank);
	n->e.in_transport = true;
	lmpi_lanes_done(&n->e, cookie, ok);
	n->e.in_transport = false;
}

static void
check_program(struct engines *all, bool at_end)
{
	const char *wrong = program_broken(all->program, at_end);

	INVARIANT(all->w->s, MATCH, !wrong, "%s", wrong);
}

/* A turn of the loop. */
static bool
push(struct end *end)
{
	struct node *n = node_of(end);
	bool moved = n->e.pending && lmpi_pump(&n->e);

	if (n->e.done_first) {
		moved = true;
		lmpi_run_done(&n->e);
	}
	check_program(n->all, false);
	return moved;
}

static void hear(struct sim *s, void *who, uint64_t dead);

/* The direct path to that process is down. */
static void
path_lost(struct end *end, uint32_t rank)
{
	struct node *n = node_of(end);
	struct sim *s = end->w->s;

	INVARIANT(s, REASON, n->all->over || program_is_dead(n->all->program, rank),
		  "rank %u: the path to rank %u is down, which is alive", end->rank, rank);
	n->all->news++;
	sim_at(s, s->now_ns, hear, n, rank);
}

static const struct end_app app = {
	.block_begin = block_begin,
	.block_data = block_data,
	.block_end = block_end,
	.block_done = block_done,
	.push = push,
	.lost = path_lost,
};

/* ---- what happens ---- */

static void
hear(struct sim *s, void *who, uint64_t dead)
{
	struct node *n = who;
	struct engines *all = n->all;

	if (s->now_ns < n->end->paused_ns) {
		sim_at(s, n->end->paused_ns, hear, n, dead);
		return;
	}
	all->news--;
	if (!n->end->alive || all->over)
		return;
	end_shun(n->end, (uint32_t)dead);
	program_lost(all->program, n->end->rank, (uint32_t)dead);
	end_drive(n->end);
	check_program(all, false);
}

/* arg: rank.  The others are told within a while, unless a path tells them before. */
static void
perish(struct sim *s, void *who, uint64_t arg)
{
	struct engines *all = who;
	struct world *w = all->w;
	uint32_t left = 0;

	for (uint32_t r = 0; r < w->nend; r++)
		left += w->end[r].alive;
	if (!w->end[arg].alive || left < 2)
		return;
	all->died++;
	program_kill(all->program, (uint32_t)arg);
	end_kill(&w->end[arg]);
	for (uint32_t r = 0; r < w->nend; r++) {
		if (!w->end[r].alive)
			continue;
		uint64_t most = PICK(&all->prng, BASE_MS_NS, 100 * BASE_MS_NS, 8 * BASE_S_NS);
		all->news++;
		sim_at(s, s->now_ns + base_prng_below(&all->prng, most), hear, &all->node[r], arg);
	}
}

static void
go_over(struct sim *s, void *who, uint64_t arg)
{
	struct node *n = who;

	(void)s, (void)arg;
	n->all->news--;
	if (!n->end->alive)
		return;
	program_epoch(n->all->program, n->end->rank);
	end_drive(n->end);
	check_program(n->all, false);
}

static bool
is_complete(const struct engines *all)
{
	return all->news == 0 && program_complete(all->program);
}

static void
check_engine(const struct node *n)
{
	const char *what;

	INVARIANT(n->end->w->s, TABLES, lmpi_engine_check(&n->e, &what), "rank %u: engine: %s",
		  n->end->rank, what);
}

static void
step(struct sim *s, void *who, uint64_t arg)
{
	struct node *n = who;
	struct engines *all = n->all;

	(void)arg;
	if (all->over || !n->end->alive || is_complete(all))
		return;
	if (s->now_ns >= n->end->paused_ns) {
		program_step(all->program, n->end->rank);
		/* A program that waits takes more although its memory is full. */
		if (n->e.over && base_prng_below(&all->prng, 4) == 0)
			lmpi_take_more(&n->e);
		if (++n->steps % CHECK_STEPS == 0)
			check_engine(n);
		end_drive(n->end);
	}
	sim_at(s, s->now_ns + 1 + base_prng_below(&all->prng, all->step_ns), step, n, 0);
}

/* arg: relay, and for how long it is gone. */
static void
die(struct sim *s, void *who, uint64_t arg)
{
	struct engines *all = who;
	struct rnode *r = &all->w->relay[arg & 0xff];
	(void)s;
	if (!r->alive || !rnode_is_spare(r))
		return;
	all->killed++;
	rnode_kill_for(r, arg >> 8);
}

/* Whoever is not scheduled reads nothing. */
static void
load(struct sim *s, void *who, uint64_t arg)
{
	struct engines *all = who;
	struct base_prng *p = &all->prng;
	uint64_t ns = 1 + base_prng_below(p, PAUSE_NS);
	struct end *e = &all->w->end[base_prng_below(p, all->w->nend)];

	if (s->now_ns >= all->end_ns)
		return;
	/* Not for so long that others take it for dead. */
	if (e->alive && s->now_ns > e->paused_ns + PAUSE_NS)
		end_pause(e, ns);
	sim_at(s, s->now_ns + 1 + base_prng_below(p, arg), load, all, arg);
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
draw_world(struct engines *all, struct world_conf *c)
{
	struct base_prng *p = &all->prng;

	world_conf_default(c);
	c->app = &app;
	c->nclusters = (uint32_t)between(p, 1, 3);
	for (uint32_t i = 0; i < c->nclusters; i++)
		c->cluster[i] = (struct cluster_conf){(uint32_t)between(p, 1, 4),
						      (uint32_t)between(p, 1, 3)};
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
make_node(struct engines *all, uint32_t rank, uint32_t datalen, uint32_t ackmark, uint32_t hiwater)
{
	struct world *w = all->w;
	struct base_prng *p = &all->prng;
	struct node *n = &all->node[rank];

	*n = (struct node){.all = all, .end = &w->end[rank]};
	n->e = (struct lmpi_engine){.rank = rank,
				    .size = w->nend,
				    .peer = n->peer,
				    .memory = {.get = get, .put = put},
				    .fail = engine_failed,
				    .tolerant = &program_contexts,
				    .user = n,
				    .copied_bytes_max = PICK(p, 1u << 25, 20000, 0),
				    .unexpected_bytes_max = PICK(p, 1u << 26, 20000, 2000),
				    .datalen = datalen,
				    .ackmark = ackmark,
				    .hiwater = hiwater};
	lmpi_engine_reset(&n->e);
	for (uint32_t r = 0; r < w->nend; r++) {
		bool same = world_same_cluster(w, rank, r);
		n->peer[r] =
			(struct lmpi_peer){.world = r,
					   .tp = r == rank ? NULL
						 : same	   ? &direct
							   : &relayed,
					   .eager_max = same ? PICK(p, 65536, 1000, 0) : datalen};
		n->peer[r].caps = r == rank ? LMPI_CAP_SELF : n->peer[r].tp->caps;
		memcpy(n->peer[r].id, w->private_id[w->end[rank].client][r], RELAY_PROC_ID_LEN);
	}
}

static void
plan(struct engines *all)
{
	struct world *w = all->w;
	struct base_prng *p = &all->prng;
	uint64_t start = w->s->now_ns + 20 * BASE_MS_NS;

	all->end_ns = start + between(p, 100, 2000) * BASE_MS_NS;
	all->step_ns = PICK(p, 200000, 2000000, 20000000);
	for (uint32_t r = 0; r < w->nend; r++)
		sim_at(w->s, start + base_prng_below(p, BASE_MS_NS), step, &all->node[r], 0);
	if (coin(p, 50))
		sim_at(w->s, start, load, all, PICK(p, 20, 200) * BASE_MS_NS);
	for (uint64_t n = w->nrelay && coin(p, 60) ? between(p, 1, 5) : 0; n > 0; n--)
		sim_at(w->s, start + base_prng_below(p, all->end_ns - start), die, all,
		       base_prng_below(p, w->nrelay) | base_prng_below(p, 500 * BASE_MS_NS) << 8);
	for (uint64_t n = !w->nrelay && coin(p, 60) ? between(p, 1, 3) : 0; n > 0; n--)
		sim_at(w->s, start + base_prng_below(p, all->end_ns - start), perish, all,
		       base_prng_below(p, w->nend));
	for (uint64_t n = coin(p, 30) ? between(p, 1, 3) : 0; n > 0; n--) {
		uint64_t at = start + base_prng_below(p, all->end_ns - start);
		for (uint32_t r = 0; r < w->nend; r++) {
			all->news++;
			sim_at(w->s, at + base_prng_below(p, 50 * BASE_MS_NS), go_over,
			       &all->node[r], 0);
		}
	}
}

/* What the dead have left. */
static void
bury(struct engines *all)
{
	for (uint32_t d = 0; d < all->w->nend; d++) {
		struct lmpi_engine *e = &all->node[d].e;
		for (uint32_t r = 0; program_is_dead(all->program, d) && r < e->size; r++)
			if (r != d)
				lmpi_engine_lost(e, &e->peer[r]);
		if (program_is_dead(all->program, d))
			lmpi_run_done(e);
	}
}

void
engines_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct engines *all = calloc(1, sizeof *all);
	struct lmpi_engine *engine[PROGRAM_PROCS];
	struct world_conf c;
	char rest[200];

	BASE_ASSERT(all);
	all->prng = base_prng_seed(seed ^ 0xe291e);
	struct base_prng *p = &all->prng;
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	draw_world(all, &c);
	struct world *w = all->w = world_new(s, &c);
	w->scenario = all;
	uint32_t datalen = (uint32_t)PICK(p, 500, 4096, 65536);
	uint32_t ackmark = (uint32_t)PICK(p, 1, 4, 10), hiwater = ackmark * (uint32_t)PICK(p, 1, 2);
	for (uint32_t r = 0; r < w->nend; r++) {
		make_node(all, r, datalen, ackmark, hiwater);
		engine[r] = &all->node[r].e;
	}
	struct program_conf pc = {.seed = seed,
				  .procs = w->nend,
				  .messages = (uint32_t)between(p, 20, 300),
				  .len_max = (uint32_t)PICK(p, 5000, 50000, 300000),
				  .idle = (uint32_t)PICK(p, 20, 200),
				  .revokes = coin(p, 50)};
	all->program = program_new(&pc, engine);
	plan(all);
	world_start(w);
	sim_run(s, all->end_ns, NULL, NULL);
	for (uint64_t t = 0; t < COMPLETE_NS && !is_complete(all) && !s->failed;
	     t += BASE_S_NS)
		sim_run(s, s->now_ns + BASE_S_NS, NULL, NULL);
	program_rest(all->program, rest, sizeof rest);
	INVARIANT(s, COMPLETE, is_complete(all), "%s", rest);
	if (!s->failed)
		check_program(all, true);
	for (uint32_t r = 0; r < w->nend && !s->failed; r++)
		if (w->end[r].alive)
			check_engine(&all->node[r]);
	sim_run(s, s->now_ns + 10 * BASE_S_NS, world_quiet, w);
	snprintf(o->note, sizeof o->note,
		 "%u ranks, %u relays, %u kills, %u deaths, %u messages, %u taken back", w->nend,
		 w->nrelay, all->killed, all->died, pc.messages, program_cancelled(all->program));
	all->over = true;
	uint32_t nend = w->nend;
	bury(all);
	scenario_end(w, o);
	for (uint32_t r = 0; r < nend; r++)
		lmpi_engine_drop(&all->node[r].e);
	program_free(all->program);
	free(all);
}

/* Agreements and revocations of lib/ft between real engines of lib/mpi in one cluster, and every
 * death there can be: a process dies after each turn of its loop, in a run of its own; of pairs of
 * deaths some are tried.  Others hear of a death at times of their own.
 *
 * Each process agrees twice; one revokes a context in between.  The living must end, with one
 * result that the dead have had, too; and all or none know of the revocation. */
#include "draw.h"
#include "enode.h"
#include "scenario.h"

#include "ft/ft.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGREEMENTS  2u
#define PAIRS	    40u
#define CTX	    7u
#define REVOKED	    9u
#define COMPLETE_NS (60 * BASE_S_NS)

struct outcome_of { /* of an agreement */
	uint64_t and_of[2], max_of, failed;
};

struct member {
	struct ft *f;
	uint32_t begun, ended; /* agreements */
	bool revoked;
	uint32_t knows; /* bits of failures */
	struct outcome_of got[AGREEMENTS];
};

struct death {
	uint32_t rank;
	uint64_t turn; /* it dies after so many turns of its loop */
};

struct survivors {
	struct enodes nodes; /* first */
	struct member member[ENODES_MAX];
	struct base_prng prng;
	uint32_t revoker, began[AGREEMENTS];
	struct death death[2];
	uint64_t late_ns; /* others hear of a death within this time */
};

/* What is sent keeps its bytes until it is done. */
struct parcel {
	struct lmpi_req req; /* first */
	uint8_t frame[];
};

/* Handlers of the library's own messages are not told who they are. */
static struct survivors *running;

static const uint32_t everybody[ENODES_MAX] = {0, 1, 2,	 3,  4,	 5,  6,	 7,
					       8, 9, 10, 11, 12, 13, 14, 15};

static struct survivors *
survivors_of(const struct enode *n)
{
	return (struct survivors *)(void *)n->all;
}

static struct member *
member_of(const struct enode *n)
{
	return &survivors_of(n)->member[n->end->rank];
}

static void *
own_memory(void *user, size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	(void)user;
	BASE_ASSERT(p);
	return p;
}

static void
free_memory(void *user, void *p)
{
	(void)user;
	free(p);
}

/* ---- what lib/ft asks for ---- */

static void
burn_parcel(struct lmpi_req *req)
{
	free(req);
}

static void
mail_frame(void *user, uint32_t to, const void *frame, size_t len)
{
	struct enode *n = user;
	struct parcel *p = own_memory(NULL, sizeof *p + len);

	p->req = (struct lmpi_req){.on_done = burn_parcel};
	memcpy(p->frame, frame, len);
	lmpi_engine_isend(&n->e, &p->req, p->frame, len, to, (int)n->end->rank, 0, LMPI_CID_SERVICE,
			  LMPI_STANDARD);
}

static void
lose_failed(void *user, uint32_t rank)
{
	struct enode *n = user;

	INVARIANT(n->end->w->s, HONEST, n->all->dead >> rank & 1,
		  "rank %u takes rank %u for dead, which is alive", n->end->rank, rank);
	member_of(n)->knows |= 1u << rank;
	end_shun(n->end, rank);
	lmpi_engine_lost(&n->e, &n->peer[rank]);
}

static void
mark_revoked(void *user, uint64_t ctx)
{
	struct enode *n = user;

	lmpi_engine_revoke(&n->e, ctx);
	member_of(n)->revoked = true;
}

static uint64_t
bit_of(uint32_t rank, uint32_t k)
{
	return UINT64_C(1) << (ENODES_MAX * k + rank);
}

static void
check_result(const struct survivors *v, uint32_t k, const struct outcome_of *o)
{
	struct sim *s = v->nodes.w->s;
	uint32_t n = v->nodes.w->nend;

	for (uint32_t r = 0; r < n; r++) {
		bool in = !(o->and_of[0] & bit_of(r, k));
		INVARIANT(s, AGREE,
			  v->member[r].ended <= k || !memcmp(&v->member[r].got[k], o, sizeof *o),
			  "agreement %u ends with two results, one of them at rank %u", k, r);
		INVARIANT(s, AGREE, in || v->nodes.dead >> r & 1,
			  "agreement %u ends without rank %u, which is alive", k, r);
		INVARIANT(s, AGREE, !in || v->began[k] >> r & 1,
			  "agreement %u: rank %u took no part", k, r);
		INVARIANT(s, AGREE, !(o->failed >> r & 1) || v->nodes.dead >> r & 1,
			  "agreement %u: rank %u has not failed", k, r);
	}
	INVARIANT(s, AGREE, v->began[k] >> (o->max_of % ENODES_MAX) & 1,
		  "agreement %u: nobody offered %llu", k, (unsigned long long)o->max_of);
}

static void begin_next(struct enode *n);

static void
note_agreed(void *user, uint64_t ctx, uint32_t seq, const struct ft_result *r)
{
	struct enode *n = user;
	struct member *m = member_of(n);

	BASE_ASSERT(ctx == CTX && seq == m->ended && seq < AGREEMENTS);
	struct outcome_of *o = &m->got[m->ended++];
	*o = (struct outcome_of){
		.and_of = {r->and_of[0], r->and_of[1]}, .max_of = r->max_of, .failed = 0};
	for (uint32_t i = 0; i < r->n; i++)
		o->failed |= (uint64_t)ft_result_has_failed(r, i) << i;
	check_result(survivors_of(n), seq, o);
	if (n->end->rank == survivors_of(n)->revoker && seq == 0)
		ft_revoke(m->f, REVOKED, everybody, n->e.size);
	begin_next(n);
}

static const struct ft_ops ft_calls = {mail_frame, lose_failed, mark_revoked, note_agreed};

static void
begin_next(struct enode *n)
{
	struct member *m = member_of(n);
	uint32_t k = m->begun, rank = n->end->rank;
	struct ft_offer o = {.and_of = {~bit_of(rank, k), UINT64_MAX},
			     .max_of = 100 * ENODES_MAX + rank};

	if (k == AGREEMENTS)
		return;
	survivors_of(n)->began[k] |= 1u << rank;
	m->begun++;
	ft_agree(m->f, CTX, everybody, n->e.size, &o);
}

/* ---- what happens ---- */

static void
start_member(struct sim *s, void *who, uint64_t arg)
{
	struct enode *n = who;

	(void)s, (void)arg;
	if (!n->end->alive)
		return;
	n->all->current = n;
	begin_next(n);
	end_drive(n->end);
}

static void
open_frame(uint32_t from, const void *data, uint64_t len)
{
	const struct enode *n = running->nodes.current;

	INVARIANT(n->end->w->s, HONEST, ft_on_frame(member_of(n)->f, from, data, (size_t)len),
		  "rank %u: a malformed frame of rank %u", n->end->rank, from);
}

static void
tell_member(struct enode *n, uint32_t dead)
{
	ft_failed(member_of(n)->f, dead);
}

static void
kill_member(struct sim *s, void *who, uint64_t arg)
{
	struct enode *n = who;
	struct survivors *v = survivors_of(n);

	(void)s, (void)arg;
	if (n->all->over || !enode_kill(n))
		return;
	for (uint32_t r = 0; r < n->all->w->nend; r++)
		if (n->all->w->end[r].alive)
			enode_hear(&n->all->node[r], n->end->rank,
				   base_prng_below(&v->prng, 1 + v->late_ns));
}

static void
die_in_turn(struct enode *n)
{
	const struct survivors *v = survivors_of(n);

	for (int i = 0; i < 2; i++)
		if (v->death[i].turn == n->turns && v->death[i].rank == n->end->rank)
			sim_at(n->all->w->s, n->all->w->s->now_ns, kill_member, n, 0);
}

static bool
are_all_over(void *who)
{
	const struct survivors *v = who;
	const struct world *w = v->nodes.w;
	bool some = false, all = true;

	for (uint32_t r = 0; r < w->nend; r++) {
		if (!w->end[r].alive)
			continue;
		const struct member *m = &v->member[r];
		if (m->ended < AGREEMENTS || m->knows != v->nodes.dead)
			return false;
		some |= m->revoked;
		all &= m->revoked;
	}
	return v->nodes.news == 0 && some == all;
}

/* Contexts number processes by world rank, and nothing is acknowledged. */
static uint32_t
rank_of_source(const struct lmpi_engine *e, uint64_t cid, int source)
{
	(void)e, (void)cid;
	return (uint32_t)source;
}

static bool
is_unacked_here(const struct lmpi_engine *e, uint64_t cid)
{
	(void)e, (void)cid;
	return true;
}

static void
ignore_gone(struct lmpi_engine *e, struct lmpi_peer *peer)
{
	(void)e, (void)peer;
}

static const struct lmpi_contexts contexts = {rank_of_source, is_unacked_here, ignore_gone};

/* ---- one run ---- */

static void
make_member(struct survivors *v, uint32_t rank)
{
	static const struct ft_memory memory = {own_memory, free_memory, NULL};
	struct enode *n = &v->nodes.node[rank];

	enode_make(&v->nodes, rank,
		   &(struct lmpi_engine){.tolerant = &contexts,
					 .copied_bytes_max = 1u << 20,
					 .unexpected_bytes_max = 1u << 20,
					 .datalen = 4096,
					 .ackmark = 10,
					 .hiwater = 20,
					 .handler = open_frame});
	v->member[rank].f = ft_new(rank, v->nodes.w->nend, &ft_calls, n, &memory);
}

/* turns: of each process until all was over; NULL: nobody asks. */
static void
run_once(uint64_t seed, bool verbose, const struct death death[2], uint64_t *turns,
	 struct outcome *o)
{
	struct survivors *v = calloc(1, sizeof *v);
	struct world_conf c;
	const char *what;

	BASE_ASSERT(v);
	running = v;
	v->prng = base_prng_seed(seed ^ 0xf7);
	memcpy(v->death, death, sizeof v->death);
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	world_conf_default(&c);
	c.app = &enode_app;
	c.nclusters = 1;
	c.cluster[0] = (struct cluster_conf){(uint32_t)between(&v->prng, 3, 6), 0};
	struct world *w = v->nodes.w = world_new(s, &c);
	w->scenario = v;
	v->nodes.turned = die_in_turn;
	v->nodes.lost = tell_member;
	v->revoker = (uint32_t)base_prng_below(&v->prng, w->nend);
	v->late_ns = PICK(&v->prng, 0, 100000, 5000000);
	uint64_t apart = PICK(&v->prng, 1000, 100000, 2000000);
	for (uint32_t r = 0; r < w->nend; r++)
		make_member(v, r);
	world_start(w);
	for (uint32_t r = 0; r < w->nend; r++)
		sim_at(s, s->now_ns + base_prng_below(&v->prng, apart), start_member,
		       &v->nodes.node[r], 0);
	sim_run(s, s->now_ns + COMPLETE_NS, are_all_over, v);
	INVARIANT(s, COMPLETE, are_all_over(v), "not all of the living have ended and know of all");
	for (uint32_t r = 0; r < w->nend; r++) {
		if (turns)
			turns[r] = v->nodes.node[r].turns;
		enode_check(&v->nodes.node[r]);
		INVARIANT(s, TABLES, ft_check(v->member[r].f, &what), "rank %u: %s", r, what);
	}
	sim_run(s, s->now_ns + 10 * BASE_S_NS, world_quiet, w);
	v->nodes.over = true;
	uint32_t nend = w->nend;
	enodes_bury(&v->nodes);
	scenario_end(w, o);
	for (uint32_t r = 0; r < nend; r++) {
		lmpi_engine_drop(&v->nodes.node[r].e);
		ft_free(v->member[r].f);
	}
	free(v);
}

/* Adds what a run was to what all were. */
static bool
add_run(struct outcome *all, const struct outcome *one, const struct death death[2])
{
	all->hash = (all->hash ^ one->hash) * UINT64_C(0x100000001b3);
	all->events += one->events;
	all->virtual_ns += one->virtual_ns;
	all->ok = one->ok;
	all->broken = one->broken;
	if (one->ok)
		return true;
	snprintf(all->why, sizeof all->why,
		 "rank %u dies after turn %lld, rank %u after %lld: %.300s", death[0].rank,
		 (long long)death[0].turn, death[1].rank, (long long)death[1].turn, one->why);
	return false;
}

void
ft_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct death death[2] = {{0, UINT64_MAX}, {0, UINT64_MAX}};
	uint64_t turns[ENODES_MAX] = {0}, sum = 0, done = 0, pairs = 0;
	struct base_prng p = base_prng_seed(seed ^ 0x9a1);
	struct outcome one;
	uint32_t n = 0;

	run_once(seed, verbose, death, turns, &one);
	bool good = add_run(o, &one, death);
	for (; n < ENODES_MAX && turns[n]; n++)
		sum += turns[n];
	for (uint32_t r = 0; r < n && good; r++)
		for (uint64_t t = 1; t <= turns[r] && good; t++, done++) {
			death[0] = (struct death){r, t};
			run_once(seed, false, death, NULL, &one);
			good = add_run(o, &one, death);
		}
	for (; pairs < PAIRS && good; pairs++) {
		for (int i = 0; i < 2; i++) {
			uint32_t r = (uint32_t)base_prng_below(&p, n);
			death[i] = (struct death){r, 1 + base_prng_below(&p, turns[r])};
		}
		run_once(seed, false, death, NULL, &one);
		good = add_run(o, &one, death);
	}
	snprintf(o->note, sizeof o->note,
		 "%u ranks; a death after %llu of %llu turns (%.0f %%), %llu pairs", n,
		 (unsigned long long)done, (unsigned long long)sum,
		 sum ? 100.0 * (double)done / (double)sum : 0, (unsigned long long)pairs);
}

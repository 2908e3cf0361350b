/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the schedules of all processes of a collective against each other on
 * paper, for every algorithm, and compares with the definition of the
 * operation.  Steps become ready in a seeded random order; sends complete
 * either at once (eager) or when the receive is there (rendezvous, the data is
 * read only then), so missing dependencies show as wrong bytes and wrong
 * orders as deadlock. */
#include "base/prng.h"
#include "coll/impi.h"
#include "coll/schedule.h"
#include "coll_places_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define P_MAX 64
#define ELEM  16 /* a 2x2 matrix of uint32_t, or four uint32_t */

/* The graph of neighbor: to each of these offsets an edge, twice to the same process, to
 * the process itself, and one to nobody. */
static const uint32_t edge_to[] = {1, 1, 0, 5, COLL_NO_RANK};
#define EDGES (sizeof edge_to / sizeof edge_to[0])

struct proc {
	struct coll_args a;
	struct coll_schedule s;
	void *arena;
	uint8_t *buf[3];
	uint8_t *posted, *done;
	uint64_t bytes_of[P_MAX], displ[P_MAX], send_bytes[P_MAX], send_displ[P_MAX];
	struct coll_edge in[EDGES], out[EDGES];
};

struct world {
	struct proc proc[P_MAX];
	uint32_t p;
	bool rendezvous;
	struct base_prng rng;
	/* in flight, eager: data captured at posting, by (sender, step) */
	uint8_t **captured[P_MAX];
};

static void
combine(const uint8_t *l, const uint8_t *r, uint8_t *out, bool commutative)
{
	uint32_t x[4], y[4], z[4];
	memcpy(x, l, ELEM);
	memcpy(y, r, ELEM);
	if (commutative) {
		for (int i = 0; i < 4; i++)
			z[i] = x[i] + y[i];
	} else {
		z[0] = x[0] * y[0] + x[1] * y[2];
		z[1] = x[0] * y[1] + x[1] * y[3];
		z[2] = x[2] * y[0] + x[3] * y[2];
		z[3] = x[2] * y[1] + x[3] * y[3];
	}
	memcpy(out, z, ELEM);
}

/* Element e of what rank r contributes towards block b. */
static void
element(uint8_t *out, uint32_t r, uint32_t b, uint64_t e)
{
	uint64_t x = ((uint64_t)r << 40) ^ ((uint64_t)b << 20) ^ e ^ 0x5bd1e995;
	for (int i = 0; i < 2; i++) {
		uint64_t v = base_prng_splitmix(&x) | 1;
		memcpy(out + 8 * i, &v, 8);
	}
}

static void
fill(uint8_t *at, uint64_t len, uint32_t r, uint32_t b)
{
	for (uint64_t e = 0; e * ELEM < len; e++)
		element(at + e * ELEM, r, b, e);
}

static bool
deps_done(const struct proc *pr, const struct coll_step *st)
{
	for (uint32_t i = 0; i < st->dep_count; i++)
		if (!pr->done[pr->s.dep[st->dep_first + i]])
			return false;
	return true;
}

/* Earlier steps of the same kind and peer are all posted. */
static bool
in_turn(const struct proc *pr, uint32_t at)
{
	const struct coll_step *st = &pr->s.step[at];
	for (uint32_t i = 0; i < at; i++)
		if (pr->s.step[i].kind == st->kind && pr->s.step[i].peer == st->peer &&
		    !pr->posted[i])
			return false;
	return true;
}

static uint8_t *
at(struct proc *pr, const struct coll_range *r)
{
	return pr->buf[r->buf] + r->off;
}

static void
run_local(struct proc *pr, const struct coll_step *st)
{
	uint8_t *from = at(pr, &st->from), *into = at(pr, &st->into);
	if (st->kind == COLL_STEP_COPY) {
		memmove(into, from, st->from.len);
		return;
	}
	assert_int_equal(st->from.len % ELEM, 0);
	for (uint64_t o = 0; o < st->from.len; o += ELEM)
		combine(st->left ? from + o : into + o, st->left ? into + o : from + o, into + o,
			pr->a.commutative);
}

/* The next posted receive of `to` that expects `from` and is not done. */
static uint32_t
find(const struct proc *pr, enum coll_kind kind, uint32_t peer)
{
	for (uint32_t i = 0; i < pr->s.steps; i++) {
		const struct coll_step *st = &pr->s.step[i];
		if (st->kind == kind && st->peer == peer && pr->posted[i] == 1)
			return i;
		if (st->kind == kind && st->peer == peer && !pr->posted[i])
			return UINT32_MAX;
	}
	return UINT32_MAX;
}

static bool
match(struct world *w, uint32_t from, uint32_t to)
{
	struct proc *src = &w->proc[from], *dst = &w->proc[to];
	uint32_t i = find(src, COLL_STEP_SEND, to), j = find(dst, COLL_STEP_RECV, from);
	if (i == UINT32_MAX || j == UINT32_MAX)
		return false;
	struct coll_step *ss = &src->s.step[i], *rs = &dst->s.step[j];
	assert_int_equal(ss->from.len, rs->into.len);
	if (ss->from.len)
		memcpy(at(dst, &rs->into),
		       w->rendezvous ? at(src, &ss->from) : w->captured[from][i], ss->from.len);
	src->posted[i] = dst->posted[j] = 2;
	src->done[i] = dst->done[j] = 1;
	return true;
}

static bool
turn(struct world *w, uint32_t r)
{
	struct proc *pr = &w->proc[r];
	for (uint32_t i = 0; i < pr->s.steps; i++) {
		struct coll_step *st = &pr->s.step[i];
		if (pr->posted[i] || !deps_done(pr, st) || !in_turn(pr, i))
			continue;
		if (base_prng_below(&w->rng, 3) == 0)
			continue;
		pr->posted[i] = 1;
		if (st->kind == COLL_STEP_SEND) {
			if (!w->rendezvous && st->from.len) {
				w->captured[r][i] = malloc(st->from.len);
				memcpy(w->captured[r][i], at(pr, &st->from), st->from.len);
			}
			if (!w->rendezvous)
				pr->done[i] = 1;
		} else if (st->kind != COLL_STEP_RECV) {
			run_local(pr, st);
			pr->posted[i] = 2;
			pr->done[i] = 1;
		}
		return true;
	}
	return false;
}

static void
run(struct world *w, const char *what)
{
	for (uint32_t idle = 0; idle < 200;) {
		bool moved = false, all = true;
		for (uint32_t k = 0; k < w->p; k++)
			moved |= turn(w, (uint32_t)base_prng_below(&w->rng, w->p));
		for (uint32_t f = 0; f < w->p; f++)
			for (uint32_t i = 0; i < w->proc[f].s.steps; i++)
				if (w->proc[f].s.step[i].kind == COLL_STEP_SEND &&
				    w->proc[f].posted[i] == 1)
					moved |= match(w, f, w->proc[f].s.step[i].peer);
		for (uint32_t r = 0; r < w->p; r++)
			for (uint32_t i = 0; i < w->proc[r].s.steps; i++)
				all &= w->proc[r].posted[i] == 2;
		if (all)
			return;
		idle = moved ? 0 : idle + 1;
	}
	fail_msg("%s: deadlock", what);
}

/* ---- what the operation is to give ---- */

static uint64_t
block_bytes(uint32_t i, uint64_t bytes, bool uneven)
{
	return uneven ? (uint64_t)(i % 3) * ELEM * 2 : bytes;
}

static void
reduce_all(uint8_t *out, uint32_t first, uint32_t end, uint32_t b, uint64_t len, bool commutative)
{
	uint8_t t[ELEM];
	for (uint64_t e = 0; e * ELEM < len; e++) {
		element(out + e * ELEM, first, b, e);
		for (uint32_t r = first + 1; r < end; r++) {
			element(t, r, b, e);
			combine(out + e * ELEM, t, out + e * ELEM, commutative);
		}
	}
}

#define ROOM	  (33 * 4096) /* cleared and compared in every case: no larger than needed */
#define ROOM_LONG (1 << 20)
static size_t room = ROOM;

static void
expect(struct world *w, uint32_t r, uint8_t *want, bool *check)
{
	const struct coll_args *a = &w->proc[r].a;
	uint32_t p = w->p;
	*check = true;
	switch (a->op) {
	case COLL_BCAST:
		fill(want, a->bytes, a->root, 0);
		break;
	case COLL_REDUCE:
		*check = r == a->root;
		/* fall through */
	case COLL_ALLREDUCE:
		reduce_all(want, 0, p, 0, a->bytes, a->commutative);
		break;
	case COLL_SCAN:
		reduce_all(want, 0, r + 1, 0, a->bytes, a->commutative);
		break;
	case COLL_EXSCAN:
		*check = r > 0;
		if (r)
			reduce_all(want, 0, r, 0, a->bytes, a->commutative);
		break;
	case COLL_GATHER:
		*check = r == a->root;
		/* fall through */
	case COLL_ALLGATHER:
		for (uint32_t i = 0; i < p; i++)
			fill(want + (a->displ ? a->displ[i] : i * a->bytes),
			     a->bytes_of ? a->bytes_of[i] : a->bytes, i, 0);
		break;
	case COLL_SCATTER:
		fill(want, a->bytes_of ? a->bytes_of[r] : a->bytes, a->root, r);
		break;
	case COLL_ALLTOALL:
		for (uint32_t i = 0; i < p; i++)
			fill(want + (a->displ ? a->displ[i] : i * a->bytes),
			     a->bytes_of ? a->bytes_of[i] : a->bytes, i, r);
		break;
	case COLL_REDUCE_SCATTER:
		reduce_all(want, 0, p, r, a->bytes_of ? a->bytes_of[r] : a->bytes, a->commutative);
		break;
	case COLL_NEIGHBOR:
		for (uint32_t k = 0; k < EDGES - 1; k++)
			fill(want + a->sources[k].block * a->bytes, a->bytes, a->sources[k].rank,
			     k);
		break;
	default:
		*check = false;
	}
}

/* Blocks arrive elsewhere than they left, so that edges are told apart. */
static void
connect(struct proc *pr)
{
	struct coll_args *a = &pr->a;
	for (uint32_t k = 0; k < EDGES; k++) {
		bool none = edge_to[k] == COLL_NO_RANK;
		uint32_t off = none ? 0 : edge_to[k] % a->size;
		pr->out[k] = (struct coll_edge){none ? COLL_NO_RANK : (a->rank + off) % a->size, k};
		pr->in[k] = (struct coll_edge){
			none ? COLL_NO_RANK : (a->rank + a->size - off) % a->size, 2 * k % EDGES};
	}
	a->sources = pr->in;
	a->destinations = pr->out;
	a->indegree = a->outdegree = EDGES;
}

static void
lay_out(struct proc *pr, bool uneven)
{
	struct coll_args *a = &pr->a;
	if (!uneven)
		return;
	uint64_t off = 0, soff = 0;
	for (uint32_t i = 0; i < a->size; i++) {
		/* alltoall: what i sends to j is what j expects from i */
		uint32_t kind = a->op == COLL_ALLTOALL ? i + a->rank : i;
		pr->bytes_of[i] = pr->send_bytes[i] = block_bytes(kind, a->bytes, true);
		pr->displ[i] = off;
		off += pr->bytes_of[i] + (a->op == COLL_REDUCE_SCATTER ? 0 : ELEM);
		pr->send_displ[i] = soff;
		soff += pr->send_bytes[i] + ELEM;
	}
	a->bytes_of = pr->bytes_of;
	a->displ = pr->displ;
	if (a->op == COLL_ALLTOALL) {
		a->send_bytes = pr->send_bytes;
		a->send_displ = pr->send_displ;
	}
}

static void
fill_inputs(struct proc *pr)
{
	struct coll_args *a = &pr->a;
	uint32_t p = a->size, r = a->rank;
	memset(pr->buf[COLL_SEND], 0xee, room);
	memset(pr->buf[COLL_RECV], 0xee, room);
	uint8_t *in = pr->buf[a->in_place ? COLL_RECV : COLL_SEND];
	uint64_t own = a->bytes_of ? a->bytes_of[r] : a->bytes;
	switch (a->op) {
	case COLL_BCAST:
		if (r == a->root)
			fill(pr->buf[COLL_RECV], a->bytes, r, 0);
		break;
	case COLL_GATHER:
	case COLL_ALLGATHER:
		if (a->in_place)
			in += a->displ ? a->displ[r] : r * a->bytes;
		fill(in, own, r, 0);
		break;
	case COLL_SCATTER:
		if (r != a->root)
			break;
		for (uint32_t i = 0; i < p; i++)
			fill(pr->buf[COLL_SEND] + (a->displ ? a->displ[i] : i * a->bytes),
			     a->bytes_of ? a->bytes_of[i] : a->bytes, r, i);
		if (a->in_place) /* its own block is not moved */
			fill(pr->buf[COLL_RECV], own, r, r);
		break;
	case COLL_ALLTOALL:
		for (uint32_t i = 0; i < p; i++) {
			uint64_t off = a->in_place || !a->send_displ
					       ? (a->displ ? a->displ[i] : i * a->bytes)
					       : a->send_displ[i];
			fill(in + off, a->bytes_of ? a->send_bytes[i] : a->bytes, r, i);
		}
		break;
	case COLL_REDUCE_SCATTER:
		for (uint32_t i = 0; i < p; i++)
			fill(in + (a->displ ? a->displ[i] : i * a->bytes),
			     a->bytes_of ? a->bytes_of[i] : a->bytes, r, i);
		break;
	case COLL_NEIGHBOR:
		for (uint32_t k = 0; k < EDGES; k++)
			fill(in + k * a->bytes, a->bytes, r, k);
		break;
	default:
		fill(in, a->bytes, r, 0);
	}
}

static bool
takes_in_place(const struct coll_args *a)
{
	switch (a->op) {
	case COLL_BARRIER:
	case COLL_BCAST:
	case COLL_NEIGHBOR:
		return false;
	case COLL_REDUCE:
	case COLL_GATHER:
	case COLL_SCATTER:
		return a->rank == a->root;
	default:
		return true;
	}
}

static uint32_t cases;

static void
one_case(const struct coll_algorithm *alg, struct coll_args base, bool uneven, bool in_place,
	 bool rendezvous)
{
	char what[160];
	snprintf(what, sizeof what,
		 "%s/%s p=%u root=%u bytes=%llu comm=%d uneven=%d in_place=%d rndv=%d",
		 coll_op_name(alg->op), alg->name, base.size, base.root,
		 (unsigned long long)base.bytes, base.commutative, uneven, in_place, rendezvous);
	static struct world w;
	static uint8_t data[P_MAX][2][ROOM_LONG]; /* once: it would come from the kernel */
	memset(&w, 0, sizeof w);
	w.p = base.size;
	w.rendezvous = rendezvous;
	w.rng = base_prng_seed(base.size * 131 + base.root);
	for (uint32_t r = 0; r < w.p; r++) {
		struct proc *pr = &w.proc[r];
		pr->a = base;
		pr->a.rank = r;
		pr->a.vector = uneven;
		pr->a.wire_bytes = base.bytes;
		pr->a.in_place = in_place && takes_in_place(&pr->a);
		lay_out(pr, uneven);
		if (alg->op == COLL_NEIGHBOR)
			connect(pr);
		if (alg->fits && !alg->fits(&pr->a))
			goto out;
		size_t len = coll_arena_hint(&pr->a);
		pr->arena = malloc(len);
		int rc = coll_build(&pr->s, &pr->a, alg->name, pr->arena, len);
		if (rc)
			fail_msg("%s: rank %u: %s", what, r, coll_strerror(rc));
		pr->buf[COLL_SEND] = data[r][COLL_SEND];
		pr->buf[COLL_RECV] = data[r][COLL_RECV];
		pr->buf[COLL_TMP] = calloc(1, pr->s.tmp_bytes + 64);
		pr->posted = calloc(pr->s.steps + 1, 1);
		pr->done = calloc(pr->s.steps + 1, 1);
		w.captured[r] = calloc(pr->s.steps + 1, sizeof(uint8_t *));
		fill_inputs(pr);
	}
	run(&w, what);
	for (uint32_t r = 0; r < w.p; r++) {
		static uint8_t want[ROOM_LONG];
		bool check;
		memset(want, 0xee, room);
		expect(&w, r, want, &check);
		uint64_t n = room;
		if (in_place && (alg->op == COLL_REDUCE_SCATTER))
			n = w.proc[r].a.bytes_of ? w.proc[r].a.bytes_of[r] : base.bytes;
		if (check && memcmp(want, w.proc[r].buf[COLL_RECV], n))
			fail_msg("%s: wrong result at rank %u", what, r);
	}
	cases++;
out:
	for (uint32_t r = 0; r < w.p; r++) {
		struct proc *pr = &w.proc[r];
		for (uint32_t i = 0; w.captured[r] && i < pr->s.steps; i++)
			free(w.captured[r][i]);
		free(w.captured[r]);
		free(pr->arena);
		free(pr->buf[COLL_TMP]);
		free(pr->posted);
		free(pr->done);
	}
}

static bool
takes_uneven(enum coll_op op)
{
	return op == COLL_GATHER || op == COLL_ALLGATHER || op == COLL_SCATTER ||
	       op == COLL_ALLTOALL || op == COLL_REDUCE_SCATTER;
}

static void
sweep(const struct coll_algorithm *alg, uint32_t p, uint32_t root, const uint32_t *of, bool nodes)
{
	uint32_t number[P_MAX];
	static const uint64_t sizes[] = {0, ELEM, 5 * ELEM, 40 * ELEM};
	for (size_t z = 0; z < sizeof sizes / sizeof sizes[0]; z++)
		for (int v = 0; v < 32; v++) {
			bool uneven = v & 1, in_place = v & 2, commutative = v & 4;
			if (uneven && (!takes_uneven(alg->op) || z != 2))
				continue;
			if ((v & 16) && (uneven || z % 2))
				continue;
			struct coll_args a = {.op = alg->op,
					      .size = p,
					      .root = root,
					      .bytes = sizes[z],
					      .elem = ELEM,
					      .commutative = commutative,
					      .reversed = v & 16,
					      .degree = (uint32_t)z + 1};
			coll_places_set(&a, of, nodes, number);
			one_case(alg, a, uneven, in_place, v & 8);
		}
}

static void
test_every_algorithm(void **state)
{
	(void)state;
	static const uint32_t procs[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 17};
	size_t n;
	const struct coll_algorithm *alg = coll_algorithms(&n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof procs / sizeof procs[0]; k++) {
			if (!strcmp(alg[i].name, COLL_IMPI) || !strcmp(alg[i].name, COLL_INTER))
				continue; /* have tests of their own */
			uint32_t p = procs[k];
			uint32_t halves[P_MAX], mixed[P_MAX];
			for (uint32_t r = 0; r < p; r++) {
				halves[r] = r >= p / 2;
				mixed[r] = (r * 7 + 3) % 3;
			}
			sweep(&alg[i], p, 0, NULL, false);
			sweep(&alg[i], p, p - 1, halves, p & 1);
			sweep(&alg[i], p, p / 2, mixed, false);
			if (p % 4 == 0) {
				for (uint32_t r = 0; r < p; r++)
					mixed[r] = r % (p / 4);
				sweep(&alg[i], p, 1, mixed, true);
			}
		}
	assert_true(cases > 5000);
	print_message("%u cases\n", cases);
}

/* Vectors cut into pieces, that nothing divides; on one node, several, in several clusters. */
static void
test_pieces(void **state)
{
	(void)state;
	static uint32_t halves[P_MAX] = {[4] = 1, 1, 1, 1}, number[P_MAX];
	size_t n;
	const struct coll_algorithm *alg = coll_algorithms(&n);
	while (alg->op != COLL_ALLREDUCE || strcmp(alg->name, "places"))
		alg++;
	room = ROOM_LONG;
	for (uint32_t v = 0; v < 48; v++) {
		struct coll_args a = {.op = alg->op, .elem = ELEM, .commutative = v & 4};
		a.size = (const uint32_t[]){1, 2, 3, 8}[v % 4];
		a.bytes = ROOM_LONG - ELEM * (1 + v);
		coll_places_set(&a, v < 16 ? NULL : halves, v < 32, number);
		one_case(alg, a, false, v & 8, (v ^ v / 4) & 1);
	}
	room = ROOM;
}

/* Of all processes together: how many others each speaks to. */
static uint32_t
neighbours(const struct coll_algorithm *alg, struct coll_args a)
{
	uint32_t most = 0;
	size_t len = coll_arena_hint(&a);
	void *arena = malloc(len);
	for (a.rank = 0; a.rank < a.size; a.rank++) {
		struct coll_schedule s;
		bool met[P_MAX] = {false};
		uint32_t n = 0;
		assert_int_equal(coll_build(&s, &a, alg->name, arena, len), 0);
		for (uint32_t i = 0; i < s.steps; i++) {
			bool moves = s.step[i].kind == COLL_STEP_SEND ||
				     s.step[i].kind == COLL_STEP_RECV;
			n += moves && !met[s.step[i].peer];
			met[s.step[i].peer] |= moves;
		}
		most = n > most ? n : most;
	}
	free(arena);
	return most;
}

/* What keeps to a fixed graph does, for every number of processes, and gives the right result. */
static void
test_on_graph(void **state)
{
	(void)state;
	static const struct {
		enum coll_op op;
		const char *name;
		bool ring;
	} on[] = {{COLL_BCAST, "graph", false},	    {COLL_REDUCE, "graph", false},
		  {COLL_ALLREDUCE, "graph", false}, {COLL_ALLREDUCE, "ring", true},
		  {COLL_ALLGATHER, "ring", true},   {COLL_ALLTOALL, "ring", true}};
	size_t n;
	const struct coll_algorithm *alg = coll_algorithms(&n);
	for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
		size_t at = 0;
		while (at < n && (alg[at].op != on[i].op || strcmp(alg[at].name, on[i].name) != 0))
			at++;
		assert_true(at < n);
		for (uint32_t p = 1; p <= P_MAX; p++)
			for (uint32_t degree = 2; degree <= (on[i].ring ? 2 : 6); degree++) {
				struct coll_args a = {.op = on[i].op,
						      .size = p,
						      .root = p / 3,
						      .bytes = (uint64_t)ELEM * P_MAX,
						      .elem = ELEM,
						      .commutative = true,
						      .degree = degree};
				if (neighbours(&alg[at], a) > degree)
					fail_msg("%s/%s p=%u: more than %u neighbours",
						 coll_op_name(on[i].op), on[i].name, p, degree);
				one_case(&alg[at], a, false, p & 1, degree & 1);
				one_case(&alg[at], a, false, !(p & 1), !(degree & 1));
			}
	}
}

/* The IMPI profile: ranks interleaved over 2 to 9 clients in no order, roots that are
 * no masters, linear and tree, short and long. */
static void
test_impi_clients(void **state)
{
	(void)state;
	static const uint32_t maxlinear[] = {0, 1, 4}, procs[] = {2, 5, 9, 13};
	struct base_prng rng = base_prng_seed(2000);
	size_t n;
	const struct coll_algorithm *alg = coll_algorithms(&n);
	uint32_t before = cases;
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < 8 * 4 && !strcmp(alg[i].name, COLL_IMPI); k++) {
			uint32_t p = procs[k % 4], of[P_MAX];
			for (uint32_t r = 0; r < p; r++)
				of[r] = (uint32_t)base_prng_below(&rng, 2 + k / 4);
			struct coll_args a = {.op = alg[i].op,
					      .size = p,
					      .root = (uint32_t)base_prng_below(&rng, p),
					      .elem = ELEM,
					      .cluster_of = of,
					      .maxlinear = maxlinear[k % 3],
					      .xsize = 5 * ELEM};
			for (uint32_t v = 0; v < 16; v++) {
				a.bytes = (uint64_t[]){0, ELEM, 5 * ELEM, 7 * ELEM}[v >> 2];
				a.commutative = v & 1;
				one_case(&alg[i], a, takes_uneven(a.op) && (v & 2) && v >= 8, k & 1,
					 v & 2);
			}
		}
	assert_true(cases - before > 3000);
}

/* ---- two groups: processes 0..n-1 of w are one, the others the other ---- */

/* What process r of its group (first..end of w) gives towards block b. */
static void
inter_fill(struct proc *pr, uint32_t first, uint32_t blocks)
{
	struct coll_args *a = &pr->a;
	uint8_t *in = pr->buf[a->op == COLL_BCAST ? COLL_RECV : COLL_SEND];
	memset(pr->buf[COLL_SEND], 0xee, room);
	memset(pr->buf[COLL_RECV], 0xee, room);
	if (a->op != COLL_BCAST || a->role == COLL_ROOT)
		for (uint32_t b = 0; b < blocks; b++)
			fill(in + b * a->bytes, a->bytes, first + a->rank, b);
}

static bool
inter_expect(const struct coll_args *a, uint32_t far, uint32_t far_end, uint8_t *want)
{
	uint32_t root = far + a->root, me = a->rank;
	switch (a->op) {
	case COLL_BCAST:
		fill(want, a->bytes, root, 0);
		return a->role == COLL_LEAF;
	case COLL_SCATTER:
		fill(want, a->bytes, root, me);
		return a->role == COLL_LEAF;
	case COLL_REDUCE:
		reduce_all(want, far, far_end, 0, a->bytes, a->commutative);
		return a->role == COLL_ROOT;
	case COLL_ALLREDUCE:
		reduce_all(want, far, far_end, 0, a->bytes, a->commutative);
		return true;
	case COLL_REDUCE_SCATTER:
		reduce_all(want, far, far_end, me, a->bytes, a->commutative);
		return true;
	case COLL_GATHER:
	case COLL_ALLGATHER:
	case COLL_ALLTOALL:
		for (uint32_t r = far; r < far_end; r++)
			fill(want + (r - far) * a->bytes, a->bytes, r,
			     a->op == COLL_ALLTOALL ? me : 0);
		return a->op != COLL_GATHER || a->role == COLL_ROOT;
	default:
		return false;
	}
}

/* The process at index i of the world with `low` processes in the lower group. */
static void
inter_proc(struct world *w, uint32_t i, uint32_t low, struct coll_args a, uint32_t root)
{
	struct proc *pr = &w->proc[i];
	bool upper = i >= low, root_upper = root >= low;
	uint32_t first = upper ? low : 0;
	a.rank = i - first;
	a.size = upper ? w->p - low : low;
	a.remote = w->p - a.size;
	a.role = upper != root_upper ? COLL_LEAF : i == root ? COLL_ROOT : COLL_IDLE;
	a.root = a.role == COLL_LEAF ? root - (upper ? 0 : low) : 0;
	a.own_bytes = a.bytes;
	pr->a = a;
	size_t len = coll_arena_hint(&a);
	pr->arena = malloc(len);
	assert_int_equal(coll_build(&pr->s, &pr->a, NULL, pr->arena, len), COLL_ERR_OK);
	assert_string_equal(pr->s.algorithm, COLL_INTER);
	for (uint32_t k = 0; k < pr->s.steps; k++) { /* peers as indices of w */
		uint32_t *peer = &pr->s.step[k].peer;
		assert_true(*peer < pr->s.size);
		*peer = *peer < a.size ? first + *peer : *peer - a.size + (upper ? 0 : low);
	}
	for (int b = 0; b < 3; b++)
		pr->buf[b] = malloc(room + pr->s.tmp_bytes);
	pr->posted = calloc(pr->s.steps + 1, 1);
	pr->done = calloc(pr->s.steps + 1, 1);
	w->captured[i] = calloc(pr->s.steps + 1, sizeof(uint8_t *));
	/* reduce_scatter cuts the vector for the other group as that one is large */
	inter_fill(pr, first, a.op == COLL_REDUCE_SCATTER ? a.size : w->p);
}

static void
inter_case(enum coll_op op, uint32_t low, uint32_t p, uint32_t root, uint64_t bytes, int v)
{
	static struct world w;
	static uint8_t want[ROOM];
	struct coll_args a = {.op = op, .bytes = bytes, .elem = ELEM, .commutative = v & 1};
	char what[80];
	snprintf(what, sizeof what, "%s between %u and %u, root %u, %llu bytes, v=%d",
		 coll_op_name(op), low, p - low, root, (unsigned long long)bytes, v);
	memset(&w, 0, sizeof w);
	w.p = p;
	w.rendezvous = v & 2;
	w.rng = base_prng_seed(p * 100 + low);
	for (uint32_t i = 0; i < p; i++)
		inter_proc(&w, i, low, a, root);
	run(&w, what);
	for (uint32_t i = 0; i < p; i++) {
		struct proc *pr = &w.proc[i];
		bool upper = i >= low;
		memset(want, 0xee, sizeof want);
		if (inter_expect(&pr->a, upper ? 0 : low, upper ? low : p, want) &&
		    memcmp(want, pr->buf[COLL_RECV], ROOM))
			fail_msg("%s: wrong result at process %u", what, i);
		for (uint32_t k = 0; k < pr->s.steps; k++)
			free(w.captured[i][k]);
		free(w.captured[i]);
		free(pr->arena);
		for (int b = 0; b < 3; b++)
			free(pr->buf[b]);
		free(pr->posted);
		free(pr->done);
	}
	cases++;
}

static void
test_between_groups(void **state)
{
	(void)state;
	static const uint32_t sizes[][2] = {{1, 2}, {1, 4}, {4, 6}, {5, 10}, {2, 9}};
	uint32_t before = cases;
	size_t n;
	const struct coll_algorithm *alg = coll_algorithms(&n);
	for (size_t i = 0; i < n; i++)
		for (size_t z = 0; z < sizeof sizes / sizeof sizes[0]; z++)
			for (uint32_t root = 0; root < sizes[z][1]; root += 2)
				for (int v = 0; v < 8 && !strcmp(alg[i].name, COLL_INTER); v++) {
					/* the groups cut one vector: they are equal then */
					if (alg[i].op == COLL_REDUCE_SCATTER &&
					    sizes[z][1] != 2 * sizes[z][0])
						continue;
					inter_case(alg[i].op, sizes[z][0], sizes[z][1], root,
						   v & 4 ? 3 * ELEM : 0, v);
				}
	assert_true(cases - before > 500);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_algorithm), cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_on_graph),	cmocka_unit_test(test_impi_clients),
		cmocka_unit_test(test_between_groups),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

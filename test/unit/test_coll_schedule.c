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
#include "coll_model.h"
#include "coll_places_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sanitizer/asan_interface.h>

#define P_MAX COLL_MODEL_PROCS
#define ELEM  COLL_MODEL_ELEM

struct proc {
	struct coll_model m;
	struct coll_schedule s;
	void *arena;
	uint8_t *buf[3];
	uint8_t *posted, *done;
	uint32_t first; /* the steps before it are over */
};

struct world {
	struct proc proc[P_MAX];
	uint32_t p;
	bool rendezvous;
	struct base_prng rng;
	/* in flight, eager: data captured at posting, by (sender, step) */
	uint8_t **captured[P_MAX];
};

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
	for (uint32_t i = pr->first; i < at; i++)
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

/* The next posted receive of `to` that expects `from` and is not done. */
static uint32_t
find(const struct proc *pr, enum coll_kind kind, uint32_t peer)
{
	for (uint32_t i = pr->first; i < pr->s.steps; i++) {
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
	for (uint32_t i = pr->first; i < pr->s.steps; i++) {
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
			coll_model_compute(&pr->m.a, st, pr->buf);
			pr->posted[i] = 2;
			pr->done[i] = 1;
		}
		return true;
	}
	return false;
}

static bool
is_over(struct proc *pr)
{
	while (pr->first < pr->s.steps && pr->posted[pr->first] == 2)
		pr->first++;
	return pr->first == pr->s.steps;
}

static void
run(struct world *w, const char *what)
{
	for (uint32_t idle = 0; idle < 200;) {
		bool moved = false, all = true;
		for (uint32_t k = 0; k < w->p; k++)
			moved |= turn(w, (uint32_t)base_prng_below(&w->rng, w->p));
		for (uint32_t f = 0; f < w->p; f++)
			for (uint32_t i = w->proc[f].first; i < w->proc[f].s.steps; i++)
				if (w->proc[f].s.step[i].kind == COLL_STEP_SEND &&
				    w->proc[f].posted[i] == 1)
					moved |= match(w, f, w->proc[f].s.step[i].peer);
		for (uint32_t r = 0; r < w->p; r++)
			all &= is_over(&w->proc[r]);
		if (all)
			return;
		idle = moved ? 0 : idle + 1;
	}
	fail_msg("%s: deadlock", what);
}

#define ROOM	  (33 * 4096)
#define ROOM_LONG (1 << 20)
#define EDGE	  4096
static size_t room = ROOM;

/* What is cleared and compared in a case: twice what the call may write, and an edge.  For
 * AddressSanitizer the rest of the room is nobody's. */
static size_t
near_of(const struct coll_args *a)
{
	size_t n = 2 * coll_model_room(a) + EDGE;
	return n < room ? n : room;
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
		struct coll_args *a = &pr->m.a;
		*a = base;
		a->rank = r;
		a->vector = uneven;
		a->wire_bytes = base.bytes;
		a->in_place = in_place && coll_model_takes_in_place(a);
		coll_model_lay_out(&pr->m, uneven);
		if (alg->fits && !alg->fits(a))
			goto out;
		size_t len = coll_arena_hint(a);
		pr->arena = malloc(len);
		int rc = coll_build(&pr->s, a, alg->name, pr->arena, len);
		if (rc)
			fail_msg("%s: rank %u: %s", what, r, coll_strerror(rc));
		pr->buf[COLL_SEND] = data[r][COLL_SEND];
		pr->buf[COLL_RECV] = data[r][COLL_RECV];
		pr->buf[COLL_TMP] = calloc(1, pr->s.tmp_bytes + 64);
		pr->posted = calloc(pr->s.steps + 1, 1);
		pr->done = calloc(pr->s.steps + 1, 1);
		w.captured[r] = calloc(pr->s.steps + 1, sizeof(uint8_t *));
		coll_model_fill(&pr->m, pr->buf[COLL_SEND], pr->buf[COLL_RECV], near_of(a));
		for (int b = COLL_SEND; b <= COLL_RECV; b++)
			ASAN_POISON_MEMORY_REGION(pr->buf[b] + near_of(a), room - near_of(a));
	}
	run(&w, what);
	for (uint32_t r = 0; r < w.p; r++) {
		static uint8_t want[ROOM_LONG];
		const struct coll_model *m = &w.proc[r].m;
		if (!coll_model_is_right(m, w.proc[r].buf[COLL_RECV], want, near_of(&m->a)))
			fail_msg("%s: wrong result at rank %u", what, r);
	}
	cases++;
out:
	for (uint32_t r = 0; r < w.p; r++) {
		struct proc *pr = &w.proc[r];
		for (int b = COLL_SEND; b <= COLL_RECV; b++)
			ASAN_UNPOISON_MEMORY_REGION(data[r][b], room);
		for (uint32_t i = 0; w.captured[r] && i < pr->s.steps; i++)
			free(w.captured[r][i]);
		free(w.captured[r]);
		free(pr->arena);
		free(pr->buf[COLL_TMP]);
		free(pr->posted);
		free(pr->done);
	}
}

static void
sweep(const struct coll_algorithm *alg, uint32_t p, uint32_t root, const uint32_t *of, bool nodes)
{
	uint32_t number[P_MAX];
	static const uint64_t sizes[] = {0, ELEM, 5 * ELEM, 40 * ELEM};
	for (size_t z = 0; z < sizeof sizes / sizeof sizes[0]; z++)
		for (int v = 0; v < 32; v++) {
			bool uneven = v & 1, in_place = v & 2, commutative = v & 4;
			if (uneven && (!coll_model_takes_uneven(alg->op) || z != 2))
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

static uint32_t
sends_of(const struct coll_algorithm *alg, const struct coll_args *a)
{
	size_t len = coll_arena_hint(a);
	void *arena = malloc(len);
	struct coll_schedule s;
	uint32_t n = 0;
	assert_int_equal(coll_build(&s, a, alg->name, arena, len), 0);
	for (uint32_t i = 0; i < s.steps; i++)
		n += s.step[i].kind == COLL_STEP_SEND;
	free(arena);
	return n;
}

/* Bcast on several nodes and Alltoall, in pieces that nothing divides, one block longer than
 * another; as many messages as are asked for. */
static void
test_slices(void **state)
{
	(void)state;
	static const char *const names[] = {"hier", "pairwise", "pairs"};
	uint32_t of[P_MAX], number[P_MAX];
	for (uint32_t v = 0; v < 3 * 96; v++) {
		const struct coll_algorithm *alg =
			coll_algorithm_of(v % 3 ? COLL_ALLTOALL : COLL_BCAST, names[v % 3]);
		struct coll_args a = {.op = alg->op, .elem = ELEM, .bytes = 40 * ELEM};
		a.size = (const uint32_t[]){4, 6, 7, 17}[v / 3 % 4];
		a.root = a.size / 2;
		a.segment = a.slice = (const uint64_t[]){1, 33, 320, 639, 640, 700}[v / 12 % 6];
		for (uint32_t r = 0; r < a.size; r++)
			of[r] = v & 1 ? r % 3 : r * 2 / a.size;
		coll_places_set(&a, of, true, number);
		uint64_t asked = (a.bytes + a.segment - 1) / a.segment;
		struct coll_args whole = a;
		whole.segment = whole.slice = 0;
		a.rank = whole.rank = a.root;
		assert_int_equal(sends_of(alg, &a),
				 sends_of(alg, &whole) * (asked > 16 ? 16 : asked));
		one_case(alg, a, v % 3 && v / 72 % 2, v % 3 && v / 144, v & 4);
	}
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

/* On every torus of so many processes nobody speaks to others than its neighbours, and the result
 * is right, in however many segments. */
static void
test_on_torus(void **state)
{
	(void)state;
	static const struct {
		uint32_t p, n, dim[4];
	} on[] = {{2, 1, {2}},	   {7, 1, {7}},		  {8, 1, {8}},	   {8, 2, {2, 4}},
		  {8, 2, {4, 2}},  {9, 2, {3, 3}},	  {12, 2, {3, 4}}, {12, 3, {2, 3, 2}},
		  {16, 2, {4, 4}}, {16, 4, {2, 2, 2, 2}}, {15, 2, {5, 3}}};
	size_t n;
	const struct coll_algorithm *alg = coll_algorithms(&n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0;
		     strncmp(alg[i].name, "torus", 5) == 0 && k < sizeof on / sizeof on[0]; k++) {
			struct coll_args a = {.op = alg[i].op,
					      .size = on[k].p,
					      .root = on[k].p / 3,
					      .bytes = (uint64_t)ELEM * P_MAX,
					      .elem = ELEM,
					      .commutative = true};
			uint32_t most = 0;
			for (uint32_t d = 0; d < on[k].n; d++) {
				a.dims |= (uint64_t)on[k].dim[d] << 8 * d;
				most += on[k].dim[d] > 2 ? 2 : 1;
			}
			if (neighbours(&alg[i], a) > most)
				fail_msg("%s/%s p=%u dims %llx: more than %u neighbours",
					 coll_op_name(alg[i].op), alg[i].name, a.size,
					 (unsigned long long)a.dims, most);
			for (a.segment = 0; a.segment < 2 * a.bytes; a.segment += ELEM * 15 + 1)
				one_case(&alg[i], a, false, a.segment & 1, a.segment & 2);
			a.commutative = false;
			one_case(&alg[i], a, false, false, false);
			a.dims++; /* a torus of others */
			assert_false(alg[i].fits(&a));
		}
	for (size_t i = 0; i < n; i++)
		for (uint32_t p = 1; p < P_MAX && !strcmp(alg[i].name, "pipeline"); p++)
			for (uint64_t segment = 1; segment < 200; segment += 33) {
				struct coll_args a = {.op = COLL_BCAST,
						      .size = p,
						      .root = p / 2,
						      .bytes = 160,
						      .elem = 1,
						      .segment = segment};
				one_case(&alg[i], a, false, false, p & 1);
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
				one_case(&alg[i], a,
					 coll_model_takes_uneven(a.op) && (v & 2) && v >= 8, k & 1,
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
	struct coll_args *a = &pr->m.a;
	uint8_t *in = pr->buf[a->op == COLL_BCAST ? COLL_RECV : COLL_SEND];
	memset(pr->buf[COLL_SEND], 0xee, room);
	memset(pr->buf[COLL_RECV], 0xee, room);
	if (a->op != COLL_BCAST || a->role == COLL_ROOT)
		for (uint32_t b = 0; b < blocks; b++)
			coll_model_contribute(in + b * a->bytes, a->bytes, 0, first + a->rank, b);
}

static bool
inter_expect(const struct coll_args *a, uint32_t far, uint32_t far_end, uint8_t *want)
{
	uint32_t root = far + a->root, me = a->rank;
	switch (a->op) {
	case COLL_BCAST:
		coll_model_contribute(want, a->bytes, 0, root, 0);
		return a->role == COLL_LEAF;
	case COLL_SCATTER:
		coll_model_contribute(want, a->bytes, 0, root, me);
		return a->role == COLL_LEAF;
	case COLL_REDUCE:
		coll_model_reduce(want, 0, far, far_end, 0, a->bytes, a->commutative);
		return a->role == COLL_ROOT;
	case COLL_ALLREDUCE:
		coll_model_reduce(want, 0, far, far_end, 0, a->bytes, a->commutative);
		return true;
	case COLL_REDUCE_SCATTER:
		coll_model_reduce(want, 0, far, far_end, me, a->bytes, a->commutative);
		return true;
	case COLL_GATHER:
	case COLL_ALLGATHER:
	case COLL_ALLTOALL:
		for (uint32_t r = far; r < far_end; r++)
			coll_model_contribute(want + (r - far) * a->bytes, a->bytes, 0, r,
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
	pr->m.a = a;
	size_t len = coll_arena_hint(&a);
	pr->arena = malloc(len);
	assert_int_equal(coll_build(&pr->s, &pr->m.a, NULL, pr->arena, len), COLL_ERR_OK);
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
		if (inter_expect(&pr->m.a, upper ? 0 : low, upper ? low : p, want) &&
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
		cmocka_unit_test(test_slices),		cmocka_unit_test(test_on_graph),
		cmocka_unit_test(test_on_torus),	cmocka_unit_test(test_impi_clients),
		cmocka_unit_test(test_between_groups),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

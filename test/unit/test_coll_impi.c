/* SPDX-License-Identifier: BSD-2-Clause */
/* The profile impi-0.0 against a model of it, written from chapter 7 of the IMPI
 * reference alone: every message between processes of different clients - who, to
 * whom, in which order for each ordered pair, tag, length and content - and every
 * result, for 2 to 9 clients whose ranks are interleaved, roots that are no masters,
 * MAXLINEAR 0, 1 and 4, blocks below, at and above XSIZE, empty ones, and an
 * operation that does not commute.
 *
 * The model works the phases of a job off as a whole (coll_impi_model.h); the schedules
 * are run process by process, in seeded random order. */
#include "coll_impi_model.h"

/* ---- the schedules */

struct proc {
	struct coll_args a;
	struct coll_schedule s;
	void *arena;
	uint8_t *buf[3];
	uint8_t done[512];
	uint64_t bytes_of[P_MAX], displ[P_MAX], send_bytes[P_MAX], send_displ[P_MAX];
};
static struct proc proc[P_MAX];

static bool
is_root(uint32_t r)
{
	return r == job.root;
}

/* In the v forms the blocks of the receive side lie apart. */
static void
lay_out(struct proc *pr)
{
	struct coll_args *a = &pr->a;
	uint64_t at = 0, sat = 0;
	bool all = job.op == COLL_ALLGATHER || job.op == COLL_REDUCE_SCATTER ||
		   job.op == COLL_ALLTOALL || is_root(a->rank);

	if (job.form == PLAIN)
		return;
	a->bytes = len_of(a->rank, a->rank);
	if (!all)
		return; /* of Gatherv and Scatterv only the root knows the others' */
	for (uint32_t i = 0; i < a->size; i++) {
		pr->bytes_of[i] = job.op == COLL_ALLTOALL ? len_of(i, a->rank) : len_of(i, i);
		pr->displ[i] = at;
		at += pr->bytes_of[i] + (job.op == COLL_REDUCE_SCATTER ? 0 : ELEM);
		pr->send_bytes[i] = len_of(a->rank, i);
		pr->send_displ[i] = sat;
		sat += pr->send_bytes[i];
	}
	a->bytes_of = pr->bytes_of;
	a->displ = pr->displ;
	if (job.op == COLL_ALLTOALL) {
		a->send_bytes = pr->send_bytes;
		a->send_displ = pr->send_displ;
	}
}

static uint64_t
off(const struct coll_args *a, uint32_t i)
{
	return a->displ ? a->displ[i] : i * a->bytes;
}

static void
inputs(struct proc *pr)
{
	const struct coll_args *a = &pr->a;
	uint8_t *in = pr->buf[a->in_place ? COLL_RECV : COLL_SEND];

	switch (job.op) {
	case COLL_BARRIER:
		break;
	case COLL_BCAST:
		if (is_root(a->rank))
			fill(pr->buf[COLL_RECV], a->bytes, a->rank, 0);
		break;
	case COLL_GATHER:
	case COLL_ALLGATHER:
		fill(in + (a->in_place ? off(a, a->rank) : 0), len_of(a->rank, a->rank), a->rank,
		     0);
		break;
	case COLL_SCATTER:
		for (uint32_t i = 0; i < a->size && is_root(a->rank); i++)
			fill(pr->buf[COLL_SEND] + off(a, i), len_of(i, i), a->rank, i);
		if (is_root(a->rank) && a->in_place) /* is left alone; the result says so */
			fill(pr->buf[COLL_RECV], len_of(a->rank, a->rank), a->rank, a->rank);
		break;
	case COLL_ALLTOALL:
		for (uint32_t i = 0; i < a->size; i++)
			fill(in + (a->in_place || !a->send_displ ? off(a, i) : a->send_displ[i]),
			     len_of(a->rank, i), a->rank, i);
		break;
	default:
		vector(in, a->rank);
	}
}

static bool
may_run(const struct proc *pr, uint32_t at)
{
	const struct coll_step *st = &pr->s.step[at];

	if (pr->done[at])
		return false;
	for (uint32_t i = 0; i < st->dep_count; i++)
		if (!pr->done[pr->s.dep[st->dep_first + i]])
			return false;
	for (uint32_t i = 0; i < at && st->kind <= COLL_STEP_RECV; i++)
		if (pr->s.step[i].kind == st->kind && pr->s.step[i].peer == st->peer &&
		    !pr->done[i])
			return false;
	return true;
}

static bool
run_step(struct proc *pr, const struct coll_step *st)
{
	uint32_t me = pr->a.rank;
	uint8_t *from = pr->buf[st->from.buf] + st->from.off;
	uint8_t *into = pr->buf[st->into.buf] + st->into.off;
	bool abroad = job.of[st->peer] != job.of[me];
	struct pair *q;

	switch (st->kind) {
	case COLL_STEP_SEND:
		assert_int_equal(st->tag != 0, abroad);
		emit(abroad ? sent : inside, me, st->peer, st->tag, from, st->from.len);
		return true;
	case COLL_STEP_RECV:
		q = &(abroad ? sent : inside)[st->peer][me];
		if (q->taken == q->n)
			return false;
		assert_int_equal(q->msg[q->taken].tag, st->tag);
		assert_int_equal(q->msg[q->taken].len, st->into.len);
		memcpy(into, q->msg[q->taken++].data, st->into.len);
		return true;
	case COLL_STEP_REDUCE:
		op(st->left ? from : into, st->left ? into : from, into, st->from.len);
		return true;
	default:
		memmove(into, from, st->from.len);
		return true;
	}
}

static void
prepare(uint32_t r)
{
	struct proc *pr = &proc[r];
	size_t room;

	memset(pr, 0, sizeof *pr);
	pr->a = (struct coll_args){.op = job.op,
				   .rank = r,
				   .size = job.p,
				   .root = job.root,
				   .bytes = job.bytes,
				   .elem = ELEM,
				   .commutative = job.commutes,
				   .cluster_of = job.of,
				   .vector = job.form == VECTOR,
				   .wire_bytes = job.bytes,
				   .xsize = job.xsize,
				   .maxlinear = job.maxlinear};
	switch (job.op) {
	case COLL_BARRIER:
	case COLL_BCAST:
		break;
	case COLL_REDUCE:
	case COLL_GATHER:
	case COLL_SCATTER:
		pr->a.in_place = job.in_place && is_root(r);
		break;
	default:
		pr->a.in_place = job.in_place && !(job.op == COLL_ALLTOALL && job.form == VECTOR);
	}
	lay_out(pr);
	room = coll_arena_hint(&pr->a);
	pr->arena = malloc(room);
	assert_int_equal(coll_build(&pr->s, &pr->a, COLL_IMPI, pr->arena, room), COLL_ERR_OK);
	assert_true(pr->s.steps <= sizeof pr->done);
	for (int b = 0; b < 2; b++) {
		pr->buf[b] = malloc(ROOM);
		memset(pr->buf[b], 0xee, ROOM);
	}
	pr->buf[COLL_TMP] = calloc(1, pr->s.tmp_bytes + 1);
	inputs(pr);
}

/* All that process r can do now. */
static bool
turn(struct proc *pr)
{
	bool moved = false;

	for (uint32_t i = 0; i < pr->s.steps; i++)
		if (may_run(pr, i) && run_step(pr, &pr->s.step[i])) {
			pr->done[i] = 1;
			moved = true;
		}
	return moved;
}

static void
run(void)
{
	bool moved = true;

	while (moved) {
		uint32_t first = (uint32_t)base_prng_below(&job.rng, job.p);

		moved = false;
		for (uint32_t k = 0; k < job.p; k++)
			moved |= turn(&proc[(first + k) % job.p]);
	}
	for (uint32_t r = 0; r < job.p; r++)
		for (uint32_t i = 0; i < proc[r].s.steps; i++)
			assert_true(proc[r].done[i]);
}

/* ---- comparison */

static uint32_t messages;

static void
compare_messages(const char *what)
{
	for (uint32_t f = 0; f < job.p; f++)
		for (uint32_t t = 0; t < job.p; t++) {
			const struct pair *w = &want[f][t], *s = &sent[f][t];

			if (w->n != s->n)
				fail_msg("%s: %u to %u: %u messages, not %u", what, f, t, s->n,
					 w->n);
			for (uint32_t i = 0; i < w->n; i++)
				if (w->msg[i].tag != s->msg[i].tag ||
				    w->msg[i].len != s->msg[i].len ||
				    memcmp(w->msg[i].data, s->msg[i].data, w->msg[i].len) != 0)
					fail_msg("%s: %u to %u: message %u: tag %u len %llu, not "
						 "tag %u len %llu, or other bytes",
						 what, f, t, i, s->msg[i].tag,
						 (unsigned long long)s->msg[i].len, w->msg[i].tag,
						 (unsigned long long)w->msg[i].len);
			assert_int_equal(s->taken, s->n);
			assert_int_equal(inside[f][t].taken, inside[f][t].n);
			messages += w->n;
		}
}

static void
compare_result(const char *what, uint32_t r)
{
	const struct coll_args *a = &proc[r].a;
	const uint8_t *have = proc[r].buf[COLL_RECV], *due = result[r];
	bool rooted = job.op == COLL_REDUCE || job.op == COLL_GATHER;
	uint64_t len = job.op == COLL_BARRIER ? 0 : a->bytes;

	if (rooted && !is_root(r))
		return;
	if (job.op == COLL_GATHER || job.op == COLL_ALLGATHER || job.op == COLL_ALLTOALL) {
		for (uint32_t i = 0; i < job.p; i++) {
			len = a->bytes_of ? a->bytes_of[i] : a->bytes;
			if (memcmp(have + off(a, i), due, len) != 0)
				fail_msg("%s: wrong block %u at rank %u", what, i, r);
			due += len;
		}
		return;
	}
	if (job.op == COLL_REDUCE_SCATTER)
		len = len_of(r, r);
	if (memcmp(have, due, len) != 0)
		fail_msg("%s: wrong result at rank %u", what, r);
}

static void
one_case(void)
{
	char what[200];

	snprintf(what, sizeof what, "%s%s p=%u root=%u bytes=%llu commutes=%d in_place=%d ml=%u",
		 coll_op_name(job.op), job.form == VECTOR ? "v" : "", job.p, job.root,
		 (unsigned long long)job.bytes, job.commutes, job.in_place, job.maxlinear);
	for (uint32_t f = 0; f < job.p; f++)
		for (uint32_t t = 0; t < job.p; t++)
			want[f][t].n = sent[f][t].n = sent[f][t].taken = inside[f][t].n =
				inside[f][t].taken = 0;
	model();
	for (uint32_t r = 0; r < job.p; r++)
		prepare(r);
	run();
	compare_messages(what);
	for (uint32_t r = 0; r < job.p; r++) {
		compare_result(what, r);
		for (int b = 0; b < 3; b++)
			free(proc[r].buf[b]);
		free(proc[r].arena);
	}
}

static bool
reduces(enum coll_op o)
{
	return o == COLL_REDUCE || o == COLL_ALLREDUCE || o == COLL_REDUCE_SCATTER ||
	       o == COLL_SCAN;
}

static bool
has_vector_form(enum coll_op o)
{
	return o == COLL_GATHER || o == COLL_SCATTER || o == COLL_ALLGATHER || o == COLL_ALLTOALL ||
	       o == COLL_REDUCE_SCATTER;
}

/* All variants of an operation on the job's processes. */
static void
variants(enum coll_op o)
{
	static const uint64_t sizes[] = {0, ELEM, 2 * ELEM, 3 * ELEM};

	job.op = o;
	job.xsize = 2 * ELEM; /* below, at and above it */
	for (uint32_t z = 0; z < 4; z++)
		for (uint32_t v = 0; v < 8; v++) {
			job.bytes = sizes[z];
			job.commutes = v & 1;
			job.form = v & 2 ? VECTOR : PLAIN;
			job.in_place = v & 4;
			if ((job.form == VECTOR && (z != 1 || !has_vector_form(o))) ||
			    (job.commutes && !reduces(o)))
				continue;
			one_case();
		}
}

static void
sweep(enum coll_op o)
{
	static const uint32_t maxlinear[] = {0, 1, 4};

	job.rng = base_prng_seed((uint64_t)o + 7);
	messages = 0;
	for (uint32_t clients = 2; clients <= 9; clients++)
		for (uint32_t m = 0; m < 12; m++) {
			uint32_t more = (uint32_t)base_prng_below(&job.rng, P_MAX - clients);

			job.p = clients + more;
			job.maxlinear = maxlinear[m % 3];
			for (uint32_t r = 0; r < job.p; r++) /* each client has a member */
				job.of[r] = r < clients
						    ? r % clients
						    : (uint32_t)base_prng_below(&job.rng, clients);
			for (uint32_t r = job.p; r-- > 1;) { /* in any order */
				uint32_t s = (uint32_t)base_prng_below(&job.rng, r + 1);
				uint32_t t = job.of[r];

				job.of[r] = job.of[s];
				job.of[s] = t;
			}
			job.root = (uint32_t)base_prng_below(&job.rng, job.p);
			variants(o);
		}
	assert_true(messages > 1000);
}

#define TEST(op, fn)                 \
	static void fn(void **state) \
	{                            \
		(void)state;         \
		sweep(op);           \
	}
TEST(COLL_BARRIER, test_barrier)
TEST(COLL_BCAST, test_bcast)
TEST(COLL_REDUCE, test_reduce)
TEST(COLL_ALLREDUCE, test_allreduce)
TEST(COLL_GATHER, test_gather)
TEST(COLL_SCATTER, test_scatter)
TEST(COLL_ALLGATHER, test_allgather)
TEST(COLL_ALLTOALL, test_alltoall)
TEST(COLL_REDUCE_SCATTER, test_reduce_scatter)
TEST(COLL_SCAN, test_scan)

/* The example of reference 7.2 and the order of 7.3 by hand: masters are 0, 2, 6. */
static void
test_by_hand(void **state)
{
	static const uint32_t of[8] = {0, 0, 1, 1, 0, 1, 2, 2};
	/* what master 0 does between clients, linear: hears 2, 6, then answers 2, 6 */
	static const struct {
		enum coll_kind kind;
		uint32_t peer;
	} due[] = {
		{COLL_STEP_RECV, 2}, {COLL_STEP_RECV, 6}, {COLL_STEP_SEND, 2}, {COLL_STEP_SEND, 6}};
	struct coll_args a = {
		.op = COLL_BARRIER, .size = 8, .elem = 1, .cluster_of = of, .maxlinear = 3};
	struct coll_schedule s;
	size_t room = coll_arena_hint(&a), n = 0;
	void *arena = malloc(room);

	(void)state;
	assert_int_equal(coll_build(&s, &a, COLL_IMPI, arena, room), COLL_ERR_OK);
	for (uint32_t i = 0; i < s.steps; i++) {
		if (s.step[i].tag == 0)
			continue;
		assert_true(n < 4);
		assert_int_equal(s.step[i].tag, 110);
		assert_int_equal(s.step[i].kind, due[n].kind);
		assert_int_equal(s.step[i].peer, due[n++].peer);
	}
	assert_int_equal(n, 4);
	a.rank = 4; /* no master: nothing abroad */
	assert_int_equal(coll_build(&s, &a, COLL_IMPI, arena, room), COLL_ERR_OK);
	for (uint32_t i = 0; i < s.steps; i++)
		assert_int_equal(s.step[i].tag, 0);
	/* one client is no case for the profile */
	a.cluster_of = (const uint32_t[8]){0};
	assert_int_equal(coll_build(&s, &a, COLL_IMPI, arena, room), COLL_ERR_RESTRICT);
	free(arena);
}

/* Large communicators of 32 clients: the arena that the hint promises suffices, for
 * roots, masters and others. */
static void
test_many(void **state)
{
	enum { P = 2000, CLIENTS = 32 };
	static uint32_t of[P];
	const enum coll_op ops[] = {
		COLL_BARRIER, COLL_BCAST,     COLL_REDUCE,   COLL_ALLREDUCE,	  COLL_GATHER,
		COLL_SCATTER, COLL_ALLGATHER, COLL_ALLTOALL, COLL_REDUCE_SCATTER, COLL_SCAN};
	struct coll_args a = {.size = P, .elem = 8, .cluster_of = of, .root = 77};

	(void)state;
	for (uint32_t r = 0; r < P; r++)
		of[r] = r * 7 % CLIENTS;
	for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
		for (uint32_t v = 0; v < 16; v++) {
			static const uint32_t ranks[] = {0, 1, 77, 1999};
			struct coll_schedule s;
			size_t room = coll_arena_hint(&a);
			void *arena = malloc(room);

			a.op = ops[o];
			a.rank = ranks[v & 3];
			a.commutative = v & 4;
			a.maxlinear = v & 8 ? 64 : 4;
			a.bytes = a.wire_bytes = 8;
			a.xsize = 1024;
			assert_int_equal(coll_build(&s, &a, COLL_IMPI, arena, room), COLL_ERR_OK);
			free(arena);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),	  cmocka_unit_test(test_barrier),
		cmocka_unit_test(test_bcast),	  cmocka_unit_test(test_reduce),
		cmocka_unit_test(test_allreduce), cmocka_unit_test(test_gather),
		cmocka_unit_test(test_scatter),	  cmocka_unit_test(test_allgather),
		cmocka_unit_test(test_alltoall),  cmocka_unit_test(test_reduce_scatter),
		cmocka_unit_test(test_scan),	  cmocka_unit_test(test_many),
	};
	size_t n = P_MAX * sizeof *want;
	int rc;

	want = calloc(1, n);
	sent = calloc(1, n);
	inside = calloc(1, n);
	if (!want || !sent || !inside)
		return 1;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	free(want);
	free(sent);
	free(inside);
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* is - kernel IS of the NAS Parallel Benchmarks: rank integer keys, ten times.
 *
 *   is [S|W|A|B]         under mpirun; class S by default, a power of two of processes
 *
 * Written from the definition (NASA RNR-94-007, section 2.4; NPB 2 for how keys change and what
 * their ranks are then).  A key is the sum of four random numbers up to a quarter of the largest.
 * Each iteration changes two keys, which makes it another problem, and finds for every key how
 * many are less: its rank.
 *
 * Keys move to the process that has their range: an allreduce of how many are in each bucket, an
 * alltoall of counts, an alltoallv of keys.  Counting ranks them there.
 *
 * Partial verification: five keys' ranks are published for each iteration.  Full verification: in
 * the order of their ranks keys do not fall, over all processes, and are the keys there were; a
 * sum of hashes shows the latter, which is ours.  Exit status 1: not verified. */
#include "npb.h"

#define ITERATIONS 10
#define TESTS	   5

static const struct is_class {
	char name;
	int log_keys, log_max, log_buckets;
	/* Places of five keys; their ranks, which grow with the iteration (those of the bits
	 * "up") or fall, beginning at up_from, down_from. */
	uint32_t at[TESTS], rank[TESTS];
	int up, up_from, down_from;
} classes[] = {
	{.name = 'S',
	 .log_keys = 16,
	 .log_max = 11,
	 .log_buckets = 9,
	 .at = {48427, 17148, 23627, 62548, 4431},
	 .rank = {0, 18, 346, 64917, 65463},
	 .up = 0x07},
	{.name = 'W',
	 .log_keys = 20,
	 .log_max = 16,
	 .log_buckets = 10,
	 .at = {357773, 934767, 875723, 898999, 404505},
	 .rank = {1249, 11698, 1039987, 1043896, 1048018},
	 .up = 0x03,
	 .up_from = 2},
	{.name = 'A',
	 .log_keys = 23,
	 .log_max = 19,
	 .log_buckets = 10,
	 .at = {2112377, 662041, 5336171, 3642833, 4250760},
	 .rank = {104, 17523, 123928, 8288932, 8388264},
	 .up = 0x07,
	 .up_from = 1,
	 .down_from = 1},
	{.name = 'B',
	 .log_keys = 25,
	 .log_max = 21,
	 .log_buckets = 10,
	 .at = {41869, 812306, 5102857, 18232239, 26860214},
	 .rank = {33422937, 10244, 59149, 33135281, 99},
	 .up = 0x16},
};

struct is {
	const struct is_class *c;
	uint32_t nkeys, nbuckets; /* keys of this process, buckets of all */
	int shift;		  /* a key's bucket is key >> shift */
	uint32_t *keys, *sorted, *got;
	uint32_t got_room, ngot;
	uint32_t *sum, *tmp;	  /* keys by bucket and the five tested keys, of all processes */
	uint32_t *own, *fill;	  /* keys by bucket here; where the next one goes */
	uint32_t *rank_of;	  /* keys up to this one, of my range, in all processes */
	uint32_t lowest, highest; /* my range: lowest <= key < highest */
	uint32_t before;	  /* keys less than lowest */
	int nout[NPB_RANKS_MAX], out_at[NPB_RANKS_MAX], nin[NPB_RANKS_MAX], in_at[NPB_RANKS_MAX];
	uint32_t good; /* tests passed here */
};

static void
new_keys(struct is *s)
{
	uint64_t x = npb_random_at(NPB_SEED, (uint64_t)4 * s->nkeys * (uint64_t)npb_rank());
	double quarter = (double)(1u << s->c->log_max) / 4;
	for (uint32_t i = 0; i < s->nkeys; i++) {
		double r = npb_random(&x);
		r += npb_random(&x);
		r += npb_random(&x);
		r += npb_random(&x);
		s->keys[i] = (uint32_t)(quarter * r);
	}
}

static void
is_new(struct is *s, char name)
{
	memset(s, 0, sizeof *s);
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (classes[i].name == name)
			s->c = &classes[i];
	if (!s->c)
		npb_stop("a class of IS is S, W, A or B");
	if (npb_size() > 1 << s->c->log_buckets)
		npb_stop("more processes than buckets: take a larger class");
	s->nkeys = (1u << s->c->log_keys) / (uint32_t)npb_size();
	s->nbuckets = 1u << s->c->log_buckets;
	s->shift = s->c->log_max - s->c->log_buckets;
	s->keys = npb_new(s->nkeys, sizeof *s->keys);
	s->sorted = npb_new(s->nkeys, sizeof *s->sorted);
	s->sum = npb_new(s->nbuckets + TESTS, sizeof *s->sum);
	s->tmp = npb_new(s->nbuckets + TESTS, sizeof *s->tmp);
	s->own = npb_new(s->nbuckets, sizeof *s->own);
	s->fill = npb_new(s->nbuckets, sizeof *s->fill);
	s->rank_of = npb_new((size_t)1 << s->c->log_max, sizeof *s->rank_of);
	new_keys(s);
}

static void
is_free(struct is *s)
{
	free(s->keys);
	free(s->sorted);
	free(s->got);
	free(s->sum);
	free(s->tmp);
	free(s->own);
	free(s->fill);
	free(s->rank_of);
}

/* Count the buckets of my keys, put the keys in the order of their buckets. */
static void
sort_by_bucket(struct is *s)
{
	memset(s->own, 0, s->nbuckets * sizeof *s->own);
	for (uint32_t i = 0; i < s->nkeys; i++)
		s->own[s->keys[i] >> s->shift]++;
	uint32_t at = 0;
	for (uint32_t b = 0; b < s->nbuckets; b++) {
		s->fill[b] = at;
		at += s->own[b];
	}
	for (uint32_t i = 0; i < s->nkeys; i++)
		s->sorted[s->fill[s->keys[i] >> s->shift]++] = s->keys[i];
}

/* What all processes have in each bucket; the tested keys are told in the same message. */
static void
add_up_buckets(struct is *s)
{
	uint32_t first = s->nkeys * (uint32_t)npb_rank();
	memcpy(s->sum, s->own, s->nbuckets * sizeof *s->sum);
	for (int t = 0; t < TESTS; t++) {
		uint32_t at = s->c->at[t] - first; /* wraps if it is before */
		s->sum[s->nbuckets + (uint32_t)t] = at < s->nkeys ? s->keys[at] : 0;
	}
	npb_sum_u32(s->sum, s->tmp, (int)s->nbuckets + TESTS);
}

/* Give each process neighbouring buckets, of about as many keys as others have. */
static void
share_buckets(struct is *s)
{
	uint64_t total = (uint64_t)1 << s->c->log_keys;
	uint64_t seen = 0;
	uint32_t b = 0;
	int at = 0;
	for (int p = 0; p < npb_size(); p++) {
		uint64_t until = total * (uint64_t)(p + 1) / (uint64_t)npb_size();
		uint32_t first = b;
		int mine = 0;
		if (p == npb_rank())
			s->before = (uint32_t)seen;
		while (b < s->nbuckets && (p == npb_size() - 1 || seen < until)) {
			seen += s->sum[b];
			mine += (int)s->own[b++];
		}
		if (p == npb_rank()) {
			s->lowest = first << s->shift;
			s->highest = b << s->shift;
		}
		s->nout[p] = mine;
		s->out_at[p] = at;
		at += mine;
	}
}

static void
move_keys(struct is *s)
{
	npb_alltoall_int(s->nout, s->nin);
	uint64_t n = 0;
	for (int p = 0; p < npb_size(); p++) {
		s->in_at[p] = (int)n;
		if (s->nin[p] < 0 || s->nin[p] > (int)s->nkeys)
			npb_stop("another process says it has more keys than it can");
		n += (uint64_t)s->nin[p];
	}
	if (n > s->got_room) {
		free(s->got);
		s->got_room = (uint32_t)(n + n / 16);
		s->got = npb_new(s->got_room, sizeof *s->got);
	}
	s->ngot = (uint32_t)n;
	npb_alltoallv_u32(s->sorted, s->nout, s->out_at, s->got, s->nin, s->in_at);
}

/* rank_of[k]: keys of my range up to k.  A key outside is an error of the exchange: not counted,
 * verification will find that. */
static void
count_keys(struct is *s)
{
	uint32_t range = s->highest - s->lowest;
	memset(s->rank_of, 0, range * sizeof *s->rank_of);
	for (uint32_t i = 0; i < s->ngot; i++)
		if (s->got[i] - s->lowest < range)
			s->rank_of[s->got[i] - s->lowest]++;
	for (uint32_t k = 1; k < range; k++)
		s->rank_of[k] += s->rank_of[k - 1];
}

static void
test_ranks(struct is *s, int iteration)
{
	for (int t = 0; t < TESTS; t++) {
		uint32_t key = s->sum[s->nbuckets + (uint32_t)t], k = key - s->lowest;
		if (key < s->lowest || key >= s->highest)
			continue;
		uint32_t rank = s->before + (k ? s->rank_of[k - 1] : 0);
		int change =
			s->c->up >> t & 1 ? iteration - s->c->up_from : s->c->down_from - iteration;
		s->good += rank == s->c->rank[t] + (uint32_t)change;
	}
}

static void
iterate(struct is *s, int iteration)
{
	if (npb_rank() == 0) {
		s->keys[iteration] = (uint32_t)iteration;
		s->keys[iteration + ITERATIONS] = (1u << s->c->log_max) - (uint32_t)iteration;
	}
	sort_by_bucket(s);
	add_up_buckets(s);
	share_buckets(s);
	move_keys(s);
	count_keys(s);
	test_ranks(s, iteration);
}

static uint32_t
hash(uint32_t k)
{
	k = (k + 1) * 0x9e3779b1u;
	k ^= k >> 15;
	return k * 0x85ebca77u;
}

/* Put keys where their ranks say: how many are not in order, or not there. */
static uint32_t
wrong_keys(struct is *s)
{
	uint32_t wrong = 0, range = s->highest - s->lowest;
	uint32_t *place = npb_new(s->ngot, sizeof *place);
	for (uint32_t i = 0; i < s->ngot; i++) {
		uint32_t k = s->got[i] - s->lowest;
		if (k >= range) {
			wrong++;
			continue;
		}
		place[--s->rank_of[k]] = s->got[i];
	}
	for (uint32_t i = 1; i < s->ngot; i++)
		wrong += place[i - 1] > place[i];
	/* Without keys: what no key before is above, and no key behind below. */
	uint32_t last = s->ngot ? place[s->ngot - 1] : s->lowest, left = 0;
	int to = npb_rank() + 1 < npb_size() ? npb_rank() + 1 : -1;
	npb_exchange(to, &last, sizeof last, npb_rank() - 1, &left, sizeof left, sizeof left);
	wrong += npb_rank() > 0 && s->ngot && left > place[0];
	free(place);
	return wrong;
}

/* Are they the keys that there were, ordered by rank, and all tests good? */
static bool
is_verified(struct is *s)
{
	uint32_t sums[4] = {0, 0, wrong_keys(s), s->good}, tmp[4];
	for (uint32_t i = 0; i < s->nkeys; i++)
		sums[0] += hash(s->keys[i]);
	for (uint32_t i = 0; i < s->ngot; i++)
		sums[1] += hash(s->got[i]);
	npb_sum_u32(sums, tmp, 4);
	if (npb_rank() == 0 && sums[0] != sums[1])
		printf(" the keys are not those there were\n");
	if (npb_rank() == 0 && sums[2])
		printf(" %u keys are not in order\n", sums[2]);
	if (npb_rank() == 0 && sums[3] != TESTS * ITERATIONS)
		printf(" %u of %d ranks are right\n", sums[3], TESTS * ITERATIONS);
	return sums[0] == sums[1] && !sums[2] && sums[3] == TESTS * ITERATIONS;
}

int
main(int argc, char **argv)
{
	static struct is s;
	npb_init(&argc, &argv);
	char class = npb_class(argc, argv);
	is_new(&s, class);
	if (npb_rank() == 0)
		printf(" NAS Parallel Benchmarks, IS\n Size: %u (class %c)\n Iterations: %d\n "
		       "Processes: %d\n",
		       1u << s.c->log_keys, class, ITERATIONS, npb_size());
	iterate(&s, 1); /* to have all memory and paths; not timed, not counted */
	s.good = 0;
	npb_barrier();
	double begin = npb_wtime();
	for (int i = 1; i <= ITERATIONS; i++)
		iterate(&s, i);
	double seconds = npb_wtime() - begin;
	npb_barrier();
	struct npb_run run = {.kernel = "IS",
			      .unit = "keys ranked",
			      .class = class,
			      .size = 1l << s.c->log_keys,
			      .iterations = ITERATIONS,
			      .seconds = npb_max_double(seconds),
			      .mop = (double)ITERATIONS * (double)(1u << s.c->log_keys) / 1e6,
			      .verified = is_verified(&s)};
	is_free(&s);
	int rc = npb_report(&run);
	npb_finalize();
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The measurements.  Rank 0 leads: it tells rank 1 how many rounds there will be. */
#include "perf.h"

#include <err.h>
#include <mmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WINDOW	   8	     /* receives posted ahead in a burst */
#define SLICES	   200u	     /* of a ping-pong: the best is what it takes undisturbed */
#define TRIAL_NS   20000000u /* of a first look, to find how many rounds fill the time */
#define ROUNDS_MAX 10000000u
#define TURNS	   9 /* of bursts beside bare ones */
#define LOOKS	   3 /* at a receiver that waits */
#define SWEEP_LOW  256u
#define SWEEP_HIGH (4u << 20)

static uint64_t
runs_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void
perf_die(void)
{
	errx(1, "rank %d: %s", MP_rank(), MP_error());
}

static void
runs_done(mp_handle h)
{
	if (h < 0 || MP_wait(h, NULL) < 0)
		perf_die();
}

static void *
runs_buffer(uint64_t n)
{
	void *b = aligned_alloc(4096, (n + 4096) / 4096 * 4096);
	if (!b)
		err(1, "%llu bytes", (unsigned long long)n);
	memset(b, 1, (n + 4096) / 4096 * 4096);
	return b;
}

/* The number rank 0 has. */
static uint64_t
agree(uint64_t n)
{
	if (MP_rank() == 0)
		runs_done(MP_send_tag(1, 9, &n, sizeof n));
	else
		runs_done(MP_receive_tag(0, 9, &n, sizeof n));
	return n;
}

/* ---- ping-pong ---- */

static double best_ns; /* a round, in the best of some slices of the last ping-pong */

static uint64_t
runs_pingpong(uint64_t size, uint64_t rounds, void *buf)
{
	uint64_t start = runs_now_ns(), slice = rounds / SLICES + 1, since = start;
	best_ns = 1e18;
	for (uint64_t i = 0; i < rounds; i++) {
		if (i && i % slice == 0) {
			uint64_t now = runs_now_ns();
			double ns = (double)(now - since) / (double)slice;
			best_ns = ns < best_ns ? ns : best_ns;
			since = now;
		}
		mp_handle in = MP_rank() ? MP_receive(0, buf, size) : -1, out;
		if (MP_rank() == 0) {
			in = MP_receive(1, buf, size);
			out = MP_send(1, buf, size);
			runs_done(out);
			runs_done(in);
		} else {
			runs_done(in);
			runs_done(MP_send(0, buf, size));
		}
	}
	return runs_now_ns() - start;
}

/* ---- one way: messages to rank 1, who answers 4 bytes at the end (the paper's method) ---- */

static void
receive_burst(uint64_t size, uint64_t rounds, uint8_t *buf)
{
	mp_handle h[WINDOW];
	uint64_t step = (size + 63) / 64 * 64, posted = 0;
	for (uint64_t i = 0; i < rounds; i++) {
		while (posted < rounds && posted < i + WINDOW) {
			uint64_t at = posted % WINDOW;
			h[at] = MP_receive(0, buf + at * step, size);
			posted++;
		}
		runs_done(h[i % WINDOW]);
	}
}

/* Nothing is copied into the area. */
static bool bare;

static uint64_t
burst(uint64_t size, uint64_t rounds, uint8_t *buf)
{
	uint32_t word = 0;
	uint64_t start = runs_now_ns();
	if (MP_rank() == 0) {
		mp_handle in = MP_receive_tag(1, 1, &word, sizeof word);
		for (uint64_t i = 0; i < rounds; i++)
			runs_done(bare ? MP_send_bare(1, size) : MP_send(1, buf, size));
		runs_done(in);
	} else {
		receive_burst(size, rounds, buf);
		runs_done(MP_send_tag(0, 1, &word, sizeof word));
	}
	return runs_now_ns() - start;
}

/* Rounds that fill the time, from rounds that filled some. */
static uint64_t
rounds_for(double seconds, uint64_t rounds, uint64_t took_ns)
{
	double n = (double)rounds * seconds * 1e9 / (double)(took_ns ? took_ns : 1);
	return n < 2 ? 2 : n > ROUNDS_MAX ? ROUNDS_MAX : (uint64_t)n;
}

/* Nanoseconds a round, after a look at how many fill the time. */
static double
measure_runs(const struct perf *p, uint64_t size, void *buf,
	     uint64_t (*run)(uint64_t size, uint64_t rounds, uint8_t *buf), uint64_t *rounds)
{
	uint64_t n = 2, took = run(size, n, buf);
	while (agree(took < TRIAL_NS && n < ROUNDS_MAX)) {
		n *= 4;
		took = run(size, n, buf);
	}
	*rounds = agree(rounds_for(p->seconds, n, took));
	return (double)run(size, *rounds, buf) / (double)*rounds;
}

static uint64_t
pingpong_as_run(uint64_t size, uint64_t rounds, uint8_t *buf)
{
	return runs_pingpong(size, rounds, buf);
}

void
run_pingpong(struct perf *p)
{
	for (unsigned i = 0; i < p->sizes; i++) {
		void *buf = runs_buffer(p->size[i]);
		uint64_t rounds;
		double ns = measure_runs(p, p->size[i], buf, pingpong_as_run, &rounds);
		double half_us = ns / 2e3;
		struct cell c[] = {{"size", (double)p->size[i], 0},
				   {"rounds", (double)rounds, 0},
				   {"half_us", half_us, 2},
				   {"best_half_us", best_ns / 2e3, 2},
				   {"mb_per_s", (double)p->size[i] / half_us, 1}};
		perf_row(p, c, 5);
		free(buf);
	}
}

void
run_burst(struct perf *p)
{
	for (unsigned i = 0; i < p->sizes; i++) {
		uint8_t *buf = runs_buffer(WINDOW * ((p->size[i] + 63) / 64 * 64));
		uint64_t rounds;
		double ns = measure_runs(p, p->size[i], buf, burst, &rounds);
		struct mp_path path;
		if (MP_path(!MP_rank(), &path) < 0)
			perf_die();
		struct cell c[] = {{"size", (double)p->size[i], 0},
				   {"rounds", (double)rounds, 0},
				   {"message_us", ns / 1e3, 2},
				   {"mb_per_s", (double)p->size[i] / ns * 1e3, 1},
				   {"fragment", (double)path.fragment, 0}};
		perf_row(p, c, 5);
		free(buf);
	}
}

/* Of fragments, from 256 bytes by steps of the root of 2. */
#define SWEEP_STEPS  32u
#define SWEEP_ROUNDS 15u

struct sweep {
	unsigned n;
	uint64_t fragment[SWEEP_STEPS], rounds[SWEEP_STEPS];
	double rate[SWEEP_STEPS][SWEEP_ROUNDS];
};

static void
use_fragment(uint64_t f)
{
	if (MP_set_fragment(!MP_rank(), f) < 0)
		perf_die();
}

/* Those that the path takes, and how many bursts of each fill a turn. */
static void
list_fragments(const struct perf *p, struct sweep *w, uint64_t size, uint8_t *buf)
{
	for (w->n = 0; w->n < SWEEP_STEPS; w->n++) {
		uint64_t f = (w->n & 1 ? 362u : 256u) << w->n / 2, rounds = 2;
		struct mp_path path;
		if (f > SWEEP_HIGH)
			return;
		use_fragment(f);
		if (MP_path(!MP_rank(), &path) < 0)
			perf_die();
		/* Clipped: that of before. */
		if (path.fragment != f)
			return;
		(void)burst(size, rounds, buf);
		w->fragment[w->n] = f;
		w->rounds[w->n] = agree(
			rounds_for(p->seconds / SWEEP_ROUNDS, rounds, burst(size, rounds, buf)));
	}
}

static int
by_rate(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* The median of turns: each round goes through all of them, so that what the machine does beside
 * it meets all alike, and none is the best for having been lucky once. */
static double
middle_rate(struct sweep *w, unsigned k)
{
	qsort(w->rate[k], SWEEP_ROUNDS, sizeof w->rate[k][0], by_rate);
	return w->rate[k][SWEEP_ROUNDS / 2];
}

static void
show_sweep(struct perf *p, struct sweep *w, uint64_t size)
{
	double best = 0;
	uint64_t best_at = 0;
	for (unsigned k = 0; k < w->n; k++) {
		double rate = middle_rate(w, k);
		best_at = rate > best ? w->fragment[k] : best_at;
		best = rate > best ? rate : best;
		struct cell c[] = {{"size", (double)size, 0},
				   {"fragment", (double)w->fragment[k], 0},
				   {"mb_per_s", rate, 1}};
		perf_row(p, c, 3);
	}
	struct cell c[] = {{"size", (double)size, 0},
			   {"best_fragment", (double)best_at, 0},
			   {"best_mb_per_s", best, 1}};
	perf_row(p, c, 3);
}

/* A burst of each size with each fragment. */
void
run_sweep(struct perf *p)
{
	static struct sweep w;
	for (unsigned i = 0; i < p->sizes; i++) {
		uint64_t size = p->size[i];
		uint8_t *buf = runs_buffer(WINDOW * ((size + 63) / 64 * 64));
		list_fragments(p, &w, size, buf);
		for (unsigned r = 0; r < SWEEP_ROUNDS; r++)
			for (unsigned k = 0; k < w.n; k++) {
				use_fragment(w.fragment[k]);
				w.rate[k][r] = (double)(size * w.rounds[k]) * 1e3 /
					       (double)burst(size, w.rounds[k], buf);
			}
		show_sweep(p, &w, size);
		free(buf);
	}
	(void)MP_set_fragment(!MP_rank(), 0);
}

/* ---- how much of the receiver's computing is kept while data come ---- */

/* Work that touches no memory; the same for the same n. */
static double
compute_runs(uint64_t n)
{
	volatile double x = 1;
	for (uint64_t i = 0; i < n; i++)
		x = x * 1.0000001 + 1e-9;
	return x;
}

static uint64_t
compute_ns(uint64_t n)
{
	uint64_t start = runs_now_ns();
	(void)compute_runs(n);
	return runs_now_ns() - start;
}

/* The least of some: others may want the processor, too. */
static uint64_t
compute_least_ns(uint64_t n)
{
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < 5; i++) {
		uint64_t took = compute_ns(n);
		least = took < least ? took : least;
	}
	return least;
}

struct overlap {
	uint64_t work, alone_ns, data_ns, both_compute_ns, both_ns;
};

/* Rank 1 posts, computes, and only then waits. */
static void
overlap_once(uint64_t size, uint64_t rounds, uint8_t *buf, struct overlap *o)
{
	mp_handle h[WINDOW];
	uint64_t step = (size + 63) / 64 * 64;
	uint32_t word = 0;
	o->data_ns = burst(size, rounds, buf);
	/* As much work as the data take. */
	o->work = 100000;
	while (compute_least_ns(o->work) < o->data_ns && o->work < UINT64_MAX / 4)
		o->work *= 2;
	o->alone_ns = compute_least_ns(o->work);
	if (MP_barrier() < 0)
		perf_die();
	uint64_t start = runs_now_ns();
	if (MP_rank() == 0) {
		mp_handle in = MP_receive_tag(1, 1, &word, sizeof word);
		for (uint64_t i = 0; i < rounds; i++)
			runs_done(MP_send(1, buf, size));
		runs_done(in);
	} else {
		for (uint64_t i = 0; i < rounds; i++)
			h[i] = MP_receive(0, buf + i * step, size);
		o->both_compute_ns = compute_ns(o->work);
		for (uint64_t i = 0; i < rounds; i++)
			runs_done(h[i]);
		runs_done(MP_send_tag(0, 1, &word, sizeof word));
	}
	o->both_ns = runs_now_ns() - start;
}

void
run_overlap(struct perf *p)
{
	for (unsigned i = 0; i < p->sizes; i++) {
		uint8_t *buf = runs_buffer(WINDOW * ((p->size[i] + 63) / 64 * 64));
		struct overlap o = {0};
		overlap_once(p->size[i], WINDOW, buf, &o);
		/* Rank 0 prints what rank 1 saw. */
		if (MP_rank() == 1)
			runs_done(MP_send_tag(0, 2, &o, sizeof o));
		else
			runs_done(MP_receive_tag(1, 2, &o, sizeof o));
		struct cell c[] = {
			{"size", (double)p->size[i], 0},
			{"data_ms", (double)o.data_ns / 1e6, 2},
			{"compute_ms", (double)o.alone_ns / 1e6, 2},
			{"both_ms", (double)o.both_ns / 1e6, 2},
			{"compute_kept", (double)o.alone_ns / (double)o.both_compute_ns, 3}};
		perf_row(p, c, 5);
		free(buf);
	}
}

/* ---- what copying costs: bursts with and without it, in turns beside each other ---- */

static int
by_runs_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double
runs_median(double *v, unsigned n)
{
	qsort(v, n, sizeof *v, by_runs_value);
	return v[n / 2];
}

void
run_bare(struct perf *p)
{
	for (unsigned i = 0; i < p->sizes; i++) {
		uint8_t *buf = runs_buffer(WINDOW * ((p->size[i] + 63) / 64 * 64));
		double own[TURNS], without[TURNS], part[TURNS], size = (double)p->size[i];
		uint64_t rounds;
		struct perf look = {.seconds = p->seconds / (2 * TURNS)};
		(void)measure_runs(&look, p->size[i], buf, burst, &rounds);
		for (unsigned k = 0; k < TURNS; k++) {
			own[k] = (double)burst(p->size[i], rounds, buf) / (double)rounds;
			bare = true;
			without[k] = (double)burst(p->size[i], rounds, buf) / (double)rounds;
			bare = false;
			part[k] = without[k] / own[k];
		}
		struct cell c[] = {{"size", size, 0},
				   {"rounds", (double)rounds, 0},
				   {"mb_per_s", size / runs_median(own, TURNS) * 1e3, 2},
				   {"bare_mb_per_s", size / runs_median(without, TURNS) * 1e3, 2},
				   {"of_bare", runs_median(part, TURNS), 4}};
		perf_row(p, c, 5);
		free(buf);
	}
}

/* ---- a receiver that makes no call: when has all left our area? ---- */

static uint64_t
drain_runs(uint64_t size, void *buf)
{
	uint32_t word = 0;
	struct mp_path path;
	uint64_t start = runs_now_ns();
	mp_handle out = MP_send(1, buf, size), in = MP_receive_tag(1, 1, &word, sizeof word);
	runs_done(out);
	do {
		if (in < 0 || MP_path(1, &path) < 0)
			perf_die();
		/* The engine's turn, where it has no thread. */
		int r = MP_test(in, NULL);
		if (r < 0)
			perf_die();
		if (r)
			return runs_now_ns() - start;
	} while (path.send_used);
	uint64_t took = runs_now_ns() - start;
	runs_done(in);
	return took;
}

void
run_busy(struct perf *p)
{
	for (unsigned i = 0; i < p->sizes; i++) {
		uint8_t *buf = runs_buffer(p->size[i]);
		uint64_t wire = UINT64_MAX, busy = 0;
		uint32_t word = 0;
		/* The best of some while it waits, then once while it computes. */
		for (int k = 0; k <= LOOKS; k++) {
			bool computes = k == LOOKS;
			if (MP_barrier() < 0)
				perf_die();
			if (MP_rank() == 0) {
				uint64_t took = drain_runs(p->size[i], buf);
				busy = took;
				wire = !computes && took < wire ? took : wire;
				continue;
			}
			uint64_t until = runs_now_ns() + (uint64_t)(p->seconds * 1e9);
			while (computes && runs_now_ns() < until)
				(void)compute_runs(1000);
			runs_done(MP_receive(0, buf, p->size[i]));
			runs_done(MP_send_tag(0, 1, &word, sizeof word));
		}
		struct cell c[] = {{"size", (double)p->size[i], 0},
				   {"wire_ms", (double)wire / 1e6, 3},
				   {"busy_ms", (double)busy / 1e6, 3}};
		if (MP_rank() == 0)
			perf_row(p, c, 3);
		free(buf);
	}
}

void
run_tune(struct perf *p)
{
	struct mp_path before, path;
	uint64_t start = runs_now_ns();
	if (MP_path(!MP_rank(), &before) < 0)
		perf_die();
	if (MP_tune(!MP_rank(), p->seconds) < 0 || MP_path(!MP_rank(), &path) < 0)
		perf_die();
	struct cell c[] = {{"before", (double)before.fragment, 0},
			   {"fragment", (double)path.fragment, 0},
			   {"run_bytes", (double)path.run, 0},
			   {"mb_per_s", (double)path.own_bps / 1e6, 1},
			   {"bare_mb_per_s", (double)path.bare_bps / 1e6, 1},
			   {"seconds", (double)(runs_now_ns() - start) / 1e9, 2}};
	perf_row(p, c, 6);
}

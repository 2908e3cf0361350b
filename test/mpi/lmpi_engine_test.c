/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine by itself, under a launcher: mpirun -np N lmpi_engine_test [what].
 *
 * Every byte is checked.  LIBMPI_TRANSPORT=udp makes the ranks of one node talk
 * Suci over loopback; LIBMPI_CMA=0 makes long messages go through the rings.
 *
 *   check    (default) everything below but speed
 *   speed    half round trip and bandwidth between ranks 0 and 1
 *   die      rank 1 exits in the middle: the others must not hang */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(cond)                                                                          \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			char text[200];                                                      \
			snprintf(text, sizeof text, "%s:%d: %s", __FILE__, __LINE__, #cond); \
			lmpi_engine_abort(3, text);                                          \
		}                                                                            \
	} while (0)

static uint32_t me, n;

static uint8_t
byte_at(uint32_t seed, uint64_t i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xff51afd7ed558ccdull;
	return (uint8_t)(x >> 56);
}

static void
fill(uint8_t *p, uint64_t len, uint32_t seed)
{
	for (uint64_t i = 0; i < len; i++)
		p[i] = byte_at(seed, i);
}

static bool
good(const uint8_t *p, uint64_t len, uint32_t seed)
{
	for (uint64_t i = 0; i < len; i++) {
		if (p[i] != byte_at(seed, i))
			return false;
	}
	return true;
}

static void
do_send(const void *p, uint64_t len, uint32_t to, int tag, uint64_t cid, enum lmpi_mode mode)
{
	struct lmpi_req r = {0};
	lmpi_isend(&r, p, len, to, (int)me, tag, cid, mode);
	lmpi_wait(&r.done);
	CHECK(r.error == 0);
}

static struct lmpi_req
do_recv(void *p, uint64_t cap, int from, int tag, uint64_t cid)
{
	struct lmpi_req r = {0};
	lmpi_irecv(&r, p, cap, from, tag, cid);
	lmpi_wait(&r.done);
	return r;
}

static void
barrier(void)
{
	char c = 0;
	for (uint32_t k = 1; k < n; k <<= 1) {
		struct lmpi_req s = {0}, r = {0};
		lmpi_irecv(&r, &c, 1, (int)((me + n - k) % n), 7, 1);
		lmpi_isend(&s, &c, 1, (me + k) % n, (int)me, 7, 1, LMPI_STANDARD);
		lmpi_wait(&s.done);
		lmpi_wait(&r.done);
	}
}

static void
ping_pong_sizes(void)
{
	static const uint64_t len[] = {0,      1,	8,	 64,	  65,
				       4096,   8192,	8193,	 65536,	  65537,
				       100000, 1 << 20, 1048577, 5000000, 16 << 20};
	uint8_t *p = malloc(16 << 20), *q = malloc(16 << 20);

	for (size_t i = 0; n > 1 && i < sizeof len / sizeof len[0]; i++) {
		for (int mode = LMPI_STANDARD; mode <= LMPI_SYNC; mode++) {
			uint32_t peer = me ^ 1;
			if (peer >= n)
				continue;
			fill(p, len[i], me);
			memset(q, 0xee, len[i]);
			if (me & 1) {
				struct lmpi_req r = do_recv(q, len[i], (int)peer, 5, 0);
				CHECK(r.bytes == len[i] && r.error == 0 && r.source == (int)peer);
				do_send(p, len[i], peer, 6, 0, (enum lmpi_mode)mode);
			} else {
				do_send(p, len[i], peer, 5, 0, (enum lmpi_mode)mode);
				struct lmpi_req r = do_recv(q, len[i], (int)peer, 6, 0);
				CHECK(r.bytes == len[i] && r.error == 0);
			}
			CHECK(good(q, len[i], peer));
		}
	}
	free(p);
	free(q);
}

/* Everybody to everybody, myself included, all at once; receives posted late,
 * from anybody and with any tag. */
static void
all_pairs(uint64_t len)
{
	struct lmpi_req *s = calloc(n, sizeof *s), *r = calloc(n, sizeof *r);
	uint8_t *out = malloc(len + 1), *in = malloc((len + 1) * n);

	fill(out, len, me);
	for (uint32_t i = 0; i < n; i++)
		lmpi_isend(&s[i], out, len, (me + i) % n, (int)me, 100 + (int)me, 0, LMPI_STANDARD);
	for (int i = 0; i < 20; i++)
		lmpi_progress();
	for (uint32_t i = 0; i < n; i++)
		lmpi_irecv(&r[i], in + i * (len + 1), len, LMPI_ANY_SOURCE, LMPI_ANY_TAG, 0);
	uint64_t seen = 0;
	for (uint32_t i = 0; i < n; i++) {
		lmpi_wait(&r[i].done);
		CHECK(r[i].error == 0 && r[i].bytes == len && r[i].tag == 100 + r[i].source);
		CHECK(good(in + i * (len + 1), len, (uint32_t)r[i].source));
		seen |= 1ull << r[i].source;
	}
	CHECK(seen == (n == 64 ? ~0ull : (1ull << n) - 1));
	for (uint32_t i = 0; i < n; i++)
		lmpi_wait(&s[i].done);
	free(s);
	free(r);
	free(out);
	free(in);
	barrier();
}

/* Rank 0 takes count small messages from each other rank, in order of each. */
static void
flood(uint32_t count)
{
	uint32_t v[4];

	if (me == 0) {
		uint32_t *next = calloc(n, sizeof *next);
		for (uint64_t i = 0; i < (uint64_t)count * (n - 1); i++) {
			struct lmpi_req r = do_recv(v, sizeof v, LMPI_ANY_SOURCE, 9, 0);
			CHECK(r.bytes == sizeof v && v[0] == (uint32_t)r.source);
			CHECK(v[1] == next[r.source]++);
		}
		free(next);
	} else {
		for (uint32_t i = 0; i < count; i++) {
			v[0] = me;
			v[1] = i;
			v[2] = v[3] = ~i;
			do_send(v, sizeof v, 0, 9, 0, LMPI_STANDARD);
		}
	}
	barrier();
}

/* Nobody receives until everything is sent: more than the memory allowed for
 * unexpected messages, so the receiver has to hold the senders back. */
static void
unexpected_bound(void)
{
	enum { COUNT = 400, LEN = 8000 };
	uint8_t *p = malloc(LEN);
	struct lmpi_req *s = calloc(COUNT, sizeof *s);

	if (me == 1) {
		fill(p, LEN, 1);
		for (int i = 0; i < COUNT; i++)
			lmpi_isend(&s[i], p, LEN, 0, 1, i, 0, i % 7 ? LMPI_STANDARD : LMPI_SYNC);
		char c;
		do_recv(&c, 1, 0, 77, 0);
		for (int i = 0; i < COUNT; i++)
			lmpi_wait(&s[i].done);
	} else if (me == 0 && n > 1) {
		double until = lmpi_wtime() + 0.2;
		while (lmpi_wtime() < until)
			lmpi_progress();
		do_send("x", 1, 1, 77, 0, LMPI_STANDARD);
		for (int i = COUNT - 1; i >= 0; i--) { /* against the order of sending */
			memset(p, 0, LEN);
			struct lmpi_req r = do_recv(p, LEN, 1, i, 0);
			CHECK(r.bytes == LEN && good(p, LEN, 1));
		}
	}
	free(p);
	free(s);
	barrier();
}

static void
both_ways(uint64_t len)
{
	uint32_t to = (me + 1) % n, from = (me + n - 1) % n;
	uint8_t *p = malloc(len), *q = malloc(len);

	fill(p, len, me);
	for (int i = 0; i < 3; i++) {
		struct lmpi_req s = {0}, r = {0};
		memset(q, 0, len);
		lmpi_isend(&s, p, len, to, (int)me, 3, 0, LMPI_STANDARD);
		lmpi_irecv(&r, q, len, (int)from, 3, 0);
		lmpi_wait(&r.done);
		lmpi_wait(&s.done);
		CHECK(r.bytes == len && good(q, len, from));
	}
	free(p);
	free(q);
	barrier();
}

static void
truncation_and_probe(uint64_t len)
{
	uint8_t *p = malloc(len);

	if (me == 0 && n > 1) {
		fill(p, len, 42);
		do_send(p, len, 1, 1, 4, LMPI_STANDARD);
		do_send(p, len, 1, 2, 4, LMPI_SYNC);
		do_send(p, len, 1, 3, 4, LMPI_STANDARD);
	} else if (me == 1) {
		struct lmpi_req r = do_recv(p, len / 2, 0, 1, 4);
		CHECK(r.error == 15 && r.bytes == len && good(p, len / 2, 42));
		struct lmpi_probed m;
		while (!lmpi_iprobe(LMPI_ANY_SOURCE, LMPI_ANY_TAG, 4, true, &m))
			lmpi_poke();
		CHECK(m.source == 0 && m.tag == 2 && m.bytes == len);
		struct lmpi_req x = {0};
		lmpi_mrecv(&x, p, len, m.message);
		lmpi_wait(&x.done);
		CHECK(x.tag == 2 && x.bytes == len && good(p, len, 42));
		struct lmpi_req c = {0};
		lmpi_irecv(&c, p, len, 0, 99, 4);
		CHECK(lmpi_cancel_recv(&c) && c.done && c.cancelled);
		r = do_recv(p, len, 0, 3, 4);
		CHECK(r.error == 0 && good(p, len, 42));
	}
	free(p);
	barrier();
}

static int chained;
static struct lmpi_req chain[2];
static char chain_byte[2];

static void
next_link(struct lmpi_req *req)
{
	(void)req;
	if (++chained >= 20000)
		return;
	chain[0].on_done = next_link;
	lmpi_irecv(&chain[0], &chain_byte[0], 1, (int)me, 8, 6);
	lmpi_isend(&chain[1], &chain_byte[1], 1, me, (int)me, 8, 6, LMPI_STANDARD);
}

/* Operations posted by completions, long enough to end a stack that grew. */
static void
chain_of_callbacks(void)
{
	next_link(NULL);
	while (chained < 20000)
		lmpi_progress();
}

static void
speed(void)
{
	uint8_t *p = calloc(1, 4 << 20);
	static const struct {
		uint64_t len;
		int reps;
	} row[] = {{8, 20000}, {1024, 10000}, {65536, 2000}, {1 << 20, 300}, {4 << 20, 80}};

	for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
		double t = 0;
		barrier();
		for (int i = -row[k].reps / 10; me < 2 && i < row[k].reps; i++) {
			if (i == 0)
				t = lmpi_wtime();
			if (me == 0) {
				do_send(p, row[k].len, 1, 1, 0, LMPI_STANDARD);
				do_recv(p, row[k].len, 1, 1, 0);
			} else {
				do_recv(p, row[k].len, 0, 1, 0);
				do_send(p, row[k].len, 0, 1, 0, LMPI_STANDARD);
			}
		}
		t = (lmpi_wtime() - t) / row[k].reps / 2;
		if (me == 0)
			printf("%8llu B  half round trip %9.2f us  %9.1f MB/s\n",
			       (unsigned long long)row[k].len, t * 1e6,
			       (double)row[k].len / t / 1e6);
	}
	barrier();
	free(p);
}

static void
die(void)
{
	if (me == 1) {
		usleep(200000);
		_exit(9);
	}
	char c;
	do_recv(&c, 1, 1, 1, 0);
}

static void
say(const char *what)
{
	if (me == 0) {
		printf("%s: ok\n", what);
		fflush(stdout);
	}
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "check";

	if (lmpi_engine_init())
		return 1;
	me = lmpi_world.rank;
	n = lmpi_world.size;
	if (strcmp(what, "speed") == 0 && n > 1) {
		speed();
	} else if (strcmp(what, "die") == 0) {
		die();
	} else {
		chain_of_callbacks();
		say("callbacks");
		ping_pong_sizes();
		barrier();
		say("ping-pong 0 B to 16 MB");
		all_pairs(0);
		all_pairs(10);
		all_pairs(9000);
		all_pairs(300000);
		say("all pairs");
		truncation_and_probe(100);
		truncation_and_probe(200000);
		say("truncation, probe, cancel");
		unexpected_bound();
		say("unexpected messages");
		both_ways(4 << 20);
		say("both ways");
		flood(n > 1 ? 100000 / (n - 1) : 0);
		say("flood");
	}
	/* As MPI_Finalize does: nobody leaves before all have met. */
	lmpi_engine_quiesce();
	barrier();
	if (lmpi_engine_fini())
		return 1;
	if (me == 0 && strcmp(what, "check") == 0)
		printf("all passed on %u ranks\n", n);
	return 0;
}

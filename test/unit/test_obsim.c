/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces of obsim, written by hand and by libmpitrace, and what non-blocking calls cost in them. */
#include "cmocka_all.h"

#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* alpha 1 ms, a byte 1 us, gamma 10 ms: a broadcast of 4000 B between two takes 15 ms from
 * darkness. */
static struct obs_setting
setting(bool blocking, bool foresight)
{
	return (struct obs_setting){.strategy = OBS_PIPELINED,
				    .k = 2,
				    .costs = {1e-3, 1e-6, 0.01, 2e-3, 1e-5, 0, 0},
				    .blocking = blocking,
				    .foresight = foresight};
}

static double
total_s(const struct obs_trace *t, bool blocking, bool foresight)
{
	struct obs_setting s = setting(blocking, foresight);
	struct obs_report r;
	assert_true(obs_replay(t, &s, &r));
	obs_report_free(&r);
	return r.total_s;
}

static void
near(double a, double b)
{
	if (a < b - 1e-9 || a > b + 1e-9)
		fail_msg("%.9f, not %.9f", a, b);
}

static void
test_overlap(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double s, blocking_s;
	} cases[] = {
		{"bcast 4000\n", .015, .015},
		/* hidden behind the computing, in part, not at all */
		{"start bcast 4000\ncompute 1\nwait\n", 1, 1.015},
		{"start bcast 4000\ncompute 0.005\nwait\n", .015, .020},
		{"start bcast 4000\nwait\ncompute 0.005\n", .020, .020},
		/* what nobody waits for comes to its end, too */
		{"start bcast 4000\ncompute 0.005\n", .015, .020},
		/* one rank has something to do */
		{"start bcast 4000\ncompute 1 0.050\nwait\ncompute 0 0.010\n", .050, .065},
		/* in turns: pipelined lets go of what was lit */
		{"start bcast 4000\nstart bcast 4000\nwait\nwait\n", .030, .030},
		{"start bcast 4000\nbcast 4000\nwait\n", .030, .030},
		{"start bcast 4000\nstart bcast 4000\ncompute 0.020\nwait\nwait\n", .030, .050},
		/* the first wait is for the first start */
		{"start bcast 4000\nstart bcast 4000\nwait\ncompute 0.020\nwait\n", .035, .050},
		{"repeat 3\nstart bcast 4000\ncompute 0.020\nwait\nend\n", .060, .105},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[512];
		struct obs_trace t;
		int n = snprintf(text, sizeof text, "ranks 2\n%s", cases[i].text);
		printf("  %s", cases[i].text);
		assert_true(obs_trace_text(&t, text, (size_t)n));
		near(total_s(&t, false, false), cases[i].s);
		near(total_s(&t, true, false), cases[i].blocking_s);
		obs_trace_free(&t);
	}
}

/* Messages between two, and calls of some: nobody else waits for them. */
static void
test_of_some(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double s;
	} cases[] = {
		{"send 0 1 4000\n", .015},
		{"send 3 1 4000\n", .015},
		/* side by side, and one behind the other */
		{"send 0 1 4000\nsend 2 3 4000\n", .015},
		{"send 0 1 4000\nsend 1 2 4000\n", .030},
		{"repeat 3\nsend 0 1 4000\nsend 2 3 4000\nend\n", .045},
		{"bcast 4000 among=0,2\nbcast 4000 root=3 among=1,3\n", .015},
		{"bcast 4000 root=2 among=0-2\nbcast 4000 root=1 among=1,3\n", .030},
		/* rank 0 computes, and the others do not wait for it */
		{"compute 0 0.050\nbcast 4000 root=1 among=1-3\n", .050},
		{"compute 0 0.050\nbcast 4000 root=1 among=1-3\nsend 1 0 4000\n", .065},
		{"bcast 4000 among=0-3\n", .020},
		{"bcast 4000\n", .020},
	};
	static const char *const bad[] = {"send 0 0 1\n",
					  "send 0 4 1\n",
					  "send 0 1\n",
					  "bcast 1 among=0\n",
					  "bcast 1 among=0,0\n",
					  "bcast 1 among=2,0\n",
					  "bcast 1 among=0-4\n",
					  "bcast 1 among=0,\n",
					  "bcast 1 among=0-\n",
					  "bcast 1 among=1,2\n",
					  "bcast 1 root=1 among=0,2\n",
					  "start bcast 1 among=0,1\n"};
	struct obs_trace t;
	char text[512];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int n = snprintf(text, sizeof text, "ranks 4\n%s", cases[i].text);
		printf("  %s", cases[i].text);
		assert_true(obs_trace_text(&t, text, (size_t)n));
		near(total_s(&t, false, false), cases[i].s);
		obs_trace_free(&t);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int n = snprintf(text, sizeof text, "ranks 4\n%s", bad[i]);
		printf("  %s", bad[i]);
		assert_false(obs_trace_text(&t, text, (size_t)n));
		assert_non_null(strstr(t.why, "line 2: "));
		obs_trace_free(&t);
	}
}

/* Circuits of the next call may be set from the end of the one before on, never earlier. */
static void
test_foresight(void **state)
{
	(void)state;
	static const char text[] = "ranks 2\nstart bcast 4000\nstart bcast 4000\n"
				   "compute 0.1\nwait\nwait\nbcast 4000\n";
	struct obs_trace t;
	assert_true(obs_trace_text(&t, text, sizeof text - 1));
	near(total_s(&t, false, true), .105);
	near(total_s(&t, true, true), .035 + .1);
	obs_trace_free(&t);
}

static void
test_refused(void **state)
{
	(void)state;
	static const char *const cases[] = {
		"ranks 2\nwait\n",
		"ranks 2\nstart bcast 8\nwait\nwait\n",
		"ranks 2\nrepeat 2\nstart bcast 8\nwait\nwait\nend\n",
		"ranks 2\nwait 1\n",
		"ranks 2\nstart\n",
		"ranks 2\nstart bcast\n",
		"ranks 2\nstart wait\n",
		"ranks 2\nstart compute 1\n",
		"ranks 2\nrepeat 1025\nstart bcast 8\nend\n",
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct obs_trace t;
		printf("  case %zu\n", i);
		assert_false(obs_trace_text(&t, cases[i], strlen(cases[i])));
		assert_true(t.why[0]);
		obs_trace_free(&t);
	}
}

/* ---- files of libmpitrace */

struct file {
	uint8_t data[2048];
	size_t len;
};

static void
put(struct file *f, uint64_t v)
{
	do {
		f->data[f->len++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
	} while (v);
}

enum { BCAST, IBCAST, WAITALL, TEST, IALLREDUCE, IGATHER, INEIGHBOR, SEND, RECV, NAMES };
static const char *const name[NAMES] = {"MPI_Bcast",
					"MPI_Ibcast",
					"MPI_Waitall",
					"MPI_Test",
					"MPI_Iallreduce",
					"MPI_Igatherv",
					"MPI_Ineighbor_allgather",
					"MPI_Send",
					"MPI_Recv"};

static void
head(struct file *f, uint32_t rank, uint32_t ranks)
{
	memcpy(f->data, "LMPITRC1", 8);
	f->len = 8;
	put(f, rank);
	put(f, ranks);
	put(f, 0);
	put(f, NAMES);
	for (int i = 0; i < NAMES; i++) {
		put(f, strlen(name[i]));
		memcpy(f->data + f->len, name[i], strlen(name[i]));
		f->len += strlen(name[i]);
	}
}

static void
begin(struct file *f, uint32_t rank)
{
	head(f, rank, 2);
	static const uint8_t world[] = {2, 1, 2, 0, 1, 0}, self[] = {2, 2, 1, 0, 0};
	memcpy(f->data + f->len, world, sizeof world);
	f->len += sizeof world;
	memcpy(f->data + f->len, self, sizeof self);
	f->len += sizeof self;
}

/* What the program computed before it, and time inside, in ms; comm 1: both ranks, 2: one. */
static void
called(struct file *f, int what, uint64_t ms, uint64_t inside_ms, uint64_t comm)
{
	put(f, 1);
	put(f, (uint64_t)what);
	put(f, ms * 1000000);
	put(f, inside_ms * 1000000);
	put(f, comm);
	put(f, comm ? 0 : 1); /* root 0, or none */
	put(f, 1);
	put(f, comm ? 4000 : 0);
	put(f, 0);
}

static void
request(struct file *f, bool start, uint64_t number)
{
	put(f, start ? 4 : 5);
	put(f, number);
}

static void
done(struct file *f)
{
	put(f, 3);
	put(f, 0);
}

static bool
parsed_all(struct obs_trace *t, const struct file *f, uint32_t n)
{
	const void *data[5];
	size_t len[5];
	for (uint32_t i = 0; i < n; i++) {
		data[i] = f[i].data;
		len[i] = f[i].len;
	}
	bool ok = obs_trace_mpi(t, data, len, n);
	if (!ok)
		printf("  %s\n", t->why);
	return ok;
}

static bool
parsed(struct obs_trace *t, const struct file f[2])
{
	return parsed_all(t, f, 2);
}

/* Communicator `number` of these ranks, which are digits. */
static void
communicator(struct file *f, uint64_t number, const char *ranks)
{
	put(f, 2);
	put(f, number);
	put(f, strlen(ranks));
	for (; *ranks; ranks++)
		put(f, (uint64_t)(*ranks - '0'));
	put(f, 0);
}

/* Calls of halves, each of which has its own communicator; nobody waits for the other half. */
static void
test_traced_halves(void **state)
{
	(void)state;
	static const struct {
		const char *high;   /* of ranks 2 and 3, the first is its root */
		unsigned behind_ms; /* computed behind the start; 0: blocking */
		const char *text;
	} cases[] = {
		{"23", 0,
		 "ranks 4\nbcast 4000 among=0,1\ncompute 2 0.010\ncompute 3 0.010\n"
		 "bcast 4000 root=2 among=2,3\nbcast 4000\n"},
		{"32", 0,
		 "ranks 4\nbcast 4000 among=0,1\ncompute 2 0.010\ncompute 3 0.010\n"
		 "bcast 4000 root=3 among=2,3\nbcast 4000\n"},
		/* they hide what is computed, or are hidden */
		{"23", 5,
		 "ranks 4\nbcast 4000 among=0,1\ncompute 2 0.010\ncompute 3 0.010\n"
		 "bcast 4000 root=2 among=2,3\nbcast 4000\n"},
		{"23", 50,
		 "ranks 4\ncompute 2 0.010\ncompute 3 0.010\ncompute 0.050\nbcast 4000\n"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct file f[4];
		struct obs_trace t, text;
		for (uint32_t r = 0; r < 4; r++) {
			head(&f[r], r, 4);
			if (r == 1) /* each numbers them as it comes to them */
				communicator(&f[r], 1, "0123");
			communicator(&f[r], 1 + (r == 1), r < 2 ? "01" : cases[i].high);
			if (r != 1)
				communicator(&f[r], 2, "0123");
			called(&f[r], cases[i].behind_ms ? IBCAST : BCAST, r < 2 ? 0 : 10, 0,
			       1 + (r == 1));
			if (cases[i].behind_ms) {
				request(&f[r], true, 1);
				called(&f[r], WAITALL, cases[i].behind_ms, 0, 0);
				request(&f[r], false, 1);
			}
			called(&f[r], BCAST, 0, 0, 2 - (r == 1));
			done(&f[r]);
		}
		printf("  case %zu\n", i);
		assert_true(parsed_all(&t, f, 4));
		assert_int_equal(t.starts, cases[i].behind_ms ? 2 : 0);
		assert_true(obs_trace_text(&text, cases[i].text, strlen(cases[i].text)));
		near(total_s(&t, false, false), total_s(&text, false, false));
		obs_trace_free(&text);
		obs_trace_free(&t);
	}
}

static bool
comes_to_its_end(const struct obs_trace *t)
{
	struct obs_setting s = setting(false, false);
	struct obs_report r;
	bool ok = obs_replay(t, &s, &r);
	if (!ok)
		printf("  %s\n", r.why);
	assert_int_equal(ok, !*r.why);
	obs_report_free(&r);
	return ok;
}

/* The next order of five ranks, from 0 on. */
static void
next_order(char ranks[6], uint32_t *at)
{
	for (bool twice = true; twice; ++*at) {
		twice = false;
		for (uint32_t i = 0, v = *at; i < 5; i++, v /= 5) {
			ranks[i] = (char)('0' + v % 5);
			twice |= memchr(ranks, ranks[i], i) != NULL;
		}
	}
}

/* One rank has 120 communicators, each of another order, and meets the others in eight of them. */
static void
test_traced_groups(void **state)
{
	(void)state;
	struct file f[5];
	struct obs_trace t;
	char order[6] = "";
	for (uint32_t r = 0; r < 5; r++) {
		uint32_t at = 0, number = 0;
		head(&f[r], r, 5);
		for (uint32_t i = 0; i < 120; i++) {
			next_order(order, &at);
			if (r == 0 || i % 17 == 0)
				communicator(&f[r], ++number, order);
		}
		for (uint32_t i = 0; i < 120; i += 17)
			called(&f[r], BCAST, 0, 0, r ? 1 + i / 17 : 1 + i);
		done(&f[r]);
	}
	assert_true(parsed_all(&t, f, 5));
	assert_int_equal(t.calls, 8);
	assert_int_equal(t.nmembers, 120 * 5);
	assert_true(comes_to_its_end(&t));
	obs_trace_free(&t);
}

/* Communicators that cannot be, calls in an order in which nobody goes on. */
static void
test_traced_halves_refused(void **state)
{
	(void)state;
	static const char *const half[] = {"01", "00", "23"};
	for (int wrong = 0; wrong < 4; wrong++) {
		struct file f[4];
		struct obs_trace t;
		for (uint32_t r = 0; r < 4; r++) {
			head(&f[r], r, 4);
			communicator(&f[r], 1, "0123");
			communicator(&f[r], 2, r < 2 ? half[wrong % 3] : "23");
			called(&f[r], BCAST, 0, 0, wrong == 3 && r == 1 ? 1 : 2);
			called(&f[r], BCAST, 0, 0, wrong == 3 && r == 1 ? 2 : 1);
			done(&f[r]);
		}
		printf("  case %d\n", wrong);
		bool read = parsed_all(&t, f, 4);
		assert_int_equal(read, wrong == 0 || wrong == 3);
		assert_int_equal(read && comes_to_its_end(&t), wrong == 0);
		obs_trace_free(&t);
	}
}

static void
test_traced(void **state)
{
	(void)state;
	struct file f[2];
	struct obs_trace t;
	for (uint32_t r = 0; r < 2; r++) {
		begin(&f[r], r);
		called(&f[r], IBCAST, 1, 2, 1); /* its own time is not the model's: left out */
		request(&f[r], true, 1);
		called(&f[r], INEIGHBOR, 0, 0, 1); /* not replayed */
		request(&f[r], true, 2);
		called(&f[r], TEST, 3, 1, 0);	    /* in vain: computing */
		called(&f[r], IALLREDUCE, 0, 0, 2); /* of one rank: computing */
		request(&f[r], true, 3);
		called(&f[r], WAITALL, 0, 5, 0);
		request(&f[r], false, 2); /* only these: computing */
		request(&f[r], false, 3);
		if (r == 0) { /* one rank waits before the next call, the other behind it */
			called(&f[r], WAITALL, 0, 50, 0);
			request(&f[r], false, 1);
		}
		called(&f[r], BCAST, 4, 50, 1);
		if (r == 1) {
			called(&f[r], TEST, 0, 50, 0);
			request(&f[r], false, 1);
		}
		called(&f[r], IGATHER, 2, 0, 1);
		request(&f[r], true, 4);
		called(&f[r], WAITALL, 30, 50, 0);
		request(&f[r], false, 4);
		done(&f[r]);
	}
	assert_true(parsed(&t, f));
	assert_int_equal(t.starts, 2);
	/* 1; bcast to 16; rank 0 computes 4 behind it, rank 1 up to 14; the next bcast from 20 on
	 * for rank 0: to 35; 2; the gather is hidden in 30 */
	near(total_s(&t, false, false), .067);
	/* 1; to 16; 3 + 1 + 5 + 4 = 13 to 29; to 44; 2; to 61; 30 */
	near(total_s(&t, true, false), .091);
	obs_trace_free(&t);
}

static void
test_traced_refused(void **state)
{
	(void)state;
	for (int wrong = 0; wrong < 7; wrong++) {
		struct file f[2];
		struct obs_trace t;
		for (uint32_t r = 0; r < 2; r++) {
			begin(&f[r], r);
			if (wrong == 1)
				request(&f[r], true, 1); /* of no call */
			called(&f[r], wrong == 2 && r ? BCAST : IBCAST, 0, 0, 1);
			if (wrong == 6)
				called(&f[r], TEST, 0, 0, 0);
			if (wrong != 3 && !(wrong == 2 && r))
				request(&f[r], true, wrong == 4 ? 2 : 1);
			called(&f[r], TEST, 0, 0, 0);
			if (wrong == 5)
				request(&f[r], false, 7);
			done(&f[r]);
		}
		printf("  case %d\n", wrong);
		assert_int_equal(parsed(&t, f), wrong == 0);
		obs_trace_free(&t);
	}
}

/* A rank that waits for a processor does not compute: 10 ms before a broadcast, 4 of them waiting,
 * and as much inside a call that is not replayed.  A trace of version 2 has nothing to tell. */
static void
test_waits_for_a_processor(void **state)
{
	(void)state;
	for (int version = 2; version <= 4; version++) {
		struct file f[2];
		struct obs_trace t;
		for (uint32_t r = 0; r < 2; r++) {
			begin(&f[r], r);
			f[r].data[7] = (uint8_t)('0' + version);
			for (int call = 0; call < 2; call++) {
				called(&f[r], call ? BCAST : TEST, call ? 10 : 0, 10,
				       (uint64_t)call);
				if (version > 2) {
					put(&f[r], call ? 4000000 : 0);
					put(&f[r], 4000000);
				}
			}
			put(&f[r], 3);
			put(&f[r], 5000000);
			if (version > 2)
				put(&f[r], 5000000);
		}
		assert_int_equal(parsed(&t, f), version < 4);
		if (version < 4) {
			near(total_s(&t, false, false), version > 2 ? .006 + .006 + .015 : .040);
			near(t.waited_s, version > 2 ? .009 : 0);
			near(t.measured_s, .035);
		}
		obs_trace_free(&t);
	}
}

/* ---- messages in them */

/* What a rank does, in words:
 *
 *     cMS       it computes
 *     sP:N      sends N bytes to P            SP:N   synchronously
 *     rP:N      receives them                 aP:N   as a receive from anybody
 *     xP:N      both with P at once           uP:N   receives, and other bytes are told
 *     tP:N      receives into N bytes what is longer, and has N of it
 *     iP:N      begins to send                jP:N   to receive, as from anybody
 *     kP:N      to receive, of which nothing is told any more
 *     nP:N      to receive, which is cancelled
 *     w         waits for all that it has begun
 *     b         a broadcast of 4000 bytes */
struct writer {
	struct file *f;
	uint64_t ms, began;
	struct {
		uint64_t number;
		char what;
		unsigned long peer, n;
	} open[8];
	int opens;
};

static void
put_tilde(struct file *f, int64_t v)
{
	put(f, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

static void
write_message(struct file *f, uint64_t request, bool sends, int64_t peer, uint64_t n, int how)
{
	put(f, sends ? 6 : 7);
	put(f, request);
	put(f, 1);
	if (sends)
		put(f, (uint64_t)peer);
	else
		put_tilde(f, peer);
	put_tilde(f, peer < 0 ? -1 : 5);
	put(f, n);
	if (sends)
		put(f, (uint64_t)how);
}

static void
write_had(struct file *f, uint64_t request, int64_t peer, int64_t n)
{
	put(f, 8);
	put(f, request);
	put_tilde(f, peer);
	put_tilde(f, peer < 0 ? -1 : 5);
	put_tilde(f, n);
}

static void
write_waits(struct writer *w)
{
	called(w->f, WAITALL, w->ms, 70, 0);
	for (int i = 0; i < w->opens; i++) {
		request(w->f, false, w->open[i].number);
		if (w->open[i].what == 'j')
			write_had(w->f, w->open[i].number, (int64_t)w->open[i].peer,
				  (int64_t)w->open[i].n);
		else if (w->open[i].what == 'n')
			write_had(w->f, w->open[i].number, -1, -1);
	}
	w->opens = 0;
}

static void
write_word(struct writer *w, const char *word)
{
	char *end;
	unsigned long peer = strtoul(word + 1, &end, 10), n = *end ? strtoul(end + 1, NULL, 10) : 0;
	bool sends = strchr("sSxi", *word) != NULL, later = strchr("ijkn", *word) != NULL;
	if (*word == 'c') {
		w->ms += peer;
		return;
	}
	if (*word == 'w') {
		write_waits(w);
	} else {
		/* what it took inside is not the model's: left out */
		called(w->f, *word == 'b' ? BCAST : sends ? SEND : RECV, w->ms, 90, 1);
		if (later) {
			w->open[w->opens].number = ++w->began;
			w->open[w->opens].what = *word;
			w->open[w->opens].peer = peer;
			w->open[w->opens++].n = n;
			request(w->f, true, w->began);
		}
		if (sends)
			write_message(w->f, later ? w->began : 0, true, (int64_t)peer, n,
				      *word == 'S' ? 2 : 0);
		if (*word != 'b' && (!sends || *word == 'x'))
			write_message(w->f, later ? w->began : 0, false,
				      strchr("ajk", *word) ? -1 : (int64_t)peer,
				      *word == 't' ? n : 4096, 0);
		if (strchr("rxaut", *word))
			write_had(w->f, 0, (int64_t)peer, (int64_t)n + (*word == 'u'));
	}
	w->ms = 0;
}

/* Of ranks, parted by bars. */
static uint32_t
write_files(struct file f[4], const char *text)
{
	char copy[256], *rank, *word, *at = copy;
	uint32_t n = 1, r = 0;
	snprintf(copy, sizeof copy, "%s", text);
	for (const char *c = text; *c; c++)
		n += *c == '|';
	while ((rank = strsep(&at, "|")) != NULL) {
		struct writer w = {.f = &f[r]};
		head(&f[r], r, n);
		f[r].data[7] = '2';
		communicator(&f[r], 1, n == 2 ? "01" : "012");
		while ((word = strsep(&rank, " ")) != NULL)
			if (*word)
				write_word(&w, word);
		put(&f[r], 3);
		put(&f[r], w.ms * 1000000);
		assert_true(f[r++].len < sizeof f->data);
	}
	return n;
}

/* Packets: 2 ms and 10 us a byte, 100 B are 3 ms, 400 B are 6; light: 1 ms and 1 us. */
static void
test_messages(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum obs_strategy strategy;
		uint32_t k;
		uint64_t eager;
		double ms;
	} cases[] = {
		{"s1:100|r0:100", OBS_PACKETS, 2, 0, 3},
		{"c10 s1:100|r0:100", OBS_PACKETS, 2, 0, 13},
		/* a sender waits for its receiver unless the message is eager */
		{"s1:100 c10|c10 r0:100", OBS_PACKETS, 2, 0, 23},
		{"s1:100 c10|c10 r0:100", OBS_PACKETS, 2, 100, 13},
		{"s1:101 c10|c10 r0:101", OBS_PACKETS, 2, 100, 23.01},
		{"S1:100 c10|c10 r0:100", OBS_PACKETS, 2, 100, 23},
		/* hidden behind the computing, in part, not at all */
		{"i1:400 c20 w|j0:400 c20 w", OBS_PACKETS, 2, 0, 20},
		{"i1:400 c2 w c5|j0:400 w", OBS_PACKETS, 2, 0, 11},
		{"i1:400 w c20|j0:400 w c20", OBS_PACKETS, 2, 0, 26},
		/* there and back at once; one behind the other at one end */
		{"x1:400|x0:400", OBS_PACKETS, 2, 0, 6},
		{"i1:400 i2:400 w|r0:400|r0:400", OBS_PACKETS, 2, 0, 12},
		{"s2:400|s2:400|r0:400 r1:400", OBS_PACKETS, 2, 0, 12},
		{"i1:100 i1:400 w|r0:100 r0:400", OBS_PACKETS, 2, 0, 9},
		/* from anybody: what it had says whose it was */
		{"c30 s2:400|s2:400|a1:400 c10 a0:400", OBS_PACKETS, 2, 0, 36},
		{"s2:400|c30 s2:400|j1:400 j0:400 w", OBS_PACKETS, 2, 0, 36},
		{"n1:400 w s1:100|r0:100", OBS_PACKETS, 2, 0, 3},
		/* cut at its receiver, sent as a whole; the next one is another */
		{"s1:400|t0:100", OBS_PACKETS, 2, 0, 6},
		{"s1:400 s1:100|t0:0 r0:100", OBS_PACKETS, 2, 0, 9},
		{"i0:400 j0:400 w c1|c2", OBS_PACKETS, 2, 0, 2},
		/* all send first: only if they need not wait */
		{"s1:100 r1:100|s0:100 r0:100", OBS_PACKETS, 2, 0, -1},
		{"s1:100 r1:100|s0:100 r0:100", OBS_PACKETS, 2, 100, 3},
		/* a message and a call of its ranks take turns */
		{"i1:400 b w|j0:400 b w", OBS_PACKETS, 2, 0, 48},
		{"i1:400 c1 b w|j0:400 c1 b w", OBS_PACKETS, 2, 0, 48},
		/* light: a circuit for each, or kept */
		{"s1:4000 s1:4000|r0:4000 r0:4000", OBS_PIPELINED, 1, 0, 30},
		{"s1:4000 s1:4000|r0:4000 r0:4000", OBS_CACHED, 1, 0, 20},
		{"s1:4000 s1:4000|r0:4000 r0:4000", OBS_IDEAL, 1, 0, 10},
		{"x1:4000|x0:4000", OBS_CACHED, 1, 0, 15},
		/* two circuits at rank 1 at a time, or one after the other */
		{"s1:4000|j0:4000 i2:4000 w|r1:4000", OBS_CACHED, 2, 0, 15},
		{"s1:4000|j0:4000 i2:4000 w|r1:4000", OBS_CACHED, 1, 0, 30},
		{"s1:4000|j0:4000 i2:4000 w|r1:4000", OBS_HYBRID, 1, 0, 30},
		{"s1:4000|j0:4000 i2:100 w|r1:100", OBS_HYBRID, 1, 0, 15},
		{"s1:100|r0:100", OBS_HYBRID, 1, 0, 3},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct file f[4];
		struct obs_trace t;
		struct obs_setting s = setting(false, false);
		struct obs_report r;
		uint32_t n = write_files(f, cases[i].text);
		printf("  %s\n", cases[i].text);
		assert_true(parsed_all(&t, f, n));
		s.strategy = cases[i].strategy;
		s.k = cases[i].k;
		s.eager = cases[i].eager;
		assert_int_equal(obs_replay(&t, &s, &r), cases[i].ms >= 0);
		if (cases[i].ms < 0)
			assert_non_null(strstr(r.why, "--eager 100"));
		else
			near(r.total_s * 1e3, cases[i].ms);
		obs_report_free(&r);
		obs_trace_free(&t);
	}
}

/* Messages that wait for a call's end are not looked at anew by each event until then. */
static void
test_work(void **state)
{
	(void)state;
	struct obs_trace t;
	struct obs_report r;
	struct obs_setting s = setting(false, false);
	char text[4096];
	size_t n = (size_t)snprintf(text, sizeof text, "ranks 82\nstart bcast 1000000\n");
	for (unsigned i = 0; i < 40; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "send %u %u 100\n", 2 * i,
				      2 * i + 1);
	n += (size_t)snprintf(text + n, sizeof text - n,
			      "repeat 2000\ncompute 81 0.0001\nend\nwait\n");
	assert_true(n < sizeof text && obs_trace_text(&t, text, n));
	assert_true(obs_replay(&t, &s, &r));
	assert_int_equal(r.messages, 40);
	assert_true(r.total_s > 0.2);
	print_message("  %llu events\n", (unsigned long long)r.events);
	assert_true(r.events < 4000);
	obs_report_free(&r);
	obs_trace_free(&t);
}

/* Traces that do not say all: what, of whom, where. */
static void
test_messages_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"s1:100|c1",
		 "rank 0, line 3 of its mpitrace: it sends to rank 1, tag 5, 100 bytes, "
		 "and nobody receives it"},
		{"s1:100 s1:200|r0:100", "rank 0, line 5"},
		{"c1|r0:100", "rank 1, line 3 of its mpitrace: it receives from rank 0"},
		{"s1:100|u0:100", "had other bytes"},
		{"s1:100|t0:200", "had other bytes"},
		{"s1:100|k0:100", "from any had is not said"},
		{"s3:100|r0:100", "a process that is not there"},
		{"n1:100 w s1:100 i1:7|r0:100", "nobody receives it"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct file f[4];
		struct obs_trace t;
		uint32_t n = write_files(f, cases[i].text);
		printf("  %s\n", cases[i].text);
		assert_false(parsed_all(&t, f, n));
		assert_non_null(strstr(t.why, cases[i].why));
		obs_trace_free(&t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_some),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_foresight),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_traced),
		cmocka_unit_test(test_traced_refused),
		cmocka_unit_test(test_waits_for_a_processor),
		cmocka_unit_test(test_traced_halves),
		cmocka_unit_test(test_traced_groups),
		cmocka_unit_test(test_traced_halves_refused),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_messages_refused),
		cmocka_unit_test(test_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* MP_tune: the tuner of lib/tune over a path.  The lower rank leads: it orders a turn, sends a
 * burst and gets 4 bytes back, as mmp-perf's bursts do; then both have the same settings.  All of
 * it is in the stream of barriers, so receives of the program never see it. */
#include "mmp_internal.h"

#include "driver/tune_file.h"
#include "tune/tuner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STREAM	  1u
#define TAG_ORDER 1000 /* beyond the rounds of barriers */
#define TAG_DATA  1001
#define WINDOW	  8u
#define MESSAGE	  (1u << 20)
#define SHORTEST  (64u << 10)
#define TURN_NS	  (15 * BASE_MS_NS)
#define PASSES	  100000u
#define RATES	  9

enum what { TURN, BARE, RESULT };
struct order {
	uint64_t what, fragment, run, passes, bytes; /* RESULT: passes is the gain in ppm */
	uint64_t own_bps, bare_bps;
};

struct session {
	struct mmp *m;
	uint32_t peer;
	uint8_t *buf;
	uint64_t bytes; /* of a message */
	bool far;
	struct tuner t;
	uint64_t pass_ns[TUNE_STEPS]; /* by fragment, what a pass took last; 0: not known */
};

/* Forgets it; -1: it ended with an error. */
static int
finish_tuning(struct session *s, uint32_t request)
{
	struct mmp_result r;
	uint64_t idle = 0;
	if (request == MMP_NONE)
		return mmp_fail(ENOBUFS, "too many sends and receives have not been waited for");
	while (!mmp_port_done(s->m->port, request, &r))
		mmp_wait_step(s->m, &idle);
	mmp_request_forget(request);
	if (r.error == EMSGSIZE)
		return mmp_fail(EPROTO, "rank %u tunes something else", s->peer);
	return r.error ? mmp_gone(s->peer) : 0;
}

static uint32_t
post(struct session *s, int32_t tag, void *buf, uint64_t n)
{
	return mmp_port_receive(s->m->port, (int32_t)s->peer, STREAM, tag, buf, n);
}

static int
send_figures(struct session *s, int32_t tag, const void *buf, uint64_t n)
{
	return finish_tuning(s, mmp_port_send(s->m->port, s->peer, STREAM, tag, buf, n));
}

static void
apply(struct session *s, const struct order *o)
{
	mmp_port_set_fragment(s->m->port, s->peer, o->fragment);
	if (s->far)
		atomic_store_explicit(&s->m->run, (uint32_t)o->run, memory_order_relaxed);
}

/* Receive o->passes messages, WINDOW of them posted ahead. */
static int
receive_pass(struct session *s, const struct order *o)
{
	uint32_t h[WINDOW];
	uint64_t posted = 0;
	int err = 0;
	for (uint64_t i = 0; i < o->passes && !err; i++) {
		while (posted < o->passes && posted < i + WINDOW) {
			h[posted % WINDOW] =
				post(s, TAG_DATA, s->buf + posted % WINDOW * o->bytes, o->bytes);
			posted++;
		}
		err = finish_tuning(s, h[i % WINDOW]);
	}
	return err;
}

static int
send_pass(struct session *s, const struct order *o)
{
	int err = 0;
	for (uint64_t i = 0; i < o->passes && !err; i++)
		err = send_figures(s, TAG_DATA, o->what == BARE ? NULL : s->buf, o->bytes);
	return err;
}

/* The leader's side of a turn. */
static int
lead_tuning(struct session *s, struct order *o, uint64_t *ns)
{
	uint32_t word;
	if (send_figures(s, TAG_ORDER, o, sizeof *o))
		return -1;
	apply(s, o);
	uint32_t in = post(s, TAG_DATA, &word, sizeof word);
	uint64_t start = suci_udp_now_ns();
	if (send_pass(s, o) || finish_tuning(s, in))
		return -1;
	*ns = suci_udp_now_ns() - start;
	return 0;
}

/* Messages of a megabyte, or such that a slow path moves some in a turn. */
static int
choose_length(struct session *s, struct order *o)
{
	uint64_t ns = 0;
	*o = (struct order){.what = TURN,
			    .passes = 4,
			    .bytes = SHORTEST,
			    .fragment = mmp_default_fragment(s->m, s->peer)};
	if (lead_tuning(s, o, &ns) || lead_tuning(s, o, &ns))
		return -1;
	s->bytes = SHORTEST;
	while (s->bytes < MESSAGE && ns * s->bytes / SHORTEST < TURN_NS)
		s->bytes *= 2;
	/* An area that is small keeps none of them long. */
	while (s->bytes > 4096 && s->bytes > mmp_port_short(s->m->port))
		s->bytes /= 2;
	o->bytes = s->bytes;
	return 0;
}

static uint64_t
passes_for(uint64_t turn_ns, uint64_t pass_ns)
{
	uint64_t n = turn_ns / (pass_ns ? pass_ns : 1);
	return n < 1 ? 1 : n > PASSES ? PASSES : n;
}

static int
measure_pair(struct session *s, const struct tuner_conf *conf, struct order *o)
{
	uint64_t v[TUNE_DIMS], turn_ns, ns;
	while (tuner_ask(&s->t, v, &turn_ns)) {
		uint32_t at = 0;
		while (conf->dim[0].value[at] != v[0])
			at++;
		o->fragment = v[0];
		o->run = s->far ? v[1] : 0;
		/* With a setting that is new: a look, which warms up, too. */
		o->passes = 2;
		if (!s->pass_ns[at]) {
			if (lead_tuning(s, o, &ns))
				return -1;
			s->pass_ns[at] = ns / 2;
		}
		o->passes = passes_for(turn_ns, s->pass_ns[at]);
		if (lead_tuning(s, o, &ns))
			return -1;
		s->pass_ns[at] = ns / o->passes;
		tuner_tell(&s->t, o->passes * o->bytes, ns, suci_udp_now_ns());
	}
	return 0;
}

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* What the result moves, and what it would without copying in, in turns beside each other. */
static int
rates(struct session *s, struct order *o, uint64_t pass_ns)
{
	uint64_t rate[2][RATES], ns;
	o->passes = passes_for(TURN_NS, pass_ns);
	for (uint32_t i = 0; i < 2 * RATES; i++) {
		o->what = i & 1 ? BARE : TURN;
		if (lead_tuning(s, o, &ns))
			return -1;
		rate[i & 1][i / 2] = (uint64_t)((double)(o->passes * o->bytes) * 1e9 / (double)ns);
	}
	for (uint32_t k = 0; k < 2; k++)
		qsort(rate[k], RATES, sizeof rate[k][0], by_value);
	o->own_bps = rate[0][RATES / 2];
	o->bare_bps = rate[1][RATES / 2];
	return 0;
}

static bool
dimensions(const struct session *s, struct tuner_conf *conf)
{
	static const uint64_t run[] = {1, 2, 4, 8, 12, 16, 20, 24, 30, 36, 44, 54, 64};
	uint64_t most = mmp_port_short(s->m->port) / 2, hi = 256;
	uint64_t start = mmp_default_fragment(s->m, s->peer);
	/* Beyond a message all lengths are one. */
	while (hi < s->bytes && 2 * hi <= most)
		hi *= 2;
	start = start < hi ? start : hi;
	conf->ndims = s->far ? 2 : 1;
	return tune_dim_span(&conf->dim[0], 256, hi, true, start) &&
	       (!s->far || tune_dim_list(&conf->dim[1], run, sizeof run / sizeof *run, 30));
}

static int
run_leader(struct session *s, double seconds, struct order *o)
{
	struct tuner_conf conf = {.turn_ns = TURN_NS, .limit_ns = (uint64_t)(seconds * 1e9)};
	uint64_t v[TUNE_DIMS];
	uint32_t at = 0;
	if (choose_length(s, o))
		return -1;
	if (!dimensions(s, &conf) || !tuner_start(&s->t, &conf, suci_udp_now_ns()))
		return mmp_fail(EINVAL, "fragments of %llu bytes cannot be tuned",
				(unsigned long long)mmp_default_fragment(s->m, s->peer));
	if (measure_pair(s, &conf, o))
		return -1;
	tuner_setting(&s->t, v);
	while (conf.dim[0].value[at] != v[0])
		at++;
	o->fragment = v[0];
	o->run = s->far ? v[1] : 0;
	if (rates(s, o, s->pass_ns[at]))
		return -1;
	o->what = RESULT;
	o->passes = tuner_gain_ppm(&s->t);
	return send_figures(s, TAG_ORDER, o, sizeof *o);
}

static int
run_follower(struct session *s, struct order *o)
{
	const uint32_t word = 0;
	for (;;) {
		memset(o, 0, sizeof *o);
		if (finish_tuning(s, post(s, TAG_ORDER, o, sizeof *o)))
			return -1;
		if (o->what == RESULT)
			return 0;
		if (o->what > RESULT || o->bytes > MESSAGE || o->passes > PASSES || !o->passes)
			return mmp_fail(EPROTO, "rank %u orders what cannot be", s->peer);
		apply(s, o);
		if (receive_pass(s, o) || send_figures(s, TAG_DATA, &word, sizeof word))
			return -1;
	}
}

static int
keep_figure(struct session *s, const struct order *o)
{
	struct tune_values v = {0};
	struct tune_key k;
	char why[TUNE_FILE_WHY];
	struct mmp_peer *p = &s->m->peer[s->peer];
	apply(s, o);
	p->own_bps = o->own_bps;
	p->bare_bps = o->bare_bps;
	/* It was measured just now: no watch. */
	p->stored = 0;
	s->m->stored_run = s->far ? 0 : s->m->stored_run;
	/* The way between sites is the relays'; it has no key here. */
	if (p->elsewhere)
		return 0;
	/* Of two of a node one writes. */
	if (p->is_near && s->m->job.rank > s->peer)
		return 0;
	(void)tune_value_set(&v, TUNE_FRAGMENT, o->fragment);
	if (s->far)
		(void)tune_value_set(&v, TUNE_RUN, o->run);
	(void)tune_value_set(&v, TUNE_RATE, o->own_bps);
	(void)tune_value_set(&v, TUNE_GAIN, o->passes);
	if (!mmp_stored_key(s->m, s->peer, &k))
		return mmp_fail(EIO, "the result is used, but no interface has our address");
	if (tune_file_keep(&k, &v, why))
		return mmp_fail(EIO, "the result is used, but not kept: %.250s", why);
	return 0;
}

int
MP_tune(int peer, double seconds)
{
	struct order o = {0};
	struct mmp *m = mmp_g;
	if (!m)
		return mmp_fail(EINVAL, "MP_init first");
	if (peer < 0 || peer >= (int)m->job.size || peer == (int)m->job.rank)
		return mmp_fail(EINVAL, "there is no other rank %d", peer);
	if (!(seconds >= 5 && seconds <= 600))
		return mmp_fail(EINVAL, "%g s is not a time from 5 to 600", seconds);
	struct session *s = calloc(1, sizeof *s);
	uint8_t *buf = s ? malloc(WINDOW * MESSAGE) : NULL;
	int err = -1;
	if (!buf) {
		(void)mmp_fail(ENOMEM, "out of memory");
	} else {
		memset(buf, 1, WINDOW * MESSAGE);
		s->m = m;
		s->peer = (uint32_t)peer;
		s->buf = buf;
		s->far = !m->peer[peer].is_near;
		err = (int)m->job.rank < peer ? run_leader(s, seconds, &o) : run_follower(s, &o);
		/* After an error receives may still be posted into it: it stays. */
		buf = err ? NULL : buf;
		err = err ? err : keep_figure(s, &o);
	}
	int why = errno;
	free(buf);
	free(s);
	errno = why;
	return err;
}

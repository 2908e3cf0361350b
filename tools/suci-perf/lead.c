/* SPDX-License-Identifier: BSD-2-Clause */
/* The part that tells the others what to do, measures and reports. */
#include "perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read until all results are in. */
struct tally {
	uint64_t *got; /* blocks of each sender, by index */
	uint32_t results, through;
};

static uint32_t
lead_index_of(const struct run *r, int64_t id)
{
	uint32_t i = 0;
	while (i < r->n && r->ids[i] != id)
		i++;
	return i;
}

static int
take_line(struct run *r, const struct control *c, struct result *x)
{
	x->cpu_ns_there += c->cpu_ns;
	if (!c->bad)
		return 0;
	fprintf(stderr, "suci-perf: id %lld got %llu blocks that were wrong\n",
		(long long)datagram_source(r->s), (unsigned long long)c->bad);
	return -1;
}

static int
await_results(struct run *r, uint32_t n, struct result *x)
{
	for (uint32_t got = 0; got < n; got++) {
		struct control c;
		int64_t len = read_any(r);
		if (len < 0)
			return -1;
		if (!get_control(r->buf, len, &c) || c.op != OP_RESULT) {
			fprintf(stderr, "suci-perf: a block that is no result\n");
			return -1;
		}
		if (take_line(r, &c, x))
			return -1;
	}
	return 0;
}

static int
lead_pingpong(struct run *r, uint64_t size, uint64_t count, struct result *x)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t t = now_ns();
		stamp(r->buf, size, i);
		if (datagram_write(r->s, r->buf, size) < 0)
			return complain(r, "write");
		int64_t n = read_any(r);
		if (n < 0)
			return -1;
		if ((uint64_t)n != size || !stamped(r->buf, size, i)) {
			fprintf(stderr, "suci-perf: the echo of block %llu is another\n",
				(unsigned long long)i);
			return -1;
		}
		base_hist_add(&x->latency, (now_ns() - t) / 2);
	}
	return 0;
}

static int
to_children(struct run *r, uint64_t size, uint64_t count)
{
	uint32_t child[32], n = tree_children(r, r->me, child);
	for (uint64_t i = 0; i < count; i++) {
		stamp(r->buf, size, i);
		for (uint32_t k = 0; k < n; k++)
			if (datagram_destination(r->s, child[k]) ||
			    datagram_write(r->s, r->buf, size) < 0)
				return complain(r, "broadcast");
	}
	return 0;
}

/* Blocks of all, in any order between senders; each sender's in its own. */
static int
gather_lead(struct run *r, uint64_t size, uint64_t count, uint64_t t0, struct result *x)
{
	struct tally t = {.got = calloc(r->n, sizeof *t.got)};
	int err = t.got ? 0 : -1;
	while (!err && t.results < r->n - 1) {
		int64_t len = read_any(r);
		if (len < 0) {
			err = -1;
			break;
		}
		uint32_t from = lead_index_of(r, datagram_source(r->s));
		struct control c;
		if (t.got[from] == count) {
			if (!get_control(r->buf, len, &c) || c.op != OP_RESULT)
				err = -1;
			else
				err = take_line(r, &c, x);
			t.results++;
		} else if ((uint64_t)len != size || !stamped(r->buf, size, t.got[from])) {
			fprintf(stderr, "suci-perf: block %llu of id %u is another\n",
				(unsigned long long)t.got[from], r->ids[from]);
			err = -1;
		} else if (++t.got[from] == count) {
			x->last_ns = now_ns() - t0;
			x->first_ns = t.through++ ? x->first_ns : x->last_ns;
		}
	}
	free(t.got);
	return err;
}

/* The word to begin.  In a tree it goes the way of the blocks, so that nobody gets those
 * of its parent before it. */
static int
say_round(struct run *r, const struct control *c, uint32_t peer)
{
	uint32_t child[32], n = tree_children(r, r->me, child);
	if (c->mode == MODE_PINGPONG || c->mode == MODE_BURST)
		return send_control(r, peer, c);
	for (uint32_t i = 0; c->mode == MODE_TREE && i < n; i++)
		if (send_control(r, child[i], c))
			return -1;
	for (uint32_t i = 0; c->mode == MODE_GATHER && i < r->n; i++)
		if (r->ids[i] != r->me && send_control(r, r->ids[i], c))
			return -1;
	return 0;
}

static uint64_t
retransmissions(struct run *r)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		struct datagram_info info;
		if (datagram_info(r->s, r->ids[i], &info) == 0)
			n += info.retransmissions;
	}
	return n;
}

/* One round with everybody it concerns. */
static int
play_lead(struct run *r, uint64_t size, uint64_t count, struct result *x)
{
	enum mode mode = r->o->mode;
	bool pair = mode == MODE_PINGPONG || mode == MODE_BURST;
	uint32_t peer = r->ids[r->ids[0] == r->me];
	struct control c = {.op = OP_ROUND, .mode = mode, .size = size, .count = count};
	*x = (struct result){.size = size, .count = count, .senders = pair ? 1 : r->n - 1};
	base_hist_init(&x->latency);
	if (r->o->role == ROLE_CLIENT)
		peer = r->root;
	uint64_t again = retransmissions(r), t0 = now_ns(), cpu0 = cpu_ns();
	if (say_round(r, &c, peer))
		return -1;
	if (datagram_destination(r->s, peer))
		return complain(r, "destination");
	int err = 0;
	if (mode == MODE_PINGPONG)
		err = lead_pingpong(r, size, count, x);
	else if (mode == MODE_GATHER)
		err = gather_lead(r, size, count, t0, x);
	else if (mode == MODE_TREE)
		err = to_children(r, size, count);
	for (uint64_t i = 0; mode == MODE_BURST && i < count && !err; i++) {
		stamp(r->buf, size, i);
		if (datagram_write(r->s, r->buf, size) < 0)
			err = complain(r, "write");
	}
	if (!err && mode != MODE_GATHER)
		err = await_results(r, pair ? 1 : r->n - 1, x);
	x->ns = mode == MODE_GATHER ? x->last_ns : now_ns() - t0;
	x->cpu_ns_here = cpu_ns() - cpu0;
	x->retransmissions = retransmissions(r) - again;
	return err;
}

/* A round to get warm; how many blocks the measured one shall have. */
static int
warm_up(struct run *r, uint64_t size, uint64_t *count)
{
	const struct options *o = r->o;
	struct result x;
	uint64_t n = o->warmup;
	if (n == UINT64_MAX) /* about a megabyte, 2 at least */
		n = size >= 1u << 19 ? 2 : size >= 1000 ? (1u << 20) / size : 1000;
	*count = o->count;
	if (n == 0 && o->count)
		return 0;
	if (play_lead(r, size, n ? n : 1, &x))
		return -1;
	/* As many as fill the time; a short round says it only roughly, so once more. */
	for (int i = 0; !o->count && i < 2; i++) {
		double per = (double)x.ns / (double)x.count;
		double want = (i ? o->duration : o->duration / 10) * 1e9 / per;
		*count = want < 1 ? 1 : want > 1e12 ? (uint64_t)1e12 : (uint64_t)want;
		if (i == 0 && *count > x.count && play_lead(r, size, *count, &x))
			return -1;
	}
	return 0;
}

/* Over a door everything is set up by the first block. */
static int
time_opening(struct run *r)
{
	struct control c = {.op = OP_ROUND, .mode = MODE_BURST};
	struct result x = {0};
	uint64_t began = now_ns();
	if (!need_buffer(r, CONTROL_BYTES) || send_control(r, r->root, &c) ||
	    await_results(r, 1, &x))
		return -1;
	r->opened_ns = now_ns() - began;
	return 0;
}

int
lead(struct run *r)
{
	const struct options *o = r->o;
	struct result *all = calloc(o->nsizes, sizeof *all);
	int err = all ? 0 : -1;
	unsigned n = 0;
	if (!err && o->door)
		err = time_opening(r);
	if (!err && !o->quiet)
		report_head(r);
	for (; n < o->nsizes && !err; n++) {
		uint64_t count;
		err = need_buffer(r, o->size[n]) ? warm_up(r, o->size[n], &count) : -1;
		if (!err)
			err = play_lead(r, o->size[n], count, &all[n]);
		if (!err && !o->quiet)
			report_row(r, &all[n]);
	}
	struct control end = {.op = OP_END};
	for (uint32_t i = 0; !err && i < r->n; i++)
		if (r->ids[i] != r->me && (o->role != ROLE_CLIENT || r->ids[i] == r->root))
			err = send_control(r, r->ids[i], &end);
	if (!err && o->json)
		err = report_json(r, all, n);
	free(all);
	return err;
}

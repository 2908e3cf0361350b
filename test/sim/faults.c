/* SPDX-License-Identifier: BSD-2-Clause */
#include "faults.h"

#include "draw.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

#define PPB(parts, of) ((uint32_t)(1000000000ull * (parts) / (of)))

static const char *const kind_name[] = {
#define X(id, name) #name,
	FAULT_KINDS(X)
#undef X
};

/* ---- what a garbled datagram is ---- */

/* Flips some bits of what the CRC of a lane covers: payload without the process ids. */
static bool
garble(void *who, struct base_prng *p, struct sim_buf *b)
{
	(void)who;
	size_t from = 0;
	if (b->len < SUCI_PATH_HDR + SUCI_LANE_HDR || (b->data[0] & 0x0f) != SUCI_T_DATA)
		return false;
	if (!(b->data[1] & SUCI_PF_SEALED)) {
		const uint8_t *lane = b->data + SUCI_PATH_HDR + be16_load(b->data + 2);
		size_t head = (size_t)(lane - b->data) + SUCI_LANE_HDR;
		if (b->len < head)
			return false;
		uint16_t flags = be16_load(lane + 22);
		if (!(flags & SUCI_SF_CRC))
			return false;
		from = head + (flags & SUCI_SF_FIRST ? SUCI_FIRST_EXT + HEAD_BYTES : 0);
		if (b->len <= from)
			return false;
	}
	for (uint64_t n = between(p, 1, 3); n-- > 0;) {
		size_t at = from + base_prng_below(p, b->len - from);
		b->data[at] ^= (uint8_t)between(p, 1, 255);
	}
	return true;
}

/* ---- by datagram ---- */

static void
set_link_faults(struct faults *f, struct sim_link_conf *c)
{
	struct base_prng *p = &f->prng;
	const enum fault_weight *w = f->weight;
	static const uint32_t loss[] = {0, PPB(1, 10000), PPB(3, 100), PPB(35, 100)},
			      dup[] = {0, PPB(1, 10000), PPB(1, 100), PPB(30, 100)},
			      late[] = {0, PPB(1, 1000), PPB(5, 100), PPB(50, 100)},
			      bad[] = {0, PPB(1, 1000000), PPB(1, 1000), PPB(10, 100)},
			      garbled[] = {0, PPB(1, 1000000), PPB(1, 10000), PPB(1, 100)};
	/* Each direction for itself: a way is seldom as bad as the way back. */
	if (coin(p, 50))
		c->loss_ppb = loss[w[FAULT_LOSS]];
	if (coin(p, 50) && w[FAULT_BURST]) {
		c->burst_in_ppb = (uint32_t)PICK(p, PPB(1, 10000), PPB(1, 1000), PPB(1, 100));
		c->burst_out_ppb = w[FAULT_BURST] == WEIGHT_EXTREME ? PPB(2, 100) : PPB(20, 100);
		c->burst_loss_ppb = (uint32_t)PICK(p, PPB(5, 10), PPB(9, 10), PPB(1, 1));
	}
	if (coin(p, 50))
		c->dup_ppb = dup[w[FAULT_DUP]];
	if (coin(p, 50))
		c->reorder_ppb = late[w[FAULT_REORDER]];
	c->reorder_ns = PICK(p, 2000, 50000, 1000000, 20000000, 200000000);
	if (coin(p, 50))
		c->corrupt_ppb = bad[w[FAULT_CORRUPT]];
	if (coin(p, 50))
		c->garble_ppb = garbled[w[FAULT_GARBLE]];
}

/* A slow link with a queue that takes seconds to drain. */
static void
bloat(struct faults *f, struct sim_link_conf *c)
{
	struct base_prng *p = &f->prng;
	static const uint32_t slower[] = {1, 4, 20, 100};
	uint64_t rate = base_max_ns(c->rate_bps / slower[f->weight[FAULT_BLOAT]], 250000);
	uint64_t queue_ms = PICK(p, 200, 500, 2000);
	c->rate_bps = rate;
	c->queue_bytes = rate * queue_ms / 1000;
	f->queue_ns = base_max_ns(f->queue_ns, queue_ms * BASE_MS_NS);
	f->slowest_bps = f->slowest_bps ? base_min_ns(f->slowest_bps, rate) : rate;
}

/* ---- for a while ---- */

static void
link_down(struct sim *s, void *who, uint64_t down)
{
	struct sim_link *l = who;
	l->down = down;
	sim_log(s, "link %ld %s", (long)(l - s->link), down ? "down" : "up");
}

static void
set_rate(struct sim *s, void *who, uint64_t rate)
{
	struct sim_link *l = who;
	l->conf.rate_bps = rate;
	sim_log(s, "link %ld: %llu bytes/s", (long)(l - s->link), (unsigned long long)rate);
}

static void
set_mtu(struct sim *s, void *who, uint64_t mtu)
{
	struct sim_link *l = who;
	l->conf.mtu = (uint32_t)mtu;
	sim_log(s, "link %ld: mtu %llu", (long)(l - s->link), (unsigned long long)mtu);
}

static void
set_delay(struct sim *s, void *who, uint64_t ns)
{
	struct sim_link *l = who;
	l->conf.delay_ns = ns;
	sim_log(s, "link %ld: delay %llu us", (long)(l - s->link), (unsigned long long)ns / 1000);
}

static uint64_t
some_time(struct faults *f)
{
	return f->w->s->now_ns + base_prng_below(&f->prng, f->heal_ns - f->w->s->now_ns);
}

static struct sim_link *
some_link(struct faults *f)
{
	return &f->w->s->link[base_prng_below(&f->prng, f->w->s->nlink)];
}

static uint32_t
times(struct faults *f, enum fault_kind kind)
{
	struct base_prng *p = &f->prng;
	switch (f->weight[kind]) {
	case WEIGHT_OFF:
		break;
	case WEIGHT_RARE:
		return 1;
	case WEIGHT_OFTEN:
		return (uint32_t)between(p, 2, 6);
	case WEIGHT_EXTREME:
		return (uint32_t)between(p, 15, 50);
	}
	return 0;
}

/* From some time on, for len_ns at most, as fn with `bad`, then with `good`. */
static void
for_a_while(struct faults *f, sim_fn *fn, struct sim_link *l, uint64_t bad, uint64_t good,
	    uint64_t len_ns)
{
	struct sim *s = f->w->s;
	uint64_t from = some_time(f);
	sim_at(s, from, fn, l, bad);
	sim_at(s, base_min_ns(from + len_ns, f->heal_ns - 1), fn, l, good);
}

static void
plan_links(struct faults *f)
{
	struct base_prng *p = &f->prng;
	for (uint32_t n = times(f, FAULT_FLAP); n-- > 0;) {
		uint64_t len_ns = PICK(p, 1000, 100000, 5000000, 80000000, 900000000);
		for_a_while(f, link_down, some_link(f), 1, 0, len_ns);
	}
	for (uint32_t n = times(f, FAULT_RATE); n-- > 0;) {
		struct sim_link *l = some_link(f);
		uint64_t slow = base_max_ns(l->conf.rate_bps / PICK(p, 2, 10, 100), 250000);
		if (l->conf.rate_bps)
			for_a_while(f, set_rate, l, slow, l->conf.rate_bps,
				    PICK(p, 1000000, 50000000, 500000000));
	}
	for (uint32_t n = times(f, FAULT_MTU); n-- > 0;) {
		struct sim_link *l = some_link(f);
		uint64_t len_ns = PICK(p, 1000000, 50000000, 500000000);
		for_a_while(f, set_mtu, l, PICK(p, 600, 1200, 1300, 1400, 4000), l->conf.mtu,
			    len_ns);
	}
	for (uint32_t n = times(f, FAULT_DELAY); n-- > 0;) {
		struct sim_link *l = some_link(f);
		uint64_t len_ns = PICK(p, 1000000, 50000000, 500000000);
		uint64_t bad_ns = l->conf.delay_ns * PICK(p, 0, 2, 10);
		bad_ns += PICK(p, 0, 50000);
		for_a_while(f, set_delay, l, bad_ns, l->conf.delay_ns, len_ns);
	}
}

/* Below what was cut and is in custody, but not below what any path has to carry. */
static void
plan_shrinks(struct faults *f)
{
	struct base_prng p = base_prng_seed(f->w->s->seed ^ 0x5421);
	if (!f->shrinks)
		return;
	for (uint32_t n = (uint32_t)PICK(&p, 1, 2, 5, 12); n-- > 0;) {
		uint32_t i = (uint32_t)base_prng_below(&p, f->w->s->nlink);
		uint32_t mtu = (uint32_t)PICK(&p, SUCI_MTU_SAFE, 1300, 1400, 1472, 4000);
		uint64_t at = f->w->s->now_ns + base_prng_below(&p, f->heal_ns - f->w->s->now_ns);
		if (mtu >= f->before[i].mtu)
			continue;
		sim_at(f->w->s, at, set_mtu, &f->w->s->link[i], mtu);
		if (coin(&p, 50))
			f->before[i].mtu = mtu;
	}
}

/* The links by which a port's datagrams leave, or come. */
static void
cut_port(struct faults *f, uint32_t port, bool out, uint64_t from, uint64_t until)
{
	struct sim *s = f->w->s;
	for (uint32_t other = 0; other < s->nport; other++) {
		const uint16_t *hop = out ? s->route[port][other] : s->route[other][port];
		uint32_t last = 0;
		while (last + 1 < SIM_HOPS_MAX && hop[last + 1])
			last++;
		if (!hop[0])
			continue;
		struct sim_link *l = &s->link[hop[out ? 0 : last] - 1];
		sim_at(s, from, link_down, l, 1);
		sim_at(s, until, link_down, l, 0);
		return; /* one link serves all of them */
	}
}

static void
plan_partitions(struct faults *f)
{
	struct base_prng *p = &f->prng;
	for (uint32_t n = times(f, FAULT_PARTITION); n-- > 0;) {
		uint32_t port = (uint32_t)base_prng_below(p, f->w->s->nport);
		uint64_t from = some_time(f), ways = between(p, 1, 3);
		uint64_t until = base_min_ns(
			from + PICK(p, 1000000, 50000000, 500000000, 2000000000), f->heal_ns - 1);
		if (ways & 1)
			cut_port(f, port, true, from, until);
		if (ways & 2)
			cut_port(f, port, false, from, until);
	}
}

/* ---- nodes ---- */

struct node_fault {
	struct faults *f;
	uint32_t node; /* ends, then relays */
};

static struct node_clock *
clock_of(struct world *w, uint32_t node)
{
	return node < w->nend ? &w->end[node].clock : &w->relay[node - w->nend].clock;
}

static void
step(struct sim *s, void *who, uint64_t arg)
{
	struct faults *f = who;
	struct world *w = f->w;
	uint32_t node = (uint32_t)(arg >> 40);
	uint64_t ns = arg & ((1ull << 40) - 1);
	(void)s;
	if (node < w->nend)
		end_clock_step(&w->end[node], ns);
	else
		rnode_clock_step(&w->relay[node - w->nend], ns);
}

static void
pause_node(struct sim *s, void *who, uint64_t arg)
{
	struct faults *f = who;
	struct world *w = f->w;
	uint32_t node = (uint32_t)(arg >> 40);
	uint64_t ns = arg & ((1ull << 40) - 1);
	ns = base_min_ns(ns, f->heal_ns - s->now_ns);
	if (node < w->nend)
		end_pause(&w->end[node], ns);
	else
		rnode_pause(&w->relay[node - w->nend], ns);
}

static void
plan_nodes(struct faults *f)
{
	struct world *w = f->w;
	struct base_prng *p = &f->prng;
	uint32_t nodes = w->nend + w->nrelay;
	static const int32_t ppm[] = {0, 50, 500, 5000};
	if (f->weight[FAULT_DRIFT])
		for (uint32_t i = 0; i < nodes; i++) {
			int32_t most = ppm[f->weight[FAULT_DRIFT]];
			clock_of(w, i)->base_ns = w->s->now_ns;
			clock_of(w, i)->ppm =
				(int32_t)base_prng_below(p, 2 * (uint64_t)most + 1) - most;
		}
	for (uint32_t n = times(f, FAULT_STEP); n-- > 0;) {
		uint64_t ns = PICK(p, 1000, 1000000, 50000000, 200000000);
		if (!n && coin(p, 30))
			ns = 3 * BASE_S_NS;
		uint64_t node = base_prng_below(p, nodes);
		sim_at(w->s, some_time(f), step, f, node << 40 | ns);
		f->stepped_ns += ns;
	}
	for (uint32_t n = times(f, FAULT_PAUSE); n-- > 0;) {
		uint64_t node = base_prng_below(p, nodes);
		uint64_t ns = PICK(p, 1000000, 20000000, 300000000);
		sim_at(w->s, some_time(f), pause_node, f, node << 40 | ns);
	}
}

static void
come_back(struct sim *s, void *who, uint64_t arg)
{
	struct faults *f = who;
	(void)s;
	(void)arg;
	if (f->death.relay)
		rnode_restart(&f->w->relay[f->death.index]);
	else
		end_restart(&f->w->end[f->death.index]);
}

static bool
all_up(const struct world *w)
{
	struct suci_path_info info;
	for (uint32_t i = 0; i < w->nrelay; i++)
		for (uint32_t p = 0; p < w->conf.relay.limits.paths_max; p++)
			if (suci_path_info(w->relay[i].ep, p, &info) && !info.up)
				return false;
	return true;
}

static void
die(struct sim *s, void *who, uint64_t arg)
{
	struct faults *f = who;
	(void)arg;
	if (world_quiet(f->w))
		return; /* the job is done */
	/* While the relays still connect: scenario restart-early. */
	if (!f->death.early && !all_up(f->w)) {
		sim_at(s, s->now_ns + 10 * BASE_MS_NS, die, f, 0);
		return;
	}
	f->death.happened = true;
	if (f->death.relay)
		rnode_kill(&f->w->relay[f->death.index]);
	else
		end_kill(&f->w->end[f->death.index]);
	if (f->death.returns)
		sim_at(s, s->now_ns + f->death.back_after_ns, come_back, f, 0);
}

static void
plan_death(struct faults *f)
{
	struct world *w = f->w;
	struct base_prng *p = &f->prng;
	if (!f->weight[FAULT_DEATH])
		return;
	f->death.relay = coin(p, 50);
	f->death.index = (uint32_t)base_prng_below(p, f->death.relay ? w->nrelay : w->nend);
	f->death.returns = coin(p, 50);
	f->death.back_after_ns = PICK(p, 1000, 1000000, 100000000, 2000000000);
	f->death.at_ns = some_time(f);
	sim_at(w->s, f->death.at_ns, die, f, 0);
}

/* ---- all of it ---- */

void
faults_draw(struct faults *f, uint64_t seed, struct world_conf *c)
{
	*f = (struct faults){.prng = base_prng_seed(seed ^ 0xfa17)};
	struct base_prng *p = &f->prng;
	for (uint32_t k = 0; k < FAULT_COUNT; k++) {
		uint64_t at = base_prng_below(p, 100);
		f->weight[k] = at < 62	 ? WEIGHT_OFF
			       : at < 78 ? WEIGHT_RARE
			       : at < 92 ? WEIGHT_OFTEN
					 : WEIGHT_EXTREME;
	}
	/* In one cluster without relays nobody would tell those who do not know the dead. */
	if (c->nclusters < 2 || coin(p, 60))
		f->weight[FAULT_DEATH] = WEIGHT_OFF;
	if (f->weight[FAULT_GARBLE]) {
		c->direct_crc = true;
		c->forged = true;
	}
	if (f->weight[FAULT_DEATH]) {
		c->die_ok = true;
		c->end.liveness_ns = c->relay.liveness_ns = 3 * BASE_S_NS;
		c->end.keepalive_ns = c->relay.keepalive_ns = 500 * BASE_MS_NS;
	}
}

static void
heal(struct sim *s, void *who, uint64_t arg)
{
	struct faults *f = who;
	(void)arg;
	sim_log(s, "the net heals");
	for (uint32_t i = 0; i < s->nlink; i++) {
		s->link[i].conf = f->before[i];
		s->link[i].down = s->link[i].bad = false;
	}
}

void
faults_plan(struct faults *f, struct world *w, uint64_t heal_ns)
{
	struct sim *s = w->s;
	f->w = w;
	f->heal_ns = heal_ns;
	s->garble = garble;
	for (uint32_t i = 0; i < s->nlink; i++) {
		f->before[i] = s->link[i].conf;
		set_link_faults(f, &s->link[i].conf);
		if (f->weight[FAULT_BLOAT] && s->link[i].conf.rate_bps && coin(&f->prng, 30))
			bloat(f, &s->link[i].conf);
	}
	plan_links(f);
	plan_shrinks(f);
	plan_partitions(f);
	plan_nodes(f);
	plan_death(f);
	sim_at(s, heal_ns, heal, f, 0);
}

void
faults_text(const struct faults *f, char *out, size_t len)
{
	static const char *const weight[] = {"off", "rare", "often", "extreme"};
	size_t at = 0;
	out[0] = 0;
	for (uint32_t k = 0; k < FAULT_COUNT && at < len; k++)
		if (f->weight[k])
			at += (size_t)snprintf(out + at, len - at, "%s%s:%s", at ? " " : "",
					       kind_name[k], weight[f->weight[k]]);
}

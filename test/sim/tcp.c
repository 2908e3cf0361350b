/* SPDX-License-Identifier: BSD-2-Clause */
#include "tcp.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

#define DUPS   3u
#define IW     3.0
#define HEADER 24u /* 12 that the links' overhead lacks, 12 of timestamps */

enum state { UNSENT, FLYING, LOST, SACKED };

struct segment {
	uint64_t sent_ns;
	uint32_t len;
	uint8_t state; /* enum state */
	bool again;    /* was sent again: no round trip is taken from it */
	bool last;     /* of its message */
	bool here;     /* at the receiver */
};

struct flow {
	struct tcp_net *t;
	uint32_t src, dst;
	struct segment *seg;
	uint32_t n, cap;
	uint32_t una, next, flying;
	uint32_t lost; /* segments in that state */
	uint32_t high; /* highest acknowledged + 1 */
	uint32_t recover;
	bool recovering;
	double cwnd, ssthresh;
	uint64_t srtt_ns, var_ns, rto_ns, deadline_ns, last_ns;
	bool timer;
	uint32_t expected; /* receiver */
};

struct tcp_net {
	struct sim *s;
	struct tcp_net_conf conf;
	uint32_t network, ipv4;
	uint32_t *port;
	struct flow *flow; /* [src * nodes + dst] */
	struct tcp_counters count;
};

static void
transmit(struct flow *f, uint32_t i)
{
	static const uint8_t zeros[TCP_MSS];
	struct tcp_net *t = f->t;
	struct segment *g = &f->seg[i];
	uint8_t head[HEADER] = {0};
	be32_store(head, (uint32_t)(f - t->flow));
	be32_store(head + 4, i);
	struct sim_piece p[2] = {{head, sizeof head}, {zeros, g->len}};
	if (g->state == LOST) {
		f->lost--;
		g->again = true;
		t->count.retransmits++;
	}
	t->count.segments++;
	g->state = FLYING;
	g->sent_ns = f->last_ns = t->s->now_ns;
	f->flying++;
	sim_send(t->s, t->port[f->src], t->ipv4 + f->dst, p, 2);
}

static void on_timer(struct sim *s, void *who, uint64_t arg);

static void
set_timer(struct flow *f)
{
	struct sim *s = f->t->s;
	f->deadline_ns = f->una == f->next ? BASE_NEVER_NS : s->now_ns + f->rto_ns;
	if (f->timer || f->deadline_ns == BASE_NEVER_NS)
		return;
	f->timer = true;
	sim_at(s, f->deadline_ns, on_timer, f, 0);
}

static void
push(struct flow *f)
{
	struct tcp_net *t = f->t;
	bool idle = f->una == f->next;
	if (idle && t->s->now_ns - f->last_ns > f->rto_ns && f->cwnd > IW)
		f->cwnd = IW;
	uint32_t most = TCP_BUFFER / TCP_MSS;
	for (uint32_t i = f->una; f->lost && i < f->next && f->flying < (uint32_t)f->cwnd; i++)
		if (f->seg[i].state == LOST)
			transmit(f, i);
	while (!f->lost && f->next < f->n && f->flying < (uint32_t)f->cwnd &&
	       f->next - f->una < most)
		transmit(f, f->next++);
	if (idle)
		set_timer(f);
}

static void
on_timer(struct sim *s, void *who, uint64_t arg)
{
	struct flow *f = who;
	(void)arg;
	f->timer = false;
	if (f->deadline_ns == BASE_NEVER_NS)
		return;
	if (s->now_ns < f->deadline_ns) {
		f->timer = true;
		sim_at(s, f->deadline_ns, on_timer, f, 0);
		return;
	}
	f->t->count.timeouts++;
	f->ssthresh = f->flying / 2 < 2 ? 2 : f->flying / 2;
	f->cwnd = 1;
	f->recovering = true;
	f->recover = f->next;
	for (uint32_t i = f->una; i < f->next; i++) {
		if (f->seg[i].state != FLYING)
			continue;
		f->seg[i].state = LOST;
		f->lost++;
		f->flying--;
	}
	f->rto_ns = base_min_ns(2 * f->rto_ns, 120 * BASE_S_NS);
	push(f);
	set_timer(f);
}

static void
take_rtt(struct flow *f, uint64_t rtt)
{
	if (!f->srtt_ns) {
		f->srtt_ns = rtt;
		f->var_ns = rtt / 2;
	} else {
		uint64_t off = rtt > f->srtt_ns ? rtt - f->srtt_ns : f->srtt_ns - rtt;
		f->var_ns = (3 * f->var_ns + off) / 4;
		f->srtt_ns = (7 * f->srtt_ns + rtt) / 8;
	}
	f->rto_ns = base_max_ns(f->srtt_ns + 4 * f->var_ns, TCP_RTO_MIN_NS);
}

/* Which segments have three acknowledged ones above them (only those sent once). */
static void
find_lost(struct flow *f)
{
	uint32_t above = 0, found = 0;
	for (uint32_t i = f->high; i-- > f->una;) {
		struct segment *g = &f->seg[i];
		if (g->state == SACKED) {
			above++;
		} else if (g->state == FLYING && !g->again && above >= DUPS) {
			g->state = LOST;
			f->lost++;
			f->flying--;
			found++;
		}
	}
	if (!found || f->recovering)
		return;
	f->recovering = true;
	f->recover = f->next;
	f->ssthresh = (f->flying + found) / 2 < 2 ? 2 : (f->flying + found) / 2;
	f->cwnd = f->ssthresh;
	f->t->count.recoveries++;
}

static void
on_ack(struct flow *f, uint32_t cumulative, uint32_t i)
{
	struct tcp_net *t = f->t;
	bool forward = cumulative > f->una, grow = false;
	if (i >= f->next || cumulative > f->next)
		return;
	struct segment *g = &f->seg[i];
	if (g->state == FLYING || g->state == LOST) {
		if (g->state == FLYING)
			f->flying--;
		else
			f->lost--;
		if (!g->again)
			take_rtt(f, t->s->now_ns - g->sent_ns);
		g->state = SACKED;
		grow = true;
	}
	f->high = i + 1 > f->high ? i + 1 : f->high;
	for (; f->una < cumulative; f->una++) {
		struct segment *a = &f->seg[f->una];
		if (a->state == FLYING)
			f->flying--;
		else if (a->state == LOST)
			f->lost--;
		a->state = SACKED;
		if (a->last)
			t->conf.on_done(t->conf.user, f->src, f->dst);
	}
	if (f->recovering && f->una >= f->recover)
		f->recovering = false;
	if (f->high > f->una)
		find_lost(f);
	if (grow && (!f->recovering || f->cwnd < f->ssthresh))
		f->cwnd += f->cwnd < f->ssthresh ? 1 : 1 / f->cwnd;
	if (forward)
		set_timer(f);
	push(f);
}

static void
deliver(struct sim *s, void *who, uint64_t b)
{
	struct tcp_net *t = who;
	const struct sim_buf *buf = &s->buf[b];
	struct flow *f = &t->flow[be32_load(buf->data)];
	uint32_t i = be32_load(buf->data + 4);
	if (buf->to == t->port[f->src]) {
		on_ack(f, be32_load(buf->data + 8), i);
		return;
	}
	f->seg[i].here = true;
	uint32_t from = f->expected;
	while (f->expected < f->n && f->seg[f->expected].here)
		f->expected++;
	uint8_t ack[HEADER] = {0};
	be32_store(ack, be32_load(buf->data));
	be32_store(ack + 4, i);
	be32_store(ack + 8, f->expected);
	sim_send(s, t->port[f->dst], t->ipv4 + f->src, &(struct sim_piece){ack, sizeof ack}, 1);
	for (; from < f->expected; from++)
		if (f->seg[from].last)
			t->conf.on_placed(t->conf.user, f->src, f->dst);
}

struct tcp_net *
tcp_net_new(struct sim *s, const struct tcp_net_conf *conf, uint32_t network, uint32_t ipv4)
{
	struct tcp_net *t = calloc(1, sizeof *t);
	BASE_ASSERT(t);
	t->s = s;
	t->conf = *conf;
	t->network = network;
	t->ipv4 = ipv4;
	t->port = calloc(conf->nodes, sizeof *t->port);
	t->flow = calloc((size_t)conf->nodes * conf->nodes, sizeof *t->flow);
	BASE_ASSERT(t->port && t->flow);
	for (uint32_t i = 0; i < conf->nodes; i++)
		t->port[i] = sim_add_port(s, t, deliver, network, ipv4 + i);
	for (uint32_t i = 0; i < conf->nodes * conf->nodes; i++)
		t->flow[i] = (struct flow){.t = t,
					   .src = i / conf->nodes,
					   .dst = i % conf->nodes,
					   .cwnd = IW,
					   .ssthresh = 1e9,
					   .rto_ns = BASE_S_NS,
					   .deadline_ns = BASE_NEVER_NS,
					   .last_ns = s->now_ns};
	return t;
}

void
tcp_net_free(struct tcp_net *t)
{
	for (uint32_t i = 0; i < t->conf.nodes * t->conf.nodes; i++)
		free(t->flow[i].seg);
	free(t->flow);
	free(t->port);
	free(t);
}

uint32_t
tcp_port(const struct tcp_net *t, uint32_t node)
{
	return t->port[node];
}

void
tcp_send(struct tcp_net *t, uint32_t src, uint32_t dst, uint64_t bytes)
{
	struct flow *f = &t->flow[src * t->conf.nodes + dst];
	do {
		uint64_t len = bytes < TCP_MSS ? bytes : TCP_MSS;
		if (f->n == f->cap) {
			f->cap = f->cap ? 2 * f->cap : 64;
			f->seg = realloc(f->seg, f->cap * sizeof *f->seg);
			BASE_ASSERT(f->seg);
		}
		bytes -= len;
		f->seg[f->n++] = (struct segment){.len = (uint32_t)len, .last = bytes == 0};
	} while (bytes);
	push(f);
}

struct tcp_counters
tcp_counters(const struct tcp_net *t)
{
	return t->count;
}

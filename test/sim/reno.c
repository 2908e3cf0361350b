/* SPDX-License-Identifier: BSD-2-Clause */
#include "reno.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <stdlib.h>

#define DUPS	  3u
#define ACK_BYTES 12u
#define RTO_NS	  BASE_S_NS

static uint32_t
slot(uint32_t n)
{
	return n % RENO_PACKETS;
}

static void
leave(struct sim *s, void *who, uint64_t n)
{
	static const uint8_t zeros[65536];
	struct reno *r = who;
	uint8_t head[4];
	be32_store(head, (uint32_t)n);
	struct sim_piece p[2] = {{head, sizeof head}, {zeros, r->bytes - sizeof head}};
	sim_send(s, r->port, s->port[r->sink].ipv4, p, 2);
}

static void
send_now(struct reno *r)
{
	while (r->running && r->in_flight < (uint32_t)r->cwnd &&
	       r->next - r->oldest < RENO_PACKETS) {
		r->state[slot(r->next)] = 1;
		r->sent_ns[slot(r->next)] = r->s->now_ns;
		/* One after the other. */
		r->free_at_ns = base_max_ns(r->free_at_ns, r->s->now_ns) +
				base_prng_below(&r->prng, r->jitter_ns + 1);
		sim_at(r->s, r->free_at_ns, leave, r, r->next);
		r->next++;
		r->in_flight++;
	}
}

static void
lose(struct reno *r, uint32_t n)
{
	r->state[slot(n)] = 0;
	r->in_flight--;
	if (n < r->recover)
		return;
	r->recover = r->next;
	r->reductions++;
	r->ssthresh = r->cwnd / 2 < 2 ? 2 : r->cwnd / 2;
	r->cwnd = r->ssthresh;
}

static void
on_ack(struct sim *s, void *who, uint64_t b)
{
	struct reno *r = who;
	uint32_t n = be32_load(s->buf[b].data);
	if (n - r->oldest >= r->next - r->oldest || !r->state[slot(n)])
		return;
	r->state[slot(n)] = 0;
	r->in_flight--;
	r->acked_ns = s->now_ns;
	uint64_t rtt = s->now_ns - r->sent_ns[slot(n)];
	r->srtt_ns = r->srtt_ns ? (7 * r->srtt_ns + rtt) / 8 : rtt;
	if (n >= r->recover)
		r->cwnd += r->cwnd < r->ssthresh ? 1 : 1 / r->cwnd;
	for (; r->oldest != r->next; r->oldest++) {
		if (!r->state[slot(r->oldest)])
			continue;
		if (n - r->oldest > INT32_MAX || n - r->oldest < DUPS)
			break;
		lose(r, r->oldest);
	}
	send_now(r);
}

static void
on_packet(struct sim *s, void *who, uint64_t b)
{
	struct reno *r = who;
	uint8_t ack[ACK_BYTES] = {0};
	be32_store(ack, be32_load(s->buf[b].data));
	r->received++;
	sim_send(s, r->sink, s->port[r->port].ipv4, &(struct sim_piece){ack, sizeof ack}, 1);
}

static void
on_timer(struct sim *s, void *who, uint64_t arg)
{
	struct reno *r = who;
	(void)arg;
	if (!r->running)
		return;
	if (r->in_flight && s->now_ns - r->acked_ns >= RTO_NS) {
		for (; r->oldest != r->next; r->oldest++)
			r->state[slot(r->oldest)] = 0;
		r->in_flight = 0;
		r->timeouts++;
		r->ssthresh = r->cwnd / 2 < 2 ? 2 : r->cwnd / 2;
		r->cwnd = 1;
		r->recover = r->next;
		r->acked_ns = s->now_ns;
		send_now(r);
	}
	sim_at(s, s->now_ns + RTO_NS / 4, on_timer, r, 0);
}

struct reno *
reno_new(struct sim *s, uint32_t network, uint32_t ipv4, uint32_t bytes, uint64_t jitter_ns)
{
	struct reno *r = calloc(1, sizeof *r);
	BASE_ASSERT(r && bytes >= ACK_BYTES);
	r->s = s;
	r->bytes = bytes;
	r->jitter_ns = jitter_ns;
	r->prng = base_prng_seed(s->seed ^ 0x2e10);
	r->cwnd = 10;
	r->ssthresh = 1e9;
	r->port = sim_add_port(s, r, on_ack, network, ipv4);
	r->sink = sim_add_port(s, r, on_packet, network, ipv4 + 1);
	return r;
}

void
reno_start(struct reno *r)
{
	r->running = true;
	r->acked_ns = r->s->now_ns;
	send_now(r);
	sim_at(r->s, r->s->now_ns + RTO_NS / 4, on_timer, r, 0);
}

void
reno_stop(struct reno *r)
{
	r->running = false;
}

void
reno_free(struct reno *r)
{
	free(r);
}

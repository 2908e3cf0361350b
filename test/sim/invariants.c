/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks that concern everybody; those of one callback are where it is (stream.c,
 * end.c, rnode.c). */
#include "invariants.h"
#include "world.h"

#include <stdarg.h>
#include <stdio.h>

/* A timer has a grain of about 1 us, and a millisecond of arrivals is no more. */
#define WAKES_PER_MS 2000

static const char *const names[] = {"",
#define X(id, name, what) name,
				    INVARIANTS(X)
#undef X
};

static const char *const whats[] = {"",
#define X(id, name, what) what,
				    INVARIANTS(X)
#undef X
};

const char *
invariant_name(enum invariant i)
{
	return i < INV_COUNT ? names[i] : "";
}

const char *
invariant_what(enum invariant i)
{
	return i < INV_COUNT ? whats[i] : "";
}

void
invariant_broken(struct sim *s, enum invariant i, const char *fmt, ...)
{
	char text[300];
	if (s->failed)
		return;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	sim_fail(s, "[%s] %s", names[i], text);
	s->broken = (uint8_t)i;
}

/* ---- each event ---- */

void
check_wake(struct world *w, struct wakes *k, const char *who, uint32_t index)
{
	uint64_t ms = w->s->now_ns / BASE_MS_NS;
	if (ms != k->ms) {
		k->ms = ms;
		k->n = 0;
	}
	INVARIANT(w->s, SPIN, ++k->n <= WAKES_PER_MS, "%s %u: %u wake-ups within a millisecond",
		  who, index, k->n);
}

/* A datagram left the endpoint. */
void
check_sent(struct world *w, const struct suci *ep, const struct suci_limits *l,
	   const struct suci_out *out, const char *who, uint32_t index)
{
	struct suci_path_info i;
	/* A probe, and what is sent again by it, may go beyond: the window may have shrunk. */
	if (!out->has_segment || out->retransmit || !suci_path_info(ep, out->path, &i))
		return;
	INVARIANT(w->s, WINDOW,
		  i.in_flight <= i.cwnd && i.in_flight <= i.peer_credit &&
			  i.in_flight <= l->window_max,
		  "%s %u: path %u has %u in flight; cwnd %u, credit %u, window_max %u", who, index,
		  out->path, i.in_flight, i.cwnd, i.peer_credit, l->window_max);
}

/* The node has nothing more to send at this instant. */
void
check_driven(struct world *w, const struct suci *ep, const char *who, uint32_t index)
{
	uint64_t at = suci_expiry_ns(ep);
	INVARIANT(w->s, TIMER, at != BASE_NEVER_NS || !suci_held(ep),
		  "%s %u: %u segments are held and no timer is set", who, index, suci_held(ep));
}

/* ---- often ---- */

/* What only a forger earns. */
#define FORGED(X)         \
	X(drop_short)     \
	X(drop_version)   \
	X(drop_type)      \
	X(drop_malformed) \
	X(drop_sealed)    \
	X(drop_unsealed)  \
	X(drop_psk)       \
	X(drop_reflected) \
	X(drop_identity)  \
	X(drop_bad_ack)   \
	X(drop_part)

static void
check_honest(struct world *w, const struct suci_counters *n, const char *who)
{
#define X(name) \
	INVARIANT(w->s, HONEST, !n->name, "%s: %llu " #name, who, (unsigned long long)n->name);
	FORGED(X)
#undef X
}

/* What the driver gave is what the endpoint counted, and each datagram is in one place. */
static void
check_endpoint(struct world *w, const struct suci *ep, uint32_t held_max, uint64_t given,
	       uint64_t taken, bool first_life, const char *who)
{
	const struct suci_counters *n = suci_counters(ep);
	if (first_life) {
		INVARIANT(w->s, ACCOUNT, n->rx_datagrams == given,
			  "%s: %llu datagrams counted, %llu delivered to it", who,
			  (unsigned long long)n->rx_datagrams, (unsigned long long)given);
		INVARIANT(w->s, ACCOUNT, n->tx_datagrams == taken,
			  "%s: %llu datagrams built, %llu sent from it", who,
			  (unsigned long long)n->tx_datagrams, (unsigned long long)taken);
	}
	INVARIANT(w->s, MEMORY, suci_held(ep) <= held_max, "%s: holds %u segments, its limit is %u",
		  who, suci_held(ep), held_max);
	if (!w->conf.forged)
		check_honest(w, n, who);
}

static void
check_path_limits(struct world *w, const struct suci *ep, const struct suci_limits *l,
		  const char *who)
{
	struct suci_path_info info;
	for (uint32_t p = 0; p < l->paths_max; p++) {
		if (!suci_path_info(ep, p, &info))
			continue;
		/* Where paths probe for their MTU, a probe of either kind may be one too many; and
		 * each timeout sends a part of what was lost, beyond a full window: those have
		 * their own bound, limits.parts_max. */
		uint32_t beyond = l->parts_max ? 2 + l->parts_max / 4 : 0;
		INVARIANT(w->s, MEMORY, info.in_flight <= l->window_max + beyond,
			  "%s: path %u has %u in flight, window_max %u", who, p, info.in_flight,
			  l->window_max);
		/* What was in flight and is lost waits beside the queue, parts too. */
		uint32_t most = l->queue_max + l->window_max + l->parts_max / 4;
		INVARIANT(w->s, MEMORY, info.queued <= most, "%s: path %u has %u queued", who, p,
			  info.queued);
	}
}

/* On a direct lane the path's ack frees the window, so the sender may be ahead of it by what
 * was acknowledged out of order; the receiver puts such a segment off.  That may be long ago, and
 * the lane of who has died is gone. */
static bool
has_direct(const struct world *w, uint32_t rank)
{
	for (uint32_t i = 0; i < w->nstream; i++)
		if (w->stream[i].dst == rank && world_same_cluster(w, w->stream[i].src, rank))
			return true;
	for (uint32_t r = 0; w->conf.app && r < w->nend; r++)
		if (r != rank && world_same_cluster(w, r, rank))
			return true;
	return false;
}

static void
check_lanes(struct world *w, const struct end *e, const char *who)
{
	if (w->conf.forged)
		return;
	const struct suci_lane_counters *n = suci_lane_counters(e->lanes);
	/* A lane that ended may still get segments, so labels are no matter of honesty. */
	INVARIANT(w->s, HONEST, !n->drop_malformed && !n->drop_crc,
		  "%s: %llu segments malformed, %llu with a wrong CRC", who,
		  (unsigned long long)n->drop_malformed, (unsigned long long)n->drop_crc);
	INVARIANT(w->s, HONEST, !n->drop_window || has_direct(w, e->rank),
		  "%s: %llu segments beyond the window", who, (unsigned long long)n->drop_window);
}

/* The tables of one node: every list is walked. */
static void
check_tables(struct world *w, uint32_t node)
{
	const char *what = "";
	if (node < w->nend) {
		const struct end *e = &w->end[node];
		if (!e->alive)
			return;
		INVARIANT(w->s, TABLES, suci_check(e->ep, &what), "rank %u: %s", node, what);
		INVARIANT(w->s, TABLES, suci_lanes_check(e->lanes, &what), "rank %u: %s", node,
			  what);
		return;
	}
	const struct rnode *r = &w->relay[node - w->nend];
	if (r->alive)
		INVARIANT(w->s, TABLES, suci_check(r->ep, &what), "relay %u.%u: %s", r->client,
			  r->index, what);
}

static void
check_relay(struct world *w, const struct rnode *r, const char *who)
{
	struct sim *s = w->s;
	uint64_t delivered = 0, sent = 0;
	for (uint32_t leg = 0; leg < r->nlegs; leg++) {
		delivered += s->port[r->port[leg]].delivered;
		sent += s->port[r->port[leg]].sent;
	}
	check_endpoint(w, r->ep, w->conf.relay.limits.segments_max, delivered - r->not_read, sent,
		       r->incarnation == 1, who);
	check_path_limits(w, r->ep, &w->conf.relay.limits, who);
	const char *what = "";
	INVARIANT(s, ACCOUNT, relay_core_check(r->core, &what), "%s: %s", who, what);
	INVARIANT(s, ACCOUNT,
		  suci_counters(r->ep)->rx_segments == relay_core_counters(r->core)->rx_segments,
		  "%s: endpoint offered %llu segments, core counted %llu", who,
		  (unsigned long long)suci_counters(r->ep)->rx_segments,
		  (unsigned long long)relay_core_counters(r->core)->rx_segments);
}

void
world_check_now(struct world *w)
{
	struct sim *s = w->s;
	char who[32];
	for (uint32_t i = 0; i < w->nend && !s->failed; i++) {
		const struct end *e = &w->end[i];
		if (!e->alive)
			continue;
		snprintf(who, sizeof who, "rank %u", e->rank);
		const struct sim_port *p = &s->port[e->port];
		check_endpoint(w, e->ep, e->limits.segments_max, p->delivered - e->not_read,
			       p->sent, e->incarnation == 1, who);
		check_path_limits(w, e->ep, &e->limits, who);
		check_lanes(w, e, who);
	}
	for (uint32_t i = 0; i < w->nrelay && !s->failed; i++) {
		const struct rnode *r = &w->relay[i];
		snprintf(who, sizeof who, "relay %u.%u", r->client, r->index);
		if (r->alive)
			check_relay(w, r, who);
	}
	/* The nodes in turn: it takes as long as their limits are large. */
	if (w->checked++ % 4 == 0)
		check_tables(w, w->checked / 4 % (w->nend + w->nrelay));
	sim_check_links(s);
}

/* Everything goes down at once; then no buffer may be left but those on the wire. */
void
world_check_end(struct world *w)
{
	for (uint32_t i = 0; i < w->nend + w->nrelay && !w->s->failed; i++)
		check_tables(w, i);
	world_check_now(w);
	for (uint32_t i = 0; i < w->nend; i++)
		w->end[i].quitting = true;
	bool die_ok = w->conf.die_ok;
	w->conf.die_ok = true; /* closing is no failure */
	for (uint32_t i = 0; i < w->nend; i++)
		end_kill(&w->end[i]);
	for (uint32_t i = 0; i < w->nrelay; i++)
		rnode_kill(&w->relay[i]);
	w->conf.die_ok = die_ok;
	uint64_t inside = 0;
	for (uint32_t i = 0; i < w->s->nlink; i++)
		inside += w->s->link[i].inside;
	for (uint32_t i = 0; i < w->nend; i++)
		inside += w->end[i].not_read + w->end[i].bounced;
	for (uint32_t i = 0; i < w->nrelay; i++)
		inside += w->relay[i].not_read;
	for (uint32_t i = 0; i < w->nend && w->s->buf_live != inside; i++)
		if (w->end[i].holding)
			sim_log(w->s, "rank %u holds %u", i, w->end[i].holding);
	for (uint32_t i = 0; i < w->nrelay && w->s->buf_live != inside; i++)
		if (w->relay[i].holding)
			sim_log(w->s, "relay %u.%u holds %u", w->relay[i].client, w->relay[i].index,
				w->relay[i].holding);
	INVARIANT(w->s, EMPTY, w->s->buf_live == inside,
		  "%llu receive buffers are still held after everything was closed",
		  (unsigned long long)(w->s->buf_live - inside));
	for (uint32_t i = 0; i < w->nstream; i++)
		INVARIANT(w->s, EMPTY, w->stream[i].done == w->stream[i].sent,
			  "%u->%u: %u blocks sent, %u given back", w->stream[i].src,
			  w->stream[i].dst, w->stream[i].sent, w->stream[i].done);
}

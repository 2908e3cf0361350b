/* SPDX-License-Identifier: BSD-2-Clause */
#include "measure.h"

#include "env.h"

#include "base/clock.h"
#include "relay/addr.h"

#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include <bsd/string.h>

_Static_assert(RD_ADVISE_DEST == (int)RD_POLICY_DEST && RD_ADVISE_SOURCE == (int)RD_POLICY_SOURCE &&
		       RD_ADVISE_STRIPE == (int)RD_POLICY_STRIPE,
	       "policies");
_Static_assert(RD_WORKERS_MAX <= RD_ADVISE_WORKERS, "one place for each worker");

struct counts {
	uint64_t tx_bytes, tx_segments, retransmits, rx_bytes, rx_refused, path_rx_bytes;
	uint32_t rx_last, rx_missing;
};

struct rd_measure {
	const struct rd_rpc_env *env;
	void (*done)(void *user, const struct rd_measured *r);
	void *user;
	bool running, taken; /* the workers have no table any more */
	bool snapshot_out;
	uint64_t until_ns, began_ns; /* began_ns: clock of the workers */
	uint32_t mails, nlanes;
	struct rd_lanes *table[RD_WORKERS_MAX];
	struct rd_snapshot *snapshot;
	struct counts first[RD_ADVISE_TRUNKS];
	uint64_t first_busy_ns[RD_ADVISE_WORKERS];
	uint64_t first_rx_frames, first_rx_lost;
	uint64_t rtt_sum[RD_ADVISE_TRUNKS];
	struct rd_measured r;
};

struct rd_measure *
rd_measure_new(const struct rd_rpc_env *env)
{
	struct rd_measure *m = calloc(1, sizeof *m);
	if (m)
		m->env = env;
	return m;
}

static void
clear(struct rd_measure *m)
{
	for (uint32_t i = 0; i < m->nlanes; i++)
		free(m->table[i]);
	m->nlanes = 0;
	free(m->r.lanes);
	rd_snapshot_free(m->snapshot);
	const struct rd_rpc_env *env = m->env;
	memset(m, 0, sizeof *m);
	m->env = env;
}

void
rd_measure_free(struct rd_measure *m)
{
	if (!m)
		return;
	clear(m);
	free(m);
}

void
rd_measure_forget(struct rd_measure *m, const void *user)
{
	if (m->running && m->user == user) {
		m->done = NULL;
		m->until_ns = 0;
	}
}

/* ---- mail ------------------------------------------------------------------------------ */

static void
take_measure_mail(struct rd_mail *mail)
{
	((struct rd_measure *)mail->owner)->mails--;
}

static void
tell_measure(struct rd_measure *m, bool on)
{
	for (uint32_t i = 0; i < m->nlanes; i++) {
		struct rd_mail *mail = rd_post_mail(m->env->post, i, RD_MAIL_LANES);
		mail->tool = on ? m->table[i] : NULL;
		mail->done = take_measure_mail;
		mail->owner = m;
		m->mails++;
		rd_post_send(m->env->post, mail);
	}
}

/* ---- samples ----------------------------------------------------------------------------- */

static struct counts
counts_of(const struct rd_path_row *row)
{
	return (struct counts){
		.tx_bytes = row->relay.tx_bytes,
		.tx_segments = row->suci.tx_segments,
		.retransmits = row->suci.tx_retransmits,
		.rx_bytes = row->relay.rx_bytes,
		.rx_refused = row->relay.refused,
		.path_rx_bytes = row->suci.rx_bytes,
		.rx_last = row->suci.rx_last,
		.rx_missing = row->suci.rx_missing,
	};
}

/* The place of that trunk, a new one if need be. */
static uint32_t
trunk_index(struct rd_measure *m, const struct rd_path_row *row, const char *peer)
{
	struct rd_measured *r = &m->r;
	uint32_t i = 0;
	while (i < r->input.ntrunks &&
	       (r->path[i] != row->path || r->input.trunk[i].worker != row->worker ||
		strcmp(r->peer[i], peer) != 0))
		i++;
	if (i < r->input.ntrunks || i == RD_ADVISE_TRUNKS)
		return i;
	r->input.ntrunks++;
	r->path[i] = row->path;
	r->input.trunk[i].worker = row->worker;
	strlcpy(r->peer[i], peer, sizeof r->peer[i]);
	m->first[i] = counts_of(row);
	return i;
}

static void
sample_arrivals(struct rd_advise_trunk *t, const struct rd_path_row *row,
		const struct counts *first)
{
	const struct suci_path_info *p = &row->suci;
	int32_t missing = (int32_t)(p->rx_missing - first->rx_missing);
	t->rx_bytes = row->relay.rx_bytes - first->rx_bytes;
	t->rx_packets = p->rx_last - first->rx_last;
	t->rx_missing = missing > 0 ? (uint32_t)missing : 0; /* some of before were late */
	t->rx_refused = row->relay.refused - first->rx_refused;
	t->rx_waits += p->rx_waits;
	if (p->rx_credit > t->rx_credit)
		t->rx_credit = p->rx_credit;
}

static void
sample_trunk(struct rd_measure *m, const struct rd_path_row *row)
{
	const struct rd_conf *conf = m->env->conf;
	const struct suci_path_info *p = &row->suci;
	char peer[SUCI_ADDR_TEXT_MAX];
	uint32_t i = trunk_index(m, row, suci_addr_text(&p->peer, peer));
	if (i == RD_ADVISE_TRUNKS)
		return;
	struct rd_advise_trunk *t = &m->r.input.trunk[i];
	uint32_t limit = p->peer_credit < p->cwnd ? p->peer_credit : p->cwnd;
	bool fixed = p->cc == SUCI_CC_FIXED;
	if (p->tx_segments < m->first[i].tx_segments || p->rx_bytes < m->first[i].path_rx_bytes)
		m->first[i] = (struct counts){0}; /* it went down, and came up with that number */
	t->tx_bytes = row->relay.tx_bytes - m->first[i].tx_bytes;
	t->tx_segments = p->tx_segments - m->first[i].tx_segments;
	t->retransmits = p->tx_retransmits - m->first[i].retransmits;
	t->samples++;
	m->rtt_sum[i] += p->rtt_ns;
	t->rtt_ns = m->rtt_sum[i] / t->samples;
	t->rtt_min_ns = p->rtt_ns_min;
	t->cubic = p->cc == SUCI_CC_CUBIC;
	t->mss = p->mss;
	t->window_max = fixed ? conf->suci.global_window : conf->limits.window;
	t->pace_bps = fixed ? conf->suci.global_rate_mbps * 1000000ull : 0;
	t->queued_sum += p->queued;
	if (p->queued && p->in_flight >= limit - limit / 8) {
		t->full++;
		t->full_credit += p->peer_credit < p->cwnd;
		t->full_window += p->cwnd >= t->window_max - t->window_max / 8;
	}
	sample_arrivals(t, row, &m->first[i]);
}

/* What the NIC counts begins anew when its port is reset.  To ask it may take a while, so it is not
 * asked at each look. */
static uint64_t
count_since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void
sample_leg(struct rd_measure *m, bool first)
{
	struct rd_advise_input *in = &m->r.input;
	struct rd_nic_counters nic;
	uint64_t frames = m->snapshot->sum.leg[RD_LEG_GLOBAL].rx_frames;
	rd_nics_read(m->env->nics, RD_LEG_GLOBAL, &nic);
	if (first) {
		m->first_rx_frames = frames;
		m->first_rx_lost = nic.rx_missed + nic.rx_nombuf;
	}
	in->rx_frames = count_since(frames, m->first_rx_frames);
	in->rx_lost = count_since(nic.rx_missed + nic.rx_nombuf, m->first_rx_lost);
}

static void
sample(struct rd_measure *m)
{
	const struct rd_snapshot *s = m->snapshot;
	struct rd_advise_input *in = &m->r.input;
	if (!m->began_ns) {
		sample_leg(m, true);
		m->began_ns = s->sum.now_ns;
		in->nworkers = s->nshards;
		for (uint32_t i = 0; i < s->nshards; i++)
			m->first_busy_ns[i] = s->shard[i]->worker.busy_ns;
	}
	in->duration_ns = s->sum.now_ns - m->began_ns;
	for (uint32_t i = 0; i < s->nshards; i++)
		in->worker[i].busy_ns = s->shard[i]->worker.busy_ns - m->first_busy_ns[i];
	for (uint32_t i = 0; i < s->sum.npaths; i++)
		if (s->sum.path[i].known && s->sum.path[i].relay.kind == RELAY_PATH_TRUNK &&
		    s->sum.path[i].suci.up)
			sample_trunk(m, &s->sum.path[i]);
}

static void
take_measured(struct rd_snapshot *made, void *owner)
{
	struct rd_measure *m = owner;
	(void)made;
	m->snapshot_out = false;
	sample(m);
}

static void
ask_measured(struct rd_measure *m)
{
	m->snapshot_out = true;
	rd_snapshot_take(m->env->figures, m->snapshot, take_measured, m);
}

/* ---- the result ---------------------------------------------------------------------------- */

/* Which processes of a job are of this cluster. */
static bool
is_local(const struct rd_snapshot *s, uint32_t job, uint32_t rank)
{
	for (uint32_t i = 0; i < s->sum.njobs; i++)
		if (s->sum.job[i].label_base == job)
			return rank >= s->sum.job[i].first_local &&
			       rank - s->sum.job[i].first_local < s->sum.job[i].nlocal;
	return false;
}

static int
by_number(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
	return a < b ? -1 : a > b;
}

static uint32_t
different(uint64_t *v, uint32_t n)
{
	uint32_t k = 0;
	qsort(v, n, sizeof *v, by_number);
	for (uint32_t i = 0; i < n; i++)
		k += !i || v[i] != v[i - 1];
	return k;
}

/* Towards other clusters: how many pairs, senders, receivers. */
static void
count_pairs(struct rd_measured *r)
{
	struct rd_advise_input *in = &r->input;
	uint64_t *who = calloc(2 * ((size_t)r->nlanes + 1), sizeof *who);
	uint64_t *to = who ? who + r->nlanes + 1 : NULL;
	if (!who)
		return;
	for (uint32_t i = 0; i < r->nlanes; i++) {
		const struct rd_lane *l = &r->lanes->lane[i];
		if (!is_local(r->snapshot, l->job, l->src) || !l->bytes)
			continue;
		who[in->pairs] = (uint64_t)l->job << 32 | l->src;
		to[in->pairs++] = (uint64_t)l->job << 32 | l->dst;
		in->pair_bytes += l->bytes;
		if (l->bytes > in->pair_bytes_most)
			in->pair_bytes_most = l->bytes;
	}
	in->senders = different(who, in->pairs);
	in->receivers = different(to, in->pairs);
	free(who);
}

/* Bits per second of the global leg's link, if a NIC says so; what a kernel interface's
 * driver says is made up. */
static uint64_t
link_bps(const struct rd_rpc_env *env)
{
	struct rte_eth_link link;
	if (!rd_dev_is_pci(env->conf->port[RD_LEG_GLOBAL].device) ||
	    rte_eth_link_get_nowait(env->global_port, &link) ||
	    link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
		return 0;
	return link.link_speed * 1000000ull;
}

static void
finish_measure(struct rd_measure *m)
{
	struct rd_measured *r = &m->r;
	for (uint32_t i = 0; i < m->nlanes; i++)
		rd_lanes_merge(r->lanes, m->table[i]);
	r->nlanes = rd_lanes_sort(r->lanes);
	r->snapshot = m->snapshot;
	r->duration_ns = r->input.duration_ns;
	sample_leg(m, false);
	r->input.policy = (enum rd_advise_policy)m->env->settings->policy;
	r->input.link_bps = link_bps(m->env);
	count_pairs(r);
	if (m->done)
		m->done(m->user, r);
	clear(m);
}

static bool
make_measure_tables(struct rd_measure *m)
{
	size_t len = rd_lanes_footprint(RD_MEASURE_LANE_BITS);
	for (; m->nlanes < m->env->post->nworkers; m->nlanes++) {
		m->table[m->nlanes] = malloc(len);
		if (!m->table[m->nlanes])
			return false;
		(void)rd_lanes_new(m->table[m->nlanes], RD_MEASURE_LANE_BITS);
	}
	m->r.lanes = malloc(len);
	m->snapshot = rd_snapshot_new(m->env->conf);
	if (!m->r.lanes || !m->snapshot)
		return false;
	(void)rd_lanes_new(m->r.lanes, RD_MEASURE_LANE_BITS);
	return true;
}

bool
rd_measure_start(struct rd_measure *m, uint64_t duration_ns,
		 void (*done)(void *user, const struct rd_measured *r), void *user)
{
	if (m->running)
		return false;
	if (!make_measure_tables(m)) {
		clear(m);
		done(user, NULL);
		return true;
	}
	m->running = true;
	m->done = done;
	m->user = user;
	m->until_ns = m->env->loop->now_ns + duration_ns;
	tell_measure(m, true);
	ask_measured(m);
	return true;
}

void
rd_measure_tick(struct rd_measure *m)
{
	if (!m->running || m->snapshot_out)
		return;
	if (m->env->loop->now_ns < m->until_ns) {
		ask_measured(m);
	} else if (!m->taken) {
		m->taken = true;
		tell_measure(m, false);
		ask_measured(m);
	} else if (!m->mails) {
		finish_measure(m);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "run_internal.h"

#include "base/clock.h"
#include "driver/aead.h"
#include "search_run.h"
#include "turns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/string.h>

#define CHORES_NS     (200 * BASE_US_NS) /* TAPs, channels, events */
#define CHANNEL_MS    10000u
#define ANSWER_MS     20000u
#define CONNECT_MS    30000u
#define GIVE_TRIES    5u
#define SETTLE_MS     30u
#define TAKE_OVER_MS  5000u
#define ARP_WAIT_MS   10000u
#define LATE_NAMES_NS (5 * BASE_S_NS) /* liveness, and a turn */
#define REPLAY_TURN   2		      /* frames at a time */

/* ---- channels ------------------------------------------------------------------------ */

static struct pg_job *
scenario_run_job_by_base(struct pg_run *r, uint8_t side, uint32_t base)
{
	for (uint32_t j = 0; r && r->world && j < r->load->jobs; j++)
		if (r->world->job[j].base[side] == base)
			return &r->world->job[j];
	return NULL;
}

static void
on_scenario_run_answer(void *user, uint8_t side, uint32_t base, const char *why)
{
	struct pg_ctx *c = user;
	struct pg_job *j = scenario_run_job_by_base(c->run, side, base);
	if (!j)
		return;
	c->run->answers++;
	j->installed[side] = !why;
	if (!why)
		return;
	j->refused = true;
	strlcpy(c->run->out->why_ended, why, sizeof c->run->out->why_ended);
}

static void
on_scenario_run_end(void *user, uint8_t side, uint32_t base, const char *why)
{
	struct pg_ctx *c = user;
	struct pg_job *j = scenario_run_job_by_base(c->run, side, base);
	if (!j)
		return;
	j->over = true;
	if (*why)
		strlcpy(j->why, why, sizeof j->why);
}

/* ---- the loop -------------------------------------------------------------------------- */

static void run_events(struct pg_run *r);

/* What came since the last call, in the slot of now. */
static void
count_slot(struct pg_run *r)
{
	const struct pg_world *w = r->world;
	if (!w || !w->measuring || !r->measure_ns)
		return;
	uint64_t whole = r->load->measure_ms * BASE_MS_NS;
	uint64_t slot = (r->ctx->net.now_ns - r->measure_ns) * PG_SLOTS / whole;
	r->out->slot[slot < PG_SLOTS ? slot : PG_SLOTS - 1] += w->received.segments - r->counted;
	r->counted = w->received.segments;
}

static void
turn_scenario_run(struct pg_ctx *c)
{
	struct pg_world *w = c->run ? c->run->world : NULL;
	c->net.now_ns = rd_clock_ns(&c->net.clock);
	uint32_t work = pg_net_poll(&c->net);
	if (w)
		work += pg_world_turn(w);
	if (c->net.now_ns - c->chores_ns >= CHORES_NS) {
		c->chores_ns = c->net.now_ns;
		pg_net_poll_taps(&c->net);
		for (uint32_t i = 0; i < c->nchans; i++)
			pg_chan_poll(&c->chan[i], c->net.now_ns);
		if (c->run) {
			run_events(c->run);
			count_slot(c->run);
			pg_progress_turn(&c->progress, c->net.now_ns, w);
		}
	}
	pg_net_flush(&c->net);
	rd_idle_turn(&c->idle, work, c->net.now_ns, c->net.now_ns + 50 * BASE_US_NS);
}

static bool
is_up(const struct pg_run *r)
{
	for (uint32_t i = 0; i < r->ctx->nchans; i++)
		if (!pg_chan_up(&r->ctx->chan[i]))
			return false;
	return true;
}

/* How often a channel broke by itself. */
static uint32_t
breaks(const struct pg_ctx *c)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->nchans; i++)
		n += c->chan[i].lost;
	return n;
}

static bool
is_answered(const struct pg_run *r)
{
	return r->answers >= r->load->jobs * r->ctx->nchans || breaks(r->ctx) != r->breaks;
}

static bool
is_connected(const struct pg_run *r)
{
	return pg_world_connected(r->world);
}

bool
pg_run_drained(const struct pg_run *r)
{
	const struct pg_world *w = r->world;
	return w->received.segments + w->written_off >= w->sent.segments && pg_world_held(w) == 0;
}

static bool
all_over(const struct pg_run *r)
{
	for (uint32_t j = 0; j < r->load->jobs; j++) {
		const struct pg_job *job = &r->world->job[j];
		if (!job->refused && !(job->over && job->told >= r->load->hosts))
			return false;
	}
	return true;
}

static bool
scenario_run_never(const struct pg_run *r)
{
	(void)r;
	return false;
}

bool
pg_run_wait(struct pg_run *r, bool (*done)(const struct pg_run *r), uint32_t ms)
{
	struct pg_ctx *c = r->ctx;
	uint64_t end = c->net.now_ns + ms * BASE_MS_NS;
	while (!done(r)) {
		if (c->net.now_ns >= end || *c->stop)
			return false;
		turn_scenario_run(c);
	}
	return true;
}

void
pg_run_wait_ms(struct pg_run *r, uint32_t ms)
{
	(void)pg_run_wait(r, scenario_run_never, ms);
}

/* ---- events ------------------------------------------------------------------------------ */

static void
restart_relayd(struct pg_run *r)
{
	struct pg_ctx *c = r->ctx;
	if (!*c->lab->restart) {
		strlcpy(r->out->error, "the lab has no restart command", sizeof r->out->error);
		return;
	}
	pg_net_pin(&c->net, false); /* a child has the CPUs we were given, not our one */
	if (system(c->lab->restart) != 0)
		strlcpy(r->out->error, "the lab's restart command failed", sizeof r->out->error);
	pg_net_pin(&c->net, true);
	for (uint32_t i = 0; i < c->nchans; i++)
		pg_chan_drop(&c->chan[i], 0);
	pg_net_relink(&c->net);
	(void)pg_net_ready(&c->net, ARP_WAIT_MS, r->out->error, sizeof r->out->error);
}

static void
set_cuts(struct pg_run *r)
{
	struct pg_side *p = &r->ctx->net.side[0], *g = &r->ctx->net.side[1];
	const uint64_t *e = r->cut_end_ns, now = r->ctx->net.now_ns;
	p->rx_cut = p->tx_cut = e[0] > now;
	g->rx_cut = e[1] > now || e[3] > now;
	g->tx_cut = e[1] > now || e[2] > now;
	r->world->no_room = r->room_end_ns > now;
	r->world->wrong_labels = r->wrong_end_ns > now;
}

static void
replay_scenario_run(struct pg_run *r)
{
	struct pg_net *n = &r->ctx->net;
	for (uint8_t side = 0; side < PG_SIDES; side++)
		for (int i = 0; r->replay_end_ns[side] > n->now_ns && i < REPLAY_TURN; i++)
			if (pg_net_room(n, side) && pg_net_replay(n, side))
				r->out->m[PG_M_replayed]++;
}

static void
begin_event(struct pg_run *r, const struct pg_event *e)
{
	struct pg_world *w = r->world;
	uint64_t end = r->ctx->net.now_ns + e->for_ms * BASE_MS_NS;
	if (!r->first_event_ns)
		r->first_event_ns = r->ctx->net.now_ns;
	switch (e->what) {
	case PG_DO_cut_private:
	case PG_DO_cut_global:
	case PG_DO_mute_global:
	case PG_DO_deafen_global:
		r->cut_end_ns[e->what - PG_DO_cut_private] = end;
		break;
	case PG_DO_stop_receivers:
		r->room_end_ns = end;
		break;
	case PG_DO_restart_remote:
		pg_world_restart(w, 1, 0);
		r->disrupted = true;
		break;
	case PG_DO_abort_job:
		for (uint32_t j = 0; j < r->load->jobs; j++)
			pg_world_note(w, j, "a process of the scenario ended the job");
		r->disrupted = true;
		break;
	case PG_DO_lose_primary:
		pg_chan_drop(&r->ctx->chan[0], r->ctx->net.now_ns);
		break;
	case PG_DO_restart_relayd:
		r->disrupted = true;
		restart_relayd(r);
		break;
	case PG_DO_replay_private:
	case PG_DO_replay_global:
		r->replay_end_ns[e->what - PG_DO_replay_private] = end;
		break;
	case PG_DO_wrong_labels:
		r->wrong_end_ns = end;
		break;
	case PG_ACTIONS_COUNT:
		break;
	}
}

static void
run_events(struct pg_run *r)
{
	uint64_t since = r->ctx->net.now_ns - r->start_ns;
	if (!r->start_ns)
		return;
	while (r->next_event < r->load->nevents &&
	       since >= r->load->event[r->next_event].at_ms * BASE_MS_NS)
		begin_event(r, &r->load->event[r->next_event++]);
	set_cuts(r);
	replay_scenario_run(r);
}

/* ---- measuring ---------------------------------------------------------------------------- */

static void
set_scenario_run(struct pg_result *o, enum pg_measure m, double v)
{
	o->m[m] = v;
	o->known[m] = true;
}

/* Rounds add up. */
static void
add_scenario_run(struct pg_result *o, enum pg_measure m, double v)
{
	set_scenario_run(o, m, o->m[m] + v);
}

static uint64_t
wire_bytes(const struct pg_net *n)
{
	uint64_t b = 0;
	for (int i = 0; i < PG_SIDES; i++)
		b += n->side[i].count.rx_bytes + n->side[i].count.tx_bytes;
	return b;
}

/* Of all that send if they are the more, else of all that receive: least against mean. */
static double
fairness(const struct pg_world *w)
{
	uint64_t least = UINT64_MAX, sum = 0, n = 0;
	for (int side = 0; side < PG_SIDES; side++)
		for (uint32_t i = 0; i < w->nstations[side]; i++) {
			const struct pg_station *s = &w->station[side][i];
			uint64_t v = s->sent - s->at_begin;
			bool sends = false;
			for (uint32_t f = 0; f < s->nflows; f++)
				sends = sends || s->flow[f].n;
			if (!sends)
				continue;
			least = v < least ? v : least;
			sum += v;
			n++;
		}
	return sum ? (double)least * (double)n / (double)sum : 0;
}

static void
begin_measure(struct pg_run *r)
{
	struct pg_world *w = r->world;
	for (int side = 0; side < PG_SIDES; side++)
		for (uint32_t i = 0; i < w->nstations[side]; i++)
			w->station[side][i].at_begin = w->station[side][i].sent;
	w->last_rx_ns = w->stall_ns = 0;
	w->measuring = true;
}

static void
measure_scenario_run(struct pg_run *r)
{
	struct pg_world *w = r->world;
	struct pg_result *o = r->out;
	struct pg_tally before = w->received;
	uint64_t wire = wire_bytes(&r->ctx->net), t0 = r->ctx->net.now_ns;
	begin_measure(r);
	r->measure_ns = t0;
	r->counted = w->received.segments;
	(void)pg_run_wait(r, r->load->may_end ? all_over : scenario_run_never, r->load->measure_ms);
	count_slot(r);
	r->measure_ns = 0;
	w->measuring = false;
	double ns = (double)(r->ctx->net.now_ns - t0);
	double segments = (double)(w->received.segments - before.segments);
	double bytes = (double)(w->received.bytes - before.bytes);
	if (ns <= 0)
		ns = 1;
	/* The mean of the rounds. */
	double share = 1.0 / r->load->rounds;
	add_scenario_run(o, PG_M_mpps, segments * 1e3 / ns * share);
	add_scenario_run(o, PG_M_gbps, bytes * 8 / ns * share);
	add_scenario_run(o, PG_M_wire_gbps,
			 (double)(wire_bytes(&r->ctx->net) - wire) * 8 / ns * share);
	set_scenario_run(o, PG_M_fairness, fairness(w));
	double stall = (double)w->stall_ns / 1e6;
	set_scenario_run(o, PG_M_stall_ms,
			 stall > o->m[PG_M_stall_ms] ? stall : o->m[PG_M_stall_ms]);
	base_hist_merge(&o->latency, &w->latency);
	static const struct {
		enum pg_measure m;
		uint32_t ppm;
	} q[] = {{PG_M_p50_us, 500000}, {PG_M_p99_us, 990000}, {PG_M_p999_us, 999000}};
	for (int i = 0; i < 3; i++)
		set_scenario_run(o, q[i].m,
				 (double)base_hist_quantile(&o->latency, q[i].ppm) / 1e3);
	set_scenario_run(o, PG_M_max_us, o->latency.count ? (double)o->latency.max / 1e3 : 0);
}

/* See turns.h.  What a turn leaves behind would be the next one's. */
static void
measure_scenario_run_turns(struct pg_run *r)
{
	struct pg_world *w = r->world;
	struct pg_net *n = &r->ctx->net;
	uint32_t ms;
	pg_world_send(w, false);
	(void)pg_run_wait(r, pg_run_drained, r->load->drain_ms);
	pg_turn_ready();
	while (!*r->ctx->stop && pg_turn_next(&ms)) {
		n->now_ns = rd_clock_ns(&n->clock);
		pg_world_send(w, true);
		pg_run_wait_ms(r, PG_TURN_LEAD_MS);
		struct pg_tally before = w->received;
		uint64_t t0 = n->now_ns;
		base_hist_init(&w->latency);
		pg_turn_begin();
		w->measuring = true;
		pg_run_wait_ms(r, ms);
		w->measuring = false;
		struct pg_turn t = {.ns = (double)(n->now_ns - t0),
				    .segments = w->received.segments - before.segments,
				    .bytes = w->received.bytes - before.bytes,
				    .latency = &w->latency};
		pg_world_send(w, false);
		(void)pg_run_wait(r, pg_run_drained, PG_TURN_DRAIN_MS);
		pg_run_wait_ms(r, PG_TURN_QUIET_MS);
		pg_turn_print(&t);
	}
	n->now_ns = rd_clock_ns(&n->clock);
}

static void
scenario_run_account(struct pg_run *r)
{
	const struct pg_world *w = r->world;
	struct pg_result *o = r->out;
	bool whole = w->sent.segments == w->received.segments && w->sent.hash == w->received.hash;
	double lost = (double)w->sent.segments - (double)w->received.segments;
	add_scenario_run(o, PG_M_sent, (double)w->sent.segments);
	add_scenario_run(o, PG_M_received, (double)w->received.segments);
	add_scenario_run(o, PG_M_lost, r->disrupted || lost < 0 ? 0 : lost);
	add_scenario_run(o, PG_M_damaged, !whole && !r->disrupted);
	add_scenario_run(o, PG_M_wrong_ids, (double)w->wrong_ids);
	add_scenario_run(o, PG_M_copies, (double)w->copies);
	add_scenario_run(o, PG_M_reordered, (double)w->reordered);
	add_scenario_run(o, PG_M_strays, (double)w->strays);
	add_scenario_run(o, PG_M_retransmits, (double)w->resent);
	add_scenario_run(o, PG_M_mislabelled, (double)w->mislabelled);
	o->known[PG_M_replayed] = true;
	add_scenario_run(o, PG_M_abandoned, (double)w->abandoned);
	add_scenario_run(o, PG_M_undrained, r->disrupted ? 0 : (double)pg_world_held(w));
	double aborted = 0, told = 0;
	for (uint32_t j = 0; j < r->load->jobs; j++) {
		aborted += w->job[j].aborted || (w->job[j].over && *w->job[j].why);
		told += w->job[j].told;
		if (*w->job[j].why)
			strlcpy(o->why_ended, w->job[j].why, sizeof o->why_ended);
	}
	add_scenario_run(o, PG_M_jobs_aborted, aborted);
	add_scenario_run(o, PG_M_hosts_told, told);
	if (r->first_event_ns && w->told_ns > r->first_event_ns)
		set_scenario_run(o, PG_M_abort_ms, (double)(w->told_ns - r->first_event_ns) / 1e6);
}

/* ---- a round --------------------------------------------------------------------------------- */

static int
give_up_scenario_run(struct pg_run *r, const char *what)
{
	if (!*r->out->error)
		strlcpy(r->out->error, *r->ctx->stop ? "stopped" : what, sizeof r->out->error);
	return -1;
}

/* Each job to each primary relay.  A channel that was silent for long, because we or relayd did
 * not get to run, breaks only now that both do, and what was written into it is lost with it. */
static int
give_jobs(struct pg_run *r)
{
	struct pg_ctx *c = r->ctx;
	for (uint32_t i = 0; i < GIVE_TRIES; i++) {
		if (!pg_run_wait(r, is_up, CHANNEL_MS))
			return give_up_scenario_run(
				r, "relayd does not take the primary relay's TCP "
				   "connection: is it in cluster.relays, before relayd?");
		r->answers = 0;
		r->breaks = breaks(c);
		for (uint32_t j = 0; j < r->load->jobs; j++)
			for (uint32_t s = 0; s < c->nchans; s++)
				if (!pg_chan_job(&c->chan[s], r->world->job[j].table[s]))
					return give_up_scenario_run(r,
								    "the channel to relayd broke");
		bool answered = pg_run_wait(r, is_answered, ANSWER_MS);
		if (breaks(c) == r->breaks)
			return answered
				       ? 0
				       : give_up_scenario_run(r, "relayd does not answer to a job");
	}
	return give_up_scenario_run(r, "the channel to relayd broke again and again");
}

static int
install(struct pg_run *r)
{
	struct pg_ctx *c = r->ctx;
	uint64_t t0 = c->net.now_ns;
	pg_progress_phase(&c->progress, "connects");
	if (give_jobs(r))
		return -1;
	uint32_t refused = 0;
	for (uint32_t j = 0; j < r->load->jobs; j++)
		refused += r->world->job[j].refused;
	add_scenario_run(r->out, PG_M_jobs, r->load->jobs - refused);
	add_scenario_run(r->out, PG_M_jobs_refused, refused);
	if (refused)
		return give_up_scenario_run(r, r->out->why_ended);
	if (!pg_run_wait(r, is_connected, CONNECT_MS))
		return give_up_scenario_run(r, "not all hosts and remote relays were connected");
	double ms = (double)(c->net.now_ns - t0) / 1e6;
	set_scenario_run(r->out, PG_M_connect_ms,
			 ms > r->out->m[PG_M_connect_ms] ? ms : r->out->m[PG_M_connect_ms]);
	return 0;
}

static bool
is_playable(const struct pg_run *r)
{
	return pg_run_drained(r) && pg_world_playable(r->world);
}

/* Endpoints have warmed up; from here on players send. */
static int
take_over(struct pg_run *r)
{
	pg_world_send(r->world, false);
	(void)pg_run_wait(r, is_playable, TAKE_OVER_MS);
	const char *why = pg_world_play(r->world);
	if (why)
		return give_up_scenario_run(r, why);
	pg_world_send(r->world, true);
	return 0;
}

/* Both rates; from then on all senders send at the one that drops nothing, or as little as can be
 * said. */
static int
search_rates(struct pg_run *r)
{
	struct pg_result *o = r->out;
	o->trials = calloc(1, sizeof *o->trials);
	if (!o->trials)
		return give_up_scenario_run(r, "not enough memory");
	double found[PG_GOALS];
	pg_search_run(r, o->trials, found);
	set_scenario_run(o, PG_M_ndr_pps, found[PG_NDR]);
	set_scenario_run(o, PG_M_pdr_pps, found[PG_PDR]);
	double rate = found[PG_NDR] > 0 ? found[PG_NDR] : found[PG_PDR];
	pg_search_offer(r, rate > 0 ? rate : (double)r->load->search.min_pps);
	return 0;
}

static void
play_scenario_run(struct pg_run *r)
{
	r->start_ns = r->ctx->net.now_ns;
	pg_progress_phase(&r->ctx->progress, "warms up");
	pg_world_send(r->world, true);
	pg_run_wait_ms(r, r->load->warmup_ms);
	if (r->load->from_template && take_over(r))
		return;
	if (r->load->search.trials && !r->ctx->turns && search_rates(r))
		return;
	pg_progress_phase(&r->ctx->progress, "measures");
	if (r->ctx->turns)
		measure_scenario_run_turns(r);
	else
		measure_scenario_run(r);
	pg_progress_phase(&r->ctx->progress, "drains");
	pg_world_send(r->world, false);
	if (!r->disrupted)
		(void)pg_run_wait(r, pg_run_drained, r->load->drain_ms);
	scenario_run_account(r);
}

static void
round_end(struct pg_run *r)
{
	struct pg_ctx *c = r->ctx;
	memset(r->cut_end_ns, 0, sizeof r->cut_end_ns);
	memset(r->replay_end_ns, 0, sizeof r->replay_end_ns);
	r->room_end_ns = r->wrong_end_ns = 0;
	set_cuts(r);
	c->net.side[0].loss_ppm = c->net.side[1].loss_ppm = 0;
	r->start_ns = 0;
	for (uint32_t j = 0; j < r->load->jobs; j++)
		for (uint32_t s = 0; s < c->nchans; s++)
			if (r->world->job[j].installed[s] && !r->world->job[j].over)
				(void)pg_chan_end(&c->chan[s], r->world->job[j].base[s], "");
	pg_run_wait_ms(r, SETTLE_MS);
	pg_world_close(r->world);
	pg_run_wait_ms(r, SETTLE_MS);
}

static void
scenario_run_one_round(struct pg_run *r, bool last)
{
	struct pg_ctx *c = r->ctx;
	struct pg_result *o = r->out;
	r->answers = 0;
	r->next_event = 0;
	r->first_event_ns = r->start_ns = 0;
	/* Events are of the first round: those after it show that all is well again. */
	if (c->run && o->m[PG_M_jobs] > 0)
		r->next_event = r->load->nevents;
	r->disrupted = false;
	c->net.side[0].loss_ppm = c->net.side[1].loss_ppm = r->load->loss_ppm;
	pg_net_forget(&c->net);
	r->world = pg_world_new(r->load, &c->net, &c->seal, c->labels, ++c->incarnation, o->error,
				sizeof o->error);
	if (!r->world)
		return;
	*o->error = 0;
	c->net.datagram = pg_world_datagram;
	c->net.user = r->world;
	if (install(r) == 0)
		play_scenario_run(r);
	round_end(r);
	struct pg_world *w = r->world;
	r->world = NULL;
	pg_world_free(w, c->labels);
	(void)last;
}

static void
judge_scenario_run(struct pg_run *r, const json_t *before, const json_t *after)
{
	struct pg_result *o = r->out;
	o->passed = !*o->error;
	for (uint32_t i = 0; i < r->load->nwants; i++) {
		const struct pg_want *w = &r->load->want[i];
		struct pg_verdict *v = &o->verdict[i];
		v->known = !w->counters && o->known[w->measure];
		v->value = w->counters ? 0 : o->m[w->measure];
		for (uint32_t k = 0; w->counters && before && after && k < w->ncounters; k++) {
			double rise;
			v->known = pg_stats_rise(before, after, w->counter[k], &rise);
			if (!v->known)
				break;
			v->value += rise;
		}
		v->ok = v->known && (!w->has_min || v->value >= w->min) &&
			(!w->has_max || v->value <= w->max);
		/* Without relayd's counters there is no saying: no failure either. */
		bool unseen = !before && (w->counters || w->measure == PG_M_relay_drops ||
					  w->measure == PG_M_unnamed);
		v->failed = !v->ok && !unseen;
		o->passed = o->passed && !v->failed;
	}
}

/* A segment that was dropped or abandoned may have arrived all the same, so the sum may be more
 * than what is lost.  Templates send nothing again: there refusals are losses, too. */
static void
name_losses(struct pg_result *o)
{
	double named = o->m[PG_M_abandoned];
	for (uint32_t i = 0; i < o->nreasons; i++)
		if (strncmp(o->reason[i].name, "forwarding/drop_", 16) == 0)
			named += o->reason[i].count;
	double more = o->m[PG_M_lost] - named;
	set_scenario_run(o, PG_M_unnamed, more > 0 ? more : 0);
}

/* relayd's counters after the run.  It names what it holds for a path when it gives the path up:
 * the silence of four seconds that ends one may have begun with the last event of the run.  So they
 * are read again while something that was lost has no name. */
static json_t *
read_late_names(struct pg_run *r, const json_t *before)
{
	struct pg_result *o = r->out;
	struct rd_clock *clock = &r->ctx->net.clock;
	uint64_t end = rd_clock_ns(clock) + LATE_NAMES_NS;
	json_t *after;
	while ((after = pg_stats_read(r->ctx->lab))) {
		o->nreasons = 0;
		set_scenario_run(o, PG_M_relay_drops, pg_stats_reasons(before, after, o));
		if (!r->load->from_template)
			name_losses(o);
		if (r->load->from_template || o->m[PG_M_unnamed] == 0 || rd_clock_ns(clock) > end ||
		    *r->ctx->stop)
			break;
		json_decref(after);
		usleep(100000);
	}
	return after;
}

void
pg_run(struct pg_ctx *c, const struct pg_load *load, struct pg_result *out)
{
	struct pg_run r = {.ctx = c, .load = load, .out = out};
	uint64_t t0 = rd_clock_ns(&c->net.clock);
	*out = (struct pg_result){
		.name = load->name, .proves = load->proves, .kind = "stateful", .load = load};
	base_hist_init(&out->latency);
	if (load->series != c->lab->series) {
		strlcpy(out->error, "the scenario is for another kind of lab (series)",
			sizeof out->error);
		return;
	}
	json_t *before = pg_stats_read(c->lab);
	/* That may have taken longer than we wait for answers. */
	c->net.now_ns = rd_clock_ns(&c->net.clock);
	c->run = &r;
	pg_progress_begin(&c->progress, load->name);
	for (uint32_t i = 0; i < load->rounds && !*out->error && !*c->stop; i++)
		scenario_run_one_round(&r, i + 1 == load->rounds);
	pg_progress_end(&c->progress);
	c->run = NULL;
	c->net.datagram = NULL;
	json_t *after = before ? read_late_names(&r, before) : NULL;
	judge_scenario_run(&r, before, after);
	json_decref(before);
	json_decref(after);
	c->net.now_ns = rd_clock_ns(&c->net.clock);
	out->seconds = (double)(c->net.now_ns - t0) / 1e9;
}

/* ---- the lab ----------------------------------------------------------------------------------
 */

static int
load_scenario_run_keys(struct pg_ctx *c, char *err, size_t err_max)
{
	char why[SEAL_TEXT];
	if (!*c->lab->key_file)
		return 0;
	c->seal.legs = 1u << 1;
	c->seal.aead = seal_aes256gcm();
	int n = c->seal.aead ? seal_psk_load(c->lab->key_file, c->seal.key, why) : -1;
	if (n < 0) {
		snprintf(err, err_max, "key_file: %s",
			 c->seal.aead ? why : "the AES library cannot be used on this machine");
		return -1;
	}
	c->seal.nkeys = (uint32_t)n;
	c->peer_keys.crypto = seal_aes256gcm();
	c->peer_keys.purpose = RELAY_PEER_PURPOSE;
	n = seal_psk_load(c->lab->key_file, c->peer_keys.key, why);
	c->peer_keys.nkeys = n < 0 ? 0 : (uint32_t)n;
	return 0;
}

int
pg_ctx_open(struct pg_ctx *c, const struct pg_lab *lab, const char *prog, char *err, size_t err_max)
{
	static const struct pg_chan_ops ops = {.answer = on_scenario_run_answer,
					       .end = on_scenario_run_end};
	c->lab = lab;
	if (load_scenario_run_keys(c, err, err_max) ||
	    pg_net_open(&c->net, lab, prog, err, err_max))
		return -1;
	rd_idle_init(&c->idle, lab->sleep ? RD_IDLE_SLEEP : RD_IDLE_PAUSE, 50000);
	c->incarnation = rd_clock_system_ns();
	for (int i = 0; i < PG_SIDES; i++)
		c->net.side[i].stations = 1; /* to answer and ask ARP before there is a scenario */
	for (uint8_t i = 0; i < PG_SIDES; i++) {
		relay_labels_init(&c->labels[i], lab->side[i].primary_index);
		if (lab->side[i].primary)
			pg_chan_init(&c->chan[c->nchans++], &lab->side[i], i,
				     c->peer_keys.nkeys ? &c->peer_keys : NULL, &ops, c);
	}
	return pg_net_ready(&c->net, ARP_WAIT_MS, err, err_max);
}

int
pg_ctx_close(struct pg_ctx *c)
{
	for (uint32_t i = 0; i < c->nchans; i++)
		pg_chan_fini(&c->chan[i]);
	return pg_net_close(&c->net);
}

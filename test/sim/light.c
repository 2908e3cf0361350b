/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs whose collective calls are announced by their processes, gated by their relays and planned
 * by the controller of a switch (lib/light), while sessions are lost, relays die and come back, the
 * controller is restarted and the switch has its faults: every call completes with the right data,
 * no circuit is left behind, nobody else's is touched; and where nothing goes wrong nobody
 * loses patience, and no circuit is taken from under a message.  In some worlds fibres are patched
 * wrongly: the switch calls circuits done by which relays do not find each other, and where
 * nothing else goes wrong those ports are soon left alone.  In some somebody works at the ports,
 * and in some wavelengths are scarcer than ports: no light is where it must not be.  In most a pair
 * of clusters may have several links: what crosses goes by any of them, and waits for the first. */
#include "light.h"
#include "invariants.h"
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIVE_UP_MS 60000
#define PATIENCE   (1000 * LW_MS)

static bool
wrong(struct light_world *w, const struct lw_stream *t, const char *what)
{
	if (!*w->why)
		snprintf(w->why, sizeof w->why, "job %u, stream %u, call %u, %s %s of %u: %s",
			 t->j->n, t->n, t->seq, coll_op_name(t->args.op),
			 t->made.algorithm ? t->made.algorithm : "?", t->p, what);
	return false;
}

/* ---- a process ---- */

static bool
tell(void *user, uint32_t relay, struct light_note *note)
{
	struct lw_proc *p = user;
	struct light_world *w = p->j->w;
	uint8_t bytes[LIGHT_NOTE_MAX];
	struct lw_relay *k = &w->relay[relay];
	if (!w->calm && base_prng_below(&w->rng, 50) == 0)
		return false;
	note->label_base = 0;
	struct lw_post post = {.way = LW_UP,
			       .relay = k->n,
			       .job = p->j->n,
			       .rank = p->rank,
			       .epoch = k->life,
			       .len = light_note_encode(note, bytes)};
	lw_post(w, post, bytes, 2);
	if (base_prng_below(&w->rng, 20) == 0)
		lw_post(w, post, bytes, 9);
	return true;
}

static void
job_init(struct light_world *w, uint32_t n)
{
	struct lw_job *j = &w->job[n];
	struct base_prng *r = &w->rng;
	j->w = w;
	j->n = n;
	j->p = 2 + (uint32_t)base_prng_below(r, LW_RANKS - 1);
	j->begin_ns = base_prng_below(r, 100) * LW_MS;
	uint32_t mode = (uint32_t)base_prng_below(r, CIRC_MODE_COUNT);
	for (uint32_t i = 0; i < j->p; i++) {
		struct light_client_conf conf = {.mode = (enum circ_mode)mode,
						 .patience_ns = w->calm ? 20 * PATIENCE : PATIENCE,
						 .early_max = 64,
						 .relays = LW_RELAYS,
						 .tell = tell,
						 .user = &j->proc[i]};
		j->cluster[i] = (uint32_t)base_prng_below(r, w->clusters);
		if (w->apart)
			j->cluster[i] = j->cluster[i] / 2 * 2 % (w->clusters - 1) + n;
		j->proc[i] = (struct lw_proc){j, i};
		j->client[i] = light_client_new(malloc(light_client_footprint(&conf)), &conf);
	}
	for (uint32_t s = 0; s < LW_STREAMS; s++) {
		struct lw_stream *t = &j->stream[s];
		t->j = j;
		t->n = s;
		t->p = s ? 2 + (uint32_t)base_prng_below(r, j->p - 1) : j->p;
		t->calls = 1 + (uint32_t)base_prng_below(r, 5);
		t->over = s && base_prng_below(r, 2);
		for (uint32_t i = 0; i < t->p; i++) {
			t->world[i] = s ? t->p - 1 - i : i;
			t->cluster[i] = j->cluster[t->world[i]];
		}
	}
}

/* ---- a call ---- */

static void
gate_init(struct lw_stream *t, uint32_t r)
{
	const struct coll_algorithm *alg = coll_algorithm_of(t->args.op, t->args.algorithm);
	memset(t->go[r], 0, sizeof t->go[r]);
	memset(t->arrived[r], 0, sizeof t->arrived[r]);
	bool lowest = true;
	for (uint32_t i = 0; i < r; i++)
		lowest = lowest && t->cluster[i] != t->cluster[r];
	t->gate[r] = (struct light_gate){
		.call = {.comm = t->n + 1,
			 .leader = t->world[0],
			 .seq = t->seq,
			 .op = (uint8_t)t->args.op,
			 .algorithm = alg->id,
			 .algorithm_version = alg->version,
			 .mode = (uint8_t)base_prng_below(&t->j->w->rng, CIRC_MODE_COUNT),
			 .flags = t->args.reversed ? LIGHT_CALL_REVERSED : 0,
			 .degree = (uint8_t)t->args.degree,
			 .root = t->args.root,
			 .elem = 1,
			 .bytes = t->args.bytes},
		.rank = r,
		.p = t->p,
		.world = t->world,
		.told = &t->told[r],
		.speaks = lowest,
		.go = t->go[r],
		.arrived = t->arrived[r]};
}

static struct light_client *
client(struct lw_stream *t, uint32_t r)
{
	return t->j->client[t->world[r]];
}

static void
draw_call(struct lw_stream *t)
{
	struct base_prng *r = &t->j->w->rng;
	t->seq += 1 + (uint32_t)(base_prng_below(r, 4) == 0) * 0x9e3779b1u;
	opt_data_draw(&t->data, r, &t->args, t->p);
	t->drawn = true;
}

/* What comes next is known, and said before it does. */
static void
forecast(struct lw_stream *t)
{
	draw_call(t);
	for (uint32_t r = 0; r < t->p; r++) {
		gate_init(t, r);
		t->gate[r].call.flags |= LIGHT_CALL_FORECAST;
		(void)light_client_forecast(client(t, r), &t->gate[r]);
	}
}

static bool
begin_call(struct lw_stream *t)
{
	struct light_world *w = t->j->w;
	if (!t->drawn)
		draw_call(t);
	t->drawn = false;
	if (obs_call_make(&t->made, &t->args, t->cluster) != 0)
		return wrong(w, t, "no schedule");
	opt_data_begin(&t->data, t->made.schedule);
	t->message = calloc(t->made.messages + 1, sizeof *t->message);
	uint32_t count[LW_RANKS][LW_RANKS] = {0};
	for (uint32_t m = 0; m < t->made.messages; m++)
		t->message[m].ordinal = ++count[t->made.message[m].from][t->made.message[m].to];
	coll_play_rewind(t->made.play);
	for (uint32_t r = 0; r < t->p; r++) {
		t->entered[r] = t->gated[r] = false;
		t->enter_ns[r] = w->now_ns + base_prng_below(&w->rng, 10) * LW_MS;
		gate_init(t, r);
	}
	t->calling = true;
	return true;
}

static void
free_call(struct lw_stream *t)
{
	opt_data_free(&t->data);
	free(t->message);
	t->message = NULL;
	if (t->calling)
		obs_call_free(&t->made);
	t->calling = false;
}

static void
by_packet(struct light_world *w, struct lw_message *g, uint64_t more_ms)
{
	g->state = LW_PACKET;
	g->end_ns = w->now_ns + (2 + more_ms + base_prng_below(&w->rng, 10)) * LW_MS;
	w->packets++;
}

/* The relay decides by what is lit; processes hand it to the one that has light (scenario relight).
 */
static void
depart(struct lw_stream *t, uint32_t m)
{
	struct light_world *w = t->j->w;
	struct lw_message *g = &t->message[m];
	uint32_t a = t->cluster[t->made.message[m].from], b = t->cluster[t->made.message[m].to];
	uint32_t port = a == b ? LW_NO_PORT : lw_way(w, a, b);
	if (port == LW_NO_PORT) {
		by_packet(w, g, 0);
		return;
	}
	g->state = LW_LIGHT;
	g->from_port = port;
	struct lw_slot *s = lw_slot_at(w, port);
	const struct lw_relay *k = &w->relay[port / LW_PORTS];
	g->changed[0] = w->sw.changed[w->fibre[port]];
	g->changed[1] = k->life;
	if (!lw_passes(w, port, lw_port(s->peer, s->peer_slot)))
		g->changed[0]--; /* it will not have come through */
	g->end_ns = w->now_ns + (1 + base_prng_below(&w->rng, 5)) * LW_MS;
	s->flights++;
	w->light++;
	w->beside += k->n > 0 && k[-1].cluster == a;
	w->second += lw_links(w, a, b) > 1;
}

static void
arrive(struct lw_stream *t, uint32_t m)
{
	struct light_world *w = t->j->w;
	struct lw_message *g = &t->message[m];
	const struct coll_message *c = &t->made.message[m];
	uint32_t a = t->cluster[c->from];
	if (g->state == LW_LIGHT) {
		const struct lw_relay *k = &w->relay[g->from_port / LW_PORTS];
		bool same = k->alive && g->changed[1] == k->life;
		struct lw_slot *s = lw_slot_at(w, g->from_port);
		if (same && s->flights)
			s->flights--;
		if (!same || g->changed[0] != w->sw.changed[w->fibre[g->from_port]]) {
			w->again++;
			w->torn += w->fibre[g->from_port] == g->from_port;
			if (same)
				lw_broken(w, g->from_port);
			by_packet(w, g, 3);
			return;
		}
	}
	opt_data_move(&t->data, c->from, &t->made.schedule[c->from].step[c->send], c->to,
		      &t->made.schedule[c->to].step[c->recv]);
	g->state = LW_GONE;
	w->moved++;
	if (a != t->cluster[c->to]) {
		if (t->gated[c->from])
			light_client_sent(client(t, c->from), &g->wait);
		if (t->gated[c->to])
			light_client_over(client(t, c->to), &t->gate[c->to], c->from);
	}
	coll_play_over(t->made.play, m);
}

static void
enter(struct lw_stream *t, uint32_t r)
{
	struct light_world *w = t->j->w;
	uint64_t bytes = t->args.bytes * t->p + 1;
	t->entered[r] = true;
	/* Whether it is gated has to be the same for all in most cases; offers that are on their
	 * way make it differ. */
	t->gated[r] = light_client_wants(client(t, r), bytes);
	if (t->gated[r])
		light_client_begin(client(t, r), &t->gate[r]);
	(void)w;
}

static void
message_step(struct lw_stream *t, uint32_t m)
{
	struct light_world *w = t->j->w;
	struct lw_message *g = &t->message[m];
	const struct coll_message *c = &t->made.message[m];
	if (g->state == LW_READY && t->entered[c->from] && t->entered[c->to]) {
		if (t->cluster[c->from] == t->cluster[c->to] || !t->gated[c->from]) {
			depart(t, m);
			return;
		}
		g->state = LW_GATED;
		g->wait = (struct light_wait){.gate = &t->gate[c->from],
					      .to = c->to,
					      .count = g->ordinal,
					      .step = c->send};
		light_client_wait(client(t, c->from), &g->wait, w->now_ns);
	} else if ((g->state == LW_LIGHT || g->state == LW_PACKET) && g->end_ns <= w->now_ns) {
		arrive(t, m);
	}
}

static bool
call_over(struct lw_stream *t)
{
	struct light_world *w = t->j->w;
	for (uint32_t r = 0; r < t->p; r++)
		if (!t->entered[r])
			return true;
	for (uint32_t r = 0; r < t->p; r++)
		if (t->gated[r])
			light_client_end(client(t, r), &t->gate[r]);
	bool ok = opt_data_right(&t->data) || wrong(w, t, "wrong data");
	free_call(t);
	t->over = --t->calls == 0;
	t->until_ns = w->now_ns + base_prng_below(&w->rng, 20) * LW_MS;
	if (!t->over && base_prng_below(&w->rng, 3) == 0)
		forecast(t);
	return ok;
}

static bool
stream_step(struct lw_stream *t)
{
	struct light_world *w = t->j->w;
	if (t->over)
		return true;
	if (!t->calling)
		return t->until_ns > w->now_ns || begin_call(t);
	for (uint32_t r = 0; r < t->p; r++)
		if (!t->entered[r] && t->enter_ns[r] <= w->now_ns)
			enter(t, r);
	for (uint32_t m; (m = coll_play_next(t->made.play)) != COLL_NO_MESSAGE;)
		t->message[m].state = LW_READY;
	for (uint32_t m = 0; m < t->made.messages; m++)
		message_step(t, m);
	return coll_play_left(t->made.play) ? true : call_over(t);
}

/* ---- a job ---- */

static void
gates_step(struct lw_job *j)
{
	struct light_world *w = j->w;
	for (uint32_t r = 0; r < j->p; r++) {
		struct light_wait *x;
		while ((x = light_client_next(j->client[r], w->now_ns)))
			for (uint32_t s = 0; s < LW_STREAMS; s++)
				for (uint32_t m = 0;
				     j->stream[s].calling && m < j->stream[s].made.messages; m++)
					if (&j->stream[s].message[m].wait == x)
						depart(&j->stream[s], m);
		light_client_turn(j->client[r]);
	}
}

static bool
job_step(struct lw_job *j)
{
	struct light_world *w = j->w;
	bool ok = true, over = true;
	if (j->over || j->begin_ns > w->now_ns)
		return true;
	if (!j->begun) {
		j->begun = true;
		for (uint32_t i = 0; i < w->relays; i++)
			lw_tell_jobs(&w->relay[i]);
		j->stream[0].until_ns = j->stream[1].until_ns =
			w->now_ns + (w->calm ? 100 : 20) * LW_MS;
	}
	for (uint32_t s = 0; s < LW_STREAMS; s++) {
		ok = ok && stream_step(&j->stream[s]);
		over = over && j->stream[s].over;
	}
	gates_step(j);
	if (!over)
		return ok;
	j->over = true;
	for (uint32_t i = 0; i < w->relays; i++)
		if (w->relay[i].alive)
			light_agent_job_end(w->relay[i].agent, (j->n + 1) * 1000);
	for (uint32_t r = 0; r < j->p; r++)
		w->without_go += light_client_counters(j->client[r])->without_go;
	return ok;
}

/* A port whose fibre is elsewhere may be tried twice, then after 2, 4, 8, 16, 30, 30, ... s: what
 * the matrix promises who waits for 300 ms.  Only where nothing else goes wrong; a new controller
 * knows nothing, and a relay that is gone does not count. */
static bool
tries_no_more(const struct light_world *w, uint32_t port)
{
	uint32_t tries =
		3; /* a call may let go of one in the moment it fails: not told to the matrix */
	uint64_t pause_ns = 2 * BASE_S_NS;
	for (uint64_t at_ns = pause_ns; at_ns <= w->now_ns; at_ns += pause_ns) {
		tries++;
		pause_ns = base_min_ns(2 * pause_ns, OCS_DARK_SHARE * 300 * LW_MS);
	}
	return w->missed[port] <= tries;
}

static bool
lit_over(const struct light_world *w, uint32_t p)
{
	uint32_t from = w->sw.in_of[p];
	return (w->sw.out_of[p] != OCS_NO_PORT && w->sw.mine[p]) ||
	       (from != OCS_NO_PORT && w->sw.mine[from]);
}

/* More than the wavelengths allow, or over a port that somebody works at. */
static const char *
too_much_light(const struct light_world *w)
{
	uint32_t all = 0, in[2] = {0};
	for (uint32_t p = 0; p < LW_RELAYS * LW_PORTS; p++) {
		uint32_t to = w->sw.out_of[p];
		if (w->calm && w->away[p] && w->controller && lit_over(w, p) &&
		    w->now_ns - w->away_ns[p] > (w->sw.max_batch < 8 ? 1000 : 100) * LW_MS)
			return "a port that is withdrawn is lit";
		if (to == OCS_NO_PORT || !w->sw.mine[p] || to >= LW_RELAYS * LW_PORTS ||
		    (w->sw.out_of[to] == p && p > to))
			continue;
		all++;
		for (uint32_t g = 0; g < w->groups; g++)
			in[g] += w->group_of[p] == g || w->group_of[to] == g;
	}
	bool ok = !w->lit_max || all <= w->lit_max;
	for (uint32_t g = 0; g < w->groups; g++)
		ok = ok && in[g] <= w->waves[g];
	return ok ? NULL : "more is lit than there are wavelengths";
}

/* All relays that have processes of a job are there for it, several of a cluster, too. */
static bool
all_take_part(const struct light_world *w)
{
	struct light_job_row row;
	for (uint32_t i = 0; w->controller && light_controller_job(w->controller, i, &row); i++) {
		uint32_t told = 0;
		for (uint32_t r = 0; r < w->relays; r++)
			told += w->told[row.key - LW_KEY][r];
		if (row.agents != told)
			return false;
	}
	return true;
}

/* What must hold at any time, and what must when all is over. */
static bool
holds(struct light_world *w, bool end)
{
	const char *why = w->sw.broken;
	if (!why && w->controller)
		why = light_controller_check(w->controller);
	if (!why && w->controller)
		why = ocs_check(ocs_control_matrix(w->control));
	if (!why && !all_take_part(w)) {
		why = "a relay with light and processes of a job has no part in it";
		w->broken = INV_LIT;
	}
	const char *held = why || !w->controller ? NULL : light_controller_go_check(w->controller);
	if (held) {
		why = held;
		w->broken = INV_LIT;
	}
	const char *lit = why ? NULL : too_much_light(w);
	if (lit) {
		why = lit;
		w->broken = INV_DARK;
	}
	for (uint32_t p = 0; end && p < OSW_PORTS && !why; p++)
		if (w->sw.mine[p])
			why = "a circuit is left on the switch";
	for (uint32_t p = 0; w->calm && p < OSW_PORTS && !why; p++)
		if (w->fibre[p] != p && !tries_no_more(w, p))
			why = "a port by which nobody is found is tried again and again";
	if (end && w->calm && !why && w->without_go)
		why = "somebody lost patience, and nothing was wrong";
	if (end && w->calm && !why && w->torn)
		why = "a circuit was taken from under a message";
	if (why && !*w->why)
		snprintf(w->why, sizeof w->why, "%s", why);
	return !*w->why;
}

void
light_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct light_world *w = calloc(1, sizeof *w);
	uint32_t ms = 0;
	bool ok = true, over = false;
	w->verbose = verbose;
	lw_world_init(w, seed);
	for (uint32_t i = 0; i < LW_JOBS; i++)
		job_init(w, i);
	for (; ok && !over && ms < GIVE_UP_MS; ms++) {
		w->now_ns = (uint64_t)ms * LW_MS;
		bool heal = w->job[0].over && w->job[1].over;
		lw_world_step(w, heal);
		for (uint32_t i = 0; i < LW_JOBS; i++)
			ok = ok && job_step(&w->job[i]);
		ok = ok && holds(w, false);
		over = heal && w->controller && !light_controller_busy(w->controller) &&
		       ocs_control_is_online(w->control) && ocs_control_is_settled(w->control);
	}
	if (ok && !over)
		for (uint32_t i = 0; i < LW_JOBS * LW_STREAMS && ok; i++)
			if (!w->job[i / LW_STREAMS].stream[i % LW_STREAMS].over)
				ok = wrong(w, &w->job[i / LW_STREAMS].stream[i % LW_STREAMS],
					   "does not come to its end");
	if (ok && !over) {
		ok = false;
		snprintf(w->why, sizeof w->why, "circuits are not given back");
	}
	ok = ok && holds(w, true);
	uint64_t planned =
		w->planned + (w->controller ? light_controller_counters(w->controller)->calls : 0);
	for (uint32_t i = 0; i < LW_JOBS; i++) {
		for (uint32_t s = 0; s < LW_STREAMS; s++)
			free_call(&w->job[i].stream[s]);
		for (uint32_t r = 0; r < w->job[i].p; r++)
			free(w->job[i].client[r]);
	}
	o->ok = ok;
	o->broken = w->broken;
	o->events = w->moved;
	o->virtual_ns = w->now_ns;
	o->hash = seed ^ (w->now_ns * 31 + w->light * 7 + w->packets * 3 + planned);
	snprintf(o->why, sizeof o->why, "%s", w->why);
	snprintf(o->note, sizeof o->note,
		 "%llu messages, %llu by light (%llu at second relays, %llu beside another link), "
		 "%llu again, %llu without "
		 "GO, %llu calls planned; "
		 "%llu sessions lost, %llu relays died, %llu restarts, %llu ports withdrawn%s",
		 (unsigned long long)w->moved, (unsigned long long)w->light,
		 (unsigned long long)w->beside, (unsigned long long)w->second,
		 (unsigned long long)w->again, (unsigned long long)w->without_go,
		 (unsigned long long)planned, (unsigned long long)w->sessions_lost,
		 (unsigned long long)w->deaths, (unsigned long long)w->restarts,
		 (unsigned long long)w->withdrawn, w->calm ? ", calm" : "");
	if (verbose)
		printf("%s\ncontrol: %llu CLEAR_TO_SEND, %llu bytes to relays in %llu ms, of these "
		       "%llu, "
		       "%llu bytes to second relays; %llu bytes in all; %u relays of %u clusters\n",
		       o->note, (unsigned long long)w->gos, (unsigned long long)w->go_bytes,
		       (unsigned long long)(w->now_ns / LW_MS), (unsigned long long)w->gos_beside,
		       (unsigned long long)w->go_bytes_beside, (unsigned long long)w->said_bytes,
		       w->relays, w->clusters);
	lw_world_fini(w);
	free(w);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A job of libmmp over sites.  Calm runs end relays, one or several at the same time, and start
 * them again in time: nothing may be lost.  In stormy ones relays end at any time and for good, and
 * trunks are cut: who gives a rank up has waited for it, and everything ends.  In some a rank dies.
 */
#include "mmp_sites.h"

#include "bytes.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_NS (400 * BASE_S_NS)

/* ---- the program ---- */

static void
send_letter(struct town *n, uint32_t to)
{
	struct letter *l = &n->w->letter[n->rank][to][n->sent[to]++];
	l->out = malloc(l->bytes + 1);
	memcpy(l->out, pool_at(l->off), l->bytes);
	l->sent = true;
	l->send = mmp_port_send(n->mp, to, 0, 0, l->out, l->bytes);
}

static void
post_letter(struct town *n, uint32_t from)
{
	struct letter *l = &n->w->letter[from][n->rank][n->posted[from]++];
	l->in = malloc(l->bytes + 1);
	memset(l->in, 0xa5, l->bytes + 1);
	l->posted = true;
	l->receive = mmp_port_receive(n->mp, (int32_t)from, 0, 0, l->in, l->bytes + 1);
}

/* The k-th receive from a rank gets its k-th message, whole. */
static void
look_at_letters(struct town *n, uint32_t peer)
{
	struct sim *s = n->w->s;
	struct mmp_result r;
	for (uint32_t k = 0; k < EACH; k++) {
		struct letter *l = &n->w->letter[n->rank][peer][k];
		if (l->sent && !l->gone && mmp_port_done(n->mp, l->send, &r)) {
			INVARIANT(s, REASON, !r.error || n->lost[peer],
				  "rank %u: message %u to rank %u ends with %d", n->rank, k, peer,
				  r.error);
			l->gone = true;
			memset(l->out, 0xa5, l->bytes); /* it is the program's again */
			mmp_port_forget(n->mp, l->send);
		}
		l = &n->w->letter[peer][n->rank][k];
		if (!l->posted || l->got || !mmp_port_done(n->mp, l->receive, &r))
			continue;
		l->got = true;
		mmp_port_forget(n->mp, l->receive);
		if (r.error) {
			INVARIANT(s, REASON, n->lost[peer],
				  "rank %u: receive %u from rank %u ends with %d", n->rank, k, peer,
				  r.error);
			continue;
		}
		/* Of one that is lost a message may have come in part, and later ones whole. */
		if (n->lost[peer] && r.rank == peer && r.bytes != l->bytes)
			continue;
		INVARIANT(s, ORDER, r.rank == peer && r.bytes == l->bytes,
			  "rank %u: receive %u from rank %u got %llu bytes, not %llu", n->rank, k,
			  peer, (unsigned long long)r.bytes, (unsigned long long)l->bytes);
		INVARIANT(s, BYTES,
			  n->lost[peer] || (!memcmp(l->in, pool_at(l->off), l->bytes) &&
					    l->in[l->bytes] == 0xa5),
			  "rank %u: message %u of rank %u is not what was sent", n->rank, k, peer);
	}
}

void
mmp_sites_program(struct town *n)
{
	struct country *w = n->w;
	uint64_t now = w->s->now_ns;
	(void)mmp_port_turn(n->mp);
	for (uint32_t i = 0; i < w->size; i++) {
		if (n->lost[i] > 0) {
			mmp_port_down(n->mp, i, n->lost[i]);
			n->lost[i] = -n->lost[i];
		}
		if (is_far(w, n->rank, i))
			look_at_letters(n, i);
	}
	if (now < n->post_ns || !n->knows)
		return;
	uint32_t left = 0;
	for (uint32_t i = 0; i < w->size; i++) {
		if (!is_far(w, n->rank, i))
			continue;
		for (uint32_t k = 0; k <= n->burst; k++) {
			if (n->sent[i] < EACH && coin(&n->prng, 60))
				send_letter(n, i);
			if (n->posted[i] < EACH && coin(&n->prng, 60))
				post_letter(n, i);
		}
		left += 2 * EACH - n->sent[i] - n->posted[i];
	}
	n->burst = 0;
	n->post_ns = left ? now + base_prng_below(&n->prng, 3 * w->span_ns / EACH) : BASE_NEVER_NS;
	if (!w->threaded && coin(&n->prng, 10))
		n->busy_ns = now + PICK(&n->prng, 5, 100, 1500) * BASE_MS_NS;
}

/* ---- what happens ---- */

static void
kill_some_relay(struct sim *s, void *who, uint64_t which)
{
	(void)s;
	doors_kill_relay(&((struct country *)who)->w->relay[which]);
}

static void
start_some_relay(struct sim *s, void *who, uint64_t which)
{
	struct doors_relay *r = &((struct country *)who)->w->relay[which];
	(void)s;
	if (r->alive)
		return;
	doors_start_relay(r);
	doors_drive_relay(r);
}

/* So that much is under way when a relay ends. */
static void
rouse_towns(struct sim *s, void *who, uint64_t arg)
{
	struct country *w = who;
	(void)s, (void)arg;
	for (uint32_t i = 0; i < w->size; i++) {
		struct town *n = &w->town[i];
		n->burst = 8;
		n->post_ns = 0;
		if (n->alive)
			mmp_sites_turn(n);
	}
}

static void
end_relay_at(struct country *w, struct base_prng *p, uint64_t at, uint64_t which)
{
	uint64_t before = base_prng_below(p, 4 * w->w->conf.wan_ns);
	sim_at(w->s, at - before, rouse_towns, w, 0);
	sim_at(w->s, at, kill_some_relay, w, which);
}

static void
cut_wan(struct sim *s, void *who, uint64_t down)
{
	(void)s;
	doors_cut(((struct country *)who)->w, 0, 1, down);
}

static void
die_in_town(struct sim *s, void *who, uint64_t arg)
{
	struct country *w = who;
	(void)arg;
	sim_log(s, "rank %u dies", w->dead);
	w->dies = true;
	mmp_sites_kill(&w->town[w->dead]);
}

/* All have lanes to all by then. */
#define SETTLED_NS (3 * BASE_S_NS)

/* While doors are registered and the ranks hear of each other. */
static uint64_t
end_relay_early(struct country *w, struct base_prng *p)
{
	uint64_t at = base_prng_below(p, 20 * w->w->conf.wan_ns + BASE_MS_NS);
	uint64_t which = base_prng_below(p, w->w->nrelays);
	uint64_t for_ns = PICK(p, 1, 100, 3000) * BASE_MS_NS;
	sim_at(w->s, at, kill_some_relay, w, which);
	sim_at(w->s, at + for_ns, start_some_relay, w, which);
	return at + for_ns + 15 * BASE_S_NS;
}

static void
draw_calm(struct country *w, struct base_prng *p)
{
	uint64_t at = SETTLED_NS + base_prng_below(p, BASE_S_NS), n = between(p, 1, 3);
	if (coin(p, 30))
		at += end_relay_early(w, p);
	for (uint64_t k = 0; k < n; k++) {
		uint64_t which = base_prng_below(p, w->w->nrelays);
		uint64_t for_ns = PICK(p, 1, 100, 700, 3000, 12000) * BASE_MS_NS;
		end_relay_at(w, p, at, which);
		sim_at(w->s, at + for_ns, start_some_relay, w, which);
		for (uint64_t r = 0; r < w->w->nrelays; r++) {
			if (!w->several || r == which || !coin(p, 30))
				continue;
			uint64_t late = base_prng_below(p, for_ns);
			end_relay_at(w, p, at + late, r);
			sim_at(w->s, at + late + for_ns, start_some_relay, w, r);
		}
		/* The doors that moved are known before the next ones move. */
		at += 2 * for_ns + 15 * BASE_S_NS + base_prng_below(p, 5 * BASE_S_NS);
	}
	w->span_ns = at - 10 * BASE_S_NS;
}

static void
draw_storm(struct country *w, struct base_prng *p)
{
	uint64_t n = between(p, 1, 6);
	w->span_ns = between(p, 5, 25) * BASE_S_NS;
	for (uint64_t k = 0; k < n; k++) {
		uint64_t at = SETTLED_NS + base_prng_below(p, w->span_ns);
		uint64_t which = base_prng_below(p, w->w->nrelays);
		end_relay_at(w, p, at, which);
		if (coin(p, 80))
			sim_at(w->s, at + PICK(p, 1, 100, 2000, 20000) * BASE_MS_NS,
			       start_some_relay, w, which);
	}
	if (coin(p, 40)) {
		uint64_t at = SETTLED_NS + base_prng_below(p, w->span_ns);
		sim_at(w->s, at, cut_wan, w, true);
		sim_at(w->s, at + PICK(p, 100, 3000, 10000, 60000) * BASE_MS_NS, cut_wan, w, false);
	}
}

static void
draw_letters(struct country *w, struct base_prng *p)
{
	for (uint32_t a = 0; a < w->size; a++)
		for (uint32_t b = 0; b < w->size; b++)
			for (uint32_t k = 0; k < EACH; k++) {
				struct letter *l = &w->letter[a][b][k];
				uint64_t most = PICK(p, 0, 20, 21, 300, 1500, 5000, 16384, 40000);
				l->bytes = base_prng_below(p, most + 1);
				l->off = base_prng_below(p, POOL_BYTES / 2);
			}
}

/* ---- what must hold at the end ---- */

static bool
town_over(const struct town *n)
{
	const struct country *w = n->w;
	for (uint32_t i = 0; i < w->size; i++)
		for (uint32_t k = 0; is_far(w, n->rank, i) && k < EACH; k++)
			if (!w->letter[n->rank][i][k].gone || !w->letter[i][n->rank][k].got)
				return false;
	for (uint32_t i = 0; i < w->size; i++) {
		const struct mmp_link *l = n->lanes.far->peer[i].link;
		if (l && !n->lost[i] && w->town[i].alive && l->acked < l->put)
			return false;
	}
	return !mmp_engine_unsent(n->engine) && mmp_engine_idle(n->engine);
}

static bool
country_over(void *who)
{
	const struct country *w = who;
	for (uint32_t i = 0; i < w->size; i++)
		if (w->town[i].alive && !town_over(&w->town[i]))
			return false;
	return w->dead == NOBODY || w->dies;
}

static void
check_town(struct town *n)
{
	struct sim *s = n->w->s;
	const struct mmp_engine_counters *c = mmp_engine_counters(n->engine);
	const char *what = door_client_check(&n->away->client);
	bool lost = false;
	INVARIANT(s, TABLES, !what, "rank %u: %s", n->rank, what);
	INVARIANT(s, TABLES, suci_lanes_check(n->lanes.lanes, &what), "rank %u: %s", n->rank, what);
	INVARIANT(s, HONEST,
		  !c->refused && !c->drop_head && !c->drop_number && !c->drop_credit &&
			  !c->drop_mixed,
		  "rank %u: drops without a liar", n->rank);
	for (uint32_t i = 0; i < n->w->size; i++) {
		const struct mmp_link *l = n->lanes.far->peer[i].link;
		lost |= n->lost[i] != 0;
		INVARIANT(s, EMPTY, !l || l->acked == l->put || !n->w->town[i].alive,
			  "rank %u keeps blocks for rank %u", n->rank, i);
	}
	INVARIANT(s, EMPTY, lost || mmp_engine_empty(n->engine, &what),
		  "rank %u: at the end the engine keeps %s", n->rank, what);
}

static void
explain_country(struct country *w)
{
	for (uint32_t i = 0; i < w->size; i++) {
		const struct town *n = &w->town[i];
		uint32_t sends = 0, receives = 0;
		for (uint32_t k = 0; k < w->size * EACH; k++) {
			sends += is_far(w, i, k / EACH) && !w->letter[i][k / EACH][k % EACH].gone;
			receives += is_far(w, i, k / EACH) && !w->letter[k / EACH][i][k % EACH].got;
		}
		INVARIANT(w->s, COMPLETE, !n->alive || town_over(n),
			  "rank %u is not done: %u sends, %u receives, %u unsent", i, sends,
			  receives, mmp_engine_unsent(n->engine));
	}
	SIM_CHECK(w->s, false, "not over in time");
}

static void
finish_country(struct country *w, struct outcome *o)
{
	uint64_t breaks = 0, moves = 0, again = 0, dropped = 0;
	uint32_t lost = 0;
	for (uint32_t i = 0; i < w->size; i++) {
		struct town *n = &w->town[i];
		if (n->alive && !w->s->failed)
			check_town(n);
		for (uint32_t k = 0; n->alive && k < w->size; k++) {
			const struct mmp_link *l = n->lanes.far->peer[k].link;
			lost += n->lost[k] != 0;
			again += l ? l->again : 0;
			dropped += l ? l->dropped : 0;
		}
		breaks += n->alive ? n->away->breaks : 0;
		moves += n->alive ? n->away->moves : 0;
	}
	w->closing = true;
	for (uint32_t i = 0; i < w->size; i++)
		mmp_sites_kill(&w->town[i]);
	for (uint32_t i = 0; i < RANKS * RANKS * EACH; i++) {
		free(w->letter[i / EACH / RANKS][i / EACH % RANKS][i % EACH].in);
		free(w->letter[i / EACH / RANKS][i / EACH % RANKS][i % EACH].out);
	}
	snprintf(o->note, sizeof o->note,
		 "%u ranks, %u clusters of %u, %s%s%s: %llu breaks, %llu moves, %llu again, %llu "
		 "dropped, %u lost",
		 w->size, w->w->conf.nclusters, w->w->conf.relays,
		 w->threaded ? "thread" : "inline", w->storm ? ", storm" : "",
		 w->dies ? ", one dies" : "", (unsigned long long)breaks, (unsigned long long)moves,
		 (unsigned long long)again, (unsigned long long)dropped, lost);
	doors_finish(w->w, o);
	free(w);
}

void
mmp_sites_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed ^ 0x517e5);
	struct country *w = calloc(1, sizeof *w);
	struct doors_conf c;
	BASE_ASSERT(w);
	doors_conf_default(&c);
	c.nclusters = (uint32_t)between(&p, 2, 3);
	c.relays = coin(&p, 40) ? 2 : 1;
	c.procs = 0;
	c.wan_ns = PICK(&p, 100, 5000, 20000) * BASE_US_NS;
	c.loss_ppb = (uint32_t)PICK(&p, 0, 1000000, 20000000);
	/* Where labels are few, others have those of a door when its relay is back: it moves.  Two
	 * that move at the same time are given up. */
	w->several = coin(&p, 60);
	c.doors_max = w->several ? 8192 : 100;
	w->w = doors_new(seed, verbose, &c);
	w->s = w->w->s;
	w->size = (uint32_t)between(&p, 2, RANKS);
	w->threaded = coin(&p, 60);
	w->storm = coin(&p, 40);
	w->dead = coin(&p, 20) ? (uint32_t)base_prng_below(&p, w->size) : NOBODY;
	draw_letters(w, &p);
	for (uint32_t i = 0; i < w->size; i++) {
		w->town[i].w = w;
		w->town[i].rank = i;
		w->town[i].cluster = i % c.nclusters;
	}
	if (w->storm)
		draw_storm(w, &p);
	else
		draw_calm(w, &p);
	for (uint32_t i = 0; i < w->size; i++)
		mmp_sites_start(w, i);
	if (w->dead != NOBODY)
		sim_at(w->s, SETTLED_NS + base_prng_below(&p, w->span_ns), die_in_town, w, 0);
	sim_run(w->s, LIMIT_NS, country_over, w);
	if (!w->s->failed && !country_over(w))
		explain_country(w);
	finish_country(w, o);
}

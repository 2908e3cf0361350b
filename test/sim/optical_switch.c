/* SPDX-License-Identifier: BSD-2-Clause */
/* A circuit switch with faults: refuses, is busy, has dark ports, loses its session in the middle
 * of a batch (done or not), and has a second user who takes ports. */
#include "optical.h"

#include "base/assert.h"

#include <string.h>

enum { NOTHING, IDENTIFY, APPLY, READ };

static void
emit(struct osw *w, struct ocs_event e)
{
	w->event[w->tail] = e;
	w->tail = (w->tail + 1) % OSW_EVENTS;
	BASE_ASSERT(w->tail != w->head);
}

static void
unset(struct osw *w, uint32_t in)
{
	w->in_of[w->out_of[in]] = OCS_NO_PORT;
	w->out_of[in] = OCS_NO_PORT;
	w->mine[in] = false;
	w->changed[in]++;
}

static void
set(struct osw *w, uint32_t in, uint32_t out, bool mine, uint64_t lit_ns)
{
	w->out_of[in] = out;
	w->in_of[out] = in;
	w->mine[in] = mine;
	w->changed[in]++;
	w->lit_ns[in] = lit_ns;
}

bool
osw_passes(const struct osw *w, uint32_t x, uint32_t y, uint64_t now_ns)
{
	return w->out_of[x] == y && !w->dark[x] && !w->dark[y] && w->lit_ns[x] <= now_ns;
}

void
osw_out(struct osw *w, uint32_t port, bool out)
{
	w->out[port] = out;
	if (out && w->out_of[port] != OCS_NO_PORT)
		unset(w, port);
	if (out && w->in_of[port] != OCS_NO_PORT)
		unset(w, w->in_of[port]);
}

static void
remove_one(struct osw *w, const struct ocs_circuit *c)
{
	if (w->out_of[c->in] != c->out)
		return;
	if (!w->mine[c->in])
		w->broken = "a foreign circuit was removed";
	else
		unset(w, c->in);
}

static int
add_one(struct osw *w, const struct ocs_circuit *c, uint64_t now_ns)
{
	if (w->out_of[c->in] == c->out)
		return w->mine[c->in] ? OCS_ERR_OK : OCS_ERR_BUSY;
	if (w->out_of[c->in] != OCS_NO_PORT || w->in_of[c->out] != OCS_NO_PORT)
		return OCS_ERR_BUSY;
	if (w->out[c->in] || w->out[c->out])
		return OCS_ERR_REFUSED;
	if (base_prng_chance(&w->rng, w->faults.refuse))
		return OCS_ERR_REFUSED;
	if (base_prng_chance(&w->rng, w->faults.busy))
		return OCS_ERR_RETRY;
	bool settles = w->caps & OCS_CAP_ASYNC_COMPLETE;
	set(w, c->in, c->out, true, now_ns + (settles ? 3 * BASE_MS_NS : 0));
	return OCS_ERR_OK;
}

/* tell: the session is there to hear of it. */
static void
carry_out(struct osw *w, uint64_t now_ns, uint32_t upto, bool tell)
{
	uint32_t n = 0;
	struct ocs_event e = {.kind = OCS_EVENT_CIRCUIT, .id = w->id, .done_ns = now_ns};
	for (uint32_t i = 0; i < w->removals && n < upto; i++, n++) {
		remove_one(w, &w->remove[i]);
		e.removal = true;
		e.in = w->remove[i].in;
		e.out = w->remove[i].out;
		if (tell)
			emit(w, e);
	}
	for (uint32_t i = 0; i < w->additions && n < upto; i++, n++) {
		e.removal = false;
		e.in = w->add[i].in;
		e.out = w->add[i].out;
		e.err = add_one(w, &w->add[i], now_ns);
		w->refused += e.err != OCS_ERR_OK;
		if (tell)
			emit(w, e);
	}
}

static void
answer(struct osw *w, uint64_t now_ns)
{
	struct ocs_event e = {.id = w->id, .done_ns = now_ns};
	if (w->what == IDENTIFY) {
		e.kind = OCS_EVENT_IDENTITY;
		e.identity = &w->who;
		emit(w, e);
	} else if (w->what == APPLY) {
		carry_out(w, now_ns, UINT32_MAX, true);
	}
	for (uint32_t p = 0; w->what == READ && p < OSW_PORTS; p++) {
		if (w->out_of[p] == OCS_NO_PORT)
			continue;
		e.kind = OCS_EVENT_CIRCUIT;
		e.in = p;
		e.out = w->out_of[p];
		bool dark = w->dark[p] || w->dark[e.out];
		e.shown = w->lit_ns[p] > now_ns			       ? OCS_SHOWN_SETTLING
			  : dark && (w->caps & OCS_CAP_ASYNC_COMPLETE) ? OCS_SHOWN_DARK
								       : OCS_SHOWN_STEADY;
		emit(w, e);
	}
	e.kind = OCS_EVENT_DONE;
	w->what = NOTHING;
	emit(w, e);
}

static void
lose_session(struct osw *w, uint64_t now_ns)
{
	w->sessions_lost++;
	w->up = false;
	w->up_ns = now_ns + (1 + base_prng_below(&w->rng, 60)) * BASE_MS_NS;
	if (w->what == APPLY && base_prng_below(&w->rng, 2))
		carry_out(w, now_ns, (uint32_t)base_prng_below(&w->rng, 9), false);
	if (w->what != NOTHING)
		emit(w, (struct ocs_event){
				.kind = OCS_EVENT_DONE, .id = w->id, .err = OCS_ERR_OFFLINE});
	w->what = NOTHING;
	emit(w, (struct ocs_event){.kind = OCS_EVENT_DOWN});
}

/* The second user joins one of its ports to any other, whoever has that, and lets go of it. */
static void
foreign(struct osw *w, uint64_t now_ns)
{
	uint32_t own =
		w->foreign_from + (uint32_t)base_prng_below(&w->rng, OSW_PORTS - w->foreign_from);
	uint32_t any = (uint32_t)base_prng_below(&w->rng, OSW_PORTS);
	bool steals = base_prng_below(&w->rng, 2);
	w->foreign_changes++;
	if (w->out_of[own] != OCS_NO_PORT) {
		unset(w, own);
	} else if (w->in_of[any] == OCS_NO_PORT || (steals && w->mine[w->in_of[any]])) {
		if (w->in_of[any] != OCS_NO_PORT) {
			unset(w, w->in_of[any]);
			w->stolen++;
		}
		set(w, own, any, false, now_ns);
	}
	if (w->up && (w->caps & OCS_CAP_EVENTS))
		emit(w, (struct ocs_event){.kind = OCS_EVENT_CHANGED});
}

void
osw_step(struct osw *w, uint64_t now_ns, bool heal)
{
	if (!w->up && w->up_ns <= now_ns) {
		w->up = true;
		emit(w, (struct ocs_event){.kind = OCS_EVENT_UP});
	}
	if (w->what != NOTHING && w->due_ns <= now_ns)
		answer(w, now_ns);
	if (heal)
		return;
	if (w->up && base_prng_chance(&w->rng, w->faults.session_ms))
		lose_session(w, now_ns);
	if (base_prng_chance(&w->rng, w->faults.foreign_ms))
		foreign(w, now_ns);
}

/* ---- the driver */

static int
begin(struct osw *w, int what, uint32_t id, uint64_t due_ns)
{
	if (!w->up)
		return OCS_ERR_OFFLINE;
	if (w->what != NOTHING)
		return OCS_ERR_BUSY;
	w->what = what;
	w->id = id;
	w->due_ns = due_ns;
	return OCS_ERR_OK;
}

static int
identify(struct ocs_switch *sw, uint32_t id, uint64_t now_ns)
{
	return begin((struct osw *)sw, IDENTIFY, id, now_ns + BASE_MS_NS);
}

static int
apply(struct ocs_switch *sw, uint32_t id, const struct ocs_change *c, uint64_t now_ns)
{
	struct osw *w = (struct osw *)sw;
	uint32_t n = c->removals + c->additions;
	if (n > w->max_batch)
		w->broken = "a batch larger than the switch takes";
	int rc = begin(w, APPLY, id, now_ns + w->gamma_ns + n * w->each_ns);
	if (rc != OCS_ERR_OK)
		return rc;
	w->removals = c->removals;
	w->additions = c->additions;
	if (c->removals)
		memcpy(w->remove, c->remove, c->removals * sizeof *c->remove);
	if (c->additions)
		memcpy(w->add, c->add, c->additions * sizeof *c->add);
	return OCS_ERR_OK;
}

static int
read_all(struct ocs_switch *sw, uint32_t id, uint64_t now_ns)
{
	return begin((struct osw *)sw, READ, id, now_ns + BASE_MS_NS);
}

static bool
next(struct ocs_switch *sw, struct ocs_event *ev)
{
	struct osw *w = (struct osw *)sw;
	if (w->head == w->tail)
		return false;
	*ev = w->event[w->head];
	w->head = (w->head + 1) % OSW_EVENTS;
	return true;
}

static void
tick(struct ocs_switch *sw, uint64_t now_ns)
{
	(void)sw;
	(void)now_ns; /* osw_step() is the time of this one */
}

static uint64_t
expiry(const struct ocs_switch *sw)
{
	(void)sw;
	return UINT64_MAX;
}

static const struct ocs_switch_ops ops = {.name = "sim",
					  .tick = tick,
					  .expiry_ns = expiry,
					  .identify = identify,
					  .apply = apply,
					  .read_all = read_all,
					  .next = next};

void
osw_init(struct osw *w, uint64_t seed)
{
	static const uint32_t batches[] = {1, 2, 8, OSW_PORTS};
	memset(w, 0, sizeof *w);
	w->base.ops = &ops;
	w->rng = base_prng_seed(seed ^ 0x0c5);
	struct base_prng *r = &w->rng;
	memset(w->out_of, 0xff, sizeof w->out_of);
	memset(w->in_of, 0xff, sizeof w->in_of);
	/* a random subset of faults, with widely different weights */
	uint64_t *f[] = {&w->faults.refuse, &w->faults.busy, &w->faults.session_ms,
			 &w->faults.foreign_ms, &w->faults.dark_port};
	static const uint64_t most[] = {600000000, 600000000, 60000000, 400000000, 300000000};
	for (size_t i = 0; i < sizeof f / sizeof f[0]; i++) {
		if (!base_prng_below(r, 2))
			continue;
		*f[i] = base_prng_below(r, most[i]);
		*f[i] >>= base_prng_below(r, 5);
	}
	w->caps = (uint32_t)base_prng_below(r, 2) * OCS_CAP_ASYNC_COMPLETE;
	w->caps |= (uint32_t)base_prng_below(r, 2) * OCS_CAP_EVENTS;
	w->max_batch = batches[base_prng_below(r, 4)];
	w->gamma_ns = (1 + base_prng_below(r, 12)) * BASE_MS_NS;
	w->each_ns = base_prng_below(r, 2) * 200000;
	w->foreign_from = OSW_PORTS - 6;
	for (uint32_t p = 0; p < OSW_PORTS; p++)
		w->dark[p] = base_prng_chance(r, w->faults.dark_port);
	w->up_ns = base_prng_below(r, 20) * BASE_MS_NS;
	w->who = (struct ocs_identity){.vendor = "sim",
				       .ingress = OSW_PORTS,
				       .egress = OSW_PORTS,
				       .caps = w->caps,
				       .max_batch = w->max_batch};
}

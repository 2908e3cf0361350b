/* SPDX-License-Identifier: BSD-2-Clause */
/* control.c - see ocs/control.h. */
#include "ocs/control.h"

#include "base/assert.h"
#include "base/clock.h"

#include <string.h>

#define POLL_NS	  (2 * BASE_MS_NS)
#define SETTLE_NS BASE_S_NS
#define RETRY_NS  (20 * BASE_MS_NS)
#define RETRIES	  5u
#define ALIGN	  _Alignof(max_align_t)

enum doing { NOTHING, IDENTIFY, READ, CLEAN, CHANGE, POLL };

/* An addition that was taken from the matrix and waits for its time. */
struct held {
	struct ocs_circuit circuit;
	uint64_t due_ns;
	uint32_t tries;
	bool asked; /* in the batch the driver has */
};

/* The latest removal at a port. */
struct vacated {
	uint64_t ordered_ns, over_ns; /* over: reported */
};

struct ocs_control {
	struct ocs_control_config cfg;
	struct ocs_switch *sw;
	struct ocs_matrix *m;
	struct ocs_identity id;
	bool up, known, online, must_read, dirty;
	enum doing doing;
	uint32_t request;
	uint64_t now, poll_at, quiet_until;
	struct held *held; /* by ingress; due_ns 0: none */
	uint32_t nheld;
	struct vacated *vacated_in, *vacated_out;
	struct ocs_circuit *have;	  /* as read */
	uint8_t *shown;			  /* enum ocs_shown of them */
	struct ocs_circuit *remove, *add; /* of a batch */
	struct ocs_circuit *leftover;
	uint32_t nhave, nleftover;
	uint32_t *told;	 /* by ingress: the egress it was told to be lit to, or OCS_NO_PORT */
	uint64_t *owner; /* and for whom */
	struct ocs_notice *ring;
	uint32_t ring_room, head, tail;
	struct ocs_control_counters count;
};

static size_t
control_room(size_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void *
carve_control(uint8_t **at, size_t bytes)
{
	void *p = *at;
	*at += control_room(bytes);
	return p;
}

/* Every circuit may be told gone, refused and lit between two looks. */
static uint32_t
ring_room(const struct ocs_control_config *cfg)
{
	return 3 * cfg->ports + 8;
}

size_t
ocs_control_footprint(const struct ocs_control_config *cfg)
{
	size_t p = cfg->ports, matrix = ocs_matrix_footprint(cfg->ports);
	if (!matrix || cfg->batch < 2)
		return 0;
	return control_room(sizeof(struct ocs_control)) + control_room(matrix) +
	       control_room(p * sizeof(struct held)) +
	       2 * control_room(p * sizeof(struct vacated)) +
	       4 * control_room(p * sizeof(struct ocs_circuit)) + control_room(p) +
	       control_room(p * sizeof(uint32_t)) + control_room(p * sizeof(uint64_t)) +
	       control_room(ring_room(cfg) * sizeof(struct ocs_notice));
}

struct ocs_control *
ocs_control_new(void *mem, const struct ocs_control_config *cfg, struct ocs_switch *sw)
{
	uint8_t *at = mem;
	BASE_ASSERT(ocs_control_footprint(cfg) > 0);
	memset(mem, 0, ocs_control_footprint(cfg));
	struct ocs_control *c = carve_control(&at, sizeof *c);
	c->cfg = *cfg;
	c->cfg.poll_ns = cfg->poll_ns ? cfg->poll_ns : POLL_NS;
	c->cfg.settle_ns = cfg->settle_ns ? cfg->settle_ns : SETTLE_NS;
	c->cfg.retry_ns = cfg->retry_ns ? cfg->retry_ns : RETRY_NS;
	c->cfg.retries = cfg->retries ? cfg->retries : RETRIES;
	c->sw = sw;
	c->m = ocs_matrix_new(carve_control(&at, ocs_matrix_footprint(cfg->ports)), cfg->ports,
			      cfg->gamma_guess_ns);
	ocs_try_costs(c->m, c->cfg.settle_ns);
	c->held = carve_control(&at, cfg->ports * sizeof *c->held);
	c->vacated_in = carve_control(&at, cfg->ports * sizeof *c->vacated_in);
	c->vacated_out = carve_control(&at, cfg->ports * sizeof *c->vacated_out);
	c->have = carve_control(&at, cfg->ports * sizeof *c->have);
	c->remove = carve_control(&at, cfg->ports * sizeof *c->remove);
	c->add = carve_control(&at, cfg->ports * sizeof *c->add);
	c->leftover = carve_control(&at, cfg->ports * sizeof *c->leftover);
	c->shown = carve_control(&at, cfg->ports);
	c->told = carve_control(&at, cfg->ports * sizeof *c->told);
	c->owner = carve_control(&at, cfg->ports * sizeof *c->owner);
	c->ring_room = ring_room(cfg);
	c->ring = carve_control(&at, c->ring_room * sizeof *c->ring);
	for (uint32_t p = 0; p < cfg->ports; p++)
		c->told[p] = OCS_NO_PORT;
	ocs_offline(c->m);
	return c;
}

struct ocs_matrix *
ocs_control_matrix(struct ocs_control *c)
{
	return c->m;
}

bool
ocs_control_is_online(const struct ocs_control *c)
{
	return c->online;
}

const struct ocs_identity *
ocs_control_identity(const struct ocs_control *c)
{
	return &c->id;
}

const struct ocs_control_counters *
ocs_control_counters(const struct ocs_control *c)
{
	return &c->count;
}

/* ---- notices ---- */

static struct ocs_notice *
notice(struct ocs_control *c, enum ocs_notice_kind kind)
{
	if (c->tail - c->head == c->ring_room) {
		c->head++;
		c->count.lost_notices++;
	}
	struct ocs_notice *n = &c->ring[c->tail++ % c->ring_room];
	*n = (struct ocs_notice){.kind = kind, .at_ns = c->now};
	return n;
}

bool
ocs_control_next(struct ocs_control *c, struct ocs_notice *n)
{
	if (c->head == c->tail)
		return false;
	*n = c->ring[c->head++ % c->ring_room];
	return true;
}

static void
tell_control(struct ocs_control *c, enum ocs_notice_kind kind, uint32_t in, uint32_t out,
	     uint64_t owner)
{
	struct ocs_notice *n = notice(c, kind);
	n->in = in;
	n->out = out;
	n->owner = owner;
}

/* What is lit now against what was told. */
static void
tell_changes(struct ocs_control *c)
{
	if (!c->dirty)
		return;
	c->dirty = false;
	for (uint32_t p = 0; p < c->cfg.ports; p++) {
		struct ocs_circuit k = ocs_at(c->m, p);
		uint32_t lit = k.state == OCS_LIT ? k.out : OCS_NO_PORT;
		if (lit == c->told[p] && (lit == OCS_NO_PORT || k.owner == c->owner[p]))
			continue;
		if (c->told[p] != OCS_NO_PORT && lit != c->told[p])
			tell_control(c, OCS_NOTICE_GONE, p, c->told[p], c->owner[p]);
		if (lit != OCS_NO_PORT)
			tell_control(c, OCS_NOTICE_LIT, p, lit, k.owner);
		c->told[p] = lit;
		c->owner[p] = k.owner;
	}
}

/* ---- additions that wait ---- */

static void
hold_control(struct ocs_control *c, const struct ocs_circuit *k, uint64_t due_ns)
{
	struct held *h = &c->held[k->in];
	BASE_ASSERT(!h->due_ns);
	*h = (struct held){.circuit = *k, .due_ns = due_ns ? due_ns : 1};
	c->nheld++;
}

static void
let_go_control(struct ocs_control *c, uint32_t in)
{
	c->nheld -= c->held[in].due_ns != 0;
	c->held[in] = (struct held){0};
}

static uint32_t
control_due(struct ocs_control *c, uint32_t max)
{
	uint32_t n = 0;
	for (uint32_t p = 0; p < c->cfg.ports && n < max && c->nheld > 0; p++) {
		struct held *h = &c->held[p];
		if (!h->due_ns || h->due_ns > c->now)
			continue;
		h->asked = true;
		c->add[n++] = h->circuit;
	}
	return n;
}

/* ---- what the driver says ---- */

static void
refused(struct ocs_control *c, const struct ocs_event *ev)
{
	struct ocs_circuit k = ocs_at(c->m, ev->in);
	struct ocs_notice *n = notice(c, OCS_NOTICE_REFUSED);
	n->in = ev->in;
	n->out = ev->out;
	n->owner = k.owner;
	n->err = ev->err;
	memcpy(n->text, ev->text, sizeof n->text);
	if (ev->err != OCS_ERR_REFUSED || ocs_refuse(c->m, ev->in, ev->done_ns) != OCS_ERR_OK)
		ocs_report(c->m, ev->in, false, ev->done_ns);
}

static void
added(struct ocs_control *c, const struct ocs_event *ev)
{
	struct held *h = &c->held[ev->in];
	if (!h->due_ns || !h->asked || h->circuit.out != ev->out)
		return;
	if (ev->err == OCS_ERR_OFFLINE)
		return; /* reading back decides */
	if (ev->err == OCS_ERR_RETRY && h->tries < c->cfg.retries) {
		h->tries++;
		h->asked = false;
		h->due_ns = base_add_ns(c->now, c->cfg.retry_ns);
		c->count.retries++;
		return;
	}
	let_go_control(c, ev->in);
	if (ev->err) {
		c->must_read = c->must_read || ev->err == OCS_ERR_BUSY;
		refused(c, ev);
		return;
	}
	ocs_report(c->m, ev->in, true, ev->done_ns);
	if (c->id.caps & OCS_CAP_ASYNC_COMPLETE)
		c->poll_at = base_min_ns(c->poll_at, base_add_ns(c->now, c->cfg.poll_ns));
	else
		ocs_light(c->m, ev->in, true, ev->done_ns);
}

static void
removed(struct ocs_control *c, const struct ocs_event *ev)
{
	if (c->doing == CLEAN || ev->err == OCS_ERR_OFFLINE)
		return;
	ocs_report(c->m, ev->in, !ev->err, ev->done_ns);
	if (!ev->err && ev->in < c->cfg.ports && ev->out < c->cfg.ports)
		c->vacated_in[ev->in].over_ns = c->vacated_out[ev->out].over_ns = c->now;
	if (ev->err) /* still there: it will be tried again, but not at once */
		c->quiet_until = base_add_ns(c->now, c->cfg.retry_ns);
}

static void
circuit(struct ocs_control *c, const struct ocs_event *ev)
{
	c->dirty = true;
	if (c->doing == READ || c->doing == POLL) {
		if (ev->in < c->cfg.ports && ev->out < c->cfg.ports && c->nhave < c->cfg.ports) {
			c->shown[c->nhave] = (uint8_t)ev->shown;
			c->have[c->nhave++] = (struct ocs_circuit){.in = ev->in, .out = ev->out};
		}
	} else if (ev->removal) {
		removed(c, ev);
	} else {
		added(c, ev);
	}
}

static bool
control_is_own(const struct ocs_control *c, uint32_t in, uint32_t out)
{
	return (!c->cfg.own_in || c->cfg.own_in[in]) && (!c->cfg.own_out || c->cfg.own_out[out]);
}

/* Circuits as the switch shows them against those whose light is not confirmed yet. */
static void
look_for_light(struct ocs_control *c)
{
	for (uint32_t i = 0; i < c->nhave; i++) {
		struct ocs_circuit k = ocs_at(c->m, c->have[i].in);
		bool steady = c->shown[i] == OCS_SHOWN_STEADY, dark = c->shown[i] == OCS_SHOWN_DARK;
		if (k.out != c->have[i].out || (k.state != OCS_REPORTED && k.state != OCS_LIT))
			continue;
		if (steady)
			ocs_light(c->m, k.in, true, c->now);
		else if (dark || (k.state == OCS_REPORTED &&
				  c->now >= base_add_ns(k.since_ns, c->cfg.settle_ns)))
			if (ocs_light(c->m, k.in, false, c->now) == OCS_ERR_DARK) {
				struct ocs_notice *n = notice(c, OCS_NOTICE_REFUSED);
				n->in = k.in;
				n->out = k.out;
				n->owner = k.owner;
				n->err = OCS_ERR_DARK;
			}
	}
}

/* The answer to a reading back.  Leftovers on our ports go first; they are no reason for a
 * circuit of ours to give way. */
static void
read_over(struct ocs_control *c)
{
	c->nleftover = 0;
	for (uint32_t i = 0; i < c->nhave; i++) {
		uint32_t in = c->have[i].in, out = c->have[i].out;
		struct ocs_circuit k = ocs_at(c->m, in);
		/* Wanted and never ordered is no reason to believe in what is there. */
		bool known = k.out == out && (k.state != OCS_REQUESTED || k.ordered_ns);
		if (control_is_own(c, in, out) && !known)
			c->leftover[c->nleftover++] = c->have[i];
	}
	if (c->nleftover > 0) {
		c->must_read = true;
		return;
	}
	/* Additions that wait have not been asked for: the matrix takes them for missing,
	 * and orders them again. */
	for (uint32_t p = 0; p < c->cfg.ports; p++)
		let_go_control(c, p);
	ocs_reconcile(c->m, c->have, c->nhave, c->now);
	look_for_light(c);
	if (!c->online)
		notice(c, OCS_NOTICE_ONLINE);
	c->online = true;
	c->poll_at = c->now;
}

static void
control_done(struct ocs_control *c, const struct ocs_event *ev)
{
	enum doing was = c->doing;
	c->doing = NOTHING;
	if (ev->id != c->request)
		return;
	c->dirty = true;
	if (was == IDENTIFY) {
		c->known = !ev->err;
	} else if (was == READ && !ev->err) {
		read_over(c);
	} else if (was == POLL && !ev->err) {
		look_for_light(c);
	} else if (was == CLEAN) {
		c->nleftover = 0;
	}
	if (ev->err && (was == READ || was == POLL || was == IDENTIFY)) {
		c->must_read = true;
		c->quiet_until = base_add_ns(c->now, c->cfg.retry_ns);
	}
}

static void
control_down(struct ocs_control *c, const struct ocs_event *ev)
{
	c->up = false;
	c->dirty = true;
	c->doing = NOTHING;
	c->nleftover = 0;
	if (!c->online)
		return;
	c->online = false;
	ocs_offline(c->m);
	struct ocs_notice *n = notice(c, OCS_NOTICE_OFFLINE);
	n->err = ev->err;
	memcpy(n->text, ev->text, sizeof n->text);
}

static void
control_event(struct ocs_control *c, const struct ocs_event *ev)
{
	switch (ev->kind) {
	case OCS_EVENT_UP:
		c->up = c->must_read = true;
		c->known = false;
		c->count.sessions++;
		break;
	case OCS_EVENT_DOWN:
		control_down(c, ev);
		break;
	case OCS_EVENT_IDENTITY:
		c->id = *ev->identity;
		break;
	case OCS_EVENT_CIRCUIT:
		circuit(c, ev);
		break;
	case OCS_EVENT_DONE:
		control_done(c, ev);
		break;
	case OCS_EVENT_CHANGED:
	case OCS_EVENT_ALARM:
		c->must_read = true;
		break;
	case OCS_EVENT_POWER:
		break;
	}
}

/* ---- what the driver is asked ---- */

static bool
control_asked(struct ocs_control *c, enum doing what, int err)
{
	c->doing = err ? NOTHING : what;
	if (err)
		c->quiet_until = base_add_ns(c->now, c->cfg.retry_ns);
	return !err;
}

static uint32_t
batch_max(const struct ocs_control *c)
{
	uint32_t max = c->cfg.batch;
	return c->id.max_batch && c->id.max_batch < max ? c->id.max_batch : max;
}

static bool
ask_change(struct ocs_control *c, enum doing what, const struct ocs_circuit *remove,
	   uint32_t removals, const struct ocs_circuit *add, uint32_t additions)
{
	struct ocs_change ch = {
		.remove = remove, .removals = removals, .add = add, .additions = additions};
	return control_asked(c, what, c->sw->ops->apply(c->sw, c->request, &ch, c->now));
}

/* From when on the mirrors move: a switch that takes a removal and what replaces it in one change
 * begins when that is ordered, so an addition whose ports have become free just now counts from
 * the order of the removal. */
static uint64_t
moves_ns(const struct ocs_control *c, const struct ocs_circuit *k)
{
	const struct vacated *in = &c->vacated_in[k->in], *out = &c->vacated_out[k->out];
	uint64_t from_ns = in->over_ns == c->now ? in->ordered_ns : 0;
	if (out->over_ns == c->now)
		from_ns = base_max_ns(from_ns, out->ordered_ns);
	return from_ns ? from_ns : c->now;
}

static void
note_removals(struct ocs_control *c, const struct ocs_batch *b)
{
	for (uint32_t i = 0; i < b->removals; i++) {
		const struct ocs_circuit *k = &b->remove[i];
		c->vacated_in[k->in].ordered_ns = c->vacated_out[k->out].ordered_ns = c->now;
	}
}

/* Removals at once, additions when they are due. */
static bool
ask_batch(struct ocs_control *c)
{
	uint32_t max = batch_max(c);
	struct ocs_batch b = {.remove = c->remove, .add = c->add};
	uint32_t half = max / 2 > 0 ? max / 2 : 1;
	if (ocs_take_batch(c->m, &b, half, c->now))
		for (uint32_t i = 0; i < b.additions; i++)
			hold_control(c, &b.add[i],
				     base_add_ns(moves_ns(c, &b.add[i]), c->cfg.extra_ns));
	note_removals(c, &b);
	uint32_t additions = control_due(c, max - b.removals);
	if (b.removals + additions == 0)
		return false;
	if (ask_change(c, CHANGE, c->remove, b.removals, c->add, additions))
		return true;
	for (uint32_t i = 0; i < b.removals; i++) /* not taken: nothing has happened */
		ocs_report(c->m, c->remove[i].in, false, c->now);
	for (uint32_t i = 0; i < additions; i++) {
		c->held[c->add[i].in].asked = false;
		c->held[c->add[i].in].due_ns = c->quiet_until;
	}
	return false;
}

static bool
any_reported(const struct ocs_control *c)
{
	for (uint32_t p = 0; p < c->cfg.ports; p++)
		if (ocs_at(c->m, p).state == OCS_REPORTED)
			return true;
	return false;
}

static void
ask_control(struct ocs_control *c)
{
	c->request++;
	if (!c->known) {
		control_asked(c, IDENTIFY, c->sw->ops->identify(c->sw, c->request, c->now));
		return;
	}
	if (c->nleftover > 0) {
		uint32_t n = c->nleftover < batch_max(c) ? c->nleftover : batch_max(c);
		c->count.leftovers += n;
		ask_change(c, CLEAN, c->leftover, n, NULL, 0);
		return;
	}
	if (c->must_read) {
		c->must_read = false;
		c->nhave = 0;
		c->count.reads++;
		if (!control_asked(c, READ, c->sw->ops->read_all(c->sw, c->request, c->now)))
			c->must_read = true;
		return;
	}
	if (ask_batch(c) || c->poll_at > c->now)
		return;
	c->poll_at = BASE_NEVER_NS;
	if (!any_reported(c))
		return;
	c->poll_at = base_add_ns(c->now, c->cfg.poll_ns);
	c->nhave = 0;
	control_asked(c, POLL, c->sw->ops->read_all(c->sw, c->request, c->now));
}

void
ocs_control_turn(struct ocs_control *c, uint64_t now_ns)
{
	struct ocs_event ev;
	c->now = now_ns;
	c->dirty = true;
	do {
		while (c->sw->ops->next(c->sw, &ev))
			control_event(c, &ev);
		if (!c->up || c->doing != NOTHING || now_ns < c->quiet_until)
			break;
		ask_control(c);
	} while (c->doing != NOTHING); /* some drivers answer at once */
	tell_changes(c);
}

uint64_t
ocs_control_expiry_ns(const struct ocs_control *c)
{
	uint64_t at = BASE_NEVER_NS;
	if (!c->up || c->doing != NOTHING)
		return at;
	if (c->online)
		at = c->poll_at;
	for (uint32_t p = 0; p < c->cfg.ports && c->nheld > 0; p++)
		if (c->held[p].due_ns)
			at = base_min_ns(at, c->held[p].due_ns);
	if (c->must_read || c->quiet_until > c->now)
		at = base_min_ns(at, base_max_ns(c->quiet_until, c->now));
	return base_max_ns(at, c->quiet_until);
}

bool
ocs_control_is_settled(const struct ocs_control *c)
{
	if (!c->online || c->doing != NOTHING || c->must_read || c->nheld > 0)
		return false;
	for (uint32_t p = 0; p < c->cfg.ports; p++) {
		enum ocs_state s = ocs_at(c->m, p).state;
		if (s != OCS_FREE && s != OCS_LIT && s != OCS_FOREIGN)
			return false;
	}
	return true;
}

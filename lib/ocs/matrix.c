/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocs/matrix.h"

#include "base/assert.h"
#include "base/clock.h"

#include <string.h>

/* A circuit without light is removed and set up once more. */
enum { RELIT_NO, RELIT_REMOVE, RELIT_AGAIN };

/* A port without light is left alone for a while, longer each time: somebody may mend it, and it
 * may have been the port at the other end. */
#define DARK_FIRST_NS (2 * BASE_S_NS)
#define TRY_NS	      BASE_S_NS /* until somebody says what it costs */
/* Circuits in a row by which nobody was found, or that were refused, make a port dark: one may be a
 * relay's fault, or the other port's. */
#define BLIND_MAX   2u
#define REFUSED_MAX 2u

struct dark {
	uint64_t until_ns;
	uint8_t times;	 /* in a row */
	uint8_t blind;	 /* circuits in a row, called lit, by which nobody was found */
	uint8_t refused; /* circuits in a row */
	bool told;	 /* ocs_port_dark(): until that says otherwise */
};

struct ocs_matrix {
	uint32_t ports;
	bool online;
	uint64_t dark_max_ns;
	struct ocs_gamma gamma;
	struct ocs_counters count;
	/* by ingress port */
	struct ocs_circuit *circuit;
	/* by egress port: ingress that uses it, or OCS_NO_PORT */
	uint32_t *user;
	struct dark *dark_in, *dark_out;
	uint8_t *relit;
};

const char *
ocs_strerror(int err)
{
	switch (err) {
#define X(n, v, t) \
	case v:    \
		return t;
		OCS_ERRORS(X)
#undef X
	}
	return "unknown error";
}

size_t
ocs_matrix_footprint(uint32_t ports)
{
	if (!ports || ports > OCS_PORTS_MAX)
		return 0;
	return sizeof(struct ocs_matrix) + ports * (sizeof(struct ocs_circuit) +
						    2 * sizeof(struct dark) + sizeof(uint32_t) + 1);
}

struct ocs_matrix *
ocs_matrix_new(void *mem, uint32_t ports, uint64_t gamma_guess_ns)
{
	if (!ocs_matrix_footprint(ports))
		return NULL;
	struct ocs_matrix *m = mem;
	memset(m, 0, ocs_matrix_footprint(ports));
	m->ports = ports;
	m->online = true;
	ocs_try_costs(m, TRY_NS);
	ocs_gamma_init(&m->gamma, gamma_guess_ns);
	m->circuit = (struct ocs_circuit *)(m + 1);
	m->dark_in = (struct dark *)(m->circuit + ports);
	m->dark_out = m->dark_in + ports;
	m->user = (uint32_t *)(m->dark_out + ports);
	m->relit = (uint8_t *)(m->user + ports);
	for (uint32_t p = 0; p < ports; p++) {
		m->circuit[p].in = p;
		m->circuit[p].out = OCS_NO_PORT;
		m->user[p] = OCS_NO_PORT;
	}
	return m;
}

void
ocs_try_costs(struct ocs_matrix *m, uint64_t try_ns)
{
	m->dark_max_ns = OCS_DARK_SHARE * try_ns;
}

static void
enter_matrix(struct ocs_circuit *c, enum ocs_state s, uint64_t now_ns)
{
	c->state = s;
	c->since_ns = now_ns;
}

static void
forget_matrix(struct ocs_matrix *m, uint32_t in)
{
	struct ocs_circuit *c = &m->circuit[in];
	m->user[c->out] = OCS_NO_PORT;
	*c = (struct ocs_circuit){.in = in, .out = OCS_NO_PORT, .state = OCS_FREE};
	m->relit[in] = 0;
}

static void
take_matrix(struct ocs_matrix *m, uint32_t in, uint32_t out, enum ocs_state s, uint64_t now_ns)
{
	struct ocs_circuit *c = &m->circuit[in];
	BASE_ASSERT(c->state == OCS_FREE);
	BASE_ASSERT(m->user[out] == OCS_NO_PORT);
	c->out = out;
	m->user[out] = in;
	enter_matrix(c, s, now_ns);
}

static bool
is_dark(const struct dark *d, uint64_t now_ns)
{
	return d->told || now_ns < d->until_ns;
}

static void
darken(const struct ocs_matrix *m, struct dark *d, uint64_t now_ns)
{
	uint64_t pause_ns = DARK_FIRST_NS << d->times;
	d->until_ns = base_add_ns(now_ns, base_min_ns(pause_ns, m->dark_max_ns));
	if (!d->times || pause_ns < m->dark_max_ns)
		d->times++;
}

static void
brighten(struct dark *d)
{
	d->until_ns = 0;
	d->times = 0;
}

int
ocs_request(struct ocs_matrix *m, uint32_t in, uint32_t out, uint64_t owner, uint64_t now_ns)
{
	if (in >= m->ports || out >= m->ports)
		return OCS_ERR_INVAL;
	struct ocs_circuit *c = &m->circuit[in];
	if (c->state != OCS_FREE && c->out == out) {
		if (c->state == OCS_FOREIGN)
			return OCS_ERR_FOREIGN;
		if (c->state == OCS_RELEASING)
			return OCS_ERR_BUSY; /* on its way out: ask again when it is gone */
		if (c->state == OCS_RELEASE_PENDING &&
		    (is_dark(&m->dark_in[in], now_ns) || is_dark(&m->dark_out[out], now_ns)))
			return OCS_ERR_DARK; /* that may be why it goes */
		if (c->state == OCS_RELEASE_PENDING && m->relit[in] != RELIT_REMOVE)
			enter_matrix(c, OCS_LIT, now_ns);
		c->release = false;
		c->owner = owner;
		m->count.hits++;
		return OCS_ERR_OK;
	}
	uint32_t other = m->user[out];
	if (c->state == OCS_FOREIGN ||
	    (other != OCS_NO_PORT && m->circuit[other].state == OCS_FOREIGN))
		return OCS_ERR_FOREIGN;
	if (c->state != OCS_FREE || other != OCS_NO_PORT)
		return OCS_ERR_BUSY;
	if (is_dark(&m->dark_in[in], now_ns) || is_dark(&m->dark_out[out], now_ns))
		return OCS_ERR_DARK;
	take_matrix(m, in, out, OCS_REQUESTED, now_ns);
	c->owner = owner;
	m->count.wanted++;
	return OCS_ERR_OK;
}

int
ocs_release(struct ocs_matrix *m, uint32_t in, uint64_t now_ns)
{
	if (in >= m->ports)
		return OCS_ERR_INVAL;
	struct ocs_circuit *c = &m->circuit[in];
	switch (c->state) {
	case OCS_FREE:
		return OCS_ERR_UNKNOWN;
	case OCS_FOREIGN:
		return OCS_ERR_FOREIGN;
	case OCS_REQUESTED:
		forget_matrix(m, in);
		return OCS_ERR_OK;
	case OCS_ORDERED:
		c->release = true;
		return OCS_ERR_OK;
	case OCS_REPORTED:
	case OCS_LIT:
		enter_matrix(c, OCS_RELEASE_PENDING, now_ns);
		return OCS_ERR_OK;
	default: /* doomed or releasing already: at most it shall not come back */
		c->release = true;
		return OCS_ERR_OK;
	}
}

bool
ocs_take_batch(struct ocs_matrix *m, struct ocs_batch *b, uint32_t max, uint64_t now_ns)
{
	b->removals = b->additions = 0;
	if (!m->online)
		return false;
	for (uint32_t p = 0; p < m->ports; p++) {
		struct ocs_circuit *c = &m->circuit[p];
		if (c->state == OCS_RELEASE_PENDING && b->removals < max) {
			enter_matrix(c, OCS_RELEASING, now_ns);
			b->remove[b->removals++] = *c;
		} else if (c->state == OCS_REQUESTED && b->additions < max) {
			enter_matrix(c, OCS_ORDERED, now_ns);
			c->ordered_ns = now_ns;
			b->add[b->additions++] = *c;
		}
	}
	if (!b->removals && !b->additions)
		return false;
	for (uint32_t i = 0; i < b->additions; i++)
		m->circuit[b->add[i].in].batch = b->additions;
	m->count.batches++;
	return true;
}

int
ocs_report(struct ocs_matrix *m, uint32_t in, bool ok, uint64_t now_ns)
{
	if (in >= m->ports)
		return OCS_ERR_INVAL;
	struct ocs_circuit *c = &m->circuit[in];
	if (c->state == OCS_RELEASING) {
		m->count.removed += ok;
		if (!ok) {
			enter_matrix(c, OCS_RELEASE_PENDING, now_ns); /* still there: try again */
		} else if (m->relit[in] == RELIT_REMOVE && !c->release) {
			m->relit[in] = RELIT_AGAIN;
			enter_matrix(c, OCS_REQUESTED, now_ns);
		} else {
			forget_matrix(m, in);
		}
		return OCS_ERR_OK;
	}
	if (c->state != OCS_ORDERED)
		return OCS_ERR_UNKNOWN;
	if (!ok) {
		m->count.refused++;
		forget_matrix(m, in);
		return OCS_ERR_OK;
	}
	m->count.set_up++;
	m->dark_in[in].refused = m->dark_out[c->out].refused = 0;
	enter_matrix(c, c->release ? OCS_RELEASE_PENDING : OCS_REPORTED, now_ns);
	c->release = false;
	return OCS_ERR_OK;
}

static void
refuse_port(const struct ocs_matrix *m, struct dark *d, uint64_t now_ns)
{
	if (d->refused < REFUSED_MAX)
		d->refused++;
	if (d->refused == REFUSED_MAX)
		darken(m, d, now_ns);
}

int
ocs_refuse(struct ocs_matrix *m, uint32_t in, uint64_t now_ns)
{
	if (in >= m->ports || m->circuit[in].state != OCS_ORDERED)
		return OCS_ERR_UNKNOWN;
	refuse_port(m, &m->dark_in[in], now_ns);
	refuse_port(m, &m->dark_out[m->circuit[in].out], now_ns);
	return ocs_report(m, in, false, now_ns);
}

bool
ocs_port_usable(const struct ocs_matrix *m, uint32_t port, uint64_t now_ns)
{
	return port < m->ports && !is_dark(&m->dark_in[port], now_ns) &&
	       !is_dark(&m->dark_out[port], now_ns);
}

int
ocs_light(struct ocs_matrix *m, uint32_t in, bool lit, uint64_t now_ns)
{
	if (in >= m->ports)
		return OCS_ERR_INVAL;
	struct ocs_circuit *c = &m->circuit[in];
	if (c->state != OCS_REPORTED && c->state != OCS_LIT)
		return OCS_ERR_UNKNOWN;
	struct dark *din = &m->dark_in[in], *dout = &m->dark_out[c->out];
	if (lit) {
		if (c->state == OCS_REPORTED) {
			ocs_gamma_add(&m->gamma, c->batch, now_ns - c->ordered_ns);
			enter_matrix(c, OCS_LIT, now_ns);
		}
		m->relit[in] = RELIT_NO;
		/* The word of the switch is not enough for ports by which nobody was found. */
		if (!din->blind)
			brighten(din);
		if (!dout->blind)
			brighten(dout);
		return OCS_ERR_OK;
	}
	m->count.lost++;
	enter_matrix(c, OCS_RELEASE_PENDING, now_ns);
	/* Twice in a row without light: it is the port.  One that was dark before has one try. */
	if (m->relit[in] == RELIT_AGAIN || din->times || dout->times) {
		darken(m, din, now_ns);
		darken(m, dout, now_ns);
		m->relit[in] = RELIT_NO;
		return OCS_ERR_DARK;
	}
	m->relit[in] = RELIT_REMOVE;
	return OCS_ERR_OK;
}

static void
blind(const struct ocs_matrix *m, struct dark *d, uint64_t now_ns)
{
	if (d->blind < BLIND_MAX)
		d->blind++;
	if (d->blind == BLIND_MAX)
		darken(m, d, now_ns);
}

int
ocs_ends(struct ocs_matrix *m, uint32_t in, uint32_t out, bool found, uint64_t now_ns)
{
	if (in >= m->ports || out >= m->ports)
		return OCS_ERR_INVAL;
	struct dark *din = &m->dark_in[in], *dout = &m->dark_out[out];
	if (found) {
		din->blind = dout->blind = 0;
		brighten(din);
		brighten(dout);
		return OCS_ERR_OK;
	}
	blind(m, din, now_ns);
	blind(m, dout, now_ns);
	if (m->circuit[in].state != OCS_FREE && m->circuit[in].out == out)
		(void)ocs_release(m, in, now_ns);
	return is_dark(din, now_ns) || is_dark(dout, now_ns) ? OCS_ERR_DARK : OCS_ERR_OK;
}

void
ocs_offline(struct ocs_matrix *m)
{
	m->online = false;
}

/* Does the read-back show in -> out? */
static bool
shown(const struct ocs_circuit *have, uint32_t count, uint32_t in, uint32_t out)
{
	for (uint32_t i = 0; i < count; i++)
		if (have[i].in == in && have[i].out == out)
			return true;
	return false;
}

static void
reconcile_ours(struct ocs_matrix *m, uint32_t in, bool there, uint64_t now_ns)
{
	struct ocs_circuit *c = &m->circuit[in];
	bool leaving = c->state == OCS_RELEASE_PENDING || c->state == OCS_RELEASING || c->release;
	if (c->state == OCS_FREE || (there && c->state == OCS_LIT))
		return;
	if (there) {
		/* c->release stays: what is to be removed and was given up shall not come back. */
		enter_matrix(c, leaving ? OCS_RELEASE_PENDING : OCS_REPORTED, now_ns);
	} else if (leaving || c->state == OCS_FOREIGN) {
		forget_matrix(m, in);
	} else if (c->state != OCS_REQUESTED) {
		m->count.lost += c->state != OCS_ORDERED;
		enter_matrix(c, OCS_REQUESTED, now_ns);
	}
}

void
ocs_reconcile(struct ocs_matrix *m, const struct ocs_circuit *have, uint32_t count, uint64_t now_ns)
{
	for (uint32_t p = 0; p < m->ports; p++) {
		struct ocs_circuit *c = &m->circuit[p];
		if (c->state == OCS_FREE)
			continue;
		bool there = shown(have, count, p, c->out);
		if (c->state == OCS_FOREIGN) {
			if (!there)
				forget_matrix(m, p);
		} else if (c->state == OCS_REQUESTED && there) {
			/* ordered before and late, or somebody else's by chance: leave that alone
			 */
			enter_matrix(c, c->ordered_ns ? OCS_REPORTED : OCS_FOREIGN, now_ns);
		} else {
			reconcile_ours(m, p, there, now_ns);
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t in = have[i].in, out = have[i].out;
		if (in >= m->ports || out >= m->ports || m->circuit[in].out == out)
			continue;
		/* A foreign circuit sits where we want one: ours has to give way on
		 * both ends before the ports are marked taken. */
		if (m->circuit[in].state != OCS_FREE)
			forget_matrix(m, in);
		if (m->user[out] != OCS_NO_PORT)
			forget_matrix(m, m->user[out]);
		take_matrix(m, in, out, OCS_FOREIGN, now_ns);
		m->count.foreign_seen++;
	}
	m->online = true;
}

int
ocs_port_dark(struct ocs_matrix *m, bool ingress, uint32_t port, bool dark)
{
	if (port >= m->ports)
		return OCS_ERR_INVAL;
	struct dark *d = &(ingress ? m->dark_in : m->dark_out)[port];
	brighten(d);
	d->blind = d->refused = 0;
	d->told = dark;
	return OCS_ERR_OK;
}

struct ocs_circuit
ocs_at(const struct ocs_matrix *m, uint32_t in)
{
	return in < m->ports ? m->circuit[in]
			     : (struct ocs_circuit){.in = OCS_NO_PORT, .out = OCS_NO_PORT};
}

uint32_t
ocs_user_of(const struct ocs_matrix *m, uint32_t out)
{
	return out < m->ports ? m->user[out] : OCS_NO_PORT;
}

uint64_t
ocs_gamma_ns(const struct ocs_matrix *m)
{
	return ocs_gamma_mean_ns(&m->gamma, 1);
}

const struct ocs_gamma *
ocs_gamma(const struct ocs_matrix *m)
{
	return &m->gamma;
}

const struct ocs_counters *
ocs_counters(const struct ocs_matrix *m)
{
	return &m->count;
}

const char *
ocs_check(const struct ocs_matrix *m)
{
	for (uint32_t p = 0; p < m->ports; p++) {
		const struct ocs_circuit *c = &m->circuit[p];
		if (c->in != p)
			return "a circuit sits at another ingress than its own";
		if ((c->state == OCS_FREE) != (c->out == OCS_NO_PORT))
			return "a free port has an egress, or a circuit has none";
		if (c->state != OCS_FREE && m->user[c->out] != p)
			return "a circuit's egress belongs to another";
		if (m->user[p] != OCS_NO_PORT && m->circuit[m->user[p]].out != p)
			return "an egress names a circuit that does not use it";
	}
	return NULL;
}

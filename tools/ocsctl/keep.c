/* SPDX-License-Identifier: BSD-2-Clause */
/* keep.c - circuits held through ocs/control.h; see ocsctl.h. */
#include "ocsctl.h"

#include "base/clock.h"
#include "base/prng.h"
#include "ocs/control.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#define SETTLE_NS (20 * BASE_S_NS)

struct run {
	struct ocs_driver *d;
	struct ocs_control *c;
	struct ocs_matrix *m;
	const struct options *o;
	uint64_t began, refused, lit;
	bool quiet;
};

static struct run
begin_switch(struct ocs_driver *d, const struct options *o, bool quiet)
{
	struct ocs_control_config cfg = {
		.ports = o->driver.ports,
		.batch = o->driver.batch,
		.gamma_guess_ns = 10 * BASE_MS_NS,
		.extra_ns = o->extra_ns,
		.own_in = o->own_given ? o->own : NULL,
		.own_out = o->own_given ? o->own : NULL,
	};
	size_t bytes = ocs_control_footprint(&cfg);
	void *mem = bytes ? malloc(bytes) : NULL;
	if (!mem)
		errx(1, "ports out of range");
	struct run r = {.d = d, .o = o, .began = clock_now(), .quiet = quiet};
	r.c = ocs_control_new(mem, &cfg, ocs_driver_switch(d));
	r.m = ocs_control_matrix(r.c);
	return r;
}

static void
print_notice(struct run *r, const struct ocs_notice *n)
{
	static const char *const kinds[] = {"online", "offline", "lit", "gone", "refused"};
	r->refused += n->kind == OCS_NOTICE_REFUSED;
	r->lit += n->kind == OCS_NOTICE_LIT;
	if (r->quiet)
		return;
	printf("%.3f %s", (double)(clock_now() - r->began) / 1e9, kinds[n->kind]);
	if (n->kind >= OCS_NOTICE_LIT)
		printf(" %u:%u", n->in, n->out);
	if (n->err)
		printf(" %s", ocs_strerror(n->err));
	printf("%s%s\n", n->text[0] ? ": " : "", n->text);
}

/* Lets everybody work until at_ns at most. */
static void
switch_work(struct run *r, uint64_t at_ns)
{
	struct ocs_notice n;
	ocs_control_turn(r->c, clock_now());
	ocs_driver_send(r->d, clock_now());
	turn_until(r->d, base_min_ns(at_ns, ocs_control_expiry_ns(r->c)));
	ocs_control_turn(r->c, clock_now());
	ocs_driver_send(r->d, clock_now());
	while (ocs_control_next(r->c, &n))
		print_notice(r, &n);
}

int
keep(struct ocs_driver *d, const struct options *o, const struct pairs *p)
{
	struct run r = begin_switch(d, o, false);
	uint64_t end = o->seconds ? r.began + o->seconds * BASE_S_NS : BASE_NEVER_NS;
	uint32_t lit = 0;
	while (!stopped && clock_now() < end) {
		for (uint32_t i = 0; i < p->n; i++)
			if (ocs_at(r.m, p->at[i].in).state == OCS_FREE)
				ocs_request(r.m, p->at[i].in, p->at[i].out, 1, clock_now());
		switch_work(&r, base_min_ns(end, clock_now() + 200 * BASE_MS_NS));
	}
	for (uint32_t i = 0; i < p->n; i++) {
		struct ocs_circuit k = ocs_at(r.m, p->at[i].in);
		lit += k.state == OCS_LIT && k.out == p->at[i].out;
	}
	printf("%u of %u lit, %u sessions\n", lit, p->n,
	       (unsigned int)ocs_control_counters(r.c)->sessions);
	free(r.c);
	return lit != p->n;
}

/* The matrix and the switch agree on our ports: read once more, and compare. */
static uint32_t
differences(struct run *r)
{
	struct ocs_switch *sw = ocs_driver_switch(r->d);
	uint32_t wrong = 0, there = 0, ours = 0;
	struct ocs_event ev = {.kind = OCS_EVENT_UP};
	if (sw->ops->read_all(sw, 77, clock_now()))
		return OCS_PORTS_MAX;
	while (!stopped && (ev.kind != OCS_EVENT_DONE || ev.id != 77)) {
		if (!sw->ops->next(sw, &ev)) {
			ocs_driver_turn(r->d, clock_now());
			if (!sw->ops->next(sw, &ev)) {
				turn_until(r->d, clock_now() + BASE_S_NS);
				continue;
			}
		}
		if (ev.kind != OCS_EVENT_CIRCUIT)
			continue;
		bool own = !r->o->own_given || (r->o->own[ev.in] && r->o->own[ev.out]);
		there += own;
		wrong += own && (ocs_at(r->m, ev.in).out != ev.out ||
				 ocs_at(r->m, ev.in).state != OCS_LIT);
	}
	for (uint32_t p = 0; p < r->o->driver.ports; p++)
		ours += ocs_at(r->m, p).state == OCS_LIT;
	return wrong + (there > ours ? there - ours : ours - there);
}

int
churn(struct ocs_driver *d, const struct options *o)
{
	struct run r = begin_switch(d, o, true);
	struct base_prng g = base_prng_seed(o->seed);
	uint32_t ports[OCS_PORTS_MAX], n = 0;
	uint64_t end = r.began + (o->seconds ? o->seconds : 10) * BASE_S_NS;
	for (uint32_t p = 0; p < o->driver.ports; p++)
		if (!o->own_given || o->own[p])
			ports[n++] = p;
	if (n == 0)
		errx(1, "no ports of our own");
	while (!stopped && clock_now() < end) {
		uint32_t in = ports[base_prng_below(&g, n)], out = ports[base_prng_below(&g, n)];
		if (base_prng_below(&g, 2))
			ocs_request(r.m, in, out, 1, clock_now());
		else
			ocs_release(r.m, in, clock_now());
		switch_work(&r, clock_now() + base_prng_below(&g, 5) * BASE_MS_NS);
	}
	uint64_t limit = clock_now() + SETTLE_NS;
	while (!stopped && !ocs_control_is_settled(r.c) && clock_now() < limit)
		switch_work(&r, clock_now() + 50 * BASE_MS_NS);
	uint32_t wrong = ocs_control_is_settled(r.c) ? differences(&r) : OCS_PORTS_MAX;
	const struct ocs_counters *k = ocs_counters(r.m);
	printf("{\"set_up\": %lu, \"removed\": %lu, \"batches\": %lu, \"refused\": %lu, "
	       "\"sessions\": %lu, \"lost\": %lu, \"foreign\": %lu, \"gamma_ms\": %.2f, "
	       "\"differences\": %u}\n",
	       (unsigned long)k->set_up, (unsigned long)k->removed, (unsigned long)k->batches,
	       (unsigned long)r.refused, (unsigned long)ocs_control_counters(r.c)->sessions,
	       (unsigned long)k->lost, (unsigned long)k->foreign_seen,
	       (double)ocs_gamma_ns(r.m) / 1e6, wrong);
	free(r.c);
	return wrong != 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The relays of my cluster: relayset/relayset.h with a clock, settings and messages. */
#include "net_internal.h"

#include "light.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define eng lmpi_eng
#define net lmpi_net

_Atomic uint32_t lmpi_relays_known;
_Atomic uint32_t lmpi_relays_looks;
_Atomic bool lmpi_relays_draining;

/* For the thread that watches the server channel. */
static void
publish_relays(void)
{
	atomic_store(&lmpi_relays_known, relayset_count(net.relays));
	atomic_store_explicit(&lmpi_relays_looks, relayset_looks(net.relays), memory_order_relaxed);
	atomic_store(&lmpi_relays_draining, relayset_draining(net.relays));
}

static void
nobody_left(void *user, const char *text)
{
	(void)user;
	if (!lmpi_outlive) {
		lmpi_fail("%s", text);
		return;
	}
	/* For this process those beyond them are no more. */
	for (uint32_t r = 0; r < lmpi_world.size; r++)
		if (lmpi_route[r].reach == LMPI_REACH_RELAY)
			lmpi_outlive(r);
}

static void
relay_down(void *user, uint32_t i)
{
	(void)user;
	lmpi_light_relay_gone(i);
}

static void
too_small(void *user, uint32_t i)
{
	struct relayset_info r;

	(void)user;
	relayset_info(net.relays, i, &r);
	fprintf(stderr,
		"libmpi: [%u] relay %s takes smaller datagrams than the others; it is not used\n",
		lmpi_world.rank, r.name);
}

int
lmpi_relays_start(const struct lmpi_relay *relay, uint32_t n)
{
	static const struct relayset_ops ops = {
		.nobody_left = nobody_left, .relay_down = relay_down, .too_small = too_small};
	uint32_t remote = lmpi_world.nclients > 1 ? lmpi_world.nclients - 1 : 1;
	struct relayset_conf c = {
		.limits = {.relays_max = n ? n + RELAYSET_MORE : 0,
			   .groups_max = n ? remote * n : 0},
		.rank = lmpi_world.rank,
		.client = lmpi_world.client,
		.silence_ns = lmpi_knob_number(LMPI_KNOB_LIVENESS) * BASE_MS_NS,
		.partition_ns = lmpi_knob_number(LMPI_KNOB_PARTITION_TIMEOUT) * BASE_S_NS,
		.partition_fixed = lmpi_knob_text(LMPI_KNOB_PARTITION_TIMEOUT) != NULL,
		.ops = &ops,
	};

	if (c.limits.groups_max > 4096)
		c.limits.groups_max = 4096;
	net.relays_limits = c.limits;
	void *mem = aligned_alloc(BASE_ARENA_ALIGN, relayset_footprint(&c.limits));
	if (!mem)
		return -1;
	net.relays = relayset_new(mem, &c);
	for (uint32_t i = 0; i < n; i++)
		relayset_add(net.relays, &(struct relayset_relay){.addr = relay[i].at,
								  .ipv4 = relay[i].ipv4,
								  .token = relay[i].token,
								  .base = relay[i].base});
	publish_relays();
	return 0;
}

bool
lmpi_net_has_relays(void)
{
	return net.relays && relayset_count(net.relays) > 0;
}

bool
lmpi_relays_note(uint32_t i, const struct relay_note *n)
{
	uint8_t bytes[RELAY_NOTE_MAX];

	return lmpi_net_tell_relay(i, bytes, relay_note_encode(n, bytes));
}

static void
hear_of_death(void *user, uint32_t first, uint32_t count)
{
	(void)user;
	for (uint32_t r = first; r < first + count; r++)
		lmpi_outlive(r);
}

static bool
knows_of_death(void *user, uint32_t world)
{
	(void)user;
	return eng.peer[world].lost;
}

void
lmpi_net_survive(void)
{
	uint8_t hello[RELAY_HELLO_LEN];

	if (!net.relays)
		return;
	/* Relays may come first. */
	lmpi_net_hello(true, hello);
	(void)suci_set_hello(net.ep, hello, sizeof hello);
	relayset_survive(net.relays,
			 &(struct relayset_survivors){.nworld = lmpi_world.size,
						      .first = lmpi_world.client_first,
						      .n = lmpi_world.client_size,
						      .label_base = LMPI_LABEL_BASE,
						      .token = (uint32_t)lmpi_loop.token,
						      .failed = hear_of_death,
						      .has_failed = knows_of_death});
}

bool
lmpi_net_tell_relay(uint32_t i, const void *note, size_t len)
{
	bool taken = relayset_tell(net.relays, i, note, len, eng.now_ns);

	net.dirty |= taken;
	return taken;
}

uint32_t
lmpi_net_relay_base(uint32_t i)
{
	struct relayset_info r;

	relayset_info(net.relays, i, &r);
	return r.relay.base;
}

bool
lmpi_relays_path_down(uint32_t path, enum suci_down why, const char *word, const char *text)
{
	char what[SUCI_TEXT_MAX + 64];

	snprintf(what, sizeof what, "%s%s%s", word, text && *text ? ": " : "", text ? text : "");
	if (eng.closing)
		relayset_closing(net.relays);
	return relayset_path_down(net.relays, path, why, what, eng.now_ns);
}

void
lmpi_relays_turn(uint64_t now_ns)
{
	if (now_ns < relayset_expiry_ns(net.relays))
		return;
	if (eng.closing)
		relayset_closing(net.relays);
	net.dirty |= relayset_turn(net.relays, now_ns);
	publish_relays();
}

void
lmpi_relays_print_stats(void)
{
	for (uint32_t i = 0; i < relayset_count(net.relays); i++) {
		struct relayset_info r;
		relayset_info(net.relays, i, &r);
		fprintf(stderr,
			"libmpi: [%u] relay %s %s, lost %u times, since then %llu segments "
			"(%llu bytes)\n",
			lmpi_world.rank, r.name, r.up ? "up" : r.why, r.downs,
			(unsigned long long)r.segments, (unsigned long long)r.bytes);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "light.h"

#include "net_internal.h"
#include "transport.h"

#include "base/clock.h"
#include "base/serial.h"
#include "driver/suci_udp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS BASE_S_NS
#define EARLY_MAX   1024u

struct light_client *lmpi_light;

static struct {
	bool off;
	enum circ_mode mode;
} light;

int
lmpi_light_init(void)
{
	const char *s = lmpi_knob_text(LMPI_KNOB_OPTICAL);
	int word = lmpi_knob_word_or_fail(LMPI_KNOB_OPTICAL);

	light.off = word == 1;
	light.mode = word > 1 ? circ_mode_of(s) : CIRC_MODE_AUTO;
	return word >= 0 && light.mode != CIRC_MODE_COUNT ? LMPI_OK : LMPI_ERR_OTHER;
}

bool
lmpi_light_cached(void)
{
	return light.mode == CIRC_MODE_CACHED;
}

void
lmpi_light_fini(void)
{
	free(lmpi_light);
	lmpi_light = NULL;
}

const void *
lmpi_light_counters(void)
{
	return lmpi_light != NULL ? light_client_counters(lmpi_light) : NULL;
}

void
lmpi_light_print_stats(void)
{
	const struct light_counters *n = lmpi_light_counters();

	if (n == NULL)
		return;
	fprintf(stderr,
		"libmpi: [%u] light: announced %llu calls, gated %llu messages for %llu us, %llu "
		"went without GO, reported %llu, refused %llu offers of another version\n",
		lmpi_world.rank, (unsigned long long)n->announced, (unsigned long long)n->gated,
		(unsigned long long)(n->waited_ns / BASE_US_NS), (unsigned long long)n->without_go,
		(unsigned long long)n->overs, (unsigned long long)n->other_version);
}

static bool
tell_light(void *user, uint32_t relay, struct light_note *note)
{
	uint8_t bytes[LIGHT_NOTE_MAX];

	(void)user;
	if (lmpi_eng.closing)
		return true;
	note->label_base = lmpi_net_relay_base(relay);
	return lmpi_net_tell_relay(relay, bytes, light_note_encode(note, bytes));
}

/* Marks: where the lane stood when the message was handed to it.  A lane that was not there yet,
 * or is not there any more, has none. */
#define MARK_KNOWN (1ull << 32)

static uint64_t
light_placed(void *user, const struct light_wait *w)
{
	uint32_t at, acked, mss;

	(void)user;
	if (!(w->mark & MARK_KNOWN) ||
	    !lmpi_net_lane_at(w->gate->world[w->to], &at, &acked, &mss) ||
	    serial_lt(acked, (uint32_t)w->mark))
		return 0;
	return (uint64_t)(acked - (uint32_t)w->mark) * mss;
}

static void
mark_light(struct light_wait *w)
{
	uint32_t at, acked, mss;
	bool known = lmpi_net_lane_at(w->gate->world[w->to], &at, &acked, &mss);

	w->mark = known ? MARK_KNOWN | at : 0;
}

/* The first offer of the job. */
static bool
begin_light(void)
{
	struct light_client_conf conf = {.mode = light.mode,
					 .patience_ns = PATIENCE_NS,
					 .early_max = EARLY_MAX,
					 .relays = lmpi_net.relays_limits.relays_max,
					 .tell = tell_light,
					 .placed = light_placed};
	void *mem = malloc(light_client_footprint(&conf));

	if (mem != NULL)
		lmpi_light = light_client_new(mem, &conf);
	return mem != NULL;
}

void
lmpi_light_note(uint32_t i, const void *bytes, size_t len)
{
	struct light_note n;

	if (light.off || light_note_decode(bytes, len, &n) != LIGHT_ERR_OK ||
	    n.label_base != LMPI_LABEL_BASE)
		return;
	if (lmpi_light == NULL && (n.kind != LIGHT_NOTE_OFFER || !n.u.offer.on || !begin_light()))
		return;
	light_client_heard(lmpi_light, i, &n);
}

void
lmpi_light_relay_gone(uint32_t i)
{
	if (lmpi_light != NULL)
		light_client_dark(lmpi_light, i);
}

bool
lmpi_light_turn(void)
{
	struct light_wait *w;
	bool moved = false;

	light_client_turn(lmpi_light);
	while ((w = light_client_next(lmpi_light, lmpi_eng.now_ns)) != NULL) {
		mark_light(w);
		w->go(w);
		moved = true;
	}
	lmpi_tp_kick();
	return moved;
}

void
lmpi_light_flush(void)
{
	light_client_turn(lmpi_light);
	if (!lmpi_eng.in_transport)
		lmpi_tp_kick();
}

uint64_t
lmpi_light_expiry_ns(void)
{
	return light_client_expiry_ns(lmpi_light);
}

void
lmpi_light_wait(struct light_wait *w)
{
	/* The last turn may be long ago: the program computed. */
	light_client_wait(lmpi_light, w, suci_udp_now_ns());
}

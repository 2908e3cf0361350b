/* SPDX-License-Identifier: BSD-2-Clause */
/* Somebody in the wide area who says that he is a relay: sim/doors.h.  He has addresses that
 * leaked, guesses the rest, and says whatever relays say to each other. */
#include "doors.h"
#include "pieces.h"
#include "draw.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "relay/addr.h"
#include "relayproto/hello.h"

#include <stdlib.h>
#include <string.h>

#define ROGUE_IPV4 0xc0000263u
#define OWN_LABEL  7u
#define ASKS_MAX   64u /* of a flood */

struct doors_rogue {
	struct doors *w;
	uint32_t port, path, life;
	bool opening, up, honest; /* honest: the hello proves */
	bool stopped;
	uint32_t leaked; /* the door it proves with */
	uint32_t label;	 /* last one asked with */
	void *ep_mem;
	struct suci *ep;
	uint64_t wake_ns;
};

static sim_fn wake_rogue;

static void
drive_rogue(struct doors_rogue *g)
{
	struct sim *s = g->w->s;
	static struct suci_out out;
	while (!s->failed && suci_tx(g->ep, &out, s->now_ns)) {
		struct sim_piece p[3];
		sim_pieces(g->ep, &out, p);
		sim_send(s, g->port, be32_load(out.to.ip + 12), p, 3);
	}
	uint64_t at = suci_expiry_ns(g->ep);
	if (at != BASE_NEVER_NS && at != g->wake_ns) {
		g->wake_ns = at;
		sim_at(s, base_max_ns(at, s->now_ns), wake_rogue, g, at);
	}
}

static void
wake_rogue(struct sim *s, void *who, uint64_t at)
{
	struct doors_rogue *g = who;
	if (at != g->wake_ns)
		return;
	g->wake_ns = BASE_NEVER_NS;
	suci_tick(g->ep, s->now_ns);
	drive_rogue(g);
}

static void
deliver_rogue(struct sim *s, void *who, uint64_t b)
{
	struct doors_rogue *g = who;
	const struct sim_buf *buf = &s->buf[b];
	struct suci_addr from = relay_addr_v4(s->port[buf->from].ipv4, UDP_PORT, RELAY_LEG_GLOBAL);
	suci_rx(g->ep, &from, buf->data, buf->len, b, s->now_ns);
	drive_rogue(g);
}

static int
accept_none(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
	    char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)hello_len;
	why[0] = 0;
	return -1;
}

static void
rogue_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello,
	 size_t hello_len, bool incoming)
{
	struct doors_rogue *g = user;
	(void)path, (void)peer, (void)hello, (void)hello_len, (void)incoming;
	g->up = true;
	g->opening = false;
	INVARIANT(g->w->s, PROOF, g->honest, "a relay that proves nothing gets a path");
}

static void
rogue_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct doors_rogue *g = user;
	(void)path, (void)why, (void)text;
	g->up = g->opening = false;
}

static enum suci_verdict
rogue_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	(void)user, (void)path, (void)seg, (void)now_ns;
	return SUCI_DROPPED;
}

static void
rogue_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	(void)user, (void)path, (void)cookie, (void)fate, (void)now_ns;
}

/* request says whether the ASK was for what leaked. */
static void
rogue_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct doors_rogue *g = user;
	struct relay_door_note n;
	(void)path, (void)now_ns;
	if (relay_door_decode(note, len, &n) || n.op != RELAY_DOOR_ANSWER)
		return;
	INVARIANT(g->w->s, PROOF, !n.ok || n.request == 1,
		  "a relay that proves nothing is granted label %u", n.label);
}

static const struct suci_ops rogue_ops = {.accept = accept_none,
					  .path_up = rogue_up,
					  .path_down = rogue_down,
					  .segment = rogue_segment,
					  .released = rogue_released,
					  .note = rogue_note};

struct doors_rogue *
doors_rogue_new(struct doors *w)
{
	struct doors_rogue *g = calloc(1, sizeof *g);
	BASE_ASSERT(g);
	struct suci_config c = {.limits = {.paths_max = 4,
					   .segments_max = 2048,
					   .queue_max = 1024,
					   .window_max = 512},
				.cc = SUCI_CC_CUBIC,
				.mtu_max = 1400,
				.handshake_ns = BASE_S_NS,
				.incarnation = 666,
				.seed = w->s->seed ^ 666,
				.cookie_secret = {6, 6, 6},
				.ops = &rogue_ops,
				.user = g};
	g->w = w;
	g->wake_ns = BASE_NEVER_NS;
	g->ep_mem = aligned_alloc(64, (suci_footprint(&c.limits) + 63) & ~(size_t)63);
	BASE_ASSERT(g->ep_mem);
	g->ep = suci_new(g->ep_mem, &c, w->s->now_ns);
	BASE_ASSERT(g->ep);
	g->port = sim_add_port(w->s, g, deliver_rogue, DOORS_WAN, ROGUE_IPV4);
	struct sim_link_conf wan = {.delay_ns = w->conf.wan_ns};
	for (uint32_t i = 0; i < w->nrelays; i++) {
		uint32_t out = sim_add_link(w->s, &wan), in = sim_add_link(w->s, &wan);
		sim_set_route(w->s, g->port, w->relay[i].port[RELAY_LEG_GLOBAL], &out, 1);
		sim_set_route(w->s, w->relay[i].port[RELAY_LEG_GLOBAL], g->port, &in, 1);
	}
	return g;
}

static void
open_rogue(struct doors_rogue *g)
{
	struct doors *w = g->w;
	struct base_prng *p = &w->prng;
	uint8_t hello[RELAY_HELLO_LEN];
	uint32_t door = (uint32_t)base_prng_below(p, w->ndoors);
	const struct doors_door *d = &w->door[door];
	if (d->state != DOOR_STATE_OPEN)
		return;
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY,
				.rank = RELAY_RANK_NONE,
				.token = relay_hello_token(d->at.token, d->at.label),
				.label = d->at.label};
	g->honest = coin(p, 60);
	if (!g->honest && coin(p, 50))
		h.token ^= 1ull << base_prng_below(p, 64);
	else if (!g->honest)
		h = (struct relay_hello){.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE};
	relay_hello_encode(&h, hello);
	struct suci_addr to = relay_addr_v4(d->at.relay[0].ipv4, UDP_PORT, RELAY_LEG_GLOBAL);
	g->leaked = door;
	g->opening = !suci_path_open(g->ep, &to, hello, sizeof hello, &g->path, w->s->now_ns);
}

/* A relay speaks for doors of its own; the realm has leaked, too. */
static uint8_t
write_own(const struct doors_rogue *g, uint8_t out[DOOR_ADDRESS_MAX])
{
	struct door_address a = {.realm = g->w->door[g->leaked].realm,
				 .token = 5,
				 .label = OWN_LABEL,
				 .n = 1,
				 .nrelays = 1,
				 .relay = {{ROGUE_IPV4, UDP_PORT}}};
	return (uint8_t)door_address_encode(&a, out);
}

static void
ask_as_rogue(struct doors_rogue *g, bool honest, uint32_t label)
{
	struct base_prng *p = &g->w->prng;
	uint8_t bytes[DOOR_ADDRESS_MAX], own[DOOR_ADDRESS_MAX], buf[RELAY_DOOR_NOTE_MAX];
	struct door_address a = g->w->door[g->leaked].at;
	switch (honest ? 9 : base_prng_below(p, 3)) {
	case 0:
		a.token ^= 1ull << base_prng_below(p, 64);
		break;
	case 1:
		a.realm ^= 1ull << base_prng_below(p, 64);
		break;
	case 2:
		a.label ^= 1u << base_prng_below(p, 9);
		a.label += a.label == 0;
		a.token = base_prng_next(p);
		break;
	default:
		break;
	}
	struct relay_door_note n = {.op = RELAY_DOOR_ASK,
				    .request = honest,
				    .label = label,
				    .address = {bytes, (uint8_t)door_address_encode(&a, bytes)},
				    .own = {own, write_own(g, own)}};
	(void)suci_path_note(g->ep, g->path, buf, relay_door_encode(&n, buf), g->w->s->now_ns);
}

static void
send_as_rogue(struct doors_rogue *g)
{
	static const uint8_t payload[24] = {0, 0, 0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
	struct base_prng *p = &g->w->prng;
	struct suci_segment seg = {.src_label = coin(p, 80) ? OWN_LABEL
							    : (uint32_t)base_prng_below(p, 512),
				   .flags = SUCI_SF_FIRST | SUCI_SF_LAST,
				   .mss = sizeof payload,
				   .block_bytes = sizeof payload,
				   .data = payload,
				   .data_len = sizeof payload};
	for (uint32_t i = 0; i < 32; i++) {
		/* Not what he asked with: that is his. */
		seg.dst_label = (uint32_t)base_prng_below(p, g->w->conf.doors_max);
		if (coin(p, 10))
			seg.dst_label = (uint32_t)base_prng_next(p);
		if (seg.dst_label < 2000 || seg.dst_label >= 2000 + 4 * ASKS_MAX)
			(void)suci_path_send(g->ep, g->path, &seg, g->w->s->now_ns);
	}
}

static void
say_nonsense(struct doors_rogue *g)
{
	struct base_prng *p = &g->w->prng;
	uint8_t buf[RELAY_DOOR_NOTE_MAX];
	struct relay_door_note n = {.op = (uint8_t)between(p, 1, 11), .ok = true};
	n.request = (uint32_t)base_prng_below(p, 64);
	n.label = (uint32_t)base_prng_below(p, g->w->conf.doors_max);
	n.called = (uint32_t)base_prng_below(p, 512);
	size_t len = relay_door_encode(&n, buf);
	if (coin(p, 20))
		len = base_prng_below(p, len + 1);
	(void)suci_path_note(g->ep, g->path, buf, len, g->w->s->now_ns);
}

bool
doors_rogue_come(struct doors_rogue *g, uint32_t door)
{
	uint8_t hello[RELAY_HELLO_LEN];
	const struct doors_door *d = &g->w->door[door];
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY,
				.rank = RELAY_RANK_NONE,
				.token = relay_hello_token(d->at.token, d->at.label),
				.label = d->at.label};
	struct suci_addr to = relay_addr_v4(d->at.relay[0].ipv4, UDP_PORT, RELAY_LEG_GLOBAL);
	if (!g->up && !g->opening) {
		g->honest = true;
		g->leaked = door;
		relay_hello_encode(&h, hello);
		g->opening =
			!suci_path_open(g->ep, &to, hello, sizeof hello, &g->path, g->w->s->now_ns);
		drive_rogue(g);
	}
	return g->up;
}

void
doors_rogue_address(const struct doors_rogue *g, uint32_t label, struct door_address *a)
{
	*a = (struct door_address){.realm = g->w->door[g->leaked].realm,
				   .token = 5,
				   .label = label,
				   .n = 1,
				   .nrelays = 1,
				   .relay = {{ROGUE_IPV4, UDP_PORT}}};
}

void
doors_rogue_act(struct doors_rogue *g)
{
	struct base_prng *p = &g->w->prng;
	if (g->stopped || !g->w->ndoors)
		return;
	if (!g->up) {
		if (!g->opening)
			open_rogue(g);
		drive_rogue(g);
		return;
	}
	switch (base_prng_below(p, 8)) {
	case 0:
		suci_path_close(g->ep, g->path, "", g->w->s->now_ns);
		break;
	case 1:
	case 2:
		/* What leaked is granted as often as one relay may, not more. */
		for (uint32_t i = 0; i < ASKS_MAX; i++)
			ask_as_rogue(g, true, 2000 + g->label++ % (4 * ASKS_MAX));
		break;
	case 3:
		ask_as_rogue(g, false, 2000 + g->label++ % (4 * ASKS_MAX));
		break;
	case 4:
		say_nonsense(g);
		break;
	default:
		send_as_rogue(g);
	}
	drive_rogue(g);
}

void
doors_rogue_stop(struct doors_rogue *g)
{
	g->stopped = true;
	if (g->up || g->opening)
		suci_path_close(g->ep, g->path, "", g->w->s->now_ns);
	drive_rogue(g);
}

void
doors_rogue_free(struct doors_rogue *g)
{
	if (!g)
		return;
	suci_fini(g->ep, g->w->s->now_ns);
	free(g->ep_mem);
	free(g);
}

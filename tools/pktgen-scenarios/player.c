/* SPDX-License-Identifier: BSD-2-Clause */
#include "player.h"

#include "acks_rx.h"
#include "wire_internal.h"

#include "base/clock.h"
#include "base/serial.h"

#include <string.h>

#define ASK_NS BASE_MS_NS /* between two asks for credit */

struct pg_player {
	struct pg_player_conf conf;
	uint32_t tx_tag, rx_tag;
	bool tx_known, rx_known, heard; /* heard: an ack block */
	bool ack_now;
	uint32_t next_pn, acked; /* all before acked are acknowledged */
	uint32_t limit;		 /* the peer takes packets up to it */
	uint32_t largest;	 /* of the newest ack block */
	uint32_t bare_pn;
	uint32_t pending; /* packets that want an ack */
	uint64_t asked_ns;
	struct suci_acks acks;
	struct pg_player_count count;
};

size_t
pg_player_size(void)
{
	return (sizeof(struct pg_player) + 63) & ~(size_t)63;
}

struct pg_player *
pg_player_new(void *mem, const struct pg_player_conf *conf)
{
	struct pg_player *p = mem;
	*p = (struct pg_player){.conf = *conf, .next_pn = 1, .acked = 1};
	suci_acks_init(&p->acks, 1);
	return p;
}

/* ---- looking on ---------------------------------------------------------------------- */

static bool
player_header(const struct pg_player *p, struct suci_path_hdr *h, const uint8_t *dgram, size_t len)
{
	return suci_path_hdr_decode(h, dgram, len) && h->version == SUCI_VERSION &&
	       h->type == SUCI_T_DATA && !(h->flags & SUCI_PF_SEALED) == !p->conf.sealed;
}

void
pg_player_saw(struct pg_player *p, const uint8_t *dgram, size_t len)
{
	struct suci_path_hdr h;
	if (!player_header(p, &h, dgram, len))
		return;
	if (p->tx_known && p->tx_tag != h.path_tag) { /* a new path */
		struct pg_player_conf conf = p->conf;
		(void)pg_player_new(p, &conf);
	}
	p->tx_tag = h.path_tag;
	p->tx_known = true;
	if (h.flags & SUCI_PF_BARE)
		p->bare_pn = h.pn;
	else
		p->next_pn = h.pn + 1;
}

bool
pg_player_ready(const struct pg_player *p)
{
	return p->tx_known && p->rx_known;
}

void
pg_player_begin(struct pg_player *p)
{
	/* Numbers that were refused or lost are never acknowledged. */
	p->acked = p->next_pn;
	p->count = (struct pg_player_count){0};
}

/* ---- in ------------------------------------------------------------------------------ */

bool
pg_player_mine(const struct pg_player *p, const uint8_t *dgram, size_t len)
{
	struct suci_path_hdr h;
	return player_header(p, &h, dgram, len) && p->rx_known && h.path_tag == p->rx_tag;
}

static void
take_ack(struct pg_player *p, const struct suci_ack *a)
{
	if (a->n && serial_ge(a->largest, p->next_pn)) {
		p->count.bad_acks++;
		return;
	}
	for (uint32_t i = 0; i < a->nrefused; i++)
		p->count.refused += a->refused[i].hi - a->refused[i].lo + 1;
	bool older = p->heard && a->n && serial_lt(a->largest, p->largest);
	/* Above a hole nothing counts: what is missing is not sent again. */
	for (uint32_t i = 0; i < a->n; i++)
		if (serial_le(a->range[i].lo, p->acked) && serial_ge(a->range[i].hi, p->acked))
			p->acked = a->range[i].hi + 1;
	int16_t ahead = (int16_t)(a->credit - (uint16_t)p->next_pn);
	uint32_t limit = (uint32_t)((int64_t)p->next_pn + ahead);
	if (!older || serial_gt(limit, p->limit))
		p->limit = limit;
	if (a->n && !older)
		p->largest = a->largest;
	p->heard = true;
}

bool
pg_player_rx(struct pg_player *p, const uint8_t *dgram, size_t len, uint64_t now_ns,
	     struct suci_segment *seg)
{
	struct suci_path_hdr h;
	struct suci_ack ack;
	if (!player_header(p, &h, dgram, len) || h.ack_len > len - SUCI_PATH_HDR) {
		p->count.bad++;
		return false;
	}
	const uint8_t *body = dgram + SUCI_PATH_HDR;
	size_t rest = len - SUCI_PATH_HDR - h.ack_len;
	bool counts = !(h.flags & SUCI_PF_BARE), carries = counts && !(h.flags & SUCI_PF_PROBE);
	if ((p->rx_known && h.path_tag != p->rx_tag) ||
	    (h.ack_len && !suci_ack_decode(&ack, body, h.ack_len)) ||
	    (carries && !suci_segment_decode(seg, body + h.ack_len, rest))) {
		p->count.bad++;
		return false;
	}
	p->rx_tag = h.path_tag;
	p->rx_known = true;
	if (h.ack_len)
		take_ack(p, &ack);
	if (!counts)
		return false;
	p->pending++;
	p->ack_now = p->ack_now || h.flags & (SUCI_PF_ACK_NOW | SUCI_PF_PROBE);
	if (suci_acks_look(&p->acks, h.pn) != SUCI_ACKS_NEW) {
		p->count.copies++;
		return false;
	}
	/* A hole is told at once, as an endpoint would. */
	if (suci_acks_add(&p->acks, h.pn, h.time_us, now_ns))
		p->ack_now = true;
	return carries && !(seg->flags & SUCI_SF_NOTE);
}

/* ---- out ----------------------------------------------------------------------------- */

uint32_t
pg_player_held(const struct pg_player *p)
{
	return p->next_pn - p->acked;
}

uint32_t
pg_player_may(const struct pg_player *p)
{
	uint32_t held = pg_player_held(p);
	if (held >= p->conf.window || serial_gt(p->next_pn, p->limit))
		return 0;
	uint32_t left = p->limit - p->next_pn + 1, room = p->conf.window - held;
	return left < room ? left : room;
}

static size_t
path_header(const struct pg_player *p, uint8_t flags, size_t ack_len, uint32_t pn, uint64_t now_ns,
	    uint8_t *out)
{
	struct suci_path_hdr h = {.version = SUCI_VERSION,
				  .type = SUCI_T_DATA,
				  .flags = (uint8_t)(flags | (p->conf.sealed ? SUCI_PF_SEALED : 0)),
				  .ack_len = (uint16_t)ack_len,
				  .path_tag = p->tx_tag,
				  .pn = pn,
				  .time_us = (uint32_t)(now_ns / BASE_US_NS)};
	return suci_path_hdr_encode(&h, out);
}

size_t
pg_player_head(struct pg_player *p, const struct suci_segment *seg, uint8_t *out, uint64_t now_ns)
{
	/* Nothing more may follow: the peer should not wait with its ack. */
	uint8_t flags = pg_player_may(p) == 1 ? SUCI_PF_ACK_NOW : 0;
	size_t n = path_header(p, flags, 0, p->next_pn++, now_ns, out);
	return n + suci_segment_encode(seg, out + n);
}

size_t
pg_player_ack(struct pg_player *p, uint8_t *out, uint64_t now_ns)
{
	bool stuck = !pg_player_held(p) && serial_gt(p->next_pn, p->limit) &&
		     now_ns - p->asked_ns >= ASK_NS;
	bool late = p->pending && now_ns - p->acks.largest_at_ns >= p->conf.ack_wait_ns;
	bool due = p->ack_now || p->pending >= p->conf.ack_every || late;
	if (!p->tx_known || (!due && !stuck) || (!stuck && !p->acks.n))
		return 0;
	struct suci_ack a;
	uint32_t high = p->acks.n ? p->acks.range[0].hi : 0;
	suci_acks_build(&p->acks, (uint16_t)(high + p->conf.credit), now_ns, &a);
	if (stuck) {
		a.flags |= SUCI_AF_ROOM;
		a.ask = 0;
		a.waiting = UINT8_MAX;
		a.ask_prio = 0;
		a.used = a.grant = 0;
		p->asked_ns = now_ns;
	}
	p->pending = 0;
	p->ack_now = false;
	p->count.acks_sent++;
	size_t n = suci_ack_encode(&a, out + SUCI_PATH_HDR);
	return n + path_header(p, SUCI_PF_BARE, n, ++p->bare_pn, now_ns, out);
}

const struct pg_player_count *
pg_player_counts(const struct pg_player *p)
{
	return &p->count;
}

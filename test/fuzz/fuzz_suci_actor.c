/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes as operations on a live pair: send, deliver, drop, reorder, duplicate,
 * corrupt, let time pass, flush, crash, say wild things about room, let the wire pass less or
 * more.  Then the wire is healed, but passes no more than before; if nothing was corrupted and the
 * path lived, everything has to arrive within a bound. */
#include "fuzz_suci_pair.h"
#include "path_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Say about room what comes to mind: an ask and a grant over the path (bare, so no
 * packet number of the real peer is used up), or a refusal over the lane.  Both are
 * only wishes; nothing may break and everything must still arrive. */
static void
speak_of_room(struct pair *p, int side, uint8_t arg)
{
	struct pair_host *h = &p->h[side], *o = &p->h[!side];
	if (!h->up || !o->up)
		return;
	if (arg & 2) {
		struct suci_segment s = {.dst_label = (uint32_t)side,
					 .src_label = !side,
					 .flags = SUCI_SF_ACK | SUCI_SF_REFUSED,
					 .window = arg >> 3,
					 .seq = arg >> 2,
					 .block = arg % 11,
					 .cookie = UINT64_MAX};
		suci_path_send(o->ep, o->path, &s, p->now_ns);
		return;
	}
	struct pair_dgram d = {.from = !side, .len = SUCI_PATH_HDR + SUCI_ACK_HDR + SUCI_ACK_ROOM};
	d.bytes[0] = SUCI_VERSION << 4;
	d.bytes[1] = SUCI_PF_BARE;
	be16_store(d.bytes + 2, SUCI_ACK_HDR + SUCI_ACK_ROOM);
	be32_store(d.bytes + 4, h->ep->path[h->path].rx_tag);
	uint8_t *a = d.bytes + SUCI_PATH_HDR;
	be16_store(a + 10, 40);
	a[13] = SUCI_AF_ROOM;
	be16_store(a + 16, (uint16_t)(arg * 257));
	be16_store(a + 18, arg % 7);
	be32_store(a + 20, arg * 0x01010101u);
	be32_store(a + 24, h->ep->path[h->path].grants.seen + (arg >> 2) * 0x02000001u);
	pair_give(p, &d);
}

static void
farewell(struct pair *p, int side, uint8_t arg)
{
	struct pair_host *h = &p->h[side];
	if (arg == 255 && h->up)
		suci_path_close(h->ep, h->path, "fuzz", p->now_ns);
	else if (arg == 254)
		suci_lane_close(h->ls, h->lane, p->now_ns);
	else
		return;
	h->lane_up = false;
	p->trusting = false;
}

static void
act(struct pair *p, uint8_t op, uint8_t arg)
{
	int side = arg & 1;
	uint32_t i = p->n ? arg % p->n : 0;
	switch (op % 12) {
	case 0:
		pair_send(p, side, arg & 2);
		break;
	case 1: /* the oldest */
	case 2: /* any: reorders */
		if (p->n) {
			struct pair_dgram *d = pair_take(p, op % 12 == 1 ? 0 : i);
			pair_give(p, d);
			free(d);
		}
		break;
	case 3:
		if (p->n)
			free(pair_take(p, i));
		break;
	case 4: /* twice */
		if (p->n)
			pair_give(p, p->wire[i]);
		break;
	case 5:
		if (p->n) {
			struct pair_dgram *d = p->wire[i];
			d->bytes[(size_t)arg * 7 % d->len] ^= (uint8_t)(arg | 1);
			p->trusting = false;
		}
		break;
	case 6:
		pair_advance(p, 1ull << arg % 32);
		break;
	case 7:
		suci_lanes_flush(p->h[side].ls, p->now_ns);
		suci_flush_acks(p->h[side].ep);
		break;
	case 8:
		pair_deliver_all(p);
		break;
	case 9:
		if (arg >= 254)
			farewell(p, side, arg);
		else
			p->most = SUCI_MTU_SAFE + arg % (PAIR_MTU - SUCI_MTU_SAFE + 1);
		break;
	case 10:
		speak_of_room(p, side, arg);
		break;
	case 11:
		pair_crash(p, side);
		break;
	}
	pair_collect(p);
}

static bool
complete(const struct pair *p)
{
	for (int side = 0; side < 2; side++)
		if (suci_lanes_pending(p->h[side].ls) || suci_held(p->h[side].ep) ||
		    p->h[!side].ended != p->h[side].sent)
			return false;
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 4096)
		return 0;
	pair_probes_mtu[0] = data[0] & 2;
	pair_probes_mtu[1] = data[0] & 4;
	pair_large = data[0] & 8;
	struct pair *p = pair_new(data[0] & 1);
	for (size_t i = 1; i + 1 < size; i += 2)
		act(p, data[i], data[i + 1]);
	if (p->trusting && p->h[0].up && p->h[1].up) {
		/* The acts may have taught them round trips of many seconds, so the
		 * bound is in timers, not in seconds: after a wild grant, which the
		 * true ones never reach, each of 1300 segments may wait for five, and
		 * who measures a lane looks at it every millisecond meanwhile: 1.14 million
		 * were seen to be enough. */
		for (int k = 0; k < 4000000; k++) {
			pair_deliver_all(p);
			uint64_t at =
				base_min_ns(suci_expiry_ns(p->h[0].ep), suci_expiry_ns(p->h[1].ep));
			/* Who looks for the path MTU never stops. */
			if (at == BASE_NEVER_NS || complete(p))
				break;
			pair_advance(p, at > p->now_ns ? at - p->now_ns : 1);
		}
		MUST(!p->h[0].up || !p->h[1].up || complete(p));
	}
	pair_free(p);
	return 0;
}

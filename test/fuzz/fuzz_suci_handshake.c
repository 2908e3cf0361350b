/* SPDX-License-Identifier: BSD-2-Clause */
/* Handshakes under attack.  Two honest endpoints open paths to each other while somebody
 * on the wire drops, reorders, repeats, corrupts and forges: HELLO, COOKIE, OPEN,
 * ACCEPT, RESET, CLOSE and data with tags and cookies that were seen, from any address.
 *
 * Byte 0: bit 0 sealed.  Then operations of two bytes, see act().
 *
 * Always: a stranger is sent at most three times what came from its address, nobody has a path
 * whose address never had a cookie sent to it, tables agree.  In the end, when the
 * attacker is silent, an honest open comes up. */
#include <stdlib.h>
#include <string.h>

#include "../toy_aead.h"
#include "base/clock.h"
#include "suci/endpoint.h"

#define WIRE	  48
#define DGRAM	  600
#define STRANGERS 4
#define MUST(x)                  \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct dgram {
	struct suci_addr from, to;
	size_t len;
	uint8_t bytes[DGRAM];
};

struct host {
	struct net *net;
	struct suci *ep;
	struct suci_addr addr;
	void *mem;
	bool up; /* a path to the other honest one */
	uint64_t lives;
	uint32_t path, paths; /* paths: that came up and did not go down */
	/* By stranger: bytes to and from it, and was a cookie sent to it? */
	uint64_t got[STRANGERS], gave[STRANGERS];
	bool cookie[STRANGERS];
};

struct net {
	struct host h[2];
	struct dgram wire[WIRE], seen[WIRE];
	uint32_t n, nseen;
	uint64_t now_ns;
	bool sealed;
};

static struct suci_addr
stranger(uint32_t i)
{
	struct suci_addr a = {.port = (uint16_t)(100 + i % STRANGERS), .family = 4};
	return a;
}

static uint32_t
stranger_of(const struct suci_addr *a)
{
	return a->port >= 100 && a->port < 100 + STRANGERS ? a->port - 100u : STRANGERS;
}

static int
on_accept(void *user, const struct suci_addr *from, const void *hello, size_t hello_len,
	  char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello;
	MUST(hello_len <= SUCI_HELLO_MAX);
	memcpy(why, "not today", sizeof "not today");
	return hello_len == 3;
}

static void
on_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t hello_len,
      bool incoming)
{
	struct host *h = user;
	uint32_t s = stranger_of(peer);
	(void)hello, (void)hello_len;
	h->paths++;
	if (!memcmp(peer, &h->net->h[h == h->net->h].addr, sizeof *peer)) {
		h->up = true;
		h->path = path;
	}
	/* Its address is proven, and with sealing it had the key. */
	if (s < STRANGERS && incoming)
		MUST(h->cookie[s] && !h->net->sealed);
}

static void
on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	struct host *h = user;
	(void)why;
	MUST(strlen(text) < SUCI_TEXT_MAX);
	if (h->up && path == h->path)
		h->up = false;
}

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	(void)user, (void)path, (void)seg, (void)now_ns;
	return SUCI_DROPPED;
}

static void
on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	(void)user, (void)path, (void)cookie, (void)fate, (void)now_ns;
}

static const struct suci_ops ops = {
	.accept = on_accept,
	.path_up = on_up,
	.path_down = on_down,
	.segment = on_segment,
	.released = on_released,
};

static void
host_new(struct net *net, uint32_t side)
{
	struct host *h = &net->h[side];
	h->net = net;
	h->addr = (struct suci_addr){.port = (uint16_t)(1 + side), .family = 4};
	struct suci_config c = {
		.limits = {.paths_max = 8, .segments_max = 64, .queue_max = 32, .window_max = 32},
		.incarnation = 1 + side + 10 * ++h->lives,
		.seed = side + 100 * h->lives,
		.cookie_secret = {(uint8_t)(1 + side), (uint8_t)h->lives},
		.mtu_max = 1200,
		.cc = SUCI_CC_CUBIC,
		.liveness_ns = 3 * BASE_S_NS,
		.keepalive_ns = BASE_S_NS,
		.hello = "hello",
		.hello_len = 5,
		.ops = &ops,
		.user = h,
	};
	if (net->sealed) {
		c.limits.sealed_max = 8;
		c.seal = (struct suci_seal_conf){.aead = toy_aead(),
						 .key = {{.id = 7, .secret = "secret"}},
						 .seed = {1, (uint8_t)side, (uint8_t)h->lives},
						 .nkeys = 1,
						 .legs = 1};
	}
	h->mem = aligned_alloc(64, suci_footprint(&c.limits));
	h->ep = suci_new(h->mem, &c, net->now_ns);
	MUST(h->ep);
}

static void
collect(struct net *net)
{
	struct suci_out o;
	for (uint32_t side = 0; side < 2; side++) {
		struct host *h = &net->h[side];
		for (uint32_t spin = 0; suci_tx(h->ep, &o, net->now_ns); spin++) {
			struct dgram d = {.from = h->addr, .to = o.to};
			MUST(spin < 10000);
			MUST(suci_out_len(&o) <= DGRAM);
			if (o.sealed) {
				d.len = suci_seal(h->ep, &o, d.bytes, sizeof d.bytes);
				if (!d.len)
					continue; /* its path is gone */
			} else {
				d.len = o.head_len;
				memcpy(d.bytes, o.head, o.head_len);
				if (o.seg_head_len)
					memcpy(d.bytes + d.len, o.seg_head, o.seg_head_len);
				d.len += o.seg_head_len;
				if (o.data_len)
					memcpy(d.bytes + d.len, o.data, o.data_len);
				d.len += o.data_len;
			}
			uint32_t s = stranger_of(&o.to);
			if (s < STRANGERS) {
				h->gave[s] += d.len;
				h->cookie[s] |= (d.bytes[0] & 0x0f) == SUCI_T_COOKIE;
				/* RFC 9000, 8.1.  A COOKIE is no longer than its HELLO, but a RESET
				 * is a little longer than a bare header, sealed twice as long;
				 * there are 1000 of them in a second. */
				MUST(h->cookie[s] || h->gave[s] <= 3 * h->got[s]);
			}
			net->seen[net->nseen++ % WIRE] = d;
			if (net->n < WIRE)
				net->wire[net->n++] = d;
		}
		const char *what;
		MUST(suci_check(h->ep, &what));
	}
}

static void
give(struct net *net, const struct dgram *d)
{
	for (uint32_t side = 0; side < 2; side++) {
		struct host *h = &net->h[side];
		if (memcmp(&d->to, &h->addr, sizeof d->to))
			continue;
		uint8_t *bytes = malloc(d->len ? d->len : 1); /* so that one too many is seen */
		memcpy(bytes, d->bytes, d->len);
		uint32_t s = stranger_of(&d->from);
		if (s < STRANGERS)
			h->got[s] += d->len;
		suci_rx(h->ep, &d->from, bytes, d->len, 0, net->now_ns);
		free(bytes);
	}
}

static struct dgram
take(struct net *net, uint32_t i)
{
	struct dgram d = net->wire[i];
	memmove(&net->wire[i], &net->wire[i + 1], (net->n - i - 1) * sizeof d);
	net->n--;
	return d;
}

static void
advance(struct net *net, uint64_t ns)
{
	net->now_ns += ns;
	for (uint32_t side = 0; side < 2; side++)
		if (suci_expiry_ns(net->h[side].ep) <= net->now_ns)
			suci_tick(net->h[side].ep, net->now_ns);
}

static void
open_path(struct net *net, uint32_t side)
{
	uint32_t path;
	suci_path_open(net->h[side].ep, &net->h[!side].addr, NULL, 0, &path, net->now_ns);
}

/* A datagram made of fields that were seen on the wire. */
static void
forge(struct net *net, uint8_t op, uint8_t arg)
{
	struct dgram d = {.from = arg & 8 ? net->h[arg & 1 ? 0 : 1].addr : stranger(arg >> 4),
			  .to = net->h[arg & 1].addr};
	const struct dgram *like = &net->seen[(arg >> 1) % WIRE];
	memcpy(d.bytes, like->bytes, DGRAM);
	d.len = like->len > SUCI_PATH_HDR ? like->len : SUCI_PATH_HDR + SUCI_BODY_HDR;
	d.bytes[0] = (uint8_t)(SUCI_VERSION << 4 | op % 8);
	if (op & 8) { /* the cookie that was sent last, as OPEN wants it */
		for (uint32_t i = net->nseen < WIRE ? net->nseen : WIRE; i-- > 0;)
			if ((net->seen[i].bytes[0] & 0x0f) == SUCI_T_COOKIE)
				memcpy(d.bytes + SUCI_PATH_HDR + 16,
				       net->seen[i].bytes + SUCI_PATH_HDR + 16, 8);
	}
	if (op & 16)
		be32_store(d.bytes + SUCI_PATH_HDR, 0x10000u * arg + op);
	if (op & 32)
		d.len = SUCI_PATH_HDR + arg % (DGRAM - SUCI_PATH_HDR);
	give(net, &d);
}

static void
crash(struct net *net, uint32_t side)
{
	struct host *h = &net->h[side];
	suci_fini(h->ep, net->now_ns);
	free(h->mem);
	h->up = false;
	h->paths = 0;
	memset(h->got, 0, sizeof h->got);
	memset(h->gave, 0, sizeof h->gave);
	memset(h->cookie, 0, sizeof h->cookie);
	host_new(net, side);
}

static void
act(struct net *net, uint8_t op, uint8_t arg)
{
	uint32_t side = arg & 1, i = net->n ? arg % net->n : 0;
	struct dgram d;
	switch (op % 12) {
	case 0:
		open_path(net, side);
		break;
	case 1: /* deliver: the oldest */
	case 2: /* or any: reorder */
		if (net->n) {
			d = take(net, op % 12 == 1 ? 0 : i);
			give(net, &d);
		}
		break;
	case 3: /* drop */
		if (net->n)
			take(net, i);
		break;
	case 4: /* duplicate */
		if (net->n)
			give(net, &net->wire[i]);
		break;
	case 5: /* corrupt */
		if (net->n && net->wire[i].len)
			net->wire[i].bytes[(size_t)arg * 7 % net->wire[i].len] ^=
				(uint8_t)(arg | 1);
		break;
	case 6: /* advance time, to 34 s */
		advance(net, 1ull << arg % 36);
		break;
	case 7:
		crash(net, side);
		break;
	case 8: /* replay, perhaps long after */
		d = net->seen[arg % WIRE];
		give(net, &d);
		break;
	case 9: /* reflect, or as if it were somebody else's */
		d = net->seen[arg % WIRE];
		d.to = d.from;
		d.from = stranger(arg);
		give(net, &d);
		break;
	case 10:
		forge(net, op / 12 * 3 + arg / 64, arg);
		break;
	case 11:
		if (net->h[side].up)
			suci_path_close(net->h[side].ep, net->h[side].path, "fuzz", net->now_ns);
		break;
	}
	collect(net);
}

/* The attacker is silent: an open of side 0 comes up, and both agree. */
static void
honest(struct net *net)
{
	for (uint32_t k = 0; k < 4000; k++) {
		while (net->n) {
			struct dgram d = take(net, 0);
			give(net, &d);
			collect(net);
		}
		if (net->h[0].up && net->h[1].up && k > 100)
			return;
		if (!net->h[0].up)
			open_path(net, 0);
		advance(net, 20 * BASE_MS_NS);
		collect(net);
	}
	abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 2048)
		return 0;
	struct net *net = calloc(1, sizeof *net);
	MUST(net);
	net->now_ns = 100 * BASE_S_NS;
	net->sealed = data[0] & 1;
	host_new(net, 0);
	host_new(net, 1);
	for (size_t i = 1; i + 1 < size; i += 2)
		act(net, data[i], data[i + 1]);
	honest(net);
	for (uint32_t side = 0; side < 2; side++) {
		suci_fini(net->h[side].ep, net->now_ns);
		free(net->h[side].mem);
	}
	free(net);
	return 0;
}

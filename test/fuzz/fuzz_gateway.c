/* SPDX-License-Identifier: BSD-2-Clause */
/* The input is a list of operations on a gateway (test/unit/gateway_kit.h): bytes and
 * packets of foreign hosts, good and spoilt, cut anywhere; blocks of lanes, good and
 * spoilt; sockets and processes that are full; time; ends.  After each the gateway's books
 * must be right.  An operation is a byte and what it takes of the rest. */
#include "../unit/block_pool.h"

#define KIT_BUF	     (256u << 10)
#define KIT_BLOCKS   1024
#define LINK_TAKE(n) block_take(n)
#define LINK_GIVE(p) block_give(p)
#define LINK_WINDOW  256
#include "../unit/gateway_kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct base_reader in;

/* A good packet between processes that the input names, spoilt in up to three places. */
static size_t
packet(struct kit *k, int gate, uint8_t *out)
{
	uint32_t type = base_read_u8(&in), src = base_read_u8(&in), dst = base_read_u8(&in);
	size_t n = kit_packet(k, out, gate, type % (IMPI_PK_TYPES + 1), src % KIT_RANKS,
			      dst % KIT_RANKS, base_read_be16(&in) % 4200u, type);
	for (unsigned int i = 0; i < (src >> 3) % 4; i++) {
		uint32_t at = base_read_u8(&in);
		out[at % n] ^= base_read_u8(&in);
	}
	return n;
}

static void
host_sends(struct kit *k, int gate, bool raw)
{
	struct kit_chan *c = &k->ch[gate];
	size_t cut = (size_t)base_read_u8(&in) * 40 + 1;
	if (c->nsend > KIT_BUF - 8192)
		return; /* it is not being read */
	if (raw) {
		size_t n = base_read_u8(&in);
		n = n < base_reader_left(&in) ? n : base_reader_left(&in);
		const uint8_t *b = base_read_bytes(&in, n);
		if (b && n)
			memcpy(c->send + c->nsend, b, n);
		c->nsend += n;
	} else {
		c->nsend += packet(k, gate, c->send + c->nsend);
	}
	while (!k->failed && kit_read(k, c, cut))
		kit_check(k);
	if (c->sent == c->nsend)
		c->sent = c->nsend = 0;
}

static void
process_sends(struct kit *k)
{
	uint32_t proc = 4 + base_read_u8(&in) % 4, foreign = base_read_u8(&in) % 2;
	uint8_t *b = malloc(8192);
	size_t n = packet(k, 1, b);
	uint8_t cut = base_read_u8(&in);
	n = cut & 1 && n > cut ? n - cut : n;
	if (suci_lanes_pending(k->lanes) >= 200 ||
	    suci_lane_send(k->lanes, kit_lane(k, proc, foreign), NULL, 0, b, n, cut & 2,
			   (uintptr_t)b, k->l.now_ns))
		free(b);
	/* kit_done() frees it */
} /* NOLINT(clang-analyzer-unix.Malloc) */

static void
end_something(struct kit *k, uint8_t what)
{
	static const uint8_t id[4] = {0, 0, 0, 1};
	struct kit_chan *c = &k->ch[what % 3];
	switch (what / 3 % 6) {
	case 0:
		kit_say_fini(k, (int)(c - k->ch));
		break;
	case 1:
		gw_channel_eof(k->g, c->chan, what & 64 ? "reset" : NULL, k->l.now_ns);
		break;
	case 2:
		gw_job_finish(k->g, KIT_BASE, k->l.now_ns);
		break;
	case 3:
		gw_job_abort(k->g, KIT_BASE, "", k->l.now_ns);
		break;
	case 4:
		gw_channel_connected(k->g, c->chan, k->l.now_ns);
		gw_accept(k->g, 0xc0000201, 5001, 1, id, k->l.now_ns);
		break;
	default:
		gw_channel_connect_failed(k->g, c->chan, "refused", k->l.now_ns);
		break;
	}
}

static void
one(struct kit *k, uint8_t op)
{
	switch (op % 8) {
	case 0:
		host_sends(k, op / 8 % 3, true);
		break;
	case 1:
	case 2:
		host_sends(k, op / 8 % 3, false);
		break;
	case 3:
		process_sends(k);
		break;
	case 4:
		k->ch[op / 8 % 3].room = (size_t)base_read_u8(&in) * 32;
		kit_write(k, &k->ch[op / 8 % 3]);
		break;
	case 5:
		kit_run(k, ((uint64_t)base_read_u8(&in) + 1) * 20000);
		break;
	case 6:
		end_something(k, base_read_u8(&in));
		break;
	default:
		k->stopped = op & 8;
		k->iov_max = op & 16 ? 2 : GW_IOV_MAX;
		k->l.loss_ppb = op & 32 ? 100000000 : 0;
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	in = base_reader(data, size);
	struct kit *k = kit_new(GW_PACKET_BYTES_MIN);
	k->job.ackmark = 2;
	k->job.hiwater = 5 + base_read_u8(&in);
	uint8_t how = base_read_u8(&in);
	if (how & 1) {
		kit_up(k);
	} else {
		BASE_ASSERT(gw_job_add(k->g, &k->job, k->l.now_ns) == 0);
	}
	kit_core_up(k);
	while (base_reader_ok(&in) && base_reader_left(&in) && !k->failed && !k->finished &&
	       k->nrx < KIT_BLOCKS - 256) {
		one(k, base_read_u8(&in));
		kit_check(k);
		for (int i = 0; i < KIT_CHANS; i++)
			k->ch[i].ngot = k->ch[i].at = 0;
	}
	k->l.cut = true; /* what is on its way is lost */
	kit_free(k);
	return 0;
}

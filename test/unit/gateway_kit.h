/* SPDX-License-Identifier: BSD-2-Clause */
/* gateway_kit.h - a gateway with models of foreign hosts on its channels and one endpoint
 * that stands for the relay core and all processes behind it, in virtual time.
 *
 *     client 0 (ours)   foreign host, ranks 0 1     sees gates 0 (of client 1) and 1 (of client 2)
 *     client 1          foreign host, ranks 2 3     sees gate 2 (our client)
 *     client 2          reached by Suci, ranks 4-7
 *
 *     0,1 ==gate 0== gateway ==gate 2== 2,3
 *     0,1 ==gate 1== gateway -- lanes -- 4..7
 *
 * The core's labels are too large for an end host's lanes: the wire rewrites them, which is
 * what a core does. */
#ifndef TEST_GATEWAY_KIT_H
#define TEST_GATEWAY_KIT_H

#include "test_suci_link.h"

#include "base/assert.h"
#include "gateway/gateway.h"
#include "impi/wire.h"
#include "relayproto/hello.h"
#include "relayproto/pair.h"
#include "suci/lane.h"

#define KIT_BASE  0x01000040u
#define KIT_LB	  64u /* label base of the processes at the core's model */
#define KIT_RANKS 8
#define KIT_CHANS 3
#ifndef KIT_BLOCKS
#define KIT_BLOCKS 4096
#endif
#ifndef KIT_BUF /* bytes a host may send, and get */
#define KIT_BUF (8u << 20)
#endif

struct kit_chan { /* one end of a channel, the host's */
	uint32_t chan;
	bool opened, closed;
	uint8_t *got;	 /* what the gateway sent */
	size_t ngot, at; /* bytes; looked at */
	size_t room;	 /* bytes the socket still takes */
	uint8_t *send;	 /* what the host sends */
	size_t nsend, sent;
	uint32_t readable; /* calls */
};

struct kit_proc_rx { /* blocks a Suci process got from a rank, in order */
	uint8_t *bytes;
	size_t len, got;
	uint32_t from, to;
	bool whole;
};

struct kit {
	struct link l;
	struct gw *g;
	struct gw_config conf;
	struct relay_job job;
	struct relay_gate gate[3];
	struct relay_foreign foreign[2];
	uint8_t global_id[KIT_RANKS][RELAY_PROC_ID_LEN];
	uint8_t private_id[KIT_RANKS][RELAY_PROC_ID_LEN];
	struct kit_chan ch[KIT_CHANS]; /* by gate */
	uint32_t failed, finished;
	char why[RELAY_WHY_MAX];
	int iov_max;
	/* core's model */
	struct suci_lanes *lanes;
	void *lanes_mem;
	uint32_t path;
	uint32_t lane[KIT_RANKS][KIT_RANKS]; /* process, foreign */
	uint32_t lane_from[64], lane_to[64];
	struct kit_proc_rx rx[KIT_BLOCKS];
	uint32_t nrx, done;
	bool stopped; /* the processes have no room */
	bool quiet;
};

static inline struct kit *
kit_of(struct link *l)
{
	return l->arg;
}

/* ---- the wire as relay core ---- */

static inline bool
kit_wire(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	uint8_t *b = (uint8_t *)(uintptr_t)bytes;
	(void)l;
	if (from != 0 || len < 16 || (b[0] & 15) != SUCI_T_DATA)
		return false;
	size_t at = 16u + be16_load(b + 2);
	if (len < at + SUCI_LANE_HDR || be16_load(b + at + 22) & SUCI_SF_NOTE)
		return false;
	for (int i = 0; i < 2; i++) {
		uint32_t label = be32_load(b + at + 4 * i);
		assert_in_range(label, KIT_BASE, KIT_BASE + KIT_RANKS - 1);
		be32_store(b + at + 4 * i, label - KIT_BASE + KIT_LB);
	}
	return false;
}

/* ---- processes behind the core ---- */

static inline void *
kit_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	  uint64_t now_ns)
{
	struct kit *k = user;
	(void)first, (void)first_len, (void)now_ns;
	assert_true(k->nrx < KIT_BLOCKS);
	struct kit_proc_rx *r = &k->rx[k->nrx++];
	*r = (struct kit_proc_rx){.bytes = malloc(bytes ? bytes : 1),
				  .len = bytes,
				  .from = k->lane_from[lane],
				  .to = k->lane_to[lane]};
	return r;
}

static inline void
kit_data(void *user, uint32_t lane, void *block, uint64_t off, const uint8_t *data, size_t len)
{
	struct kit_proc_rx *r = block;
	(void)user, (void)lane;
	assert_true(off + len <= r->len);
	memcpy(r->bytes + off, data, len);
	r->got += len;
}

static inline void
kit_end(void *user, uint32_t lane, void *block, uint64_t now_ns)
{
	struct kit_proc_rx *r = block;
	(void)user, (void)lane, (void)now_ns;
	assert_int_equal(r->got, r->len);
	r->whole = true;
}

static inline void
kit_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now_ns)
{
	struct kit *k = user;
	(void)lane, (void)now_ns;
	free((void *)(uintptr_t)cookie);
	k->done += ok;
}

static inline void
kit_lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	(void)user, (void)lane, (void)why, (void)text;
}

static inline bool
kit_room(void *user, uint32_t lane, uint64_t bytes)
{
	(void)lane, (void)bytes;
	return !((struct kit *)user)->stopped;
}

static inline uint32_t
kit_lane(struct kit *k, uint32_t proc, uint32_t foreign)
{
	uint32_t gb = relay_gateway_base(KIT_BASE), *lane = &k->lane[proc][foreign];
	if (*lane != UINT32_MAX)
		return *lane;
	struct suci_lane_conf c = relay_pair_lane(proc, foreign, gb, KIT_LB);
	c.path = k->path;
	c.window = 64;
	assert_int_equal(suci_lane_open(k->lanes, &c, lane, k->l.now_ns), 0);
	k->lane_from[*lane] = foreign;
	k->lane_to[*lane] = proc;
	return *lane;
}

static inline enum suci_verdict
kit_unknown(void *user, uint32_t path, uint32_t dst, uint32_t src)
{
	(void)path;
	kit_lane(user, dst - KIT_LB, src - KIT_LB);
	return SUCI_TAKEN;
}

static inline int
kit_accept(void *user, const struct suci_addr *from, const void *hello, size_t len, char *why)
{
	(void)user, (void)from, (void)hello, (void)len, (void)why;
	return 0;
}

static inline void
kit_path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
	    bool incoming)
{
	struct relay_hello h;
	(void)user, (void)path, (void)peer, (void)incoming;
	assert_int_equal(relay_hello_decode(hello, len, &h), 0);
	assert_int_equal(h.kind, RELAY_HELLO_GATEWAY);
}

static inline void
kit_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	(void)user, (void)path, (void)why, (void)text;
}

static inline void
kit_hold(void *user, uint64_t cookie)
{
	link_hold(&((struct kit *)user)->l, cookie);
}

static inline void
kit_release(void *user, uint64_t cookie)
{
	link_release(&((struct kit *)user)->l, cookie);
}

static const struct suci_lane_ops kit_lane_ops = {
	.block_begin = kit_begin,
	.block_data = kit_data,
	.block_end = kit_end,
	.block_done = kit_done,
	.hold = kit_hold,
	.release = kit_release,
	.lane_down = kit_lane_down,
	.lane_unknown = kit_unknown,
	.accept = kit_accept,
	.path_up = kit_path_up,
	.path_down = kit_path_down,
	.block_room = kit_room,
};

/* ---- the driver of the gateway ---- */

static inline void
kit_check(struct kit *k)
{
	const char *what = NULL;
	if (!gw_check(k->g, &what))
		fail_msg("gw_check: %s", what);
	assert_true(gw_held_bytes(k->g) <= k->conf.limits.packet_bytes);
}

static inline struct kit_chan *
kit_by_chan(struct kit *k, uint32_t chan)
{
	for (int i = 0; i < KIT_CHANS; i++)
		if (k->ch[i].opened && k->ch[i].chan == chan)
			return &k->ch[i];
	fail_msg("channel %u was never opened", chan);
	return NULL;
}

static inline void
kit_open(void *user, uint32_t chan)
{
	struct kit *k = user;
	struct gw_channel_info info;
	assert_true(gw_channel(k->g, chan, &info));
	assert_false(info.up);
	k->ch[info.gate].chan = chan;
	k->ch[info.gate].opened = true;
}

static inline void
kit_close(void *user, uint32_t chan)
{
	struct kit_chan *c = kit_by_chan(user, chan);
	assert_false(c->closed);
	c->closed = true;
}

static inline void
kit_write(struct kit *k, struct kit_chan *c)
{
	struct iovec iov[GW_IOV_MAX];
	int n;
	while (c->room && !c->closed && (n = gw_channel_tx(k->g, c->chan, iov, k->iov_max)) > 0) {
		size_t took = 0;
		for (int i = 0; i < n && c->room; i++) {
			size_t len = iov[i].iov_len < c->room ? iov[i].iov_len : c->room;
			assert_true(iov[i].iov_len > 0);
			assert_true(c->ngot + len <= KIT_BUF);
			memcpy(c->got + c->ngot, iov[i].iov_base, len);
			c->ngot += len;
			c->room -= len;
			took += len;
		}
		gw_channel_txed(k->g, c->chan, took, k->l.now_ns);
	}
}

static inline void
kit_writable(void *user, uint32_t chan)
{
	kit_write(user, kit_by_chan(user, chan));
}

static inline void
kit_readable(void *user, uint32_t chan)
{
	kit_by_chan(user, chan)->readable++;
}

static inline void
kit_failed(void *user, uint32_t base, const char *why)
{
	struct kit *k = user;
	assert_int_equal(base, KIT_BASE);
	k->failed++;
	snprintf(k->why, sizeof k->why, "%s", why);
	for (int i = 0; i < KIT_CHANS; i++)
		assert_true(k->ch[i].closed || !k->ch[i].opened);
}

static inline void
kit_finished(void *user, uint32_t base, const char *why)
{
	struct kit *k = user;
	assert_int_equal(base, KIT_BASE);
	k->finished++;
	snprintf(k->why, sizeof k->why, "%s", why);
}

static const struct gw_ops kit_ops = {.open = kit_open,
				      .close = kit_close,
				      .writable = kit_writable,
				      .readable = kit_readable,
				      .job_failed = kit_failed,
				      .job_finished = kit_finished,
				      .hold = kit_hold,
				      .release = kit_release};

static inline void
kit_table(struct kit *k)
{
	for (uint32_t r = 0; r < KIT_RANKS; r++) {
		memset(k->private_id[r], 0, RELAY_PROC_ID_LEN);
		k->private_id[r][15] = (uint8_t)(r < 2 ? 7 : 40 + r / 2); /* LAM: the daemon's */
		be64_store(k->private_id[r] + 16, 1000 + r);
		memset(k->global_id[r], 0xfd, RELAY_PROC_ID_LEN);
		be64_store(k->global_id[r] + 16, 0x01000040 + r);
	}
	k->foreign[0] = (struct relay_foreign){
		.client = 0, .rank = 0, .first_rank = 0, .nprocs = 2, .port = 4000};
	impi_addr_from_ipv4(k->foreign[0].addr, 0x0a000007);
	k->foreign[1] = (struct relay_foreign){
		.client = 1, .rank = 1, .first_rank = 2, .nprocs = 2, .port = 4001};
	impi_addr_from_ipv4(k->foreign[1].addr, 0xc0000209);
	k->gate[0] = (struct relay_gate){.side = RELAY_GATE_PRIVATE,
					 .client = 1,
					 .rank = 1,
					 .first_rank = 2,
					 .nprocs = 2,
					 .ipv4 = 0x0a000064,
					 .port = 5000};
	k->gate[1] = (struct relay_gate){.side = RELAY_GATE_PRIVATE,
					 .client = 2,
					 .rank = 2,
					 .first_rank = 4,
					 .nprocs = 4,
					 .ipv4 = 0x0a000065,
					 .port = 5000};
	k->gate[2] = (struct relay_gate){.side = RELAY_GATE_GLOBAL,
					 .client = 0,
					 .rank = 0,
					 .first_rank = 0,
					 .nprocs = 2,
					 .ipv4 = 0xc0000201,
					 .port = 5001};
	k->job = (struct relay_job){.id = 1,
				    .label_base = KIT_BASE,
				    .my_client = 0,
				    .nworld = KIT_RANKS,
				    .nlocal = 2,
				    .nforeign = 2,
				    .ngates = 3,
				    .datalen = 4096,
				    .ackmark = 10,
				    .hiwater = 20,
				    .global_id = k->global_id,
				    .private_id = k->private_id,
				    .foreign = k->foreign,
				    .gate = k->gate};
}

static inline struct kit *
kit_new(uint64_t packet_bytes)
{
	struct kit *k = memset(LINK_TAKE(sizeof *k), 0, sizeof *k);
	link_init(&k->l, 42, 20000);
	k->l.filter = kit_wire;
	k->l.arg = k;
	k->iov_max = GW_IOV_MAX;
	memset(k->lane, 0xff, sizeof k->lane);
	k->path = UINT32_MAX;
	kit_table(k);
	for (int i = 0; i < KIT_CHANS; i++) {
		k->ch[i].got = LINK_TAKE(KIT_BUF);
		k->ch[i].send = LINK_TAKE(KIT_BUF);
		k->ch[i].room = SIZE_MAX;
	}
	k->conf = (struct gw_config){.limits = {.jobs_max = 2,
						.channels_max = 4,
						.procs_max = 128,
						.lanes_max = 16,
						.relays = 1,
						.packet_bytes = packet_bytes},
				     .self = link_addr(0),
				     .core = link_addr(1),
				     .incarnation = 5,
				     .cookie_secret = {9, 9},
				     .seed = 77,
				     .mtu = 1472,
				     .ops = &kit_ops,
				     .user = k};
	size_t n = gw_footprint(&k->conf.limits);
	assert_true(n > 0);
	k->g = gw_new(LINK_TAKE(n), &k->conf, k->l.now_ns);
	assert_non_null(k->g);
	k->l.ep[0] = gw_endpoint(k->g);
	struct suci_lanes_config lc = {.limits = {.lanes_max = 64,
						  .blocks_max = 1024,
						  .rx_blocks_max = 1024,
						  .held_max = 1024,
						  .ranges_max = 1024,
						  .labels_max = 256},
				       .ops = &kit_lane_ops,
				       .user = k};
	k->lanes_mem = LINK_TAKE(suci_lanes_footprint(&lc.limits));
	k->lanes = suci_lanes_new(k->lanes_mem, &lc);
	assert_non_null(k->lanes);
	struct suci_config sc = link_config(1);
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE, .mtu = 1432};
	relay_hello_encode(&h, sc.hello);
	sc.hello_len = RELAY_HELLO_LEN;
	sc.ops = suci_lanes_ops();
	sc.user = k->lanes;
	k->l.ep[1] = link_endpoint(&sc, k->l.now_ns);
	suci_lanes_bind(k->lanes, k->l.ep[1]);
	return k;
}

static inline void
kit_free(struct kit *k)
{
	kit_check(k);
	k->l.ep[0] = NULL;
	LINK_GIVE(gw_fini(k->g, k->l.now_ns));
	LINK_GIVE(suci_fini(k->l.ep[1], k->l.now_ns));
	LINK_GIVE(suci_lanes_fini(k->lanes));
	link_drop_wire(&k->l);
	assert_int_equal(k->l.held, 0);
	for (int i = 0; i < KIT_CHANS; i++) {
		LINK_GIVE(k->ch[i].got);
		LINK_GIVE(k->ch[i].send);
	}
	for (uint32_t i = 0; i < k->nrx; i++)
		free(k->rx[i].bytes);
	LINK_GIVE(k);
}

/* ---- time ---- */

/* Let the gateway read what the hosts have for it, at most cut bytes at a time. */
static inline bool
kit_read(struct kit *k, struct kit_chan *c, size_t cut)
{
	struct iovec iov[2];
	if (c->closed || c->sent == c->nsend)
		return false;
	int n = gw_channel_rx_space(k->g, c->chan, iov);
	size_t took = 0;
	for (int i = 0; i < n && took < cut && c->sent < c->nsend; i++) {
		size_t len = iov[i].iov_len;
		len = len < cut - took ? len : cut - took;
		len = len < c->nsend - c->sent ? len : c->nsend - c->sent;
		memcpy(iov[i].iov_base, c->send + c->sent, len);
		c->sent += len;
		took += len;
	}
	if (took)
		gw_channel_rx(k->g, c->chan, took, k->l.now_ns);
	return took > 0;
}

static inline void
kit_read_all(struct kit *k, size_t cut)
{
	for (bool any = true; any;) {
		any = false;
		for (int i = 0; i < KIT_CHANS; i++)
			any |= kit_read(k, &k->ch[i], cut);
		kit_check(k);
	}
}

/* Run for some virtual time, in steps. */
static inline void
kit_run(struct kit *k, uint64_t ns)
{
	uint64_t until = k->l.now_ns + ns;
	while (k->l.now_ns < until) {
		kit_read_all(k, SIZE_MAX);
		link_run(&k->l, base_min_ns(until, k->l.now_ns + 50000), NULL, NULL);
		if (gw_expiry_ns(k->g) <= k->l.now_ns)
			gw_tick(k->g, k->l.now_ns);
		kit_check(k);
	}
}

/* Everybody is there. */
static inline void
kit_up(struct kit *k)
{
	static const uint8_t id[4] = {0, 0, 0, 1};
	assert_int_equal(gw_job_add(k->g, &k->job, k->l.now_ns), 0);
	assert_true(k->ch[0].opened && k->ch[1].opened && k->ch[2].opened);
	gw_channel_connected(k->g, k->ch[0].chan, k->l.now_ns);
	gw_channel_connected(k->g, k->ch[1].chan, k->l.now_ns);
	assert_int_equal(gw_accept(k->g, 0xc0000201, 5001, 0xc0000209, id, k->l.now_ns),
			 k->ch[2].chan);
	assert_int_equal(k->ch[0].ngot, 4);
	assert_int_equal(be32_load(k->ch[0].got), 1);
	assert_int_equal(be32_load(k->ch[1].got), 2);
	assert_int_equal(k->ch[2].ngot, 0);
	k->ch[0].at = k->ch[1].at = 4;
	kit_check(k);
}

/* The core's path. */
static inline void
kit_core_up(struct kit *k)
{
	struct suci_addr to = link_addr(0);
	assert_int_equal(suci_path_open(k->l.ep[1], &to, NULL, 0, &k->path, k->l.now_ns), 0);
	kit_run(k, BASE_MS_NS);
}

/* ---- packets ---- */

static inline const uint8_t *
kit_id(const struct kit *k, int gate, uint32_t rank)
{
	return gate == 2 ? k->global_id[rank] : k->private_id[rank];
}

/* Payload byte i of the message n from src to dst. */
static inline uint8_t
kit_byte(uint32_t src, uint32_t dst, uint32_t n, uint32_t i)
{
	return (uint8_t)(i * 7 + n * 31 + src * 101 + dst * 59 + (i >> 8));
}

/* As seen on that gate's channels.  Control packets as LAM writes them. */
static inline size_t
kit_packet(const struct kit *k, uint8_t *out, int gate, uint32_t type, uint32_t src, uint32_t dst,
	   uint32_t len, uint32_t n)
{
	bool data = type == IMPI_PK_DATA || type == IMPI_PK_DATASYNC;
	struct impi_packet p = {.type = type,
				.len = data ? len : 128,
				.src = impi_proc_decode(kit_id(k, gate, src)),
				.dest = impi_proc_decode(kit_id(k, gate, dst)),
				.srqid = n,
				.msglen = data ? len : 128,
				.lsrank = (int32_t)src,
				.tag = data ? 5 : -1,
				.cid = data ? 0 : 0x4900000000000000ull,
				.seqnum = n,
				.count = data ? 0 : -1};
	impi_packet_encode(&p, out);
	for (uint32_t i = 0; data && i < len; i++)
		out[IMPI_PACKET_BYTES + i] = kit_byte(src, dst, n, i);
	return IMPI_PACKET_BYTES + (data ? len : 0u);
}

static inline void
kit_say(struct kit *k, int gate, uint32_t type, uint32_t src, uint32_t dst, uint32_t len,
	uint32_t n)
{
	struct kit_chan *c = &k->ch[gate];
	assert_true(c->nsend + IMPI_PACKET_BYTES + len <= KIT_BUF);
	c->nsend += kit_packet(k, c->send + c->nsend, gate, type, src, dst, len, n);
}

static inline void
kit_say_fini(struct kit *k, int gate)
{
	struct kit_chan *c = &k->ch[gate];
	struct impi_packet p = {.type = IMPI_PK_FINI,
				.len = 128,
				.src = {.pid = UINT64_MAX},
				.dest = {.pid = UINT64_MAX},
				.msglen = 128,
				.lsrank = -1,
				.tag = -1};
	impi_packet_encode(&p, c->send + c->nsend);
	c->nsend += IMPI_PACKET_BYTES;
}

/* The next packet the host at that gate got is exactly this one. */
static inline void
kit_heard(struct kit *k, int gate, uint32_t type, uint32_t src, uint32_t dst, uint32_t len,
	  uint32_t n)
{
	static uint8_t want[IMPI_PACKET_BYTES + (1 << 20)];
	struct kit_chan *c = &k->ch[gate];
	size_t bytes = kit_packet(k, want, gate, type, src, dst, len, n);
	if (c->ngot - c->at < bytes)
		fail_msg("gate %d: packet %u from %u to %u has not come (%zu bytes have)", gate, n,
			 src, dst, c->ngot - c->at);
	assert_memory_equal(c->got + c->at, want, bytes);
	c->at += bytes;
}

/* Next to come, without looking at the rest. */
static inline struct impi_packet
kit_next(struct kit *k, int gate)
{
	struct kit_chan *c = &k->ch[gate];
	assert_true(c->ngot - c->at >= IMPI_PACKET_BYTES);
	struct impi_packet p = impi_packet_decode(c->got + c->at);
	c->at += IMPI_PACKET_BYTES + impi_packet_payload_bytes(&p);
	assert_true(c->at <= c->ngot);
	return p;
}

static inline void
kit_heard_fini(struct kit *k, int gate)
{
	struct impi_packet p = kit_next(k, gate);
	assert_int_equal(p.type, IMPI_PK_FINI);
	assert_int_equal(k->ch[gate].at, k->ch[gate].ngot);
}

/* A Suci process sends; the ids in the header are junk, as cores rewrite them. */
static inline void
kit_proc_say(struct kit *k, uint32_t type, uint32_t src, uint32_t dst, uint32_t len, uint32_t n)
{
	uint8_t *block = malloc(IMPI_PACKET_BYTES + len + 1);
	size_t bytes = kit_packet(k, block, 1, type, src, dst, len, n);
	memset(block + IMPI_PACKET_OFF_SRC, 0xee, 48);
	uint32_t lane = kit_lane(k, src, dst);
	assert_int_equal(suci_lane_send(k->lanes, lane, NULL, 0, block, bytes, false,
					(uintptr_t)block, k->l.now_ns),
			 0);
}

/* The i-th block that came for processes is this packet, ids aside. */
static inline void
kit_proc_heard(struct kit *k, uint32_t i, uint32_t type, uint32_t src, uint32_t dst, uint32_t len,
	       uint32_t n)
{
	static uint8_t want[IMPI_PACKET_BYTES + (1 << 20)];
	assert_true(i < k->nrx && k->rx[i].whole);
	assert_int_equal(k->rx[i].from, src);
	assert_int_equal(k->rx[i].to, dst);
	size_t bytes = kit_packet(k, want, 1, type, src, dst, len, n);
	assert_int_equal(k->rx[i].len, bytes);
	memcpy(want + IMPI_PACKET_OFF_SRC, k->rx[i].bytes + IMPI_PACKET_OFF_SRC, 48);
	assert_memory_equal(k->rx[i].bytes, want, bytes);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes between processes and gateways over real endpoints and relay cores, in
 * virtual time.  The gateways are plain Suci endpoints with lanes.
 *
 *     cluster A, client 0: ranks 0, 1, ours           2 relays, 2 gateways
 *     cluster B, client 1: ranks 2, 3, foreign        2 relays, 2 gateways
 *     client 2: ranks 4, 5, foreign, global address   known to the gateways of A and B */
#include "relay_wire_kit.h"

#include "relayproto/pair.h"

#define BUFS	  8192
#define NODES	  10
#define LANES_MAX 16
#define BLOCKS	  12
#define BLOCK_MAX 20000u

enum type { PROC, RELAY, GATEWAY };

struct lane {
	struct lane *peer;
	struct node *at;
	uint32_t me, other; /* world ranks */
	uint32_t index;	    /* of the lanes object */
	uint32_t begun, complete, done;
	uint8_t *sent[BLOCKS];
	size_t len[BLOCKS];
};

struct node {
	struct wire_end end;
	enum type type;
	uint32_t index; /* process, or relay it is or belongs to */
	struct lane lane[LANES_MAX];
	uint32_t nlanes;
};

struct net {
	struct node node[NODES];
	uint32_t nnodes;
	struct wire wire;
	uint32_t nlanes;
};

static const struct job_spec spec[2] = {{.nclients = 3,
					 .my_client = 0,
					 .nprocs = {2, 2, 2},
					 .nrelays = {2, 2, 0},
					 .foreign = {0, 1, 1},
					 .label_base = {0x01000040, 0x02000080, 0},
					 .token = 0xaa,
					 .token_of = {0xaa, 0xbb},
					 .id = 1},
					{.nclients = 3,
					 .my_client = 1,
					 .nprocs = {2, 2, 2},
					 .nrelays = {2, 2, 0},
					 .foreign = {0, 1, 1},
					 .label_base = {0x01000040, 0x02000080, 0},
					 .token = 0xbb,
					 .token_of = {0xaa, 0xbb},
					 .id = 1}};

/* ---- processes and gateways ------------------------------------------------------------- */

struct block {
	struct lane *lane;
	uint32_t index;
	uint8_t bytes[BLOCK_MAX];
};

static struct lane *
lane_at(struct node *x, uint32_t index)
{
	for (uint32_t i = 0; i < x->nlanes; i++)
		if (x->lane[i].index == index)
			return &x->lane[i];
	fail_msg("no lane %u", index);
	return NULL;
}

static void *
block_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	    uint64_t now)
{
	struct lane *l = lane_at(user, lane);
	(void)first, (void)now;
	assert_true(first_len >= 56 && bytes <= BLOCK_MAX);
	struct block *b = calloc(1, sizeof *b);
	b->lane = l;
	b->index = l->begun++;
	return b;
}

static void
block_data(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data, size_t len)
{
	(void)user, (void)lane;
	assert_true(offset + len <= BLOCK_MAX);
	memcpy(((struct block *)block)->bytes + offset, data, len);
}

/* Byte-identical but for the ids, which a process must know. */
static void
block_end(void *user, uint32_t lane, void *block, uint64_t now)
{
	struct node *x = user;
	struct block *b = block;
	struct lane *l = b->lane, *p = l->peer;
	(void)lane, (void)now;
	assert_in_range(b->index, 0, BLOCKS - 1);
	const uint8_t *want = p->sent[b->index];
	assert_memory_equal(b->bytes, want, 8);
	assert_memory_equal(b->bytes + 56, want + 56, p->len[b->index] - 56);
	if (x->type == PROC) {
		assert_memory_equal(b->bytes + 8, x->end.job->private_id[l->other], 24);
		assert_memory_equal(b->bytes + 32, x->end.job->private_id[l->me], 24);
	}
	l->complete++;
	free(b);
}

static void
block_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now)
{
	(void)cookie, (void)now;
	lane_at(user, lane)->done += ok;
}

static int
end_accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
	   char why[SUCI_TEXT_MAX])
{
	const struct node *x = user;
	struct relay_hello h;
	(void)from;
	if (relay_hello_decode(hello, len, &h) == 0 && h.kind == RELAY_HELLO_RELAY &&
	    (x->type == GATEWAY || h.token == maker_proc_token(x->index)))
		return 0;
	snprintf(why, SUCI_TEXT_MAX, "not my relay");
	return -1;
}

static void
end_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now)
{
	struct node *x = user;
	struct relay_note n;
	(void)path, (void)now;
	assert_int_equal(relay_note_decode(note, len, &n), 0);
	assert_int_equal(x->type, PROC); /* gateways get none */
	if (n.type == RELAY_NOTE_ABORT) {
		x->end.aborts++;
		snprintf(x->end.why, sizeof x->end.why, "%s", n.text);
	}
}

static const struct suci_lane_ops lane_ops = {.block_begin = block_begin,
					      .block_data = block_data,
					      .block_end = block_end,
					      .block_done = block_done,
					      .hold = wire_hold,
					      .release = wire_release,
					      .lane_down = wire_lane_down,
					      .accept = end_accept,
					      .path_up = wire_path_up,
					      .path_down = wire_path_down,
					      .note = end_note};

/* ---- the net ----------------------------------------------------------------------------- */

static struct wire_end *
end_at(struct net *n, const struct wire_end *from, const struct suci_addr *to)
{
	for (uint32_t i = 0; i < n->nnodes; i++) {
		struct wire_end *x = &n->node[i].end;
		bool there = to->leg == RELAY_LEG_GLOBAL || x->cluster == from->cluster;
		if (x != from && there && memcmp(&x->addr[to->leg], to, sizeof *to) == 0)
			return x;
	}
	return NULL;
}

static bool
send_all(struct net *n, struct wire_end *x)
{
	struct suci_out o;
	bool moved = false;
	while (!x->dead && suci_tx(x->ep, &o, n->wire.now)) {
		wire_put(x, end_at(n, x, &o.to), &o, o.to.leg ? 2 * BASE_MS_NS : 20000);
		moved = true;
	}
	return moved;
}

static bool
all_done(const struct net *n)
{
	for (uint32_t i = 0; i < n->nnodes; i++)
		for (uint32_t k = 0; k < n->node[i].nlanes; k++) {
			const struct lane *l = &n->node[i].lane[k];
			if (l->done < BLOCKS || l->complete < BLOCKS)
				return false;
		}
	return true;
}

static bool
all_aborted(const struct net *n)
{
	for (uint32_t i = 0; i < n->nnodes; i++)
		if (n->node[i].type != GATEWAY && !n->node[i].end.aborts)
			return false;
	return true;
}

static bool
run(struct net *n, bool (*until)(const struct net *), uint64_t for_ns)
{
	uint64_t end = n->wire.now + for_ns;
	while (n->wire.now < end) {
		uint64_t next = wire_deliver(&n->wire);
		for (uint32_t i = 0; i < n->nnodes; i++) {
			struct wire_end *x = &n->node[i].end;
			if (x->dead)
				continue;
			next = base_min_ns(next, wire_tick(x));
			if (send_all(n, x))
				next = base_min_ns(next, n->wire.now + 20000);
			next = base_min_ns(next, suci_expiry_ns(x->ep));
		}
		if (until && until(n))
			return true;
		n->wire.now = base_max_ns(n->wire.now + 1000, base_min_ns(next, end));
	}
	return false;
}

/* ---- set-up -------------------------------------------------------------------------------- */

static struct suci_addr
gateway_addr(uint32_t m)
{
	return relay_addr_v4(0x0a0000e0u + m, 7200, RELAY_LEG_PRIVATE);
}

static void
make_core(struct node *x)
{
	struct relay_core_conf conf = {
		.limits = {.jobs_max = 2,
			   .procs_max = 128,
			   .hosts_max = 16,
			   .trunks_max = 4,
			   .paths_max = 16,
			   .primaries_max = 2},
		.self_global = maker_relay_addr(x->end.cluster, x->index),
		.trunk_mtu = 1472,
		.gateway = {gateway_addr(0), gateway_addr(1)},
		.ngateways = 2,
		.ops = &wire_core_ops,
		.user = x,
	};
	x->end.addr[0] = relay_addr_v4(0x0a0000f0u + x->index, 7001, RELAY_LEG_PRIVATE);
	x->end.addr[1] = conf.self_global;
	x->end.core = relay_core_new(aligned_alloc(64, relay_core_footprint(&conf.limits)), &conf);
	assert_non_null(x->end.core);
}

static void
make_lanes(struct node *x)
{
	const struct suci_lanes_config lc = {
		.limits = {.lanes_max = LANES_MAX,
			   .blocks_max = 256,
			   .rx_blocks_max = 256,
			   .held_max = 1024,
			   .ranges_max = 1024,
			   .labels_max = x->type == GATEWAY ? RELAY_GATEWAY_LABELS(2) : 64},
		.ops = &lane_ops,
		.user = x,
	};
	x->end.addr[0] = x->type == GATEWAY ? gateway_addr(x->index) : maker_proc_addr(x->index);
	x->end.lanes = suci_lanes_new(
		aligned_alloc(64, (suci_lanes_footprint(&lc.limits) + 63) & ~(size_t)63), &lc);
	assert_non_null(x->end.lanes);
}

static struct node *
make_node(struct net *n, enum type type, uint32_t cluster, uint32_t index)
{
	struct node *x = &n->node[n->nnodes++];
	*x = (struct node){
		.end = {.wire = &n->wire, .cluster = cluster}, .type = type, .index = index};
	x->end.job = make_job(&spec[cluster]);
	if (type == RELAY)
		make_core(x);
	else
		make_lanes(x);
	struct suci_config sc = {
		.limits = {.paths_max = 16,
			   .segments_max = 4096,
			   .queue_max = 512,
			   .window_max = 256},
		.incarnation = 1 + base_prng_next(&n->wire.prng) / 2,
		.seed = base_prng_next(&n->wire.prng),
		.mtu_max = 1472,
		.cc = SUCI_CC_CUBIC,
		.liveness_ns = type == PROC ? 0 : 3 * BASE_S_NS,
		.keepalive_ns = BASE_S_NS,
		.hello_len = RELAY_HELLO_LEN,
		.ops = type == RELAY ? relay_ops() : suci_lanes_ops(),
		.user = type == RELAY ? (void *)x->end.core : (void *)x->end.lanes,
	};
	static const uint8_t kind[] = {RELAY_HELLO_PROCESS, RELAY_HELLO_RELAY, RELAY_HELLO_GATEWAY};
	struct relay_hello h = {.kind = kind[type], .rank = RELAY_RANK_NONE, .mtu = 1472};
	if (type == PROC)
		h = (struct relay_hello){.kind = kind[type],
					 .token = x->end.job->token,
					 .label = x->end.job->label_base + index,
					 .rank = index};
	relay_hello_encode(&h, sc.hello);
	x->end.ep = suci_new(aligned_alloc(64, (suci_footprint(&sc.limits) + 63) & ~(size_t)63),
			     &sc, n->wire.now);
	assert_non_null(x->end.ep);
	if (type == RELAY)
		relay_bind(x->end.core, x->end.ep);
	else
		suci_lanes_bind(x->end.lanes, x->end.ep);
	return x;
}

static struct node *
find(struct net *n, enum type type, uint32_t cluster, uint32_t index)
{
	for (uint32_t i = 0; i < n->nnodes; i++) {
		struct node *x = &n->node[i];
		if (x->type == type && x->end.cluster == cluster && x->index == index)
			return x;
	}
	fail();
	return NULL;
}

/* Who speaks for rank in cluster towards other: itself, or a gateway. */
static struct node *
end_of(struct net *n, uint32_t cluster, uint32_t rank, uint32_t other)
{
	const struct relay_job *j = find(n, RELAY, cluster, 0)->end.job;
	if (!relay_job_foreign_of(j, rank))
		return find(n, PROC, cluster, rank - j->first_local);
	return find(n, GATEWAY, cluster, relay_job_gateway(j, other, rank));
}

/* The path to a relay of its cluster: any relay for a process, its own for a gateway. */
static struct lane *
open_lane(struct net *n, struct node *x, uint32_t me, uint32_t other)
{
	uint32_t m = x->type == GATEWAY ? x->index : other % 2, path;
	struct lane *l = &x->lane[x->nlanes++];
	uint32_t base =
		x->type == GATEWAY ? relay_gateway_base(x->end.job->label_base) : MAKER_PROC_BASE;
	int err = suci_path_open(x->end.ep, &find(n, RELAY, x->end.cluster, m)->end.addr[0], NULL,
				 0, &path, n->wire.now);
	/* A gateway opens none: its relay has. */
	assert_true(err == SUCI_ERR_EXISTS || (err == 0 && x->type == PROC));
	struct suci_lane_conf lc = relay_pair_lane(me, other, x->end.job->label_base, base);
	lc.path = path;
	lc.mss = 1472 - SUCI_OVERHEAD;
	lc.window = 128;
	*l = (struct lane){.at = x, .me = me, .other = other};
	assert_int_equal(suci_lane_open(x->end.lanes, &lc, &l->index, n->wire.now), 0);
	n->nlanes++;
	return l;
}

/* Cluster in which rank a meets rank b: its own, or for one with a global address the
 * other's. */
static uint32_t
cluster_of(uint32_t rank, uint32_t other)
{
	return rank < 4 ? rank / 2 : other / 2;
}

static struct net *
net_new(uint64_t seed, uint64_t loss_ppb)
{
	struct net *n = calloc(1, sizeof *n);
	wire_init(&n->wire, BUFS, seed, loss_ppb);
	for (uint32_t c = 0; c < 2; c++)
		for (uint32_t m = 0; m < 2; m++)
			make_node(n, RELAY, c, m);
	make_node(n, PROC, 0, 0);
	make_node(n, PROC, 0, 1);
	/* The jobs come one by one, the gateways after them. */
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(
			relay_job_add(n->node[i].end.core, n->node[i].end.job, n->wire.now), 0);
		run(n, NULL, 30 * BASE_MS_NS);
	}
	for (uint32_t c = 0; c < 2; c++)
		for (uint32_t m = 0; m < 2; m++)
			make_node(n, GATEWAY, c, m);
	run(n, NULL, 900 * BASE_MS_NS);
	for (uint32_t a = 0; a < 6; a++) {
		for (uint32_t b = a + 1; b < 6; b++) {
			if (a / 2 == b / 2)
				continue;
			struct node *x = end_of(n, cluster_of(a, b), a, b);
			struct node *y = end_of(n, cluster_of(b, a), b, a);
			if (x == y)
				continue; /* one gateway: channel to channel */
			struct lane *la = open_lane(n, x, a, b), *lb = open_lane(n, y, b, a);
			la->peer = lb;
			lb->peer = la;
		}
	}
	return n;
}

static void
net_free(struct net *n)
{
	for (uint32_t i = 0; i < n->nnodes; i++) {
		struct node *x = &n->node[i];
		free(suci_fini(x->end.ep, n->wire.now));
		if (x->end.core)
			assert_int_equal(relay_core_held(x->end.core), 0);
		free(relay_core_fini(x->end.core));
		if (x->end.lanes)
			free(suci_lanes_fini(x->end.lanes));
		free((void *)(uintptr_t)x->end.job);
		for (uint32_t k = 0; k < x->nlanes; k++)
			for (uint32_t b = 0; b < BLOCKS; b++)
				free(x->lane[k].sent[b]);
	}
	wire_fini(&n->wire);
	free(n);
}

static void
send_blocks(struct net *n)
{
	for (uint32_t i = 0; i < n->nnodes; i++) {
		struct node *x = &n->node[i];
		for (uint32_t k = 0; k < x->nlanes * BLOCKS; k++) {
			struct lane *l = &x->lane[k / BLOCKS];
			uint32_t b = k % BLOCKS;
			size_t len =
				128 + base_prng_below(&n->wire.prng, b % 3 ? 400 : BLOCK_MAX - 128);
			uint8_t *p = l->sent[b] = malloc(len);
			l->len[b] = len;
			for (size_t c = 0; c < len; c++)
				p[c] = (uint8_t)(base_prng_next(&n->wire.prng) >> 56);
			assert_int_equal(suci_lane_send(x->end.lanes, l->index, p, 128, p + 128,
							len - 128, true, b, n->wire.now),
					 0);
		}
	}
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void
blocks_arrive(void **state)
{
	(void)state;
	static const uint64_t loss_ppb[] = {0, 10000000, 50000000};
	for (size_t k = 0; k < 3; k++) {
		struct net *n = net_new(k + 1, loss_ppb[k]);
		/* 4 pairs of A and B, 4 of A and client 2, and of B and client 2 those 2
		 * whose two gates are on two relays. */
		assert_int_equal(n->nlanes, 2 * (4 + 4 + 2));
		send_blocks(n);
		if (!run(n, all_done, 120 * BASE_S_NS))
			fail_msg("loss %zu: not all arrived", k);
		for (uint32_t i = 0; i < 4; i++) {
			const struct node *x = &n->node[i];
			const struct relay_counters *c = relay_core_counters(x->end.core);
			struct relay_job_info info;
			assert_int_equal(x->end.aborts, 0);
			assert_true(c->rx_from_gateways > 0);
			assert_int_equal(c->drop_label + c->drop_source + c->drop_destination +
						 c->drop_foreign + c->drop_malformed + c->drop_path,
					 0);
			assert_true(relay_core_job(x->end.core, 0, &info));
			assert_int_equal(info.gateways_up, 2);
			assert_int_equal(info.trunks_up, 2);
			assert_int_equal(info.local_up, x->end.cluster ? 2 : info.local_up);
		}
		net_free(n);
	}
}

static void
silent_gateway_ends_the_job(void **state)
{
	(void)state;
	struct net *n = net_new(5, 0);
	send_blocks(n);
	run(n, NULL, BASE_S_NS);
	find(n, GATEWAY, 1, 1)->end.dead = true;
	assert_true(run(n, all_aborted, 20 * BASE_S_NS));
	for (uint32_t i = 0; i < n->nnodes; i++)
		if (n->node[i].type != GATEWAY)
			assert_string_equal(n->node[i].end.why,
					    "gateway 10.0.0.225:7200 of relay 1 is gone: nothing "
					    "heard from the peer");
	net_free(n);
}

static void
gateway_that_never_comes(void **state)
{
	(void)state;
	struct net *n = calloc(1, sizeof *n);
	wire_init(&n->wire, BUFS, 1, 0);
	for (uint32_t i = 0; i < 4; i++)
		make_node(n, RELAY, i / 2, i % 2);
	for (uint32_t i = 0; i < 3; i++)
		make_node(n, GATEWAY, i / 2, i % 2);
	make_node(n, PROC, 0, 0);
	make_node(n, PROC, 0, 1);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(
			relay_job_add(n->node[i].end.core, n->node[i].end.job, n->wire.now), 0);
	assert_true(run(n, all_aborted, 25 * BASE_S_NS));
	for (uint32_t i = 0; i < 4; i++)
		assert_non_null(strstr(n->node[i].end.why, "gateway 10.0.0.225:7200 of relay 1 is "
							   "gone: no answer to the handshake"));
	net_free(n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_arrive),
		cmocka_unit_test(silent_gateway_ends_the_job),
		cmocka_unit_test(gateway_that_never_comes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

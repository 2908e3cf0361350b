/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks between two processes of two clusters over two real relays: lanes,
 * paths and relay cores, in virtual time, with and without loss. */
#include "relay_wire_kit.h"

#include "relayproto/pair.h"

#define NODES	  4 /* process of cluster 0, relay 0, relay 1, process of cluster 1 */
#define BUFS	  4096
#define BLOCKS	  40
#define BLOCK_MAX 60000u

struct node {
	struct wire_end end;
	void *mem;
	uint32_t rank, lane, path;
	uint32_t rx_begun, rx_blocks, done;
	struct net *net;
};

struct net {
	struct node node[NODES];
	struct wire wire;
	uint8_t *sent[2][BLOCKS];
	uint64_t len[2][BLOCKS];
};

static const struct job_spec spec[2] = {
	{.nclients = 2,
	 .my_client = 0,
	 .nprocs = {1, 1},
	 .nrelays = {1, 1},
	 .label_base = {0x01000040, 0x01000080},
	 .token = 0xaa,
	 .token_of = {0xaa, 0xbb},
	 .id = 1},
	{.nclients = 2,
	 .my_client = 1,
	 .nprocs = {1, 1},
	 .nrelays = {1, 1},
	 .label_base = {0x01000040, 0x01000080},
	 .token = 0xbb,
	 .token_of = {0xaa, 0xbb},
	 .id = 1},
};

/* ---- processes ------------------------------------------------------------------------ */

/* One being placed. */
struct block {
	uint32_t index;
	uint8_t bytes[BLOCK_MAX];
};

static void *
block_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t first_len,
	    uint64_t now)
{
	struct node *p = user;
	(void)lane, (void)first, (void)now;
	assert_true(first_len >= 56 && bytes <= BLOCK_MAX);
	/* Blocks begin in order and end in any. */
	struct block *b = calloc(1, sizeof *b);
	b->index = p->rx_begun++;
	return b;
}

static void
block_data(void *user, uint32_t lane, void *block, uint64_t offset, const uint8_t *data, size_t len)
{
	(void)user, (void)lane;
	assert_true(offset + len <= BLOCK_MAX);
	memcpy(((struct block *)block)->bytes + offset, data, len);
}

/* Byte-identical but for the ids, which must be those this process knows. */
static void
block_end(void *user, uint32_t lane, void *block, uint64_t now)
{
	struct node *p = user;
	struct net *n = p->net;
	uint32_t from = 1 - p->end.cluster, i = ((struct block *)block)->index;
	const uint8_t *b = ((struct block *)block)->bytes;
	p->rx_blocks++;
	(void)lane, (void)now;
	assert_in_range(i, 0, BLOCKS - 1);
	const uint8_t *want = n->sent[from][i];
	assert_memory_equal(b, want, 8);
	assert_memory_equal(b + 8, p->end.job->private_id[1 - p->rank], 24);
	assert_memory_equal(b + 32, p->end.job->private_id[p->rank], 24);
	assert_memory_equal(b + 56, want + 56, n->len[from][i] - 56);
	free(block);
}

static void
block_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t now)
{
	(void)lane, (void)cookie, (void)now;
	((struct node *)user)->done += ok;
}

/* As libmpi does: a relay that knows our token and label may come in. */
static int
proc_accept(void *user, const struct suci_addr *from, const void *hello, size_t len,
	    char why[SUCI_TEXT_MAX])
{
	const struct node *p = user;
	struct relay_hello h;
	(void)from;
	if (relay_hello_decode(hello, len, &h) == 0 && h.kind == RELAY_HELLO_RELAY &&
	    h.token == maker_proc_token(0) && h.label == MAKER_PROC_BASE + p->rank)
		return 0;
	snprintf(why, SUCI_TEXT_MAX, "not my relay");
	return -1;
}

static void
proc_note(void *user, uint32_t path, const void *note, size_t len, uint64_t now)
{
	struct node *p = user;
	struct relay_note n;
	(void)path, (void)now;
	assert_int_equal(relay_note_decode(note, len, &n), 0);
	if (n.type == RELAY_NOTE_ABORT && n.label_base == MAKER_PROC_BASE) {
		p->end.aborts++;
		snprintf(p->end.why, sizeof p->end.why, "%s", n.text);
	}
}

static const struct suci_lane_ops lane_ops = {.block_begin = block_begin,
					      .block_data = block_data,
					      .block_end = block_end,
					      .block_done = block_done,
					      .hold = wire_hold,
					      .release = wire_release,
					      .lane_down = wire_lane_down,
					      .accept = proc_accept,
					      .path_up = wire_path_up,
					      .path_down = wire_path_down,
					      .note = proc_note};

/* ---- the net ---------------------------------------------------------------------------- */

static struct wire_end *
end_at(struct net *n, const struct wire_end *from, const struct suci_addr *to)
{
	for (uint32_t i = 0; i < NODES; i++) {
		struct wire_end *x = &n->node[i].end;
		if (from->core && to->leg == RELAY_LEG_GLOBAL) {
			if (x->core && memcmp(&x->addr[1], to, sizeof *to) == 0)
				return x;
		} else if (x != from && x->cluster == from->cluster &&
			   memcmp(&x->addr[0], to, sizeof *to) == 0) {
			return x; /* both clusters use the same addresses inside */
		}
	}
	return NULL;
}

static bool
send_all(struct net *n, struct wire_end *x)
{
	struct suci_out o;
	bool moved = false;
	while (!x->dead && !x->computes && suci_tx(x->ep, &o, n->wire.now)) {
		struct wire_end *to = end_at(n, x, &o.to);
		moved = true;
		if (to && to->dead && !to->core)
			suci_path_unreachable(x->ep, &o.to, o.head, o.head_len,
					      n->wire.now); /* its kernel says so */
		else
			wire_put(x, to, &o, o.to.leg ? 5 * BASE_MS_NS : 20000);
	}
	return moved;
}

static bool
both_done(const struct net *n)
{
	const struct node *a = &n->node[0], *b = &n->node[3];
	return a->done == BLOCKS && b->done == BLOCKS && a->rx_blocks == BLOCKS &&
	       b->rx_blocks == BLOCKS;
}

static bool
both_aborted(const struct net *n)
{
	return (n->node[0].end.aborts || n->node[0].end.dead) &&
	       (n->node[3].end.aborts || n->node[3].end.dead);
}

static bool
run(struct net *n, bool (*until)(const struct net *), uint64_t for_ns)
{
	uint64_t end = n->wire.now + for_ns;
	while (n->wire.now < end) {
		uint64_t next = wire_deliver(&n->wire);
		for (uint32_t i = 0; i < NODES; i++) {
			struct wire_end *x = &n->node[i].end;
			if (x->dead || x->computes)
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

static void
make_ep(struct node *x, const struct suci_ops *ops, void *user, const struct relay_hello *h)
{
	struct suci_config sc = {
		.limits = {.paths_max = 8,
			   .segments_max = 2048,
			   .queue_max = 256,
			   .window_max = 256},
		.incarnation = 1 + base_prng_next(&x->end.wire->prng) / 2,
		.seed = base_prng_next(&x->end.wire->prng),
		.mtu_max = 1472,
		.cc = SUCI_CC_CUBIC,
		.liveness_ns = x->end.core ? 3 * BASE_S_NS : 0,
		.keepalive_ns = BASE_S_NS,
		.hello_len = RELAY_HELLO_LEN,
		.ops = ops,
		.user = user,
	};
	relay_hello_encode(h, sc.hello);
	x->mem = aligned_alloc(64, (suci_footprint(&sc.limits) + 63) & ~(size_t)63);
	x->end.ep = suci_new(x->mem, &sc, x->end.wire->now);
	assert_non_null(x->end.ep);
}

static void
make_relay(struct net *n, uint32_t i)
{
	struct node *x = &n->node[i];
	x->net = n;
	x->end.wire = &n->wire;
	x->end.cluster = i - 1;
	x->end.job = make_job(&spec[x->end.cluster]);
	x->end.addr[0] = relay_addr_v4(0x0a0000fe, 7001, RELAY_LEG_PRIVATE);
	x->end.addr[1] = maker_relay_addr(x->end.cluster, 0);
	struct relay_core_conf conf = {
		.limits = {.jobs_max = 2,
			   .procs_max = 128,
			   .hosts_max = 4,
			   .trunks_max = 2,
			   .paths_max = 8,
			   .primaries_max = 1},
		.self_global = x->end.addr[1],
		.trunk_mtu = 1472,
		.ops = &wire_core_ops,
		.user = x,
	};
	x->end.core = relay_core_new(aligned_alloc(64, relay_core_footprint(&conf.limits)), &conf);
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE, .mtu = 1472};
	make_ep(x, relay_ops(), x->end.core, &h);
	relay_bind(x->end.core, x->end.ep);
	x->rank = UINT32_MAX;
}

static void
make_proc(struct net *n, uint32_t i)
{
	struct node *x = &n->node[i];
	const struct suci_lanes_config lc = {
		.limits = {.lanes_max = 4,
			   .blocks_max = 64,
			   .rx_blocks_max = 64,
			   .held_max = 512,
			   .ranges_max = 1024,
			   .labels_max = 64},
		.ops = &lane_ops,
		.user = x,
	};
	x->net = n;
	x->end.wire = &n->wire;
	x->end.cluster = x->rank = i == 3;
	x->end.job = n->node[1 + x->end.cluster].end.job;
	x->end.addr[0] = maker_proc_addr(0);
	x->end.lanes = suci_lanes_new(
		aligned_alloc(64, (suci_lanes_footprint(&lc.limits) + 63) & ~(size_t)63), &lc);
	assert_non_null(x->end.lanes);
	struct relay_hello h = {.kind = RELAY_HELLO_PROCESS,
				.token = x->end.job->token,
				.label = x->end.job->label_base + x->rank,
				.rank = x->rank};
	make_ep(x, suci_lanes_ops(), x->end.lanes, &h);
	suci_lanes_bind(x->end.lanes, x->end.ep);
}

static void
open_lane(struct net *n, struct node *x)
{
	uint32_t peer = 1 - x->rank;
	int err = suci_path_open(x->end.ep, &n->node[1 + x->end.cluster].end.addr[0], NULL, 0,
				 &x->path, n->wire.now);
	assert_true(err == 0 || err == SUCI_ERR_EXISTS);
	struct suci_lane_conf lc =
		relay_pair_lane(x->rank, peer, x->end.job->label_base, MAKER_PROC_BASE);
	lc.path = x->path;
	lc.mss = 1472 - SUCI_OVERHEAD;
	lc.window = 256;
	assert_int_equal(suci_lane_open(x->end.lanes, &lc, &x->lane, n->wire.now), 0);
}

static struct net *
net_new(uint64_t seed, uint64_t loss_ppb)
{
	struct net *n = calloc(1, sizeof *n);
	wire_init(&n->wire, BUFS, seed, loss_ppb);
	make_relay(n, 1);
	make_relay(n, 2);
	make_proc(n, 0);
	make_proc(n, 3);
	assert_int_equal(relay_job_add(n->node[1].end.core, n->node[1].end.job, n->wire.now), 0);
	/* The other relay gets its table 120 ms later. */
	run(n, NULL, 120 * BASE_MS_NS);
	assert_int_equal(relay_job_add(n->node[2].end.core, n->node[2].end.job, n->wire.now), 0);
	run(n, NULL, 300 * BASE_MS_NS);
	open_lane(n, &n->node[0]);
	open_lane(n, &n->node[3]);
	return n;
}

static void
net_free(struct net *n)
{
	for (uint32_t i = 0; i < NODES; i++) {
		struct node *x = &n->node[i];
		suci_fini(x->end.ep, n->wire.now);
		free(x->mem);
		if (x->end.core) {
			assert_int_equal(relay_core_held(x->end.core), 0);
			free(relay_core_fini(x->end.core));
			free((void *)(uintptr_t)x->end.job);
		} else {
			free(suci_lanes_fini(x->end.lanes));
		}
	}
	wire_fini(&n->wire);
	for (int c = 0; c < 2; c++)
		for (int i = 0; i < BLOCKS; i++)
			free(n->sent[c][i]);
	free(n);
}

static void
send_blocks(struct net *n, uint32_t count)
{
	for (uint32_t c = 0; c < 2; c++) {
		struct node *x = &n->node[c ? 3 : 0];
		for (uint32_t i = 0; i < count; i++) {
			uint64_t len =
				128 + base_prng_below(&n->wire.prng, i % 3 ? 400 : BLOCK_MAX - 128);
			uint8_t *b = n->sent[c][i] = malloc(len);
			n->len[c][i] = len;
			for (uint64_t k = 0; k < len; k++)
				b[k] = (uint8_t)(base_prng_next(&n->wire.prng) >> 56);
			memcpy(b + 8, x->end.job->private_id[x->rank], 24);
			memcpy(b + 32, x->end.job->private_id[1 - x->rank], 24);
			assert_int_equal(suci_lane_send(x->end.lanes, x->lane, b, 128, b + 128,
							len - 128, true, i, n->wire.now),
					 0);
		}
	}
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static void
blocks_arrive(void **state)
{
	(void)state;
	static const uint64_t loss_ppb[] = {0, 10000000, 50000000};
	for (size_t k = 0; k < 3; k++) {
		struct net *n = net_new(k + 1, loss_ppb[k]);
		send_blocks(n, BLOCKS);
		if (!run(n, both_done, 120 * BASE_S_NS))
			fail_msg("loss %zu: done %u %u, received %u %u", k, n->node[0].done,
				 n->node[3].done, n->node[0].rx_blocks, n->node[3].rx_blocks);
		for (uint32_t i = 1; i <= 2; i++) {
			const struct relay_counters *c = relay_core_counters(n->node[i].end.core);
			assert_int_equal(c->rewritten >= 2 * BLOCKS, 1);
			assert_int_equal(c->drop_label + c->drop_source + c->drop_destination, 0);
			assert_int_equal(n->node[i].end.aborts, 0);
		}
		net_free(n);
	}
}

static void
abort_crosses_both_relays(void **state)
{
	(void)state;
	struct net *n = net_new(9, 0);
	send_blocks(n, 3);
	run(n, NULL, BASE_S_NS);
	struct relay_note note = {.type = RELAY_NOTE_ABORT,
				  .label_base = n->node[0].end.job->label_base,
				  .text = "rank 0: MPI_Abort(7)"};
	uint8_t buf[RELAY_NOTE_MAX];
	assert_int_equal(suci_path_note(n->node[0].end.ep, n->node[0].path, buf,
					relay_note_encode(&note, buf), n->wire.now),
			 0);
	n->node[0].end.aborts = 1; /* it knows */
	assert_true(run(n, both_aborted, BASE_S_NS));
	assert_string_equal(n->node[3].end.why, "rank 0: MPI_Abort(7)");
	assert_string_equal(n->node[1].end.why, "rank 0: MPI_Abort(7)");
	assert_string_equal(n->node[2].end.why, "rank 0: MPI_Abort(7)");
	run(n, NULL, 3 * BASE_S_NS);
	net_free(n);
}

static void
silent_relay_ends_the_job(void **state)
{
	(void)state;
	struct net *n = net_new(11, 0);
	send_blocks(n, 2);
	run(n, NULL, BASE_S_NS);
	n->node[2].end.dead = n->node[3].end.dead = true;
	assert_true(run(n, both_aborted, 10 * BASE_S_NS));
	assert_non_null(strstr(n->node[0].end.why, "relay 192.0.2.11:7000 of client 1 is gone"));
	assert_string_equal(n->node[0].end.why, n->node[1].end.why);
	net_free(n);
}

static void
computing_process_keeps_the_job(void **state)
{
	(void)state;
	struct net *n = net_new(13, 0);
	send_blocks(n, BLOCKS);
	run(n, NULL, 12 * BASE_MS_NS); /* in the middle of it */
	assert_false(both_done(n));
	n->node[3].end.computes = true;
	run(n, NULL, 60 * BASE_S_NS);
	assert_int_equal(n->node[0].end.aborts + n->node[3].end.aborts, 0);
	assert_false(both_done(n));
	n->node[3].end.computes = false;
	assert_true(run(n, both_done, 60 * BASE_S_NS));
	net_free(n);
}

static void
dead_process_ends_the_job(void **state)
{
	(void)state;
	struct net *n = net_new(12, 0);
	send_blocks(n, 2);
	run(n, NULL, BASE_S_NS);
	n->node[3].end.dead = true;
	assert_true(run(n, both_aborted, 10 * BASE_S_NS));
	assert_non_null(strstr(n->node[0].end.why, "process 1 (10.0.0.1:6000, client 1) is gone"));
	net_free(n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_arrive),
		cmocka_unit_test(abort_crosses_both_relays),
		cmocka_unit_test(silent_relay_ends_the_job),
		cmocka_unit_test(computing_process_keeps_the_job),
		cmocka_unit_test(dead_process_ends_the_job),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Blocks between two processes of two clusters over two real relays: lanes,
 * paths and relay cores, in virtual time, with and without loss. */
#include "cmocka_all.h"

#include "relay_job_maker.h"

#include "base/clock.h"
#include "base/prng.h"
#include "suci/lane.h"

#include <stdio.h>

#define NODES	  4 /* process of cluster 0, relay 0, relay 1, process of cluster 1 */
#define BUFS	  4096
#define BLOCKS	  40
#define BLOCK_MAX 60000u

struct node {
	struct suci *ep;
	void *mem;
	struct suci_lanes *lanes; /* processes */
	struct relay_core *core;  /* relays */
	struct suci_addr addr[2]; /* by leg */
	uint32_t cluster, rank, lane, path;
	bool dead;
	bool computes; /* is not in the library: answers nobody */
	uint32_t rx_begun, rx_blocks, done, aborts;
	char why[RELAY_WHY_MAX];
	const struct relay_job *job;
	struct net *net;
};

struct datagram {
	uint64_t due_ns;
	uint32_t to;
	struct suci_addr from;
	size_t len;
	uint32_t next;
	int refs; /* also a receive buffer: held by cookie = index */
	uint8_t bytes[1600];
};

struct net {
	struct node node[NODES];
	struct datagram *d;
	struct base_prng prng;
	uint64_t now, loss_ppb;
	uint32_t head, tail, free;
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

/* ---- buffers ----------------------------------------------------------------------- */

static void
hold(void *user, uint64_t cookie)
{
	((struct node *)user)->net->d[cookie].refs++;
}

static void
release(void *user, uint64_t cookie)
{
	struct net *n = ((struct node *)user)->net;
	struct datagram *d = &n->d[cookie];
	assert_true(d->refs > 0);
	if (--d->refs == 0) {
		d->next = n->free;
		n->free = (uint32_t)cookie;
	}
}

static uint8_t *
writable(void *user, uint64_t cookie, const uint8_t *data, size_t len)
{
	struct datagram *d = &((struct node *)user)->net->d[cookie];
	assert_true(data >= d->bytes && data + len <= d->bytes + d->len);
	return d->bytes + (data - d->bytes);
}

/* ---- relays -------------------------------------------------------------------------- */

static void
job_ended(void *user, uint32_t base, const char *why)
{
	struct node *r = user;
	assert_int_equal(base, r->job->label_base);
	r->aborts++;
	snprintf(r->why, sizeof r->why, "%s", why);
}

static const struct relay_core_ops relay_core_test_ops = {
	.writable = writable, .hold = hold, .release = release, .job_ended = job_ended};

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
	uint32_t from = 1 - p->cluster, i = ((struct block *)block)->index;
	const uint8_t *b = ((struct block *)block)->bytes;
	p->rx_blocks++;
	(void)lane, (void)now;
	assert_in_range(i, 0, BLOCKS - 1);
	const uint8_t *want = n->sent[from][i];
	assert_memory_equal(b, want, 8);
	assert_memory_equal(b + 8, p->job->private_id[1 - p->rank], 24);
	assert_memory_equal(b + 32, p->job->private_id[p->rank], 24);
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
	if (relay_hello_decode(hello, len, &h) == 0 && h.kind == IMPI_HOSTID_RELAY &&
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
		p->aborts++;
		snprintf(p->why, sizeof p->why, "%s", n.text);
	}
}

static void
lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	(void)user, (void)lane, (void)why, (void)text;
}

static void
proc_path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
	     bool incoming)
{
	(void)user, (void)path, (void)peer, (void)hello, (void)len, (void)incoming;
}

static void
proc_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	(void)user, (void)path, (void)why, (void)text;
}

static const struct suci_lane_ops lane_ops = {.block_begin = block_begin,
					      .block_data = block_data,
					      .block_end = block_end,
					      .block_done = block_done,
					      .hold = hold,
					      .release = release,
					      .lane_down = lane_down,
					      .accept = proc_accept,
					      .path_up = proc_path_up,
					      .path_down = proc_path_down,
					      .note = proc_note};

/* ---- the net ---------------------------------------------------------------------------- */

static uint32_t
node_at(const struct net *n, const struct node *from, const struct suci_addr *to)
{
	for (uint32_t i = 0; i < NODES; i++) {
		const struct node *x = &n->node[i];
		if (from->core && to->leg == RELAY_LEG_GLOBAL) {
			if (x->core && memcmp(&x->addr[1], to, sizeof *to) == 0)
				return i;
		} else if (x != from && x->cluster == from->cluster &&
			   memcmp(&x->addr[0], to, sizeof *to) == 0) {
			return i; /* both clusters use the same addresses inside */
		}
	}
	return NODES;
}

static bool
send_all(struct net *n, struct node *x)
{
	struct suci_out o;
	bool moved = false;
	while (!x->dead && !x->computes && suci_tx(x->ep, &o, n->now)) {
		uint32_t to = node_at(n, x, &o.to), i = n->free;
		moved = true;
		if (to < NODES && n->node[to].dead && !n->node[to].core) {
			suci_path_unreachable(x->ep, &o.to, n->now); /* its kernel says so */
			continue;
		}
		if (to == NODES || i == UINT32_MAX || base_prng_chance(&n->prng, n->loss_ppb))
			continue;
		struct datagram *d = &n->d[i];
		n->free = d->next;
		*d = (struct datagram){.to = to,
				       .from = x->addr[o.to.leg],
				       .next = UINT32_MAX,
				       .due_ns = n->now + (o.to.leg ? 5 * BASE_MS_NS : 20000),
				       .refs = 1};
		memcpy(d->bytes, o.head, o.head_len);
		if (o.seg_head_len)
			memcpy(d->bytes + o.head_len, o.seg_head, o.seg_head_len);
		if (o.data_len)
			memcpy(d->bytes + o.head_len + o.seg_head_len, o.data, o.data_len);
		d->len = (size_t)o.head_len + o.seg_head_len + o.data_len;
		assert_true(d->len <= 1472);
		if (n->head == UINT32_MAX)
			n->head = i;
		else
			n->d[n->tail].next = i;
		n->tail = i;
	}
	return moved;
}

/* Everything that is due; returns when the next datagram is. */
static uint64_t
deliver(struct net *n)
{
	uint32_t *at = &n->head, last = UINT32_MAX;
	uint64_t next = BASE_NEVER_NS;
	while (*at != UINT32_MAX) {
		uint32_t i = *at;
		struct datagram *d = &n->d[i];
		if (d->due_ns > n->now) {
			next = base_min_ns(next, d->due_ns);
			last = i;
			at = &d->next;
			continue;
		}
		*at = d->next;
		struct node *x = &n->node[d->to];
		if (!x->dead && !x->computes)
			suci_rx(x->ep, &d->from, d->bytes, d->len, i, n->now);
		release(x, i);
	}
	n->tail = last;
	return next;
}

static void
check_relays(struct net *n)
{
	const char *what = NULL;
	for (uint32_t i = 1; i <= 2; i++)
		if (!relay_core_check(n->node[i].core, &what))
			fail_msg("relay %u: %s", i, what);
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
	return (n->node[0].aborts || n->node[0].dead) && (n->node[3].aborts || n->node[3].dead);
}

static bool
run(struct net *n, bool (*until)(const struct net *), uint64_t for_ns)
{
	uint64_t end = n->now + for_ns;
	while (n->now < end) {
		uint64_t next = deliver(n);
		for (uint32_t i = 0; i < NODES; i++) {
			struct node *x = &n->node[i];
			if (x->dead || x->computes)
				continue;
			suci_tick(x->ep, n->now);
			if (x->core) {
				relay_core_tick(x->core, n->now);
				next = base_min_ns(next, relay_core_expiry_ns(x->core));
			} else if (x->lanes) {
				suci_lanes_flush(x->lanes, n->now);
			}
			if (send_all(n, x))
				next = base_min_ns(next, n->now + 20000);
			next = base_min_ns(next, suci_expiry_ns(x->ep));
		}
		check_relays(n);
		if (until && until(n))
			return true;
		n->now = base_max_ns(n->now + 1000, base_min_ns(next, end));
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
		.incarnation = 1 + base_prng_next(&x->net->prng) / 2,
		.seed = base_prng_next(&x->net->prng),
		.mtu_max = 1472,
		.cc = SUCI_CC_CUBIC,
		.liveness_ns = x->core ? 3 * BASE_S_NS : 0,
		.keepalive_ns = BASE_S_NS,
		.hello_len = RELAY_HELLO_LEN,
		.ops = ops,
		.user = user,
	};
	relay_hello_encode(h, sc.hello);
	x->mem = aligned_alloc(64, (suci_footprint(&sc.limits) + 63) & ~(size_t)63);
	x->ep = suci_new(x->mem, &sc, x->net->now);
	assert_non_null(x->ep);
}

static void
make_relay(struct net *n, uint32_t i)
{
	struct node *x = &n->node[i];
	x->net = n;
	x->cluster = i - 1;
	x->job = make_job(&spec[x->cluster]);
	x->addr[0] = relay_addr_v4(0x0a0000fe, 7001, RELAY_LEG_PRIVATE);
	x->addr[1] = maker_relay_addr(x->cluster, 0);
	struct relay_core_conf conf = {
		.limits = {.jobs_max = 2,
			   .procs_max = 128,
			   .hosts_max = 4,
			   .trunks_max = 2,
			   .paths_max = 8,
			   .primaries_max = 1},
		.self_global = x->addr[1],
		.trunk_mtu = 1472,
		.ops = &relay_core_test_ops,
		.user = x,
	};
	x->core = relay_core_new(aligned_alloc(64, relay_core_footprint(&conf.limits)), &conf);
	struct relay_hello h = {.kind = IMPI_HOSTID_RELAY, .rank = RELAY_RANK_NONE, .mtu = 1472};
	make_ep(x, relay_ops(), x->core, &h);
	relay_bind(x->core, x->ep);
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
	x->cluster = x->rank = i == 3;
	x->job = n->node[1 + x->cluster].job;
	x->addr[0] = maker_proc_addr(0);
	x->lanes = suci_lanes_new(
		aligned_alloc(64, (suci_lanes_footprint(&lc.limits) + 63) & ~(size_t)63), &lc);
	assert_non_null(x->lanes);
	struct relay_hello h = {.kind = IMPI_HOSTID_LIBMPI,
				.token = x->job->token,
				.label = x->job->label_base + x->rank,
				.rank = x->rank};
	make_ep(x, suci_lanes_ops(), x->lanes, &h);
	suci_lanes_bind(x->lanes, x->ep);
}

static void
open_lane(struct net *n, struct node *x)
{
	uint32_t peer = 1 - x->rank;
	int err =
		suci_path_open(x->ep, &n->node[1 + x->cluster].addr[0], NULL, 0, &x->path, n->now);
	assert_true(err == 0 || err == SUCI_ERR_EXISTS);
	struct suci_lane_conf lc = {
		.path = x->path,
		.tx_dst_label = x->job->label_base + peer,
		.tx_src_label = x->job->label_base + x->rank,
		.rx_dst_label = MAKER_PROC_BASE + x->rank,
		.rx_src_label = MAKER_PROC_BASE + peer,
		.crc = true,
		.tx_salt = (uint64_t)x->rank << 32 | peer,
		.rx_salt = (uint64_t)peer << 32 | x->rank,
		.skip_off = 8,
		.skip_len = 48,
		.mss = 1472 - SUCI_OVERHEAD,
		.window = 256,
	};
	assert_int_equal(suci_lane_open(x->lanes, &lc, &x->lane, n->now), 0);
}

static struct net *
net_new(uint64_t seed, uint64_t loss_ppb)
{
	struct net *n = calloc(1, sizeof *n);
	n->d = calloc(BUFS, sizeof *n->d);
	for (uint32_t i = 0; i < BUFS; i++)
		n->d[i].next = i + 1 < BUFS ? i + 1 : UINT32_MAX;
	n->head = n->tail = UINT32_MAX;
	n->now = BASE_S_NS;
	n->prng = base_prng_seed(seed);
	n->loss_ppb = loss_ppb;
	make_relay(n, 1);
	make_relay(n, 2);
	make_proc(n, 0);
	make_proc(n, 3);
	assert_int_equal(relay_job_add(n->node[1].core, n->node[1].job, n->now), 0);
	/* The other relay gets its table 120 ms later. */
	run(n, NULL, 120 * BASE_MS_NS);
	assert_int_equal(relay_job_add(n->node[2].core, n->node[2].job, n->now), 0);
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
		suci_fini(x->ep, n->now);
		free(x->mem);
		if (x->core) {
			assert_int_equal(relay_core_held(x->core), 0);
			free(relay_core_fini(x->core));
			free((void *)(uintptr_t)x->job);
		} else {
			free(suci_lanes_fini(x->lanes));
		}
	}
	/* Every buffer is back, but for those still on the wire. */
	uint32_t wire = 0, back = 0;
	for (uint32_t i = n->head; i != UINT32_MAX; i = n->d[i].next)
		wire++;
	for (uint32_t i = n->free; i != UINT32_MAX; i = n->d[i].next)
		back++;
	assert_int_equal(wire + back, BUFS);
	for (int c = 0; c < 2; c++)
		for (int i = 0; i < BLOCKS; i++)
			free(n->sent[c][i]);
	free(n->d);
	free(n);
}

static void
send_blocks(struct net *n, uint32_t count)
{
	for (uint32_t c = 0; c < 2; c++) {
		struct node *x = &n->node[c ? 3 : 0];
		for (uint32_t i = 0; i < count; i++) {
			uint64_t len =
				128 + base_prng_below(&n->prng, i % 3 ? 400 : BLOCK_MAX - 128);
			uint8_t *b = n->sent[c][i] = malloc(len);
			n->len[c][i] = len;
			for (uint64_t k = 0; k < len; k++)
				b[k] = (uint8_t)(base_prng_next(&n->prng) >> 56);
			memcpy(b + 8, x->job->private_id[x->rank], 24);
			memcpy(b + 32, x->job->private_id[1 - x->rank], 24);
			assert_int_equal(suci_lane_send(x->lanes, x->lane, b, 128, b + 128,
							len - 128, true, i, n->now),
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
			const struct relay_counters *c = relay_core_counters(n->node[i].core);
			assert_int_equal(c->rewritten >= 2 * BLOCKS, 1);
			assert_int_equal(c->drop_label + c->drop_source + c->drop_destination, 0);
			assert_int_equal(n->node[i].aborts, 0);
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
				  .label_base = n->node[0].job->label_base,
				  .text = "rank 0: MPI_Abort(7)"};
	uint8_t buf[RELAY_NOTE_MAX];
	assert_int_equal(suci_path_note(n->node[0].ep, n->node[0].path, buf,
					relay_note_encode(&note, buf), n->now),
			 0);
	n->node[0].aborts = 1; /* it knows */
	assert_true(run(n, both_aborted, BASE_S_NS));
	assert_string_equal(n->node[3].why, "rank 0: MPI_Abort(7)");
	assert_string_equal(n->node[1].why, "rank 0: MPI_Abort(7)");
	assert_string_equal(n->node[2].why, "rank 0: MPI_Abort(7)");
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
	n->node[2].dead = n->node[3].dead = true;
	assert_true(run(n, both_aborted, 10 * BASE_S_NS));
	assert_non_null(strstr(n->node[0].why, "relay 192.0.2.11:7000 of client 1 is gone"));
	assert_string_equal(n->node[0].why, n->node[1].why);
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
	n->node[3].computes = true;
	run(n, NULL, 60 * BASE_S_NS);
	assert_int_equal(n->node[0].aborts + n->node[3].aborts, 0);
	assert_false(both_done(n));
	n->node[3].computes = false;
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
	n->node[3].dead = true;
	assert_true(run(n, both_aborted, 10 * BASE_S_NS));
	assert_non_null(strstr(n->node[0].why, "process 1 (10.0.0.1:6000, client 1) is gone"));
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

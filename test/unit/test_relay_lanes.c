/* Lanes between processes and gateways over real endpoints and relay cores, in
 * virtual time.  The gateways are plain Suci endpoints with lanes.
 *
 *     cluster A, client 0: ranks 0, 1, ours           2 relays, 2 gateways
 *     cluster B, client 1: ranks 2, 3, foreign        2 relays, 2 gateways
 *     client 2: ranks 4, 5, foreign, global address   known to the gateways of A and B */
#include "cmocka_all.h"

#include "relay_job_maker.h"

#include "base/clock.h"
#include "base/prng.h"
#include "suci/lane.h"

#include <stdio.h>

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
	enum type type;
	uint32_t cluster, index; /* process, or relay it is or belongs to */
	struct suci *ep;
	struct suci_lanes *lanes;
	struct relay_core *core;
	struct suci_addr addr[2]; /* by leg */
	const struct relay_job *job;
	bool dead;
	uint32_t aborts;
	char why[RELAY_WHY_MAX];
	struct lane lane[LANES_MAX];
	uint32_t nlanes;
	struct net *net;
};

struct datagram {
	uint64_t due_ns;
	uint32_t to, next;
	struct suci_addr from;
	size_t len;
	int refs;
	uint8_t bytes[1500];
};

struct net {
	struct node node[NODES];
	uint32_t nnodes;
	struct datagram *d;
	struct base_prng prng;
	uint64_t now, loss_ppb;
	uint32_t head, tail, free;
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

/* ---- buffers, relays ------------------------------------------------------------------- */

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

static void
job_ended(void *user, uint32_t base, const char *why)
{
	struct node *r = user;
	assert_int_equal(base, r->job->label_base);
	r->aborts++;
	snprintf(r->why, sizeof r->why, "%s", why);
}

static const struct relay_core_ops core_ops = {
	.writable = writable, .hold = hold, .release = release, .job_ended = job_ended};

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
		assert_memory_equal(b->bytes + 8, x->job->private_id[l->other], 24);
		assert_memory_equal(b->bytes + 32, x->job->private_id[l->me], 24);
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
	if (relay_hello_decode(hello, len, &h) == 0 && h.kind == IMPI_HOSTID_RELAY &&
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
		x->aborts++;
		snprintf(x->why, sizeof x->why, "%s", n.text);
	}
}

static void
lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	(void)user, (void)lane, (void)why, (void)text;
}

static void
end_path_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
	    bool incoming)
{
	(void)user, (void)path, (void)peer, (void)hello, (void)len, (void)incoming;
}

static void
end_path_down(void *user, uint32_t path, enum suci_down why, const char *text)
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
					      .accept = end_accept,
					      .path_up = end_path_up,
					      .path_down = end_path_down,
					      .note = end_note};

/* ---- the net ----------------------------------------------------------------------------- */

static struct node *
node_at(struct net *n, const struct node *from, const struct suci_addr *to)
{
	for (uint32_t i = 0; i < n->nnodes; i++) {
		struct node *x = &n->node[i];
		bool there = to->leg == RELAY_LEG_GLOBAL || x->cluster == from->cluster;
		if (x != from && there && memcmp(&x->addr[to->leg], to, sizeof *to) == 0)
			return x;
	}
	return NULL;
}

static bool
send_all(struct net *n, struct node *x)
{
	struct suci_out o;
	bool moved = false;
	while (!x->dead && suci_tx(x->ep, &o, n->now)) {
		const struct node *to = node_at(n, x, &o.to);
		uint32_t i = n->free;
		moved = true;
		if (!to || i == UINT32_MAX || base_prng_chance(&n->prng, n->loss_ppb))
			continue;
		struct datagram *d = &n->d[i];
		n->free = d->next;
		*d = (struct datagram){.to = (uint32_t)(to - n->node),
				       .from = x->addr[o.to.leg],
				       .next = UINT32_MAX,
				       .due_ns = n->now + (o.to.leg ? 2 * BASE_MS_NS : 20000),
				       .refs = 1};
		memcpy(d->bytes, o.head, o.head_len);
		if (o.seg_head_len)
			memcpy(d->bytes + o.head_len, o.seg_head, o.seg_head_len);
		if (o.data_len)
			memcpy(d->bytes + o.head_len + o.seg_head_len, o.data, o.data_len);
		d->len = (size_t)o.head_len + o.seg_head_len + o.data_len;
		if (n->head == UINT32_MAX)
			n->head = i;
		else
			n->d[n->tail].next = i;
		n->tail = i;
	}
	return moved;
}

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
		if (!x->dead)
			suci_rx(x->ep, &d->from, d->bytes, d->len, i, n->now);
		release(x, i);
	}
	n->tail = last;
	return next;
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
		if (n->node[i].type != GATEWAY && !n->node[i].aborts)
			return false;
	return true;
}

static bool
run(struct net *n, bool (*until)(const struct net *), uint64_t for_ns)
{
	uint64_t end = n->now + for_ns;
	while (n->now < end) {
		uint64_t next = deliver(n);
		for (uint32_t i = 0; i < n->nnodes; i++) {
			struct node *x = &n->node[i];
			const char *what = NULL;
			if (x->dead)
				continue;
			suci_tick(x->ep, n->now);
			if (x->core) {
				relay_core_tick(x->core, n->now);
				next = base_min_ns(next, relay_core_expiry_ns(x->core));
				if (!relay_core_check(x->core, &what))
					fail_msg("relay %u of %u: %s", x->index, x->cluster, what);
			} else {
				suci_lanes_flush(x->lanes, n->now);
			}
			if (send_all(n, x))
				next = base_min_ns(next, n->now + 20000);
			next = base_min_ns(next, suci_expiry_ns(x->ep));
		}
		if (until && until(n))
			return true;
		n->now = base_max_ns(n->now + 1000, base_min_ns(next, end));
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
		.self_global = maker_relay_addr(x->cluster, x->index),
		.trunk_mtu = 1472,
		.gateway = {gateway_addr(0), gateway_addr(1)},
		.ngateways = 2,
		.ops = &core_ops,
		.user = x,
	};
	x->addr[0] = relay_addr_v4(0x0a0000f0u + x->index, 7001, RELAY_LEG_PRIVATE);
	x->addr[1] = conf.self_global;
	x->core = relay_core_new(aligned_alloc(64, relay_core_footprint(&conf.limits)), &conf);
	assert_non_null(x->core);
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
	x->addr[0] = x->type == GATEWAY ? gateway_addr(x->index) : maker_proc_addr(x->index);
	x->lanes = suci_lanes_new(
		aligned_alloc(64, (suci_lanes_footprint(&lc.limits) + 63) & ~(size_t)63), &lc);
	assert_non_null(x->lanes);
}

static struct node *
make_node(struct net *n, enum type type, uint32_t cluster, uint32_t index)
{
	struct node *x = &n->node[n->nnodes++];
	*x = (struct node){.type = type, .cluster = cluster, .index = index, .net = n};
	x->job = make_job(&spec[cluster]);
	if (type == RELAY)
		make_core(x);
	else
		make_lanes(x);
	struct suci_config sc = {
		.limits = {.paths_max = 16,
			   .segments_max = 4096,
			   .queue_max = 512,
			   .window_max = 256},
		.incarnation = 1 + base_prng_next(&n->prng) / 2,
		.seed = base_prng_next(&n->prng),
		.mtu_max = 1472,
		.cc = SUCI_CC_CUBIC,
		.liveness_ns = type == PROC ? 0 : 3 * BASE_S_NS,
		.keepalive_ns = BASE_S_NS,
		.hello_len = RELAY_HELLO_LEN,
		.ops = type == RELAY ? relay_ops() : suci_lanes_ops(),
		.user = type == RELAY ? (void *)x->core : (void *)x->lanes,
	};
	static const uint8_t kind[] = {IMPI_HOSTID_LIBMPI, IMPI_HOSTID_RELAY, RELAY_HELLO_GATEWAY};
	struct relay_hello h = {.kind = kind[type], .rank = RELAY_RANK_NONE, .mtu = 1472};
	if (type == PROC)
		h = (struct relay_hello){.kind = kind[type],
					 .token = x->job->token,
					 .label = x->job->label_base + index,
					 .rank = index};
	relay_hello_encode(&h, sc.hello);
	x->ep = suci_new(aligned_alloc(64, (suci_footprint(&sc.limits) + 63) & ~(size_t)63), &sc,
			 n->now);
	assert_non_null(x->ep);
	if (type == RELAY)
		relay_bind(x->core, x->ep);
	else
		suci_lanes_bind(x->lanes, x->ep);
	return x;
}

static struct node *
find(struct net *n, enum type type, uint32_t cluster, uint32_t index)
{
	for (uint32_t i = 0; i < n->nnodes; i++) {
		struct node *x = &n->node[i];
		if (x->type == type && x->cluster == cluster && x->index == index)
			return x;
	}
	fail();
	return NULL;
}

/* Who speaks for rank in cluster towards other: itself, or a gateway. */
static struct node *
end_of(struct net *n, uint32_t cluster, uint32_t rank, uint32_t other)
{
	const struct relay_job *j = find(n, RELAY, cluster, 0)->job;
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
		x->type == GATEWAY ? relay_gateway_base(x->job->label_base) : MAKER_PROC_BASE;
	int err = suci_path_open(x->ep, &find(n, RELAY, x->cluster, m)->addr[0], NULL, 0, &path,
				 n->now);
	/* A gateway opens none: its relay has. */
	assert_true(err == SUCI_ERR_EXISTS || (err == 0 && x->type == PROC));
	struct suci_lane_conf lc = {
		.path = path,
		.tx_dst_label = x->job->label_base + other,
		.tx_src_label = x->job->label_base + me,
		.rx_dst_label = base + me,
		.rx_src_label = base + other,
		.crc = true,
		.tx_salt = (uint64_t)me << 32 | other,
		.rx_salt = (uint64_t)other << 32 | me,
		.skip_off = 8,
		.skip_len = 48,
		.mss = 1472 - SUCI_OVERHEAD,
		.window = 128,
	};
	*l = (struct lane){.at = x, .me = me, .other = other};
	assert_int_equal(suci_lane_open(x->lanes, &lc, &l->index, n->now), 0);
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
	n->d = calloc(BUFS, sizeof *n->d);
	for (uint32_t i = 0; i < BUFS; i++)
		n->d[i].next = i + 1 < BUFS ? i + 1 : UINT32_MAX;
	n->head = n->tail = UINT32_MAX;
	n->now = BASE_S_NS;
	n->prng = base_prng_seed(seed);
	n->loss_ppb = loss_ppb;
	for (uint32_t c = 0; c < 2; c++)
		for (uint32_t m = 0; m < 2; m++)
			make_node(n, RELAY, c, m);
	make_node(n, PROC, 0, 0);
	make_node(n, PROC, 0, 1);
	/* The jobs come one by one, the gateways after them. */
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(relay_job_add(n->node[i].core, n->node[i].job, n->now), 0);
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
		free(suci_fini(x->ep, n->now));
		if (x->core)
			assert_int_equal(relay_core_held(x->core), 0);
		free(relay_core_fini(x->core));
		if (x->lanes)
			free(suci_lanes_fini(x->lanes));
		free((void *)(uintptr_t)x->job);
		for (uint32_t k = 0; k < x->nlanes; k++)
			for (uint32_t b = 0; b < BLOCKS; b++)
				free(x->lane[k].sent[b]);
	}
	uint32_t known = 0;
	for (uint32_t i = n->head; i != UINT32_MAX; i = n->d[i].next)
		known++;
	for (uint32_t i = n->free; i != UINT32_MAX; i = n->d[i].next)
		known++;
	assert_int_equal(known, BUFS);
	free(n->d);
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
			size_t len = 128 + base_prng_below(&n->prng, b % 3 ? 400 : BLOCK_MAX - 128);
			uint8_t *p = l->sent[b] = malloc(len);
			l->len[b] = len;
			for (size_t c = 0; c < len; c++)
				p[c] = (uint8_t)(base_prng_next(&n->prng) >> 56);
			assert_int_equal(suci_lane_send(x->lanes, l->index, p, 128, p + 128,
							len - 128, true, b, n->now),
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
			const struct relay_counters *c = relay_core_counters(x->core);
			struct relay_job_info info;
			assert_int_equal(x->aborts, 0);
			assert_true(c->rx_from_gateways > 0);
			assert_int_equal(c->drop_label + c->drop_source + c->drop_destination +
						 c->drop_foreign + c->drop_malformed + c->drop_path,
					 0);
			assert_true(relay_core_job(x->core, 0, &info));
			assert_int_equal(info.gateways_up, 2);
			assert_int_equal(info.trunks_up, 2);
			assert_int_equal(info.local_up, x->cluster ? 2 : info.local_up);
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
	find(n, GATEWAY, 1, 1)->dead = true;
	assert_true(run(n, all_aborted, 20 * BASE_S_NS));
	for (uint32_t i = 0; i < n->nnodes; i++)
		if (n->node[i].type != GATEWAY)
			assert_string_equal(n->node[i].why,
					    "gateway 10.0.0.225:7200 of relay 1 is gone: nothing "
					    "heard from the peer");
	net_free(n);
}

static void
gateway_that_never_comes(void **state)
{
	(void)state;
	struct net *n = calloc(1, sizeof *n);
	n->d = calloc(BUFS, sizeof *n->d);
	for (uint32_t i = 0; i < BUFS; i++)
		n->d[i].next = i + 1 < BUFS ? i + 1 : UINT32_MAX;
	n->head = n->tail = UINT32_MAX;
	n->now = BASE_S_NS;
	for (uint32_t i = 0; i < 4; i++)
		make_node(n, RELAY, i / 2, i % 2);
	for (uint32_t i = 0; i < 3; i++)
		make_node(n, GATEWAY, i / 2, i % 2);
	make_node(n, PROC, 0, 0);
	make_node(n, PROC, 0, 1);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(relay_job_add(n->node[i].core, n->node[i].job, n->now), 0);
	assert_true(run(n, all_aborted, 25 * BASE_S_NS));
	for (uint32_t i = 0; i < 4; i++)
		assert_non_null(strstr(n->node[i].why, "gateway 10.0.0.225:7200 of relay 1 is "
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

/* SPDX-License-Identifier: BSD-2-Clause */
/* count_worker - what a segment costs a worker in instructions, for callgrind (make count): from
 * the frame that its port has to the one that it gives to the other port.  Per turn that is 32
 * full segments of a process, the acks of the relay behind, and what the worker does besides.
 *
 * The worker is real, and so are EAL and its ports.  Those are net_ring: each is one ring, from
 * which the worker takes all before it puts something in.  Its time is the machine's.
 *
 * Prints the number of segments. */
#include "count_node.h"

#include "driver/eal.h"
#include "driver/pool.h"
#include "keys.h"
#include "rd/conf.h"
#include "worker.h"
#include "worker_internal.h"

#include <rte_mbuf.h>
#include <rte_ring.h>

#define WARM	100u
#define TURNS	300u
#define PROCESS 0x0a000001u
#define RELAY	0x0a0000feu

static const char text[] =
	"{ \"cluster\": { \"name\": \"a\", \"relays\": "
	"[ { \"private\": \"10.0.0.254\", \"global\": \"192.0.2.1\" } ] },"
	"\"ports\": {"
	"\"private\": { \"device\": \"net_ring0\", \"address\": \"10.0.0.254\", "
	"\"prefix_len\": 24, \"mtu\": 1500, \"udp_port\": 7001 },"
	"\"global\": { \"device\": \"net_ring1\", \"address\": \"192.0.2.1\", "
	"\"prefix_len\": 24, \"mtu\": 1500, \"udp_port\": 7000, \"sealing\": \"off\" } },"
	"\"suci\": { \"global_mtu_start\": 1500 },"
	"\"limits\": { \"segments\": 2048, \"queue\": 1024, \"window\": 1024, \"paths\": 8, "
	"\"procs\": 512, \"hosts\": 8, \"trunks\": 4 },"
	"\"impi\": { \"server\": \"203.0.113.5:7810\" } }";

/* Who is at a port, and its ring. */
static struct end {
	struct node *n;
	struct suci_addr at;
	struct rd_station station;
	struct rte_ring *ring;
	struct queue in;
} end[RD_LEGS];

static struct rd_conf conf;
static struct rd_keys keys;
static struct rd_worker w;
static struct rd_port port[RD_LEGS];
static struct rd_mailbox *box;
static struct rd_wake control_wake;
static struct rte_mempool *pool;

void count_turn(struct rd_worker *worker);

__attribute__((noinline)) void
count_turn(struct rd_worker *worker)
{
	(void)rd_worker_turn(worker);
}

static void
start_ports(void)
{
	struct rd_eal_opts o = {.prog = "count", .main_lcore = -1, .mem_mb = 96};
	struct rd_pool_plan plan = {.count = 8192, .room_bytes = 2048 + RTE_PKTMBUF_HEADROOM};
	char err[256];
	if (rd_eal_start(&o, err, sizeof err) ||
	    rd_pool_create(&pool, "frames", &plan, 0, err, sizeof err))
		die(err);
	for (uint32_t i = 0; i < RD_LEGS; i++) {
		char name[32];
		struct rd_port_conf c = {.device = conf.port[i].device,
					 .mtu = 1500,
					 .n_rxq = 1,
					 .n_txq = 1,
					 .pool = pool};
		if (rd_port_open(&port[i], &c, err, sizeof err))
			die(err);
		snprintf(name, sizeof name, "ETH_RXTX0_net_ring%u", i);
		end[i].ring = rte_ring_lookup(name);
		if (!end[i].ring)
			die("the port has no such ring");
	}
}

static void
start_worker(void)
{
	char err[256];
	w.lcore = 0;
	w.nworkers = 1;
	w.pool = pool;
	w.keys = &keys;
	w.nlegs = RD_LEGS;
	w.wake_of[0] = &box->wake_worker;
	for (uint32_t i = 0; i < RD_LEGS; i++) {
		const struct rd_conf_port *p = &conf.port[i];
		struct rd_leg *leg = &w.leg[i];
		leg->name = rd_leg_names[i];
		leg->index = (uint8_t)i;
		leg->self = (struct rd_station){.address = p->address,
						.prefix_len = p->prefix_len,
						.udp_port = (uint16_t)p->udp_port,
						.udp_first = (uint16_t)p->udp_port,
						.nshards = 1,
						.sum_required = i != RD_LEG_PRIVATE};
		memcpy(leg->self.mac, port[i].mac, 6);
		leg->mtu = p->mtu;
		leg->port = &port[i];
		leg->pool = pool;
	}
	if (rd_worker_init(&w, &conf, box, err, sizeof err))
		die(err);
	for (uint32_t i = 0; i < RD_LEGS; i++)
		(void)rd_neigh_fix(w.leg[i].neigh, end[i].station.address, end[i].station.mac);
	struct relay_job *j = make_job(&spec);
	if (relay_job_add(w.core, j, w.now_ns) != 0)
		die("relay_job_add");
}

static void
add_end(uint32_t leg, const struct relay_hello *hello, struct suci_addr at, uint32_t address,
	uint16_t udp_port)
{
	end[leg].n = raw_node(1 + leg, hello);
	end[leg].at = at;
	end[leg].station = (struct rd_station){.mac = {2, 0, 0, 0, 1, (uint8_t)leg},
					       .address = address,
					       .prefix_len = 24,
					       .udp_port = udp_port};
}

/* What the node made becomes frames in the worker's port. */
static void
put_frames(struct end *e, uint32_t leg)
{
	const struct rd_station *to = &w.leg[leg].self;
	struct queue *q = calloc(1, sizeof *q);
	struct suci_addr relay =
		relay_addr_v4(to->address, to->udp_port, 0); /* nodes know no legs */
	if (!q)
		die("memory");
	carry(e->n, &relay, &e->at, q);
	for (uint32_t i = 0; i < q->n; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
		uint8_t *frame =
			m ? (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(RD_FRAME_HDR + q->d[i].len))
			  : NULL;
		if (!frame)
			die("no buffer");
		memcpy(frame + RD_FRAME_HDR, q->d[i].bytes, q->d[i].len);
		rd_write_udp(frame, &e->station, to->mac, to->address, to->udp_port, 1, q->d[i].len,
			     2);
		rd_udp_checksum(frame, q->d[i].len, 0);
		if (i >= RD_BURST || rte_ring_enqueue(e->ring, m))
			die("more than a turn takes");
	}
	free(q);
}

/* What the worker sent comes to the node. */
static void
take_frames(struct end *e, uint32_t leg)
{
	const struct rd_station *from = &w.leg[leg].self;
	void *p;
	e->in.n = 0;
	while (rte_ring_dequeue(e->ring, &p) == 0) {
		struct rte_mbuf *m = p;
		struct dgram *d = &e->in.d[e->in.n];
		uint8_t udp[8];
		uint32_t off = RD_FRAME_HDR, len = m->pkt_len;
		if (len > off && rte_pktmbuf_linearize(m) == 0) {
			memcpy(udp, rte_pktmbuf_mtod(m, uint8_t *) + off - 8, 8);
			d->len = be16_load(udp + 4) - 8u;
			if (be16_load(udp) == from->udp_port && d->len <= MTU &&
			    off + d->len <= len && e->in.n < OUTS_MAX - 1) {
				d->from = relay_addr_v4(from->address, from->udp_port, 0);
				memcpy(d->bytes, rte_pktmbuf_mtod(m, uint8_t *) + off, d->len);
				e->in.n++;
			}
		}
		rte_pktmbuf_free(m);
	}
}

static uint64_t
run(void)
{
	uint32_t seq = 0;
	uint64_t before = 0;
	struct suci_addr relay = relay_addr_v4(RELAY, 7001, 0);
	if (suci_path_open(end[0].n->ep, &relay, NULL, 0, &end[0].n->path, now) < 0)
		die("suci_path_open");
	for (uint32_t i = 0; i < WARM + TURNS; i++) {
		if (i == WARM)
			before = end[1].n->got;
		rd_worker_see_clock(&w);
		now = w.now_ns;
		if (end[0].n->up && end[1].n->up)
			offer(end[0].n, &seq);
		for (uint32_t k = 0; k < RD_LEGS; k++) {
			node_take(end[k].n, &end[k].in);
			node_make(end[k].n);
			put_frames(&end[k], k);
		}
		if (i < WARM)
			(void)rd_worker_turn(&w);
		else
			count_turn(&w);
		for (uint32_t k = 0; k < RD_LEGS; k++)
			take_frames(&end[k], k);
	}
	return end[1].n->got - before;
}

int
main(void)
{
	struct rd_faults faults = {0};
	struct relay_hello process = {.kind = RELAY_HELLO_PROCESS,
				      .token = spec.token,
				      .label = spec.label_base[0],
				      .rank = 0},
			   trunk = {.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE};
	if (!rd_conf_parse(text, sizeof text - 1, &conf, &faults))
		die(faults.fault[0].text);
	box = aligned_alloc(64, (sizeof *box + 63) & ~(size_t)63);
	if (!box || rd_wake_init(&control_wake) || rd_mailbox_init(box, &control_wake))
		die("no mailbox");
	start_ports();
	rd_clock_init(&w.clock);
	now = rd_clock_ns(&w.clock);
	add_end(RD_LEG_PRIVATE, &process, maker_proc_addr(0), PROCESS, 6000);
	add_end(RD_LEG_GLOBAL, &trunk, maker_relay_addr(1, 0), maker_relay_ip(1, 0), 7000);
	start_worker();
	uint64_t n = run();
	if (n < TURNS * BATCH * 8 / 10) {
		fprintf(stderr, "count_worker: %llu segments in %u turns\n", (unsigned long long)n,
			TURNS);
		return 1;
	}
	printf("%llu\n", (unsigned long long)n);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* count - what one segment costs in instructions, for callgrind (make count).
 *
 *   count send|receive|forward|send-many|receive-many|ping [TURNS [ns]]
 *
 * Real endpoints and a real relay core in one process, in virtual time, without loss.  Each
 * turn carries a batch of full segments (MTU 1500).  What is counted happens inside
 * count_turn() and nothing else does: test/count/run starts callgrind with
 * --toggle-collect=count_turn and divides by the segments printed here.
 *
 *   send     a lane cuts blocks into segments, suci_tx() makes datagrams of them; its acks
 *            come in
 *   receive  suci_rx() of such datagrams, the lane's callbacks, acks go out.  Placing the
 *            bytes is the caller's
 *   -many    the same with 100 000 lanes open at both ends, of which 1000 send by turns
 *   ping     one end of a ping-pong of 8 B: a datagram with segment and ack comes in, one goes
 *            out.  Per round trip
 *   forward  a relay: in from a process, out to another relay, acks on both sides
 *
 * With ns, what is printed is not the number of segments but the time of one in
 * nanoseconds, at best of eight parts of the run (test/eval/calibrate).
 *
 * Nothing touches payload: checksums over it would hide what the protocol costs. */
#include "count_node.h"

#include <time.h>

#define WARM	200u
#define TURN_NS (100 * BASE_US_NS)
#define PING_NS (10 * BASE_US_NS)
#define MANY	100000u
#define BUSY	1000u

/* ---- the part that is counted ---- */

void count_turn(struct node *n, struct queue *in);
void warm_turn(struct node *n, struct queue *in);

static inline __attribute__((always_inline)) void
turn(struct node *n, struct queue *in)
{
	node_take(n, in);
	while (n->lane != UINT32_MAX && n->blocks < n->most) {
		if (suci_lane_send(n->lanes, n->lane, NULL, 0, payload, n->bytes, false, 0, now) <
		    0)
			die("suci_lane_send");
		n->blocks++;
	}
	while (n->ntodo)
		if (suci_lane_send(n->lanes, n->todo[--n->ntodo], NULL, 0, payload, BLOCK, false, 0,
				   now) < 0)
			die("suci_lane_send");
	node_make(n);
}

__attribute__((noinline)) void
count_turn(struct node *n, struct queue *in)
{
	turn(n, in);
}

__attribute__((noinline)) void
warm_turn(struct node *n, struct queue *in)
{
	turn(n, in);
}

/* ---- around it ---- */

static void *
block_begin(void *user, uint32_t lane, uint64_t bytes, const uint8_t *first, size_t len,
	    uint64_t at)
{
	(void)lane, (void)bytes, (void)first, (void)len, (void)at;
	return user;
}

static void
block_data(void *user, uint32_t lane, void *block, uint64_t off, const uint8_t *data, size_t len)
{
	struct node *n = user;
	(void)lane, (void)block, (void)off, (void)data, (void)len;
	n->got++;
}

static void
block_end(void *user, uint32_t lane, void *block, uint64_t at)
{
	(void)user, (void)lane, (void)block, (void)at;
}

static void
block_done(void *user, uint32_t lane, uint64_t cookie, bool ok, uint64_t at)
{
	struct node *n = user;
	(void)cookie, (void)ok, (void)at;
	if (n->todo)
		n->todo[n->ntodo++] = lane;
	else
		n->blocks--;
}

static void
lane_down(void *user, uint32_t lane, enum suci_down why, const char *text)
{
	(void)user, (void)lane, (void)why;
	die(text);
}

static const struct suci_lane_ops lane_ops = {
	.block_begin = block_begin,
	.block_data = block_data,
	.block_end = block_end,
	.block_done = block_done,
	.lane_down = lane_down,
	.accept = on_accept,
	.path_up = on_up,
	.path_down = on_down,
};

static struct node *
lane_node(uint64_t incarnation, bool many)
{
	struct node *n = calloc(1, sizeof *n);
	struct suci_lanes_config lc = {.limits = {.lanes_max = many ? MANY : 4,
						  .blocks_max = many ? BUSY : 16,
						  .rx_blocks_max = many ? BUSY : 16,
						  .ranges_max = 64,
						  .labels_max = many ? MANY : 4},
				       .ops = &lane_ops,
				       .user = n};
	if (!n)
		die("memory");
	n->lane = UINT32_MAX;
	n->most = 2;
	n->bytes = BLOCK;
	n->lanes = suci_lanes_new(memory(suci_lanes_footprint(&lc.limits)), &lc);
	n->ep = endpoint(incarnation, suci_lanes_ops(), n->lanes, (const uint8_t *)"", 0);
	suci_lanes_bind(n->lanes, n->ep);
	return n;
}

/* Time of what is counted, by eighth of the run. */
static struct {
	bool wanted;
	uint64_t ns[8], segments[8], turn, turns;
} timing;

static uint64_t
clock_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * BASE_S_NS + (uint64_t)t.tv_nsec;
}

static void
time_turn(struct node *n, struct queue *in)
{
	uint64_t part = timing.turn++ * 8 / timing.turns;
	uint64_t segments = n->segments + n->got, from = clock_ns();
	count_turn(n, in);
	timing.ns[part] += clock_ns() - from;
	timing.segments[part] += n->segments + n->got - segments;
}

static void
run_turn(struct node *n, struct queue *in, bool counted)
{
	if (counted && timing.wanted)
		time_turn(n, in);
	else if (counted)
		count_turn(n, in);
	else
		warm_turn(n, in);
	in->n = 0;
}

static void
print_time(void)
{
	double best = 1e9;
	for (uint32_t i = 0; i < 8; i++) {
		double ns = (double)timing.ns[i] / (double)timing.segments[i];
		best = ns < best ? ns : best;
	}
	printf("%.1f\n", best);
}

/* ---- lanes: a sends, b receives ---- */

static void
open_lanes(struct node *n, bool many)
{
	struct suci_lane_conf c = {.path = n->path,
				   .tx_dst_label = 1,
				   .rx_dst_label = 1,
				   .direct = true,
				   .window = 1024};
	for (uint32_t k = 0; k < (many ? MANY : 1); k++) {
		uint32_t lane;
		c.tx_src_label = c.rx_src_label = k;
		if (suci_lane_open(n->lanes, &c, &lane, now) < 0)
			die("lane");
		if (!many)
			n->lane = lane;
		else if (k < BUSY)
			n->todo[n->ntodo++] = lane;
	}
}

static uint64_t
lanes(bool receive, bool many, bool ping, uint32_t turns)
{
	static struct queue to_a, to_b;
	static uint32_t todo[2][BUSY];
	struct node *a = lane_node(1, many), *b = lane_node(2, many);
	struct suci_addr at_a = relay_addr_v4(0x0a000001, 6000, 0),
			 at_b = relay_addr_v4(0x0a000002, 6000, 0);
	bool open = false;
	uint64_t before = 0;

	if (ping) {
		a->most = b->most = 1;
		a->bytes = b->bytes = 8;
	}
	a->todo = many ? todo[0] : NULL;
	b->todo = many ? todo[1] : NULL;
	if (suci_path_open(a->ep, &at_b, NULL, 0, &a->path, now) < 0)
		die("suci_path_open");
	for (uint32_t i = 0; i < WARM + turns; i++) {
		bool counted = i >= WARM;
		if (i == WARM)
			before = receive ? b->got : a->segments;
		run_turn(a, &to_a, counted && !receive);
		carry(a, &at_b, &at_a, &to_b);
		run_turn(b, &to_b, counted && receive);
		carry(b, &at_a, &at_b, &to_a);
		if (!open && a->up && b->up) {
			open = true;
			open_lanes(a, many);
			open_lanes(b, many);
			if (!ping)
				b->lane = UINT32_MAX; /* it only receives */
			b->ntodo = 0;
		}
		now += ping ? PING_NS : TURN_NS;
	}
	return (receive ? b->got : a->segments) - before;
}

/* ---- a relay between process a and relay b ---- */

static uint8_t *
writable(void *user, uint64_t cookie, const uint8_t *data, size_t len)
{
	(void)user, (void)cookie, (void)len;
	return (uint8_t *)(uintptr_t)data;
}

static void
hold(void *user, uint64_t cookie)
{
	(void)user, (void)cookie;
}

static void
job_ended(void *user, uint32_t base, const char *why)
{
	(void)user, (void)base;
	die(why);
}

static const struct relay_core_ops core_ops = {
	.writable = writable, .hold = hold, .release = hold, .job_ended = job_ended};

static struct node *
relay_node(struct relay_core **core)
{
	struct node *n = calloc(1, sizeof *n);
	struct relay_core_conf conf = {.limits = {.jobs_max = 3,
						  .procs_max = 512,
						  .hosts_max = 8,
						  .trunks_max = 4,
						  .paths_max = 8,
						  .primaries_max = 2},
				       .self_global = maker_relay_addr(0, 0),
				       .trunk_mtu = MTU,
				       .ops = &core_ops};
	uint8_t hello[RELAY_HELLO_LEN];
	if (!n)
		die("memory");
	n->lane = UINT32_MAX;
	*core = relay_core_new(memory(relay_core_footprint(&conf.limits)), &conf);
	if (!*core)
		die("relay_core_new");
	relay_core_hello(*core, hello);
	n->ep = endpoint(3, relay_ops(), *core, hello, sizeof hello);
	relay_bind(*core, n->ep);
	struct relay_job *j = make_job(&spec);
	if (relay_job_add(*core, j, now) != 0)
		die("relay_job_add");
	return n;
}

static uint64_t
forward(uint32_t turns)
{
	static struct queue to_a, to_b, to_r;
	struct relay_core *core;
	struct relay_hello proc = {.kind = RELAY_HELLO_PROCESS,
				   .token = spec.token,
				   .label = spec.label_base[0],
				   .rank = 0},
			   trunk = {.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE};
	struct node *a = raw_node(1, &proc), *b = raw_node(2, &trunk), *r = relay_node(&core);
	struct suci_addr at_a = maker_proc_addr(0), at_b = maker_relay_addr(1, 0),
			 at_r = relay_addr_v4(0x0a0000fe, 7001, 0);
	uint32_t seq = 0;
	uint64_t before = 0;

	if (suci_path_open(a->ep, &at_r, NULL, 0, &a->path, now) < 0)
		die("suci_path_open");
	for (uint32_t i = 0; i < WARM + turns; i++) {
		if (i == WARM)
			before = r->segments;
		relay_core_tick(core, now);
		if (a->up && b->up)
			offer(a, &seq);
		run_turn(a, &to_a, false);
		carry(a, &at_r, &at_a, &to_r);
		run_turn(b, &to_b, false);
		carry(b, &at_r, &at_b, &to_r);
		run_turn(r, &to_r, i >= WARM);
		carry(r, &at_a, &at_r, &to_a);
		carry(r, &at_b, &at_r, &to_b);
		now += TURN_NS;
	}
	if (relay_core_counters(core)->tx_acked == 0)
		die("nothing was forwarded");
	return r->segments - before;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint32_t turns = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 400;
	uint64_t n = 0, batch = BATCH;

	timing.wanted = argc > 3 && !strcmp(argv[3], "ns");
	timing.turns = turns;
	if (!strcmp(what, "send"))
		n = lanes(false, false, false, turns);
	else if (!strcmp(what, "receive"))
		n = lanes(true, false, false, turns);
	else if (!strcmp(what, "send-many"))
		n = lanes(false, true, false, turns);
	else if (!strcmp(what, "receive-many"))
		n = lanes(true, true, false, turns);
	else if (!strcmp(what, "ping"))
		n = lanes(false, false, true, turns), batch = 1;
	else if (!strcmp(what, "forward"))
		n = forward(turns);
	else
		die("usage: count send|receive|forward|send-many|receive-many|ping [TURNS [ns]]");
	/* Nearly full batches, or the count is of something else. */
	if (n < turns * batch * 8 / 10)
		die("it stalls");
	if (timing.wanted)
		print_time();
	else
		printf("%llu\n", (unsigned long long)n);
	return 0;
}

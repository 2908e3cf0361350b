/* SPDX-License-Identifier: BSD-2-Clause */
/* As MPICH 1 over the kernel's TCP: system calls, copies and checksums, an interrupt for each
 * packet and ack, all on the processor that computes.  A connection has a socket buffer either way,
 * which is its window, too; every second packet and the last of a burst are acknowledged.  There is
 * no loss, slow start or delayed ack, which is kind to it. */
#include "stages.h"

#define ACK	   ((uint64_t)1 << 63)
#define WINDOW_BIT 20

struct conn {				    /* from one node to another */
	uint64_t unsent, sent, acked, edge; /* in the buffer; totals; up to which it may send */
	uint64_t came, avail, told;	    /* total, not read yet, edge as last told */
	uint32_t unacked;
};

struct kernel {
	struct conn conn[NODES_MAX][NODES_MAX];
};

static struct conn *
conn_of(struct cluster *c, int from, int to)
{
	struct conn *k = &((struct kernel *)c->private)->conn[from][to];
	if (!k->told)
		k->told = k->edge = c->costs.socket;
	return k;
}

static void
flow(struct cluster *c, int from, int to)
{
	struct conn *k = conn_of(c, from, to);
	while (k->unsent) {
		uint64_t n = stages_least(k->unsent, c->costs.packet);
		if (k->sent + n > k->edge)
			return;
		k->unsent -= n;
		k->sent += n;
		uint64_t out = stages_interrupt(c, from, c->costs.packet_out_ns);
		stages_packet(c, out, from, to, n, 0);
	}
}

static void
acknowledge(struct cluster *c, int from, int to)
{
	struct conn *k = conn_of(c, from, to);
	uint64_t window = c->costs.socket > k->avail ? c->costs.socket - k->avail : 0;
	k->unacked = 0;
	k->told = k->came + window;
	uint64_t out = stages_interrupt(c, to, c->costs.ack_out_ns);
	stages_packet(c, out, to, from, 0, ACK | k->came << WINDOW_BIT | window);
}

static void step(struct cluster *c, uint64_t node, uint64_t unused);

static void
wake(struct cluster *c, int node)
{
	struct node *n = &c->node[node];
	if (!n->waiting)
		return;
	n->waiting = false;
	stages_work(c, node, c->costs.wake_ns, step);
}

static uint64_t
room(const struct cluster *c, const struct conn *k)
{
	uint64_t used = k->unsent + k->sent - k->acked;
	return c->costs.socket > used ? c->costs.socket - used : 0;
}

static void
has_read(struct cluster *c, uint64_t node, uint64_t unused)
{
	struct node *n = &c->node[node];
	struct conn *k = conn_of(c, n->now.peer, (int)node);
	uint64_t some = n->chunk;
	k->avail -= some;
	n->now.in -= some;
	/* Tell of the room if the sender may lack it. */
	if (k->told < k->came + 2 * c->costs.packet)
		acknowledge(c, n->now.peer, (int)node);
	step(c, node, unused);
}

static void
has_written(struct cluster *c, uint64_t node, uint64_t unused)
{
	struct node *n = &c->node[node];
	struct conn *k = conn_of(c, (int)node, n->now.peer);
	uint64_t some = n->chunk;
	k->unsent += some;
	n->now.out -= some;
	flow(c, (int)node, n->now.peer);
	step(c, node, unused);
}

/* What the process does next in an exchange. */
static void
step(struct cluster *c, uint64_t node, uint64_t unused)
{
	struct node *n = &c->node[node];
	struct conn *in = conn_of(c, n->now.peer, (int)node);
	struct conn *out = conn_of(c, (int)node, n->now.peer);
	(void)unused;
	uint64_t read = stages_least(in->avail, n->now.in);
	uint64_t write = stages_least(room(c, out), n->now.out);
	if (!n->now.in && !n->now.out) {
		stages_done(c, (int)node);
	} else if (read) {
		n->copied += n->chunk = read;
		stages_work(c, (int)node, c->costs.call_ns + stages_bytes(read, c->costs.copy_ps),
			    has_read);
	} else if (write && (write == n->now.out || write >= 2 * c->costs.packet)) {
		n->copied += n->chunk = write;
		stages_work(c, (int)node,
			    c->costs.call_ns +
				    stages_bytes(write, c->costs.copy_ps + c->costs.checksum_ps),
			    has_written);
	} else {
		n->waiting = true;
	}
}

static void
data_served(struct cluster *c, uint64_t pair, uint64_t bytes)
{
	int from = (int)(pair / NODES_MAX), to = (int)(pair % NODES_MAX);
	struct conn *k = conn_of(c, from, to);
	k->came += bytes;
	k->avail += bytes;
	if (++k->unacked >= 2 || bytes < c->costs.packet)
		acknowledge(c, from, to);
	if (c->node[to].now.peer == from && c->node[to].now.in)
		wake(c, to);
}

static void
ack_served(struct cluster *c, uint64_t pair, uint64_t what)
{
	int from = (int)(pair / NODES_MAX), to = (int)(pair % NODES_MAX);
	struct conn *k = conn_of(c, from, to);
	uint64_t came = (what & ~ACK) >> WINDOW_BIT;
	k->acked = came;
	k->edge = came + (what & (((uint64_t)1 << WINDOW_BIT) - 1));
	flow(c, from, to);
	if (c->node[from].now.peer == to && c->node[from].now.out)
		wake(c, from);
}

static void
arrived(struct cluster *c, int from, int to, uint64_t bytes, uint64_t what)
{
	const struct costs *k = &c->costs;
	if (what & ACK) /* of what "to" sends */
		stages_at(c, stages_interrupt(c, to, k->ack_in_ns), ack_served,
			  (uint64_t)(to * NODES_MAX + from), what);
	else
		stages_at(c,
			  stages_interrupt(c, to,
					   k->packet_in_ns + stages_bytes(bytes, k->checksum_ps)),
			  data_served, (uint64_t)(from * NODES_MAX + to), bytes);
}

static void
begin(struct cluster *c, int node)
{
	stages_work(c, node, c->costs.message_ns, step);
}

const struct stack stack_kernel = {"kernel", begin, arrived, sizeof(struct kernel)};

/* SPDX-License-Identifier: BSD-2-Clause */
/* eval/stages.h - a cluster as stages that keep processors and wires busy, in virtual time.
 *
 * Every node has one processor.  The program computes on it and calls the library; interrupts take
 * it away from both.  A node has a port of the network: of a switch, full duplex, that sends a
 * packet on when it has all of it, or of a medium that all share, where one sends at a time (a hub
 * without collisions).  Nothing is lost.
 *
 * Stacks: stages_kernel.c, as MPICH over the kernel's TCP; stages_card.c, as MMP with a processor
 * on the card.  The costs of both are given (test/eval/stages.txt), not measured.
 *
 * Units    ns, bytes; costs of bytes in ps each.
 * Source   doc/npb.md */
#ifndef EVAL_STAGES_H
#define EVAL_STAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODES_MAX 16

/* Names in test/eval/stages.txt, which says what they are. */
#define COSTS(X)         \
	X(is_ns)         \
	X(cg_ns)         \
	X(wire_ps)       \
	X(packet)        \
	X(packet_head)   \
	X(switch_ns)     \
	X(copy_ps)       \
	X(message_ns)    \
	X(call_ns)       \
	X(wake_ns)       \
	X(packet_out_ns) \
	X(packet_in_ns)  \
	X(checksum_ps)   \
	X(ack_out_ns)    \
	X(ack_in_ns) X(socket) X(post_ns) X(fragment) X(request_ns) X(reap_ns) X(card_ns) X(card_ps)

struct costs {
#define X(name) uint64_t name;
	COSTS(X)
#undef X
};

/* A rank computes for ns, or exchanges out and in bytes with a peer (peer >= 0). */
struct act {
	uint64_t ns, out, in;
	int peer;
};

struct program {
	int nodes, repeat;
	struct act *act[NODES_MAX];
	size_t acts[NODES_MAX];
};

struct cluster;
typedef void (*event_fn)(struct cluster *c, uint64_t a, uint64_t b);

struct node {
	/* The processor: interrupts until irq_until, the program's work until work_end. */
	uint64_t irq_until, work_end, irq_ns, copied;
	bool working;
	event_fn after_work;
	uint64_t tx_free, rx_free; /* its port */
	size_t at;		   /* in the program */
	int round;
	uint64_t done_ns;
	struct act now; /* the exchange under way: out and in are what is left */
	uint64_t chunk; /* of it, that is being copied */
	bool waiting;	/* in it, for the network */
};

struct stack {
	const char *name;
	/* The exchange node.now begins; stages_done() when it is complete. */
	void (*begin)(struct cluster *c, int node);
	/* A packet is there; what is the stack's. */
	void (*arrived)(struct cluster *c, int from, int to, uint64_t bytes, uint64_t what);
	size_t private_bytes;
};
extern const struct stack stack_kernel, stack_card;

struct event {
	uint64_t when, order, a, b;
	event_fn fn;
};

struct cluster {
	struct costs costs;
	const struct stack *stack;
	struct program program;
	bool shared;  /* one medium */
	double scale; /* of computing */
	uint64_t now_ns, medium_free, count;
	struct node node[NODES_MAX];
	void *private;
	struct event *heap;
	size_t heaped, heap_room;
};

void stages_at(struct cluster *c, uint64_t when_ns, event_fn fn, uint64_t a, uint64_t b);
/* The program works for so long, interrupts not counted; then fn(c, node, 0). */
void stages_work(struct cluster *c, int node, uint64_t ns, event_fn fn);
/* An interrupt comes now: when it has been served, which the program's work waits for. */
uint64_t stages_interrupt(struct cluster *c, int node, uint64_t ns);
/* A packet with so many bytes of data is handed to the port at from_ns. */
void stages_packet(struct cluster *c, uint64_t from_ns, int from, int to, uint64_t bytes,
		   uint64_t what);
void stages_done(struct cluster *c, int node);

static inline uint64_t
stages_bytes(uint64_t bytes, uint64_t ps)
{
	return bytes * ps / 1000;
}

static inline uint64_t
stages_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* stages COSTS PATTERN KERNEL RANKS kernel|card [switch|shared] [NAME=VALUE ...]
 *
 * One point of `make eval-mmp` as JSON: KERNEL of the pattern file (test/eval/npb-record) on so
 * many nodes over a stack.  NAME=VALUE: another cost than the file's.  The same on any machine.
 * Exit status 1: a file does not say what it should, 2: wrong arguments. */
#include "stages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
before(const struct event *a, const struct event *b)
{
	return a->when != b->when ? a->when < b->when : a->order < b->order;
}

void
stages_at(struct cluster *c, uint64_t when_ns, event_fn fn, uint64_t a, uint64_t b)
{
	if (c->heaped == c->heap_room) {
		c->heap_room = c->heap_room ? 2 * c->heap_room : 4096;
		c->heap = realloc(c->heap, c->heap_room * sizeof *c->heap);
		if (!c->heap)
			abort();
	}
	struct event e = {when_ns, c->count++, a, b, fn};
	size_t i = c->heaped++;
	for (; i && before(&e, &c->heap[(i - 1) / 2]); i = (i - 1) / 2)
		c->heap[i] = c->heap[(i - 1) / 2];
	c->heap[i] = e;
}

static struct event
next_event(struct cluster *c)
{
	struct event first = c->heap[0], last = c->heap[--c->heaped];
	size_t i = 0, down;
	while ((down = 2 * i + 1) < c->heaped) {
		if (down + 1 < c->heaped && before(&c->heap[down + 1], &c->heap[down]))
			down++;
		if (!before(&c->heap[down], &last))
			break;
		c->heap[i] = c->heap[down];
		i = down;
	}
	c->heap[i] = last;
	return first;
}

/* Work ends where it was to end, but for the interrupts that have come meanwhile. */
static void
work_ends(struct cluster *c, uint64_t node, uint64_t unused)
{
	struct node *n = &c->node[node];
	if (n->work_end > c->now_ns) {
		stages_at(c, n->work_end, work_ends, node, unused);
		return;
	}
	n->working = false;
	n->after_work(c, node, 0);
}

void
stages_work(struct cluster *c, int node, uint64_t ns, event_fn fn)
{
	struct node *n = &c->node[node];
	n->working = true;
	n->after_work = fn;
	n->work_end = (n->irq_until > c->now_ns ? n->irq_until : c->now_ns) + ns;
	stages_at(c, n->work_end, work_ends, (uint64_t)node, 0);
}

uint64_t
stages_interrupt(struct cluster *c, int node, uint64_t ns)
{
	struct node *n = &c->node[node];
	n->irq_until = (n->irq_until > c->now_ns ? n->irq_until : c->now_ns) + ns;
	n->irq_ns += ns;
	if (n->working)
		n->work_end += ns;
	return n->irq_until;
}

/* A packet on its way: which, in two words. */
static uint64_t
packed(int from, int to, uint64_t bytes)
{
	return bytes << 16 | (uint64_t)from << 8 | (uint64_t)to;
}

static void
packet_arrived(struct cluster *c, uint64_t p, uint64_t what)
{
	c->stack->arrived(c, (int)(p >> 8 & 255), (int)(p & 255), p >> 16, what);
}

static uint64_t
takes(uint64_t *free, uint64_t from, uint64_t ns)
{
	*free = (*free > from ? *free : from) + ns;
	return *free;
}

static uint64_t
wire_ns(const struct cluster *c, uint64_t bytes)
{
	/* An Ethernet frame has 46 bytes of payload at least: 84 on the wire. */
	uint64_t n = bytes + c->costs.packet_head;
	return stages_bytes(n < 84 ? 84 : n, c->costs.wire_ps);
}

static void
at_switch(struct cluster *c, uint64_t p, uint64_t what)
{
	uint64_t end = takes(&c->node[p & 255].rx_free, c->now_ns, wire_ns(c, p >> 16));
	stages_at(c, end, packet_arrived, p, what);
}

static void
at_port(struct cluster *c, uint64_t p, uint64_t what)
{
	uint64_t ns = wire_ns(c, p >> 16);
	if (c->shared)
		stages_at(c, takes(&c->medium_free, c->now_ns, ns), packet_arrived, p, what);
	else
		stages_at(c,
			  takes(&c->node[p >> 8 & 255].tx_free, c->now_ns, ns) + c->costs.switch_ns,
			  at_switch, p, what);
}

void
stages_packet(struct cluster *c, uint64_t from_ns, int from, int to, uint64_t bytes, uint64_t what)
{
	stages_at(c, from_ns, at_port, packed(from, to, bytes), what);
}

static void
go_on(struct cluster *c, uint64_t node, uint64_t unused)
{
	struct node *n = &c->node[node];
	const struct program *p = &c->program;
	(void)unused;
	if (n->at == p->acts[node]) {
		n->at = 0;
		if (++n->round == p->repeat) {
			n->done_ns = c->now_ns;
			return;
		}
	}
	n->now = p->act[node][n->at++];
	if (n->now.peer < 0)
		stages_work(c, (int)node, (uint64_t)((double)n->now.ns * c->scale), go_on);
	else
		c->stack->begin(c, (int)node);
}

void
stages_done(struct cluster *c, int node)
{
	c->node[node].now.peer = -1;
	go_on(c, (uint64_t)node, 0);
}

static bool
set_cost(struct costs *k, const char *name, size_t len, uint64_t value)
{
#define X(n)                                               \
	if (strlen(#n) == len && !memcmp(name, #n, len)) { \
		k->n = value;                              \
		return true;                               \
	}
	COSTS(X)
#undef X
	return false;
}

static bool
read_costs(struct costs *k, const char *file)
{
	char line[256], name[64];
	uint64_t value;
	int number = 0, given = 0;
#define X(n) given--;
	COSTS(X)
#undef X
	FILE *f = fopen(file, "r");
	if (!f)
		return perror(file), false;
	while (fgets(line, sizeof line, f)) {
		number++;
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (sscanf(line, "%63s %" SCNu64, name, &value) != 2 ||
		    !set_cost(k, name, strlen(name), value)) {
			fprintf(stderr, "%s:%d: not a cost: NAME VALUE\n", file, number);
			fclose(f);
			return false;
		}
		given++;
	}
	fclose(f);
	if (given)
		fprintf(stderr, "%s: %d costs are missing (or said twice)\n", file, -given);
	return !given;
}

static bool
add_act(struct program *p, int rank, const struct act *a)
{
	size_t n = p->acts[rank];
	if (!(n & (n - 1))) {
		p->act[rank] = realloc(p->act[rank], (n ? 2 * n : 1) * sizeof *a);
		if (!p->act[rank])
			abort();
	}
	p->act[rank][p->acts[rank]++] = *a;
	return true;
}

/* A line of the kernel we want. */
static bool
read_act(struct program *p, const char *line, int *rank)
{
	struct act a = {.peer = -1};
	if (sscanf(line, "rank %d", rank) == 1)
		return *rank >= 0 && *rank < p->nodes;
	if (*rank < 0)
		return false;
	if (sscanf(line, "c %" SCNu64, &a.ns) == 1)
		return add_act(p, *rank, &a);
	if (sscanf(line, "x %d %" SCNu64 " %" SCNu64, &a.peer, &a.out, &a.in) == 3)
		return a.peer >= 0 && a.peer < p->nodes && a.peer != *rank && add_act(p, *rank, &a);
	return false;
}

static bool
read_program(struct program *p, const char *file, const char *kernel, int ranks)
{
	char line[256], name[8], class[4];
	int number = 0, n, repeat, rank = -1;
	bool ours = false, good = true;
	FILE *f = fopen(file, "r");
	if (!f)
		return perror(file), false;
	while (good && fgets(line, sizeof line, f)) {
		number++;
		if (line[0] == '#')
			continue;
		if (sscanf(line, "kernel %7s class %3s ranks %d repeat %d", name, class, &n,
			   &repeat) == 4) {
			ours = !strcmp(name, kernel) && n == ranks;
			rank = -1;
			if (ours)
				p->nodes = n, p->repeat = repeat;
			good = n > 0 && n <= NODES_MAX && repeat > 0;
		} else if (ours) {
			good = read_act(p, line, &rank);
		}
	}
	fclose(f);
	if (!good)
		fprintf(stderr, "%s:%d: not a line of a pattern\n", file, number);
	else if (!p->nodes)
		fprintf(stderr, "%s: no kernel %s on %d ranks\n", file, kernel, ranks);
	return good && p->nodes;
}

/* All computing of all ranks together takes what one node of the costs needs for it. */
static void
scale(struct cluster *c, const char *kernel)
{
	double ns = 0;
	for (int r = 0; r < c->program.nodes; r++)
		for (size_t i = 0; i < c->program.acts[r]; i++)
			ns += (double)c->program.act[r][i].ns;
	double want = (double)(strcmp(kernel, "IS") ? c->costs.cg_ns : c->costs.is_ns);
	c->scale = want / (ns * c->program.repeat);
}

static bool
run(struct cluster *c)
{
	for (int r = 0; r < c->program.nodes; r++)
		stages_at(c, 0, go_on, (uint64_t)r, 0);
	while (c->heaped) {
		struct event e = next_event(c);
		c->now_ns = e.when;
		e.fn(c, e.a, e.b);
	}
	uint64_t last = 0, irq = 0, copied = 0;
	for (int r = 0; r < c->program.nodes; r++) {
		if (!c->node[r].done_ns) {
			fprintf(stderr, "rank %d waits for ever\n", r);
			return false;
		}
		last = c->node[r].done_ns > last ? c->node[r].done_ns : last;
		irq += c->node[r].irq_ns / (uint64_t)c->program.nodes;
		copied += c->node[r].copied / (uint64_t)c->program.nodes;
	}
	printf("{\"nodes\": %d, \"ns\": %" PRIu64 ", \"interrupt_ns\": %" PRIu64
	       ", \"copied\": %" PRIu64 ", \"events\": %" PRIu64 "}\n",
	       c->program.nodes, last, irq, copied, c->count);
	return true;
}

int
main(int argc, char **argv)
{
	static struct cluster c;
	if (argc < 6) {
		fprintf(stderr, "usage: stages COSTS PATTERN KERNEL RANKS kernel|card "
				"[switch|shared] [NAME=VALUE ...]\n");
		return 2;
	}
	c.stack = strcmp(argv[5], "card") ? &stack_kernel : &stack_card;
	if (!read_costs(&c.costs, argv[1]) ||
	    !read_program(&c.program, argv[2], argv[3], (int)strtol(argv[4], NULL, 10)))
		return 1;
	for (int i = 6; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!strcmp(argv[i], "shared"))
			c.shared = true;
		else if (strcmp(argv[i], "switch") &&
			 (!value || !set_cost(&c.costs, argv[i], (size_t)(value - argv[i]),
					      strtoull(value + 1, NULL, 10)))) {
			fprintf(stderr, "stages: %s?\n", argv[i]);
			return 2;
		}
	}
	if (!c.costs.packet || !c.costs.fragment || c.costs.socket < 2 * c.costs.packet ||
	    c.costs.socket >= 1u << 20) {
		fprintf(stderr, "stages: packet, fragment or socket cannot be so long\n");
		return 2;
	}
	scale(&c, argv[3]);
	c.private = calloc(1, c.stack->private_bytes);
	if (!c.private)
		abort();
	bool good = run(&c);
	free(c.private);
	free(c.heap);
	for (int r = 0; r < c.program.nodes; r++)
		free(c.program.act[r]);
	return !good;
}

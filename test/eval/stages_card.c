/* SPDX-License-Identifier: BSD-2-Clause */
/* As MMP: MP_send copies fragments to the area and asks the card for each; the card fetches, sends,
 * receives and places them without the processor; MP_wait copies what has come to the program's
 * buffer while more comes.  The area has room for all of it, nobody waits for replies. */
#include "stages.h"

#define FRAGMENT_HEAD 32

struct card {
	uint64_t out_free, in_free; /* the card's own processor, either way */
	uint64_t avail[NODES_MAX];  /* placed in the area, by sender */
};

struct cards {
	struct card card[NODES_MAX];
};

static struct card *
card_of(struct cluster *c, int node)
{
	return &((struct cards *)c->private)->card[node];
}

static void step(struct cluster *c, uint64_t node, uint64_t unused);

static uint64_t
occupied(struct cluster *c, uint64_t *until, uint64_t bytes)
{
	*until = (*until > c->now_ns ? *until : c->now_ns) + c->costs.card_ns +
		 stages_bytes(bytes, c->costs.card_ps);
	return *until;
}

/* The card has fetched a fragment: its packets, the last of which says how long it is. */
static void
fragment_out(struct cluster *c, int from, int to, uint64_t bytes)
{
	uint64_t ready = occupied(c, &card_of(c, from)->out_free, bytes);
	for (uint64_t left = bytes + FRAGMENT_HEAD; left;) {
		uint64_t n = stages_least(left, c->costs.packet);
		left -= n;
		stages_packet(c, ready, from, to, n, left ? 0 : bytes);
	}
}

static void
has_copied_out(struct cluster *c, uint64_t node, uint64_t unused)
{
	struct node *n = &c->node[node];
	uint64_t bytes = stages_least(n->now.out, c->costs.fragment);
	n->now.out -= bytes;
	fragment_out(c, (int)node, n->now.peer, bytes);
	step(c, node, unused);
}

static void
has_copied_in(struct cluster *c, uint64_t node, uint64_t unused)
{
	struct node *n = &c->node[node];
	uint64_t bytes = stages_least(n->now.in, c->costs.fragment);
	card_of(c, (int)node)->avail[n->now.peer] -= bytes;
	n->now.in -= bytes;
	step(c, node, unused);
}

static void
step(struct cluster *c, uint64_t node, uint64_t unused)
{
	struct node *n = &c->node[node];
	const struct costs *k = &c->costs;
	(void)unused;
	uint64_t out = stages_least(n->now.out, k->fragment);
	uint64_t in = stages_least(n->now.in, k->fragment);
	n->waiting = false;
	if (out) {
		n->copied += out;
		stages_work(c, (int)node, k->request_ns + stages_bytes(out, k->copy_ps),
			    has_copied_out);
	} else if (!in) {
		stages_done(c, (int)node);
	} else if (card_of(c, (int)node)->avail[n->now.peer] >= in) {
		n->copied += in;
		stages_work(c, (int)node, k->reap_ns + stages_bytes(in, k->copy_ps), has_copied_in);
	} else {
		n->waiting = true; /* polls the ring */
	}
}

static void
placed(struct cluster *c, uint64_t pair, uint64_t bytes)
{
	int from = (int)(pair / NODES_MAX), to = (int)(pair % NODES_MAX);
	card_of(c, to)->avail[from] += bytes;
	if (c->node[to].waiting && c->node[to].now.peer == from)
		step(c, (uint64_t)to, 0);
}

static void
arrived(struct cluster *c, int from, int to, uint64_t bytes, uint64_t what)
{
	(void)bytes;
	if (what) /* the fragment is complete */
		stages_at(c, occupied(c, &card_of(c, to)->in_free, what), placed,
			  (uint64_t)(from * NODES_MAX + to), what);
}

static void
begin(struct cluster *c, int node)
{
	stages_work(c, node, c->costs.post_ns, step);
}

const struct stack stack_card = {"card", begin, arrived, sizeof(struct cards)};

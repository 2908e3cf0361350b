/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that belong to the machine (doc/tuning.md).
 *
 * What two processes have to agree on, or what only makes sense for both, is the node's: node
 * rank 0 reads it, and the others take it from its shared memory.  What all processes of a client
 * have to agree on is that of its rank 0, which tells the others in its contact.  So a store that
 * is written while a job starts, or that one process finds stale and another does not, divides
 * nobody. */
#include "internal.h"

#include "transport.h"

#include "driver/tune_file.h"

#include <stdio.h>

#define DIRECT_EAGER 65536u
#define eng	     lmpi_eng
/* Data from here on goes over TCP where datagrams carry less than a page: of the kernel's costs for
 * a datagram, which are the same for each, a page pays for one at most. */
#define STREAM_LEAST (64u << 10)
#define STREAM_MTU   4096u
#define ACK_EVERY    32u /* packets; a batch and its answer take one ack, not four */

struct lmpi_tuned lmpi_tuned = {
	.eager_node = LMPI_SHM_EAGER_MAX,
	.eager_wide = LMPI_SHM_EAGER_WIDE_MAX,
	.share = LMPI_SHARE_MIN,
	.ack = ACK_EVERY,
	.eager_net = DIRECT_EAGER,
};

/* One process of the node says what is wrong with the store. */
static void
find_tuning(const struct tune_key *k, struct tune_values *v)
{
	char why[TUNE_FILE_WHY];

	(void)tune_file_find(k, v, why);
	if (why[0] && lmpi_world.node_rank == 0)
		fprintf(stderr, "libmpi: %s; using the defaults\n", why);
}

/* The environment's, the store's, or the default, which the environment may ask for. */
static uint64_t
tuning_number(enum lmpi_knob k, const struct tune_values *v, enum tune_value i, uint64_t fallback)
{
	struct tune_values bounds = {0};
	uint64_t stored = tune_value_or(v, i, fallback);
	uint64_t x = lmpi_knob_number_or(k, stored);

	if (x == stored || x == fallback || tune_value_set(&bounds, i, x))
		return x;
	fprintf(stderr, "libmpi: %s=%llu is out of bounds (doc/tuning.md); using %llu\n",
		lmpi_knob_rows[k].name, (unsigned long long)x, (unsigned long long)stored);
	return stored;
}

void
lmpi_tune_node(void)
{
	struct lmpi_tuned *t = &lmpi_tuned;
	struct tune_values v = {0};
	struct tune_key k;

	if (lmpi_world.node_rank != 0)
		return;
	tune_file_key(&k, "shm", "mpi");
	find_tuning(&k, &v);
	t->eager_node = (uint32_t)tune_value_or(&v, TUNE_EAGER_NODE, t->eager_node);
	t->eager_wide =
		(uint32_t)tuning_number(LMPI_KNOB_EAGER_NODE, &v, TUNE_EAGER_WIDE, t->eager_wide);
	if (t->eager_wide < t->eager_node)
		t->eager_node = t->eager_wide;
	t->share = (uint32_t)tuning_number(LMPI_KNOB_SHARE, &v, TUNE_SHARE, t->share);
	t->piece = (uint32_t)tuning_number(LMPI_KNOB_PIECE, &v, TUNE_PIECE, t->piece);
	lmpi_world.piece = t->piece;
}

void
lmpi_tune_adopt(const struct lmpi_tuned *of_first)
{
	struct tune_values bounds = {0};
	struct lmpi_tuned n = *of_first;

	if (!tune_value_set(&bounds, TUNE_EAGER_NODE, n.eager_node) ||
	    !tune_value_set(&bounds, TUNE_EAGER_WIDE, n.eager_wide) ||
	    !tune_value_set(&bounds, TUNE_SHARE, n.share) ||
	    (n.piece && !tune_value_set(&bounds, TUNE_PIECE, n.piece)))
		return;
	lmpi_tuned.eager_node = n.eager_node;
	lmpi_tuned.eager_wide = n.eager_wide;
	lmpi_tuned.share = n.share;
	lmpi_tuned.piece = lmpi_world.piece = n.piece;
}

void
lmpi_tune_net(const struct suci_addr *at)
{
	struct lmpi_tuned *t = &lmpi_tuned;
	struct tune_values v = {0};
	struct tune_key k;

	bool v4 = at->family == 4;
	if (tune_file_key_ip(&k, "udp", "mpi", at->ip + (v4 ? 12 : 0), v4 ? 4 : 16))
		find_tuning(&k, &v);
	t->eager_stored = tune_value_or(&v, TUNE_EAGER_NET, 0) != 0;
	t->eager_net = tune_value_or(&v, TUNE_EAGER_NET, t->eager_net);
	t->stream = tune_value_or(&v, TUNE_STREAM, 0);
	t->ack = (uint32_t)tuning_number(LMPI_KNOB_ACK, &v, TUNE_ACK, t->ack);
	uint64_t stored = tune_value_or(&v, TUNE_RUN, t->run);
	t->run = (uint32_t)tuning_number(LMPI_KNOB_RUN, &v, TUNE_RUN, t->run);
	t->run_stored = t->run && t->run == stored;
	t->bcast_piece = (uint32_t)tuning_number(LMPI_KNOB_BCAST_PIECE, &v, TUNE_BCAST_PIECE, 0);
	t->alltoall_piece =
		(uint32_t)tuning_number(LMPI_KNOB_ALLTOALL_PIECE, &v, TUNE_ALLTOALL_PIECE, 0);
}

/* x, if a store may say so; else as if it said nothing. */
static uint32_t
piece_within_bounds(enum tune_value i, uint32_t x)
{
	struct tune_values bounds = {0};

	return x && tune_value_set(&bounds, i, x) ? x : 0;
}

void
lmpi_tune_adopt_pieces(uint32_t bcast_piece, uint32_t alltoall_piece)
{
	lmpi_world.segment = piece_within_bounds(TUNE_BCAST_PIECE, bcast_piece);
	lmpi_world.slice = piece_within_bounds(TUNE_ALLTOALL_PIECE, alltoall_piece);
}

/* ---- the longest message without asking, over direct lanes ---- */

static uint64_t eager_direct = UINT64_MAX; /* not known yet */
static bool eager_by_tool;

uint64_t
lmpi_eager(void)
{
	if (eager_direct == UINT64_MAX)
		eager_direct = lmpi_knob_number_or(LMPI_KNOB_EAGER, lmpi_tuned.eager_net);
	return eager_direct;
}

bool
lmpi_eager_free(void)
{
	return !eager_by_tool && !lmpi_tuned.eager_stored && !lmpi_knob_text(LMPI_KNOB_EAGER);
}

void
lmpi_eager_to(uint64_t bytes)
{
	eager_by_tool = true;
	eager_direct = bytes;
	for (uint32_t i = 0; eng.peer && i < lmpi_world.slots; i++)
		if (lmpi_route[i].reach == LMPI_REACH_DIRECT ||
		    lmpi_route[i].reach == LMPI_REACH_SELF)
			eng.peer[i].eager_max = bytes;
}

/* ---- from how many bytes on data has a stream of its own ---- */

static uint64_t stream_least; /* 0: not known yet */

bool
lmpi_stream_never(void)
{
	return lmpi_knob_text(LMPI_KNOB_STREAM) && lmpi_knob_number(LMPI_KNOB_STREAM) == 0;
}

static uint64_t
find_stream_least(void)
{
	uint64_t found = lmpi_tuned.stream	       ? lmpi_tuned.stream
			 : lmpi_net_mtu() < STREAM_MTU ? STREAM_LEAST
						       : LMPI_KNOB_STREAM_MOST;
	uint64_t n = lmpi_knob_number_or(LMPI_KNOB_STREAM, found);

	return n == 0 || n == LMPI_KNOB_STREAM_MOST ? UINT64_MAX : n;
}

uint64_t
lmpi_stream_least(void)
{
	if (stream_least == 0)
		stream_least = find_stream_least();
	return stream_least;
}

void
lmpi_stream_to(uint64_t bytes)
{
	stream_least = bytes == 0 || bytes >= LMPI_KNOB_STREAM_MOST ? UINT64_MAX : bytes;
}

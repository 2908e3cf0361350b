/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes: what is done with a setting to see what it is worth.  Each length moves as many bytes as
 * every other, so a setting that helps one and harms another is judged by both. */
#include "mpitune.h"

#include <stdlib.h>
#include <string.h>

#define KIB    1024u
#define LONG   (4096u * KIB)
#define STREAM 16 /* messages of a stream under way */
#define PINGS  200

static uint8_t *here, *there;

bool
work_init(void)
{
	here = malloc(LONG);
	there = malloc(LONG);
	if (!here || !there)
		return false;
	memset(here, 0, LONG);
	memset(there, 0, LONG);
	return true;
}

static void
ping_peer(MPI_Comm c, int rank, int bytes)
{
	if (rank == 0) {
		MPI_Send(here, bytes, MPI_BYTE, 1, 0, c);
		MPI_Recv(there, bytes, MPI_BYTE, 1, 0, c, MPI_STATUS_IGNORE);
	} else {
		MPI_Recv(there, bytes, MPI_BYTE, 0, 0, c, MPI_STATUS_IGNORE);
		MPI_Send(here, bytes, MPI_BYTE, 0, 0, c);
	}
}

uint64_t
work_rtt(MPI_Comm c, int rank)
{
	double best = 1;
	for (int i = 0; i < PINGS; i++) {
		double t = MPI_Wtime();
		ping_peer(c, rank, 0);
		t = MPI_Wtime() - t;
		best = t < best ? t : best;
	}
	return (uint64_t)(best * 1e9);
}

static uint64_t
pings(MPI_Comm c, int rank, const uint32_t *kib, uint32_t n, uint32_t most)
{
	uint64_t moved = 0;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < most / kib[i]; k++) {
			ping_peer(c, rank, (int)(kib[i] * KIB));
			moved += 2ull * kib[i] * KIB;
		}
	return moved;
}

static uint64_t
short_pings(MPI_Comm c, int rank)
{
	static const uint32_t kib[] = {2, 4, 8, 16, 24, 32, 48};
	return pings(c, rank, kib, 7, 96);
}

static uint64_t
long_pings(MPI_Comm c, int rank)
{
	static const uint32_t kib[] = {24, 32, 64, 128, 256, 1024};
	return pings(c, rank, kib, 6, 1024);
}

static uint64_t
far_pings(MPI_Comm c, int rank)
{
	static const uint32_t kib[] = {4, 16, 32, 64, 128, 256, 512};
	return pings(c, rank, kib, 7, 512);
}

static uint64_t
sums(MPI_Comm c, int rank)
{
	uint64_t moved = 0;
	(void)rank;
	for (uint32_t bytes = 256 * KIB; bytes <= LONG; bytes *= 4) {
		MPI_Allreduce(here, there, (int)(bytes / sizeof(double)), MPI_DOUBLE, MPI_SUM, c);
		moved += bytes;
	}
	return moved;
}

static uint64_t
stream(MPI_Comm c, int rank)
{
	MPI_Request r[STREAM];
	for (int i = 0; i < STREAM; i++)
		if (rank == 0)
			MPI_Isend(here, 256 * KIB, MPI_BYTE, 1, 0, c, &r[i]);
		else
			MPI_Irecv(there, 256 * KIB, MPI_BYTE, 0, 0, c, &r[i]);
	MPI_Waitall(STREAM, r, MPI_STATUSES_IGNORE);
	if (rank == 0)
		MPI_Recv(there, 1, MPI_BYTE, 1, 0, c, MPI_STATUS_IGNORE);
	else
		MPI_Send(here, 1, MPI_BYTE, 0, 0, c);
	return STREAM * 256ull * KIB;
}

/* Long streams, where an ack is what costs, and answers that may have to wait for one. */
static uint64_t
acked(MPI_Comm c, int rank)
{
	static const uint32_t kib[] = {4, 64};
	return stream(c, rank) + pings(c, rank, kib, 2, 128);
}

/* Both ways at once. */
static uint64_t
both_ways(MPI_Comm c, int rank)
{
	static const uint32_t kib[] = {64, 128, 256, 512, 1024};
	uint64_t moved = 0;

	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t k = 0; k < 1024 / kib[i]; k++) {
			MPI_Sendrecv(here, (int)(kib[i] * KIB), MPI_BYTE, !rank, 0, there,
				     (int)(kib[i] * KIB), MPI_BYTE, !rank, 0, c, MPI_STATUS_IGNORE);
			moved += 2ull * kib[i] * KIB;
		}
	return moved;
}

/* From one of each node to all: what comes to a node goes on in it meanwhile. */
static uint64_t
spreads(MPI_Comm c, int rank)
{
	uint64_t moved = 0;
	(void)rank;
	for (uint32_t bytes = 256 * KIB; bytes <= LONG; bytes *= 4)
		for (int root = 0; root < 2; root++) {
			MPI_Bcast(there, (int)bytes, MPI_BYTE, root, c);
			moved += bytes;
		}
	return moved;
}

static uint64_t
alltoalls(MPI_Comm c, int rank)
{
	uint64_t moved = 0;
	(void)rank;
	for (uint32_t block = 64 * KIB; block <= LONG / GROUP; block *= 4) {
		MPI_Alltoall(here, (int)block, MPI_BYTE, there, (int)block, MPI_BYTE, c);
		moved += GROUP * block;
	}
	return moved;
}

#define LIST(...) (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8
const struct knob node_knobs[] = {
	{"LIBMPI_EAGER_NODE", TUNE_EAGER_WIDE, LIST(2048, 4096, 8192, 16384, 24576, 32768, 49152),
	 0, short_pings},
	{"LIBMPI_SHARE", TUNE_SHARE,
	 LIST(16384, 24576, 32768, 65536, 131072, 262144, 524288, 1048576, 4194304), 0, long_pings},
	{"LIBMPI_PIECE", TUNE_PIECE, LIST(16384, 32768, 65536, 131072, 262144, 524288, 1048576),
	 65536, sums},
};
#define WHOLE (1024u * 1024u * KIB)
const struct knob net_knobs[] = {
	{"LIBMPI_EAGER", TUNE_EAGER_NET,
	 LIST(4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288), 0, far_pings},
	{"LIBMPI_RUN", TUNE_RUN, LIST(1, 2, 4, 8, 12, 16, 20, 24, 36, 44, 54, 64), 30, stream},
	{"LIBMPI_ACK", TUNE_ACK, LIST(8, 16, 32, 64, 128), 0, acked},
	{"LIBMPI_STREAM", TUNE_STREAM, LIST(32768, 65536, 131072, 262144, 524288, WHOLE), WHOLE,
	 both_ways},
};
#define CUTS LIST(32768, 65536, 131072, 262144, 524288, 1048576, WHOLE), WHOLE
const struct knob group_knobs[] = {
	{"LIBMPI_BCAST_PIECE", TUNE_BCAST_PIECE, CUTS, spreads},
	{"LIBMPI_ALLTOALL_PIECE", TUNE_ALLTOALL_PIECE, CUTS, alltoalls},
};
const uint32_t node_nknobs = sizeof node_knobs / sizeof *node_knobs;
const uint32_t net_nknobs = sizeof net_knobs / sizeof *net_knobs;
const uint32_t group_nknobs = sizeof group_knobs / sizeof *group_knobs;

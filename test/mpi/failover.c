/* SPDX-License-Identifier: BSD-2-Clause */
/* Traffic of all kinds between two halves of the job for some time, every byte checked,
 * while somebody kills relays: failover SECONDS [BYTES [FILE [PAUSE_MS [STALL_MS]]]]; it ends when
 * the time is over or FILE is there, and the last rank aborts it when FILE.abort is.  All pause
 * between rounds, in MPI now and then as a program that overlaps is.  Rank 0 removes FILE.ask after
 * a round that ended: who made it knows that each stall before was told.
 *
 * Each round: small messages to and fro between partners of different halves, an
 * alltoall, every fourth round a block of BYTES (1 MB) both ways at once.  What is sent is a
 * function of round, sender and receiver, so what is lost, comes twice or goes to the wrong
 * process is seen.  Rank 0 tells every stall (a round that took STALL_MS longer than usual)
 * when it is over, and at the end the longest. */
#include "check.h"

#include <stdbool.h>
#include <unistd.h>

enum { PINGS = 8, SMALL = 200, BLOCK = 6000 };
static double stall_ms = 150;

struct head {
	uint32_t round, from, to, stop;
};

static unsigned char *a2a_out, *a2a_in, *big_out, *big_in;
static int partner, big;

static uint32_t
name_of(uint32_t round, int from, int to)
{
	return round * 1000003u + (uint32_t)(from * 1000 + to);
}

/* A message: the head, then bytes that depend on it. */
static void
make(unsigned char *m, size_t len, uint32_t round, int to, uint32_t stop)
{
	struct head h = {round, (uint32_t)check_rank, (uint32_t)to, stop};

	memcpy(m, &h, sizeof h);
	fill(m + sizeof h, len - sizeof h, name_of(round, check_rank, to));
}

static struct head
look(const unsigned char *m, size_t len, uint32_t round, int from)
{
	struct head h;

	memcpy(&h, m, sizeof h);
	CHECKF(h.round == round && h.from == (uint32_t)from && h.to == (uint32_t)check_rank,
	       "round %u from %d: got round %u from %u to %u", round, from, h.round, h.from, h.to);
	CHECKF(wrong(m + sizeof h, len - sizeof h, name_of(round, from, check_rank)) == -1,
	       "round %u from %d: byte %ld", round, from,
	       wrong(m + sizeof h, len - sizeof h, name_of(round, from, check_rank)));
	return h;
}

static void
ping_pong(uint32_t round)
{
	unsigned char out[SMALL], in[SMALL];

	for (uint32_t i = 0; i < PINGS; i++) {
		uint32_t name = round * PINGS + i;
		make(out, sizeof out, name, partner, 0);
		if (check_rank < partner)
			MPI_Send(out, SMALL, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
		MPI_Recv(in, SMALL, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		look(in, sizeof in, name, partner);
		if (check_rank > partner)
			MPI_Send(out, SMALL, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
	}
}

/* Rank 0 says when it is enough: true. */
static int
all_to_all(uint32_t round, uint32_t stop)
{
	int enough = 0;

	for (int r = 0; r < check_size; r++)
		make(a2a_out + r * BLOCK, BLOCK, round, r, stop);
	MPI_Alltoall(a2a_out, BLOCK, MPI_BYTE, a2a_in, BLOCK, MPI_BYTE, MPI_COMM_WORLD);
	for (int r = 0; r < check_size; r++) {
		struct head h = look(a2a_in + r * BLOCK, BLOCK, round, r);
		if (r == 0)
			enough = h.stop != 0;
	}
	return enough;
}

static void
large(uint32_t round)
{
	MPI_Request r[2];

	make(big_out, (size_t)big, round, partner, 0);
	MPI_Irecv(big_in, big, MPI_BYTE, partner, 2, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(big_out, big, MPI_BYTE, partner, 2, MPI_COMM_WORLD, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	look(big_in, (size_t)big, round, partner);
}

static void *
need(size_t n)
{
	void *p = malloc(n);

	if (!p)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return p;
}

static bool
make_name(char name[512], const char *file, const char *suffix)
{
	return file && snprintf(name, 512, "%s%s", file, suffix) < 512;
}

static bool
there(const char *file, const char *suffix)
{
	char name[512];

	return make_name(name, file, suffix) && access(name, F_OK) == 0;
}

static void
answer(const char *file)
{
	char name[512];

	if (make_name(name, file, ".ask"))
		unlink(name);
}

static void
run(double seconds, const char *file, unsigned int pause_ms)
{
	double begin = MPI_Wtime(), last = begin, usual = 0, worst = 0, worst_at = 0;
	uint32_t round = 0;

	for (int enough = 0; !enough; round++) {
		ping_pong(round);
		if (round % 4 == 0)
			large(round);
		if (check_rank == check_size - 1 && there(file, ".abort"))
			MPI_Abort(MPI_COMM_WORLD, 3);
		bool over = MPI_Wtime() - begin >= seconds || there(file, "");
		enough = all_to_all(round, check_rank == 0 && over);
		for (unsigned int ms = 0; ms < pause_ms; ms++) {
			int none;
			usleep(1000);
			MPI_Iprobe(partner, 3, MPI_COMM_WORLD, &none, MPI_STATUS_IGNORE);
		}
		double now = MPI_Wtime(), took = (now - last) * 1e3;
		last = now;
		usual = round < 8 ? took : usual + (took - usual) / 64;
		if (round < 8)
			continue; /* lanes and windows are made */
		if (took > worst) {
			worst = took;
			worst_at = now - begin;
		}
		if (check_rank == 0 && (round == 8 || took > usual + stall_ms)) {
			printf(round == 8 ? "running\n" : "stall %.0f ms until %.2f s\n", took,
			       now - begin);
			fflush(stdout);
		}
		if (check_rank == 0)
			answer(file);
	}
	if (check_rank == 0)
		printf("%u rounds in %.1f s, %.1f MB each way and pair; longest %.0f ms until %.2f "
		       "s\n",
		       round, last - begin, (double)round / 4 * big / 1e6, worst, worst_at);
}

int
main(int argc, char **argv)
{
	int extra = 0;

	start(&argc, &argv);
	partner = (check_rank + check_size / 2) % check_size;
	big = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1 << 20;
	if (argc > 5)
		stall_ms = strtod(argv[5], NULL);
	if (check_size % 2 || big < (int)sizeof(struct head)) {
		fprintf(stderr, "failover: an even number of ranks, blocks of 16 bytes or more\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	a2a_out = need((size_t)check_size * BLOCK);
	a2a_in = need((size_t)check_size * BLOCK);
	big_out = need((size_t)big);
	big_in = need((size_t)big);
	run(argc > 1 ? strtod(argv[1], NULL) : 1, argc > 3 ? argv[3] : NULL,
	    argc > 4 ? (unsigned int)strtoul(argv[4], NULL, 10) : 0);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &extra, MPI_STATUS_IGNORE);
	CHECKF(!extra, "a message that nobody sent, or that came twice");
	free(a2a_out);
	free(a2a_in);
	free(big_out);
	free(big_in);
	return finish();
}

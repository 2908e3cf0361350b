/* SPDX-License-Identifier: BSD-2-Clause */
/* Two connected jobs that talk while relays between them die (smoke mpi-connect-relays).
 *
 *	talks server [COMES]	prints its port, and talks until who came says that it is over;
 *				all but rank 0 accept when there is a file COMES
 *	talks client PORT FILE	until there is such a file
 *
 * In each round every process has BURST messages for each process of the other job, short ones and
 * some long ones.  They are numbered: each has to come once and in order.  Four times a second the
 * client says how many rounds there were; in the end both say how long the longest one took. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BURST	  4
#define LONGEST	  (256 * 1024)
#define TAG	  7
#define PEERS_MAX 8

struct talk_message {
	int round, number, last;
	unsigned char body[LONGEST];
};

static struct talk_message *out[PEERS_MAX][BURST], *in[PEERS_MAX][BURST];

static int
body_of(int round, int number)
{
	unsigned h = (unsigned)(round * BURST + number) * 2654435761u;

	return (int)(h % 16 == 0 ? h / 16 % LONGEST : h / 16 % 1500);
}

static void *
make_message(void)
{
	struct talk_message *m = malloc(sizeof *m);

	if (!m) {
		printf("no memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return m;
}

/* One round with all; is it the last one? */
static int
do_round(MPI_Comm inter, int peers, int me, int round, int last)
{
	MPI_Request r[2 * PEERS_MAX * BURST];
	int n = 0, over = last;

	for (int p = 0; p < peers; p++)
		for (int k = 0; k < BURST; k++) {
			struct talk_message *m = out[p][k];
			int len = body_of(round, k);
			m->round = round;
			m->number = k;
			m->last = last;
			memset(m->body, (round * BURST + k + me) & 255, (size_t)len);
			MPI_Irecv(in[p][k], sizeof *m, MPI_BYTE, p, TAG, inter, &r[n++]);
			MPI_Isend(m, (int)offsetof(struct talk_message, body) + len, MPI_BYTE, p,
				  TAG, inter, &r[n++]);
		}
	MPI_Status status[2 * PEERS_MAX * BURST];
	MPI_Waitall(n, r, status);
	for (int i = 0; i < n; i += 2) {
		int p = i / 2 / BURST, k = i / 2 % BURST, got, len = body_of(round, k);
		const struct talk_message *m = in[p][k];
		MPI_Get_count(&status[i], MPI_BYTE, &got);
		CHECK(got == (int)offsetof(struct talk_message, body) + len);
		CHECK(m->round == round && m->number == k);
		for (int b = 0; b < len; b++)
			if (m->body[b] != ((round * BURST + k + p) & 255)) {
				CHECK(!"wrong bytes");
				break;
			}
		over |= m->last;
	}
	return over;
}

static void
talk_on(MPI_Comm inter, const char *until)
{
	int rank, peers, round = 0, last = 0, over = 0;
	double told = MPI_Wtime(), longest = 0;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_remote_size(inter, &peers);
	if (peers > PEERS_MAX)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int p = 0; p < peers; p++)
		for (int k = 0; k < BURST; k++) {
			out[p][k] = make_message();
			in[p][k] = make_message();
		}
	while (!over && !check_failed) {
		double before = MPI_Wtime();
		last = until && access(until, F_OK) == 0;
		if (until)
			MPI_Bcast(&last, 1, MPI_INT, 0, MPI_COMM_WORLD);
		over = do_round(inter, peers, rank, round++, last);
		double took = MPI_Wtime() - before;
		longest = took > longest ? took : longest;
		if (took > 0.1)
			printf("rank %d: round %d took %.0f ms\n", rank, round - 1, took * 1e3);
		if (until && rank == 0 && MPI_Wtime() - told > 0.25) {
			told = MPI_Wtime();
			printf("%d rounds\n", round);
			fflush(stdout);
		}
	}
	for (int p = 0; p < peers; p++)
		for (int k = 0; k < BURST; k++) {
			free(out[p][k]);
			free(in[p][k]);
		}
	printf("rank %d: %d messages, the longest round %.0f ms\n", rank, round * peers * BURST,
	       longest * 1e3);
}

static void
await_file(const char *path)
{
	while (access(path, F_OK))
		usleep(10000);
}

int
main(int argc, char **argv)
{
	char port[MPI_MAX_PORT_NAME] = "";
	MPI_Comm inter;
	int rank;

	start(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if ((argc == 2 || argc == 3) && strcmp(argv[1], "server") == 0) {
		if (rank == 0) {
			MPI_Open_port(MPI_INFO_NULL, port);
			printf("port %s\n", port);
			fflush(stdout);
		}
		if (argc == 3 && rank > 0)
			await_file(argv[2]);
		MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
		talk_on(inter, NULL);
	} else if (argc == 4 && strcmp(argv[1], "client") == 0) {
		MPI_Comm_connect(argv[2], MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
		talk_on(inter, argv[3]);
	} else {
		printf("talks server [COMES] | talks client PORT FILE\n");
		return 2;
	}
	MPI_Comm_disconnect(&inter);
	return finish();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A server, and clients of any launchers, that meet while they run: MPI_Open_port, _Comm_accept,
 * _Comm_connect.  The server deals out slices of an integral whose value is pi; each client job
 * computes one with all its ranks.
 *
 *	mpirun -n 2 ./meet server 3 &          # prints the port, publishes it as "meet-pi"
 *	mpirun -n 2 ./meet client              # finds it by its name: the same user and machine
 *	mpirun.openmpi -n 3 ./meet client PORT # another launcher: by the port that was printed
 *	./meet client                          # without a launcher, a job of one process
 *
 * In two private clusters, whose relays carry doors, both sides say which relay is theirs:
 *
 *	LIBMPI_RELAY=10.0.0.254:7812 ./meet client PORT */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME  "meet-pi"
#define STEPS 10000000L

/* What the server tells a client. */
struct slice {
	int index, of;
};

/* The rank's part of a slice. */
static double
compute(const struct slice *s, int rank, int size)
{
	double sum = 0, h = 1.0 / STEPS;

	for (long i = s->index + (long)s->of * rank; i < STEPS; i += (long)s->of * size) {
		double x = h * ((double)i + 0.5);
		sum += 4 / (1 + x * x);
	}
	return sum * h;
}

static int
serve(int clients, int rank)
{
	char port[MPI_MAX_PORT_NAME] = "";
	double pi = 0;

	if (rank == 0) {
		MPI_Open_port(MPI_INFO_NULL, port);
		MPI_Publish_name(NAME, MPI_INFO_NULL, port);
		printf("port %s\n", port);
		fflush(stdout);
	}
	for (int k = 0; k < clients; k++) {
		struct slice s = {k, clients};
		double part = 0;
		MPI_Comm inter;
		int n;

		MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
		MPI_Comm_remote_size(inter, &n);
		MPI_Bcast(&s, 2, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
		MPI_Reduce(NULL, &part, 1, MPI_DOUBLE, MPI_SUM,
			   rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
		MPI_Comm_disconnect(&inter);
		pi += part;
		if (rank == 0)
			printf("slice %d of %d from %d ranks\n", k + 1, clients, n);
	}
	if (rank != 0)
		return 0;
	MPI_Unpublish_name(NAME, MPI_INFO_NULL, port);
	MPI_Close_port(port);
	printf("pi is %.12f: %s\n", pi, fabs(pi - acos(-1)) < 1e-9 ? "right" : "WRONG");
	return fabs(pi - acos(-1)) < 1e-9 ? 0 : 1;
}

static int
be_client(const char *given, int rank, int size)
{
	char port[MPI_MAX_PORT_NAME] = "";
	struct slice s;
	MPI_Comm inter;
	double part, began;

	if (rank == 0) {
		if (given != NULL)
			snprintf(port, sizeof(port), "%s", given);
		else
			MPI_Lookup_name(NAME, MPI_INFO_NULL, port);
	}
	began = MPI_Wtime();
	MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
	if (rank == 0)
		printf("connected after %.1f ms\n", (MPI_Wtime() - began) * 1e3);
	MPI_Bcast(&s, 2, MPI_INT, 0, inter);
	part = compute(&s, rank, size);
	MPI_Reduce(&part, NULL, 1, MPI_DOUBLE, MPI_SUM, 0, inter);
	MPI_Comm_disconnect(&inter);
	return 0;
}

int
main(int argc, char **argv)
{
	int rank, size, rc;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc == 3 && strcmp(argv[1], "server") == 0 && strtol(argv[2], NULL, 10) > 0) {
		rc = serve((int)strtol(argv[2], NULL, 10), rank);
	} else if ((argc == 2 || argc == 3) && strcmp(argv[1], "client") == 0) {
		rc = be_client(argc == 3 ? argv[2] : NULL, rank, size);
	} else {
		if (rank == 0)
			fprintf(stderr, "usage: meet server CLIENTS | meet client [PORT]\n");
		rc = 2;
	}
	MPI_Finalize();
	return rc;
}

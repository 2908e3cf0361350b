/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of two jobs that do not know each other connect at the same time, in any order at each
 * end: some with all processes of their job, the others each for itself.
 *
 *	strangers accept FILE	its ports go to that file
 *	strangers connect FILE	as soon as it is there */
#include "check.h"
#include "shared_file.h"

#include <pthread.h>
#include <unistd.h>

#define THREADS 8
#define WAIT_S	60

struct ports {
	char name[THREADS][MPI_MAX_PORT_NAME];
};

static MPI_Comm comms[THREADS];
static int root[THREADS];
static long bad[THREADS];
static int accepts;
static struct ports ports;
static pthread_barrier_t together;

static long
exercise(MPI_Comm inter, int t)
{
	int theirs = -1, all, one = 1, sum = 0, rank, n;
	MPI_Comm both;

	MPI_Comm_rank(inter, &rank);
	MPI_Comm_remote_size(inter, &n);
	MPI_Sendrecv(&t, 1, MPI_INT, rank, 0, &theirs, 1, MPI_INT, rank, 0, inter,
		     MPI_STATUS_IGNORE);
	MPI_Intercomm_merge(inter, accepts, &both);
	MPI_Comm_size(both, &all);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both);
	MPI_Comm_free(&both);
	MPI_Comm_disconnect(&inter);
	return (theirs != t) + (sum != all) + (all != 2 * n);
}

static void *
meet(void *arg)
{
	int t = (int)(intptr_t)arg, rc;
	MPI_Comm inter;

	pthread_barrier_wait(&together);
	rc = accepts ? MPI_Comm_accept(ports.name[t], MPI_INFO_NULL, root[t], comms[t], &inter)
		     : MPI_Comm_connect(ports.name[t], MPI_INFO_NULL, root[t], comms[t], &inter);
	bad[t] = rc != MPI_SUCCESS || exercise(inter, t);
	return NULL;
}

static void
tell_ports(const char *file)
{
	struct ports *all = calloc((size_t)check_size, sizeof(*all));

	for (int t = 0; t < THREADS; t++)
		MPI_Open_port(MPI_INFO_NULL, ports.name[t]);
	MPI_Gather(&ports, sizeof(ports), MPI_BYTE, all, sizeof(ports), MPI_BYTE, 0,
		   MPI_COMM_WORLD);
	if (check_rank == 0)
		leave_in_file(file, all, (size_t)check_size * sizeof(*all));
	free(all);
}

static void
hear_ports(const char *file)
{
	struct ports *all = calloc((size_t)check_size, sizeof(*all));

	if (check_rank == 0)
		await_file(file, all, (size_t)check_size * sizeof(*all), WAIT_S);
	MPI_Scatter(all, sizeof(ports), MPI_BYTE, &ports, sizeof(ports), MPI_BYTE, 0,
		    MPI_COMM_WORLD);
	free(all);
}

int
main(int argc, char **argv)
{
	pthread_t th[THREADS];

	start_threaded(&argc, &argv);
	if (argc != 3) {
		CHECKF(0, "usage: strangers accept|connect FILE");
		return finish();
	}
	accepts = strcmp(argv[1], "accept") == 0;
	for (int t = 0; t < THREADS; t++) {
		MPI_Comm_dup(t % 2 ? MPI_COMM_SELF : MPI_COMM_WORLD, &comms[t]);
		root[t] = t % 2 ? 0 : t / 2 % check_size;
	}
	if (accepts)
		tell_ports(argv[2]);
	else
		hear_ports(argv[2]);
	pthread_barrier_init(&together, NULL, THREADS);
	for (int t = 0; t < THREADS; t++)
		pthread_create(&th[t], NULL, meet, (void *)(intptr_t)t);
	for (int t = 0; t < THREADS; t++) {
		pthread_join(th[t], NULL);
		CHECKF(bad[t] == 0, "thread %d: %ld wrong", t, bad[t]);
		MPI_Comm_free(&comms[t]);
		if (accepts)
			MPI_Close_port(ports.name[t]);
	}
	return finish();
}

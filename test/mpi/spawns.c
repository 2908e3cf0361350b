/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of every rank spawn at the same time, one with those of the other ranks, the others each
 * for itself: what one of them starts becomes no other's, whoever comes first. */
#include "check.h"

#include <pthread.h>
#include <stdbool.h>

#define THREADS	 4
#define CHILDREN 2
#define ROUNDS	 2

static MPI_Comm comms[THREADS];
static const char *self;
static long bad[THREADS];
static pthread_barrier_t together;

/* Both sides; who: the thread that has started the others. */
static long
exercise(MPI_Comm inter, bool high, int who)
{
	int number = high ? -1 : who, all, one = 1, sum = 0, rank;
	MPI_Comm both;

	MPI_Comm_rank(inter, &rank);
	MPI_Bcast(&number, 1, MPI_INT, high ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
	MPI_Intercomm_merge(inter, high, &both);
	MPI_Comm_size(both, &all);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both);
	MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_MAX, both);
	MPI_Comm_free(&both);
	MPI_Comm_disconnect(&inter);
	return (sum != all) + (high ? number < 0 || number >= THREADS : number != who);
}

static void *
starter(void *arg)
{
	int t = (int)(intptr_t)arg;

	for (int k = 0; k < ROUNDS; k++) {
		MPI_Comm inter;
		int n = 0;

		pthread_barrier_wait(&together);
		bad[t] += MPI_Comm_spawn(self, MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, comms[t],
					 &inter, MPI_ERRCODES_IGNORE) != MPI_SUCCESS;
		MPI_Comm_remote_size(inter, &n);
		bad[t] += n != CHILDREN;
		bad[t] += exercise(inter, false, t);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t th[THREADS];
	MPI_Comm parent;

	self = argv[0];
	start_threaded(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL) {
		CHECK(exercise(parent, true, -1) == 0);
		return finish();
	}
	for (int t = 0; t < THREADS; t++)
		MPI_Comm_dup(t == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF, &comms[t]);
	pthread_barrier_init(&together, NULL, THREADS);
	for (int t = 0; t < THREADS; t++)
		pthread_create(&th[t], NULL, starter, (void *)(intptr_t)t);
	for (int t = 0; t < THREADS; t++) {
		pthread_join(th[t], NULL);
		CHECKF(bad[t] == 0, "thread %d: %ld wrong", t, bad[t]);
		MPI_Comm_free(&comms[t]);
	}
	return finish();
}

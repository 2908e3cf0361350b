/* SPDX-License-Identifier: BSD-2-Clause */
/* MPI_THREAD_MULTIPLE: threads of every rank talk at the same time, each on its
 * own tag and communicator, with messages of all sizes. */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS	60

static MPI_Comm comms[THREADS];
static long bad[THREADS];

static void *
worker(void *arg)
{
	int t = (int)(intptr_t)arg;
	int right = (check_rank + 1) % check_size;
	int left = (check_rank + check_size - 1) % check_size;
	unsigned char *out = malloc(100000), *in = malloc(100000);

	for (int k = 0; k < ROUNDS; k++) {
		int n = (int)(mix((uint32_t)(k * THREADS + t)) % 100000), sum = 0;
		MPI_Request r;

		fill(out, (size_t)n, (uint32_t)(check_rank * 1000 + t * 100 + k));
		MPI_Irecv(in, n, MPI_BYTE, left, t, MPI_COMM_WORLD, &r);
		MPI_Send(out, n, MPI_BYTE, right, t, MPI_COMM_WORLD);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		bad[t] += wrong(in, (size_t)n, (uint32_t)(left * 1000 + t * 100 + k)) != -1;
		MPI_Allreduce(&k, &sum, 1, MPI_INT, MPI_SUM, comms[t]);
		bad[t] += sum != k * check_size;
	}
	free(out);
	free(in);
	return NULL;
}

/* Communicators made by two threads at once: their tags keep them apart, whoever comes first. */
static void *
maker(void *arg)
{
	int t = (int)(intptr_t)arg;
	MPI_Group all;

	MPI_Comm_group(MPI_COMM_WORLD, &all);
	for (int k = 0; k < 10; k++) {
		int mine = 1000 * t + k, sum = 0;
		MPI_Comm c;

		if (check_rank % 2 == t)
			usleep(3000);
		MPI_Comm_create_group(MPI_COMM_WORLD, all, 5 + 512 * t, &c);
		MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, c);
		bad[t] += sum != mine * check_size;
		MPI_Comm_free(&c);
	}
	MPI_Group_free(&all);
	return NULL;
}

/* A session that asks for no level has the process's. */
static void
session_level(void)
{
	MPI_Session s;
	MPI_Info used;
	char value[64] = "";
	int flag = 0;

	CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS);
	MPI_Session_get_info(s, &used);
	MPI_Info_get(used, "thread_level", sizeof(value) - 1, value, &flag);
	CHECKF(flag && strcmp(value, "MPI_THREAD_MULTIPLE") == 0, "\"%s\"", value);
	MPI_Info_free(&used);
	MPI_Session_finalize(&s);
}

int
main(int argc, char **argv)
{
	pthread_t th[THREADS];

	start_threaded(&argc, &argv);
	session_level();
	for (int t = 0; t < THREADS; t++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
	for (int t = 0; t < THREADS; t++)
		pthread_create(&th[t], NULL, worker, (void *)(intptr_t)t);
	for (int t = 0; t < THREADS; t++) {
		pthread_join(th[t], NULL);
		CHECKF(bad[t] == 0, "thread %d: %ld wrong", t, bad[t]);
		MPI_Comm_free(&comms[t]);
	}
	for (int t = 0; t < 2; t++)
		pthread_create(&th[t], NULL, maker, (void *)(intptr_t)t);
	for (int t = 0; t < 2; t++) {
		pthread_join(th[t], NULL);
		CHECKF(bad[t] == 0, "maker %d: %ld wrong", t, bad[t]);
	}
	return finish();
}

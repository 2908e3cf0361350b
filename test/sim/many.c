/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes take jobs from a counter they share.  One that dies names its job, and
 * another takes its place. */
#include "many.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS_MAX  16
#define FAILURES_MAX 30 /* then no more is begun */

struct shared {
	_Atomic uint64_t next;
	_Atomic uint32_t passed, failed;
	uint64_t current[WORKERS_MAX]; /* each written by its worker */
};

static unsigned
workers(void)
{
	const char *jobs = getenv("SIM_JOBS");
	long n = jobs ? strtol(jobs, NULL, 10) : 0;
	if (n >= 1)
		return n > WORKERS_MAX ? WORKERS_MAX : (unsigned)n;
	n = sysconf(_SC_NPROCESSORS_ONLN);
	return n < 2 ? 2 : n > WORKERS_MAX ? WORKERS_MAX : (unsigned)n;
}

static uint64_t
seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec;
}

static void
print_failure(const struct job *j, const char *why)
{
	printf("FAIL  %s: %s\n      again: make sim SEED=0x%llx SCENARIO=%s\n", j->sc->name, why,
	       (unsigned long long)j->seed, j->sc->name);
	fflush(stdout);
}

static bool
run_job(const struct job *j)
{
	struct outcome o = {0}, again = {0};
	j->sc->run(j->seed, false, &o);
	if (o.ok && j->twice) {
		j->sc->run(j->seed, false, &again);
		if (again.hash != o.hash || again.events != o.events) {
			o.ok = false;
			snprintf(o.why, sizeof o.why, "two runs of the same seed differ");
		}
	}
	if (!o.ok)
		print_failure(j, o.why);
	else if (j->sc->fixed)
		printf("ok    %-18s %s\n", j->sc->name, o.note);
	fflush(stdout);
	return o.ok;
}

static void
work(const struct many *m, struct shared *sh, unsigned me, uint64_t until)
{
	while ((!until || seconds() < until) && atomic_load(&sh->failed) < FAILURES_MAX) {
		uint64_t i = atomic_fetch_add(&sh->next, 1);
		struct job j;
		if (i >= m->to)
			return;
		sh->current[me] = i;
		m->job(m->arg, i, &j);
		if (run_job(&j))
			atomic_fetch_add(&sh->passed, 1);
		else
			atomic_fetch_add(&sh->failed, 1);
		sh->current[me] = UINT64_MAX;
	}
}

static pid_t
begin(const struct many *m, struct shared *sh, unsigned me, uint64_t until)
{
	sh->current[me] = UINT64_MAX;
	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0) {
		perror("sim: fork");
		exit(2);
	}
	if (pid == 0) {
		work(m, sh, me, until);
		exit(0);
	}
	return pid;
}

/* A worker ended; true: it broke off and has to be replaced. */
static bool
broke_off(const struct many *m, struct shared *sh, unsigned me, int status)
{
	if (!status)
		return false;
	atomic_fetch_add(&sh->failed, 1);
	struct job j;
	char why[100];
	snprintf(why, sizeof why,
		 "ended with status 0x%x; the assertion or sanitizer report above "
		 "names the place",
		 (unsigned)status);
	if (sh->current[me] == UINT64_MAX) {
		printf("FAIL  a simulator process %s\n", why);
		return false;
	}
	m->job(m->arg, sh->current[me], &j);
	print_failure(&j, why);
	return true;
}

int
many_run(const struct many *m, uint64_t *next)
{
	unsigned n = workers(), left = n;
	pid_t pid[WORKERS_MAX];
	uint64_t until = m->seconds ? seconds() + m->seconds : 0;
	struct shared *sh =
		mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED) {
		perror("sim: mmap");
		return 2;
	}
	atomic_store(&sh->next, m->from);
	for (unsigned k = 0; k < n; k++)
		pid[k] = begin(m, sh, k, until);
	while (left) {
		int status = 0;
		pid_t ended = waitpid(-1, &status, 0);
		if (ended < 0 && errno == EINTR)
			continue;
		if (ended < 0)
			break;
		for (unsigned k = 0; k < n; k++) {
			if (pid[k] != ended)
				continue;
			if (broke_off(m, sh, k, status))
				pid[k] = begin(m, sh, k, until);
			else
				left--;
		}
	}
	uint32_t passed = atomic_load(&sh->passed), failed = atomic_load(&sh->failed);
	*next = atomic_load(&sh->next);
	*next = *next < m->to ? *next : m->to;
	munmap(sh, sizeof *sh);
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}

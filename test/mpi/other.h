/* SPDX-License-Identifier: BSD-2-Clause */
/* test/mpi/other.h - a copy of this program beside its job, without a launcher's marks. */
#ifndef MPI_OTHER_H
#define MPI_OTHER_H

#include "check.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static inline pid_t
start_other(const char *self, const char *what, const char *arg)
{
	char *argv[] = {(char *)(uintptr_t)self, (char *)(uintptr_t)what, (char *)(uintptr_t)arg,
			NULL};
	char *env[1024];
	int n = 0;
	pid_t pid = -1;

	for (char **e = environ; *e && n < 1023; e++)
		if (strncmp(*e, "PMIX_", 5) != 0 && strncmp(*e, "IMPI_", 5) != 0)
			env[n++] = *e;
	env[n] = NULL;
	CHECK(posix_spawn(&pid, self, NULL, NULL, argv, env) == 0);
	return pid;
}

/* It ends well. */
static inline void
await_other(pid_t pid)
{
	int status = 1;

	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

#endif

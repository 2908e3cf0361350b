/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/launch/pmix_job.h - a job as a PMIx server tells its processes of it: mpirun, mpispd.
 *
 * Describes it to PMIx's server in this process, which runs: how many ranks there are, on which
 * nodes, who is here; then lets the ranks of this node connect, as this user.
 *
 * Limits   65535 ranks, and nodes; PMIx counts those of a node in 16 bits.
 * Errors   false, and say() has said why.
 * Threads  one that is not PMIx's; each call waits for PMIx, which answers at once.
 * Source   PMIx 4: PMIx_server_register_nspace(3), PMIx_server_register_client(3). */
#ifndef LAUNCH_PMIX_JOB_H
#define LAUNCH_PMIX_JOB_H

#include <stdbool.h>
#include <stdint.h>

struct launch_pmix_job {
	const char *nspace;
	uint32_t ranks;
	uint32_t universe; /* ranks there may ever be; 0: nobody has bounded it */
	uint32_t first;	   /* of its ranks, counted over all jobs */
	uint32_t napps;
	const uint32_t *app_ranks; /* [napps] one after the other */
	uint32_t nodes, here;	   /* here: which one this is */
	const char *const *node;   /* [nodes] names, each with a rank */
	const uint16_t *node_of;   /* [ranks]; NULL: all are here */
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

bool launch_pmix_describe(const struct launch_pmix_job *j);
/* Environment of a rank that is here: own with what PMIx adds.  malloc'd, as each of its words;
 * NULL: out of memory. */
char **launch_pmix_env(const char *nspace, uint32_t rank, char *const *own);

#endif

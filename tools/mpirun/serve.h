/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/mpirun/serve.h - what PMIx's server asks of serve.c, in a thread of its own. */
#ifndef MPIRUN_SERVE_H
#define MPIRUN_SERVE_H

#include <pmix_server.h>
#include <stdint.h>

/* Its number over all jobs, in pmix.c; MPIRUN_RANKS_MAX: it is none of ours. */
uint32_t mpirun_rank_of(const pmix_proc_t *proc);

pmix_status_t mpirun_on_publish(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
				pmix_op_cbfunc_t done, void *arg);
pmix_status_t mpirun_on_lookup(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
			       size_t ninfo, pmix_lookup_cbfunc_t done, void *arg);
pmix_status_t mpirun_on_unpublish(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
				  size_t ninfo, pmix_op_cbfunc_t done, void *arg);
pmix_status_t mpirun_on_spawn(const pmix_proc_t *proc, const pmix_info_t job_info[], size_t ninfo,
			      const pmix_app_t apps[], size_t napps, pmix_spawn_cbfunc_t done,
			      void *arg);

#endif

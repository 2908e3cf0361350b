/* SPDX-License-Identifier: BSD-2-Clause */
/* What a PMIx server tells of a job. */
#include "pmix_job.h"

#include <pmix.h>
#include <pmix_server.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
op_done(pmix_status_t status, void *arg)
{
	_Atomic int *result = arg;
	atomic_store(result, status == PMIX_SUCCESS ? 1 : 2);
}

/* Wait for an answer that comes at once. */
static bool
answer_came(const struct launch_pmix_job *j, const char *what, pmix_status_t rc,
	    _Atomic int *result)
{
	if (rc == PMIX_OPERATION_SUCCEEDED)
		return true;
	while (rc == PMIX_SUCCESS && atomic_load(result) == 0)
		usleep(50);
	if (rc == PMIX_SUCCESS && atomic_load(result) == 1)
		return true;
	j->say("PMIx: %s: %s", what, PMIx_Error_string(rc == PMIX_SUCCESS ? PMIX_ERROR : rc));
	return false;
}

static uint32_t
node_of(const struct launch_pmix_job *j, uint32_t rank)
{
	return j->node_of ? j->node_of[rank] : j->here;
}

/* "0,1,2": those of a node, behind what is there; how long it is then. */
static size_t
list_ranks(const struct launch_pmix_job *j, uint32_t node, char *s, size_t n, size_t cap,
	   uint32_t *count)
{
	*count = 0;
	for (uint32_t r = 0; r < j->ranks; r++)
		if (node_of(j, r) == node)
			n += (size_t)snprintf(s + n, cap - n, "%s%u", (*count)++ ? "," : "", r);
	return n;
}

/* "0,1;2,3": those of each node; NULL: out of memory. */
static char *
map_ranks(const struct launch_pmix_job *j)
{
	size_t cap = (size_t)(j->ranks + j->nodes) * 6 + 1, n = 0;
	char *s = calloc(1, cap);
	uint32_t count;

	for (uint32_t k = 0; s && k < j->nodes; k++) {
		if (k)
			s[n++] = ';';
		n = list_ranks(j, k, s, n, cap, &count);
	}
	return s;
}

static char *
map_nodes(const struct launch_pmix_job *j)
{
	size_t cap = 1, n = 0;

	for (uint32_t k = 0; k < j->nodes; k++)
		cap += strlen(j->node[k]) + 1;
	char *s = calloc(1, cap);
	for (uint32_t k = 0; s && k < j->nodes; k++)
		n += (size_t)snprintf(s + n, cap - n, "%s%s", k ? "," : "", j->node[k]);
	return s;
}

static void
load_u32(pmix_info_t *info, const char *key, uint32_t v)
{
	PMIX_INFO_LOAD(info, key, &v, PMIX_UINT32);
}

static uint32_t
app_of(const struct launch_pmix_job *j, uint32_t rank)
{
	uint32_t a = 0;

	for (uint32_t first = 0; rank >= first + j->app_ranks[a]; a++)
		first += j->app_ranks[a];
	return a;
}

static void
describe_rank(pmix_info_t *info, const struct launch_pmix_job *j, uint32_t rank, uint16_t local)
{
	pmix_data_array_t array;
	pmix_info_t *of;
	pmix_rank_t r = rank, global = j->first + rank;
	uint32_t node = node_of(j, rank);

	PMIX_DATA_ARRAY_CONSTRUCT(&array, 7, PMIX_INFO);
	of = array.array;
	PMIX_INFO_LOAD(&of[0], PMIX_RANK, &r, PMIX_PROC_RANK);
	load_u32(&of[1], PMIX_APPNUM, app_of(j, rank));
	PMIX_INFO_LOAD(&of[2], PMIX_LOCAL_RANK, &local, PMIX_UINT16);
	PMIX_INFO_LOAD(&of[3], PMIX_NODE_RANK, &local, PMIX_UINT16);
	PMIX_INFO_LOAD(&of[4], PMIX_HOSTNAME, j->node[node], PMIX_STRING);
	PMIX_INFO_LOAD(&of[5], PMIX_GLOBAL_RANK, &global, PMIX_PROC_RANK);
	load_u32(&of[6], PMIX_NODEID, node);
	PMIX_INFO_LOAD(info, PMIX_PROC_DATA, &array, PMIX_DATA_ARRAY);
	PMIX_DATA_ARRAY_DESTRUCT(&array);
}

#define JOB_INFOS 9u

static void
describe_pmix_job(pmix_info_t *info, const struct launch_pmix_job *j, uint32_t local,
		  const char *peers, const char *nodes, const char *procs)
{
	load_u32(&info[0], PMIX_JOB_SIZE, j->ranks);
	/* Without a bound its place says the size again. */
	load_u32(&info[1], j->universe ? PMIX_UNIV_SIZE : PMIX_JOB_SIZE,
		 j->universe ? j->universe : j->ranks);
	load_u32(&info[2], PMIX_LOCAL_SIZE, local);
	load_u32(&info[3], PMIX_MAX_PROCS, j->ranks);
	load_u32(&info[4], PMIX_JOB_NUM_APPS, j->napps);
	load_u32(&info[5], PMIX_NUM_NODES, j->nodes);
	PMIX_INFO_LOAD(&info[6], PMIX_LOCAL_PEERS, peers, PMIX_STRING);
	PMIX_INFO_LOAD(&info[7], PMIX_NODE_MAP, nodes, PMIX_REGEX);
	PMIX_INFO_LOAD(&info[8], PMIX_PROC_MAP, procs, PMIX_REGEX);
}

static bool
register_job(const struct launch_pmix_job *j, const char *list, const char *map)
{
	_Atomic int result = 0;
	size_t ninfo = JOB_INFOS + j->ranks, cap = (size_t)j->ranks * 6 + 1;
	pmix_info_t *info;
	uint16_t *local = calloc(j->nodes, sizeof *local);
	char *peers = calloc(1, cap), *nodes = NULL, *procs = NULL;
	pmix_status_t rc = PMIX_ERR_NOMEM;
	uint32_t here;

	PMIX_INFO_CREATE(info, ninfo);
	if (info && local && peers && PMIx_generate_regex(list, &nodes) == PMIX_SUCCESS &&
	    PMIx_generate_ppn(map, &procs) == PMIX_SUCCESS) {
		list_ranks(j, j->here, peers, 0, cap, &here);
		describe_pmix_job(info, j, here, peers, nodes, procs);
		for (uint32_t r = 0; r < j->ranks; r++)
			describe_rank(&info[JOB_INFOS + r], j, r, local[node_of(j, r)]++);
		rc = PMIx_server_register_nspace(j->nspace, (int)here, info, ninfo, op_done,
						 &result);
	}
	bool ok = answer_came(j, "describing the job", rc, &result);
	PMIX_INFO_FREE(info, ninfo);
	free(nodes);
	free(procs);
	free(peers);
	free(local);
	return ok;
}

static bool
register_ranks(const struct launch_pmix_job *j)
{
	for (uint32_t r = 0; r < j->ranks; r++) {
		_Atomic int result = 0;
		pmix_proc_t proc;

		PMIX_LOAD_PROCID(&proc, j->nspace, r);
		if (node_of(j, r) == j->here &&
		    !answer_came(j, "describing a rank",
				 PMIx_server_register_client(&proc, getuid(), getgid(), NULL,
							     op_done, &result),
				 &result))
			return false;
	}
	return true;
}

bool
launch_pmix_describe(const struct launch_pmix_job *j)
{
	char *nodes = map_nodes(j), *ranks = map_ranks(j);
	bool ok = nodes && ranks;

	if (!ok)
		j->say("out of memory");
	ok = ok && register_job(j, nodes, ranks) && register_ranks(j);
	free(nodes);
	free(ranks);
	return ok;
}

char **
launch_pmix_env(const char *nspace, uint32_t rank, char *const *own)
{
	pmix_proc_t proc;
	char **env = NULL;
	size_t n = 0;

	while (own[n])
		n++;
	env = calloc(n + 1, sizeof *env);
	for (size_t i = 0; env && i < n; i++)
		env[i] = strdup(own[i]);
	PMIX_LOAD_PROCID(&proc, nspace, rank);
	return env && PMIx_server_setup_fork(&proc, &env) == PMIX_SUCCESS ? env : NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* mpitune: what is turned, and how one turn of it is measured. */
#ifndef MPITUNE_H
#define MPITUNE_H

#include "tune/store.h"
#include "tune/tuner.h"

#include <stdbool.h>
#include <stdint.h>

#include <mpi.h>

/* A number of libmpi's: its control variable, its name in the store, the values that are tried, and
 * a pass of work that depends on it. */
struct knob {
	const char *cvar;
	enum tune_value value;
	const uint64_t *list;
	uint32_t n;
	uint64_t fallback;			/* if the variable is 0 */
	uint64_t (*pass)(MPI_Comm c, int rank); /* the bytes it moved */
};

/* Of two ranks of a node; of two nodes; of two ranks on each of two nodes, GROUP in all. */
extern const struct knob node_knobs[], net_knobs[], group_knobs[];
extern const uint32_t node_nknobs, net_nknobs, group_nknobs;
#define GROUP 4

/* Memory of the passes; false: there is none. */
bool work_init(void);
/* Shortest round trip of nothing, in ns. */
uint64_t work_rtt(MPI_Comm c, int rank);

#endif

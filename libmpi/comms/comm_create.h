/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/comms/comm_create.h - constructors other files use. */
#ifndef LMPI_COMM_CREATE_H
#define LMPI_COMM_CREATE_H

#include "comm.h"

/* Does the process share memory with me, as MPI_COMM_TYPE_SHARED means it? */
bool lmpi_proc_on_my_node(uint32_t world);

/* *comm is NULL for processes with MPI_UNDEFINED.  Collective; an error code. */
int lmpi_comm_split(struct lmpi_comm *c, int color, int key, struct lmpi_comm **comm);

/* An inter-communicator of the two groups; references to both are taken over, also in
 * case of an error.  cid as lmpi_cid_agree_two() gives it. */
int lmpi_comm_new_inter(struct lmpi_group *group, struct lmpi_group *remote, const uint64_t cid[2],
			const struct lmpi_comm *parent, struct lmpi_comm **comm);
/* MPI_Intercomm_create on objects; peer_comm, remote_leader and tag count at the leader. */
int lmpi_inter_make(struct lmpi_comm *c, int local_leader, MPI_Comm peer_comm, int remote_leader,
		    int tag, struct lmpi_comm **made);
/* The parts of MPI_Comm_create and MPI_Comm_split for inter-communicators. */
int lmpi_inter_create(struct lmpi_comm *c, struct lmpi_group *g, MPI_Comm *newcomm);
int lmpi_inter_split(struct lmpi_comm *c, int color, int key, MPI_Comm *newcomm);

/* What the processes of a group chose in MPI_Comm_split, and who of them chose a color:
 * by key, then by rank. */
struct lmpi_choice {
	int color, key, rank;
};
/* via: gives the choices of all of the group by lmpi_coll_allgather_ints(). */
int lmpi_gather_choices(struct lmpi_comm *via, int n, int color, int key, struct lmpi_choice *all);
struct lmpi_group *lmpi_group_of_color(const struct lmpi_group *of, struct lmpi_choice *all,
				       int color);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/dyn/dyn.h - processes that come and go: what the files here and calls/init.c share.
 *
 * Connecting two groups makes an inter-communicator and a link, which holds it until it is
 * disconnected: the processes are connected as long, also when the program has freed the handle
 * (MPI-4, 11.10.4).  Connected jobs end together: MPI_Finalize meets the links that there are.
 *
 * Threads  the lock is held. */
#ifndef LMPI_DYN_H
#define LMPI_DYN_H

#include <stdbool.h>

#include "comm.h"

/* --- meet.c */
enum lmpi_meet_how { LMPI_MEET_ACCEPT, LMPI_MEET_CONNECT };
/* Collective over c: port counts at root.  seconds: how long the root waits, LMPI_FOR_EVER for
 * what is usual.  An error code, the same in all. */
int lmpi_meet_others(struct lmpi_comm *c, int root, enum lmpi_meet_how how, const char *port,
		     double seconds, struct lmpi_comm **made);

/* Info key timeout, in seconds; untouched without it.  MPI_ERR_INFO_VALUE: it is no number. */
int lmpi_meet_limit(MPI_Info info, double *seconds);

/* --- name.c */
/* MPI_Init is nearly over: all clusters of this job call it the same (others.h).  An error code. */
int lmpi_job_name(void);
/* A random number. */
uint64_t lmpi_draw(void);

/* --- links.c */
/* False: no memory. */
bool lmpi_link_add(struct lmpi_comm *comm);
/* Everybody on both sides wants to disconnect c: what was sent has come.  An error code. */
int lmpi_link_leave(struct lmpi_comm *c);
/* c was freed by the program: its link goes. */
void lmpi_link_drop(const struct lmpi_comm *c);
/* All links, in an order that both sides have; afterwards nobody cares for other jobs. */
void lmpi_links_end(void);

/* --- spawn.c */
/* MPI_Init is nearly over: meet who has started this job, if anybody has.  An error code. */
int lmpi_parent_meet(void);
/* comm is disconnected. */
void lmpi_parent_forget(const struct lmpi_comm *comm);

#endif

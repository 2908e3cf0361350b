/* SPDX-License-Identifier: BSD-2-Clause */
/* domain.h - which part of the machine a hardware thread belongs to, as Linux says in /sys.
 *
 * Threads  one.
 * Errors   none: where the machine does not say, the next larger part is taken, at last all of it.
 */
#ifndef MPIRUN_DOMAIN_H
#define MPIRUN_DOMAIN_H

enum mpirun_domain {
	MPIRUN_CORE,   /* threads of one core */
	MPIRUN_L3,     /* what shares a third-level cache */
	MPIRUN_NUMA,   /* a node of memory */
	MPIRUN_SOCKET, /* a package */
};

/* Two threads have the same number if they are in the same part.  sys: "/sys". */
unsigned mpirun_domain_of(const char *sys, unsigned cpu, enum mpirun_domain kind);

#endif

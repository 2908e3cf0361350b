/* SPDX-License-Identifier: BSD-2-Clause */
/* sp/severity.h - what is done about which fault: the table of the configuration.
 *
 * Each kind of fault has measures; several may hold at once, as "takeover", "restart-as-spare" and
 * "stop-after 3/60s" do for a process.
 *
 *     takeover		 a spare gets the role
 *     restart-as-spare	 the process is started again and waits as a spare
 *     stop-after n/t	 at the nth such fault within t all is stopped; t in s, m or h
 *     continue		 it is told, nothing else
 *     stop		 all is stopped
 *     bypass, wait	 of a cluster: the chain goes past it, or waits for it
 *
 * Threads  pure functions. */
#ifndef SP_SEVERITY_H
#define SP_SEVERITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(id, name) */
#define SP_FAULTS(X)          \
	X(PROCESS, "process") \
	X(NODE, "node")       \
	X(PATH, "path")       \
	X(CLUSTER, "cluster") \
	X(MASTER, "master")

enum sp_fault {
#define X(id, name) SP_FAULT_##id,
	SP_FAULTS(X)
#undef X
		SP_FAULT_COUNT
};

#define SP_TAKEOVER 1u
#define SP_RESTART  2u
#define SP_CONTINUE 4u
#define SP_STOP	    8u
#define SP_BYPASS   16u
#define SP_WAIT	    32u

struct sp_measures {
	uint32_t set;	   /* bits above */
	uint32_t stop_n;   /* stop-after; 0: never */
	uint32_t within_s; /* of stop-after */
};

/* No spare is left for a role, and none is started in its place. */
enum sp_none_left {
	SP_NONE_LEFT_WAIT,
	SP_NONE_LEFT_STOP,  /* all */
	SP_NONE_LEFT_SHRINK /* the others go on without it; the last one ends all */
};

struct sp_severity {
	struct sp_measures of[SP_FAULT_COUNT];
};

/* takeover and restart-as-spare for processes, takeover for nodes, continue for paths and masters,
 * stop for clusters. */
struct sp_severity sp_severity_default(void);
const char *sp_fault_name(unsigned fault);
/* Adds what a word says to the measures of a fault.  false: why says what is wrong with it. */
bool sp_severity_add(struct sp_severity *s, enum sp_fault fault, const char *word, char *why,
		     size_t room);
/* All words of a fault together: why says which contradict each other. */
bool sp_severity_fits(const struct sp_severity *s, enum sp_fault fault, char *why, size_t room);

#endif

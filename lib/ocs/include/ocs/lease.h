/* SPDX-License-Identifier: BSD-2-Clause */
/* ocs/lease.h - which job may use which ports of a switch.
 *
 * A job asks once for all it wants: of every node at least min ports, at most want.  It
 * gets all of that or waits; nobody holds a part and waits for the rest, so there is no
 * deadlock.  Jobs are served in the order they asked; one passes another only if they
 * have no node in common, so none starves.  What is granted is first held: a job that does not
 * confirm in time (the relay of the other cluster said no, or died) gives it back.
 * Which of its ports a job can use now (dark ones, those withdrawn) is not looked at here.
 *
 * Threads  one owner.  No allocation but the memory given. */
#ifndef OCS_LEASE_H
#define OCS_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OCS_NO_JOB UINT64_MAX

struct ocs_ask {
	uint32_t node, min, want;
};

enum ocs_lease_state { OCS_LEASE_NONE, OCS_LEASE_WAITING, OCS_LEASE_HELD, OCS_LEASE_GRANTED };

struct ocs_leases; /* opaque */

/* A table of so many ports, jobs, and nodes a job. */
size_t ocs_leases_footprint(uint32_t ports, uint32_t jobs, uint32_t nodes);
/* node_of[port]: what the port leads to; kept, not copied. */
struct ocs_leases *ocs_leases_new(void *mem, uint32_t ports, const uint32_t *node_of, uint32_t jobs,
				  uint32_t nodes);
/* The job waits or holds: ocs_lease_state().  False: the table is full, it has asked before,
 * or the switch has not that many ports at all. */
bool ocs_lease_ask(struct ocs_leases *t, uint64_t job, const struct ocs_ask *ask, uint32_t n,
		   uint64_t hold_ns, uint64_t now_ns);
enum ocs_lease_state ocs_lease_state(const struct ocs_leases *t, uint64_t job);
/* Held becomes granted.  False: it is not held (any more). */
bool ocs_lease_confirm(struct ocs_leases *t, uint64_t job);
void ocs_lease_release(struct ocs_leases *t, uint64_t job, uint64_t now_ns);
/* Holds that are over go; jobs that wait may get theirs.  When to call again: UINT64_MAX if
 * nothing is held. */
uint64_t ocs_leases_tick(struct ocs_leases *t, uint64_t now_ns);
/* The job's i-th port at the node; UINT32_MAX: none. */
uint32_t ocs_lease_port(const struct ocs_leases *t, uint64_t job, uint32_t node, uint32_t i);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* ocs/matrix.h - the state of one optical circuit switch as its user sees it.
 *
 * Keeps which circuits are wanted, ordered, lit; which ports are busy, dark or
 * somebody else's; and turns the difference between wanted and lit into batches
 * of removals and additions for a driver.  Knows no protocol, no clock, no
 * collective: the planner says what is wanted, a driver carries batches out
 * and reports, time comes in as now_ns.
 *
 *            ocs_request             take_batch            report ok
 *       FREE -----------> REQUESTED --------------> ORDERED -----------> REPORTED
 *         ^                 | ocs_release             | report failed      | light
 *         +-----------------+-------------------------+                    v
 *         |                                                               LIT
 *         |                                        ocs_release, no light   |
 *         +-- report ok -- RELEASING <-- take_batch -- RELEASE_PENDING <---+
 *
 *       FOREIGN: found by read-back, not ours; its ports are taken, it is
 *       never touched, and goes when a later read-back no longer shows it.
 *
 * "Reported" is the switch's word; "lit" is confirmed by state, power or probe.
 * The time from order to light feeds the switch's estimate of gamma.
 *
 * Rules a real switch forces: a port is in at most one circuit; a port is freed
 * by one batch and used again by a later one, never in the same; after a lost
 * session nothing is believed until ocs_reconcile().
 *
 * Units    ns of the caller's clock; ports are 0 .. ports-1, ingress and egress
 *          numbered apart.
 * Threads  one owner.
 * Limits   1 <= ports <= 4096; one circuit per ingress port.
 * Source   [OC]; driver contract of the optical control digest. */
#ifndef OCS_MATRIX_H
#define OCS_MATRIX_H

#include "ocs/gamma.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OCS_PORTS_MAX 4096
#define OCS_NO_PORT   UINT32_MAX

#define OCS_ERRORS(X)                                                        \
	X(OK, 0, "success")                                                  \
	X(INVAL, -1, "argument out of its documented range")                 \
	X(BUSY, -2, "a port of the circuit is in another circuit")           \
	X(FOREIGN, -3, "a port of the circuit belongs to a foreign circuit") \
	X(DARK, -4, "a port of the circuit is marked dark")                  \
	X(UNKNOWN, -5, "no such circuit")                                    \
	X(OFFLINE, -6, "the session is down; reconcile first")               \
	X(UNSUPPORTED, -7, "this switch cannot do that")                     \
	X(REFUSED, -8, "the switch refused; asking again will not help")     \
	X(RETRY, -9, "the switch is busy; the same may succeed later")       \
	X(AUTH, -10, "the switch does not accept the credentials")           \
	X(TIMEOUT, -11, "no answer in time")                                 \
	X(PROTOCOL, -12, "the switch's answer makes no sense")
enum ocs_err {
#define X(n, v, t) OCS_ERR_##n = v,
	OCS_ERRORS(X)
#undef X
};
const char *ocs_strerror(int err);

enum ocs_state {
	OCS_FREE,
	OCS_REQUESTED,
	OCS_ORDERED,
	OCS_REPORTED,
	OCS_LIT,
	OCS_RELEASE_PENDING,
	OCS_RELEASING,
	OCS_FOREIGN,
};

struct ocs_circuit {
	uint32_t in, out;
	enum ocs_state state;
	uint64_t since_ns;   /* when it entered the state */
	uint64_t ordered_ns; /* when its set-up was ordered */
	uint32_t batch;	     /* with how many others */
	uint64_t owner;	     /* caller's name for who wants it */
	/* While being ordered: RELEASE_PENDING when reported.  While on its way out: nobody wants
	 * it any more, so one without light is not set up once more. */
	bool release;
};

struct ocs_counters {
	uint64_t wanted, set_up, removed, refused, hits, foreign_seen, lost, batches;
};

struct ocs_matrix; /* opaque */

/* Bytes ocs_matrix_new() needs; 0 if ports is out of range. */
size_t ocs_matrix_footprint(uint32_t ports);
struct ocs_matrix *ocs_matrix_new(void *mem, uint32_t ports, uint64_t gamma_guess_ns);
/* A circuit that does not come holds up who waits for it for so long, at most; 1 s until this says
 * otherwise.  What is dark is tried again after OCS_DARK_SHARE times that at the latest: then
 * trying costs one part in a hundred of the time, and what is mended is found soon. */
#define OCS_DARK_SHARE 100u
void ocs_try_costs(struct ocs_matrix *m, uint64_t try_ns);

/* Ask for in -> out.  OK also if it is lit or under way already (counted as a
 * hit; the new owner takes it over, and a pending release is withdrawn unless a port is dark). */
int ocs_request(struct ocs_matrix *m, uint32_t in, uint32_t out, uint64_t owner, uint64_t now_ns);
/* No longer needed.  Not yet ordered: gone at once; else removed in a batch. */
int ocs_release(struct ocs_matrix *m, uint32_t in, uint64_t now_ns);

/* The next batch for the driver: up to max circuits of each kind.  Removals are
 * all RELEASE_PENDING ones, additions all REQUESTED ones; they become RELEASING, ORDERED.
 * Returns false if there is nothing to do or the session is down. */
struct ocs_batch {
	uint32_t removals, additions;
	struct ocs_circuit *remove, *add; /* caller's arrays of max entries */
};
bool ocs_take_batch(struct ocs_matrix *m, struct ocs_batch *b, uint32_t max, uint64_t now_ns);
/* The driver's answer for one circuit of a batch. */
int ocs_report(struct ocs_matrix *m, uint32_t in, bool ok, uint64_t now_ns);
/* Its answer is no, and asking again will not help.  Twice in a row of one port, and it is dark as
 * below: somebody may have taken it out of service.  A circuit that is set ends that. */
int ocs_refuse(struct ocs_matrix *m, uint32_t in, uint64_t now_ns);
/* Light confirmed (or, lit = false, lost: the circuit is removed and set up
 * once more; the second time in a row its ports are marked dark and DARK is
 * returned).  They may be wanted again after 2 s, with one try, then after 4, 8, ... s, up to
 * what ocs_try_costs() makes the longest; light over one makes it as good as any. */
int ocs_light(struct ocs_matrix *m, uint32_t in, bool lit, uint64_t now_ns);
/* Who uses a lit circuit has found the other end by it, or has not although both ends are there: a
 * fibre is in the wrong port, or broken behind the switch.  Then the circuit is given up; the
 * second time in a row its ports are dark as above, whatever the switch says of light, and DARK is
 * returned.  What is found ends that. */
int ocs_ends(struct ocs_matrix *m, uint32_t in, uint32_t out, bool found, uint64_t now_ns);

/* Session lost: everything under way is unknown. */
void ocs_offline(struct ocs_matrix *m);
/* Read-back after (re)connect: what the switch has.  Ours that are there become
 * REPORTED, ours that are not become REQUESTED again or gone, unknown ones FOREIGN, and so does
 * one that is wanted and was never ordered: somebody else has set it up. */
void ocs_reconcile(struct ocs_matrix *m, const struct ocs_circuit *have, uint32_t count,
		   uint64_t now_ns);
/* Operator or power check: no light can pass this port until the same says that it can.  One that
 * was found dark may then be tried at once. */
int ocs_port_dark(struct ocs_matrix *m, bool ingress, uint32_t port, bool dark);
/* Neither side of it is dark now. */
bool ocs_port_usable(const struct ocs_matrix *m, uint32_t port, uint64_t now_ns);

/* The circuit at an ingress port; state FREE if none. */
struct ocs_circuit ocs_at(const struct ocs_matrix *m, uint32_t in);
/* The ingress port whose circuit uses this egress, or OCS_NO_PORT. */
uint32_t ocs_user_of(const struct ocs_matrix *m, uint32_t out);
/* Smoothed time from order to light of one circuit; by size of batch, and its tail. */
uint64_t ocs_gamma_ns(const struct ocs_matrix *m);
const struct ocs_gamma *ocs_gamma(const struct ocs_matrix *m);
const struct ocs_counters *ocs_counters(const struct ocs_matrix *m);
/* NULL, or what contradicts itself: for tests and the simulator. */
const char *ocs_check(const struct ocs_matrix *m);

#endif

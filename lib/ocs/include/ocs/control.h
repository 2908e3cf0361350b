/* SPDX-License-Identifier: BSD-2-Clause */
/* ocs/control.h - one matrix joined to the driver of its switch.
 *
 * Above it somebody says ocs_request() and ocs_release() to the matrix; below it is a driver
 * (ocs/switch.h).  Between them this carries batches down and reports up, asks again
 * later where the switch is busy, looks until light is confirmed where success comes
 * before the mirrors have settled, and after every reconnect reads everything back:
 *
 *   ours, wanted, there      stays        ours, wanted, gone    is ordered again
 *   ours, unwanted, there    is removed   somebody else's       FOREIGN, never touched
 *
 * A circuit is ours if both its ports are: ports belong to whoever is wired to them, and
 * what a process before us left on them is removed.
 *
 *     turn:  ocs_control_turn(c, now)       after driver events and after request, release
 *            while (ocs_control_next(c, &n)) ...
 *            send what the driver has to send
 *
 * extra_ns holds every addition back for so long, with the path dark: it makes a
 * switch that is faster than light switches are, Open vSwitch say, as slow as one.  As with a
 * switch that takes a removal and what replaces it in one change, the time counts from the order
 * of the removal if the addition follows its report at once.
 *
 * Memory   given to ocs_control_new(); the matrix is in it.
 * Threads  one owner. */
#ifndef OCS_CONTROL_H
#define OCS_CONTROL_H

#include "ocs/switch.h"

struct ocs_control_config {
	uint32_t ports;		 /* of the matrix */
	uint32_t batch;		 /* circuits asked for at a time, at most what the switch takes */
	uint64_t gamma_guess_ns; /* until it is learnt */
	uint64_t extra_ns;	 /* see above; 0: none */
	uint64_t poll_ns;	 /* between looks for light; 0: 2 ms */
	uint64_t settle_ns;	 /* no light by then: dark; 0: 1 s */
	uint64_t retry_ns;	 /* after "busy"; 0: 20 ms */
	uint32_t retries;	 /* then it counts as refused; 0: 5 */
	/* Ours, by port; NULL: all are. */
	const bool *own_in, *own_out;
};

enum ocs_notice_kind {
	OCS_NOTICE_ONLINE,  /* read back; the matrix is true again */
	OCS_NOTICE_OFFLINE, /* no session: circuits stay as they are, but nothing can be asked */
	OCS_NOTICE_LIT,
	OCS_NOTICE_GONE,    /* was told to be lit, and is not any more */
	OCS_NOTICE_REFUSED, /* wanted, and will not be: err, text; the packet network has it */
};

struct ocs_notice {
	enum ocs_notice_kind kind;
	uint32_t in, out;
	uint64_t owner; /* who wanted it */
	int err;
	uint64_t at_ns;
	char text[OCS_TEXT_MAX];
};

struct ocs_control; /* opaque */

/* 0: ports or batch out of range. */
size_t ocs_control_footprint(const struct ocs_control_config *cfg);
struct ocs_control *ocs_control_new(void *mem, const struct ocs_control_config *cfg,
				    struct ocs_switch *sw);
struct ocs_matrix *ocs_control_matrix(struct ocs_control *c);
void ocs_control_turn(struct ocs_control *c, uint64_t now_ns);
/* When turn() wants to be called, besides the driver's own deadline. */
uint64_t ocs_control_expiry_ns(const struct ocs_control *c);
bool ocs_control_next(struct ocs_control *c, struct ocs_notice *n);

bool ocs_control_is_online(const struct ocs_control *c);
/* Nothing requested, ordered, to be released or unconfirmed is left to do. */
bool ocs_control_is_settled(const struct ocs_control *c);
/* What the switch said it is; all zeros before the first session. */
const struct ocs_identity *ocs_control_identity(const struct ocs_control *c);

struct ocs_control_counters {
	uint64_t sessions, reads, leftovers, retries, lost_notices;
};
const struct ocs_control_counters *ocs_control_counters(const struct ocs_control *c);

#endif

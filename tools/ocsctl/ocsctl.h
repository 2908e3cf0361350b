/* SPDX-License-Identifier: BSD-2-Clause */
/* ocsctl.h - what the files of ocsctl share.
 *
 *     main.c   options, the session, asking by hand
 *     keep.c   keep and churn: circuits held through ocs/control.h */
#ifndef OCSCTL_H
#define OCSCTL_H

#include "driver/ocs.h"

#include <stdbool.h>

#define PAIRS_MAX 256u

struct options {
	struct ocs_driver_config driver;
	bool own[OCS_PORTS_MAX]; /* of the ports, ingress and egress alike */
	bool own_given;
	uint64_t extra_ns, seconds, seed, revert_ns;
	bool atomic;
};

struct pairs {
	struct ocs_circuit at[PAIRS_MAX];
	uint32_t n;
};

extern volatile bool stopped; /* by a signal */

uint64_t clock_now(void);
/* Waits for the driver until at_ns at most, and lets it work. */
void turn_until(struct ocs_driver *d, uint64_t at_ns);
/* Both return the exit status. */
int keep(struct ocs_driver *d, const struct options *o, const struct pairs *p);
int churn(struct ocs_driver *d, const struct options *o);

#endif

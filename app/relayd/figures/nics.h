/* SPDX-License-Identifier: BSD-2-Clause */
/* nics.h - the ports as their drivers see them: link, counters of the hardware, what happened to
 * them.
 *
 * The link is looked at once a second, with what the driver knows without waiting; that a port was
 * removed or wants to be reset is what DPDK's interrupt thread says.  Both are logged.  Neither is
 * mended here: a removed port needs a restart, and so does one that has to be reset.
 *
 * Threads  control; the driver's events come in a thread of DPDK's and are counted only. */
#ifndef RD_NICS_H
#define RD_NICS_H

#include "driver/port.h"
#include "rd/conf.h"

#include <stdatomic.h>

struct rd_nics {
	const struct rd_port *port; /* [n], by leg */
	uint32_t n;
	struct rd_nic {
		bool up;
		uint32_t speed_mbps; /* 0: not known */
		uint64_t link_changes;
		atomic_ullong removed, resets; /* events of the driver */
		uint64_t removed_told, resets_told;
	} nic[RD_LEGS_MAX];
	uint64_t look_ns;
};

/* X(name, member of rte_eth_stats, help) */
#define RD_NIC_COUNTERS(X)                                                           \
	X(rx_missed, imissed, "frames that came while the receive queues were full") \
	X(rx_nombuf, rx_nombuf, "frames for which there was no buffer")              \
	X(rx_errors, ierrors, "frames that came damaged")                            \
	X(tx_errors, oerrors, "frames that could not be sent")

struct rd_nic_counters {
#define X(n, m, h) uint64_t n;
	RD_NIC_COUNTERS(X)
#undef X
};

void rd_nics_init(struct rd_nics *s, const struct rd_port *port, uint32_t n);
/* Now and then. */
void rd_nics_tick(struct rd_nics *s, uint64_t now_ns);
/* No more events. */
void rd_nics_fini(struct rd_nics *s);
/* Zero where the driver has none. */
void rd_nics_read(const struct rd_nics *s, uint32_t leg, struct rd_nic_counters *out);
/* All that the driver counts, by its own names. */
void rd_nics_xstats(const struct rd_nics *s, uint32_t leg,
		    void (*fn)(void *user, const char *name, uint64_t value), void *user);

#endif

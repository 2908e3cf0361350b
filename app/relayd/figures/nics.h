/* SPDX-License-Identifier: BSD-2-Clause */
/* nics.h - the ports as their drivers see them: link, counters of the hardware, what happened to
 * them.
 *
 * The link is looked at once a second, with what the driver knows without waiting, and at each
 * tick where the driver has an interrupt for it.  That it changed twice in between, that a port
 * was removed or wants to be reset is what DPDK's interrupt thread says; the next tick looks.  All
 * are logged.  A removed port needs a restart.  One that has to be reset is, one at a time
 * (nic_reset.c):
 *
 *      all workers leave the leg alone -> a thread resets the port, for seconds perhaps -> all
 *      workers take it again; if it fails, again a second later, and so on
 *
 * Meanwhile what is sent there is dropped (drop_reset) and sent again by the paths, and the other
 * legs go on.
 *
 * Threads  control; the driver's events come in a thread of DPDK's and are counted only. */
#ifndef RD_NICS_H
#define RD_NICS_H

#include "post.h"

#include "driver/port.h"
#include "rd/conf.h"

#include <pthread.h>
#include <stdatomic.h>

struct rd_nic_reset {
	enum rd_nic_phase { RD_NIC_WORKS, RD_NIC_STOPS, RD_NIC_RESETS, RD_NIC_STARTS } phase;
	uint32_t leg, mails; /* mails: workers that have not answered */
	uint64_t begun_ns, again_ns;
	/* The thread's, until done. */
	pthread_t thread;
	struct rd_port next;
	const struct rd_port_conf *conf;
	int result;
	char why[256];
	atomic_bool done;
};

struct rd_nics {
	struct rd_port *port; /* [n], by leg; closed while one is reset */
	const struct rd_port_conf *port_conf;
	uint32_t n;
	struct rd_post *post;
	struct rd_nic_reset reset;
	struct rd_nic {
		bool up;
		uint32_t speed_mbps; /* 0: not known */
		uint64_t link_changes;
		atomic_ullong removed, resets, link_events; /* of the driver */
		atomic_bool seen_up;			    /* at its last event of the link */
		uint64_t removed_told, resets_told, link_told;
		uint64_t resets_done;
		bool wanted; /* a reset, by its driver or by somebody who asks */
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

/* conf: as the ports were opened with, [n]; all stays the caller's and lives longer. */
void rd_nics_init(struct rd_nics *s, struct rd_port *port, const struct rd_port_conf *conf,
		  uint32_t n, struct rd_post *post);
/* Now and then. */
void rd_nics_tick(struct rd_nics *s, uint64_t now_ns);
/* As if its driver had said that it must be.  False: it is being reset. */
bool rd_nics_reset(struct rd_nics *s, uint32_t leg);
/* No more events; waits for a reset that runs. */
void rd_nics_fini(struct rd_nics *s);
/* Zero where the driver has none. */
void rd_nics_read(const struct rd_nics *s, uint32_t leg, struct rd_nic_counters *out);
/* All that the driver counts, by its own names. */
void rd_nics_xstats(const struct rd_nics *s, uint32_t leg,
		    void (*fn)(void *user, const char *name, uint64_t value), void *user);

/* ---- between the two files */
void rd_nic_watch(struct rd_nics *s, uint32_t leg);
void rd_nic_unwatch(struct rd_nics *s, uint32_t leg);
void rd_nic_reset_tick(struct rd_nics *s, uint64_t now_ns);
void rd_nic_reset_fini(struct rd_nics *s);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* telemetry.h - relayd on the DPDK telemetry socket, for DPDK's own tools; relayctl
 * has a socket of its own (rpc_server.h):
 *
 *   /relayd/info           who we are, uptime, pool, worker, custody
 *   /relayd/jobs[,FIRST]   jobs from the FIRST-th on, RD_TEL_ROWS at most
 *   /relayd/paths[,FIRST]  paths likewise; "next" is the FIRST to ask for, or absent
 *   /relayd/gateway        the gateway to foreign hosts: counters, memory
 *   /relayd/channels[,FIRST]  its TCP channels, like jobs
 *   /relayd/drops          drop and refusal counters that are not zero
 *
 * A call wakes control, which asks the worker and the gateway for a snapshot by mail;
 * they never wait and know nothing of telemetry.
 *
 * Threads  init, fini and poll by control; callbacks by DPDK's telemetry threads,
 *          one at a time. */
#ifndef RD_TELEMETRY_H
#define RD_TELEMETRY_H

struct rd_figures;

#define RD_TEL_ROWS 12 /* an answer is at most 16 KiB */

/* of outlives it.  0 or -1 (no memory, or the endpoints cannot be registered). */
int rd_telemetry_init(const struct rd_figures *of);
/* Pass a waiting call's request on to the worker. */
void rd_telemetry_poll(void);
/* Calls from now on answer with an error. */
void rd_telemetry_fini(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/eal.h - starts and ends DPDK's environment (EAL) from a struct instead
 * of a command line, and says what the machine lacks before DPDK fails on it.
 *
 * DPDK is linked shared: its drivers (af_packet, af_xdp, memif, ring, tap, every
 * NIC) are plug-ins that EAL loads from its own driver folder, so no driver is
 * named on the link line.
 *
 * Memory   huge: pages by memfd (--in-memory), so no file of ours ever lies in
 *          hugetlbfs.  no huge: one anonymous mapping of mem_mb, enough for
 *          software ports (af_packet, af_xdp, memif, ring), not for real NICs;
 *          its pages come as they are touched, or with `resident` all at the start.
 * Files    EAL makes /var/run/dpdk/PREFIX with its telemetry socket; rd_eal_stop
 *          removes both.  RUNTIME_DIRECTORY of the environment does not move them.
 * Threads  rd_eal_start and rd_eal_stop by the main thread, once per process.
 * Errors   0 or a negative errno; err gets one line: what, where, what to do. */
#ifndef DRIVER_EAL_H
#define DRIVER_EAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RD_EAL_DEVS_MAX 64

struct rd_eal_opts {
	const char *prog;		    /* argv[0] of EAL's messages */
	const char *file_prefix;	    /* NULL: "rd" + process id, unique on this machine */
	const char *lcores;		    /* EAL --lcores syntax, "0" or "(0,1)@0"; NULL: one
					     * lcore on the first CPU this process may run on */
	int main_lcore;			    /* < 0: EAL's choice (the lowest) */
	bool huge;			    /* hugepages; false: --no-huge */
	uint32_t mem_mb;		    /* bytes for pools and rings / 1 MiB; 0: 64 */
	bool resident;			    /* without hugepages too all memory is there
					     * before rd_eal_start returns (-ENOMEM) */
	const char *vdevs[RD_EAL_DEVS_MAX]; /* --vdev strings; rd_port_open can also
					     * create them later */
	uint32_t n_vdevs;
	const char *pci_allow[RD_EAL_DEVS_MAX]; /* PCI addresses to probe; none: --no-pci */
	uint32_t n_pci_allow;
	bool telemetry;			    /* offer DPDK's telemetry socket */
	const char *log_level;		    /* --log-level; NULL: "*:4" (warnings and worse) */
	const char *extra[RD_EAL_DEVS_MAX]; /* further arguments, as they are */
	uint32_t n_extra;
};

/* Start EAL.  After an error the process can only end. */
int rd_eal_start(const struct rd_eal_opts *o, char *err, size_t err_max);

/* rte_eal_cleanup and removal of the runtime folder.  Ports must be closed and
 * pools freed before.  Does nothing if EAL was not started. */
void rd_eal_stop(void);

/* Are need_bytes of free hugepages there (all sizes)?  0, or -ENOMEM and the
 * command that fixes it in err ("sysctl -w vm.nr_hugepages=...").  Callable
 * before rd_eal_start. */
int rd_huge_check(uint64_t need_bytes, char *err, size_t err_max);

#endif

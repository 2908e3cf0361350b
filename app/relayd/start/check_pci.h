/* SPDX-License-Identifier: BSD-2-Clause */
/* check_pci.h - may DPDK have this PCI device: its driver, and its IOMMU group.
 *
 * sys is where sysfs is, "/sys".
 *
 * Threads  before others are there; looks only. */
#ifndef RD_CHECK_PCI_H
#define RD_CHECK_PCI_H

#include "rd/conf.h"

/* Where sysfs has a device like 0000:03:00.0 or 03:00.0; false: there is none. */
bool rd_pci_path(const char *sys, const char *device, char *path, size_t path_max);
/* Of a device that is there; adds faults, pointer as given. */
void rd_check_pci(const char *sys, const char *device, const char *pointer,
		  struct rd_faults *faults);

#endif

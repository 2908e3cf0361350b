/* SPDX-License-Identifier: BSD-2-Clause */
#include "check_pci.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <bsd/string.h>

#define LACK(faults, pointer, ...) rd_fault_add(faults, pointer, 0, __VA_ARGS__)

bool
rd_pci_path(const char *sys, const char *device, char *path, size_t path_max)
{
	snprintf(path, path_max, "%s/bus/pci/devices/%s%.12s", sys,
		 strlen(device) < 10 ? "0000:" : "", device);
	return access(path, F_OK) == 0;
}

/* The last part of where a link leads; "" if there is none. */
static void
read_pci_link(const char *dir, const char *name, char out[64])
{
	char path[PATH_MAX], target[256];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	ssize_t n = readlink(path, target, sizeof target - 1);
	target[n > 0 ? n : 0] = '\0';
	const char *slash = strrchr(target, '/');
	strlcpy(out, slash ? slash + 1 : target, 64);
}

/* vfio-pci was told to take devices without an IOMMU. */
static bool
needs_no_iommu(const char *sys)
{
	char path[256], c = 'N';
	snprintf(path, sizeof path, "%s/module/vfio/parameters/enable_unsafe_noiommu_mode", sys);
	FILE *f = fopen(path, "re");
	if (f) {
		c = (char)fgetc(f);
		fclose(f);
	}
	return c == 'Y' || c == '1';
}

/* Who opens one device of a group has all of it.  Those without a driver, and bridges, are in
 * nobody's way. */
static void
check_group(const char *path, const char *device, const char *pointer, struct rd_faults *faults)
{
	static const char *const harmless[] = {"", "vfio-pci", "pci-stub", "pcieport"};
	char dir[300], at[PATH_MAX], driver[64], group[64];
	read_pci_link(path, "iommu_group", group);
	snprintf(dir, sizeof dir, "%s/iommu_group/devices", path);
	DIR *d = opendir(dir);
	for (const struct dirent *e; d && (e = readdir(d));) {
		bool ok = *e->d_name == '.' || strcmp(e->d_name, strrchr(path, '/') + 1) == 0;
		snprintf(at, sizeof at, "%s/%s", dir, e->d_name);
		read_pci_link(at, "driver", driver);
		for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
			ok |= strcmp(driver, harmless[i]) == 0;
		if (!ok)
			LACK(faults, pointer,
			     "%.12s is in IOMMU group %s with %.12s, which has driver %s; a group "
			     "goes to one owner; fix: dpdk-devbind.py -b vfio-pci %.12s, or "
			     "another slot",
			     device, group, e->d_name, driver, e->d_name);
	}
	if (d)
		closedir(d);
}

void
rd_check_pci(const char *sys, const char *device, const char *pointer, struct rd_faults *faults)
{
	char path[200], driver[64], group[64];
	if (!rd_pci_path(sys, device, path, sizeof path))
		return;
	read_pci_link(path, "driver", driver);
	/* mlx5 and mlx4 work through the kernel's own driver; uio needs no IOMMU. */
	if (strstr(driver, "uio") || strstr(driver, "mlx"))
		return;
	if (strcmp(driver, "vfio-pci") != 0)
		LACK(faults, pointer,
		     "%.12s is not bound to vfio-pci; fix: dpdk-devbind.py -b vfio-pci %.12s",
		     device, device);
	read_pci_link(path, "iommu_group", group);
	if (*group)
		check_group(path, device, pointer, faults);
	else if (!needs_no_iommu(sys))
		LACK(faults, pointer,
		     "%.12s has no IOMMU group, so vfio-pci does not take it; fix: VT-d or AMD-Vi "
		     "on in the firmware, intel_iommu=on iommu=pt for the kernel (relayd-setup), "
		     "or doc/howto/nic.md, Without an IOMMU",
		     device);
}

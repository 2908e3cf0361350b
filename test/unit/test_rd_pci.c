/* SPDX-License-Identifier: BSD-2-Clause */
/* What relayd --check says of PCI devices, from a sysfs of our own. */
#include "check_pci.h"

#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char sys[] = "/tmp/test_rd_pci.XXXXXX";

static void __attribute__((format(printf, 1, 2))) sys_shell(const char *fmt, ...)
{
	char command[700];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(command, sizeof command, fmt, ap);
	va_end(ap);
	assert_int_equal(system(command), 0);
}

/* group 0: it has none. */
static void
put_device(const char *device, const char *driver, unsigned group)
{
	sys_shell("d='%s'/bus/pci/devices/%s; mkdir -p $d", sys, device);
	if (*driver)
		sys_shell("ln -s ../../drivers/%s '%s'/bus/pci/devices/%s/driver", driver, sys,
			  device);
	if (group)
		sys_shell("cd '%s' && mkdir -p groups/%u/devices && "
			  "ln -s ../../../../groups/%u bus/pci/devices/%s/iommu_group && "
			  "ln -s ../../../bus/pci/devices/%s groups/%u/devices/%s",
			  sys, group, group, device, device, group, device);
}

static int
make_pci_sys(void **state)
{
	(void)state;
	if (!mkdtemp(sys))
		return -1;
	put_device("0000:03:00.0", "vfio-pci", 7);
	put_device("0000:03:00.1", "ice", 8);
	put_device("0000:04:00.0", "vfio-pci", 9);
	put_device("0000:04:00.1", "ice", 9);
	put_device("0000:04:00.2", "", 9);
	put_device("0000:00:01.0", "pcieport", 9);
	put_device("0000:05:00.0", "virtio-pci", 0);
	put_device("0000:06:00.0", "mlx5_core", 0);
	put_device("0000:07:00.0", "uio_pci_generic", 0);
	return 0;
}

static int
remove_pci_sys(void **state)
{
	(void)state;
	sys_shell("rm -r '%s'", sys);
	return 0;
}

static void
look_at_device(const char *device, const char *const want[2])
{
	static struct rd_faults f;
	uint32_t n = 0;
	memset(&f, 0, sizeof f);
	rd_check_pci(sys, device, "/ports/global/device", &f);
	for (uint32_t i = 0; i < f.count; i++)
		print_message("  %s: %s\n", f.fault[i].pointer, f.fault[i].text);
	for (; n < 2 && want[n]; n++)
		if (n < f.count && !strstr(f.fault[n].text, want[n]))
			fail_msg("\"%s\" is not \"%s\"", f.fault[n].text, want[n]);
	assert_int_equal(f.count, n);
}

static void
drivers_and_groups(void **state)
{
	static const struct {
		const char *device, *lack[2];
	} row[] = {
		{"0000:03:00.0", {NULL}},
		{"03:00.0", {NULL}},
		{"0000:03:00.1",
		 {"not bound to vfio-pci; fix: dpdk-devbind.py -b vfio-pci 0000:03:00.1"}},
		{"0000:04:00.0", {"in IOMMU group 9 with 0000:04:00.1, which has driver ice;"}},
		{"0000:05:00.0", {"not bound", "0000:05:00.0 has no IOMMU group"}},
		{"0000:06:00.0", {NULL}},
		{"0000:07:00.0", {NULL}},
	};
	char path[200];
	(void)state;
	assert_true(rd_pci_path(sys, "03:00.0", path, sizeof path));
	assert_false(rd_pci_path(sys, "0000:09:00.0", path, sizeof path));
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
		look_at_device(row[i].device, row[i].lack);
	sys_shell("d='%s'/module/vfio/parameters; mkdir -p $d; echo Y > "
		  "$d/enable_unsafe_noiommu_mode",
		  sys);
	look_at_device("0000:05:00.0", (const char *const[2]){"not bound"});
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(drivers_and_groups, make_pci_sys, remove_pci_sys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "iface.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bsd/string.h>

static int
open_sysctl(const char *family, const char *name, const char *key, int flags)
{
	char path[128];
	snprintf(path, sizeof path, "/proc/sys/net/%s/conf/%s/%s", family, name, key);
	return open(path, flags | O_CLOEXEC);
}

static int
write_sysctl(const char *family, const char *name, const char *key, const char *value)
{
	int fd = open_sysctl(family, name, key, O_WRONLY);
	if (fd < 0)
		return -errno;
	ssize_t n = write(fd, value, strlen(value));
	int err = n < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* Remember the value in old, write the new one. */
static int
swap_sysctl(const char *family, const char *name, const char *key, const char *value, char old[8])
{
	int fd = open_sysctl(family, name, key, O_RDONLY);
	if (fd < 0)
		return -errno;
	char text[8] = "";
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return -EIO;
	text[strcspn(text, "\n")] = '\0';
	int r = write_sysctl(family, name, key, value);
	if (r == 0)
		strlcpy(old, text, 8);
	return r;
}

int
rd_iface_quiet(struct rd_iface *i, const char *name, char *err, size_t err_max)
{
	memset(i, 0, sizeof *i);
	strlcpy(i->name, name, sizeof i->name);
	int r = swap_sysctl("ipv4", name, "rp_filter", "1", i->rp_filter);
	if (r == 0)
		r = swap_sysctl("ipv4", name, "arp_ignore", "8", i->arp_ignore);
	if (r) {
		snprintf(err, err_max, "%s: setting net.ipv4.conf.%s.rp_filter and arp_ignore: %s",
			 name, name, strerror(-r));
		rd_iface_restore(i);
		return -1;
	}
	/* Only noise: kernels without IPv6 have no such file. */
	(void)swap_sysctl("ipv6", name, "disable_ipv6", "1", i->disable_ipv6);
	return 0;
}

void
rd_iface_restore(struct rd_iface *i)
{
	/* Best effort: the interface may be gone by now. */
	if (*i->rp_filter)
		(void)write_sysctl("ipv4", i->name, "rp_filter", i->rp_filter);
	if (*i->arp_ignore)
		(void)write_sysctl("ipv4", i->name, "arp_ignore", i->arp_ignore);
	if (*i->disable_ipv6)
		(void)write_sysctl("ipv6", i->name, "disable_ipv6", i->disable_ipv6);
	memset(i, 0, sizeof *i);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* inside - work in the network namespaces of a testbed, without a process for each step.
 *
 *   inside NETNS COMMAND...  becomes COMMAND there: as `ip netns exec` has it, with a /sys of that
 *                            network, and with NETNS as a host name of its own
 *   inside --settle          settings, a line each on standard input:
 *       in NETNS             what follows is for this one
 *       set FILE VALUE       into /proc/sys/FILE, if the kernel has such a file
 *       plain DEVICE         checksum, segmentation and receive offloads off: frames are what a
 *                            NIC would see
 *
 * A setting that cannot be made is told and left; status 1 is for a namespace that is not there. */
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

static bool
enter_netns(const char *name)
{
	char path[160];
	snprintf(path, sizeof path, "/var/run/netns/%s", name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) {
		fprintf(stderr, "inside: %s: %s\n", path, strerror(errno));
		return false;
	}
	close(fd);
	return true;
}

/* What /sys says of devices is of the network of whoever mounted it.  Read-only stays read-only. */
static bool
own_sys_and_name(const char *name)
{
	struct statvfs was;
	bool fixed = statvfs("/sys", &was) == 0 && (was.f_flag & ST_RDONLY) != 0;
	if (unshare(CLONE_NEWNS | CLONE_NEWUTS) != 0 ||
	    mount("", "/", "none", MS_SLAVE | MS_REC, NULL) != 0 ||
	    (umount2("/sys", MNT_DETACH) != 0 && errno != EINVAL) ||
	    mount(name, "/sys", "sysfs", fixed ? MS_RDONLY : 0, NULL) != 0 ||
	    sethostname(name, strlen(name)) != 0) {
		fprintf(stderr, "inside: %s: no /sys or host name of its own: %s\n", name,
			strerror(errno));
		return false;
	}
	return true;
}

static int
become_command(char **words)
{
	if (!enter_netns(words[0]) || !own_sys_and_name(words[0]))
		return 1;
	execvp(words[1], words + 1);
	fprintf(stderr, "inside: %s: %s\n", words[1], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

static void
write_setting(const char *file, const char *value)
{
	char path[160];
	snprintf(path, sizeof path, "/proc/sys/%s", file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return;
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		fprintf(stderr, "inside: %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* Checksums, segmentation and receive offload, by the kernel's names of them. */
static bool
is_offload(const char *feature)
{
	return !strncmp(feature, "tx-checksum-", 12) || !strcmp(feature, "rx-checksum") ||
	       !strncmp(feature, "tx-tcp", 6) || !strcmp(feature, "tx-generic-segmentation") ||
	       !strcmp(feature, "rx-gro");
}

static bool
ask_device(int fd, const char *device, void *question)
{
	struct ifreq r = {.ifr_data = question};
	memcpy(r.ifr_name, device, strnlen(device, sizeof r.ifr_name - 1));
	return ioctl(fd, SIOCETHTOOL, &r) >= 0;
}

static void
offloads_off(const char *device)
{
	enum { MOST = 256 };
	static uint32_t sset[sizeof(struct ethtool_sset_info) / 4 + 1];
	static uint32_t text[(sizeof(struct ethtool_gstrings) + MOST * ETH_GSTRING_LEN) / 4];
	static uint32_t want[(sizeof(struct ethtool_sfeatures) +
			      MOST / 32 * sizeof(struct ethtool_set_features_block)) /
			     4];
	struct ethtool_sset_info *info = (void *)sset;
	struct ethtool_gstrings *names = (void *)text;
	struct ethtool_sfeatures *off = (void *)want;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*info = (struct ethtool_sset_info){.cmd = ETHTOOL_GSSET_INFO,
					   .sset_mask = 1u << ETH_SS_FEATURES};
	*names = (struct ethtool_gstrings){.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES};
	memset(want, 0, sizeof want);
	off->cmd = ETHTOOL_SFEATURES;
	if (ask_device(fd, device, info) && info->data[0] <= MOST &&
	    ask_device(fd, device, names)) {
		off->size = (names->len + 31) / 32;
		for (uint32_t i = 0; i < names->len; i++)
			if (is_offload((const char *)names->data + (size_t)i * ETH_GSTRING_LEN))
				off->features[i / 32].valid |= 1u << i % 32;
	}
	if (off->size == 0 || !ask_device(fd, device, off))
		fprintf(stderr, "inside: offloads of %s: %s\n", device, strerror(errno));
	close(fd);
}

static int
settle_lines(void)
{
	char line[256], what[8], name[120], value[64];
	while (fgets(line, sizeof line, stdin)) {
		int n = sscanf(line, "%7s %119s %63s", what, name, value);
		if (n == 2 && !strcmp(what, "in")) {
			if (!enter_netns(name))
				return 1;
		} else if (n == 3 && !strcmp(what, "set")) {
			write_setting(name, value);
		} else if (n == 2 && !strcmp(what, "plain")) {
			offloads_off(name);
		} else if (n > 0) {
			fprintf(stderr, "inside: no setting: %s", line);
			return 2;
		}
	}
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--settle"))
		return settle_lines();
	if (argc >= 3 && argv[1][0] != '-')
		return become_command(argv + 1);
	fputs("usage: inside NETNS COMMAND...\n       inside --settle <LINES\n", stderr);
	return 2;
}

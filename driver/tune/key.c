/* SPDX-License-Identifier: BSD-2-Clause */
/* What a row says of this machine. */
#include "driver/tune_file.h"

#include "base/clock.h"
#include "base/version.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define COPY   65536u
#define TRIES  12
#define CACHES 8 /* of a CPU, at most */

/* The first line of a file of the kernel's; false: there is none. */
static bool
key_line_of(const char *path, char *out, int size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(out, size, f);
	if (f)
		fclose(f);
	if (ok)
		out[strcspn(out, "\n")] = 0;
	return ok;
}

static void
cpu_model(char *out, size_t size)
{
	char line[256] = "";
	FILE *f = fopen("/proc/cpuinfo", "re");
	const char *model = "unknown";

	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		char *colon = strchr(line, ':');
		if (colon && (!strncmp(line, "model name", 10) || !strncmp(line, "CPU part", 8))) {
			model = colon + 1 + strspn(colon + 1, " \t");
			break;
		}
	}
	tune_word(out, size, model);
	if (f)
		fclose(f);
}

/* One line of cache i of that CPU. */
static bool
read_cache_line(int cpu, int i, const char *what, char *out, int size)
{
	char path[96];
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu, i, what);
	return key_line_of(path, out, size);
}

/* The nearest cache of the first processor that every processor shares. */
static void
what_cpus_share(char *out, size_t size)
{
	char online[256], shared[256], level[16], word[24];

	tune_word(out, size, "unknown");
	if (!key_line_of("/sys/devices/system/cpu/online", online, sizeof online))
		return;
	if (!strpbrk(online, ",-")) {
		tune_word(out, size, "alone");
		return;
	}
	for (int i = 0; i < CACHES && read_cache_line(0, i, "level", level, sizeof level); i++) {
		tune_word(out, size, "none");
		if (!read_cache_line(0, i, "shared_cpu_list", shared, sizeof shared) ||
		    strcmp(shared, online) != 0)
			continue;
		snprintf(word, sizeof word, "L%s", level);
		tune_word(out, size, word);
		return;
	}
}

static int
first_own_cpu(void)
{
	cpu_set_t all;
	if (sched_getaffinity(0, sizeof all, &all) == 0)
		for (unsigned i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &all))
				return (int)i;
	return 0;
}

/* "32K" */
static uint64_t
read_cache_bytes(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);
	unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	return n < 1u << 30 ? n << shift : 0;
}

void
tune_file_caches(struct tune_caches *c)
{
	char level[16], type[32], size[32];
	int cpu = first_own_cpu();

	memset(c, 0, sizeof *c);
	for (int i = 0; i < CACHES && read_cache_line(cpu, i, "level", level, sizeof level); i++) {
		if (!read_cache_line(cpu, i, "type", type, sizeof type) ||
		    !read_cache_line(cpu, i, "size", size, sizeof size) || type[0] == 'I')
			continue;
		uint64_t *of = level[0] == '1'	 ? &c->l1
			       : level[0] == '2' ? &c->l2
			       : level[0] == '3' ? &c->l3
						 : NULL;
		if (of)
			*of = read_cache_bytes(size);
	}
}

/* What they share and how large they are: "L3@32K+1024K+32768K". */
static void
name_caches(char *out, size_t size)
{
	struct tune_caches c;
	char shared[16], word[96];

	what_cpus_share(shared, sizeof shared);
	tune_file_caches(&c);
	snprintf(word, sizeof word, "%s@%lluK+%lluK+%lluK", shared, (unsigned long long)c.l1 >> 10,
		 (unsigned long long)c.l2 >> 10, (unsigned long long)c.l3 >> 10);
	tune_word(out, size, word);
}

void
tune_file_key(struct tune_key *k, const char *driver, const char *mode)
{
	struct utsname u;

	memset(k, 0, sizeof *k);
	tune_word(k->driver, sizeof k->driver, driver);
	tune_word(k->mode, sizeof k->mode, mode);
	tune_word(k->offloads, sizeof k->offloads, "none");
	tune_word(k->version, sizeof k->version, BASE_VERSION);
	tune_word(k->kernel, sizeof k->kernel, uname(&u) ? "unknown" : u.release);
	cpu_model(k->cpu, sizeof k->cpu);
	name_caches(k->shares, sizeof k->shares);
}

static bool
match_key_ip(const struct sockaddr *sa, const uint8_t *ip, size_t bytes)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (!sa || sa->sa_family != (bytes == 4 ? AF_INET : AF_INET6))
		return false;
	if (bytes == 4) {
		memcpy(&v4, sa, sizeof v4);
		return memcmp(&v4.sin_addr, ip, bytes) == 0;
	}
	memcpy(&v6, sa, sizeof v6);
	return bytes == sizeof v6.sin6_addr && memcmp(&v6.sin6_addr, ip, bytes) == 0;
}

/* The name of the interface that has ip. */
static bool
interface_of(const uint8_t *ip, size_t bytes, char name[IFNAMSIZ])
{
	struct ifaddrs *list, *i;
	bool found = false;

	if (getifaddrs(&list) < 0)
		return false;
	for (i = list; i && !found; i = i->ifa_next) {
		found = match_key_ip(i->ifa_addr, ip, bytes);
		if (found)
			snprintf(name, IFNAMSIZ, "%s", i->ifa_name);
	}
	freeifaddrs(list);
	return found;
}

static void
offloads(int fd, const char *name, char *out, size_t size)
{
	static const struct {
		uint32_t cmd;
		const char *name;
	} asked[] = {{ETHTOOL_GTXCSUM, "tx"},
		     {ETHTOOL_GRXCSUM, "rx"},
		     {ETHTOOL_GSG, "sg"},
		     {ETHTOOL_GGSO, "gso"},
		     {ETHTOOL_GGRO, "gro"}};
	char text[48] = "";
	size_t n = 0;

	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		struct ethtool_value v = {.cmd = asked[i].cmd};
		struct ifreq r = {0};
		memcpy(r.ifr_name, name, IFNAMSIZ);
		r.ifr_data = (void *)&v;
		if (ioctl(fd, SIOCETHTOOL, &r) == 0 && v.data)
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? "+" : "",
					      asked[i].name);
	}
	tune_word(out, size, text);
}

bool
tune_file_key_ip(struct tune_key *k, const char *driver, const char *mode, const uint8_t *ip,
		 size_t bytes)
{
	char name[IFNAMSIZ], path[80], text[24], *end;

	tune_file_key(k, driver, mode);
	k->rtt = TUNE_RTT_ANY;
	if (!interface_of(ip, bytes, name))
		return false;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	struct ifreq r = {0};
	memcpy(r.ifr_name, name, IFNAMSIZ);
	if (ioctl(fd, SIOCGIFMTU, &r) == 0 && r.ifr_mtu > 0 && r.ifr_mtu <= 65536)
		k->mtu = (uint32_t)r.ifr_mtu;
	offloads(fd, name, k->offloads, sizeof k->offloads);
	close(fd);
	snprintf(path, sizeof path, "/sys/class/net/%s/speed", name);
	if (key_line_of(path, text, sizeof text)) {
		long v = strtol(text, &end, 10);
		k->speed = v > 0 && v <= 100000000 && !*end ? (uint32_t)v : 0;
	}
	return true;
}

static uint64_t
now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * BASE_S_NS + (uint64_t)t.tv_nsec;
}

void
tune_file_figures(uint64_t *copy_ns, uint64_t *call_ns)
{
	static const uint32_t calls = 16;
	uint8_t *a = malloc(2 * COPY);
	uint64_t copy = UINT64_MAX, call = UINT64_MAX;

	if (a)
		memset(a, 1, 2 * COPY);
	for (int i = 0; i < TRIES; i++) {
		uint64_t t0 = now();
		if (a)
			memcpy(a + COPY, a, COPY);
		/* The copy shall be made. */
		__asm__ volatile("" : : "r"(a) : "memory");
		uint64_t t1 = now();
		for (uint32_t k = 0; k < calls; k++)
			(void)syscall(SYS_getppid);
		uint64_t t2 = now();
		copy = t1 - t0 < copy ? t1 - t0 : copy;
		call = (t2 - t1) / calls < call ? (t2 - t1) / calls : call;
	}
	free(a);
	*copy_ns = copy ? copy : 1;
	*call_ns = call ? call : 1;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "channel_keys.h"
#include "check_pci.h"
#include "light.h"

#include "driver/aead.h"
#include "driver/eal.h"
#include "driver/link.h"
#include "driver/port.h"
#include "suci/addr.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <bsd/string.h>

#define LACK(faults, pointer, ...) rd_fault_add(faults, pointer, 0, __VA_ARGS__)

static void
check_root(struct rd_faults *faults)
{
	if (geteuid() != 0)
		LACK(faults, "", "must run as root (raw sockets, TAP, memory); fix: sudo");
}

static void
check_tun(const struct rd_conf *conf, struct rd_faults *faults)
{
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		LACK(faults, "", "/dev/net/tun: %s; fix: modprobe tun%s", strerror(errno),
		     errno == EACCES ? " and run as root" : "");
	else
		close(fd);
	static const char *const ends[RD_LEGS] = {"priv", "glob"};
	for (int leg = 0; leg < RD_LEGS; leg++) {
		char name[16];
		snprintf(name, sizeof name, "%s-%s", conf->tap_prefix, ends[leg]);
		if (if_nametoindex(name))
			LACK(faults, "/tap_prefix",
			     "interface %s exists already (another relayd?); set another "
			     "tap_prefix",
			     name);
	}
}

static void
check_key(const struct rd_conf *conf, struct rd_faults *faults)
{
	char err[160];
	uint64_t key;
	if (conf->impi.auth == RD_AUTH_KEY &&
	    !rd_read_key(conf->impi.key_file, &key, err, sizeof err))
		LACK(faults, "/impi/key_file", "%s", err);
	struct seal_psk psk[SEAL_PSK_MAX];
	char why[SEAL_TEXT];
	bool sealed = false;
	for (uint32_t leg = 0; leg < conf->nlegs; leg++)
		sealed |= conf->port[leg].sealing == RD_SEALING_ON;
	if ((sealed || conf->impi.server_sealing == RD_SEALING_ON) && *conf->sealing.key_file &&
	    seal_psk_load(conf->sealing.key_file, psk, why) < 0) {
		/* A key that is there is not to be overwritten for its file's mode. */
		bool none = access(conf->sealing.key_file, F_OK) && errno == ENOENT;
		LACK(faults, "/sealing/key_file", "%.60s: %.90s%s", conf->sealing.key_file, why,
		     none ? "; fix: a copy of the other relays' or, at the first: "
			    "(umask 077; echo \"1 $(openssl rand -hex 32)\" > FILE)"
			  : "");
	}
	explicit_bzero(psk, sizeof psk);
	static struct seal_ring ring;
	if (sealed && *conf->sealing.identity_file &&
	    seal_ring_load(conf->sealing.identity_file, conf->sealing.peers_file, &ring, why))
		LACK(faults, "/sealing/identity_file", "%s", why);
	seal_ring_wipe(&ring);
}

/* An IPv4 address on the kernel's side would make the kernel answer beside us. */
static bool
kernel_address(const char *ifname, char text[INET_ADDRSTRLEN])
{
	struct ifaddrs *all;
	bool found = false;
	if (getifaddrs(&all))
		return false;
	for (struct ifaddrs *a = all; a && !found; a = a->ifa_next)
		if (a->ifa_addr && a->ifa_addr->sa_family == AF_INET &&
		    strcmp(a->ifa_name, ifname) == 0) {
			struct sockaddr_in sin;
			memcpy(&sin, a->ifa_addr, sizeof sin);
			found = inet_ntop(AF_INET, &sin.sin_addr, text, INET_ADDRSTRLEN);
		}
	freeifaddrs(all);
	return found;
}

/* Does the machine reach the world over it?  Then its address must not be taken away. */
static bool
is_default_route(const char *ifname)
{
	char line[256], name[16];
	unsigned destination, mask;
	bool found = false;
	FILE *f = fopen("/proc/net/route", "re");
	while (f && !found && fgets(line, sizeof line, f))
		found = sscanf(line, "%15s %x %*x %*x %*d %*d %*d %x", name, &destination, &mask) ==
				3 &&
			destination == 0 && mask == 0 && strcmp(name, ifname) == 0;
	if (f)
		fclose(f);
	return found;
}

static void
check_interface(const struct rd_conf_port *port, const char *at, int sock, struct rd_faults *faults)
{
	const char *name = port->interface;
	char ptr[64], addr[INET_ADDRSTRLEN], text[160];
	struct ifreq r = {0};
	struct rd_link_mtu has;
	snprintf(ptr, sizeof ptr, "%s/interface", at);
	strlcpy(r.ifr_name, name, sizeof r.ifr_name);
	if (if_nametoindex(name) == 0) {
		LACK(faults, ptr,
		     "no interface %s in this network namespace; `ip link` shows those there are",
		     name);
		return;
	}
	if (ioctl(sock, SIOCGIFFLAGS, &r) == 0 && !(r.ifr_flags & IFF_UP))
		LACK(faults, ptr, "%s is down; fix: ip link set %s up", name, name);
	if (rd_link_mtu(name, &has) &&
	    rd_link_mtu_lacks(name, &has, port->mtu, text, sizeof text)) {
		snprintf(ptr, sizeof ptr, "%s/mtu", at);
		LACK(faults, ptr, "%s", text);
		snprintf(ptr, sizeof ptr, "%s/interface", at);
	}
	if (kernel_address(name, addr) && is_default_route(name))
		LACK(faults, ptr,
		     "%s has the kernel address %s and this machine's default route: a leg needs "
		     "an interface of its own, for whoever works on this machine over %s would be "
		     "cut off; give another one",
		     name, addr, name);
	else if (kernel_address(name, addr))
		LACK(faults, ptr,
		     "%s has the kernel address %s: the kernel would answer beside us; fix: "
		     "ip addr flush dev %s",
		     name, addr, name);
}

/* Some drivers leave the kernel its interface of the device.  Of others only DPDK knows, when the
 * relay starts. */
static void
check_device_mtu(const struct rd_conf_port *port, const char *sys, const char *at,
		 struct rd_faults *faults)
{
	char net[160], ptr[64], text[160];
	struct rd_link_mtu has;
	snprintf(net, sizeof net, "%s/net", sys);
	DIR *d = opendir(net);
	for (const struct dirent *e; d && (e = readdir(d));) {
		if (*e->d_name == '.' || !rd_link_mtu(e->d_name, &has) ||
		    !rd_link_mtu_outside(e->d_name, &has, port->mtu, text, sizeof text))
			continue;
		snprintf(ptr, sizeof ptr, "%s/mtu", at);
		LACK(faults, ptr, "%s: %s", port->device, text);
		break;
	}
	if (d)
		closedir(d);
}

static void
check_named_device(const struct rd_conf_port *port, const char *at, struct rd_faults *faults)
{
	char ptr[64], path[128];
	snprintf(ptr, sizeof ptr, "%s/device", at);
	if (!rd_dev_is_pci(port->device))
		return; /* a vdev string: only its driver can judge it */
	if (!rd_pci_path("/sys", port->device, path, sizeof path)) {
		LACK(faults, ptr, "no PCI device %s; `dpdk-devbind.py -s` shows those there are",
		     port->device);
		return;
	}
	check_device_mtu(port, path, at, faults);
	rd_check_pci("/sys", port->device, ptr, faults);
}

static void
check_ports(const struct rd_conf *conf, struct rd_faults *faults)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (uint32_t leg = 0; leg < conf->nlegs; leg++) {
		const struct rd_conf_port *port = &conf->port[leg];
		char at[32];
		if (leg == RD_LEG_GLOBAL && rd_conf_one_port(conf) &&
		    port->mtu <= conf->port[RD_LEG_PRIVATE].mtu)
			continue; /* it is the same one */
		if (leg < RD_LEG_LIGHT)
			snprintf(at, sizeof at, "/ports/%s", rd_leg_names[leg]);
		else
			snprintf(at, sizeof at, "/optical/ports/%u", leg - RD_LEG_LIGHT);
		if (*port->interface && sock >= 0)
			check_interface(port, at, sock, faults);
		else if (*port->device)
			check_named_device(port, at, faults);
	}
	if (sock >= 0)
		close(sock);
}

/* Somebody listens on all addresses of this namespace?  (Our own sockets are
 * bound to a TAP that does not exist yet.) */
static bool
tcp_port_taken(uint32_t number)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
	if (fd < 0)
		return false;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	bool taken = bind(fd, (struct sockaddr *)&sin, sizeof sin) && errno == EADDRINUSE;
	close(fd);
	return taken;
}

static void
check_tcp_port(uint32_t number, const char *pointer, struct rd_faults *faults)
{
	if (tcp_port_taken(number))
		LACK(faults, pointer, "TCP port %u is in use; `ss -ltnp` shows by whom", number);
}

/* The gateway's ports of all jobs of all relays. */
static void
check_tcp_range(const struct rd_conf *conf, uint32_t first, const char *pointer,
		struct rd_faults *faults)
{
	uint32_t n = conf->cluster.nrelays * conf->limits.jobs;
	for (uint32_t i = 0; i < n; i++)
		if (tcp_port_taken(first + i)) {
			LACK(faults, pointer,
			     "TCP port %u of the range %u to %u is in use; `ss -ltnp` shows by "
			     "whom",
			     first + i, first, first + n - 1);
			return;
		}
}

/* With via host, a gate is an address of this machine's own. */
static void
check_own_address(uint32_t address, const char *pointer, struct rd_faults *faults)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
	char a[RD_IPV4_TEXT];
	if (fd < 0)
		return;
	if (bind(fd, (struct sockaddr *)&sin, sizeof sin) && errno == EADDRNOTAVAIL)
		LACK(faults, pointer,
		     "no interface of this machine has %s; `ip addr` shows its addresses; fix: ip "
		     "addr add %s/LENGTH dev INTERFACE",
		     rd_ipv4_text(address, a), a);
	close(fd);
}

static void
check_gateway_ports(const struct rd_conf *conf, struct rd_faults *faults)
{
	uint32_t self = conf->cluster.self, gate[RD_GATES_MAX];
	uint32_t n = rd_conf_gates(conf, self, gate);
	char ptr[64];
	for (uint32_t i = 0; i < n && conf->gateway.private_via == RD_VIA_HOST; i++) {
		snprintf(ptr, sizeof ptr, "/cluster/relays/%u/gates/%u", self, i);
		check_own_address(gate[i], ptr, faults);
	}
	snprintf(ptr, sizeof ptr, "/cluster/relays/%u/gate_global", self);
	if (conf->gateway.global_via == RD_VIA_HOST)
		check_own_address(rd_conf_gate_global(conf, self), ptr, faults);
	check_tcp_range(conf, conf->gateway.private_port, "/gateway/private_port", faults);
	if (conf->gateway.global_port != conf->gateway.private_port)
		check_tcp_range(conf, conf->gateway.global_port, "/gateway/global_port", faults);
	bool cpus[CPU_SETSIZE];
	cpu_set_t set;
	if (!rd_cpus_parse(conf->gateway.cpus, cpus, CPU_SETSIZE) ||
	    sched_getaffinity(0, sizeof set, &set))
		return;
	for (uint32_t i = 0; i < CPU_SETSIZE; i++)
		if (cpus[i] && !CPU_ISSET(i, &set))
			LACK(faults, "/gateway/cpus", "CPU %u does not exist or is not ours", i);
}

/* The CPUs exist and are ours. */
static void
check_lcores(const struct rd_conf *conf, struct rd_faults *faults)
{
	bool lcore[CPU_SETSIZE], cpu[CPU_SETSIZE];
	cpu_set_t set;
	if (!rd_lcores_parse(conf->eal.lcores, lcore, cpu, CPU_SETSIZE) ||
	    sched_getaffinity(0, sizeof set, &set))
		return;
	for (uint32_t i = 0; i < CPU_SETSIZE; i++)
		if (cpu[i] && !CPU_ISSET(i, &set))
			LACK(faults, "/eal/lcores",
			     "CPU %u does not exist or is not ours; `nproc` and `taskset -p $$` "
			     "show those there are",
			     i);
}

int
rd_server_look_up(const struct rd_conf *conf, struct suci_addr *out)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *ai;
	struct sockaddr_in sin;
	struct sockaddr_in6 sin6;
	int e = getaddrinfo(conf->impi.server_host, NULL, &hints, &ai);
	if (e == 0) {
		memcpy(&sin, ai->ai_addr, sizeof sin);
		*out = suci_addr_v4((const uint8_t *)&sin.sin_addr, 0);
		freeaddrinfo(ai);
		return 0;
	}
	hints.ai_family = AF_INET6;
	if (!conf->port[RD_LEG_GLOBAL].prefix6_len ||
	    getaddrinfo(conf->impi.server_host, NULL, &hints, &ai) != 0)
		return e;
	memcpy(&sin6, ai->ai_addr, sizeof sin6);
	*out = suci_addr_of(sin6.sin6_addr.s6_addr, 0);
	freeaddrinfo(ai);
	return 0;
}

/* A name is looked up at the start, once. */
static void
check_server_name(const struct rd_conf *conf, struct rd_faults *faults)
{
	struct suci_addr found;
	int e = rd_conf_server(conf, &found) ? 0 : rd_server_look_up(conf, &found);
	if (e)
		LACK(faults, "/impi/server",
		     "%.60s: %s; fix: correct the name, add it to /etc/hosts, or write the address",
		     conf->impi.server_host, gai_strerror(e));
}

/* Another process of our file prefix answers on its telemetry socket? */
static void
check_prefix(const struct rd_conf *conf, struct rd_faults *faults)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	snprintf(sun.sun_path, sizeof sun.sun_path, "/var/run/dpdk/%s/dpdk_telemetry.v2",
		 conf->eal.file_prefix);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (connect(fd, (struct sockaddr *)&sun, sizeof sun) == 0)
		LACK(faults, "/eal/file_prefix",
		     "a DPDK process with file prefix %s is running; set another one",
		     conf->eal.file_prefix);
	close(fd);
}

static void
check_user(const struct rd_conf *conf, struct rd_faults *faults)
{
	if (!*conf->user)
		return;
	const struct passwd *p = getpwnam(conf->user);
	if (!p || p->pw_uid == 0)
		LACK(faults, "/user", "user %s %s; fix: useradd -r -s /usr/sbin/nologin relayd",
		     conf->user, p ? "is root" : "does not exist");
}

static void
check_switch_driver(const struct rd_conf *conf, struct rd_faults *faults)
{
	char err[224];
	if (!rd_light_has_driver(conf, err, sizeof err))
		LACK(faults, "/optical/switch/protocol", "%s", err);
}

static void
check_memory(const struct rd_conf *conf, uint32_t mem_mb, struct rd_faults *faults)
{
	char err[200];
	if (mem_mb > conf->eal.memory_mb)
		LACK(faults, "/eal/memory_mb",
		     "%u MiB are given, packet buffers and tables need %u; raise it, or lower "
		     "limits.segments or ports.*.rx_descriptors",
		     conf->eal.memory_mb, mem_mb);
	if (conf->eal.hugepages &&
	    rd_huge_check((uint64_t)conf->eal.memory_mb << 20, err, sizeof err))
		LACK(faults, "/eal/hugepages", "%s", err);
}

static void
check_writable(const char *path, const char *pointer, struct rd_faults *faults)
{
	char dir[256];
	if (!*path)
		return;
	strlcpy(dir, path, sizeof dir);
	char *slash = strrchr(dir, '/');
	if (!slash)
		strlcpy(dir, ".", sizeof dir);
	else
		slash[slash == dir] = '\0';
	if (access(dir, W_OK))
		LACK(faults, pointer, "cannot write into %s: %s", dir, strerror(errno));
}

void
rd_check_machine(const struct rd_conf *conf, uint32_t mem_mb, struct rd_faults *faults)
{
	check_root(faults);
	check_lcores(conf, faults);
	check_memory(conf, mem_mb, faults);
	check_prefix(conf, faults);
	check_ports(conf, faults);
	check_tun(conf, faults);
	for (uint32_t i = 0; i < conf->impi.ports; i++)
		check_tcp_port(conf->impi.listen_port + i, i ? "/impi/ports" : "/impi/listen_port",
			       faults);
	if (conf->cluster.nrelays > 1)
		check_tcp_port(conf->cluster.peer_port, "/cluster/peer_port", faults);
	if (conf->gateway.enable)
		check_gateway_ports(conf, faults);
	check_server_name(conf, faults);
	check_key(conf, faults);
	check_switch_driver(conf, faults);
	check_user(conf, faults);
	check_writable(conf->pidfile, "/pidfile", faults);
	check_writable(conf->stats_file, "/stats_file", faults);
}

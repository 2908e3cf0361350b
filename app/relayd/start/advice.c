/* SPDX-License-Identifier: BSD-2-Clause */
#include "advice.h"

#include "driver/idle.h"

#include <dirent.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>

#define WARN(warnings, pointer, ...) rd_fault_add(warnings, pointer, 0, __VA_ARGS__)
#define NO_CPU			     UINT32_MAX

/* The first line of a file of sysfs; false: there is none. */
static bool __attribute__((format(printf, 3, 4)))
read_sys(const char *sys, char line[64], const char *fmt, ...)
{
	char path[512], rest[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(rest, sizeof rest, fmt, ap);
	va_end(ap);
	snprintf(path, sizeof path, "%s/%s", sys, rest);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	bool good = fgets(line, 64, f) != NULL;
	fclose(f);
	if (good)
		line[strcspn(line, "\n")] = '\0';
	return good;
}

/* An lcore in use.  Control is the lowest; the next ones, as many as workers, poll. */
struct poller {
	uint32_t lcore, cpu; /* NO_CPU: it may run on several */
};

/* Control's first, then the workers'; how many in all. */
static uint32_t
find_lcores(const struct rd_conf *conf, struct poller out[RD_WORKERS_MAX + 1])
{
	bool lcore[CPU_SETSIZE], cpu[CPU_SETSIZE];
	uint32_t n = 0;
	if (!rd_lcores_parse(conf->eal.lcores, lcore, cpu, CPU_SETSIZE))
		return 0;
	for (uint32_t i = 0; i < CPU_SETSIZE && n < conf->workers + 1; i++) {
		if (!lcore[i])
			continue;
		uint32_t cpus = rd_lcore_cpus(conf->eal.lcores, i, cpu, CPU_SETSIZE), at = 0;
		while (cpus == 1 && !cpu[at])
			at++;
		out[n++] = (struct poller){i, cpus == 1 ? at : NO_CPU};
	}
	return n;
}

/* Two that poll on one processor, or on threads of one core. */
static void
look_at_sharing(const char *sys, const struct poller *p, uint32_t n, struct rd_faults *warnings)
{
	for (uint32_t i = 0; i < n; i++) {
		char line[64];
		bool sibling[CPU_SETSIZE];
		bool known = p[i].cpu != NO_CPU &&
			     read_sys(sys, line,
				      "devices/system/cpu/cpu%u/topology/thread_siblings_list",
				      p[i].cpu) &&
			     rd_cpus_parse(line, sibling, CPU_SETSIZE);
		for (uint32_t k = i + 1; k < n; k++) {
			if (p[i].cpu == NO_CPU || p[k].cpu == NO_CPU)
				continue;
			if (p[i].cpu == p[k].cpu)
				WARN(warnings, "/eal/lcores",
				     "lcores %u and %u are both on CPU %u: each polls half of the "
				     "time",
				     p[i].lcore, p[k].lcore, p[i].cpu);
			else if (known && sibling[p[k].cpu])
				WARN(warnings, "/eal/lcores",
				     "lcores %u and %u are on CPUs %u and %u, which are threads of "
				     "one core: choose CPUs of different cores",
				     p[i].lcore, p[k].lcore, p[i].cpu, p[k].cpu);
		}
	}
}

/* Control asks for little, but what a worker that never sleeps leaves is late. */
static void
look_at_control(const struct rd_conf *conf, const struct poller *control, const struct poller *p,
		uint32_t n, struct rd_faults *warnings)
{
	for (uint32_t i = 0; i < n && conf->idle != RD_IDLE_SLEEP && control->cpu != NO_CPU; i++)
		if (p[i].cpu == control->cpu)
			WARN(warnings, "/eal/lcores",
			     "lcore %u, which is control, and the worker of lcore %u are both on "
			     "CPU %u: new jobs, keepalives of relays and relayctl wait for the "
			     "worker; give it another CPU, or set idle to sleep",
			     control->lcore, p[i].lcore, control->cpu);
}

static void
look_at_governors(const char *sys, const struct poller *p, uint32_t n, struct rd_faults *warnings)
{
	for (uint32_t i = 0; i < n; i++) {
		char line[64];
		if (p[i].cpu == NO_CPU ||
		    !read_sys(sys, line, "devices/system/cpu/cpu%u/cpufreq/scaling_governor",
			      p[i].cpu) ||
		    strcmp(line, "performance") == 0)
			continue;
		WARN(warnings, "/eal/lcores",
		     "the frequency governor of CPU %u is %.20s; fix: cpupower -c %u frequency-set "
		     "-g performance",
		     p[i].cpu, line, p[i].cpu);
	}
}

/* -1: none, as sysfs has it for machines with one node. */
static int
node_number(const char *text)
{
	const char *bad = NULL;
	long long n = strtonum(text, 0, 1023, &bad);
	return bad ? -1 : (int)n;
}

/* -1: not known. */
static int
find_node_of_cpu(const char *sys, uint32_t cpu)
{
	char path[512];
	int node = -1;
	snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%u", sys, cpu);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d)) != NULL;)
		if (strncmp(e->d_name, "node", 4) == 0 && e->d_name[4] >= '0' &&
		    e->d_name[4] <= '9')
			node = node_number(e->d_name + 4);
	if (d)
		closedir(d);
	return node;
}

static void
look_at_nodes(const char *sys, const struct rd_conf *conf, const struct poller *p, uint32_t n,
	      struct rd_faults *warnings)
{
	for (uint32_t leg = 0; leg < conf->nlegs; leg++) {
		const struct rd_conf_port *port = &conf->port[leg];
		char line[64];
		bool found = *port->interface ? read_sys(sys, line, "class/net/%s/device/numa_node",
							 port->interface)
					      : read_sys(sys, line, "bus/pci/devices/%s/numa_node",
							 port->device);
		int at = found ? node_number(line) : -1;
		for (uint32_t i = 0; i < n && at >= 0; i++) {
			int node = p[i].cpu == NO_CPU ? -1 : find_node_of_cpu(sys, p[i].cpu);
			if (node >= 0 && node != at)
				WARN(warnings, "/eal/lcores",
				     "lcore %u is on CPU %u of NUMA node %d, the port of the %s "
				     "leg on node %d: choose CPUs there",
				     p[i].lcore, p[i].cpu, node, rd_leg_names[leg], at);
		}
	}
}

/* What parts the two networks is then the subnet alone. */
static void
look_at_one_port(const struct rd_conf *conf, struct rd_faults *warnings)
{
	const struct rd_conf_port *p = &conf->port[RD_LEG_PRIVATE], *g = &conf->port[RD_LEG_GLOBAL];
	if (rd_conf_one_port(conf) && p->vlan == g->vlan)
		WARN(warnings, "/ports/global/vlan",
		     "both legs are at %.60s and in one VLAN: hosts of the global network can "
		     "speak to the private leg, which is trusted; give each leg a vlan of its own",
		     *p->device ? p->device : p->interface);
}

void
rd_check_advice(const char *sys, const struct rd_conf *conf, struct rd_faults *warnings)
{
	struct poller lcores[RD_WORKERS_MAX + 1];
	uint32_t n = find_lcores(conf, lcores);
	const struct poller *p = lcores + 1;
	n -= n > 0;
	look_at_control(conf, lcores, p, n, warnings);
	look_at_sharing(sys, p, n, warnings);
	look_at_governors(sys, p, n, warnings);
	look_at_nodes(sys, conf, p, n, warnings);
	look_at_one_port(conf, warnings);
}

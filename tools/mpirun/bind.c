/* Which core each rank has.
 *
 * A rank that waits polls; two that the system puts on one core, although another is idle,
 * cost each other a switch per message.  So, unless told otherwise, every rank gets its share
 * of the cores this process may use, one or more, if there are as many as ranks and whatever
 * else runs now.  Other jobs
 * of this machine would be given the same ones: who binds holds a name per core (an abstract
 * socket, which goes with the process) while its job runs, and takes only cores whose name is
 * free.  Hardware threads of one core stay together. */
#include "mpirun.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct {
	cpu_set_t core[CPU_SETSIZE]; /* hardware threads of each */
	int claim[CPU_SETSIZE];	     /* socket, -1: none */
	uint32_t cores, ranks;
	bool bound, one; /* one: a single core each */
} g;

/* The lowest hardware thread of the core of cpu. */
static unsigned
first_sibling(unsigned cpu)
{
	char path[96];
	unsigned first = cpu;

	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
		 cpu);
	FILE *f = fopen(path, "re");
	if (f && fscanf(f, "%u", &first) != 1)
		first = cpu;
	if (f)
		fclose(f);
	return first;
}

static void
find_cores(void)
{
	static unsigned key[CPU_SETSIZE];
	cpu_set_t mine;

	if (sched_getaffinity(0, sizeof mine, &mine) != 0)
		return;
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &mine))
			continue;
		uint32_t c = 0;
		unsigned first = first_sibling(cpu);
		while (c < g.cores && key[c] != first)
			c++;
		if (c == g.cores) {
			key[g.cores] = first;
			g.claim[g.cores++] = -1;
		}
		CPU_SET(cpu, &g.core[c]);
	}
}

/* False: another job has it. */
static bool
claim(uint32_t c)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	unsigned cpu = 0;

	while (!CPU_ISSET(cpu, &g.core[c]))
		cpu++;
	int n = snprintf(sa.sun_path + 1, sizeof sa.sun_path - 1, "mpirun-core-%u", cpu);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	if (bind(fd, (struct sockaddr *)&sa,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) != 0) {
		close(fd);
		return false;
	}
	g.claim[c] = fd;
	return true;
}

/* Only the cores that nobody else has. */
static void
keep_free_cores(void)
{
	uint32_t kept = 0;

	for (uint32_t c = 0; c < g.cores; c++) {
		if (!claim(c))
			continue;
		g.core[kept] = g.core[c];
		g.claim[kept++] = g.claim[c];
	}
	g.cores = kept;
}

/* Threads of others that run or want to: bound ranks could not evade them. */
static uint32_t
others_running(void)
{
	unsigned running = 1;
	FILE *f = fopen("/proc/loadavg", "re");

	if (f && fscanf(f, "%*s %*s %*s %u/", &running) != 1)
		running = 1;
	if (f)
		fclose(f);
	return running > 0 ? running - 1 : 0; /* we are one */
}

static void
give_up_claims(void)
{
	for (uint32_t c = 0; c < g.cores; c++)
		if (g.claim[c] >= 0)
			close(g.claim[c]);
}

bool
mpirun_bind_plan(const struct mpirun_options *o)
{
	if (o->bind == MPIRUN_BIND_NONE || (o->bind == MPIRUN_BIND_AUTO && o->nranks == 1))
		return true;
	find_cores();
	g.ranks = o->nranks;
	g.one = o->bind == MPIRUN_BIND_CORE;
	if (g.one && g.cores < o->nranks) {
		mpirun_say("--bind-to core: %u ranks, but %u cores; --bind-to none leaves it to "
			   "the system",
			   o->nranks, g.cores);
		return false;
	}
	if (!g.one && g.cores >= o->nranks)
		keep_free_cores();
	g.bound = g.cores >= o->nranks + (g.one ? 0 : others_running());
	if (!g.bound)
		give_up_claims();
	if (o->verbose)
		mpirun_say(g.bound ? "%u ranks are bound, %u cores for them"
				   : "%u ranks are not bound: %u cores are free",
			   o->nranks, g.cores);
	return true;
}

void
mpirun_bind_me(uint32_t rank)
{
	cpu_set_t set;

	if (!g.bound)
		return;
	uint32_t first = g.one ? rank : (uint32_t)((uint64_t)rank * g.cores / g.ranks);
	uint32_t end = g.one ? rank + 1 : (uint32_t)(((uint64_t)rank + 1) * g.cores / g.ranks);
	CPU_ZERO(&set);
	for (uint32_t c = first; c < end; c++)
		CPU_OR(&set, &set, &g.core[c]);
	if (sched_setaffinity(0, sizeof set, &set) != 0)
		mpirun_say("rank %u cannot be bound; it runs anywhere", rank);
}

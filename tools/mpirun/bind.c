/* SPDX-License-Identifier: BSD-2-Clause */
/* Which core each rank has.
 *
 * A rank that waits polls; two that the system puts on one core, although another is idle,
 * cost each other a switch per message.  So, unless told otherwise, every rank gets its share
 * of the cores this process may use, one or more, if there are as many as ranks and whatever
 * else runs now.  Other jobs
 * of this machine would be given the same ones: who binds holds a name per core (an abstract
 * socket, which goes with the process) while its job runs, and takes only cores whose name is
 * free.  Hardware threads of one core stay together.
 *
 * With --bind-to l3, numa or socket ranks are dealt to those in blocks, several to one if there are
 * more of them; nobody has one alone, so no name is held. */
#include "domain.h"
#include "mpirun.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct {
	cpu_set_t core[CPU_SETSIZE]; /* hardware threads of each; or of an L3, node, socket */
	int claim[CPU_SETSIZE];	     /* socket, -1: none */
	uint32_t cores, ranks;
	bool bound, one; /* one: a single core each */
} g;

/* The threads this process may use, by core or by a larger part. */
static void
find_domains(enum mpirun_domain kind)
{
	static unsigned key[CPU_SETSIZE];
	cpu_set_t mine;

	if (sched_getaffinity(0, sizeof mine, &mine) != 0)
		return;
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &mine))
			continue;
		uint32_t c = 0;
		unsigned first = mpirun_domain_of("/sys", cpu, kind);
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

/* "0-3,8": threads of a set. */
static void
print_set(const cpu_set_t *set, char *out, size_t max)
{
	size_t len = 0;
	*out = '\0';
	for (unsigned from = 0; from < CPU_SETSIZE; from++) {
		unsigned to = from;
		if (!CPU_ISSET(from, set))
			continue;
		while (to + 1 < CPU_SETSIZE && CPU_ISSET(to + 1, set))
			to++;
		int n = snprintf(out + len, max - len, to > from ? "%s%u-%u" : "%s%u",
				 len ? "," : "", from, to);
		if (n < 0 || (size_t)n >= max - len)
			return; /* as many as the line holds */
		len += (size_t)n;
		from = to;
	}
}

static void
set_of_rank(uint32_t rank, cpu_set_t *set)
{
	uint64_t first = g.one ? rank : (uint64_t)rank * g.cores / g.ranks;
	uint64_t end = g.one ? rank + 1 : ((uint64_t)rank + 1) * g.cores / g.ranks;
	if (end <= first) /* more ranks than parts of the machine */
		end = first + 1;
	CPU_ZERO(set);
	for (uint64_t c = first; c < end; c++)
		CPU_OR(set, set, &g.core[c]);
}

static void
report_bindings(uint32_t nranks)
{
	char text[512];
	cpu_set_t set;
	for (uint32_t r = 0; r < nranks; r++) {
		if (g.bound)
			set_of_rank(r, &set);
		else if (sched_getaffinity(0, sizeof set, &set) != 0)
			return;
		print_set(&set, text, sizeof text);
		mpirun_say(g.bound ? "rank %u is bound to CPUs %s"
				   : "rank %u is not bound: CPUs %s",
			   r, text);
	}
}

/* A part of the machine for each rank, which others may use, too. */
static void
plan_domains(const struct mpirun_options *o)
{
	find_domains(o->bind == MPIRUN_BIND_L3	   ? MPIRUN_L3
		     : o->bind == MPIRUN_BIND_NUMA ? MPIRUN_NUMA
						   : MPIRUN_SOCKET);
	g.bound = g.cores > 0;
}

static bool
plan_cores(const struct mpirun_options *o)
{
	find_domains(MPIRUN_CORE);
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

bool
mpirun_bind_plan(const struct mpirun_options *o)
{
	g.ranks = o->nranks;
	if (o->bind == MPIRUN_BIND_AUTO || o->bind == MPIRUN_BIND_CORE) {
		/* One rank alone has the machine. */
		if ((o->bind == MPIRUN_BIND_CORE || o->nranks > 1) && !plan_cores(o))
			return false;
	} else if (o->bind != MPIRUN_BIND_NONE) {
		plan_domains(o);
	}
	if (o->report)
		report_bindings(o->nranks);
	return true;
}

void
mpirun_bind_me(uint32_t rank)
{
	cpu_set_t set;

	if (!g.bound)
		return;
	set_of_rank(rank, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0)
		mpirun_say("rank %u cannot be bound; it runs anywhere", rank);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* EAL's --lcores: which lcores and which CPUs a text names. */
#include "rd/conf.h"

#include "conf_internal.h"

#include <stdlib.h>
#include <string.h>

static bool
read_number(const char **at, uint32_t max, uint32_t *out)
{
	char *end;
	if (**at < '0' || **at > '9')
		return false;
	unsigned long n = strtoul(*at, &end, 10);
	*at = end;
	*out = (uint32_t)n;
	return n < max;
}

/* N or N-M. */
static bool
read_range(const char **at, bool *set, uint32_t max)
{
	uint32_t from, to;
	if (!read_number(at, max, &from))
		return false;
	to = from;
	if (**at == '-') {
		++*at;
		if (!read_number(at, max, &to))
			return false;
	}
	for (uint32_t i = from; i <= to; i++)
		set[i] = true;
	return from <= to;
}

/* A range, or several in parentheses. */
static bool
read_set(const char **at, bool *set, uint32_t max)
{
	if (**at != '(')
		return read_range(at, set, max);
	do {
		++*at;
		if (!read_range(at, set, max))
			return false;
	} while (**at == ',');
	return *(*at)++ == ')';
}

bool
rd_lcores_parse(const char *text, bool *lcore, bool *cpu, uint32_t max)
{
	memset(lcore, 0, max * sizeof *lcore);
	memset(cpu, 0, max * sizeof *cpu);
	for (const char *at = text;; at++) {
		const char *item = at;
		if (!read_set(&at, lcore, max))
			return false;
		/* Without CPUs an lcore runs on the one of its own number. */
		if (*at == '@' ? (at++, !read_set(&at, cpu, max)) : !read_set(&item, cpu, max))
			return false;
		if (!*at)
			return true;
		if (*at != ',')
			return false;
	}
}

uint32_t
rd_lcore_cpus(const char *text, uint32_t lcore, bool *cpu, uint32_t max)
{
	bool has[RD_CPUS_MAX];
	uint32_t n = 0;
	if (max > RD_CPUS_MAX)
		return 0;
	for (const char *at = text;; at++) {
		memset(has, 0, max * sizeof *has);
		memset(cpu, 0, max * sizeof *cpu);
		if (lcore >= max || !read_set(&at, has, max))
			return 0;
		if (*at == '@') {
			at++;
			if (!read_set(&at, cpu, max))
				return 0;
		} else {
			cpu[lcore] = true;
		}
		if (has[lcore])
			break;
		if (*at != ',')
			return 0;
	}
	for (uint32_t i = 0; i < max; i++)
		n += cpu[i];
	return n;
}

void
rd_conf_check_lcores(const struct rd_conf *conf, const char *text, size_t len,
		     struct rd_faults *faults)
{
	static const char pointer[] = "/eal/lcores";
	bool lcore[RD_CPUS_MAX], cpu[RD_CPUS_MAX];
	const char *names = conf->eal.lcores;
	uint32_t n = 0, workers = conf->workers;
	uint32_t line = text ? rd_conf_locate(text, len, pointer) : 0;
	if (!rd_lcores_parse(names, lcore, cpu, RD_CPUS_MAX)) {
		rd_fault_add(faults, pointer, line,
			     "\"%.60s\" is not EAL --lcores syntax with numbers below %d, like "
			     "0@0,1@1",
			     names, RD_CPUS_MAX);
		return;
	}
	for (uint32_t i = 0; i < RD_CPUS_MAX; i++)
		n += lcore[i];
	if (n <= workers)
		rd_fault_add(faults, pointer, line,
			     "names %u lcore%s, %u are needed (control and workers %u); for one "
			     "CPU write (0-%u)@0",
			     n, n == 1 ? "" : "s", workers + 1, workers, workers);
}

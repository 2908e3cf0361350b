/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of ports of the optical switch: which are ours, which share wavelengths. */
#include "rd/conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Marks the ports of "0-7,12", all below n, up to the end of the text or to `until`.  Returns where
 * it stopped, or NULL: it is no such list. */
static const char *
mark_ports(const char *text, char until, bool *in, uint32_t n)
{
	for (;;) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;
		if (*text < '0' || *text > '9')
			return NULL;
		if (*end == '-') {
			text = end + 1;
			last = strtoul(text, &end, 10);
			if (*text < '0' || *text > '9')
				return NULL;
		}
		if (last < first || last >= n || (*end && *end != ',' && *end != until))
			return NULL;
		for (; first <= last; first++)
			in[first] = true;
		if (*end != ',' || !end[1])
			return end + (*end == ',');
		text = end + 1;
	}
}

bool
rd_conf_own_ports(const char *text, bool *own, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		own[i] = !*text;
	return !*text || mark_ports(text, '\0', own, n);
}

/* One group, "0-7,12=4".  Where it ends, or NULL. */
static const char *
take_group(const char *text, uint32_t ports, struct rd_lit_groups *g, char why[RD_GROUPS_WHY])
{
	bool in[RD_SWITCH_PORTS_MAX] = {false};
	const char *at = mark_ports(text, '=', in, ports);
	char *end;
	if (!at || *at != '=') {
		snprintf(why, RD_GROUPS_WHY,
			 "\"%.40s\" is not a list of ports below %u and how many links are lit, as "
			 "\"0-7,12=4\"",
			 text, ports);
		return NULL;
	}
	unsigned long waves = strtoul(at + 1, &end, 10);
	if (at[1] < '0' || at[1] > '9' || waves < 1 || waves > RD_SWITCH_PORTS_MAX ||
	    (*end && *end != ';')) {
		snprintf(why, RD_GROUPS_WHY,
			 "\"%.40s\" is not a number of links from 1 to %d; groups are parted by "
			 "\";\"",
			 at + 1, RD_SWITCH_PORTS_MAX);
		return NULL;
	}
	for (uint32_t p = 0; p < ports; p++) {
		if (in[p] && g->of[p] != RD_GROUPS_MAX) {
			snprintf(why, RD_GROUPS_WHY, "port %u is in two groups", p);
			return NULL;
		}
		if (in[p])
			g->of[p] = g->n;
	}
	g->waves[g->n++] = (uint32_t)waves;
	return end;
}

bool
rd_conf_lit_groups(const char *text, uint32_t ports, struct rd_lit_groups *g,
		   char why[RD_GROUPS_WHY])
{
	g->n = 0;
	for (uint32_t p = 0; p < ports; p++)
		g->of[p] = RD_GROUPS_MAX;
	while (*text) {
		if (g->n == RD_GROUPS_MAX) {
			snprintf(why, RD_GROUPS_WHY, "more than %d groups", RD_GROUPS_MAX);
			return false;
		}
		text = take_group(text, ports, g, why);
		if (!text)
			return false;
		text += *text == ';' && text[1];
	}
	for (uint32_t p = 0; p < ports; p++)
		if (g->of[p] == RD_GROUPS_MAX)
			g->of[p] = g->n;
	return true;
}

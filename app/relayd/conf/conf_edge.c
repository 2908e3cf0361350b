/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys about who may say what at the legs: ports open over the TAPs, neighbours that are known. */
#include "rd/conf.h"

#include "conf_internal.h"
#include "suci/addr.h"

#include <string.h>

static bool
open_range(const char *proto, unsigned first, unsigned last, struct rd_conf_open *o)
{
	bool tcp = strcmp(proto, "tcp") == 0;
	if ((!tcp && strcmp(proto, "udp") != 0) || first < 1 || last > 65535 || first > last)
		return false;
	o->tcp = tcp;
	o->first = (uint16_t)first;
	o->last = (uint16_t)last;
	return true;
}

int
rd_conf_open_ports(const char *text, struct rd_conf_open *open, uint32_t max)
{
	uint32_t n = 0;
	while (*text) {
		struct rd_conf_open o = {.legs = 3};
		char leg[9] = "", proto[4] = "";
		unsigned first = 0, last = 0;
		int at = 0;
		if (sscanf(text, " %8[a-z]:%n", leg, &at) == 1 && at) {
			if (strcmp(leg, "private") != 0 && strcmp(leg, "global") != 0)
				return -1;
			o.legs = *leg == 'p' ? 1 : 2;
			text += at;
		}
		at = 0;
		if (sscanf(text, " %3[a-z]/%5u-%5u %n", proto, &first, &last, &at) != 3 || !at) {
			at = 0;
			if (sscanf(text, " %3[a-z]/%5u %n", proto, &first, &at) != 2 || !at)
				return -1;
			last = first;
		}
		if (n == max || !open_range(proto, first, last, &o))
			return -1;
		open[n++] = o;
		text += at;
		if (*text && (*text++ != ',' || !*text))
			return -1;
	}
	return (int)n;
}

/* Of either kind. */
static bool
read_neighbour(const char *text, struct rd_conf_mac *m)
{
	struct suci_addr a;
	if (strchr(text, ':') == NULL)
		return rd_ipv4_parse(text, &m->address);
	if (!suci_addr_parse_ip(text, strlen(text), &a) || a.family != 6)
		return false;
	memcpy(m->address6, a.ip, sizeof m->address6);
	return true;
}

int
rd_conf_macs(const char *text, struct rd_conf_mac *mac, uint32_t max)
{
	uint32_t n = 0;
	while (*text) {
		char address[48] = "";
		unsigned b[6];
		int at = 0;
		if (sscanf(text, " %47[0-9a-fA-F.:]=%2x:%2x:%2x:%2x:%2x:%2x %n", address, &b[0],
			   &b[1], &b[2], &b[3], &b[4], &b[5], &at) != 7 ||
		    !at || n == max || (b[0] & 1))
			return -1;
		mac[n] = (struct rd_conf_mac){0};
		if (!read_neighbour(address, &mac[n]))
			return -1;
		for (int i = 0; i < 6; i++)
			mac[n].mac[i] = (uint8_t)b[i];
		n++;
		text += at;
		if (*text && (*text++ != ',' || !*text))
			return -1;
	}
	return (int)n;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys about IPv6: the global leg's address, where relays of other clusters and the IMPI server
 * are. */
#include "rd/conf.h"

#include "conf_private.h"
#include "suci/addr.h"

#include <string.h>

#define TEXT_MAX 48

/* An IPv6 address, len bytes of text, that others can reach.  NULL, or why not. */
static const char *
read_six(const char *text, size_t len, uint8_t ip[16])
{
	struct suci_addr a;
	if (!suci_addr_parse_ip(text, len, &a) || a.family != 6)
		return "is not an IPv6 address like 2001:db8::7";
	memcpy(ip, a.ip, sizeof a.ip);
	return suci_addr_fault(&a);
}

int
rd_conf_places(const char *text, struct rd_conf_place *place, uint32_t max)
{
	uint32_t n = 0;
	while (*text) {
		char name[16] = "", ip[TEXT_MAX] = "";
		int at = 0;
		if (sscanf(text, " %15[0-9.]=%47[0-9a-fA-F.:] %n", name, ip, &at) != 2 || !at ||
		    n == max || !rd_ipv4_parse(name, &place[n].name) || !place[n].name ||
		    read_six(ip, strlen(ip), place[n].address))
			return -1;
		n++;
		text += at;
		if (*text && (*text++ != ',' || !*text))
			return -1;
	}
	return (int)n;
}

bool
rd_conf_on_leg6(const struct rd_conf_port *port, const uint8_t address[16])
{
	struct base_prefix p = {.len = port->prefix6_len};
	memcpy(p.addr, port->address6, sizeof p.addr);
	return port->prefix6_len && base_prefix_covers(&p, address) &&
	       memcmp(port->address6, address, sizeof p.addr) != 0;
}

/* NULL, or why not. */
static const char *
read_leg(struct rd_conf_port *port)
{
	struct base_prefix p;
	const char *slash = strchr(port->ipv6, '/');
	if (!slash || !base_prefix_parse(port->ipv6, strlen(port->ipv6), &p) || p.len < 1 ||
	    p.len > 127)
		return "is not an IPv6 address and a length of its prefix, like 2001:db8::7/64";
	const char *why = read_six(port->ipv6, (size_t)(slash - port->ipv6), port->address6);
	port->prefix6_len = why ? 0 : p.len;
	return why;
}

/* A router is often known by its link-local address. */
static const char *
read_gateway(struct rd_conf_port *port)
{
	static const uint8_t local[8] = {0xfe, 0x80};
	struct suci_addr a;
	if (!suci_addr_parse_ip(port->gateway6, strlen(port->gateway6), &a) || a.family != 6)
		return "is not an IPv6 address like fe80::1";
	memcpy(port->next6, a.ip, sizeof a.ip);
	if (memcmp(a.ip, local, sizeof local) == 0)
		return NULL;
	if (!port->prefix6_len)
		return "leads nowhere without ports.global.ipv6";
	return rd_conf_on_leg6(port, a.ip) ? NULL : "is not in the prefix of ports.global.ipv6";
}

#define FAULT RD_RULE_FAULT

static bool
is_own_name(const struct rd_conf *c, uint32_t name)
{
	for (uint32_t i = 0; i < c->cluster.nrelays; i++)
		if (c->cluster.relay[i].global_address == name)
			return true;
	return false;
}

static void
check_place(const struct rd_rules *k, uint32_t i)
{
	static const char ptr[] = "/trunks/ipv6", nowhere[16] = "";
	const struct rd_conf *c = k->conf;
	const struct rd_conf_port *port = &c->port[RD_LEG_GLOBAL];
	const struct rd_conf_place *p = &c->trunks.place[i];
	struct suci_addr at = suci_addr_of(p->address, 0);
	char name[RD_IPV4_TEXT], six[SUCI_ADDR_TEXT_MAX];
	rd_ipv4_text(p->name, name);
	suci_addr_ip_text(&at, six);
	for (uint32_t o = 0; o < i; o++)
		if (c->trunks.place[o].name == p->name ||
		    memcmp(c->trunks.place[o].address, p->address, sizeof p->address) == 0) {
			FAULT(k, ptr, "%s=%s: one of the two was there before", name, six);
			return;
		}
	if (is_own_name(c, p->name))
		FAULT(k, ptr, "%s is a relay of this cluster; relays of others belong here", name);
	else if (memcmp(p->address, port->address6, sizeof p->address) == 0)
		FAULT(k, ptr, "%s is this relay's own address", six);
	else if (port->prefix6_len && !rd_conf_on_leg6(port, p->address) &&
		 memcmp(port->next6, nowhere, sizeof nowhere) == 0)
		FAULT(k, ptr,
		      "%s is outside the prefix of ports.global.ipv6, and there is no "
		      "ports.global.gateway6",
		      six);
}

bool
rd_conf_server(const struct rd_conf *conf, struct suci_addr *out)
{
	return suci_addr_parse_ip(conf->impi.server_host, strlen(conf->impi.server_host), out);
}

static void
check_six_server(const struct rd_rules *k)
{
	static const char ptr[] = "/impi/server", nowhere[16] = "";
	const struct rd_conf *c = k->conf;
	const struct rd_conf_port *port = &c->port[RD_LEG_GLOBAL];
	struct suci_addr at;
	if (!rd_conf_server(c, &at) || at.family != 6)
		return;
	const char *why = suci_addr_fault(&at);
	if (why)
		FAULT(k, ptr, "%s %s", c->impi.server_host, why);
	else if (!port->prefix6_len)
		FAULT(k, ptr, "%s needs ports.global.ipv6, our own IPv6 address",
		      c->impi.server_host);
	else if (memcmp(at.ip, port->address6, sizeof at.ip) == 0 && !*c->tap_allow)
		FAULT(k, ptr,
		      "%s is our own address (ports.global.ipv6): give that of the machine where "
		      "impi-server runs; if that is this one, open its port: \"tap_allow\": "
		      "\"global:tcp/%u\"",
		      c->impi.server_host, c->impi.server_port);
	else if (!rd_conf_on_leg6(port, at.ip) &&
		 memcmp(at.ip, port->address6, sizeof at.ip) != 0 &&
		 memcmp(port->next6, nowhere, sizeof nowhere) == 0)
		FAULT(k, ptr,
		      "%s is outside the prefix of ports.global.ipv6, and there is no "
		      "ports.global.gateway6",
		      c->impi.server_host);
}

static void
check_known_six(const struct rd_rules *k)
{
	const struct rd_conf *c = k->conf;
	const struct rd_conf_port *port = &c->port[RD_LEG_GLOBAL];
	char six[SUCI_ADDR_TEXT_MAX];
	for (uint32_t i = 0; i < c->neighbours.nknown; i++) {
		const struct rd_conf_mac *m = &c->neighbours.known[i];
		struct suci_addr at = suci_addr_of(m->address6, 0);
		if (!m->address && !rd_conf_on_leg6(port, m->address6) &&
		    memcmp(m->address6, port->next6, sizeof port->next6) != 0)
			FAULT(k, "/neighbours/mac",
			      "%s is neither in the prefix of ports.global.ipv6 nor "
			      "ports.global.gateway6",
			      suci_addr_ip_text(&at, six));
	}
}

void
rd_conf_check_six(struct rd_conf *conf, const char *text, size_t len, struct rd_faults *faults)
{
	const struct rd_rules k = {conf, text, len, faults};
	struct rd_conf_port *port = &conf->port[RD_LEG_GLOBAL];
	const char *why = *port->ipv6 ? read_leg(port) : NULL;
	if (why)
		FAULT(&k, "/ports/global/ipv6", "\"%.60s\" %s", port->ipv6, why);
	else if (*port->gateway6 && (why = read_gateway(port)))
		FAULT(&k, "/ports/global/gateway6", "\"%.47s\" %s", port->gateway6, why);
	int n = rd_conf_places(conf->trunks.ipv6, conf->trunks.place, RD_PLACES_MAX);
	conf->trunks.nplaces = n < 0 ? 0 : (uint32_t)n;
	if (n < 0)
		FAULT(&k, "/trunks/ipv6",
		      "\"%.60s\" is not a list like 198.51.100.21=2001:db8::21,... of at most %d "
		      "relays, each with its global IPv4 and its IPv6 address",
		      conf->trunks.ipv6, RD_PLACES_MAX);
	else if (n > 0 && !*port->ipv6)
		FAULT(&k, "/trunks/ipv6", "needs ports.global.ipv6, our own IPv6 address");
	for (uint32_t i = 0; i < conf->trunks.nplaces && !why; i++)
		check_place(&k, i);
	check_known_six(&k);
	if (!why)
		check_six_server(&k);
}

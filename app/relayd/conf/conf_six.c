/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys about IPv6: addresses of the legs, where relays of the own cluster and of others and the
 * IMPI server are. */
#include "rd/conf.h"

#include "conf_internal.h"
#include "suci/addr.h"

#include <string.h>

#define TEXT_MAX 48

#define FAULT RD_RULE_FAULT

const char *
rd_conf_read_six(const char *text, size_t len, uint8_t ip[16])
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
		    rd_conf_read_six(ip, strlen(ip), place[n].address))
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
	const char *why =
		rd_conf_read_six(port->ipv6, (size_t)(slash - port->ipv6), port->address6);
	port->prefix6_len = why ? 0 : p.len;
	return why;
}

bool
rd_conf_knows_six(const struct rd_conf_port *port, const uint8_t address[16])
{
	return rd_conf_on_leg6(port, address) ||
	       (*port->gateway6 && memcmp(address, port->next6, sizeof port->next6) == 0);
}

/* A router is often known by its link-local address. */
static void
read_gateway(const struct rd_rules *k, uint32_t leg)
{
	static const uint8_t local[8] = {0xfe, 0x80};
	struct rd_conf_port *port = &k->conf->port[leg];
	struct suci_addr a;
	char ptr[64];
	rd_leg_pointer(ptr, leg, "gateway6");
	if (!suci_addr_parse_ip(port->gateway6, strlen(port->gateway6), &a) || a.family != 6) {
		FAULT(k, ptr, "\"%.47s\" is not an IPv6 address like fe80::1", port->gateway6);
		return;
	}
	memcpy(port->next6, a.ip, sizeof a.ip);
	if (memcmp(a.ip, local, sizeof local) == 0)
		return;
	if (!port->prefix6_len)
		FAULT(k, ptr, "\"%.47s\" leads nowhere without ports.%s.ipv6", port->gateway6,
		      rd_leg_names[leg]);
	else if (!rd_conf_on_leg6(port, a.ip))
		FAULT(k, ptr, "\"%.47s\" is not in the prefix of ports.%s.ipv6", port->gateway6,
		      rd_leg_names[leg]);
}

void
rd_conf_read_sixes(struct rd_conf *conf, const char *text, size_t len, struct rd_faults *faults)
{
	const struct rd_rules k = {conf, text, len, faults};
	char ptr[64];
	for (uint32_t leg = 0; leg < RD_LEGS; leg++) {
		struct rd_conf_port *port = &conf->port[leg];
		const char *why = *port->ipv6 ? read_leg(port) : NULL;
		rd_leg_pointer(ptr, leg, "ipv6");
		if (why)
			FAULT(&k, ptr, "\"%.60s\" %s", port->ipv6, why);
		else if (*port->gateway6)
			read_gateway(&k, leg);
	}
}

static void
check_sixes_differ(const struct rd_rules *k)
{
	const struct rd_conf_port *p = &k->conf->port[RD_LEG_PRIVATE];
	const struct rd_conf_port *g = &k->conf->port[RD_LEG_GLOBAL];
	if (!p->prefix6_len || !g->prefix6_len)
		return;
	if (rd_conf_on_leg6(p, g->address6) || rd_conf_on_leg6(g, p->address6) ||
	    memcmp(p->address6, g->address6, sizeof p->address6) == 0)
		FAULT(k, "/ports/global/ipv6",
		      "the IPv6 prefixes of the private and the global leg overlap");
	if (*p->gateway6 && *g->gateway6)
		FAULT(k, "/ports/private/gateway6",
		      "both legs have a gateway6; only one leg can lead to the rest of the world");
	if (rd_conf_one_port(k->conf) && p->vlan == g->vlan)
		FAULT(k, "/ports/private/ipv6",
		      "both legs are at one port, in one VLAN: all of IPv6 there is the global "
		      "leg's; give the legs different ports.*.vlan");
}

/* Where processes find the relays of their cluster: of each one, or of none. */
static void
check_inside(const struct rd_rules *k)
{
	static const uint8_t nowhere[16];
	struct rd_conf *c = k->conf;
	const struct rd_conf_port *port = &c->port[RD_LEG_PRIVATE];
	struct rd_conf_relay *own = &c->cluster.relay[c->cluster.self];
	if (c->cluster.nrelays == 1 && memcmp(own->private6, nowhere, sizeof nowhere) == 0)
		memcpy(own->private6, port->address6, sizeof own->private6);
	for (uint32_t i = 0; i < c->cluster.nrelays; i++) {
		const uint8_t *six = c->cluster.relay[i].private6;
		char ptr[64];
		snprintf(ptr, sizeof ptr, "/cluster/relays/%u/private6", i);
		if (memcmp(six, nowhere, sizeof nowhere) == 0) {
			snprintf(ptr, sizeof ptr, "/cluster/relays/%u", i);
			if (port->prefix6_len)
				FAULT(k, ptr,
				      "lacks \"private6\", its IPv6 address inside: with "
				      "ports.private.ipv6 each relay of the cluster has one");
			continue;
		}
		if (!port->prefix6_len)
			FAULT(k, ptr, "needs ports.private.ipv6, our own address inside");
		else if (i == c->cluster.self
				 ? memcmp(six, port->address6, sizeof port->address6) != 0
				 : !rd_conf_on_leg6(port, six) && !*port->gateway6)
			FAULT(k, ptr,
			      i == c->cluster.self
				      ? "differs from our own address, ports.private.ipv6"
				      : "is outside the prefix of ports.private.ipv6, and there is "
					"no ports.private.gateway6");
		for (uint32_t o = 0; o < i; o++)
			if (memcmp(c->cluster.relay[o].private6, six, sizeof nowhere) == 0)
				FAULT(k, ptr, "is that of relay %u of the list, too", o);
	}
}

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
	char six[SUCI_ADDR_TEXT_MAX];
	for (uint32_t i = 0; i < c->neighbours.nknown; i++) {
		const struct rd_conf_mac *m = &c->neighbours.known[i];
		struct suci_addr at = suci_addr_of(m->address6, 0);
		if (!m->address && !rd_conf_knows_six(&c->port[RD_LEG_GLOBAL], m->address6) &&
		    !rd_conf_knows_six(&c->port[RD_LEG_PRIVATE], m->address6))
			FAULT(k, "/neighbours/mac",
			      "%s is neither in the IPv6 prefix of a leg nor a gateway6",
			      suci_addr_ip_text(&at, six));
	}
}

void
rd_conf_check_six(struct rd_conf *conf, const char *text, size_t len, struct rd_faults *faults)
{
	const struct rd_rules k = {conf, text, len, faults};
	const struct rd_conf_port *port = &conf->port[RD_LEG_GLOBAL];
	int n = rd_conf_places(conf->trunks.ipv6, conf->trunks.place, RD_PLACES_MAX);
	conf->trunks.nplaces = n < 0 ? 0 : (uint32_t)n;
	if (n < 0)
		FAULT(&k, "/trunks/ipv6",
		      "\"%.60s\" is not a list like 198.51.100.21=2001:db8::21,... of at most %d "
		      "relays, each with its global IPv4 and its IPv6 address",
		      conf->trunks.ipv6, RD_PLACES_MAX);
	else if (n > 0 && !*port->ipv6)
		FAULT(&k, "/trunks/ipv6", "needs ports.global.ipv6, our own IPv6 address");
	bool sure = port->prefix6_len || !*port->ipv6; /* else that was said */
	for (uint32_t i = 0; i < conf->trunks.nplaces && sure; i++)
		check_place(&k, i);
	check_sixes_differ(&k);
	check_inside(&k);
	check_known_six(&k);
	if (sure)
		check_six_server(&k);
}

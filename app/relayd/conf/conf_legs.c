/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of the legs: their devices and subnets, both at one port, light ports. */
#include "rd/conf.h"

#include "conf_internal.h"

#include <stdio.h>
#include <string.h>

#define FAULT RD_RULE_FAULT

void
rd_leg_pointer(char ptr[64], uint32_t leg, const char *key)
{
	const char *sep = *key ? "/" : "";
	if (leg < RD_LEG_LIGHT)
		snprintf(ptr, 64, "/ports/%s%s%s", rd_leg_names[leg], sep, key);
	else
		snprintf(ptr, 64, "/optical/ports/%u%s%s", leg - RD_LEG_LIGHT, sep, key);
}

static void
check_subnet(struct rd_rules *r, uint32_t leg)
{
	const struct rd_conf_port *port = &r->conf->port[leg];
	char ptr[64], a[RD_IPV4_TEXT], b[RD_IPV4_TEXT];
	if (!port->address || !port->prefix_len)
		return;
	uint32_t mask = rd_prefix_mask(port->prefix_len);
	rd_leg_pointer(ptr, leg, "address");
	if (port->prefix_len < 31 &&
	    ((port->address & ~mask) == 0 || (port->address & ~mask) == ~mask))
		FAULT(r, ptr, "%s is the network or broadcast address of its /%u",
		      rd_ipv4_text(port->address, a), port->prefix_len);
	if (!port->gateway)
		return;
	rd_leg_pointer(ptr, leg, "gateway");
	if (port->gateway == port->address)
		FAULT(r, ptr, "the gateway is our own address");
	else if ((port->gateway & mask) != (port->address & mask))
		FAULT(r, ptr, "%s is not in the subnet %s/%u of this leg",
		      rd_ipv4_text(port->gateway, a), rd_ipv4_text(port->address & mask, b),
		      port->prefix_len);
}

static void
check_device(struct rd_rules *r, uint32_t leg)
{
	const struct rd_conf_port *port = &r->conf->port[leg];
	char ptr[64];
	rd_leg_pointer(ptr, leg, "");
	if (*port->device && *port->interface)
		FAULT(r, ptr, "give device or interface, not both");
	else if (!*port->device && !*port->interface)
		FAULT(r, ptr, "give device (a DPDK device) or interface (a kernel interface)");
	else if (*port->interface && strpbrk(port->interface, "/ ,\t"))
		FAULT(r, ptr, "\"%s\" cannot be the name of an interface", port->interface);
}

bool
rd_conf_one_port(const struct rd_conf *conf)
{
	const struct rd_conf_port *p = &conf->port[RD_LEG_PRIVATE], *g = &conf->port[RD_LEG_GLOBAL];
	return (*p->interface && strcmp(p->interface, g->interface) == 0) ||
	       (*p->device && strcmp(p->device, g->device) == 0);
}

static void
check_legs_differ(struct rd_rules *r)
{
	const struct rd_conf_port *p = &r->conf->port[RD_LEG_PRIVATE];
	const struct rd_conf_port *g = &r->conf->port[RD_LEG_GLOBAL];
	if (rd_conf_one_port(r->conf) &&
	    (p->pmd != g->pmd || p->rx_descriptors != g->rx_descriptors ||
	     p->tx_descriptors != g->tx_descriptors))
		FAULT(r, "/ports/global",
		      "both legs are at one port, %s: pmd, rx_descriptors and tx_descriptors must "
		      "be "
		      "those of ports.private",
		      *p->device ? p->device : p->interface);
	if (!p->address || !g->address || !p->prefix_len || !g->prefix_len)
		return;
	uint32_t len = p->prefix_len < g->prefix_len ? p->prefix_len : g->prefix_len;
	if ((p->address & rd_prefix_mask(len)) == (g->address & rd_prefix_mask(len)))
		FAULT(r, "/ports/global/address",
		      "the subnets of the private and the global leg overlap");
	if (p->gateway && g->gateway)
		FAULT(r, "/ports/private/gateway",
		      "both legs have a gateway; only one leg can lead to the rest of the world");
}

/* A light port takes what is common to them, and shares nothing with another leg. */
static void
check_light(struct rd_rules *r, uint32_t i)
{
	struct rd_conf *c = r->conf;
	struct rd_conf_port *p = &c->port[RD_LEG_LIGHT + i];
	char ptr[64], a[RD_IPV4_TEXT];
	rd_leg_pointer(ptr, RD_LEG_LIGHT + i, "");
	for (uint32_t k = 0; k < RD_LEG_LIGHT + i; k++) {
		const struct rd_conf_port *o = &c->port[k];
		if ((*p->interface && strcmp(p->interface, o->interface) == 0) ||
		    (*p->device && strcmp(p->device, o->device) == 0))
			FAULT(r, ptr, "the %s leg has that device, too", rd_leg_names[k]);
		uint32_t mask =
			o->prefix_len && k < RD_LEG_LIGHT ? rd_prefix_mask(o->prefix_len) : ~0u;
		if (p->address && ((p->address ^ o->address) & mask) == 0)
			FAULT(r, ptr, "%s is %s the %s leg", rd_ipv4_text(p->address, a),
			      k < RD_LEG_LIGHT ? "in the subnet of" : "the address of",
			      rd_leg_names[k]);
		uint32_t in = c->optical.at[i].in, out = c->optical.at[i].out;
		if (k >= RD_LEG_LIGHT && in != RD_NO_SWITCH_PORT &&
		    (in == c->optical.at[k - RD_LEG_LIGHT].in ||
		     out == c->optical.at[k - RD_LEG_LIGHT].out))
			FAULT(r, ptr, "has a port of the switch that %s has", rd_leg_names[k]);
	}
	p->pmd = c->optical.pmd;
	p->mtu = c->optical.mtu ? c->optical.mtu : c->port[RD_LEG_GLOBAL].mtu;
	p->udp_port = c->optical.udp_port;
	p->rx_descriptors = c->optical.rx_descriptors;
	p->tx_descriptors = c->optical.tx_descriptors;
	p->sealing = c->optical.sealing == RD_LIGHT_AS_GLOBAL ? c->port[RD_LEG_GLOBAL].sealing
		     : c->optical.sealing == RD_LIGHT_ON      ? RD_SEALING_ON
							      : RD_SEALING_OFF;
}

static void
check_lights(struct rd_rules *r)
{
	const struct rd_conf *c = r->conf;
	uint32_t least = c->port[RD_LEG_GLOBAL].mtu;
	for (uint32_t i = 0; i < c->optical.nports; i++)
		check_light(r, i);
	if (!c->optical.nports)
		return;
	if (c->workers > 1)
		FAULT(r, "/optical/ports",
		      "light paths need workers 1, %u are asked for; a relay of the cluster "
		      "without "
		      "light ports may have more",
		      c->workers);
	if (c->optical.mtu && c->optical.mtu < least)
		FAULT(r, "/optical/mtu",
		      "%u is less than ports.global.mtu %u: segments are cut for that, and would "
		      "not "
		      "fit light",
		      c->optical.mtu, least);
}

void
rd_conf_check_legs(struct rd_conf *conf, const char *text, size_t len, struct rd_faults *faults)
{
	struct rd_rules r = {.conf = conf, .text = text, .len = len, .faults = faults};
	for (uint32_t leg = 0; leg < conf->nlegs; leg++) {
		check_device(&r, leg);
		check_subnet(&r, leg);
	}
	check_legs_differ(&r);
	check_lights(&r);
}

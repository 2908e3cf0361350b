/* Rules between keys.  Each looks only at values that were good by themselves,
 * so that one slip gives one fault. */
#include "rd/conf.h"

#include "conf_private.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

struct rules {
	struct rd_conf *conf;
	const char *text;
	size_t len;
	struct rd_faults *faults;
};

#define FAULT(r, pointer, ...)             \
	rd_fault_add((r)->faults, pointer, \
		     (r)->text ? rd_conf_locate((r)->text, (r)->len, pointer) : 0, __VA_ARGS__)

static uint32_t
mask_of(uint32_t prefix_len)
{
	return ~0u << (32 - prefix_len);
}

static void
check_subnet(struct rules *r, int leg)
{
	const struct rd_conf_port *port = &r->conf->port[leg];
	char ptr[64], a[RD_IPV4_TEXT], b[RD_IPV4_TEXT];
	if (!port->address || !port->prefix_len)
		return;
	uint32_t mask = mask_of(port->prefix_len);
	snprintf(ptr, sizeof ptr, "/ports/%s/address", rd_leg_names[leg]);
	if (port->prefix_len < 31 &&
	    ((port->address & ~mask) == 0 || (port->address & ~mask) == ~mask))
		FAULT(r, ptr, "%s is the network or broadcast address of its /%u",
		      rd_ipv4_text(port->address, a), port->prefix_len);
	if (!port->gateway)
		return;
	snprintf(ptr, sizeof ptr, "/ports/%s/gateway", rd_leg_names[leg]);
	if (port->gateway == port->address)
		FAULT(r, ptr, "the gateway is our own address");
	else if ((port->gateway & mask) != (port->address & mask))
		FAULT(r, ptr, "%s is not in the subnet %s/%u of this leg",
		      rd_ipv4_text(port->gateway, a), rd_ipv4_text(port->address & mask, b),
		      port->prefix_len);
}

static void
check_device(struct rules *r, int leg)
{
	const struct rd_conf_port *port = &r->conf->port[leg];
	char ptr[64];
	snprintf(ptr, sizeof ptr, "/ports/%s", rd_leg_names[leg]);
	if (*port->device && *port->interface)
		FAULT(r, ptr, "give device or interface, not both");
	else if (!*port->device && !*port->interface)
		FAULT(r, ptr, "give device (a DPDK device) or interface (a kernel interface)");
	else if (*port->interface && strpbrk(port->interface, "/ ,\t"))
		FAULT(r, ptr, "\"%s\" cannot be the name of an interface", port->interface);
}

static void
check_legs_differ(struct rules *r)
{
	const struct rd_conf_port *p = &r->conf->port[RD_LEG_PRIVATE];
	const struct rd_conf_port *g = &r->conf->port[RD_LEG_GLOBAL];
	if (*p->interface && strcmp(p->interface, g->interface) == 0)
		FAULT(r, "/ports/global/interface", "both legs name interface %s", p->interface);
	if (*p->device && strcmp(p->device, g->device) == 0)
		FAULT(r, "/ports/global/device", "both legs name device %s", p->device);
	if (!p->address || !g->address || !p->prefix_len || !g->prefix_len)
		return;
	uint32_t len = p->prefix_len < g->prefix_len ? p->prefix_len : g->prefix_len;
	if ((p->address & mask_of(len)) == (g->address & mask_of(len)))
		FAULT(r, "/ports/global/address",
		      "the subnets of the private and the global leg overlap");
	if (p->gateway && g->gateway)
		FAULT(r, "/ports/private/gateway",
		      "both legs have a gateway; only one leg can lead to the rest of the world");
}

static void
check_relays(struct rules *r)
{
	struct rd_conf *c = r->conf;
	uint32_t ours = c->port[RD_LEG_PRIVATE].address;
	uint32_t found = RD_RELAYS_MAX;
	char ptr[64], a[RD_IPV4_TEXT], b[RD_IPV4_TEXT];
	for (uint32_t i = 0; i < c->cluster.nrelays; i++) {
		const struct rd_conf_relay *relay = &c->cluster.relay[i];
		snprintf(ptr, sizeof ptr, "/cluster/relays/%u", i);
		if (relay->private_address == ours && ours && found == RD_RELAYS_MAX)
			found = i;
		for (uint32_t j = 0; j < i; j++)
			if (relay->private_address &&
			    (relay->private_address == c->cluster.relay[j].private_address ||
			     relay->global_address == c->cluster.relay[j].global_address))
				FAULT(r, ptr, "has an address of relay %u of the list", j);
	}
	if (!c->cluster.nrelays || !ours)
		return;
	if (found == RD_RELAYS_MAX) {
		FAULT(r, "/cluster/relays",
		      "no relay of the list has our private address %s (ports.private.address)",
		      rd_ipv4_text(ours, a));
		return;
	}
	c->cluster.self = found;
	snprintf(ptr, sizeof ptr, "/cluster/relays/%u/global", found);
	uint32_t listed = c->cluster.relay[found].global_address;
	if (listed && c->port[RD_LEG_GLOBAL].address && listed != c->port[RD_LEG_GLOBAL].address)
		FAULT(r, ptr, "%s differs from ports.global.address %s", rd_ipv4_text(listed, a),
		      rd_ipv4_text(c->port[RD_LEG_GLOBAL].address, b));
}

static void
check_impi(struct rules *r)
{
	struct rd_conf *c = r->conf;
	if (*c->impi.server) {
		const char *colon = strrchr(c->impi.server, ':');
		const char *err = "no port";
		long long port = colon ? strtonum(colon + 1, 1, 65535, &err) : 0;
		if (!colon || err || colon == c->impi.server ||
		    (size_t)(colon - c->impi.server) >= sizeof c->impi.server_host) {
			FAULT(r, "/impi/server", "\"%.60s\" is not host:port (%s)", c->impi.server,
			      err ? err : "no host");
		} else {
			memcpy(c->impi.server_host, c->impi.server,
			       (size_t)(colon - c->impi.server));
			c->impi.server_host[colon - c->impi.server] = '\0';
			c->impi.server_port = (uint32_t)port;
		}
	}
	if (c->impi.auth == RD_AUTH_KEY && !*c->impi.key_file)
		FAULT(r, "/impi/auth", "auth key needs impi.key_file");
	if (c->impi.listen_port == c->cluster.peer_port)
		FAULT(r, "/impi/listen_port", "is also cluster.peer_port; they must differ");
}

static void
check_limits(struct rules *r)
{
	const struct rd_conf *c = r->conf;
	if (c->limits.queue > c->limits.segments)
		FAULT(r, "/limits/queue", "%u is more than limits.segments %u", c->limits.queue,
		      c->limits.segments);
	if (c->limits.window > c->limits.segments)
		FAULT(r, "/limits/window", "%u is more than limits.segments %u", c->limits.window,
		      c->limits.segments);
	if (c->suci.keepalive_ms * 2ull > c->suci.liveness_ms)
		FAULT(r, "/suci/keepalive_ms",
		      "must be at most half of suci.liveness_ms (%u ms), or idle paths die",
		      c->suci.liveness_ms);
	if (c->workers > RD_WORKERS_MAX)
		FAULT(r, "/workers", "%u workers asked, this version runs %d; set it to %d",
		      c->workers, RD_WORKERS_MAX, RD_WORKERS_MAX);
}

static void
check_names(struct rules *r)
{
	const struct rd_conf *c = r->conf;
	if (strpbrk(c->tap_prefix, "/ :%") || !*c->tap_prefix)
		FAULT(r, "/tap_prefix", "\"%s\" cannot begin the name of an interface",
		      c->tap_prefix);
	if (strpbrk(c->eal.file_prefix, "/%*") || !*c->eal.file_prefix)
		FAULT(r, "/eal/file_prefix", "must be a name without /, %% and *");
	if (!*c->eal.lcores)
		FAULT(r, "/eal/lcores", "must not be empty");
}

void
rd_conf_cross_check(struct rd_conf *conf, const char *text, size_t len, struct rd_faults *faults)
{
	struct rules r = {.conf = conf, .text = text, .len = len, .faults = faults};
	for (int leg = 0; leg < RD_LEGS; leg++) {
		check_device(&r, leg);
		check_subnet(&r, leg);
	}
	check_legs_differ(&r);
	check_relays(&r);
	check_impi(&r);
	check_limits(&r);
	check_names(&r);
}

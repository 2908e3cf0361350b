/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules between keys.  Each looks only at values that were good by themselves,
 * so that one slip gives one fault. */
#include "rd/conf.h"

#include "base/nearest.h"
#include "conf_internal.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#define FAULT RD_RULE_FAULT

bool
rd_conf_endpoint(const char *text, uint32_t *ip, uint32_t *port)
{
	char host[24];
	const char *bad = NULL, *colon = strrchr(text, ':');
	if (!colon || (size_t)(colon - text) >= sizeof host)
		return false;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	*port = (uint32_t)strtonum(colon + 1, 1, 65535, &bad);
	return !bad && rd_ipv4_parse(host, ip) && *ip;
}

/* Groups of wavelengths; a relay whose ports are in several gets no light. */
static void
check_lit_groups(struct rd_rules *r)
{
	const struct rd_conf *c = r->conf;
	struct rd_lit_groups g;
	char why[RD_GROUPS_WHY];
	if (!rd_conf_lit_groups(c->optical.lit_groups, c->optical.sw.ports, &g, why)) {
		FAULT(r, "/optical/lit_groups", "%s", why);
		return;
	}
	for (uint32_t i = 1; i < c->optical.nports; i++) {
		uint32_t first = c->optical.at[0].in, p = c->optical.at[i].in;
		if (first < c->optical.sw.ports && p < c->optical.sw.ports &&
		    g.of[first] != g.of[p])
			FAULT(r, "/optical/lit_groups",
			      "ports %u and %u of this relay are not in one group; fix: put all "
			      "ports of a relay into one, or into none",
			      first, p);
	}
}

static void
check_switch(struct rd_rules *r)
{
	struct rd_conf *c = r->conf;
	bool own[4096];
	if (c->optical.sw.protocol == RD_SWITCH_NONE)
		return;
	if (!*c->optical.listen)
		FAULT(r, "/optical/listen", "needed by whoever drives a switch: IP:PORT");
	if (!*c->optical.sw.address)
		FAULT(r, "/optical/switch/address", "needed: where the switch is");
	if (c->optical.sw.protocol == RD_SWITCH_TL1_CALIENT && !*c->optical.sw.names)
		FAULT(r, "/optical/switch/names", "needed: a file with the names of its ports");
	if (!rd_conf_own_ports(c->optical.sw.own, own, c->optical.sw.ports))
		FAULT(r, "/optical/switch/own",
		      "\"%.60s\" is not a list of ports below %u, as \"0-7,12\"", c->optical.sw.own,
		      c->optical.sw.ports);
	check_lit_groups(r);
	if (!*c->optical.controller)
		strlcpy(c->optical.controller, c->optical.listen, sizeof c->optical.controller);
}

static void
check_controller(struct rd_rules *r)
{
	struct rd_conf *c = r->conf;
	check_switch(r);
	if (*c->optical.listen &&
	    !rd_conf_endpoint(c->optical.listen, &c->optical.listen_ip, &c->optical.listen_port))
		FAULT(r, "/optical/listen", "\"%.40s\" is not IP:PORT", c->optical.listen);
	if (!*c->optical.controller)
		return;
	if (!rd_conf_endpoint(c->optical.controller, &c->optical.controller_ip,
			      &c->optical.controller_port))
		FAULT(r, "/optical/controller", "\"%.40s\" is not IP:PORT", c->optical.controller);
	for (uint32_t i = 0; i < c->optical.nports; i++) {
		char ptr[64];
		rd_leg_pointer(ptr, RD_LEG_LIGHT + i, "switch_port");
		if (c->optical.at[i].in == RD_NO_SWITCH_PORT)
			FAULT(r, ptr,
			      "needed: the circuit controller has to know where the port is wired");
		else if (c->optical.at[i].in != c->optical.at[i].out)
			FAULT(r, ptr,
			      "ingress %u and egress %u differ: circuit controllers drive switches "
			      "that "
			      "have a fibre pair on ports of one number",
			      c->optical.at[i].in, c->optical.at[i].out);
		else if (c->optical.sw.protocol && c->optical.at[i].in >= c->optical.sw.ports)
			FAULT(r, ptr, "%u is not below optical.switch.ports, %u; fix one of them",
			      c->optical.at[i].in, c->optical.sw.ports);
		for (uint32_t k = 0; k < i; k++)
			if (c->optical.at[i].in != RD_NO_SWITCH_PORT &&
			    c->optical.at[i].in == c->optical.at[k].in)
				FAULT(r, ptr, "is that of optical.ports %u, too", k);
	}
}

static void
check_relays(struct rd_rules *r)
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

/* The listening ports and, behind them, as many of the server. */
static void
check_impi_ports(struct rd_rules *r)
{
	const struct rd_conf *c = r->conf;
	uint32_t more = c->impi.ports - 1, peer = c->cluster.peer_port;
	if (!c->impi.ports || !c->impi.listen_port)
		return;
	uint32_t first = c->impi.listen_port, last = first + more;
	if (last > 65535)
		FAULT(r, "/impi/ports", "%u ports from impi.listen_port %u on end behind 65535",
		      c->impi.ports, first);
	if (c->impi.server_port && c->impi.server_port + more > 65535)
		FAULT(r, "/impi/ports",
		      "%u ports from that of impi.server, %u, on end behind 65535", c->impi.ports,
		      c->impi.server_port);
	if (first == peer)
		FAULT(r, "/impi/listen_port", "is also cluster.peer_port; they must differ");
	else if (peer > first && peer <= last)
		FAULT(r, "/impi/ports",
		      "the range %u to %u (%u ports) contains cluster.peer_port %u; move one of "
		      "the two",
		      first, last, c->impi.ports, peer);
}

/* Clients of a cluster are on its private leg; from behind a router only if it is said. */
static void
check_allow(struct rd_rules *r)
{
	struct rd_conf *c = r->conf;
	const struct rd_conf_port *port = &c->port[RD_LEG_PRIVATE];
	struct base_prefixes *to = &c->impi.allowed;
	to->n = 0;
	if (!base_prefixes_add(to, c->impi.allow))
		FAULT(r, "/impi/allow",
		      "\"%.60s\" is not a list of up to %u prefixes like 10.1.0.0/16,10.2.0.7",
		      c->impi.allow, BASE_PREFIXES_MAX);
	if (to->n)
		return;
	base_prefix_v4(port->address, to->at[0].addr);
	to->at[0].len = 96 + port->prefix_len;
	to->n = 1;
	if (!port->prefix6_len)
		return;
	memcpy(to->at[1].addr, port->address6, sizeof to->at[1].addr);
	to->at[1].len = port->prefix6_len;
	to->n = 2;
}

/* The server is at one place, and every cluster reaches it over its global leg. */
static void
check_server_place(struct rd_rules *r)
{
	const struct rd_conf *c = r->conf;
	uint32_t ip;
	char a[RD_IPV4_TEXT];
	if (!rd_ipv4_parse(c->impi.server_host, &ip) || !ip)
		return;
	if (ip == c->port[RD_LEG_PRIVATE].address)
		FAULT(r, "/impi/server",
		      "%s is our own address (ports.private.address): give that of the machine "
		      "where impi-server runs, as the global leg reaches it",
		      rd_ipv4_text(ip, a));
	else if (ip == c->port[RD_LEG_GLOBAL].address && !*c->tap_allow)
		FAULT(r, "/impi/server",
		      "%s is our own address (ports.global.address): give that of the machine "
		      "where impi-server runs; if that is this one, open its port: \"tap_allow\": "
		      "\"global:tcp/%u\"",
		      rd_ipv4_text(ip, a), c->impi.server_port);
}

static void
check_impi(struct rd_rules *r)
{
	struct rd_conf *c = r->conf;
	if (*c->impi.server) {
		const char *colon = strrchr(c->impi.server, ':');
		const char *err = "no port";
		long long port = colon ? strtonum(colon + 1, 1, 65535, &err) : 0;
		const char *host = c->impi.server;
		size_t len = colon ? (size_t)(colon - host) : 0;
		bool brackets = len >= 2 && host[0] == '[' && colon[-1] == ']';
		if (brackets) {
			host++;
			len -= 2;
		}
		if (!colon || err || len == 0 || len >= sizeof c->impi.server_host) {
			FAULT(r, "/impi/server", "\"%.60s\" is not host:port (%s)", c->impi.server,
			      err ? err : "no host");
		} else if (brackets != (memchr(host, ':', len) != NULL)) {
			FAULT(r, "/impi/server",
			      "\"%.60s\": an IPv6 address is in brackets here, and nothing else "
			      "is, as [2001:db8::9]:7810",
			      c->impi.server);
		} else {
			memcpy(c->impi.server_host, host, len);
			c->impi.server_host[len] = '\0';
			c->impi.server_port = (uint32_t)port;
		}
	}
	check_server_place(r);
	if (c->impi.auth == RD_AUTH_KEY && !*c->impi.key_file)
		FAULT(r, "/impi/auth", "auth key needs impi.key_file");
	check_allow(r);
	check_impi_ports(r);
}

static void
check_sealing(struct rd_rules *r)
{
	const struct rd_conf *c = r->conf;
	char ptr[64];
	for (uint32_t leg = 0; leg < c->nlegs && leg <= RD_LEG_LIGHT; leg++) {
		if (leg < RD_LEG_LIGHT)
			rd_leg_pointer(ptr, leg, "sealing");
		else if (c->optical.sealing == RD_LIGHT_ON)
			strlcpy(ptr, "/optical/sealing", sizeof ptr);
		else
			break; /* as the global leg */
		if (c->port[leg].sealing == RD_SEALING_ON && !*c->sealing.key_file &&
		    !*c->sealing.identity_file)
			FAULT(r, ptr,
			      "is on and needs sealing.key_file (make one: (umask 077; echo \"1 "
			      "$(openssl rand -hex 32)\" > FILE), the same on all relays) or "
			      "sealing.identity_file; or say \"off\"");
	}
	if (c->impi.server_sealing == RD_SEALING_ON && !*c->sealing.key_file)
		FAULT(r, "/impi/server_sealing",
		      "is on and needs sealing.key_file, a key that impi-server --key-file has, "
		      "too; "
		      "or say \"off\"");
	/* Between sites that channel has no identities, and must not be plain for want of a key. */
	if (*c->optical.controller && !*c->sealing.key_file && *c->sealing.identity_file)
		FAULT(r, "/optical/controller",
		      "its channel is sealed with sealing.key_file, which is empty: name one, the "
		      "same at all sites, beside sealing.identity_file");
	if (!*c->sealing.identity_file != !*c->sealing.peers_file)
		FAULT(r, *c->sealing.peers_file ? "/sealing/peers_file" : "/sealing/identity_file",
		      "needs %s, too",
		      *c->sealing.peers_file ? "sealing.identity_file" : "sealing.peers_file");
}

static void
check_limits(struct rd_rules *r)
{
	const struct rd_conf *c = r->conf;
	if (c->limits.queue > c->limits.segments)
		FAULT(r, "/limits/queue", "%u is more than limits.segments %u", c->limits.queue,
		      c->limits.segments);
	if (c->limits.window > c->limits.segments)
		FAULT(r, "/limits/window", "%u is more than limits.segments %u", c->limits.window,
		      c->limits.segments);
	if (c->doors.max && c->doors.max < RD_DOORS_MIN)
		FAULT(r, "/doors/max", "must be 0 (no doors) or at least %u", RD_DOORS_MIN);
	if (c->doors.imports > c->doors.max)
		FAULT(r, "/doors/imports", "is more than doors.max %u", c->doors.max);
	if (c->suci.keepalive_ms * 2ull > c->suci.liveness_ms)
		FAULT(r, "/suci/keepalive_ms",
		      "must be at most half of suci.liveness_ms (%u ms), or idle paths die",
		      c->suci.liveness_ms);
	/* Its default may be above a small MTU: a trunk begins with the lesser of both. */
	if (c->suci.global_mtu_start > c->port[RD_LEG_GLOBAL].mtu && r->text &&
	    rd_conf_locate(r->text, r->len, "/suci/global_mtu_start"))
		FAULT(r, "/suci/global_mtu_start",
		      "%u is more than ports.global.mtu %u, the largest packet of that leg; lower "
		      "it, or raise the leg's",
		      c->suci.global_mtu_start, c->port[RD_LEG_GLOBAL].mtu);
}

/* Each worker has a UDP port on each leg; so have those of the other relays. */
static void
check_workers(struct rd_rules *r)
{
	struct rd_conf *c = r->conf;
	char ptr[64];
	uint32_t most = c->workers;
	for (uint32_t i = 0; i < c->cluster.nrelays; i++) {
		struct rd_conf_relay *relay = &c->cluster.relay[i];
		if (!relay->workers)
			relay->workers = c->workers;
		snprintf(ptr, sizeof ptr, "/cluster/relays/%u/workers", i);
		if (i == c->cluster.self && relay->private_address && relay->workers != c->workers)
			FAULT(r, ptr, "%u differs from workers %u of this relay", relay->workers,
			      c->workers);
		if (relay->workers > most)
			most = relay->workers;
	}
	for (int leg = 0; leg < RD_LEGS; leg++) {
		snprintf(ptr, sizeof ptr, "/ports/%s/udp_port", rd_leg_names[leg]);
		if (c->port[leg].udp_port + most - 1 > 65535)
			FAULT(r, ptr, "%u ports from %u on, one for each worker, end behind 65535",
			      most, c->port[leg].udp_port);
	}
	uint32_t first = c->port[RD_LEG_PRIVATE].udp_port;
	if (c->gateway.enable && c->gateway.udp_port - first < most)
		FAULT(r, "/gateway/udp_port",
		      "%u is also one of ports.private.udp_port %u to %u of the workers; they must "
		      "differ",
		      c->gateway.udp_port, first, first + most - 1);
}

static void
check_names(struct rd_rules *r)
{
	const struct rd_conf *c = r->conf;
	if (strpbrk(c->tap_prefix, "/ :%") || !*c->tap_prefix)
		FAULT(r, "/tap_prefix", "\"%s\" cannot begin the name of an interface",
		      c->tap_prefix);
	if (strpbrk(c->eal.file_prefix, "/%*") || !*c->eal.file_prefix)
		FAULT(r, "/eal/file_prefix", "must be a name without /, %% and *");
	rd_conf_check_lcores(c, r->text, r->len, r->faults);
}

/* ---- the gateway -------------------------------------------------------------- */

uint32_t
rd_conf_gates(const struct rd_conf *conf, uint32_t i, uint32_t out[RD_GATES_MAX])
{
	const struct rd_conf_relay *relay = &conf->cluster.relay[i];
	uint32_t n = 0;
	if (conf->gateway.private_via == RD_VIA_LEG)
		out[n++] = relay->private_address;
	for (uint32_t k = 0; k < relay->ngates && n < RD_GATES_MAX; k++)
		out[n++] = relay->gate[k];
	return n;
}

uint32_t
rd_conf_gate_global(const struct rd_conf *conf, uint32_t i)
{
	const struct rd_conf_relay *relay = &conf->cluster.relay[i];
	return relay->gate_global ? relay->gate_global : relay->global_address;
}

uint32_t
rd_conf_leg_more(const struct rd_conf *conf, int leg, uint32_t out[RD_GATES_MAX])
{
	uint32_t self = conf->cluster.self, n = 0, all[RD_GATES_MAX];
	if (!conf->gateway.enable)
		return 0;
	if (leg == RD_LEG_GLOBAL) {
		uint32_t gate = rd_conf_gate_global(conf, self);
		if (conf->gateway.global_via == RD_VIA_LEG && gate != conf->port[leg].address)
			out[n++] = gate;
		return n;
	}
	if (conf->gateway.private_via != RD_VIA_LEG)
		return 0;
	uint32_t count = rd_conf_gates(conf, self, all);
	for (uint32_t i = 1; i < count; i++)
		out[n++] = all[i];
	return n;
}

bool
rd_cpus_parse(const char *text, bool *set, uint32_t max)
{
	memset(set, 0, max * sizeof *set);
	if (!*text)
		return false;
	for (;;) {
		char *end;
		if (*text < '0' || *text > '9')
			return false;
		unsigned long from = strtoul(text, &end, 10), to = from;
		if (*end == '-') {
			text = end + 1;
			if (*text < '0' || *text > '9')
				return false;
			to = strtoul(text, &end, 10);
		}
		if (from > to || to >= max)
			return false;
		for (unsigned long i = from; i <= to; i++)
			set[i] = true;
		if (!*end)
			return true;
		if (*end != ',')
			return false;
		text = end + 1;
	}
}

/* Foreign hosts tell gates apart by address, so none may be there twice. */
static void
check_gates_differ(struct rd_rules *r)
{
	const struct rd_conf *c = r->conf;
	struct {
		uint32_t address, relay;
	} seen[RD_RELAYS_MAX * (RD_GATES_MAX + 1)];
	uint32_t nseen = 0;
	char ptr[64], a[RD_IPV4_TEXT];
	for (uint32_t i = 0; i < c->cluster.nrelays; i++) {
		seen[nseen].address = c->cluster.relay[i].private_address;
		seen[nseen++].relay = i;
	}
	for (uint32_t i = 0; i < c->cluster.nrelays; i++)
		for (uint32_t k = 0; k < c->cluster.relay[i].ngates; k++) {
			uint32_t gate = c->cluster.relay[i].gate[k];
			if (!gate)
				continue;
			snprintf(ptr, sizeof ptr, "/cluster/relays/%u/gates/%u", i, k);
			for (uint32_t s = 0; s < nseen; s++)
				if (seen[s].address == gate)
					FAULT(r, ptr,
					      "%s is also an address of relay %u of the list",
					      rd_ipv4_text(gate, a), seen[s].relay);
			seen[nseen].address = gate;
			seen[nseen++].relay = i;
		}
}

struct taken {
	const char *name;
	uint32_t first, n;
};

/* The ports of one side: all jobs of all relays have one each. */
static void
check_port_range(struct rd_rules *r, const char *ptr, uint32_t first, const struct taken *taken,
		 uint32_t ntaken)
{
	const struct rd_conf *c = r->conf;
	uint32_t n = c->cluster.nrelays * c->limits.jobs;
	if (!n)
		return;
	uint32_t last = first + n - 1;
	if (last > 65535) {
		FAULT(r, ptr,
		      "%u + %u ports (limits.jobs %u for each of %u relays) end behind 65535; "
		      "lower "
		      "it or limits.jobs",
		      first, n, c->limits.jobs, c->cluster.nrelays);
		return;
	}
	for (uint32_t i = 0; i < ntaken; i++) {
		uint32_t from = taken[i].first > first ? taken[i].first : first;
		if (from > last || from - taken[i].first >= taken[i].n)
			continue;
		if (from == taken[i].first)
			FAULT(r, ptr, "the range %u to %u (%u ports) contains %s %u", first, last,
			      n, taken[i].name, from);
		else
			FAULT(r, ptr,
			      "the range %u to %u (%u ports) contains %u, one of impi.ports %u "
			      "from %s %u on",
			      first, last, n, from, taken[i].n, taken[i].name, taken[i].first);
	}
}

/* An address that relayd puts on a leg must be the leg's to have. */
static void
check_on_leg(struct rd_rules *r, const char *ptr, uint32_t gate, int leg)
{
	const struct rd_conf_port *port = &r->conf->port[leg];
	char a[RD_IPV4_TEXT], b[RD_IPV4_TEXT];
	if (!gate || !port->address || !port->prefix_len)
		return;
	uint32_t mask = rd_prefix_mask(port->prefix_len);
	if ((gate & mask) != (port->address & mask))
		FAULT(r, ptr,
		      "%s is not in the subnet %s/%u of the %s leg; an address of the machine "
		      "itself "
		      "needs gateway.%s_via host",
		      rd_ipv4_text(gate, a), rd_ipv4_text(port->address & mask, b),
		      port->prefix_len, rd_leg_names[leg], rd_leg_names[leg]);
	else if (port->prefix_len < 31 && ((gate & ~mask) == 0 || (gate & ~mask) == ~mask))
		FAULT(r, ptr, "%s is the network or broadcast address of its /%u",
		      rd_ipv4_text(gate, a), port->prefix_len);
	else if (gate == port->gateway)
		FAULT(r, ptr, "%s is the %s leg's gateway", rd_ipv4_text(gate, a),
		      rd_leg_names[leg]);
}

static void
check_gate_addresses(struct rd_rules *r)
{
	const struct rd_conf *c = r->conf;
	char ptr[64];
	for (uint32_t i = 0; i < c->cluster.nrelays; i++) {
		const struct rd_conf_relay *relay = &c->cluster.relay[i];
		snprintf(ptr, sizeof ptr, "/cluster/relays/%u", i);
		if (c->gateway.private_via == RD_VIA_HOST && !relay->ngates)
			FAULT(r, ptr,
			      "gateway.private_via host needs gates: the addresses of that machine "
			      "where the cluster's foreign hosts reach it");
		if (c->gateway.global_via == RD_VIA_HOST && !relay->gate_global)
			FAULT(r, ptr,
			      "gateway.global_via host needs gate_global: the address of that "
			      "machine where other clusters' foreign hosts reach it");
		if (i != c->cluster.self)
			continue;
		for (uint32_t k = 0; k < relay->ngates && c->gateway.private_via == RD_VIA_LEG;
		     k++) {
			snprintf(ptr, sizeof ptr, "/cluster/relays/%u/gates/%u", i, k);
			check_on_leg(r, ptr, relay->gate[k], RD_LEG_PRIVATE);
		}
		snprintf(ptr, sizeof ptr, "/cluster/relays/%u/gate_global", i);
		if (c->gateway.global_via == RD_VIA_LEG)
			check_on_leg(r, ptr, relay->gate_global, RD_LEG_GLOBAL);
	}
}

int
rd_conf_pairs(const char *text, struct rd_conf_pair *pair, uint32_t max)
{
	uint32_t n = 0;
	while (*text) {
		char address[16] = "", word[8] = "";
		unsigned int len = 33;
		int at = 0;
		if (sscanf(text, " %15[0-9.]/%2u=%7[a-z] %n", address, &len, word, &at) != 3 ||
		    n == max || len > 32)
			return -1;
		int policy = base_word_index("dest|source|stripe", word);
		if (policy < 0 || !rd_ipv4_parse(address, &pair[n].address))
			return -1;
		pair[n].prefix_len = len;
		pair[n++].policy = (uint32_t)policy;
		text += at;
		if (*text && *text++ != ',')
			return -1;
	}
	return (int)n;
}

static void
check_trunk_rules(struct rd_rules *r)
{
	struct rd_conf *c = r->conf;
	int n = rd_conf_pairs(c->trunks.pairs, c->trunks.pair, RD_PAIRS_MAX);
	if (n < 0)
		FAULT(r, "/trunks/pairs",
		      "\"%.60s\" is not a list like 198.51.100.0/24=stripe,203.0.113.7/32=dest of "
		      "at most %d policies (dest, source, stripe)",
		      c->trunks.pairs, RD_PAIRS_MAX);
	c->trunks.npairs = n < 0 ? 0 : (uint32_t)n;
}

static void
check_edge(struct rd_rules *r)
{
	struct rd_conf *c = r->conf;
	int n = rd_conf_open_ports(c->tap_allow, c->tap_open, RD_CONF_OPEN_MAX);
	char a[RD_IPV4_TEXT];
	if (n < 0)
		FAULT(r, "/tap_allow",
		      "\"%.60s\" is not a list like private:tcp/22,udp/5000-5010 of at most %d "
		      "(private: or global: or neither, tcp or udp, ports 1 to 65535)",
		      c->tap_allow, RD_CONF_OPEN_MAX);
	c->ntap_open = n < 0 ? 0 : (uint32_t)n;
	n = rd_conf_macs(c->neighbours.mac, c->neighbours.known, RD_MACS_MAX);
	if (n < 0)
		FAULT(r, "/neighbours/mac",
		      "\"%.60s\" is not a list like 10.0.0.10=02:00:00:00:00:0a of at most %d "
		      "IPv4 or IPv6 addresses "
		      "(no multicast MAC)",
		      c->neighbours.mac, RD_MACS_MAX);
	c->neighbours.nknown = n < 0 ? 0 : (uint32_t)n;
	for (int i = 0; i < n; i++) {
		uint32_t legs = 0;
		for (uint32_t leg = 0; leg < RD_LEGS; leg++)
			legs += rd_conf_on_leg(c, leg, c->neighbours.known[i].address);
		if (!legs && c->neighbours.known[i].address)
			FAULT(r, "/neighbours/mac", "%s is in the subnet of neither leg",
			      rd_ipv4_text(c->neighbours.known[i].address, a));
	}
	if ((uint32_t)(n < 0 ? 0 : n) >= c->neighbours.entries)
		FAULT(r, "/neighbours/entries", "there is no room beside the %d of neighbours.mac",
		      n);
}

bool
rd_conf_on_leg(const struct rd_conf *conf, uint32_t leg, uint32_t address)
{
	const struct rd_conf_port *p = &conf->port[leg];
	return p->prefix_len && address != p->address &&
	       ((address ^ p->address) & rd_prefix_mask(p->prefix_len)) == 0;
}

static void
check_gateway(struct rd_rules *r)
{
	const struct rd_conf *c = r->conf;
	const struct taken taken[] = {{"impi.listen_port", c->impi.listen_port, c->impi.ports},
				      {"cluster.peer_port", c->cluster.peer_port, 1}};
	bool cpus[1024];
	check_port_range(r, "/gateway/private_port", c->gateway.private_port, taken,
			 c->gateway.private_via == RD_VIA_LEG ? 2 : 0);
	check_port_range(r, "/gateway/global_port", c->gateway.global_port, NULL, 0);
	if (*c->gateway.cpus && !rd_cpus_parse(c->gateway.cpus, cpus, 1024))
		FAULT(r, "/gateway/cpus", "\"%.40s\" is not a list of CPUs, like 2 or 2-3 or 0,2",
		      c->gateway.cpus);
	check_gate_addresses(r);
}

void
rd_conf_cross_check(struct rd_conf *conf, const char *text, size_t len, struct rd_faults *faults)
{
	struct rd_rules r = {.conf = conf, .text = text, .len = len, .faults = faults};
	rd_conf_check_legs(conf, text, len, faults);
	rd_conf_read_sixes(conf, text, len, faults);
	check_controller(&r);
	check_relays(&r);
	check_impi(&r);
	check_sealing(&r);
	check_limits(&r);
	check_workers(&r);
	check_names(&r);
	check_trunk_rules(&r);
	check_edge(&r);
	rd_conf_check_six(conf, text, len, faults);
	check_gates_differ(&r);
	if (conf->gateway.enable)
		check_gateway(&r);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The ports as JSON: what they are, their link, what their drivers count. */
#include "rpc_internal.h"

static void
put_number_of_port(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, json_integer((json_int_t)v));
}

static void
add_xstat(void *user, const char *name, uint64_t value)
{
	put_number_of_port(user, name, value);
}

static json_t *
port_row(const struct rd_nics *s, uint32_t i)
{
	const struct rd_port *p = &s->port[i];
	const struct rd_nic *nic = &s->nic[i];
	struct rd_nic_counters n;
	char mac[18];
	snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", p->mac[0], p->mac[1], p->mac[2],
		 p->mac[3], p->mac[4], p->mac[5]);
	json_t *o = json_pack("{s:s, s:s, s:s, s:i, s:s, s:i, s:b, s:i, s:s}", "leg",
			      rd_leg_names[i], "device", p->device, "driver", p->driver, "node",
			      p->socket, "mac", mac, "mtu", (int)p->mtu, "link_up", (int)nic->up,
			      "speed_mbps", (int)nic->speed_mbps, "woken_by", rd_port_woken_by(p));
	put_number_of_port(o, "link_changes", nic->link_changes);
	put_number_of_port(o, "removed", atomic_load(&nic->removed));
	put_number_of_port(o, "resets", atomic_load(&nic->resets));
	put_number_of_port(o, "resets_done", nic->resets_done);
	rd_nics_read(s, i, &n);
#define X(name, m, h) put_number_of_port(o, #name, n.name);
	RD_NIC_COUNTERS(X)
#undef X
	return o;
}

json_t *
rd_rpc_port_rows(const struct rd_nics *s, bool xstats)
{
	json_t *rows = json_array();
	for (uint32_t i = 0; i < s->n; i++) {
		if (!s->port_conf[i].device)
			continue; /* two legs at one port */
		json_t *o = port_row(s, i);
		if (xstats) {
			json_t *x = json_object();
			rd_nics_xstats(s, i, add_xstat, x);
			json_object_set_new(o, "xstats", x);
		}
		json_array_append_new(rows, o);
	}
	return rows;
}

void
rd_rpc_port_reset(struct rd_rpc_client *c, const struct rd_rpc_call *call)
{
	uint32_t leg = call->number[0];
	if (rd_nics_reset(c->server->env.nics, leg))
		rd_rpc_result(&c->conn, json_pack("{s:s}", "leg", rd_leg_names[leg]));
	else
		rd_rpc_error(&c->conn, RD_RPC_STATE, "the %s leg is being reset",
			     rd_leg_names[leg]);
}

void
rd_rpc_ports(struct rd_rpc_client *c, const struct rd_rpc_call *call)
{
	(void)call;
	rd_rpc_result(&c->conn,
		      json_pack("{s:o}", "ports", rd_rpc_port_rows(c->server->env.nics, true)));
}

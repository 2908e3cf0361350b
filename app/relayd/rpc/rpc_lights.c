/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about light ports: how they are, and circuits that a person has set. */
#include "rpc_internal.h"

#include "relay/addr.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

/* "IP" or "IP:PORT" */
static bool
take_address(const char *text, uint32_t port, uint32_t leg, struct suci_addr *out)
{
	char ip[24];
	const char *bad = NULL;
	uint32_t address;
	strlcpy(ip, text, sizeof ip);
	char *colon = strchr(ip, ':');
	if (colon) {
		*colon = '\0';
		port = (uint32_t)strtonum(colon + 1, 1, 65535, &bad);
	}
	if (bad || !rd_ipv4_parse(ip, &address) || !address)
		return false;
	*out = relay_addr_v4(address, (uint16_t)port, RELAY_LEG_GLOBAL);
	out->leg = (uint8_t)leg;
	return true;
}

void
rd_rpc_light(struct rd_rpc_client *c, const struct rd_rpc_call *rpc)
{
	const struct rd_rpc_env *env = &c->server->env;
	const struct rd_conf *conf = env->conf;
	struct relay_light light;
	uint32_t slot = rpc->number[RD_P_SLOT];
	bool up = rpc->method->id == RD_M_LIGHT_UP;
	if (slot >= conf->optical.nports) {
		rd_rpc_error(&c->conn, RD_RPC_NOT_FOUND, "this relay has %u light ports",
			     conf->optical.nports);
		return;
	}
	if (rd_lights_used(env->lights)) {
		rd_rpc_error(&c->conn, RD_RPC_STATE,
			     "circuits are set by the circuit controller (optical.controller)");
		return;
	}
	if (up && (!take_address(rpc->text[RD_P_LPEER], conf->port[RD_LEG_GLOBAL].udp_port,
				 RELAY_LEG_GLOBAL, &light.peer) ||
		   !take_address(rpc->text[RD_P_LADDRESS], conf->optical.udp_port,
				 RELAY_LEG_LIGHT + slot, &light.addr))) {
		rd_rpc_error(&c->conn, RD_RPC_PARAMS, "peer and address must be IP or IP:PORT");
		return;
	}
	struct rd_core_call *call = rd_rpc_core_call(c, up ? "lit" : "drained");
	if (call)
		(void)rd_lights_order(env->lights, slot, up ? &light : NULL, rd_rpc_core_done,
				      call);
}

json_t *
rd_rpc_lights(const struct rd_rpc_env *env, const struct rd_snapshot *s)
{
	json_t *rows = json_array();
	for (uint32_t i = 0; i < s->sum.nlights; i++) {
		const struct relay_light_info *l = &s->sum.light[i];
		const struct rd_conf_port *port = &env->conf->port[RD_LEG_LIGHT + i];
		const struct rd_leg_counters *n = &s->sum.leg[RD_LEG_LIGHT + i];
		char own[RD_IPV4_TEXT], peer[SUCI_ADDR_TEXT_MAX] = "",
					addr[SUCI_ADDR_TEXT_MAX] = "";
		if (l->phase != BASE_LIGHTPATH_DARK) {
			suci_addr_text(&l->light.peer, peer);
			suci_addr_text(&l->light.addr, addr);
		}
		json_t *o = json_pack("{s:i, s:s, s:s, s:s, s:s}", "slot", (int)i, "address",
				      rd_ipv4_text(port->address, own), "state",
				      rd_lights_word(l->phase), "peer", peer, "peer_address", addr);
		const uint32_t at[] = {env->conf->optical.at[i].in, env->conf->optical.at[i].out};
		static const char *const names[] = {"ingress", "egress"};
		for (int k = 0; k < 2; k++)
			if (at[k] != RD_NO_SWITCH_PORT)
				json_object_set_new(o, names[k], json_integer(at[k]));
		if (l->path != UINT32_MAX)
			json_object_set_new(o, "path", json_integer(l->path));
		json_object_set_new(o, "opened_us",
				    json_integer((json_int_t)(l->opened_ns / 1000)));
		json_object_set_new(o, "drained_us",
				    json_integer((json_int_t)(l->drained_ns / 1000)));
		json_object_set_new(o, "rx_frames", json_integer((json_int_t)n->rx_frames));
		json_object_set_new(o, "rx_bytes", json_integer((json_int_t)n->rx_bytes));
		json_object_set_new(o, "tx_frames", json_integer((json_int_t)n->tx_frames));
		json_object_set_new(o, "tx_bytes", json_integer((json_int_t)n->tx_bytes));
		json_array_append_new(rows, o);
	}
	const struct relay_counters *r = &s->sum.relay;
	return json_pack("{s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "time_us",
			 (json_int_t)(s->sum.now_ns / 1000), "lights", rows, "up",
			 (json_int_t)r->lights_up, "failed", (json_int_t)r->lights_failed,
			 "drained", (json_int_t)r->lights_drained, "cut", (json_int_t)r->lights_cut,
			 "tx_segments", (json_int_t)r->tx_light, "tx_bytes",
			 (json_int_t)r->tx_light_bytes, "rx_segments",
			 (json_int_t)r->rx_from_light);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about circuits: who is lit for whom, what the controller plans, what happened. */
#include "rpc_internal.h"

#include "coll/schedule.h"

#include <string.h>

#define US(ns) json_integer((json_int_t)((ns) / 1000))

static void
put(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, json_integer((json_int_t)v));
}

static void
put_addr(json_t *o, const char *key, struct light_addr a)
{
	char ip[RD_IPV4_TEXT];
	json_object_set_new(o, key, json_string(a.ipv4 ? rd_ipv4_text(a.ipv4, ip) : ""));
}

/* Keys of jobs do not fit JSON's numbers. */
static void
put_job(json_t *o, uint64_t key)
{
	char hex[20];
	snprintf(hex, sizeof hex, "%016llx", (unsigned long long)key);
	json_object_set_new(o, "job", json_string(key ? hex : ""));
}

static const char *
mode_name(enum circ_mode m)
{
	return m == CIRC_MODE_AUTO ? "packets" : circ_mode_name(m);
}

static void
put_call(json_t *o, const struct light_call *call)
{
	put(o, "comm", call->comm);
	put(o, "seq", call->seq);
	json_object_set_new(o, "op", json_string(coll_op_name((enum coll_op)call->op)));
	put(o, "bytes", call->bytes);
}

/* Published before the states had one list (control.md). */
static const char *
link_word(enum base_lightpath s)
{
	return s == BASE_LIGHTPATH_OPENING  ? "rising"
	       : s == BASE_LIGHTPATH_OPEN   ? "up"
	       : s == BASE_LIGHTPATH_FAILED ? "failed"
					    : "falling";
}

static json_t *
links(const struct light_controller *k, uint64_t now_ns)
{
	json_t *rows = json_array();
	struct light_link_row l;
	for (uint32_t i = 0; light_controller_link(k, i, &l); i++) {
		json_t *o = json_object();
		put(o, "x", l.x);
		put(o, "y", l.y);
		put_addr(o, "a", l.a);
		put_addr(o, "b", l.b);
		json_object_set_new(o, "state", json_string(link_word(l.state)));
		json_object_set_new(o, "since_us", US(now_ns - l.since_ns));
		put_job(o, l.key);
		json_array_append_new(rows, o);
	}
	return rows;
}

static json_t *
put_circuit_jobs(const struct light_controller *k)
{
	json_t *rows = json_array();
	struct light_job_row j;
	for (uint32_t i = 0; light_controller_job(k, i, &j); i++) {
		json_t *o = json_object();
		put_job(o, j.key);
		json_object_set_new(o, "lease", json_string(j.lease));
		put(o, "relays", j.agents);
		put(o, "comms", j.comms);
		put(o, "queued", j.queued);
		if (j.calling) {
			put_call(o, &j.call);
			json_object_set_new(o, "mode", json_string(mode_name(j.mode)));
			put(o, "messages", j.messages);
			put(o, "left", j.left);
		}
		json_array_append_new(rows, o);
	}
	return rows;
}

static json_t *
agents(const struct light_controller *k)
{
	json_t *rows = json_array();
	struct light_agent_row a;
	for (uint32_t i = 0; light_controller_agent(k, i, &a); i++) {
		json_t *o = json_object();
		put_addr(o, "relay", a.relay);
		put(o, "ports", a.ports);
		json_object_set_new(o, "offered", json_boolean(a.offered));
		json_array_append_new(rows, o);
	}
	return rows;
}

static json_t *
put_away(const struct light_controller *k)
{
	json_t *rows = json_array();
	struct light_away_row a;
	for (uint32_t i = 0; light_controller_away(k, i, &a); i++) {
		json_t *o = json_object();
		put(o, "port", a.port);
		put_addr(o, "relay", a.relay);
		json_object_set_new(o, "state", json_string(a.dark ? "dark" : "draining"));
		json_array_append_new(rows, o);
	}
	return rows;
}

static json_t *
gammas(const struct ocs_gamma *g)
{
	json_t *rows = json_array();
	for (uint32_t i = 0; i < OCS_GAMMA_SIZES; i++) {
		json_t *o;
		if (!g->of[i].count)
			continue;
		o = json_object();
		put(o, "batch", 1u << i);
		json_object_set_new(o, "mean_us", US(ocs_gamma_mean_ns(g, 1u << i)));
		json_object_set_new(o, "p99_us", US(ocs_gamma_p99_ns(g, 1u << i)));
		put(o, "count", g->of[i].count);
		json_array_append_new(rows, o);
	}
	return rows;
}

/* Circuits that were ordered or are to go, and of which the switch has not said that it is done. */
static uint32_t
changing(const struct ocs_matrix *m)
{
	uint32_t n = 0;
	struct ocs_circuit k;
	for (uint32_t p = 0; (k = ocs_at(m, p)).in != OCS_NO_PORT; p++)
		n += k.state == OCS_ORDERED || k.state == OCS_RELEASING;
	return n;
}

static void
put_controller(json_t *v, const struct rd_light_view *l, uint64_t now_ns)
{
	const struct light_controller_counters *n = light_controller_counters(l->controller);
	const struct ocs_matrix *m = ocs_control_matrix(l->control);
	const struct ocs_identity *id = ocs_control_identity(l->control);
	bool online = ocs_control_is_online(l->control);
	json_object_set_new(v, "switch", json_string(online ? "online" : "offline"));
	json_object_set_new(v, "vendor", json_string(id->vendor));
	json_object_set_new(v, "model", json_string(id->model));
	json_object_set_new(v, "trouble", json_string(l->trouble));
#define X(name, help) put(v, #name, n->name);
	LIGHT_CONTROLLER_COUNTERS(X)
#undef X
	put(v, "set_up", ocs_counters(m)->set_up);
	put(v, "removed", ocs_counters(m)->removed);
	put(v, "changing", changing(m));
	put(v, "foreign", ocs_counters(m)->foreign_seen);
	put(v, "sessions", ocs_control_counters(l->control)->sessions);
	json_object_set_new(v, "gamma_us", US(ocs_gamma_ns(m)));
	json_object_set_new(v, "gammas", gammas(ocs_gamma(m)));
	json_object_set_new(v, "links", links(l->controller, now_ns));
	json_object_set_new(v, "jobs", put_circuit_jobs(l->controller));
	json_object_set_new(v, "relays", agents(l->controller));
	json_object_set_new(v, "withdrawn", put_away(l->controller));
}

static json_t *
slots(const struct rd_conf *conf, const struct light_agent *a)
{
	json_t *rows = json_array();
	for (uint32_t i = 0; i < conf->optical.nports; i++) {
		struct light_slot_row s = light_agent_slot(a, i);
		json_t *o = json_object();
		put(o, "slot", i);
		put(o, "switch_port", conf->optical.at[i].in);
		json_object_set_new(o, "told",
				    json_string(s.state == BASE_LIGHTPATH_DARK	    ? "dark"
						: s.state == BASE_LIGHTPATH_CLOSING ? "down"
										    : "up"));
		put_addr(o, "peer",
			 s.state != BASE_LIGHTPATH_DARK ? s.relay : (struct light_addr){0});
		json_array_append_new(rows, o);
	}
	return rows;
}

void
rd_rpc_circuits(struct rd_rpc_client *c, const struct rd_rpc_call *call)
{
	const struct rd_rpc_env *env = &c->server->env;
	struct rd_light_view l;
	(void)call;
	if (!rd_light_view(env->light, &l)) {
		rd_rpc_error(&c->conn, RD_RPC_STATE,
			     "no circuit controller is configured (optical.controller)");
		return;
	}
	const struct light_agent_counters *n = light_agent_counters(l.agent);
	json_t *v = json_object();
	json_object_set_new(v, "time_us", US(env->loop->now_ns));
	json_object_set_new(v, "controller", json_string(l.address));
	json_object_set_new(v, "connected", json_boolean(l.connected));
	json_object_set_new(v, "conductor", json_boolean(l.controller != NULL));
	put(v, "notes_up", n->notes_up);
	put(v, "notes_down", n->notes_down);
	put(v, "bad_notes", n->bad_notes);
	put(v, "calls_refused", n->calls_refused);
	json_object_set_new(v, "slots", slots(env->conf, l.agent));
	if (l.controller)
		put_controller(v, &l, env->loop->now_ns);
	rd_rpc_result(&c->conn, v);
}

void
rd_rpc_circuit_port(struct rd_rpc_client *c, const struct rd_rpc_call *call)
{
	struct rd_light_view l;
	uint32_t port = call->number[0];
	bool away = call->method->id == RD_M_PORT_WITHDRAW;
	if (!rd_light_view(c->server->env.light, &l) || !l.controller) {
		rd_rpc_error(&c->conn, RD_RPC_STATE,
			     "this relay drives no switch (optical.switch)");
		return;
	}
	if (!light_controller_withdraw(l.controller, port, away, c->server->env.loop->now_ns)) {
		rd_rpc_error(&c->conn, RD_RPC_NOT_FOUND, "the switch has %u ports",
			     c->server->env.conf->optical.sw.ports);
		return;
	}
	json_t *v = json_object();
	put(v, "port", port);
	json_object_set_new(v, "withdrawn", json_boolean(away));
	rd_rpc_result(&c->conn, v);
}

/* ---- what happened ---- */

static bool
about_ports(enum light_event_kind k)
{
	return k >= LIGHT_EVENT_LIT && k <= LIGHT_EVENT_RESTORED;
}

static json_t *
circuit_row_of(const struct rd_light_entry *e, uint64_t n)
{
	json_t *o = json_object();
	put(o, "n", n);
	json_object_set_new(o, "t_us", US(e->e.at_ns));
	json_object_set_new(o, "kind", json_string(light_event_name(e->e.kind)));
	if (e->e.from_ns)
		json_object_set_new(o, "from_us", US(e->e.from_ns));
	if (about_ports(e->e.kind)) {
		put(o, "x", e->e.x);
		put(o, "y", e->e.y);
	}
	if (e->e.a.ipv4)
		put_addr(o, "a", e->e.a);
	if (e->e.b.ipv4)
		put_addr(o, "b", e->e.b);
	if (e->e.key)
		put_job(o, e->e.key);
	if (e->e.kind >= LIGHT_EVENT_CALL) {
		put_call(o, &e->e.call);
		json_object_set_new(o, "mode", json_string(mode_name(e->e.mode)));
		put(o, "messages", e->e.messages);
		put(o, "setups", e->e.setups);
	}
	if (*e->text)
		json_object_set_new(o, "text", json_string(e->text));
	return o;
}

void
rd_rpc_circuit_log(struct rd_rpc_client *c, const struct rd_rpc_call *call)
{
	struct rd_light_view l;
	uint64_t at = call->number[RD_P_AFTER];
	uint32_t max = call->given[RD_P_EVENTS] ? call->number[RD_P_EVENTS] : RD_P_EVENTS_MAX;
	if (!rd_light_view(c->server->env.light, &l) || !l.controller) {
		rd_rpc_error(&c->conn, RD_RPC_STATE,
			     "this relay drives no switch (optical.switch)");
		return;
	}
	if (l.logged > RD_LIGHT_LOG && at < l.logged - RD_LIGHT_LOG)
		at = l.logged - RD_LIGHT_LOG;
	json_t *rows = json_array();
	for (; at < l.logged && max; at++, max--)
		json_array_append_new(rows, circuit_row_of(&l.log[at % RD_LIGHT_LOG], at));
	json_t *v = json_object();
	json_object_set_new(v, "time_us", US(c->server->env.loop->now_ns));
	put(v, "next", at);
	json_object_set_new(v, "more", json_boolean(at < l.logged));
	json_object_set_new(v, "events", rows);
	rd_rpc_result(&c->conn, v);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The control socket: JSON-RPC, one line a request (doc/sp.md). */
#include "daemon.h"

#include "base/clock.h"
#include "driver/accept.h"
#include "rd/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENTS_MAX 32u
#define LINES_MAX   64u
#define PAUSE_NS    (200 * BASE_MS_NS)
#define SAY_NS	    (10 * BASE_S_NS) /* that it pauses is said anew */

static struct client {
	int fd; /* -1: free */
	struct rd_rpc_conn conn;
} * client;
static int listener = -1;
static uint64_t listen_again_ns; /* nobody is let in before */

/* ---- status ---- */

static json_t *
describe_slot(const struct sp_view *v, uint32_t s)
{
	static const char *const state[] = {"spare", "role", "dead"};
	const struct sp_slot *of = &v->slot[s];
	const struct spd_proc *p = of->unit == spd.unit ? spd_proc_of_slot(s) : NULL;
	json_t *o = json_pack("{s:i, s:s}", "slot", (int)s, "state", state[of->state]);

	if (of->role != SP_NONE) {
		uint32_t k = spd.group.role[of->role].cluster;
		uint32_t i = of->role - spd.group.role0[k], ranks = spd.conf->cluster[k].compute;
		json_object_set_new(o, i < ranks ? "rank" : "io",
				    json_integer(i < ranks ? i : i - ranks));
		json_object_set_new(o, "name", json_string(spd_role_name(of->role)));
	}
	if (of->state == SP_SLOT_DEAD)
		json_object_set_new(o, "why", json_string(sp_why_text(of->why)));
	if (spd.left[s])
		json_object_set_new(o, "finished", json_true());
	if (p) {
		json_object_set_new(o, "pid", json_integer(p->pid));
		json_object_set_new(o, "in_mpi", json_boolean(p->hello));
	}
	return o;
}

static json_t *
describe_unit(const struct sp_view *v, uint32_t u)
{
	const struct spd_unit *of = &spd.conf->unit[spd.group.unit[u]];
	struct sp_unit_info info;
	json_t *slots = json_array();
	json_t *o = json_pack("{s:s, s:s, s:b, s:i, s:b}", "unit", of->name, "cluster",
			      spd.conf->cluster[of->cluster].name, "down", v->unit[u].down, "life",
			      (int)v->unit[u].incarnation, "off",
			      (int)(v->off >> SPX_POOL(of->cluster, false) & 1));

	if (sp_node_unit(spd.node, u, &info) && u != spd.unit) {
		json_object_set_new(o, "silent_ms",
				    json_integer((json_int_t)(info.silent_ns / 1000000)));
		json_object_set_new(o, "view", json_integer((json_int_t)info.view));
	}
	for (uint32_t s = 0; s < v->slots; s++)
		if (v->slot[s].unit == u &&
		    (v->slot[s].role != SP_NONE || v->slot[s].state != SP_SLOT_DEAD))
			json_array_append_new(slots, describe_slot(v, s));
	if (of->site != SPD_NO_SITE)
		json_object_set_new(o, "site", json_string(spd.conf->site[of->site].name));
	json_object_set_new(o, "slots", slots);
	return o;
}

static json_t *
describe_waiting(void)
{
	json_t *missing = json_array();

	for (uint32_t u = 0; u < spd.conf->nunits; u++)
		if (u != spd.me && !spd.peer[u].heard)
			json_array_append_new(missing, json_string(spd.conf->unit[u].name));
	return json_pack("{s:s, s:s, s:s, s:s*, s:o}", "universe", spd.conf->name, "unit",
			 spd.conf->unit[spd.me].name, "state", "waits", "unreached",
			 spd_sites_why(), "missing", missing);
}

static json_t *
describe_all(void)
{
	const struct sp_view *v = spd_view();
	uint32_t master = spd.node ? sp_node_master(spd.node) : SP_NONE;
	uint64_t now = spd_now_ns();
	json_t *units = json_array();

	if (!v)
		return describe_waiting();
	for (uint32_t u = 0; u < v->l.units; u++)
		json_array_append_new(units, describe_unit(v, u));
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:I, s:i, s:s?, s:b, s:b, s:s, s:s*, s:o}", "universe",
		spd.conf->name, "unit", spd.conf->unit[spd.me].name, "cluster",
		spd.group.pipeline ? "" : spd.cluster->name, "state", spd.ending ? "ends" : "runs",
		"view", (json_int_t)v->number, "epoch", (int)v->epoch, "master",
		master == SP_NONE ? NULL : spd.conf->unit[spd.group.unit[master]].name, "leads",
		sp_node_leads(spd.node), "lease", sp_node_may_act(spd.node, now), "over",
		sp_why_text(v->over), "unreached", spd_sites_why(), "units", units);
}

/* ---- chains, log ---- */

/* As agreed on; before that as configured. */
static json_t *
describe_chains(void)
{
	static const char *const state[] = {"off", "active", "draining"};
	static struct spx_view *x;
	const struct sp_view *v = spd_view();
	json_t *all = json_array();

	if (!x)
		x = spd_pipeline_tables();
	bool agreed = x && v && spd.group.pipeline;
	if (agreed)
		spd_pipeline_view(v, x);
	for (uint32_t i = 0; i < (agreed ? x->nchain : spd.conf->nchains); i++) {
		const struct spx_chain *h = agreed ? &x->chain[i] : &spd.conf->chain[i];
		json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:b, s:s, s:i, s:s}", "from",
						     spd.conf->cluster[h->from].name, "to",
						     spd.conf->cluster[h->to].name, "state",
						     state[h->state], "ordered", h->ordered,
						     "policy", spx_policy_name(h->policy), "window",
						     (int)h->window, "on_lost",
						     spx_on_lost_name(h->on_lost)));
	}
	return json_pack("{s:o}", "chains", all);
}

static json_t *
describe_log(uint32_t first)
{
	json_t *lines = json_array();
	uint64_t last = spd_log_last(), n = first ? first : 1;

	if (last >= SPD_LOG_LINES && n <= last - SPD_LOG_LINES)
		n = last - SPD_LOG_LINES + 1;
	for (uint32_t k = 0; n <= last && k < LINES_MAX; n++, k++) {
		const struct spd_line *l = spd_log_line(n);
		if (l)
			json_array_append_new(
				lines, json_pack("{s:I, s:I, s:s}", "n", (json_int_t)l->number,
						 "ms", (json_int_t)l->at_ms, "text", l->text));
	}
	return json_pack("{s:o, s:I, s:I}", "log", lines, "next", (json_int_t)n, "last",
			 (json_int_t)last);
}

/* ---- methods ---- */

enum { STATUS, CHAINS, COUNTERS, LOG, RELOAD, DRAIN, STOP, CHAIN, CLUSTER };

static const struct rd_rpc_param log_params[] = {
	{"first", RD_RPC_UINT, false, 0, UINT32_MAX, NULL, "number of the first line"}};
static const struct rd_rpc_param drain_params[] = {
	{"on", RD_RPC_BOOL, false, 0, 0, NULL, "false: take it back"}};
static const struct rd_rpc_param chain_params[] = {
	{"ops", RD_RPC_STRING, true, 0, 1023, NULL, "as spx_chain_ops() reads them"}};
static const struct rd_rpc_param cluster_params[] = {
	{"name", RD_RPC_STRING, true, 0, SPX_NAME_MAX - 1, NULL, "a stage of the pipeline"},
	{"on", RD_RPC_BOOL, true, 0, 0, NULL, "start it, or stop it"}};
static const struct rd_rpc_method methods[] = {
	{"status", NULL, 0, NULL, STATUS, "units, slots and roles of this cluster"},
	{"chains", NULL, 0, NULL, CHAINS, "chains, as all units have agreed"},
	{"counters", NULL, 0, NULL, COUNTERS, "what this daemon has counted"},
	{"log", log_params, 1, NULL, LOG, "what was said lately"},
	{"reload", NULL, 0, NULL, RELOAD, "read keys again"},
	{"drain", drain_params, 1, NULL, DRAIN, "empty this unit: its roles go to spares"},
	{"stop", NULL, 0, NULL, STOP, "end this cluster, or all of the pipeline"},
	{"chain", chain_params, 1, NULL, CHAIN, "change chains; answers when it is agreed on"},
	{"cluster", cluster_params, 2, NULL, CLUSTER, "start or stop a cluster; likewise"},
};

/* Whom tell_asker() answers. */
static struct rd_rpc_conn *asker;

static void
tell_asker(bool ok, const char *why)
{
	if (asker && ok)
		rd_rpc_result(asker, json_object());
	else if (asker)
		rd_rpc_error(asker, RD_RPC_STATE, "%s", why);
	asker = NULL;
}

static void
ask_for(struct rd_rpc_conn *c, const struct rd_rpc_call *call, uint64_t now_ns)
{
	bool cluster = call->method->id == CLUSTER;
	char why[SPX_TEXT_MAX];

	if (!spd_feed_ask(call->text[0], cluster && call->number[1], cluster, tell_asker, why,
			  now_ns)) {
		rd_rpc_error(c, RD_RPC_STATE, "%s", why);
		return;
	}
	spd_say("an operator asks: %s %s%s", cluster ? "cluster" : "chain", call->text[0],
		!cluster	  ? ""
		: call->number[1] ? " on"
				  : " off");
	asker = c;
}

/* All daemons of a universe have one configuration, so another one is not for a daemon to take. */
bool
spd_reload(char why[SPD_WHY])
{
	struct spd_conf *now = spd_conf_read(spd.file, why);

	if (!now)
		return false;
	uint32_t k = (uint32_t)(spd.cluster - spd.conf->cluster);
	bool other = now->hash != spd.conf->hash || now->cluster[k].own != spd.cluster->own;
	spd_conf_free(now);
	if (other)
		spd_log("reload: %s has changed; for that stop all daemons, and start them again",
			spd.file);
	if (!spd.conf->psk_file) {
		snprintf(why, SPD_WHY, "without universe.psk_file nothing is read again");
		return false;
	}
	if (!spd_net_rekey(why))
		return false;
	spd_log("reload: keys of %s", spd.conf->psk_file);
	return true;
}

static void
take_files_again(struct rd_rpc_conn *c)
{
	char why[SPD_WHY];

	if (spd_reload(why))
		rd_rpc_result(c, json_object());
	else
		rd_rpc_error(c, RD_RPC_STATE, "%s", why);
}

static void
answer_call(void *user, struct rd_rpc_conn *c, const struct rd_rpc_call *call)
{
	uint64_t now = spd_now_ns();

	(void)user;
	if (!spd.node && call->method->id >= DRAIN) {
		rd_rpc_error(c, RD_RPC_STATE, "the cluster has not begun");
		return;
	}
	switch (call->method->id) {
	case STATUS:
		rd_rpc_result(c, describe_all());
		break;
	case CHAINS:
		rd_rpc_result(c, describe_chains());
		break;
	case COUNTERS:
		rd_rpc_result(c, spd_figures());
		break;
	case LOG:
		rd_rpc_result(c, describe_log(call->given[0] ? call->number[0] : 0));
		break;
	case RELOAD:
		take_files_again(c);
		break;
	case DRAIN:
		sp_node_drain(spd.node, !call->given[0] || call->number[0], now);
		spd_log("an operator %s", !call->given[0] || call->number[0]
						  ? "empties this unit"
						  : "takes this unit back");
		rd_rpc_result(c, json_object());
		break;
	case CHAIN:
	case CLUSTER:
		ask_for(c, call, now);
		break;
	case STOP:
		spd_log("an operator ends the cluster");
		sp_node_stop(spd.node, SP_WHY_OPERATOR, now);
		rd_rpc_result(c, json_object());
		break;
	}
}

static const struct rd_rpc_api api = {methods, sizeof methods / sizeof *methods, answer_call};

/* ---- the socket ---- */

/* A socket that a daemon left behind goes; one that answers stays, and so does any other file. */
static bool
clear_place(const struct sockaddr_un *sun, char why[SPD_WHY])
{
	struct stat st;

	if (lstat(sun->sun_path, &st) != 0)
		return true;
	if (!S_ISSOCK(st.st_mode)) {
		snprintf(why, SPD_WHY, "%s is no socket, and stays; --socket names another place",
			 sun->sun_path);
		return false;
	}
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool dead = fd >= 0 && connect(fd, (const struct sockaddr *)sun, sizeof *sun) != 0 &&
		    errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	if (dead && (unlink(sun->sun_path) == 0 || errno == ENOENT))
		return true;
	snprintf(why, SPD_WHY, "%s: %s; --socket names another place", sun->sun_path,
		 dead ? strerror(errno) : "a daemon answers there already");
	return false;
}

bool
spd_ctl_open(char why[SPD_WHY])
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	char folder[sizeof spd.socket];

	snprintf(folder, sizeof folder, "%s", spd.socket);
	char *slash = strrchr(folder, '/');
	if (slash && slash != folder) {
		*slash = '\0';
		(void)mkdir(folder, 0755);
	}
	client = calloc(CLIENTS_MAX, sizeof *client);
	for (uint32_t i = 0; client && i < CLIENTS_MAX; i++)
		client[i].fd = -1;
	snprintf(sun.sun_path, sizeof sun.sun_path, "%s", spd.socket);
	if (!clear_place(&sun, why))
		return false;
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t old = umask(0177);
	bool ok = client && listener >= 0 &&
		  bind(listener, (struct sockaddr *)&sun, sizeof sun) == 0 &&
		  listen(listener, 8) == 0;
	umask(old);
	if (!ok)
		snprintf(why, SPD_WHY, "%s: %s; --socket names another place", spd.socket,
			 strerror(errno));
	return ok;
}

void
spd_ctl_close(void)
{
	for (uint32_t i = 0; client && i < CLIENTS_MAX; i++)
		if (client[i].fd >= 0) {
			rd_rpc_fini(&client[i].conn);
			close(client[i].fd);
		}
	free(client);
	client = NULL;
	if (listener >= 0) {
		close(listener);
		(void)unlink(spd.socket);
	}
}

static void
take_client(uint64_t now_ns)
{
	bool pause;
	int fd = process_accept(listener, NULL, NULL, &pause);

	if (pause) {
		if (now_ns - listen_again_ns >= SAY_NS)
			spd_log("accept: %s; the control socket pauses (see ulimit -n)",
				strerror(errno));
		listen_again_ns = now_ns + PAUSE_NS;
	}
	for (uint32_t i = 0; fd >= 0 && i < CLIENTS_MAX; i++)
		if (client[i].fd < 0) {
			client[i].fd = fd;
			rd_rpc_init(&client[i].conn, &api, NULL);
			return;
		}
	if (fd >= 0)
		close(fd);
}

static void
lose_client(struct client *c)
{
	if (asker == &c->conn)
		asker = NULL;
	rd_rpc_fini(&c->conn);
	close(c->fd);
	c->fd = -1;
}

static void
write_answers(struct client *c)
{
	const char *out;
	size_t len;

	while ((out = rd_rpc_output(&c->conn, &len))) {
		ssize_t n = send(c->fd, out, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			lose_client(c);
			return;
		}
		rd_rpc_sent(&c->conn, (size_t)n);
	}
	if (rd_rpc_closing(&c->conn))
		lose_client(c);
}

static void
serve_client(struct client *c)
{
	size_t room;
	char *at = rd_rpc_room(&c->conn, &room);

	if (room) {
		ssize_t n = recv(c->fd, at, room, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			lose_client(c);
			return;
		}
		if (n > 0)
			rd_rpc_input(&c->conn, (size_t)n);
	}
	write_answers(c);
}

nfds_t
spd_ctl_fds(struct pollfd *fd, uint64_t now_ns, uint64_t *until_ns)
{
	bool listens = now_ns >= listen_again_ns;

	if (!listens)
		*until_ns = base_min_ns(*until_ns, listen_again_ns);
	fd[0] = (struct pollfd){.fd = listens ? listener : -1, .events = POLLIN};
	for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
		size_t room = 0, len;
		short events = 0;
		if (client[i].fd >= 0) {
			(void)rd_rpc_room(&client[i].conn, &room);
			events = (short)((room ? POLLIN : 0) |
					 (rd_rpc_output(&client[i].conn, &len) ? POLLOUT : 0));
		}
		fd[1 + i] = (struct pollfd){.fd = client[i].fd, .events = events};
	}
	return 1 + CLIENTS_MAX;
}

void
spd_ctl_poll(const struct pollfd *fd, nfds_t n, uint64_t now_ns)
{
	for (nfds_t i = 1; i < n; i++)
		if (fd[i].revents && client[i - 1].fd == fd[i].fd)
			serve_client(&client[i - 1]);
	if (fd[0].revents)
		take_client(now_ns);
}

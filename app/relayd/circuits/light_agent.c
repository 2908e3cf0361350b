/* SPDX-License-Identifier: BSD-2-Clause */
/* This relay's agent: processes and light ports on one side, the controller on the other. */
#include "light_internal.h"

#include "base/clock.h"
#include "base/siphash.h"
#include "relay/addr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIAL_NS (200 * BASE_MS_NS)

struct rd_light {
	struct rd_light_env env;
	struct light_agent *agent;
	struct rd_link link;
	uint64_t dial_ns;
	bool said; /* that there is no controller */
	struct rd_controller *controller;
	uint32_t njobs;
	const struct relay_job **job; /* [njobs] NULL: free */
};

static struct rd_light *
of_link(struct rd_link *l)
{
	return l->owner;
}

/* ---- the agent's words ---- */

static bool
agent_send(void *user, const struct light_frame *f)
{
	struct rd_light *l = user;
	return rd_light_send(&l->link, f);
}

static void
agent_note(void *user, uint32_t label_base, uint32_t rank, const uint8_t *note, size_t len)
{
	struct rd_light *l = user;
	/* Too many on their way: processes have patience, and go by packets. */
	(void)rd_lights_note(l->env.lights, label_base, rank == LIGHT_ANY ? RELAY_RANK_NONE : rank,
			     note, len);
}

static void
agent_light(void *user, uint32_t slot, struct light_addr relay, struct light_addr light)
{
	struct rd_light *l = user;
	struct relay_light to = {.peer = relay_addr_v4(relay.ipv4, relay.port, RELAY_LEG_GLOBAL),
				 .addr = relay_addr_v4(light.ipv4, light.port, RELAY_LEG_GLOBAL)};
	to.addr.leg = (uint8_t)(RELAY_LEG_LIGHT + slot);
	if (!rd_lights_up(l->env.lights, slot, &to))
		light_agent_state(l->agent, slot, BASE_LIGHTPATH_FAILED);
}

static void
agent_dark(void *user, uint32_t slot)
{
	struct rd_light *l = user;
	if (!rd_lights_dark(l->env.lights, slot))
		light_agent_state(l->agent, slot, BASE_LIGHTPATH_DRAINED);
}

static const struct relay_job *
job_at(const struct rd_light *l, uint32_t label_base)
{
	for (uint32_t i = 0; i < l->njobs; i++)
		if (l->job[i] && l->job[i]->label_base == label_base)
			return l->job[i];
	return NULL;
}

static uint32_t
agent_client_of(void *user, uint32_t label_base, uint32_t rank)
{
	const struct relay_job *job = job_at(user, label_base);
	if (!job || rank >= job->nworld)
		return LIGHT_CLIENTS;
	uint32_t h = relay_job_host_of(job, rank);
	return h < job->nhosts ? job->host[h].client : LIGHT_CLIENTS;
}

static void
agent_refused(void *user, uint32_t label_base, uint32_t rank, const char *why)
{
	struct rd_light *l = user;
	rd_log_limited(&l->env.lights->limit, l->env.loop->now_ns, RD_LOG_WARNING,
		       "light: a call of rank %u of the job at label %u goes by packets: %s", rank,
		       label_base, why);
}

static const struct light_agent_ops agent_ops = {agent_send, agent_note,      agent_light,
						 agent_dark, agent_client_of, agent_refused};

/* ---- what comes from the worker ---- */

static void
worker_state(void *user, uint32_t slot, enum base_lightpath state)
{
	light_agent_state(((struct rd_light *)user)->agent, slot, state);
}

static void
worker_proc(void *user, uint32_t label_base, uint32_t rank)
{
	light_agent_proc(((struct rd_light *)user)->agent, label_base, rank);
}

static void
worker_note(void *user, uint32_t label_base, uint32_t rank, const uint8_t *note, size_t len)
{
	light_agent_note(((struct rd_light *)user)->agent, label_base, rank, note, len);
}

/* ---- the session ---- */

static void
raise_agent_link(struct rd_link *k)
{
	struct rd_light *l = of_link(k);
	l->said = false;
	rd_log(RD_LOG_INFO, "light: circuit controller %s connected",
	       l->env.conf->optical.controller);
	light_agent_connected(l->agent);
}

static void
drop_agent_link(struct rd_link *k, const char *why)
{
	struct rd_light *l = of_link(k);
	l->dial_ns = l->env.loop->now_ns + DIAL_NS;
	if (!l->said)
		rd_log(RD_LOG_WARNING,
		       "light: no circuit controller at %s: %s; all goes by packets",
		       l->env.conf->optical.controller, why);
	l->said = true;
	if (light_agent_is_connected(l->agent))
		light_agent_lost(l->agent);
}

static bool
link_frame(struct rd_link *k, const struct light_frame *f)
{
	return light_agent_heard(of_link(k)->agent, f);
}

static long
link_take(struct rd_link *k, const uint8_t *in, size_t len, size_t *need)
{
	return rd_light_take(k, in, len, need, link_frame);
}

static const struct rd_link_kind link_kind = {
	.in_max = LIGHT_FRAME_MAX,
	.out_max = RD_LIGHT_OUT,
	.ping_ns = RD_LIGHT_PING_NS,
	.dead_ns = RD_LIGHT_DEAD_NS,
	.take = link_take,
	.up = raise_agent_link,
	.down = drop_agent_link,
	.ping = rd_light_ping,
};

static void
dial_controller(struct rd_light *l)
{
	const struct rd_conf *conf = l->env.conf;
	l->dial_ns = l->env.loop->now_ns + DIAL_NS;
	int fd = rd_sock_connect(NULL, 0, conf->optical.controller_ip,
				 conf->optical.controller_port, true);
	if (fd >= 0)
		(void)rd_link_adopt(&l->link, fd, true);
}

/* ---- jobs ---- */

/* The same at all relays: of the first host as the server announced it. */
static uint64_t
agent_key_of(const struct relay_job *job)
{
	static const uint8_t none[16];
	return base_siphash(none, job->host[0].id, IMPI_HOSTID_BYTES);
}

void
rd_light_job(struct rd_light *l, const struct relay_job *job)
{
	if (!l || !job->nhosts)
		return;
	for (uint32_t i = 0; i < l->njobs; i++)
		if (!l->job[i]) {
			l->job[i] = job;
			light_agent_job(l->agent, agent_key_of(job), job->label_base,
					job->my_client);
			return;
		}
}

void
rd_light_job_end(struct rd_light *l, uint32_t label_base)
{
	for (uint32_t i = 0; l && i < l->njobs; i++)
		if (l->job[i] && l->job[i]->label_base == label_base) {
			light_agent_job_end(l->agent, label_base);
			l->job[i] = NULL;
		}
}

/* ---- set-up, loop ---- */

static struct light_agent *
make_agent(struct rd_light *l)
{
	const struct rd_conf *conf = l->env.conf;
	const struct rd_conf_port *global = &conf->port[RD_LEG_GLOBAL];
	struct light_agent_config cfg = {
		.hello = {.relay = {global->address, (uint16_t)global->udp_port},
			  .n = (uint8_t)conf->optical.nports},
		.jobs = l->njobs,
		.ops = &agent_ops,
		.user = l};
	for (uint32_t i = 0; i < conf->optical.nports; i++)
		cfg.hello.port[i] = (struct light_port){
			(uint16_t)conf->optical.at[i].in,
			{conf->port[RD_LEG_LIGHT + i].address, (uint16_t)conf->optical.udp_port}};
	void *mem = malloc(light_agent_footprint(&cfg));
	return mem ? light_agent_new(mem, &cfg) : NULL;
}

int
rd_light_new(struct rd_light **out, const struct rd_light_env *env, char *err, size_t err_max)
{
	*out = NULL;
	if (!*env->conf->optical.controller)
		return 0;
	struct rd_light *l = calloc(1, sizeof *l);
	if (!l)
		goto err_memory;
	l->env = *env;
	rd_link_init(&l->link, env->loop, &link_kind, rd_light_keys(env), l);
	l->njobs = 2 * env->conf->limits.jobs; /* own ones and those of other primaries */
	l->job = calloc(l->njobs, sizeof *l->job);
	l->agent = l->job ? make_agent(l) : NULL;
	if (!l->agent)
		goto err_memory;
	struct rd_light_user user = {worker_state, worker_proc, worker_note, l};
	rd_lights_user(env->lights, &user);
	*out = l;
	if (env->conf->optical.sw.protocol == RD_SWITCH_NONE ||
	    rd_controller_open(&l->controller, env, err, err_max) == 0)
		return 0;
	*out = NULL;
	rd_light_free(l);
	return -1;
err_memory:
	rd_light_free(l);
	snprintf(err, err_max, "light: no memory");
	return -1;
}

void
rd_light_turn(struct rd_light *l)
{
	if (l && l->controller)
		rd_controller_turn(l->controller);
}

void
rd_light_tick(struct rd_light *l, bool dials)
{
	if (!l)
		return;
	if (l->controller)
		rd_controller_tick(l->controller);
	rd_link_tick(&l->link);
	if (!rd_link_open(&l->link) && l->env.loop->now_ns >= l->dial_ns && dials)
		dial_controller(l);
}

void
rd_light_free(struct rd_light *l)
{
	if (!l)
		return;
	rd_lights_user(l->env.lights, NULL);
	rd_controller_close(l->controller);
	rd_link_fini(&l->link);
	free(l->agent);
	free(l->job);
	free(l);
}

bool
rd_light_view(const struct rd_light *l, struct rd_light_view *v)
{
	if (!l)
		return false;
	*v = (struct rd_light_view){.agent = l->agent,
				    .address = l->env.conf->optical.controller,
				    .connected = light_agent_is_connected(l->agent)};
	if (l->controller)
		rd_controller_view(l->controller, v);
	return true;
}

void
rd_light_figures(const struct rd_light *l, struct rd_light_figures *out)
{
	struct rd_light_view v;
	memset(out, 0, sizeof *out);
	if (!rd_light_view(l, &v))
		return;
	out->configured = true;
	out->connected = v.connected;
	if (!v.controller)
		return;
	out->controller = true;
	out->online = ocs_control_is_online(v.control);
	out->gamma_us = ocs_gamma_ns(ocs_control_matrix(v.control)) / 1000;
	out->count = *light_controller_counters(v.controller);
}

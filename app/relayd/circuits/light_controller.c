/* SPDX-License-Identifier: BSD-2-Clause */
/* The controller in relayd: agents that call, the driver of the switch, the log. */
#include "light_internal.h"

#include "base/clock.h"
#include "base/lobby.h"
#include "driver/ocs.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <bsd/string.h>

#define COMMS	   64
#define CALLS	   64
#define RANKS	   4096
#define JOBS_MAX   16
#define CALL_BYTES ((size_t)24 << 20)

struct rd_controller {
	struct rd_light_env env;
	struct rd_log_limit limit; /* what anybody can cause */
	char **names;		   /* of the switch's ports, or NULL */
	struct ocs_driver *driver;
	struct ocs_control *control;
	struct light_controller *controller;
	struct rd_listener listener;
	struct rd_watch switch_fd, timer;
	struct base_lobby lobby; /* calls that have not said HELLO */
	int seat[RD_LIGHT_LINKS];
	struct rd_link link[RD_LIGHT_LINKS];
	bool own[OCS_PORTS_MAX];
	struct rd_lit_groups groups;
	uint64_t armed_ns;
	char trouble[OCS_DRIVER_WHY]; /* what was told last */
	uint64_t logged;
	struct rd_light_entry *log; /* [RD_LIGHT_LOG] */
};

/* ---- agents ---- */

static uint32_t
index_of(const struct rd_controller *k, const struct rd_link *l)
{
	return (uint32_t)(l - k->link);
}

static struct rd_controller *
controller_of(const struct rd_link *l)
{
	return l->owner;
}

static void
leave_lobby(struct rd_controller *k, uint32_t i)
{
	base_lobby_leave(&k->lobby, k->seat[i]);
	k->seat[i] = -1;
}

static bool
agent_frame(struct rd_link *l, const struct light_frame *f)
{
	struct rd_controller *k = controller_of(l);
	if (f->type == LIGHT_FRAME_HELLO)
		leave_lobby(k, index_of(k, l));
	return light_controller_heard(k->controller, index_of(k, l), f, k->env.loop->now_ns);
}

static void
agent_up(struct rd_link *l)
{
	(void)l; /* it says who it is */
}

static void
agent_down(struct rd_link *l, const char *why)
{
	struct rd_controller *k = controller_of(l);
	bool stranger = k->seat[index_of(k, l)] >= 0;
	leave_lobby(k, index_of(k, l));
	if (stranger)
		rd_log_limited(&k->limit, k->env.loop->now_ns, RD_LOG_INFO,
			       "light: a call without HELLO ended: %s", why);
	else
		rd_log(RD_LOG_INFO, "light: agent %u is gone: %s", index_of(k, l), why);
	light_controller_gone(k->controller, index_of(k, l), k->env.loop->now_ns);
}

static long
agent_take(struct rd_link *l, const uint8_t *in, size_t len, size_t *need)
{
	return rd_light_take(l, in, len, need, agent_frame);
}

static const struct rd_link_kind agent_kind = {
	.in_max = LIGHT_FRAME_MAX,
	.out_max = RD_LIGHT_OUT,
	.ping_ns = RD_LIGHT_PING_NS,
	.dead_ns = RD_LIGHT_DEAD_NS,
	.take = agent_take,
	.up = agent_up,
	.down = agent_down,
	.ping = rd_light_ping,
};

static bool
send_to(void *user, uint32_t agent, const struct light_frame *f)
{
	struct rd_controller *k = user;
	return rd_light_send(&k->link[agent], f);
}

static void
hang_up(void *user, uint32_t agent)
{
	struct rd_controller *k = user;
	leave_lobby(k, agent);
	rd_link_drop(&k->link[agent]);
}

static void
make_agent_room(struct rd_controller *k, uint32_t ip)
{
	int seat = base_lobby_victim(&k->lobby, ip, k->env.loop->now_ns);
	for (uint32_t i = 0; seat >= 0 && i < RD_LIGHT_LINKS; i++)
		if (k->seat[i] == seat) {
			rd_link_close(&k->link[i], "it did not say HELLO before others came");
			return;
		}
}

static void
handle_call(struct rd_listener *listener)
{
	struct rd_controller *k = listener->owner;
	uint64_t now_ns = k->env.loop->now_ns, room_ns = base_lobby_room_ns(&k->lobby);
	struct suci_addr from;
	if (room_ns > now_ns) {
		rd_listener_pause(listener, room_ns);
		return;
	}
	int fd = rd_listener_accept(listener, &from);
	if (fd < 0)
		return;
	uint32_t ip = be32_load(from.ip + 12); /* it listens at an IPv4 address */
	make_agent_room(k, ip);
	for (uint32_t i = 0; i < RD_LIGHT_LINKS; i++) {
		if (rd_link_open(&k->link[i]))
			continue;
		k->seat[i] = base_lobby_enter(&k->lobby, ip, now_ns);
		if (k->seat[i] < 0)
			break;
		rd_sock_tune(fd, true);
		if (!rd_link_adopt(&k->link[i], fd, false))
			leave_lobby(k, i);
		return;
	}
	close(fd);
}

/* ---- what happens ---- */

static void
say_state(const struct light_event *e)
{
	char a[RD_IPV4_TEXT], b[RD_IPV4_TEXT];
	switch (e->kind) {
	case LIGHT_EVENT_ONLINE:
	case LIGHT_EVENT_OFFLINE:
		rd_log(RD_LOG_INFO, "light: the switch is %s", light_event_name(e->kind));
		break;
	case LIGHT_EVENT_AGENT:
	case LIGHT_EVENT_AGENT_GONE:
		rd_log(e->text ? RD_LOG_WARNING : RD_LOG_INFO, "light: relay %s %s%s%s",
		       rd_ipv4_text(e->a.ipv4, a),
		       e->kind == LIGHT_EVENT_AGENT ? "reports" : "reports no more",
		       e->text ? ": " : "", e->text ? e->text : "");
		break;
	case LIGHT_EVENT_REFUSED:
		rd_log(RD_LOG_WARNING, "light: circuit %u to %u refused: %s", e->x, e->y,
		       e->text ? e->text : "");
		break;
	case LIGHT_EVENT_WITHDRAWN:
	case LIGHT_EVENT_RESTORED:
		rd_log(RD_LOG_INFO, "light: port %u of the switch is %s", e->x,
		       light_event_name(e->kind));
		break;
	case LIGHT_EVENT_FAILED:
		rd_log(RD_LOG_INFO, "light: %s and %s do not find each other over ports %u and %u",
		       rd_ipv4_text(e->a.ipv4, a), rd_ipv4_text(e->b.ipv4, b), e->x, e->y);
		break;
	default:
		rd_log(RD_LOG_DEBUG, "light: %s %u-%u %s", light_event_name(e->kind), e->x, e->y,
		       e->text ? e->text : "");
		break;
	}
}

static void
event(void *user, const struct light_event *e)
{
	struct rd_controller *k = user;
	struct rd_light_entry *n = &k->log[k->logged++ % RD_LIGHT_LOG];
	n->e = *e;
	strlcpy(n->text, e->text ? e->text : "", sizeof n->text);
	n->e.text = NULL;
	say_state(e);
}

static const struct light_controller_ops controller_ops = {send_to, hang_up, event};

/* ---- the loop ---- */

static void
on_switch(struct rd_watch *w, uint32_t events)
{
	(void)w; /* the turn behind it looks */
	(void)events;
}

static void
on_timer(struct rd_watch *w, uint32_t events)
{
	uint64_t n;
	ssize_t got = read(w->fd, &n, sizeof n);
	(void)got;
	(void)events;
	((struct rd_controller *)w->owner)->armed_ns = 0;
}

static void
arm(struct rd_controller *k)
{
	uint64_t at_ns = base_min_ns(light_controller_expiry_ns(k->controller),
				     ocs_driver_expiry_ns(k->driver));
	if (at_ns == k->armed_ns)
		return;
	k->armed_ns = at_ns;
	if (at_ns == BASE_NEVER_NS)
		at_ns = 0; /* disarmed */
	else if (at_ns <= k->env.loop->now_ns)
		at_ns = k->env.loop->now_ns + BASE_MS_NS; /* late already; not at once for ever */
	struct itimerspec t = {.it_value = {.tv_sec = (time_t)(at_ns / BASE_S_NS),
					    .tv_nsec = (long)(at_ns % BASE_S_NS)}};
	(void)timerfd_settime(k->timer.fd, TFD_TIMER_ABSTIME, &t, NULL);
}

void
rd_controller_turn(struct rd_controller *k)
{
	uint64_t now_ns = k->env.loop->now_ns;
	ocs_driver_turn(k->driver, now_ns);
	light_controller_turn(k->controller, now_ns);
	ocs_driver_send(k->driver, now_ns);
	arm(k);
}

void
rd_controller_tick(struct rd_controller *k)
{
	const char *trouble = ocs_driver_trouble(k->driver);
	if (*trouble && strcmp(trouble, k->trouble) != 0)
		rd_log(RD_LOG_WARNING, "light: the switch: %s", trouble);
	strlcpy(k->trouble, trouble, sizeof k->trouble);
	rd_log_limit_tick(&k->limit, k->env.loop->now_ns);
	rd_listener_tick(&k->listener);
	for (uint32_t i = 0; i < RD_LIGHT_LINKS; i++)
		rd_link_tick(&k->link[i]);
}

/* ---- opening ---- */

static const char *
protocol_name(uint32_t protocol)
{
	static const char *const names[] = {
		[RD_SWITCH_NETCONF] = "netconf",
		[RD_SWITCH_OPENFLOW] = "openflow",
		[RD_SWITCH_TL1_POLATIS] = "tl1-polatis",
		[RD_SWITCH_TL1_CALIENT] = "tl1-calient",
		[RD_SWITCH_TL1_GLIMMERGLASS] = "tl1-glimmerglass",
		[RD_SWITCH_SCPI] = "scpi",
	};
	return names[protocol];
}

bool
rd_light_has_driver(const struct rd_conf *conf, char *err, size_t err_max)
{
	char why[OCS_DRIVER_WHY];
	if (conf->optical.sw.protocol == RD_SWITCH_NONE ||
	    ocs_driver_is_there(protocol_name(conf->optical.sw.protocol), why))
		return true;
	snprintf(err, err_max, "%s", why);
	return false;
}

static const char *
or_none(const char *text)
{
	return *text ? text : NULL;
}

static bool
open_switch(struct rd_controller *k, char *err, size_t err_max)
{
	const struct rd_conf *conf = k->env.conf;
	const char *names = conf->optical.sw.names;
	char why[OCS_DRIVER_WHY] = "no memory";
	uint32_t named = conf->optical.sw.ports;
	if (*names && !(k->names = ocs_names_read(names, &named, why))) {
		snprintf(err, err_max, "optical.switch.names: %s", why);
		return false;
	}
	if (named < conf->optical.sw.ports) {
		snprintf(err, err_max, "optical.switch.names: %s names %u ports of %u", names,
			 named, conf->optical.sw.ports);
		return false;
	}
	struct ocs_driver_config d = {.protocol = protocol_name(conf->optical.sw.protocol),
				      .address = conf->optical.sw.address,
				      .credentials = or_none(conf->optical.sw.credentials),
				      .ports = conf->optical.sw.ports,
				      .batch = conf->optical.sw.batch,
				      .names = (const char *const *)k->names,
				      .group = or_none(conf->optical.sw.group),
				      .models = or_none(conf->optical.sw.models),
				      .cookie = 0x6c69676874};
	k->driver = ocs_driver_open(&d, why);
	if (!k->driver) {
		snprintf(err, err_max, "optical.switch: %s", why);
		return false;
	}
	(void)rd_conf_own_ports(conf->optical.sw.own, k->own, conf->optical.sw.ports);
	struct ocs_control_config oc = {.ports = conf->optical.sw.ports,
					.batch = conf->optical.sw.batch,
					.gamma_guess_ns = conf->optical.gamma_ms * BASE_MS_NS,
					.extra_ns = conf->optical.sw.extra_ms * BASE_MS_NS,
					.own_in = k->own,
					.own_out = k->own};
	void *mem = malloc(ocs_control_footprint(&oc));
	if (mem)
		k->control = ocs_control_new(mem, &oc, ocs_driver_switch(k->driver));
	return mem != NULL;
}

static bool
make_controller(struct rd_controller *k)
{
	const struct rd_conf *conf = k->env.conf;
	char why[RD_GROUPS_WHY];
	_Static_assert(RD_GROUPS_MAX <= LIGHT_GROUPS_MAX, "all that can be configured");
	_Static_assert(RD_LINKS_MAX <= CIRC_LINKS_MAX, "all that can be configured");
	if (!rd_conf_lit_groups(conf->optical.lit_groups, conf->optical.sw.ports, &k->groups, why))
		return false; /* the rules have looked */
	uint64_t open_ns = (conf->optical.open_ms + 200) * BASE_MS_NS;
	uint32_t light_mbps = conf->optical.rate_mbps ? conf->optical.rate_mbps : 10000;
	struct light_controller_config cfg = {
		.ports = conf->optical.sw.ports,
		.agents = RD_LIGHT_LINKS,
		.jobs = 2 * conf->limits.jobs < JOBS_MAX ? 2 * conf->limits.jobs : JOBS_MAX,
		.comms = COMMS,
		.calls = CALLS,
		.ranks = RANKS,
		.call_bytes = CALL_BYTES,
		.mode = (enum circ_mode)conf->optical.mode,
		.costs = {.alpha_s = conf->optical.alpha_us / 1e6,
			  .beta_s_per_byte = 8e-6 / light_mbps,
			  .gamma_s = conf->optical.gamma_ms / 1e3,
			  .packet_alpha_s = conf->optical.packet_alpha_us / 1e6,
			  .packet_beta_s_per_byte = 8e-6 / conf->optical.packet_rate_mbps,
			  .local_alpha_s = 1e-5,
			  .local_beta_s_per_byte = 1e-9},
		.patience_ns = open_ns + (20 * conf->optical.gamma_ms + conf->optical.sw.extra_ms) *
						 BASE_MS_NS,
		.link_ns = open_ns,
		.drain_ns = (conf->optical.drain_ms + 60) * BASE_MS_NS,
		.stall_ns = 0,
		.links_max = conf->optical.links_max,
		.lit_max = conf->optical.lit_max,
		.groups = k->groups.n,
		.group_of = k->groups.of,
		.waves = k->groups.waves,
		.ops = &controller_ops,
		.user = k,
		.control = k->control};
	void *mem = malloc(light_controller_footprint(&cfg));
	k->log = calloc(RD_LIGHT_LOG, sizeof *k->log);
	if (!mem || !k->log) {
		free(mem);
		return false;
	}
	k->controller = light_controller_new(mem, &cfg);
	return true;
}

static int
watch(struct rd_controller *k, struct rd_watch *w, int fd, void (*fn)(struct rd_watch *, uint32_t))
{
	w->owner = k;
	w->fn = fn;
	return fd < 0 ? fd : rd_watch_add(k->env.loop, w, fd, EPOLLIN);
}

static bool
open_sockets(struct rd_controller *k, char *err, size_t err_max)
{
	const struct rd_conf *conf = k->env.conf;
	int fd = rd_sock_listen(NULL, conf->optical.listen_ip, conf->optical.listen_port);
	int r = fd < 0 ? fd : rd_listener_add(&k->listener, k->env.loop, fd, handle_call, k);
	if (r) {
		if (fd >= 0)
			close(fd);
		snprintf(err, err_max, "optical.listen %s: %s", conf->optical.listen, strerror(-r));
		return false;
	}
	r = watch(k, &k->switch_fd, dup(ocs_driver_fd(k->driver)), on_switch);
	if (!r)
		r = watch(k, &k->timer, timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC),
			  on_timer);
	if (r)
		snprintf(err, err_max, "light: %s", strerror(-r));
	return r == 0;
}

int
rd_controller_open(struct rd_controller **out, const struct rd_light_env *env, char *err,
		   size_t err_max)
{
	struct rd_controller *k = calloc(1, sizeof *k);
	snprintf(err, err_max, "light: no memory");
	if (!k)
		return -1;
	*out = k;
	k->env = *env;
	k->limit = (struct rd_log_limit)RD_LOG_LIMIT_INIT;
	k->listener.watch.fd = k->switch_fd.fd = k->timer.fd = -1;
	base_lobby_init(&k->lobby, RD_LIGHT_STRANGERS, BASE_S_NS);
	for (uint32_t i = 0; i < RD_LIGHT_LINKS; i++)
		k->seat[i] = -1;
	for (uint32_t i = 0; i < RD_LIGHT_LINKS; i++)
		rd_link_init(&k->link[i], env->loop, &agent_kind, rd_light_keys(env), k);
	if (!open_switch(k, err, err_max) || !make_controller(k) || !open_sockets(k, err, err_max))
		return -1;
	rd_log(RD_LOG_INFO, "light: circuit controller of the switch at %s, agents report to %s",
	       env->conf->optical.sw.address, env->conf->optical.listen);
	return 0;
}

void
rd_controller_close(struct rd_controller *k)
{
	if (!k)
		return;
	for (uint32_t i = 0; i < RD_LIGHT_LINKS; i++)
		rd_link_fini(&k->link[i]);
	rd_listener_close(&k->listener);
	rd_watch_close(k->env.loop, &k->switch_fd);
	rd_watch_close(k->env.loop, &k->timer);
	free(k->controller);
	free(k->control);
	ocs_driver_close(k->driver);
	ocs_names_free(k->names);
	free(k->log);
	free(k);
}

void
rd_controller_view(const struct rd_controller *k, struct rd_light_view *v)
{
	v->controller = k->controller;
	v->control = k->control;
	v->trouble = ocs_driver_trouble(k->driver);
	v->log = k->log;
	v->logged = k->logged;
}

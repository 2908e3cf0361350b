/* SPDX-License-Identifier: BSD-2-Clause */
/* The cluster's job coordinator (relay/cluster.h) between the things of this relay: orders become
 * mail for workers and gateway, their replies answers; frames go out over the peer channels, and
 * what it wants of a client's job goes to its session. */
#include "jobs_internal.h"
#include "sock.h"

#include "base/clock.h"

#include <sys/random.h>
#include <unistd.h>

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

static void
order_done(struct rd_mail *mail)
{
	static const enum relay_cluster_order_type type_of[] = {
		[RD_MAIL_JOB_ADD] = RELAY_CLUSTER_ADD,
		[RD_MAIL_JOB_END] = RELAY_CLUSTER_END,
		[RD_MAIL_JOB_FINISH] = RELAY_CLUSTER_FINISH,
	};
	struct rd_jobs *j = mail->owner;
	relay_cluster_answer(j->cluster, mail->job.id, type_of[mail->type],
			     mail->gateway ? RELAY_CLUSTER_GATEWAY : mail->worker,
			     mail->result ? mail->text : NULL);
}

static void
order(void *user, const struct relay_cluster_order *o)
{
	static const enum rd_mail_type mail_of[] = {
		[RELAY_CLUSTER_ADD] = RD_MAIL_JOB_ADD,
		[RELAY_CLUSTER_END] = RD_MAIL_JOB_END,
		[RELAY_CLUSTER_FINISH] = RD_MAIL_JOB_FINISH,
		[RELAY_CLUSTER_ELSEWHERE] = RD_MAIL_ELSEWHERE,
	};
	struct rd_jobs *j = user;
	bool gateway = o->place == RELAY_CLUSTER_GATEWAY;
	struct rd_mail *mail = rd_post_mail(j->post, gateway ? 0 : o->place, mail_of[o->type]);
	mail->job.label_base = o->label_base;
	mail->job.table = o->table;
	mail->job.ways = o->ways;
	mail->job.id = o->job;
	mail->owner = j;
	mail->done = o->type == RELAY_CLUSTER_ELSEWHERE ? NULL : order_done;
	strlcpy(mail->text, o->text, sizeof mail->text);
	if (gateway)
		rd_post_send_gateway(j->post, mail);
	else
		rd_post_send(j->post, mail);
}

static bool
send_frame(void *user, uint32_t i, const struct relay_peer_frame *f)
{
	return rd_peer_send(user, i, f);
}

static bool
send_job(void *user, uint32_t i, const struct relay_job *table)
{
	return rd_peer_send_job(user, i, table);
}

static void *
room(void *user, size_t len)
{
	struct rd_jobs *j = user;
	void *mem = malloc(len);
	j->loop->count.refused_memory += !mem;
	return mem;
}

static void
give_back(void *user, void *mem)
{
	(void)user;
	free(mem);
}

static void
table(void *user, const struct relay_job *job, bool here)
{
	struct rd_jobs *j = user;
	if (here)
		rd_light_job(j->light, job);
	else
		rd_light_job_end(j->light, job->label_base);
}

static void
installed(void *user, void *owner, const char *refusal)
{
	struct rd_session *s = owner;
	(void)user;
	relay_startup_table_done(s->s, refusal);
	rd_session_pump(s);
}

static void
aborted(void *user, void *owner, const char *why)
{
	struct rd_session *s = owner;
	(void)user;
	relay_startup_abort(s->s, why);
	rd_session_pump(s);
}

static void
handed_over(void *user, void *owner)
{
	(void)user;
	rd_session_handed_over(owner);
}

static void
say(void *user, enum relay_cluster_level level, void *owner, uint32_t id, uint32_t primary,
    const char *text)
{
	static const enum rd_log_level levels[] = {
		[RELAY_CLUSTER_INFO] = RD_LOG_INFO,
		[RELAY_CLUSTER_WARNING] = RD_LOG_WARNING,
		[RELAY_CLUSTER_ERROR] = RD_LOG_ERROR,
	};
	const struct rd_session *s = owner;
	(void)user;
	if (s)
		rd_log(levels[level], "job %u (port %u): %s", s->id, listen_port(s), text);
	else
		rd_log(levels[level], "job %u of relay %u: %s", id, primary, text);
}

static const struct relay_cluster_ops ops = {
	.order = order,
	.send = send_frame,
	.send_job = send_job,
	.room = room,
	.give_back = give_back,
	.table = table,
	.installed = installed,
	.aborted = aborted,
	.handed_over = handed_over,
	.say = say,
};

/* ---- beginning ------------------------------------------------------------------ */

static void
init_members(struct rd_jobs *j)
{
	const struct rd_conf *conf = j->conf;
	for (uint32_t i = 0; i < conf->cluster.nrelays; i++) {
		struct relay_member *m = &j->member[i];
		*m = (struct relay_member){
			.ipv4_global = conf->cluster.relay[i].global_address,
			.ipv4_private = conf->cluster.relay[i].private_address,
			.gate_global = rd_conf_gate_global(conf, i),
			.gateway_port_global = (uint16_t)conf->gateway.global_port,
			.gateway_port_private = (uint16_t)conf->gateway.private_port,
			.nshards = (uint16_t)conf->cluster.relay[i].workers,
		};
		memcpy(m->six_private, conf->cluster.relay[i].private6, sizeof m->six_private);
		for (uint32_t k = 0; k < m->nshards; k++) {
			m->port_global[k] = (uint16_t)(conf->port[RD_LEG_GLOBAL].udp_port + k);
			m->port_private[k] = (uint16_t)(conf->port[RD_LEG_PRIVATE].udp_port + k);
		}
		m->ngate_private = rd_conf_gates(conf, i, m->gate_private);
		if (!m->ngate_private) /* via host, and the gateway is off */
			m->gate_private[m->ngate_private++] = m->ipv4_private;
	}
	relay_labels_init(&j->labels, conf->cluster.self);
	/* Jobs of our earlier life may go on at the other relays, with labels of that time. */
	(void)getrandom(&j->labels.next, sizeof j->labels.next, 0);
	j->labels.next %= RELAY_LABEL_PAGES_MAX;
	j->next_job_id = 1;
}

static int
init_cluster(struct rd_jobs *j, char *err, size_t err_max)
{
	const struct rd_conf *conf = j->conf;
	struct relay_cluster_conf cc = {
		.self = conf->cluster.self,
		.nrelays = conf->cluster.nrelays,
		.member = j->member,
		.name = conf->cluster.name,
		.gateway = conf->gateway.enable,
		.jobs_max = 2 * conf->limits.jobs, /* own ones, and those of other relays */
		.limits = {.nworld_max = conf->limits.procs, .nhosts_max = conf->limits.hosts},
		.labels = &j->labels,
		.ops = &ops,
		.user = j,
	};
	size_t len = relay_cluster_footprint(&cc);
	void *mem = len ? malloc(len) : NULL;
	j->cluster = mem ? relay_cluster_new(mem, &cc) : NULL;
	if (j->cluster)
		return 0;
	free(mem);
	snprintf(err, err_max, "control: no memory for %u jobs (limits.jobs)", conf->limits.jobs);
	return -1;
}

static int
listen_on(struct rd_jobs *j, struct rd_listener *l, bool six, uint32_t port,
	  void (*knock)(struct rd_listener *), char *err, size_t err_max)
{
	const struct rd_conf_port *p = &j->conf->port[RD_LEG_PRIVATE];
	const char *device = j->tap_name[RD_LEG_PRIVATE];
	int fd = six ? rd_sock_listen6(device, p->address6, port)
		     : rd_sock_listen(device, p->address, port);
	int r = fd < 0 ? fd : rd_listener_add(l, j->loop, fd, knock, j);
	if (r == 0)
		return 0;
	char a[RD_IPV4_TEXT];
	snprintf(err, err_max, "cannot listen on %s port %u: %s",
		 six ? p->ipv6 : rd_ipv4_text(p->address, a), port, strerror(-r));
	if (fd >= 0)
		close(fd);
	return -1;
}

static int
listen_impi(struct rd_jobs *j, bool six, char *err, size_t err_max)
{
	struct rd_listener *l = &j->listen_impi[six ? RD_IMPI_PORTS_MAX : 0];
	for (uint32_t i = 0; i < j->conf->impi.ports; i++)
		if (listen_on(j, &l[i], six, j->conf->impi.listen_port + i, rd_session_accept, err,
			      err_max))
			return -1;
	return 0;
}

void
rd_jobs_zero(struct rd_jobs *j)
{
	for (uint32_t i = 0; i < 2 * RD_IMPI_PORTS_MAX; i++)
		j->listen_impi[i].watch.fd = -1;
	j->listen_peer.watch.fd = -1;
	LIST_INIT(&j->sessions);
}

int
rd_jobs_init(struct rd_jobs *j, char *err, size_t err_max)
{
	const struct rd_conf *conf = j->conf;
	rd_jobs_zero(j);
	j->began_ns = j->loop->now_ns;
	j->limit_stranger = j->limit_allow = (struct rd_log_limit)RD_LOG_LIMIT_INIT;
	j->limit_peer = (struct rd_log_limit){.interval_ns = 10 * BASE_S_NS, .burst = 3};
	base_lobby_init(&j->lobby, BASE_LOBBY_SEATS_MAX, BASE_S_NS);
	init_members(j);
	if (init_cluster(j, err, err_max))
		return -1;
	if (listen_impi(j, false, err, err_max))
		return -1;
	if (conf->port[RD_LEG_PRIVATE].prefix6_len && listen_impi(j, true, err, err_max))
		return -1;
	if (conf->cluster.nrelays > 1 &&
	    listen_on(j, &j->listen_peer, false, conf->cluster.peer_port, rd_peer_accept, err,
		      err_max))
		return -1;
	rd_peer_init(j);
	return 0;
}

static void
close_impi(struct rd_jobs *j)
{
	for (uint32_t i = 0; i < 2 * RD_IMPI_PORTS_MAX; i++)
		rd_listener_close(&j->listen_impi[i]);
}

void
rd_jobs_fini(struct rd_jobs *j)
{
	rd_session_fini(j);
	rd_peer_fini(j);
	if (j->cluster)
		relay_cluster_fini(j->cluster);
	free(j->cluster);
	j->cluster = NULL;
	rd_listener_close(&j->listen_peer);
	close_impi(j);
	explicit_bzero(&j->peer_keys, sizeof j->peer_keys);
	explicit_bzero(&j->server_keys, sizeof j->server_keys);
	explicit_bzero(&j->auth, sizeof j->auth);
}

/* ---- time, events --------------------------------------------------------------- */

void
rd_jobs_tick(struct rd_jobs *j, bool dials)
{
	uint64_t now_ns = j->loop->now_ns;
	rd_log_limit_tick(&j->limit_stranger, now_ns);
	rd_log_limit_tick(&j->limit_allow, now_ns);
	rd_log_limit_tick(&j->limit_peer, now_ns);
	rd_listener_tick(&j->listen_peer);
	for (uint32_t i = 0; i < 2 * RD_IMPI_PORTS_MAX; i++)
		rd_listener_tick(&j->listen_impi[i]);
	rd_session_tick(j);
	relay_cluster_tick(j->cluster, now_ns);
	rd_peer_tick(j, dials);
}

void
rd_jobs_event(struct rd_jobs *j, const struct rd_event *e)
{
	switch (e->type) {
	case RD_EVENT_JOB_ENDED:
		relay_cluster_ended(j->cluster, e->job.label_base, e->worker, e->text);
		break;
	case RD_EVENT_FAILED:
		relay_cluster_ended(j->cluster, e->job.label_base, RELAY_CLUSTER_GATEWAY, e->text);
		break;
	case RD_EVENT_FINISHED:
		relay_cluster_finished(j->cluster, e->job.label_base, e->text);
		break;
	case RD_EVENT_JOB_STATE:
		relay_cluster_state(j->cluster, e->job.label_base, e->worker, e->job.ways,
				    e->job.left, j->loop->now_ns);
		if (e->job.tolerant)
			relay_cluster_tolerate(j->cluster, e->job.label_base);
		break;
	default:
		break;
	}
}

/* ---- the end -------------------------------------------------------------------- */

uint32_t
rd_jobs_running(const struct rd_jobs *j)
{
	return j->nsessions + relay_cluster_members(j->cluster);
}

bool
rd_jobs_others_there(const struct rd_jobs *j)
{
	for (uint32_t i = 0; i < j->conf->cluster.nrelays; i++)
		if (i != j->conf->cluster.self && rd_peer_up(j, i))
			return true;
	return false;
}

void
rd_jobs_drain(struct rd_jobs *j, bool leaving)
{
	relay_cluster_drain(j->cluster, leaving);
	close_impi(j);
}

uint32_t
rd_jobs_bound(const struct rd_jobs *j)
{
	return rd_session_bound(j) + relay_cluster_bound(j->cluster);
}

void
rd_jobs_end_all(struct rd_jobs *j, bool leaving, const char *why)
{
	relay_cluster_drain(j->cluster, leaving);
	if (leaving)
		relay_cluster_hand_over(j->cluster);
	rd_session_end_all(j, why);
	relay_cluster_end_all(j->cluster, why);
}

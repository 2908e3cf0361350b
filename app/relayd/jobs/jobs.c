/* The cluster's job coordinator (relay/cluster.h) between the things of this relay: orders become
 * mail for workers and gateway, their replies answers; frames go out over the peer channels, and
 * what it wants of a client's job goes to its session. */
#include "session_private.h"

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
	struct rd_control *c = mail->owner;
	relay_cluster_answer(c->cluster, mail->number, type_of[mail->type],
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
	struct rd_control *c = user;
	bool gateway = o->place == RELAY_CLUSTER_GATEWAY;
	struct rd_mail *mail = rd_control_mail(c, gateway ? 0 : o->place, mail_of[o->type]);
	mail->label_base = o->label_base;
	mail->job = o->table;
	mail->ways = o->ways;
	mail->number = o->job;
	mail->owner = c;
	mail->done = o->type == RELAY_CLUSTER_ELSEWHERE ? NULL : order_done;
	strlcpy(mail->text, o->text, sizeof mail->text);
	if (gateway)
		rd_control_post_gateway(c, mail);
	else
		rd_control_post(c, mail);
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
	struct rd_control *c = user;
	void *mem = malloc(len);
	c->count.refused_memory += !mem;
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
	struct rd_control *c = user;
	if (here)
		rd_light_job(c, job);
	else
		rd_light_job_end(c, job->label_base);
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

int
rd_jobs_init(struct rd_control *c, char *err, size_t err_max)
{
	const struct rd_conf *conf = c->conf;
	struct relay_cluster_conf cc = {
		.self = conf->cluster.self,
		.nrelays = conf->cluster.nrelays,
		.member = c->member,
		.name = conf->cluster.name,
		.gateway = conf->gateway.enable,
		.jobs_max = 2 * conf->limits.jobs, /* own ones, and those of other relays */
		.limits = {.nworld_max = conf->limits.procs, .nhosts_max = conf->limits.hosts},
		.labels = &c->labels,
		.ops = &ops,
		.user = c,
	};
	size_t len = relay_cluster_footprint(&cc);
	void *mem = len ? malloc(len) : NULL;
	c->cluster = mem ? relay_cluster_new(mem, &cc) : NULL;
	if (c->cluster)
		return 0;
	free(mem);
	snprintf(err, err_max, "control: no memory for %u jobs (limits.jobs)", conf->limits.jobs);
	return -1;
}

void
rd_jobs_fini(struct rd_control *c)
{
	if (c->cluster)
		relay_cluster_fini(c->cluster);
	free(c->cluster);
	c->cluster = NULL;
}

/* The channel to the other relays of the cluster (relay/peer.h): one TCP
 * connection per pair, dialled by the relay with the lower index.  Jobs of other
 * primaries live here as struct rd_foreign. */
#include "control.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/string.h>

#define REDIAL_NS (BASE_S_NS / 5)
#define PROBE_NS  BASE_S_NS /* for a channel to answer before another takes its place */
#define ORPHAN_NS (2 * BASE_S_NS)
#define OUT_MAX	  (RELAY_PEER_FRAME_MAX + 65536ull) /* one largest frame and small talk */

static const char *
name_of(const struct rd_control *c, uint32_t index, char buf[RD_IPV4_TEXT])
{
	return rd_ipv4_text(c->conf->cluster.relay[index].private_address, buf);
}

bool
rd_peer_up(const struct rd_control *c, uint32_t index)
{
	return c->peer[index].live != NULL;
}

/* ---- foreign jobs ------------------------------------------------------------- */

static void send_answer(struct rd_control *c, uint32_t index, enum relay_peer_type type,
			uint32_t job, const char *text);

static struct rd_foreign *
find_foreign(struct rd_control *c, uint32_t label_base)
{
	struct rd_foreign *f;
	LIST_FOREACH(f, &c->foreigns, link)
	if (f->label_base == label_base && !f->over)
		return f;
	return NULL;
}

static void
free_if_done(struct rd_foreign *f)
{
	if (!f->over || f->mails)
		return;
	if (f->took_labels)
		relay_labels_free(&f->ctl->labels, f->label_base, f->job->nworld);
	LIST_REMOVE(f, link);
	free(f->mem);
	free(f);
}

static void foreign_mail_done(struct rd_mail *mail);

static struct rd_mail *
mail_about(struct rd_foreign *f, uint32_t worker, enum rd_mail_type type, const char *text)
{
	struct rd_mail *mail = rd_control_mail(f->ctl, worker, type);
	mail->label_base = f->label_base;
	strlcpy(mail->text, text, sizeof mail->text);
	mail->done = foreign_mail_done;
	mail->owner = f;
	f->mails++;
	return mail;
}

static void
remove_foreign(struct rd_foreign *f, const char *why)
{
	f->over = true;
	if (f->in_gateway)
		rd_control_post_gateway(f->ctl, mail_about(f, 0, RD_MAIL_JOB_END, why));
	for (uint32_t w = 0; w < f->ctl->nworkers; w++)
		if (f->in_cores & 1u << w)
			rd_control_post(f->ctl, mail_about(f, w, RD_MAIL_JOB_END, why));
	f->in_cores = 0;
	f->in_gateway = false;
	rd_trunks_forget(f->ctl, f->label_base);
	rd_light_job_end(f->ctl, f->label_base);
	free_if_done(f);
}

/* why empty: finished normally. */
static void
foreign_over(struct rd_foreign *f, const char *why)
{
	if (*why)
		rd_log(RD_LOG_ERROR, "job of relay %u: ended: %s", f->peer, why);
	else
		rd_log(RD_LOG_INFO, "job of relay %u: finished", f->peer);
	remove_foreign(f, why);
}

static void
foreign_answer(struct rd_foreign *f, const struct rd_mail *mail)
{
	f->pending--;
	if (mail->result && mail->gateway)
		f->in_gateway = false;
	else if (mail->result)
		f->in_cores &= ~(1u << mail->worker);
	if (f->over || f->refused)
		return;
	if (mail->result) {
		f->refused = true;
		send_answer(f->ctl, f->peer, RELAY_PEER_REFUSE, f->label_base, mail->text);
	} else if (!f->pending) {
		send_answer(f->ctl, f->peer, RELAY_PEER_OK, f->label_base, "");
	}
}

static void
foreign_mail_done(struct rd_mail *mail)
{
	struct rd_foreign *f = mail->owner;
	f->mails--;
	if (mail->type == RD_MAIL_JOB_ADD)
		foreign_answer(f, mail);
	if (mail->type == RD_MAIL_JOB_FINISH && mail->result && f->in_gateway)
		(void)rd_foreign_finished(f->ctl, f->label_base, "");
	else if (f->refused && !f->pending && !f->over)
		remove_foreign(f, "the job was refused");
	else
		free_if_done(f);
}

/* The primary says that the job finished. */
static void
foreign_finish(struct rd_foreign *f)
{
	if (!f->job->nforeign || f->finishing) { /* the second time, or nothing to wait for */
		foreign_over(f, "");
		return;
	}
	f->finishing = true;
	if (f->in_gateway)
		rd_control_post_gateway(f->ctl, mail_about(f, 0, RD_MAIL_JOB_FINISH, ""));
	else
		rd_peer_send_end(f->ctl, f->peer, f->label_base, "");
}

bool
rd_foreign_finished(struct rd_control *c, uint32_t label_base, const char *why)
{
	struct rd_foreign *f = find_foreign(c, label_base);
	if (!f)
		return false;
	if (*why)
		rd_log(RD_LOG_WARNING,
		       "job of relay %u: finished, but not everything was delivered: %s", f->peer,
		       why);
	f->in_gateway = false;
	rd_peer_send_end(c, f->peer, label_base, "");
	return true;
}

/* Does the table name workers that this relay does not have?  Then its primary counts
 * wrongly. */
static bool
names_others(const struct rd_control *c, const struct relay_job *job)
{
	const struct rd_conf_port *port = &c->conf->port[RD_LEG_GLOBAL];
	struct impi_hostid id;
	for (uint32_t h = 0; h < job->nhosts; h++) {
		if (job->host[h].client != job->my_client ||
		    impi_hostid_decode(job->host[h].id, &id) != IMPI_HOSTID_SUCI ||
		    id.ipv4 != port->address)
			continue;
		if (id.port < port->udp_port || id.port - port->udp_port >= c->nworkers)
			return true;
	}
	return false;
}

/* A table that comes again, after the channel was cut: what it says is here already. */
static bool
known(struct rd_control *c, uint32_t index, uint32_t label_base)
{
	struct rd_foreign *f = find_foreign(c, label_base);
	if (!f)
		return false;
	f->peer = index;
	f->orphan = index != (label_base >> 24) - 1;
	if (!f->pending && !f->refused)
		send_answer(c, index, RELAY_PEER_OK, label_base, "");
	return true;
}

void
rd_foreign_left(struct rd_control *c, uint32_t label_base)
{
	struct rd_foreign *f = find_foreign(c, label_base);
	if (f && !f->left_ns)
		f->left_ns = c->now_ns;
}

/* Those that nobody else has: the tables of jobs whose primary is gone. */
static void
give_orphans(struct rd_control *c, uint32_t index)
{
	const struct rd_foreign *f;
	LIST_FOREACH(f, &c->foreigns, link)
	if (f->orphan && !f->over && !f->pending)
		(void)rd_peer_send_job(c, index, f->job);
}

/* An abort of a job without a primary is told to all that are left. */
static void
tell_end(struct rd_control *c, const struct rd_foreign *f, const char *why)
{
	for (uint32_t i = 0; i < c->conf->cluster.nrelays; i++)
		if (i == f->peer || (f->orphan && i != c->conf->cluster.self))
			rd_peer_send_end(c, i, f->label_base, why);
}

static void
foreign_begin(struct rd_control *c, uint32_t index, const struct relay_peer_frame *frame)
{
	struct relay_job_limits lim = {.nworld_max = c->conf->limits.procs,
				       .nhosts_max = c->conf->limits.hosts};
	const char *what = "out of memory";
	size_t need = relay_job_footprint(&lim);
	struct rd_foreign *f = calloc(1, sizeof *f);
	void *mem = f && need ? malloc(need) : NULL;
	if (!mem) {
		c->count.refused_memory++;
		goto err_refuse;
	}
	f->ctl = c;
	f->mem = mem;
	f->peer = index;
	f->job = relay_job_new(mem, &lim);
	if (!f->job || relay_job_decode(f->job, frame->body, frame->body_len, &what)) {
		rd_log(RD_LOG_ERROR, "relay %u sent a job table that cannot be used: %s", index,
		       what);
		goto err_refuse;
	}
	if (rd_control_serves(c, f->job) && !c->gateway) {
		what = "this relay runs no gateway (gateway.enable)";
		goto err_refuse;
	}
	if (names_others(c, f->job)) {
		what = "it names workers that this relay does not have: cluster.relays[].workers, "
		       "workers or udp_port differ between the relays";
		goto err_refuse;
	}
	f->label_base = f->job->label_base;
	if (known(c, index, f->label_base)) {
		free(mem);
		free(f);
		return;
	}
	f->orphan = index != (f->label_base >> 24) - 1;
	/* Of our own space: an earlier run of this relay was its primary. */
	f->took_labels = (f->label_base >> 24) - 1 == c->conf->cluster.self &&
			 relay_labels_take(&c->labels, f->label_base, f->job->nworld);
	LIST_INSERT_HEAD(&c->foreigns, f, link);
	f->in_cores = rd_control_workers(c);
	f->pending = c->nworkers;
	for (uint32_t w = 0; w < c->nworkers; w++) {
		struct rd_mail *mail = mail_about(f, w, RD_MAIL_JOB_ADD, "");
		mail->job = f->job;
		rd_control_post(c, mail);
	}
	rd_light_job(c, f->job);
	if (rd_control_serves(c, f->job)) {
		struct rd_mail *mail = mail_about(f, 0, RD_MAIL_JOB_ADD, "");
		mail->job = f->job;
		f->in_gateway = true;
		f->pending++;
		rd_control_post_gateway(c, mail);
	}
	rd_log(RD_LOG_INFO, "job %u of relay %u: %u processes, labels from %u", f->job->id, index,
	       f->job->nworld, f->label_base);
	return;
err_refuse:
	free(mem);
	free(f);
	/* The label base is the third word of the body; without it there is no
	 * telling which job, and the primary ends with the connection. */
	if (frame->body_len >= 12) {
		const uint8_t *b = frame->body + 8;
		send_answer(c, index, RELAY_PEER_REFUSE,
			    (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 |
				    b[3],
			    what);
	}
}

bool
rd_foreign_ended(struct rd_control *c, uint32_t label_base, const char *why, int who)
{
	struct rd_foreign *f = find_foreign(c, label_base);
	if (!f)
		return false;
	if (who >= RD_FORGOT_CORE)
		f->in_cores &= ~(1u << (who - RD_FORGOT_CORE));
	if (who == RD_FORGOT_GATEWAY)
		f->in_gateway = false;
	tell_end(c, f, why);
	foreign_over(f, why);
	return true;
}

void
rd_foreign_end_all(struct rd_control *c, const char *why)
{
	struct rd_foreign *f, *next;
	LIST_FOREACH_SAFE(f, &c->foreigns, link, next)
	if (!f->over) {
		rd_peer_send_end(c, f->peer, f->label_base, why);
		foreign_over(f, why);
	}
}

static bool
leavable(const struct rd_foreign *f)
{
	return !f->over && !f->pending && !f->refused && !f->job->nforeign;
}

uint32_t
rd_foreign_stay(const struct rd_control *c)
{
	const struct rd_foreign *f;
	uint32_t n = 0;
	LIST_FOREACH(f, &c->foreigns, link)
	n += !leavable(f);
	return n;
}

void
rd_foreign_leave(struct rd_control *c)
{
	struct rd_foreign *f, *next;
	LIST_FOREACH_SAFE(f, &c->foreigns, link, next)
	{
		if (!leavable(f))
			continue;
		rd_log(RD_LOG_INFO, "job of relay %u: left to the other relays", f->peer);
		f->over = true;
		f->in_cores = 0;
		free_if_done(f);
	}
}

/* ---- the connection ------------------------------------------------------------- */

static void
peer_lost(struct rd_peer *p, const char *why)
{
	struct rd_control *c = p->ctl;
	char a[RD_IPV4_TEXT], text[RELAY_WHY_MAX];
	p->gone = true;
	/* Other clusters read it too, and may have the same private addresses. */
	snprintf(text, sizeof text, "relay %s of cluster %s is gone: %s", name_of(c, p->index, a),
		 c->conf->cluster.name, why);
	rd_log(RD_LOG_WARNING, "%s", text);
	rd_session_peer_lost(c, p->index, text);
	rd_trunks_peer_lost(c, p->index);
	struct rd_foreign *f, *next;
	LIST_FOREACH_SAFE(f, &c->foreigns, link, next)
	{
		if (f->peer != p->index || f->over)
			continue;
		/* What foreign hosts had there is lost with its TCP channels. */
		if (f->job->nforeign || f->pending)
			foreign_over(f, text);
		else
			f->orphan = true;
	}
}

/* Jobs without a primary: over when our processes have left, and the others of the
 * cluster had time to. */
static void
end_orphans(struct rd_control *c)
{
	struct rd_foreign *f, *next;
	LIST_FOREACH_SAFE(f, &c->foreigns, link, next)
	if (f->orphan && !f->over && f->left_ns && c->now_ns - f->left_ns > ORPHAN_NS)
		foreign_over(f, "");
}

static bool
send_frame(struct rd_control *c, uint32_t index, const struct relay_peer_frame *frame)
{
	struct rd_link *l = c->peer[index].live;
	uint8_t small[RELAY_PEER_SMALL_MAX];
	return l && rd_link_send(l, small, relay_peer_encode(frame, small));
}

static void
send_answer(struct rd_control *c, uint32_t index, enum relay_peer_type type, uint32_t job,
	    const char *text)
{
	struct relay_peer_frame f = {.type = (uint8_t)type, .job = job};
	strlcpy(f.text, text, sizeof f.text);
	(void)send_frame(c, index, &f); /* a lost peer ends its jobs anyway */
}

void
rd_peer_send_end(struct rd_control *c, uint32_t index, uint32_t label_base, const char *text)
{
	send_answer(c, index, RELAY_PEER_END, label_base, text);
}

void
rd_peer_send_ways(struct rd_control *c, uint32_t label_base, uint32_t ways)
{
	struct relay_peer_frame f = {.type = RELAY_PEER_WAYS, .job = label_base, .ways = ways};
	for (uint32_t i = 0; i < c->conf->cluster.nrelays; i++)
		if (i != c->conf->cluster.self)
			(void)send_frame(c, i, &f);
}

/* It may have been started anew: its jobs, and ours for it. */
static void
greet(struct rd_control *c, uint32_t index)
{
	struct relay_peer_frame give = {.type = RELAY_PEER_GIVE};
	(void)send_frame(c, index, &give);
	rd_trunks_tell_peers(c);
}

bool
rd_peer_send_job(struct rd_control *c, uint32_t index, const struct relay_job *job)
{
	struct rd_link *l = c->peer[index].live;
	size_t len = relay_peer_job_len(job);
	uint8_t *frame = l ? malloc(len) : NULL;
	bool sent = frame && relay_peer_encode_job(job, frame, len) == len &&
		    rd_link_send(l, frame, len);
	free(frame);
	return sent;
}

static void
on_end(struct rd_control *c, uint32_t index, const struct relay_peer_frame *frame)
{
	struct rd_foreign *f = find_foreign(c, frame->job);
	if (f && (f->peer == index || f->orphan) && *frame->text)
		foreign_over(f, frame->text);
	else if (f && f->peer == index)
		foreign_finish(f);
	else if (!f && *frame->text)
		(void)rd_session_end(c, frame->job, frame->text, RD_FORGOT_NONE);
	else if (!f)
		(void)rd_session_finished(c, frame->job, index, "");
}

static void
on_frame(struct rd_control *c, uint32_t index, const struct relay_peer_frame *frame)
{
	struct relay_peer_frame pong = {.type = RELAY_PEER_PONG};
	switch ((enum relay_peer_type)frame->type) {
	case RELAY_PEER_JOB:
		if (c->phase == RD_PHASE_RUN || c->leaving || frame->body_len < 12)
			foreign_begin(c, index, frame);
		else
			send_answer(c, index, RELAY_PEER_REFUSE,
				    (uint32_t)frame->body[8] << 24 |
					    (uint32_t)frame->body[9] << 16 |
					    (uint32_t)frame->body[10] << 8 | frame->body[11],
				    "the relay stops");
		break;
	case RELAY_PEER_OK:
		rd_session_peer_answer(c, index, frame->job, NULL);
		break;
	case RELAY_PEER_REFUSE:
		rd_session_peer_answer(c, index, frame->job, frame->text);
		break;
	case RELAY_PEER_END:
		on_end(c, index, frame);
		break;
	case RELAY_PEER_PING:
		(void)send_frame(c, index, &pong);
		break;
	case RELAY_PEER_PONG:
		break;
	case RELAY_PEER_GIVE:
		rd_session_give(c, index);
		give_orphans(c, index);
		rd_trunks_tell_peers(c);
		break;
	case RELAY_PEER_WAYS:
		rd_trunks_peer_ways(c, index, frame->job, frame->ways);
		break;
	}
}

/* ---- whose channel it is ---------------------------------------------------------- */

static void
ping(struct rd_link *l)
{
	static const struct relay_peer_frame frame = {.type = RELAY_PEER_PING};
	uint8_t small[RELAY_PEER_SMALL_MAX];
	(void)rd_link_send(l, small, relay_peer_encode(&frame, small));
}

static long
take(struct rd_link *l, const uint8_t *in, size_t len, size_t *need)
{
	const struct rd_peer *p = l->owner;
	struct relay_peer_frame frame;
	long n = relay_peer_decode(in, len, &frame, need);
	if (n == RELAY_ERR_SHORT)
		return 0;
	if (n > 0)
		on_frame(p->ctl, p->index, &frame);
	return n > 0 ? n : -1;
}

static void
become_live(struct rd_peer *p, struct rd_link *l)
{
	char a[RD_IPV4_TEXT];
	p->live = l;
	p->gone = false;
	rd_log(RD_LOG_INFO, "relay %s connected", name_of(p->ctl, p->index, a));
	greet(p->ctl, p->index);
}

/* It has shown the keys, or there are none.  A channel that answers is not given up for it. */
static void
link_up(struct rd_link *l)
{
	struct rd_peer *p = l->owner;
	if (!p->live) {
		become_live(p, l);
		return;
	}
	if (p->heir)
		rd_link_close(p->heir, "it connected anew");
	p->heir = l;
	p->probe_ns = p->ctl->now_ns;
	rd_link_hold(l);
	ping(p->live);
}

static void
link_down(struct rd_link *l, const char *why)
{
	struct rd_peer *p = l->owner;
	char a[RD_IPV4_TEXT];
	p->dial_ns = p->ctl->now_ns + REDIAL_NS;
	if (p->heir == l)
		p->heir = NULL;
	if (p->live == l) {
		p->live = NULL;
		peer_lost(p, why);
	} else if (l->reached) {
		rd_log_limited(&p->ctl->limit_peer, p->ctl->now_ns, RD_LOG_INFO,
			       "no channel to relay %s yet: %s", name_of(p->ctl, p->index, a), why);
	}
}

static const struct rd_link_kind kind = {
	.in_max = RELAY_PEER_FRAME_MAX + RELAY_PEER_HEAD,
	.out_max = OUT_MAX,
	.ping_ns = RELAY_PEER_PING_NS,
	.dead_ns = RELAY_PEER_DEAD_NS,
	.take = take,
	.up = link_up,
	.down = link_down,
	.ping = ping,
};

/* The heir's turn: the channel is gone, has answered, or has had its time to. */
static void
settle(struct rd_peer *p)
{
	struct rd_link *heir = p->heir;
	if (!heir)
		return;
	if (p->live && p->live->heard_ns > p->probe_ns) {
		p->ctl->count.peer_claims++;
		rd_link_close(heir, "the channel that is there answers");
		return;
	}
	if (p->live && p->ctl->now_ns - p->probe_ns < PROBE_NS)
		return;
	p->heir = NULL;
	if (p->live)
		rd_link_close(p->live, "it connected anew");
	become_live(p, heir);
	rd_link_release(heir);
}

/* A place for a connection that says to be p: a free one, or the oldest that has shown
 * nothing. */
static struct rd_link *
place(struct rd_peer *p)
{
	struct rd_link *oldest = NULL;
	for (uint32_t i = 0; i < RD_PEER_LINKS; i++) {
		struct rd_link *l = &p->link[i];
		if (!rd_link_open(l))
			return l;
		if (!l->up && (!oldest || l->since_ns < oldest->since_ns))
			oldest = l;
	}
	if (oldest)
		rd_link_close(oldest, "it did not show the key before others came");
	return oldest;
}

void
rd_peer_accept(struct rd_listener *listener)
{
	struct rd_control *c = listener->ctl;
	char a[RD_IPV4_TEXT];
	uint32_t ip, self = c->conf->cluster.self;
	int fd = rd_listener_accept(listener, &ip, NULL);
	if (fd < 0)
		return;
	for (uint32_t i = 0; i < self; i++) { /* only lower ones dial us */
		if (c->conf->cluster.relay[i].private_address != ip)
			continue;
		struct rd_link *l = place(&c->peer[i]);
		if (!l)
			break;
		rd_sock_tune(fd, true);
		(void)rd_link_adopt(l, fd, false);
		return;
	}
	rd_log_limited(&c->limit_peer, c->now_ns, RD_LOG_WARNING,
		       "connection to the peer port from %s refused: not a relay before us in "
		       "cluster.relays",
		       rd_ipv4_text(ip, a));
	close(fd);
}

static void
dial(struct rd_control *c, struct rd_peer *p)
{
	p->dial_ns = c->now_ns + REDIAL_NS;
	int fd = rd_sock_connect(c->tap_name[RD_LEG_PRIVATE], c->conf->port[RD_LEG_PRIVATE].address,
				 c->conf->cluster.relay[p->index].private_address,
				 c->conf->cluster.peer_port, true);
	if (fd >= 0) /* else again after a pause */
		(void)rd_link_adopt(&p->link[0], fd, true);
}

void
rd_peer_tick(struct rd_control *c)
{
	end_orphans(c);
	for (uint32_t i = 0; i < c->conf->cluster.nrelays; i++) {
		struct rd_peer *p = &c->peer[i];
		if (i == c->conf->cluster.self)
			continue;
		for (uint32_t k = 0; k < RD_PEER_LINKS; k++)
			rd_link_tick(&p->link[k]);
		settle(p);
		if (i > c->conf->cluster.self && !rd_link_open(&p->link[0]) &&
		    c->now_ns >= p->dial_ns && c->phase == RD_PHASE_RUN)
			dial(c, p);
	}
}

void
rd_peer_init(struct rd_control *c)
{
	for (uint32_t i = 0; i < RD_RELAYS_MAX; i++) {
		struct rd_peer *p = &c->peer[i];
		p->ctl = c;
		p->index = i;
		for (uint32_t k = 0; k < RD_PEER_LINKS; k++)
			rd_link_init(&p->link[k], c, &kind,
				     c->peer_keys.nkeys ? &c->peer_keys : NULL, p);
	}
	if (c->conf->cluster.nrelays > 1 && !c->peer_keys.nkeys)
		rd_log(RD_LOG_WARNING,
		       "no leg is sealed, so the channels between the relays of this cluster are "
		       "not either: who can take a relay's private address can give it jobs");
}

static void
fini_links(struct rd_peer *p)
{
	p->live = p->heir = NULL;
	for (uint32_t k = 0; k < RD_PEER_LINKS; k++)
		rd_link_fini(&p->link[k]);
}

void
rd_peer_close(struct rd_control *c)
{
	rd_listener_close(&c->listen_peer);
	for (uint32_t i = 0; i < RD_RELAYS_MAX; i++)
		fini_links(&c->peer[i]);
}

void
rd_peer_fini(struct rd_control *c)
{
	struct rd_foreign *f, *next;
	LIST_FOREACH_SAFE(f, &c->foreigns, link, next)
	{
		LIST_REMOVE(f, link);
		free(f->mem);
		free(f);
	}
	for (uint32_t i = 0; i < RD_RELAYS_MAX; i++)
		fini_links(&c->peer[i]);
	explicit_bzero(&c->peer_keys, sizeof c->peer_keys);
	explicit_bzero(&c->server_keys, sizeof c->server_keys);
	explicit_bzero(&c->light_keys, sizeof c->light_keys);
}

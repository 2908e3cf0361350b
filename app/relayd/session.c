/* A job whose client connected to us: two TCP connections and, between them, a
 * relay_startup machine; its table installed at the worker and at the other
 * relays of the cluster; its end told to everybody.
 *
 *   client --TCP--> [rx | startup machine | tx] --TCP--> IMPI server
 *                          |  TABLE
 *                          +--> worker (RD_MAIL_JOB_ADD), peers (JOB): wait for all
 *                          |  ENDED
 *                          +--> worker (RD_MAIL_JOB_END), peers (END), flush, close */
#include "control.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bsd/string.h>

#define OUT_BYTES 65536
#define FLUSH_NS  (2 * BASE_S_NS)  /* after the end: time for the last bytes */
#define DIAL_NS	  (10 * BASE_S_NS) /* for the server to answer */
#define PEER_NS	  (5 * BASE_S_NS)  /* for the other relays to be connected */
#define SILENT_NS (30 * BASE_S_NS) /* for a client to say its rank */

/* Bytes taken from the machine and not yet taken by the socket. */
struct side {
	struct rd_watch watch;
	uint8_t out[OUT_BYTES];
	size_t off, len;
};

struct rd_session {
	LIST_ENTRY(rd_session) link;
	struct rd_control *ctl;
	struct relay_startup *s;
	void *mem;
	struct side side[2]; /* by enum relay_side */
	char client[RD_IPV4_TEXT + 8];
	uint32_t id;
	uint32_t label_base; /* 0: no table yet */
	uint32_t mails;	     /* outstanding at the worker */
	bool in_core, ended, dead, dialing;
	bool core_pending; /* JOB_ADD not answered */
	/* Bit per relay of the cluster: table not sent; not answered; must hear of the end. */
	uint32_t peers_wanted, peers_pending, peers_told;
	uint64_t begun_ns, dial_ns, table_ns, ended_ns;
};

static void pump(struct rd_session *s);

/* ---- ending ------------------------------------------------------------------- */

static void
mail_done(struct rd_mail *mail)
{
	struct rd_session *s = mail->owner;
	s->mails--;
	if (mail->type != RD_MAIL_JOB_ADD)
		return;
	s->core_pending = false;
	if (mail->result != RELAY_ERR_OK) {
		s->in_core = false;
		if (!s->ended) {
			char why[RELAY_WHY_MAX];
			snprintf(why, sizeof why, "relay refuses the job: %s",
				 relay_strerror(mail->result));
			relay_startup_table_done(s->s, why);
		}
	} else if (!s->ended && !s->peers_pending && !s->peers_wanted) {
		relay_startup_table_done(s->s, NULL);
	}
	pump(s);
}

static void
remove_from_core(struct rd_session *s, const char *why)
{
	if (!s->in_core)
		return;
	s->in_core = false;
	struct rd_mail *mail = rd_control_mail(s->ctl, RD_MAIL_JOB_END);
	mail->label_base = s->label_base;
	strlcpy(mail->text, why, sizeof mail->text);
	mail->done = mail_done;
	mail->owner = s;
	s->mails++;
	rd_control_post(s->ctl, mail);
}

static void
on_ended(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	bool ok = relay_startup_ok(s->s);
	const char *why = ok ? "" : relay_startup_why(s->s);
	s->ended = true;
	s->ended_ns = c->now_ns;
	if (ok)
		rd_log(RD_LOG_INFO, "job %u: finished", s->id);
	else
		rd_log(RD_LOG_ERROR, "job %u (client %s): ended: %s", s->id, s->client, why);
	/* An end without a reason would read as a normal one. */
	if (!ok && !*why)
		why = "the job ended without a reason";
	remove_from_core(s, why);
	for (uint32_t i = 0; i < c->conf->cluster.nrelays; i++)
		if (s->peers_told & 1u << i)
			rd_peer_send_end(c, i, s->label_base, why);
	s->peers_told = s->peers_pending = s->peers_wanted = 0;
}

static bool
drained(const struct rd_session *s, int side)
{
	return s->side[side].watch.fd < 0 ||
	       (s->side[side].off == s->side[side].len &&
		!relay_startup_tx_pending(s->s, (enum relay_side)side));
}

/* After the end: close when everything is sent, free when the worker has answered
 * (it reads the table until then). */
static void
reap(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	if (!s->ended || s->dead)
		return;
	bool late = c->now_ns - s->ended_ns > FLUSH_NS;
	for (int i = 0; i < 2; i++)
		if (late || drained(s, i))
			rd_watch_close(c, &s->side[i].watch);
	if (s->mails || s->side[0].watch.fd >= 0 || s->side[1].watch.fd >= 0)
		return;
	s->dead = true; /* freed by the tick: events of this turn may still name it */
}

/* ---- sockets -------------------------------------------------------------------- */

static void
lost(struct rd_session *s, enum relay_side side, const char *text)
{
	rd_watch_close(s->ctl, &s->side[side].watch);
	s->side[side].off = s->side[side].len = 0;
	relay_startup_eof(s->s, side, text);
}

static void
write_side(struct rd_session *s, enum relay_side side)
{
	struct side *d = &s->side[side];
	while (d->watch.fd >= 0 && !(side == RELAY_SIDE_SERVER && s->dialing)) {
		if (d->off == d->len) {
			d->off = 0;
			d->len = relay_startup_tx(s->s, side, d->out, sizeof d->out);
			if (!d->len)
				break;
		}
		ssize_t n = send(d->watch.fd, d->out + d->off, d->len - d->off, MSG_NOSIGNAL);
		if (n > 0) {
			d->off += (size_t)n;
		} else if (errno == EAGAIN) {
			rd_watch_events(s->ctl, &d->watch, EPOLLIN | EPOLLOUT);
			return;
		} else if (errno != EINTR) {
			lost(s, side, strerror(errno));
			return;
		}
	}
	if (d->watch.fd >= 0 && !(side == RELAY_SIDE_SERVER && s->dialing))
		rd_watch_events(s->ctl, &d->watch, EPOLLIN);
}

static void
read_side(struct rd_session *s, enum relay_side side)
{
	uint8_t buf[65536];
	for (int i = 0; i < 16 && s->side[side].watch.fd >= 0; i++) {
		ssize_t n = recv(s->side[side].watch.fd, buf, sizeof buf, 0);
		if (n > 0) {
			relay_startup_rx(s->s, side, buf, (size_t)n);
		} else if (n == 0) {
			lost(s, side, NULL);
			return;
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			lost(s, side, strerror(errno));
			return;
		}
	}
}

static void
client_ready(struct rd_watch *w, uint32_t events)
{
	struct rd_session *s = w->owner;
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_side(s, RELAY_SIDE_CLIENT);
	pump(s);
}

static void
server_ready(struct rd_watch *w, uint32_t events)
{
	struct rd_session *s = w->owner;
	if (s->dialing) {
		int err = rd_sock_error(w->fd);
		s->dialing = false;
		if (err) {
			char text[128];
			snprintf(text, sizeof text, "%.60s: %s", s->ctl->conf->impi.server,
				 strerror(-err));
			lost(s, RELAY_SIDE_SERVER, text);
		} else {
			rd_watch_events(s->ctl, w, EPOLLIN);
			relay_startup_connected(s->s);
		}
	} else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		read_side(s, RELAY_SIDE_SERVER);
	}
	pump(s);
}

/* ---- events of the machine --------------------------------------------------- */

static void
on_connect(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	int fd = rd_sock_connect(c, RD_LEG_GLOBAL, c->server_ip, c->conf->impi.server_port);
	struct rd_watch *w = &s->side[RELAY_SIDE_SERVER].watch;
	w->owner = s;
	w->fn = server_ready;
	if (fd >= 0 && rd_watch_add(c, w, fd, EPOLLOUT) == 0) {
		s->dialing = true;
		s->dial_ns = c->now_ns;
		return;
	}
	char text[128];
	snprintf(text, sizeof text, "%.60s: %s", c->conf->impi.server,
		 strerror(fd < 0 ? -fd : EIO));
	if (fd >= 0)
		close(fd);
	relay_startup_eof(s->s, RELAY_SIDE_SERVER, text);
}

/* The table to the other relays of the cluster: to those that are connected now; the
 * tick tries the others again (a relay may have been started a moment ago). */
static void
send_tables(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	for (uint32_t i = 0; i < c->conf->cluster.nrelays; i++) {
		if (!(s->peers_wanted & 1u << i) ||
		    !rd_peer_send_job(c, i, relay_startup_job(s->s)))
			continue;
		s->peers_wanted &= ~(1u << i);
		s->peers_pending |= 1u << i;
		s->peers_told |= 1u << i;
	}
	if (!s->peers_wanted || c->now_ns - s->table_ns < PEER_NS)
		return;
	uint32_t first = (uint32_t)__builtin_ctz(s->peers_wanted);
	char why[RELAY_WHY_MAX], a[RD_IPV4_TEXT];
	snprintf(why, sizeof why, "relay %s of cluster %s is not reachable",
		 rd_ipv4_text(c->conf->cluster.relay[first].private_address, a),
		 c->conf->cluster.name);
	s->peers_wanted = 0;
	relay_startup_table_done(s->s, why);
}

static void
on_table(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	const struct relay_job *job = relay_startup_job(s->s);
	s->label_base = job->label_base;
	s->table_ns = c->now_ns;
	s->peers_wanted = ((1u << c->conf->cluster.nrelays) - 1) & ~(1u << c->conf->cluster.self);
	send_tables(s);
	struct rd_mail *mail = rd_control_mail(c, RD_MAIL_JOB_ADD);
	mail->job = job;
	mail->done = mail_done;
	mail->owner = s;
	s->mails++;
	s->in_core = s->core_pending = true;
	rd_control_post(c, mail);
	rd_log(RD_LOG_INFO,
	       "job %u: client %u of %u, %u processes of %u are ours, labels %u..%u, %u relay "
	       "hosts",
	       s->id, job->my_client, relay_startup_nclients(s->s), job->nlocal, job->nworld,
	       job->label_base, job->label_base + job->nworld - 1, job->nhosts);
}

/* One event may cause the next; write what they produced. */
static void
pump(struct rd_session *s)
{
	enum relay_startup_event e;
	while (!s->ended && (e = relay_startup_poll(s->s)) != RELAY_STARTUP_NONE) {
		switch (e) {
		case RELAY_STARTUP_CONNECT:
			on_connect(s);
			break;
		case RELAY_STARTUP_TABLE:
			on_table(s);
			break;
		case RELAY_STARTUP_RUNNING:
			rd_log(RD_LOG_INFO, "job %u: running", s->id);
			break;
		case RELAY_STARTUP_ENDED:
			on_ended(s);
			break;
		case RELAY_STARTUP_NONE:
			break;
		}
		if (!s->ended) {
			write_side(s, RELAY_SIDE_CLIENT);
			write_side(s, RELAY_SIDE_SERVER);
		}
	}
	write_side(s, RELAY_SIDE_CLIENT);
	write_side(s, RELAY_SIDE_SERVER);
	/* A failed write may have told the machine something. */
	if (!s->ended && relay_startup_poll(s->s) == RELAY_STARTUP_ENDED)
		on_ended(s);
	reap(s);
}

/* ---- beginning ------------------------------------------------------------------ */

static bool
start(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	struct relay_startup_conf conf = {
		.limits = {.nworld_max = c->conf->limits.procs,
			   .nhosts_max = c->conf->limits.hosts},
		.member = c->member,
		.nmembers = c->conf->cluster.nrelays,
		.client_auth = c->auth,
		.server_auth = c->auth,
		.labels = &c->labels,
		.job_id = s->id,
		.gateway = false,
	};
	if (getrandom(&conf.token, sizeof conf.token, 0) < 0)
		return false;
	size_t need = relay_startup_footprint(&conf.limits);
	s->mem = need ? aligned_alloc(64, (need + 63) & ~(size_t)63) : NULL;
	s->s = s->mem ? relay_startup_new(s->mem, &conf) : NULL;
	return s->s;
}

static void
free_session(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	rd_watch_close(c, &s->side[0].watch);
	rd_watch_close(c, &s->side[1].watch);
	relay_startup_fini(s->s);
	free(s->mem);
	free(s);
}

void
rd_session_accept(struct rd_watch *w, uint32_t events)
{
	struct rd_control *c = w->owner;
	struct sockaddr_in sin = {0};
	socklen_t len = sizeof sin;
	(void)events;
	int fd = accept4(w->fd, (struct sockaddr *)&sin, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	char from[RD_IPV4_TEXT];
	rd_ipv4_text(ntohl(sin.sin_addr.s_addr), from);
	struct rd_session *s = NULL;
	if (c->nsessions >= c->conf->limits.jobs) {
		rd_log(RD_LOG_WARNING, "client %s refused: %u jobs are running (limits.jobs)", from,
		       c->nsessions);
		goto err_close;
	}
	s = calloc(1, sizeof *s);
	if (!s) {
		rd_log(RD_LOG_ERROR, "client %s refused: out of memory", from);
		goto err_close;
	}
	*s = (struct rd_session){
		.ctl = c,
		.id = c->next_job_id,
		.begun_ns = c->now_ns,
		.side[0].watch.fd = -1,
		.side[1].watch.fd = -1,
	};
	snprintf(s->client, sizeof s->client, "%s:%u", from, ntohs(sin.sin_port));
	s->side[RELAY_SIDE_CLIENT].watch.owner = s;
	s->side[RELAY_SIDE_CLIENT].watch.fn = client_ready;
	rd_sock_tune(fd);
	if (!start(s) || rd_watch_add(c, &s->side[RELAY_SIDE_CLIENT].watch, fd, EPOLLIN)) {
		rd_log(RD_LOG_ERROR,
		       "client %s refused: out of memory for a job of limits.procs %u", s->client,
		       c->conf->limits.procs);
		goto err_free;
	}
	c->next_job_id++;
	c->nsessions++;
	c->count.sessions++;
	LIST_INSERT_HEAD(&c->sessions, s, link);
	rd_log(RD_LOG_INFO, "job %u: client %s connected", s->id, s->client);
	return;
err_free:
	if (s->s)
		relay_startup_fini(s->s);
	free(s->mem);
	free(s);
err_close:
	c->count.sessions_refused++;
	close(fd);
}

/* ---- from the rest of control --------------------------------------------------- */

static struct rd_session *
find(struct rd_control *c, uint32_t label_base)
{
	struct rd_session *s;
	LIST_FOREACH(s, &c->sessions, link)
	if (s->label_base == label_base && !s->ended)
		return s;
	return NULL;
}

void
rd_session_peer_answer(struct rd_control *c, uint32_t index, uint32_t label_base,
		       const char *refusal)
{
	struct rd_session *s = find(c, label_base);
	if (!s || !(s->peers_pending & 1u << index))
		return;
	s->peers_pending &= ~(1u << index);
	if (refusal) {
		char why[RELAY_WHY_MAX], a[RD_IPV4_TEXT];
		s->peers_told &= ~(1u << index);
		snprintf(why, sizeof why, "relay %s refuses the job: %.120s",
			 rd_ipv4_text(c->conf->cluster.relay[index].private_address, a), refusal);
		relay_startup_table_done(s->s, why);
	} else if (!s->peers_pending && !s->peers_wanted && !s->core_pending) {
		relay_startup_table_done(s->s, NULL);
	}
	pump(s);
}

bool
rd_session_end(struct rd_control *c, uint32_t label_base, const char *why, bool from_core)
{
	struct rd_session *s = find(c, label_base);
	if (!s)
		return false;
	if (from_core)
		s->in_core = false;
	relay_startup_abort(s->s, why);
	pump(s);
	return true;
}

void
rd_session_end_all(struct rd_control *c, const char *why, int with_peer)
{
	struct rd_session *s;
	LIST_FOREACH(s, &c->sessions, link)
	{
		if (s->ended || (with_peer >= 0 && !(s->peers_told & 1u << with_peer)))
			continue;
		relay_startup_abort(s->s, why);
		pump(s);
	}
}

void
rd_session_tick(struct rd_control *c)
{
	struct rd_session *s, *next;
	LIST_FOREACH_SAFE(s, &c->sessions, link, next)
	{
		if (!s->ended && s->dialing && c->now_ns - s->dial_ns > DIAL_NS) {
			char text[RELAY_WHY_MAX];
			s->dialing = false;
			snprintf(text, sizeof text, "%.60s: no answer within 10 s",
				 c->conf->impi.server);
			lost(s, RELAY_SIDE_SERVER, text);
			pump(s);
		} else if (!s->ended && relay_startup_rank(s->s) < 0 &&
			   c->now_ns - s->begun_ns > SILENT_NS) {
			relay_startup_abort(s->s, "the client did not say its rank within 30 s");
			pump(s);
		}
		if (!s->ended && s->peers_wanted) {
			send_tables(s);
			pump(s);
		}
		reap(s);
		if (s->dead) {
			LIST_REMOVE(s, link);
			c->nsessions--;
			free_session(s);
		}
	}
}

void
rd_session_fini(struct rd_control *c)
{
	struct rd_session *s, *next;
	LIST_FOREACH_SAFE(s, &c->sessions, link, next)
	{
		LIST_REMOVE(s, link);
		free_session(s);
	}
	c->nsessions = 0;
}

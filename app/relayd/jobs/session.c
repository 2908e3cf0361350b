/* A job whose client connected to us: two TCP connections and, between them, a
 * relay_startup machine; its table installed at the worker, the gateway and the other
 * relays of the cluster; its end told to everybody.
 *
 *   client --TCP--> [rx | startup machine | tx] --TCP--> IMPI server
 *                          |  TABLE
 *                          +--> workers, gateway (RD_MAIL_JOB_ADD), peers (JOB): wait for all
 *                          |  ENDED
 *                          +--> gateways finish (control.h), then
 *                          +--> workers (RD_MAIL_JOB_END), peers (END), flush, close */
#include "session_private.h"

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

#define FLUSH_NS  (2 * BASE_S_NS)  /* after the end: time for the last bytes */
#define DIAL_NS	  (10 * BASE_S_NS) /* for the server to answer */
#define SILENT_NS (30 * BASE_S_NS) /* for a client to say its rank */

/* ---- ending ------------------------------------------------------------------- */

static void finish_step(struct rd_session *s);

static void
all_installed(struct rd_session *s)
{
	if (!s->ended && !s->pending && !s->peers_pending && !s->peers_wanted)
		relay_startup_table_done(s->s, NULL);
}

static void
mail_done(struct rd_mail *mail)
{
	struct rd_session *s = mail->owner;
	s->mails--;
	if (mail->type == RD_MAIL_JOB_FINISH && mail->result) {
		/* The gateway has forgotten it (it failed a moment ago, the event is under way). */
		s->in_gateway = false;
		finish_step(s);
	}
	if (mail->type != RD_MAIL_JOB_ADD)
		return;
	s->pending--;
	if (mail->result) {
		if (mail->gateway)
			s->in_gateway = false;
		else
			s->in_cores &= ~(1u << mail->worker);
		if (!s->ended) {
			char why[RELAY_WHY_MAX];
			snprintf(why, sizeof why, "relay refuses the job: %.160s", mail->text);
			relay_startup_table_done(s->s, why);
		}
	} else {
		all_installed(s);
	}
	rd_session_pump(s);
}

static struct rd_mail *
mail_about(struct rd_session *s, uint32_t worker, enum rd_mail_type type, const char *text)
{
	struct rd_mail *mail = rd_control_mail(s->ctl, worker, type);
	mail->label_base = s->label_base;
	strlcpy(mail->text, text, sizeof mail->text);
	mail->done = mail_done;
	mail->owner = s;
	s->mails++;
	return mail;
}

/* why empty: finished normally. */
static void
remove_everywhere(struct rd_session *s, const char *why)
{
	struct rd_control *c = s->ctl;
	if (s->in_gateway)
		rd_control_post_gateway(c, mail_about(s, 0, RD_MAIL_JOB_END, why));
	for (uint32_t w = 0; w < c->nworkers; w++)
		if (s->in_cores & 1u << w)
			rd_control_post(c, mail_about(s, w, RD_MAIL_JOB_END, why));
	for (uint32_t i = 0; i < c->conf->cluster.nrelays; i++)
		if (s->peers_told & 1u << i)
			rd_peer_send_end(c, i, s->label_base, why);
	rd_trunks_forget(c, s->label_base);
	rd_light_job_end(c, s->label_base);
	s->in_cores = 0;
	s->in_gateway = s->finishing = false;
	s->peers_told = s->peers_pending = s->peers_wanted = s->peers_finishing = 0;
}

/* Every gateway that had a part has done it: the cores may forget the job. */
static void
finish_step(struct rd_session *s)
{
	if (s->finishing && !s->in_gateway && !s->peers_finishing)
		remove_everywhere(s, "");
}

static void
finish_gateways(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	s->finishing = true;
	if (s->in_gateway)
		rd_control_post_gateway(c, mail_about(s, 0, RD_MAIL_JOB_FINISH, ""));
	s->peers_finishing = s->peers_told;
	for (uint32_t i = 0; i < c->conf->cluster.nrelays; i++)
		if (s->peers_told & 1u << i)
			rd_peer_send_end(c, i, s->label_base, "");
	finish_step(s);
}

/* It ended well, and then something went wrong while the gateways finished. */
static void
give_up(struct rd_session *s, const char *why)
{
	rd_log(RD_LOG_WARNING, "job %u (port %u): finished, but not everything was delivered: %s",
	       s->id, listen_port(s), why);
	remove_everywhere(s, why);
}

static void
on_ended(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	bool ok = relay_startup_ok(s->s);
	const char *why = ok ? "" : relay_startup_why(s->s);
	s->ended = true;
	s->ended_ns = c->now_ns;
	rd_session_leave_lobby(s);
	if (!s->admitted)
		rd_log_limited(&c->limit_stranger, c->now_ns, RD_LOG_WARNING,
			       "client %s refused on port %u: ended: %s", s->client, listen_port(s),
			       why);
	else if (ok)
		rd_log(RD_LOG_INFO, "job %u (port %u): finished", s->id, listen_port(s));
	else
		rd_log(RD_LOG_ERROR, "job %u (port %u, client %s): ended: %s", s->id,
		       listen_port(s), s->client, why);
	if (ok && s->label_base && relay_startup_job(s->s)->nforeign)
		finish_gateways(s);
	else /* an end without a reason would read as a normal one */
		remove_everywhere(s, ok || *why ? why : "the job ended without a reason");
}

static bool
drained(const struct rd_session *s, int side)
{
	return s->side[side].watch.fd < 0 ||
	       (s->side[side].off == s->side[side].len &&
		!relay_startup_tx_pending(s->s, (enum relay_side)side));
}

/* After the end: close when everything is sent, free when the workers have answered
 * (they read the table until then). */
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
	if (s->mails || s->finishing || s->side[0].watch.fd >= 0 || s->side[1].watch.fd >= 0)
		return;
	s->dead = true; /* freed by the tick: events of this turn may still name it */
}

/* ---- sockets -------------------------------------------------------------------- */

/* Sealed, and it has not shown yet that it has the key. */
static bool
greeting(const struct rd_session *s)
{
	return s->seal && s->seal->state == SEAL_LINK_OPENING;
}

/* Once a job runs its processes' paths say whether it lives.  The server closes for all when
 * another cluster's primary has died; a connection to the client dies with a cable, while a
 * client that ends closes it.  Foreign processes have nothing but these connections. */
static bool
goes_on(const struct rd_session *s, enum relay_side side, const char *text)
{
	return s->running && !s->finishing && !relay_startup_job(s->s)->nforeign &&
	       (side == RELAY_SIDE_SERVER || text);
}

static void
lost(struct rd_session *s, enum relay_side side, const char *text)
{
	rd_watch_close(s->ctl, &s->side[side].watch);
	s->side[side].off = s->side[side].len = 0;
	if (goes_on(s, side, text)) {
		rd_log(RD_LOG_WARNING, "job %u (port %u): the %s is lost (%s); the job goes on",
		       s->id, listen_port(s), side == RELAY_SIDE_SERVER ? "server" : "client",
		       text ? text : "closed");
		return;
	}
	relay_startup_eof(s->s, side, text);
}

static void
write_side(struct rd_session *s, enum relay_side side)
{
	struct side *d = &s->side[side];
	while (d->watch.fd >= 0 && !(side == RELAY_SIDE_SERVER && s->dialing)) {
		if (d->off == d->len) {
			d->off = 0;
			d->len = side == RELAY_SIDE_SERVER && s->seal
					 ? rd_session_seal_tx(s, d->out)
					 : relay_startup_tx(s->s, side, d->out, sizeof d->out);
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

/* The sealed connection ends.  Before it is up: what people may have forgotten. */
static void
no_seal(struct rd_session *s, const char *what)
{
	char text[2 * SEAL_TEXT];
	snprintf(text, sizeof text, "%.60s:%u: %s%s", s->ctl->conf->impi.server_host,
		 server_port(s), what,
		 s->proven ? "" : "; is a key of sealing.key_file in its --key-file?");
	lost(s, RELAY_SIDE_SERVER, text);
}

static void
read_side(struct rd_session *s, enum relay_side side)
{
	uint8_t buf[65536];
	for (int i = 0; i < 16 && s->side[side].watch.fd >= 0; i++) {
		ssize_t n = recv(s->side[side].watch.fd, buf, sizeof buf, 0);
		if (n > 0 && side == RELAY_SIDE_SERVER && s->seal) {
			if (!rd_session_seal_rx(s, buf, (size_t)n)) {
				no_seal(s, s->seal->why);
				return;
			}
		} else if (n > 0) {
			relay_startup_rx(s->s, side, buf, (size_t)n);
		} else if (n == 0 && side == RELAY_SIDE_SERVER && greeting(s)) {
			no_seal(s, "it closed the connection");
			return;
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

void
rd_session_client_ready(struct rd_watch *w, uint32_t events)
{
	struct rd_session *s = w->owner;
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_side(s, RELAY_SIDE_CLIENT);
	rd_session_pump(s);
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
			snprintf(text, sizeof text, "%.60s:%u: %s", s->ctl->conf->impi.server_host,
				 server_port(s), strerror(-err));
			lost(s, RELAY_SIDE_SERVER, text);
		} else {
			rd_watch_events(s->ctl, w, EPOLLIN);
			if (!s->ctl->server_keys.nkeys)
				relay_startup_connected(s->s);
			else if (!rd_session_seal(s))
				lost(s, RELAY_SIDE_SERVER, "no memory to seal the connection");
			s->dial_ns = s->ctl->now_ns;
		}
	} else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		read_side(s, RELAY_SIDE_SERVER);
	}
	rd_session_pump(s);
}

/* ---- events of the machine --------------------------------------------------- */

static void
on_connect(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	if (!rd_session_admit(s))
		return;
	int fd = rd_sock_connect(c->tap_name[RD_LEG_GLOBAL], c->conf->port[RD_LEG_GLOBAL].address,
				 c->server_ip, server_port(s), true);
	struct rd_watch *w = &s->side[RELAY_SIDE_SERVER].watch;
	w->owner = s;
	w->fn = server_ready;
	if (fd >= 0 && rd_watch_add(c, w, fd, EPOLLOUT) == 0) {
		s->dialing = true;
		s->dial_ns = c->now_ns;
		return;
	}
	char text[128];
	snprintf(text, sizeof text, "%.60s:%u: %s", c->conf->impi.server_host, server_port(s),
		 strerror(fd < 0 ? -fd : EIO));
	if (fd >= 0)
		close(fd);
	relay_startup_eof(s->s, RELAY_SIDE_SERVER, text);
}

/* Relays that went before they had the table.  Its processes wait for them for a while and go
 * on; to foreign hosts they are all there is. */
static void
without(struct rd_session *s, uint32_t peers, const char *what)
{
	struct rd_control *c = s->ctl;
	char why[RELAY_WHY_MAX], a[RD_IPV4_TEXT];
	snprintf(why, sizeof why, "relay %s of cluster %s is %.60s",
		 rd_ipv4_text(c->conf->cluster.relay[__builtin_ctz(peers)].private_address, a),
		 c->conf->cluster.name, what);
	s->peers_wanted &= ~peers;
	s->peers_pending &= ~peers;
	s->peers_told &= ~peers;
	if (relay_startup_job(s->s)->nforeign) {
		relay_startup_table_done(s->s, why);
		return;
	}
	rd_log(RD_LOG_WARNING, "job %u (port %u): %s; it begins without it", s->id, listen_port(s),
	       why);
	all_installed(s);
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
	if (s->peers_wanted && c->now_ns - s->table_ns >= PEER_NS)
		without(s, s->peers_wanted, "not reachable");
}

static void
on_table(struct rd_session *s)
{
	struct rd_control *c = s->ctl;
	const struct relay_job *job = relay_startup_job(s->s);
	s->label_base = job->label_base;
	s->table_ns = c->now_ns;
	for (uint32_t m = 0; m < s->nmembers; m++)
		s->peers_wanted |= 1u << s->member_index[m];
	s->peers_wanted &= ~(1u << c->conf->cluster.self);
	send_tables(s);
	s->in_cores = rd_control_workers(c);
	s->pending = c->nworkers;
	for (uint32_t w = 0; w < c->nworkers; w++) {
		struct rd_mail *mail = mail_about(s, w, RD_MAIL_JOB_ADD, "");
		mail->job = job;
		rd_control_post(c, mail);
	}
	rd_light_job(c, job);
	if (c->gateway && rd_control_serves(c, job)) {
		struct rd_mail *mail = mail_about(s, 0, RD_MAIL_JOB_ADD, "");
		mail->job = job;
		s->in_gateway = true;
		s->pending++;
		rd_control_post_gateway(c, mail);
	}
	rd_log(RD_LOG_INFO,
	       "job %u (port %u): client %u of %u, %u processes of %u are ours, labels %u..%u, "
	       "%u relay hosts, %u foreign hosts",
	       s->id, listen_port(s), job->my_client, relay_startup_nclients(s->s), job->nlocal,
	       job->nworld, job->label_base, job->label_base + job->nworld - 1, job->nhosts,
	       job->nforeign);
}

/* One event may cause the next; write what they produced. */
void
rd_session_pump(struct rd_session *s)
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
			s->running = true;
			rd_log(RD_LOG_INFO, "job %u (port %u): running", s->id, listen_port(s));
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

/* ---- from the rest of control --------------------------------------------------- */

static struct rd_session *
find(struct rd_control *c, uint32_t label_base)
{
	struct rd_session *s;
	LIST_FOREACH(s, &c->sessions, link)
	if (s->label_base == label_base && (!s->ended || s->finishing))
		return s;
	return NULL;
}

void
rd_session_peer_answer(struct rd_control *c, uint32_t index, uint32_t label_base,
		       const char *refusal)
{
	struct rd_session *s = find(c, label_base);
	if (!s || s->ended || !(s->peers_pending & 1u << index))
		return;
	s->peers_pending &= ~(1u << index);
	if (refusal) {
		char why[RELAY_WHY_MAX], a[RD_IPV4_TEXT];
		s->peers_told &= ~(1u << index);
		snprintf(why, sizeof why, "relay %s of cluster %s refuses the job: %.110s",
			 rd_ipv4_text(c->conf->cluster.relay[index].private_address, a),
			 c->conf->cluster.name, refusal);
		relay_startup_table_done(s->s, why);
	} else {
		all_installed(s);
	}
	rd_session_pump(s);
}

static void
end_session(struct rd_session *s, const char *why)
{
	if (s->finishing)
		give_up(s, why);
	else
		relay_startup_abort(s->s, why);
	rd_session_pump(s);
}

bool
rd_session_end(struct rd_control *c, uint32_t label_base, const char *why, int who)
{
	struct rd_session *s = find(c, label_base);
	if (!s)
		return false;
	if (who >= RD_FORGOT_CORE)
		s->in_cores &= ~(1u << (who - RD_FORGOT_CORE));
	if (who == RD_FORGOT_GATEWAY)
		s->in_gateway = false;
	end_session(s, why);
	return true;
}

bool
rd_session_finished(struct rd_control *c, uint32_t label_base, uint32_t index, const char *why)
{
	struct rd_session *s = find(c, label_base);
	if (!s)
		return false;
	if (*why)
		rd_log(RD_LOG_WARNING,
		       "job %u (port %u): finished, but not everything was delivered: %s", s->id,
		       listen_port(s), why);
	if (index == c->conf->cluster.self)
		s->in_gateway = false;
	else
		s->peers_finishing &= ~(1u << index);
	finish_step(s);
	rd_session_pump(s);
	return true;
}

void
rd_session_end_all(struct rd_control *c, const char *why, int with_peer)
{
	struct rd_session *s;
	LIST_FOREACH(s, &c->sessions, link)
	{
		if ((s->ended && !s->finishing) ||
		    (with_peer >= 0 && !(s->peers_told & 1u << with_peer)))
			continue;
		end_session(s, why);
	}
}

/* Can the job do without this relay? */
static bool
leavable(const struct rd_session *s)
{
	return s->running && !s->ended && !relay_startup_job(s->s)->nforeign;
}

uint32_t
rd_session_stay(const struct rd_control *c)
{
	const struct rd_session *s;
	uint32_t n = 0;
	LIST_FOREACH(s, &c->sessions, link)
	n += s->admitted && !leavable(s);
	return n;
}

void
rd_session_leave(struct rd_control *c)
{
	struct rd_session *s;
	LIST_FOREACH(s, &c->sessions, link)
	{
		if (!leavable(s))
			continue;
		rd_log(RD_LOG_INFO, "job %u (port %u): left to the other relays", s->id,
		       listen_port(s));
		s->ended = true;
		s->ended_ns = c->now_ns;
		s->peers_told = s->in_cores = 0;
		for (int i = 0; i < 2; i++) {
			rd_watch_close(c, &s->side[i].watch);
			s->side[i].off = s->side[i].len = 0;
		}
	}
}

void
rd_session_peer_lost(struct rd_control *c, uint32_t index, const char *why)
{
	struct rd_session *s;
	LIST_FOREACH(s, &c->sessions, link)
	{
		uint32_t bit = 1u << index;
		if ((s->ended && !s->finishing) || !(s->peers_told & bit))
			continue;
		/* Foreign hosts lose their channels to it. */
		if (relay_startup_job(s->s)->nforeign) {
			end_session(s, why);
		} else if (s->peers_pending & bit) {
			without(s, bit, "gone");
			rd_session_pump(s);
		} else {
			s->peers_told &= ~bit;
		}
	}
}

void
rd_session_give(struct rd_control *c, uint32_t index)
{
	struct rd_session *s;
	LIST_FOREACH(s, &c->sessions, link)
	{
		uint32_t bit = 1u << index;
		if (s->ended || !s->label_base || s->pending ||
		    ((s->peers_told | s->peers_wanted) & bit))
			continue;
		if (rd_peer_send_job(c, index, relay_startup_job(s->s)))
			s->peers_told |= bit;
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
			snprintf(text, sizeof text, "%.60s:%u: no answer within 10 s",
				 c->conf->impi.server_host, server_port(s));
			lost(s, RELAY_SIDE_SERVER, text);
			rd_session_pump(s);
		} else if (!s->ended && greeting(s) && c->now_ns - s->dial_ns > DIAL_NS) {
			no_seal(s, "it has not shown a key within 10 s");
			rd_session_pump(s);
		} else if (!s->ended && relay_startup_rank(s->s) < 0 &&
			   c->now_ns - s->begun_ns > SILENT_NS) {
			relay_startup_abort(s->s, "the client did not say its rank within 30 s");
			rd_session_pump(s);
		}
		if (!s->ended) {
			relay_startup_tick(s->s, c->now_ns);
			rd_session_pump(s);
		}
		if (!s->ended && s->peers_wanted) {
			send_tables(s);
			rd_session_pump(s);
		}
		reap(s);
		if (s->dead)
			rd_session_free(s);
	}
}

void
rd_session_fini(struct rd_control *c)
{
	struct rd_session *s, *next;
	LIST_FOREACH_SAFE(s, &c->sessions, link, next)
	rd_session_free(s);
}

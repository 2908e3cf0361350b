/* SPDX-License-Identifier: BSD-2-Clause */
/* A job whose client connected to us: two TCP connections and, between them, a
 * relay_startup machine.  Its table goes to workers, gateway and the other relays of the
 * cluster, and its end is told to them, by relay/cluster.h.
 *
 *   client --TCP--> [rx | startup machine | tx] --TCP--> IMPI server
 *                          |  TABLE                ^ installed, or refused
 *                          +--> relay_cluster_begin()
 *                          |  ENDED                ^ aborted
 *                          +--> relay_cluster_end(), flush, close */
#include "jobs_internal.h"
#include "sock.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define FLUSH_NS  (2 * BASE_S_NS)  /* after the end: time for the last bytes */
#define DIAL_NS	  (10 * BASE_S_NS) /* for the server to answer */
#define SILENT_NS (30 * BASE_S_NS) /* for a client to say its rank */

/* ---- ending ------------------------------------------------------------------- */

static void
on_ended(struct rd_session *s)
{
	struct rd_jobs *j = s->jobs;
	bool ok = relay_startup_ok(s->s);
	const char *why = ok ? "" : relay_startup_why(s->s);
	s->ended = true;
	s->ended_ns = j->loop->now_ns;
	rd_session_leave_lobby(s);
	if (!s->admitted && relay_startup_gone_ns(s->s))
		rd_log_limited(&j->limit_stranger, j->loop->now_ns, RD_LOG_DEBUG,
			       "launcher %s on port %u: %s", s->client, listen_port(s), why);
	else if (!s->admitted)
		rd_log_limited(&j->limit_stranger, j->loop->now_ns, RD_LOG_WARNING,
			       "client %s refused on port %u: ended: %s", s->client, listen_port(s),
			       why);
	else if (ok)
		rd_log(RD_LOG_INFO, "job %u (port %u): finished", s->id, listen_port(s));
	else
		rd_log(RD_LOG_ERROR, "job %u (port %u, client %s): ended: %s", s->id,
		       listen_port(s), s->client, why);
	if (s->job != RELAY_CLUSTER_NONE)
		relay_cluster_end(j->cluster, s->job, ok ? NULL : why);
}

static bool
drained(const struct rd_session *s, int side)
{
	return s->side[side].watch.fd < 0 ||
	       (s->side[side].off == s->side[side].len &&
		!relay_startup_tx_pending(s->s, (enum relay_side)side));
}

/* After the end: close when everything is sent, free when nobody has the job's table any more. */
static void
reap(struct rd_session *s)
{
	struct rd_jobs *j = s->jobs;
	if (!s->ended || s->dead)
		return;
	bool late = j->loop->now_ns - s->ended_ns > FLUSH_NS;
	for (int i = 0; i < 2; i++)
		if (late || drained(s, i))
			rd_watch_close(j->loop, &s->side[i].watch);
	if (s->job != RELAY_CLUSTER_NONE && !relay_cluster_over(j->cluster, s->job))
		return;
	if (s->side[0].watch.fd >= 0 || s->side[1].watch.fd >= 0)
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
 * client that ends closes it; so does one that dies, whose job may survive that.  Foreign processes
 * have nothing but these connections. */
static bool
goes_on(const struct rd_session *s, enum relay_side side, const char *text)
{
	return s->running && !s->ended && !relay_startup_job(s->s)->nforeign &&
	       (side == RELAY_SIDE_SERVER || text ||
		relay_cluster_tolerates(s->jobs->cluster, s->job));
}

static void
lost(struct rd_session *s, enum relay_side side, const char *text)
{
	rd_watch_close(s->jobs->loop, &s->side[side].watch);
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
					 : relay_startup_tx(s->s, side, d->out, d->cap);
			if (!d->len)
				break;
		}
		ssize_t n = send(d->watch.fd, d->out + d->off, d->len - d->off, MSG_NOSIGNAL);
		if (n > 0) {
			d->off += (size_t)n;
		} else if (errno == EAGAIN) {
			rd_watch_events(s->jobs->loop, &d->watch, EPOLLIN | EPOLLOUT);
			return;
		} else if (errno != EINTR) {
			lost(s, side, strerror(errno));
			return;
		}
	}
	if (d->watch.fd >= 0 && !(side == RELAY_SIDE_SERVER && s->dialing))
		rd_watch_events(s->jobs->loop, &d->watch, EPOLLIN);
}

/* The sealed connection ends.  Before it is up: what people may have forgotten. */
static void
no_seal(struct rd_session *s, const char *what)
{
	char text[2 * SEAL_TEXT], at[SERVER_TEXT];
	snprintf(text, sizeof text, "%s: %s%s", server_text(s, at), what,
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
			char text[128], at[SERVER_TEXT];
			snprintf(text, sizeof text, "%s: %s", server_text(s, at), strerror(-err));
			lost(s, RELAY_SIDE_SERVER, text);
		} else {
			rd_watch_events(s->jobs->loop, w, EPOLLIN);
			if (!s->jobs->server_keys.nkeys)
				relay_startup_connected(s->s);
			else if (!rd_session_seal(s))
				lost(s, RELAY_SIDE_SERVER, "no memory to seal the connection");
			s->dial_ns = s->jobs->loop->now_ns;
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
	struct rd_jobs *j = s->jobs;
	if (!rd_session_admit(s))
		return;
	const struct rd_conf_port *port = &j->conf->port[RD_LEG_GLOBAL];
	const char *device = j->tap_name[RD_LEG_GLOBAL];
	int fd = j->server.family == 6
			 ? rd_sock_connect6(device, port->address6, j->server.ip, server_port(s),
					    true)
			 : rd_sock_connect(device, port->address, be32_load(j->server.ip + 12),
					   server_port(s), true);
	struct rd_watch *w = &s->side[RELAY_SIDE_SERVER].watch;
	w->owner = s;
	w->fn = server_ready;
	if (fd >= 0 && rd_watch_add(j->loop, w, fd, EPOLLOUT) == 0) {
		s->dialing = true;
		s->dial_ns = j->loop->now_ns;
		return;
	}
	char text[128], at[SERVER_TEXT];
	snprintf(text, sizeof text, "%s: %s", server_text(s, at), strerror(fd < 0 ? -fd : EIO));
	if (fd >= 0)
		close(fd);
	relay_startup_eof(s->s, RELAY_SIDE_SERVER, text);
}

static void
on_table(struct rd_session *s)
{
	struct rd_jobs *j = s->jobs;
	const struct relay_job *job = relay_startup_job(s->s);
	uint64_t members = 0;
	for (uint32_t m = 0; m < s->nmembers; m++)
		members |= 1ull << s->member_index[m];
	rd_log(RD_LOG_INFO,
	       "job %u (port %u): client %u of %u, %u processes of %u are ours, labels %u..%u, "
	       "%u relay hosts, %u foreign hosts",
	       s->id, listen_port(s), job->my_client, relay_startup_nclients(s->s), job->nlocal,
	       job->nworld, job->label_base, job->label_base + job->nworld - 1, job->nhosts,
	       job->nforeign);
	s->job = relay_cluster_begin(j->cluster, s, job, members, j->loop->now_ns);
	if (s->job == RELAY_CLUSTER_NONE)
		relay_startup_table_done(
			s->s, "this relay has as many jobs of its cluster as it can (limits.jobs)");
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
			relay_cluster_running(s->jobs->cluster, s->job);
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

/* ---- what it waits for ------------------------------------------------------------ */

/* The connection to the server is this file's: the machine knows that it is not there yet. */
static const char *
waits_for(const struct rd_session *s, char text[RELAY_WHY_MAX])
{
	char at[SERVER_TEXT];
	if (!s->dialing && !greeting(s))
		return relay_startup_waiting(s->s);
	snprintf(text, RELAY_WHY_MAX,
		 s->dialing ? "an answer of the server %s" : "the server %s to show a key of ours",
		 server_text(s, at));
	return text;
}

void
rd_jobs_starts(const struct rd_jobs *j, void (*row)(void *user, const struct rd_start *start),
	       void *user)
{
	const struct rd_session *s;
	LIST_FOREACH(s, &j->sessions, link)
	{
		char text[RELAY_WHY_MAX];
		if (s->running || s->ended)
			continue;
		row(user, &(struct rd_start){
				  .job = s->admitted ? s->id : RD_START_NO_JOB,
				  .port = listen_port(s),
				  .rank = relay_startup_rank(s->s),
				  .clients = relay_startup_nclients(s->s),
				  .from = s->client,
				  .age_ns = j->loop->now_ns - s->begun_ns,
				  .waits = waits_for(s, text),
			  });
	}
}

/* ---- from the rest of control --------------------------------------------------- */

void
rd_session_end_all(struct rd_jobs *j, const char *why)
{
	struct rd_session *s;
	LIST_FOREACH(s, &j->sessions, link)
	{
		if (s->ended || s->job != RELAY_CLUSTER_NONE)
			continue;
		relay_startup_abort(s->s, why);
		rd_session_pump(s);
	}
}

uint32_t
rd_session_bound(const struct rd_jobs *j)
{
	const struct rd_session *s;
	uint32_t n = 0;
	LIST_FOREACH(s, &j->sessions, link)
	n += s->admitted && (s->ended || s->job == RELAY_CLUSTER_NONE);
	return n;
}

void
rd_session_handed_over(struct rd_session *s)
{
	s->ended = true;
	s->ended_ns = s->jobs->loop->now_ns;
	for (int i = 0; i < 2; i++) {
		rd_watch_close(s->jobs->loop, &s->side[i].watch);
		s->side[i].off = s->side[i].len = 0;
	}
}

void
rd_session_tick(struct rd_jobs *j)
{
	struct rd_session *s, *next;
	LIST_FOREACH_SAFE(s, &j->sessions, link, next)
	{
		if (!s->ended && s->dialing && j->loop->now_ns - s->dial_ns > DIAL_NS) {
			char text[RELAY_WHY_MAX], at[SERVER_TEXT];
			s->dialing = false;
			snprintf(text, sizeof text, "%s: no answer within 10 s",
				 server_text(s, at));
			lost(s, RELAY_SIDE_SERVER, text);
			rd_session_pump(s);
		} else if (!s->ended && greeting(s) && j->loop->now_ns - s->dial_ns > DIAL_NS) {
			no_seal(s, "it has not shown a key within 10 s");
			rd_session_pump(s);
		} else if (!s->ended && relay_startup_rank(s->s) < 0 &&
			   j->loop->now_ns - s->begun_ns > SILENT_NS) {
			relay_startup_abort(s->s, "the client did not say its rank within 30 s");
			rd_session_pump(s);
		}
		if (!s->ended && s->running && s->side[RELAY_SIDE_CLIENT].watch.fd < 0 &&
		    relay_cluster_left(j->cluster, s->job, j->loop->now_ns)) {
			relay_startup_finish(s->s);
			rd_session_pump(s);
		}
		if (!s->ended) {
			relay_startup_tick(s->s, j->loop->now_ns);
			rd_session_pump(s);
		}
		reap(s);
		if (s->dead)
			rd_session_free(s);
	}
}

void
rd_session_fini(struct rd_jobs *j)
{
	struct rd_session *s, *next;
	LIST_FOREACH_SAFE(s, &j->sessions, link, next)
	rd_session_free(s);
}

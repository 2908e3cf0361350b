#include "control.h"

#include "base/assert.h"
#include "base/clock.h"
#include "driver/clock.h"
#include "rpc_server.h"
#include "stats.h"
#include "telemetry.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <bsd/string.h>

_Static_assert(RD_GATES_MAX == RELAY_CLIENTS_MAX, "gate addresses: one for each client");

#define END_NS	 BASE_S_NS	    /* for aborts to be delivered and custody to empty */
#define QUIET_NS (200 * BASE_MS_NS) /* nothing came for so long: they have gone over */

/* ---- watches and mail ------------------------------------------------------------- */

int
rd_watch_add(struct rd_control *c, struct rd_watch *w, int fd, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = w};
	if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e))
		return -errno;
	w->fd = fd;
	w->events = events;
	return 0;
}

void
rd_watch_events(struct rd_control *c, struct rd_watch *w, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = w};
	if (w->fd < 0 || w->events == events)
		return;
	if (epoll_ctl(c->epoll, EPOLL_CTL_MOD, w->fd, &e) == 0)
		w->events = events;
}

void
rd_watch_close(struct rd_control *c, struct rd_watch *w)
{
	if (w->fd < 0)
		return;
	(void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	close(w->fd);
	w->fd = -1;
}

struct rd_mail *
rd_control_mail(struct rd_control *c, uint32_t worker, enum rd_mail_type type)
{
	struct rd_mailbox *box = c->box[worker];
	BASE_ASSERT(box->nfree_mail > 0);
	struct rd_mail *mail = box->free_mail[--box->nfree_mail];
	memset(mail, 0, sizeof *mail);
	mail->type = type;
	mail->worker = worker;
	return mail;
}

static void
post_at(struct rd_control *c, struct rd_mail *mail, uint32_t worker)
{
	mail->at = worker;
	bool posted = base_ring_push(&c->box[worker]->to_worker, mail);
	BASE_ASSERT(posted); /* as many slots as mails, and one snapshot more */
	rd_wake_up(&c->box[worker]->wake_worker);
}

void
rd_control_post(struct rd_control *c, struct rd_mail *mail)
{
	post_at(c, mail, mail->worker);
}

void
rd_control_post_gateway(struct rd_control *c, struct rd_mail *mail)
{
	BASE_ASSERT(c->gateway);
	rd_gateway_post(c->gateway, mail);
}

void
rd_control_snapshot(struct rd_control *c, struct rd_snapshot *s, void (*done)(struct rd_mail *mail),
		    void *owner)
{
	struct rd_mail *mail = rd_control_mail(c, 0, RD_MAIL_SNAPSHOT);
	rd_light_figures(c, &s->circuits);
	mail->snapshot = s;
	mail->done = done;
	mail->owner = owner;
	rd_control_post(c, mail);
}

/* A snapshot goes to each worker and to the gateway before it is done, in one mail:
 * false once it has been everywhere. */
static bool
pass_on(struct rd_control *c, struct rd_mail *mail)
{
	if (mail->type != RD_MAIL_SNAPSHOT || mail->gateway)
		return false;
	if (mail->at + 1 < c->nworkers) {
		post_at(c, mail, mail->at + 1);
		return true;
	}
	if (!c->gateway)
		return false;
	rd_control_post_gateway(c, mail);
	return true;
}

static void
read_ring(struct rd_control *c, struct base_ring *ring)
{
	struct rd_mail *mail;
	while ((mail = base_ring_pop(ring))) {
		struct rd_mailbox *box = c->box[mail->worker];
		if (pass_on(c, mail))
			continue;
		if (mail->type == RD_MAIL_SNAPSHOT) {
			rd_snapshot_sum(mail->snapshot);
			mail->snapshot->control = c->count;
		}
		if (mail->done)
			mail->done(mail);
		if (mail->note)
			rd_mailbox_note_back(box, mail->note);
		box->free_mail[box->nfree_mail++] = mail;
	}
}

static void
read_replies(struct rd_control *c)
{
	for (uint32_t i = 0; i < c->nworkers; i++)
		read_ring(c, &c->box[i]->replies);
	if (c->gateway)
		read_ring(c, &c->gateway->box->replies);
}

/* ---- events of the worker ----------------------------------------------------------- */

/* A site that relayd.conf does not let in, and what to do about it. */
static void
log_stranger(struct rd_control *c, const struct rd_event *e)
{
	char at[RELAY_ADDR_TEXT_MAX];
	const char *file = c->conf->sealing.peers_file;
	relay_addr_text(&e->peer, at);
	if (!*e->what)
		rd_log_limited(
			&c->limit_site, c->now_ns, RD_LOG_WARNING,
			"%s is refused: %s; sealing.identity_file and sealing.peers_file are "
			"for both ends or for none",
			at,
			*file ? "it has no identity, and here only sites of peers_file may call"
			      : "it has an identity, and there is none here");
	else if (*e->text)
		rd_log_limited(
			&c->limit_site, c->now_ns, RD_LOG_WARNING,
			"%s is refused: its public key %s is that of site %s, whose prefixes "
			"do not cover this address; add one to its line of %s and start "
			"relayd again, if it has moved",
			at, e->what, e->text, file);
	else
		rd_log_limited(
			&c->limit_site, c->now_ns, RD_LOG_WARNING,
			"%s is refused: its public key %s is not in %s; if its operator says "
			"the same key, add a line with a name, the key and its addresses, and "
			"start relayd again",
			at, e->what, file);
}

static void
on_event(struct rd_control *c, const struct rd_event *e)
{
	char a[RD_IPV4_TEXT], peer[RELAY_ADDR_TEXT_MAX];
	switch (e->type) {
	case RD_EVENT_JOB_ENDED:
		relay_cluster_ended(c->cluster, e->label_base, e->worker, e->text);
		break;
	case RD_EVENT_FAILED:
		relay_cluster_ended(c->cluster, e->label_base, RELAY_CLUSTER_GATEWAY, e->text);
		break;
	case RD_EVENT_FINISHED:
		relay_cluster_finished(c->cluster, e->label_base, e->text);
		break;
	case RD_EVENT_JOB_STATE:
		relay_cluster_state(c->cluster, e->label_base, e->worker, e->ways, e->left,
				    c->now_ns);
		break;
	case RD_EVENT_CHANNEL:
		rd_log_limited(&c->limit_channel, c->now_ns, RD_LOG_INFO, "%s", e->text);
		break;
	case RD_EVENT_PATH_UP:
		rd_log_limited(&c->limit_path, c->now_ns, RD_LOG_INFO, "path to %s is up: %s",
			       relay_addr_text(&e->peer, peer), e->what);
		break;
	case RD_EVENT_PATH_DOWN:
		rd_log_limited(&c->limit_path, c->now_ns, RD_LOG_INFO, "path to %s is down: %s: %s",
			       relay_addr_text(&e->peer, peer), e->what, e->text);
		break;
	case RD_EVENT_NEIGHBOUR:
		rd_log_limited(&c->limit_neigh, c->now_ns, RD_LOG_WARNING,
			       "%s leg: %s does not answer ARP", rd_leg_names[e->leg],
			       rd_ipv4_text(e->address, a));
		break;
	case RD_EVENT_LIGHT:
	case RD_EVENT_PROC:
	case RD_EVENT_NOTE:
		rd_lights_event(c, e);
		break;
	case RD_EVENT_STRANGER:
		log_stranger(c, e);
		break;
	case RD_EVENT_CONTESTED:
		rd_log_limited(&c->limit_neigh, c->now_ns, RD_LOG_WARNING,
			       "%s leg: station %s claims %s, which %s has; believed only if that "
			       "one is silent (neighbours.mac fixes it)",
			       rd_leg_names[e->leg], e->text, rd_ipv4_text(e->address, a), e->what);
		break;
	case RD_EVENT_CONFLICT:
		rd_log_limited(&c->limit_neigh, c->now_ns, RD_LOG_ERROR,
			       "%s leg: station %s claims our address %s; one of the two is "
			       "configured wrongly",
			       rd_leg_names[e->leg], e->what, rd_ipv4_text(e->address, a));
		break;
	}
}

static void
read_event_ring(struct rd_control *c, struct base_ring *events, struct base_ring *free_ring)
{
	struct rd_event *e;
	while ((e = base_ring_pop(events))) {
		on_event(c, e);
		(void)base_ring_push(free_ring, e); /* as many slots as events */
	}
}

static void
read_events(struct rd_control *c)
{
	for (uint32_t i = 0; i < c->nworkers; i++)
		read_event_ring(c, &c->box[i]->events, &c->box[i]->event_free);
	if (c->gateway)
		read_event_ring(c, &c->gateway->box->events, &c->gateway->box->event_free);
}

/* ---- snapshots -------------------------------------------------------------------------- */

static void
snapshot_done(struct rd_mail *mail)
{
	struct rd_control *c = mail->owner;
	c->snapshot_out = false;
	if (c->write_stats) {
		c->write_stats = false;
		rd_stats_write(c, c->snapshot);
	}
}

static void
ask_snapshot(struct rd_control *c)
{
	if (c->snapshot_out)
		return;
	c->snapshot_out = true;
	c->snapshot->suci_held = UINT32_MAX; /* not known until the reply */
	rd_control_snapshot(c, c->snapshot, snapshot_done, c);
}

/* ---- phases ------------------------------------------------------------------------------- */

static uint32_t
jobs_running(const struct rd_control *c)
{
	return c->nsessions + relay_cluster_members(c->cluster);
}

static void
mail_all(struct rd_control *c, enum rd_mail_type type, const char *text, uint32_t number)
{
	for (uint32_t i = 0; i < c->nworkers; i++) {
		struct rd_mail *mail = rd_control_mail(c, i, type);
		strlcpy(mail->text, text, sizeof mail->text);
		mail->number = number;
		rd_control_post(c, mail);
	}
}

static bool
others_there(const struct rd_control *c)
{
	for (uint32_t i = 0; i < c->conf->cluster.nrelays; i++)
		if (i != c->conf->cluster.self && rd_peer_up(c, i))
			return true;
	return false;
}

static void
begin_end(struct rd_control *c)
{
	char why[RELAY_WHY_MAX], a[RD_IPV4_TEXT];
	snprintf(why, sizeof why, "relay %s of cluster %s stops",
		 rd_ipv4_text(c->conf->port[RD_LEG_PRIVATE].address, a), c->conf->cluster.name);
	c->leaving = c->leaving && others_there(c);
	relay_cluster_drain(c->cluster, c->leaving);
	if (c->leaving)
		relay_cluster_hand_over(c->cluster);
	c->phase = RD_PHASE_END;
	c->phase_end_ns = c->now_ns + END_NS;
	rd_session_end_all(c, why);
	relay_cluster_end_all(c->cluster, why);
	if (!c->leaving)
		mail_all(c, RD_MAIL_END_ALL, why, 0);
	ask_snapshot(c);
}

static void
begin_drain(struct rd_control *c, const char *signal_name)
{
	if (c->phase != RD_PHASE_RUN) {
		if (c->phase == RD_PHASE_DRAIN) {
			rd_log(RD_LOG_INFO, "%s again: jobs are ended now", signal_name);
			begin_end(c);
		}
		return;
	}
	rd_notify("STOPPING=1");
	c->leaving = others_there(c) && jobs_running(c);
	rd_log(RD_LOG_INFO, "%s: no new jobs; %u running get %u ms %s", signal_name,
	       jobs_running(c), c->drain_ms,
	       c->leaving ? "to go over to the other relays" : "to finish");
	if (c->leaving) {
		mail_all(c, RD_MAIL_WEIGHT, "", 0);
		ask_snapshot(c);
	}
	relay_cluster_drain(c->cluster, c->leaving);
	c->phase = RD_PHASE_DRAIN;
	c->phase_end_ns = c->now_ns + c->drain_ms * BASE_MS_NS;
	for (uint32_t i = 0; i < RD_IMPI_PORTS_MAX; i++)
		rd_listener_close(&c->listen_impi[i]);
}

/* Everything that can goes over other relays now. */
static bool
emptied(struct rd_control *c)
{
	uint64_t began_ns = c->phase_end_ns - c->drain_ms * BASE_MS_NS;
	if (!c->leaving || rd_session_bound(c) || relay_cluster_bound(c->cluster) ||
	    c->snapshot_out)
		return false;
	bool quiet = c->now_ns - began_ns >= QUIET_NS; /* who is told to go has had time */
	for (uint32_t i = 0; i < c->snapshot->nshards; i++)
		quiet = quiet && c->snapshot->shard[i]->relay_quiet_ns >= QUIET_NS;
	ask_snapshot(c);
	return quiet;
}

static void
phase_tick(struct rd_control *c)
{
	bool idle = jobs_running(c) == 0;
	if (c->phase == RD_PHASE_DRAIN && (idle || emptied(c) || c->now_ns >= c->phase_end_ns)) {
		if (!idle && !c->leaving)
			rd_log(RD_LOG_WARNING, "drain deadline passed with %u jobs: ended now",
			       jobs_running(c));
		begin_end(c);
	} else if (c->phase == RD_PHASE_END) {
		bool empty = !c->snapshot_out && c->snapshot->suci_held == 0;
		if ((idle && empty) || c->now_ns >= c->phase_end_ns) {
			/* While worker 0 still carries their FIN. */
			c->phase = RD_PHASE_CLOSE;
			if (c->leaving)
				mail_all(c, RD_MAIL_LEAVE, "this relay goes away", 0);
			rd_peer_close(c);
		} else {
			ask_snapshot(c);
		}
	} else if (c->phase == RD_PHASE_CLOSE) {
		c->phase = RD_PHASE_STOP; /* a tick later */
		for (uint32_t i = 0; i < c->nworkers; i++)
			rd_control_post(c, rd_control_mail(c, i, RD_MAIL_STOP));
	}
}

static const struct {
	int number;
	const char *name;
} endings[] = {
	{SIGTERM, "SIGTERM"},
	{SIGINT, "SIGINT"},
	{SIGHUP, "SIGHUP"},
	{SIGQUIT, "SIGQUIT"},
};
#define NENDINGS (sizeof endings / sizeof endings[0])

/* nohup lets us start with SIGHUP ignored; then it stays so.  (Shells let background jobs start
 * with SIGINT and SIGQUIT ignored, too, which says nothing.) */
static sigset_t
our_signals(void)
{
	struct sigaction now;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	for (size_t i = 0; i < NENDINGS; i++)
		sigaddset(&set, endings[i].number);
	if (sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
		sigdelset(&set, SIGHUP);
	return set;
}

void
rd_control_block_signals(void)
{
	static const int ignored[] = {SIGPIPE,	 SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF,
				      SIGSTKFLT, SIGPOLL, SIGPWR,  SIGXFSZ,   SIGXCPU};
	sigset_t set = our_signals();
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		signal(ignored[i], SIG_IGN);
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		signal(i, SIG_IGN);
}

static void
on_signal(struct rd_watch *w, uint32_t events)
{
	struct rd_control *c = w->owner;
	struct signalfd_siginfo si;
	(void)events;
	while (read(w->fd, &si, sizeof si) == (ssize_t)sizeof si) {
		if (si.ssi_signo == SIGUSR1) {
			c->write_stats = true;
			ask_snapshot(c);
		}
		for (size_t i = 0; i < NENDINGS; i++)
			if (si.ssi_signo == (uint32_t)endings[i].number)
				begin_drain(c, endings[i].name);
	}
}

static void
on_wake(struct rd_watch *w, uint32_t events)
{
	(void)w; /* rd_wake_awake reads it */
	(void)events;
}

/* ---- set-up, loop ---------------------------------------------------------------------------- */

static void
init_members(struct rd_control *c)
{
	const struct rd_conf *conf = c->conf;
	for (uint32_t i = 0; i < conf->cluster.nrelays; i++) {
		struct relay_member *m = &c->member[i];
		*m = (struct relay_member){
			.ipv4_global = conf->cluster.relay[i].global_address,
			.ipv4_private = conf->cluster.relay[i].private_address,
			.gate_global = rd_conf_gate_global(conf, i),
			.gateway_port_global = (uint16_t)conf->gateway.global_port,
			.gateway_port_private = (uint16_t)conf->gateway.private_port,
			.nshards = (uint16_t)conf->cluster.relay[i].workers,
		};
		for (uint32_t k = 0; k < m->nshards; k++) {
			m->port_global[k] = (uint16_t)(conf->port[RD_LEG_GLOBAL].udp_port + k);
			m->port_private[k] = (uint16_t)(conf->port[RD_LEG_PRIVATE].udp_port + k);
		}
		m->ngate_private = rd_conf_gates(conf, i, m->gate_private);
		if (!m->ngate_private) /* via host, and the gateway is off */
			m->gate_private[m->ngate_private++] = m->ipv4_private;
	}
	relay_labels_init(&c->labels, conf->cluster.self);
	/* Jobs of our earlier life may go on at the other relays, with labels of that time. */
	(void)getrandom(&c->labels.next, sizeof c->labels.next, 0);
	c->labels.next %= RELAY_LABEL_PAGES_MAX;
	c->next_job_id = 1;
}

static int
listen_on(struct rd_control *c, struct rd_listener *l, uint32_t port,
	  void (*knock)(struct rd_listener *), char *err, size_t err_max)
{
	int fd = rd_sock_listen(c->tap_name[RD_LEG_PRIVATE], c->conf->port[RD_LEG_PRIVATE].address,
				port);
	int r = fd < 0 ? fd : rd_listener_add(l, c, fd, knock, c);
	if (r == 0)
		return 0;
	char a[RD_IPV4_TEXT];
	snprintf(err, err_max, "cannot listen on %s port %u: %s",
		 rd_ipv4_text(c->conf->port[RD_LEG_PRIVATE].address, a), port, strerror(-r));
	if (fd >= 0)
		close(fd);
	return -1;
}

static int
open_signals(struct rd_control *c, char *err, size_t err_max)
{
	sigset_t set = our_signals();
	c->signals.owner = c;
	c->signals.fn = on_signal;
	int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd >= 0 && rd_watch_add(c, &c->signals, fd, EPOLLIN) == 0)
		return 0;
	snprintf(err, err_max, "signalfd: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static void
set_closed(struct rd_control *c)
{
	struct rd_watch *all[] = {&c->wake, &c->signals, &c->tap[0], &c->tap[1]};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		all[i]->fd = -1;
	for (int leg = 0; leg < RD_LEGS; leg++)
		c->taps.fd[leg] = -1;
	for (uint32_t i = 0; i < RD_IMPI_PORTS_MAX; i++)
		c->listen_impi[i].watch.fd = -1;
	c->listen_peer.watch.fd = -1;
	c->epoll = -1;
	LIST_INIT(&c->sessions);
}

int
rd_control_init(struct rd_control *c, char *err, size_t err_max)
{
	const struct rd_conf *conf = c->conf;
	set_closed(c);
	c->drain_ms = conf->drain_ms;
	c->idle = conf->idle;
	c->policy = conf->trunks.policy;
	c->now_ns = c->began_ns = rd_clock_system_ns();
	c->limit_neigh = (struct rd_log_limit)RD_LOG_LIMIT_INIT;
	c->limit_path = (struct rd_log_limit){.interval_ns = BASE_S_NS, .burst = 200};
	c->limit_stranger = c->limit_allow = (struct rd_log_limit)RD_LOG_LIMIT_INIT;
	c->limit_peer = (struct rd_log_limit){.interval_ns = 10 * BASE_S_NS, .burst = 3};
	c->limit_site = (struct rd_log_limit){.interval_ns = 10 * BASE_S_NS, .burst = 3};
	c->limit_pause = (struct rd_log_limit){.interval_ns = 10 * BASE_S_NS, .burst = 1};
	base_lobby_init(&c->lobby, BASE_LOBBY_SEATS_MAX, BASE_S_NS);
	c->limit_channel = (struct rd_log_limit){.interval_ns = BASE_S_NS, .burst = 50};
	init_members(c);
	c->snapshot = rd_snapshot_new(conf);
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!c->snapshot || c->epoll < 0) {
		snprintf(err, err_max, "control: %s", c->snapshot ? strerror(errno) : "no memory");
		goto err_fini;
	}
	if (rd_jobs_init(c, err, err_max))
		goto err_fini;
	c->wake.owner = c;
	c->wake.fn = on_wake;
	if (rd_watch_add(c, &c->wake, dup(c->waker.fd), EPOLLIN)) {
		snprintf(err, err_max, "control: epoll: %s", strerror(errno));
		goto err_fini;
	}
	if (open_signals(c, err, err_max))
		goto err_fini;
	c->taps.box = c->box[0];
	c->taps.pool = c->worker[0]->pool;
	for (int leg = 0; leg < RD_LEGS; leg++)
		if (rd_tap_open(c, leg, err, err_max))
			goto err_fini;
	for (uint32_t i = 0; i < conf->impi.ports; i++)
		if (listen_on(c, &c->listen_impi[i], conf->impi.listen_port + i, rd_session_accept,
			      err, err_max))
			goto err_fini;
	if (conf->cluster.nrelays > 1 &&
	    listen_on(c, &c->listen_peer, conf->cluster.peer_port, rd_peer_accept, err, err_max))
		goto err_fini;
	rd_peer_init(c);
	if (rd_light_init(c, err, err_max))
		goto err_fini;
	return 0;
err_fini:
	rd_control_fini(c);
	return -1;
}

/* What was left out is said when it is over, not only with the next line. */
static void
limits_tick(struct rd_control *c)
{
	struct rd_log_limit *all[] = {&c->limit_neigh,	  &c->limit_path,  &c->limit_channel,
				      &c->limit_stranger, &c->limit_allow, &c->limit_peer,
				      &c->limit_pause,	  &c->limit_site};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		rd_log_limit_tick(all[i], c->now_ns);
}

static void
listeners_tick(struct rd_control *c)
{
	rd_listener_tick(&c->listen_peer);
	for (uint32_t i = 0; i < c->conf->impi.ports; i++)
		rd_listener_tick(&c->listen_impi[i]);
}

static bool
rings_empty(struct rd_control *c)
{
	for (uint32_t i = 0; i < c->nworkers; i++)
		if (base_ring_count(&c->box[i]->replies) || base_ring_count(&c->box[i]->events))
			return false;
	if (c->gateway)
		return !base_ring_count(&c->gateway->box->replies) &&
		       !base_ring_count(&c->gateway->box->events);
	return !base_ring_count(&c->box[0]->to_tap[0]) && !base_ring_count(&c->box[0]->to_tap[1]);
}

void
rd_control_run(struct rd_control *c)
{
	struct epoll_event ready[32];
	uint64_t tick_ns = 0;
	while (c->phase != RD_PHASE_STOP) {
		rd_wake_sleep(&c->waker);
		int wait = rings_empty(c) ? RD_CONTROL_TICK_MS : 0;
		int n = epoll_wait(c->epoll, ready, 32, wait);
		rd_wake_awake(&c->waker);
		c->now_ns = rd_clock_system_ns();
		for (int i = 0; i < n; i++) {
			struct rd_watch *w = ready[i].data.ptr;
			if (w->fd >= 0) /* not closed by an earlier one of this batch */
				w->fn(w, ready[i].events);
		}
		rd_tap_drain(c);
		read_replies(c);
		read_events(c);
		rd_light_turn(c);
		rd_telemetry_poll(c);
		if (c->now_ns - tick_ns >= RD_CONTROL_TICK_MS * BASE_MS_NS) {
			tick_ns = c->now_ns;
			limits_tick(c);
			listeners_tick(c);
			rd_session_tick(c);
			relay_cluster_tick(c->cluster, c->now_ns);
			rd_peer_tick(c);
			rd_light_tick(c);
			if (c->rpc)
				rd_rpc_server_tick(c->rpc);
			phase_tick(c);
		}
	}
}

void
rd_control_fini(struct rd_control *c)
{
	struct rd_watch *all[] = {&c->signals, &c->wake};
	if (c->epoll < 0 && !c->snapshot)
		return;
	rd_light_fini(c);
	rd_session_fini(c);
	rd_peer_fini(c);
	rd_jobs_fini(c);
	rd_tap_drain(c); /* what worker 0 left in the rings */
	for (int leg = 0; leg < RD_LEGS; leg++)
		rd_watch_close(c, &c->tap[leg]);
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		rd_watch_close(c, all[i]);
	rd_listener_close(&c->listen_peer);
	for (uint32_t i = 0; i < RD_IMPI_PORTS_MAX; i++)
		rd_listener_close(&c->listen_impi[i]);
	if (c->epoll >= 0)
		close(c->epoll);
	c->epoll = -1;
	rd_snapshot_free(c->snapshot);
	c->snapshot = NULL;
}

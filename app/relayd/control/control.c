/* SPDX-License-Identifier: BSD-2-Clause */
#include "control.h"

#include "service.h"
#include "stats.h"
#include "telemetry.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <bsd/string.h>

_Static_assert(RD_GATES_MAX == RELAY_CLIENTS_MAX, "gate addresses: one for each client");

#define END_NS	 BASE_S_NS	    /* for aborts to be delivered and custody to empty */
#define QUIET_NS (200 * BASE_MS_NS) /* nothing came for so long: they have gone over */

/* ---- events of the workers and the gateway ---------------------------------------------- */

static void
on_event(void *user, const struct rd_event *e)
{
	struct rd_control *c = user;
	switch (e->type) {
	case RD_EVENT_JOB_ENDED:
	case RD_EVENT_FAILED:
	case RD_EVENT_FINISHED:
	case RD_EVENT_JOB_STATE:
		rd_jobs_event(&c->jobs, e);
		break;
	case RD_EVENT_LIGHT:
	case RD_EVENT_PROC:
	case RD_EVENT_NOTE:
		rd_lights_event(&c->lights, e);
		break;
	default:
		rd_event_log(&c->log, c->loop.now_ns, e);
		break;
	}
}

/* ---- snapshots -------------------------------------------------------------------------- */

static void ask_snapshot(struct rd_control *c);

static void
snapshot_done(struct rd_snapshot *s, void *owner)
{
	struct rd_control *c = owner;
	c->snapshot_out = false;
	if (c->write_stats && !s->check) {
		ask_snapshot(c);
	} else if (c->write_stats) {
		c->write_stats = false;
		rd_stats_write(&c->figures, s);
	}
}

static void
ask_snapshot(struct rd_control *c)
{
	if (c->snapshot_out)
		return;
	c->snapshot_out = true;
	c->snapshot->sum.suci_held = UINT32_MAX; /* not known until the reply */
	c->snapshot->check = c->write_stats;
	rd_snapshot_take(&c->figures, c->snapshot, snapshot_done, c);
}

/* ---- phases ------------------------------------------------------------------------------- */

static void
set_phase(struct rd_control *c, enum rd_phase phase)
{
	static const char *const words[] = {"run", "drain", "end", "close", "stop"};
	c->phase = phase;
	c->settings.phase = words[phase];
}

static void
mail_all(struct rd_control *c, enum rd_mail_type type, const char *text)
{
	for (uint32_t i = 0; i < c->post.nworkers; i++) {
		struct rd_mail *mail = rd_post_mail(&c->post, i, type);
		strlcpy(mail->text, text, sizeof mail->text);
		rd_post_send(&c->post, mail);
	}
}

static void
begin_end(struct rd_control *c)
{
	char why[RELAY_WHY_MAX], a[RD_IPV4_TEXT];
	snprintf(why, sizeof why, "relay %s of cluster %s stops",
		 rd_ipv4_text(c->conf->port[RD_LEG_PRIVATE].address, a), c->conf->cluster.name);
	c->leaving = c->leaving && rd_jobs_others_there(&c->jobs);
	set_phase(c, RD_PHASE_END);
	c->phase_end_ns = c->loop.now_ns + END_NS;
	rd_jobs_end_all(&c->jobs, c->leaving, why);
	if (!c->leaving)
		mail_all(c, RD_MAIL_END_ALL, why);
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
	c->leaving = rd_jobs_others_there(&c->jobs) && rd_jobs_running(&c->jobs);
	rd_log(RD_LOG_INFO, "%s: no new jobs; %u running get %u ms %s", signal_name,
	       rd_jobs_running(&c->jobs), c->settings.drain_ms,
	       c->leaving ? "to go over to the other relays" : "to finish");
	if (c->leaving) {
		mail_all(c, RD_MAIL_WEIGHT, ""); /* weight 0 */
		ask_snapshot(c);
	}
	set_phase(c, RD_PHASE_DRAIN);
	c->phase_end_ns = c->loop.now_ns + c->settings.drain_ms * BASE_MS_NS;
	rd_jobs_drain(&c->jobs, c->leaving);
}

/* Everything that can goes over other relays now. */
static bool
emptied(struct rd_control *c)
{
	uint64_t began_ns = c->phase_end_ns - c->settings.drain_ms * BASE_MS_NS;
	if (!c->leaving || rd_jobs_bound(&c->jobs) || c->snapshot_out)
		return false;
	bool quiet = c->loop.now_ns - began_ns >= QUIET_NS; /* who is told to go has had time */
	for (uint32_t i = 0; i < c->snapshot->nshards; i++)
		quiet = quiet && c->snapshot->shard[i]->relay_quiet_ns >= QUIET_NS;
	ask_snapshot(c);
	return quiet;
}

static void
phase_tick(struct rd_control *c)
{
	bool idle = rd_jobs_running(&c->jobs) == 0;
	if (c->phase == RD_PHASE_DRAIN &&
	    (idle || emptied(c) || c->loop.now_ns >= c->phase_end_ns)) {
		if (!idle && !c->leaving)
			rd_log(RD_LOG_WARNING, "drain deadline passed with %u jobs: ended now",
			       rd_jobs_running(&c->jobs));
		begin_end(c);
	} else if (c->phase == RD_PHASE_END) {
		bool empty = !c->snapshot_out && c->snapshot->sum.suci_held == 0;
		if ((idle && empty) || c->loop.now_ns >= c->phase_end_ns) {
			/* While worker 0 still carries their FIN. */
			set_phase(c, RD_PHASE_CLOSE);
			if (c->leaving)
				mail_all(c, RD_MAIL_LEAVE, "this relay goes away");
			rd_jobs_close_peers(&c->jobs);
		} else {
			ask_snapshot(c);
		}
	} else if (c->phase == RD_PHASE_CLOSE) {
		set_phase(c, RD_PHASE_STOP); /* a tick later */
		for (uint32_t i = 0; i < c->post.nworkers; i++)
			rd_post_send(&c->post, rd_post_mail(&c->post, i, RD_MAIL_STOP));
	}
}

/* ---- reload ----------------------------------------------------------------------------- */

static void
tell_reloaded(void *user)
{
	(void)user;
	rd_notify("READY=1");
}

static void
begin_reload(struct rd_control *c)
{
	if (c->phase != RD_PHASE_RUN) {
		rd_log(RD_LOG_WARNING, "SIGHUP: the relay ends, its file is not read again");
		return;
	}
	rd_notify_reloading();
	bool good = rd_reload_apply(&c->reload, tell_reloaded, c);
	rd_reload_log(&c->reload, good);
	if (!good)
		tell_reloaded(c);
}

/* ---- what the service manager is told --------------------------------------------------- */

static void
turn_answered(struct rd_mail *mail)
{
	struct rd_control *c = mail->owner;
	if (--c->turns == 0)
		rd_notify("WATCHDOG=1");
}

/* All workers are asked; who does not answer is why nothing is said any more. */
static void
tick_watchdog(struct rd_control *c)
{
	if (c->turns || !rd_watchdog_due(&c->watchdog, c->loop.now_ns))
		return;
	for (uint32_t i = 0; i < c->post.nworkers; i++) {
		struct rd_mail *mail = rd_post_mail(&c->post, i, RD_MAIL_TURN);
		mail->owner = c;
		mail->done = turn_answered;
		c->turns++;
		rd_post_send(&c->post, mail);
	}
}

static void
tick_status(struct rd_control *c)
{
	char text[160];
	uint32_t n = rd_jobs_running(&c->jobs);
	int len = snprintf(text, sizeof text, "%s: %u job%s", c->settings.phase, n,
			   n == 1 ? "" : "s");
	if (c->reload.times || c->reload.refused)
		snprintf(text + len, sizeof text - (size_t)len,
			 "; %llu reloads, %llu refused; of the last file %u changes need a restart",
			 (unsigned long long)c->reload.times, (unsigned long long)c->reload.refused,
			 c->reload.changes.restart);
	rd_notify_status(text);
}

/* ---- signals ---------------------------------------------------------------------------- */

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
		/* Somebody's wish, or the terminal is gone. */
		if (si.ssi_signo == SIGHUP && si.ssi_code != SI_KERNEL) {
			begin_reload(c);
			continue;
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

static int
open_signals(struct rd_control *c, char *err, size_t err_max)
{
	sigset_t set = our_signals();
	c->signals.owner = c;
	c->signals.fn = on_signal;
	int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd >= 0 && rd_watch_add(&c->loop, &c->signals, fd, EPOLLIN) == 0)
		return 0;
	snprintf(err, err_max, "signalfd: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static void
set_closed(struct rd_control *c)
{
	c->wake.fd = c->signals.fd = c->loop.epoll = -1;
	rd_kernel_zero(&c->kernel);
	rd_jobs_zero(&c->jobs);
}

/* What each room is given of the others. */
static void
introduce(struct rd_control *c)
{
	c->kernel.conf = c->jobs.conf = c->conf;
	c->kernel.loop = c->jobs.loop = &c->loop;
	c->jobs.post = &c->post;
	c->jobs.tap_name = (const char(*)[16])c->kernel.name;
	c->figures = (struct rd_figures){
		.conf = c->conf, .loop = &c->loop, .post = &c->post, .taps = &c->kernel.taps.count};
	c->settings = (struct rd_settings){.drain_ms = c->conf->drain_ms,
					   .idle = c->conf->idle,
					   .policy = c->conf->trunks.policy,
					   .weight = c->conf->trunks.weight};
	set_phase(c, RD_PHASE_RUN);
	c->reload.post = &c->post;
	c->reload.jobs = &c->jobs;
	c->reload.keys = &c->keys;
	c->reload.light_keys = &c->light_keys;
	c->reload.settings = &c->settings;
	rd_watchdog_init(&c->watchdog);
	rd_event_log_init(&c->log, c->conf);
	rd_lights_init(&c->lights, c->conf, &c->loop, &c->post);
}

static int
open_wake(struct rd_control *c, char *err, size_t err_max)
{
	c->wake.owner = c;
	c->wake.fn = on_wake;
	int e = rd_watch_add(&c->loop, &c->wake, dup(c->post.waker.fd), EPOLLIN);
	if (e)
		snprintf(err, err_max, "control: epoll: %s", strerror(-e));
	return e;
}

static int
open_light(struct rd_control *c, char *err, size_t err_max)
{
	struct rd_light_env env = {
		.conf = c->conf, .loop = &c->loop, .lights = &c->lights, .keys = &c->light_keys};
	int e = rd_light_new(&c->light, &env, err, err_max);
	c->jobs.light = c->light;
	c->figures.light = c->light;
	return e;
}

int
rd_control_init(struct rd_control *c, const struct rd_worker *first, char *err, size_t err_max)
{
	set_closed(c);
	introduce(c);
	c->snapshot = rd_snapshot_new(c->conf);
	int e = rd_loop_open(&c->loop);
	if (!c->snapshot || e) {
		snprintf(err, err_max, "control: %s", e ? strerror(-e) : "no memory");
		goto err_fini;
	}
	if (open_wake(c, err, err_max) || open_signals(c, err, err_max) ||
	    rd_kernel_open(&c->kernel, first, err, err_max) ||
	    rd_jobs_init(&c->jobs, err, err_max) || open_light(c, err, err_max))
		goto err_fini;
	return 0;
err_fini:
	rd_control_fini(c);
	return -1;
}

struct rd_rpc_env
rd_control_env(struct rd_control *c, uint16_t global_port)
{
	return (struct rd_rpc_env){.conf = c->conf,
				   .loop = &c->loop,
				   .post = &c->post,
				   .figures = &c->figures,
				   .lights = &c->lights,
				   .light = c->light,
				   .settings = &c->settings,
				   .reload = &c->reload,
				   .nics = &c->nics,
				   .jobs = &c->jobs,
				   .global_port = global_port};
}

static void
tick_control(struct rd_control *c)
{
	bool dials = c->phase == RD_PHASE_RUN;
	rd_log_limit_tick(&c->loop.limit_pause, c->loop.now_ns);
	rd_event_log_tick(&c->log, c->loop.now_ns);
	rd_nics_tick(&c->nics, c->loop.now_ns);
	rd_jobs_tick(&c->jobs, dials);
	rd_lights_tick(&c->lights);
	rd_light_tick(c->light, dials);
	if (c->rpc)
		rd_rpc_server_tick(c->rpc);
	phase_tick(c);
	tick_watchdog(c);
	tick_status(c);
}

void
rd_control_run(struct rd_control *c)
{
	uint64_t tick_ns = 0;
	while (c->phase != RD_PHASE_STOP) {
		rd_wake_sleep(&c->post.waker);
		rd_loop_wait(&c->loop, rd_post_waiting(&c->post) ? 0 : RD_LOOP_TICK_MS);
		rd_wake_awake(&c->post.waker);
		rd_loop_serve(&c->loop);
		if (!c->gateway)
			rd_kernel_drain(&c->kernel);
		rd_post_read(&c->post);
		rd_post_events(&c->post, on_event, c);
		rd_light_turn(c->light);
		rd_telemetry_poll();
		if (c->loop.now_ns - tick_ns >= RD_LOOP_TICK_MS * BASE_MS_NS) {
			tick_ns = c->loop.now_ns;
			tick_control(c);
		}
	}
}

void
rd_control_fini(struct rd_control *c)
{
	if (c->loop.epoll < 0 && !c->snapshot)
		return;
	rd_light_free(c->light);
	c->light = c->jobs.light = NULL;
	c->figures.light = NULL;
	rd_reload_fini(&c->reload);
	rd_jobs_fini(&c->jobs);
	explicit_bzero(&c->light_keys, sizeof c->light_keys);
	if (c->kernel.taps.box && !c->gateway)
		rd_kernel_drain(&c->kernel); /* what worker 0 left in the rings */
	rd_kernel_close(&c->kernel);
	rd_watch_close(&c->loop, &c->signals);
	rd_watch_close(&c->loop, &c->wake);
	rd_loop_close(&c->loop);
	rd_snapshot_free(c->snapshot);
	c->snapshot = NULL;
}

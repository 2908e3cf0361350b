/* SPDX-License-Identifier: BSD-2-Clause */
/* netconf.c - NETCONF as an engine of ocsproto/core.h, and the table of the shared object.
 *
 * libnetconf2 blocks, so a thread holds the session and does one job at a time; the owner's
 * thread hands jobs over and takes results in turn().  What goes between them is struct
 * job, guarded by the lock, and owned by one of the two at a time by its state. */
#include "ncsession.h"

#include "driver/ocs_plugin.h"
#include "ocsproto/core.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libyang/libyang.h>
#include <libyang/version.h>
#include <nc_client.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS 5000
#define LEAVE_S	  2
/* Longer than any job may take by its own limits: lock, edit, commit, unlock. */
#define ENGINE_ANSWER_NS (60 * BASE_S_NS)

extern char **environ;

enum job_state { IDLE, ORDERED, WORKING, DONE };
enum job_kind { JOB_OPEN, JOB_READ, JOB_EDIT, JOB_CONFIRM, JOB_LOCK, JOB_KEEPALIVE, JOB_CLOSE };

struct job {
	enum job_state state;
	enum job_kind kind;
	bool on, atomic;
	uint32_t revert_s;
	uint32_t npairs;
	struct ocsdrv_ncs_pair *pairs; /* EDIT: what to do; READ: what there is */
	int *errs;		       /* EDIT: by pair */
	char (*texts)[OCS_TEXT_MAX];
	int err;
	char text[OCS_TEXT_MAX];
	struct ocs_identity id;
};

struct netconf {
	struct ocs_driver d; /* first */
	struct core *core;
	struct ocsproto_config cfg;
	int answer_ms;
	struct ocsdrv_pause pause;
	char *command, *path; /* one of the two */
	char schemas[256];
	bool keep_schemas;
	uint64_t at_ns; /* closed: try again; opening: give up */
	bool open, opening, worked, hung_up;
	char trouble[OCS_DRIVER_WHY];

	pthread_t thread;
	bool started;
	int to_owner, to_thread; /* eventfds */
	pthread_mutex_t lock;
	bool quit, changed, lost;
	pid_t pid; /* of the command; 0: none */
	struct job job;

	/* the thread's own */
	struct ocsdrv_ncs ncs;
	int fd;
};

struct engine {
	struct netconf *n;
};

static struct netconf *
netconf_of(const struct ocs_driver *d)
{
	return (struct netconf *)(uintptr_t)(const void *)d;
}

static struct netconf *
netconf_of_core(const struct core *c)
{
	return ((const struct engine *)c->engine)->n;
}

static void
ring_event(int eventfd_)
{
	uint64_t one = 1;
	ssize_t n = write(eventfd_, &one, sizeof one);
	(void)n; /* full means that it rings already */
}

static void
hush_event(int eventfd_)
{
	uint64_t count;
	ssize_t n = read(eventfd_, &count, sizeof count);
	(void)n;
}

/* ---- the thread: connecting ---- */

static bool
run_command(struct netconf *n, char why[OCS_TEXT_MAX])
{
	int sv[2];
	pid_t pid;
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", n->command, NULL};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) != 0) {
		snprintf(why, OCS_TEXT_MAX, "socketpair: %s", strerror(errno));
		return false;
	}
	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_adddup2(&fa, sv[1], 0);
	posix_spawn_file_actions_adddup2(&fa, sv[1], 1);
	/* A group of its own: what the shell starts ends with it. */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	int err = posix_spawn(&pid, "/bin/sh", &fa, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
	close(sv[1]);
	if (err) {
		close(sv[0]);
		snprintf(why, OCS_TEXT_MAX, "sh: %s", strerror(err));
		return false;
	}
	pthread_mutex_lock(&n->lock);
	n->pid = pid;
	n->fd = sv[0];
	if (n->quit)
		shutdown(n->fd, SHUT_RDWR);
	pthread_mutex_unlock(&n->lock);
	return true;
}

static bool
reach_socket(struct netconf *n, char why[OCS_TEXT_MAX])
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	snprintf(a.sun_path, sizeof a.sun_path, "%s", n->path);
	pthread_mutex_lock(&n->lock);
	n->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pthread_mutex_unlock(&n->lock);
	if (n->fd >= 0 && connect(n->fd, (const struct sockaddr *)&a, sizeof a) == 0)
		return true;
	snprintf(why, OCS_TEXT_MAX, "%.60s: %s", n->path, strerror(errno));
	return false;
}

static void
end_session(struct netconf *n)
{
	ocsdrv_ncs_close(&n->ncs);
	pthread_mutex_lock(&n->lock);
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
	pid_t pid = n->pid;
	n->pid = 0;
	pthread_mutex_unlock(&n->lock);
	if (pid > 0) {
		kill(-pid, SIGTERM);
		waitpid(pid, NULL, 0);
	}
}

static void
open_session(struct netconf *n, struct job *j)
{
	bool ok = n->command ? run_command(n, j->text) : reach_socket(n, j->text);
	n->ncs = (struct ocsdrv_ncs){.ports = n->cfg.ports, .answer_ms = n->answer_ms};
	if (ok && !ocsdrv_ncs_open(&n->ncs, n->fd, n->fd, n->schemas)) {
		memcpy(j->text, n->ncs.trouble, sizeof j->text);
		ok = false;
	}
	if (!ok) {
		j->err = OCS_ERR_OFFLINE;
		end_session(n);
		return;
	}
	snprintf(j->id.vendor, sizeof j->id.vendor, "NETCONF");
	ocsdrv_ncs_identify(&n->ncs, &j->id);
	j->id.caps = n->ncs.deadman ? OCS_CAP_DEADMAN_ROLLBACK : 0;
}

/* ---- the thread: jobs ---- */

static void
take_pair(void *user, uint32_t in, uint32_t out)
{
	struct netconf *n = user;
	if (n->job.npairs < n->cfg.ports)
		n->job.pairs[n->job.npairs++] = (struct ocsdrv_ncs_pair){in, out, false};
}

static void
edit_pairs(struct netconf *n, struct job *j)
{
	int err = ocsdrv_ncs_edit(&n->ncs, j->pairs, j->npairs, j->revert_s);
	bool singly = err && !j->atomic && j->npairs > 1 && err != OCS_ERR_OFFLINE &&
		      err != OCS_ERR_TIMEOUT && err != OCS_ERR_RETRY;
	for (uint32_t i = 0; i < j->npairs; i++) {
		/* Refused as a whole: one by one they tell which of them it was. */
		j->errs[i] = singly ? ocsdrv_ncs_edit(&n->ncs, &j->pairs[i], 1, j->revert_s) : err;
		memcpy(j->texts[i], n->ncs.trouble, OCS_TEXT_MAX);
	}
	if (err == OCS_ERR_OFFLINE || err == OCS_ERR_TIMEOUT)
		j->err = err;
}

static void
run_job(struct netconf *n, struct job *j)
{
	j->err = OCS_ERR_OK;
	j->text[0] = 0;
	n->ncs.trouble[0] = 0;
	switch (j->kind) {
	case JOB_OPEN:
		open_session(n, j);
		return;
	case JOB_READ:
	case JOB_KEEPALIVE:
		j->npairs = 0;
		j->err = ocsdrv_ncs_read(&n->ncs, take_pair, n);
		break;
	case JOB_EDIT:
		edit_pairs(n, j);
		break;
	case JOB_CONFIRM:
		j->err = ocsdrv_ncs_confirm(&n->ncs);
		break;
	case JOB_LOCK:
		j->err = ocsdrv_ncs_lock(&n->ncs, j->on);
		break;
	case JOB_CLOSE:
		end_session(n);
		break;
	}
	memcpy(j->text, n->ncs.trouble, sizeof j->text);
}

/* What comes unasked: notifications, the end of the session. */
static void
take_notifications(struct netconf *n)
{
	bool changed = n->ncs.session && ocsdrv_ncs_changed(&n->ncs);
	bool lost = n->ncs.session && !ocsdrv_ncs_is_alive(&n->ncs);
	if (lost)
		end_session(n);
	if (!changed && !lost)
		return;
	pthread_mutex_lock(&n->lock);
	n->changed = n->changed || changed;
	n->lost = n->lost || lost;
	pthread_mutex_unlock(&n->lock);
	ring_event(n->to_owner);
}

static void
say_nothing(const struct nc_session *session, NC_VERB_LEVEL level, const char *text)
{
	(void)session, (void)level, (void)text;
}

static void *
run_thread(void *arg)
{
	struct netconf *n = arg;
	nc_client_init();
	/* What matters of it comes back as results; for the process, like the next one. */
	nc_set_print_clb_session(say_nothing);
	ly_log_options(0);
	pthread_mutex_lock(&n->lock);
	while (!n->quit) {
		if (n->job.state == ORDERED) {
			n->job.state = WORKING;
			pthread_mutex_unlock(&n->lock);
			run_job(n, &n->job);
			pthread_mutex_lock(&n->lock);
			n->job.state = DONE;
			ring_event(n->to_owner);
			continue;
		}
		pthread_mutex_unlock(&n->lock);
		struct pollfd p[2] = {{.fd = n->to_thread, .events = POLLIN},
				      {.fd = n->fd, .events = POLLIN}};
		poll(p, n->ncs.session ? 2 : 1, -1);
		if (p[0].revents)
			hush_event(n->to_thread);
		if (n->ncs.session && p[1].revents)
			take_notifications(n);
		pthread_mutex_lock(&n->lock);
	}
	pthread_mutex_unlock(&n->lock);
	end_session(n);
	nc_client_destroy();
#if LY_VERSION_MAJOR < 3 /* its companion of libyang 3 has it in the call above */
	nc_thread_destroy();
#endif
	return NULL;
}

/* ---- the engine ---- */

static void
set_job_state(struct netconf *n, enum job_state state)
{
	pthread_mutex_lock(&n->lock);
	n->job.state = state;
	pthread_mutex_unlock(&n->lock);
}

static enum job_state
get_job_state(struct netconf *n)
{
	pthread_mutex_lock(&n->lock);
	enum job_state state = n->job.state;
	pthread_mutex_unlock(&n->lock);
	return state;
}

static void
order_job(struct netconf *n, enum job_kind kind)
{
	n->job.kind = kind; /* the thread looks at it once it is ordered */
	set_job_state(n, ORDERED);
	ring_event(n->to_thread);
}

static size_t
engine_footprint(const struct ocsproto_config *cfg)
{
	(void)cfg;
	return sizeof(struct engine);
}

/* The session was opened before core knew of it. */
static void
engine_start(struct core *c)
{
	struct netconf *n = netconf_of_core(c);
	c->id = n->job.id;
	c->id.ingress = c->id.egress = n->cfg.ports;
	uint32_t more = n->job.id.caps;
	ocsproto_core_up(c);
	c->id.caps |= more;
}

static void
engine_read(struct core *c)
{
	order_job(netconf_of_core(c), JOB_READ);
}

static void
order_edit(struct core *c, int removal)
{
	struct netconf *n = netconf_of_core(c);
	struct job *j = &n->job;
	j->npairs = 0;
	for (uint32_t i = 0; i < c->nitems; i++) {
		struct core_item *it = &c->items[i];
		if (it->decided || (removal >= 0 && it->removal != removal))
			continue;
		it->tag = j->npairs;
		j->pairs[j->npairs++] = (struct ocsdrv_ncs_pair){it->in, it->out, it->removal};
	}
	j->atomic = removal < 0;
	j->revert_s = (uint32_t)((c->revert_after_ns + BASE_S_NS - 1) / BASE_S_NS);
	order_job(n, JOB_EDIT);
}

static void
engine_change(struct core *c, bool removal)
{
	order_edit(c, removal);
}

static void
engine_swap(struct core *c)
{
	order_edit(c, -1);
}

static void
engine_confirm(struct core *c)
{
	order_job(netconf_of_core(c), JOB_CONFIRM);
}

static void
engine_lock(struct core *c, bool on)
{
	netconf_of_core(c)->job.on = on;
	order_job(netconf_of_core(c), JOB_LOCK);
}

static void
engine_keepalive(struct core *c)
{
	order_job(netconf_of_core(c), JOB_KEEPALIVE);
}

static const struct core_ops engine_ops = {
	.name = "netconf",
	.caps = OCS_CAP_ATOMIC_BATCH | OCS_CAP_IMPLICIT_DISPLACE | OCS_CAP_LOCK | OCS_CAP_EVENTS,
	.footprint = engine_footprint,
	.start = engine_start,
	.read = engine_read,
	.change = engine_change,
	.swap = engine_swap,
	.lock = engine_lock,
	.confirm = engine_confirm,
	.keepalive = engine_keepalive,
};

/* ---- the owner ---- */

static void
finish_edit(struct core *c, struct job *j)
{
	bool removal = c->stage == CORE_REMOVE;
	for (uint32_t i = 0; i < c->nitems; i++) {
		struct core_item *it = &c->items[i];
		if (it->decided || (c->stage != CORE_SWAP && it->removal != removal))
			continue;
		ocsproto_core_decide(c, it, j->errs[it->tag], j->texts[it->tag]);
	}
	ocsproto_core_stage_done(c, j->err, j->text);
}

static void
drop_session(struct netconf *n, uint64_t now_ns, const char *why)
{
	n->open = n->opening = false;
	snprintf(n->trouble, sizeof n->trouble, "%s", why);
	if (n->worked)
		ocsdrv_pause_reset(&n->pause);
	n->worked = false;
	n->at_ns = base_add_ns(now_ns, ocsdrv_pause_next_ns(&n->pause));
}

/* Whatever the thread waits for, it waits no longer. */
static void
cut_session(struct netconf *n)
{
	pthread_mutex_lock(&n->lock);
	if (n->fd >= 0)
		shutdown(n->fd, SHUT_RDWR);
	pthread_mutex_unlock(&n->lock);
}

static void
finish_job(struct netconf *n, uint64_t now_ns)
{
	struct core *c = n->core;
	struct job *j = &n->job;
	set_job_state(n, IDLE);
	if (n->opening) {
		n->opening = false;
		if (j->err) {
			drop_session(n, now_ns, j->text);
			return;
		}
		n->open = n->worked = true;
		n->trouble[0] = 0;
		c->sw.ops->connected(&c->sw, now_ns);
		return;
	}
	if (!n->open || j->kind == JOB_CLOSE)
		return;
	if (j->err == OCS_ERR_OFFLINE || j->err == OCS_ERR_TIMEOUT) {
		ocsproto_core_fail(c, j->err, j->text);
		return;
	}
	if (j->kind == JOB_READ) {
		ocsproto_core_have_none(c);
		for (uint32_t i = 0; i < j->npairs; i++)
			ocsproto_core_have(c, j->pairs[i].in, j->pairs[i].out, OCS_SHOWN_STEADY);
	}
	if (j->kind == JOB_EDIT)
		finish_edit(c, j);
	else if (j->kind == JOB_KEEPALIVE)
		ocsproto_core_settled(c);
	else
		ocsproto_core_stage_done(c, j->err, j->text);
}

static void
netconf_turn(struct ocs_driver *d, uint64_t now_ns)
{
	struct netconf *n = netconf_of(d);
	struct core *c = n->core;
	hush_event(n->to_owner);
	pthread_mutex_lock(&n->lock);
	bool idle = n->job.state == IDLE, done = n->job.state == DONE;
	bool changed = n->changed, lost = n->lost;
	n->changed = n->lost = false;
	pthread_mutex_unlock(&n->lock);
	c->now = now_ns;
	if (done) {
		finish_job(n, now_ns);
		idle = get_job_state(n) == IDLE;
	}
	if (n->open && changed)
		ocsproto_core_changed(c);
	if (n->open && lost)
		ocsproto_core_fail(c, OCS_ERR_OFFLINE, "the server closed the session");
	if (n->open)
		c->sw.ops->tick(&c->sw, now_ns);
	if (n->open && ocsproto_is_broken(&c->sw)) {
		char why[OCS_TEXT_MAX];
		memcpy(why, c->down_text, sizeof why);
		c->sw.ops->disconnected(&c->sw, now_ns);
		drop_session(n, now_ns, why);
		n->hung_up = true;
	}
	if (n->opening && now_ns >= n->at_ns) {
		n->at_ns = BASE_NEVER_NS;
		cut_session(n);
	}
	if (n->open || n->opening || !idle)
		return;
	if (n->hung_up) { /* the thread may still hold what was a session */
		n->hung_up = false;
		order_job(n, JOB_CLOSE);
	} else if (now_ns >= n->at_ns) {
		n->opening = true;
		n->at_ns = base_add_ns(now_ns, (unsigned int)n->answer_ms * BASE_MS_NS);
		memset(&n->job.id, 0, sizeof n->job.id);
		order_job(n, JOB_OPEN);
	}
}

static uint64_t
netconf_expiry(const struct ocs_driver *d)
{
	const struct netconf *n = netconf_of(d);
	if (n->open)
		return n->core->sw.ops->expiry_ns(&n->core->sw);
	return n->at_ns;
}

static int
netconf_fd(const struct ocs_driver *d)
{
	return netconf_of(d)->to_owner;
}

static struct ocs_switch *
netconf_switch(struct ocs_driver *d)
{
	return &netconf_of(d)->core->sw;
}

static const char *
netconf_trouble(const struct ocs_driver *d)
{
	return netconf_of(d)->trouble;
}

/* libnetconf2 has left the models there it fetched from the server: files, no folders. */
static void
remove_schemas(const char *dir)
{
	DIR *d = dir[0] ? opendir(dir) : NULL;
	const struct dirent *e;
	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	if (dir[0])
		rmdir(dir);
}

/* It takes its leave of the server; if that does not answer, the line is cut. */
static void
stop_thread(struct netconf *n)
{
	struct timespec limit;
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += LEAVE_S;
	pthread_mutex_lock(&n->lock);
	n->quit = true;
	pthread_mutex_unlock(&n->lock);
	ring_event(n->to_thread);
	if (pthread_timedjoin_np(n->thread, NULL, &limit) == 0)
		return;
	cut_session(n);
	pthread_join(n->thread, NULL);
}

static void
netconf_close(struct ocs_driver *d)
{
	struct netconf *n = netconf_of(d);
	if (n->started)
		stop_thread(n);
	if (n->to_owner >= 0)
		close(n->to_owner);
	if (n->to_thread >= 0)
		close(n->to_thread);
	pthread_mutex_destroy(&n->lock);
	if (!n->keep_schemas)
		remove_schemas(n->schemas);
	free(n->job.pairs);
	free(n->job.errs);
	free(n->job.texts);
	free(n->command);
	free(n->path);
	free(n->core);
	free(n);
}

static const struct ocs_driver_ops netconf_ops = {
	.close = netconf_close,
	.sw = netconf_switch,
	.fd = netconf_fd,
	.expiry_ns = netconf_expiry,
	.turn = netconf_turn,
	.trouble = netconf_trouble,
};

static bool
prepare_core(struct netconf *n, const struct ocs_driver_config *cfg, char why[OCS_DRIVER_WHY])
{
	uint32_t room = cfg->ports > cfg->batch ? cfg->ports : cfg->batch;
	size_t bytes = ocsproto_core_footprint(&n->cfg, &engine_ops);
	if (!bytes) {
		snprintf(why, OCS_DRIVER_WHY, "ports or batch out of range");
		return false;
	}
	n->core = malloc(bytes);
	n->job.pairs = calloc(room, sizeof *n->job.pairs);
	n->job.errs = calloc(cfg->batch, sizeof *n->job.errs);
	n->job.texts = calloc(cfg->batch, sizeof *n->job.texts);
	n->to_owner = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	n->to_thread = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!n->core || !n->job.pairs || !n->job.errs || !n->job.texts || n->to_owner < 0 ||
	    n->to_thread < 0) {
		snprintf(why, OCS_DRIVER_WHY, "no memory");
		return false;
	}
	ocsproto_core_new(n->core, &n->cfg, &engine_ops);
	((struct engine *)n->core->engine)->n = n;
	n->core->ops.rx = NULL; /* the bytes are libnetconf2's */
	n->core->ops.tx = NULL;
	if (strncmp(cfg->address, "exec:", 5) == 0) {
		n->command = strdup(cfg->address + 5);
	} else if (strncmp(cfg->address, "unix:", 5) == 0) {
		n->path = strdup(cfg->address + 5);
	} else {
		snprintf(why, OCS_DRIVER_WHY, "a NETCONF address is exec:COMMAND or unix:PATH");
		return false;
	}
	n->keep_schemas = cfg->models != NULL;
	snprintf(n->schemas, sizeof n->schemas, "%s",
		 cfg->models ? cfg->models : "/tmp/ocs-schemas.XXXXXX");
	if (!cfg->models && !mkdtemp(n->schemas)) {
		snprintf(why, OCS_DRIVER_WHY, "%.60s: %s", n->schemas, strerror(errno));
		n->schemas[0] = 0;
		return false;
	}
	return true;
}

static struct ocs_driver *
netconf_open(const struct ocs_driver_config *cfg, char why[OCS_DRIVER_WHY])
{
	struct netconf *n = calloc(1, sizeof *n);
	if (!n) {
		snprintf(why, OCS_DRIVER_WHY, "no memory");
		return NULL;
	}
	n->d.ops = &netconf_ops;
	n->fd = n->to_owner = n->to_thread = -1;
	n->cfg = (struct ocsproto_config){.ports = cfg->ports,
					  .batch = cfg->batch,
					  .answer_ns = ENGINE_ANSWER_NS,
					  .keepalive_ns = cfg->keepalive_ns};
	n->answer_ms = cfg->answer_ns ? (int)(cfg->answer_ns / BASE_MS_NS) + 1 : ANSWER_MS;
	pthread_mutex_init(&n->lock, NULL);
	ocsdrv_pause_init(&n->pause, cfg);
	if (prepare_core(n, cfg, why)) {
		n->started = pthread_create(&n->thread, NULL, run_thread, n) == 0;
		if (n->started)
			return &n->d;
		snprintf(why, OCS_DRIVER_WHY, "no thread");
	}
	netconf_close(&n->d);
	return NULL;
}

const struct ocs_plugin ocs_plugin = {
	.version = OCS_PLUGIN_VERSION,
	.sizes = OCS_PLUGIN_SIZES,
	.protocol = "netconf",
	.open = netconf_open,
};

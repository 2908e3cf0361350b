/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of this unit: started, watched by pidfd, ended. */
#include "daemon.h"

#include "place.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EARLY_MAX  5u /* that ended before MPI_Init, in a row: the program is no good */
#define SOCK_BYTES (1 << 20)

/* ---- start ---- */

static char *const *
words_of_pool(uint8_t pool)
{
	static char beside[4096], *ready_made[] = {beside, NULL};
	ssize_t n;

	if (pool != SPX_POOL(spd.conf->unit[spd.me].cluster, true))
		return spd.cluster->program;
	if (spd.cluster->io[0])
		return spd.cluster->io;
	n = readlink("/proc/self/exe", beside, sizeof beside - sizeof "mpisp-io");
	char *slash = n > 0 ? memrchr(beside, '/', (size_t)n) : NULL;
	memcpy(slash ? slash + 1 : beside, "mpisp-io", sizeof "mpisp-io");
	return ready_made;
}

/* fd: its socket; or env: all that it is told. */
static _Noreturn void
become_program(int fd, char **env, char *const *words)
{
	const struct spd_cluster *k = spd.cluster;
	char number[16];
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	if (env) {
		environ = env;
	} else {
		int kept = fcntl(fd, F_DUPFD, 3); /* without FD_CLOEXEC */
		snprintf(number, sizeof number, "%d", kept);
		setenv(spd.group.pipeline ? "LIBMPI_SPX_FEED" : SP_CLIENT_ENV, number, 1);
	}
	if (k->wdir && chdir(k->wdir) != 0) {
		fprintf(stderr, "mpispd: clusters.%s.wdir: %s: %s\n", k->name, k->wdir,
			strerror(errno));
		_exit(126);
	}
	execvp(words[0], words);
	int err = errno;
	fprintf(stderr, "mpispd: clusters.%s.%s: %s: %s\n", k->name,
		words == k->program ? "program" : "io", words[0], strerror(err));
	_exit(err == ENOENT ? 127 : 126);
}

static struct spd_proc *
free_place(void)
{
	for (uint32_t i = 0; i < spd.nproc; i++)
		if (!spd.proc[i].pid)
			return &spd.proc[i];
	return spd.nproc < SPD_PROCS_MAX ? &spd.proc[spd.nproc++] : NULL;
}

/* ends: ours, its.  -1, with an environment instead, for a program that knows PMIx. */
static bool
open_proc_talk(uint32_t slot, int ends[2], char ***env)
{
	int bytes = SOCK_BYTES,
	    how = spd.group.pipeline ? SOCK_STREAM : SOCK_SEQPACKET | SOCK_NONBLOCK;

	*env = NULL;
	if (spd.cluster->pmix) {
		ends[0] = ends[1] = -1;
		*env = spd_foreign_env(slot);
		return *env != NULL;
	}
	if (socketpair(AF_UNIX, how | SOCK_CLOEXEC, 0, ends) != 0)
		return false;
	for (int i = 0; i < 2; i++)
		(void)setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	return true;
}

/* The parent's part of it goes. */
static void
close_proc_talk(int end, char **env)
{
	if (end >= 0)
		close(end);
	for (char **word = env; word && *word; word++)
		free(*word);
	free(env);
}

bool
spd_proc_start(uint32_t slot, uint32_t token, uint8_t pool, uint64_t now_ns)
{
	struct spd_proc *p = free_place();
	char *const *words = words_of_pool(pool);
	char **env;
	int ends[2];

	if (!p || !open_proc_talk(slot, ends, &env)) {
		spd_log("a process cannot be started: %s", p ? strerror(errno) : "too many");
		return false;
	}
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		become_program(ends[1], env, words);
	close_proc_talk(ends[1], env);
	int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	if (pidfd < 0) {
		spd_log("a process cannot be started: %s", strerror(errno));
		if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		close_proc_talk(ends[0], NULL);
		return false;
	}
	fcntl(pidfd, F_SETFD, FD_CLOEXEC);
	*p = (struct spd_proc){.pid = pid,
			       .pidfd = pidfd,
			       .fd = ends[0],
			       .token = token,
			       .slot = slot,
			       .role_told = SP_NONE,
			       .begun_ns = now_ns,
			       .pool = pool,
			       .feed = spd.group.pipeline,
			       .fresh = spd.group.pipeline && slot == SP_NONE};
	if (p->feed)
		spd_feed_begin(p);
	if (spd.fenced)
		kill(pid, SIGSTOP);
	return true;
}

/* ---- end ---- */

void
spd_procs_end(void)
{
	static bool told;

	if (!spd.ending || told)
		return;
	told = true;
	spd_proc_signal(SIGCONT);
	for (uint32_t i = 0; i < spd.nproc; i++) {
		struct spd_proc *p = &spd.proc[i];
		if (!p->pid || (p->left && !p->feed))
			continue;
		if (p->feed) {
			spd_feed_end(p);
			if (!p->hello || spd.status)
				kill(p->pid, SIGTERM);
			continue;
		}
		spd_talk_end(p, spd.end_why, spd.end_text);
		if (!p->hello || p->role_told == SP_NONE || spd.status)
			kill(p->pid, SIGTERM);
	}
}

/* How it ended: "was ended by signal 9, Killed". */
static void
say_end(const struct spd_proc *p, const siginfo_t *how)
{
	bool by_signal = how->si_code != CLD_EXITED;

	if (by_signal && p->feed)
		spd_say("%s died: signal %d, %s", spd_proc_name(p), how->si_status,
			strsignal(how->si_status));
	else if (p->feed)
		spd_say("%s died: status %d%s", spd_proc_name(p), how->si_status,
			p->hello ? "" : ", and did not come to MPI_Init under a pipeline");
	else if (by_signal)
		spd_log("%s was ended by signal %d, %s", spd_proc_name(p), how->si_status,
			strsignal(how->si_status));
	else if (how->si_status == 0 && p->hello)
		spd_log("%s ended without MPI_Finalize", spd_proc_name(p));
	else
		spd_log("%s ended with status %d%s", spd_proc_name(p), how->si_status,
			p->hello ? "" : ", before MPI_Init");
}

/* Another daemon shows this, too, and has not what the child said of it. */
static void
name_missing_file(const struct spd_proc *p, int status, char *text)
{
	const struct spd_cluster *k = spd.cluster;
	char *const *words = words_of_pool(p->pool);

	if (k->wdir && access(k->wdir, X_OK) != 0)
		snprintf(text, SPD_WHY, "clusters.%s.wdir: %s: %s", k->name, k->wdir,
			 strerror(errno));
	else
		snprintf(text, SPD_WHY,
			 "clusters.%s.%s: %s cannot be started: it, or what it starts, %s", k->name,
			 words == k->program ? "program" : "io", words[0],
			 status == 127 ? "is not there, nor in PATH"
				       : "is no program, or may not be run");
}

/* A program that does not come to MPI_Init would be started for ever. */
static bool
is_no_good(const struct spd_proc *p, const siginfo_t *how)
{
	char text[SPD_WHY];

	spd.early = p->hello || p->killed ? 0 : spd.early + 1;
	bool missing = !p->hello && how->si_code == CLD_EXITED &&
		       (how->si_status == 126 || how->si_status == 127);
	if (!missing && spd.early < EARLY_MAX)
		return false;
	if (missing)
		name_missing_file(p, how->si_status, text);
	else
		snprintf(text, sizeof text,
			 "clusters.%s.program: %s ends again and again before %s",
			 spd.cluster->name, spd.cluster->program[0],
			 spd.cluster->pmix ? "PMIx_Init"
					   : "MPI_Init; is it an MPI program of libmpi?");
	spd_log("%s", text);
	struct spd_note n = {
		.type = SPD_NOTE_ABORT, .cluster = spd.conf->unit[spd.me].cluster, .status = 1};
	snprintf(n.text, sizeof n.text, "unit %s: %.400s", spd.conf->unit[spd.me].name, text);
	spd_net_cluster(&n);
	spd_end(1, SP_WHY_FAULTS, text);
	return true;
}

static void
proc_over(struct spd_proc *p, const siginfo_t *how, uint64_t now_ns)
{
	struct spd_proc was = *p;
	bool well = (was.left || (was.feed && spd.ending)) && how->si_code == CLD_EXITED &&
		    how->si_status == 0;

	if (!well && !spd.ending && !was.killed)
		say_end(p, how);
	if ((was.left || (was.feed && spd.ending)) && !well && how->si_code == CLD_EXITED &&
	    !spd.status) {
		spd.status = how->si_status;
		if (was.feed)
			spd_log("%s ended with status %d", spd_proc_name(p), how->si_status);
	}
	close(p->pidfd);
	if (p->fd >= 0)
		close(p->fd);
	free(p->in);
	p->in = NULL;
	p->pid = 0;
	if ((was.left && !was.feed) || spd.ending || is_no_good(&was, how))
		return;
	if (was.slot != SP_NONE)
		sp_node_died(spd.node, was.slot, SP_WHY_EXIT, now_ns);
	else
		sp_node_gone(spd.node, was.token, now_ns);
}

/* ---- views ---- */

/* A process that was started here to be a spare, and has a slot now. */
static void
bind_slot(const struct sp_view *v, uint32_t slot)
{
	for (uint32_t i = 0; i < spd.nproc; i++) {
		struct spd_proc *p = &spd.proc[i];
		if (p->pid && p->slot == SP_NONE && p->token == v->slot[slot].token)
			p->slot = slot;
	}
}

static void
say_takeovers(const struct sp_view *v)
{
	static uint64_t said;
	static uint32_t known;

	for (uint32_t s = 0; s < v->slots && said; s++) {
		const struct sp_slot *of = &v->slot[s];
		if (of->state != SP_SLOT_ROLE || s < spd.node_conf.limits.roles ||
		    (s < known && spd.started && of->unit != spd.unit))
			continue;
		struct spd_proc *p = of->unit == spd.unit ? spd_proc_of_slot(s) : NULL;
		if (p && p->role_told == SP_NONE && p->hello)
			spd_log("view %llu: slot %u takes over role %u",
				(unsigned long long)v->number, s, of->role);
	}
	said = v->number;
	known = v->slots;
}

/* Units that went or came. */
static void
say_units(const struct sp_view *v)
{
	static bool down[SPD_UNITS_MAX], known;

	for (uint32_t u = 0; u < v->l.units; u++) {
		const char *name = spd.conf->unit[spd.group.unit[u]].name;
		if (known && v->unit[u].down != down[u])
			spd_log("unit %s is %s in view %llu", name, v->unit[u].down ? "down" : "up",
				(unsigned long long)v->number);
		down[u] = v->unit[u].down;
	}
	known = true;
}

void
spd_procs_follow(const struct sp_view *v, uint64_t now_ns)
{
	for (uint32_t s = 0; s < v->slots; s++) {
		const struct sp_slot *of = &v->slot[s];
		if (of->unit != spd.unit)
			continue;
		if (s >= spd.node_conf.slots)
			bind_slot(v, s);
		struct spd_proc *p = spd_proc_of_slot(s);
		if (p && of->state == SP_SLOT_DEAD && !p->killed && !p->left) {
			spd_log("%s is dead in view %llu (%s); it is ended", spd_proc_name(p),
				(unsigned long long)v->number, sp_why_text(of->why));
			spd_proc_kill(p);
		}
		if (s >= spd.node_conf.slots || spd.started[s])
			continue;
		spd.started[s] = true;
		/* Those of a life before are dead already. */
		if (of->state != SP_SLOT_DEAD && !spd_proc_start(s, 0, of->pool, now_ns))
			sp_node_died(spd.node, s, SP_WHY_EXIT, now_ns);
	}
	for (uint32_t i = 0; i < spd.nproc; i++)
		if (spd.proc[i].pid && spd.proc[i].program && !spd.proc[i].killed)
			(void)spd_program_fits(&spd.proc[i], now_ns);
	say_units(v);
	if (!spd.group.pipeline)
		say_takeovers(v);
}

/* ---- the loop ---- */

nfds_t
spd_procs_fds(struct pollfd *fd)
{
	for (uint32_t i = 0; i < spd.nproc; i++) {
		const struct spd_proc *p = &spd.proc[i];
		fd[2 * i] = (struct pollfd){.fd = p->pid ? p->pidfd : -1, .events = POLLIN};
		fd[2 * i + 1] = (struct pollfd){.fd = p->pid ? p->fd : -1, .events = POLLIN};
	}
	return 2 * spd.nproc;
}

static void
hear_process(struct spd_proc *p, uint64_t now_ns)
{
	if (p->feed)
		spd_feed_read(p, now_ns);
	else
		spd_talk_read(p, now_ns);
}

void
spd_procs_poll(const struct pollfd *fd, nfds_t n, uint64_t now_ns)
{
	for (nfds_t i = 0; i < n / 2; i++) {
		struct spd_proc *p = &spd.proc[i];
		/* What it said comes before its end. */
		if (fd[2 * i + 1].revents && p->pid && p->fd == fd[2 * i + 1].fd)
			hear_process(p, now_ns);
		siginfo_t how = {0};
		if (!fd[2 * i].revents || !p->pid || p->pidfd != fd[2 * i].fd ||
		    waitid(P_PIDFD, (id_t)p->pidfd, &how, WEXITED | WNOHANG) != 0 || !how.si_pid)
			continue;
		if (p->fd >= 0)
			hear_process(p, now_ns);
		proc_over(p, &how, now_ns);
	}
}

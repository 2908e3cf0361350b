/* SPDX-License-Identifier: BSD-2-Clause */
/* Starting programs for a process whose launcher does not, or that none has started: by our mpirun.
 *
 * A shell of its own waits for mpirun and says how it ended into a pipe.  So the program's own
 * wait() never meets a child that it has not started, and nothing forks a copy of this process. */
#include "ports.h"

#include "boot.h"
#include "internal.h"

#include "launch/order.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define STATUS_FD  9
/* The shell ends at once, what it has left behind goes on. */
#define SCRIPT "(\"$@\" 9>&-; echo $? >&9) </dev/null &"

extern char **environ;

/* ---- what mpirun is to do ---- */

/* NULL at its end; a word that could not be kept leaves it short, and `failed` says so. */
struct words {
	char **word;
	size_t n;
	bool failed;
};

__attribute__((format(printf, 2, 3))) static void
add_argument(struct words *w, const char *fmt, ...)
{
	char **grown = realloc(w->word, (w->n + 2) * sizeof *grown);
	va_list ap;

	if (!grown) {
		w->failed = true;
		return;
	}
	w->word = grown;
	va_start(ap, fmt);
	int len = vasprintf(&grown[w->n], fmt, ap);
	va_end(ap);
	if (len < 0)
		w->failed = true;
	else
		w->n++;
	grown[w->n] = NULL;
}

static void
free_words(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->word[i]);
	free(w->word);
}

/* False: mpirun would take it for another program's beginning. */
static bool
put_program(struct words *w, const struct lmpi_program *p, const struct lmpi_settings *s)
{
	add_argument(w, "-n");
	add_argument(w, "%u", p->n);
	if (p->host) {
		add_argument(w, "-host");
		add_argument(w, "%s", p->host);
	}
	if (p->wdir) {
		add_argument(w, "-wdir");
		add_argument(w, "%s", p->wdir);
	}
	for (uint32_t i = 0; i < s->n; i++) {
		add_argument(w, "-x");
		add_argument(w, "%s=%s", s->name[i], s->value[i]);
	}
	add_argument(w, "%s", p->command);
	for (char **a = p->argv; a && *a; a++) {
		if (strcmp(*a, ":") == 0)
			return false;
		add_argument(w, "%s", *a);
	}
	return true;
}

/* It is installed with the library, and lies beside it where both are built. */
static bool
find_mpirun(char path[PATH_BYTES])
{
	static const char *const from[] = {"../bin", "../../bin"};
	Dl_info us;

	if (!dladdr(from, &us) || !us.dli_fname)
		return false;
	const char *slash = strrchr(us.dli_fname, '/');
	int folder = slash ? (int)(slash - us.dli_fname) : 0;
	for (size_t i = 0; slash && i < sizeof from / sizeof *from; i++) {
		int n = snprintf(path, PATH_BYTES, "%.*s/%s/mpirun", folder, us.dli_fname, from[i]);
		if (n < PATH_BYTES && access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* ---- how it ends ---- */

struct helper {
	int fd;
	char name[LAUNCH_NAME], command[100]; /* the first one */
};

static void *
helper_ended(void *arg)
{
	struct helper *h = arg;
	char text[16] = "", why[LMPI_WHY];
	ssize_t n;

	do
		n = read(h->fd, text, sizeof text - 1);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		snprintf(why, sizeof why, "mpirun, which was to run %s, ended with status %d",
			 h->command, (int)strtol(text, NULL, 10));
	else
		snprintf(why, sizeof why, "mpirun, which was to run %s, was killed", h->command);
	lmpi_spawn_ended(h->name, why);
	close(h->fd);
	free(h);
	return NULL;
}

/* Signals are the program's own threads' matter. */
static bool
start_watching(struct helper *h)
{
	pthread_t thread;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&thread, NULL, helper_ended, h);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_detach(thread);
	return !err;
}

static int
start_shell(char *const argv[], int said)
{
	posix_spawn_file_actions_t act;
	posix_spawnattr_t attr;
	sigset_t none, dfl;
	pid_t pid;

	posix_spawn_file_actions_init(&act);
	posix_spawn_file_actions_adddup2(&act, said, STATUS_FD);
	/* A program may ignore or block what mpirun is to be ended by. */
	sigemptyset(&none);
	sigemptyset(&dfl);
	sigaddset(&dfl, SIGINT);
	sigaddset(&dfl, SIGTERM);
	sigaddset(&dfl, SIGCHLD);
	sigaddset(&dfl, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &dfl);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	int err = posix_spawn(&pid, "/bin/sh", &act, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&act);
	while (!err && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err;
}

/* A thread waits for its end. */
static bool
start_helper(char *const argv[], const char *name, const char *command, char why[LMPI_WHY])
{
	struct helper *h = calloc(1, sizeof *h);
	int fd[2], err = ENOMEM;

	if (h && pipe2(fd, O_CLOEXEC) == 0) {
		h->fd = fd[0];
		snprintf(h->name, sizeof h->name, "%s", name);
		snprintf(h->command, sizeof h->command, "%s", command);
		err = start_shell(argv, fd[1]);
		close(fd[1]);
		if (!err && start_watching(h))
			return true;
		close(fd[0]);
	} else if (h) {
		err = errno;
	}
	free(h);
	snprintf(why, LMPI_WHY, "mpirun could not be started: %s", strerror(err ? err : EAGAIN));
	return false;
}

/* ---- the call ---- */

static bool
is_here(const char *host)
{
	return !host || strcmp(host, "localhost") == 0 || strcmp(host, lmpi_world.node_name) == 0;
}

bool
lmpi_alone_start(const struct lmpi_program *program, uint32_t n, const struct lmpi_settings *s,
		 const char *name, char why[LMPI_WHY])
{
	struct words w = {0};
	char path[PATH_BYTES];
	bool ok = find_mpirun(path);

	if (!ok) {
		snprintf(why, LMPI_WHY,
			 "there is no launcher that could start programs, and no mpirun beside "
			 "the library: start this one by mpirun, as mpirun -n 1 PROGRAM");
		return false;
	}
	for (uint32_t i = 0; lmpi_boot_launched() && i < n; i++) {
		if (is_here(program[i].host))
			continue;
		snprintf(why, LMPI_WHY,
			 "info key \"host\" is \"%.60s\": this launcher starts no programs of a "
			 "running job, so they run on %.60s alone: leave the key out",
			 program[i].host, lmpi_world.node_name);
		return false;
	}
	add_argument(&w, "sh");
	add_argument(&w, "-c");
	add_argument(&w, SCRIPT);
	add_argument(&w, "mpirun");
	add_argument(&w, "%s", path);
	/* Within a step of Slurm: srun would wait for the processors that this one has. */
	if (lmpi_boot_launched()) {
		add_argument(&w, "--launcher");
		add_argument(&w, "local");
	}
	for (uint32_t i = 0, put = 0; ok && i < n; i++) {
		if (program[i].n == 0)
			continue;
		if (put++)
			add_argument(&w, ":");
		ok = put_program(&w, &program[i], s);
	}
	if (!ok)
		snprintf(why, LMPI_WHY,
			 "an argument is \":\", which means another program to mpirun: start this "
			 "one by mpirun, as mpirun -n 1 PROGRAM");
	else if (w.failed)
		snprintf(why, LMPI_WHY, "out of memory");
	ok = ok && !w.failed && start_helper(w.word, name, program[0].command, why);
	free_words(&w);
	return ok;
}

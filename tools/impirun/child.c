/* SPDX-License-Identifier: BSD-2-Clause */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Stopping is left to the default: a terminal stops and continues both of us. */
static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
#define PASSED_ON (sizeof passed_on / sizeof *passed_on)

static volatile sig_atomic_t launcher;

static void
pass_signal(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	(void)context;
	/* The kernel sends what was typed to the whole group, and twice would be "now". */
	if (info->si_code <= 0 && launcher > 0)
		(void)kill((pid_t)launcher, sig);
	errno = saved;
}

int
child_run(char *const *argv)
{
	struct sigaction pass = {.sa_sigaction = pass_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction old[PASSED_ON];
	sigset_t all, mask;
	pid_t parent = getpid();
	int failed[2], err = 0, status = 0;

	if (pipe2(failed, O_CLOEXEC) < 0)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	for (size_t i = 0; i < PASSED_ON; i++) {
		(void)sigaction(passed_on[i], NULL, &old[i]);
		if (old[i].sa_handler != SIG_IGN) /* nohup's, and a shell's in the background */
			(void)sigaction(passed_on[i], &pass, NULL);
	}
	pid_t pid = fork();
	if (pid == 0) {
		for (size_t i = 0; i < PASSED_ON; i++)
			(void)sigaction(passed_on[i], &old[i], NULL);
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		if (getppid() == parent)
			execv(argv[0], argv);
		err = errno;
		(void)!write(failed[1], &err, sizeof err);
		_exit(127);
	}
	err = pid < 0 ? errno : 0;
	launcher = pid;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(failed[1]);
	while (pid > 0 && read(failed[0], &err, sizeof err) < 0 && errno == EINTR)
		;
	close(failed[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	launcher = 0;
	errno = err;
	return err ? -1 : status;
}

_Noreturn void
child_end_alike(int status)
{
	if (WIFSIGNALED(status)) {
		struct rlimit none = {0};
		int sig = WTERMSIG(status);
		sigset_t set;
		(void)setrlimit(RLIMIT_CORE, &none); /* the launcher's is the one to read */
		(void)signal(sig, SIG_DFL);
		sigemptyset(&set);
		sigaddset(&set, sig);
		(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
		(void)raise(sig);
		exit(128 + sig);
	}
	exit(WEXITSTATUS(status));
}

void
child_say(int status, const char *argv0, char *out, uint32_t cap)
{
	const char *slash = strrchr(argv0, '/');
	const char *name = slash ? slash + 1 : argv0;
	if (WIFSIGNALED(status))
		snprintf(out, cap, "its launcher (%.30s) was ended by signal %d", name,
			 WTERMSIG(status));
	else
		snprintf(out, cap, "its launcher (%.30s) ended with status %d", name,
			 WEXITSTATUS(status));
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* within - run a command with a limit that a slow or loaded machine does not miss.
 *
 *   within LIMIT_S USED_FILE COMMAND...   its status; 124 when it was ended at its limit
 *   within --speed                        how much slower this machine is than the one the
 *                                         limits were written on, at least 1
 *
 * LIMIT_S counts seconds in which the command could have run: while more tasks are runnable
 * than there are processors, a second counts as the share one of them gets.  TEST_SLOWER (what
 * --speed says) stretches the limit.  USED_FILE gets "WALL_S CPU_S", of all processes the command
 * began, orphans included; those it leaves behind are killed.  TERM and INT are handed on. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_TASKS 65536
#define WALL_MOST  40 /* times the limit, whatever the load */
#define GRACE_S	   20 /* from TERM to KILL */
/* Seconds of spend() where the limits were written: two virtual processors of an EPYC.  0.090 of
 * them are arithmetic, measured there; pages at 0.5 us each are what is usual. */
#define SPEND_HERE_S 0.094
#define PAGES	     8192

static double
clock_s(clockid_t which)
{
	struct timespec t;
	clock_gettime(which, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Fresh pages one by one: each is a trap, which on some virtual machines takes 16 us. */
static void
touch_pages(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	if (p == MAP_FAILED)
		return;
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)p)[i * page] = 1;
	munmap(p, PAGES * page);
}

/* Arithmetic, memory and new memory in turn, as our tests do. */
static double
spend(void)
{
	enum { WORDS = 1 << 18 };
	static uint32_t word[WORDS];
	double start = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	touch_pages();
	uint32_t x = 1;
	for (unsigned int i = 0; i < 60000000; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		word[x % WORDS] += i;
	}
	return clock_s(CLOCK_PROCESS_CPUTIME_ID) - start;
}

static int
say_speed(void)
{
	double best = spend();
	for (int i = 0; i < 2; i++) {
		double s = spend();
		best = s < best ? s : best;
	}
	best /= SPEND_HERE_S;
	printf("%.1f\n", best < 1 ? 1 : best);
	return 0;
}

struct task {
	pid_t pid, parent;
	double cpu_s;
	bool ours;
};

static struct task task[MOST_TASKS];
static size_t tasks;

/* The processes of the machine, those below us marked. */
static void
look(void)
{
	double tick = (double)sysconf(_SC_CLK_TCK);
	DIR *d = opendir("/proc");
	tasks = 0;
	for (struct dirent *e; d && tasks < MOST_TASKS && (e = readdir(d));) {
		char path[300], line[1024], *after;
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
		FILE *f = fopen(path, "r");
		size_t n = f ? fread(line, 1, sizeof line - 1, f) : 0;
		if (f)
			fclose(f);
		line[n] = '\0';
		after = strrchr(line, ')');
		int parent;
		unsigned long used[4];
		if (!after ||
		    sscanf(after + 2, "%*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
			   &parent, &used[0], &used[1], &used[2], &used[3]) != 5)
			continue;
		task[tasks++] = (struct task){
			.pid = (pid_t)strtol(e->d_name, NULL, 10),
			.parent = parent,
			.cpu_s = (double)(used[0] + used[1] + used[2] + used[3]) / tick,
		};
	}
	if (d)
		closedir(d);
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < tasks; i++) {
			bool below = task[i].parent == getpid();
			for (size_t j = 0; j < tasks && !below; j++)
				below = task[j].ours && task[j].pid == task[i].parent;
			if (below && !task[i].ours)
				more = task[i].ours = true;
		}
	}
}

/* Of the processes below us, those that ended and those that live. */
static double
cpu_s(void)
{
	struct rusage u;
	getrusage(RUSAGE_CHILDREN, &u);
	double s = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		   (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
	for (size_t i = 0; i < tasks; i++)
		s += task[i].ours ? task[i].cpu_s : 0;
	return s;
}

static size_t
signal_all(int number)
{
	size_t n = 0;
	look();
	for (size_t i = 0; i < tasks; i++)
		n += task[i].ours && kill(task[i].pid, number) == 0;
	return n;
}

/* How much of a second a runnable task gets. */
static double
share(void)
{
	int running = 1;
	FILE *f = fopen("/proc/loadavg", "r");
	if (f) {
		if (fscanf(f, "%*f %*f %*f %d", &running) != 1)
			running = 1;
		fclose(f);
	}
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	return running > cpus ? cpus / running : 1;
}

/* Reap whom we can; true when the command itself has ended. */
static bool
reap(pid_t command, int *status)
{
	bool ended = false;
	int how;
	for (pid_t pid; (pid = waitpid(-1, &how, WNOHANG)) > 0;)
		if (pid == command) {
			*status = how;
			ended = true;
		}
	return ended;
}

static void
clear_away(void)
{
	int status;
	for (int i = 0; i < 500 && signal_all(SIGKILL); i++) {
		usleep(10000);
		reap(0, &status);
	}
}

static pid_t
start(char **argv, const sigset_t *waited)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	setsid();
	sigprocmask(SIG_UNBLOCK, waited, NULL);
	execvp(argv[0], argv);
	fprintf(stderr, "within: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int
main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--speed"))
		return say_speed();
	if (argc < 4) {
		fprintf(stderr, "usage: within LIMIT_S USED_FILE COMMAND...\n");
		return 2;
	}
	const char *slower = getenv("TEST_SLOWER");
	double limit = strtod(argv[1], NULL) *
		       (slower && strtod(slower, NULL) > 1 ? strtod(slower, NULL) : 1);
	sigset_t waited;
	sigemptyset(&waited);
	sigaddset(&waited, SIGCHLD);
	sigaddset(&waited, SIGTERM);
	sigaddset(&waited, SIGINT);
	sigprocmask(SIG_BLOCK, &waited, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	double began = clock_s(CLOCK_MONOTONIC), then = began, counted = 0;
	pid_t command = start(argv + 3, &waited);
	int status = 0;
	bool late = false;
	while (!reap(command, &status)) {
		int number = sigtimedwait(&waited, NULL, &(struct timespec){.tv_sec = 1});
		double now = clock_s(CLOCK_MONOTONIC);
		counted += (now - then) * share();
		then = now;
		if (number == SIGTERM || number == SIGINT)
			kill(-command, number);
		if (!late && (counted > limit || now - began > limit * WALL_MOST)) {
			late = true;
			limit = counted + GRACE_S;
			kill(-command, SIGTERM);
		} else if (late && counted > limit) {
			signal_all(SIGKILL);
		}
	}
	look();
	FILE *f = fopen(argv[2], "w");
	if (f) {
		fprintf(f, "%.0f %.1f\n", clock_s(CLOCK_MONOTONIC) - began, cpu_s());
		fclose(f);
	}
	clear_away();
	if (late)
		return 124;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that sleeps until the server channel closes, the launcher reports a death, or the kernel
 * says that a process of this node has ended: a rank that computes learns of it too. */
#include "boot.h"

#include "transports.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Each takes a descriptor; of more the launcher tells, or their paths. */
#define NEAR_MAX 256u

/* Processes of this node whose end is watched: descriptors of pidfd_open(). */
static struct {
	uint32_t n;
	int fd[NEAR_MAX]; /* -1: it has ended */
	uint32_t world[NEAR_MAX];
} near;

static struct {
	int wake;
	bool running;
	_Atomic int stop;
	_Atomic int reported; /* 1: being written, 2: text is there */
	char text[400];
	pthread_t thread;
} g = {.wake = -1};

/* The channel became readable although nothing is due: closed? */
static bool
channel_closed(int fd, char *why, size_t n)
{
	char drop[256];
	ssize_t r = recv(fd, drop, sizeof drop, MSG_DONTWAIT);

	if (r > 0 || (r < 0 && (errno == EAGAIN || errno == EINTR)))
		return false;
	snprintf(why, n, "%s", r == 0 ? "closed" : strerror(errno));
	return true;
}

/* The channel to the relay that started the job is lost: has the job ended, or only that
 * relay?  A relay that ends a job says so to the engine and closes the channel; one that
 * dies says nothing, and its kernel does not close for it, for it was that kernel's network,
 * or resets when it is there again. */
static bool
job_goes_on(bool closed)
{
	struct timespec tenth = {.tv_nsec = 100000000};
	uint32_t looks = atomic_load(&lmpi_relays_looks);

	if (atomic_load(&lmpi_relays_known) < 2)
		return false;
	/* The relay's note says more, if the engine is there to read it: then it ends the
	 * job itself. */
	for (int i = 0; i < 10 && !atomic_load(&g.stop); i++) {
		nanosleep(&tenth, NULL);
		if (i >= 4 && atomic_load(&lmpi_relays_looks) != looks)
			return !lmpi_failing();
	}
	/* The program computes, nobody reads notes. */
	return !closed || atomic_load(&lmpi_relays_draining);
}

static void
channel_lost(bool closed, const char *why)
{
	const char *set = lmpi_knob_text(LMPI_KNOB_IMPI_SERVER), *server = set ? set : "?";

	if (job_goes_on(closed)) {
		if (!atomic_load(&g.stop))
			fprintf(stderr,
				"libmpi: rank %u: the server channel to %s is lost (%s); the job "
				"goes on over the other relays\n",
				lmpi_world.rank, server, why);
		return;
	}
	if (lmpi_survives()) /* what is lost with it is known by the paths */
		return;
	struct timespec half = {.tv_nsec = 500000000};
	if (atomic_load(&lmpi_relays_known) < 2)
		nanosleep(&half, NULL);
	if (!atomic_load(&g.stop))
		lmpi_fail_async("the server channel to %s is lost (%s): the relay or the "
				"impi-server there ended before this job did",
				server, why);
}

void
lmpi_control_watch(uint32_t world, int pid)
{
	int fd = near.n < NEAR_MAX ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	if (fd < 0) /* an old kernel, or no descriptor left */
		return;
	near.fd[near.n] = fd;
	near.world[near.n++] = world;
}

static void
note_ended(const struct pollfd *fd)
{
	for (uint32_t i = 0; i < near.n; i++) {
		if (!fd[i].revents || near.fd[i] < 0)
			continue;
		close(near.fd[i]);
		near.fd[i] = -1;
		if (lmpi_outlive)
			lmpi_outlive(near.world[i]);
	}
}

static void *
watch_control(void *arg)
{
	struct pollfd fd[2 + NEAR_MAX];
	int channel = lmpi_join_fd();
	char why[128];

	(void)arg;
	while (!atomic_load(&g.stop)) {
		fd[0] = (struct pollfd){.fd = g.wake, .events = POLLIN};
		fd[1] = (struct pollfd){.fd = channel, .events = POLLIN}; /* -1: not looked at */
		for (uint32_t i = 0; i < near.n; i++)
			fd[2 + i] = (struct pollfd){.fd = near.fd[i], .events = POLLIN};
		if (poll(fd, 2 + near.n, -1) < 0)
			continue;
		if (atomic_load(&g.stop))
			break;
		if (atomic_load(&g.reported) == 2)
			lmpi_fail_async("%s", g.text);
		note_ended(fd + 2);
		if (channel >= 0 && fd[1].revents && channel_closed(channel, why, sizeof why)) {
			channel_lost(!strcmp(why, "closed"), why);
			channel = -1;
		}
	}
	return NULL;
}

int
lmpi_control_start(void)
{
	sigset_t all, old;

	g.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (g.wake < 0)
		return LMPI_ERR_OTHER;
	/* Signals are the program's business. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int err = pthread_create(&g.thread, NULL, watch_control, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	g.running = err == 0;
	return err ? LMPI_ERR_OTHER : LMPI_OK;
}

static void
wake_boot_control(void)
{
	uint64_t one = 1;
	if (g.wake >= 0 && write(g.wake, &one, sizeof one) < 0)
		return; /* full: it is awake */
}

void
lmpi_control_report(const char *text, uint32_t rank)
{
	int fine = 0;
	if (rank == LMPI_RANK_ELSEWHERE && lmpi_outlive)
		return; /* who is connected to it notices */
	if (rank < LMPI_RANK_ELSEWHERE && lmpi_outlive &&
	    lmpi_outlive(lmpi_world.client_first + rank))
		return;
	if (lmpi_eng.closing || !atomic_compare_exchange_strong(&g.reported, &fine, 1))
		return;
	snprintf(g.text, sizeof g.text, "%s", text);
	atomic_store(&g.reported, 2);
	wake_boot_control();
}

void
lmpi_control_stop(void)
{
	if (g.running) {
		atomic_store(&g.stop, 1);
		wake_boot_control();
		pthread_join(g.thread, NULL);
		g.running = false;
	}
	if (g.wake >= 0)
		close(g.wake);
	g.wake = -1;
	for (uint32_t i = 0; i < near.n; i++)
		if (near.fd[i] >= 0)
			close(near.fd[i]);
	near.n = 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that sleeps until the server channel closes or the launcher reports
 * a death: a rank that computes learns of it too. */
#include "boot.h"

#include "transports.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

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

static void *
watch_control(void *arg)
{
	int channel = lmpi_join_fd();
	char why[128];

	(void)arg;
	while (!atomic_load(&g.stop)) {
		struct pollfd fd[2] = {{.fd = g.wake, .events = POLLIN},
				       {.fd = channel, .events = POLLIN}};
		if (poll(fd, channel >= 0 ? 2 : 1, -1) < 0)
			continue;
		if (atomic_load(&g.stop))
			break;
		if (atomic_load(&g.reported) == 2)
			lmpi_fail_async("%s", g.text);
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
}

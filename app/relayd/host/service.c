/* SPDX-License-Identifier: BSD-2-Clause */
#include "service.h"

#include "log.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

void
rd_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	if (!path || (*path != '/' && *path != '@'))
		return;
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	size_t len = strlcpy(sun.sun_path, path, sizeof sun.sun_path);
	if (len >= sizeof sun.sun_path)
		return;
	if (*path == '@')
		sun.sun_path[0] = '\0';
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	socklen_t sl = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&sun, sl) < 0)
		rd_log(RD_LOG_WARNING, "cannot notify the service manager at %s: %s", path,
		       strerror(errno));
	close(fd);
}

void
rd_notify_reloading(void)
{
	char text[80];
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000);
	rd_notify(text);
}

void
rd_notify_status(const char *text)
{
	static char last[160];
	char line[sizeof last + 8];
	if (strncmp(last, text, sizeof last - 1) == 0)
		return;
	strlcpy(last, text, sizeof last);
	snprintf(line, sizeof line, "STATUS=%s", last);
	rd_notify(line);
}

void
rd_watchdog_init(struct rd_watchdog *w)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID"), *bad = NULL;
	*w = (struct rd_watchdog){0};
	if (!usec || (pid && strtonum(pid, 1, INT32_MAX, &bad) != getpid()))
		return;
	long long n = strtonum(usec, 1, INT64_MAX / 1000, &bad);
	if (!bad)
		w->every_ns = (uint64_t)n * BASE_US_NS / 2;
}

bool
rd_watchdog_due(struct rd_watchdog *w, uint64_t now_ns)
{
	if (!w->every_ns || now_ns < w->due_ns)
		return false;
	w->due_ns = now_ns + w->every_ns / 2; /* an answer may take as long */
	return true;
}

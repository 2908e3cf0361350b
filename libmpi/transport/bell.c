/* Doorbells: a datagram socket per process with an abstract name, which vanishes
 * with the process.  Anybody in the network namespace may ring; a ring means
 * nothing but "look again". */
#include "transport.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int bell = -1;
static char my_name[32];

static socklen_t
address(const char *name, struct sockaddr_un *sa)
{
	size_t n = strnlen(name, 31);
	memset(sa, 0, sizeof *sa);
	sa->sun_family = AF_UNIX;
	memcpy(sa->sun_path + 1, name, n); /* sun_path[0] = 0: abstract */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

int
lmpi_bell_make(char name[32])
{
	struct sockaddr_un sa;
	uint64_t r;

	if (getrandom(&r, sizeof r, 0) != (ssize_t)sizeof r)
		return -errno;
	snprintf(my_name, sizeof my_name, "lmpi-%016llx", (unsigned long long)r);
	bell = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (bell < 0)
		return -errno;
	socklen_t len = address(my_name, &sa);
	if (bind(bell, (struct sockaddr *)&sa, len) < 0) {
		int err = errno;
		lmpi_bell_close();
		return -err;
	}
	memcpy(name, my_name, sizeof my_name);
	return 0;
}

void
lmpi_bell_close(void)
{
	if (bell >= 0)
		close(bell);
	bell = -1;
}

int
lmpi_bell_fd(void)
{
	return bell;
}

void
lmpi_bell_ring(const char *name)
{
	struct sockaddr_un sa;
	socklen_t len = address(name, &sa);
	/* A full queue means it has been rung already; a missing socket means the
	 * process is gone, which shows elsewhere. */
	(void)sendto(bell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&sa, len);
}

void
lmpi_bell_ring_me(void)
{
	if (bell >= 0)
		lmpi_bell_ring(my_name);
}

void
lmpi_bell_hush(void)
{
	char drop[8];
	while (recv(bell, drop, sizeof drop, MSG_DONTWAIT) >= 0)
		;
}

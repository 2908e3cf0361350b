/* SPDX-License-Identifier: BSD-2-Clause */
/* MPI_Comm_join: two processes that have a socket agree over it on a port. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "call.h"
#include "dyn.h"
#include "engine.h"
#include "impl.h"
#include "others.h"

/* All names of ports begin like this. */
#define NAME "door:"
/* That the other one, who called, may take to come. */
#define COME_S 300.0

/* Each tells its port's name.  However the socket is set, nobody is kept waiting in the kernel: the
 * other end may first want something of this process. */
struct swap {
	int fd;
	char mine[MPI_MAX_PORT_NAME], theirs[MPI_MAX_PORT_NAME];
	size_t said, heard;
};

static bool
would_wait(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

/* As much as goes now.  An error code. */
static int
swap_some(struct swap *s)
{
	ssize_t n = 0;

	if (s->said < sizeof(s->mine))
		n = send(s->fd, s->mine + s->said, sizeof(s->mine) - s->said,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && !would_wait(n))
		return lmpi_error(MPI_ERR_OTHER, "the socket %d is not connected: %s", s->fd,
				  strerror(errno));
	s->said += n > 0 ? (size_t)n : 0;
	n = recv(s->fd, s->theirs + s->heard, sizeof(s->theirs) - s->heard, MSG_DONTWAIT);
	if (would_wait(n))
		return MPI_SUCCESS;
	if (n <= 0)
		return lmpi_error(MPI_ERR_OTHER, "the other end of the socket %d has gone%s%s",
				  s->fd, n < 0 ? ": " : " before it said a whole port name",
				  n < 0 ? strerror(errno) : "");
	s->heard += (size_t)n;
	if (memcmp(s->theirs, NAME, s->heard < strlen(NAME) ? s->heard : strlen(NAME)) != 0)
		return lmpi_error(MPI_ERR_OTHER,
				  "what came over the socket %d is not what MPI_Comm_join says: "
				  "read what else was sent there before the call",
				  s->fd);
	return MPI_SUCCESS;
}

static int
swap_names(struct swap *s)
{
	int rc, kind = 0;
	socklen_t len = sizeof(kind);

	if (getsockopt(s->fd, SOL_SOCKET, SO_TYPE, &kind, &len) == 0 && kind != SOCK_STREAM)
		return lmpi_error(MPI_ERR_OTHER, "the socket %d is none of type SOCK_STREAM",
				  s->fd);
	for (;;) {
		rc = swap_some(s);
		if (rc || (s->said == sizeof(s->mine) && s->heard == sizeof(s->theirs)))
			break;
		lmpi_look_again();
	}
	s->theirs[sizeof(s->theirs) - 1] = '\0';
	return rc;
}

/* Both open a port and tell each other; the lower name is the one that is used. */
int
impl_Comm_join(int fd, MPI_Comm *intercomm)
{
	struct swap s = {.fd = fd};
	struct lmpi_comm *made = NULL;
	int rc = impl_Open_port(MPI_INFO_NULL, s.mine);

	*intercomm = MPI_COMM_NULL;
	if (rc)
		return rc;
	rc = swap_names(&s);
	if (rc == MPI_SUCCESS) {
		bool accept = strcmp(s.mine, s.theirs) < 0;

		/* Who does not come although it said so has gone, or is nobody that joins. */
		if (accept)
			lmpi_port_await_socket(s.mine, fd);
		rc = lmpi_meet_others(lmpi_comm_self, 0,
				      accept ? LMPI_MEET_ACCEPT : LMPI_MEET_CONNECT,
				      accept ? s.mine : s.theirs, COME_S, &made);
	}
	(void)impl_Close_port(s.mine);
	if (rc == MPI_SUCCESS)
		*intercomm = made->handle;
	return rc;
}

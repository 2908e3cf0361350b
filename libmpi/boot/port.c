/* Ports: TCP sockets that listen, and conversations of two roots over them (guests.h: how they
 * begin). */
#include "boot.h"

#include "guests.h"
#include "internal.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "door/address.h"
#include "driver/suci_udp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORTS_MAX 256
#define BACKLOG	  1024
#define ERR_PORT  43 /* MPI_ERR_PORT */
#define CONNECT_S 300.0
#define LOOK_NS	  BASE_MS_NS

static struct port {
	int fd; /* -1: free */
	uint64_t token;
	struct lmpi_guests *guests;
} ports[PORTS_MAX];
static uint32_t nports; /* that were ever used */

static uint64_t
port_deadline(double seconds)
{
	double ns = seconds * 1e9;

	if (seconds < 0 || ns > 9e18)
		return BASE_NEVER_NS;
	return suci_udp_now_ns() + (uint64_t)ns;
}

static bool
never(void *arg)
{
	(void)arg;
	return false;
}

/* The loop goes on meanwhile.  false: not in time. */
static bool
await_fd(int fd, short events, uint64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = events};

	for (;;) {
		if (poll(&p, 1, 0) > 0)
			return true;
		uint64_t now = suci_udp_now_ns();
		if (now >= deadline)
			return false;
		(void)lmpi_wait_until(never, NULL, base_min_ns(now + LOOK_NS, deadline));
	}
}

/* 1: it came, 0: not in time, -1: something else, or the end. */
static int
hear_word(int fd, enum lmpi_word what, uint64_t token, uint64_t deadline)
{
	uint8_t b[LMPI_WORD_BYTES];
	size_t have = 0;

	while (have < sizeof b) {
		if (!await_fd(fd, POLLIN, deadline))
			return 0;
		ssize_t n = recv(fd, b + have, sizeof b - have, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return -1;
		have += (size_t)n;
	}
	return lmpi_word_is(b, what, token) ? 1 : -1;
}

static void
settle_socket(int fd)
{
	int yes = 1, idle = 10;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
}

/* ---- names ---- */

static int
parse_port(const char *name, struct door_address *a, char why[LMPI_WHY])
{
	int err = door_address_parse(name, a);

	if (err)
		snprintf(why, LMPI_WHY, "the port name is not one of MPI_Open_port: %s",
			 door_strerror(err));
	else if (!(a->flags & DOOR_FLAG_PROCESS))
		snprintf(why, LMPI_WHY,
			 "the port is a door at a relay, which libmpi does not use yet: give it "
			 "one that MPI_Open_port opened in the same cluster");
	return err || !(a->flags & DOOR_FLAG_PROCESS) ? ERR_PORT : LMPI_OK;
}

/* The port of this process that has that name, or NULL. */
static struct port *
find_port(const char *name, char why[LMPI_WHY])
{
	struct door_address a;

	if (parse_port(name, &a, why))
		return NULL;
	for (uint32_t i = 0; i < nports; i++)
		if (ports[i].fd >= 0 && ports[i].token == a.token)
			return &ports[i];
	snprintf(why, LMPI_WHY, "the port was not opened by this process, or is closed");
	return NULL;
}

/* ---- ports ---- */

static int
listen_anywhere(uint16_t *port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	socklen_t len = sizeof sa;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(&sa.sin_addr, lmpi_route[lmpi_world.rank].ip, 4);
	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&sa, sizeof sa) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0) {
		close(fd);
		return -1;
	}
	*port = ntohs(sa.sin_port);
	return fd;
}

int
lmpi_port_open(char name[], size_t room, char why[LMPI_WHY])
{
	struct door_address a = {.realm = lmpi_loop.token,
				 .label = LMPI_LABEL_BASE + lmpi_world.rank,
				 .n = 1,
				 .flags = DOOR_FLAG_PROCESS,
				 .nrelays = 1,
				 .relay[0].ipv4 = be32_load(lmpi_route[lmpi_world.rank].ip)};
	char text[DOOR_TEXT_MAX];
	uint32_t i = 0;

	while (i < nports && ports[i].fd >= 0)
		i++;
	if (i == PORTS_MAX) {
		snprintf(why, LMPI_WHY, "%d ports are open: close some by MPI_Close_port",
			 PORTS_MAX);
		return LMPI_ERR_OTHER;
	}
	int fd = listen_anywhere(&a.relay[0].port);
	if (fd < 0 || getrandom(&a.token, sizeof a.token, 0) != (ssize_t)sizeof a.token ||
	    door_address_print(&a, text) || strlen(text) >= room) {
		snprintf(why, LMPI_WHY, "no socket can listen for a port: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return LMPI_ERR_OTHER;
	}
	struct lmpi_guests *guests = lmpi_guests_new(a.token);
	if (!guests) {
		snprintf(why, LMPI_WHY, "no memory for a port");
		close(fd);
		return LMPI_ERR_OTHER;
	}
	memcpy(name, text, strlen(text) + 1);
	ports[i] = (struct port){fd, a.token, guests};
	nports = i == nports ? i + 1 : nports;
	return LMPI_OK;
}

int
lmpi_port_close(const char *name, char why[LMPI_WHY])
{
	struct port *p = find_port(name, why);

	if (!p)
		return ERR_PORT;
	close(p->fd);
	lmpi_guests_free(p->guests);
	*p = (struct port){.fd = -1};
	return LMPI_OK;
}

int
lmpi_port_accept(const char *name, double seconds, int *fd, char why[LMPI_WHY])
{
	uint64_t deadline = port_deadline(seconds);

	*fd = -1;
	for (;;) {
		/* Another thread may have closed it meanwhile. */
		const struct port *p = find_port(name, why);
		uint64_t now = suci_udp_now_ns();
		if (!p)
			return ERR_PORT;
		int err = lmpi_guests_turn(p->guests, p->fd, now, fd);
		if (err) {
			snprintf(why, LMPI_WHY, "accepting at the port: %s", strerror(err));
			return LMPI_ERR_OTHER;
		}
		if (*fd >= 0) {
			settle_socket(*fd);
			return LMPI_OK;
		}
		/* Who was taken may believe that the conversation has begun. */
		if (now >= deadline && !lmpi_guests_any_taken(p->guests))
			break;
		(void)lmpi_wait_until(never, NULL, now + LOOK_NS);
	}
	snprintf(why, LMPI_WHY, "nobody connected within %g s", seconds);
	return ERR_PORT;
}

/* ERR_PORT with a text, or 0 and *fd. */
static int
dial_port(const struct door_address *a, uint64_t deadline, int *fd, char why[LMPI_WHY])
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons(a->relay[0].port),
				 .sin_addr.s_addr = htonl(a->relay[0].ipv4)};
	int err = 0;
	socklen_t len = sizeof err;

	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0 ||
	    (connect(*fd, (struct sockaddr *)&sa, sizeof sa) < 0 && errno != EINPROGRESS))
		err = errno;
	else if (!await_fd(*fd, POLLOUT, deadline))
		err = ETIMEDOUT;
	else if (getsockopt(*fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (!err) {
		settle_socket(*fd);
		return LMPI_OK;
	}
	if (*fd >= 0)
		close(*fd);
	snprintf(why, LMPI_WHY, "nobody has that port open (%u.%u.%u.%u:%u: %s)",
		 a->relay[0].ipv4 >> 24, a->relay[0].ipv4 >> 16 & 255, a->relay[0].ipv4 >> 8 & 255,
		 a->relay[0].ipv4 & 255, a->relay[0].port, strerror(err));
	return ERR_PORT;
}

int
lmpi_port_connect(const char *name, double seconds, int *fd, char why[LMPI_WHY])
{
	double limit = seconds < 0 ? CONNECT_S : seconds;
	uint64_t deadline = port_deadline(limit);
	struct door_address a;
	int rc = parse_port(name, &a, why);

	if (rc == LMPI_OK)
		rc = dial_port(&a, deadline, fd, why);
	if (rc)
		return rc;
	int heard = lmpi_word_say(*fd, LMPI_KNOCK, a.token)
			    ? hear_word(*fd, LMPI_TAKEN, a.token, deadline)
			    : -1;
	if (heard == 1 && lmpi_word_say(*fd, LMPI_GO, a.token))
		return LMPI_OK;
	close(*fd);
	if (heard == 0)
		snprintf(
			why, LMPI_WHY,
			"nobody accepted at the port within %g s: is MPI_Comm_accept called there? "
			"Info key \"timeout\" says how long to wait",
			limit);
	else
		snprintf(why, LMPI_WHY, "the port was closed, or does not know that name");
	return ERR_PORT;
}

void
lmpi_port_print_stats(void)
{
	const struct lmpi_stats *n = &lmpi_stats;

	if (n->knocks_wrong || n->knocks_silent || n->knocks_evicted)
		fprintf(stderr,
			"libmpi: [%u] ports hung up on %llu that said something else, %llu that "
			"said nothing, %llu to make room\n",
			lmpi_world.rank, (unsigned long long)n->knocks_wrong,
			(unsigned long long)n->knocks_silent,
			(unsigned long long)n->knocks_evicted);
}

/* ---- conversations ---- */

/* As much as goes now of what is left of data[len]; false: broken. */
static bool
push_bytes(int fd, const uint8_t *data, size_t len, size_t *at)
{
	while (*at < len) {
		ssize_t n = send(fd, data + *at, len - *at, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return errno == EAGAIN;
		*at += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool
pull_bytes(int fd, uint8_t *data, size_t len, size_t *at)
{
	while (*at < len) {
		ssize_t n = recv(fd, data + *at, len - *at, 0);
		if (n == 0 || (n < 0 && errno != EINTR))
			return n < 0 && errno == EAGAIN;
		*at += n > 0 ? (size_t)n : 0;
	}
	return true;
}

int
lmpi_talk_swap(int fd, const void *mine, size_t len, void *theirs, size_t their_len,
	       char why[LMPI_WHY])
{
	size_t gone = 0, come = 0;

	while (push_bytes(fd, mine, len, &gone) && pull_bytes(fd, theirs, their_len, &come)) {
		if (gone == len && come == their_len)
			return LMPI_OK;
		(void)await_fd(fd, POLLIN, suci_udp_now_ns() + LOOK_NS);
	}
	snprintf(why, LMPI_WHY, "the other side went away while the two were being connected");
	return LMPI_ERR_OTHER;
}

void
lmpi_talk_end(int fd)
{
	close(fd);
}

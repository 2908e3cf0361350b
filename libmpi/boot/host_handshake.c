/* SPDX-License-Identifier: BSD-2-Clause */
/* Connecting to the hosts of foreign clients, and the processes of one host to the one
 * among them that owns its channels. */
#include "boot.h"

#include "internal.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "driver/suci_udp.h"
#include "driver/udp_name.h"
#include "impi/hostid.h"
#include "impi/link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDENT_NS    (5 * BASE_S_NS) /* for a connection to name itself */
#define RETRY_NS    (200 * BASE_MS_NS)
#define STRANGERS   64		/* connections that have not named themselves, at once */
#define LOCAL_MAGIC 0x4c4d5052u /* "LMPR": above every host rank a job can have */
#define LOCAL_BYTES 16u		/* magic 4, token 8, index 4 */
#define BACKLOG	    1024
#define FD_NONE	    (-1)

enum role {
	ROLE_NONE, /* of our client, or not reached by TCP */
	ROLE_CONNECT,
	ROLE_ACCEPT,
};

/* Of a foreign host: what is still to be done. */
struct partner {
	enum role role;
	int fd;		 /* connecting; or ready */
	bool connecting; /* fd is under way */
	bool ready;
	uint64_t retry_ns; /* connect again then */
	int err;	   /* of the last attempt */
};

/* An accepted connection that has not named itself. */
struct stranger {
	int fd;
	uint8_t name[LOCAL_BYTES];
	uint32_t have;
	uint64_t deadline_ns;
};

struct dance {
	const struct lmpi_dance *how;
	struct partner *partner; /* [nhosts] */
	struct stranger stranger[STRANGERS];
	uint32_t nstrangers;
	struct pollfd *poll;
	int *local_fd;
	uint32_t left; /* connections still missing */
	uint64_t deadline_ns;
	const char *wrong; /* ends it */
	char text[LMPI_HOST_NAME + 192];
};

static int listener = FD_NONE;

/* --- sockets -------------------------------------------------------------- */

int
lmpi_dance_listen(const struct suci_addr *at, uint16_t *port)
{
	char text[SUCI_ADDR_TEXT_MAX];

	listener = lmpi_tcp_listen(at, BACKLOG, port);
	if (listener < 0) {
		fprintf(stderr, "libmpi: cannot listen on %s (TCP): %s\n",
			suci_addr_ip_text(at, text), strerror(errno));
		return LMPI_ERR_OTHER;
	}
	return LMPI_OK;
}

void
lmpi_dance_unlisten(void)
{
	if (listener >= 0)
		close(listener);
	listener = FD_NONE;
}

/* Small packets must not wait for each other, and a host that vanished has to be
 * noticed although nothing is sent to it. */
static void
tune_dance(int fd)
{
	int one = 1, idle = 20, every = 5, count = 4;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

static void
host_name(const struct lmpi_job *job, uint32_t h, char out[LMPI_HOST_NAME])
{
	lmpi_host_name(&job->host[h], h, out);
}

/* In LAM/MPI's form or in ours. */
static struct suci_addr
host_place(const struct lmpi_job_host *host)
{
	uint8_t ip[4];
	uint32_t ipv4;

	if (impi_addr_classify(host->addr, &ipv4) != IMPI_ADDR_V4)
		return suci_addr_of(host->addr, host->port);
	be32_store(ip, ipv4);
	return suci_addr_v4(ip, host->port);
}

void
lmpi_host_name(const struct lmpi_job_host *host, uint32_t h, char out[LMPI_HOST_NAME])
{
	struct suci_addr at = host_place(host);
	char text[SUCI_ADDR_TEXT_MAX];

	snprintf(out, LMPI_HOST_NAME, "host %u of client %u (%s)", h, host->client,
		 suci_addr_text(&at, text));
}

/* --- partners ------------------------------------------------------------- */

static void
is_ready(struct dance *d, struct partner *p, int fd)
{
	tune_dance(fd);
	p->fd = fd;
	p->connecting = false;
	p->ready = true;
	d->left--;
}

/* The connection stands: name ourselves.  4 bytes always fit a fresh socket. */
static void
introduce_host(struct dance *d, struct partner *p)
{
	uint8_t ident[IMPI_IDENT_BYTES];

	be32_store(ident, d->how->host);
	if (send(p->fd, ident, sizeof ident, MSG_NOSIGNAL) == (ssize_t)sizeof ident) {
		is_ready(d, p, p->fd);
		return;
	}
	p->err = errno;
	close(p->fd);
	p->fd = FD_NONE;
	p->connecting = false;
	p->retry_ns = suci_udp_now_ns() + RETRY_NS;
}

static void
try_partner(struct dance *d, uint32_t h, uint64_t now)
{
	struct partner *p = &d->partner[h];
	const struct lmpi_job_host *to = &d->how->job->host[h];

	if (p->role != ROLE_CONNECT || p->ready || p->connecting || now < p->retry_ns)
		return;
	struct suci_addr at = host_place(to);
	/* LAM/MPI takes a connection only from the address its host has announced. */
	p->fd = lmpi_tcp_begin(&at, to->port, &d->how->at, &p->err);
	p->retry_ns = now + RETRY_NS;
	p->connecting = p->fd != FD_NONE;
	if (p->connecting && p->err == 0)
		introduce_host(d, p);
}

static void
connect_ended(struct dance *d, struct partner *p)
{
	socklen_t len = sizeof p->err;

	if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &p->err, &len) < 0)
		p->err = errno;
	if (p->err == 0) {
		introduce_host(d, p);
		return;
	}
	close(p->fd);
	p->fd = FD_NONE;
	p->connecting = false;
}

/* --- strangers ------------------------------------------------------------ */

static void
drop_stranger(struct dance *d, uint32_t i, bool keep_fd)
{
	if (!keep_fd)
		close(d->stranger[i].fd);
	d->nstrangers--;
	memmove(&d->stranger[i], &d->stranger[i + 1], (d->nstrangers - i) * sizeof d->stranger[0]);
}

/* One of our own processes: true if its socket was kept. */
static bool
take_local(struct dance *d, const struct stranger *s)
{
	uint32_t i = be32_load(s->name + 12);

	if (be64_load(s->name + 4) != d->how->token || i >= d->how->nlocal ||
	    d->local_fd[i] != FD_NONE)
		return false;
	tune_dance(s->fd);
	d->local_fd[i] = s->fd;
	d->left--;
	return true;
}

static bool
take_host(struct dance *d, const struct stranger *s, uint32_t h)
{
	if (h >= d->how->job->nhosts)
		return false;
	struct partner *p = &d->partner[h];
	if (p->role != ROLE_ACCEPT || p->ready)
		return false;
	is_ready(d, p, s->fd);
	return true;
}

/* Bytes have come; true if the stranger stays one. */
static bool
hear(struct dance *d, uint32_t i)
{
	struct stranger *s = &d->stranger[i];

	for (;;) {
		bool local = s->have >= 4 && be32_load(s->name) == LOCAL_MAGIC;
		uint32_t want = local ? LOCAL_BYTES : IMPI_IDENT_BYTES;
		if (s->have == want) {
			bool kept = local ? take_local(d, s) : take_host(d, s, be32_load(s->name));
			drop_stranger(d, i, kept);
			return false;
		}
		/* Not a byte more: it would be of the first packet. */
		ssize_t r = recv(s->fd, s->name + s->have, want - s->have, MSG_DONTWAIT);
		if (r < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (r <= 0) {
			drop_stranger(d, i, false);
			return false;
		}
		s->have += (uint32_t)r;
	}
}

static void
accept_some(struct dance *d, uint64_t now)
{
	while (d->nstrangers < STRANGERS) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		d->stranger[d->nstrangers++] =
			(struct stranger){.fd = fd, .deadline_ns = now + IDENT_NS};
	}
}

/* --- the loop ------------------------------------------------------------- */

/* Nothing comes over the server channel between DONE and the end but its end. */
static bool
server_gone(int fd)
{
	char c;
	ssize_t r = recv(fd, &c, 1, MSG_DONTWAIT | MSG_PEEK);

	return r == 0 || (r < 0 && errno != EAGAIN && errno != EINTR);
}

static nfds_t
fill_poll(struct dance *d)
{
	nfds_t n = 0;

	/* When too many wait to name themselves, the kernel keeps the others. */
	d->poll[n++] =
		(struct pollfd){.fd = d->nstrangers < STRANGERS ? listener : -1, .events = POLLIN};
	d->poll[n++] = (struct pollfd){.fd = lmpi_join_fd(), .events = POLLIN};
	for (uint32_t i = 0; i < d->nstrangers; i++)
		d->poll[n++] = (struct pollfd){.fd = d->stranger[i].fd, .events = POLLIN};
	for (uint32_t h = 0; h < d->how->job->nhosts; h++) {
		if (d->partner[h].connecting)
			d->poll[n++] = (struct pollfd){.fd = d->partner[h].fd, .events = POLLOUT};
	}
	return n;
}

static void
serve_dance(struct dance *d, nfds_t n)
{
	uint64_t now = suci_udp_now_ns();
	uint32_t strangers = d->nstrangers, at = 2 + strangers;

	if (d->poll[1].revents && server_gone(d->poll[1].fd))
		d->wrong = "the server channel was closed meanwhile";
	for (uint32_t h = 0; h < d->how->job->nhosts && at < n; h++) {
		struct partner *p = &d->partner[h];
		if (p->connecting && p->fd == d->poll[at].fd) {
			if (d->poll[at].revents)
				connect_ended(d, p);
			at++;
		}
	}
	/* In the order in which they came: the first that names itself right is it. */
	for (uint32_t k = 0, i = 0; k < strangers; k++) {
		bool stays = true;
		if (d->poll[2 + k].revents) {
			stays = hear(d, i);
		} else if (now >= d->stranger[i].deadline_ns) {
			drop_stranger(d, i, false);
			stays = false;
		}
		i += stays;
	}
	if (d->poll[0].revents)
		accept_some(d, now);
}

static void
complain_dance(const struct dance *d)
{
	char name[LMPI_HOST_NAME], own[SUCI_ADDR_TEXT_MAX];

	if (d->wrong)
		fprintf(stderr, "libmpi: connecting to the foreign hosts: %s\n", d->wrong);
	for (uint32_t h = 0; !d->wrong && h < d->how->job->nhosts; h++) {
		const struct partner *p = &d->partner[h];
		if (p->role == ROLE_NONE || p->ready)
			continue;
		host_name(d->how->job, h, name);
		if (p->role == ROLE_CONNECT)
			fprintf(stderr, "libmpi: cannot connect to %s: %s\n", name,
				strerror(p->err ? p->err : ETIMEDOUT));
		else
			fprintf(stderr,
				"libmpi: %s has not connected to %s within %llu s "
				"(LIBMPI_DANCE_TIMEOUT_S); can it reach this address?\n",
				name, suci_addr_ip_text(&d->how->at, own),
				(unsigned long long)d->how->limit_s);
	}
	for (uint32_t i = 0; !d->wrong && i < d->how->nlocal; i++) {
		if (d->local_fd[i] == FD_NONE)
			fprintf(stderr,
				"libmpi: process %u of this host has not connected to its switch\n",
				i);
	}
}

/* A foreign client whose processes have no relay in front of them. */
static bool
is_reached_by_tcp(const struct lmpi_job *job, uint32_t client)
{
	const struct lmpi_client *c = &job->peer[client];
	struct impi_hostid id;

	return c->foreign && c->nprocs > 0 &&
	       impi_hostid_decode(job->proc[c->first_rank], &id) == IMPI_HOSTID_FOREIGN;
}

/* Its name leads to itself, as Debian's /etc/hosts has it (127.0.1.1): nobody else reaches it
 * there, and what it connects from is another address than it announced. */
static void
refuse_loopback(struct dance *d, uint32_t h)
{
	const struct lmpi_job_host *host = &d->how->job->host[h];
	char name[LMPI_HOST_NAME];
	uint32_t ip;

	if (d->wrong || (d->how->at.family == 4 && d->how->at.ip[12] == 127) ||
	    impi_addr_classify(host->addr, &ip) != IMPI_ADDR_V4 || ip >> 24 != 127)
		return;
	lmpi_host_name(host, h, name);
	snprintf(d->text, sizeof d->text,
		 "%s announces a loopback address: give its name an address that others reach in "
		 "its /etc/hosts, or for LAM/MPI set IMPI_HOST_NAME there",
		 name);
	d->wrong = d->text;
}

static void
prepare_dance(struct dance *d)
{
	const struct lmpi_dance *how = d->how;

	for (uint32_t h = 0; h < how->job->nhosts; h++) {
		struct partner *p = &d->partner[h];
		*p = (struct partner){.fd = FD_NONE};
		if (!is_reached_by_tcp(how->job, how->job->host[h].client))
			continue;
		refuse_loopback(d, h);
		p->role = impi_link_connects(how->host, h) ? ROLE_CONNECT : ROLE_ACCEPT;
		d->left++;
	}
	for (uint32_t i = 0; i < how->nlocal; i++) {
		d->left += d->local_fd[i] == FD_NONE;
	}
}

static void
run_dance(struct dance *d)
{
	while (d->left > 0 && !d->wrong) {
		uint64_t now = suci_udp_now_ns();
		if (now >= d->deadline_ns)
			return;
		for (uint32_t h = 0; h < d->how->job->nhosts; h++)
			try_partner(d, h, now);
		if (d->left == 0)
			return;
		nfds_t n = fill_poll(d);
		(void)poll(d->poll, n, 50);
		serve_dance(d, n);
	}
}

int
lmpi_dance(const struct lmpi_dance *how, int *host_fd, int *local_fd)
{
	struct dance *d = calloc(1, sizeof *d);
	uint32_t nhosts = how->job->nhosts;
	int rc = LMPI_ERR_NO_MEM;

	if (!d)
		return rc;
	*d = (struct dance){.how = how,
			    .partner = calloc(nhosts, sizeof *d->partner),
			    .poll = calloc(2u + STRANGERS + nhosts, sizeof *d->poll),
			    .local_fd = local_fd,
			    .deadline_ns = suci_udp_now_ns() + how->limit_s * BASE_S_NS};
	if (d->partner && d->poll) {
		prepare_dance(d);
		run_dance(d);
		rc = d->left == 0 && !d->wrong ? LMPI_OK : LMPI_ERR_OTHER;
		if (rc)
			complain_dance(d);
		for (uint32_t h = 0; h < nhosts; h++)
			host_fd[h] = d->partner[h].fd;
		while (d->nstrangers)
			drop_stranger(d, 0, false);
	}
	free(d->partner);
	free(d->poll);
	free(d);
	return rc;
}

int
lmpi_dance_join(const struct suci_addr *at, uint16_t port, uint64_t token, uint32_t index, int *out)
{
	uint8_t name[LOCAL_BYTES];
	char text[SUCI_ADDR_TEXT_MAX];
	int err, fd;
	socklen_t len = sizeof err;

	fd = lmpi_tcp_begin(at, port, NULL, &err);
	if (fd >= 0 && err == EINPROGRESS) {
		struct pollfd p = {.fd = fd, .events = POLLOUT};
		(void)poll(&p, 1, (int)(IDENT_NS / BASE_MS_NS));
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
			err = errno;
	}
	be32_store(name, LOCAL_MAGIC);
	be64_store(name + 4, token);
	be32_store(name + 12, index);
	if (fd >= 0 && err == 0 &&
	    send(fd, name, sizeof name, MSG_NOSIGNAL) != (ssize_t)sizeof name)
		err = errno;
	if (fd >= 0 && err == 0) {
		tune_dance(fd);
		*out = fd;
		return LMPI_OK;
	}
	if (fd >= 0)
		close(fd);
	fprintf(stderr, "libmpi: cannot connect to the packet switch at %s, port %u: %s\n",
		suci_addr_ip_text(at, text), port, strerror(err));
	return LMPI_ERR_OTHER;
}

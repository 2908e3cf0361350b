/* SPDX-License-Identifier: BSD-2-Clause */
/* Joining an IMPI job: rank 0 of a client talks to the server (or to the relay
 * that plays the server), announces the processes, and gets the table of all. */
#include "boot.h"

#include "internal.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/version.h"
#include "driver/suci_udp.h"
#include "impi/client.h"
#include "impi/hostid.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_NS (10 * BASE_S_NS)
#define SAY_NS	   (10 * BASE_S_NS) /* silence after which a user is told what is waited for */
/* DONE goes out when all our labels are answered.  Who waits so long for an answer says DONE all
 * the same: the server may wait for that, to answer a label of another client that we do not know.
 */
#define ANSWERS_NS (10 * BASE_S_NS)
#define ACKMARK	   256u
#define HIWATER	   1024u
#define HOSTS_MAX  4096u
#define PROCS_MAX  (1u << 16)

static struct {
	int fd;
	struct impi_client *client;
	void *mem;
	const char *server;
} g = {.fd = -1};

static const struct impi_limits limits = {.hosts_max = HOSTS_MAX, .procs_max = PROCS_MAX};

int
lmpi_join_fd(void)
{
	return g.fd;
}

/* --- connecting ---------------------------------------------------------- */

/* One attempt; 0 or errno. */
static int
try_connect(const struct addrinfo *a, uint64_t deadline_ns)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int err = 0, one = 1;
	socklen_t len = sizeof err;

	if (fd < 0)
		return errno;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
		err = errno;
		if (err == EINPROGRESS) {
			struct pollfd p = {.fd = fd, .events = POLLOUT};
			uint64_t now = suci_udp_now_ns();
			int ms =
				deadline_ns > now ? (int)((deadline_ns - now) / BASE_MS_NS) + 1 : 0;
			err = ETIMEDOUT;
			if (poll(&p, 1, ms) > 0 &&
			    getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
				err = errno;
		}
	}
	if (err) {
		close(fd);
		return err;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	g.fd = fd;
	return 0;
}

static int
connect_server(void)
{
	char host[256], port[16];
	struct addrinfo hint = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list;
	uint64_t deadline = suci_udp_now_ns() + CONNECT_NS;
	int err = 0;

	if (!lmpi_split_server(g.server, host, port)) {
		fprintf(stderr, "libmpi: IMPI_SERVER=%s is not host:port\n", g.server);
		return LMPI_ERR_OTHER;
	}
	int gai = getaddrinfo(host, port, &hint, &list);
	if (gai) {
		fprintf(stderr, "libmpi: IMPI_SERVER=%s: %s: %s\n", g.server, host,
			gai_strerror(gai));
		return LMPI_ERR_OTHER;
	}
	/* A server or relay that is just starting refuses for a moment. */
	do {
		for (struct addrinfo *a = list; a && g.fd < 0; a = a->ai_next)
			err = try_connect(a, deadline);
		if (g.fd >= 0 || err != ECONNREFUSED)
			break;
		struct timespec ts = {.tv_nsec = 200000000};
		nanosleep(&ts, NULL);
	} while (suci_udp_now_ns() < deadline - CONNECT_NS / 2);
	freeaddrinfo(list);
	if (g.fd >= 0)
		return LMPI_OK;
	fprintf(stderr,
		"libmpi: cannot connect to the impi server or relay at %s: %s; is it running, and "
		"are these its address and its port as seen from here (a relay's: "
		"impi.listen_port, 7811)?\n",
		g.server, strerror(err));
	return LMPI_ERR_OTHER;
}

/* --- talking ------------------------------------------------------------- */

struct talk {
	const struct lmpi_join *how;
	struct impi_offer offer;
	struct impi_host *host; /* [how->nhosts] */
	struct impi_proc *proc;
	struct impi_offered offered[IMPI_CLIENTS_MAX];
	bool pids; /* proc[].pid are set */
	bool started;
	bool said; /* what is waited for */
	uint32_t timeout_s;
	uint64_t say_ns, deadline_ns;
	uint64_t step_ns; /* when a label was answered last */
};

static int
give_up_joining(const char *why, const char *hint)
{
	fprintf(stderr, "libmpi: joining the IMPI job at %s: %s%s%s\n", g.server, why,
		hint ? "; " : "", hint ? hint : "");
	return LMPI_ERR_OTHER;
}

/* A label is offered if the user says something about it. */
static int32_t
offered_number(enum lmpi_knob k)
{
	return lmpi_knob_text(k) ? (int32_t)lmpi_knob_number(k) : -1;
}

/* 0: it has none, and is where its host is announced; with a name it is there, too. */
static uint32_t
announced_ipv4(const struct lmpi_places *places, const struct suci_addr *a)
{
	return a->family == 4 ? be32_load(a->ip + 12) : lmpi_places_name(places, a);
}

static void
make_offer(struct talk *t)
{
	const struct lmpi_join *how = t->how;

	for (uint32_t r = 0; r < how->nprocs; r++) {
		struct impi_hostid id = {.token = (uint32_t)how->token,
					 .kind = IMPI_HOSTID_LIBMPI,
					 .port = how->contact[r].at.port,
					 .ipv4 = announced_ipv4(how->places, &how->contact[r].at)};
		lmpi_peers_sign(BASE_VERSION, &id);
		impi_hostid_encode(&id, t->proc[r].hostid);
	}
	/* A host is announced where its lowest rank listens; what lies behind it is told
	 * by the host ids of the procs. */
	for (uint32_t r = 0; r < how->nprocs; r++) {
		struct impi_host *h = &t->host[how->host_of[r]];
		if (h->nprocs++ > 0)
			continue;
		h->port = how->contact[r].tcp_port;
		h->ackmark = ACKMARK;
		h->hiwater = HIWATER;
		suci_addr_16(&how->contact[r].at, h->addr);
	}
	t->offer = (struct impi_offer){
		.nhosts = how->nhosts,
		.nprocs = how->nprocs,
		.datalen = (uint32_t)lmpi_knob_number(LMPI_KNOB_IMPI_DATALEN),
		.tagub = INT32_MAX,
		.xsize = offered_number(LMPI_KNOB_IMPI_COLL_XSIZE),
		.maxlinear = offered_number(LMPI_KNOB_IMPI_COLL_MAXLINEAR),
		.host = t->host,
		.proc = t->proc,
	};
}

/* Submit every label whose value is known. */
static enum impi_err
submit(struct talk *t)
{
	const struct impi_tables *tab = impi_client_tables(g.client);
	uint32_t label;

	if (!t->pids && impi_tables_have(tab, IMPI_C_NPROCS)) {
		uint32_t first = tab->client[t->how->client].first_rank;
		for (uint32_t r = 0; r < t->how->nprocs; r++)
			t->proc[r].pid = impi_pid_of(t->how->token, LMPI_LABEL_BASE + first + r);
		t->pids = true;
	}
	while ((label = impi_client_next_label(g.client)) != IMPI_NO_LABEL) {
		if (label == IMPI_P_PID && !t->pids)
			return IMPI_ERR_OK;
		enum impi_err e = impi_client_submit_offer(g.client, label, &t->offer);
		if (e != IMPI_ERR_OK)
			return e == IMPI_ERR_FULL ? IMPI_ERR_OK : e;
	}
	if (t->pids && impi_client_state(g.client) == IMPI_CLS_COLLECTING &&
	    (impi_client_unanswered(g.client) == 0 || suci_udp_now_ns() - t->step_ns >= ANSWERS_NS))
		return impi_client_done(g.client);
	return IMPI_ERR_OK;
}

static int
send_all_queued(uint64_t deadline_ns)
{
	uint8_t buf[4096];
	size_t n;

	while ((n = impi_client_tx(g.client, buf, sizeof buf)) > 0) {
		size_t at = 0;
		while (at < n) {
			ssize_t r = send(g.fd, buf + at, n - at, MSG_NOSIGNAL);
			if (r > 0) {
				at += (size_t)r;
			} else if (errno == EAGAIN || errno == EINTR) {
				struct pollfd p = {.fd = g.fd, .events = POLLOUT};
				if (suci_udp_now_ns() > deadline_ns)
					return ETIMEDOUT;
				(void)poll(&p, 1, 1000);
			} else {
				return errno;
			}
		}
	}
	return 0;
}

static const char *
hint_for(enum impi_err code)
{
	switch (code) {
	case IMPI_ERR_EOF:
		if (impi_client_state(g.client) == IMPI_CLS_FAILED &&
		    impi_client_tables(g.client)->nclients == 0)
			return "its log says which";
		return "the server or relay ended, or another client failed; its log says why";
	case IMPI_ERR_AUTH:
		return "set IMPI_AUTH_NONE or IMPI_AUTH_KEY as for the server";
	default:
		return NULL;
	}
}

/* Bytes from the server, event by event. */
static int
take_joining(struct talk *t, const uint8_t *p, size_t len)
{
	struct impi_client_event ev;

	do {
		size_t n = impi_client_rx(g.client, p, len, &ev);
		p += n;
		len -= n;
		switch (ev.type) {
		case IMPI_CL_FAILED: {
			const struct impi_error *e = impi_client_error(g.client);
			return give_up_joining(e->text, hint_for(e->code));
		}
		case IMPI_CL_STARTED:
			t->started = true;
			return LMPI_OK;
		case IMPI_CL_LABEL:
			t->step_ns = suci_udp_now_ns();
			impi_offered_label(t->offered, ev.label, ev.mask, ev.data, ev.len);
			/* fall through */
		case IMPI_CL_SIZE: {
			enum impi_err e = submit(t);
			if (e != IMPI_ERR_OK)
				return give_up_joining(impi_strerror(e), NULL);
			break;
		}
		case IMPI_CL_NONE:
			break;
		}
	} while (len > 0 || ev.type != IMPI_CL_NONE);
	return LMPI_OK;
}

/* Once: a job whose other half never came looks like a hang. */
static void
say_waiting(struct talk *t)
{
	t->said = true;
	fprintf(stderr,
		"libmpi: client %u is at the impi server or relay %s and waits for the other "
		"clients; it gives up %u s after its start (LIBMPI_JOIN_TIMEOUT_S)\n",
		t->how->client, g.server, t->timeout_s);
}

static int
talk(struct talk *t)
{
	uint8_t buf[16384];

	while (!t->started) {
		int err = send_all_queued(t->deadline_ns);
		if (err)
			return give_up_joining(strerror(err), hint_for(IMPI_ERR_EOF));
		struct pollfd p = {.fd = g.fd, .events = POLLIN};
		uint64_t now = suci_udp_now_ns();
		if (now >= t->deadline_ns)
			return give_up_joining("nothing more came within LIBMPI_JOIN_TIMEOUT_S",
					       "have all clients been started?");
		if (now >= t->say_ns && !t->said)
			say_waiting(t);
		if (poll(&p, 1, 1000) <= 0) {
			enum impi_err e = submit(t);
			if (e != IMPI_ERR_OK)
				return give_up_joining(impi_strerror(e), NULL);
			continue;
		}
		ssize_t r = recv(g.fd, buf, sizeof buf, 0);
		if (r < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (r <= 0) {
			impi_client_eof(g.client);
			const struct impi_error *e = impi_client_error(g.client);
			return give_up_joining(r < 0 ? strerror(errno) : e->text,
					       hint_for(IMPI_ERR_EOF));
		}
		err = take_joining(t, buf, (size_t)r);
		if (err)
			return err;
	}
	return LMPI_OK;
}

/* --- the result ---------------------------------------------------------- */

/* The marks of a client's hosts, if they agree. */
static void
note_marks(const struct impi_tables *t, struct impi_offered *offered)
{
	for (uint32_t i = 0; i < t->nhosts; i++) {
		const struct impi_host *h = &t->host[i];
		struct impi_offered *o = &offered[h->client];
		bool first = i == t->client[h->client].first_host;
		o->ackmark = first || o->ackmark == h->ackmark ? h->ackmark : 0;
		o->hiwater = first || o->hiwater == h->hiwater ? h->hiwater : 0;
	}
}

/* Whom we talked to, as an IPv4 address; 0: it has none. */
static uint32_t
server_ipv4(void)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
	} at = {0};
	socklen_t len = sizeof at;

	if (getpeername(g.fd, &at.any, &len) < 0 || at.any.sa_family != AF_INET)
		return 0;
	return ntohl(at.v4.sin_addr.s_addr);
}

static int
fill_job(const struct lmpi_join *how, struct impi_offered *offered, struct lmpi_job *job)
{
	const struct impi_tables *t = impi_client_tables(g.client);

	*job = (struct lmpi_job){.client = how->client,
				 .nclients = t->nclients,
				 .nhosts = t->nhosts,
				 .nprocs = t->nprocs,
				 .datalen = t->datalen,
				 .ackmark = t->ackmark,
				 .hiwater = t->hiwater,
				 .tag_ub = t->tagub,
				 .coll_xsize = t->xsize,
				 .coll_maxlinear = t->maxlinear,
				 .server_ipv4 = server_ipv4()};
	job->peer = calloc(t->nclients, sizeof *job->peer);
	job->host = calloc(t->nhosts, sizeof *job->host);
	job->proc = calloc(t->nprocs, sizeof *job->proc);
	if (!job->peer || !job->host || !job->proc) {
		lmpi_job_free(job);
		return give_up_joining("out of memory", NULL);
	}
	for (uint32_t i = 0; i < t->nhosts; i++) {
		job->host[i].client = t->host[i].client;
		job->host[i].nprocs = t->host[i].nprocs;
		job->host[i].port = (uint16_t)t->host[i].port;
		memcpy(job->host[i].addr, t->host[i].addr, 16);
	}
	for (uint32_t i = 0; i < t->nprocs; i++)
		impi_proc_encode(&t->proc[i], job->proc[i]);
	if (!lmpi_job_count(job)) {
		lmpi_job_free(job);
		return give_up_joining("the table of hosts makes no sense", NULL);
	}
	note_marks(t, offered);
	return lmpi_peers_settle(job, lmpi_knob_text(LMPI_KNOB_IMPI_PEERS), offered);
}

static int
make_client(const struct lmpi_join *how)
{
	struct impi_client_config cfg = {.rank = how->client};
	struct impi_error err = {0};

	if (impi_auth_from_env(&cfg.auth, lmpi_knob_text(LMPI_KNOB_IMPI_AUTH_NONE),
			       lmpi_knob_text(LMPI_KNOB_IMPI_AUTH_KEY), &err) != IMPI_ERR_OK)
		return give_up_joining(err.text, NULL);
	size_t n = impi_client_footprint(&limits, &cfg);
	g.mem = n ? aligned_alloc(64, (n + 63) & ~(size_t)63) : NULL;
	if (!n)
		return give_up_joining("IMPI_CLIENT is not a client number from 0 to 31", NULL);
	if (!g.mem || !(g.client = impi_client_new(g.mem, &limits, &cfg)))
		return give_up_joining("out of memory", NULL);
	return LMPI_OK;
}

int
lmpi_join(const struct lmpi_join *how, struct lmpi_job *job)
{
	struct talk t = {.how = how};
	int err;

	g.server = how->server;
	t.timeout_s = (uint32_t)lmpi_knob_number(LMPI_KNOB_JOIN_TIMEOUT);
	uint64_t now = suci_udp_now_ns(), all = t.timeout_s * BASE_S_NS;
	t.deadline_ns = now + all;
	t.say_ns = now + (all < 2 * SAY_NS ? all / 2 : SAY_NS);
	err = make_client(how);
	if (err)
		return err;
	t.proc = calloc(how->nprocs, sizeof *t.proc);
	t.host = calloc(how->nhosts, sizeof *t.host);
	if (t.proc && t.host)
		make_offer(&t);
	err = t.proc && t.host ? connect_server() : give_up_joining("out of memory", NULL);
	if (!err)
		err = talk(&t);
	if (!err)
		err = fill_job(how, t.offered, job);
	free(t.proc);
	free(t.host);
	return err;
}

void
lmpi_join_fini(void)
{
	if (g.fd >= 0 && g.client) {
		if (impi_client_fini(g.client) == IMPI_ERR_OK)
			(void)send_all_queued(suci_udp_now_ns() + BASE_S_NS);
		shutdown(g.fd, SHUT_WR);
	}
	if (g.fd >= 0)
		close(g.fd);
	g.fd = -1;
	impi_client_end(g.client);
	g.client = NULL;
	free(g.mem);
	g.mem = NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A process of a cluster that goes on: what mpispd says, and start-up by it in place of PMIx. */
#include "join.h"

#include "boot.h"
#include "epoch.h"
#include "transport.h"
#include "transports.h"

#include "base/clock.h"
#include "driver/suci_udp.h"
#include "sp/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define RETRY_NS (2 * BASE_S_NS) /* a failed start may be the first sign of a new epoch */
#define ALIVE_MS 250		 /* between two looks whether the program calls us */

struct card {
	uint64_t epoch;
	uint32_t n;
	uint8_t bytes[SP_CARD_MAX];
};

/* What the daemon said last. */
struct told {
	uint64_t epoch, view;
	uint32_t mine, n;
	struct sp_role *role; /* [n] */
};

static struct {
	int fd, stop; /* stop: eventfd that ends the thread */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t news;
	/* Under lock. */
	bool welcome, inside;
	struct told newest;
	struct card *card; /* [newest.n] */
	/* The loop's. */
	struct told now;
	struct lmpi_sp_self self;
	bool joined; /* once */
	uint64_t left_epoch;
	_Atomic uint64_t newest_epoch, now_epoch;
} g = {.fd = -1, .stop = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};

/* ---- saying ---- */

static void
say_to_daemon(const struct sp_client_msg *m)
{
	uint8_t bytes[SP_CLIENT_MAX];
	size_t n = sp_client_write(m, NULL, bytes);

	while (n && send(g.fd, bytes, n, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* ---- hearing: the thread ---- */

static void
hear_welcome(const struct sp_client_msg *m)
{
	snprintf(g.self.cluster, sizeof g.self.cluster, "%.63s", m->text);
	snprintf(g.self.unit, sizeof g.self.unit, "%s", m->unit);
	g.self.compute = m->compute;
	g.self.in_flight = (enum lmpi_sp_in_flight)m->in_flight;
	g.welcome = true;
}

/* Also who only sends short messages, past the queues, is to look at the news. */
static void
tell_loop(void)
{
	atomic_store(&lmpi_loop.news, true);
	__atomic_store_n(&lmpi_eng.troubled, true, __ATOMIC_RELAXED);
}

static void
hear_epoch(const struct sp_client_msg *m)
{
	struct told *t = &g.newest;

	if (m->epoch <= t->epoch || (t->n && t->n != m->n))
		return;
	if (!t->role) {
		t->role = calloc(m->n, sizeof *t->role);
		g.card = calloc(m->n, sizeof *g.card);
		if (!t->role || !g.card) {
			fprintf(stderr, "libmpi: out of memory for %u roles\n", m->n);
			_exit(1);
		}
	}
	t->epoch = m->epoch;
	t->view = m->view;
	t->mine = m->role;
	t->n = m->n;
	for (uint32_t i = 0; i < m->n; i++)
		t->role[i] = sp_client_role(m, i);
	atomic_store(&g.newest_epoch, m->epoch);
	if (!g.inside)
		return;
	tell_loop();
	lmpi_tp_wake();
}

static void
hear_rank_card(const struct sp_client_msg *m)
{
	if (m->role >= g.newest.n || m->epoch < g.card[m->role].epoch || m->n > SP_CARD_MAX)
		return;
	struct card *c = &g.card[m->role];
	c->epoch = m->epoch;
	c->n = m->n;
	memcpy(c->bytes, m->body, m->n);
}

/* A spare that nobody needed, or the end of all. */
static void
hear_end(const struct sp_client_msg *m)
{
	if (!g.joined && m->number == 0)
		_exit(0);
	if (m->number == 0)
		return;
	fprintf(stderr, "libmpi: mpispd ends this process: %s\n", m->text);
	_exit(1);
}

static void
hear_said(const uint8_t *bytes, size_t len)
{
	struct sp_client_msg m;

	if (!sp_client_read(&m, bytes, len)) {
		fprintf(stderr, "libmpi: mpispd is of another version: it says what makes no "
				"sense\n");
		_exit(1);
	}
	pthread_mutex_lock(&g.lock);
	switch (m.type) {
	case SP_CLIENT_WELCOME:
		hear_welcome(&m);
		break;
	case SP_CLIENT_EPOCH:
		hear_epoch(&m);
		break;
	case SP_CLIENT_CARD:
		hear_rank_card(&m);
		break;
	case SP_CLIENT_END:
		hear_end(&m);
		break;
	default:
		break;
	}
	pthread_cond_broadcast(&g.news);
	pthread_mutex_unlock(&g.lock);
}

/* A program that calls us is alive, and so is a spare: signs for detect.hang_s. */
static void
give_sign(void)
{
	static uint64_t before;
	uint64_t now = __atomic_load_n(&lmpi_stats.progress_turns, __ATOMIC_RELAXED);

	/* Short messages of the node need no turn. */
	for (int i = 0; i < LMPI_COUNT_ROWS; i++)
		now += __atomic_load_n(&lmpi_eng.n.sends[i], __ATOMIC_RELAXED) +
		       __atomic_load_n(&lmpi_eng.n.recvs[i], __ATOMIC_RELAXED);
	pthread_mutex_lock(&g.lock);
	bool waits = !g.inside;
	pthread_mutex_unlock(&g.lock);
	if (now != before || waits)
		say_to_daemon(&(struct sp_client_msg){.type = SP_CLIENT_ALIVE});
	before = now;
}

static void *
listen_daemon(void *arg)
{
	uint8_t *bytes = malloc(SP_CLIENT_MAX);

	(void)arg;
	while (bytes) {
		struct pollfd fd[2] = {{.fd = g.fd, .events = POLLIN},
				       {.fd = g.stop, .events = POLLIN}};
		int ready = poll(fd, 2, ALIVE_MS);
		if (ready == 0)
			give_sign();
		if (ready <= 0)
			continue;
		if (fd[1].revents)
			break;
		ssize_t n = recv(g.fd, bytes, SP_CLIENT_MAX, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0) {
			fprintf(stderr,
				"libmpi: mpispd of this node is gone; so is this process\n");
			_exit(1);
		}
		hear_said(bytes, (size_t)n);
	}
	free(bytes);
	return NULL;
}

static bool
start_listening(void)
{
	sigset_t all, old;

	g.stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (g.stop < 0)
		return false;
	sigfillset(&all); /* signals are the program's business */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int err = pthread_create(&g.thread, NULL, listen_daemon, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err == 0;
}

/* ---- in place of PMIx (boot.h) ---- */

/* An I/O process has a world of its own. */
static bool
is_io(void)
{
	return g.now.mine >= g.self.compute;
}

static bool
is_role_left(uint32_t role)
{
	return g.now.role[role].slot != SP_CLIENT_GONE;
}

/* Ranks are the roles that are left, in their order. */
static uint32_t
rank_of_role(uint32_t role)
{
	uint32_t rank = 0;

	for (uint32_t r = 0; r < role && r < g.self.compute; r++)
		rank += is_role_left(r);
	return rank;
}

static uint32_t
role_of_rank(uint32_t rank)
{
	uint32_t r = 0;

	while (r < g.self.compute && (rank > 0 || !is_role_left(r)))
		rank -= is_role_left(r++);
	return r;
}

static int
sp_init(struct lmpi_boot *b)
{
	uint32_t n = is_io() ? 1 : rank_of_role(g.self.compute);

	b->launched = true;
	b->size = n;
	b->rank = is_io() ? 0 : rank_of_role(g.now.mine);
	b->node_peer = calloc(n, sizeof *b->node_peer);
	if (!b->node_peer)
		return LMPI_ERR_NO_MEM;
	snprintf(b->node_name, sizeof b->node_name, "%s", g.self.unit);
	for (uint32_t r = 0; r < n && !is_io(); r++) {
		const struct sp_role *of = &g.now.role[role_of_rank(r)];
		if (of->slot == SP_CLIENT_NONE || of->unit != g.now.role[g.now.mine].unit)
			continue;
		if (r == b->rank)
			b->node_rank = b->node_size;
		b->node_peer[b->node_size++] = r;
	}
	if (is_io())
		b->node_size = 1;
	return LMPI_OK;
}

static int
sp_put(const char *key, const void *data, size_t len)
{
	if (strcmp(key, "lmpi.contact") != 0) {
		fprintf(stderr, "libmpi: a job of IMPI (IMPI_SERVER) does not run under mpispd\n");
		return LMPI_ERR_OTHER;
	}
	say_to_daemon(&(struct sp_client_msg){.type = SP_CLIENT_CARD,
					      .epoch = g.now.epoch,
					      .role = g.now.mine,
					      .body = data,
					      .n = (uint32_t)len});
	return LMPI_OK;
}

static bool
all_cards(void)
{
	for (uint32_t r = 0; r < g.self.compute && !is_io(); r++)
		if (is_role_left(r) && g.card[r].epoch != g.now.epoch)
			return false;
	return true;
}

static int
sp_fence(bool collect, void (*progress)(void))
{
	(void)collect, (void)progress;
	pthread_mutex_lock(&g.lock);
	while (g.newest.epoch == g.now.epoch && !all_cards())
		pthread_cond_wait(&g.news, &g.lock);
	bool again = g.newest.epoch != g.now.epoch;
	pthread_mutex_unlock(&g.lock);
	return again ? LMPI_ERR_AGAIN : LMPI_OK;
}

static int
sp_get(uint32_t rank, const char *key, void **data, size_t *len)
{
	int err = LMPI_ERR_AGAIN;

	(void)key;
	pthread_mutex_lock(&g.lock);
	const struct card *c = &g.card[is_io() ? rank : role_of_rank(rank)];
	if (c->epoch == g.now.epoch && (*data = malloc(c->n + 1)) != NULL) {
		memcpy(*data, c->bytes, c->n);
		*len = c->n;
		err = LMPI_OK;
	}
	pthread_mutex_unlock(&g.lock);
	return err;
}

/* Its address: a name may take long to look up. */
static void
sp_node_of(uint32_t rank, char name[64])
{
	uint32_t role = is_io() ? g.now.mine : role_of_rank(rank);
	uint32_t ip = role < g.now.n ? g.now.role[role].ip : 0;

	snprintf(name, 64, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
}

static void
sp_abort(int code, const char *why)
{
	struct sp_client_msg m = {.type = SP_CLIENT_ABORT, .number = (uint32_t)code & 0xff};

	snprintf(m.text, sizeof m.text, "%s", why);
	say_to_daemon(&m);
}

static void
sp_fini(void)
{
	uint64_t one = 1;

	say_to_daemon(&(struct sp_client_msg){.type = SP_CLIENT_LEFT});
	if (write(g.stop, &one, sizeof one) == (ssize_t)sizeof one)
		pthread_join(g.thread, NULL);
}

static const struct lmpi_launcher launcher = {.init = sp_init,
					      .put = sp_put,
					      .fence = sp_fence,
					      .get = sp_get,
					      .node_of = sp_node_of,
					      .abort = sp_abort,
					      .fini = sp_fini};

/* ---- joining ---- */

/* The socket that mpispd left us; -1: it has not started this process. */
static int
find_socket(void)
{
	const char *text = getenv(SP_CLIENT_ENV);
	int type = 0, fd = text ? (int)strtol(text, NULL, 10) : -1;
	socklen_t len = sizeof type;

	if (!text)
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || type != SOCK_SEQPACKET) {
		fprintf(stderr,
			"libmpi: " SP_CLIENT_ENV
			"=%s is no socket of mpispd here: a wrapper closed "
			"it, or the variable comes from elsewhere; unset it to run alone\n",
			text);
		return -1;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	unsetenv(SP_CLIENT_ENV);
	return fd;
}

static void
take_newest(void)
{
	struct sp_role *kept = g.now.role;

	if (!kept)
		kept = malloc(g.newest.n * sizeof *kept);
	if (!kept) {
		fprintf(stderr, "libmpi: out of memory for %u roles\n", g.newest.n);
		_exit(1);
	}
	g.now = g.newest;
	g.now.role = kept;
	memcpy(kept, g.newest.role, g.now.n * sizeof *kept);
	g.self.role = g.now.mine;
	g.self.slot = kept[g.now.mine].slot;
	g.self.takeovers = kept[g.now.mine].takeovers;
	if (!g.joined)
		g.self.spare = g.self.takeovers > 0;
	g.self.epoch = g.now.epoch;
	g.self.view = g.now.view;
	atomic_store(&g.now_epoch, g.now.epoch);
	g.joined = true;
}

int
lmpi_epoch_join(void)
{
	if (g.fd < 0) {
		g.fd = find_socket();
		if (g.fd < 0)
			return LMPI_OK;
		if (!start_listening()) {
			fprintf(stderr, "libmpi: no thread to listen to mpispd\n");
			return LMPI_ERR_NO_MEM;
		}
		lmpi_launcher = &launcher;
		say_to_daemon(&(struct sp_client_msg){.type = SP_CLIENT_HELLO,
						      .number = (uint32_t)getpid()});
	}
	pthread_mutex_lock(&g.lock);
	while (!g.welcome || g.newest.epoch <= g.left_epoch || g.newest.mine == SP_CLIENT_NONE)
		pthread_cond_wait(&g.news, &g.lock);
	take_newest();
	pthread_mutex_unlock(&g.lock);
	return LMPI_OK;
}

bool
lmpi_epoch_retry(int err)
{
	struct timespec until;

	if (!lmpi_launcher || lmpi_launcher != &launcher)
		return false;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(RETRY_NS / BASE_S_NS);
	pthread_mutex_lock(&g.lock);
	while (g.newest.epoch == g.now.epoch && err != LMPI_ERR_AGAIN)
		if (pthread_cond_timedwait(&g.news, &g.lock, &until) == ETIMEDOUT)
			break;
	bool again = g.newest.epoch != g.now.epoch;
	g.left_epoch = g.now.epoch;
	pthread_mutex_unlock(&g.lock);
	return again;
}

void
lmpi_epoch_inside(bool inside)
{
	if (g.fd < 0)
		return;
	pthread_mutex_lock(&g.lock);
	g.inside = inside;
	if (inside && g.newest.epoch != g.now.epoch)
		tell_loop();
	if (!inside)
		g.left_epoch = g.now.epoch;
	pthread_mutex_unlock(&g.lock);
}

/* ---- for the surface ---- */

bool
lmpi_sp(void)
{
	return lmpi_launcher == &launcher;
}

const struct lmpi_sp_self *
lmpi_sp_self(void)
{
	return &g.self;
}

bool
lmpi_sp_over(void)
{
	return atomic_load(&g.newest_epoch) != atomic_load(&g.now_epoch);
}

int
lmpi_sp_code(int code)
{
	bool lost = code == LMPI_ERR_PROC_FAILED || code == LMPI_ERR_PROC_FAILED_PENDING ||
		    code == LMPI_ERR_REVOKED;

	if (!lmpi_sp() || g.self.in_flight == LMPI_SP_ULFM)
		return code;
	return lost || lmpi_sp_over() ? LMPI_ERR_AGAIN : code;
}

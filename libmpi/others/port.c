/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports: TCP sockets that listen (guests.h), and doors at a relay.  What is said there, in which
 * order, and how long anybody waits for it is said by meet/talk.h; here are sockets, lines over
 * doors (transport/doors_talk.c), the clock, and texts. */
#include "ports.h"

#include "boot.h"
#include "guests.h"
#include "internal.h"

#include "base/clock.h"
#include "door/address.h"
#include "driver/suci_udp.h"
#include "driver/udp_name.h"

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
#define ERR_PORT  LMPI_ERR_PORT
#define DOOR_NONE UINT32_MAX
#define CONNECT_S 300.0
#define SWAP_S	  300.0 /* or "timeout" if that is longer; and what is out of reach comes on top */
#define LOOK_NS	  BASE_MS_NS
#define GREETINGS "the greetings"
#define ROOT_NAME 160

_Static_assert(sizeof(struct lmpi_greeting) == MEET_GREETING_BYTES, "as it is said");

static struct port {
	int fd; /* -1: free */
	uint64_t token;
	struct lmpi_guests *guests;
	uint32_t door; /* DOOR_NONE: only a socket */
	uint64_t door_token;
	int peer; /* a socket of the program to who is to come; -1: anybody may */
} ports[PORTS_MAX];
static uint32_t nports; /* that were ever used */

static uint64_t
seconds_ns(double seconds)
{
	double ns = seconds * 1e9;

	return seconds < 0 || ns > 9e18 ? BASE_NEVER_NS : (uint64_t)ns;
}

static uint64_t
port_deadline(double seconds)
{
	uint64_t ns = seconds_ns(seconds);

	return ns == BASE_NEVER_NS ? ns : suci_udp_now_ns() + ns;
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

void
lmpi_look_again(void)
{
	(void)lmpi_wait_until(never, NULL, suci_udp_now_ns() + LOOK_NS);
}

/* ---- what is said and heard, over either ---- */

/* Bytes that were taken now; -1: the other end is gone. */
static int64_t
push_some(const struct lmpi_talk *t, const void *data, size_t len)
{
	char c;

	if (t->fd < 0)
		return lmpi_doors_say(t->door, data, len);
	/* The kernel takes bytes for who has hung up already. */
	if (recv(t->fd, &c, 1, MSG_PEEK) == 0)
		return -1;
	ssize_t n = send(t->fd, data, len, MSG_NOSIGNAL);
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : n;
}

/* Bytes that have come; 0: none now, -1: the other end is gone. */
static int64_t
pull_some(const struct lmpi_talk *t, void *data, size_t len)
{
	if (t->fd < 0)
		return lmpi_doors_hear(t->door, data, len);
	ssize_t n = recv(t->fd, data, len, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n > 0 ? n : -1;
}

static bool
talk_heard(void *arg)
{
	return lmpi_doors_heard(((const struct lmpi_talk *)arg)->door);
}

/* false: nothing came in time. */
static bool
await_talk(const struct lmpi_talk *t, uint64_t deadline)
{
	if (t->fd >= 0)
		return await_fd(t->fd, POLLIN, deadline);
	return lmpi_wait_until(talk_heard, (void *)(uintptr_t)t, deadline);
}

/* ---- steps of a conversation ---- */

static void
say_step(struct lmpi_talk *t)
{
	const uint8_t *at;
	size_t len;

	while ((len = meet_talk_says(&t->say, &at)) > 0) {
		int64_t n = push_some(t, at, len);
		if (n < 0)
			meet_talk_broke(&t->say);
		if (n <= 0)
			return;
		meet_talk_said(&t->say, (size_t)n, suci_udp_now_ns());
	}
}

static void
hear_step(struct lmpi_talk *t)
{
	uint8_t *at;
	size_t len;

	while ((len = meet_talk_hears(&t->say, &at)) > 0) {
		int64_t n = pull_some(t, at, len);
		if (n < 0)
			meet_talk_broke(&t->say);
		if (n <= 0)
			return;
		meet_talk_heard(&t->say, (size_t)n, suci_udp_now_ns());
		say_step(t); /* that may be answered at once */
	}
}

/* Until the step that was begun is over; the loop goes on meanwhile. */
static enum meet_state
play_step(struct lmpi_talk *t)
{
	for (;;) {
		const uint8_t *at;
		say_step(t);
		hear_step(t);
		uint64_t now = suci_udp_now_ns();
		if (meet_talk_over(&t->say, now))
			return t->say.state;
		uint64_t due = meet_talk_due(&t->say);
		(void)await_talk(t, meet_talk_says(&t->say, &at) ? base_min_ns(now + LOOK_NS, due)
								 : due);
	}
}

/* "the root at 10.0.0.1:4711" */
static void
name_far_root(const struct lmpi_talk *t, char name[ROOT_NAME])
{
	union udp_name sa = {0};
	socklen_t len = sizeof sa;
	char relay[LMPI_RELAY_NAME], text[SUCI_ADDR_TEXT_MAX];

	if (t->fd < 0) {
		lmpi_doors_relay(relay);
		snprintf(name, ROOT_NAME, "the root beyond relay %s", relay);
	} else if (getpeername(t->fd, &sa.any, &len) == 0 && sa.any.sa_family != AF_UNIX) {
		struct suci_addr at = suci_udp_from(&sa);
		snprintf(name, ROOT_NAME, "the root at %s", suci_addr_text(&at, text));
	} else {
		snprintf(name, ROOT_NAME, "the other root");
	}
}

/* What came of swapping phase with root. */
static int
end_swap(const struct lmpi_talk *t, const char *phase, const char *root, enum meet_state end,
	 char why[LMPI_WHY])
{
	if (end == MEET_DONE)
		return LMPI_OK;
	if (end == MEET_LATE) {
		snprintf(why, LMPI_WHY,
			 "swapping %s: %zu of %zu bytes came from %s in %g s: have all of its "
			 "processes called MPI_Comm_accept or MPI_Comm_connect? Info key "
			 "\"timeout\" gives them longer",
			 phase, t->say.heard, t->say.to_hear, root, (double)t->say.swap_ns * 1e-9);
		return LMPI_ERR_OTHER;
	}
	snprintf(why, LMPI_WHY, "swapping %s: %s went away", phase, root);
	return t->say.unsure ? LMPI_TALK_GONE : LMPI_ERR_OTHER;
}

/* The swap that was begun. */
static int
play_swap(struct lmpi_talk *t, const char *phase, char why[LMPI_WHY])
{
	char root[ROOT_NAME];

	name_far_root(t, root); /* who has gone has no name any more */
	return end_swap(t, phase, root, play_step(t), why);
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

/* One address of a name, len bytes of it. */
static int
parse_part(const char *name, size_t len, struct door_address *a, char why[LMPI_WHY])
{
	char text[DOOR_TEXT_MAX + 1] = "";
	int err;

	memcpy(text, name, len < sizeof text - 1 ? len : sizeof text - 1);
	err = door_address_parse(text, a);
	if (err)
		snprintf(why, LMPI_WHY, "the port name is not one of MPI_Open_port: %s",
			 door_strerror(err));
	return err ? ERR_PORT : LMPI_OK;
}

/* "DIRECT" or "DIRECT,AT A RELAY"; relayed->n is 0 if there is no second one. */
static int
parse_port(const char *name, struct door_address *direct, struct door_address *relayed,
	   char why[LMPI_WHY])
{
	size_t len = strcspn(name, ",");
	int err = parse_part(name, len, direct, why);

	relayed->n = 0;
	if (!err && name[len] == ',')
		err = parse_part(name + len + 1, strlen(name + len + 1), relayed, why);
	if (!err && (!(direct->flags & DOOR_FLAG_PROCESS) ||
		     (relayed->n && relayed->flags & DOOR_FLAG_PROCESS))) {
		snprintf(why, LMPI_WHY,
			 "the port name is a door's, but not one of MPI_Open_port: give the whole "
			 "name that MPI_Open_port made");
		err = ERR_PORT;
	}
	return err;
}

static struct port *
port_of_token(uint64_t token)
{
	for (uint32_t i = 0; i < nports; i++)
		if (ports[i].fd >= 0 && ports[i].token == token)
			return &ports[i];
	return NULL;
}

/* The port of this process that has that name, or NULL. */
static struct port *
find_port(const char *name, char why[LMPI_WHY])
{
	struct door_address a, behind;

	if (parse_port(name, &a, &behind, why))
		return NULL;
	struct port *p = port_of_token(a.token);
	if (p)
		return p;
	snprintf(why, LMPI_WHY, "the port was not opened by this process, or is closed");
	return NULL;
}

/* ---- ports ---- */

/* A door at the relay, if there is one, and its name behind the first. */
static int
open_port_door(struct port *p, char name[], size_t room, char why[LMPI_WHY])
{
	struct door_address mine, at;
	char text[DOOR_TEXT_MAX];
	size_t len = strlen(name);
	int err;

	p->door = DOOR_NONE;
	if (!lmpi_doors_mine(&mine))
		return LMPI_OK;
	err = lmpi_doors_open(&p->door, &at, why);
	if (err)
		return err;
	if (door_address_print(&at, text) || len + 1 + strlen(text) >= room) {
		snprintf(why, LMPI_WHY, "a port name takes %zu bytes, not %zu",
			 len + 2 + strlen(text), room);
		lmpi_doors_close(p->door);
		return LMPI_ERR_OTHER;
	}
	p->door_token = at.token;
	snprintf(name + len, room - len, ",%s", text);
	return LMPI_OK;
}

int
lmpi_port_open(char name[], size_t room, char why[LMPI_WHY])
{
	struct door_address a = {
		.realm = lmpi_loop.token, .label = LMPI_LABEL_BASE + lmpi_world.rank, .n = 1};
	const struct suci_addr *at = &lmpi_route[lmpi_world.rank].at;
	char text[DOOR_TEXT_MAX];
	uint16_t number = 0;
	uint8_t ip[16];
	uint32_t i = 0;

	while (i < nports && ports[i].fd >= 0)
		i++;
	if (i == PORTS_MAX) {
		snprintf(why, LMPI_WHY, "%d ports are open: close some by MPI_Close_port",
			 PORTS_MAX);
		return LMPI_ERR_OTHER;
	}
	int fd = lmpi_tcp_listen(at, BACKLOG, &number);
	suci_addr_16(at, ip);
	door_address_put_place(&a, ip, number);
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
	ports[i] = (struct port){.fd = fd, .token = a.token, .guests = guests, .peer = -1};
	nports = i == nports ? i + 1 : nports;
	int err = open_port_door(&ports[i], name, room, why);
	if (err) {
		close(fd);
		lmpi_guests_free(guests);
		ports[i] = (struct port){.fd = -1};
	}
	return err;
}

/* It was opened by this process. */
static bool
is_own(const struct door_address *a)
{
	return a->realm == lmpi_loop.token && a->label == LMPI_LABEL_BASE + lmpi_world.rank;
}

int
lmpi_port_close(const char *name, char why[LMPI_WHY])
{
	struct door_address a, behind;
	struct port *p = find_port(name, why);

	if (!p)
		return parse_port(name, &a, &behind, why) || is_own(&a) ? ERR_PORT : LMPI_OK;
	close(p->fd);
	if (p->door != DOOR_NONE)
		lmpi_doors_close(p->door);
	lmpi_guests_free(p->guests);
	*p = (struct port){.fd = -1};
	lmpi_spawn_forget(name);
	return LMPI_OK;
}

void
lmpi_port_await_socket(const char *name, int fd)
{
	char why[LMPI_WHY];
	struct port *p = find_port(name, why);

	if (p)
		p->peer = fd;
}

static bool
has_gone(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* Nobody is there yet.  Who waits for ever for somebody to come need not wait for ever for those
 * who came. */
static struct lmpi_talk
begin_talk(double seconds)
{
	struct lmpi_talk t = LMPI_NO_TALK;

	t.swap_s = seconds > SWAP_S ? seconds : SWAP_S;
	return t;
}

static void
begin_steps(struct lmpi_talk *t, uint64_t token)
{
	bool far = t->fd < 0;
	uint64_t swap = base_add_ns(seconds_ns(t->swap_s), far ? lmpi_doors_outage_ns() : 0);

	meet_talk_init(&t->say, far, token, swap, seconds_ns(SWAP_S / 2));
}

/* Who knocked at the port's door begins to talk; false: it did not knock rightly, or has gone. */
static bool
take_far(uint64_t token, struct lmpi_talk *t, const struct lmpi_greeting *mine,
	 struct lmpi_greeting *theirs)
{
	begin_steps(t, token);
	meet_talk_take(&t->say, (const uint8_t *)mine, (uint8_t *)theirs, suci_udp_now_ns());
	if (play_step(t) == MEET_DONE)
		return true;
	lmpi_talk_end(t);
	return false;
}

/* Who came over a socket has said GO. */
static int
greet_near(uint64_t token, struct lmpi_talk *t, const struct lmpi_greeting *mine,
	   struct lmpi_greeting *theirs, char why[LMPI_WHY])
{
	settle_socket(t->fd);
	begin_steps(t, token);
	meet_talk_greet(&t->say, (const uint8_t *)mine, (uint8_t *)theirs, suci_udp_now_ns());
	return play_swap(t, GREETINGS, why);
}

static bool
port_door_heard(void *arg)
{
	return lmpi_doors_knocks(*(const uint32_t *)arg);
}

int
lmpi_port_accept(const char *name, double seconds, struct lmpi_talk *t,
		 const struct lmpi_greeting *mine, struct lmpi_greeting *theirs, char why[LMPI_WHY])
{
	uint64_t deadline = port_deadline(seconds);

	*t = begin_talk(seconds);
	for (;;) {
		/* Another thread may have closed it meanwhile. */
		const struct port *p = find_port(name, why);
		uint64_t now = suci_udp_now_ns();
		if (!p)
			return ERR_PORT;
		if (lmpi_spawn_unmet(name, why))
			return ERR_PORT;
		/* Before who knocks is looked for: who has gone after that has knocked. */
		bool gone = p->peer >= 0 && has_gone(p->peer);
		uint32_t door = p->door;
		bool far = door != DOOR_NONE && lmpi_doors_knocks(door);
		enum meet_turn turn;
		int err = lmpi_guests_turn(p->guests, p->fd, far, now, deadline, &t->fd, &turn);
		if (err) {
			snprintf(why, LMPI_WHY, "accepting at the port: %s", strerror(err));
			return LMPI_ERR_OTHER;
		}
		if (t->fd >= 0)
			return greet_near(p->token, t, mine, theirs, why);
		if (turn == MEET_TURN_LATE)
			break;
		if (gone && turn != MEET_TURN_FAR) {
			snprintf(why, LMPI_WHY, "the other end of the socket %d has gone", p->peer);
			return LMPI_ERR_OTHER;
		}
		if (turn == MEET_TURN_FAR) {
			t->door = lmpi_doors_knock(door);
			if (take_far(p->door_token, t, mine, theirs))
				return LMPI_OK;
			continue;
		}
		(void)lmpi_wait_until(door != DOOR_NONE && !far ? port_door_heard : never, &door,
				      now + LOOK_NS);
	}
	snprintf(why, LMPI_WHY, "nobody connected within %g s", seconds);
	return ERR_PORT;
}

/* ERR_PORT with a text, or 0 and *fd. */
static int
dial_port(const struct door_address *a, uint64_t deadline, int *fd, char why[LMPI_WHY])
{
	char text[SUCI_ADDR_TEXT_MAX];
	uint8_t ip[16];
	int err = 0;
	socklen_t len = sizeof err;

	door_address_place(a, ip);
	struct suci_addr at = suci_addr_of(ip, a->relay[0].port);
	*fd = -1;
	if (!lmpi_addr_meets(&lmpi_route[lmpi_world.rank].at, "the port", &at, why))
		return ERR_PORT;
	*fd = lmpi_tcp_begin(&at, at.port, NULL, &err);
	if (*fd >= 0 && !await_fd(*fd, POLLOUT, deadline))
		err = ETIMEDOUT;
	else if (*fd >= 0 && getsockopt(*fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (!err) {
		settle_socket(*fd);
		return LMPI_OK;
	}
	if (*fd >= 0)
		close(*fd);
	snprintf(why, LMPI_WHY, "nobody has that port open (%s: %s)", suci_addr_text(&at, text),
		 strerror(err));
	return ERR_PORT;
}

/* By the door if that leads there, else directly.  *token: that proves. */
static int
reach_port(const char *name, uint64_t deadline, struct lmpi_talk *t, uint64_t *token,
	   char why[LMPI_WHY])
{
	struct door_address a, behind, mine;
	int rc = parse_port(name, &a, &behind, why);

	if (rc)
		return rc;
	if (lmpi_doors_lead(&behind)) {
		*token = behind.token;
		return lmpi_doors_call(&behind, deadline, &t->door, why);
	}
	*token = a.token;
	rc = dial_port(&a, deadline, &t->fd, why);
	if (rc && behind.n && !lmpi_doors_mine(&mine)) {
		size_t len = strlen(why);
		t->fd = -1;
		snprintf(why + len, LMPI_WHY - len,
			 "; if it is in another cluster, name our relay in LIBMPI_RELAY");
	}
	return rc;
}

int
lmpi_port_connect(const char *name, double seconds, struct lmpi_talk *t,
		  const struct lmpi_greeting *mine, const void *first, size_t first_len,
		  struct lmpi_greeting *theirs, char why[LMPI_WHY])
{
	double limit = seconds < 0 ? CONNECT_S : seconds;
	uint64_t deadline = port_deadline(limit), token;
	uint8_t knock[MEET_KNOCK_BYTES];
	char root[ROOT_NAME];
	*t = begin_talk(seconds);
	int rc = reach_port(name, deadline, t, &token, why);

	if (rc) {
		*t = LMPI_NO_TALK;
		return rc;
	}
	begin_steps(t, token);
	meet_talk_knock(&t->say, (const uint8_t *)mine, (uint8_t *)theirs, first, first_len, knock,
			deadline);
	name_far_root(t, root);
	enum meet_state end = play_step(t);
	if (end == MEET_DONE)
		return LMPI_OK;
	if (t->say.phase == MEET_PHASE_SWAP)
		return end_swap(t, GREETINGS, root, end, why);
	bool refused = end != MEET_LATE && t->fd < 0 && lmpi_doors_refused(t->door, why);
	lmpi_talk_end(t);
	if (refused)
		return ERR_PORT;
	if (end == MEET_LATE)
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

int
lmpi_talk_swap(struct lmpi_talk *t, const char *phase, const void *mine, size_t len, void *theirs,
	       size_t their_len, char why[LMPI_WHY])
{
	meet_talk_swap(&t->say, mine, len, theirs, their_len, suci_udp_now_ns());
	return play_swap(t, phase, why);
}

int
lmpi_talk_decide(struct lmpi_talk *t, const char *phase, uint64_t mine, uint64_t *theirs,
		 char why[LMPI_WHY])
{
	meet_talk_decide(&t->say, mine, suci_udp_now_ns());
	int rc = play_swap(t, phase, why);
	*theirs = t->say.outcome;
	return rc;
}

void
lmpi_talk_end(struct lmpi_talk *t)
{
	if (t->fd >= 0)
		close(t->fd);
	else if (t->door != DOOR_NONE)
		lmpi_doors_hang_up(t->door);
	*t = LMPI_NO_TALK;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "guests.h"

#include "engine.h"

#include "driver/udp_name.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct lmpi_guests {
	struct meet_port port;
	int fd[MEET_GUESTS_MAX]; /* by seat */
};

struct lmpi_guests *
lmpi_guests_new(uint64_t token)
{
	struct lmpi_guests *g = malloc(sizeof *g);

	if (g)
		meet_port_init(&g->port, token);
	return g;
}

void
lmpi_guests_free(struct lmpi_guests *g)
{
	for (int i = 0; g && i < (int)MEET_GUESTS_MAX; i++)
		if (meet_port_seated(&g->port, i))
			close(g->fd[i]);
	free(g);
}

static void
hang_up_guest(struct lmpi_guests *g, int seat, uint64_t *count)
{
	++*count;
	close(g->fd[seat]);
	if (meet_port_seated(&g->port, seat))
		meet_port_leave(&g->port, seat);
}

/* ---- hearing ---- */

static void
hear_guest(struct lmpi_guests *g, int seat, uint64_t now_ns, int *fd)
{
	uint8_t *at;
	size_t room = meet_port_room(&g->port, seat, &at);
	ssize_t n = recv(g->fd[seat], at, room, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (meet_port_silent(&g->port, seat, now_ns))
			hang_up_guest(g, seat, &lmpi_stats.knocks_silent);
		return;
	}
	if (n <= 0) {
		hang_up_guest(g, seat, &lmpi_stats.knocks_wrong);
		return;
	}
	enum meet_heard heard = meet_port_heard(&g->port, seat, (size_t)n);
	if (heard == MEET_HEARD_WRONG)
		hang_up_guest(g, seat, &lmpi_stats.knocks_wrong);
	if (heard == MEET_HEARD_GO)
		*fd = g->fd[seat];
}

static void
hear_guests(struct lmpi_guests *g, uint64_t now_ns, int *fd)
{
	for (int i = 0; i < (int)MEET_GUESTS_MAX && *fd < 0; i++)
		if (meet_port_seated(&g->port, i))
			hear_guest(g, i, now_ns, fd);
}

static enum meet_turn
turn_guests(struct lmpi_guests *g, bool far, uint64_t now_ns, uint64_t due_ns)
{
	uint8_t word[MEET_WORD_BYTES];
	int seat;
	enum meet_turn turn = meet_port_turn(&g->port, far, now_ns, due_ns, &seat, word);

	if (turn != MEET_TURN_NEAR)
		return turn;
	/* So little fits into an empty socket. */
	if (send(g->fd[seat], word, sizeof word, MSG_NOSIGNAL) != (ssize_t)sizeof word)
		hang_up_guest(g, seat, &lmpi_stats.knocks_wrong);
	return MEET_TURN_WAIT;
}

/* ---- letting in ---- */

static void
seat_guest(struct lmpi_guests *g, int fd, uint64_t source, uint64_t now_ns)
{
	int victim = meet_port_victim(&g->port, source, now_ns);

	if (victim >= 0)
		hang_up_guest(g, victim, &lmpi_stats.knocks_evicted);
	g->fd[meet_port_enter(&g->port, source, now_ns)] = fd;
}

/* 0, or what is wrong with accepting. */
static int
let_guests_in(struct lmpi_guests *g, int listening, uint64_t now_ns)
{
	for (uint32_t n = 0; n < MEET_GUESTS_A_TURN && meet_port_open(&g->port, now_ns); n++) {
		union udp_name sa = {0};
		uint8_t addr[16];
		socklen_t len = sizeof sa;
		int fd = accept4(listening, &sa.any, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return errno == EAGAIN ? 0 : errno;
		struct suci_addr from = suci_udp_from(&sa);
		suci_addr_16(&from, addr);
		seat_guest(g, fd, base_lobby_source(addr), now_ns);
	}
	return 0;
}

/* No descriptor is left: the one that has been silent longest makes room. */
static bool
give_up_oldest(struct lmpi_guests *g)
{
	int oldest = meet_port_oldest(&g->port);

	if (oldest >= 0)
		hang_up_guest(g, oldest, &lmpi_stats.knocks_evicted);
	return oldest >= 0;
}

int
lmpi_guests_turn(struct lmpi_guests *g, int listening, bool far, uint64_t now_ns, uint64_t due_ns,
		 int *fd, enum meet_turn *turn)
{
	int err = 0;

	*fd = -1;
	*turn = MEET_TURN_WAIT;
	hear_guests(g, now_ns, fd);
	if (*fd < 0) {
		err = let_guests_in(g, listening, now_ns);
		if ((err == EMFILE || err == ENFILE) && give_up_oldest(g))
			err = 0;
		hear_guests(g, now_ns, fd);
	}
	if (*fd >= 0)
		return 0;
	*turn = turn_guests(g, far, now_ns, due_ns);
	return *turn == MEET_TURN_FAR ? 0 : err;
}

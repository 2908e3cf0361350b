/* SPDX-License-Identifier: BSD-2-Clause */
#include "guests.h"

#include "engine.h"

#include "base/bytes.h"
#include "driver/udp_name.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC 0x4c4d4b31u /* "LMK1" */

enum guest_state { GUEST_NONE, GUEST_SILENT, GUEST_KNOCKED, GUEST_TAKEN };

struct guest {
	enum guest_state state;
	int fd;
	uint8_t word[LMPI_WORD_BYTES];
	uint32_t have;
	uint64_t turn;	   /* KNOCKED: the lowest is taken first */
	uint64_t until_ns; /* SILENT, TAKEN */
};

struct lmpi_guests {
	uint64_t token, knocks;
	struct base_lobby lobby; /* one seat for each guest, whatever its state */
	struct guest guest[LMPI_GUESTS_MAX];
};

void
lmpi_word_write(uint8_t b[LMPI_WORD_BYTES], enum lmpi_word what, uint64_t token)
{
	be32_store(b, MAGIC);
	be32_store(b + 4, what);
	be64_store(b + 8, token);
}

bool
lmpi_word_say(int fd, enum lmpi_word what, uint64_t token)
{
	uint8_t b[LMPI_WORD_BYTES];

	lmpi_word_write(b, what, token);
	/* So little fits into an empty socket. */
	return send(fd, b, sizeof b, MSG_NOSIGNAL) == (ssize_t)sizeof b;
}

bool
lmpi_word_is(const uint8_t b[LMPI_WORD_BYTES], enum lmpi_word what, uint64_t token)
{
	return be32_load(b) == MAGIC && be32_load(b + 4) == what && be64_load(b + 8) == token;
}

struct lmpi_guests *
lmpi_guests_new(uint64_t token)
{
	struct lmpi_guests *g = calloc(1, sizeof *g);

	if (!g)
		return NULL;
	g->token = token;
	base_lobby_init(&g->lobby, LMPI_GUESTS_MAX, LMPI_GUEST_NS);
	return g;
}

/* Its place is free; the socket is whose it was. */
static void
leave_guest(struct lmpi_guests *g, struct guest *t)
{
	base_lobby_leave(&g->lobby, (int)(t - g->guest));
	t->state = GUEST_NONE;
}

static void
hang_up_guest(struct lmpi_guests *g, struct guest *t, uint64_t *count)
{
	++*count;
	close(t->fd);
	leave_guest(g, t);
}

void
lmpi_guests_free(struct lmpi_guests *g)
{
	for (uint32_t i = 0; g && i < LMPI_GUESTS_MAX; i++)
		if (g->guest[i].state != GUEST_NONE)
			close(g->guest[i].fd);
	free(g);
}

static uint32_t
count_guests(const struct lmpi_guests *g, enum guest_state state)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < LMPI_GUESTS_MAX; i++)
		n += g->guest[i].state == state;
	return n;
}

bool
lmpi_guests_any_taken(const struct lmpi_guests *g)
{
	return count_guests(g, GUEST_TAKEN) != 0;
}

/* ---- hearing ---- */

/* A whole word has come. */
static void
take_guest_word(struct lmpi_guests *g, struct guest *t, int *fd)
{
	t->have = 0;
	if (t->state == GUEST_SILENT && lmpi_word_is(t->word, LMPI_KNOCK, g->token)) {
		t->state = GUEST_KNOCKED;
		t->turn = g->knocks++;
	} else if (t->state == GUEST_TAKEN && lmpi_word_is(t->word, LMPI_GO, g->token)) {
		*fd = t->fd;
		leave_guest(g, t);
	} else {
		hang_up_guest(g, t, &lmpi_stats.knocks_wrong);
	}
}

/* No more than the word: what follows GO is the conversation. */
static void
hear_guest(struct lmpi_guests *g, struct guest *t, uint64_t now_ns, int *fd)
{
	ssize_t n = recv(t->fd, t->word + t->have, sizeof t->word - t->have, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (t->state != GUEST_KNOCKED && now_ns >= t->until_ns)
			hang_up_guest(g, t, &lmpi_stats.knocks_silent);
		return;
	}
	if (n <= 0) {
		hang_up_guest(g, t, &lmpi_stats.knocks_wrong);
		return;
	}
	t->have += (uint32_t)n;
	if (t->have == sizeof t->word)
		take_guest_word(g, t, fd);
}

static void
hear_guests(struct lmpi_guests *g, uint64_t now_ns, int *fd)
{
	for (uint32_t i = 0; i < LMPI_GUESTS_MAX && *fd < 0; i++)
		if (g->guest[i].state != GUEST_NONE)
			hear_guest(g, &g->guest[i], now_ns, fd);
}

static void
take_first_knock(struct lmpi_guests *g, uint64_t now_ns)
{
	struct guest *first = NULL;

	for (struct guest *t = g->guest; t < g->guest + LMPI_GUESTS_MAX; t++)
		if (t->state == GUEST_KNOCKED && (!first || t->turn < first->turn))
			first = t;
	if (!first)
		return;
	first->state = GUEST_TAKEN;
	first->until_ns = now_ns + LMPI_GUEST_NS;
	if (!lmpi_word_say(first->fd, LMPI_TAKEN, g->token))
		hang_up_guest(g, first, &lmpi_stats.knocks_wrong);
}

/* ---- letting in ---- */

static void
seat_guest(struct lmpi_guests *g, int fd, uint64_t source, uint64_t now_ns)
{
	int seat = base_lobby_victim(&g->lobby, source, now_ns);

	if (seat >= 0)
		hang_up_guest(g, &g->guest[seat], &lmpi_stats.knocks_evicted);
	seat = base_lobby_enter(&g->lobby, source, now_ns);
	g->guest[seat] =
		(struct guest){.state = GUEST_SILENT, .fd = fd, .until_ns = now_ns + LMPI_GUEST_NS};
}

/* 0, or what is wrong with accepting. */
static int
let_guests_in(struct lmpi_guests *g, int listening, uint64_t now_ns)
{
	for (uint32_t n = 0; n < LMPI_GUESTS_A_TURN && base_lobby_room_ns(&g->lobby) <= now_ns;
	     n++) {
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
	struct guest *oldest = NULL;

	for (struct guest *t = g->guest; t < g->guest + LMPI_GUESTS_MAX; t++)
		if (t->state == GUEST_SILENT && (!oldest || t->until_ns < oldest->until_ns))
			oldest = t;
	if (oldest)
		hang_up_guest(g, oldest, &lmpi_stats.knocks_evicted);
	return oldest;
}

int
lmpi_guests_turn(struct lmpi_guests *g, int listening, uint64_t now_ns, int *fd)
{
	int err = 0;

	*fd = -1;
	hear_guests(g, now_ns, fd);
	if (*fd < 0 && !count_guests(g, GUEST_TAKEN) && !count_guests(g, GUEST_KNOCKED)) {
		err = let_guests_in(g, listening, now_ns);
		if ((err == EMFILE || err == ENFILE) && give_up_oldest(g))
			err = 0;
		hear_guests(g, now_ns, fd);
	}
	if (*fd < 0 && !count_guests(g, GUEST_TAKEN))
		take_first_knock(g, now_ns);
	return *fd < 0 ? err : 0;
}

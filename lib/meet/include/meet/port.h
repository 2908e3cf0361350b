/* SPDX-License-Identifier: BSD-2-Clause */
/* meet/port.h - who has come to a port over a socket and has not begun a conversation yet: who
 * knocks, who of them is taken first, who is hung up on.
 *
 *	connector	acceptor
 *	KNOCK token ->			waits until somebody accepts
 *			<- TAKEN	the token proved
 *	GO ->				it has not given up meanwhile: the conversation begins
 *
 * Whoever says anything else is hung up on.  Anybody can connect and be silent, so all are heard
 * side by side, in the few seats of a lobby (base/lobby.h): who makes room for whom goes by source.
 * Who has not knocked after MEET_GUEST_NS is hung up on, and so is who was taken and does not go
 * on.  Those who knocked are taken one by one, the first first; meanwhile nobody new comes in, and
 * what waits waits at the owner.
 *
 * The owner has the sockets, by seat.  A turn of it, at a moment in which somebody accepts:
 *
 *	for each seat that is taken	bytes into meet_port_room(), then meet_port_heard();
 *					meet_port_silent() if there are none, meet_port_leave() if
 *					the other end is gone
 *	while meet_port_open()		somebody new: meet_port_victim(), meet_port_enter()
 *	meet_port_turn()		whose turn it is, of those at the port's door, too
 *
 * Sans-I/O.  Memory  the owner's.  Units  nanoseconds.  Threads  one owner at a time.
 * Limits   MEET_GUESTS_MAX at a time, MEET_GUESTS_A_TURN let in at a turn. */
#ifndef MEET_PORT_H
#define MEET_PORT_H

#include "base/clock.h"
#include "base/lobby.h"
#include "meet/word.h"

#include <stddef.h>

#define MEET_GUESTS_MAX BASE_LOBBY_SEATS_MAX
/* Who knocks has said so when it is taken out of the kernel's queue; who is taken answers. */
#define MEET_GUEST_NS BASE_S_NS
/* So many at most come in at a turn: the words of who came before may still be on their way. */
#define MEET_GUESTS_A_TURN 8u

enum meet_guest_state { MEET_GUEST_NONE, MEET_GUEST_SILENT, MEET_GUEST_KNOCKED, MEET_GUEST_TAKEN };

struct meet_guest {
	enum meet_guest_state state;
	uint8_t word[MEET_WORD_BYTES];
	uint32_t have;
	uint64_t turn;	   /* KNOCKED: the lowest is taken first */
	uint64_t until_ns; /* SILENT, TAKEN */
};

struct meet_port {
	uint64_t token, knocks;
	bool far_waits;
	uint64_t far_turn;	 /* of the first at the port's door */
	struct base_lobby lobby; /* a seat for each guest, whatever its state */
	struct meet_guest guest[MEET_GUESTS_MAX];
};

void meet_port_init(struct meet_port *p, uint64_t token);
/* May somebody new come in?  Not while anybody knocks or was taken. */
bool meet_port_open(const struct meet_port *p, uint64_t now_ns);
/* Who is to be hung up on before somebody from source enters, or -1. */
int meet_port_victim(const struct meet_port *p, uint64_t source, uint64_t now_ns);
/* The seat.  The port is open, and the victim has left. */
int meet_port_enter(struct meet_port *p, uint64_t source, uint64_t now_ns);
/* The seat is free: its owner hangs up, or has its conversation. */
void meet_port_leave(struct meet_port *p, int seat);

static inline bool
meet_port_seated(const struct meet_port *p, int seat)
{
	return p->guest[seat].state != MEET_GUEST_NONE;
}

/* How much may be heard of that guest now, and where it goes: what follows GO is the conversation.
 */
size_t meet_port_room(struct meet_port *p, int seat, uint8_t **at);
enum meet_heard {
	MEET_HEARD_PART,
	MEET_HEARD_GO,	 /* its conversation begins: it has left */
	MEET_HEARD_WRONG /* it said something else, and has left: hang up */
};
enum meet_heard meet_port_heard(struct meet_port *p, int seat, size_t n);
/* It had to say something by now: hang up on it. */
bool meet_port_silent(const struct meet_port *p, int seat, uint64_t now_ns);
/* The seat of who has been silent longest, or -1: no more sockets can be had. */
int meet_port_oldest(const struct meet_port *p);
enum meet_turn {
	MEET_TURN_WAIT, /* nobody knocks, or who was taken may yet begin to talk */
	MEET_TURN_NEAR, /* who has that seat is to be told by word */
	MEET_TURN_FAR,	/* the first at the port's door */
	MEET_TURN_LATE, /* nobody knocks, and it is due_ns */
};
/* far: somebody knocks at the port's door (meet/lines.h). */
enum meet_turn meet_port_turn(struct meet_port *p, bool far, uint64_t now_ns, uint64_t due_ns,
			      int *seat, uint8_t word[MEET_WORD_BYTES]);
/* Somebody was told TAKEN and may have begun to talk. */
bool meet_port_any_taken(const struct meet_port *p);

#endif

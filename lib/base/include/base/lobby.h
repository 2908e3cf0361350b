/* SPDX-License-Identifier: BSD-2-Clause */
/* base/lobby.h - the few places for connections that have not yet said who they are.
 *
 * Anybody can connect and be silent, so the places are few and nobody may keep them from the
 * others.  When all are taken, one makes room for who comes:
 *
 *   - the oldest of the source that has most of them, at once, if it has more than one
 *   - else the oldest, after its grace
 *
 * So one source can hold every place only until another comes.  Who names itself within its
 * first exchange of bytes leaves the lobby before that.
 *
 * Source    a number for where a connection comes from, say its address.  0: not known, taken
 *           for a source of its own.
 * Units     nanoseconds of the caller's monotonic clock.
 * Threads   one owner. */
#ifndef BASE_LOBBY_H
#define BASE_LOBBY_H

#include <stdbool.h>
#include <stdint.h>

#define BASE_LOBBY_SEATS_MAX 64

struct base_lobby_seat {
	bool taken;
	uint64_t source, since_ns;
};

struct base_lobby {
	uint32_t seats;
	uint64_t grace_ns;
	uint32_t taken;
	struct base_lobby_seat seat[BASE_LOBBY_SEATS_MAX];
};

/* The source that an address is of (base/prefix.h has the form): itself, of IPv6 the /64, which one
 * host may have for itself.  Not 0. */
uint64_t base_lobby_source(const uint8_t addr[16]);
/* seats: 1 .. BASE_LOBBY_SEATS_MAX. */
void base_lobby_init(struct base_lobby *l, uint32_t seats, uint64_t grace_ns);
/* Take a seat: its number, or -1 if none is free (see base_lobby_victim()). */
int base_lobby_enter(struct base_lobby *l, uint64_t source, uint64_t now_ns);
/* -1 is fine. */
void base_lobby_leave(struct base_lobby *l, int seat);
/* Whose seat must be left before one from source can enter; -1: nobody's, there is room, or
 * all are within their grace. */
int base_lobby_victim(const struct base_lobby *l, uint64_t source, uint64_t now_ns);
/* When somebody from anywhere may enter, after the victim has left if need be: 0 = now. */
uint64_t base_lobby_room_ns(const struct base_lobby *l);

#endif

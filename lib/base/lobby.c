/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/lobby.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/prefix.h"

#include <string.h>

uint64_t
base_lobby_source(const uint8_t addr[16])
{
	uint8_t v4[16];

	base_prefix_v4(be32_load(addr + 12), v4);
	return memcmp(addr, v4, sizeof v4) == 0 ? be32_load(addr + 12) + 1ull
						: be64_load(addr) | 1ull << 63;
}

void
base_lobby_init(struct base_lobby *l, uint32_t seats, uint64_t grace_ns)
{
	BASE_ASSERT(seats >= 1 && seats <= BASE_LOBBY_SEATS_MAX);
	*l = (struct base_lobby){.seats = seats, .grace_ns = grace_ns};
}

int
base_lobby_enter(struct base_lobby *l, uint64_t source, uint64_t now_ns)
{
	for (uint32_t i = 0; i < l->seats; i++) {
		if (l->seat[i].taken)
			continue;
		l->seat[i] = (struct base_lobby_seat){
			.taken = true, .source = source, .since_ns = now_ns};
		l->taken++;
		return (int)i;
	}
	return -1;
}

void
base_lobby_leave(struct base_lobby *l, int seat)
{
	if (seat < 0 || !l->seat[seat].taken)
		return;
	l->seat[seat].taken = false;
	l->taken--;
}

/* How many seats the source of seat i has; newcomer: a source that is about to have one more. */
static uint32_t
lobby_held(const struct base_lobby *l, uint32_t i, uint64_t newcomer)
{
	uint64_t source = l->seat[i].source;
	if (!source)
		return 1;
	uint32_t n = source == newcomer;
	for (uint32_t k = 0; k < l->seats; k++)
		n += l->seat[k].taken && l->seat[k].source == source;
	return n;
}

/* The oldest of the source that has most; *most: how many. */
static int
first_to_go(const struct base_lobby *l, uint64_t newcomer, uint32_t *most)
{
	int go = -1;
	*most = 0;
	for (uint32_t i = 0; i < l->seats; i++) {
		if (!l->seat[i].taken)
			continue;
		uint32_t n = lobby_held(l, i, newcomer);
		if (n > *most || (n == *most && l->seat[i].since_ns < l->seat[go].since_ns)) {
			*most = n;
			go = (int)i;
		}
	}
	return go;
}

static uint64_t
grace_end(const struct base_lobby *l, int seat)
{
	uint64_t since = l->seat[seat].since_ns;
	return since > UINT64_MAX - 1 - l->grace_ns ? UINT64_MAX - 1 : since + l->grace_ns;
}

int
base_lobby_victim(const struct base_lobby *l, uint64_t source, uint64_t now_ns)
{
	uint32_t most;
	if (l->taken < l->seats)
		return -1;
	int go = first_to_go(l, source, &most);
	return most > 1 || now_ns >= grace_end(l, go) ? go : -1;
}

uint64_t
base_lobby_room_ns(const struct base_lobby *l)
{
	uint32_t most;
	if (l->taken < l->seats)
		return 0;
	int go = first_to_go(l, 0, &most);
	return most > 1 ? 0 : grace_end(l, go);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A player takes any bytes for datagrams: it stays within its window and what it acknowledges
 * is a block. */
#include "player.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool ok)
{
	if (!ok)
		abort();
}

/* Input: datagrams, each after its length (2 bytes, big-endian, top bit: the endpoint's own). */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct pg_player_conf conf = {
		.window = 32, .credit = 64, .ack_every = 4, .ack_wait_ns = 1000};
	static _Alignas(64) uint8_t mem[8192];
	must(pg_player_size() <= sizeof mem);
	struct pg_player *p = pg_player_new(mem, &conf);
	uint64_t now = 1000000;
	bool begun = false;
	while (size >= 2) {
		size_t len = (size_t)(data[0] & 0x07) << 8 | data[1];
		bool own = data[0] & 0x80;
		data += 2;
		size -= 2;
		len = len < size ? len : size;
		uint8_t *d = malloc(len ? len : 1), out[2048];
		if (!d)
			return 0;
		memcpy(d, data, len);
		struct suci_segment seg;
		if (own && !begun)
			pg_player_saw(p, d, len);
		else if (pg_player_rx(p, d, len, now, &seg))
			must(seg.data >= d && seg.data + seg.data_len == d + len);
		free(d);
		data += len;
		size -= len;
		if (!begun && pg_player_ready(p)) {
			pg_player_begin(p);
			begun = true;
		}
		now += 700;
		must(pg_player_ack(p, out, now) <= PG_PLAYER_ACK_MAX);
		if (begun && pg_player_may(p)) {
			struct suci_segment s = {.flags = SUCI_SF_FIRST};
			must(pg_player_head(p, &s, out, now) ==
			     SUCI_PATH_HDR + SUCI_LANE_HDR + SUCI_FIRST_EXT);
		}
		must(!begun || pg_player_held(p) <= conf.window);
	}
	return 0;
}

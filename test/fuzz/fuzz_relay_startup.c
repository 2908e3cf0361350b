/* SPDX-License-Identifier: BSD-2-Clause */
/* Start-up fed from both sides with pieces of the input: byte 0 of a piece is
 * what to do, byte 1 its length. */
#include "relay/startup.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What it made can be told to the other relays. */
static void
check_encoding(const struct relay_job *j)
{
	static uint64_t mem[65536];
	static uint8_t buf[1 << 16];
	const struct relay_job_limits l = {.nworld_max = 64, .nhosts_max = 128};
	BASE_ASSERT(relay_job_footprint(&l) <= sizeof mem);
	struct relay_job *back = relay_job_new(mem, &l);
	size_t n = relay_job_encode(j, buf, sizeof buf);
	BASE_ASSERT(n > 0 && relay_job_decode(back, buf, n, NULL) == 0);
}

static void
events(struct relay_startup *s, bool refuse)
{
	enum relay_startup_event ev;
	int ended = 0;
	while ((ev = relay_startup_poll(s)) != RELAY_STARTUP_NONE) {
		BASE_ASSERT(!ended);
		switch (ev) {
		case RELAY_STARTUP_CONNECT:
			relay_startup_connected(s);
			break;
		case RELAY_STARTUP_TABLE:
			BASE_ASSERT(relay_job_validate(relay_startup_job(s), NULL) == 0);
			check_encoding(relay_startup_job(s));
			relay_startup_table_done(s, refuse ? "no" : NULL);
			break;
		case RELAY_STARTUP_ENDED:
			BASE_ASSERT(relay_startup_ok(s) || relay_startup_why(s)[0]);
			ended++;
			break;
		default:
			break;
		}
	}
	BASE_ASSERT(relay_startup_waiting(s));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct relay_member member[2] = {
		{.ipv4_global = 1,
		 .ipv4_private = 2,
		 .six_private = {0xfd, [15] = 2},
		 .gate_global = 15,
		 .gate_private = {2, 16, 17},
		 .ngate_private = 3,
		 .gateway_port_global = 3,
		 .gateway_port_private = 4,
		 .nshards = 2,
		 .port_global = {5, 6},
		 .port_private = {7, 8}},
		{.ipv4_global = 9,
		 .ipv4_private = 10,
		 .six_private = {0xfd, [15] = 10},
		 .gateway_port_global = 11,
		 .gateway_port_private = 12,
		 .gate_private = {18, 19},
		 .ngate_private = 2,
		 .nshards = 1,
		 .port_global = {13},
		 .port_private = {14}},
	};
	static struct relay_labels labels;
	uint8_t out[512];
	if (size < 1)
		return 0;
	struct relay_startup_conf conf = {
		.limits = {.nworld_max = 64, .nhosts_max = 32},
		.member = member,
		.nmembers = 2,
		.client_auth = {.mask = IMPI_AUTH_MASK_NONE},
		.server_auth = {.mask = IMPI_AUTH_MASK_NONE},
		.labels = &labels,
		.token = 1,
		.gateway = data[0] & 1,
		.gateway_slot = 7,
	};
	relay_labels_init(&labels, 0);
	struct relay_startup *s =
		relay_startup_new(aligned_alloc(64, relay_startup_footprint(&conf.limits)), &conf);
	bool refuse = data[0] & 2;
	for (data++, size--; size >= 2;) {
		size_t len = data[1] < size - 2 ? data[1] : size - 2;
		enum relay_side side = data[0] & 1 ? RELAY_SIDE_SERVER : RELAY_SIDE_CLIENT;
		if (data[0] == 0xff)
			relay_startup_eof(s, RELAY_SIDE_CLIENT, NULL);
		else if (data[0] == 0xfe)
			relay_startup_eof(s, RELAY_SIDE_SERVER, "reset");
		else
			relay_startup_rx(s, side, data + 2, len);
		events(s, refuse);
		if (data[0] & 4)
			for (int i = 0; i < 2; i++)
				while (relay_startup_tx(s, (enum relay_side)i, out, sizeof out))
					;
		data += 2 + len;
		size -= 2 + len;
	}
	free(relay_startup_fini(s));
	BASE_ASSERT(labels.used == 0);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes are operations on a server of 1..3 clients:
 *     op, conn, len, bytes...      op: 0 open, 1 bytes, 2 take, 3 EOF, 4 time passes
 * Checked: bounds of what is given out, and that events and states agree. */
#include "base/assert.h"
#include "impi/server.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Alignas(64) uint8_t mem[1 << 17];

#define CONNS (3 + IMPI_SERVER_STRANGERS_MAX)

static struct impi_server *s;
static bool open_conn[CONNS];
static bool ended;

static void
run_events(void)
{
	struct impi_server_event ev;
	while (impi_server_next(s, &ev)) {
		if (ev.type == IMPI_SV_CLOSE) {
			BASE_ASSERT(ev.conn >= 0 && ev.conn < CONNS && open_conn[ev.conn]);
			open_conn[ev.conn] = false;
		}
		if (ev.type == IMPI_SV_COMPLETE || ev.type == IMPI_SV_FAILED) {
			BASE_ASSERT(!ended);
			ended = true;
			for (int i = 0; i < CONNS; i++)
				BASE_ASSERT(!open_conn[i]);
		}
	}
	enum impi_server_state state = impi_server_state(s);
	BASE_ASSERT(ended == (state == IMPI_SVS_COMPLETE || state == IMPI_SVS_FAILED));
	BASE_ASSERT(state != IMPI_SVS_COMPLETE || impi_server_lost(s) == 0);
	BASE_ASSERT((impi_server_lost(s) & ~impi_server_joined(s)) == 0);
}

static void
operate(uint8_t op, uint8_t conn, const uint8_t *bytes, size_t len, uint64_t *now)
{
	uint8_t out[64];
	switch (op % 5) {
	case 0: {
		bool room = impi_server_room_ns(s) <= *now;
		int n = impi_server_open_from(s, 0, "", *now);
		if (n < 0) { /* the oldest stranger may have had to go */
			run_events();
			BASE_ASSERT(!room || impi_server_room_ns(s) <= *now);
			n = impi_server_open_from(s, 0, "", *now);
			BASE_ASSERT(n >= 0 || !room);
		}
		BASE_ASSERT(n < CONNS && (n < 0 || !open_conn[n]));
		if (n >= 0)
			open_conn[n] = true;
		break;
	}
	case 1:
		impi_server_rx(s, conn % CONNS, bytes, len, *now);
		break;
	case 2: {
		size_t cap = len % sizeof out + 1;
		size_t n = impi_server_tx(s, conn % CONNS, out, cap);
		BASE_ASSERT(n <= cap && (n == 0 || open_conn[conn % CONNS]));
		break;
	}
	case 3:
		impi_server_eof(s, conn % CONNS);
		break;
	default:
		*now += len < 128 ? len : (uint64_t)len << 20; /* also beyond a stranger's grace */
		impi_server_tick(s, *now);
		break;
	}
	run_events();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct impi_server_config cfg = {
		.auth = {3, 5678}, .join_timeout_ns = 1000, .store_bytes = 256, .tx_bytes = 64};
	uint64_t now = 0;

	if (size < 1)
		return 0;
	cfg.nclients = 1 + data[0] % 3;
	cfg.loss_grace_ns = data[0] & 0x40 ? 500 : UINT64_MAX;
	cfg.startup_timeout_ns = data[0] & 0x80 ? 5000 : 0;
	BASE_ASSERT(impi_server_footprint(&cfg) <= sizeof mem);
	s = impi_server_new(mem, &cfg);
	memset(open_conn, 0, sizeof open_conn);
	ended = false;
	/* more operations find no more, they only take longer */
	for (size_t at = 1, n = 0; at + 3 <= size && n < 300; n++) {
		uint8_t op = data[at], conn = data[at + 1];
		size_t len = data[at + 2];
		at += 3;
		size_t here = op % 5 == 1 ? (len < size - at ? len : size - at) : 0;
		operate(op, conn, data + at, op % 5 == 1 ? here : len, &now);
		at += here;
	}
	impi_server_end(s);
	return 0;
}

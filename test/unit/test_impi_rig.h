/* SPDX-License-Identifier: BSD-2-Clause */
/* A server with connections in memory, for suites of lib/impi's server. */
#ifndef TEST_IMPI_RIG_H
#define TEST_IMPI_RIG_H

#include "impi/gone.h"
#include "impi/server.h"

#include <stdlib.h>

#include "cmocka_all.h"

#define SECOND 1000000000ull
#define CONNS  (IMPI_CLIENTS_MAX + IMPI_SERVER_STRANGERS_MAX)
#define OUT    65536

struct rig {
	void *mem;
	struct impi_server *s;
	struct impi_server_config cfg;
	uint8_t out[CONNS][OUT];
	size_t out_len[CONNS];
	size_t tx_chunk; /* largest tx call */
	unsigned int joined, sized, started, complete, failed, closed;
	struct impi_error close_err[CONNS];
	bool is_closed[CONNS];
	int32_t rank[CONNS];
	struct impi_error job_err;
};

static struct rig r;

static inline void
rig_init_mem(uint32_t nclients, struct impi_auth auth, size_t tx_bytes, size_t store_bytes)
{
	r = (struct rig){.tx_chunk = OUT};
	r.cfg = (struct impi_server_config){.nclients = nclients,
					    .auth = auth,
					    .join_timeout_ns = SECOND,
					    .loss_grace_ns = UINT64_MAX,
					    .store_bytes = store_bytes,
					    .tx_bytes = tx_bytes};
	size_t bytes = impi_server_footprint(&r.cfg);
	assert_true(bytes > 0);
	r.mem = aligned_alloc(64, bytes);
	assert_non_null(r.mem);
	memset(r.mem, 0xa5, bytes);
	r.s = impi_server_new(r.mem, &r.cfg);
	assert_non_null(r.s);
}

/* The same, and start-up may stand still so long only. */
static inline void
rig_init_watched(uint32_t nclients, size_t tx_bytes, size_t store_bytes, uint64_t still_ns)
{
	rig_init_mem(nclients, (struct impi_auth){1, 0}, tx_bytes, store_bytes);
	r.cfg.startup_timeout_ns = still_ns;
	r.cfg.join_timeout_ns = 60 * SECOND;
	r.s = impi_server_new(r.mem, &r.cfg);
	assert_non_null(r.s);
}

static inline void
rig_init(uint32_t nclients, uint32_t mask, size_t tx_bytes)
{
	rig_init_mem(nclients, (struct impi_auth){mask, 5678}, tx_bytes, 65536);
}

static inline void
rig_fini(void)
{
	impi_server_end(r.s);
	free(r.mem);
}

static inline void
run_events(void)
{
	struct impi_server_event ev;
	while (impi_server_next(r.s, &ev)) {
		switch (ev.type) {
		case IMPI_SV_JOINED:
			r.joined++;
			r.rank[ev.conn] = ev.rank;
			break;
		case IMPI_SV_SIZED:
			r.sized++;
			break;
		case IMPI_SV_STARTED:
			r.started++;
			break;
		case IMPI_SV_CLOSE:
			assert_false(r.is_closed[ev.conn]);
			r.closed++;
			r.is_closed[ev.conn] = true;
			r.close_err[ev.conn] = ev.err;
			break;
		case IMPI_SV_COMPLETE:
			r.complete++;
			break;
		case IMPI_SV_FAILED:
			r.failed++;
			r.job_err = ev.err;
			break;
		}
	}
}

/* Take what the server has for conn, at most max bytes in all. */
static inline size_t
drain(int conn, size_t max)
{
	size_t total = 0, n = 1;
	while (total < max && n > 0) {
		size_t cap = max - total < r.tx_chunk ? max - total : r.tx_chunk;
		if (cap > OUT - r.out_len[conn])
			cap = OUT - r.out_len[conn];
		n = impi_server_tx(r.s, conn, r.out[conn] + r.out_len[conn], cap);
		r.out_len[conn] += n;
		total += n;
	}
	return total;
}

static inline void
drain_all(int nconns)
{
	size_t any;
	do {
		any = 0;
		for (int i = 0; i < nconns; i++)
			any += drain(i, OUT);
	} while (any > 0);
}

static inline int
open_conn(void)
{
	int conn = impi_server_open_from(r.s, 0, "", 0);
	if (conn >= 0) {
		r.is_closed[conn] = false;
		r.out_len[conn] = 0;
	}
	return conn;
}

static inline void
send_bytes(int conn, const void *p, size_t len)
{
	impi_server_rx(r.s, conn, p, len, 0);
	run_events();
}

/* --- bytes of clients ------------------------------------------------------- */

#define B(...)              \
	{                   \
		__VA_ARGS__ \
	}
#define U4(n)		    0, 0, 0, (n)
#define AUTH_NONE	    'A', 'U', 'T', 'H', U4(4), U4(1)
#define AUTH_KEY	    'A', 'U', 'T', 'H', U4(4), U4(2)
#define RANK(n)		    'I', 'M', 'P', 'I', U4(4), U4(n)
#define HEAD(a, b, c, d, n) a, b, c, d, U4(n)

static const uint8_t join_none_0[] = {AUTH_NONE, RANK(0)};
static const uint8_t join_none_1[] = {AUTH_NONE, RANK(1)};
static const uint8_t join_key_0[] = {AUTH_KEY, 0, 0, 0, 0, 0, 0, 0x16, 0x2e, RANK(0)};

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Peer-channel frames and the job table in them: decode never reads past the
 * end, and what it accepts encodes to the same bytes. */
#include "relay/peer.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whoever a foreign host talks to is behind one gate, and nobody else is. */
static void
check_foreign(const struct relay_job *j)
{
	bool own = false, remote = false;
	for (uint32_t i = 0; i < j->nforeign; i++) {
		own |= j->foreign[i].client == j->my_client;
		remote |= j->foreign[i].client != j->my_client;
	}
	for (uint32_t r = 0; r < j->nworld; r++) {
		bool local = r - j->first_local < j->nlocal;
		const struct relay_foreign *f = relay_job_foreign_of(j, r);
		const struct relay_gate *p = relay_job_gate_of(j, RELAY_GATE_PRIVATE, r);
		const struct relay_gate *g = relay_job_gate_of(j, RELAY_GATE_GLOBAL, r);
		BASE_ASSERT(!f || (f->client == j->my_client) == local);
		BASE_ASSERT((p != NULL) == (own && !local));
		BASE_ASSERT((g != NULL) == (remote && local));
		BASE_ASSERT(!p || (r >= p->first_rank && r - p->first_rank < p->nprocs));
		BASE_ASSERT(!g || (r >= g->first_rank && r - g->first_rank < g->nprocs));
		uint32_t from = local ? (j->first_local ? 0 : j->nlocal) : j->first_local;
		uint32_t m = from < j->nworld ? relay_job_gateway(j, from, r) : UINT32_MAX;
		BASE_ASSERT((m != UINT32_MAX) == (f && from < j->nworld));
		BASE_ASSERT(m == UINT32_MAX || m < RELAY_RELAYS_MAX);
	}
}

static void
check_job(const struct relay_peer_frame *f)
{
	static uint64_t mem[65536];
	static uint8_t out[1 << 19];
	const struct relay_job_limits l = {.nworld_max = 512, .nhosts_max = 64};
	const char *what = NULL;

	BASE_ASSERT(relay_job_footprint(&l) <= sizeof mem);
	struct relay_job *j = relay_job_new(mem, &l);
	if (relay_job_decode(j, f->body, f->body_len, &what)) {
		BASE_ASSERT(what);
		return;
	}
	uint32_t rank;
	(void)relay_job_has_foreign(j, &rank);
	for (uint32_t r = 0; r < j->nworld; r++)
		BASE_ASSERT(relay_job_host_of(j, r) < j->nhosts);
	check_foreign(j);
	size_t n = relay_job_encode(j, out, sizeof out);
	BASE_ASSERT(n == f->body_len && memcmp(out, f->body, n) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A stream of frames. */
	while (size > 0) {
		struct relay_peer_frame f;
		size_t need;
		long n = relay_peer_decode(data, size, &f, &need);
		if (n <= 0)
			break;
		BASE_ASSERT((size_t)n <= size && (size_t)n == need);
		if (f.type == RELAY_PEER_JOB) {
			check_job(&f);
		} else {
			uint8_t out[RELAY_PEER_SMALL_MAX];
			size_t m = relay_peer_encode(&f, out);
			struct relay_peer_frame g;
			BASE_ASSERT(relay_peer_decode(out, m, &g, NULL) == (long)m);
			BASE_ASSERT(g.type == f.type && g.job == f.job &&
				    strcmp(g.text, f.text) == 0);
		}
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

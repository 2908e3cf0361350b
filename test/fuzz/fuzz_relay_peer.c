/* Peer-channel frames and the job table in them: decode never reads past the
 * end, and what it accepts encodes to the same bytes. */
#include "relay/peer.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

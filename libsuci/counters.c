/* SPDX-License-Identifier: BSD-2-Clause */
/* What a socket has counted, by names. */
#include "datagram_internal.h"

#include <errno.h>
#include <string.h>

struct row {
	const char *name, *help;
	size_t at;
	enum { OF_SUCI, OF_LANES, OF_UDP } of;
};

static const struct row rows[] = {
#define X(n, help) {"suci_" #n, help, offsetof(struct suci_counters, n), OF_SUCI},
	SUCI_COUNTERS(X)
#undef X
#define X(n, help) {"lane_" #n, help, offsetof(struct suci_lane_counters, n), OF_LANES},
		SUCI_LANE_COUNTERS(X)
#undef X
#define X(n, help) {"udp_" #n, help, offsetof(struct suci_udp_counters, n), OF_UDP},
			SUCI_UDP_COUNTERS(X)
#undef X
};

int
datagram_counter(struct datagram_sock *s, unsigned i, struct datagram_counter *out)
{
	if (datagram_enter(s))
		return -1;
	if (i >= sizeof rows / sizeof *rows)
		return datagram_fail(s, ENOENT, "there are %zu counters",
				     sizeof rows / sizeof *rows);
	const struct row *r = &rows[i];
	const void *of = r->of == OF_SUCI    ? (const void *)suci_counters(s->ep)
			 : r->of == OF_LANES ? (const void *)suci_lane_counters(s->lanes)
					     : (const void *)suci_udp_counters(s->udp);
	*out = (struct datagram_counter){.name = r->name, .help = r->help};
	memcpy(&out->value, (const char *)of + r->at, sizeof out->value);
	return 0;
}

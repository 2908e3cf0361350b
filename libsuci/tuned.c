/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that belong to the machine: from the store of mpitune, if it has a row for this one, this
 * interface and libsuci, else from its caches (tune/caches.h). */
#include "datagram_internal.h"

#include "driver/tune_file.h"

#include <stdio.h>
#include <string.h>

#define ACK_EVERY 32u /* packets; a batch and its answer take one ack, not four */

void
datagram_tuned_read(struct datagram_sock *s, struct suci_udp_conf *u)
{
	struct tune_key k;
	struct tune_caches c;
	struct tune_values v = {0}, own = {0};
	char why[TUNE_FILE_WHY] = "no interface has the address";

	bool v6 = u->at.family == 6;
	const uint8_t *ip = v6 ? u->at.ip : u->at.ip + 12;
	if (tune_file_key_ip(&k, u->xdp ? "xdp" : "udp", "suci", ip, v6 ? 16 : 4) &&
	    tune_file_find(&k, &v, why) == TUNE_FILE_NONE)
		snprintf(why, sizeof why, "nothing was measured on this machine");
	snprintf(s->tuned, sizeof s->tuned, "%.*s", (int)sizeof s->tuned - 1, why);
	/* To a near peer, what is copied ahead of the network stays in the cache, else it costs
	 * more than the network (three times the processor time a byte, at 16 MiB); and waiting a
	 * round trip per block costs less than copying from some length on.  To a far one, a
	 * round trip is what must not be lost. */
	tune_file_caches(&c);
	tune_derive(&c, &own);
	s->near_copy = tune_value_or(&v, TUNE_NEAR_COPY, own.v[TUNE_NEAR_COPY]);
	s->near_queue = tune_value_or(&v, TUNE_NEAR_QUEUE, own.v[TUNE_NEAR_QUEUE]);
	s->ack_every = (uint32_t)tune_value_or(&v, TUNE_ACK, ACK_EVERY);
	u->run = (uint32_t)tune_value_or(&v, TUNE_RUN, 0);
	u->run_watched = u->run != 0;
}

const char *
datagram_tuned(const struct datagram_sock *s)
{
	return s && s->tuned[0] ? s->tuned : NULL;
}

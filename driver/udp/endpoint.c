/* SPDX-License-Identifier: BSD-2-Clause */
/* The endpoint of a program that has a socket. */
#include "driver/suci_udp.h"

#include "base/clock.h"
#include "suci/lane.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define ACK_RIDE_NS (50 * BASE_US_NS)

static bool
draw_secrets(struct suci_config *c)
{
	struct {
		uint64_t incarnation, seed;
		uint8_t cookie[sizeof c->cookie_secret], once[sizeof c->seal.seed];
	} r;
	if (getrandom(&r, sizeof r, 0) != (ssize_t)sizeof r)
		return false;
	c->incarnation = r.incarnation | 1;
	c->seed = r.seed;
	memcpy(c->cookie_secret, r.cookie, sizeof r.cookie);
	memcpy(c->seal.seed, r.once, sizeof r.once);
	explicit_bzero(&r, sizeof r);
	return true;
}

struct suci *
suci_udp_endpoint(const struct suci_udp *u, struct suci_config *conf, void **mem)
{
	size_t n = suci_footprint(&conf->limits);
	conf->mtu_max = suci_udp_mtu(u);
	conf->burst_bytes = suci_udp_burst(u); /* whole runs, not their datagrams */
	conf->ecn = suci_udp_ecn_works(u);
	conf->initial_window = 64;
	conf->ack_ride_ns = ACK_RIDE_NS;
	conf->ops = suci_lanes_ops();
	*mem = n && draw_secrets(conf) ? aligned_alloc(64, (n + 63) & ~(size_t)63) : NULL;
	struct suci *ep = *mem ? suci_new(*mem, conf, suci_udp_now_ns()) : NULL;
	explicit_bzero(&conf->seal, sizeof conf->seal);
	return ep;
}

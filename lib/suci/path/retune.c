/* SPDX-License-Identifier: BSD-2-Clause */
/* Other settings for an endpoint that runs. */
#include "path_internal.h"

#include "cc.h"

#include "base/clock.h"

/* A path that somebody gave a liveness of its own keeps it. */
static void
retune_path(struct suci *ep, struct suci_path *p, const struct suci_config *was)
{
	if (p->state != PATH_UP || p->liveness_ns != was->liveness_ns ||
	    p->keepalive_ns != was->keepalive_ns)
		return;
	p->liveness_ns = ep->conf.liveness_ns;
	p->keepalive_ns = ep->conf.keepalive_ns;
	suci_path_arm(ep, p);
}

int
suci_retune(struct suci *ep, const struct suci_config *conf, uint64_t now_ns)
{
	struct suci_config *c = &ep->conf, was;

	if (!suci_cc_ops_of(conf->cc) || conf->fixed_rate_bps > SUCI_PACER_RATE_MAX)
		return SUCI_ERR_INVAL;
	was.liveness_ns = c->liveness_ns;
	was.keepalive_ns = c->keepalive_ns;
	suci_enter(ep, now_ns);
	c->cc = conf->cc;
	c->fixed_rate_bps = conf->fixed_rate_bps;
	c->fixed_window = conf->fixed_window;
	c->initial_window = conf->initial_window;
	c->ecn = conf->ecn;
	c->migrate = conf->migrate;
	c->ack_delay_ns = conf->ack_delay_ns ? conf->ack_delay_ns : SUCI_ACK_DELAY_NS;
	c->handshake_ns = conf->handshake_ns ? conf->handshake_ns : SUCI_HANDSHAKE_NS;
	c->liveness_ns = conf->liveness_ns;
	c->keepalive_ns = conf->keepalive_ns;
	for (uint32_t i = 0; i < c->limits.paths_max; i++)
		retune_path(ep, &ep->path[i], &was);
	suci_leave(ep);
	return SUCI_ERR_OK;
}

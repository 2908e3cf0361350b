/* SPDX-License-Identifier: BSD-2-Clause */
/* A reserved light path or a cluster's own network: the window and the rate
 * are what the configuration says, loss or not. */
#include "cc.h"

static void
fixed_init(struct suci_cc *cc, const struct suci_cc_conf *conf)
{
	cc->window = conf->fixed_window ? conf->fixed_window : conf->window_max;
	if (cc->window > conf->window_max)
		cc->window = conf->window_max;
	cc->rate_bps = conf->fixed_rate_bps;
}

static void
fixed_acked(struct suci_cc *cc, const struct suci_cc_ack *ack)
{
	(void)cc;
	(void)ack;
}

static void
fixed_lost(struct suci_cc *cc, uint32_t packets, uint64_t sent_ns, uint64_t now_ns)
{
	(void)cc;
	(void)packets;
	(void)sent_ns;
	(void)now_ns;
}

static void
fixed_collapsed(struct suci_cc *cc, uint64_t now_ns)
{
	(void)cc;
	(void)now_ns;
}

static void
fixed_spurious(struct suci_cc *cc, uint32_t packets, uint64_t now_ns)
{
	(void)cc;
	(void)packets;
	(void)now_ns;
}

const struct suci_cc_ops suci_cc_fixed = {
	.name = "fixed",
	.init = fixed_init,
	.acked = fixed_acked,
	.lost = fixed_lost,
	.collapsed = fixed_collapsed,
	.spurious = fixed_spurious,
};

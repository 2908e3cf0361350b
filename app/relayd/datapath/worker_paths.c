/* SPDX-License-Identifier: BSD-2-Clause */
/* How a worker's paths are: what the endpoint is told at the start and by a reload, and what trunks
 * and light paths have apart from the others. */
#include "worker_internal.h"

#include "base/clock.h"

_Static_assert(RD_CC_FIXED == (int)SUCI_CC_FIXED && RD_CC_CUBIC == (int)SUCI_CC_CUBIC &&
		       RD_CC_BBR == (int)SUCI_CC_BBR,
	       "the configuration's numbers are the endpoint's");

/* Congestion control of a leg's paths. */
struct leg_cc {
	enum suci_cc_kind kind;
	uint32_t window;   /* these two under fixed, else 0 */
	uint64_t rate_bps; /* bytes a second */
};

static struct leg_cc
make_leg_cc(uint32_t kind, uint32_t window, uint64_t mbps)
{
	bool fixed = kind == RD_CC_FIXED;
	return (struct leg_cc){(enum suci_cc_kind)kind, fixed ? window : 0,
			       fixed ? mbps * 125000 : 0};
}

static struct leg_cc
find_leg_cc(const struct rd_conf *conf, const struct rd_conf_suci *s, uint32_t leg)
{
	if (leg >= RELAY_LEG_LIGHT)
		return make_leg_cc(conf->optical.cc, conf->optical.window, conf->optical.rate_mbps);
	if (leg == RELAY_LEG_GLOBAL)
		return make_leg_cc(s->global_cc, s->global_window, s->global_rate_mbps);
	return make_leg_cc(s->private_cc, s->private_window, 0);
}

static void
set_path_cc(struct rd_worker *w, uint32_t path, struct leg_cc cc)
{
	(void)suci_path_set_cc(w->ep, path, cc.kind, cc.rate_bps, cc.window);
}

void
rd_worker_fresh_cc(struct rd_worker *w)
{
	for (uint32_t i = 0; i < w->nfresh; i++)
		set_path_cc(w, w->fresh[i].path,
			    find_leg_cc(w->conf, &w->suci,
					w->fresh[i].light ? RELAY_LEG_LIGHT : RELAY_LEG_GLOBAL));
	w->nfresh = 0;
}

void
rd_worker_tuning(const struct rd_conf_suci *s, struct suci_config *out)
{
	out->ecn = s->global_ecn;
	out->migrate = s->global_migrate;
	out->cc = (enum suci_cc_kind)s->private_cc;
	out->fixed_window = s->private_window;
	out->initial_window = s->initial_window;
	out->ack_delay_ns = s->ack_delay_us * BASE_US_NS;
	out->liveness_ns = s->liveness_ms * BASE_MS_NS;
	out->keepalive_ns = s->keepalive_ms * BASE_MS_NS;
	out->handshake_ns = s->handshake_ms * BASE_MS_NS;
}

/* Of paths that are up, too: a trunk lasts for weeks. */
int
rd_worker_retune(struct rd_worker *w, const struct rd_conf_suci *s)
{
	struct suci_config tuning = {0};
	struct suci_path_info p;
	bool differs[RELAY_LEG_LIGHT];

	rd_worker_tuning(s, &tuning);
	if (suci_retune(w->ep, &tuning, w->now_ns))
		return RELAY_ERR_INVAL;
	for (uint32_t leg = 0; leg < RELAY_LEG_LIGHT; leg++) {
		struct leg_cc was = find_leg_cc(w->conf, &w->suci, leg);
		struct leg_cc now = find_leg_cc(w->conf, s, leg);
		differs[leg] = was.kind != now.kind || was.window != now.window ||
			       was.rate_bps != now.rate_bps;
	}
	w->suci = *s;
	for (uint32_t i = 0; i < w->conf->limits.paths; i++)
		if (suci_path_info(w->ep, i, &p) && p.up && p.peer.leg < RELAY_LEG_LIGHT &&
		    differs[p.peer.leg])
			set_path_cc(w, i, find_leg_cc(w->conf, s, p.peer.leg));
	return RELAY_ERR_OK;
}

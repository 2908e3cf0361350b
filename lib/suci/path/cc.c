/* SPDX-License-Identifier: BSD-2-Clause */
#include "cc.h"

#include "base/assert.h"
#include "base/clock.h"

#define QUEUED_MIN_NS  (BASE_MS_NS / 4)
#define QUEUED_SAMPLES 3
#define WAITING	       8 /* packets of each sharer in the queue */

const struct suci_cc_ops *
suci_cc_ops_of(enum suci_cc_kind kind)
{
	switch (kind) {
	case SUCI_CC_FIXED:
		return &suci_cc_fixed;
	case SUCI_CC_CUBIC:
		return &suci_cc_cubic;
	case SUCI_CC_BBR:
		return &suci_cc_bbr;
	}
	return NULL;
}

void
suci_cc_init(struct suci_cc *cc, enum suci_cc_kind kind, const struct suci_cc_conf *conf)
{
	*cc = (struct suci_cc){.ops = suci_cc_ops_of(kind), .conf = *conf};
	BASE_ASSERT(cc->ops); /* the caller checked it */
	cc->ops->init(cc, conf);
}

bool
suci_cc_queued(struct suci_cc *cc, const struct suci_cc_ack *a)
{
	if (!a->rtt_ns)
		return false;
	uint64_t grow = base_max_ns(a->min_ns / 8, QUEUED_MIN_NS);
	if (a->rtt_ns < a->min_ns + grow)
		cc->queued = 0;
	else if (cc->queued < QUEUED_SAMPLES)
		cc->queued++;
	return a->sharers >= SUCI_CC_SHARERS && cc->queued >= QUEUED_SAMPLES;
}

uint64_t
suci_cc_share(struct suci_cc *cc, uint64_t w, const struct suci_cc_ack *a)
{
	__extension__ typedef unsigned __int128 wide;
	uint64_t packets = w >> SUCI_CC_FRAC, rtt = base_max_ns(a->smoothed_ns, a->min_ns);
	if (!packets || !a->min_ns)
		return w;
	cc->sharing = true;
	uint64_t n = a->packets < packets ? a->packets : packets;
	uint64_t fits = (uint64_t)((wide)w * a->min_ns / rtt);
	uint64_t waiting = (uint64_t)WAITING << SUCI_CC_FRAC;
	uint64_t target = fits + waiting;
	target = base_min_ns(target, 2 * w);
	/* Half of the way in a round trip. */
	return target > w ? w + (target - w) * n / packets / 2 : w - (w - target) * n / packets / 2;
}

uint64_t
suci_cc_exact(const struct suci_cc *cc)
{
	if (cc->ops == &suci_cc_cubic)
		return cc->cubic.w;
	return (uint64_t)cc->window << SUCI_CC_FRAC;
}

bool
suci_cc_room(struct suci_cc *cc, const struct suci_cc_ack *a)
{
	if (!a->rtt_ns || a->rtt_ns >= a->min_ns + a->min_ns / 16)
		return false;
	cc->sharing = false;
	return true;
}

#include "cc.h"

#include "base/assert.h"
#include "base/clock.h"

#define QUEUED_MIN_NS  (BASE_MS_NS / 4)
#define QUEUED_SAMPLES 3

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
	cc->queued = a->rtt_ns >= a->min_ns + grow ? cc->queued + 1 : 0;
	return a->crowd >= SUCI_CC_CROWD && cc->queued >= QUEUED_SAMPLES;
}

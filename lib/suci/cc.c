#include "cc.h"

#include "base/assert.h"

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

#include "cc.h"

void
suci_cc_init(struct suci_cc *cc, enum suci_cc_kind kind, const struct suci_cc_conf *conf)
{
	*cc = (struct suci_cc){
		.ops = kind == SUCI_CC_CUBIC ? &suci_cc_cubic : &suci_cc_fixed,
		.conf = *conf,
	};
	cc->ops->init(cc, conf);
}

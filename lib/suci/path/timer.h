/* SPDX-License-Identifier: BSD-2-Clause */
/* timer.h - an alarm of a path, of a datagram without one, of the layer above. */
#ifndef SUCI_TIMER_H
#define SUCI_TIMER_H

#include "base/wheel.h"

struct suci_timer {
	struct base_timer t; /* first */
	enum { TIMER_PATH, TIMER_STATELESS, TIMER_UPPER } kind;
};

#endif

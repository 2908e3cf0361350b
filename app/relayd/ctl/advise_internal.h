/* SPDX-License-Identifier: BSD-2-Clause */
/* advise_internal.h - what advice on both directions shares: bounds, sentences. */
#ifndef RD_ADVISE_INTERNAL_H
#define RD_ADVISE_INTERNAL_H

#include "rd/advise.h"

#define RD_BUSY_PERMILLE 900u /* an lcore above has nothing left to speak of */
#define RD_LINK_PERMILLE 900u
#define RD_IDLE_PERMILLE 10u	   /* of all traffic: less is not counted */
#define RD_LOSS_PPM	 1000u	   /* 0.1 %: the way has no room, if there may be a queue */
#define RD_CHANCE_PPM	 20u	   /* cubic's window after that is 250 packets and less */
#define RD_QUIET_BPS	 100000ull /* less than that needs no advice */

#define RD_MBPS(v) ((double)(v) / 1e6)

static inline uint32_t
rd_permille(uint64_t part, uint64_t whole)
{
	return whole ? (uint32_t)((double)part * 1000 / (double)whole) : 0;
}

/* One sentence more; beyond RD_ADVISE_REASONS nothing. */
void rd_advise_say(struct rd_reasons *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif

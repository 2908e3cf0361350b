/* SPDX-License-Identifier: BSD-2-Clause */
/* What away.c, ranks and relays, and talk.c, telling them that we moved, have in common. */
#ifndef MMP_AWAY_INTERNAL_H
#define MMP_AWAY_INTERNAL_H

#include "mmp/away.h"

/* away.c */
/* The import is reached, and the rank knows our door: lanes. */
void mmp_away_open(struct mmp_away *a, uint32_t rank);
void mmp_away_pause(struct mmp_away *a, uint32_t rank, const char *why);
void mmp_away_lose(struct mmp_away *a, uint32_t rank, const char *why);
void mmp_away_forget(struct mmp_away *a, uint32_t rank);

/* talk.c */
void mmp_away_say(struct mmp_away *a, uint32_t rank);
void mmp_away_hush(struct mmp_away *a, uint32_t lane);
void mmp_away_left(struct mmp_away *a, uint32_t site, uint32_t label);
enum suci_verdict mmp_away_hear(struct mmp_away *a, uint32_t site, uint32_t dst, uint32_t src);

#endif

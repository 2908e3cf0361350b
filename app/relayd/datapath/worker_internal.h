/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the files of the worker. */
#ifndef RD_WORKER_INTERNAL_H
#define RD_WORKER_INTERNAL_H

#include "worker.h"

/* One turn of the loop: how much there was to do.  For who counts what it costs, too. */
uint32_t rd_worker_turn(struct rd_worker *w);
const struct relay_core_ops *rd_worker_core_ops(void);
void rd_worker_neighbour_gone(void *user, struct rd_leg *leg, uint32_t ip);
void rd_worker_contested(void *user, struct rd_leg *leg, uint32_t ip, const uint8_t known[6],
			 const uint8_t claim[6]);
/* m goes into the leg's TAP.  Worker 0. */
void rd_worker_to_kernel(void *user, struct rd_leg *leg, struct rte_mbuf *m);
/* An event to fill, or NULL (counted) if only the reserve is left and the event
 * is not important. */
struct rd_event *rd_worker_event(struct rd_worker *w, bool important);
void rd_worker_post(struct rd_worker *w, struct rd_event *e);

/* ---- worker_look.c */
/* A part of the snapshot that mail asks for; true: it is whole. */
bool rd_worker_look(struct rd_worker *w, struct rd_mail *mail);

/* ---- worker_paths.c */
/* New trunks and light paths get their own congestion control: not in path_up, where the endpoint
 * must not be called. */
void rd_worker_fresh_cc(struct rd_worker *w);
/* What of the endpoint's configuration a reload may change. */
void rd_worker_tuning(const struct rd_conf_suci *s, struct suci_config *out);
/* Other settings; 0, or RELAY_ERR_INVAL and nothing is changed. */
int rd_worker_retune(struct rd_worker *w, const struct rd_conf_suci *s);

#endif

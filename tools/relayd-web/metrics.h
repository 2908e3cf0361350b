/* SPDX-License-Identifier: BSD-2-Clause */
/* metrics.h - OpenMetrics 1.0 text of what relays say (relays.h).
 *
 * Names    relayd_FIELD of the relay, relayd_leg_FIELD{leg}, relayd_worker_FIELD{worker,lcore},
 *          relayd_trunk_FIELD{peer,worker}, relayd_gateway_FIELD, relayd_drops_total{reason};
 *          each with relay (its instance) and cluster.  Counters end in _total.
 * Units    as doc/control.md says; the end of a name says it, too.
 * Growth   a row per relay, leg, worker, trunk and reason: none per process, lane or job. */
#ifndef WEB_METRICS_H
#define WEB_METRICS_H

#include <jansson.h>
#include <stddef.h>

#define WEB_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Text of *len bytes, to be freed; NULL: no memory. */
char *web_metrics(const json_t *relays, size_t *len);

#endif

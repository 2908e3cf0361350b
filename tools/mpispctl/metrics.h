/* SPDX-License-Identifier: BSD-2-Clause */
/* mpispctl/metrics.h - what mpispd says, as text for Prometheus.
 *
 * Names    mpispd_FIELD, each with universe and unit; mpispd_units{state}, mpispd_processes{state},
 *          mpispd_counted_total{group,counter}.  Files of node_exporter have these lines.
 * Growth   a row per field, state and counter: none per unit or process. */
#ifndef MPISPCTL_METRICS_H
#define MPISPCTL_METRICS_H

#include <jansson.h>

/* status, counters: answers to those methods; to standard output. */
void metrics_print(json_t *status, json_t *counters);

#endif

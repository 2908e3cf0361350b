/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/obsim/strategy.h - what obsim compares: modes of the library (circ/mode.h), and what is
 * not a mode: circuits that cost nothing, fixed graphs, any algorithm, packets alone. */
#ifndef OBSIM_STRATEGY_H
#define OBSIM_STRATEGY_H

#include "circ/mode.h"

/* name, mode of its plans, text, help */
#define OBS_STRATEGIES(X)                                                                         \
	X(IDEAL, PIPELINED, "ideal", "circuits cost nothing")                                     \
	X(NAIVE, NAIVE, "naive", "a circuit for every message")                                   \
	X(BATCHED, BATCHED, "batched", "as many as there are ports at a time")                    \
	X(PIPELINED, PIPELINED, "pipelined", "a port is re-aimed when its step ends")             \
	X(CACHED, CACHED, "cached", "pipelined; circuits stay, orders are reversed to meet them") \
	X(HYBRID, HYBRID, "hybrid", "cached; packets where they are sooner there")                \
	X(STATIC, CACHED, "static",                                                               \
	  "cached, or algorithms of one fixed graph, by which messages hop")                      \
	X(BEST, HYBRID, "best", "hybrid, with any algorithm of the library")                      \
	X(PACKETS, CACHED, "packets", "no circuit at all")
enum obs_strategy {
#define X(n, mode, name, t) OBS_##n,
	OBS_STRATEGIES(X)
#undef X
		OBS_STRATEGY_COUNT
};
/* "ideal", ...; NULL: there is no such. */
const char *obs_strategy_name(enum obs_strategy s);

#endif

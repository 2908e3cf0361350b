/* Between world_new.c and world.c. */
#ifndef PKTGEN_WORLD_PRIVATE_H
#define PKTGEN_WORLD_PRIVATE_H

#include "world.h"

const struct suci_ops *pg_world_ops(void);
/* A new endpoint in mem, at least suci_footprint() of the side's limits. */
bool pg_station_start(struct pg_world *w, struct pg_station *s, void *mem);

#endif

/* frag.h - segments larger than the datagrams of their path leave in fragments: frag.c. */
#ifndef SUCI_FRAG_H
#define SUCI_FRAG_H

#include <stdbool.h>
#include <stdint.h>

struct suci_frag {
	uint32_t rec;	       /* the segment that is being cut */
	bool peer_reassembles; /* it puts fragments together, and we cut */
	bool on;	       /* segments may be larger than datagrams */
};

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* relayproto/pair.h - the lane between two processes of a job that goes over relays or gateways.
 *
 * Relays swap its labels and rewrite the ids of both processes at the head of a block; the CRC goes
 * end to end all the same.  So both ends leave those bytes out, and salt it with both ranks
 * instead: a segment that is delivered to the wrong process fails the check.
 *
 * Units    ranks of the job's world; labels in the receiver's space.
 * Threads  a pure function. */
#ifndef RELAYPROTO_PAIR_H
#define RELAYPROTO_PAIR_H

#include "suci/lane.h"

#include <stdint.h>

#define RELAY_PAIR_SKIP_OFF 8u	/* of a block: pk_src, pk_dest of an IMPI packet */
#define RELAY_PAIR_SKIP_LEN 48u /* two process ids, which relays rewrite */

/* For process `me` to `peer`; peer_base: labels of the next hop's space, own_base: of ours.  Path
 * or group, mss and window are the caller's. */
static inline struct suci_lane_conf
relay_pair_lane(uint32_t me, uint32_t peer, uint32_t peer_base, uint32_t own_base)
{
	return (struct suci_lane_conf){
		.tx_dst_label = peer_base + peer,
		.tx_src_label = peer_base + me,
		.rx_dst_label = own_base + me,
		.rx_src_label = own_base + peer,
		.crc = true,
		.tx_salt = (uint64_t)me << 32 | peer,
		.rx_salt = (uint64_t)peer << 32 | me,
		.skip_off = RELAY_PAIR_SKIP_OFF,
		.skip_len = RELAY_PAIR_SKIP_LEN,
	};
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* rd/filter.h - which frames a capture takes.
 *
 * A frame is looked at twice: where it passes (leg, direction, the other end's address),
 * and, if job, src or dst are chosen, whether a segment of such processes is in it, which
 * only the endpoint knows, for sealed datagrams show no labels.
 *
 * Threads  pure. */
#ifndef RD_FILTER_H
#define RD_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RD_FILTER_ANY UINT32_MAX

enum rd_direction { RD_IN, RD_OUT };

struct rd_filter {
	uint32_t legs, directions; /* bit each: 1 << leg, 1 << enum rd_direction */
	uint8_t peer_family;	   /* 4 or 6; 0: any */
	uint8_t peer_ip[16];	   /* as on the wire; IPv4 in the last four bytes */
	uint32_t peer_port;	   /* UDP; 0: any */
	uint32_t job, src, dst;	   /* label base, world ranks; RD_FILTER_ANY: any */
};

/* Only frames with a segment of chosen processes? */
bool rd_filter_wants_segments(const struct rd_filter *f);
/* An Ethernet frame's first len bytes (62 are enough). */
bool rd_filter_frame(const struct rd_filter *f, uint32_t leg, enum rd_direction dir,
		     const uint8_t *frame, size_t len);
bool rd_filter_segment(const struct rd_filter *f, uint32_t job, uint32_t src, uint32_t dst);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "rd/filter.h"

#include "base/bytes.h"

#define ETH	 14u
#define IPV4_MIN 20u
#define UDP	 17u

bool
rd_filter_wants_segments(const struct rd_filter *f)
{
	return f->job != RD_FILTER_ANY || f->src != RD_FILTER_ANY || f->dst != RD_FILTER_ANY;
}

bool
rd_filter_frame(const struct rd_filter *f, uint32_t leg, enum rd_direction dir,
		const uint8_t *frame, size_t len)
{
	if (!(f->legs >> leg & 1) || !(f->directions >> dir & 1))
		return false;
	if (!f->peer_ip && !f->peer_port && !rd_filter_wants_segments(f))
		return true;
	if (len < ETH + IPV4_MIN || be16_load(frame + 12) != 0x0800)
		return false;
	const uint8_t *ip = frame + ETH;
	size_t header = (size_t)(ip[0] & 15) * 4;
	if (ip[0] >> 4 != 4 || header < IPV4_MIN)
		return false;
	if (f->peer_ip && be32_load(ip + (dir == RD_IN ? 12 : 16)) != f->peer_ip)
		return false;
	if (!f->peer_port && !rd_filter_wants_segments(f))
		return true;
	if (ip[9] != UDP || len < ETH + header + 4)
		return false;
	return !f->peer_port || be16_load(ip + header + (dir == RD_IN ? 0 : 2)) == f->peer_port;
}

bool
rd_filter_segment(const struct rd_filter *f, uint32_t job, uint32_t src, uint32_t dst)
{
	return (f->job == RD_FILTER_ANY || f->job == job) &&
	       (f->src == RD_FILTER_ANY || f->src == src) &&
	       (f->dst == RD_FILTER_ANY || f->dst == dst);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "rd/filter.h"

#include "base/bytes.h"

#include <string.h>

#define ETH	 14u
#define IPV4_MIN 20u
#define IPV6_HDR 40u
#define UDP	 17u

bool
rd_filter_wants_segments(const struct rd_filter *f)
{
	return f->job != RD_FILTER_ANY || f->src != RD_FILTER_ANY || f->dst != RD_FILTER_ANY;
}

struct looked {
	uint8_t family, peer[16];
	const uint8_t *udp; /* NULL: it is none */
};

/* Of IP with its whole header? */
static bool
look_at(struct looked *l, enum rd_direction dir, const uint8_t *frame, size_t len)
{
	const uint8_t *ip = frame + ETH;
	size_t header = 0;
	uint8_t protocol = 0;
	memset(l, 0, sizeof *l);
	if (len >= ETH + IPV4_MIN && be16_load(frame + 12) == 0x0800 && ip[0] >> 4 == 4) {
		header = (size_t)(ip[0] & 15) * 4;
		protocol = ip[9];
		l->family = 4;
		memcpy(l->peer + 12, ip + (dir == RD_IN ? 12 : 16), 4);
	} else if (len >= ETH + IPV6_HDR && be16_load(frame + 12) == 0x86dd && ip[0] >> 4 == 6) {
		header = IPV6_HDR;
		protocol = ip[6];
		l->family = 6;
		memcpy(l->peer, ip + (dir == RD_IN ? 8 : 24), 16);
	}
	if (header < IPV4_MIN)
		return false;
	if (protocol == UDP && len >= ETH + header + 4)
		l->udp = ip + header;
	return true;
}

bool
rd_filter_frame(const struct rd_filter *f, uint32_t leg, enum rd_direction dir,
		const uint8_t *frame, size_t len)
{
	if (!(f->legs >> leg & 1) || !(f->directions >> dir & 1))
		return false;
	if (!f->peer_family && !f->peer_port && !rd_filter_wants_segments(f))
		return true;
	struct looked l;
	if (!look_at(&l, dir, frame, len))
		return false;
	if (f->peer_family &&
	    (l.family != f->peer_family || memcmp(l.peer, f->peer_ip, sizeof l.peer) != 0))
		return false;
	if (!f->peer_port && !rd_filter_wants_segments(f))
		return true;
	if (!l.udp)
		return false;
	return !f->peer_port || be16_load(l.udp + (dir == RD_IN ? 0 : 2)) == f->peer_port;
}

bool
rd_filter_segment(const struct rd_filter *f, uint32_t job, uint32_t src, uint32_t dst)
{
	return (f->job == RD_FILTER_ANY || f->job == job) &&
	       (f->src == RD_FILTER_ANY || f->src == src) &&
	       (f->dst == RD_FILTER_ANY || f->dst == dst);
}

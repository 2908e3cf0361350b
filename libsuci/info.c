/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors, finding peers, flow information. */
#include "datagram_internal.h"

#include "base/version.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char open_text[TEXT_MAX];

int
datagram_fail(struct datagram_sock *s, int err, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	/* The common answer of a poll costs no text. */
	if (err == EAGAIN)
		snprintf(s->text, sizeof s->text, "try again");
	if (err != EAGAIN)
		vsnprintf(s->text, sizeof s->text, fmt, ap);
	va_end(ap);
	errno = err;
	return -1;
}

void
datagram_fail_open(int err, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(open_text, sizeof open_text, fmt, ap);
	va_end(ap);
	errno = err;
}

const char *
datagram_error(const struct datagram_sock *s)
{
	return s ? s->text : open_text;
}

const char *
datagram_xdp(const struct datagram_sock *s)
{
	struct suci_udp_info info;

	suci_udp_get_info(s->udp, &info);
	return info.xdp ? NULL : info.xdp_why;
}

const char *
datagram_version(void)
{
	return BASE_VERSION;
}

int
datagram_enter(struct datagram_sock *s)
{
	if (s->alive[0])
		return 0;
	return datagram_fail(s, EPERM, "this socket belongs to the process that forked us");
}

struct peer *
datagram_peer_find(struct datagram_sock *s, uint32_t id)
{
	if (id >= DATAGRAM_DOOR_ID && s->conf.doors) {
		struct peer *p = &s->peer[s->npeers + (id - DATAGRAM_DOOR_ID) % s->conf.doors];
		return p->id == id && !datagram_door_unused(p) && !p->resting ? p : NULL;
	}
	size_t lo = 0, hi = s->npeers;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->peer[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->npeers && s->peer[lo].id == id ? &s->peer[lo] : NULL;
}

struct peer *
datagram_peer_get(struct datagram_sock *s, uint32_t id)
{
	struct peer *p = datagram_peer_find(s, id);
	if (!p)
		datagram_fail(s, ENOENT, "id %u is not %s", id,
			      id < DATAGRAM_DOOR_ID ? "in the address database" : "a door now");
	return p;
}

int
datagram_priority(struct datagram_sock *s, uint32_t id, int prio)
{
	struct peer *p = datagram_enter(s) ? NULL : datagram_peer_get(s, id);
	if (!p)
		return -1;
	if (prio < 0 || prio >= PRIOS)
		return datagram_fail(s, EINVAL, "priority %d is not 0 .. %d", prio, PRIOS - 1);
	p->prio = (uint8_t)prio;
	return 0;
}

int
datagram_slow_write(struct datagram_sock *s, uint32_t id, uint64_t bytes_per_s)
{
	struct peer *p = datagram_enter(s) ? NULL : datagram_peer_get(s, id);
	if (!p)
		return -1;
	p->pace = bytes_per_s;
	datagram_peer_pace(s, p);
	return 0;
}

int
datagram_window(struct datagram_sock *s, uint32_t id, uint32_t packets)
{
	struct peer *p = datagram_enter(s) ? NULL : datagram_peer_get(s, id);
	if (!p)
		return -1;
	p->window = packets;
	datagram_peer_pace(s, p);
	return 0;
}

static void
fill_path(const struct datagram_sock *s, const struct peer *p, struct datagram_info *i)
{
	struct suci_path_info path;
	if (p->path == NONE || !suci_path_info(s->ep, p->path, &path))
		return;
	i->mtu = path.mtu;
	i->delay_us = path.rtt_ns / 1000;
	i->delay_us_min = path.rtt_ns_min / 1000;
	i->delay_us_var = path.rtt_ns_var / 1000;
	i->window = path.cwnd;
	i->credit = path.peer_credit;
	i->in_flight = path.in_flight;
	i->queued = path.queued;
	i->refused = path.refused;
	i->rate = path.rate_bps;
	i->sent_packets = path.tx_segments;
	i->retransmissions = path.tx_retransmits;
	i->received_packets = path.rx_segments;
}

int
datagram_info_sized(struct datagram_sock *s, uint32_t id, struct datagram_info *out, size_t size)
{
	const struct peer *p = datagram_enter(s) ? NULL : datagram_peer_get(s, id);
	if (!p)
		return -1;
	struct datagram_info i = {
		.id = id,
		.state = p->up			      ? DATAGRAM_UP
			 : p->path != NONE || p->give ? DATAGRAM_CONNECTING
						      : DATAGRAM_IDLE,
		.priority = p->prio,
		.slow_write = p->pace,
		.queue_blocks = p->queue_blocks,
		.queue_bytes = p->queue_bytes,
		.unread_blocks = p->unread_blocks,
		.unread_bytes = p->unread_bytes,
		.written_blocks = p->written_blocks,
		.written_bytes = p->written_bytes,
		.read_blocks = p->read_blocks,
		.read_bytes = p->read_bytes,
		.lost_blocks = p->lost_blocks,
	};
	fill_path(s, p, &i);
	if (size > sizeof i)
		memset((uint8_t *)out + sizeof i, 0, size - sizeof i);
	memcpy(out, &i, size < sizeof i ? size : sizeof i);
	return 0;
}

int
datagram_info(struct datagram_sock *s, uint32_t id, struct datagram_info *out)
{
	return datagram_info_sized(s, id, out, sizeof *out);
}

int
datagram_memory(const struct datagram_sock *s, struct datagram_memory *out)
{
	*out = (struct datagram_memory){
		.read_bytes = s->in_mem.used,
		.read_bytes_max = s->in_mem.used_max,
		.write_bytes = s->out_mem.used,
		.write_bytes_max = s->out_mem.used_max,
		.fixed_bytes = s->fixed_bytes,
	};
	return 0;
}

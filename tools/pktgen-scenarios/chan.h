/* SPDX-License-Identifier: BSD-2-Clause */
/* chan.h - the channel between relays of one cluster (relay/peer.h), spoken by the
 * generator in the name of the cluster's primary relay: it tells relayd jobs, as any
 * primary does, and hears that they ended.
 *
 * Threads  one.  Nothing blocks. */
#ifndef PKTGEN_CHAN_H
#define PKTGEN_CHAN_H

#include "seal/link.h"
#include "pktgen/lab.h"
#include "relay/peer.h"

struct pg_chan_ops {
	/* relayd's answer to a job; why NULL: installed. */
	void (*answer)(void *user, uint8_t side, uint32_t label_base, const char *why);
	/* relayd says that a job is over; why empty: finished. */
	void (*end)(void *user, uint8_t side, uint32_t label_base, const char *why);
};

struct pg_chan {
	const struct pg_side_conf *conf;
	uint8_t side;
	int fd;
	bool connecting;
	uint64_t pinged_ns, heard_ns, dial_ns;
	const struct seal_link_conf *keys; /* NULL: relayd seals nothing */
	struct seal_link *seal;		   /* of the connection that is there */
	uint8_t *wire;			   /* sealed bytes on their way out */
	size_t wire_len, wire_off;
	uint8_t *in, *out;
	size_t in_len, in_max, out_len, out_max, out_off;
	uint32_t lost; /* how often it ended by itself */
	const struct pg_chan_ops *ops;
	void *user;
};

void pg_chan_init(struct pg_chan *c, const struct pg_side_conf *conf, uint8_t side,
		  const struct seal_link_conf *keys, const struct pg_chan_ops *ops, void *user);
void pg_chan_fini(struct pg_chan *c);
/* Dials, pings, reads, writes: every millisecond or so. */
void pg_chan_poll(struct pg_chan *c, uint64_t now_ns);
bool pg_chan_up(const struct pg_chan *c);
/* As if our process had died; it is dialled again a second later. */
void pg_chan_drop(struct pg_chan *c, uint64_t now_ns);
/* False: not connected, or no memory. */
bool pg_chan_job(struct pg_chan *c, const struct relay_job *job);
bool pg_chan_end(struct pg_chan *c, uint32_t label_base, const char *why);

#endif

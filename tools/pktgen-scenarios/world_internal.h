/* SPDX-License-Identifier: BSD-2-Clause */
/* Between world_new.c and world.c. */
#ifndef PKTGEN_WORLD_INTERNAL_H
#define PKTGEN_WORLD_INTERNAL_H

#include "world.h"

const struct suci_ops *pg_world_ops(void);
/* The next segment of the flow: its PG_HEAD_MAX bytes at head, and the pattern. */
void pg_world_make(struct pg_station *s, struct pg_flow *f, uint8_t *head,
		   struct suci_segment *seg);
/* May this sender send now?  Else *f is starved. */
bool pg_world_token(struct pg_station *s, struct pg_flow *f, uint64_t now_ns);
/* ops->segment. */
enum suci_verdict pg_world_take(void *user, uint32_t path, const struct suci_segment *seg,
				uint64_t now_ns);
/* The station's endpoint has its turn; the number of datagrams. */
uint32_t pg_world_serve(struct pg_station *s);
/* Has it anything to send at all? */
bool pg_station_sends(const struct pg_station *s);

/* world_play.c: paths played from templates. */
struct pg_play {
	struct pg_player *player;
	uint8_t header[RD_FRAME6_HDR]; /* of its frames with a segment, pg_front() bytes */
};
/* Are the station's paths sealed: is it a remote relay, in a lab with a key_file? */
bool pg_play_sealed(const struct pg_station *s);
void pg_play_new(const struct pg_world *w, struct pg_flow *f, struct pg_play *play, uint8_t side,
		 void *mem);
void pg_play_free(struct pg_world *w);
/* A datagram that the endpoint sends; one that came: true, it was not the endpoint's. */
void pg_play_saw(struct pg_station *s, const struct suci_out *o);
bool pg_play_rx(struct pg_station *s, const struct suci_addr *from, uint8_t *payload, size_t len);
/* A datagram for the endpoint of a station with sealed paths: what it opens the player sees. */
void pg_play_through(struct pg_station *s, const struct suci_addr *from, uint8_t *payload,
		     size_t len, uint8_t ecn);
uint32_t pg_play_turn(struct pg_world *w);
/* Packets of ours that are not acknowledged. */
uint64_t pg_play_held(const struct pg_world *w);
/* A new endpoint in mem, at least suci_footprint() of the side's limits. */
bool pg_station_start(struct pg_world *w, struct pg_station *s, void *mem);

#endif

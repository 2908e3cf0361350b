/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp/port.h - the program's side: requests, the send half of the area, copying out.
 *
 * It meets the engine in the four rings only.  Nothing here waits: mmp_port_turn() does what can
 * be done.
 *
 * Send half   Messages are cut into fragments, which are copied into it and named to the engine.  A
 *             message of at most mmp_port_short() bytes may take whatever is free; longer ones
 *             together at most half, so that they never keep the short ones out.  Fragments of
 *             a message go only when all messages before it to that peer have begun.
 * Threads     one owner, the program's. */
#ifndef MMP_PORT_H
#define MMP_PORT_H

#include "mmp/slots.h"

struct mmp_port;
struct mmp_port_config {
	uint32_t rank, size;
	struct mmp_rings rings;
	uint8_t *send_half;
	uint64_t send_bytes; /* multiple of 64 */
	uint64_t fragment;   /* bytes of a full one, to all peers in the beginning */
};
#define MMP_FRAGMENT_LEAST 256u

/* Bytes of memory for a job of so many processes; mem: so many, zeros. */
size_t mmp_port_footprint(uint32_t size);
struct mmp_port *mmp_port_new(void *mem, const struct mmp_port_config *c);

/* What is not longer is copied before mmp_port_copied() says so; longer ones stay in buf. */
uint64_t mmp_port_short(const struct mmp_port *p);
void mmp_port_set_fragment(struct mmp_port *p, uint32_t peer, uint64_t bytes);
uint64_t mmp_port_fragment(const struct mmp_port *p, uint32_t peer);

/* A request; MMP_NONE: MMP_RECEIVES_MAX are not done.  buf NULL with n: what is in the area by
 * chance, not copied: to measure what copying costs. */
uint32_t mmp_port_send(struct mmp_port *p, uint32_t to, uint32_t stream, int32_t tag,
		       const void *buf, uint64_t n);
/* from, tag: -1: any. */
uint32_t mmp_port_receive(struct mmp_port *p, int32_t from, uint32_t stream, int32_t tag, void *buf,
			  uint64_t n);
/* All of a send is in the area: buf is free. */
bool mmp_port_copied(const struct mmp_port *p, uint32_t request);

struct mmp_result {
	uint32_t rank;
	int32_t tag;
	uint64_t bytes;
	int error;
};
/* Is it done?  It is there until mmp_port_forget(). */
bool mmp_port_done(const struct mmp_port *p, uint32_t request, struct mmp_result *out);
void mmp_port_forget(struct mmp_port *p, uint32_t request);
bool mmp_port_valid(const struct mmp_port *p, uint32_t request);

/* The peer is gone: sends to it that are not copied end with err, later ones at once. */
void mmp_port_down(struct mmp_port *p, uint32_t peer, int err);
/* Hear the engine, copy, send on.  True: something was done. */
bool mmp_port_turn(struct mmp_port *p);
/* The engine has said nothing new. */
bool mmp_port_quiet(const struct mmp_port *p);
/* Since the last call of this something was told to the engine, or a ring of its was read that may
 * have been full: wake it if it sleeps. */
bool mmp_port_rang(struct mmp_port *p);
/* Bytes that were named to the engine so far. */
uint64_t mmp_port_pushed(const struct mmp_port *p);
const struct mmp_area *mmp_port_area(const struct mmp_port *p);

#endif

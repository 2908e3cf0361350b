/* SPDX-License-Identifier: BSD-2-Clause */
/* link.h - frames over one TCP connection of the control thread, sealed if there are keys: the
 * channels between the relays of a cluster (peer.c) and to the circuit controller (light_*.c).
 *
 * A sealed link is up when the other end has shown that it has a key of sealing.key_file
 * (seal/link.h); until then it says nothing that anybody listens to.  Where nothing is sealed it
 * is up when it is connected.
 *
 * Threads  control. */
#ifndef RD_LINK_H
#define RD_LINK_H

#include "loop.h"

#include "seal/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rd_link;

struct rd_link_kind {
	size_t in_max, out_max; /* bytes of a largest frame; of what may wait to be sent */
	uint64_t ping_ns, dead_ns;
	/* Handle the first frame of in[0..len): the bytes it takes; 0: it is not whole (*need, if
	 * it is known, says its bytes); -1: nonsense. */
	long (*take)(struct rd_link *l, const uint8_t *in, size_t len, size_t *need);
	void (*up)(struct rd_link *l);
	void (*down)(struct rd_link *l, const char *why); /* closed already; not by _fini */
	void (*ping)(struct rd_link *l);		  /* send one */
};

struct rd_link {
	struct rd_loop *loop;
	void *owner;
	const struct rd_link_kind *kind;
	const struct seal_link_conf *keys; /* NULL: not sealed */
	struct rd_watch watch;
	bool connecting, up;
	bool held; /* its frames wait, see rd_link_hold() */
	bool full; /* the other end takes nothing any more: the tick hangs up */
	bool dials;
	bool reached; /* the connection was there, for who is told that it is not any more */
	uint64_t since_ns, heard_ns, pinged_ns;
	uint8_t *in, *out; /* malloc, grown as frames need */
	size_t in_len, in_max, out_off, out_len, out_max;
	struct seal_link *seal; /* while sealed and open */
};

void rd_link_init(struct rd_link *l, struct rd_loop *loop, const struct rd_link_kind *kind,
		  const struct seal_link_conf *keys, void *owner);
void rd_link_fini(struct rd_link *l);
/* A connected socket that came to us, or (dials) one that connects.  False: closed. */
bool rd_link_adopt(struct rd_link *l, int fd, bool dials);
static inline bool
rd_link_open(const struct rd_link *l)
{
	return l->watch.fd >= 0;
}
/* False: it is not up, or takes nothing any more; down() follows from the next tick. */
bool rd_link_send(struct rd_link *l, const void *bytes, size_t len);
/* Read nothing and handle nothing, from up() on; go on. */
void rd_link_hold(struct rd_link *l);
void rd_link_release(struct rd_link *l);
void rd_link_close(struct rd_link *l, const char *why);
void rd_link_drop(struct rd_link *l); /* and nobody is told */
void rd_link_tick(struct rd_link *l);

#endif

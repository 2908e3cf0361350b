/* SPDX-License-Identifier: BSD-2-Clause */
/* spx/feed.h - what a process of a pipeline and who manages its cluster tell each other.
 *
 * They share a stream (a pair of sockets).  Both ways go frames:
 *
 *	manager                                    process
 *	  SETUP    who it is, its bounds    --->
 *	           <---  HELLO              it can be reached at that address, and is ready;
 *	                                    again when the address is another one
 *	  VIEW     who is there, and where  --->   again and again, numbers rise
 *	           <---  CHAIN              change chains, as its program says
 *	  ANSWER   done, or why not         --->
 *	           <---  EVENT              what lib/spx has to tell
 *	           <---  ALIVE              its program is not stuck
 *	           <---  DONE               no frame is left here, and no more are made
 *	  OVER     the pipeline ends        --->
 *
 * Wire     u32 bytes that follow, u8 version, u8 type, u16 0, then by type; feed.c.  Big-endian.
 * Errors   bytes from outside: spx_feed_read() says false with a text.
 * Memory   what is read points into the frame, but for views, which are copied into tables of the
 *	    caller's.  Limits: SPX_FEED_MAX, SPX_ADDRESS_MAX, limits of spx/view.h.
 * Threads  pure functions. */
#ifndef SPX_FEED_H
#define SPX_FEED_H

#include "spx/spx.h"

#define SPX_FEED_HEAD	 8u
#define SPX_ADDRESS_MAX	 96u /* with its NUL */
#define SPX_FEED_TEXT	 1024u
#define SPX_FEED_PROC	 (28u + SPX_ADDRESS_MAX) /* of a view's frame, each process at most */
#define SPX_FEED_CLUSTER (4u + SPX_NAME_MAX)
#define SPX_FEED_CHAIN	 12u
#define SPX_FEED_MAX                                                 \
	(SPX_FEED_HEAD + 24u + SPX_CLUSTERS_MAX * SPX_FEED_CLUSTER + \
	 SPX_CHAINS_MAX * SPX_FEED_CHAIN + SPX_PROCS_MAX * SPX_FEED_PROC)

enum spx_feed_type {
	SPX_FEED_SETUP = 1,
	SPX_FEED_HELLO,
	SPX_FEED_VIEW,
	SPX_FEED_CHAIN_OPS,
	SPX_FEED_ANSWER,
	SPX_FEED_EVENT,
	SPX_FEED_ALIVE,
	SPX_FEED_DONE,
	SPX_FEED_OVER,
	SPX_FEED_LAST = SPX_FEED_OVER
};

struct spx_feed_text {
	const char *at; /* in the frame; not ended by a NUL */
	uint32_t len;
};

struct spx_feed {
	enum spx_feed_type type;
	/* SETUP: conf of lib/spx; where it listens; the relay of its cluster, which may be empty;
	 * only doors of one realm find each other. */
	struct spx_conf conf;
	uint64_t realm;
	struct spx_feed_text ip, relay;
	/* HELLO: text is the address.  CHAIN_OPS, ANSWER: number is that of the question; ok;
	 * text.  EVENT: text, event but for its text. */
	uint32_t number;
	bool ok;
	struct spx_feed_text text;
	struct spx_event event;
};

/* Bytes that a frame of that view needs at most. */
size_t spx_feed_view_bytes(const struct spx_view *v);
/* Bytes written; 0: no room.  address[i] is that of v->proc[i], "" or NULL: not known. */
size_t spx_feed_write_view(void *to, size_t room, const struct spx_view *v,
			   const char *const *address);
/* Any other type. */
size_t spx_feed_write(void *to, size_t room, const struct spx_feed *f);

/* The length of the frame that begins at bytes, as soon as 4 bytes are there.  0: it is too long
 * or too short. */
size_t spx_feed_length(const void *bytes);
/* One frame.  Of a VIEW only the type: then spx_feed_read_view(). */
bool spx_feed_read(struct spx_feed *f, const void *frame, size_t len, char *why);
/* v: tables with room for procs_max processes, SPX_CLUSTERS_MAX, SPX_CHAINS_MAX; address: as many.
 * The view is well formed; whether it is consistent spx_install() says. */
bool spx_feed_read_view(struct spx_view *v, char (*address)[SPX_ADDRESS_MAX], uint32_t procs_max,
			const void *frame, size_t len, char *why);

#endif

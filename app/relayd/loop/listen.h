/* SPDX-License-Identifier: BSD-2-Clause */
/* listen.h - listening sockets of the control thread that strangers can reach.
 *
 * A machine out of descriptors has no use for a readable listener: it is not watched for a while
 * (accept_pauses counts), and who knocks meanwhile waits in the kernel.
 *
 * Threads  control. */
#ifndef RD_LISTEN_H
#define RD_LISTEN_H

#include "loop.h"
#include "suci/addr.h"

#include <stdint.h>

#define RD_ACCEPT_PAUSE_MS 200 /* out of descriptors or memory */

struct rd_listener {
	struct rd_watch watch; /* its owner is the listener */
	struct rd_loop *loop;
	void *owner;
	uint64_t resume_ns; /* 0: it is watched */
	/* Called when somebody knocks. */
	void (*knock)(struct rd_listener *l);
};

/* from: where who came is, of IPv4 or IPv6, or NULL.  A descriptor, or -1: nobody, or it pauses. */
int rd_listener_accept(struct rd_listener *l, struct suci_addr *from);
/* Nobody is asked in before that time. */
void rd_listener_pause(struct rd_listener *l, uint64_t until_ns);
void rd_listener_tick(struct rd_listener *l);
/* Begin with a listening descriptor; 0 or -errno. */
int rd_listener_add(struct rd_listener *l, struct rd_loop *loop, int fd,
		    void (*knock)(struct rd_listener *l), void *owner);
void rd_listener_close(struct rd_listener *l);

#endif

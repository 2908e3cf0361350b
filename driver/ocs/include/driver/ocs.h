/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/ocs.h - an optical switch that is reached over the network.
 *
 * Wraps a session of lib/ocs/protocols, or one by NETCONF, with what it needs: the
 * connection, made again with growing pauses when it breaks, and the credentials,
 * read from a file that only its owner may read.  What comes out is the contract of
 * ocs/switch.h:
 *
 *     d = ocs_driver_open(&cfg, why);
 *     loop:  poll ocs_driver_fd(d) until ocs_driver_expiry_ns(d, now)
 *            ocs_driver_turn(d, now)
 *            while (sw->ops->next(sw, &ev)) ...        sw = ocs_driver_switch(d)
 *            requests, then ocs_driver_send(d, now)
 *
 * Addresses, by protocol:
 *
 *   tl1-*, scpi  HOST[:PORT]           connect there
 *   openflow     listen:HOST[:PORT]    the switch connects to us; one switch, the last to come
 *                HOST[:PORT]           connect to a switch that listens
 *   netconf      exec:COMMAND          NETCONF over its standard input and output, by a shell,
 *                                      usually "ssh -s HOST netconf": host keys, user and key are
 *                                      OpenSSH's business then
 *                unix:PATH             a server's socket that speaks NETCONF at once
 *
 * Threads  one owner.  NETCONF has a thread of its own, which never calls back: its
 *          events wait until they are fetched.
 * Blocks   ocs_driver_open() for names to be looked up and a shared object to be loaded;
 *          nothing else. */
#ifndef DRIVER_OCS_H
#define DRIVER_OCS_H

#include "ocs/switch.h"

#include <stdbool.h>

#define OCS_DRIVER_WHY 224

struct ocs_driver_config {
	const char *protocol;	  /* ocsproto_name(), or "netconf" */
	const char *address;	  /* see above */
	const char *credentials;  /* file: first line user, second line password; NULL: none */
	uint32_t ports, batch;	  /* as in ocsproto/ocsproto.h */
	const char *const *names; /* Calient: of the ports; kept, not copied */
	const char *group;	  /* Calient */
	/* NETCONF: a directory that keeps the server's models, so that they are fetched once
	 * and not by every process; NULL: one for this run, removed at the end. */
	const char *models;
	uint64_t cookie;		  /* OpenFlow */
	uint64_t answer_ns, keepalive_ns; /* 0: defaults */
	uint64_t retry_ns, retry_max_ns;  /* pauses between attempts; 0: 0.1 s, 10 s */
};

struct ocs_driver; /* opaque */

/* The names of a switch's ports from a file, one a line, the first is port 0 (Calient); a list
 * that ends with NULL, *n of them.  NULL: why. */
char **ocs_names_read(const char *path, uint32_t *n, char why[OCS_DRIVER_WHY]);
void ocs_names_free(char **names);

/* Is there a driver of this protocol?  One that is a shared object (driver/ocs_plugin.h: NETCONF)
 * is loaded for it.  False: why says what is missing, where, and what brings it. */
bool ocs_driver_is_there(const char *protocol, char why[OCS_DRIVER_WHY]);

/* NULL: why says what is wrong with the configuration, or what is missing.  That a switch does not
 * answer is no error: it is tried again. */
struct ocs_driver *ocs_driver_open(const struct ocs_driver_config *cfg, char why[OCS_DRIVER_WHY]);
void ocs_driver_close(struct ocs_driver *d);
struct ocs_switch *ocs_driver_switch(struct ocs_driver *d);
/* Readable when there is something to do. */
int ocs_driver_fd(const struct ocs_driver *d);
uint64_t ocs_driver_expiry_ns(const struct ocs_driver *d);
void ocs_driver_turn(struct ocs_driver *d, uint64_t now_ns);
/* Sends what was asked for, and takes nothing in: what came in here would lie unseen until the
 * next turn, and the descriptor would not be readable for it. */
void ocs_driver_send(struct ocs_driver *d, uint64_t now_ns);
/* Why there is no session at present; "" if there is one, or none was tried yet. */
const char *ocs_driver_trouble(const struct ocs_driver *d);

#endif

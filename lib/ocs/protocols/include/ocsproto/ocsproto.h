/* SPDX-License-Identifier: BSD-2-Clause */
/* ocsproto/ocsproto.h - sessions with optical switches that speak TL1, SCPI or OpenFlow.
 *
 * Each is a struct ocs_switch (ocs/switch.h has the contract: requests, events) whose
 * protocol is parsed here: bytes go in by ops->rx, come out by ops->tx, time comes with
 * every call.  Whoever holds the socket does this, after every call of an operation:
 *
 *     while ((n = sw->ops->tx(sw, buf, sizeof buf, now)) > 0)  send
 *     while (sw->ops->next(sw, &ev))                           act
 *     if (ocsproto_is_broken(sw))                              close, ops->disconnected
 *
 * What a session does by itself, besides what it is asked: log in, learn name and size
 * of the switch (so UP means that identify is answered at once), keep the session
 * alive, answer Telnet options and echo requests, and before every apply() look at the
 * matrix: what is there already succeeds, what is in the way is OCS_ERR_BUSY, so that
 * no switch displaces a circuit silently.
 *
 * Names of ports on the wire, for port i of our counting:
 *
 *                     ingress       egress
 *   tl1-polatis       i + 1         N + i + 1      N: ingress ports the switch says it has
 *   scpi              i + 1         N + i + 1
 *   tl1-glimmerglass  10001 + i     20001 + i
 *   tl1-calient       names[i]      names[i]       dotted; there is no default
 *   openflow          i + 1         i + 1          one port is both
 *
 * A switch that has a port we have no name for: its circuits are not shown.
 *
 * Memory   all of it is given to ocsproto_new(); ocsproto_footprint() bytes, aligned as
 *          by malloc().  The strings of the configuration must live as long.
 * Limits   ports <= OCS_PORTS_MAX; 1 <= batch <= OCSPROTO_BATCH_MAX. */
#ifndef OCSPROTO_OCSPROTO_H
#define OCSPROTO_OCSPROTO_H

#include "ocs/switch.h"

#define OCSPROTO_BATCH_MAX 1024

enum ocsproto_kind {
	OCSPROTO_TL1_POLATIS,
	OCSPROTO_TL1_CALIENT,
	OCSPROTO_TL1_GLIMMERGLASS,
	OCSPROTO_SCPI,
	OCSPROTO_OPENFLOW,
	OCSPROTO_KINDS,
};

struct ocsproto_config {
	enum ocsproto_kind kind;
	uint32_t ports;		     /* room for so many ingress and so many egress ports */
	uint32_t batch;		     /* circuits in one apply() */
	const char *const *names;    /* Calient: ports of them; others: NULL */
	const char *user, *password; /* NULL: no login */
	const char *group;	     /* Calient: group name of our circuits, NULL: "MPI" */
	uint64_t cookie;	     /* OpenFlow: of our flow entries */
	uint64_t answer_ns;	     /* no answer for so long: the session is broken; 0: 5 s */
	uint64_t keepalive_ns;	     /* nothing to say for so long: ask something; 0: 30 s */
};

/* "tl1-polatis", ...; NULL if out of range.  The other way: OCSPROTO_KINDS. */
const char *ocsproto_name(enum ocsproto_kind kind);
enum ocsproto_kind ocsproto_by_name(const char *name);
/* The TCP port its switches are reached at; OpenFlow: the one they call. */
uint16_t ocsproto_tcp_port(enum ocsproto_kind kind);

/* 0: the configuration is out of range. */
size_t ocsproto_footprint(const struct ocsproto_config *cfg);
struct ocs_switch *ocsproto_new(void *mem, const struct ocsproto_config *cfg);

/* The session is of no use any more (no answer in time, login refused, nonsense):
 * close the connection and say disconnected(). */
bool ocsproto_is_broken(const struct ocs_switch *sw);
/* Requests are taken. */
bool ocsproto_is_up(const struct ocs_switch *sw);

#endif

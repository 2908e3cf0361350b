/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/server.h - the rendezvous server of one job, 1..32 clients, sans-I/O.
 *
 * Ignorant on purpose: it authenticates, gives every client the number of
 * clients, concatenates the values of each label in client order, and says DONE
 * and good-bye.  Values are opaque bytes.
 *
 *   GATHERING --all ranks are in--> COLLECTING --all said DONE--> RUNNING
 *   RUNNING --all said FINI--> COMPLETE
 *   RUNNING --a client lost, and then all said FINI or were lost, or the grace is
 *             over--> FAILED
 *   before --a joined client lost, or start-up stands still--> FAILED
 *
 * Who misbehaves before it has joined (wrong key, bad rank, garbage, too slow)
 * is closed and the server waits on.  Who misbehaves or vanishes after it has
 * joined and before FINI fails the job: in start-up every other connection is
 * closed at once, for nobody can start; later the others are served on, and those
 * that have not ended after loss_grace_ns are closed, which tells them that the job
 * is over (a process that waits for a lost one may have no other way to know).
 *
 * A launcher may say that its client will not come (impi/gone.h): while the job GATHERs it fails,
 * and the clients that wait are told which one is missing and why.
 *
 * Connections that have not named themselves are few: when there is no room for another
 * one, base/lobby.h says which one makes room: one of the source that has most of them, or
 * the oldest after IMPI_SERVER_STRANGER_GRACE_NS.
 *
 * Where IMPI 0.0 is silent the rule is a function of its own in lib/impi/rules.c:
 * which method is chosen, when a label is complete, who gets the reply, what the
 * loss of a client means for the others.
 *
 * Connections are small numbers the server gives out.  Loop of the owner:
 *   accept:   if impi_server_room_ns(s) <= now: accept(); conn =
 *             impi_server_open_from(s, source, name, now);
 *             if < 0: fetch the events, close what they say, open again
 *   readable: impi_server_rx(s, conn, ...), or impi_server_eof(s, conn) at EOF
 *   then:     while (impi_server_next(s, &ev)) ...     (close what it says to)
 *             for each open conn send what impi_server_tx() gives: bytes of one
 *             client, or the room it makes, can set bytes for others free
 *   timer:    impi_server_tick(s, now) at impi_server_expiry_ns()
 *
 * Memory   impi_server_footprint() bytes of the caller, most of them label
 *          stores that are touched only as far as clients fill them.
 * Units    nanoseconds of the caller's monotonic clock.
 * Threads  one owner. */
#ifndef IMPI_SERVER_H
#define IMPI_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/auth.h"
#include "impi/error.h"
#include "impi/wire.h"

#define IMPI_SERVER_STRANGERS_MAX 32 /* connections that have not joined, at a time */
#define IMPI_SERVER_STRANGER_GRACE_NS                                                \
	1000000000u			/* it may stay so long if it is the only one \
					 * from where it comes */
#define IMPI_SERVER_GONE_NS  100000000u /* for those that wait to hear who is gone */
#define IMPI_SERVER_NAME_MAX 64		/* of a connection, for texts */

struct impi_server_config {
	uint32_t nclients;	  /* 1..IMPI_CLIENTS_MAX */
	struct impi_auth auth;	  /* mask must not be 0 */
	uint64_t join_timeout_ns; /* from open to rank; and between bytes inside a command; > 0 */
	uint64_t startup_timeout_ns; /* all are here and nothing is complete that was not; 0 = wait
				      * for ever */
	uint64_t loss_grace_ns;	     /* of the others, after a loss while the job runs; UINT64_MAX =
				      * until they end by themselves */
	size_t store_bytes;	     /* label values one client may have waiting, >= 64 */
	/* When this job began, where others are served before and after it: a launcher that is
	 * older does not say who is gone (impi/gone.h).  0: it is the only job. */
	uint64_t began_ns;
	size_t tx_bytes; /* send queue of a connection, >= IMPI_CHANNEL_TX_BYTES_MIN */
};

enum impi_server_state {
	IMPI_SVS_GATHERING,
	IMPI_SVS_COLLECTING,
	IMPI_SVS_RUNNING,
	IMPI_SVS_COMPLETE,
	IMPI_SVS_FAILED,
};

enum impi_server_event_type {
	IMPI_SV_JOINED,	  /* conn, rank */
	IMPI_SV_SIZED,	  /* all clients have joined */
	IMPI_SV_STARTED,  /* all clients have said DONE: the job runs */
	IMPI_SV_CLOSE,	  /* conn, rank (-1 = had not joined), err (OK = after FINI): close the
			   * socket; conn is free again */
	IMPI_SV_COMPLETE, /* all FINI; every conn has been closed before this */
	IMPI_SV_FAILED,	  /* err: the first cause; every conn has been closed before this */
};

struct impi_server_event {
	enum impi_server_event_type type;
	int conn;
	int32_t rank;
	struct impi_error err;
};

struct impi_server;

/* 0 if the configuration is invalid. */
size_t impi_server_footprint(const struct impi_server_config *cfg);
/* mem: footprint bytes, aligned to 64, zero or not. */
struct impi_server *impi_server_new(void *mem, const struct impi_server_config *cfg);
/* Forget everything, key included; NULL is fine.  The memory is the caller's again. */
void impi_server_end(struct impi_server *s);

/* A connection was accepted.  Its number (0 .. nclients +
 * IMPI_SERVER_STRANGERS_MAX - 1), or -1: the job is over, or there are too many
 * strangers; then one of them, unless all are within their grace, gets a CLOSE event,
 * and after that there is room.  Where it comes from: a number for the source (base/lobby.h), and
 * its address for people, which a second one is told that wants the same rank. */
int impi_server_open_from(struct impi_server *s, uint64_t source, const char *name,
			  uint64_t now_ns);
/* When a connection may be accepted: 0 = now, UINT64_MAX = never, else the end of
 * the oldest stranger's grace (any CLOSE event may change it). */
uint64_t impi_server_room_ns(const struct impi_server *s);
/* Bytes came; all are taken. */
void impi_server_rx(struct impi_server *s, int conn, const void *bytes, size_t len,
		    uint64_t now_ns);
/* The peer closed or reset the connection. */
void impi_server_eof(struct impi_server *s, int conn);
/* Take at most cap bytes to send; 0 if there are none (or conn is closing). */
size_t impi_server_tx(struct impi_server *s, int conn, void *buf, size_t cap);
bool impi_server_tx_pending(const struct impi_server *s, int conn);
/* Close who is too slow; end a start-up that stands still. */
void impi_server_tick(struct impi_server *s, uint64_t now_ns);
/* When to tick next; UINT64_MAX if there is nothing to wait for. */
uint64_t impi_server_expiry_ns(const struct impi_server *s);
/* Next thing to tell; false if there is none. */
bool impi_server_next(struct impi_server *s, struct impi_server_event *ev);

enum impi_server_state impi_server_state(const struct impi_server *s);
/* Bit r: client r has joined. */
uint32_t impi_server_joined(const struct impi_server *s);
/* Bit r: client r was lost while the job ran (the state may still be RUNNING). */
uint32_t impi_server_lost(const struct impi_server *s);

#endif

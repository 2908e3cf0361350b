/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/engine/transports.h - what the loop, the calls and start-up ask of the transports, which
 * are above: they answer in ../transport/dispatch.c and in the files named here.
 *
 * What the engine asks for one peer is its table in mpi/engine.h.
 *
 * Units    ns of CLOCK_MONOTONIC, bytes, world ranks.
 * Threads  the lock is held, but for lmpi_tp_wake() and the atomics. */
#ifndef LMPI_TRANSPORTS_H
#define LMPI_TRANSPORTS_H

#include "internal.h"

/* Packets handed over by now leave now. */
void lmpi_tp_kick(void);
/* One turn of all transports; true if something moved. */
bool lmpi_tp_poll(void);
/* Acks that others may be waiting for leave now. */
void lmpi_tp_flush(void);
/* Everything sent is placed as far as the transports know. */
bool lmpi_tp_drained(void);
/* Sleep until a transport has news, at most until deadline_ns; without the lock, which is held
 * before and after.  Of several threads the news may wake another one only. */
void lmpi_tp_sleep(uint64_t deadline_ns);
/* Wake the process if it sleeps there; any thread. */
void lmpi_tp_wake(void);
/* While the engine waits, since then: are relays and channels alive?  Those that a waiting process
 * talks to, and those that it looks after in any case. */
void lmpi_tp_watch(uint64_t since_ns, uint64_t now_ns);
void lmpi_tp_watch_relays(uint64_t since_ns, uint64_t now_ns);
/* Since when something waits for credit of its receiver, the one that ran out last; 0: nothing. */
uint64_t lmpi_tp_short_since_ns(void);
/* Tell others that the job is over; tries for at most so long. */
void lmpi_tp_tell_abort(const char *why, uint64_t limit_ns);
/* Nothing is sent to that process or taken from it any more. */
void lmpi_tp_shun(uint32_t world);
/* This job survives deaths (lmpi_outlive): relays are told, and tell of them. */
void lmpi_tp_survive(void);
/* Are there processes in shared memory, and how many CPUs may those of this node use together? */
bool lmpi_tp_near(void);
int lmpi_tp_cores(void);

/* --- ../transport/shm.c, for short messages of the node, past the queues */
/* A whole message, as EAGER without flags. */
bool lmpi_shm_send_brief(const struct lmpi_peer *peer, uint64_t cid, int lsrank, int tag,
			 const void *data, uint64_t len);
/* The oldest message of peer, if it is such a one with that name and fits: 1, *got says what it
 * was; 0: there is none; -1: another one, which stays there. */
int lmpi_shm_recv_brief(const struct lmpi_peer *peer, uint64_t cid, int source, int tag, void *buf,
			uint64_t cap, struct lmpi_probed *got);

/* --- ../transport/relays.c, for the thread that watches the server channel: how many relays there
 * are, how often the engine has looked after them, and whether one of them is being emptied. */
extern _Atomic uint32_t lmpi_relays_known;
extern _Atomic uint32_t lmpi_relays_looks;
extern _Atomic bool lmpi_relays_draining;

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* duel.h - one measuring protocol over several transports (make bench-suci).
 *
 * duel.c measures; each duel_TRANSPORT.c carries messages of known length, in
 * order, between one client and one server, in whatever way that transport
 * recommends for speed.
 *
 * Waiting   Where a transport leaves it to the caller, the caller polls for
 *           DUEL_SPIN_NS and then sleeps in the kernel, for all transports alike:
 *           duel_nap().
 * Buffers   bytes given to duel_send() stay unchanged until the run ends. */
#ifndef DUEL_H
#define DUEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DUEL_SPIN_NS 200000ull

/* Common; in duel.c. */
#ifndef __cplusplus
_Noreturn
#endif
	void
	duel_die(const char *what);
uint64_t duel_now_ns(void);
/* A server that clients may now try to reach says so (to the script). */
void duel_ready(void);
/* Nothing moved.  since_ns: 0 after something moved; kept here.  Sleeps on fd for at most
 * timeout_ms once the caller has polled long enough. */
void duel_nap(int fd, short events, uint64_t *since_ns, int timeout_ms);
/* The next place of n bytes in the memory of a run, after *at; both ends walk alike. */
size_t duel_walk(size_t *at, size_t n);
extern uint32_t duel_mtu; /* of the interface, IP packet */
extern uint16_t duel_port;

/* Per transport. */
extern const char duel_name[];
/* most: the longest message of the run.  server: wait for the client. */
void duel_open(int server, const char *ip, size_t most);
void duel_send(const void *bytes, size_t n);
/* The next message, which has n bytes, into buf; returns where they lie (buf, or memory
 * of the transport valid until the next call). */
const void *duel_recv(void *buf, size_t n);
/* Until that descriptor can be read; what the transport still has to do of itself is done. */
void duel_idle(int until);
/* Everything sent is on its way for good: leave nothing that needs our help. */
void duel_close(void);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* jobs_internal.h - what the files of the room share: session_door.c has a client until
 * it has said its rank, session.c its job, jobs.c what the cluster makes of that, peer.c the
 * channels to the other relays. */
#ifndef RD_JOBS_INTERNAL_H
#define RD_JOBS_INTERNAL_H

#include "jobs.h"

#define OUT_BYTES 65536

/* Bytes taken from the machine and not yet taken by the socket. */
struct side {
	struct rd_watch watch;
	uint8_t *out; /* its own when it has said its rank, see rd_session.seat_out */
	size_t cap, off, len;
};

struct rd_session {
	LIST_ENTRY(rd_session) link;
	struct rd_jobs *jobs;
	struct relay_startup *s;
	void *mem;  /* its seat */
	void *room; /* the rest, once it has said its rank; NULL before */
	uint8_t seat_out[64];
	char why[RELAY_WHY_MAX]; /* it got no room */
	struct side side[2];	 /* by enum relay_side */
	char client[SUCI_ADDR_TEXT_MAX];
	int seat;      /* in the lobby, until it has said its rank */
	bool admitted; /* it has, and is a job: the next two are set */
	uint32_t id;
	uint32_t slot;	     /* its gates' ports */
	uint32_t port_index; /* it came to impi.listen_port + this */
	uint32_t job;	     /* of relay/cluster.h; RELAY_CLUSTER_NONE: no table yet */
	bool ended, dead, dialing;
	struct seal_link *seal; /* of the connection to the server; NULL: in clear */
	bool proven;		/* it has shown that it has the key */
	bool running;		/* start-up is over */
	/* The relays that were there when the client came: others take no part. */
	struct relay_member member[RD_RELAYS_MAX];
	uint8_t member_index[RD_RELAYS_MAX];
	uint32_t nmembers;
	uint64_t begun_ns, dial_ns, ended_ns;
};

static inline uint32_t
listen_port(const struct rd_session *s)
{
	return s->jobs->conf->impi.listen_port + s->port_index;
}

static inline uint32_t
server_port(const struct rd_session *s)
{
	return s->jobs->conf->impi.server_port + s->port_index;
}

#define SERVER_TEXT 72
/* Where its server is, as impi.server has it: an IPv6 address in brackets. */
static inline const char *
server_text(const struct rd_session *s, char out[SERVER_TEXT])
{
	const char *host = s->jobs->conf->impi.server_host;
	snprintf(out, SERVER_TEXT, strchr(host, ':') ? "[%.60s]:%u" : "%.60s:%u", host,
		 server_port(s));
	return out;
}

/* Events of the machine, until there are none, and what they produced on its way. */
void rd_session_pump(struct rd_session *s);
/* Its job goes on without this relay: silence. */
void rd_session_handed_over(struct rd_session *s);
void rd_session_client_ready(struct rd_watch *w, uint32_t events);

/* session_seal.c.  The connection to the server stands: begin to seal it; false: out of memory or
 * random numbers. */
bool rd_session_seal(struct rd_session *s);
void rd_session_unseal(struct rd_session *s);
/* Bytes of the server; false: s->seal->why says what is wrong. */
bool rd_session_seal_rx(struct rd_session *s, const uint8_t *bytes, size_t len);
/* Bytes for the server, as they go over the network. */
size_t rd_session_seal_tx(struct rd_session *s, uint8_t out[OUT_BYTES]);

/* session_door.c */
void rd_session_leave_lobby(struct rd_session *s);
/* The client has said its rank: it is a job, if there is room for one more. */
bool rd_session_admit(struct rd_session *s);
/* Out of the list; sockets closed, memory freed. */
void rd_session_free(struct rd_session *s);
/* l: one of listen_impi; its index leads to the server's port. */
void rd_session_accept(struct rd_listener *l);

/* session.c */
/* End those that are no job of the cluster yet. */
void rd_session_end_all(struct rd_jobs *j, const char *why);
/* How many of them are, or have ended and are not gone. */
uint32_t rd_session_bound(const struct rd_jobs *j);
void rd_session_tick(struct rd_jobs *j);
void rd_session_fini(struct rd_jobs *j);

/* peer.c */
void rd_peer_init(struct rd_jobs *j);
void rd_peer_accept(struct rd_listener *l);
void rd_peer_tick(struct rd_jobs *j, bool dials);
bool rd_peer_up(const struct rd_jobs *j, uint32_t index);
/* False: there is no channel, or it takes no more. */
bool rd_peer_send(struct rd_jobs *j, uint32_t index, const struct relay_peer_frame *frame);
bool rd_peer_send_job(struct rd_jobs *j, uint32_t index, const struct relay_job *job);
void rd_peer_fini(struct rd_jobs *j);

#endif

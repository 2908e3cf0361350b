/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/gworld.h - jobs with foreign hosts: real relay cores and real gateways in virtual
 * time, processes of ours (lib/suci lanes) and models of IMPI hosts over TCP.
 *
 *     OURS      cluster behind relays, processes with lanes
 *     FOREIGN   cluster behind relays, IMPI hosts inside: each has channels to the gates
 *               that stand for the processes of the other clients
 *     OUTSIDE   IMPI hosts with global addresses: channels to the gates of each cluster
 *               behind relays
 *
 * Every ordered pair of processes of different clients (but of two OUTSIDE clients: none of
 * our business) exchanges numbered packets under IMPI flow control.  Checked at all times:
 * each packet arrives once, in the order of its pair, with every byte and with the ids its
 * receiver knows; gw_check() and relay_core_check(); memory under its bound. */
#ifndef SIM_GWORLD_H
#define SIM_GWORLD_H

#include "sim.h"

#include "gateway/gateway.h"
#include "impi/wire.h"
#include "relay/core.h"
#include "suci/lane.h"

#define G_CLIENTS_MAX 4
#define G_RANKS_MAX   24
#define G_RELAYS_MAX  4 /* per client */
#define G_HOSTS_MAX   3 /* per client */
#define G_CONNS_MAX   256
#define G_NET_GLOBAL  100
#define G_PORT	      7000
#define G_LB	      16u /* label base of processes */
#define G_NONE	      UINT32_MAX
#define G_IP_TEXT     20

enum gkind { G_OURS, G_FOREIGN, G_OUTSIDE };

struct gworld;

/* One direction of a TCP connection. */
struct gpipe {
	struct gworld *w;
	uint8_t *buf; /* [window] */
	uint32_t window;
	uint64_t written, arrived, consumed;
	uint64_t rate_bps, delay_ns, busy_ns;
	sim_fn *reader, *writer; /* something came; there is room */
	void *reader_who, *writer_who;
};

struct gpair {
	uint32_t total, sent, got;
	uint32_t credit, taken, acks; /* counted and not acknowledged; taken; PROTOACK owed */
	uint64_t done_ns;
};

struct gconn { /* gate - foreign host */
	struct grelay *relay;
	struct ghost *host;
	uint32_t gate, gate_rank;
	struct relay_gate at;
	bool host_connects, up, closed; /* at the gateway */
	uint32_t chan;
	uint32_t failures;
	struct gpipe in, out; /* for the gateway */
	/* the host's end */
	uint8_t *frame;
	uint32_t got;	/* of the frame coming in */
	uint32_t ident; /* bytes to come before the first packet */
	bool fini_rx, fini_tx;
	uint8_t *pending; /* a packet being written */
	uint32_t pending_len, pending_at;
	uint32_t turn; /* pair whose turn it is */
};

struct ghost {
	struct gworld *w;
	uint32_t client, first, n, rank[G_CLIENTS_MAX], ipv4;
	uint64_t deaf_until_ns; /* reads nothing before */
	uint32_t conn[G_CONNS_MAX], nconns;
	bool kicked;
};

struct gproc {
	struct gworld *w;
	uint32_t rank, client, ipv4, port;
	void *ep_mem, *lanes_mem;
	struct suci *ep;
	struct suci_lanes *lanes;
	uint32_t lane[G_RANKS_MAX];
	uint32_t blocks; /* on their way */
	uint64_t wake_ns;
	bool quitting, kicked;
};

struct grelay {
	struct gworld *w;
	uint32_t client, index;
	uint32_t ipv4[2], gw_ipv4;
	uint32_t port[2], gw_port;
	void *ep_mem, *core_mem, *gw_mem;
	struct suci *ep;
	struct relay_core *core;
	struct gw *gw;
	uint64_t wake_ns;
	bool finished, kicked, has_gw;
};

struct gclient {
	enum gkind kind;
	uint32_t ranks, relays, nhosts;
	uint32_t first, label_base, token;
	struct relay_job *job;
	struct ghost *foreign_host[G_CLIENTS_MAX * G_HOSTS_MAX]; /* as job->foreign */
	struct ghost host[G_HOSTS_MAX];
	struct grelay relay[G_RELAYS_MAX];
};

struct gconf {
	uint32_t nclients;
	struct {
		enum gkind kind;
		uint32_t ranks, relays, hosts;
	} client[G_CLIENTS_MAX];
	uint32_t datalen, ackmark, hiwater;
	uint32_t packets, empty_percent; /* per pair */
	uint64_t packet_bytes;
	uint64_t wan_delay_ns, lan_delay_ns, wan_rate_bps, lan_rate_bps;
	uint32_t wan_loss_ppb, private_mtu, global_mtu;
	uint32_t tcp_window;
	uint64_t tcp_rate_bps;
	uint32_t lane_window;
};

struct gworld {
	struct sim *s;
	struct gconf conf;
	struct base_prng prng;
	uint32_t nrank, nconn;
	struct gclient client[G_CLIENTS_MAX];
	uint32_t client_of[G_RANKS_MAX];
	struct gproc proc[G_RANKS_MAX];
	struct ghost *host_of[G_RANKS_MAX];
	uint8_t global_id[G_RANKS_MAX][RELAY_PROC_ID_LEN];
	uint8_t private_id[G_CLIENTS_MAX][G_RANKS_MAX][RELAY_PROC_ID_LEN];
	struct gpair pair[G_RANKS_MAX][G_RANKS_MAX];
	struct gconn conn[G_CONNS_MAX];
	uint32_t left; /* packets that have not arrived */
	bool closing;  /* everything has arrived */
	bool quitting;
	uint64_t mem_max;
};

/* gworld.c: topology, tables, packets */
struct gworld *gworld_new(struct sim *s, const struct gconf *conf);
void gworld_free(struct gworld *w);
void gworld_start(struct gworld *w);
bool gworld_all_arrived(void *world);
/* All FINI exchanged, all gateways done. */
bool gworld_all_finished(void *world);
void gworld_fini_time(struct gworld *w);
void gworld_check(struct gworld *w);
/* What client `view` calls a process. */
const uint8_t *gworld_id(const struct gworld *w, uint32_t view, uint32_t rank);
uint32_t gworld_relay_for(const struct gworld *w, uint32_t client, uint32_t rank);
/* The next packet from src to dst may be sent, or a PROTOACK is due: its bytes; 0: nothing. */
uint32_t gworld_next(struct gworld *w, uint32_t src, uint32_t dst, uint8_t *out);
/* A whole packet has reached client `view`; rank dst where it is known, G_NONE: by ids. */
void gworld_arrived(struct gworld *w, uint32_t view, uint32_t src, uint32_t dst,
		    const uint8_t *packet, uint32_t len);

/* gnode.c: processes and relays */
void gproc_new(struct gproc *p);
void gproc_drive(struct gproc *p);
void gproc_free(struct gproc *p);
void grelay_new(struct grelay *r);
void grelay_drive(struct grelay *r);
void grelay_free(struct grelay *r);
void grelay_kick(struct grelay *r);
void gproc_kick(struct gproc *p);

/* ghost.c: TCP and IMPI hosts */
void gpipe_init(struct gpipe *p, struct gworld *w);
uint32_t gpipe_write(struct gpipe *p, const void *bytes, size_t len);
uint32_t gpipe_read(struct gpipe *p, void *out, size_t len); /* what has arrived */
void ghost_drive(struct ghost *h);
void ghost_kick(struct ghost *h);
void ghost_connect(struct sim *s, void *conn, uint64_t arg);
/* The gateway's side of a connection has something to read, or room. */
void gconn_ready(struct sim *s, void *conn, uint64_t arg);

#endif

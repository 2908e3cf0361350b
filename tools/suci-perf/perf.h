/* SPDX-License-Identifier: BSD-2-Clause */
/* suci-perf: what its files share.
 *
 *      main.c     options, who plays which part
 *      open.c     sockets: server, client, node of an address database, local processes
 *      serve.c    the part that is told what to do
 *      lead.c     the part that tells, measures and reports
 *      report.c   table and JSON
 *
 * The leader sends a control block per round, then both do what it says; whoever was led
 * answers with a result block.  Control and result go the way of all blocks. */
#ifndef SUCI_PERF_H
#define SUCI_PERF_H

#include "suci.h"

#include "base/hist.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define SIZES_MAX 64

enum mode { MODE_PINGPONG, MODE_BURST, MODE_GATHER, MODE_TREE };
extern const char *const mode_name[4];

struct options {
	enum { ROLE_SERVER, ROLE_CLIENT, ROLE_NODE, ROLE_LOCAL } role;
	enum mode mode;
	uint64_t size[SIZES_MAX];
	unsigned nsizes;
	uint64_t count; /* 0: as many as duration takes */
	double duration;
	uint64_t warmup; /* UINT64_MAX: chosen */
	const char *json, *db, *bind, *host;
	uint16_t port;
	uint32_t id, root, processes, clients;
	bool id_set, root_set, once, quiet, door;
	struct datagram_conf conf; /* mtu, window, ... */
};

struct run {
	const struct options *o;
	struct datagram_sock *s;
	uint32_t me, root;
	uint32_t *ids; /* all, sorted */
	uint32_t n;
	uint8_t *buf;
	uint64_t buf_len;
	bool folded;	    /* buf is */
	bool met;	    /* who leads has spoken */
	uint64_t opened_ns; /* client of a door: how long its first block took, there and back */
};

/* A control or a result; on the wire big-endian, 64-bit words. */
enum op { OP_ROUND = 1, OP_END, OP_RESULT };
struct control {
	uint64_t op, mode, size, count;
	uint64_t ns, cpu_ns; /* of a result: time and processor time of the round */
	uint64_t bad;	     /* blocks that were not what they should be */
};
#define CONTROL_BYTES 64

struct result {
	uint64_t size, count; /* count: blocks a sender */
	uint32_t senders;
	uint64_t ns, cpu_ns_here, cpu_ns_there;
	uint64_t retransmissions;
	uint64_t first_ns, last_ns; /* gather: when the first and last sender was through */
	struct base_hist latency;   /* ns, one way */
};

/* open.c: 0, or a message was printed. */
int open_server(struct run *r, const struct options *o);
int open_client(struct run *r, const struct options *o);
/* The same over doors (suci.h): the server prints its address, which the client's host is. */
int open_door(struct run *r, const struct options *o);
int open_node(struct run *r, const struct options *o);
/* Forks; returns in every process.  *children: how many the caller has to wait for. */
int open_local(struct run *r, const struct options *o, uint32_t *children);

/* serve.c */
int serve(struct run *r);
bool need_buffer(struct run *r, uint64_t len);
void free_buffer(struct run *r);
/* datagram_read() into r->buf, as long as those it can come from are there; says what is
 * wrong. */
int64_t read_any(struct run *r);
/* A server has got a signal. */
extern volatile sig_atomic_t perf_told_to_end;
int send_control(struct run *r, uint32_t to, const struct control *c);
bool get_control(const void *buf, int64_t len, struct control *c);
uint64_t cpu_ns(void);
uint64_t now_ns(void);
int complain(struct run *r, const char *what);
void stamp(uint8_t *buf, uint64_t size, uint64_t number);
bool stamped(const uint8_t *buf, uint64_t size, uint64_t number);
/* Of the tree over all ids from the root: parent (false: this is the root) and children. */
bool tree_parent(const struct run *r, uint32_t id, uint32_t *parent);
uint32_t tree_children(const struct run *r, uint32_t id, uint32_t child[32]);

/* lead.c */
int lead(struct run *r);

/* report.c */
void report_head(const struct run *r);
void report_row(const struct run *r, const struct result *x);
int report_json(const struct run *r, const struct result *x, unsigned n);

#endif

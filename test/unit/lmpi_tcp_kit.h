/* SPDX-License-Identifier: BSD-2-Clause */
/* An engine of one process (world rank 0) and the other end of its only TCP channel: a host
 * of another MPI with the processes 1 and 2, whose packets the test writes and reads. */
#ifndef TEST_LMPI_TCP_KIT_H
#define TEST_LMPI_TCP_KIT_H

#include "cmocka_all.h"
#include "impi/link.h"
#include "transport.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Rank 0 is us; 1 and 2 are foreign, at host 7. */
static struct lmpi_peer peers[3];
static struct lmpi_route routes[3];
static struct lmpi_proc procs[3];
static struct lmpi_client clients[2] = {{.nprocs = 1}, {.foreign = true, .nprocs = 2}};
static int wire = -1;

/* pair: [0] becomes the foreign side's, [1] the engine's. */
static inline int
start_on(const int pair[2], uint32_t datalen, uint32_t ackmark, uint32_t hiwater)
{
	memset(peers, 0, sizeof peers);
	memset(&lmpi_eng, 0, sizeof lmpi_eng);
	lmpi_world = (struct lmpi_world){
		.size = 3, .nclients = 2, .any_foreign = true, .clients = clients, .proc = procs};
	lmpi_eng.peer = peers;
	lmpi_eng.size = 3;
	lmpi_route = routes;
	lmpi_eng.datalen = datalen;
	lmpi_eng.ackmark = ackmark;
	lmpi_eng.hiwater = hiwater;
	lmpi_eng.unexpected_bytes_max = lmpi_eng.copied_bytes_max = 1 << 20;
	lmpi_loop.up = true;
	lmpi_make_engine();
	for (uint32_t r = 0; r < 3; r++) {
		peers[r].world = r;
		lmpi_reach_by(&peers[r], r ? LMPI_REACH_TCP : LMPI_REACH_SELF);
		peers[r].foreign = r > 0;
		peers[r].eager_max = datalen;
		memset(peers[r].id, (int)(0x10 + r), sizeof peers[r].id);
	}
	wire = pair[0];
	struct lmpi_tcp_conf conf = {.fd = pair[1], .host = 7, .name = "host 7"};
	return lmpi_tcp_start(&conf, 1);
}

static inline int
start(uint32_t datalen, uint32_t ackmark, uint32_t hiwater)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	return start_on(pair, datalen, ackmark, hiwater);
}

static inline int
tear_down(void **state)
{
	(void)state;
	lmpi_tcp_close();
	lmpi_engine_drop(&lmpi_eng);
	close(wire);
	lmpi_loop.up = false;
	return 0;
}

/* --- the foreign side ------------------------------------------------------- */

static inline struct impi_packet
packet(uint32_t type, uint32_t from, uint32_t len, uint64_t msglen)
{
	return (struct impi_packet){.type = type,
				    .len = len,
				    .msglen = msglen,
				    .src = impi_proc_decode(peers[from].id),
				    .dest = impi_proc_decode(peers[0].id),
				    .lsrank = (int32_t)from,
				    .tag = 5};
}

static inline void
give(const struct impi_packet *p, uint8_t fill)
{
	uint8_t b[IMPI_PACKET_BYTES + 4096];
	uint32_t n = impi_packet_payload_bytes(p);

	impi_packet_encode(p, b);
	memset(b + IMPI_PACKET_BYTES, fill, n);
	assert_int_equal(send(wire, b, IMPI_PACKET_BYTES + n, 0), IMPI_PACKET_BYTES + n);
	for (int i = 0; i < 4; i++)
		lmpi_progress();
}

/* The next packet from the engine; type UINT32_MAX: none. */
static inline struct impi_packet
get(uint8_t *payload)
{
	uint8_t b[IMPI_PACKET_BYTES], rest[4096];

	for (int i = 0; i < 4; i++)
		lmpi_progress();
	ssize_t r = recv(wire, b, sizeof b, MSG_DONTWAIT | MSG_WAITALL);
	if (r < 0)
		return (struct impi_packet){.type = UINT32_MAX};
	assert_int_equal(r, sizeof b);
	struct impi_packet p = impi_packet_decode(b);
	uint32_t n = impi_packet_payload_bytes(&p);
	if (n)
		assert_int_equal(recv(wire, payload ? payload : rest, n, MSG_WAITALL), n);
	return p;
}

static inline void
expect(uint32_t type, uint32_t dest, uint64_t srqid)
{
	struct impi_packet p = get(NULL);
	struct impi_proc to = impi_proc_decode(peers[dest].id);

	assert_int_equal(p.type, type);
	assert_int_equal(impi_proc_cmp(&p.dest, &to), 0);
	assert_int_equal(p.srqid, srqid);
}

static inline void
expect_nothing(void)
{
	assert_int_equal(get(NULL).type, UINT32_MAX);
}

/* What LAM/MPI writes into control packets. */
static inline struct impi_packet
lam_control(uint32_t type, uint32_t from, uint64_t srqid, uint64_t drqid)
{
	struct impi_packet p = packet(type, from, 128, 128);

	p.srqid = srqid;
	p.drqid = drqid;
	p.lsrank = p.tag = -1;
	p.cid = 0x4900000000000000u;
	p.count = -1;
	return p;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine with a foreign host at the other end of its channel: packets made from the
 * input, answers to what was really sent among them, and the program's calls.
 *
 * Input: one byte says what happens (low 3 bits: packet x 4, irecv, isend, cancel, probe;
 * bit 3: the second foreign process), then what it needs, missing bytes are 0. */
#include "transport.h"

#include "impi/wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DATALEN 64u
#define SLOTS	12
#define SEEN	8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const uint8_t *at, *end;

static uint8_t
byte(void)
{
	return at < end ? *at++ : 0;
}

static struct lmpi_peer peers[3];
static struct lmpi_route routes[3];
static struct lmpi_proc procs[3];
static struct lmpi_client clients[2] = {{.nprocs = 1}, {.foreign = true, .nprocs = 2}};
static int wire;

/* Names the engine has used: of its sends, of its receives. */
static uint64_t srq[SEEN], drq[SEEN];
static unsigned nsrq, ndrq;

static struct slot {
	struct lmpi_req req;
	bool used, sends;
	uint8_t buf[4 * DATALEN];
} slot[SLOTS];

static void
begin(void)
{
	int pair[2];

	memset(peers, 0, sizeof peers);
	memset(slot, 0, sizeof slot);
	memset(&lmpi_eng, 0, sizeof lmpi_eng);
	lmpi_fail_forget();
	nsrq = ndrq = 0;
	lmpi_world = (struct lmpi_world){
		.size = 3, .nclients = 2, .any_foreign = true, .clients = clients, .proc = procs};
	lmpi_eng.peer = peers;
	lmpi_eng.size = 3;
	lmpi_route = routes;
	lmpi_eng.datalen = DATALEN;
	lmpi_eng.ackmark = 3;
	lmpi_eng.hiwater = 5;
	lmpi_eng.unexpected_bytes_max = lmpi_eng.copied_bytes_max = 500;
	lmpi_make_engine();
	for (uint32_t r = 0; r < 3; r++) {
		peers[r].world = r;
		lmpi_reach_by(&peers[r], r ? LMPI_REACH_TCP : LMPI_REACH_SELF);
		peers[r].foreign = r > 0;
		peers[r].eager_max = DATALEN;
		memset(peers[r].id, (int)(0x10 + r), sizeof peers[r].id);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		abort();
	wire = pair[0];
	struct lmpi_tcp_conf conf = {.fd = pair[1], .host = 7, .name = "host 7"};
	if (lmpi_tcp_start(&conf, 1) != 0)
		abort();
}

static void
finish(void)
{
	lmpi_tcp_close();
	for (uint32_t r = 1; r < 3; r++) {
		while (peers[r].out_first) {
			struct lmpi_out *o = peers[r].out_first;
			peers[r].out_first = o->next;
			lmpi_out_done(&lmpi_eng, o, false);
		}
	}
	assert(lmpi_eng.outs == 0 && lmpi_eng.copied_bytes == 0);
	for (int i = 0; i < SLOTS; i++) {
		if (slot[i].used && !slot[i].sends && !slot[i].req.done)
			(void)lmpi_cancel_recv(&slot[i].req);
	}
	lmpi_engine_drop(&lmpi_eng);
	close(wire);
}

/* What the engine has sent must be sound. */
static void
look(void)
{
	uint8_t b[IMPI_PACKET_BYTES], payload[DATALEN];

	while (recv(wire, b, sizeof b, MSG_DONTWAIT | MSG_WAITALL) == (ssize_t)sizeof b) {
		struct impi_packet p = impi_packet_decode(b);
		uint32_t n = impi_packet_payload_bytes(&p);
		assert(impi_packet_check(&p, DATALEN) == IMPI_PACKET_OK);
		if (n)
			assert(recv(wire, payload, n, MSG_WAITALL) == (ssize_t)n);
		if (p.type == IMPI_PK_DATASYNC)
			srq[nsrq++ % SEEN] = p.srqid;
		if (p.type == IMPI_PK_SYNCACK && p.drqid)
			drq[ndrq++ % SEEN] = p.drqid;
	}
}

static void
turn(void)
{
	lmpi_eng.in_transport = true;
	lmpi_tcp_poll();
	lmpi_eng.in_transport = false;
	if (lmpi_failing())
		return;
	lmpi_pump(&lmpi_eng);
	lmpi_run_done(&lmpi_eng);
	look();
}

static void
give_packet(uint32_t from)
{
	uint8_t b[IMPI_PACKET_BYTES + 2 * DATALEN] = {0};
	struct impi_packet p = {.type = byte() % 9,
				.len = byte() % (DATALEN + 4),
				.msglen = byte(),
				.lsrank = byte() % 4 - 1,
				.tag = byte() % 4 - 1,
				.cid = byte() % 2};
	uint8_t names = byte();

	p.srqid = names & 8 ? names % 8 : srq[names % SEEN];
	p.drqid = names & 128 ? names >> 4 : drq[(names >> 4) % SEEN];
	if (names & 8 && p.msglen < p.len)
		p.msglen = p.len;
	p.src = impi_proc_decode(peers[from].id);
	p.dest = impi_proc_decode(peers[0].id);
	impi_packet_encode(&p, b);
	size_t n = IMPI_PACKET_BYTES + impi_packet_payload_bytes(&p);
	memset(b + IMPI_PACKET_BYTES, 0x5a, n - IMPI_PACKET_BYTES);
	if (send(wire, b, n, MSG_NOSIGNAL) != (ssize_t)n)
		abort();
}

static struct slot *
free_slot(bool sends)
{
	for (int i = 0; i < SLOTS; i++) {
		if (!slot[i].used || slot[i].req.done) {
			slot[i].used = true;
			slot[i].sends = sends;
			return &slot[i];
		}
	}
	return NULL;
}

static void
call(uint8_t what, uint32_t to)
{
	struct lmpi_probed found;
	uint8_t a = byte(), b = byte();
	struct slot *s;

	switch (what) {
	case 4:
		if ((s = free_slot(false)))
			lmpi_irecv(&s->req, s->buf, a % sizeof s->buf,
				   b & 1 ? LMPI_ANY_SOURCE : (int)to, b & 2 ? LMPI_ANY_TAG : b >> 6,
				   b >> 2 & 1);
		break;
	case 5:
		if ((s = free_slot(true)))
			lmpi_isend(&s->req, s->buf, a % sizeof s->buf, to, 0, b >> 6, b >> 2 & 1,
				   b & 1 ? LMPI_SYNC : LMPI_STANDARD);
		break;
	case 6:
		s = &slot[a % SLOTS];
		if (s->used && s->sends)
			lmpi_cancel_send(&s->req);
		else if (s->used)
			(void)lmpi_cancel_recv(&s->req);
		break;
	default:
		if (lmpi_match_find(&lmpi_eng.match, b & 1, LMPI_ANY_SOURCE, LMPI_ANY_TAG) &&
		    (s = free_slot(false)) &&
		    lmpi_iprobe(LMPI_ANY_SOURCE, LMPI_ANY_TAG, b & 1, true, &found))
			lmpi_mrecv(&s->req, s->buf, a % sizeof s->buf, found.message);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len > 4096)
		return 0;
	at = data;
	end = data + len;
	begin();
	while (at < end && !lmpi_failing()) {
		uint8_t op = byte();
		uint32_t who = op & 8 ? 2 : 1;
		if ((op & 7) < 4)
			give_packet(who);
		else
			call(op & 7, who);
		if (!(op & 16))
			turn();
	}
	if (!lmpi_failing())
		turn();
	look();
	finish();
	return 0;
}

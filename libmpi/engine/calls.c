/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine's calls for the surface, on the one engine of this process; and short messages of
 * the node, which go past its queues. */
#include "internal.h"
#include "cycles.h"
#include "lock.h"
#include "patience.h"

#include "transports.h"

#define eng lmpi_eng

struct lmpi_engine lmpi_eng;
struct lmpi_loop lmpi_loop;
struct lmpi_route *lmpi_route;

/* Of lmpi_recv_whole(): so long without a turn of the loop, where other nodes may wait for our
 * acks. */
#define WHOLE_US 100u

static struct lmpi_patience patience;
static struct {
	uint64_t turned; /* the last turn of the loop instead of looking at one ring */
	uint64_t looked; /* the clock at the last look that read it */
	uint64_t missed; /* looking began; the message has not come by the end of it */
	uint64_t most;	 /* cycles without a turn, where there are other nodes */
} whole;

static void *
get_memory(void *user, size_t bytes)
{
	void *p = malloc(bytes);

	(void)user;
	if (!p)
		lmpi_engine_abort(LMPI_ERR_NO_MEM, "out of memory for messages");
	return p;
}

static void
put_memory(void *user, void *p)
{
	(void)user;
	free(p);
}

static void
engine_failed(struct lmpi_engine *e, const char *text)
{
	(void)e;
	lmpi_fail("%s", text);
}

void
lmpi_make_engine(void)
{
	eng.memory = (struct lmpi_memory){.get = get_memory, .put = put_memory};
	eng.fail = engine_failed;
	lmpi_engine_reset(&eng);
}

/* Packets that a call has left leave now, and who waits for what it completed is told. */
static void
settle_coll(void)
{
	if (eng.in_transport)
		return;
	lmpi_tp_kick();
	lmpi_run_done(&eng);
}

void
lmpi_isend(struct lmpi_req *req, const void *data, uint64_t len, uint32_t dest_world, int lsrank,
	   int tag, uint64_t cid, enum lmpi_mode mode)
{
	/* Who only sends makes no turns of the loop. */
	if (eng.troubled && atomic_load_explicit(&lmpi_loop.news, memory_order_relaxed))
		lmpi_loop.take_news();
	lmpi_engine_isend(&eng, req, data, len, dest_world, lsrank, tag, cid, mode);
	settle_coll();
}

bool
lmpi_send_whole(const void *data, uint64_t len, uint32_t dest_world, int lsrank, int tag,
		uint64_t cid)
{
	const struct lmpi_peer *peer = &eng.peer[dest_world];

	if (!(peer->caps & LMPI_CAP_MEMORY) || !lmpi_may_bypass(&eng, peer, len) ||
	    !lmpi_shm_send_brief(peer, cid, lsrank, tag, data, len))
		return false;
	eng.n.sends[LMPI_REACH_SHM]++;
	eng.n.bytes_sent[LMPI_REACH_SHM] += len;
	return true;
}

/* A receive has taken a message that was there: its sender may have to be told. */
static void
coll_received(void)
{
	if (eng.in_transport)
		return;
	if (eng.pending) {
		lmpi_pump(&eng);
		lmpi_tp_kick();
	}
	lmpi_run_done(&eng);
}

void
lmpi_irecv(struct lmpi_req *req, void *buf, uint64_t cap, int source, int tag, uint64_t cid)
{
	if (lmpi_engine_irecv(&eng, req, buf, cap, source, tag, cid))
		coll_received();
}

void
lmpi_mrecv(struct lmpi_req *req, void *buf, uint64_t cap, void *message)
{
	lmpi_engine_mrecv(&eng, req, buf, cap, message);
	coll_received();
}

void
lmpi_calls_init(void)
{
	uint32_t rate = lmpi_cycles_per_us();

	lmpi_patience_init(&patience, rate);
	whole.most = (uint64_t)rate * WHOLE_US;
	whole.turned = lmpi_cycles();
}

/* A turn of the loop instead of looking at one ring. */
static bool
whole_turn(bool due, uint64_t now)
{
	lmpi_patience_turned(&patience, due, now - whole.turned);
	whole.turned = now;
	return false;
}

/* After so many looks: read the clock, which what comes at once does without.  Returns since when
 * the message is looked for; 0: long enough. */
static uint64_t __attribute__((noinline)) whole_goes_on(uint64_t since)
{
	whole.looked = lmpi_cycles();
	if (since == 0)
		since = whole.looked;
	if (whole.looked - since < patience.bound)
		return since;
	whole.missed = since;
	whole_turn(false, whole.looked);
	return 0;
}

void
lmpi_recv_waited(void)
{
	if (whole.missed == 0)
		return;
	lmpi_patience_waited(&patience, lmpi_cycles() - whole.missed);
	whole.missed = 0;
}

bool
lmpi_recv_whole(void *buf, uint64_t cap, uint32_t source_world, int source, int tag, uint64_t cid,
		bool wait, struct lmpi_probed *out)
{
	const struct lmpi_peer *peer = &eng.peer[source_world];
	uint64_t since = 0;
	int r;

	/* Nothing that came before may be meant, nobody else may be waiting; and everybody else
	 * gets turns of the loop, too. */
	if (!(peer->caps & LMPI_CAP_MEMORY) || eng.match.unexpected != 0 ||
	    eng.match.posted_n != 0 || eng.pending || eng.careful)
		return false;
	if (lmpi_patience_turn_due(&patience))
		return whole_turn(true, lmpi_cycles());
	if (lmpi_world.node_size < lmpi_world.size) {
		uint64_t now = lmpi_cycles();
		if (now - whole.turned > whole.most)
			return whole_turn(false, now);
	}
	/* Who has the core, or the lock, is perhaps who keeps the sender from sending. */
	wait = wait && !lmpi_lock_shared && !lmpi_crowded();
	for (uint32_t looks = 1;; looks++) {
		r = lmpi_shm_recv_brief(peer, cid, source, tag, buf, cap, out);
		if (r != 0 || !wait)
			break;
		if (looks % LMPI_PATIENCE_LOOKS == 0 && (since = whole_goes_on(since)) == 0)
			return false;
		__builtin_ia32_pause();
	}
	if (since != 0)
		lmpi_patience_waited(&patience, whole.looked - since);
	if (r != 1)
		return false;
	eng.arrivals++;
	eng.n.recvs[LMPI_REACH_SHM]++;
	return true;
}

bool
lmpi_cancel_recv(struct lmpi_req *req)
{
	if (!lmpi_engine_cancel_recv(&eng, req))
		return false;
	lmpi_run_done(&eng);
	return true;
}

static bool
recv_has_outcome(void *arg)
{
	const struct lmpi_req *req = arg;

	return req->done || lmpi_is_pending(&eng, req);
}

void
lmpi_wait_recv(struct lmpi_req *req)
{
	lmpi_wait_done(recv_has_outcome, req);
	if (!req->done && lmpi_cancel_recv(req)) {
		req->cancelled = false;
		req->error = LMPI_ERR_PROC_FAILED;
	}
}

int
lmpi_probe_error(int source, uint64_t cid)
{
	if (!eng.troubled)
		return LMPI_OK;
	if (lmpi_is_void(&eng, cid))
		return LMPI_ERR_REVOKED;
	if (!eng.tolerant)
		return LMPI_OK;
	if (source == LMPI_ANY_SOURCE)
		return eng.tolerant->unacked(&eng, cid) ? LMPI_ERR_PROC_FAILED_PENDING : LMPI_OK;
	uint32_t world = eng.tolerant->world_of(&eng, cid, source);
	return world < eng.size && eng.peer[world].lost ? LMPI_ERR_PROC_FAILED : LMPI_OK;
}

void
lmpi_cancel_send(struct lmpi_req *req)
{
	lmpi_engine_cancel_send(&eng, req);
	settle_coll();
}

bool
lmpi_iprobe(int source, int tag, uint64_t cid, bool take, struct lmpi_probed *out)
{
	return lmpi_engine_iprobe(&eng, source, tag, cid, take, out);
}

void
lmpi_serve(lmpi_service_fn *fn, uint64_t more)
{
	eng.handler = fn;
	eng.service_more = more;
}

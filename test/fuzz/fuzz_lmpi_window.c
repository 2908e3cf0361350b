/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of one-sided communication as a process of the job might send them: whatever they
 * say, nothing outside the window is touched.  A malformed one ends the job, here this
 * input.  The engine is the test's: what is sent disappears, bulk data comes whole, in part, longer
 * than announced or not at all, because its sender has died. */
#include <sanitizer/lsan_interface.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "lmpi_no_light.h"
#include "lmpi_no_others.h"
#include "lmpi_no_survivors.h"
#include "lmpi_no_windows.h"
#include "rma.h"

enum { SIZE = 4096, RECEIVES = 64, CID = 16 };

struct lmpi_world lmpi_world;
struct lmpi_stats lmpi_stats;
static const struct lmpi_client clients[1] = {{.nhosts = 1, .nprocs = 2}};
static const struct lmpi_proc procs[2] = {{.reach = LMPI_REACH_SELF}, {.reach = LMPI_REACH_DIRECT}};
static jmp_buf ended;
static struct lmpi_req *receives[RECEIVES], *sends[RECEIVES];
static int nreceives, nsends;

/* ---- an engine */

void
lmpi_isend(struct lmpi_req *req, const void *data, uint64_t len, uint32_t dest, int lsrank, int tag,
	   uint64_t cid, enum lmpi_mode mode)
{
	static volatile char sum;

	(void)dest;
	(void)lsrank;
	(void)tag;
	(void)cid;
	(void)mode;
	for (uint64_t i = 0; i < len; i++) /* a sanitizer is to see that it may be read */
		sum = (char)(sum + ((const char *)data)[i]);
	if (nsends == RECEIVES)
		longjmp(ended, 1);
	sends[nsends++] = req;
}

void
lmpi_irecv(struct lmpi_req *req, void *buf, uint64_t cap, int source, int tag, uint64_t cid)
{
	(void)source;
	(void)tag;
	(void)cid;
	if (nreceives == RECEIVES)
		longjmp(ended, 1);
	req->buf = buf;
	req->cap = cap;
	receives[nreceives++] = req;
}

_Noreturn void
lmpi_engine_abort(int code, const char *why)
{
	(void)code;
	(void)why;
	longjmp(ended, 1);
}

static void
finish(struct lmpi_req *req)
{
	req->done = true;
	req->on_done(req);
}

/* Never asked for by a packet. */
void
lmpi_push(void)
{
}

void
lmpi_wait(const volatile bool *flag)
{
	if (!*flag)
		abort();
}

void
lmpi_wait_done(bool (*done)(void *arg), void *arg)
{
	if (!done(arg))
		abort();
}

void
lmpi_wait_for(bool (*ready)(void *arg), void *arg)
{
	if (!ready(arg))
		abort();
}

bool
lmpi_progress(void)
{
	return false;
}

bool
lmpi_poke(void)
{
	return false;
}

bool
lmpi_cancel_recv(struct lmpi_req *req)
{
	(void)req;
	abort();
}

void
lmpi_cancel_send(struct lmpi_req *req)
{
	(void)req;
	abort();
}

void
lmpi_mrecv(struct lmpi_req *req, void *buf, uint64_t cap, void *message)
{
	(void)message;
	lmpi_irecv(req, buf, cap, 0, 0, 0);
}

bool
lmpi_iprobe(int source, int tag, uint64_t cid, bool take, struct lmpi_probed *out)
{
	(void)source;
	(void)tag;
	(void)cid;
	(void)take;
	(void)out;
	return false;
}

int
lmpi_engine_init(void)
{
	return MPI_ERR_OTHER;
}

void
lmpi_engine_quiesce(void)
{
}

int
lmpi_engine_fini(void)
{
	return MPI_SUCCESS;
}

double
lmpi_wtime(void)
{
	return 0;
}

double
lmpi_wtick(void)
{
	return 1;
}

/* A packet that makes no sense ends the job in mid-work, and here a longjmp leaves what it
 * had in hand. */
int
__lsan_is_turned_off(void)
{
	return 1;
}

/* ---- one window of two processes, of which this is the first */

static struct lmpi_win *win;

static void
open_window(int flavor, char *memory)
{
	static struct rma_region region;
	struct lmpi_group *g = lmpi_group_new(2);

	g->world[0] = 0;
	g->world[1] = 1;
	lmpi_group_ready(g);
	if (lmpi_rma_win_new(lmpi_comm_new(g, CID, NULL), flavor, NULL, &win) != MPI_SUCCESS)
		abort();
	win->size = SIZE;
	win->mine.room = (struct lmpi_room){.early = SIZE, .behind = 2 * SIZE, .results = 2 * SIZE};
	win->open = memory != NULL;
	if (!win->open)
		return; /* the part is still being made: its memory is nowhere yet */
	win->base = memory;
	win->peer[0].ctl = &win->own_ctl;
	region = (struct rma_region){NULL, (uintptr_t)memory, SIZE};
	win->regions = flavor == MPI_WIN_FLAVOR_DYNAMIC ? &region : NULL;
}

enum { COME = 1, PART = 2, LOST = 4, LONGER = 8, STAY = 16 };

/* Bulk data comes for whatever waits for it; what is sent is out, unless nobody takes it. */
static void
settle(int how)
{
	while ((how & COME) && nreceives > 0) {
		struct lmpi_req *r = receives[--nreceives];

		r->bytes = how & PART ? r->cap / 2 : r->cap;
		if (r->bytes > 0)
			memset(r->buf, 7, r->bytes);
		if (how & LOST)
			r->error = LMPI_ERR_PROC_FAILED;
		else if ((how & LONGER) || r->cap == 0)
			r->error = LMPI_ERR_TRUNCATE;
		finish(r);
	}
	while (!(how & STAY) && nsends > 0)
		finish(sends[--nsends]);
}

/* An input is a list of packets: 2 bytes of length, 1 byte that says whether and how bulk data
 * comes behind it, the packet. */
static void
play(const uint8_t *data, size_t size, const char *memory)
{
	static _Alignas(16) char packet[1024];

	while (size > 3) {
		size_t len = (size_t)(data[0] | data[1] << 8) % sizeof(packet);
		int how = data[2];
		struct rma_packet p;

		data += 3;
		size -= 3;
		len = len < size ? len : size;
		memcpy(packet, data, len);
		data += len;
		size -= len;
		if (len >= sizeof(p)) {
			memcpy(&p, packet, sizeof(p));
			p.win = CID;
			p.rank = 1;
			p.kind %= RMA_KINDS;
			p.bytes %= 3 * SIZE;
			if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
				p.at = (uint64_t)(uintptr_t)memory + p.at % (2 * SIZE) - SIZE / 2;
			memcpy(packet, &p, sizeof(p));
		}
		lmpi_rma_on_packet(1, packet, len);
		settle(how);
		if (win->peer[1].t.held != LMPI_LOCK_FREE)
			abort(); /* a lock that nobody has asked for */
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *memory = calloc(1, SIZE); /* exactly the window */

	if (lmpi_world.size == 0) {
		lmpi_world = (struct lmpi_world){.size = 2,
						 .client_size = 2,
						 .nclients = 1,
						 .clients = clients,
						 .proc = procs};
		lmpi_types_init();
	}
	nreceives = nsends = 0;
	open_window(size > 0 && data[0] & 1 ? MPI_WIN_FLAVOR_DYNAMIC : MPI_WIN_FLAVOR_CREATE,
		    size > 0 && data[0] & 2 ? NULL : memory);
	if (setjmp(ended) == 0 && size > 1)
		play(data + 1, size - 1, memory);
	/* Nothing waits in a window that goes. */
	while (nreceives + nsends > 0)
		if (setjmp(ended) == 0)
			settle(COME);
	win->regions = NULL;
	lmpi_rma_win_destroy(win);
	free(memory);
	return 0;
}

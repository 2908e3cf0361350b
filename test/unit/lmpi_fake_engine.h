/* SPDX-License-Identifier: BSD-2-Clause */
/* An engine without transports for tests of the surface: a job of five processes, one
 * per client, of which this one is rank 0:
 *
 *	0  libmpi, this process		2 3 4  foreign, in representations the test sets
 *	1  libmpi, another client
 *
 * What is sent is kept to be looked at, and is done at once; what arrives is what the
 * test says.  Nothing waits: a wait for something that has not happened fails. */
#ifndef LMPI_FAKE_ENGINE_H
#define LMPI_FAKE_ENGINE_H

#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "lmpi_no_light.h"
#include "lmpi_no_others.h"
#include "lmpi_no_survivors.h"
#include "lmpi_no_windows.h"
#include "mpi.h"

enum { FAKE_PROCS = 5, FAKE_BYTES = 1 << 16, FAKE_QUEUE = 16 };

struct lmpi_world lmpi_world;
struct lmpi_stats lmpi_stats;

static struct lmpi_client fake_clients[FAKE_PROCS];
static struct lmpi_proc fake_procs[FAKE_PROCS];

/* The last message sent. */
static struct {
	int count;  /* messages so far */
	int pushed; /* how often lmpi_push() was called */
	const void *at;
	uint64_t len;
	uint32_t dest;
	int tag;
	enum lmpi_mode mode;
	unsigned char bytes[FAKE_BYTES];
} fake_sent;

/* The last receive posted: where and how much. */
static struct {
	void *at;
	uint64_t cap;
} fake_posted;

struct fake_message {
	bool used, taken;
	int source, tag;
	uint64_t cid, len;
	unsigned char bytes[512];
};
static struct fake_message fake_inbox[FAKE_QUEUE];
static struct lmpi_req *fake_receives[FAKE_QUEUE];

static inline void
fake_finish(struct lmpi_req *req)
{
	req->done = true;
	if (req->on_done != NULL)
		req->on_done(req);
}

static inline void
fake_deliver(struct lmpi_req *req, const struct fake_message *m)
{
	uint64_t n = m->len < req->cap ? m->len : req->cap;

	if (n != 0)
		memcpy(req->buf, m->bytes, n);
	req->source = m->source;
	req->tag = m->tag;
	req->bytes = m->len;
	req->error = m->len > req->cap ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
	fake_finish(req);
}

static inline bool
fake_matches(const struct fake_message *m, int source, int tag, uint64_t cid)
{
	return m->used && !m->taken && m->cid == cid &&
	       (source == LMPI_ANY_SOURCE || source == m->source) &&
	       (tag == LMPI_ANY_TAG || tag == m->tag);
}

static inline struct fake_message *
fake_find(int source, int tag, uint64_t cid)
{
	for (int i = 0; i < FAKE_QUEUE; i++)
		if (fake_matches(&fake_inbox[i], source, tag, cid))
			return &fake_inbox[i];
	return NULL;
}

/* A message on MPI_COMM_WORLD arrives. */
static inline void
fake_arrive(int source, int tag, const void *bytes, uint64_t len)
{
	struct fake_message m = {.used = true, .source = source, .tag = tag, .len = len};

	assert_true(len <= sizeof(m.bytes));
	if (len != 0)
		memcpy(m.bytes, bytes, len);
	for (int i = 0; i < FAKE_QUEUE; i++) {
		struct lmpi_req *r = fake_receives[i];

		if (r != NULL && fake_matches(&m, r->source, r->tag, r->cid)) {
			fake_receives[i] = NULL;
			fake_deliver(r, &m);
			return;
		}
	}
	for (int i = 0; i < FAKE_QUEUE; i++)
		if (!fake_inbox[i].used) {
			fake_inbox[i] = m;
			return;
		}
	fail_msg("the inbox is full");
}

/* Representations of ranks 2, 3 and 4; foreign: whether anybody is foreign at all. */
static inline void
fake_world(bool foreign, enum lmpi_rep two, enum lmpi_rep three, enum lmpi_rep four)
{
	const enum lmpi_rep reps[FAKE_PROCS] = {0, 0, two, three, four};

	for (uint32_t i = 0; i < FAKE_PROCS; i++) {
		fake_procs[i] = (struct lmpi_proc){
			.reach = i ? LMPI_REACH_TCP : LMPI_REACH_SELF, .client = i, .host = i};
		fake_clients[i] = (struct lmpi_client){.foreign = foreign && i >= 2,
						       .rep = foreign ? reps[i] : LMPI_REP_NATIVE,
						       .nhosts = 1,
						       .nprocs = 1,
						       .first_rank = i};
	}
	lmpi_world = (struct lmpi_world){.size = FAKE_PROCS,
					 .nclients = FAKE_PROCS,
					 .nhosts = FAKE_PROCS,
					 .client_size = 1,
					 .node_size = 1,
					 .tag_ub = INT32_MAX,
					 .coll_xsize = 1024,
					 .coll_maxlinear = 4,
					 .universe_size = FAKE_PROCS,
					 .any_foreign = foreign,
					 .clients = foreign ? fake_clients : NULL,
					 .proc = fake_procs};
}

/* ---- engine.h */

int
lmpi_engine_init(void)
{
	fake_world(false, 0, 0, 0);
	return 0;
}

void
lmpi_engine_quiesce(void)
{
}

int
lmpi_engine_fini(void)
{
	return 0;
}

void
lmpi_engine_abort(int code, const char *why)
{
	fprintf(stderr, "aborted with %d: %s\n", code, why);
	abort();
}

void
lmpi_isend(struct lmpi_req *req, const void *data, uint64_t len, uint32_t dest, int lsrank, int tag,
	   uint64_t cid, enum lmpi_mode mode)
{
	(void)lsrank;
	(void)cid;
	assert_true(len <= FAKE_BYTES && dest < FAKE_PROCS);
	fake_sent.count++;
	fake_sent.at = data;
	fake_sent.len = len;
	fake_sent.dest = dest;
	fake_sent.tag = tag;
	fake_sent.mode = mode;
	if (len != 0)
		memcpy(fake_sent.bytes, data, len);
	fake_finish(req);
}

void
lmpi_irecv(struct lmpi_req *req, void *buf, uint64_t cap, int source, int tag, uint64_t cid)
{
	struct fake_message *m = fake_find(source, tag, cid);

	req->buf = buf;
	req->cap = cap;
	req->source = source;
	req->tag = tag;
	req->cid = cid;
	fake_posted.at = buf;
	fake_posted.cap = cap;
	if (m != NULL) {
		m->used = false;
		fake_deliver(req, m);
		return;
	}
	for (int i = 0; i < FAKE_QUEUE; i++)
		if (fake_receives[i] == NULL) {
			fake_receives[i] = req;
			return;
		}
	fail_msg("too many receives");
}

bool
lmpi_cancel_recv(struct lmpi_req *req)
{
	for (int i = 0; i < FAKE_QUEUE; i++)
		if (fake_receives[i] == req) {
			fake_receives[i] = NULL;
			req->cancelled = true;
			fake_finish(req);
			return true;
		}
	return false;
}

void
lmpi_cancel_send(struct lmpi_req *req)
{
	(void)req;
}

bool
lmpi_iprobe(int source, int tag, uint64_t cid, bool take, struct lmpi_probed *out)
{
	struct fake_message *m = fake_find(source, tag, cid);

	if (m == NULL)
		return false;
	m->taken = take;
	*out = (struct lmpi_probed){m->source, m->tag, m->len, take ? m : NULL};
	return true;
}

void
lmpi_mrecv(struct lmpi_req *req, void *buf, uint64_t cap, void *message)
{
	struct fake_message *m = message;

	req->buf = buf;
	req->cap = cap;
	fake_posted.at = buf;
	fake_posted.cap = cap;
	m->used = m->taken = false;
	fake_deliver(req, m);
}

bool
lmpi_progress(void)
{
	return false;
}

bool
lmpi_poke(void)
{
	return lmpi_progress();
}

void
lmpi_wait(const volatile bool *flag)
{
	assert_true(*flag);
}

void
lmpi_push(void)
{
	fake_sent.pushed++;
}

void
lmpi_wait_done(bool (*done)(void *arg), void *arg)
{
	assert_true(done(arg));
}

void
lmpi_wait_for(bool (*ready)(void *arg), void *arg)
{
	assert_true(ready(arg));
}

uint64_t
lmpi_job_token(void)
{
	return 1;
}

double
lmpi_wtime(void)
{
	return 0;
}

double
lmpi_wtick(void)
{
	return 1e-9;
}

/* No variables for tools. */
size_t
lmpi_gauges(const struct lmpi_gauge **gauges)
{
	*gauges = NULL;
	return 0;
}

const struct lmpi_live_knob *
lmpi_live_knob(enum lmpi_knob k)
{
	(void)k;
	return NULL;
}

#endif

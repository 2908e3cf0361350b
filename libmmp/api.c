/* SPDX-License-Identifier: BSD-2-Clause */
/* MP_*: the program's side. */
#include "mmp_internal.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GENERATIONS ((int64_t)1 << 30)
#define INDEX_BITS  20

struct mmp *mmp_g;
static uint32_t generation[MMP_RECEIVES_MAX];
static bool was_up;

/* ---- beginning and end ---- */

static void
dismantle(struct mmp *m)
{
	mmp_net_close(m);
	free(m->engine_mem);
	free(m->port_mem);
	for (int i = 0; i < 4; i++)
		free(m->ring[i]);
	mmp_share_free(&m->share);
	mmp_job_end(&m->job);
	free(m->peer);
	free(m);
}

static int
make_engine(struct mmp *m)
{
	for (int i = 0; i < 4; i++) {
		m->ring[i] = aligned_alloc(64, mmp_ring_bytes(MMP_RING_SLOTS));
		if (!m->ring[i])
			return mmp_fail(ENOMEM, "out of memory");
		memset(m->ring[i], 0, mmp_ring_bytes(MMP_RING_SLOTS));
	}
	struct mmp_rings rings = {m->ring[0], m->ring[1], m->ring[2], m->ring[3]};
	struct mmp_engine_config e = {.rank = m->job.rank,
				      .size = m->job.size,
				      .rings = rings,
				      .send_half = m->share.area,
				      .recv_half = m->share.area + m->share.half,
				      .recv_bytes = m->share.half,
				      .ops = &mmp_net_ops,
				      .user = m};
	struct mmp_port_config p = {.rank = m->job.rank,
				    .size = m->job.size,
				    .rings = rings,
				    .send_half = m->share.area,
				    .send_bytes = m->share.half,
				    .fragment = m->env.fragment};
	m->engine_mem = calloc(1, mmp_engine_footprint(m->job.size));
	m->port_mem = calloc(1, mmp_port_footprint(m->job.size));
	if (!m->engine_mem || !m->port_mem)
		return mmp_fail(ENOMEM, "out of memory for %u processes", m->job.size);
	m->engine = mmp_engine_new(m->engine_mem, &e);
	m->port = mmp_port_new(m->port_mem, &p);
	if (mmp_engine_share(m->engine) < MMP_FRAGMENT_LEAST)
		return mmp_fail(ENOMEM,
				"an area of %llu bytes is too small for %u processes: set "
				"LIBMMP_AREA",
				(unsigned long long)m->env.area_bytes, m->job.size);
	return 0;
}

static uint32_t
count_near(const struct mmp *m)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < m->job.size; i++)
		n += i != m->job.rank && mmp_job_same_node(&m->job, i, m->job.rank);
	return n;
}

static int
not_met(const struct mmp *m)
{
	uint32_t missing = m->job.size - 1 - m->ups, i = 0;
	char place[MMP_PLACE_TEXT], why[WHY_MAX];
	if (m->sites && !m->sites->known)
		return mmp_fail(ETIMEDOUT,
				"the sites have not met after %llu s (LIBMMP_START_S): %s",
				(unsigned long long)m->env.start_s, mmp_meeting_waits(m, why));
	while (i == m->job.rank || m->peer[i].up)
		i++;
	return mmp_fail(ETIMEDOUT,
			"%u of %u processes are not there after %llu s (LIBMMP_START_S); the first "
			"is rank %u at %s, which %s",
			missing, m->job.size, (unsigned long long)m->env.start_s, i,
			mmp_job_place(&m->job, i, place),
			m->peer[i].why[0] ? m->peer[i].why : "has not called");
}

/* Until there is a path to everybody. */
static int
meet(struct mmp *m)
{
	uint64_t deadline = suci_udp_now_ns() + m->env.start_s * BASE_S_NS;
	while (m->ups + 1 < m->job.size) {
		/* A turn may end an open, as where nobody was at that address yet: when it is to be
		 * tried again is known behind it only. */
		bool moved = mmp_turn(m);
		uint64_t next = mmp_net_connect(m);
		if (m->sites)
			next = base_min_ns(next, mmp_meeting_look(m));
		if (m->sites && m->sites->failed)
			return mmp_fail(ECONNREFUSED, "%s", m->sites->why);
		if (moved || m->dirty)
			continue;
		if (m->now_ns >= deadline)
			return not_met(m);
		for (uint32_t i = 0; i < m->job.size; i++)
			if (m->peer[i].over)
				return not_met(m);
		mmp_engine_sleep(m, base_min_ns(next, deadline));
	}
	return 0;
}

static bool
wants_thread(const struct mmp *m)
{
	cpu_set_t set;
	long cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
	if (m->env.thread >= 0)
		return m->env.thread;
	return m->job.size > 1 && cpus >= 2 * (long)(count_near(m) + 1);
}

static int
start_library(struct mmp *m, const char *hosts)
{
	if (mmp_env_read(&m->env) || mmp_job_begin(&m->job, &m->env, hosts) || mmp_net_open(m) ||
	    mmp_job_meet(&m->job, suci_udp_local(m->udp).port))
		return -1;
	m->peer = calloc(m->job.size, sizeof *m->peer);
	if (!m->peer)
		return mmp_fail(ENOMEM, "out of memory");
	m->nears = m->env.share ? count_near(m) : 0;
	m->threaded = wants_thread(m);
	if (mmp_share_make(&m->share, &m->env, m->nears) || make_engine(m) || mmp_net_start(m))
		return -1;
	for (uint32_t i = 0; i < m->job.size; i++)
		mmp_port_set_fragment(m->port, i, mmp_default_fragment(m, i));
	if (meet(m))
		return -1;
	mmp_stored_read(m);
	return m->threaded ? mmp_thread_start(m) : 0;
}

int
MP_init(const char *hosts)
{
	if (mmp_g || was_up)
		return mmp_fail(EALREADY, "MP_init was called before");
	struct mmp *m = calloc(1, sizeof *m);
	if (!m)
		return mmp_fail(ENOMEM, "out of memory");
	m->share = (struct mmp_share){.page_fd = -1, .area_fd = -1, .bell = {-1, -1}};
	if (start_library(m, hosts)) {
		int err = errno;
		dismantle(m);
		errno = err;
		return -1;
	}
	mmp_g = m;
	was_up = true;
	return 0;
}

static int
enter_library(void)
{
	return mmp_g ? 0 : mmp_fail(EINVAL, "MP_init first");
}

int
MP_rank(void)
{
	return enter_library() ? -1 : (int)mmp_g->job.rank;
}

int
MP_size(void)
{
	return enter_library() ? -1 : (int)mmp_g->job.size;
}

int
MP_finalize(void)
{
	if (enter_library())
		return -1;
	struct mmp *m = mmp_g;
	int r = MP_barrier(), err = errno;
	mmp_thread_stop(m);
	dismantle(m);
	mmp_g = NULL;
	errno = err;
	return r;
}

/* ---- sending and receiving ---- */

static mp_handle
mmp_handle_of(uint32_t request, bool kept)
{
	return (mp_handle)generation[request] << INDEX_BITS | request | (kept ? MP_KEPT : 0);
}

/* NONE: no such handle. */
static uint32_t
request_of(mp_handle h)
{
	h &= ~MP_KEPT;
	uint32_t i = (uint32_t)(h & ((1 << INDEX_BITS) - 1));
	if (h < 0 || i >= MMP_RECEIVES_MAX || !mmp_port_valid(mmp_g->port, i) ||
	    (h >> INDEX_BITS) != generation[i]) {
		mmp_fail(EINVAL, "there is no such handle: it was waited for before, or never was");
		return NONE;
	}
	return i;
}

void
mmp_request_forget(uint32_t i)
{
	generation[i] = (uint32_t)((generation[i] + 1) % GENERATIONS);
	mmp_port_forget(mmp_g->port, i);
}

static int
check(int rank, int tag, const void *buf, uint64_t n, bool receives)
{
	int size = (int)mmp_g->job.size;
	if (rank >= size || rank < (receives ? MP_ANY : 0))
		return mmp_fail(EINVAL, "there is no rank %d: they are 0 .. %d", rank, size - 1);
	if (tag < (receives ? MP_ANY : 0))
		return mmp_fail(EINVAL, "tag %d is negative", tag);
	if (n > MMP_MESSAGE_MAX || (n && !buf))
		return mmp_fail(EINVAL, "%llu bytes at %p are no message", (unsigned long long)n,
				buf);
	return 0;
}

int
mmp_gone(uint32_t peer)
{
	const struct mmp_peer *p = &mmp_g->peer[peer];
	char place[MMP_PLACE_TEXT];
	int err = atomic_load_explicit(&p->gone, memory_order_acquire);
	return mmp_fail(err ? err : ECONNRESET, "rank %u (%s) %s", peer,
			mmp_job_place(&mmp_g->job, peer, place),
			err && p->why[0] ? p->why : "is gone");
}

static int
too_many(void)
{
	return mmp_fail(ENOBUFS, "%u sends and receives have not been waited for",
			MMP_RECEIVES_MAX);
}

static mp_handle
send_words(int to, int tag, const void *buf, uint64_t n)
{
	struct mmp *m = mmp_g;
	if (atomic_load_explicit(&m->peer[to].gone, memory_order_acquire))
		return mmp_gone((uint32_t)to);
	uint32_t i = mmp_port_send(m->port, (uint32_t)to, 0, tag, buf, n);
	if (i == MMP_NONE)
		return too_many();
	uint64_t idle = 0;
	bool kept = n > mmp_port_short(m->port);
	mmp_progress(m);
	while (!kept && !mmp_port_copied(m->port, i))
		mmp_wait_step(m, &idle);
	mmp_watch(m);
	return mmp_handle_of(i, kept);
}

mp_handle
MP_send_tag(int to, int tag, const void *buf, uint64_t n)
{
	return enter_library() || check(to, tag, buf, n, false) ? -1 : send_words(to, tag, buf, n);
}

mp_handle
MP_send_bare(int to, uint64_t n)
{
	return enter_library() || check(to, 0, "", n, false) ? -1 : send_words(to, 0, NULL, n);
}

mp_handle
MP_receive_tag(int from, int tag, void *buf, uint64_t n)
{
	if (enter_library() || check(from, tag, buf, n, true))
		return -1;
	uint32_t i = mmp_port_receive(mmp_g->port, from, 0, tag, buf, n);
	if (i == MMP_NONE)
		return too_many();
	/* Inline the engine hears of it at its next turn, before it looks what has come. */
	if (mmp_g->thread_runs)
		mmp_progress(mmp_g);
	return mmp_handle_of(i, false);
}

mp_handle
MP_send(int to, const void *buf, uint64_t n)
{
	return MP_send_tag(to, 0, buf, n);
}

mp_handle
MP_receive(int from, void *buf, uint64_t n)
{
	return MP_receive_tag(from, 0, buf, n);
}

/* ---- waiting ---- */

static int64_t
finish_call(uint32_t i, const struct mmp_result *r, struct mp_status *status)
{
	mmp_request_forget(i);
	if (status)
		*status = (struct mp_status){.rank = (int)r->rank,
					     .tag = (int)r->tag,
					     .bytes = r->bytes,
					     .error = r->error};
	if (r->error == EMSGSIZE)
		return mmp_fail(EMSGSIZE,
				"the message of rank %u has %llu bytes, more than its receive",
				r->rank, (unsigned long long)r->bytes);
	return r->error ? mmp_gone(r->rank) : (int64_t)r->bytes;
}

int64_t
MP_wait(mp_handle h, struct mp_status *status)
{
	struct mmp_result r;
	uint64_t idle = 0;
	uint32_t i = enter_library() ? NONE : request_of(h);
	if (i == NONE)
		return -1;
	while (!mmp_port_done(mmp_g->port, i, &r))
		mmp_wait_step(mmp_g, &idle);
	mmp_watch(mmp_g);
	return finish_call(i, &r, status);
}

int
MP_test(mp_handle h, struct mp_status *status)
{
	struct mmp_result r;
	uint32_t i = enter_library() ? NONE : request_of(h);
	if (i == NONE)
		return -1;
	mmp_progress(mmp_g);
	if (!mmp_port_done(mmp_g->port, i, &r))
		return 0;
	return finish_call(i, &r, status) < 0 ? -1 : 1;
}

int
MP_waitall(int n, const mp_handle *handle, struct mp_status *status)
{
	int bad = 0, err = 0;
	for (int i = 0; i < n; i++) {
		if (MP_wait(handle[i], status ? &status[i] : NULL) >= 0)
			continue;
		err = bad++ ? err : errno;
	}
	errno = bad ? err : errno;
	return bad ? -1 : 0;
}

/* ---- barrier: in round r each tells the one 2^r further on ---- */

static int
barrier_round(struct mmp *m, uint32_t to, uint32_t from, int32_t round)
{
	struct mmp_result r = {0};
	uint64_t idle = 0;
	uint32_t in = mmp_port_receive(m->port, (int32_t)from, 1, round, NULL, 0);
	uint32_t out = mmp_port_send(m->port, to, 1, round, NULL, 0);
	int err = 0;
	if (in == MMP_NONE || out == MMP_NONE)
		return too_many();
	while (!mmp_port_done(m->port, out, &r))
		mmp_wait_step(m, &idle);
	err = r.error;
	mmp_request_forget(out);
	while (!mmp_port_done(m->port, in, &r))
		mmp_wait_step(m, &idle);
	mmp_request_forget(in);
	if (err || r.error)
		return mmp_gone(err ? to : from);
	return 0;
}

int
MP_barrier(void)
{
	if (enter_library())
		return -1;
	struct mmp *m = mmp_g;
	uint32_t n = m->job.size, me = m->job.rank;
	int32_t round = 0;
	int r = 0;
	for (uint32_t far = 1; far < n && !r; far *= 2, round++)
		r = barrier_round(m, (me + far) % n, (me + n - far % n) % n, round);
	return r;
}

/* ---- paths ---- */

int
MP_path(int peer, struct mp_path *out)
{
	struct mmp_engine_peer p;
	struct suci_path_info i;
	if (enter_library() || check(peer, 0, NULL, 0, false))
		return -1;
	struct mmp *m = mmp_g;
	const struct mmp_area *send = mmp_port_area(m->port), *recv = mmp_engine_area(m->engine);
	mmp_engine_get_peer(m->engine, (uint32_t)peer, &p);
	*out = (struct mp_path){.fragment = mmp_port_fragment(m->port, (uint32_t)peer),
				.run = p.near ? 0 : suci_udp_burst(m->udp),
				.area_bytes = m->share.half,
				.send_used = send->used,
				.send_used_max = send->used_max,
				.recv_used = recv->used,
				.recv_used_max = recv->used_max,
				.stalls = p.stalls,
				.straight = p.straight,
				.held = p.held,
				.sent_bytes = p.sent_bytes,
				.received_bytes = p.received_bytes,
				.bare_bps = m->peer[peer].bare_bps,
				.own_bps = m->peer[peer].own_bps,
				.shared = p.near,
				.up = p.up};
	if (!p.near && m->peer[peer].path != NONE && suci_path_info(m->ep, m->peer[peer].path, &i))
		out->rtt_ns = i.rtt_ns_min;
	return 0;
}

int
MP_set_fragment(int peer, uint64_t bytes)
{
	if (enter_library() || check(peer, 0, NULL, 0, false))
		return -1;
	/* From now on it is not the watch's. */
	mmp_g->peer[peer].stored = 0;
	mmp_port_set_fragment(mmp_g->port, (uint32_t)peer,
			      bytes ? bytes : mmp_default_fragment(mmp_g, (uint32_t)peer));
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings of the store (doc/tuning.md), and the watch over them.
 *
 * One watch for the process: its turns have all stored settings, or all defaults.  What a turn
 * moved is what has left the send half, so that the area's size does not count as speed. */
#include "mmp_internal.h"

#include "driver/tune_file.h"

#include <stdio.h>
#include <string.h>

#define TURN_NS (15 * BASE_MS_NS)

uint64_t
mmp_default_fragment(const struct mmp *m, uint32_t peer)
{
	bool near = m->peer[peer].is_near || peer == m->job.rank;
	return near ? m->env.fragment_near : m->env.fragment;
}

bool
mmp_stored_key(const struct mmp *m, uint32_t peer, struct tune_key *k)
{
	const struct mmp_peer *p = &m->peer[peer];
	const struct suci_addr *me = &m->job.place[m->job.rank].at;
	bool v4 = me->family == 4;
	struct suci_path_info i;
	if (peer == m->job.rank || p->elsewhere)
		return false;
	if (p->is_near) {
		tune_file_key(k, "shm", "mmp");
		return true;
	}
	if (!tune_file_key_ip(k, "udp", "mmp", me->ip + (v4 ? 12 : 0), v4 ? 4 : 16) ||
	    p->path == NONE || !suci_path_info(m->ep, p->path, &i))
		return false;
	k->rtt = tune_rtt_bucket(i.rtt_ns_min);
	return true;
}

/* Does this process speak for its node? */
static bool
speaks(const struct mmp *m)
{
	for (uint32_t i = 0; i < m->job.rank; i++)
		if (mmp_job_same_node(&m->job, i, m->job.rank))
			return false;
	return true;
}

/* Only a path that has been used knows its round trip: over a network, the row with the shortest.
 */
static void
find_stored(const struct mmp *m, uint32_t peer, struct tune_values *v)
{
	char why[TUNE_FILE_WHY] = "";
	struct tune_key k;
	if (!mmp_stored_key(m, peer, &k))
		return;
	if (!m->peer[peer].is_near)
		k.rtt = TUNE_RTT_ANY;
	(void)tune_file_find(&k, v, why);
	if (why[0] && speaks(m))
		fprintf(stderr, "libmmp: %s; using the defaults\n", why);
}

static void
use_stored(struct mmp *m, bool stored)
{
	m->watch_stored = stored;
	if (m->stored_run)
		atomic_store_explicit(&m->run, stored ? m->stored_run : 0, memory_order_relaxed);
	for (uint32_t i = 0; i < m->job.size; i++)
		if (m->peer[i].stored)
			mmp_port_set_fragment(m->port, i,
					      stored ? m->peer[i].stored
						     : mmp_default_fragment(m, i));
}

static void
turn_begins(struct mmp *m, uint64_t now_ns)
{
	m->turn_at_ns = now_ns;
	m->turn_pushed = mmp_port_pushed(m->port);
	m->turn_used = mmp_port_area(m->port)->used;
}

void
mmp_stored_read(struct mmp *m)
{
	struct tune_values of[2] = {0}; /* far, near */
	bool looked[2] = {false, false};
	for (uint32_t i = 0; i < m->job.size; i++) {
		bool near = m->peer[i].is_near;
		if (i == m->job.rank || m->peer[i].elsewhere)
			continue;
		if (!looked[near])
			find_stored(m, i, &of[near]);
		looked[near] = true;
		m->peer[i].stored = m->env.by_hand ? 0 : tune_value_or(&of[near], TUNE_FRAGMENT, 0);
		m->watched |= m->peer[i].stored && m->peer[i].stored != mmp_default_fragment(m, i);
	}
	m->stored_run = (uint32_t)tune_value_or(&of[0], TUNE_RUN, 0);
	m->watched |= m->stored_run != 0;
	if (!m->watched)
		return;
	uint64_t now = suci_udp_now_ns();
	tune_watch_start(&m->watch, now);
	use_stored(m, tune_watch_stored(&m->watch));
	turn_begins(m, now);
}

/* A turn lasts until what the one before left in the area weighs little. */
void
mmp_watch_look(struct mmp *m)
{
	uint64_t now = suci_udp_now_ns(), used = mmp_port_area(m->port)->used;
	m->looked = mmp_port_pushed(m->port);
	uint64_t pushed = m->looked - m->turn_pushed;
	if (now - m->turn_at_ns < TURN_NS || pushed < 2 * m->turn_used)
		return;
	uint64_t moved = pushed + m->turn_used;
	tune_watch_tell(&m->watch, moved > used ? moved - used : 0, now - m->turn_at_ns, 0, now);
	bool stored = tune_watch_stored(&m->watch);
	if (stored != m->watch_stored)
		use_stored(m, stored);
	m->watched = m->watch.trust != TUNE_STALE;
	turn_begins(m, now);
}

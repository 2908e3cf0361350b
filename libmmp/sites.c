/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranks of other sites: what the environment says of our relays, and what becomes of the ranks
 * (mmp/away.h). */
#include "mmp_internal.h"

#include "base/siphash.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define RELAY_LIVES  (10 * BASE_S_NS) /* it answers always */
#define INLINE_LIVES (60 * BASE_S_NS) /* unless we compute */

void
mmp_sites_fail(struct mmp *m, const char *fmt, ...)
{
	va_list ap;
	if (m->sites->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(m->sites->why, WHY_MAX, fmt, ap);
	va_end(ap);
	m->sites->failed = true;
	mmp_away_stop(m->sites->away);
}

/* ---- ranks ---- */

static void
rank_up(void *user, uint32_t rank)
{
	struct mmp *m = user;
	m->peer[rank].up = true;
	m->peer[rank].why[0] = '\0';
	m->ups++;
}

/* Until it is up for the first time the start may say so. */
static void
rank_paused(void *user, uint32_t rank, const char *why)
{
	struct mmp *m = user;
	if (!m->peer[rank].up)
		snprintf(m->peer[rank].why, WHY_MAX, "%s", why);
}

static void
rank_lost(void *user, uint32_t rank, const char *why)
{
	struct mmp *m = user;
	struct mmp_peer *p = &m->peer[rank];
	if (p->up) {
		mmp_net_down(m, rank, ECONNRESET, why);
	} else if (!p->over) {
		snprintf(p->why, WHY_MAX, "%s", why);
		p->over = true;
	}
}

static void
door_ready(void *user)
{
	struct mmp *m = user;
	const struct mmp_away *a = m->sites->away;
	if (m->sites->known)
		return;
	if (a->own[MMP_AWAY_OWN].state == DOOR_CLIENT_HAVE)
		mmp_meeting_opened(m);
	else
		mmp_sites_fail(m,
			       "our relay %.60s has no room for a door: is doors.max in its "
			       "configuration 0, or doors.per_process reached?",
			       m->env.relay);
}

static void
rank_0_reached(void *user, uint32_t label)
{
	mmp_meeting_at_door(user, label);
}

static void
rank_0_missed(void *user, const char *why)
{
	struct mmp *m = user;
	snprintf(m->sites->why, WHY_MAX, "rank 0 %.80s (LIBMMP_MEET)", why);
	mmp_meeting_lost(m);
}

static enum suci_verdict
meeting_called(void *user, uint32_t path, uint32_t dst, uint32_t src)
{
	return mmp_meeting_came(user, path, dst, src);
}

static bool
meeting_asked(void *user, uint32_t lane, const uint8_t *in, size_t len)
{
	return mmp_meeting_again(user, lane, in, len);
}

static void
meeting_left(void *user, uint32_t site, uint32_t label)
{
	mmp_meeting_left(user, site, label);
}

static const struct mmp_away_ops sites_away_ops = {.opened = door_ready,
						   .up = rank_up,
						   .paused = rank_paused,
						   .lost = rank_lost,
						   .met = rank_0_reached,
						   .missed = rank_0_missed,
						   .called = meeting_called,
						   .asked = meeting_asked,
						   .left = meeting_left};

void
mmp_sites_know(struct mmp *m)
{
	m->sites->known = true;
	mmp_away_know(m->sites->away, m->sites->card);
}

/* ---- the relays ---- */

void
mmp_sites_path_up(struct mmp *m, uint32_t path, const void *hello, size_t len)
{
	if (!mmp_away_path_up(m->sites->away, path, hello, len))
		mmp_sites_fail(m, "LIBMMP_RELAY=%.60s is not a relay", m->env.relay);
}

void
mmp_sites_path_down(struct mmp *m, uint32_t path, enum suci_down why, const char *text)
{
	struct mmp_sites *s = m->sites;
	struct door_sites *to = &s->away->sites;
	char name[SUCI_ADDR_TEXT_MAX];
	suci_addr_text(&to->site[door_sites_at(to, path)].relay, name);
	if (!s->known && why == SUCI_DOWN_REFUSED && to->n == 1)
		mmp_sites_fail(m, "our relay %s refuses us: %.60s", name, text ? text : "");
	mmp_away_path_down(s->away, path);
	mmp_meeting_lost(m);
	if (s->known || s->away->client.up)
		return;
	/* What was said to rank 0, or by it, names a door that comes back. */
	if (!s->failed)
		snprintf(s->why, WHY_MAX, "our relay %s does not answer on UDP: is relayd there?",
			 name);
}

enum suci_verdict
mmp_sites_came(struct mmp *m, uint32_t path, uint32_t dst, uint32_t src)
{
	if (m->closing)
		return SUCI_DROPPED;
	return mmp_sites_has(m, path) ? mmp_away_came(m->sites->away, path, dst, src)
				      : mmp_meeting_came(m, path, dst, src);
}

/* ---- turns ---- */

void
mmp_sites_turn(struct mmp *m)
{
	struct mmp_away *a = m->sites->away;
	mmp_away_turn(a, m->now_ns);
	m->dirty |= a->dirty;
	a->dirty = false;
}

uint64_t
mmp_sites_expiry_ns(const struct mmp *m)
{
	return m->sites ? mmp_away_expiry_ns(m->sites->away) : BASE_NEVER_NS;
}

/* ---- opening and closing ---- */

static int
make_away(struct mmp *m)
{
	static const uint8_t key[16] = "realm";
	uint32_t n = m->job.size, fars = 0;
	struct mmp_away_conf c = {
		.rank = m->job.rank,
		.size = n,
		.lanes_max = m->lanes_max,
		.job = m->job.meet_id,
		.me = {.share = mmp_engine_share(m->engine), .threaded = m->threaded},
		.live_ns = m->threaded ? RELAY_LIVES : INLINE_LIVES,
		.silence_ns = m->env.silence_s * BASE_S_NS,
		.wait_ns = m->env.relay_s * BASE_S_NS,
		.ep = m->ep,
		.lanes = &m->lanes,
		.engine = m->engine,
		.ops = &sites_away_ops,
		.user = m};
	bool *elsewhere = calloc(n, sizeof *elsewhere);
	for (uint32_t i = 0; elsewhere && i < n; i++)
		fars += elsewhere[i] = m->peer[i].elsewhere;
	c.elsewhere = elsewhere;
	c.relays = mmp_env_relays(&m->env, c.relay);
	if (m->env.realm)
		c.realm = base_siphash(key, m->env.realm, strlen(m->env.realm));
	void *mem = calloc(1, mmp_away_footprint(n, fars, m->lanes_max));
	bool good = elsewhere && mem &&
		    getrandom(c.secret, sizeof c.secret, 0) == (ssize_t)sizeof c.secret;
	m->sites->away_mem = mem;
	if (good)
		m->sites->away = mmp_away_new(mem, &c, m->now_ns);
	free(elsewhere);
	explicit_bzero(&c, sizeof c);
	return good ? 0 : mmp_fail(ENOMEM, "out of memory for %u processes", n);
}

/* Ours, which is of the kind of our socket. */
static int
match_relays(const struct mmp *m)
{
	const struct suci_addr *me = &m->job.place[m->job.rank].at;
	struct suci_addr relay[DOOR_CLIENT_SITES];
	char here[SUCI_ADDR_TEXT_MAX];
	if (!mmp_env_relays(&m->env, relay))
		return mmp_fail(
			EINVAL,
			"the job has %u sites: LIBMMP_RELAY=%.60s has to be " MMP_RELAY_WANTED,
			m->job.sites, m->env.relay ? m->env.relay : "");
	if (relay[0].family != me->family)
		return mmp_fail(EINVAL,
				"LIBMMP_RELAY=%.60s and this process, at %s, cannot talk: give the "
				"relay's address of the kind that the processes of this site have",
				m->env.relay, suci_addr_ip_text(me, here));
	return 0;
}

int
mmp_sites_open(struct mmp *m)
{
	if (match_relays(m))
		return -1;
	if (!m->env.meet)
		return mmp_fail(EINVAL,
				"the job has %u sites: LIBMMP_MEET has to be the file for "
				"the address of rank 0's door, or the address itself",
				m->job.sites);
	struct mmp_sites *s = calloc(1, sizeof *s);
	if (!s)
		return mmp_fail(ENOMEM, "out of memory");
	s->lane = NONE;
	s->card = calloc(m->job.size, sizeof *s->card);
	m->sites = s;
	if (!s->card || make_away(m)) {
		free(s->card);
		free(s->away_mem);
		free(s);
		m->sites = NULL;
		return mmp_fail(ENOMEM, "out of memory for %u processes", m->job.size);
	}
	if (mmp_meeting_begin(m))
		return -1;
	snprintf(s->why, WHY_MAX, "our relay %.60s has not answered", m->env.relay);
	return 0;
}

void
mmp_sites_close(struct mmp *m)
{
	struct mmp_sites *s = m->sites;
	if (!s)
		return;
	mmp_meeting_end(m);
	free(s->away_mem);
	free(s->card);
	free(s);
	m->sites = NULL;
}

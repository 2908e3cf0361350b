/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranks of other sites: our door at the relay of this one, and lanes to their doors. */
#include "private.h"

#include "base/siphash.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define OWN	     0u /* its place at the client */
#define LABELS	     2u /* fragments; the meeting */
#define LOOK_NS	     BASE_S_NS
#define RELAY_LIVES  (10 * BASE_S_NS) /* it answers always */
#define INLINE_LIVES (60 * BASE_S_NS) /* unless we compute */
#define RANK_LIVES   (70 * BASE_S_NS) /* one whose engine is a thread takes something meanwhile */
#define WINDOW_FIRST 256u
#define WINDOW_LEAST 64u
#define WINDOW_SUM   2048u
#define WINDOW_MAX   4096u

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
}

/* ---- ranks ---- */

/* Not up, or not any more. */
static void
lose_far_rank(struct mmp *m, uint32_t rank, const char *why)
{
	struct mmp_peer *p = &m->peer[rank];
	char word[WHY_MAX];
	snprintf(word, sizeof word, "%s", why);
	if (p->up) {
		mmp_net_down(m, rank, ECONNRESET, word);
	} else if (!p->over) {
		snprintf(p->why, WHY_MAX, "%s", word);
		p->over = true;
	}
	mmp_sites_drop(m, rank);
}

void
mmp_sites_drop(struct mmp *m, uint32_t rank)
{
	struct mmp_peer *p = &m->peer[rank];
	uint32_t lane = p->lane, import = p->import;
	p->lane = p->import = NONE;
	if (lane != NONE) {
		m->lanes.lane_peer[lane] = NONE;
		suci_lane_close(m->lanes.lanes, lane, m->now_ns);
	}
	if (import != NONE)
		door_client_drop(&m->sites->client, import);
	m->dirty = true;
}

static void
open_rank_lane(struct mmp *m, uint32_t rank, uint32_t label)
{
	struct mmp_sites *s = m->sites;
	struct mmp_peer *p = &m->peer[rank];
	uint32_t window = WINDOW_SUM / m->fars;
	struct mmp_doors d = {.own = s->own[OWN].at.label,
			      .label = label,
			      .mss = s->mss,
			      .window = window > WINDOW_FIRST	? WINDOW_FIRST
					: window < WINDOW_LEAST ? WINDOW_LEAST
								: window,
			      .window_max = WINDOW_MAX};
	if (p->up || p->over)
		return;
	if (mmp_lanes_open_doors(&m->lanes, rank, s->path, &d, &p->lane, m->now_ns)) {
		p->lane = NONE;
		lose_far_rank(m, rank, "has no lane");
		return;
	}
	p->up = true;
	m->ups++;
	p->why[0] = '\0';
	mmp_engine_up(m->engine, rank, false, s->card[rank].share);
}

bool
mmp_sites_import(struct mmp *m, uint32_t rank, const struct door_address *at)
{
	struct mmp_peer *p = &m->peer[rank];
	if (p->import == NONE)
		p->import = door_client_import(&m->sites->client, at, OWN, rank);
	return p->import != NONE;
}

void
mmp_sites_know(struct mmp *m)
{
	struct mmp_sites *s = m->sites;
	s->known = true;
	for (uint32_t i = 0; i < m->job.size; i++) {
		struct mmp_peer *p = &m->peer[i];
		struct door_address at;
		if (!p->elsewhere || p->over)
			continue;
		int err = door_address_decode(s->card[i].door, s->card[i].ndoor, &at);
		if (err || at.n != LABELS || !mmp_sites_import(m, i, &at))
			lose_far_rank(m, i,
				      err ? door_strerror(err)
					  : "has a door that is none of libmmp's");
		else if (door_client_reaches(&s->client.import[p->import]))
			open_rank_lane(m, i, s->client.import[p->import].label);
	}
}

/* ---- what the client of doors wants ---- */

static bool
say_to_site_relay(void *user, uint32_t site, const void *note, size_t len)
{
	(void)site;
	struct mmp *m = user;
	m->dirty = true;
	return suci_path_note(m->ep, m->sites->path, note, len, m->now_ns) == SUCI_ERR_OK;
}

static void
wake_sites(void *user)
{
	struct mmp *m = user;
	m->sites->due_ns = 0;
}

static void
door_ready(void *user, uint32_t own)
{
	struct mmp *m = user;
	if (m->sites->own[own].state == DOOR_CLIENT_HAVE)
		mmp_meeting_opened(m);
	else
		mmp_sites_fail(m,
			       "our relay %s has no room for a door: is doors.max in its "
			       "configuration 0, or doors.per_process reached?",
			       m->env.relay);
}

static void
rank_reached(void *user, uint32_t import)
{
	struct mmp *m = user;
	const struct door_client_import *d = &m->sites->client.import[import];
	if (m->sites->known)
		open_rank_lane(m, d->whose, d->label);
	else
		mmp_meeting_at_door(m, d->label);
}

static void
rank_lost(void *user, uint32_t import, enum door_client_lost why)
{
	static const char *const words[] = {
		[DOOR_CLIENT_REFUSED] = "is not at its door (any more), or a relay is full",
		[DOOR_CLIENT_GONE] = "is gone",
		[DOOR_CLIENT_RESET] = "is out of reach: a path between relays broke",
	};
	struct mmp *m = user;
	uint32_t rank = m->sites->client.import[import].whose;
	const char *word = why == DOOR_CLIENT_RELAY ? mmp_sites_lost_word(m) : words[why];
	if (m->sites->known) {
		lose_far_rank(m, rank, word);
		return;
	}
	snprintf(m->sites->why, WHY_MAX, "rank 0 %s (LIBMMP_MEET)", word);
	mmp_sites_drop(m, rank);
	mmp_meeting_lost(m);
}

/* Only rank 0 holds doors, of those that it will import, too. */
static void
caller_gone(void *user, uint32_t site, uint32_t label)
{
	(void)user, (void)site, (void)label;
}

static const struct door_client_ops sites_client_ops = {.say = say_to_site_relay,
							.wake = wake_sites,
							.opened = door_ready,
							.reached = rank_reached,
							.lost = rank_lost,
							.left = caller_gone};

/* ---- the relay ---- */

const char *
mmp_sites_lost_word(const struct mmp *m)
{
	return m->sites->lost;
}

void
mmp_sites_path_up(struct mmp *m, const void *hello, size_t len)
{
	struct mmp_sites *s = m->sites;
	struct suci_path_info info;
	uint32_t mtu;
	if (!door_client_is_relay(hello, len, &mtu) || !suci_path_info(m->ep, s->path, &info)) {
		suci_path_close(m->ep, s->path, "not a relay", m->now_ns);
		mmp_sites_fail(m, "LIBMMP_RELAY=%.60s is not a relay", m->env.relay);
		return;
	}
	s->mss = door_client_mss(info.mss, mtu);
	(void)suci_path_set_liveness(m->ep, s->path, m->threaded ? RELAY_LIVES : INLINE_LIVES,
				     BASE_S_NS);
	door_client_up(&s->client, 0);
}

void
mmp_sites_path_down(struct mmp *m, enum suci_down why, const char *text)
{
	struct mmp_sites *s = m->sites;
	s->path = NONE;
	/* What was said to rank 0, or by it, names a door that is no more. */
	if (s->client.up && !s->known && (s->lane != NONE || s->told))
		mmp_sites_fail(m, "our relay %.40s is gone, before all had met", m->env.relay);
	else if (why == SUCI_DOWN_REFUSED)
		mmp_sites_fail(m, "our relay %.40s refuses us: %.60s", m->env.relay,
			       text ? text : "");
	else if (!s->failed)
		snprintf(s->why, WHY_MAX,
			 "our relay %.40s does not answer on UDP: is relayd there?", m->env.relay);
	mmp_meeting_lost(m);
	door_client_down(&s->client, 0, !s->known && !s->failed, m->now_ns);
}

static uint64_t
open_site_relay(struct mmp *m)
{
	struct mmp_sites *s = m->sites;
	uint8_t hello[RELAY_HELLO_LEN];
	if (s->path != NONE || s->failed)
		return BASE_NEVER_NS;
	if (m->now_ns < s->client.site[0].retry_ns)
		return s->client.site[0].retry_ns;
	door_client_hello(hello);
	if (suci_path_open(m->ep, &s->relay, hello, sizeof hello, &s->path, m->now_ns)) {
		s->path = NONE;
		return m->now_ns + MMP_CALL_MS * BASE_MS_NS;
	}
	m->dirty = true;
	return BASE_NEVER_NS;
}

enum suci_verdict
mmp_sites_came(struct mmp *m, uint32_t path, uint32_t dst, uint32_t src)
{
	struct mmp_sites *s = m->sites;
	const struct door_client_own *me = &s->own[OWN];
	bool more;
	if (m->closing)
		return SUCI_DROPPED;
	if (path != s->path)
		return mmp_meeting_came(m, path, dst, src);
	if (me->state != DOOR_CLIENT_HAVE || dst - me->at.label >= LABELS)
		return SUCI_DROPPED;
	if (dst != me->at.label)
		return mmp_meeting_came(m, path, dst, src);
	/* Its import of us came first. */
	if (!s->known)
		return SUCI_REFUSED;
	uint32_t i = door_client_called(&s->client, 0, OWN, src, &more);
	if (i == DOOR_CLIENT_NONE)
		return more ? SUCI_REFUSED : SUCI_DROPPED;
	uint32_t rank = s->client.import[i].whose;
	if (m->peer[rank].up || m->peer[rank].over)
		return SUCI_DROPPED;
	open_rank_lane(m, rank, src);
	return m->peer[rank].up ? SUCI_TAKEN : SUCI_DROPPED;
}

/* ---- turns ---- */

/* Its relay tells who has died, but not whose node fell silent: nothing of what waits for it is
 * acknowledged then. */
static void
give_up_stuck_ranks(struct mmp *m)
{
	struct mmp_sites *s = m->sites;
	for (uint32_t i = 0; i < m->job.size; i++) {
		struct mmp_peer *p = &m->peer[i];
		struct suci_lane_info l;
		if (!p->elsewhere || !p->up || p->lane == NONE ||
		    !suci_lane_info(m->lanes.lanes, p->lane, &l))
			continue;
		uint64_t limit = s->card[i].threaded ? RANK_LIVES : m->env.silence_s * BASE_S_NS;
		if (!l.tx_blocks_queued || l.tx_acked_seq != s->acked[i] || !s->acked_ns[i])
			s->acked_ns[i] = m->now_ns;
		s->acked[i] = l.tx_acked_seq;
		if (m->now_ns - s->acked_ns[i] > limit)
			lose_far_rank(m, i, "takes nothing");
	}
	s->look_ns = m->now_ns + LOOK_NS;
}

void
mmp_sites_turn(struct mmp *m)
{
	struct mmp_sites *s = m->sites;
	if (s->due_ns <= m->now_ns) {
		s->due_ns = BASE_NEVER_NS;
		if (!door_client_turn(&s->client))
			s->due_ns = m->now_ns + DOOR_CLIENT_SOON_NS;
	}
	if (m->now_ns >= s->look_ns && s->known)
		give_up_stuck_ranks(m);
}

uint64_t
mmp_sites_expiry_ns(const struct mmp *m)
{
	const struct mmp_sites *s = m->sites;
	if (!s)
		return BASE_NEVER_NS;
	return base_min_ns(s->client.up ? s->due_ns : BASE_NEVER_NS,
			   s->known && m->engine && mmp_engine_unsent(m->engine) ? s->look_ns
										 : BASE_NEVER_NS);
}

uint64_t
mmp_sites_connect(struct mmp *m)
{
	return base_min_ns(open_site_relay(m), mmp_meeting_look(m));
}

/* ---- opening and closing ---- */

int
mmp_sites_open(struct mmp *m)
{
	static const uint8_t key[16] = "realm";
	struct door_client_conf c = {.ops = &sites_client_ops, .user = m};
	struct mmp_sites *s = calloc(1, sizeof *s);
	uint32_t n = m->job.size;
	m->sites = s;
	if (!s)
		return mmp_fail(ENOMEM, "out of memory");
	s->path = s->lane = NONE;
	if (!m->env.relay || !suci_addr_parse(m->env.relay, strlen(m->env.relay), &s->relay) ||
	    s->relay.family != 4)
		return mmp_fail(EINVAL,
				"the job has %u sites: LIBMMP_RELAY=%.60s has to be the IPv4 "
				"address and port of this site's relay, as 10.0.0.254:7812",
				m->job.sites, m->env.relay ? m->env.relay : "");
	if (!m->env.meet)
		return mmp_fail(EINVAL,
				"the job has %u sites: LIBMMP_MEET has to be the file for "
				"the address of rank 0's door, or the address itself",
				m->job.sites);
	struct door_client_import *imports = calloc(n, sizeof *imports);
	s->card = calloc(n, sizeof *s->card);
	s->acked = calloc(n, sizeof *s->acked);
	s->acked_ns = calloc(n, sizeof *s->acked_ns);
	if (getrandom(c.secret, sizeof c.secret, 0) != (ssize_t)sizeof c.secret || !imports ||
	    !s->card || !s->acked || !s->acked_ns) {
		free(imports);
		return mmp_fail(ENOMEM, "out of memory for %u processes", n);
	}
	if (m->env.realm)
		s->realm = base_siphash(key, m->env.realm, strlen(m->env.realm));
	door_client_init(&s->client, &c, s->own, 1, imports, n);
	if (mmp_meeting_begin(m))
		return -1;
	(void)door_client_open(&s->client, OWN, LABELS, s->realm, 0);
	snprintf(s->why, WHY_MAX, "our relay %.40s has not answered", m->env.relay);
	snprintf(s->lost, WHY_MAX, "is out of reach: our relay %.40s is gone", m->env.relay);
	return 0;
}

void
mmp_sites_close(struct mmp *m)
{
	struct mmp_sites *s = m->sites;
	if (!s)
		return;
	mmp_meeting_end(m);
	free(s->client.import);
	free(s->card);
	free(s->acked);
	free(s->acked_ns);
	free(s);
	m->sites = NULL;
}
